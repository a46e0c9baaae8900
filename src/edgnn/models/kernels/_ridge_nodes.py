"""RidgeNodeClassifier: what lies around a node, near and far, and ridge in closed form."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from scipy.sparse import csr_array

from edgnn._rules import POSITIVE, Rule, Rules, some_of, whole
from edgnn.errors import EstimatorError
from edgnn.graphs import Graphs, Nodes
from edgnn.models._items import Items, Level
from edgnn.models.kernels._checks import Array, refuse_features, words
from edgnn.models.kernels._classifier import RidgeClassifier
from edgnn.models.kernels._count_kernels import AVERAGED, Kind, gaussian, mean_similarity, some
from edgnn.models.kernels._surroundings import colors_met, reached, visited
from edgnn.wl import Coloring, Scheme, bare, refine

View = Literal["around", "walks"]

_DEEPEST = 100


@dataclass(frozen=True, eq=False)
class _Seen:
    """Nodes by number, their graph, the same with the names of hubs as labels, and these names."""

    graphs: Graphs
    prepared: Graphs
    nodes: Array
    hubs: frozenset[Any]


@dataclass(eq=False, repr=False)
class RidgeNodeClassifier(RidgeClassifier):
    r"""Classify nodes in closed form by what lies around them: no epochs, nothing random.

    Every node of the graph has a color per round of refinement; nodes where many edges end
    (classes, places, true and false) are known by their name from the start. Two nodes are compared
    by the colors around them, in one or two views:

    - ``"around"``: how often each color occurs within 1, 2, … ``depth`` edges, followed in their
      direction. With x and x′ these counts over rounds 0 to h, the mean of
      :math:`\sum\min(x,x')/\sum\max(x,x')` and of the cosine of log(1 + x) and log(1 + x′);
    - ``"walks"``: how often a random walk over all edges, in either direction, ends at each color;
      cosine of log(1 + x).

    Means are over refinements and rounds. The mean M becomes the kernel :math:`K = e^{-w(1 - M)}`.
    Of the views, and the mean of both, the one with the smallest exact leave-one-out error is
    taken; kernel ridge does the rest.

    Parameters
    ----------
    views : {"around", "walks"}, or both
        What to choose from.
    schemes : {"node", "separate", "joint"}, or several
        Refinements as in :func:`edgnn.wl.refine`.
    rounds : int
        Most rounds of refinement.
    depth : int
        Most edges of ``"around"``.
    length : int
        Most steps of ``"walks"``.
    named : int
        Nodes at which so many edges end, or more, are known by name (those without names by
        number), and again by that name in other graphs; 0: no node is.
    width : float
        The w in the exponent.
    n_jobs : int, optional
        How many splits :meth:`predict_splits` works on at a time.
    random_state : int, RandomState or None
        Nothing is random here; taken so that all estimators can be treated alike.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    chosen_ : dict
        The view and the strength that were chosen, with the leave-one-out error that decided.
    loo_decision_, loo_error_, loo_score_ : array, float, float
        What the model says of each training item when it is left out, its mean squared error, and
        its accuracy; exact.

    Examples
    --------
    >>> import edgnn
    >>> edges = [(0, 1), (1, 2), (2, 3), (3, 0)]
    >>> ring = edgnn.Graphs.from_edges(edges, node_labels=["a", "b", "a", "b"])
    >>> edgnn.RidgeNodeClassifier().fit(ring.nodes[[0, 1]], [0, 1]).predict(ring.nodes)
    array([0, 1, 0, 1])
    """

    levels: ClassVar[tuple[Level, ...]] = ("node",)
    rules: ClassVar[Rules] = {
        "views": some_of(*get_args(View)),
        "schemes": some_of(*get_args(Scheme)),
        "rounds": whole(0, _DEEPEST),
        "depth": whole(1, _DEEPEST),
        "length": whole(1, _DEEPEST),
        "named": Rule(whole(0).holds, "a number of edges, or 0 to know no node by name"),
        "width": POSITIVE,
    }

    views: View | Sequence[View] = ("around", "walks")
    _: KW_ONLY
    schemes: Scheme | Sequence[Scheme] = ("node", "joint")
    rounds: int = 3
    depth: int = 3
    length: int = 3
    named: int = 10
    width: float = 2.0

    def _represent(self, items: Items, reference: _Seen | None = None) -> _Seen:
        assert isinstance(items, Nodes)
        graphs, nodes = items.graphs, items.index.cpu().numpy()
        refuse_features(graphs, "use edgnn.NodeClassifier")
        if reference is None:
            hubs = _hubs(graphs, self.named)
            return _Seen(graphs, _with_names(graphs, hubs), nodes, hubs)
        trained, hubs = reference.graphs, reference.hubs
        if graphs is trained or graphs.equals(trained):
            return _Seen(trained, reference.prepared, nodes, hubs)
        if hubs and (graphs.node_names is None or trained.node_names is None):
            raise EstimatorError(
                "these nodes are of another graph than the training nodes, and without names nodes "
                "cannot be known again: give both graphs node names, or choose named=0"
            )
        return _Seen(graphs, _with_names(graphs, hubs), nodes, hubs)

    def _kernels(self, rows: _Seen, columns: _Seen) -> dict[Hashable, Array]:
        graphs, new = columns.prepared, rows.nodes
        if rows.prepared is not graphs:
            graphs, new = Graphs.concat([graphs, rows.prepared]), new + graphs.num_nodes
        nodes = new if rows is columns else np.concatenate([columns.nodes, new])
        theirs = slice(0, len(columns.nodes))
        mine = theirs if rows is columns else slice(len(columns.nodes), None)
        colorings = [refine(graphs, self.rounds, scheme) for scheme in words(self.schemes)]
        similar: dict[Hashable, Array] = {}
        for view in words(self.views):
            kinds: tuple[Kind, ...]
            if view == "around":
                seen, kinds = reached(graphs, nodes, self.depth), AVERAGED
            else:
                seen, kinds = [visited(graphs, nodes, self.length)], ("log-cosine",)
            parts = [
                self._similarity(*pair, kinds, mine, theirs) for pair in product(seen, colorings)
            ]
            similar[view] = np.mean(parts, axis=0)
        if len(similar) > 1:
            similar["both"] = np.mean(list(similar.values()), axis=0)
        return {view: gaussian(similarity, self.width) for view, similarity in similar.items()}

    def _similarity(
        self,
        weights: csr_array,
        coloring: Coloring,
        kinds: tuple[Kind, ...],
        mine: slice,
        theirs: slice,
    ) -> Array:
        """Return how alike nodes are by the colors of the nodes that each gives a weight to."""
        rounds = range(self.rounds + 1)
        counts = colors_met(weights, coloring, rounds)
        return mean_similarity(some(counts, mine), some(counts, theirs), rounds, kinds)


def _hubs(graphs: Graphs, least: int) -> frozenset[Any]:
    """Return the names of the nodes where at least so many edges end; none where that is 0."""
    if not least:
        return frozenset()
    ends = np.bincount(graphs.edge_target.cpu().numpy(), minlength=graphs.num_nodes)
    names = _names(graphs)
    return frozenset(names[node] for node in np.flatnonzero(ends >= least).tolist())


def _with_names(graphs: Graphs, hubs: frozenset[Any]) -> Graphs:
    """Return the graphs with the names of hubs as part of their labels."""
    if not hubs:
        return bare(graphs)
    values = list(graphs.node_vocabulary)
    labels = (values[label] for label in graphs.node_label.tolist())
    pairs = zip(labels, _names(graphs), strict=True)
    return bare(graphs).with_node_labels(
        [(label, name) if name in hubs else (label,) for label, name in pairs]
    )


def _names(graphs: Graphs) -> Sequence[Any]:
    return range(graphs.num_nodes) if graphs.node_names is None else graphs.node_names.tolist()
