"""What is explained: one prediction of one model, which can be asked about changed copies."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from edgnn._rules import POSITIVE
from edgnn._words import preview, short, with_article
from edgnn.errors import EstimatorError
from edgnn.explain._changes import Changes
from edgnn.explain._names import texts_of_item
from edgnn.graphs import UNKNOWN, Graphs, Nodes, Vocabulary, taken
from edgnn.io import Deadline
from edgnn.models import NotFitted

_Array = np.ndarray[Any, Any]
Check = Callable[[], None]

#: What is explained: log-odds of a class or label, an output of a regressor, the decision value of
#: a class, or whether a class is predicted at all (1 or 0).
Measure = Literal["log-odds", "output", "decision", "class"]

#: Bytes that the copies of a pass may take, about.
MEMORY = 256 * 2**20


def time_limit(seconds: float | None) -> Deadline:
    """Return the time that some work may take; without a number, as much as it needs."""
    if seconds is not None and not POSITIVE.holds(seconds):
        raise EstimatorError(f"seconds={short(seconds)}: choose {POSITIVE.text}, or None")
    return Deadline(math.inf if seconds is None else seconds)


class Scores(ABC):
    """What a model says of some changed copies.

    Attributes
    ----------
    numbers : array
        The probability of every class or label, or the outputs of a regressor; of a classifier
        without probabilities, its decision values, or 1 for the predicted class and 0 for others.

    Shapes
    ------
    numbers (copies, K)
    """

    numbers: _Array

    @abstractmethod
    def value(self, column: int) -> _Array:
        """Return the number that is explained, as the subject's ``measure`` says."""

    @abstractmethod
    def log_probability(self) -> _Array:
        """Return the logarithm of every class's probability, up to a constant, or its value."""


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of nodes or of edges.

    Parameters
    ----------
    vocabulary : Vocabulary
        What the numbers of labels in changes mean.
    numbers : array
        Those of the elements of the explained graph.
    removable : bool
        Whether a label can be taken out: there are labels, not one constant for all, and the model
        reads them.
    """

    vocabulary: Vocabulary
    numbers: _Array
    removable: bool

    @classmethod
    def of(cls, vocabulary: Vocabulary, numbers: Tensor, read: bool = True) -> Labels:
        """Return the labels of elements that a model reads, or does not."""
        return cls(vocabulary, numbers.cpu().numpy(), read and not vocabulary.constant)

    @property
    def unknown(self) -> int:
        """The number of the label that counts for nothing."""
        known = self.vocabulary
        return known.index(UNKNOWN) if UNKNOWN in known else len(known)


class Subject(ABC):
    """A single item as a model reads it; subclasses say how a kind of model is asked.

    Attributes
    ----------
    estimator : estimator
        Fitted.
    item : Graphs or Nodes
        The one item, as given.
    raw : Graphs
        Its graph, or the part of it around a node, in the users' labels.
    part : Part, optional
        Of a node: which nodes and edges of the graph given are in the part.
    task : {"classes", "labels", "values"}
        What the model predicts.
    classes : list
        The classes; of several labels or outputs, their numbers.
    labels : dict of Labels
        The labels of a ``"node"`` and of an ``"edge"``.
    """

    #: What the model takes for labels of nodes: ``"label"``, ``"degree"`` or ``"name"``.
    node_label_kind = "label"
    #: So many nodes and edges of all copies together take some seconds.
    elements: ClassVar[int]

    estimator: Any
    item: Graphs | Nodes
    raw: Graphs
    part: Part | None
    check: Check | None
    task: str
    classes: list[Any]
    labels: dict[str, Labels]

    @property
    def measure(self) -> Measure:
        """What is explained."""
        return "output" if self.task == "values" else "log-odds"

    @staticmethod
    def of(estimator: Any, item: Any, check: Check | None = None) -> Subject:
        """Check an estimator and an item; labels never seen are warned of, as by ``predict``.

        ``check`` is called before every pass of the model; what it raises ends the work.
        """
        from edgnn.explain._any_model import AnySubject
        from edgnn.explain._network import NetworkSubject
        from edgnn.models import Estimator

        if not hasattr(estimator, "predict"):
            raise EstimatorError(
                f"{with_article(type(estimator).__name__)} cannot be explained: it has no method "
                "predict; "
                "pass a fitted estimator"
            )
        kind = NetworkSubject if isinstance(estimator, Estimator) else AnySubject
        return kind(estimator, item, check)

    @abstractmethod
    def scores(self, changes: Changes) -> Scores:
        """Ask the model about changed copies of ``raw``, a bounded number at a time."""

    @abstractmethod
    def prediction(self, scores: Scores) -> Any:
        """Return what ``predict`` says of the first copy, which is unchanged."""

    @abstractmethod
    def answer(self, item: Graphs | Nodes) -> tuple[_Array | None, Any]:
        """Return what the estimator itself says of an item: probabilities, and the prediction."""

    @abstractmethod
    def label_choices(self, kind: str) -> list[int]:
        """Return the labels that a ``"node"`` or an ``"edge"`` may be changed to."""

    @property
    def has_links_beyond(self) -> bool:
        """Whether links outside the part count as well, for degrees that are labels."""
        return False

    @property
    def is_whole(self) -> bool:
        """Whether the prediction depends on nothing outside ``raw``."""
        return not self.has_links_beyond

    @property
    def copied_elements(self) -> int:
        """How many nodes and edges each copy has, for every model that is asked about it."""
        return self.raw.num_nodes + self.raw.num_edges

    @property
    def node_keys(self) -> list[Hashable]:
        """What, beside their edges, must be equal of two nodes that can be swapped."""
        return list(self.labels["node"].numbers.tolist())

    @property
    def node(self) -> int | None:
        """Of a node's prediction: its number in the part."""
        return None if self.part is None else self.part.node

    @cached_property
    def texts(self) -> list[str]:
        """What to call the nodes of ``raw``."""
        nodes = None if self.part is None else self.part.nodes
        return texts_of_item(self.item, self.raw, nodes)

    def look(self) -> None:
        """Ask whether to go on."""
        if self.check is not None:
            self.check()

    def distance(self) -> _Array:
        """Return how far each node is from the one explained; zeros for a graph."""
        if self.part is None:
            return np.zeros(self.raw.num_nodes, np.int64)
        distance: _Array = self.part.distance.cpu().numpy()
        return distance

    def column(self, target: Any, scores: Scores) -> int:
        """Return the column of a target, by default of the prediction, or of the first output."""
        if target is not None:
            return self.checked_target(target)
        if self.task == "values":
            return 0
        if self.task == "classes":
            return self.classes.index(self.prediction(scores))
        return int(scores.numbers[0].argmax())

    def checked_target(self, target: Any) -> int:
        """Return the column of a target that a user names."""
        if isinstance(target, Hashable) and target in self.classes:
            return self.classes.index(target)
        kind = {"classes": "class", "labels": "label", "values": "output"}[self.task]
        raise EstimatorError(
            f"target={short(target)} is no {kind} of this {type(self.estimator).__name__}: "
            f"choose one of {preview(self.classes)}"
        )


