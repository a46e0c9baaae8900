"""SubgraphMatchingClassifier: the subgraph matching kernel (CSM) with a support vector machine."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from edgnn._rules import FLAG, NOT_NEGATIVE, Rule, Rules, whole
from edgnn.errors import EstimatorError
from edgnn.graphs import Graphs
from edgnn.models._items import Items, Level, graphs_of
from edgnn.models.kernels._checks import Array, candidates
from edgnn.models.kernels._classifier import KernelClassifier
from edgnn.models.kernels._solvers import SVM_RULES, Solver, SVMSolver
from edgnn.models.rivals._part_counts import FEATURES, Features, PartCounts, labels_only
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


@dataclass(eq=False, repr=False)
class SubgraphMatchingClassifier(KernelClassifier):
    r"""The connected subgraph matching kernel (Kriege & Mutzel, ICML 2012), with an SVM.

    .. math:: K(G, H) = \sum_{s=1}^{k} \lambda_s \, \#\{\text{label-preserving isomorphisms}
        \text{ from a connected induced subgraph of } G
        \text{ with } s \text{ nodes to one of } H\}

    That is what GraKeL's ``SubgraphMatching`` counts pair by pair, as cliques of a product graph.
    Here each graph's subgraphs are counted once, by isomorphism type, and the kernel is a product
    of sparse matrices (:func:`subgraph_counts`): the same numbers, thousands of times faster.
    Directions, parallel edges and loops count as labels do.

    Parameters
    ----------
    k : int or sequence of int
        Largest number of nodes of a subgraph; of several candidates one is chosen inside the
        training set.
    weights : {"uniform", "increasing", "decreasing", "strong_decreasing"} or sequence of float
        :math:`\lambda_s`: 1, s, 1/s, 1/s², or one number per size.
    connected : bool
        ``False`` counts all induced subgraphs (cliques of any kind), which GraKeL does not.
    normalize : bool
        Divide by the lengths, so that a graph has similarity 1 with itself.
    C : sequence of float
        Candidates for the strength of the support vector machine, rising; chosen inside the
        training set.
    folds : int
        Number of inner folds that choose.
    features : {"refuse", "ignore"}
        What to do with graphs that have continuous features, which the kernel does not look at.
    n_jobs : int, optional
        Splits that are worked on at once, in threads; default: one.
    random_state : int, RandomState or None
        The random seed of inner folds.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    chosen_ : dict
        ``kernel`` (the k), ``C`` and ``inner_accuracy`` of the choice.
    """

    levels: ClassVar[tuple[Level, ...]] = ("graph",)
    rules: ClassVar[Rules] = {
        "k": whole(1, LARGEST).or_several(),
        "weights": Rule(lambda value: True, "see check_parameters", several=True),
        "connected": FLAG,
        "normalize": FLAG,
        "features": FEATURES,
        **SVM_RULES,
    }

    k: int | Sequence[int] = (1, 2, 3)
    _: KW_ONLY
    weights: Weights = "uniform"
    connected: bool = True
    normalize: bool = True
    C: Sequence[float] = SVMSolver.C
    folds: int = SVMSolver.folds
    features: Features = "refuse"

    def _represent(self, items: Items, reference: Any = None) -> _Counted:
        graphs = labels_only(graphs_of(items), self.features)
        numbering = graphs[:0] if reference is None else reference.numbering
        largest = candidates(self.k)[-1]
        counts = subgraph_counts(graphs, largest, connected=self.connected, like=numbering)
        return _Counted(counts, numbering)

    def _kernels(self, rows: Any, columns: Any) -> dict[Hashable, Array]:
        wanted = candidates(self.k)
        sizes = range(1, wanted[-1] + 1)
        weights = self._weights(wanted[-1])
        kernels = rows.counts.summed(columns.counts, sizes, weights, self.normalize)
        return {k: kernels[k - 1] for k in wanted}

    def _weights(self, k: int) -> Array:
        if isinstance(self.weights, str):
            named: Array = _WEIGHTS[self.weights](np.arange(1, k + 1))
            return named
        return np.asarray(self.weights, dtype=np.float64)

    def check_parameters(self) -> None:
        """Raise where a parameter makes no sense."""
        super().check_parameters()
        k = candidates(self.k)[-1]
        if isinstance(self.weights, str) and self.weights in _WEIGHTS:
            return
        per_size = NOT_NEGATIVE.or_several().holds(self.weights)
        if not per_size or np.shape(self.weights) != (k,):
            raise EstimatorError(
                f"weights={self.weights!r}: choose {', '.join(map(repr, _WEIGHTS))}, or {k} "
                f"numbers for the sizes 1 to {k}, none of them negative"
            )

    def _solver(self) -> Solver:
        return SVMSolver.of(self.C, self.folds)
