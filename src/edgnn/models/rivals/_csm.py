"""SubgraphMatchingClassifier: the subgraph matching kernel (CSM) with a support vector machine."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from edgnn._files import Path_
from edgnn.errors import EstimatorError
from edgnn.graphs import Graphs
from edgnn.models.kernels._classifier import KernelClassifier
from edgnn.models.kernels._reading import Array, candidates, flag, is_whole, numbers
from edgnn.models.kernels._solvers import Solver, SVMSolver
from edgnn.models.networks._inputs import Items, Level, graphs_of
from edgnn.models.rivals._grakel import Backend, check_backend, matching_products, matching_squares
from edgnn.models.rivals._gram_cache import OnBlock, cache_folder
from edgnn.models.rivals._part_counts import Features, PartCounts, labels_only, running_kernels
from edgnn.models.rivals._subgraphs import LARGEST, subgraph_counts

Weights = Literal["uniform", "increasing", "decreasing", "strong_decreasing"] | Sequence[float]

_WEIGHTS: dict[str, Any] = {
    "uniform": lambda size: 1.0 + 0 * size,
    "increasing": lambda size: 1.0 * size,
    "decreasing": lambda size: 1.0 / size,
    "strong_decreasing": lambda size: 1.0 / size**2,
}


@dataclass(frozen=True, eq=False)
class _Counted:
    """Graphs as their subgraph counts, and the graphs whose label numbers the counts follow."""

    counts: PartCounts
    numbering: Graphs


class SubgraphMatchingClassifier(KernelClassifier):
    r"""The connected subgraph matching kernel (Kriege & Mutzel, ICML 2012) with a support vector machine.

    .. math:: K(G, H) = \sum_{s=1}^{k} \lambda_s \, \#\{\text{label-preserving isomorphisms from a connected induced subgraph of } G
        \text{ with } s \text{ nodes to one of } H\}

    That is what GraKeL's ``SubgraphMatching`` counts pair by pair, as cliques of a product graph.
    Here each graph's subgraphs are counted once, by isomorphism type, and the kernel is a product
    of sparse matrices (:func:`subgraph_counts`): the same numbers, thousands of times faster.
    Directions, parallel edges and loops count as labels do.

    Parameters
    ----------
    k : int or sequence of int
        Largest number of nodes of a subgraph; of several candidates one is chosen inside the
        training part.
    weights : {"uniform", "increasing", "decreasing", "strong_decreasing"} or sequence of float
        :math:`\lambda_s`: 1, s, 1/s, 1/s², or one number per size.
    connected : bool
        ``False`` counts all induced subgraphs (cliques of any kind), which GraKeL does not.
    normalize : bool
        Divide by the lengths, so that a graph has similarity 1 with itself.
    C : sequence of float
        Candidates for the strength of the support vector machine, rising; chosen inside the
        training part.
    folds : int
        Number of inner folds that choose.
    backend : {"edgnn", "grakel"}
        What computes the kernel; GraKeL needs minutes where we need milliseconds.
    cache : bool or path
        Where GraKeL's values are kept, under a hash of the graphs: a folder, ``True`` for the
        user's cache, ``False`` for nowhere.
    features : {"refuse", "ignore"}
        What to do with graphs that have continuous features, which the kernel does not look at.
    n_jobs : int, optional
        Splits that are worked on at once, in threads (default: one), and processes for GraKeL
        (default: one per core).
    random_state : int, RandomState or None
        What inner folds follow from.
    verbose : int
        Write a line to stderr after so many blocks of rows that GraKeL has computed; 0: none.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    chosen_ : dict
        ``kernel`` (the k), ``C`` and ``inner_accuracy`` of the choice.
    """

    _levels: ClassVar[tuple[Level, ...]] = ("graph",)

    def __init__(
        self,
        k: int | Sequence[int] = (1, 2, 3),
        *,
        weights: Weights = "uniform",
        connected: bool = True,
        normalize: bool = True,
        C: Sequence[float] = SVMSolver.C,
        folds: int = SVMSolver.folds,
        backend: Backend = "edgnn",
        cache: bool | Path_ = True,
        features: Features = "refuse",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.weights = weights
        self.connected = connected
        self.normalize = normalize
        self.C = C
        self.folds = folds
        self.backend = backend
        self.cache = cache
        self.features = features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _represent(self, items: Items, reference: Any = None) -> Any:
        graphs = labels_only(graphs_of(items), self.features)
        connected, _ = flag(self.connected, "connected"), flag(self.normalize, "normalize")
        if check_backend(self.backend) == "grakel":
            if not connected:
                raise EstimatorError(
                    "GraKeL counts connected subgraphs only: choose connected=True, or backend='edgnn'"
                )
            return graphs
        numbering = graphs[:0] if reference is None else reference.numbering
        largest = max(candidates(self.k, "k", 1, LARGEST))
        return _Counted(
            subgraph_counts(graphs, largest, connected=connected, like=numbering), numbering
        )

    def _kernels(self, rows: Any, columns: Any) -> dict[Hashable, Array]:
        wanted = candidates(self.k, "k", 1, LARGEST)
        weights = self._weights(wanted[-1])
        if isinstance(rows, _Counted):
            sizes = range(1, wanted[-1] + 1)
            kernels = rows.counts.summed(columns.counts, sizes, weights, self.normalize)
        else:
            kernels = self._by_grakel(rows, columns, weights)
        return {k: kernels[k - 1] for k in wanted}

    def _by_grakel(self, rows: Graphs, columns: Graphs, weights: Array) -> list[Array]:
        k, folder = len(weights), cache_folder(self.cache)
        report = reporting(self.verbose)
        products = matching_products(
            rows, columns, k, n_jobs=self.n_jobs, folder=folder, on_block=report
        )
        if rows is columns:
            squares = [np.diagonal(products, axis1=1, axis2=2)] * 2
        else:
            squares = [
                matching_squares(graphs, k) if self.normalize else np.zeros((k, len(graphs)))
                for graphs in (rows, columns)
            ]
        return running_kernels(products, squares[0], squares[1], weights, self.normalize)

    def _weights(self, k: int) -> Array:
        if isinstance(self.weights, str):
            if self.weights not in _WEIGHTS:
                raise EstimatorError(
                    f"weights={self.weights!r}: choose {', '.join(map(repr, _WEIGHTS))}, or give one number per size"
                )
            named: Array = _WEIGHTS[self.weights](np.arange(1, k + 1))
            return named
        given = numbers(self.weights)
        if given.shape != (k,) or not (np.isfinite(given) & (given >= 0)).all():
            raise EstimatorError(
                f"weights={self.weights!r}: sizes 1 to {k} need {k} numbers, none of them negative"
            )
        return given

    def _solver(self) -> Solver:
        return SVMSolver.checked(self.C, self.folds)


def reporting(verbose: int) -> OnBlock | None:
    """Return a hook that writes a line to stderr every ``verbose`` blocks."""
    if not is_whole(verbose, 0, 2**31):
        raise EstimatorError(f"verbose={verbose!r}: give a whole number; 0 is silent")
    if not verbose:
        return None

    def report(done: int, total: int) -> None:
        if done % verbose == 0 or done == total:
            sys.stderr.write(f"GraKeL: {done} of {total} blocks of rows\n")

    return report
