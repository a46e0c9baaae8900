"""What a refinement tells apart: two graphs, or the items of a collection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn.errors import GraphError
from edgnn.graphs import Graphs, Input, Multiplicity, Nodes, joined
from edgnn.wl._coloring import Coloring, bare, refine
from edgnn.wl._meaning import Meaning
from edgnn.wl._neighborhood import Direction, Scheme

_Array = np.ndarray[Any, Any]
_SHOWN_COLORS = 6


@dataclass(frozen=True)
class ColorCount:
    """How often a color occurs in each of two graphs, and what it means."""

    color: int
    first: int
    second: int
    meaning: Meaning


@dataclass(frozen=True)
class Verdict:
    """What :func:`compare` found.

    Parameters
    ----------
    distinguished : bool
        Whether the refinement tells the graphs apart; if so they are not isomorphic.
    round : int, optional
        The first round whose color counts differ.
    colors : tuple of ColorCount
        The certificate: colors of that round that occur more often in one graph (at most six, the
        rarest first).
    rounds : int
        Rounds until the coloring was stable.
    num_colors : int
        Number of stable colors.
    scheme, direction : str
        The refinement used.
    """

    distinguished: bool
    round: int | None
    colors: tuple[ColorCount, ...]
    rounds: int
    num_colors: int
    scheme: Scheme
    direction: Direction = "both"

    def __str__(self) -> str:
        by = repr(self.scheme)
        if self.direction == "in":
            by += " along entering edges"
        if not self.distinguished:
            return (
                f"not distinguished by {by}: stable after round {self.rounds} with "
                f"{self.num_colors} colors, equally often in both"
            )
        lines = [f"distinguished by {by} at round {self.round}:"]
        lines += [
            f"  {entry.first} against {entry.second} × {entry.meaning}" for entry in self.colors
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data, ready for JSON."""
        return {
            "distinguished": self.distinguished,
            "scheme": self.scheme,
            "direction": self.direction,
            "round": self.round,
            "stable_rounds": self.rounds,
            "stable_colors": self.num_colors,
            "colors": [
                {
                    "color": entry.color,
                    "first": entry.first,
                    "second": entry.second,
                    "meaning": entry.meaning.text,
                }
                for entry in self.colors
            ],
        }


def compare(
    g: Graphs,
    h: Graphs,
    scheme: Scheme = "separate",
    *,
    multiplicity: Multiplicity = "once",
    direction: Direction = "both",
    exact: bool = False,
) -> Verdict:
    """Ask whether color refinement, and so any GNN bounded by it, can tell two graphs apart.

    Parameters
    ----------
    g, h : Graphs
        A single graph each.
    scheme, multiplicity, direction, exact
        As in :func:`refine`.
    """
    for name, graph in (("first", g), ("second", h)):
        if len(graph) != 1:
            raise GraphError(
                f"compare takes two single graphs, but the {name} holds {len(graph)}: index it, "
                "or use wl.classes"
            )
    both = Graphs.concat([bare(g), bare(h)])
    coloring = refine(
        both, scheme=scheme, multiplicity=multiplicity, direction=direction, exact=exact
    )
    round = _first_difference(coloring, g.num_nodes)
    colors = () if round is None else _certificate(coloring, round, g.num_nodes)
    stable = coloring.num_colors()
    return Verdict(round is not None, round, colors, coloring.rounds, stable, scheme, direction)


def classes(
    graphs: Graphs | Sequence[Graphs],
    rounds: int | None = None,
    scheme: Scheme = "separate",
    *,
    multiplicity: Multiplicity = "once",
    direction: Direction = "both",
    exact: bool = False,
) -> Tensor:
    """Group graphs that the refinement cannot tell apart.

    Returns the number of each graph's class; classes are numbered by first appearance.

    Parameters
    ----------
    graphs : Graphs
        What to group.
    rounds : int, optional
        How many rounds; until the coloring is stable by default.
    scheme, multiplicity, direction, exact
        As in :func:`refine`.

    Shapes
    ------
    → (G,)
    """
    return graph_classes(
        refine(graphs, rounds, scheme, multiplicity=multiplicity, direction=direction, exact=exact)
    )


def graph_classes(coloring: Coloring, round: int = -1) -> Tensor:
    """Group the graphs of a coloring by how often they have each color after a round."""
    graphs = coloring.graphs
    color = coloring.at(round).cpu().numpy()
    owner = graphs.graph_of_node.cpu().numpy()
    arranged = color[np.lexsort((color, owner))]
    offset = graphs.graph_offset.tolist()
    seen: dict[bytes, int] = {}
    numbers = [seen.setdefault(arranged[a:b].tobytes(), len(seen)) for a, b in pairwise(offset)]
    return torch.tensor(numbers, dtype=torch.int64)


