"""Links and twins: edges that are one connection, and elements that a graph cannot tell apart."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from edgnn.explain._subject import Subject
from edgnn.graphs import Graphs

_Array = np.ndarray[Any, Any]


def links_of(graphs: Graphs) -> _Array:
    """Return the number of each edge's link: an edge and its reverse of one label, as a bond is.

    Links are numbered by their first edge. Of parallel edges each pairs with at most one reverse; a
    self-loop is a link of its own.

    Shapes
    ------
    → (E,)
    """
    source, target, label = (
        part.cpu().numpy() for part in (graphs.edge_source, graphs.edge_target, graphs.edge_label)
    )
    if not len(source):
        return np.zeros(0, np.int64)
    # Of parallel edges, the n-th pairs with the n-th reverse.
    which = _ranks(np.stack([source, target, label]))
    pairs = np.stack([np.minimum(source, target), np.maximum(source, target), label, which])
    return _by_first(np.unique(pairs, axis=1, return_inverse=True)[1].reshape(-1))


def members_of(groups: _Array) -> list[_Array]:
    """Return the elements of each group, by the groups' numbers."""
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.cumsum(np.bincount(groups))[:-1]) if len(groups) else []


def twins_of(subject: Subject) -> tuple[_Array, _Array]:
    """Return for every node and for every edge the first one that can be swapped with it.

    To swap them does not change the graph, so either has the same effect. Nodes with one label and
    the very same edges to the same neighbors are twins, as the many instances that hang on one
    class are. With continuous features, and for the explained node, there are none.

    Shapes
    ------
    → (N,), (E,)
    """
    graphs = subject.raw
    if graphs.node_features is not None or graphs.edge_features is not None:
        return np.arange(graphs.num_nodes), np.arange(graphs.num_edges)
    labels = subject.labels["edge"].numbers.tolist()
    ends = list(zip(graphs.edge_source.tolist(), graphs.edge_target.tolist(), labels, strict=True))
    around: list[list[tuple[int, int, int]]] = [[] for _ in range(graphs.num_nodes)]
    for source, target, label in ends:
        around[target].append((source, label, 0))
        around[source].append((target, label, 1))
    same = _firsts(
        [
            (node == subject.node, key, tuple(sorted(around[node])))
            for node, key in enumerate(subject.node_keys)
        ]
    )
    of_edges = [
        (source == target, int(same[source]), int(same[target]), label)
        for source, target, label in ends
    ]
    return same, _firsts(of_edges)


def twin_links(same: _Array, links: Sequence[_Array]) -> _Array:
    """Return for every link the first one that can be swapped with it."""
    return _firsts([tuple(sorted(same[edges].tolist())) for edges in links])


def _firsts(keys: Sequence[Hashable]) -> _Array:
    first: dict[Hashable, int] = {}
    return np.array(
        [first.setdefault(key, number) for number, key in enumerate(keys)], dtype=np.int64
    )


def _ranks(columns: _Array) -> _Array:
    """Return how many equal columns stand before each."""
    groups = np.unique(columns, axis=1, return_inverse=True)[1].reshape(-1)
    order = np.argsort(groups, kind="stable")
    starts = np.cumsum(np.concatenate([[0], np.bincount(groups)[:-1]]))
    ranks = np.empty(len(groups), np.int64)
    ranks[order] = np.arange(len(groups)) - starts[groups[order]]
    return ranks


def _by_first(groups: _Array) -> _Array:
    """Number groups in order of first appearance."""
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    result: _Array = rank[inverse.reshape(-1)]
    return result
