"""Can the refinement tell two graphs apart? A verdict with a certificate, and the classes of a collection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn.errors import GraphError
from edgnn.graphs import Graphs, Multiplicity
from edgnn.wl._coloring import Coloring, bare, refine
from edgnn.wl._meaning import Meaning
from edgnn.wl._neighborhood import Direction, Scheme

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
        by = repr(self.scheme) + " along entering edges" * (self.direction == "in")
        if not self.distinguished:
            stable = f"stable after round {self.rounds} with {self.num_colors} colors, equally often in both"
            return f"not distinguished by {by}: {stable}"
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
                f"compare takes two single graphs, but the {name} holds {len(graph)}: index it, or use wl.classes"
            )
    both = Graphs.concat([bare(g), bare(h)])
    coloring = refine(
        both, scheme=scheme, multiplicity=multiplicity, direction=direction, exact=exact
    )
    round = _first_difference(coloring, g.num_nodes)
    colors = () if round is None else _certificate(coloring, round, g.num_nodes)
    return Verdict(
        round is not None, round, colors, coloring.rounds, coloring.num_colors(), scheme, direction
    )


def classes(
    graphs: Graphs | Sequence[Graphs],
    rounds: int | None = None,
    scheme: Scheme = "separate",
    *,
    multiplicity: Multiplicity = "once",
    direction: Direction = "both",
    exact: bool = False,
) -> Tensor:
    """Group graphs that the refinement cannot tell apart; return the number of each graph's class, by first appearance.

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
    """Return the first round in which the first ``first`` nodes and the others have different color counts."""
    history = coloring.history
    sign = torch.where(torch.arange(len(history.initial)) < first, 1, -1).tolist()
    color = history.initial.tolist()
    balance: dict[int, int] = {}
    for node, value in enumerate(color):
        balance[value] = balance.get(value, 0) + sign[node]
    off = sum(value != 0 for value in balance.values())
    if off:
        return 0
    for round, (nodes, colors) in enumerate(history.each(), 1):
        for node, new in zip(nodes, colors, strict=True):
            for value, step in ((color[node], -sign[node]), (new, sign[node])):
                before = balance.get(value, 0)
                balance[value] = before + step
                off += (before == 0) - (before + step == 0)
            color[node] = new
        if off:
            return round
    return None


def _certificate(coloring: Coloring, round: int, first: int) -> tuple[ColorCount, ...]:
    color = coloring.at(round).cpu().numpy()
    distinct, position = np.unique(color, return_inverse=True)
    counts = [
        np.bincount(part, minlength=len(distinct)) for part in (position[:first], position[first:])
    ]
    differing = np.flatnonzero(counts[0] != counts[1])
    order = differing[np.argsort((counts[0] + counts[1])[differing], kind="stable")][:_SHOWN_COLORS]
    return tuple(
        ColorCount(
            int(distinct[k]),
            int(counts[0][k]),
            int(counts[1][k]),
            coloring.meaning(int(distinct[k]), round),
        )
        for k in order
    )
