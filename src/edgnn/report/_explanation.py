"""The page of explanations: why a model says what it says about some graphs or nodes."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edgnn._files import Path_
from edgnn._json import plain
from edgnn._words import counted, cut, number
from edgnn.explain import (
    Explained,
    Explanation,
    LabelEffect,
    Relation,
    counter_text,
    fidelity_text,
    label_text,
    relations_of,
)
from edgnn.report._explanation_picture import (
    draw_counter_example,
    draw_explanation,
    drawn_as_molecule,
)
from edgnn.report._page import MOST, ReportError, write_page
from edgnn.report._training_items import similar_values, similar_view
from edgnn.report.draw import AGAINST, FIRST, FOR, signed

_REASONS, _RELATIONS, _NEIGHBORS, _LABELS, _CLASSES = 12, 12, 4, 12, 12
_LONGEST_NEIGHBOR = 70
_DIRECTIONS = {"out": "→ to", "in": "← from", "both": "↔ with", "beyond": "further away"}
#: What is left out of the numbers of very large graphs.
_LONG = (
    "graph",
    "original_nodes",
    "original_edges",
    "node_removal",
    "node_label_removal",
    "links",
    "link_removal",
    "link_label_removal",
    "node_gradient",
    "edge_gradient",
    "node_score",
    "edge_score",
)
_View = dict[str, Any]


def write_explanations(
    path: Path_,
    explanations: Sequence[Explained | Explanation],
    *,
    title: str = "What the predictions rest on",
    lead: str = "",
    command: str = "",
) -> Path:
    """Write a self-contained HTML page about explanations, and return where it is.

    For each: the prediction, the graph with its parts shaded, the strongest reasons, the relations
    and neighbors that matter for a node, what labels mean, fidelity beside that of random parts,
    and a counter-example, as far as they are given.

    Parameters
    ----------
    path : path
        The page; the folder it lies in must exist.
    explanations : sequence of Explained or Explanation
        What to show, in this order.
    title, lead : str
        The heading, and the line under it.
    command : str
        What made it, to be shown at the end.

    Examples
    --------
    >>> import edgnn
    >>> from edgnn.explain import Explained, explain, fidelity
    >>> from edgnn.report import write_explanations
    >>> data = edgnn.load_dataset("MUTAG")
    >>> model = edgnn.GraphClassifier(max_epochs=5, random_state=0).fit(data.graphs, data.targets)
    >>> found = explain(model, data.graphs[0])
    >>> shown = Explained(found, "first", fidelity(model, found), class_names=data.class_names)
    >>> write_explanations("why.html", [shown]).name
    'why.html'
    """
    items = [item if isinstance(item, Explained) else Explained(item) for item in explanations]
    if not items:
        raise ReportError("there are no explanations to write a page of: give at least one")
    data = {"kind": "explanations", "items": [values_of(item) for item in items]}
    write_page(
        path,
        "explanations.html",
        title,
        lead or counted(len(items), "prediction"),
        data,
        explanations=[_item_view(item) for item in items],
        command=command,
    )
    return Path(path)


def values_of(item: Explained) -> dict[str, Any]:
    """Return the numbers of an item; arrays over the parts of very large graphs are left out."""
    values = item.explanation.to_dict()
    complete = len(json.dumps(plain(values))) <= MOST
    if not complete:
        values = {name: value for name, value in values.items() if name not in _LONG}
    return {
        "name": item.title,
        "smiles": item.smiles,
        "target": item.output if item.is_value else item.target,
        "class_names": list(item.class_names),
        "complete": complete,
        "explanation": values,
        "fidelity": None if item.fidelity is None else item.fidelity.to_dict(),
        "counter_example": None if item.counter_example is None else item.counter_example.to_dict(),
        **({"similar": similar_values(item)} if item.similar else {}),
    }


def _item_view(item: Explained) -> _View:
    return {
        "of": item,
        "prediction": item.prediction_text(item.explanation.prediction),
        "whole_name": _whole_name(item),
        **_predicted(item),
        **_pictures(item),
        **similar_view(item),
        "reasons": _reasons(item),
        **_relations(item),
        "labels": _labels(item),
        "fidelity": _fidelity(item),
        "counter": counter_text(item),
    }


@dataclass(frozen=True)
class Bar:
    """An amount as a bar of 100 pixels: to the right of ``start`` above zero, else to the left."""

    text: str
    amount: float
    largest: float
    start: int = 50

    @property
    def length(self) -> float:
        """How long it is; nothing for NaN."""
        if not self.largest or self.amount != self.amount:
            return 0.0
        return (98 - self.start) * min(abs(self.amount) / self.largest, 1.0)

    @property
    def color(self) -> str:
        """Which color it has: that of its side, or where there is one side only, of charts."""
        if not self.start:
            return FIRST
        return FOR if self.amount > 0 else AGAINST

    @property
    def left(self) -> float:
        """Where it begins."""
        return self.start if self.amount > 0 else self.start - self.length


def _bars(amounts: Sequence[float]) -> list[Bar]:
    """Return bars on one scale, with the amounts as texts."""
    largest = max((abs(amount) for amount in amounts), default=0.0)
    return [Bar(signed(amount), amount, largest) for amount in amounts]


def _predicted(item: Explained) -> _View:
    """Return the headline, and where there are several classes or outputs, the others."""
    explanation = item.explanation
    rows: list[tuple[str, str | Bar]] = []
    if item.is_value:
        values = np.ravel(explanation.prediction).tolist()
        name = item.measure if item.output else "prediction"
        headline = [(name, number(values[explanation.target_index]))]
        if len(values) > 1:
            texts = map(number, values[:_CLASSES])
            rows = [(item.class_text(column), text) for column, text in enumerate(texts)]
        return {"headline": headline, "classes": rows, "classes_head": ("target", "predicted")}
    if explanation.probability is None:
        headline = [("prediction", item.prediction_text(explanation.prediction))]
        if item.decides:
            headline.append((item.measure, signed(explanation.value)))
        return {"headline": headline, "classes": rows, "classes_head": ("class", "")}
    own = float(explanation.probability[explanation.target_index])
    headline = [
        ("prediction", item.prediction_text(explanation.prediction)),
        (f"probability of {item.target}", f"{number(own, True)} %"),
        ("log-odds", signed(explanation.value)),
    ]
    if len(explanation.classes) > 2 or item.several_labels:
        for column in np.argsort(-explanation.probability, kind="stable")[:_CLASSES].tolist():
            probability = float(explanation.probability[column])
            bar = Bar(f"{number(probability, True)} %", probability, 1.0, start=0)
            rows.append((item.class_text(explanation.classes[column]), bar))
    kind = "label" if item.several_labels else "class"
    return {"headline": headline, "classes": rows, "classes_head": (kind, "probability")}


def _whole_name(item: Explained) -> str:
    """Return the name of a node where it is called by something shorter."""
    node, names = item.explanation.node, item.explanation.graph.node_names
    if item.smiles or node is None or names is None or str(names[node]) == item.title:
        return ""
    return str(names[node])


def _pictures(item: Explained) -> _View:
    """Return the graph shaded by what each part is worth; of a graph, by gradients as well."""
    explanation, example = item.explanation, item.counter_example
    node, link = item.kind("node"), item.kind("edge")
    worth = f"{node} and {link}"
    if explanation.by_label:
        worth = f"label and {link}" if item.labels_of_nodes_alone else "label"
    drawn = [draw_explanation(item, title=f"What each {worth} is worth")]
    if explanation.node is None and explanation.node_gradient is not None:
        drawn.append(draw_explanation(item, by="gradient", title="Integrated gradients"))
    return {
        "pictures": drawn,
        "changed_pictures": () if example is None else draw_counter_example(item, example),
        "side_by_side": "panels" if drawn_as_molecule(item) else "panels few",
        "gained": signed(explanation.value - explanation.baseline),
    }


def _reasons(item: Explained) -> list[tuple[str, Bar]]:
    """Return the strongest reasons with bars."""
    reasons = item.explanation.reasons(_REASONS)
    bars = _bars([reason.contribution for reason in reasons])
    texts = [item.reason_text(reason) for reason in reasons]
    return list(zip(texts, bars, strict=True))


def _relations(item: Explained) -> _View:
    """Return the relations of a node by direction; those between other nodes apart."""
    relations = [] if item.explanation.node is None else relations_of(item)
    bars = _bars([relation.strongest for relation in relations])
    near: list[tuple[Relation, Bar]] = []
    far: list[tuple[Relation, Bar]] = []
    for relation, bar in zip(relations, bars, strict=True):
        rows = far if relation.direction == "beyond" else near
        rows.append((relation, bar))
    return {
        "relations": bool(relations),
        "near": _relation_rows(near),
        "far": _relation_rows(far),
    }


def _relation_rows(relations: list[tuple[Relation, Bar]]) -> _View:
    rows = []
    for relation, bar in relations[:_RELATIONS]:
        strongest = relation.neighbors[:_NEIGHBORS]
        lines = [f"{cut(text, _LONGEST_NEIGHBOR)} {signed(amount)}" for text, amount in strongest]
        if len(relation.neighbors) > _NEIGHBORS:
            lines.append(f"and {len(relation.neighbors) - _NEIGHBORS:,} more")
        rows.append((relation.name, _DIRECTIONS[relation.direction], lines, bar))
    more = len(relations) - len(rows)
    return {"rows": rows, "more": f"and {counted(more, 'weaker relation')}" if more else ""}


def _labels(item: Explained) -> list[tuple[str, str, Bar]]:
    """Return what each label means, all its occurrences together."""
    known = [effect for effect in item.explanation.labels if not math.isnan(effect.contribution)]
    effects = known[:_LABELS]
    rows = []
    for effect, bar in zip(effects, _bars([one.contribution for one in effects]), strict=True):
        bonds = item.molecule and effect.kind == "edge"
        count = effect.count // 2 if bonds else effect.count
        rows.append((_label(item, effect), counted(count, item.kind(effect.kind)), bar))
    return rows


def _label(item: Explained, effect: LabelEffect) -> str:
    kind = item.explanation.node_label_kind
    if effect.kind == "node" and kind != "label":
        return f"{kind} {label_text(effect.value)}"
    return label_text(effect.value)


def _fidelity(item: Explained) -> _View | None:
    """Return how much more falls without what is put first than without random parts."""
    fidelity = item.fidelity
    if fidelity is None:
        return None
    percent = item.has_probability
    rows = []
    for place, (fraction, size) in enumerate(zip(fidelity.shares, fidelity.sizes, strict=True)):
        row = [f"{fraction:.0%}: {counted(size, item.kind(fidelity.kind))}".replace(" ", "\u00a0")]
        for measure in ("comprehensiveness", "sufficiency"):
            own, mean, spread = (
                number(float(getattr(fidelity, name)[place]), percent)
                for name in (measure, f"random_{measure}", f"random_{measure}_std")
            )
            row += [own, f"{mean} ± {spread}"]
        rows.append(row)
    return {"text": fidelity_text(item), "rows": rows}
