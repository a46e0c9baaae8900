"""Counts of parts of graphs, such as subgraphs and paths, and kernels of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import coo_array, csr_array

from edgnn._rules import one_of
from edgnn.graphs import Graphs
from edgnn.models.kernels._checks import Array, refuse_features
from edgnn.wl import bare

Features = Literal["refuse", "ignore"]
FEATURES = one_of("refuse", "ignore")


@dataclass(frozen=True, eq=False)
class PartCounts:
    """How often each kind of part occurs in each graph; kinds are 64-bit hashes of content.

    Shapes
    ------
    counts (G, T), code (T,) rising, group (T,), weight (T,)
    """

    counts: csr_array
    code: Array
    group: Array
    weight: Array

    @classmethod
    def collect(cls, pieces: Sequence[tuple[Array, ...]], graphs: int) -> PartCounts:
        """Add up pieces of (graph, code, group, weight, count)."""
        none = (np.zeros(0, dtype=np.int64),) * 5
        graph, code, group, weight, count = (
            np.concatenate(part) for part in zip(none, *pieces, strict=True)
        )
        kinds, first, column = np.unique(code, return_index=True, return_inverse=True)
        cells = coo_array(
            (count.astype(np.float64), (graph, column.ravel())), shape=(graphs, len(kinds))
        )
        return cls(cells.tocsr(), kinds, group[first], weight[first])

    def summed(
        self, other: PartCounts, groups: Sequence[int], weights: Array, normalize: bool
    ) -> list[Array]:
        """Return the kernel of the first group, of the first two, and so on.

        Parameters
        ----------
        other : PartCounts
            What to compare with.
        groups : sequence of int
            Which groups of parts, in their order.
        weights : array
            One number per group.
        normalize : bool
            Whether to divide by the lengths, so that a graph has 1 with itself; one that has no
            parts has 0 with all.

        Shapes
        ------
        → one (G, G of other) per group
        """
        kernels: list[Array] = []
        total: Any = 0.0
        mine: Any = 0.0
        theirs: Any = 0.0
        for group, weight in zip(groups, weights, strict=True):
            total = total + weight * self.products(other, group)
            mine = mine + weight * self.squares(group)
            theirs = theirs + weight * other.squares(group)
            scale = np.outer(np.sqrt(mine), np.sqrt(theirs))
            cosine = np.divide(total, scale, out=np.zeros_like(total), where=scale > 0)
            kernels.append(cosine if normalize else total)
        return kernels

    def products(self, other: PartCounts, group: int) -> Array:
        """Return the sum of weight · count · count over a group, for all pairs of graphs.

        Shapes
        ------
        → (G, G of other)
        """
        mine, its = np.flatnonzero(self.group == group), np.flatnonzero(other.group == group)
        if other is not self:
            _, here, there = np.intersect1d(
                self.code[mine], other.code[its], assume_unique=True, return_indices=True
            )
            mine, its = mine[here], its[there]
        weighted = self.counts[:, mine].multiply(self.weight[mine]).tocsr()
        product: Array = np.asarray((weighted @ other.counts[:, its].T).todense())
        return product

    def squares(self, group: int) -> Array:
        """Return the product of every graph with itself, of all its kinds.

        Shapes
        ------
        → (G,)
        """
        mine = np.flatnonzero(self.group == group)
        counts = self.counts[:, mine]
        total: Array = np.asarray(
            counts.multiply(counts) @ self.weight[mine].astype(np.float64)
        ).ravel()
        return total


def occurrences(graph: Array, code: Array, group: int) -> tuple[Array, ...]:
    """Return (graph, code, group, weight, count) of the kinds in each graph; weights are 1."""
    kinds, kind = np.unique(code, return_inverse=True)
    cells, count = np.unique(graph * max(len(kinds), 1) + kind, return_counts=True)
    graph, code = cells // max(len(kinds), 1), kinds[cells % max(len(kinds), 1)]
    return graph, code, np.full(len(cells), group), np.ones(len(cells), dtype=np.int64), count


def labels_only(graphs: Graphs, features: Features) -> Graphs:
    """Return graphs with labels only; refuse features unless they are to be ignored."""
    if features == "refuse":
        refuse_features(graphs, 'pass features="ignore"')
    return bare(graphs).to("cpu")
