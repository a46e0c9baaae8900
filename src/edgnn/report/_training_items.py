"""Training items on a page: those that an item resembles, and those that show a rule."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from edgnn._words import counted, number
from edgnn.errors import EdgnnError
from edgnn.explain import Explained, is_molecule
from edgnn.graphs import Graphs
from edgnn.models import Rule, load_model
from edgnn.report.draw import draw_attribution, draw_molecule, signed
from edgnn.training import RunFolder

_LARGEST_MOLECULE, _LARGEST_DRAWN = 120, 16
_RULES = 20
_View = dict[str, Any]


def draw_item(graph: Graphs, title: str | None = None, nodes: Sequence[int] = ()) -> str:
    """Draw a training item, a molecule as chemists do, with some nodes marked."""
    if is_molecule(graph) and graph.num_nodes <= _LARGEST_MOLECULE and find_spec("rdkit"):
        return draw_molecule(graph, title=title, marked_nodes=nodes)
    score = np.zeros(graph.num_nodes)
    score[list(nodes)] = 1  # of a large graph, what is marked is drawn
    chosen = np.sort(np.argsort(-score, kind="stable")[:_LARGEST_DRAWN])
    place = {old: new for new, old in enumerate(chosen.tolist())}
    return draw_attribution(
        graph.induced(chosen),
        None,
        None,
        title=title,
        marked_nodes=[place[node] for node in nodes if node in place],
    )


def similar_view(item: Explained) -> _View:
    """Return rows and pictures of the training items that an explained item resembles."""
    if not item.similar or item.similar_graphs is None:
        return {"similar": [], "similar_pictures": []}
    rows = [
        (near.name, number(near.similarity), item.known_text(near.target), signed(share))
        for near, share in zip(item.similar, item.similar_shares, strict=True)
    ]
    pictures = [
        draw_item(item.similar_graphs[place : place + 1], f"{near.name}: {row[2]}")
        for place, (near, row) in enumerate(zip(item.similar, rows, strict=True))
    ]
    return {"similar": rows, "similar_pictures": pictures}


def rules_view(run: RunFolder) -> _View | None:
    """Return the strongest counts of a model of counts as a table with drawings; else ``None``."""
    if run.config.get("estimator") not in ("AutoClassifier", "AutoRegressor"):
        return None
    try:
        model: Any = load_model(run.path)
        rules = model.find_rules(_RULES)
        graphs = [model.similar_graphs([rule.position]) for rule in rules]
    except EdgnnError as error:
        return {"lost": str(error), "rows": [], "head": []}
    names = [str(name) for name in run.config.get("class_names") or ()]
    values = model.task == "values"
    targets = [str(name) for name in run.config.get("target_names") or ()] if values else names
    head = ["speaks for" if not values else "raises or lowers", "effect", "count", "training items"]
    rows = [
        {
            "target": _target_text(rule, targets),
            "effect": signed(rule.effect),
            "text": rule.text,
            "where": _where(rule),
            "items": _items_text(rule, model, names),
            "picture": draw_item(graph, None, rule.nodes) if rule.nodes else "",
        }
        for rule, graph in zip(rules, graphs, strict=True)
    ]
    return {"rows": rows, "head": head, "lost": "", "used": model.uses("sparse")}


def _target_text(rule: Rule, names: Sequence[str]) -> str:
    known = isinstance(rule.target, int | np.integer) and 0 <= rule.target < len(names)
    return str(names[rule.target]) if known else str(rule.target)


def _where(rule: Rule) -> str:
    if rule.kind == "number":
        return "a number of the whole graph"
    after = counted(rule.round, "round")
    return f"{rule.view}, after {after}; drawn: {rule.name}"


def _items_text(rule: Rule, model: Any, names: Sequence[str]) -> str:
    """Return how many training items have it, by class, or their mean beside that of the others."""
    if rule.kind == "number":
        return ""
    if math.isnan(rule.mean_with):
        labels = [str(value) for value in model.classes_.tolist()]
        named = [
            names[int(label)] if label.isdecimal() and int(label) < len(names) else label
            for label in labels
        ]
        counts = ", ".join(
            f"{count:,} {name}" for count, name in zip(rule.by_class, named, strict=True)
        )
        return f"{rule.items:,}: {counts}"
    means = f"mean {number(rule.mean_with)}"
    if not math.isnan(rule.mean_without):
        means += f", of the others {number(rule.mean_without)}"
    return f"{rule.items:,}: {means}"


def similar_values(item: Explained) -> list[Mapping[str, Any]]:
    """Return the similar training items as plain values."""
    return [
        {
            "position": near.position,
            "name": near.name,
            "similarity": near.similarity,
            "target": item.known_text(near.target),
            "share": share,
        }
        for near, share in zip(item.similar, item.similar_shares, strict=True)
    ]
