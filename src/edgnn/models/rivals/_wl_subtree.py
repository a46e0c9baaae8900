"""WLClassifier: Weisfeiler–Lehman color counts, compared in pairs, and ridge in closed form."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from sklearn.utils.metaestimators import available_if

from edgnn.errors import EstimatorError
from edgnn.graphs import Graphs, Nodes
from edgnn.models.kernels._classifier import KernelClassifier
from edgnn.models.kernels._count_kernels import (
    AVERAGED,
    Counts,
    by_depth,
    gaussian,
    mean_similarity,
)
from edgnn.models.kernels._reading import Array, candidates, flag
from edgnn.models.kernels._ridge import RidgeSolver
from edgnn.models.kernels._solvers import Solver, SVMSolver
from edgnn.models.networks._errors import NotFitted
from edgnn.models.networks._inputs import Items, Level, graphs_of
from edgnn.wl import Coloring, Scheme, refine

KernelChoice = Literal["average", "select", "linear", "rbf"]

_ALL_SCHEMES: tuple[Scheme, ...] = get_args(Scheme)
_DEEPEST = 1000


@dataclass(frozen=True, eq=False)
class _Colored:
    """Items as color counts, and what it takes to color others alike."""

    items: Items
    colorings: dict[Scheme, Coloring]
    counts: dict[Scheme, Counts]


class WLClassifier(KernelClassifier):
    r"""Classify graphs or nodes by the Weisfeiler–Lehman colors they share; the strong rival on small data.

    With ``kernel="average"`` two items are compared by the mean of two similarities over
    refinements and depths: of x and x′, the counts of all colors of rounds 0 to h,

    .. math:: M = \tfrac12\,\mathrm{mean}_{s,h}\Big(\frac{\sum\min(x, x')}{\sum\max(x, x')}
              + \cos(\log(1 + x), \log(1 + x'))\Big), \qquad K = e^{-2(1 - M)}

    so that nothing but the strength of the penalty is chosen. With ``"select"``, one kernel is
    chosen inside the training part: the inner product of the counts or exp(−2(1 − cosine)), at one
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
        What was chosen inside the training part: kernel and strength (or C), with the error that
        decided.
    loo_decision_ : array
        Ridge only: the decision on each training item by the model that is fitted without it.
    loo_error_ : float
        Ridge only: mean squared error of those, for targets −1 and 1 (several classes: 0 and 1).

    Examples
    --------
    >>> import edgnn
    >>> from edgnn.models.rivals import WLClassifier
    >>> data = edgnn.load_dataset("MUTAG")
    >>> rival = WLClassifier(ring_sizes=True).fit(data.graphs[:150], data.targets[:150])
    >>> rival.chosen_["kernel"]
    'average'
    """

    _levels: ClassVar[tuple[Level, ...]] = ("graph", "node")

    def __init__(
        self,
        kernel: KernelChoice = "average",
        *,
        scheme: Scheme | Sequence[Scheme] | None = None,
        depth: int | Sequence[int] | None = None,
        width: float = 2.0,
        ring_sizes: bool = False,
        solver: Literal["ridge", "svm"] = "ridge",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.scheme = scheme
        self.depth = depth
        self.width = width
        self.ring_sizes = ring_sizes
        self.solver = solver
        self.n_jobs = n_jobs
        self.random_state = random_state

    @available_if(lambda self: self.solver == "ridge")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, as sure as the left-out training items bear out; ridge only.

        Shapes
        ------
        → (n, K)
        """
        found: Array = self._fitted_here().probabilities(self._compared(X))
        return found

    @property
    def loo_decision_(self) -> Array:
        """The decision on each training item by the model that is fitted without it."""
        found: Array = self._ridge_here().loo_decision
        return found

    @property
    def loo_error_(self) -> float:
        """Mean squared error of the left-out decisions."""
        return float(self._ridge_here().loo_error)

    def _ridge_here(self) -> Any:
        fitted = self._fitted_here()
        if not hasattr(fitted, "loo_error"):
            raise AttributeError('left-out decisions are there with solver="ridge" only')
        return fitted

    def _fitted_here(self) -> Any:
        if not self.__sklearn_is_fitted__():
            raise NotFitted("this WLClassifier is not fitted yet: call fit first")
        return self._fitted

    # What KernelClassifier asks for

    def _represent(self, items: Items, reference: _Colored | None = None) -> _Colored:
        if reference is not None and isinstance(items, Nodes) != isinstance(reference.items, Nodes):
            trained, given = (
                ("nodes", "graphs") if isinstance(reference.items, Nodes) else ("graphs", "nodes")
            )
            raise EstimatorError(
                f"X holds {given}, but this classifier was fitted on {trained}: pass {trained}"
            )
        colorings = self._colorings(graphs_of(items), reference)
        known = (
            {}
            if reference is None
            else {scheme: counts.known for scheme, counts in reference.counts.items()}
        )
        counts = {
            scheme: _counts(coloring, items, known.get(scheme))
            for scheme, coloring in colorings.items()
        }
        return _Colored(items, colorings, counts)

    def _colorings(self, graphs: Graphs, reference: _Colored | None) -> dict[Scheme, Coloring]:
        if reference is not None:
            trained = graphs_of(reference.items)
            if graphs is trained or graphs.equals(trained):
                return reference.colorings
        _refuse_features(graphs)
        prepared = graphs.with_ring_sizes() if flag(self.ring_sizes, "ring_sizes") else graphs
        if reference is not None:
            return {
                scheme: coloring.extend(prepared)
                for scheme, coloring in reference.colorings.items()
            }
        return {scheme: refine(prepared, max(self._depths()), scheme) for scheme in self._schemes()}

    def _kernels(self, rows: _Colored, columns: _Colored) -> dict[Hashable, Array]:
        width, depths = self._width(), self._depths()
        pairs = {scheme: (counts, columns.counts[scheme]) for scheme, counts in rows.counts.items()}
        if self.kernel == "average":
            return {"average": gaussian(_mean(pairs, depths), width)}
        found: dict[tuple[int, str, str], Array] = {}
        for scheme, (mine, theirs) in pairs.items():
            for depth, kernels in enumerate(by_depth(mine, theirs, ("linear", "cosine"))):
                if depth in depths and self.kernel != "rbf":
                    found[depth, "linear", scheme] = kernels["linear"]
                if depth in depths and self.kernel != "linear":
                    found[depth, "rbf", scheme] = gaussian(kernels["cosine"], width)
        return {
            f"{kind}, {scheme}, depth {depth}": found[depth, kind, scheme]
            for depth, kind, scheme in sorted(found)
        }

    def _solver(self) -> Solver:
        choices: dict[str, tuple[str, ...]] = {
            "kernel": get_args(KernelChoice),
            "solver": ("ridge", "svm"),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise EstimatorError(
                    f"{name}={getattr(self, name)!r}: choose {' or '.join(map(repr, allowed))}"
                )
        self._schemes(), self._depths(), self._width()
        return RidgeSolver() if self.solver == "ridge" else SVMSolver()

    # Parameters, checked

    def _schemes(self) -> tuple[Scheme, ...]:
        if self.scheme is None:
            return _ALL_SCHEMES if self.kernel == "average" else ("joint",)
        several = not isinstance(self.scheme, str) and isinstance(self.scheme, Sequence)
        schemes: tuple[Any, ...] = tuple(self.scheme) if several else (self.scheme,)
        known = all(isinstance(scheme, str) and scheme in _ALL_SCHEMES for scheme in schemes)
        if not schemes or not known or len(set(schemes)) < len(schemes):
            raise EstimatorError(
                f"scheme={self.scheme!r}: choose 'node', 'separate' or 'joint', or several of them, each once"
            )
        return schemes

    def _depths(self) -> tuple[int, ...]:
        if self.depth is None:
            return (1, 2, 3, 4, 5) if self.kernel == "average" else (0, 1, 2, 3, 4, 5)
        return tuple(candidates(self.depth, "depth", 0, _DEEPEST))

    def _width(self) -> float:
        if (
            isinstance(self.width, int | float | np.number)
            and not isinstance(self.width, bool)
            and 0 < self.width < np.inf
        ):
            return float(self.width)
        raise EstimatorError(f"width={self.width!r}: give a finite number above 0")


def _mean(pairs: Mapping[Scheme, tuple[Counts, Counts]], depths: Sequence[int]) -> Array:
    """Return the mean over schemes, depths and both kinds of similarity."""
    mean: Array = np.mean(
        [mean_similarity(mine, theirs, depths, AVERAGED) for mine, theirs in pairs.values()], axis=0
    )
    return mean


def _counts(coloring: Coloring, items: Items, known: Sequence[Array] | None) -> Counts:
    """Count the colors of a graph's nodes after every round, or what a node sees in it."""
    colors = [coloring.at(round).cpu().numpy() for round in range(coloring.rounds + 1)]
    if isinstance(items, Nodes):
        return Counts.of(_seen(coloring, colors, items.index.cpu().numpy()), len(items), known)
    owner = items.graph_of_node.cpu().numpy()
    return Counts.of([(of_round, owner) for of_round in colors], len(items), known)


def _seen(coloring: Coloring, colors: Sequence[Array], nodes: Array) -> list[tuple[Array, Array]]:
    """Return the label of each node, then for every round the colors of its neighbors before it, with their edges' codes."""
    around = coloring.around.on_host()
    starts = np.asarray(around.indptr)[nodes]
    degree = np.asarray(around.indptr)[nodes + 1] - starts
    place = np.arange(int(degree.sum())) + np.repeat(starts - np.cumsum(degree) + degree, degree)
    neighbor = np.asarray(around.indices)[place]
    code: Any = 0 if around.codes is None else np.asarray(around.codes)[place] << 32
    owner = np.repeat(np.arange(len(nodes)), degree)
    own = colors[0][nodes], np.arange(len(nodes))
    return [own, *((code + of_round[neighbor], owner) for of_round in colors[:-1])]


def _refuse_features(graphs: Graphs) -> None:
    if graphs.node_features is not None or graphs.edge_features is not None:
        raise EstimatorError(
            "these graphs have continuous features, which colors do not show: turn them into labels with edgnn.wl.Discretizer"
        )
