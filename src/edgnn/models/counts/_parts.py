"""Parts of graphs, counted: colors round by round, and pairs of colors at a distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from edgnn._arrays import changes, runs
from edgnn._hashing import mix
from edgnn.graphs import Graphs

_Array = np.ndarray[Any, Any]

_NODES_AT_ONCE = 50_000
#: Pairs of nodes that one collection may have; larger graphs are compared without pairs.
MOST_PAIRS = 400_000_000


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each item has each part of one kind.

    A part is named by a hash of its content, so that counts of new items need nothing but these
    names.

    Parameters
    ----------
    names : array
        What the columns count, rising.
    table : csr_array
        The counts.
    totals : array
        How many parts each item has, those without a column included.
    log_square : array
        The sum of log²(1 + count) of each item, those without a column included.

    Shapes
    ------
    names (d,), table (n, d), totals (n,), log_square (n,)
    """

    names: _Array
    table: csr_array
    totals: _Array
    log_square: _Array

    @classmethod
    def of(cls, hashes: _Array, owner: _Array, items: int, times: _Array | None = None) -> Counts:
        """Count the hashes of the parts that each item owns, each so many times."""
        order = np.lexsort((hashes, owner))
        row, name = owner[order], hashes[order]
        begin, length = runs(changes(row) | changes(name))
        if times is not None:
            sums = np.concatenate([[0.0], np.cumsum(times[order])])
            length = sums[begin + length] - sums[begin]
        names, column = np.unique(name[begin], return_inverse=True)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row[begin], minlength=items))])
        table = csr_array(
            (length.astype(np.float32), column.astype(np.int32), indptr.astype(np.int32)),
            shape=(items, len(names)),
        )
        squares = csr_array(table.log1p().power(2)).sum(axis=1)
        return cls(names, table, np.asarray(table.sum(axis=1)).ravel(), np.asarray(squares).ravel())

    def __len__(self) -> int:
        return len(self.totals)

    def __getitem__(self, items: _Array) -> Counts:
        """Return the counts of some items, in the same columns."""
        table = csr_array(self.table[items])
        return Counts(self.names, table, self.totals[items], self.log_square[items])

    def in_columns(self, names: _Array) -> Counts:
        """Return the same counts in other columns; parts that have none there count in totals."""
        if not len(names):
            empty = csr_array((len(self), 0), dtype=np.float32)
            return Counts(names, empty, self.totals, self.log_square)
        place = np.searchsorted(names, self.names).clip(max=len(names) - 1)
        has_column = names[place] == self.names
        kept = csr_array(self.table[:, has_column])
        column = place[has_column].astype(np.int32)
        table = csr_array(
            (kept.data, column[kept.indices], kept.indptr), shape=(len(self), len(names))
        )
        return Counts(names, table, self.totals, self.log_square)

    @property
    def frequencies(self) -> _Array:
        """How many items have each part."""
        counts: _Array = np.bincount(self.table.indices, minlength=len(self.names))
        return counts


def color_counts(signatures: Sequence[_Array], owner: _Array, items: int) -> list[Counts]:
    """Return the counts of every round from the hashes of the nodes' colors."""
    return [Counts.of(hashes, owner, items) for hashes in signatures]


def pair_counts(graphs: Graphs, hashes: _Array, farthest: int) -> Counts:
    """Count pairs of nodes by the hashes of both and by their distance, 1 to ``farthest``.

    Distances ignore the direction of edges.
    """
    names, source, _, _ = pairs_of(graphs, hashes, farthest)
    owner = graphs.graph_of_node.cpu().numpy()
    return Counts.of(names, owner[source], len(graphs))


def pairs_of(
    graphs: Graphs, hashes: _Array, farthest: int
) -> tuple[_Array, _Array, _Array, _Array]:
    """Return the names of all pairs that :func:`pair_counts` counts, both nodes, and distances."""
    nothing = np.zeros(0, dtype=np.int64)
    pieces: list[tuple[_Array, ...]] = [(nothing,) * 4]
    for first, last in _pieces(graphs):
        for distance, (source, target) in enumerate(_at_distances(graphs, first, last, farthest)):
            both = mix(hashes[source] + hashes[target], distance + 1)
            pieces.append((both, source, target, np.full(len(both), distance + 1)))
    names, sources, targets, distances = (
        np.concatenate(arrays) for arrays in zip(*pieces, strict=True)
    )
    return names, sources, targets, distances


def number_of_pairs(graphs: Graphs) -> int:
    """Return how many pairs of nodes share a graph."""
    sizes = graphs.sizes.cpu().numpy().astype(np.int64)
    return int((sizes * (sizes - 1) // 2).sum())


def _pieces(graphs: Graphs) -> list[tuple[int, int]]:
    """Return ranges of graphs with about as many nodes each."""
    offset = graphs.graph_offset.cpu().numpy()
    steps = np.arange(0, offset[-1] + _NODES_AT_ONCE, _NODES_AT_ONCE)
    bounds = np.unique(np.append(np.searchsorted(offset, steps).clip(max=len(graphs)), [0]))
    return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))


def _at_distances(
    graphs: Graphs, first: int, last: int, farthest: int
) -> list[tuple[_Array, _Array]]:
    """Return, for each distance from 1 on, the pairs of nodes that are so far apart, once each."""
    start, stop = int(graphs.graph_offset[first]), int(graphs.graph_offset[last])
    begin, end = int(graphs.edge_offset[first]), int(graphs.edge_offset[last])
    source = graphs.edge_source[begin:end].cpu().numpy() - start
    target = graphs.edge_target[begin:end].cpu().numpy() - start
    size = stop - start
    rows, columns = np.concatenate([source, target]), np.concatenate([target, source])
    different = rows != columns
    ones = np.ones(int(different.sum()), dtype=np.int32)
    edges = csr_array((ones, (rows[different], columns[different])), shape=(size, size))
    edges.sum_duplicates()
    edges.data[:] = 1
    # what is one step from nodes at distance d lies at d − 1, d or d + 1
    before = csr_array((np.ones(size, dtype=np.int32), (np.arange(size), np.arange(size))))
    here = edges
    found: list[tuple[_Array, _Array]] = []
    for _ in range(farthest):
        pairs = here.tocoo()
        once = pairs.row < pairs.col
        found.append((pairs.row[once] + start, pairs.col[once] + start))
        reached = csr_array(here @ edges)
        reached.data[:] = 1
        beyond = csr_array(reached - reached.multiply(here) - reached.multiply(before))
        beyond.eliminate_zeros()
        before, here = here, beyond
    return found
