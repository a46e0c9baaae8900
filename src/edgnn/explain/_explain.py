"""explain: leave-one-out of every node, edge, link and label, and integrated gradients, of one prediction."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from torch import Tensor

from edgnn.errors import EstimatorError
from edgnn.explain._changes import Changes
from edgnn.explain._explanation import Explanation, LabelEffect
from edgnn.explain._gradients import Gradients, integrated_gradients
from edgnn.explain._links import links_of, members_of, twin_links, twins_of
from edgnn.explain._subject import Subject
from edgnn.explain._values import (
    MEMORY,
    copies_allowed,
    explained,
    mean_probabilities,
    member_outputs,
    values_of,
)
from edgnn.models import decide, shaped

_Array = np.ndarray[Any, Any]


def explain(
    estimator: Any,
    item: Any,
    *,
    target: Any = None,
    most: int | None = None,
    steps: int = 64,
    memory: int = MEMORY,
    check: Callable[[], None] | None = None,
) -> Explanation:
    """Say what a prediction rests on: the contribution of every node, edge, link and label.

    Each element is taken out in turn and the model asked again; all changed copies of the graph run
    through it packed together, a bounded number at a time. Elements that can be swapped without
    changing the graph are tried once. Integrated gradients share the difference between the value
    and that of a graph without labels among the nodes and edges that the label counts come from.
    The same call gives the same numbers.

    Parameters
    ----------
    estimator : GraphClassifier, GraphRegressor, NodeClassifier, NodeRegressor, or an R-GCN or GIN
    of ``edgnn.models.rivals``
        Fitted, single or an ensemble.
    item : Graphs or Nodes
        One graph, or one node; also what else the estimator predicts, such as a SMILES string.
    target : Any, optional
        The class to explain, by default the predicted one; of several labels, the number of one, by
        default the most probable; of several outputs of a regressor, the number of one, by default
        the first.
    most : int, optional
        Largest number of changed copies: by default 5,000, fewer of a graph with thousands of nodes
        and edges, some seconds' worth. Beyond it, the nodes and edges with the largest integrated
        gradients are tried, or where there are none, the nearest; the others are not a number.
    steps : int
        Number of points of the integral.
    memory : int
        Bytes that a pass of the model may take, about.
    check : callable, optional
        Called before every pass of the model; what it raises ends the work.

    Examples
    --------
    >>> import edgnn
    >>> data = edgnn.load_dataset("MUTAG")
    >>> classifier = edgnn.GraphClassifier(max_epochs=5, random_state=0).fit(data.graphs, data.targets)
    >>> explanation = edgnn.explain.explain(classifier, data.graphs[0])
    >>> explanation.node_removal.shape
    (17,)
    """
    _check_numbers(most=1 if most is None else most, steps=steps, memory=memory)
    subject = Subject.of(estimator, item, check)
    most = copies_allowed(subject, 5000) if most is None else most
    outputs = member_outputs(subject, Changes.of(1), memory)
    index = target_index(estimator, outputs, target)
    value = float(explained(estimator, outputs, index)[0])
    gradients = integrated_gradients(subject, index, steps, memory)
    links = links_of(subject.raw)
    removals = _Removals(subject, index, value, links, memory)
    complete = removals.run(*_chosen(subject, removals, gradients, most))
    return Explanation(
        graph=subject.raw,
        node=subject.node,
        original_nodes=None if subject.part is None else subject.part.nodes,
        original_edges=None if subject.part is None else subject.part.edges,
        item=subject.item,
        target=target_of(estimator, index),
        target_index=index,
        **_predicted(estimator, outputs),
        value=value,
        node_removal=removals.node,
        edge_removal=removals.edge,
        node_label_removal=removals.node_label,
        edge_label_removal=removals.edge_label,
        links=links,
        link_removal=removals.link,
        link_label_removal=removals.link_label,
        node_gradient=None if gradients is None else gradients.node,
        edge_gradient=None if gradients is None else gradients.edge,
        baseline=float("nan") if gradients is None else gradients.baseline,
        completeness=float("nan") if gradients is None else gradients.error,
        labels=_label_effects(subject, index, value, most, memory),
        node_label_kind=subject.node_label_kind,
        complete=complete and not subject.has_links_beyond,
        links_beyond=subject.has_links_beyond,
    )


def target_index(estimator: Any, outputs: Tensor, target: Any) -> int:
    """Return the column of a target, by default of the prediction."""
    encoding = estimator._encoding
    if target is None:
        return (
            0
            if encoding.task == "values"
            else int(mean_probabilities(estimator, outputs)[0].argmax())
        )
    known = (
        list(range(encoding.outputs)) if encoding.task == "values" else encoding.classes.tolist()
    )
    if not isinstance(target, Hashable) or target not in known:
        what = {"classes": "class", "labels": "label", "values": "output"}[encoding.task]
        raise EstimatorError(
            f"target={target!r} is no {what} of this {type(estimator).__name__}: choose one of {known}"
        )
    return known.index(target)


def target_of(estimator: Any, index: int) -> Any:
    """Return the target of a column, as users call it."""
    return (
        estimator._encoding.classes.tolist()[index]
        if estimator._encoding.task == "classes"
        else index
    )


class _Removals:
    """Leave-one-out of one prediction: what to try, and what came out."""

    def __init__(
        self, subject: Subject, target: int, value: float, links: _Array, memory: int
    ) -> None:
        self.subject, self.target, self.value, self.memory = subject, target, value, memory
        nodes, edges = subject.raw.num_nodes, subject.raw.num_edges
        self.links = members_of(links)
        self.node, self.node_label = np.full(nodes, np.nan), np.full(nodes, np.nan)
        self.edge, self.edge_label, self.link = (
            np.full(edges, np.nan),
            np.full(edges, np.nan),
            np.full(len(self.links), np.nan),
        )
        self.link_label = self.link.copy()
        twins = twins_of(subject)
        self.same_node, self.same_edge = twins.nodes, twins.edges
        self.same_link = twin_links(self.same_edge, self.links)

    def families(self, nodes: _Array, links: _Array) -> list[tuple[_Array, _Array, Changes]]:
        """Return, for the chosen nodes and links, where results belong, the elements that are tried, and how."""
        subject = self.subject
        removable = nodes if subject.node is None else nodes[nodes != subject.node]
        edges = (
            np.unique(self.same_edge[np.concatenate([self.links[link] for link in links])])
            if len(links)
            else links
        )
        tried = [
            (self.node, removable, _out("nodes_out", removable)),
            (self.edge, edges, _out("edges_out", edges)),
        ]
        if subject.has_node_labels:
            tried.append(
                (self.node_label, nodes, _unlabeled("node_labels", nodes, subject.unknown_node))
            )
        if subject.has_edge_labels:
            tried.append(
                (self.edge_label, edges, _unlabeled("edge_labels", edges, subject.unknown_edge))
            )
        whole = np.array(
            [link for link in links.tolist() if len(self.links[link]) > 1], dtype=np.int64
        )
        listed = np.array(
            [(copy, edge) for copy, link in enumerate(whole) for edge in self.links[link].tolist()],
            np.int64,
        )
        copy, edge = listed.reshape(-1, 2).T
        tried.append((self.link, whole, Changes.of(len(whole), edges_out=(copy, edge))))
        if subject.has_edge_labels:
            unlabeled = Changes.of(
                len(whole), edge_labels=(copy, edge, np.full(len(edge), subject.unknown_edge))
            )
            tried.append((self.link_label, whole, unlabeled))
        return tried

    def run(self, nodes: _Array, links: _Array) -> bool:
        """Try them all; return whether that was everything."""
        families = self.families(nodes, links)
        values = values_of(
            self.subject,
            Changes.joined([changes for *_, changes in families]),
            self.target,
            self.memory,
        )
        for (result, elements, changes), start in zip(
            families, np.cumsum([0, *(changes.count for *_, changes in families)]), strict=False
        ):
            result[elements] = self.value - values[start : start + changes.count]
        for result, same in (
            (self.node, self.same_node),
            (self.node_label, self.same_node),
            (self.edge, self.same_edge),
            (self.edge_label, self.same_edge),
        ):
            result[:] = result[same]
        alone = np.array([len(edges) == 1 for edges in self.links], dtype=bool)
        first = np.array([edges[0] for edges in self.links], dtype=np.int64)
        for result, of_edges in ((self.link, self.edge), (self.link_label, self.edge_label)):
            result[alone] = of_edges[first[alone]]
            result[:] = result[self.same_link]
        return len(nodes) == len(np.unique(self.same_node)) and len(links) == len(
            np.unique(self.same_link)
        )


def _chosen(
    subject: Subject, removals: _Removals, gradients: Gradients | None, most: int
) -> tuple[_Array, _Array]:
    """Return the nodes and links to try, one of each kind of twins: all, or where they are too many, the likeliest to matter."""
    nodes, links = np.unique(removals.same_node), np.unique(removals.same_link)
    each = 6 if subject.raw.num_edges > len(removals.links) else 2
    if 2 * len(nodes) + each * len(links) <= most:
        return nodes, links
    for_nodes = min(len(nodes), max(1, most // 4))
    for_links = min(len(links), max(0, (most - 2 * for_nodes) // each))
    distance = subject.distance()
    if gradients is None:
        node_rank, edge_rank = -distance.astype(float), None
    else:
        node_rank, edge_rank = np.abs(gradients.node), gradients.edge
    if edge_rank is None:
        source, target = (
            end.cpu().numpy() for end in (subject.raw.edge_source, subject.raw.edge_target)
        )
        edge_rank = -(distance[source] + distance[target]).astype(float)
        link_rank = np.array([edge_rank[removals.links[link][0]] for link in links])
    else:
        link_rank = np.array([abs(edge_rank[removals.links[link]].sum()) for link in links])
    best_nodes = nodes[np.argsort(-node_rank[nodes], kind="stable")[:for_nodes]]
    best_links = links[np.argsort(-link_rank, kind="stable")[:for_links]] if len(links) else links
    return np.sort(best_nodes), np.sort(best_links)


def _label_effects(
    subject: Subject, target: int, value: float, most: int, memory: int
) -> tuple[LabelEffect, ...]:
    """Take out every label, all its occurrences at once; where there are too many labels, the most frequent."""
    encoded, kinds, parts = subject.encoded, [], []
    wanted = (
        [("node", encoded.node_label)]
        if subject.has_node_labels and subject.node_label_kind != "name"
        else []
    )
    wanted += [("edge", encoded.edge_label)] if subject.has_edge_labels else []
    for kind, labels in wanted:
        numbers = labels.cpu().numpy()
        unknown = subject.unknown_node if kind == "node" else subject.unknown_edge
        counts = np.bincount(numbers, minlength=unknown + 1)[:unknown]
        for label in np.argsort(-counts, kind="stable")[
            : min(int((counts > 0).sum()), max(1, most // 4))
        ].tolist():
            elements = np.flatnonzero(numbers == label)
            kinds.append((kind, label, elements))
            parts.append(
                Changes.of(
                    1, **{f"{kind}_labels": (elements * 0, elements, elements * 0 + unknown)}
                )
            )
            stays = (
                elements
                if kind == "edge" or subject.node is None
                else elements[elements != subject.node]
            )
            parts.append(Changes.of(1, **{f"{kind}s_out": (stays * 0, stays)}))
    if not parts:
        return ()
    drops = value - values_of(subject, Changes.joined(parts), target, memory)
    coder = subject.estimator._coder
    found = []
    for place, (kind, label, elements) in enumerate(kinds):
        removal = float(drops[2 * place + 1])
        if kind == "node" and subject.node is not None and subject.node in elements:
            removal = float("nan")
        vocabulary = coder.node_vocabulary if kind == "node" else coder.edge_vocabulary
        found.append(
            LabelEffect(kind, vocabulary[label], len(elements), float(drops[2 * place]), removal)
        )
    return tuple(sorted(found, key=lambda effect: -abs(effect.contribution)))


def _predicted(estimator: Any, outputs: Tensor) -> dict[str, Any]:
    encoding = estimator._encoding
    if encoding.task == "values":
        values = shaped(outputs.mean(dim=0).numpy(), encoding)[0]
        return {
            "prediction": values.item() if values.ndim == 0 else values,
            "probability": None,
            "classes": (),
        }
    probability = mean_probabilities(estimator, outputs)
    decided = decide(probability, encoding)[0]
    decided = decided.item() if isinstance(decided, np.generic) else decided
    return {
        "prediction": decided,
        "probability": probability[0],
        "classes": tuple(encoding.classes.tolist()),
    }


def _out(what: str, elements: _Array) -> Changes:
    return Changes.of(len(elements), **{what: (np.arange(len(elements)), elements)})


def _unlabeled(what: str, elements: _Array, unknown: int) -> Changes:
    return Changes.of(
        len(elements),
        **{what: (np.arange(len(elements)), elements, np.full(len(elements), unknown))},
    )


def _check_numbers(**numbers: Any) -> None:
    for name, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1:
            raise EstimatorError(f"{name}={number!r}: a whole number, 1 or more, is needed")
