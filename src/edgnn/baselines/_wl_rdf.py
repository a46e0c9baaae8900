"""RDFWLClassifier: the Weisfeiler–Lehman kernel on what lies around a node of an RDF graph."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from edgnn.baselines._kernel import KernelClassifier
from edgnn.baselines._rdf_subgraphs import Subgraphs, predicate_labels, vertex_labels
from edgnn.baselines._reading import Array, candidates
from edgnn.baselines._solvers import SVMSolver
from edgnn.baselines._walks import Ways
from edgnn.estimators._inputs import Items, Level
from edgnn.graphs import Nodes
from edgnn.ops import mix

_MOST = 1000
_TOGETHER = 64  # instances whose subgraphs are held at once


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each label occurs in each subgraph, for one depth and one round.

    Shapes
    ------
    owner (M,), label (M,), count (M,), squares (n,), the sum of squared counts of each subgraph
    """

    owner: Array
    label: Array
    count: Array
    squares: Array

    @classmethod
    def of(cls, owner: Array, label: Array, size: int) -> Counts:
        """Count pairs of subgraph and label."""
        _, first, count = np.unique(mix(mix(owner) + label), return_index=True, return_counts=True)
        owner, count = owner[first], count.astype(np.float64)
        return cls(owner, label[first], count, np.bincount(owner, count**2, minlength=size))

    @classmethod
    def joined(cls, parts: Sequence[Counts]) -> Counts:
        """Put the subgraphs of several parts behind one another."""
        begin = np.cumsum([0] + [len(part.squares) for part in parts])
        owner = np.concatenate([part.owner + start for part, start in zip(parts, begin, strict=False)])
        rest = (np.concatenate([getattr(part, name) for part in parts]) for name in ("label", "count", "squares"))
        return cls(owner, *rest)

    def products(self, other: Counts) -> Array:
        """Return the sum, over all labels, of the product of two subgraphs' counts."""
        labels = np.unique(self.label if other is self else np.concatenate([self.label, other.label]))
        rows, columns = self._matrix(labels), other._matrix(labels)
        product: Array = (rows @ columns.T).toarray()
        return product

    def _matrix(self, labels: Array) -> csr_array:
        place = (self.owner, np.searchsorted(labels, self.label))
        return csr_array((self.count, place), shape=(len(self.squares), len(labels)))


class RDFWLClassifier(KernelClassifier):
    """The Weisfeiler–Lehman kernel for RDF (de Vries 2013; de Vries & de Rooij 2015) with a support vector machine.

    An instance is seen as the subgraph of what can be reached from it within ``depth`` edges. Each vertex is labeled by its name,
    except that all instances have one common label; each edge by its predicate. In a round an edge adds to its label that of the
    vertex it leads to, and a vertex those of the edges that leave it. The kernel counts equal labels of vertices and of edges over
    all rounds, divided by the lengths of both counts.

    The subgraphs are extracted, not approximated: a vertex within the depth has only what its own instance's subgraph shows of it.

    Parameters
    ----------
    depths : sequence of int
        Depths to choose from, rising.
    rounds : sequence of int
        Numbers of rounds to choose from, rising; what is farthest away has come to the instance after twice the depth, so larger
        numbers are left out.
    inverse : bool
        Follow edges against their direction as well.
    C : sequence of float
        Strengths of the support vector machine to choose from, rising.
    folds : int
        Inner folds of the training part, by which depth, rounds and C are chosen.
    n_jobs : int, optional
        Splits that are worked on at once.
    random_state : int, RandomState or None
        What the inner folds follow from.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    chosen_ : dict
        What was chosen inside the training part.
    """

    _levels: ClassVar[tuple[Level, ...]] = ("node",)

    def __init__(
        self,
        depths: Sequence[int] = (1, 2, 3),
        rounds: Sequence[int] = (0, 2, 4, 6),
        *,
        inverse: bool = False,
        C: Sequence[float] = SVMSolver.C,
        folds: int = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.depths = depths
        self.rounds = rounds
        self.inverse = inverse
        self.C = C
        self.folds = folds
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _represent(self, items: Items, reference: Any = None) -> dict[int, list[Counts]]:
        """Count labels for every depth and every round; labels are hashes of what they mean, so any two counts can be compared."""
        assert isinstance(items, Nodes)
        depths, most = candidates(self.depths, "depths", 0, _MOST), candidates(self.rounds, "rounds", 0, _MOST)[-1]
        ways, instances = Ways.of(items.graphs, self.inverse), items.index.cpu().numpy()
        predicate = predicate_labels(items.graphs)
        parts: dict[int, list[list[Counts]]] = {depth: [] for depth in depths}
        for start in range(0, max(len(instances), 1), _TOGETHER):
            some = instances[start : start + _TOGETHER]
            around = Subgraphs.around(ways, some, depths[-1])
            vertex = vertex_labels(items.graphs, np.unique(around.node))
            for depth in depths:
                rounds = islice(around.colors(depth, vertex, predicate), min(most, 2 * depth) + 1)
                parts[depth].append([Counts.of(owner, label, len(some)) for owner, label in rounds])
        return {depth: [Counts.joined(blocks) for blocks in zip(*of_depth, strict=True)] for depth, of_depth in parts.items()}

    def _kernels(self, rows: Any, columns: Any) -> dict[Hashable, Array]:
        wanted, kernels = set(candidates(self.rounds, "rounds", 0, _MOST)), dict[Hashable, Array]()
        for depth in rows:
            total, left, right = 0.0, 0.0, 0.0
            for number, (row, column) in enumerate(zip(rows[depth], columns[depth], strict=True)):
                total = total + row.products(column)
                left, right = left + row.squares, right + column.squares
                if number in wanted:
                    kernels[f"depth {depth}, rounds {number}"] = total / np.sqrt(np.outer(left, right))
        return kernels

    def _solver(self) -> SVMSolver:
        return SVMSolver.checked(self.C, self.folds)