def copies_allowed(subject: Subject, most: int) -> int:
    """Return how many copies to try by default: ``most``, or fewer that take some seconds."""
    return max(1, min(most, subject.elements // max(1, subject.copied_elements)))


def check_fitted(estimator: Any, fitted: bool) -> None:
    """Raise an error where there is no prediction to explain."""
    if not fitted:
        raise NotFitted(f"this {type(estimator).__name__} is not fitted yet: call fit first")


def check_classes(estimator: Any, classes: list[Any], task: str) -> None:
    """Raise an error where only one prediction is possible."""
    if task == "classes" and len(classes) < 2:
        raise EstimatorError(
            f"this {type(estimator).__name__} knows one class, {classes[0]!r}: nothing speaks for "
            "or against it"
        )


def check_single(items: Graphs | Nodes) -> None:
    """Raise an error unless there is one item, of a graph that has nodes."""
    what = "node" if isinstance(items, Nodes) else "graph"
    if not len(items):
        raise EstimatorError(
            f"an explanation is of one {what}, but 0 were given: there is nothing to explain"
        )
    if len(items) > 1:
        raise EstimatorError(
            f"an explanation is of one {what}, but {len(items)} were given: "
            f"take them one by one: for {what} in {what}s"
        )
    graphs = items.graphs if isinstance(items, Nodes) else items
    if not graphs.num_nodes:
        raise EstimatorError(
            "the graph has no nodes, so there is nothing that its prediction could rest on"
        )


# The part of a graph around a node


@dataclass(frozen=True, eq=False)
class Part:
    """Some nodes and edges of a graph around one node.

    Parameters
    ----------
    nodes, edges : Tensor
        Their numbers in the graph, rising.
    node : int
        The place of the node in the middle among ``nodes``.
    distance : Tensor
        How many edges lie between it and each of the nodes.
    """

    nodes: Tensor
    edges: Tensor
    node: int
    distance: Tensor


def part_around(
    graphs: Graphs, node: int, layers: int, direction: str, *, every_edge: bool
) -> Part:
    """Return what so many layers read to compute the state of a node.

    The state of a node at distance d is needed of the first T − d layers, so of nodes at distance T
    only labels are read, and edges between two of them are not.

    Parameters
    ----------
    graphs : Graphs
        That have the node.
    node : int
        Its number over all graphs.
    layers : int
        T, how many layers.
    direction : {"both", "in"}
        Whether layers read against edges as well.
    every_edge : bool
        Keep all edges between the nodes.
    """
    source, target = graphs.edge_source, graphs.edge_target
    distance = torch.full((graphs.num_nodes,), layers + 1, device=graphs.device)
    distance[node] = 0
    for hop in range(1, layers + 1):
        reached = source[distance[target] < hop]
        if direction == "both":
            reached = torch.cat([reached, target[distance[source] < hop]])
        distance[reached] = distance[reached].clamp(max=hop)
    inner, within = distance < layers, distance <= layers
    used = inner[target] | inner[source] if direction == "both" else inner[target]
    edges = within[source] & within[target] & (used | every_edge)
    nodes = within.nonzero()[:, 0]
    return Part(nodes, edges.nonzero()[:, 0], int((nodes < node).sum()), distance[nodes])


def cut(graphs: Graphs, part: Part) -> Graphs:
    """Return the part as a graph of its own; ``graphs`` may be on another device than the part."""
    nodes, edges = part.nodes.to(graphs.device), part.edges.to(graphs.device)
    number = torch.full((graphs.num_nodes,), -1, device=graphs.device)
    number[nodes] = torch.arange(len(nodes), device=graphs.device)
    owner = int(torch.searchsorted(graphs.graph_offset, nodes[:1], right=True)) - 1
    return taken(graphs, nodes, edges, number)._with(
        graph_offset=torch.tensor([0, len(nodes)], device=graphs.device),
        graph_names=None if graphs.graph_names is None else graphs.graph_names[owner : owner + 1],
        graph_features=(
            None if graphs.graph_features is None else graphs.graph_features[owner : owner + 1]
        ),
    )
