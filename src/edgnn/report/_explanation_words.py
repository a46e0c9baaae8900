"""Explanations in the users' own terms: what classes, nodes and relations are called, and which of them matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from edgnn.draw import is_molecule
from edgnn.draw._names import label_text, node_texts
from edgnn.explain import Change, CounterExample, Explanation, Fidelity, Reason
from edgnn.graphs import Graphs
from edgnn.report._numbers import counted, number

_MOST_EDGES = 500_000
_ROUNDING = 1e-5


@dataclass(frozen=True, eq=False)
class Explained:
    """An explanation, and what belongs to it.

    Parameters
    ----------
    explanation : Explanation
        From :func:`edgnn.explain.explain`.
    name : str
        What its graph or node is called; default: its own name, else its kind.
    fidelity : Fidelity, optional
        From :func:`edgnn.explain.fidelity`.
    counter_example : CounterExample, optional
        From :func:`edgnn.explain.counter_example`.
    searched : bool
        Whether a counter-example was looked for, so that none means that there is none within reach.
    class_names : sequence of str
        What class numbers mean; of several labels or outputs, their names. Default: classes as they are.
    """

    explanation: Explanation
    name: str = ""
    fidelity: Fidelity | None = None
    counter_example: CounterExample | None = None
    searched: bool = False
    class_names: Sequence[str] = ()

    @cached_property
    def molecule(self) -> bool:
        """Whether the graph is drawn and told of as a molecule."""
        return self.explanation.node is None and is_molecule(self.explanation.graph)

    @cached_property
    def texts(self) -> list[str]:
        """What to call every node, by the whole graph where that is not too large; empty where nodes of a graph have no names."""
        explanation = self.explanation
        whole = explanation.item if isinstance(explanation.item, Graphs) else explanation.item.graphs
        if explanation.original_nodes is not None and whole.node_names is None:
            return [f"node {node}" for node in explanation.original_nodes.tolist()]
        if explanation.original_nodes is None or whole.num_edges > _MOST_EDGES:
            return node_texts(explanation.graph)
        texts = node_texts(whole)
        return [texts[node] for node in explanation.original_nodes.tolist()]

    @property
    def title(self) -> str:
        """What the item is called."""
        if self.name:
            return self.name
        explanation = self.explanation
        if explanation.node is not None:
            return self.texts[explanation.node]
        names = explanation.graph.graph_names
        return str(names[0]) if names is not None else "molecule" if self.molecule else "graph"

    def class_text(self, value: Any) -> str:
        """Return what a class, label or output is called."""
        known = isinstance(value, int | np.integer) and 0 <= value < len(self.class_names)
        return str(self.class_names[value]) if known else label_text(value)

    @property
    def said(self) -> str:
        """The prediction, with the probability of what is explained."""
        told = self.explanation
        said = self.prediction_text(told.prediction)
        if told.probability is None:
            return said
        of = f"{number(float(told.probability[told.target_index]), True)} %"
        return f"{said} ({of})" if self.target == said else f"{said} ({self.target} {of})"

    def kind(self, kind: str) -> str:
        """Return what nodes and links are called."""
        return {"node": "atom", "link": "bond", "edge": "bond"}[kind] if self.molecule else kind

    @property
    def measure(self) -> str:
        """The number that is explained."""
        return "predicted value" if self.explanation.probability is None else f"log-odds of {self.target}"

    @property
    def unit(self) -> str:
        """What the numbers of reasons mean."""
        if self.explanation.probability is None:
            return "In units of the predicted value; below zero, the prediction rises without it."
        odds = "1 makes the odds 2.7 times as high, 3 makes them 20 times as high"
        return f"In log-odds of {self.target}: {odds}; below zero, it speaks against."

    @property
    def without(self) -> str:
        """What stands above a list of reasons."""
        return "without the label of" if self.explanation.by_label else "without"

    @property
    def target(self) -> str:
        """What is explained: the class, label or output."""
        return self.class_text(self.explanation.target)

    @property
    def several_labels(self) -> bool:
        """Whether the model gives every item several labels."""
        return self.explanation.probability is not None and np.ndim(self.explanation.prediction) > 0

    def prediction_text(self, prediction: Any) -> str:
        """Return a prediction as people say it."""
        if self.explanation.probability is None:
            values = np.atleast_1d(np.asarray(prediction, dtype=float))
            return number(float(values[self.explanation.target_index if len(values) > 1 else 0]))
        if self.several_labels:
            given = [self.class_text(place) for place, there in enumerate(np.asarray(prediction).tolist()) if there]
            return ", ".join(given) or "no label"
        return self.class_text(prediction)

    def node_text(self, node: int) -> str:
        """Return what a node is called in a sentence."""
        graph = self.explanation.graph
        label = "" if graph.node_vocabulary.constant else label_text(graph.node_vocabulary[int(graph.node_label[node])])
        if self.molecule:
            return f"{label} {node}"
        name = self.texts[node] or f"node {node}"
        return f"{name} ({label})" if label and label != name else name

    def link_text(self, edges: Sequence[int]) -> str:
        """Return what a link, or a bond, is called in a sentence."""
        graph, edge = self.explanation.graph, int(edges[0])
        places = [int(end[edge]) for end in (graph.edge_source, graph.edge_target)]
        ends = [self.node_text(place) for place in (sorted(places) if len(edges) > 1 else places)]
        label = "" if graph.edge_vocabulary.constant else label_text(graph.edge_vocabulary[int(graph.edge_label[edge])])
        if self.molecule:
            return f"{label} bond {ends[0]} – {ends[1]}".strip()
        arrow = "–" if len(edges) > 1 else "→"
        return f"{ends[0]} {arrow} {ends[1]}" + (f": {label}" if label else "")

    def reasons(self, n: int) -> list[Reason]:
        """Return the strongest reasons, without those that are nothing but rounding beside them."""
        found = self.explanation.reasons(n)
        least = _ROUNDING * max((abs(reason.contribution) for reason in found), default=0.0)
        return [reason for reason in found if abs(reason.contribution) > least]

    def reason_text(self, reason: Reason) -> str:
        """Return a reason in words."""
        told = self.explanation
        if reason.kind == "link":
            return self.link_text(reason.elements)
        if reason.kind == "node":
            own = reason.elements[0] == told.node and not told.by_label
            return (
                f"{self.node_text(reason.elements[0])}, its {told.node_label_kind}"
                if own
                else self.node_text(reason.elements[0])
            )
        label = label_text(told.graph.edge_vocabulary[int(told.graph.edge_label[reason.elements[0]])])
        edges = counted(len(reason.elements), "edge")
        return f"all {edges} with the label {label}" if told.by_label else f"the label {label} of all {edges}"


@dataclass(frozen=True)
class Relation:
    """Links of one label that stand alike to the explained node.

    Parameters
    ----------
    name : str
        The label, without what IRIs begin with.
    direction : {"out", "in", "both", "beyond"}
        From the explained node, to it, both ways, or between others.
    neighbors : tuple of (str, float)
        What they lead to and what each contributes, the strongest first; of links beyond, both ends.
    """

    name: str
    direction: str
    neighbors: tuple[tuple[str, float], ...]


def relations_of(item: Explained) -> list[Relation]:
    """Return the relations around an explained node, the strongest link's first; contributions not known are left out."""
    explanation = item.explanation
    graph = explanation.graph
    source, target, labels = graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_labels
    groups: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for edges, amount in zip(explanation.link_edges, explanation.link_removal.tolist(), strict=True):
        if amount != amount:
            continue
        edge = int(edges[0])
        ends = source[edge], target[edge]
        if explanation.node in ends:
            leaves = ends[0] == explanation.node
            direction = "both" if len(edges) > 1 else "out" if leaves else "in"
            text = item.node_text(ends[1] if leaves else ends[0])
        else:
            arrow = "–" if len(edges) > 1 else "→"
            direction, text = "beyond", f"{item.node_text(ends[0])} {arrow} {item.node_text(ends[1])}"
        groups.setdefault((label_text(labels[edge]), direction), []).append((text, amount))
    found = [
        Relation(name, direction, tuple(sorted(neighbors, key=lambda pair: -abs(pair[1]))))
        for (name, direction), neighbors in groups.items()
    ]
    return sorted(found, key=lambda relation: -abs(relation.neighbors[0][1]))


