"""Familiarity: whether an item is unlike the training data, by colors that no training item has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from edgnn.graphs import Multiplicity, Nodes
from edgnn.models._items import Items, graphs_of
from edgnn.wl import Scheme, signatures

_Array = np.ndarray[Any, Any]

_MOST_NODES = 5_000_000
_PREFIX = "colors."


@dataclass(frozen=True)
class Refinement:
    """Which colors tell what a model has met before: those of some rounds of color refinement.

    Parameters
    ----------
    scheme : {"node", "separate", "joint"}
        As in :func:`edgnn.wl.refine`.
    rounds : int
        How many.
    multiplicity : {"once", "per-edge"}
        Whether a neighbor counts once or once per edge.
    direction : {"both", "in"}
        Whether edges that leave a node count as well.
    """

    scheme: Scheme
    rounds: int
    multiplicity: Multiplicity = "once"
    direction: Literal["both", "in"] = "both"


@dataclass(frozen=True, eq=False)
class Familiarity:
    """How much of each item a model has met before, by the colors of color refinement.

    A color of round t stands for all that t layers can see of a node, with ``direction="in"`` along
    entering edges alone. One that no training item has is something that the model has to guess
    about. Continuous features are not looked at.

    Parameters
    ----------
    known : tuple of arrays
        For each round from 0 on, whether the training set has the color: of every node of the
        graphs; for models of nodes, of every item.
    share : array
        For each round and item, the share of its nodes whose color is known (1.0 or 0.0 for nodes).
    first_new : array
        For each item, the first round with a color that was never seen; −1 where all are known.

    Shapes
    ------
    known : rounds + 1 arrays (N,) or (n,);  share : (rounds + 1, n);  first_new : (n,)
    """

    known: tuple[_Array, ...]
    share: _Array
    first_new: _Array


@dataclass(frozen=True, eq=False)
class Colors:
    """The colors that occur among the training items: sorted hashes, one tensor per round."""

    rounds: tuple[Tensor, ...]

    @classmethod
    def of(cls, items: Items, refinement: Refinement) -> Colors | None:
        """Collect the colors of encoded training items; of very large graphs, nothing."""
        if graphs_of(items).num_nodes > _MOST_NODES:
            return None
        return cls(tuple(torch.unique(part).cpu() for part in _hashes(items, refinement)))

    def joined(self, earlier: Colors | None) -> Colors | None:
        """Return the colors of now and of an earlier training."""
        if earlier is None or len(earlier.rounds) != len(self.rounds):
            return None
        pairs = zip(self.rounds, earlier.rounds, strict=True)
        return Colors(tuple(torch.unique(torch.cat(pair)) for pair in pairs))

    def familiarity(self, items: Items, refinement: Refinement) -> Familiarity:
        """Compare encoded items with these colors."""
        found = _hashes(items, refinement)
        rounds = zip(found, self.rounds, strict=True)
        known = [torch.isin(part.cpu(), colors) for part, colors in rounds]
        shares = np.stack([_share(items, part) for part in known])
        strange = shares < 1.0
        first_new = np.where(strange.any(axis=0), strange.argmax(axis=0), -1)
        return Familiarity(tuple(part.numpy() for part in known), shares, first_new)

    def tensors(self) -> dict[str, Tensor]:
        """Return what a run folder keeps."""
        return {f"{_PREFIX}{number}": part for number, part in enumerate(self.rounds)}

    @classmethod
    def taken_from(cls, tensors: dict[str, Tensor]) -> Colors | None:
        """Take the colors out of what a run folder has kept; ``None`` where it has none."""
        rounds: list[Tensor] = []
        while (name := f"{_PREFIX}{len(rounds)}") in tensors:
            colors = tensors.pop(name)
            if colors.dtype != torch.int64 or colors.dim() != 1:
                raise ValueError(
                    f"{name} holds {colors.dtype} of shape {tuple(colors.shape)}, "
                    "not a list of 64-bit numbers"
                )
            rounds.append(colors)
        return cls(tuple(rounds)) if rounds else None


def _hashes(items: Items, refinement: Refinement) -> tuple[Tensor, ...]:
    """Return hashes of the colors of all nodes of graphs, or of the nodes that are the items."""
    parts = signatures(
        graphs_of(items),
        refinement.rounds,
        refinement.scheme,
        multiplicity=refinement.multiplicity,
        direction=refinement.direction,
    )
    if not isinstance(items, Nodes):
        return parts
    return tuple(part[items.index] for part in parts)


def _share(items: Items, known: Tensor) -> _Array:
    """Return the fraction of each item's nodes that is known; 1 for graphs without nodes."""
    if isinstance(items, Nodes):
        return known.double().numpy()
    graphs = items.to("cpu")
    counts = torch.zeros(len(graphs), dtype=torch.float64)
    counts.index_add_(0, graphs.graph_of_node, known.double())
    share = counts / graphs.sizes.clamp(min=1)
    found: _Array = share.where(graphs.sizes > 0, torch.ones(())).numpy()
    return found
