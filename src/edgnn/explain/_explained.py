"""Explanations in words: what classes, nodes and relations are called, and which of them matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from edgnn._words import counted, number, preview
from edgnn.explain._counter_example import Change, CounterExample
from edgnn.explain._explanation import Explanation, Reason
from edgnn.explain._fidelity import Fidelity
from edgnn.explain._names import (
    is_molecule,
    label_of,
    label_text,
    link_ends,
    link_words,
    node_words,
)
from edgnn.explain._relations import path_text
from edgnn.graphs import Graphs
from edgnn.models import Similar

_ODDS = "1 makes the odds 2.7 times as high, 3 makes them 20 times as high"


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
    similar : sequence of Similar
        The training items that it resembles most, of a model that knows them.
    similar_graphs : Graphs, optional
        These training items.
    """

    explanation: Explanation
    name: str = ""
    fidelity: Fidelity | None = None
    counter_example: CounterExample | None = None
    searched: bool = False
    class_names: Sequence[str] = ()
    smiles: str = ""
    similar: Sequence[Similar] = ()
    similar_graphs: Graphs | None = None

    @cached_property
    def molecule(self) -> bool:
        """Whether the graph is drawn and described as a molecule."""
        return self.explanation.node is None and is_molecule(self.explanation.graph)

    @property
    def texts(self) -> list[str]:
        """What to call every node."""
        return self.explanation.texts

    @cached_property
    def distance(self) -> np.ndarray[Any, Any]:
        """How many edges each node is away from the one explained, whatever their direction."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import dijkstra

        graph = self.explanation.graph
        ends = graph.edge_source.cpu().numpy(), graph.edge_target.cpu().numpy()
        size = (graph.num_nodes, graph.num_nodes)
        joined = coo_array((np.ones(graph.num_edges), ends), shape=size).tocsr()
        found: np.ndarray[Any, Any] = dijkstra(
            joined, directed=False, indices=self.explanation.node, unweighted=True
        )
        return found

    # The prediction

    @property
    def title(self) -> str:
        """What the item is called."""
        explanation = self.explanation
        if self.name:
            return self.name
        if explanation.node is not None:
            return self.texts[explanation.node]
        if explanation.graph.graph_names is not None:
            return str(explanation.graph.graph_names[0])
        return "molecule" if self.molecule else "graph"

    @property
    def said(self) -> str:
        """The prediction, with the probability of what is explained."""
        explanation = self.explanation
        prediction = self.prediction_text(explanation.prediction)
        if explanation.probability is None:
            decision = number(explanation.value)
            return f"{prediction} ({self.measure} {decision})" if self.decides else prediction
        probability = number(float(explanation.probability[explanation.target_index]), True)
        if self.target == prediction:
            return f"{prediction} ({probability} %)"
        return f"{prediction} ({self.target} {probability} %)"

    def prediction_text(self, prediction: Any) -> str:
        """Return a prediction as people say it."""
        if self.is_value:
            value = number(float(np.ravel(prediction)[self.explanation.target_index]))
            return f"{self.output} = {value}" if self.output else value
        if self.several_labels:
            labels = np.flatnonzero(np.asarray(prediction)).tolist()
            return ", ".join(map(self.class_text, labels)) or "no label"
        return self.class_text(prediction)

    def known_text(self, target: Any) -> str:
        """Return what is known of a training item, as a prediction of it would be called."""
        if self.several_labels:
            return self.prediction_text(np.asarray(target) == 1)
        return self.prediction_text(target)

    @property
    def similar_shares(self) -> list[float]:
        """What each similar training item adds to the score of what is explained."""
        return [float(near.share[self.explanation.target_index]) for near in self.similar]

    def class_text(self, value: Any) -> str:
        """Return what a class, label or output is called."""
        known = isinstance(value, int | np.integer) and 0 <= value < len(self.class_names)
        return str(self.class_names[value]) if known else label_text(value)

    @property
    def target(self) -> str:
        """What is explained: the class, label or output."""
        return self.class_text(self.explanation.target)

    @property
    def output(self) -> str:
        """What a regressor's value is called; empty where it has no name and is the only one."""
        column = self.explanation.target_index
        if column < len(self.class_names):
            return str(self.class_names[column])
        return f"output {column}" if np.size(self.explanation.prediction) > 1 else ""

    @property
    def others(self) -> str:
        """Of a regressor with several targets: which is explained, and how to choose another."""
        count = np.size(self.explanation.prediction)
        if not self.is_value or count < 2:
            return ""
        columns = [column for column in range(count) if column != self.explanation.target_index]
        names = preview(list(map(self.class_text, columns)))
        return (
            f"{self.output} is explained, one of {count:,} targets; "
            f"--target chooses another: {names}."
        )

    @property
    def several_labels(self) -> bool:
        """Whether the model gives every item several labels."""
        return not self.is_value and np.ndim(self.explanation.prediction) > 0

    # What the numbers mean

    @property
    def measure(self) -> str:
        """The number that is explained."""
        texts = {
            "output": f"predicted {self.output or 'value'}",
            "decision": f"decision value of {self.target}",
            "class": f"prediction of {self.target}",
            "log-odds": f"log-odds of {self.target}",
        }
        return texts[self.explanation.measure]

    @property
    def unit(self) -> str:
        """What the numbers of reasons mean."""
        texts = {
            "output": f"In units of {self.output or 'the predicted value'}; below zero, the "
            "prediction rises without it.",
            "decision": f"In units of the {self.measure}, which is no probability; below zero, it "
            "speaks against.",
            "class": f"1: without it, {self.target} is no longer predicted; −1: only without it. "
            "The model gives neither probabilities nor decision values.",
            "log-odds": f"In log-odds of {self.target}: {_ODDS}; below zero, it speaks against.",
        }
        return texts[self.explanation.measure]

    @property
    def is_value(self) -> bool:
        """Whether the output of a regressor is explained."""
        return self.explanation.measure == "output"

    @property
    def decides(self) -> bool:
        """Whether the decision value of a class is explained."""
        return self.explanation.measure == "decision"

    @property
    def has_probability(self) -> bool:
        """Whether effects are differences of a probability, printed in points."""
        return self.explanation.measure == "log-odds"

    @property
    def falls(self) -> str:
        """What stands above the effects of reasons: what falls without them."""
        if self.has_probability:
            return "log-odds fall by"
        return f"{self.measure} falls by"

    @property
    def left_out(self) -> str:
        """What was not tried, as a sentence; empty where everything was."""
        nodes, links = self.explanation.left_out
        if not nodes and not links:
            return ""
        graph_links = len(self.explanation.link_removal)
        return (
            f"Not tried, as it would take too long: {nodes:,} of "
            f"{counted(self.explanation.graph.num_nodes, self.kind('node'))} and {links:,} of "
            f"{counted(graph_links, self.kind('link'))}."
        )

    @property
    def without(self) -> str:
        """What stands above a list of reasons."""
        if self.explanation.by_label and not self.labels_of_nodes_alone:
            return "without the label of"
        return "without"

    @property
    def labels_of_nodes_alone(self) -> bool:
        """Whether nodes are compared by their labels, and links by taking them out."""
        explanation = self.explanation
        has_links = len(explanation.link_removal) > 0
        return explanation.by_label and not explanation.links_by_label and has_links

    # Elements

    def kind(self, kind: str) -> str:
        """Return what nodes and links are called."""
        if self.molecule:
            return {"node": "atom", "link": "bond", "edge": "bond"}[kind]
        return kind

    def node_text(self, node: int, note: str = "") -> str:
        """Return what a node is called in a sentence, with its label and a note."""
        graph = self.explanation.graph
        if self.molecule:
            return f"{label_text(label_of(graph, 'node', node))} {node}"
        return node_words(graph, self.texts, node, note)

    def link_text(self, edges: Sequence[int]) -> str:
        """Return what a link, or a bond, is called in a sentence."""
        graph = self.explanation.graph
        if not self.molecule:
            return link_words(graph, self.texts, edges)
        first, second = (self.node_text(node) for node in link_ends(graph, edges))
        return f"{label_text(label_of(graph, 'edge', edges[0]))} bond {first} – {second}"

    def reason_text(self, reason: Reason) -> str:
        """Return a reason in words."""
        if reason.kind == "link":
            return self.link_text(reason.elements)
        if reason.kind == "node":
            return self._node_reason(reason.elements[0])
        label = label_text(label_of(self.explanation.graph, "edge", reason.elements[0]))
        edges = counted(len(reason.elements), "edge")
        if len(reason.elements) > 1:
            edges = f"all {edges}"
        if self.explanation.by_label:
            return f"{edges} with the label {label}"
        return f"the label {label} of {edges}"

    def _node_reason(self, node: int) -> str:
        explanation = self.explanation
        what = "the label of " if self.labels_of_nodes_alone else ""
        if node != explanation.node:
            path = "" if explanation.node is None else self.path_text(node)
            return what + self.node_text(node, path)
        if explanation.by_label:
            return what + self.node_text(node)
        return f"{what}{self.node_text(node)}, its {explanation.node_label_kind}"

    def path_text(self, node: int) -> str:
        """Return how a node stands to the explained one: ``knows → this``, or its distance."""
        return path_text(self, node)

    def change_text(self, change: Change) -> str:
        """Return a change of a counter-example in words, to stand behind *if*."""
        first = change.elements[0]
        if change.kind == "node label":
            what = f"atom {first}" if self.molecule else self.node_text(first)
        elif self.molecule:
            what = f"the {self.link_text(change.elements)}"
        else:
            what = self._link_phrase(change)
        if change.kind == "link out":
            return f"{what} were gone"
        return f"{what} were {label_text(change.after)} instead of {label_text(change.before)}"

    def _link_phrase(self, change: Change) -> str:
        graph, edge = self.explanation.graph, change.elements[0]
        source = self.node_text(int(graph.edge_source[edge]))
        target = self.node_text(int(graph.edge_target[edge]))
        label = ""
        if change.kind == "link out" and not graph.edge_vocabulary.constant:
            label = f"{label_text(change.before)} "
        if len(change.elements) > 1:
            return f"the {label}link between {source} and {target}"
        return f"the {label}link from {source} to {target}"


