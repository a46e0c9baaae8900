"""The parts of an explanation's page: what is predicted, the pictures, reasons, relations, labels, fidelity, a counter-example."""

from __future__ import annotations

import numpy as np

from edgnn._words import counted
from edgnn.explain import LabelEffect
from edgnn.report._explanation_picture import (
    draw_counter_example,
    draw_explanation,
    drawn_as_molecule,
)
from edgnn.report._explanation_relations import Relation, relations_of
from edgnn.report._explanation_words import Explained, counter_text, fidelity_text
from edgnn.report._html import Html, folded, markup, part, table, tag
from edgnn.report._numbers import number
from edgnn.report.draw._axes import FIRST
from edgnn.report.draw._names import label_text
from edgnn.report.draw._shade import AGAINST, FOR, signed

_REASONS, _RELATIONS, _NEIGHBORS, _LABELS, _CLASSES = 12, 12, 4, 12, 12
#: Names of users' own may be long, and have no place to break.
WRAPPED = "overflow-wrap:anywhere"
_DIRECTIONS = {"out": "→ to", "in": "← from", "both": "↔ with", "beyond": "further away"}


def predicted(item: Explained) -> list[Html]:
    """Return what the model says, with its probabilities."""
    told = item.explanation
    if told.probability is None:
        return [*_whole_name(item), *_values(item)]
    figures = {"prediction": item.prediction_text(told.prediction)}
    own = float(told.probability[told.target_index])
    figures |= {
        f"probability of {item.target}": f"{number(own, True)} %",
        "log-odds": signed(told.value),
    }
    found = [*_whole_name(item), _figures(figures)]
    if len(told.classes) > 2 or item.several_labels:
        order = np.argsort(-told.probability, kind="stable")[:_CLASSES].tolist()
        shares = [float(told.probability[place]) for place in order]
        rows = [
            (
                item.class_text(told.classes[place]),
                markup(_bar(share, 1.0, start=0), f" {number(share, True)} %"),
            )
            for place, share in zip(order, shares, strict=True)
        ]
        found.append(table(("label" if item.several_labels else "class", "probability"), rows))
    return found


def _values(item: Explained) -> list[Html]:
    """Return what a regressor says: the value explained, and those of its other targets."""
    told = item.explanation
    values = np.ravel(told.prediction)
    found = [
        _figures(
            {
                item.measure if item.output else "prediction": number(
                    float(values[told.target_index])
                )
            }
        )
    ]
    if len(values) > 1:
        rows = [
            (item.class_text(place), number(float(value)))
            for place, value in enumerate(values[:_CLASSES])
        ]
        found += [
            table(("target", "predicted"), rows, class_="numbers"),
            tag("p", item.others, class_="note"),
        ]
    return found


def _whole_name(item: Explained) -> list[Html]:
    """Return the name of a node where it is called by something shorter, or the SMILES of a molecule that has a name."""
    told = item.explanation
    if item.smiles:
        return [tag("p", tag("code", item.smiles))]
    if (
        told.node is None
        or told.graph.node_names is None
        or str(told.graph.node_names[told.node]) == item.title
    ):
        return []
    return [tag("p", str(told.graph.node_names[told.node]), class_="note")]


def _figures(figures: dict[str, str]) -> Html:
    free = f"{WRAPPED};white-space:normal"
    shown = [
        tag(
            "div",
            tag("dt", name, style=free),
            tag("dd", text, style=free),
            class_="main" if place == 0 else None,
        )
        for place, (name, text) in enumerate(figures.items())
    ]
    return tag("dl", *shown, class_="figures")