def _first_difference(coloring: Coloring, first: int) -> int | None:
    """Return the first round in which the first ``first`` nodes and the others differ in counts.

    Of each color the count among the first nodes minus that among the others is kept, and updated
    by the changes of a round: the time is that of all changes, not of nodes times rounds.
    """
    history = coloring.history
    sign = torch.where(torch.arange(len(history.initial)) < first, 1, -1).tolist()
    color = history.initial.tolist()
    balance: dict[int, int] = {}
    for node, value in enumerate(color):
        balance[value] = balance.get(value, 0) + sign[node]
    unbalanced = sum(value != 0 for value in balance.values())
    if unbalanced:
        return 0
    for round, (nodes, colors) in enumerate(history.each(), 1):
        for node, new in zip(nodes, colors, strict=True):
            for value, step in ((color[node], -sign[node]), (new, sign[node])):
                before = balance.get(value, 0)
                balance[value] = before + step
                unbalanced += (before == 0) - (before + step == 0)
            color[node] = new
        if unbalanced:
            return round
    return None


def _certificate(coloring: Coloring, round: int, first: int) -> tuple[ColorCount, ...]:
    """Return colors that occur more often in one graph, the rarest first."""
    colors, position = np.unique(coloring.at(round).cpu().numpy(), return_inverse=True)
    mine = np.bincount(position[:first], minlength=len(colors))
    theirs = np.bincount(position[first:], minlength=len(colors))
    differing = np.flatnonzero(mine != theirs)
    rarest = differing[np.argsort((mine + theirs)[differing], kind="stable")][:_SHOWN_COLORS]
    entries = zip(*(counts[rarest].tolist() for counts in (colors, mine, theirs)), strict=True)
    return tuple(
        ColorCount(color, here, there, coloring.meaning(color, round))
        for color, here, there in entries
    )


@dataclass(frozen=True)
class Power:
    """What is possible after one round.

    Parameters
    ----------
    round : int
        Depth of the refinement, or number of layers of a model.
    distinct : int
        How many classes the graphs or nodes fall into.
    colliding : int
        How many share their class with another one.
    ceiling : float, optional
        The best accuracy on the whole set of any model that gives equal outputs within a class; for
        real-valued targets the smallest root mean squared error; ``None`` without targets.
    """

    round: int
    distinct: int
    colliding: int
    ceiling: float | None


def power(
    items: Input,
    targets: _Array | None = None,
    *,
    rounds: int = 20,
    scheme: Scheme = "separate",
    multiplicity: Multiplicity = "once",
    direction: Direction = "both",
    exact: bool = False,
) -> list[Power]:
    """Measure, round by round, what color refinement can tell apart among graphs or nodes.

    Rounds after the one in which all nodes have their final color are left out: they change
    nothing.

    Parameters
    ----------
    items : Graphs or Nodes, or list of them
        What is to be told apart.
    targets : array, optional
        One class number or real value per item.
    rounds : int
        Largest depth.
    scheme, multiplicity, direction, exact
        As in :func:`refine`.
    """
    items = joined(items)
    if targets is not None and (np.ndim(targets) != 1 or len(targets) != len(items)):
        raise GraphError(
            f"one target per item is needed: {len(items)} items, "
            f"targets of shape {np.shape(targets)}"
        )
    graphs = items.graphs if isinstance(items, Nodes) else items
    options: dict[str, Any] = {"multiplicity": multiplicity, "direction": direction, "exact": exact}
    coloring = refine(graphs, rounds, scheme, features="ignore", **options)
    table = []
    for round in range(min(rounds, coloring.history.rounds) + 1):
        if isinstance(items, Nodes):
            classes = coloring.at(round)[items.index].cpu().numpy()
        else:
            classes = graph_classes(coloring, round).numpy()
        _, number, count = np.unique(classes, return_inverse=True, return_counts=True)
        best = None if targets is None else ceiling(number, np.asarray(targets))
        table.append(Power(round, len(count), int(count[count > 1].sum()), best))
    return table


def ceiling(classes: _Array, targets: _Array) -> float:
    """Return the best accuracy of a prediction that is constant on each class.

    For real-valued targets the smallest root mean squared error; those that are NaN are left out.
    """
    if len(targets) == 0:
        return float("nan")
    if targets.dtype.kind == "f":
        present = ~np.isnan(targets)
        classes, targets = classes[present], targets[present]
        mean = np.bincount(classes, targets) / np.maximum(np.bincount(classes), 1)
        return float(np.sqrt(np.mean((targets - mean[classes]) ** 2)))
    _, value = np.unique(targets, return_inverse=True)
    votes = np.zeros((int(classes.max()) + 1, int(value.max()) + 1), np.int64)
    np.add.at(votes, (classes, value), 1)
    return float(votes.max(axis=1).sum() / len(targets))
