"""Explanations in the users' own terms: what classes, nodes and relations are called, and which of them matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from edgnn._words import counted, preview
from edgnn.explain import Change, CounterExample, Explanation, Fidelity, Reason
from edgnn.graphs import Graphs
from edgnn.report._explanation_relations import way_text
from edgnn.report._numbers import number
from edgnn.report.draw import is_molecule
from edgnn.report.draw._names import label_text, node_texts

_MOST_EDGES = 500_000


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
        Whether a counter-example was looked for, so that none means that there is none within
        reach.
    class_names : sequence of str
        What class numbers mean; of labels or outputs, their names. Default: classes as they are.
    smiles : str
        Of a molecule: what it is, where its name does not say so.
    """

    explanation: Explanation
    name: str = ""
    fidelity: Fidelity | None = None
    counter_example: CounterExample | None = None
    searched: bool = False
    class_names: Sequence[str] = ()
    smiles: str = ""

    @cached_property
    def molecule(self) -> bool:
        """Whether the graph is drawn and told of as a molecule."""
        return self.explanation.node is None and is_molecule(self.explanation.graph)

    @cached_property
    def texts(self) -> list[str]:
        """What to call every node: by the whole graph where that is not too large; without names, by its number there."""
        explanation = self.explanation
        whole = (
            explanation.item if isinstance(explanation.item, Graphs) else explanation.item.graphs
        )
        if whole.node_names is None:
            part = explanation.original_nodes
            return [
                f"node {node}"
                for node in (range(whole.num_nodes) if part is None else part.tolist())
            ]
        if explanation.original_nodes is None or whole.num_edges > _MOST_EDGES:
            return node_texts(explanation.graph)
        texts = node_texts(whole)
        return [texts[node] for node in explanation.original_nodes.tolist()]

    @cached_property
    def distance(self) -> np.ndarray[Any, Any]:
        """How many edges each node is away from the one explained, whatever their direction."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import dijkstra

        graph = self.explanation.graph
        ends = graph.edge_source.cpu().numpy(), graph.edge_target.cpu().numpy()
        joined = coo_array(
            (np.ones(graph.num_edges), ends), shape=(graph.num_nodes, graph.num_nodes)
        ).tocsr()
        found: np.ndarray[Any, Any] = dijkstra(
            joined, directed=False, indices=self.explanation.node, unweighted=True
        )
        return found

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
        return (
            f"predicted {self.output or 'value'}"
            if self.explanation.probability is None
            else f"log-odds of {self.target}"
        )

    @property
    def output(self) -> str:
        """What a regressor's value is called; nothing where it has no name and is the only one."""
        place = self.explanation.target_index
        if place < len(self.class_names):
            return str(self.class_names[place])
        return f"output {place}" if np.size(self.explanation.prediction) > 1 else ""

    @property
    def others(self) -> str:
        """Of a regressor with several targets: which one is explained, and how to choose another."""
        count = np.size(self.explanation.prediction)
        if self.explanation.probability is not None or count < 2:
            return ""
        names = [
            self.class_text(place)
            for place in range(count)
            if place != self.explanation.target_index
        ]
        return f"{self.output} is explained, one of {count:,} targets; --target chooses another: {preview(names)}."

    @property
    def unit(self) -> str:
        """What the numbers of reasons mean."""
        if self.explanation.probability is None:
            return f"In units of {self.output or 'the predicted value'}; below zero, the prediction rises without it."
        odds = "1 makes the odds 2.7 times as high, 3 makes them 20 times as high"
        return f"In log-odds of {self.target}: {odds}; below zero, it speaks against."

    @property
    def without(self) -> str:
        """What stands above a list of reasons."""
        return (
            "without the label of"
            if self.explanation.by_label and not self.labels_of_nodes_alone
            else "without"
        )

    @property
    def labels_of_nodes_alone(self) -> bool:
        """Whether nodes are compared by their labels, and links, which have none that counts, by taking them out."""
        told = self.explanation
        return told.by_label and not told.links_by_label and len(told.link_removal) > 0

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
            value = number(float(np.ravel(prediction)[self.explanation.target_index]))
            return f"{self.output} = {value}" if self.output else value
        if self.several_labels:
            given = [
                self.class_text(place)
                for place, there in enumerate(np.asarray(prediction).tolist())
                if there
            ]
            return ", ".join(given) or "no label"
        return self.class_text(prediction)

    def node_text(self, node: int, more: str = "") -> str:
        """Return what a node is called in a sentence, with its label and what else is to be said of it."""
        graph = self.explanation.graph
        label = (
            ""
            if graph.node_vocabulary.constant
            else label_text(graph.node_vocabulary[int(graph.node_label[node])])
        )
        if self.molecule:
            return f"{label} {node}"
        name = self.texts[node]
        notes = "; ".join(note for note in (label if label != name else "", more) if note)
        return f"{name} ({notes})" if notes else name

    def link_text(self, edges: Sequence[int]) -> str:
        """Return what a link, or a bond, is called in a sentence."""
        graph, edge = self.explanation.graph, int(edges[0])
        places = [int(end[edge]) for end in (graph.edge_source, graph.edge_target)]
        ends = [self.node_text(place) for place in (sorted(places) if len(edges) > 1 else places)]
        label = (
            ""
            if graph.edge_vocabulary.constant
            else label_text(graph.edge_vocabulary[int(graph.edge_label[edge])])
        )
        if self.molecule:
            return f"{label} bond {ends[0]} – {ends[1]}".strip()
        arrow = "–" if len(edges) > 1 else "→"
        return f"{ends[0]} {arrow} {ends[1]}" + (f": {label}" if label else "")

    def reason_text(self, reason: Reason) -> str:
        """Return a reason in words."""
        told = self.explanation
        if reason.kind == "link":
            return self.link_text(reason.elements)
        if reason.kind == "node":
            node = reason.elements[0]
            what = "the label of " * self.labels_of_nodes_alone
            if node == told.node:
                return (
                    what
                    + self.node_text(node)
                    + f", its {told.node_label_kind}" * (not told.by_label)
                )
            return what + self.node_text(node, "" if told.node is None else way_text(self, node))
        label = label_text(
            told.graph.edge_vocabulary[int(told.graph.edge_label[reason.elements[0]])]
        )
        edges = "all " * (len(reason.elements) > 1) + counted(len(reason.elements), "edge")
        return (
            f"{edges} with the label {label}" if told.by_label else f"the label {label} of {edges}"
        )


