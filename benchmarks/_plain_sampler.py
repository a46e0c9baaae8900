"""Neighbor sampling as plain code does it, one node after another: the peer of :class:`edgnn.nn.ops.Sampler`."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from edgnn.graphs import Structure


@dataclass(frozen=True)
class PlainHop:
    """The neighbors drawn for some nodes: their lists as positions among ``columns``, and how much each counts."""

    columns: list[int]
    lists: list[list[int]]
    factors: list[float]


class PlainSampler:
    """Draws at most so many neighbors per node and hop without replacement, with one Python step per node and neighbor.

    Parameters
    ----------
    structure : Structure
        Whose neighbor lists are read; they are turned into a Python list per node when first asked
        for.
    seed : int
        Of Python's generator.
    """

    def __init__(self, structure: Structure, seed: int = 0) -> None:
        self._indptr, self._indices = (
            structure.neighbors.indptr.numpy(),
            structure.neighbors.indices.numpy(),
        )
        self._lists: dict[int, list[int]] = {}
        self._random = random.Random(seed)  # noqa: S311 - samples need no secrets

    def hops(self, nodes: Sequence[int], fanouts: Sequence[int]) -> list[PlainHop]:
        """Return a hop for every fan-out, the first from ``nodes``, each other from the columns of the one before."""
        hops, rows = [], list(nodes)
        for fanout in fanouts:
            hops.append(self.hop(rows, fanout))
            rows = hops[-1].columns
        return hops

    def hop(self, rows: Sequence[int], fanout: int) -> PlainHop:
        """Return the neighbors of some nodes; the rows come first among the columns."""
        columns = list(rows)
        place = {node: number for number, node in enumerate(columns)}
        lists, factors = [], []
        for node in rows:
            neighbors = self._neighbors(node)
            degree = len(neighbors)
            if degree > fanout:
                neighbors = self._random.sample(neighbors, fanout)
            drawn = []
            for neighbor in neighbors:
                if neighbor not in place:
                    place[neighbor] = len(columns)
                    columns.append(neighbor)
                drawn.append(place[neighbor])
            lists.append(drawn)
            factors.append(degree / max(len(drawn), 1))
        return PlainHop(columns, lists, factors)

    def _neighbors(self, node: int) -> list[int]:
        """Return a node's list; kept, as an adjacency dictionary would be."""
        found = self._lists.get(node)
        if found is None:
            found = self._indices[self._indptr[node] : self._indptr[node + 1]].tolist()
            self._lists[node] = found
        return found
