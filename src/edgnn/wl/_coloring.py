"""Coloring: the colors of all nodes after every round, and what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from edgnn.errors import GraphError
from edgnn.graphs import Graphs, Multiplicity, joined_graphs
from edgnn.wl._history import History
from edgnn.wl._neighborhood import Direction, Neighborhood, Scheme
from edgnn.wl._refine import run

if TYPE_CHECKING:
    from edgnn.wl._extend import Table
    from edgnn.wl._meaning import Meaning


def refine(
    graphs: Graphs | Sequence[Graphs],
    rounds: int | None = None,
    scheme: Scheme = "separate",
    *,
    multiplicity: Multiplicity = "once",
    direction: Direction = "both",
    features: Literal["refuse", "ignore"] = "refuse",
    exact: bool = False,
) -> Coloring:
    r"""Run Weisfeiler–Lehman color refinement on all graphs together.

    Two nodes have one color after round t exactly when they had one after round t−1 and their
    neighborhoods look alike:

    - ``"node"`` (Eq. 1): the same multiset of colors over N(v);
    - ``"separate"`` (Eq. 2): also the same number of incoming and of outgoing edges of each label;
    - ``"joint"``: the same multiset of (direction, edge label, neighbor's color) over all edges. It
      refines the others when they too count every edge (``multiplicity="per-edge"``); as a set,
      N(v) also tells a neighbor joined both ways from two.

    Parameters
    ----------
    graphs : Graphs, or list of them
        Any number of graphs; colors are comparable across all of them.
    rounds : int, optional
        How many rounds; default: until the partition of all nodes together no longer changes.
    scheme : {"node", "separate", "joint"}
        What a round looks at.
    multiplicity : {"once", "per-edge"}
        Whether ``node`` and ``separate`` see a neighbor once, as in the paper, or once per edge.
        ``joint`` always sees every edge.
    direction : {"both", "in"}
        Whether a node sees both the edges that enter it and those that leave it, or as most layers
        of other packages (and ours with ``direction="in"``) those that enter it alone.
    features : {"refuse", "ignore"}
        Continuous features are no part of the refinement: graphs that have them are refused unless
        this says to ignore them; :class:`Discretizer` turns them into labels.
    exact : bool
        Prove every round, and that the last one left nothing to do, by comparing neighborhoods
        entry by entry. By default two independent 64-bit hashes must agree; for a billion nodes
        both collide with a chance below 10^-18.

    Returns
    -------
    Coloring
    """
    graphs = joined_graphs(graphs)
    if rounds is not None and rounds < 0:
        raise GraphError(f"rounds={rounds}: choose 0 or more, or None for a stable coloring")
    has_features = graphs.node_features is not None or graphs.edge_features is not None
    if has_features and features == "refuse":
        raise GraphError(
            "these graphs have continuous features, which color refinement does not look at: turn "
            'them into labels with edgnn.wl.Discretizer, or pass features="ignore"'
        )
    around = Neighborhood.of(graphs, scheme, multiplicity, direction)
    history = run(graphs.node_label, around, rounds, exact)
    done = history.rounds if rounds is None else rounds
    return Coloring(graphs, history, done, rounds is None, scheme, multiplicity, direction, exact)


@dataclass(frozen=True, eq=False, repr=False)
class Coloring:
    """The result of :func:`refine`.

    A color is a number; the color of a node after round 0 is its label number. When the nodes of
    one color part, the largest part keeps the number, so a number alone means nothing without its
    round.
    """

    graphs: Graphs
    history: History
    rounds: int
    until_stable: bool
    scheme: Scheme
    multiplicity: Multiplicity = "once"
    direction: Direction = "both"
    exact: bool = False
    extended: bool = False

    @cached_property
    def around(self) -> Neighborhood:
        """What the scheme looks at around each node."""
        return self.neighborhood(self.graphs)

    @cached_property
    def _tables(self) -> list[Table]:
        """The colors of every round by the content of their neighborhoods, for :meth:`extend`."""
        from edgnn.wl._extend import tables

        return tables(self)

    def neighborhood(self, graphs: Graphs) -> Neighborhood:
        """Return what the same refinement looks at in other graphs."""
        return Neighborhood.of(graphs, self.scheme, self.multiplicity, self.direction)

    def at(self, round: int) -> Tensor:
        """Return the color of every node after ``round`` rounds; −1 is the last."""
        return self.history.at(self.round_number(round))

    def round_number(self, round: int) -> int:
        """Return the number of a round, which may be counted from the end."""
        return round_number(round, self.rounds)

    @property
    def colors(self) -> Tensor:
        """The color of every node after the last round."""
        return self.at(self.rounds)

    def num_colors(self, round: int = -1) -> int:
        """Return how many different colors there are after a round."""
        number = min(self.round_number(round), self.history.rounds)
        if number == 0:
            return len(torch.unique(self.history.initial))
        return self.history.counts[number - 1]

    def extend(self, graphs: Graphs | Sequence[Graphs]) -> Coloring:
        """Color new graphs so that their colors can be compared with these, round by round.

        A node whose neighborhood occurs here gets the same color; one that does not gets a color
        that no node here has. Labels these graphs lack are new colors as well; features are not
        looked at. The first call keeps a table of all colors of every round, which is large after
        thousands of rounds: for that, refine with a fixed number of rounds.
        """
        from edgnn.wl._extend import extend

        return extend(self, joined_graphs(graphs))

    def meaning(self, color: int, round: int = -1, *, size: int = 400) -> Meaning:
        """Describe in about ``size`` characters what all nodes of a color have in common."""
        from edgnn.wl._meaning import meaning

        return meaning(self, color, round, size)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self) -> str:
        end = "until stable" if self.until_stable else "as asked"
        direction = f", direction={self.direction!r}" if self.direction == "in" else ""
        return (
            f"Coloring({self.num_colors():,} colors of {self.graphs.num_nodes:,} nodes after "
            f"{self.rounds:,} rounds ({end}), scheme={self.scheme!r}{direction})"
        )


def round_number(round: int, rounds: int) -> int:
    """Return the number of one of so many rounds, which may be counted from the end."""
    number = round + rounds + 1 if round < 0 else round
    if not 0 <= number <= rounds:
        raise IndexError(f"round {round} was asked for, but there are rounds 0 to {rounds}")
    return number


def bare(graphs: Graphs) -> Graphs:
    """Return the graphs with labels only, so that any can be joined."""
    fields = ("node_label", "edge_source", "edge_target", "edge_label", "graph_offset")
    vocabularies = ("node_vocabulary", "edge_vocabulary")
    return Graphs._trusted(**{name: getattr(graphs, name) for name in (*fields, *vocabularies)})
