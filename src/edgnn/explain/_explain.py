"""explain: leave-one-out of every node, link and label, and integrated gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from edgnn.errors import EstimatorError
from edgnn.explain._changes import Changes
from edgnn.explain._explanation import Explanation, LabelEffect
from edgnn.explain._gradients import Gradients, integrated_gradients
from edgnn.explain._links import links_of, members_of, twin_links, twins_of
from edgnn.explain._network import NetworkSubject
from edgnn.explain._subject import Labels, Subject, copies_allowed, time_limit
from edgnn.io import Deadline

_Array = np.ndarray[Any, Any]

#: Nodes and links between two looks at the clock.
_ELEMENTS_OF_A_ROUND = 16


def explain(
    estimator: Any,
    item: Any,
    *,
    target: Any = None,
    most: int | None = None,
    steps: int = 64,
    seconds: float | None = None,
    check: Callable[[], None] | None = None,
) -> Explanation:
    """Explain a prediction: the contribution of every node, link and label.

    Each element is taken out in turn and the model asked again: networks about many changed copies
    of the graph in one pass, any other model through its ``predict_proba`` or ``predict``. Elements
    that can be swapped without changing the graph are tried once. What is explained of a classifier
    without probabilities is its decision value, or else only whether the class changes. Integrated
    gradients, of networks only, divide the difference between the value and that of a graph without
    labels among the nodes and edges that the label counts come from. The same call gives the same
    numbers, unless ``seconds`` end it.

    Parameters
    ----------
    estimator : estimator
        Fitted: a network, single or an ensemble, a closed form, a rival, or any other model of
        graphs or nodes with ``predict``.
    item : Graphs or Nodes
        One graph, or one node; also what else the estimator predicts, such as a SMILES string.
    target : Any, optional
        The class to explain, by default the predicted one; of several labels, the number of one, by
        default the most probable; of several outputs of a regressor, the number of one, by default
        the first.
    most : int, optional
        Largest number of changed copies: by default 5,000, fewer of a graph with thousands of nodes
        and edges, some seconds' worth. Beyond it, the nodes and edges with the largest integrated
        gradients are tried, or where there are none, the nearest; the others are NaN.
    steps : int
        Number of points of the integral.
    seconds : float, optional
        When leaving out begins no further pass: the elements with the largest gradients, or the
        nearest, are tried first, and those that are left are NaN. A first pass is always made.
    check : callable, optional
        Called before every pass of the model; what it raises ends the work.

    Examples
    --------
    >>> import edgnn
    >>> data = edgnn.load_dataset("MUTAG")
    >>> model = edgnn.RidgeGraphClassifier().fit(data.graphs[:100], data.targets[:100])
    >>> explanation = edgnn.explain.explain(model, data.graphs[0])
    >>> explanation.node_removal.shape
    (17,)
    """
    check_numbers(most=1 if most is None else most, steps=steps)
    limit = time_limit(seconds)
    subject = Subject.of(estimator, item, check)
    most = copies_allowed(subject, 5000) if most is None else most
    scores = subject.scores(Changes.of(1))
    column = subject.column(target, scores)
    value = float(scores.value(column)[0])
    gradients = Gradients()
    if isinstance(subject, NetworkSubject):
        gradients = integrated_gradients(subject, column, steps)
    links = links_of(subject.raw)
    removals = _Removals(subject, column, value, links)
    complete = removals.run(*_chosen(subject, removals, gradients, most), limit)
    effects: tuple[LabelEffect, ...] | None = None
    if not limit.is_over:
        effects = _label_effects(subject, column, value, most)
    return Explanation(
        graph=subject.raw,
        node=subject.node,
        original_nodes=None if subject.part is None else subject.part.nodes,
        original_edges=None if subject.part is None else subject.part.edges,
        item=subject.item,
        target=subject.classes[column],
        target_index=column,
        prediction=subject.prediction(scores),
        probability=scores.numbers[0] if subject.measure == "log-odds" else None,
        classes=() if subject.task == "values" else tuple(subject.classes),
        value=value,
        node_removal=removals.node,
        node_label_removal=removals.node_label,
        links=links,
        link_removal=removals.link,
        link_label_removal=removals.link_label,
        node_gradient=gradients.node,
        edge_gradient=gradients.edge,
        baseline=gradients.baseline,
        completeness=gradients.error,
        labels=effects or (),
        node_label_kind=subject.node_label_kind,
        complete=complete and effects is not None and subject.is_whole,
        links_beyond=subject.has_links_beyond,
        measure=subject.measure,
    )


class _Removals:
    """Leave-one-out of one prediction: what to try, and what came out."""

    def __init__(self, subject: Subject, target: int, value: float, links: _Array) -> None:
        self.subject, self.target, self.value = subject, target, value
        self.links = members_of(links)
        self.same_node, same_edge = twins_of(subject)
        self.same_link = twin_links(same_edge, self.links)
        self.node = np.full(subject.raw.num_nodes, np.nan)
        self.link = np.full(len(self.links), np.nan)
        self.node_label, self.link_label = self.node.copy(), self.link.copy()

    def families(self, nodes: _Array, links: _Array) -> list[tuple[_Array, _Array, Changes]]:
        """Return where results belong, the elements that are tried, and how to change them."""
        subject = self.subject
        removable = nodes if subject.node is None else nodes[nodes != subject.node]
        of_link = [self.links[link] for link in links]
        copy = np.repeat(np.arange(len(links)), [len(edges) for edges in of_link])
        edges = np.concatenate([np.zeros(0, np.int64), *of_link])
        without_nodes = Changes.of(len(removable), nodes_out=(np.arange(len(removable)), removable))
        tried = [
            (self.node, removable, without_nodes),
            (self.link, links, Changes.of(len(links), edges_out=(copy, edges))),
        ]
        node_labels, edge_labels = subject.labels["node"], subject.labels["edge"]
        if node_labels.removable:
            unknown = np.full(len(nodes), node_labels.unknown)
            unlabeled = (np.arange(len(nodes)), nodes, unknown)
            changes = Changes.of(len(nodes), node_labels=unlabeled)
            tried.append((self.node_label, nodes, changes))
        if edge_labels.removable:
            unknown = np.full(len(edges), edge_labels.unknown)
            changes = Changes.of(len(links), edge_labels=(copy, edges, unknown))
            tried.append((self.link_label, links, changes))
        return tried

    def run(self, nodes: _Array, links: _Array, limit: Deadline) -> bool:
        """Try nodes and links, the most promising first; return whether that was everything."""
        rounds = 1
        if limit.left < math.inf:
            rounds = max(1, (len(nodes) + len(links)) // _ELEMENTS_OF_A_ROUND)
        tried = 0
        for some_nodes, some_links in zip(
            np.array_split(nodes, rounds), np.array_split(links, rounds), strict=True
        ):
            self._try(np.sort(some_nodes), np.sort(some_links))
            tried += len(some_nodes) + len(some_links)
            if limit.is_over:
                break
        self._spread()
        return tried == len(np.unique(self.same_node)) + len(np.unique(self.same_link))

    def _try(self, nodes: _Array, links: _Array) -> None:
        """Leave out nodes, links and their labels, each by itself."""
        families = self.families(nodes, links)
        changes = Changes.joined([changes for *_, changes in families])
        values = self.subject.scores(changes).value(self.target)
        start = 0
        for result, elements, tried in families:
            result[elements] = self.value - values[start : start + tried.count]
            start += tried.count

    def _spread(self) -> None:
        """Give twins what the one of them that was tried has."""
        for result in (self.node, self.node_label):
            result[:] = result[self.same_node]
        for result in (self.link, self.link_label):
            result[:] = result[self.same_link]


def _chosen(
    subject: Subject, removals: _Removals, gradients: Gradients, most: int
) -> tuple[_Array, _Array]:
    """Return the nodes and links to try, one of each kind of twins.

    Those with the largest gradients, or the nearest, come first, as many as are allowed.
    """
    nodes, links = np.unique(removals.same_node), np.unique(removals.same_link)
    for_nodes, for_links = len(nodes), len(links)
    if 2 * (for_nodes + for_links) > most:  # each is taken out, and so is its label
        for_nodes = min(len(nodes), max(1, most // 4))
        for_links = min(len(links), max(0, most // 2 - for_nodes))
    distance = subject.distance().astype(float)
    node_rank = -distance if gradients.node is None else np.abs(gradients.node)
    if gradients.edge is None:
        source, target = subject.raw.edge_source.cpu(), subject.raw.edge_target.cpu()
        edge_rank = -(distance[source.numpy()] + distance[target.numpy()])
        link_rank = np.array([edge_rank[removals.links[link][0]] for link in links], dtype=float)
    else:
        sums = [gradients.edge[removals.links[link]].sum() for link in links]
        link_rank = np.abs(np.array(sums, dtype=float))
    best_nodes = np.argsort(-node_rank[nodes], kind="stable")[:for_nodes]
    best_links = np.argsort(-link_rank, kind="stable")[:for_links]
    return nodes[best_nodes], links[best_links]


def _label_effects(
    subject: Subject, target: int, value: float, most: int
) -> tuple[LabelEffect, ...]:
    """Take out every label, all its occurrences at once; of too many, the most frequent."""
    occurrences: list[tuple[str, int, _Array]] = []
    for kind, labels in subject.labels.items():
        are_names = kind == "node" and subject.node_label_kind == "name"
        if labels.removable and not are_names:
            occurrences += _occurrences(kind, labels, most)
    if not occurrences:
        return ()
    changes = []
    for kind, _, elements in occurrences:
        unlabeled = (elements * 0, elements, elements * 0 + subject.labels[kind].unknown)
        changes.append(Changes.of(1, **{f"{kind}_labels": unlabeled}))
    drops = value - subject.scores(Changes.joined(changes)).value(target)
    effects = []
    for (kind, label, elements), drop in zip(occurrences, drops.tolist(), strict=True):
        text = subject.labels[kind].vocabulary[label]
        effects.append(LabelEffect(kind, text, len(elements), drop))
    return tuple(sorted(effects, key=lambda effect: -abs(effect.contribution)))


def _occurrences(kind: str, labels: Labels, most: int) -> list[tuple[str, int, _Array]]:
    """Return the labels that occur, the most frequent first, with the elements that have them."""
    counts = np.bincount(labels.numbers, minlength=labels.unknown + 1)[: labels.unknown]
    order = np.argsort(-counts, kind="stable")[: max(1, most // 4)]
    occurring = order[counts[order] > 0].tolist()
    return [(kind, label, np.flatnonzero(labels.numbers == label)) for label in occurring]


def check_numbers(**numbers: Any) -> None:
    """Raise an error that names the first of some options that is no whole number above 0."""
    for name, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1:
            raise EstimatorError(f"{name}={number!r}: a whole number, 1 or more, is needed")
