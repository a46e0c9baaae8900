"""Counter-examples: the smallest change of labels or links that changes a prediction."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn._json import plain
from edgnn.errors import EstimatorError
from edgnn.explain._explain import _check_numbers
from edgnn.explain._names import label_of, label_text, link_words, node_words, texts_of_item
from edgnn.explain._search import Found, Search, Step
from edgnn.explain._subject import Subject
from edgnn.explain._values import MEMORY, copies_allowed
from edgnn.graphs import Graphs, Nodes, Vocabulary
from edgnn.models import UnknownLabelWarning

_Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Change:
    """One change of a graph.

    Parameters
    ----------
    kind : {"node label", "link label", "link out"}
        A node gets another label, a link gets another label, or a link is taken out.
    elements : tuple of int
        The node, or the edges of the link, in the explained graph.
    before, after : Any
        The labels, in the users' values; ``after`` is ``None`` for a link that is taken out.
    words : str
        The change in words.
    """

    kind: str
    elements: tuple[int, ...]
    before: Any
    after: Any
    words: str


@dataclass(frozen=True, eq=False)
class CounterExample:
    """A changed graph that gets another prediction.

    Attributes
    ----------
    changes : tuple of Change
        What was changed; elements are numbered as in ``original``.
    original, graph : Graphs
        The graph before and after; of a node's prediction, the part around it.
    node : int, optional
        Of a node's prediction: its number in both.
    item : Graphs or Nodes
        The whole changed item, as it was predicted to verify the example.
    prediction : Any
        What ``predict`` says of it; ``before`` is what it said of the item given.
    probability : array
        What ``predict_proba`` says of it.
    smallest : bool
        Whether fewer changes are known not to do: all of them were tried. Where degrees are labels,
        links outside the part around a node count for degrees but are not tried, so that it is
        known of a single change only.
    tried : int
        How many changed graphs the model was asked about.
    """

    changes: tuple[Change, ...]
    original: Graphs
    graph: Graphs
    node: int | None
    item: Graphs | Nodes
    before: Any
    prediction: Any
    probability: _Array
    smallest: bool
    tried: int

    @property
    def words(self) -> str:
        """All changes in words."""
        return "; ".join(change.words for change in self.changes)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the graphs as plain data, ready for JSON."""
        return {
            "changes": [plain(vars(change)) for change in self.changes],
            "node": self.node,
            "before": plain(self.before),
            "prediction": plain(self.prediction),
            "probability": plain(self.probability),
            "smallest": self.smallest,
            "tried": self.tried,
        }


def counter_example(
    estimator: Any,
    item: Any,
    *,
    target: Any = None,
    largest: int = 3,
    most: int | None = None,
    memory: int = MEMORY,
    check: Callable[[], None] | None = None,
) -> CounterExample | None:
    """Find the smallest change of labels or links that changes the prediction.

    A change gives one node another label, gives one link (an edge, or an edge and its reverse)
    another label, or takes one link out; new labels are those that the training part contained. All
    single changes are tried, then all pairs while ``most`` allows it; beyond, sets grow from the
    most promising smaller ones. What is found is verified by predicting the changed graph alone.

    Parameters
    ----------
    estimator : GraphClassifier, NodeClassifier, or a classifier of ``edgnn.models.rivals`` built on
    them
        Fitted.
    item : Graphs or Nodes
        One graph, or one node.
    target : Any, optional
        The class that the prediction is to become, by default any other; of several labels, the
        number of the one to change, by default any.
    largest : int
        Largest number of changes.
    most : int, optional
        Largest number of changed graphs to ask the model about: by default 20,000, fewer of a graph
        with thousands of nodes and edges, some seconds' worth.
    memory : int
        Bytes that a pass of the model may take, about.
    check : callable, optional
        Called before every pass of the model; what it raises ends the work.

    Returns
    -------
    CounterExample or None
        ``None`` where none was found.
    """
    _check_numbers(largest=largest, most=1 if most is None else most, memory=memory)
    subject = Subject.of(estimator, item, check)
    allowed = copies_allowed(subject, 20_000) if most is None else most
    search = Search.of(subject, _wanted(estimator, target), allowed, memory)
    for found in search.by_size(largest):
        verified = _verified(subject, search, found)
        if verified is not None:
            return verified
    return None


