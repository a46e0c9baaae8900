"""RidgeGraphClassifier: shared colors and a random edGNN, and ridge in closed form."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from sklearn.base import clone

from edgnn._rules import FLAG, POSITIVE, Rules, some_of, whole
from edgnn.errors import EstimatorError
from edgnn.graphs import Graphs
from edgnn.models._data import Data
from edgnn.models._items import Items, Level, append, graphs_of
from edgnn.models.kernels._checks import DEEPEST, Array, refuse_features, words
from edgnn.models.kernels._classifier import RidgeClassifier
from edgnn.models.kernels._count_kernels import (
    AVERAGED,
    gaussian,
    item_counts,
    mean_similarity,
    some,
)
from edgnn.models.kernels._network import TOO_MANY_COLORS, readout_products
from edgnn.models.kernels._solvers import Kernels
from edgnn.wl import Coloring, Scheme, bare, refine

Part = Literal["wl", "network"]

_BOTH: tuple[Part, ...] = ("wl", "network")

_AT_ONCE = 256


@dataclass(eq=False, repr=False)
class RidgeGraphClassifier(RidgeClassifier):
    r"""Classify graphs in closed form: no epochs, nothing random. Try it first on small data.

    Two graphs are compared in two ways, whose mean M becomes the kernel :math:`K = e^{-w(1 - M)}`;
    kernel ridge with an unpenalized intercept does the rest, its strength chosen by the exact
    leave-one-out error.

    - ``"wl"``: with x and x′ the counts of all Weisfeiler–Lehman colors of rounds 0 to h, the mean
      over refinements and depths h = 1 … ``depth`` of :math:`\sum\min(x,x')/\sum\max(x,x')` and of
      the cosine of log(1 + x) and log(1 + x′);
    - ``"network"``: with q and q′ the readouts of an edGNN of random weights, cosine activation and
      infinite width, the mean over refinements of :math:`\langle q,q'\rangle/(|q|^2+|q'|^2-\langle
      q,q'\rangle)` and of the cosine of q and q′. The mean over all weights is computed exactly
      (see docs/results.md).

    Parameters
    ----------
    parts : {"wl", "network"}, or both
        What graphs are compared by.
    schemes : {"node", "separate", "joint"}, or several
        Refinements as in :func:`edgnn.wl.refine`; for the network, what a layer sees: Eq. 3, Eq. 4,
        or a sum per edge label.
    depth : int
        Most rounds of ``"wl"``.
    layers : int
        Layers of ``"network"``.
    scale : float
        How fast the states of nodes that differ part in the network.
    width : float
        The w in the exponent.
    ring_sizes : bool
        Add ring sizes to the labels first (:meth:`Graphs.with_ring_sizes`), which neither colors
        nor networks can find out.
    n_jobs : int, optional
        How many splits :meth:`predict_splits` works on at a time.
    random_state : int, RandomState or None
        Nothing is random here; taken so that all estimators can be treated alike.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    chosen_ : dict
        The strength that was chosen, with the leave-one-out error that decided.
    loo_decision_, loo_error_, loo_score_ : array, float, float
        What the model says of each training item when it is left out, its mean squared error, and
        its accuracy; exact.

    Examples
    --------
    >>> import edgnn
    >>> data = edgnn.load_dataset("MUTAG")
    >>> model = edgnn.RidgeGraphClassifier().fit(data.graphs[:150], data.targets[:150])
    >>> model.predict_proba(data.graphs[150:]).shape
    (38, 2)
    """

    levels: ClassVar[tuple[Level, ...]] = ("graph",)
    rules: ClassVar[Rules] = {
        "parts": some_of(*get_args(Part)),
        "schemes": some_of(*get_args(Scheme)),
        "depth": whole(1, DEEPEST),
        "layers": whole(1, DEEPEST),
        "scale": POSITIVE,
        "width": POSITIVE,
        "ring_sizes": FLAG,
    }

    parts: Part | Sequence[Part] = _BOTH
    _: KW_ONLY
    schemes: Scheme | Sequence[Scheme] = ("node", "separate", "joint")
    depth: int = 5
    layers: int = 3
    scale: float = 1.0
    width: float = 2.0
    ring_sizes: bool = True

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from graphs and their classes; without the network where colors are too many."""
        try:
            return super().fit(X, y)
        except EstimatorError as error:
            self._check_can_do_without_network(error)
        smaller = clone(self).set_params(parts=("wl",)).fit(X, y)
        parameters = self.get_params(deep=False)
        learned = {name: value for name, value in vars(smaller).items() if name not in parameters}
        self.__dict__.update(learned)
        return self

    def _shared(self, data: Data) -> Kernels:
        try:
            return super()._shared(data)
        except EstimatorError as error:
            self._check_can_do_without_network(error)
        smaller: RidgeGraphClassifier = clone(self).set_params(parts=("wl",))
        return smaller._shared(data)

    def _check_can_do_without_network(self, error: EstimatorError) -> None:
        """Warn that shared colors alone are compared; raise where that was not left open."""
        if error.kind != TOO_MANY_COLORS or words(self.parts) != _BOTH:
            raise error
        reason = str(error).partition(":")[0]
        warnings.warn(f"{reason}; shared colors alone are compared", stacklevel=4)

    def _represent(self, items: Items, reference: Any = None) -> Graphs:
        graphs = graphs_of(items)
        refuse_features(graphs, "use edgnn.GraphClassifier")
        return prepared(graphs, self.ring_sizes)

    def _kernels(self, rows: Graphs, columns: Graphs) -> dict[Hashable, Array]:
        everything, mine, theirs = together(rows, columns)
        parts, schemes = words(self.parts), words(self.schemes)
        needed = {"wl": self.depth, "network": self.layers}
        rounds = max(needed[part] for part in parts)
        total: Any = 0.0
        for scheme in schemes:
            coloring = refine(graphs_of(everything), rounds, scheme)
            if "wl" in parts:
                total = total + self._shared_colors(coloring, mine, theirs)
            if "network" in parts:
                products = readout_products(coloring, self.layers, self.scale)
                total = total + _normalized(products, mine, theirs)
        return {" + ".join(parts): gaussian(total / (len(parts) * len(schemes)), self.width)}

    def _compared(self, items: Items) -> Array:
        # in pieces, as old and new graphs are refined together and all their pairs compared
        starts = range(0, max(len(items), 1), _AT_ONCE)
        compared = super()._compared
        pieces = [compared(items[start : start + _AT_ONCE]) for start in starts]
        return np.concatenate(pieces)

    def _shared_colors(self, coloring: Coloring, mine: slice, theirs: slice) -> Array:
        counts = item_counts(coloring, coloring.graphs)[: self.depth + 1]
        depths = range(1, self.depth + 1)
        return mean_similarity(some(counts, mine), some(counts, theirs), depths, AVERAGED)


def prepared(graphs: Graphs, ring_sizes: bool) -> Graphs:
    """Return graphs with nothing but labels, to which ring sizes are added if asked for."""
    plain = bare(graphs)
    return plain.with_ring_sizes() if ring_sizes else plain


def together(rows: Items, columns: Items) -> tuple[Items, slice, slice]:
    """Return old and new items as one, so that colors mean the same, and where each of them are."""
    theirs = slice(0, len(columns))
    if rows is columns:
        return columns, theirs, theirs
    return append(columns, rows), slice(len(columns), None), theirs


def _normalized(products: Array, mine: slice, theirs: slice) -> Array:
    """Return the mean of Tanimoto and cosine; graphs without nodes are like each other alone."""
    own, inner = np.diag(products), products[mine, theirs]
    a, b = own[mine, None], own[None, theirs]
    both_empty = (a == 0) & (b == 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: Array = (inner / (a + b - inner) + inner / np.sqrt(a * b)) / 2
    return np.where(both_empty, 1.0, np.nan_to_num(mean, nan=0.0))
