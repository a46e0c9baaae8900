"""Subgraph counts: how often each small labeled digraph occurs in each graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations
from math import comb
from typing import Any

import numpy as np

from edgnn._hashing import mix
from edgnn.errors import GraphError
from edgnn.graphs import Graphs
from edgnn.models.kernels._checks import Array
from edgnn.models.rivals._part_counts import PartCounts
from edgnn.wl import bare

#: Every order of a subgraph's nodes is looked at, and 7! is 5,040.
LARGEST = 7

_AT_ONCE = 2**18
_MOST_SETS = 10**10
_NODE, _LOOP, _OUT, _IN, _PAIR, _PLACES, _TYPE = range(1000, 1700, 100)


def subgraph_counts(
    graphs: Graphs, k: int = 3, *, connected: bool = True, like: Graphs | None = None
) -> PartCounts:
    r"""Count the subgraphs of 1 to ``k`` nodes, by isomorphism type.

    Two node sets have one type where a bijection keeps the labels of nodes, of loops and of all
    edges between two nodes, in both directions, and where there are none. For two graphs the
    subgraph matching kernel is then
    :math:`\sum_T |\mathrm{Aut}(T)| \, c_G(T) \, c_H(T)`: as many label-preserving isomorphisms lead
    from a subgraph of type T to another one as the type has automorphisms.

    Types are told apart by 64-bit hashes of their content: among a million types, two have the same
    with a chance of 3·10^-8.

    Parameters
    ----------
    graphs : Graphs
        Any number of graphs; features are not looked at.
    k : int
        Largest number of nodes, 1 to 7.
    connected : bool
        Whether to count only subgraphs that hang together when directions are ignored. There are
        far fewer of these.
    like : Graphs, optional
        Number labels as these graphs do, so that counts can be compared with theirs; a label they
        lack matches nothing there.

    Returns
    -------
    PartCounts
        With ``group`` the number of nodes of a type and ``weight`` its number of automorphisms.
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= LARGEST:
        raise GraphError(f"k={k!r}: subgraphs have 1 to {LARGEST} nodes")
    if not connected:
        _refuse_too_many(graphs, int(k))
    content = Content.of(graphs, like)
    pieces = [_typed(content, sets) for sets in _node_sets(content, int(k), connected)]
    return PartCounts.collect(pieces, len(graphs))


def _refuse_too_many(graphs: Graphs, k: int) -> None:
    sizes, counts = np.unique(graphs.sizes.cpu().numpy(), return_counts=True)
    total = sum(
        int(count) * comb(int(size), s)
        for size, count in zip(sizes, counts, strict=True)
        for s in range(1, k + 1)
    )
    if total > _MOST_SETS:
        raise GraphError(
            f"the graphs have {total:,} sets of up to {k} nodes, more than {_MOST_SETS:,}: "
            "choose connected=True or a smaller k"
        )


@dataclass(frozen=True, eq=False)
class Content:
    """What subgraphs are compared by: hashes of nodes, and of pairs of nodes that edges join.

    Entry (a, b) says which labels lead from a to b and which from b to a, each as often as there
    are such edges.

    Shapes
    ------
    graph (N,), stop (N,), node (N,), key (M,) rising, pair (M,), indptr (N+1,)
    """

    graph: Array
    stop: Array
    node: Array
    key: Array
    pair: Array
    indptr: Array

    @classmethod
    def of(cls, graphs: Graphs, like: Graphs | None = None) -> Content:
        """Hash the labels of ``graphs``, numbered as in ``like``."""
        graphs = bare(graphs).to("cpu")
        if like is not None:
            graphs = Graphs.concat([bare(like)[:0].to("cpu"), graphs])
        source, target, label = (
            part.numpy() for part in (graphs.edge_source, graphs.edge_target, graphs.edge_label)
        )
        loop, size = source == target, graphs.num_nodes
        node = mix(graphs.node_label.numpy(), _NODE)
        np.add.at(node, source[loop], mix(label[loop], _LOOP))
        source, target, label = source[~loop], target[~loop], label[~loop]
        keys = np.concatenate((source * size + target, target * size + source))
        weights = np.concatenate((mix(label, _OUT), mix(label, _IN)))
        order = np.argsort(keys, kind="stable")
        key, first = np.unique(keys[order], return_index=True)
        pair = np.add.reduceat(weights[order], first) if len(key) else weights
        indptr = np.searchsorted(key, np.arange(size + 1) * size)
        graph = graphs.graph_of_node.numpy()
        return cls(
            graph,
            graphs.graph_offset.numpy()[1:][graph],
            mix(node, _NODE + 1),
            key,
            mix(pair, _PAIR),
            indptr,
        )

    @cached_property
    def neighbor(self) -> Array:
        """The second node of each entry; with ``indptr``, the rows of N(v)."""
        return self.key % max(len(self.node), 1)

    def between(self, a: Array, b: Array) -> Array:
        """Return the entries of pairs of nodes; 0 where no edge joins the two."""
        if not len(self.key):
            return np.zeros(len(a), dtype=np.int64)
        wanted = a * len(self.node) + b
        place = np.minimum(np.searchsorted(self.key, wanted), len(self.key) - 1)
        found: Array = np.where(self.key[place] == wanted, self.pair[place], 0)
        return found