def _wanted(estimator: Any, target: Any) -> int | None:
    encoding = estimator._encoding
    if encoding.task == "values":
        raise EstimatorError(
            f"a {type(estimator).__name__} predicts values, which change with every change: there is no class to leave; "
            "look at the removals of explain instead"
        )
    if target is None:
        return None
    known = encoding.classes.tolist()
    if not isinstance(target, Hashable) or target not in known:
        raise EstimatorError(
            f"target={target!r} is no class of this {type(estimator).__name__}: choose one of {known}"
        )
    return int(known.index(target))


def _verified(subject: Subject, search: Search, found: Found) -> CounterExample | None:
    """Predict the changed item alone; return ``None`` where rounding made the difference."""
    subject.look()
    whole = subject.item.graphs if isinstance(subject.item, Nodes) else subject.item
    changed = _changed(subject, whole, found.steps, whole_graph=True)
    item = Nodes._of(changed, subject.item.index) if isinstance(subject.item, Nodes) else changed
    probability, prediction = _asked(subject, item)
    if not search.flips(prediction[0]):
        return None
    return CounterExample(
        changes=tuple(_in_words(subject, step) for step in found.steps),
        original=subject.raw,
        graph=_changed(subject, subject.raw, found.steps, whole_graph=False),
        node=subject.node,
        item=item,
        before=_plain_prediction(search.prediction),
        prediction=_plain_prediction(prediction[0]),
        probability=probability[0],
        smallest=found.smallest,
        tried=search.tried,
    )


def _asked(subject: Subject, item: Graphs | Nodes) -> tuple[_Array, _Array]:
    """Ask the estimator itself; degrees that no training graph had may come up, and count for nothing."""
    estimator: Any = subject.estimator
    if estimator.unknown == "error":
        estimator = copy.copy(estimator)
        estimator.unknown = "zero"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownLabelWarning)
        return estimator.predict_proba(item), estimator.predict(item)


def _changed(
    subject: Subject, graphs: Graphs, steps: Sequence[Step], *, whole_graph: bool
) -> Graphs:
    """Return the users' own graph with the changes made: the whole graph, or the part of it."""
    coder, part = subject.estimator._coder, subject.part if whole_graph else None
    out: list[int] = []
    for step in steps:
        elements = list(step.elements)
        if part is not None:
            elements = (
                (part.nodes if step.kind == "node label" else part.edges).cpu()[elements].tolist()
            )
        if step.kind == "link out":
            out += elements
        elif step.kind == "node label":
            graphs = _relabeled(graphs, "node", elements, coder.node_vocabulary[step.label])
        else:
            graphs = _relabeled(graphs, "edge", elements, coder.edge_vocabulary[step.label])
    return _without(graphs, out) if out else graphs


def _relabeled(graphs: Graphs, what: str, elements: list[int], value: Any) -> Graphs:
    labels: Tensor = getattr(graphs, f"{what}_label").clone()
    vocabulary: Vocabulary = getattr(graphs, f"{what}_vocabulary")
    if value not in vocabulary:
        vocabulary = Vocabulary((*vocabulary, value))
    labels[elements] = vocabulary.index(value)
    return graphs._with(**{f"{what}_label": labels, f"{what}_vocabulary": vocabulary})


def _without(graphs: Graphs, edges: list[int]) -> Graphs:
    keep = torch.ones(graphs.num_edges, dtype=torch.bool, device=graphs.device)
    keep[edges] = False
    return graphs._with(
        edge_source=graphs.edge_source[keep],
        edge_target=graphs.edge_target[keep],
        edge_label=graphs.edge_label[keep],
        edge_features=None if graphs.edge_features is None else graphs.edge_features[keep],
    )


def _in_words(subject: Subject, step: Step) -> Change:
    graph, coder, first = subject.raw, subject.estimator._coder, step.elements[0]
    texts = texts_of_item(subject.item, graph, None if subject.part is None else subject.part.nodes)
    if step.kind == "node label":
        before, after = label_of(graph, "node", first), coder.node_vocabulary[step.label]
        words = f"{node_words(graph, texts, first)} becomes {label_text(after)}"
        return Change(step.kind, step.elements, before, after, words)
    before, link = label_of(graph, "edge", first), link_words(graph, texts, step.elements)
    if step.kind == "link out":
        return Change(step.kind, step.elements, before, None, f"{link} is taken out")
    after = coder.edge_vocabulary[step.label]
    return Change(step.kind, step.elements, before, after, f"{link} becomes {label_text(after)}")


def _plain_prediction(prediction: Any) -> Any:
    return prediction.item() if isinstance(prediction, np.generic) else prediction