def fidelity_text(item: Explained) -> str:
    """Say in a sentence how much more the explanation finds than chance does; nothing where that is not known."""
    found = item.fidelity
    if found is None or np.isnan(found.comprehensiveness).all():
        return ""
    place = int(np.argmin(found.shares))
    size, kind = found.sizes[place], item.kind(found.kind)
    own, chance, spread = (
        drop_text(item, float(values[place]))
        for values in (
            found.comprehensiveness,
            found.random_comprehensiveness,
            found.random_comprehensiveness_std,
        )
    )
    which = f"the {size:,} strongest {kind}s" if size != 1 else f"the strongest {kind}"
    percent = item.explanation.probability is not None
    thing = f"the probability of {item.target} falls" if percent else f"the {item.measure} changes"
    first = (
        f"Without the label{'s' * (size != 1)} of {which}"
        if found.take == "label"
        else f"Without {which}"
    )
    return f"{first}, {thing} by {own}; without as many at random, by {chance} (± {spread})."


def drop_text(item: Explained, value: float) -> str:
    """Return a drop of the probability in points, or of a value as it is."""
    if item.explanation.probability is None:
        return number(value)
    return f"{number(value, True)} points"


def counter_text(item: Explained) -> str:
    """Say in a sentence what would change the prediction; nothing where it was not looked for."""
    found = item.counter_example
    if found is None:
        return (
            "No change of a few labels or links was found that changes the prediction."
            if item.searched
            else ""
        )
    words = " and ".join(_change_text(item, change) for change in found.changes)
    proven = " No smaller change does that." if found.smallest and len(found.changes) > 1 else ""
    return f"If {words}, the model would say {item.prediction_text(found.prediction)}{_sure(item, found)}.{proven}"


def _change_text(item: Explained, change: Change) -> str:
    before, after = label_text(change.before), label_text(change.after)
    if change.kind == "node label":
        what = f"atom {change.elements[0]}" if item.molecule else item.node_text(change.elements[0])
        return f"{what} were {after} instead of {before}"
    out = change.kind == "link out"
    what = (
        f"the {item.link_text(change.elements)}"
        if item.molecule
        else _link_phrase(item, change, labeled=out)
    )
    return f"{what} were gone" if out else f"{what} were {after} instead of {before}"


def _link_phrase(item: Explained, change: Change, *, labeled: bool) -> str:
    """Return what a link of a graph that is no molecule is called in the middle of a sentence."""
    graph, edge = item.explanation.graph, change.elements[0]
    ends = [item.node_text(int(end[edge])) for end in (graph.edge_source, graph.edge_target)]
    label = (
        f"{label_text(change.before)} " if labeled and not graph.edge_vocabulary.constant else ""
    )
    between = (
        f"between {ends[0]} and {ends[1]}"
        if len(change.elements) > 1
        else f"from {ends[0]} to {ends[1]}"
    )
    return f"the {label}link {between}"


def _sure(item: Explained, found: CounterExample) -> str:
    if item.several_labels or np.ndim(found.probability) == 0:
        return ""
    return f" ({number(float(np.max(found.probability)), True)} %)"
