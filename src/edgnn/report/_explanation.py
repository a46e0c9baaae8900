"""The page of explanations: why a model says what it says about some graphs or nodes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edgnn._files import Path_
from edgnn._json import plain
from edgnn._words import counted
from edgnn.explain import Explanation
from edgnn.report import _explanation_parts as parts
from edgnn.report._data import MOST
from edgnn.report._errors import ReportError
from edgnn.report._explanation_words import Explained
from edgnn.report._html import Html, section, tag
from edgnn.report._page import write_page

_LONG = (
    "graph",
    "original_nodes",
    "original_edges",
    "node_removal",
    "edge_removal",
    "node_label_removal",
    "edge_label_removal",
    "links",
    "link_removal",
    "link_label_removal",
    "node_gradient",
    "edge_gradient",
    "node_score",
    "edge_score",
)


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
    >>> from edgnn.explain import explain, fidelity
    >>> from edgnn.report import Explained, write_explanations
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
    body = [_contents(items)] if len(items) > 1 else []
    body += [_item(item, number) for number, item in enumerate(items)]
    if command:
        body.append(section("How to repeat it", tag("p", "The command:"), tag("pre", command)))
    data = {"kind": "explanations", "items": [values_of(item) for item in items]}
    write_page(path, title, lead or counted(len(items), "prediction"), body, data)
    return Path(path)


def _contents(items: list[Explained]) -> Html:
    links = [
        tag(
            "li",
            tag(
                "a",
                f"{item.title}: {item.prediction_text(item.explanation.prediction)}",
                href=f"#item-{number}",
            ),
        )
        for number, item in enumerate(items)
    ]
    return tag("nav", tag("ul", *links), aria_label="Items", style=parts.WRAPPED)


def _item(item: Explained, number: int) -> Html:
    return tag(
        "section",
        tag("h2", item.title, style=parts.WRAPPED),
        *parts.predicted(item),
        parts.pictures(item),
        *parts.reasons(item),
        *parts.relations(item),
        *parts.labels(item),
        *parts.faithful(item),
        *parts.counter(item),
        class_="long",
        id_=f"item-{number}",
    )


def values_of(item: Explained) -> dict[str, Any]:
    """Return the numbers of an item; arrays over the parts of very large graphs are left out."""
    told = item.explanation.to_dict()
    complete = len(json.dumps(plain(told))) <= MOST
    return {
        "name": item.title,
        "smiles": item.smiles,
        "target": item.output if item.explanation.probability is None else item.target,
        "class_names": list(item.class_names),
        "complete": complete,
        "explanation": told
        if complete
        else {name: value for name, value in told.items() if name not in _LONG},
        "fidelity": None if item.fidelity is None else item.fidelity.to_dict(),
        "counter_example": None if item.counter_example is None else item.counter_example.to_dict(),
    }
