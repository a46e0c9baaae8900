"""Labeled: graphs together with the targets that a file carries for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from edgnn.errors import GraphError
from edgnn.graphs import Graphs, Nodes
from edgnn.io._common import Array, object_array


def target_array(values: Sequence[Any]) -> Array:
    """Make an array of targets.

    Whole numbers, numbers or truth values where all are of that kind, else objects.
    """
    kinds = {type(value) for value in values}
    types: list[Any] = [np.bool_] if kinds == {bool} else []
    if kinds == {int}:
        types = [np.int64, np.float64]
    elif kinds and kinds <= {int, float}:
        types = [np.float64]
    for dtype in types:
        try:
            return np.array(values, dtype)
        except OverflowError:
            continue
    return object_array(values)


@dataclass(frozen=True, eq=False)
class Labeled:
    """What :func:`edgnn.io.read_labeled` returns.

    Parameters
    ----------
    graphs : Graphs
        What was read.
    targets : array or list, optional
        The file's own target values, one (or one row) per graph, or per entry of ``nodes``;
        ``None`` where it has none.
    nodes : Nodes, optional
        The nodes that the targets belong to, when they belong to nodes.
    target_names : tuple of str
        What the columns of targets are called, where they were chosen by name.
    """

    graphs: Graphs
    targets: Array | None = None
    nodes: Nodes | None = None
    target_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.targets, list | tuple):
            object.__setattr__(self, "targets", target_array(self.targets))
        owners = self.graphs if self.nodes is None else self.nodes
        if self.targets is not None and len(self.targets) != len(owners):
            raise GraphError(
                f"{len(self.targets)} targets were given for {len(owners)} {self.level}s"
            )

    @property
    def level(self) -> Literal["graph", "node"]:
        """Whether targets belong to graphs or to nodes."""
        return "graph" if self.nodes is None else "node"
