"""Counter-examples: the smallest change of labels or links that changes a prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn._json import plain
from edgnn._words import with_article
from edgnn.errors import EstimatorError
from edgnn.explain._explain import check_numbers
from edgnn.explain._names import label_of, label_text, link_words, node_words
from edgnn.explain._search import Found, Search, Step
from edgnn.explain._subject import Subject, copies_allowed, time_limit
from edgnn.graphs import Graphs, Nodes, Vocabulary, taken

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
    probability : array, optional
        What ``predict_proba`` says of it; ``None`` from models without.
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
    probability: _Array | None
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
    seconds: float | None = None,
    check: Callable[[], None] | None = None,
) -> CounterExample | None:
    """Find the smallest change of labels or links that changes the prediction.

    A change gives one node another label, gives one link (an edge, or an edge and its reverse)
    another label, or takes one link out. New labels are those of the training set; of models that
    do not know it, those of the graph's vocabulary. All single changes are tried, then all pairs
    while ``most`` allows it; beyond, sets grow from the most promising smaller ones. What is found
    is verified by predicting the changed graph alone.

    Parameters
    ----------
    estimator : classifier
        Fitted; any model of graphs or nodes with ``predict``.
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
    seconds : float, optional
        When the search begins no further pass.
    check : callable, optional
        Called before every pass of the model; what it raises ends the work.

    Returns
    -------
    CounterExample or None
        ``None`` where none was found.
    """
    check_numbers(largest=largest, most=1 if most is None else most)
    limit = time_limit(seconds)
    subject = Subject.of(estimator, item, check)
    if subject.task == "values":
        raise EstimatorError(
            f"{with_article(type(estimator).__name__)} predicts values, which change with every "
            "change: there "
            "is no class to leave; look at the removals of explain instead"
        )
    wanted = None if target is None else subject.checked_target(target)
    allowed = copies_allowed(subject, 20_000) if most is None else most
    search = Search(subject, wanted, allowed, limit)
    for found in search.by_size(largest):
        verified = _verified(subject, search, found)
        if verified is not None:
            return verified
    return None


def _verified(subject: Subject, search: Search, found: Found) -> CounterExample | None:
    """Predict the changed item alone; return ``None`` where rounding made the difference."""
    subject.look()
    whole = subject.item.graphs if isinstance(subject.item, Nodes) else subject.item
    changed = _changed(subject, whole, found.steps, whole_graph=True)
    item = Nodes._of(changed, subject.item.index) if isinstance(subject.item, Nodes) else changed
    probability, prediction = subject.answer(item)
    if not search.flips(prediction):
        return None
    return CounterExample(
        changes=tuple(_in_words(subject, step) for step in found.steps),
        original=subject.raw,
        graph=_changed(subject, subject.raw, found.steps, whole_graph=False),
        node=subject.node,
        item=item,
        before=search.prediction,
        prediction=prediction.item() if isinstance(prediction, np.generic) else prediction,
        probability=probability,
        smallest=found.smallest,
        tried=search.tried,
    )


def _changed(
    subject: Subject, graphs: Graphs, steps: Sequence[Step], *, whole_graph: bool
) -> Graphs:
    """Return the users' own graph with the changes made: the whole graph, or the part of it."""
    part = subject.part if whole_graph else None
    out: list[int] = []
    for step in steps:
        elements = list(step.elements)
        if part is not None:
            numbers = part.nodes if step.what == "node" else part.edges
            elements = numbers.cpu()[elements].tolist()
        if step.kind == "link out":
            out += elements
        else:
            value = subject.labels[step.what].vocabulary[step.label]
            graphs = _relabeled(graphs, step.what, elements, value)
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
    nodes = torch.arange(graphs.num_nodes, device=graphs.device)
    return taken(graphs, nodes, keep, nodes)


def _in_words(subject: Subject, step: Step) -> Change:
    graph, elements = subject.raw, step.elements
    before, after = label_of(graph, step.what, elements[0]), None
    if step.what == "node":
        what = node_words(graph, subject.texts, elements[0])
    else:
        what = link_words(graph, subject.texts, elements)
    words = f"{what} is taken out"
    if step.kind != "link out":
        after = subject.labels[step.what].vocabulary[step.label]
        words = f"{what} becomes {label_text(after)}"
    return Change(step.kind, elements, before, after, words)
