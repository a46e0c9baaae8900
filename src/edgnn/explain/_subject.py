"""What is explained: one graph, or one node with the part of its graph that its prediction depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from edgnn.errors import EstimatorError
from edgnn.explain._part import Part, cut, part_around
from edgnn.graphs import Graphs, Nodes, degrees
from edgnn.models import Estimator, Items, NotFitted, device_of, graphs_of


@dataclass(frozen=True, eq=False)
class Subject:
    """A single item as an estimator reads it.

    Parameters
    ----------
    estimator : Estimator
        Fitted.
    item : Graphs or Nodes
        The one item, as given.
    raw, encoded : Graphs
        Its graph, or the part of it that a node's prediction depends on: in the users' labels, and
        in the model's numbers, with the reserved label behind the known ones.
    part : Part, optional
        Of a node: which nodes and edges of the graph given are in the part.
    beyond : Tensor, optional
        Where degrees are labels: how much of each node's degree comes from edges that lead out of
        the part.
    check : callable, optional
        Called before every pass of the model; what it raises ends the work.
    """

    estimator: Estimator
    item: Items
    raw: Graphs
    encoded: Graphs
    part: Part | None = None
    beyond: Tensor | None = None
    check: Callable[[], None] | None = None

    @classmethod
    def of(cls, estimator: Any, item: Any, check: Callable[[], None] | None = None) -> Subject:
        """Check an estimator and an item, and cut out what matters; labels never seen are warned of, as by ``predict``."""
        one = _single(_explainable(estimator), item)
        whole, coder = graphs_of(one), estimator._coder
        encoded = coder.encode(whole)
        estimator._seen.check(coder, whole, encoded, estimator.unknown)
        encoded = encoded._with(
            node_vocabulary=coder.node_vocabulary.with_unknown(),
            edge_vocabulary=coder.edge_vocabulary.with_unknown(),
        ).to(device_of(estimator.device))
        if isinstance(one, Graphs):
            return cls(estimator, one, whole, encoded, check=check)
        layers, by_degree = len(estimator._model.convs), coder.degree_labels is not None
        part = part_around(
            whole,
            int(one.index[0]),
            layers,
            estimator._model.config["direction"],
            every_edge=by_degree,
        )
        raw, own = cut(whole, part), cut(encoded, part)
        if not by_degree:
            return cls(estimator, one, raw, own, part, check=check)
        options = coder.degree_labels, coder.multiplicity
        beyond = degrees(whole, *options)[part.nodes.to(whole.device)] - degrees(raw, *options)
        return cls(estimator, one, raw, own, part, beyond.to(own.device), check=check)

    def look(self) -> None:
        """Ask whether to go on."""
        if self.check is not None:
            self.check()

    @property
    def node(self) -> int | None:
        """Of a node's prediction: its number in the part."""
        return None if self.part is None else self.part.node

    @property
    def unknown_node(self) -> int:
        """The number of the label that counts for nothing, of nodes."""
        return len(self.estimator._coder.node_vocabulary)

    @property
    def unknown_edge(self) -> int:
        """The number of the label that counts for nothing, of edges."""
        return len(self.estimator._coder.edge_vocabulary)

    @property
    def node_label_kind(self) -> str:
        """What the model takes for labels of nodes: ``"label"``, ``"degree"`` or ``"name"``."""
        coder = self.estimator._coder
        return "name" if coder.identity else "label" if coder.degree_labels is None else "degree"

    @property
    def has_node_labels(self) -> bool:
        """Whether a node's label can be taken out: there are labels, and not one constant for all."""
        return not self.estimator._coder.node_vocabulary.constant

    @property
    def has_edge_labels(self) -> bool:
        """Whether an edge's label can be taken out: there are labels, and the layers read them."""
        return (
            not self.estimator._coder.edge_vocabulary.constant
            and self.estimator._model.convs[0].reads_labels
        )

    @property
    def has_links_beyond(self) -> bool:
        """Whether links outside the part count as well, for degrees that are labels."""
        return self.beyond is not None and bool(self.beyond.any())

    def distance(self) -> np.ndarray[Any, Any]:
        """Return how far each node is from the one explained; zeros for a graph."""
        if self.part is None:
            return np.zeros(self.raw.num_nodes, np.int64)
        found: np.ndarray[Any, Any] = self.part.distance.cpu().numpy()
        return found


def _explainable(estimator: Any) -> Estimator:
    if not isinstance(estimator, Estimator):
        raise EstimatorError(
            f"a {type(estimator).__name__} cannot be explained: pass a fitted GraphClassifier, GraphRegressor, NodeClassifier or "
            "NodeRegressor, or an R-GCN or GIN of edgnn.models.rivals"
        )
    if not estimator.__sklearn_is_fitted__():
        raise NotFitted(f"this {type(estimator).__name__} is not fitted yet: call fit first")
    encoding = estimator._encoding
    if encoding.task == "classes" and len(encoding.classes) < 2:
        only = encoding.classes.tolist()[0]
        raise EstimatorError(
            f"this {type(estimator).__name__} knows one class, {only!r}: nothing speaks for or against it"
        )
    return estimator


def _single(estimator: Estimator, item: Any) -> Items:
    items = estimator._collected(item)
    what = "node" if isinstance(items, Nodes) else "graph"
    if len(items) != 1:
        way_out = (
            "there is nothing to explain"
            if not len(items)
            else f"take them one by one: for {what} in {what}s"
        )
        raise EstimatorError(
            f"an explanation is of one {what}, but {len(items)} were given: {way_out}"
        )
    if not graphs_of(items).num_nodes:
        raise EstimatorError(
            "the graph has no nodes, so there is nothing that its prediction could rest on"
        )
    return items
