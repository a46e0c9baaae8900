"""WLClassifier: the Weisfeiler–Lehman part of the closed form, with kernels to choose from."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from edgnn._rules import FLAG, POSITIVE, Rules, one_of, some_of, whole
from edgnn.models._items import Items, Level, graphs_of, with_graphs
from edgnn.models.kernels._checks import DEEPEST, Array, candidates, refuse_features, words
from edgnn.models.kernels._classifier import RidgeClassifier
from edgnn.models.kernels._count_kernels import (
    AVERAGED,
    Counts,
    by_depth,
    gaussian,
    item_counts,
    mean_similarity,
    some,
)
from edgnn.models.kernels._ridge import FittedRidge, RidgeSolver
from edgnn.models.kernels._ridge_graphs import prepared, together
from edgnn.models.kernels._solvers import Solver, SVMSolver
from edgnn.wl import Scheme, refine

KernelChoice = Literal["average", "select", "linear", "rbf"]


@dataclass(eq=False, repr=False)
class WLClassifier(RidgeClassifier):
    r"""Classify graphs or nodes by the Weisfeiler–Lehman colors they share.

    With ``kernel="average"`` two items are compared by the mean of two similarities over
    refinements and depths: of x and x′, the counts of all colors of rounds 0 to h,

    .. math:: M = \tfrac12\,\mathrm{mean}_{s,h}\Big(\frac{\sum\min(x, x')}{\sum\max(x, x')}
              + \cos(\log(1 + x), \log(1 + x'))\Big), \qquad K = e^{-2(1 - M)}

    so that nothing but the strength of the penalty is chosen. With ``"select"``, one kernel is
    chosen inside the training set: the inner product of the counts or exp(−2(1 − cosine)), at one
    depth.

    A node's x counts what its colors are made of: its label, and for rounds 1 to h the colors its
    neighbors had before, in ``"joint"`` together with the direction and label of the edge. (Its
    color alone says too little: in a knowledge graph hardly two nodes share one.)

    Parameters
    ----------
    kernel : {"average", "select", "linear", "rbf"}
        What compares two items; ``"linear"`` and ``"rbf"`` are halves of ``"select"``, which then
        chooses the depth alone.
    scheme : {"node", "separate", "joint"}, or several, optional
        Refinements as in :func:`edgnn.wl.refine`, averaged or chosen from. Default: all three for
        ``"average"``, else ``"joint"``.
    depth : int, or several, optional
        Depths h, averaged or chosen from. Default: 1 to 5 for ``"average"``, else 0 to 5.
    width : float
        The 2 in the exponents.
    ring_sizes : bool
        Add ring sizes to the labels first (:meth:`Graphs.with_ring_sizes`).
    solver : {"ridge", "svm"}
        Ridge with exact leave-one-out, or a support vector machine with inner folds.
    n_jobs : int, optional
        How many splits :meth:`predict_splits` works on at a time.
    random_state : int, RandomState or None
        For the inner folds of ``"svm"``; ridge has nothing random.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    chosen_ : dict
        What was chosen inside the training set: kernel and strength (or C), with the error that
        decided.
    loo_decision_ : array
        Ridge only: the decision on each training item by the model that is fitted without it.
    loo_error_ : float
        Ridge only: mean squared error of those, for targets −1 and 1 (several classes: 0 and 1).

    Examples
    --------
    >>> import edgnn
    >>> from edgnn.models import WLClassifier
    >>> data = edgnn.load_dataset("MUTAG")
    >>> rival = WLClassifier(ring_sizes=True).fit(data.graphs[:150], data.targets[:150])
    >>> rival.chosen_["kernel"]
    'average'
    """

    levels: ClassVar[tuple[Level, ...]] = ("graph", "node")
    rules: ClassVar[Rules] = {
        "kernel": one_of(*get_args(KernelChoice)),
        "scheme": some_of(*get_args(Scheme)).or_none("as the kernel needs"),
        "depth": whole(0, DEEPEST).or_several().or_none("as the kernel needs"),
        "width": POSITIVE,
        "ring_sizes": FLAG,
        "solver": one_of("ridge", "svm"),
    }

    kernel: KernelChoice = "average"
    _: KW_ONLY
    scheme: Scheme | Sequence[Scheme] | None = None
    depth: int | Sequence[int] | None = None
    width: float = 2.0
    ring_sizes: bool = False
    solver: Literal["ridge", "svm"] = "ridge"

    def _has_probabilities(self) -> bool:
        return self.solver == "ridge"

    def _ridge(self) -> FittedRidge:
        fitted = super()._ridge()
        if not isinstance(fitted, FittedRidge):
            raise AttributeError('left-out decisions are there with solver="ridge" only')
        return fitted

    def _represent(self, items: Items, reference: Any = None) -> Items:
        graphs = graphs_of(items)
        refuse_features(graphs, "use edgnn.GraphClassifier or edgnn.NodeClassifier")
        return with_graphs(items, prepared(graphs, self.ring_sizes))

    def _kernels(self, rows: Items, columns: Items) -> dict[Hashable, Array]:
        everything, mine, theirs = together(rows, columns)
        depths = self._depths()
        counts = {
            scheme: item_counts(refine(graphs_of(everything), max(depths), scheme), everything)
            for scheme in self._schemes()
        }
        pairs = {
            scheme: (some(rounds, mine), some(rounds, theirs)) for scheme, rounds in counts.items()
        }
        if self.kernel == "average":
            means = [mean_similarity(*pair, depths, AVERAGED) for pair in pairs.values()]
            return {"average": gaussian(np.mean(means, axis=0), self.width)}
        return self._candidates(pairs, depths)

    def _candidates(
        self, pairs: dict[Scheme, tuple[Counts, Counts]], depths: Sequence[int]
    ) -> dict[Hashable, Array]:
        """Return one kernel per depth, kind and refinement, by rising depth."""
        found: dict[tuple[int, str, str], Array] = {}
        for scheme, pair in pairs.items():
            for depth, kernels in enumerate(by_depth(*pair, ("linear", "cosine"))):
                if depth not in depths:
                    continue
                if self.kernel != "rbf":
                    found[depth, "linear", scheme] = kernels["linear"]
                if self.kernel != "linear":
                    found[depth, "rbf", scheme] = gaussian(kernels["cosine"], self.width)
        return {
            f"{kind}, {scheme}, depth {depth}": found[depth, kind, scheme]
            for depth, kind, scheme in sorted(found)
        }

    def _solver(self) -> Solver:
        return RidgeSolver() if self.solver == "ridge" else SVMSolver()

    def _schemes(self) -> tuple[Scheme, ...]:
        if self.scheme is None:
            return get_args(Scheme) if self.kernel == "average" else ("joint",)
        return words(self.scheme)

    def _depths(self) -> tuple[int, ...]:
        if self.depth is None:
            return (1, 2, 3, 4, 5) if self.kernel == "average" else (0, 1, 2, 3, 4, 5)
        return tuple(candidates(self.depth))
