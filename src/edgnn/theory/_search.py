"""The smallest graphs that one refinement merges and another splits, by exhaustive search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations, product
from math import log2
from string import ascii_uppercase
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from edgnn.errors import GraphError
from edgnn.graphs import Graphs, Multiplicity, Vocabulary
from edgnn.wl import Scheme, classes

Pair = tuple[Graphs, Graphs]
_Array = np.ndarray[Any, Any]


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
        extent = f"{self.examined:,} examined"
        if not self.complete:
            extent += ", the search was cut short"
        if not self.pairs:
            return f"no {task} ({extent})"
        size = f"{self.nodes} nodes and {self.edges} edges"
        lines = [f"the smallest {task} have {size}; there are {self.count:,} ({extent})"]
        lines += [f"  {sketch(first)}   against   {sketch(second)}" for first, second in self.pairs]
        return "\n".join(lines)


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
    sizes = {"max_nodes": max_nodes, "node_labels": node_labels, "edge_labels": edge_labels}
    for name, value in {**sizes, "limit": limit}.items():
        if value < 1:
            raise GraphError(f"{name}={value}: choose 1 or more")
    examined, complete = 0, True
    for nodes in range(1, max_nodes + 1):
        family = Family(nodes, node_labels, edge_labels, self_loops, parallel)
        for edges in range(family.most_edges + 1):
            if family.count(edges) > max_graphs:
                complete = False
                break
            pairs: list[Pair] = []
            count = 0
            for graphs in _of_size(family, edges):
                examined += len(graphs)
                weak = _classes(graphs, scheme_weak, multiplicity)
                strong = _classes(graphs, scheme_strong, multiplicity)
                for first, *others in _merged(weak, strong):
                    count += 1 + len(others)
                    pairs += [(graphs[first], graphs[other]) for other in others]
            if pairs:
                return SmallestPairs(
                    weak=scheme_weak,
                    strong=scheme_strong,
                    nodes=nodes,
                    edges=edges,
                    count=count,
                    pairs=tuple(pairs[:limit]),
                    examined=examined,
                    complete=complete,
                )
    return SmallestPairs(scheme_weak, scheme_strong, None, None, 0, (), examined, complete)


def _of_size(family: Family, edges: int) -> Iterator[Graphs]:
    placements = family.placements(edges)
    for labels in family.labelings():
        yield family.pack(family.up_to_isomorphism(placements, labels), labels)


def _classes(
    graphs: Graphs, scheme: Scheme | Literal["isomorphism"], multiplicity: Multiplicity
) -> Tensor:
    """Return the class of each graph; the graphs of one size are not isomorphic already."""
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
    names = []
    for node, label in enumerate(graph.node_labels):
        shown = "·" if label is None else label
        names.append(f"{shown}{node}")
    sources, targets = graph.edge_source.tolist(), graph.edge_target.tolist()
    several_labels = len(graph.edge_vocabulary) > 1
    items = []
    for source, target, label in zip(sources, targets, graph.edge_labels, strict=True):
        line = f"–{label}" if several_labels else ""
        items.append(f"{names[source]}{line}→{names[target]}")
    isolated = sorted(set(range(graph.num_nodes)).difference(sources, targets))
    items += [names[node] for node in isolated]
    return ", ".join(items) or "nothing"


class Family:
    """The digraphs with ``nodes`` nodes: which slots edges can take, and what can fill a slot.

    A slot is an ordered pair of nodes, its state the set of edge labels between them.

    Parameters
    ----------
    nodes, node_labels, edge_labels : int
        How many there are; labels need not all occur.
    self_loops : bool
        Whether an edge may lead back to its node.
    parallel : bool
        Whether edges with different labels may join the same nodes in the same direction.
    """

    def __init__(
        self, nodes: int, node_labels: int, edge_labels: int, self_loops: bool, parallel: bool
    ) -> None:
        self.nodes = nodes
        self.slots = [(u, v) for u, v in product(range(nodes), repeat=2) if self_loops or u != v]
        per_slot = edge_labels if parallel else min(edge_labels, 1)
        self.states: list[tuple[int, ...]] = []
        for size in range(per_slot + 1):
            self.states += combinations(range(edge_labels), size)
        self.most_edges = per_slot * len(self.slots)
        self.node_vocabulary = Vocabulary(_names(node_labels))
        self.edge_vocabulary = Vocabulary(range(1, edge_labels + 1))
        # A graph must fit into one 64-bit number: its slots are the digits.
        if len(self.slots) * log2(max(len(self.states), 2)) > 62:
            raise GraphError(
                f"{nodes} nodes with {edge_labels} edge labels make too many graphs: "
                "search among fewer nodes or labels"
            )

    def labelings(self) -> Iterator[tuple[int, ...]]:
        """Yield node labels up to renaming: the first label most often, and so on."""
        yield from _partitions(self.nodes, self.nodes, len(self.node_vocabulary))

    def count(self, edges: int) -> int:
        """Return how many ways there are to place ``edges`` edges."""
        ways = Counter({0: 1})  # how many ways there are to have so many edges, slot after slot
        for _ in self.slots:
            longer: Counter[int] = Counter()
            for total, state in product(ways, self.states):
                longer[total + len(state)] += ways[total]
            ways = longer
        return ways[edges]

    def placements(self, edges: int) -> _Array:
        """Return every way to place ``edges`` edges: the state of every slot, one row per way."""
        partial = {0: np.zeros((1, 0), np.int8)}
        for _ in self.slots:
            longer: dict[int, list[_Array]] = {}
            for (total, rows), (number, state) in product(partial.items(), enumerate(self.states)):
                if total + len(state) <= edges:
                    column = np.full((len(rows), 1), number, np.int8)
                    longer.setdefault(total + len(state), []).append(np.hstack([rows, column]))
            partial = {total: np.vstack(blocks) for total, blocks in longer.items()}
        return partial.get(edges, np.zeros((0, len(self.slots)), np.int8))

    def up_to_isomorphism(self, placements: _Array, labels: tuple[int, ...]) -> _Array:
        """Keep one placement of each isomorphism class: the one that is the smallest number."""
        number = {slot: position for position, slot in enumerate(self.slots)}
        digits = len(self.states) ** np.arange(len(self.slots), dtype=np.int64)
        keep = np.ones(len(placements), bool)
        code = placements @ digits
        for order in permutations(range(self.nodes)):
            if tuple(labels[node] for node in order) == labels:
                moved = [number[order[u], order[v]] for u, v in self.slots]
                keep &= code <= placements[:, moved] @ digits
        return placements[keep]

    def pack(self, placements: _Array, labels: tuple[int, ...]) -> Graphs:
        """Return the placements as graphs, in their order."""
        holds = np.zeros((len(self.states), len(self.edge_vocabulary)), dtype=bool)
        for number, state in enumerate(self.states):
            holds[number, list(state)] = True
        owner, slot, kind = np.nonzero(holds[placements])
        ends = np.array(self.slots, np.int64).reshape(-1, 2)
        count = len(placements)
        return Graphs(
            node_label=torch.tensor(labels, dtype=torch.int64).repeat(count),
            edge_source=torch.from_numpy(owner * self.nodes + ends[slot, 0]),
            edge_target=torch.from_numpy(owner * self.nodes + ends[slot, 1]),
            edge_label=torch.from_numpy(kind),
            graph_offset=torch.arange(count + 1) * self.nodes,
            node_vocabulary=self.node_vocabulary,
            edge_vocabulary=self.edge_vocabulary,
        )


def _partitions(total: int, largest: int, labels: int, label: int = 0) -> Iterator[tuple[int, ...]]:
    if total == 0:
        yield ()
    elif labels:
        for size in range(min(total, largest), 0, -1):
            for rest in _partitions(total - size, size, labels - 1, label + 1):
                yield (label,) * size + rest


def _names(count: int) -> list[str]:
    letters = ascii_uppercase[:count]
    return [*letters, *(f"A{number}" for number in range(len(letters), count))]
