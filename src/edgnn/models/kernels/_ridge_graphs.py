"""RidgeGraphClassifier: shared colors and a random edGNN in one kernel, and ridge in closed form."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from edgnn.errors import EstimatorError
from edgnn.graphs import Graphs
from edgnn.models.kernels._count_kernels import AVERAGED, Counts, gaussian, mean_similarity
from edgnn.models.kernels._network import readout_products
from edgnn.models.kernels._reading import Array, flag, is_whole, read_items
from edgnn.models.kernels._ridge_classifier import RidgeClassifier, chosen_words, positive
from edgnn.models.networks._inputs import Items, Level, graphs_of
from edgnn.wl import Coloring, Scheme, bare, refine

Part = Literal["wl", "network"]

_DEEPEST = 1000
_TOGETHER = 256


class RidgeGraphClassifier(RidgeClassifier):
    r"""Classify graphs in closed form: no epochs, nothing random, seconds for a few hundred graphs. Try it first on small data.

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

    _levels: ClassVar[tuple[Level, ...]] = ("graph",)

    def __init__(
        self,
        parts: Part | Sequence[Part] = ("wl", "network"),
        *,
        schemes: Scheme | Sequence[Scheme] = ("node", "separate", "joint"),
        depth: int = 5,
        layers: int = 3,
        scale: float = 1.0,
        width: float = 2.0,
        ring_sizes: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.parts = parts
        self.schemes = schemes
        self.depth = depth
        self.layers = layers
        self.scale = scale
        self.width = width
        self.ring_sizes = ring_sizes
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _represent(self, items: Items, reference: Any = None) -> Graphs:
        graphs = graphs_of(items)
        if graphs.node_features is not None or graphs.edge_features is not None:
            raise EstimatorError(
                "these graphs have continuous features, which are not compared here: turn them into labels with "
                "edgnn.wl.Discretizer, or use edgnn.GraphClassifier"
            )
        plain = bare(graphs)
        return plain.with_ring_sizes() if flag(self.ring_sizes, "ring_sizes") else plain

    def _kernels(self, rows: Graphs, columns: Graphs) -> dict[Hashable, Array]:
        together = columns if rows is columns else Graphs.concat([columns, rows])
        theirs = slice(0, len(columns))
        mine = theirs if rows is columns else slice(len(columns), None)
        parts = chosen_words(self.parts, "parts", get_args(Part))
        rounds = max(self.depth if "wl" in parts else 0, self.layers if "network" in parts else 0)
        total: Any = 0.0
        schemes = chosen_words(self.schemes, "schemes", get_args(Scheme))
        for scheme in schemes:
            coloring = refine(together, rounds, scheme)  # type: ignore[arg-type]
            if "wl" in parts:
                total = total + self._shared_colors(coloring, mine, theirs)
            if "network" in parts:
                total = total + _normalized(
                    readout_products(coloring, self.layers, self.scale), mine, theirs
                )
        return {" + ".join(parts): gaussian(total / (len(parts) * len(schemes)), self.width)}

    def _compared(self, X: Any) -> Array:
        """Compare new graphs in pieces, as old and new ones are refined together and all their pairs compared."""
        graphs = graphs_of(read_items(X, self._levels))
        starts = range(0, max(len(graphs), 1), _TOGETHER)
        compared = super()._compared
        found: Array = np.concatenate(
            [compared(graphs[start : start + _TOGETHER]) for start in starts]
        )
        return found

    def _shared_colors(self, coloring: Coloring, mine: slice, theirs: slice) -> Array:
        owner, size = coloring.graphs.graph_of_node.cpu().numpy(), len(coloring.graphs)
        rounds = [(coloring.at(round).cpu().numpy(), owner) for round in range(self.depth + 1)]
        everything = Counts.of(rounds, size)
        return mean_similarity(
            everything[mine], everything[theirs], range(1, self.depth + 1), AVERAGED
        )

    def _check(self) -> None:
        chosen_words(self.parts, "parts", get_args(Part))
        chosen_words(self.schemes, "schemes", get_args(Scheme))
        for name in ("depth", "layers"):
            if not is_whole(getattr(self, name), 1, _DEEPEST):
                raise EstimatorError(
                    f"{name}={getattr(self, name)!r}: give a whole number from 1 to {_DEEPEST}"
                )
        for name in ("scale", "width"):
            positive(getattr(self, name), name)


def _normalized(products: Array, mine: slice, theirs: slice) -> Array:
    """Return the mean of Tanimoto and cosine of inner products; graphs without nodes are like each other alone."""
    own, inner = np.diag(products), products[mine, theirs]
    a, b = own[mine, None], own[None, theirs]
    both_empty = (a == 0) & (b == 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: Array = (inner / (a + b - inner) + inner / np.sqrt(a * b)) / 2
    return np.where(both_empty, 1.0, np.nan_to_num(mean, nan=0.0))