def fidelity_text(item: Explained) -> str:
    """Return a sentence on how much more the explanation finds than chance; empty if unknown."""
    fidelity = item.fidelity
    if fidelity is None or np.isnan(fidelity.comprehensiveness).all():
        return ""
    place = int(np.argmin(fidelity.shares))
    size, kind = fidelity.sizes[place], item.kind(fidelity.kind)
    strongest = f"the strongest {kind}" if size == 1 else f"the {size:,} strongest {kind}s"
    if fidelity.take == "label":
        strongest = f"the {'label' if size == 1 else 'labels'} of {strongest}"
    effect = f"the {item.measure} changes"
    if item.has_probability:
        effect = f"the probability of {item.target} falls"
    own = _drop_text(item, fidelity.comprehensiveness[place])
    random = _drop_text(item, fidelity.random_comprehensiveness[place])
    spread = _drop_text(item, fidelity.random_comprehensiveness_std[place])
    return (
        f"Without {strongest}, {effect} by {own}; "
        f"without as many at random, by {random} (± {spread})."
    )


def counter_text(item: Explained) -> str:
    """Return a sentence on what would change the prediction; empty where nobody looked for it."""
    example = item.counter_example
    if example is None:
        if item.searched:
            return "No change of a few labels or links was found that changes the prediction."
        return ""
    words = " and ".join(item.change_text(change) for change in example.changes)
    prediction = item.prediction_text(example.prediction)
    if example.probability is not None and not item.several_labels:
        prediction += f" ({number(float(np.max(example.probability)), True)} %)"
    proven = example.smallest and len(example.changes) > 1
    smallest = " No smaller change does that." if proven else ""
    return f"If {words}, the model would say {prediction}.{smallest}"


def _drop_text(item: Explained, value: float) -> str:
    """Return a drop of the probability in points, or of a value as it is."""
    text = number(float(value), item.has_probability)
    return f"{text} points" if item.has_probability else text
