"""WLShortestPathClassifier: the Weisfeiler–Lehman shortest-path kernel (WLSP), with an SVM."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from edgnn.models._items import Items, Level, graphs_of
from edgnn.models.kernels._checks import Array, candidates, flag
from edgnn.models.kernels._classifier import KernelClassifier
from edgnn.models.kernels._solvers import Solver, SVMSolver
from edgnn.models.rivals._part_counts import Features, PartCounts, labels_only
from edgnn.models.rivals._shortest_paths import path_counts
from edgnn.wl import Coloring, refine

_DEEPEST = 1000


@dataclass(frozen=True, eq=False)
class _Counted:
    """Graphs as counts of colored paths, and the colors that the counts follow."""

    counts: PartCounts
    coloring: Coloring


@dataclass(eq=False, repr=False)
class WLShortestPathClassifier(KernelClassifier):
    r"""The Weisfeiler–Lehman shortest-path kernel (Shervashidze et al., JMLR 2011), with an SVM.

    .. math:: K_h(G, H) = \sum_{t=0}^{h} \sum_{a, d, b} c^t_G(a, d, b) \, c^t_H(a, d, b)

    where :math:`c^t_G(a, d, b)` counts the ordered pairs of different nodes that have the colors a
    and b after t rounds of refinement and a shortest path of d edges between them. The kernel knows
    no directions, no parallel edges and no edge labels. The values are those of GraKeL's
    ``WeisfeilerLehman`` over ``ShortestPath``, for all depths at the cost of the largest.

    Parameters
    ----------
    depths : int or sequence of int
        Number of rounds h; of several candidates one is chosen inside the training set.
    normalize : bool
        Divide by the lengths, so that a graph that has paths has similarity 1 with itself.
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
        ``kernel`` (the depth), ``C`` and ``inner_accuracy`` of the choice.
    """

    levels: ClassVar[tuple[Level, ...]] = ("graph",)

    depths: int | Sequence[int] = (0, 1, 2, 3, 4, 5)
    _: KW_ONLY
    normalize: bool = True
    C: Sequence[float] = SVMSolver.C
    folds: int = SVMSolver.folds
    features: Features = "refuse"

    def _represent(self, items: Items, reference: Any = None) -> _Counted:
        graphs = labels_only(graphs_of(items), self.features)
        if reference is None:
            coloring = refine(graphs, candidates(self.depths, "depths", 0, _DEEPEST)[-1], "node")
        else:
            coloring = reference.coloring.extend(graphs)
        return _Counted(path_counts(coloring), coloring)

    def _kernels(self, rows: Any, columns: Any) -> dict[Hashable, Array]:
        depths = candidates(self.depths, "depths", 0, _DEEPEST)
        rounds = range(depths[-1] + 1)
        normalize = flag(self.normalize, "normalize")
        kernels = rows.counts.summed(columns.counts, rounds, np.ones(len(rounds)), normalize)
        return {depth: kernels[depth] for depth in depths}

    def _solver(self) -> Solver:
        candidates(self.depths, "depths", 0, _DEEPEST)
        flag(self.normalize, "normalize")
        return SVMSolver.checked(self.C, self.folds)
