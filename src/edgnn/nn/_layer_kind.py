"""Layers by name, class or plain torch module: what ``conv=`` stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from edgnn._words import short, suggestion
from edgnn.errors import ModelError
from edgnn.graphs import ListedBy
from edgnn.nn._conv import Conv, Scheme
from edgnn.nn._module_conv import ModuleConv
from edgnn.registry import LAYERS

#: What ``conv=`` takes: the name of a layer, or a class.
ConvLike = str | type[nn.Module]


@dataclass(frozen=True)
class LayerKind:
    """A kind of layer, before any is made.

    Attributes
    ----------
    name : str or type
        Its name in :data:`edgnn.registry.LAYERS`; the class itself, where it is not registered.
    cls : type
        The class of its layers.
    options : mapping
        Options that belong to the name.
    """

    name: ConvLike
    cls: type[Conv]
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, conv: ConvLike) -> LayerKind:
        """Return the kind that ``conv`` stands for; only registered names are known."""
        if isinstance(conv, str):
            if conv not in LAYERS:
                raise ModelError(
                    f"conv={short(conv)}: choose one of {', '.join(map(repr, LAYERS))}, or add a "
                    "layer with edgnn.registry.LAYERS.register(LayerEntry(...))"
                    f"{suggestion(conv, LAYERS)}"
                )
            return _kind(conv, LAYERS[conv].load(), LAYERS[conv].options)
        if not isinstance(conv, type) or not issubclass(conv, nn.Module):
            raise ModelError(
                f"conv={short(conv)}: a layer is a name ({', '.join(map(repr, LAYERS))}), a "
                "subclass of edgnn.nn.Conv, or another class of torch modules"
            )
        for entry in LAYERS.values():
            if entry.load() is conv:
                return _kind(entry.name, conv, entry.options)
        return _kind(conv, conv, {})

    @property
    def stored_name(self) -> str:
        """The name that a run folder keeps; a class without one is an error."""
        if isinstance(self.name, str):
            return self.name
        raise ModelError(
            f"the layer {self.name.__name__} has no name yet, by which a run folder could be "
            f"loaded again: edgnn.registry.LAYERS.register(LayerEntry('a-name', 'one line about "
            f"it', {self.name.__name__}))"
        )

    @property
    def scheme(self) -> Scheme:
        """The color refinement that bounds what its layers can tell apart."""
        scheme: Scheme = self._fact("scheme")
        return scheme

    @property
    def reads_labels(self) -> bool:
        """Whether its layers look at edge labels."""
        return bool(self._fact("reads_labels"))

    @property
    def relations(self) -> ListedBy:
        """How the structures that its layers take list edges."""
        return self.cls.relations

    def _fact(self, name: str) -> Any:
        stated_by = self.options.get("module", self.cls)
        return getattr(stated_by, name, getattr(self.cls, name))


def _kind(name: ConvLike, layer: type[nn.Module], options: Mapping[str, Any]) -> LayerKind:
    if issubclass(layer, Conv):
        return LayerKind(name, layer, options)
    return LayerKind(name, ModuleConv, {**options, "module": layer})