def pictures(item: Explained) -> Html:
    """Return the graph shaded by what each part is worth; of a graph's prediction, by integrated gradients as well."""
    told = item.explanation
    node, link = (item.kind(kind) for kind in ("node", "edge"))
    worth = (
        f"{node} and {link}"
        if not told.by_label
        else f"label and {link}"
        if item.labels_of_nodes_alone
        else "label"
    )
    what = f"What each {worth} is worth"
    drawn = [draw_explanation(item, title=what)]
    if told.node is None and told.node_gradient is not None:
        drawn.append(draw_explanation(item, by="gradient", title="Integrated gradients"))
    inside = tag(
        "div",
        *(tag("div", Html(picture)) for picture in drawn),
        class_=_side_by_side(item) if len(drawn) > 1 else None,
    )
    return tag("figure", inside, tag("figcaption", _caption(item, len(drawn) > 1)), style=WRAPPED)


def _side_by_side(item: Explained) -> str:
    return "panels" if drawn_as_molecule(item) else "panels few"


def _caption(item: Explained, both: bool) -> str:
    told = item.explanation
    node, link = (item.kind(kind) for kind in ("node", "edge"))
    classes = told.probability is not None
    sides = (
        f"Red speaks for {item.target}, blue (dashed) against it."
        if classes
        else f"Red raises the {item.measure}, blue (dashed) lowers it."
    )
    taken = f"this {node} or {link} " + (
        "stays, but its label is hidden from the model" if told.by_label else "is taken out"
    )
    if item.labels_of_nodes_alone:
        taken = f"the label of this {node} is hidden from the model, or this {link} taken out"
    parts = [
        sides,
        f"{'First: by' if both else 'By'} how much the {item.measure} falls when {taken}.",
    ]
    if both:
        total = signed(told.value - told.baseline)
        parts.append(
            f"Second: integrated gradients divide what all labels together add to the {item.measure} ({total}) among the parts."
        )
    if told.links_beyond:
        parts.append("Links further away count for degrees as well; they were not tried.")
    elif not told.complete:
        parts.append("Not every part was tried: there are too many.")
    return " ".join(parts)


def reasons(item: Explained) -> list[Html]:
    """Return the strongest reasons as a table with bars."""
    found = item.explanation.reasons(_REASONS)
    if not found:
        return []
    largest = max(abs(reason.contribution) for reason in found)
    rows = [(item.reason_text(reason), _amount(reason.contribution, largest)) for reason in found]
    note = tag("p", item.unit, class_="note")
    return [part("What it rests on", table((item.without, "falls by"), rows), note)]


def relations(item: Explained) -> list[Html]:
    """Return the relations and neighbors that matter for a node, grouped by relation and direction; links further away folded."""
    found = [] if item.explanation.node is None else relations_of(item)
    if not found:
        return []
    largest = max(abs(relation.neighbors[0][1]) for relation in found)
    near = [relation for relation in found if relation.direction != "beyond"]
    far = [relation for relation in found if relation.direction == "beyond"]
    inside = [_relations(near, largest)] if near else [tag("p", "It has no links of its own.")]
    inside += [folded("Links further away", _relations(far, largest))] if far else []
    note = f"By how much the {item.measure} falls without each link; the bar is that of the strongest of its kind."
    return [part("Relations and neighbors that matter", *inside, tag("p", note, class_="note"))]


def _relations(found: list[Relation], largest: float) -> Html:
    rows = [_relation(relation, largest) for relation in found[:_RELATIONS]]
    more = len(found) - len(rows)
    if more:
        rows.append((f"and {counted(more, 'weaker relation')}", "", "", ""))
    return table(("relation", "direction", "neighbors", "strongest"), rows)


def _relation(relation: Relation, largest: float) -> tuple[str, ...]:
    lines = [f"{_cut(text)} {signed(amount)}" for text, amount in relation.neighbors[:_NEIGHBORS]]
    more = len(relation.neighbors) - len(lines)
    lines += [f"and {more:,} more"] if more else []
    whom = markup(*(part for line in lines for part in (line, Html("<br>"))))
    return (
        relation.name,
        _DIRECTIONS[relation.direction],
        whom,
        _amount(relation.neighbors[0][1], largest),
    )