# Node sets: each is grown from exactly one set with one node less, so any part of them can be grown
# by itself


def _node_sets(content: Content, k: int, connected: bool) -> Iterator[Array]:
    """Yield every set of 1 to ``k`` nodes of one graph once, in arrays of sets of equal size."""
    grow = _grown_along_edges if connected else _grown
    yield from _with_larger(content, np.arange(len(content.node))[:, None], k, grow)


def _with_larger(content: Content, sets: Array, k: int, grow: Any) -> Iterator[Array]:
    yield sets
    if sets.shape[1] == k:
        return
    if grow is _grown:
        candidates = content.stop[sets[:, -1]] - sets[:, -1] - 1
    else:
        candidates = np.diff(content.indptr)[sets].sum(axis=1)
    before = np.cumsum(candidates) - candidates
    for piece in np.split(sets, np.flatnonzero(np.diff(before // _AT_ONCE)) + 1):
        larger = grow(content, piece)
        if len(larger):
            yield from _with_larger(content, larger, k, grow)


def _grown(content: Content, sets: Array) -> Array:
    """Add to each set every node of its graph behind its last one."""
    last = sets[:, -1]
    row, step = _spread(content.stop[last] - last - 1)
    return np.column_stack((sets[row], last[row] + 1 + step))


def _grown_along_edges(content: Content, sets: Array) -> Array:
    """Add to each set its neighbors, but each larger set only to one of the sets it can grow from.

    The nodes of a set stand in an order of their own: first the smallest, then always the smallest
    of those joined to one before. A set grows from the set without its last node. So a neighbor
    joined to the i-th node and to none before it is added only where it is larger than the first
    node and than all nodes behind the i-th.
    """
    size = sets.shape[1]
    entry, step = _spread(np.diff(content.indptr)[sets].ravel())
    node = content.neighbor[content.indptr[sets.ravel()][entry] + step]
    row, member = entry // size, entry % size
    largest_behind = np.maximum.accumulate(sets[:, ::-1], axis=1)[:, ::-1]
    behind = np.column_stack((largest_behind[:, 1:], sets[:, 0]))
    keep = (
        (node > behind[row, member])
        & (node > sets[row, 0])
        & (sets[row] != node[:, None]).all(axis=1)
    )
    row, member, node = row[keep], member[keep], node[keep]
    keep = np.ones(len(row), dtype=bool)
    for earlier in range(size - 1):
        after = np.flatnonzero(keep & (member > earlier))
        keep[after] = content.between(sets[row[after], earlier], node[after]) == 0
    return np.column_stack((sets[row[keep]], node[keep]))


def _spread(counts: Array) -> tuple[Array, Array]:
    """Return 0…counts[i]−1 for every i, and which i each belongs to."""
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)


# Types


def _typed(content: Content, sets: Array) -> tuple[Array, ...]:
    """Return (graph, code, size, automorphisms, count) of the types of node sets of one size."""
    size = sets.shape[1]
    node = [content.node[sets[:, i]] for i in range(size)]
    pair = {
        (i, j): content.between(sets[:, i], sets[:, j]) for i, j in permutations(range(size), 2)
    }
    seen, first, which = np.unique(
        _hashed(node, pair, range(size)), return_index=True, return_inverse=True
    )
    node, pair = [part[first] for part in node], {ends: part[first] for ends, part in pair.items()}
    code, automorphisms = (
        np.full(len(seen), np.iinfo(np.int64).max),
        np.zeros(len(seen), dtype=np.int64),
    )
    for order in permutations(range(size)):
        other = _hashed(node, pair, order)
        automorphisms = np.where(other < code, 1, automorphisms + (other == code))
        code = np.minimum(code, other)
    types, of_pattern = np.unique(code, return_inverse=True)
    weight = np.zeros(len(types), dtype=np.int64)
    weight[of_pattern] = automorphisms
    cells, count = np.unique(
        content.graph[sets[:, 0]] * len(types) + of_pattern[which], return_counts=True
    )
    graph, kind = cells // max(len(types), 1), cells % max(len(types), 1)
    return graph, types[kind], np.full(len(kind), size), weight[kind], count


def _hashed(node: list[Array], pair: dict[tuple[int, int], Array], order: Any) -> Array:
    """Return one number per node set for what its nodes and pairs are, taken in an order."""
    places = [*((i,) for i in range(len(order))), *combinations(range(len(order)), 2)]
    factors = mix(np.arange(len(places)), _PLACES + len(order)) | 1
    total = np.zeros(len(node[0]), dtype=np.int64)
    for place, factor in zip(places, factors, strict=True):
        total += factor * (
            node[order[place[0]]] if len(place) == 1 else pair[order[place[0]], order[place[1]]]
        )
    hashed: Array = mix(total, _TYPE + len(order))
    return hashed
