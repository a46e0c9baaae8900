"""Explanation: the reasons for one prediction, element by element."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from torch import Tensor

from edgnn._json import plain
from edgnn._words import counted
from edgnn.explain._links import members_of
from edgnn.explain._names import label_text, link_words, node_words, texts_of_item
from edgnn.explain._subject import Measure
from edgnn.graphs import Graphs, Nodes

_Array = np.ndarray[Any, Any]
_ROUNDING = 1e-5
#: Attributes that are no plain values.
_NOT_PLAIN = ("graph", "item", "original_nodes", "original_edges", "labels")


@dataclass(frozen=True)
class LabelEffect:
    """What a label means for a prediction, all its occurrences together.

    Parameters
    ----------
    kind : {"node", "edge"}
        What has the label.
    value : Any
        The users' label; the degree, where degrees are the labels.
    count : int
        How many nodes or edges of the graph explained have it.
    contribution : float
        By how much the value drops when all of them lose the label, but stay.
    """

    kind: str
    value: Any
    count: int
    contribution: float


@dataclass(frozen=True)
class Reason:
    """One reason for a prediction, or against it.

    Parameters
    ----------
    kind : {"node", "link", "edge label"}
        What it is.
    elements : tuple of int
        Its nodes, or its edges, in the explanation's graph.
    words : str
        What it is called, in the users' own terms.
    contribution : float
        By how much the value drops without it; below zero, it speaks against the target.
    """

    kind: str
    elements: tuple[int, ...]
    words: str
    contribution: float


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    r"""The reasons for one prediction.

    The number explained, ``value``, is the log-odds :math:`\ln p - \ln (1 - p)` of the target class
    (of a label, where there are several), p being what ``predict_proba`` says, or the output of a
    regressor. Of a classifier without probabilities it is the decision value of the class, above
    zero for it where there are two classes, or without such values 1 if the class is predicted, so
    that a removal of 1 says that the class changes. A *removal* is ``value`` minus the value
    without the element, computed exactly: positive for what speaks for the target. It is NaN where
    it does not apply, and for elements that were left out because there are too many (``complete``
    is then false, and ``left_out`` counts them).

    Attributes
    ----------
    graph : Graphs
        The graph explained, in the users' labels and names; of a node, the part that its prediction
        depends on.
    node : int, optional
        Of a node's prediction: its number in ``graph``.
    original_nodes, original_edges : Tensor, optional
        Of a node's prediction: the numbers of the part's nodes and edges in the graph given.
    item : Graphs or Nodes
        The item as given.
    target : Any
        The class, the number of a label, or the number of an output that is explained;
        ``target_index`` is its column.
    prediction : Any
        What ``predict`` says.
    probability : array, optional
        What ``predict_proba`` says; ``None`` from models without.
    classes : tuple
        The classes in its order; numbers of labels; empty for regressors.
    value : float
        What is explained.
    node_removal, node_label_removal : array
        The value minus that without the node (and its edges), or when the node stays and its label
        counts for nothing. The explained node itself cannot be taken out.
    links : array
        Number of each edge's link: an edge and its reverse with the same label, as a bond is
        stored, are one.
    link_removal, link_label_removal : array
        The value minus that without all edges of the link, or when none of their labels counts.
    node_gradient, edge_gradient : array, optional
        Integrated gradients on label counts and features: their sum is ``value − baseline``, up to
        ``completeness``. Edges have none with layers that do not count edge labels; neither has any
        where they would take too much memory.
    baseline : float
        The value when no label counts at all.
    completeness : float
        :math:`|\sum − (value − baseline)|`, the error of the integral.
    labels : tuple of LabelEffect
        What each label means, all occurrences together; the largest first.
    node_label_kind : {"label", "degree", "name"}
        What the model takes for labels of nodes.
    complete : bool
        Whether everything that the prediction depends on was tried.
    links_beyond : bool
        Whether links that lead out of ``graph`` count as well, for degrees that are labels; they
        are not tried.
    measure : {"log-odds", "output", "decision", "class"}
        What ``value`` is.

    Shapes
    ------
    node_removal, node_label_removal, node_gradient (N,); edge_gradient, links (E,); link_removal,
    link_label_removal (links,); probability (K,)
    """

    graph: Graphs
    node: int | None
    original_nodes: Tensor | None
    original_edges: Tensor | None
    item: Graphs | Nodes
    target: Any
    target_index: int
    prediction: Any
    probability: _Array | None
    classes: tuple[Any, ...]
    value: float
    node_removal: _Array
    node_label_removal: _Array
    links: _Array
    link_removal: _Array
    link_label_removal: _Array
    node_gradient: _Array | None
    edge_gradient: _Array | None
    baseline: float
    completeness: float
    labels: tuple[LabelEffect, ...]
    node_label_kind: str
    complete: bool
    links_beyond: bool = False
    measure: Measure = "log-odds"

    @property
    def left_out(self) -> tuple[int, int]:
        """How many nodes and how many links were not tried, as there are too many."""
        nodes = np.isnan(self.node_removal)
        if self.node is not None:
            nodes[self.node] = False
        return int(nodes.sum()), int(np.isnan(self.link_removal).sum())

    @property
    def by_label(self) -> bool:
        """Whether elements are best compared by their labels, so that the graph keeps its shape."""
        return self.node_label_kind == "label" and not bool(np.isnan(self.node_label_removal).all())

    @property
    def links_by_label(self) -> bool:
        """Whether links too have labels that the model reads, and are compared by them."""
        return self.by_label and not bool(np.isnan(self.link_label_removal).all())

    @property
    def node_score(self) -> _Array:
        """What drawings shade nodes by: the worth of their labels, or of the nodes; 0 if unknown.

        Without a node the graph has another shape, mostly one that no training graph had; without a
        label it keeps its own.
        """
        first, second = self.node_removal, self.node_label_removal
        if self.by_label:
            first, second = second, first
        return np.nan_to_num(np.where(np.isnan(first), second, first), nan=0.0)

    @property
    def link_score(self) -> _Array:
        """What links are compared by: the worth of their labels, or of the links; 0 if unknown."""
        return np.nan_to_num(
            self.link_label_removal if self.links_by_label else self.link_removal, nan=0.0
        )

    @property
    def edge_score(self) -> _Array:
        """What drawings shade edges by: the score of their link."""
        return self.link_score[self.links]

    @property
    def link_edges(self) -> list[_Array]:
        """The edges of every link."""
        return members_of(self.links)

    @cached_property
    def texts(self) -> list[str]:
        """What to call every node: the name that relations give it, its own name, or its number."""
        return texts_of_item(self.item, self.graph, self.original_nodes)

    def reasons(self, n: int = 10) -> list[Reason]:
        """Return the strongest reasons for and against, the largest contribution first.

        Nodes and links are compared by their scores; for a node's prediction also the labels of
        edges, all occurrences of one together. What is only rounding beside the first is left out.

        Parameters
        ----------
        n : int
            How many at most.
        """
        # Only the first are put into words, which takes time.
        largest = sorted(self._scored_elements(), key=lambda entry: -abs(entry[2]))[:n]
        reasons = [
            Reason(kind, elements, self._words(kind, elements), amount)
            for kind, elements, amount in largest
        ]
        if self.node is not None:
            of_edges = [effect for effect in self.labels if effect.kind == "edge"]
            reasons += map(self._label_reason, of_edges)
        reasons = sorted(reasons, key=lambda reason: -abs(reason.contribution))[:n]
        least = _ROUNDING * abs(reasons[0].contribution) if reasons else 0.0
        return [reason for reason in reasons if abs(reason.contribution) > least]

    def _scored_elements(self) -> Iterator[tuple[str, tuple[int, ...], float]]:
        for node, amount in enumerate(self.node_score.tolist()):
            yield "node", (node,), amount
        for edges, amount in zip(self.link_edges, self.link_score.tolist(), strict=True):
            yield "link", tuple(edges.tolist()), amount

    def _label_reason(self, effect: LabelEffect) -> Reason:
        number = self.graph.edge_vocabulary.index(effect.value)
        edges = (self.graph.edge_label == number).nonzero()[:, 0].tolist()
        many = counted(effect.count, "edge")
        if effect.count > 1:
            many = f"all {many}"
        words = f"the label {label_text(effect.value)} of {many}"
        return Reason("edge label", tuple(edges), words, effect.contribution)

    def _words(self, kind: str, elements: tuple[int, ...]) -> str:
        if kind == "link":
            return link_words(self.graph, self.texts, elements)
        return node_words(self.graph, self.texts, elements[0])

    def __repr__(self) -> str:
        of = "a graph" if self.node is None else self._words("node", (self.node,))
        target = "" if self.target is None else f" for {self.target!r}"
        return f"Explanation(of {of}{target}: value {self.value:.4g}, {self.graph!r})"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON; NaN is ``None``."""
        graph = self.graph
        names = [field.name for field in fields(self) if field.name not in _NOT_PLAIN]
        values = {name: getattr(self, name) for name in (*names, "node_score", "edge_score")}
        values["graph"] = {
            "node_names": graph.node_names,
            "node_labels": graph.node_labels,
            "edge_source": graph.edge_source.tolist(),
            "edge_target": graph.edge_target.tolist(),
            "edge_labels": graph.edge_labels,
        }
        for name in ("original_nodes", "original_edges"):
            numbers = getattr(self, name)
            values[name] = None if numbers is None else numbers.tolist()
        values["labels"] = [vars(effect) for effect in self.labels]
        values["reasons"] = [vars(reason) for reason in self.reasons()]
        found: dict[str, Any] = plain(values)
        return found
