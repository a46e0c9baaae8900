"""RDFWLClassifier: the Weisfeiler–Lehman kernel on what lies around a node of an RDF graph."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from edgnn._hashing import mix
from edgnn.graphs import Nodes
from edgnn.models._items import Items, Level
from edgnn.models.kernels._checks import Array, candidates, flag
from edgnn.models.kernels._classifier import KernelClassifier
from edgnn.models.kernels._solvers import SVMSolver
from edgnn.models.rivals._part_counts import PartCounts, occurrences
from edgnn.models.rivals._rdf_subgraphs import Subgraphs, predicate_labels, vertex_labels
from edgnn.models.rivals._walks import Ways

_MOST = 1000
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

    depths: Sequence[int] = (1, 2, 3)
    rounds: Sequence[int] = (0, 2, 4, 6)
    _: KW_ONLY
    inverse: bool = False
    C: Sequence[float] = SVMSolver.C
    folds: int = 5

    def _represent(self, items: Items, reference: Any = None) -> dict[int, PartCounts]:
        """Count labels for every depth and round; they are hashes, so any two can be compared."""
        assert isinstance(items, Nodes)
        depths = candidates(self.depths, "depths", 0, _MOST)
        ways, instances = (
            Ways.of(items.graphs, flag(self.inverse, "inverse")),
            items.index.cpu().numpy(),
        )
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
            running = rows[depth].summed(
                columns[depth], rounds, np.ones(len(rounds)), normalize=True
            )
            wanted = {
                min(number, rounds[-1]) for number in candidates(self.rounds, "rounds", 0, _MOST)
            }
            kernels |= {
                f"depth {depth}, rounds {number}": running[number] for number in sorted(wanted)
            }
        return kernels

    def _rounds(self, depth: int) -> range:
        """Return the rounds that can still change something within a depth."""
        return range(min(candidates(self.rounds, "rounds", 0, _MOST)[-1], 2 * depth) + 1)

    def _solver(self) -> SVMSolver:
        candidates(self.depths, "depths", 0, _MOST)
        candidates(self.rounds, "rounds", 0, _MOST)
        flag(self.inverse, "inverse")
        return SVMSolver.checked(self.C, self.folds)
