"""All small labeled digraphs of one size, up to isomorphism, packed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations, product
from math import log2
from typing import Any

import numpy as np
import torch

from edgnn.errors import GraphError
from edgnn.graphs import Graphs, Vocabulary

_Array = np.ndarray[Any, Any]


class Family:
    """The digraphs with ``nodes`` nodes: which places an edge can take, and what can stand there.

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
        self.places = [(u, v) for u, v in product(range(nodes), repeat=2) if self_loops or u != v]
        most = edge_labels if parallel else min(edge_labels, 1)
        self.states = [
            chosen for size in range(most + 1) for chosen in combinations(range(edge_labels), size)
        ]
        self.most_edges = most * len(self.places)
        self.node_vocabulary = Vocabulary(_names(node_labels))
        self.edge_vocabulary = Vocabulary(range(1, edge_labels + 1))
        if len(self.places) * log2(max(len(self.states), 2)) > 62:
            raise GraphError(
                f"{nodes} nodes with {edge_labels} edge labels make too many graphs: search among fewer nodes or labels"
            )

    def labelings(self) -> Iterator[tuple[int, ...]]:
        """Yield node labels up to renaming: the first label most often, and so on."""
        yield from _partitions(self.nodes, self.nodes, len(self.node_vocabulary))

    def count(self, edges: int) -> int:
        """Return how many ways there are to place ``edges`` edges."""
        ways = [1] + [0] * edges
        for _ in self.places:
            ways = [
                sum(ways[total - len(state)] for state in self.states if len(state) <= total)
                for total in range(edges + 1)
            ]
        return ways[edges]

    def placements(self, edges: int) -> _Array:
        """Return every way to place ``edges`` edges: the state of every place, one row per way."""
        partial = {0: np.zeros((1, 0), np.int8)}
        for _ in self.places:
            longer: dict[int, list[_Array]] = {}
            for total, rows in partial.items():
                for number, state in enumerate(self.states):
                    if total + len(state) <= edges:
                        column = np.full((len(rows), 1), number, np.int8)
                        longer.setdefault(total + len(state), []).append(np.hstack([rows, column]))
            partial = {total: np.vstack(parts) for total, parts in longer.items()}
        return partial.get(edges, np.zeros((0, len(self.places)), np.int8))

    def up_to_isomorphism(self, placements: _Array, labels: tuple[int, ...]) -> _Array:
        """Keep one placement of each isomorphism class: the one that reads as the smallest number."""
        number = {place: position for position, place in enumerate(self.places)}
        digits = len(self.states) ** np.arange(len(self.places), dtype=np.int64)
        keep = np.ones(len(placements), bool)
        code = placements @ digits
        for order in permutations(range(self.nodes)):
            if all(labels[order[node]] == labels[node] for node in range(self.nodes)):
                moved = [number[order[u], order[v]] for u, v in self.places]
                keep &= code <= placements[:, moved] @ digits
        return placements[keep]

    def pack(self, placements: _Array, labels: tuple[int, ...]) -> Graphs:
        """Return the placements as graphs, in their order."""
        graph, place, label = [], [], []
        for edge_label in range(len(self.edge_vocabulary)):
            holds = np.array([edge_label in state for state in self.states])
            where = np.nonzero(holds[placements])
            graph.append(where[0])
            place.append(where[1])
            label.append(np.full(len(where[0]), edge_label))
        owner, position, kind = (
            np.concatenate(part) if part else np.zeros(0, np.int64)
            for part in (graph, place, label)
        )
        order = np.lexsort((kind, position, owner))
        owner, position, kind = owner[order], position[order], kind[order]
        ends = np.array(self.places, np.int64).reshape(-1, 2)
        count = len(placements)
        return Graphs(
            node_label=torch.tensor(labels, dtype=torch.int64).repeat(count),
            edge_source=torch.from_numpy(owner * self.nodes + ends[position, 0]),
            edge_target=torch.from_numpy(owner * self.nodes + ends[position, 1]),
            edge_label=torch.from_numpy(kind.astype(np.int64)),
            graph_offset=torch.arange(count + 1) * self.nodes,
            node_vocabulary=self.node_vocabulary,
            edge_vocabulary=self.edge_vocabulary,
        )


def _partitions(total: int, largest: int, parts: int, label: int = 0) -> Iterator[tuple[int, ...]]:
    if total == 0:
        yield ()
    elif parts:
        for size in range(min(total, largest), 0, -1):
            for rest in _partitions(total - size, size, parts - 1, label + 1):
                yield (label,) * size + rest


def _names(count: int) -> list[str]:
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return [alphabet[number] if number < len(alphabet) else f"A{number}" for number in range(count)]
