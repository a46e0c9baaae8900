"""RDFWLClassifier: the Weisfeiler–Lehman kernel on what lies around a node of an RDF graph."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from hashlib import blake2b
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from edgnn._arrays import row_entries, running, segment_sum
from edgnn._hashing import mix
from edgnn._rules import FLAG, Rules, whole
from edgnn.graphs import Graphs, Nodes
from edgnn.models._items import Items, Level
from edgnn.models.kernels._checks import DEEPEST, Array, candidates
from edgnn.models.kernels._classifier import KernelClassifier
from edgnn.models.kernels._solvers import SVM_RULES, SVMSolver
from edgnn.models.rivals._part_counts import PartCounts, occurrences
from edgnn.models.rivals._walks import Ways

# what a hash is for, so that labels of different kinds never meet
_ROOT, _VERTEX, _EDGE, _END = 1, 2, 3, 4
_ROUND = 3000
_TOGETHER = 64  # instances whose subgraphs are held at once


@dataclass(eq=False, repr=False)
class RDFWLClassifier(KernelClassifier):
    """The Weisfeiler–Lehman kernel for RDF (de Vries 2013; de Vries & de Rooij 2015), SVM.

    An instance is seen as the subgraph of what can be reached from it within ``depth`` edges. Each
    vertex is labeled by its name, except that all instances have one common label; each edge by its
    predicate. In a round an edge adds to its label that of the vertex it leads to, and a vertex
    those of the edges that leave it. The kernel counts equal labels of vertices and of edges over
    all rounds, divided by the lengths of both counts.

    The subgraphs are extracted, not approximated: a vertex within the depth has only what its own
    instance's subgraph shows of it.

    Parameters
    ----------
    depths : sequence of int
        Depths to choose from, rising.
    rounds : sequence of int
        Numbers of rounds to choose from, rising; what is farthest away has come to the instance
        after twice the depth, so larger numbers are taken as that.
    inverse : bool
        Follow edges against their direction as well.
    C : sequence of float
        Strengths of the support vector machine to choose from, rising.
    folds : int
        Inner folds of the training set, by which depth, rounds and C are chosen.
    n_jobs : int, optional
        Splits that are worked on at once.
    random_state : int, RandomState or None
        The random seed of inner folds.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    chosen_ : dict
        What was chosen inside the training set.
    """

    levels: ClassVar[tuple[Level, ...]] = ("node",)
    rules: ClassVar[Rules] = {
        "depths": whole(0, DEEPEST).or_several(),
        "rounds": whole(0, DEEPEST).or_several(),
        "inverse": FLAG,
        **SVM_RULES,
    }

    depths: Sequence[int] = (1, 2, 3)
    rounds: Sequence[int] = (0, 2, 4, 6)
    _: KW_ONLY
    inverse: bool = False
    C: Sequence[float] = SVMSolver.C
    folds: int = 5

    def _represent(self, items: Items, reference: Any = None) -> dict[int, PartCounts]:
        """Count labels for every depth and round; they are hashes, so any two can be compared."""
        assert isinstance(items, Nodes)
        depths = candidates(self.depths)
        ways = Ways.of(items.graphs, self.inverse)
        instances = items.index.cpu().numpy()
        predicate = predicate_labels(items.graphs)
        pieces: dict[int, list[tuple[Array, ...]]] = {depth: [] for depth in depths}
        for start in range(0, len(instances), _TOGETHER):
            around = Subgraphs.around(ways, instances[start : start + _TOGETHER], depths[-1])
            vertex = vertex_labels(items.graphs, np.unique(around.node))
            for depth in depths:
                rounds = islice(around.colors(depth, vertex, predicate), len(self._rounds(depth)))
                for number, (owner, label) in enumerate(rounds):
                    pieces[depth].append(
                        occurrences(owner + start, mix(label, _ROUND + number), number)
                    )
        return {
            depth: PartCounts.collect(of_depth, len(instances))
            for depth, of_depth in pieces.items()
        }

    def _kernels(self, rows: Any, columns: Any) -> dict[Hashable, Array]:
        kernels: dict[Hashable, Array] = {}
        for depth in rows:
            rounds = self._rounds(depth)
            summed = rows[depth].summed(
                columns[depth], rounds, np.ones(len(rounds)), normalize=True
            )
            wanted = {min(number, rounds[-1]) for number in candidates(self.rounds)}
            for number in sorted(wanted):
                kernels[f"depth {depth}, rounds {number}"] = summed[number]
        return kernels

    def _rounds(self, depth: int) -> range:
        """Return the rounds that can still change something within a depth."""
        return range(min(candidates(self.rounds)[-1], 2 * depth) + 1)

    def _solver(self) -> SVMSolver:
        return SVMSolver.of(self.C, self.folds)


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

    owner: Array
    node: Array
    indptr: Array
    target: Array
    label: Array
    reach: tuple[int, ...]

    @classmethod
    def around(cls, ways: Ways, instances: Array, depth: int) -> Subgraphs:
        """Spread out from all instances at once, hop by hop."""
        nodes = len(ways.indptr) - 1
        seen = np.arange(len(instances)) * nodes + instances
        sorted_seen, place = seen, np.arange(len(seen))
        reach, targets, labels, degrees = [len(seen)], [], [], []
        last = seen
        for _ in range(depth):
            row, edge = row_entries(ways.indptr, last % nodes)
            ends = (last // nodes)[row] * nodes + ways.target[edge]
            degrees.append(ways.degree[last % nodes])
            last = np.setdiff1d(ends, sorted_seen)
            seen = np.concatenate([seen, last])
            place = np.argsort(seen)
            sorted_seen = seen[place]
            targets.append(place[np.searchsorted(sorted_seen, ends)])
            labels.append(ways.label[edge])
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

    def colors(self, depth: int, vertex: Array, predicate: Array) -> Iterator[tuple[Array, Array]]:
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
        vertices = self.reach[depth]
        inner = self.reach[depth - 1] if depth else 0
        edges = int(self.indptr[inner])
        indptr = np.minimum(self.indptr[: vertices + 1], edges)
        target = self.target[:edges]
        at_vertex = mix(vertex[self.node[:vertices]], _VERTEX)
        at_edge = mix(predicate[self.label[:edges]], _EDGE)
        at_vertex[: self.reach[0]] = _ROOT
        owner = np.concatenate(
            [self.owner[:vertices], np.repeat(self.owner[:vertices], np.diff(indptr))]
        )
        while True:
            yield owner, np.concatenate([at_vertex, at_edge])
            leaving = segment_sum(mix(at_edge), indptr)
            at_edge = mix(at_edge + mix(at_vertex[target], _END), _EDGE)
            at_vertex = mix(at_vertex + mix(leaving), _VERTEX)


def vertex_labels(graphs: Graphs, nodes: Array) -> Array:
    """Return a hash of the name of each of ``nodes``; of its label, where there are no names."""
    if graphs.node_names is None:
        of_labels: Array = content(graphs.node_vocabulary)[graphs.node_label.cpu().numpy()]
        return of_labels
    hashes: Array = np.zeros(graphs.num_nodes, dtype=np.int64)
    hashes[nodes] = content(graphs.node_names[nodes].tolist())
    return hashes


def predicate_labels(graphs: Graphs) -> Array:
    """Return a hash of each edge label, and behind them of each one against its direction."""
    forward = content(graphs.edge_vocabulary)
    return np.concatenate([forward, mix(forward)])


def content(values: Iterable[Hashable]) -> Array:
    """Return a hash of each value: the same in every process, and for equal numbers."""
    texts = (_written(value).encode(errors="backslashreplace") for value in values)
    digests = b"".join(blake2b(text, digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, dtype="<i8").astype(np.int64)


def _written(value: Hashable) -> str:
    whole = isinstance(value, int | float) and np.isfinite(value) and value == int(value)
    return repr(int(value)) if whole else repr(value)  # type: ignore[call-overload]
