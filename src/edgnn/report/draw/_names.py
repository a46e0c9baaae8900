"""What nodes and labels are called in a picture: short, with the whole of it at hand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from edgnn._words import short_iri
from edgnn.graphs import UNKNOWN, Graphs

#: Relations whose literal says what people call a thing, best first.
_NAMING = ("preflabel", "label", "name", "title", "fullname")
_LITERAL = re.compile(r'"(.*)"(?:@[\w-]+|\^\^\S+)?', re.DOTALL)


def node_texts(graph: Graphs) -> list[str]:
    """Return what to call every node: the literal that a naming relation gives it, else its name without what IRIs begin with.

    A graph without names gives empty texts.
    """
    if graph.node_names is None:
        return [""] * graph.num_nodes
    names = [str(name) for name in graph.node_names.tolist()]
    texts = [plain_name(name) for name in names]
    ranks: dict[int, int] = {}
    rank_of = {value: _rank(value) for value in graph.edge_vocabulary}
    for source, target, label in zip(
        graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_labels, strict=True
    ):
        rank, literal = rank_of[label], _LITERAL.fullmatch(names[target])
        if rank < ranks.get(source, len(_NAMING)) and literal and literal[1].strip():
            ranks[source], texts[source] = rank, literal[1].strip()
    return texts


def plain_name(name: str) -> str:
    """Return a literal without its quotes and type, an IRI without its beginning, and anything else as it is."""
    literal = _LITERAL.fullmatch(name)
    if literal:
        return f"“{literal[1]}”" if literal[1].strip() else "empty text"
    return short_iri(name)


def label_text(label: Any) -> str:
    """Return a label as people read it."""
    if label is None or label is UNKNOWN:
        return "no label" if label is None else "unknown label"
    return short_iri(", ".join(map(str, label)) if isinstance(label, tuple) else str(label))


def codes(labels: Sequence[Any]) -> dict[Any, str]:
    """Return at most three characters for each label, different ones for different labels."""
    found: dict[Any, str] = {}
    taken: set[str] = set()
    for label in labels:
        text = label_text(label)
        letters = re.sub(r"\W", "", text) or text.strip()
        tries = [text] if len(text) <= 3 else [letters[:1], letters[:2], letters[:3]]
        code = next((one for one in tries if one and one not in taken), "")
        number = 1
        while not code or code in taken:
            code, number = str(number), number + 1
        found[label] = code
        taken.add(code)
    return found


def _rank(label: Any) -> int:
    word = short_iri(str(label)).lower().rpartition(":")[2]
    return _NAMING.index(word) if word in _NAMING else len(_NAMING)