def fidelity_text(item: Explained) -> str:
    """Say in a sentence how much more the explanation finds than chance does; nothing where that is not known."""
    found = item.fidelity
    if found is None or np.isnan(found.comprehensiveness).all():
        return ""
    place = int(np.argmin(found.shares))
    size, kind = found.sizes[place], item.kind(found.kind)
    own, chance, spread = (
        drop_text(item, float(values[place]))
        for values in (found.comprehensiveness, found.random_comprehensiveness, found.random_comprehensiveness_std)
    )
    which = f"the {size:,} strongest {kind}s" if size != 1 else f"the strongest {kind}"
    thing = f"the probability of {item.target}" if item.explanation.probability is not None else "the predicted value"
    first = f"Without the label{'s' * (size != 1)} of {which}" if found.take == "label" else f"Without {which}"
    return f"{first}, {thing} falls by {own}; without as many at random, by {chance} (± {spread})."


def drop_text(item: Explained, value: float) -> str:
    """Return a drop of the probability in points, or of a value as it is."""
    if item.explanation.probability is None:
        return number(value)
    return f"{number(value, True)} points"


def counter_text(item: Explained) -> str:
    """Say in a sentence what would change the prediction; nothing where it was not looked for."""
    found = item.counter_example
    if found is None:
        return "No change of a few labels or links was found that changes the prediction." if item.searched else ""
    words = " and ".join(_change_text(item, change) for change in found.changes)
    proven = " No smaller change does that." if found.smallest and len(found.changes) > 1 else ""
    return f"If {words}, the model would say {item.prediction_text(found.prediction)}{_sure(item, found)}.{proven}"


def _change_text(item: Explained, change: Change) -> str:
    before, after = label_text(change.before), label_text(change.after)
    if change.kind == "node label":
        what = f"atom {change.elements[0]}" if item.molecule else item.node_text(change.elements[0])
        return f"{what} were {after} instead of {before}"
    what = f"the {'' if item.molecule else 'link '}{item.link_text(change.elements)}"
    return f"{what} were {after} instead of {before}" if change.kind == "link label" else f"{what} were gone"


def _sure(item: Explained, found: CounterExample) -> str:
    if item.several_labels or np.ndim(found.probability) == 0:
        return ""
    return f" ({number(float(np.max(found.probability)), True)} %)"
