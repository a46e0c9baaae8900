"""The smallest graphs that one refinement merges and another splits, by exhaustive search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from edgnn.errors import GraphError
from edgnn.graphs import Graphs, Multiplicity
from edgnn.theory._enumerate import Family
from edgnn.wl import Scheme, classes

Pair = tuple[Graphs, Graphs]


@dataclass(frozen=True)
class SmallestPairs:
    """What :func:`smallest_pairs` found.

    Parameters
    ----------
    weak, strong : str
        The refinements compared.
    nodes, edges : int, optional
        The size of the smallest pairs: fewest nodes first, then fewest edges; ``None`` if there are
        none.
    count : int
        How many graphs of this size have a partner, up to what the strong refinement tells apart
        and the names of node labels.
    pairs : tuple of pairs of Graphs
        The pairs, as many as were asked for.
    examined : int
        Number of graphs looked at, up to isomorphism.
    complete : bool
        Whether every graph within the limits was looked at; otherwise sizes above the last one
        examined are open.
    """

    weak: str
    strong: str
    nodes: int | None
    edges: int | None
    count: int
    pairs: tuple[Pair, ...]
    examined: int
    complete: bool

    def __str__(self) -> str:
        task = f"graphs that {self.weak!r} merges and {self.strong!r} splits"
        extent = (
            f"{self.examined:,} examined{'' if self.complete else ', the search was cut short'}"
        )
        if not self.pairs:
            return f"no {task} ({extent})"
        lines = [
            f"the smallest {task} have {self.nodes} nodes and {self.edges} edges; there are {self.count:,} ({extent})"
        ]
        lines += [f"  {sketch(first)}   against   {sketch(second)}" for first, second in self.pairs]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON."""
        plain = {
            name: getattr(self, name)
            for name in ("weak", "strong", "nodes", "edges", "count", "examined", "complete")
        }
        return plain | {"pairs": [[sketch(first), sketch(second)] for first, second in self.pairs]}


def smallest_pairs(
    scheme_weak: Scheme = "separate",
    scheme_strong: Scheme | Literal["isomorphism"] = "joint",
    *,
    max_nodes: int = 3,
    node_labels: int = 3,
    edge_labels: int = 2,
    self_loops: bool = False,
    parallel: bool = False,
    multiplicity: Multiplicity = "once",
    limit: int = 3,
    max_graphs: int = 500_000,
) -> SmallestPairs:
    """Search all small labeled digraphs for pairs that one refinement merges and another splits.

    Parameters
    ----------
    scheme_weak : {"node", "separate", "joint"}
        The refinement that merges.
    scheme_strong : {"node", "separate", "joint", "isomorphism"}
        The refinement that splits; ``"isomorphism"`` finds what ``scheme_weak`` misses altogether.
    max_nodes, node_labels, edge_labels : int
        How many nodes, node labels and edge labels the graphs may have.
    self_loops, parallel : bool
        Whether edges may join a node to itself, and edges of different labels the same two nodes in
        the same direction.
    multiplicity : {"once", "per-edge"}
        Whether a neighbor counts once, as in the paper, or once per edge.
    limit : int
        How many pairs to return.
    max_graphs : int
        Stop before a size that has more graphs than this (not counting isomorphic ones once).

    Returns
    -------
    SmallestPairs

    Examples
    --------
    >>> from edgnn import theory
    >>> print(theory.smallest_pairs("separate", "joint", node_labels=3, edge_labels=1, limit=1))
    the smallest graphs that 'separate' merges and 'joint' splits have 3 nodes and 3 edges; there
    are 2 (83 examined)
      A0→C2, B1→A0, C2→B1   against   A0→B1, B1→C2, C2→A0
    """
    for name, value in (
        ("max_nodes", max_nodes),
        ("node_labels", node_labels),
        ("edge_labels", edge_labels),
        ("limit", limit),
    ):
        if value < 1:
            raise GraphError(f"{name}={value}: choose 1 or more")
    examined, complete = 0, True
    for nodes in range(1, max_nodes + 1):
        family = Family(nodes, node_labels, edge_labels, self_loops, parallel)
        for edges in range(family.most_edges + 1):
            if family.count(edges) > max_graphs:
                complete = False
                break
            found: list[Pair] = []
            merged = 0
            for graphs in _of_size(family, edges):
                examined += len(graphs)
                strong = _strong(graphs, scheme_strong, multiplicity)
                groups = list(
                    _merged(classes(graphs, scheme=scheme_weak, multiplicity=multiplicity), strong)
                )
                merged += sum(map(len, groups))
                found += [
                    (graphs[group[0]], graphs[other]) for group in groups for other in group[1:]
                ]
            if found:
                pairs = tuple(found[:limit])
                return SmallestPairs(
                    scheme_weak, scheme_strong, nodes, edges, merged, pairs, examined, complete
                )
    return SmallestPairs(scheme_weak, scheme_strong, None, None, 0, (), examined, complete)


def _of_size(family: Family, edges: int) -> Iterator[Graphs]:
    placements = family.placements(edges)
    for labels in family.labelings():
        yield family.pack(family.up_to_isomorphism(placements, labels), labels)


def _strong(
    graphs: Graphs, scheme: Scheme | Literal["isomorphism"], multiplicity: Multiplicity
) -> Tensor:
    if scheme == "isomorphism":
        return torch.arange(len(graphs))
    return classes(graphs, scheme=scheme, multiplicity=multiplicity)


def _merged(weak: Tensor, strong: Tensor) -> Iterator[list[int]]:
    """Yield, for every weak class of several strong ones, the first graph of each of these."""
    kinds: dict[int, dict[int, int]] = {}
    for number, (one, other) in enumerate(zip(weak.tolist(), strong.tolist(), strict=True)):
        kinds.setdefault(one, {}).setdefault(other, number)
    for members in kinds.values():
        if len(members) > 1:
            yield list(members.values())


def sketch(graph: Graphs) -> str:
    """Write a small graph as a list of edges; nodes that no edge touches stand alone."""
    names = [
        f"{'·' if label is None else label}{node}" for node, label in enumerate(graph.node_labels)
    ]
    labels = (
        [""] * graph.num_edges
        if len(graph.edge_vocabulary) == 1
        else [f"–{label}" for label in graph.edge_labels]
    )
    ends = list(zip(graph.edge_source.tolist(), graph.edge_target.tolist(), strict=True))
    lonely = [name for node, name in enumerate(names) if not any(node in pair for pair in ends)]
    edges = [
        f"{names[source]}{label}→{names[target]}"
        for (source, target), label in zip(ends, labels, strict=True)
    ]
    return ", ".join(edges + lonely) or "nothing"
