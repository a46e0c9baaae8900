"""Subgraphs around nodes, and the Weisfeiler–Lehman labels of their vertices and edges."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from edgnn._arrays import running, segment_sum
from edgnn._hashing import mix
from edgnn.graphs import Graphs
from edgnn.models.rivals._walks import Ways

_Array = np.ndarray[Any, Any]

_ROOT, _VERTEX, _EDGE, _END = (
    1,
    2,
    3,
    4,
)  # what a hash is for, so that labels of different kinds never meet


@dataclass(frozen=True, eq=False)
class Subgraphs:
    """One subgraph per instance: what can be reached within ``depth`` edges.

    Each instance has its own copy of a vertex. Vertices stand by their distance from the instance,
    edges by the vertex they leave, so those of a smaller depth are a beginning of the arrays.

    Parameters
    ----------
    owner, node : array
        The instance and the node of each vertex.
    indptr, target, label : array
        The edges of each vertex, in rows: the vertices they lead to, and their predicates. Vertices
        at the full depth have none.
    reach : tuple of int
        How many vertices are within 0, 1, …, depth edges.

    Shapes
    ------
    owner (V,), node (V,), indptr (V+1,), target (E,), label (E,)
    """

    owner: _Array
    node: _Array
    indptr: _Array
    target: _Array
    label: _Array
    reach: tuple[int, ...]

    @classmethod
    def around(cls, ways: Ways, instances: _Array, depth: int) -> Subgraphs:
        """Spread out from all instances at once, hop by hop."""
        nodes = len(ways.indptr) - 1
        seen = np.arange(len(instances)) * nodes + instances
        sorted_seen, place = seen, np.arange(len(seen))
        reach, targets, labels, degrees = [len(seen)], [], [], []
        last = seen
        for _ in range(depth):
            degree = ways.degree[last % nodes]
            begin = ways.indptr[last % nodes]
            edge = np.arange(int(degree.sum())) + np.repeat(
                begin - (np.cumsum(degree) - degree), degree
            )
            ends = np.repeat(last // nodes, degree) * nodes + ways.target[edge]
            last = np.setdiff1d(ends, sorted_seen)
            seen = np.concatenate([seen, last])
            place = np.argsort(seen)
            sorted_seen = seen[place]
            targets.append(place[np.searchsorted(sorted_seen, ends)])
            labels.append(ways.label[edge])
            degrees.append(degree)
            reach.append(len(seen))
        degrees.append(np.zeros(len(last), dtype=np.int64))
        none = np.zeros(0, dtype=np.int64)
        return cls(
            owner=seen // nodes,
            node=seen % nodes,
            indptr=running(np.concatenate(degrees)),
            target=np.concatenate([none, *targets]),
            label=np.concatenate([none, *labels]),
            reach=tuple(reach),
        )

    def colors(
        self, depth: int, vertex: _Array, predicate: _Array
    ) -> Iterator[tuple[_Array, _Array]]:
        """Yield owners and labels of all vertices and edges within ``depth``, round after round.

        A round gives an edge its own label with that of the vertex it leads to, and a vertex its
        own label with those of the edges that leave it: what is far away moves one step toward the
        instance. The instance itself is labeled as every other instance.

        Parameters
        ----------
        depth : int
            At most the depth of these subgraphs.
        vertex, predicate : array of int64
            A hash for each node and predicate.
        """
        vertices, inner = self.reach[depth], self.reach[max(depth - 1, 0)] if depth else 0
        edges = int(self.indptr[inner])
        indptr = np.minimum(self.indptr[: vertices + 1], edges)
        target = self.target[:edges]
        at_vertex, at_edge = (
            mix(vertex[self.node[:vertices]], _VERTEX),
            mix(predicate[self.label[:edges]], _EDGE),
        )
        at_vertex[: self.reach[0]] = _ROOT
        owner = np.concatenate(
            [self.owner[:vertices], np.repeat(self.owner[:vertices], np.diff(indptr))]
        )
        while True:
            yield owner, np.concatenate([at_vertex, at_edge])
            leaving = segment_sum(mix(at_edge), indptr)
            at_edge = mix(at_edge + mix(at_vertex[target], _END), _EDGE)
            at_vertex = mix(at_vertex + mix(leaving), _VERTEX)


def vertex_labels(graphs: Graphs, nodes: _Array) -> _Array:
    """Return a hash of the name of each of ``nodes``; of its label, where there are no names."""
    if graphs.node_names is None:
        of_labels: _Array = content(graphs.node_vocabulary)[graphs.node_label.cpu().numpy()]
        return of_labels
    hashes: _Array = np.zeros(graphs.num_nodes, dtype=np.int64)
    hashes[nodes] = content(graphs.node_names[nodes].tolist())
    return hashes


def predicate_labels(graphs: Graphs) -> _Array:
    """Return a hash of each edge label, and behind them of each one against its direction."""
    forward = content(graphs.edge_vocabulary)
    return np.concatenate([forward, mix(forward)])


def content(values: Iterable[Hashable]) -> _Array:
    """Return a hash of each value: the same in every process, and for equal numbers."""
    texts = (_written(value).encode(errors="backslashreplace") for value in values)
    digests = b"".join(blake2b(text, digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, dtype="<i8").astype(np.int64)


def _written(value: Hashable) -> str:
    whole = isinstance(value, int | float) and np.isfinite(value) and value == int(value)
    return repr(int(value)) if whole else repr(value)  # type: ignore[call-overload]