def labels(item: Explained) -> list[Html]:
    """Return what each label means, all its occurrences together."""
    found = [
        effect for effect in item.explanation.labels if effect.contribution == effect.contribution
    ]
    if not found:
        return []
    largest = max(abs(effect.contribution) for effect in found)
    halves = {"node": 1, "edge": 2 if item.molecule else 1}
    rows = [
        (
            _label(item, effect),
            counted(effect.count // halves[effect.kind], item.kind(effect.kind)),
            _amount(effect.contribution, largest),
        )
        for effect in found[:_LABELS]
    ]
    note = f"By how much the {item.measure} falls when all of them stay, but lose the label."
    return [
        part(
            "Labels", table(("label", "how many", "falls by"), rows), tag("p", note, class_="note")
        )
    ]


def _label(item: Explained, effect: LabelEffect) -> str:
    kind = item.explanation.node_label_kind
    return (
        f"{kind} {label_text(effect.value)}"
        if effect.kind == "node" and kind != "label"
        else label_text(effect.value)
    )


def faithful(item: Explained) -> list[Html]:
    """Return how much more falls without what is put first than without random parts."""
    found = item.fidelity
    if found is None:
        return []
    percent = item.explanation.probability is not None
    rows = []
    for place, (share, size) in enumerate(zip(found.shares, found.sizes, strict=True)):
        own = [
            number(float(values[place]), percent)
            for values in (found.comprehensiveness, found.sufficiency)
        ]
        chance = [
            f"{number(float(mean[place]), percent)} ± {number(float(spread[place]), percent)}"
            for mean, spread in (
                (found.random_comprehensiveness, found.random_comprehensiveness_std),
                (found.random_sufficiency, found.random_sufficiency_std),
            )
        ]
        first = f"{share:.0%}: {counted(size, item.kind(found.kind))}".replace(" ", "\u00a0")
        rows.append((first, own[0], chance[0], own[1], chance[1]))
    head = (
        "the strongest",
        "without them",
        "without random ones",
        "with them alone",
        "with random ones alone",
    )
    what = (
        f"the probability of {item.target} falls, in points"
        if percent
        else f"the {item.measure} changes"
    )
    only = " Only labels are hidden; the graph keeps its shape." if found.take == "label" else ""
    note = f"By how much {what}.{only} Random ones: mean and spread of {found.random_sets} sets of the same size."
    inside = [
        tag("p", fidelity_text(item)),
        table(head, rows, class_="numbers"),
        tag("p", note, class_="note"),
    ]
    return [part("Is it true to the model?", *inside)]


def counter(item: Explained) -> list[Html]:
    """Return the smallest change found that changes the prediction, drawn before and after."""
    text = counter_text(item)
    if not text:
        return []
    inside = [tag("p", text)]
    if item.counter_example is not None:
        drawn = [
            tag("div", Html(picture))
            for picture in draw_counter_example(item, item.counter_example)
        ]
        caption = f"What is changed is outlined. {item.counter_example.tried:,} changed graphs were tried."
        inside.append(
            tag(
                "figure",
                tag("div", *drawn, class_=_side_by_side(item)),
                tag("figcaption", caption),
                style=WRAPPED,
            )
        )
    return [part("What would change the prediction", *inside)]


def _amount(value: float, largest: float) -> Html:
    return tag("span", _bar(value, largest), f"\u00a0{signed(value)}", style="white-space:nowrap")


def _cut(text: str, most: int = 70) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _bar(value: float, largest: float, start: float = 50) -> Html:
    """Return a bar from ``start`` to the right for what speaks for, to the left for what speaks against."""
    length = 0.0 if not largest or value != value else (98 - start) * min(abs(value) / largest, 1.0)
    left, color = (start, FOR) if value > 0 else (start - length, AGAINST)
    return Html(
        '<svg width="100" height="12" viewBox="0 0 100 12" aria-hidden="true">'
        f'<rect x="{left:.1f}" y="2" width="{length:.1f}" height="8" fill="{FIRST if not start else color}"/>'
        f'<path d="M{start:.0f} 0V12" stroke="currentColor" stroke-opacity=".4"/></svg>'
    )
