"""Ring sizes: the length of the shortest cycle through every edge, and labels that tell it."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn.errors import GraphError
from edgnn.graphs._csr import from_keys, pack
from edgnn.graphs._graphs import Graphs
from edgnn.graphs._vocabulary import UNKNOWN, OnUnknown, Vocabulary, factorize, known_labels, recode

_Array = np.ndarray[Any, Any]

_ROOTS_AT_ONCE = 2**16
_STEPS_AT_ONCE = 2**22


def with_ring_sizes(graphs: Graphs, limit: int, like: Graphs | None, unknown: OnUnknown) -> Graphs:
    """Return the graphs with labels (label, ring size); see :meth:`Graphs.with_ring_sizes`."""
    node_ring, edge_ring = ring_sizes(graphs, limit)
    node, edge = (
        (graphs.node_label, graphs.node_vocabulary),
        (graphs.edge_label, graphs.edge_vocabulary),
    )
    node_label, node_vocabulary = _paired(*node, node_ring)
    edge_label, edge_vocabulary = _paired(*edge, edge_ring)
    if like is not None:
        node_label, node_vocabulary = recode(
            node_label, node_vocabulary, like.node_vocabulary, unknown, "node"
        )
        edge_label, edge_vocabulary = recode(
            edge_label, edge_vocabulary, like.edge_vocabulary, unknown, "edge"
        )
    return graphs._with(
        node_label=node_label,
        edge_label=edge_label,
        node_vocabulary=node_vocabulary,
        edge_vocabulary=edge_vocabulary,
    )


def ring_sizes(graphs: Graphs, limit: int = 8) -> tuple[Tensor, Tensor]:
    """Return the ring size of every node and of every edge.

    Edges are taken without direction, and all edges between the same two nodes as one, so going
    there and back is no cycle; a self-loop is in none. An edge's ring size is the length of the
    shortest cycle through it, or ``limit`` if that is more, or 0 if there is none; a node's is the
    smallest of its edges'.

    Shapes
    ------
    → (N,), (E,)
    """
    limit = _checked(limit)
    source, target = (end.cpu().numpy() for end in (graphs.edge_source, graphs.edge_target))
    simple = _Simple.of(source, target, graphs.num_nodes)
    length = _shortest_cycles(simple, limit)
    own = simple.edge_of(source, target)
    edge_ring: _Array = (
        np.where(own >= 0, length[own], 0) if len(length) else np.zeros(len(source), dtype=np.int64)
    )
    node_ring = np.full(graphs.num_nodes, limit + 1)
    inside = edge_ring > 0
    for end in (source, target):
        np.minimum.at(node_ring, end[inside], edge_ring[inside])
    node_ring[node_ring > limit] = 0
    return torch.from_numpy(node_ring).to(graphs.device), torch.from_numpy(edge_ring).to(
        graphs.device
    )


class _Simple:
    """The simple undirected graph below a multigraph: edge ``e`` joins ``first[e] < second[e]``.

    Shapes
    ------
    first (m,), second (m,), indptr (N+1,), indices (2m,), edge (2m,) the number of the edge to each
    neighbor
    """

    def __init__(self, first: _Array, second: _Array, nodes: int) -> None:
        self.first, self.second, self.nodes = first, second, nodes
        self._keys = first << 32 | second
        rows = from_keys(
            pack(torch.from_numpy(first), torch.from_numpy(second), both=True),
            nodes,
            nodes,
            distinct=False,
        )
        self.indptr, self.indices = (
            rows.indptr.numpy().astype(np.int64),
            rows.indices.numpy().astype(np.int64),
        )
        self.degree = np.diff(self.indptr)
        self.edge = self.edge_of(np.repeat(np.arange(nodes), self.degree), self.indices)

    @classmethod
    def of(cls, source: _Array, target: _Array, nodes: int) -> _Simple:
        keys = np.unique(np.minimum(source, target) << 32 | np.maximum(source, target))
        first, second = keys >> 32, keys & (2**32 - 1)
        apart = first != second
        return cls(first[apart], second[apart], nodes)

    def edge_of(self, source: _Array, target: _Array) -> _Array:
        """Return the number of the edge between two nodes; −1 for a self-loop."""
        keys = np.minimum(source, target) << 32 | np.maximum(source, target)
        return np.where(source == target, -1, np.searchsorted(self._keys, keys))


def _shortest_cycles(simple: _Simple, limit: int) -> _Array:
    """Return the length of the shortest cycle through each edge, 0 beyond ``limit``."""
    kept = _on_cycles(simple)
    length = np.zeros(len(kept), dtype=np.int64)
    if kept.any():
        core = _Simple(simple.first[kept], simple.second[kept], simple.nodes)
        found = _Search(
            core, limit - 1
        ).run()  # what is left is on a cycle, none shorter than the limit
        length[kept] = np.where(found > 0, found, limit)
    return length


def _on_cycles(simple: _Simple) -> _Array:
    """Mark the edges that lie on some cycle.

    A depth-first search leaves no edge between its branches: all that are not in its tree lead back
    up. With the tree's edges directed downward and the others upward, an edge lies on a cycle if
    and only if a directed way leads back from its end.
    """
    from scipy.sparse.csgraph import connected_components, depth_first_order

    first, second, root = simple.first, simple.second, simple.nodes
    _, component = connected_components(_square(first, second, root), directed=False)
    _, top = np.unique(component, return_index=True)
    joined = _square(np.append(first, np.full(len(top), root)), np.append(second, top), root + 1)
    order, above = depth_first_order(joined + joined.T, root)
    when = np.empty(root + 1, dtype=np.int64)
    when[order] = np.arange(root + 1)
    early, late = np.where(when[first] < when[second], (first, second), (second, first))
    down = above[late] == early
    directed = _square(np.where(down, early, late), np.where(down, late, early), root)
    _, strong = connected_components(directed, directed=True, connection="strong")
    on_cycle: _Array = strong[first] == strong[second]
    return on_cycle


def _square(rows: _Array, columns: _Array, size: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(size, size))


class _Search:
    r"""Breadth-first search from many nodes side by side.

    Around a root, a node at distance d belongs to the branch of the root's neighbor through which
    it was first reached. An edge between two branches, at distances d and d′, closes a cycle of d +
    d′ + 1 edges through the root and both of these neighbors; and the shortest cycle through an
    edge of the root leaves the branch of that edge somewhere, over just such an edge. So the first
    cycle that meets a branch, distances rising, is the shortest one through its edge, and half the
    limit is far enough to go.

    Every edge needs one of its ends as a root: the one with more neighbors, so that a hub serves
    all its edges at once.
    """

    def __init__(self, graph: _Simple, limit: int) -> None:
        self.graph, self.limit = graph, limit
        self.length = np.zeros(len(graph.first), dtype=np.int64)
        fewer = graph.degree[graph.first] < graph.degree[graph.second]
        self.root_of_edge = np.where(fewer, graph.second, graph.first)

    def run(self) -> _Array:
        """Return the length of the shortest cycle through every edge, 0 beyond the limit."""
        roots = np.unique(self.root_of_edge)
        waiting = [
            roots[start : start + _ROOTS_AT_ONCE] for start in range(0, len(roots), _ROOTS_AT_ONCE)
        ]
        while waiting:
            group = waiting.pop()
            if not self._from(group):
                half = len(group) // 2
                waiting += [group[:half], group[half:]]
        return self.length

    def _from(self, roots: _Array) -> bool:
        """Search around the roots; ``False`` if they are too many for one go."""
        before = roots * self.graph.nodes + roots
        key, branch = self._neighbors(before)
        for distance in range(1, (self.limit - 1) // 2 + 1):
            if distance > 1:
                key, branch = self._open(key, branch)
            if not len(key):
                break
            if (
                len(roots) > 1
                and int(self.graph.degree[key % self.graph.nodes].sum()) > _STEPS_AT_ONCE
            ):
                return False
            before, (key, branch) = key, self._step(before, key, branch, distance)
        return True

    def _neighbors(self, key: _Array) -> tuple[_Array, _Array]:
        """Return the (root, neighbor) keys of (root, node) keys, and the edges in between."""
        node = key % self.graph.nodes
        degree = self.graph.degree[node]
        place = np.arange(int(degree.sum())) + np.repeat(
            self.graph.indptr[node] - np.cumsum(degree) + degree, degree
        )
        return np.repeat(key - node, degree) + self.graph.indices[place], self.graph.edge[place]

    def _open(self, key: _Array, branch: _Array) -> tuple[_Array, _Array]:
        """Leave out what surrounds roots whose edges are all settled."""
        busy = np.zeros(self.graph.nodes, dtype=bool)
        busy[self.root_of_edge[self.length == 0]] = True
        keep = busy[key // self.graph.nodes]
        return (key, branch) if keep.all() else (key[keep], branch[keep])

    def _step(
        self, before: _Array, key: _Array, branch: _Array, distance: int
    ) -> tuple[_Array, _Array]:
        """Go one edge further from the nodes at ``distance``; settle the cycles that close.

        Their keys rise.
        """
        degree = self.graph.degree[key % self.graph.nodes]
        reached, _ = self._neighbors(key)
        came = np.repeat(branch, degree)
        place = _place(key, reached)
        beside = place >= 0
        self._settle(came[beside], branch[place[beside]], 2 * distance + 1)
        if 2 * distance + 2 > self.limit:
            return key[:0], branch[:0]
        new = ~beside & (_place(before, reached) < 0)
        reached, came = reached[new], came[new]
        order = np.argsort(reached, kind="stable")
        reached, came = reached[order], came[order]
        fresh = np.ones(len(reached), dtype=bool)
        fresh[1:] = reached[1:] != reached[:-1]
        key, branch = reached[fresh], came[fresh]
        self._settle(came, branch[np.cumsum(fresh) - 1], 2 * distance + 2)
        return key, branch

    def _settle(self, one: _Array, other: _Array, length: int) -> None:
        """Note a cycle of this length through the edges of two branches where they differ."""
        met = one != other
        edges = np.concatenate([one[met], other[met]])
        self.length[edges[self.length[edges] == 0]] = length


def _place(sorted_keys: _Array, keys: _Array) -> _Array:
    """Return where each key stands among the sorted ones, −1 if nowhere."""
    if not len(sorted_keys):
        return np.full(len(keys), -1)
    place = np.searchsorted(sorted_keys, keys)
    place[place == len(sorted_keys)] = 0
    return np.where(sorted_keys[place] == keys, place, -1)


def _paired(label: Tensor, vocabulary: Vocabulary, ring: Tensor) -> tuple[Tensor, Vocabulary]:
    """Number the pairs (label, ring size) by first appearance; the reserved label stays last."""
    width = int(ring.max()) + 1 if len(ring) else 1
    known = known_labels(vocabulary)
    ids, pairs = factorize((label * width + ring).clamp(max=known * width))
    codes: list[Any] = list(pairs)
    values = [
        (vocabulary[code // width], code % width) if code < known * width else UNKNOWN
        for code in codes
    ]
    own = Vocabulary(values)
    if known == len(vocabulary):
        return ids.to(label.device), own
    return recode(
        ids.to(label.device),
        own,
        Vocabulary([*(value for value in values if value is not UNKNOWN), UNKNOWN]),
    )


def _checked(limit: int) -> int:
    try:
        number = operator.index(limit)
    except TypeError:
        raise GraphError(
            f"limit={limit!r}: give the length from which on rings are all alike, a whole number"
        ) from None
    if number < 3:
        raise GraphError(f"limit={number}: the shortest ring has 3 edges; choose 3 or more")
    return number
