"""How the nodes around an explained node stand to it: the relations that matter, and the way to a neighbor in words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from edgnn.report.draw._names import label_text

if TYPE_CHECKING:
    from edgnn.report._explanation_words import Explained

_ARROWS = {"in": "→", "out": "←", "both": "↔"}
_MOST_WAYS = 2


@dataclass(frozen=True)
class Relation:
    """Links of one label that stand alike to the explained node.

    Parameters
    ----------
    name : str
        The label, without what IRIs begin with where that tells it from others.
    direction : {"out", "in", "both", "beyond"}
        From the explained node, to it, both ways, or between others.
    neighbors : tuple of (str, float)
        What they lead to and what each contributes, the strongest first; of links beyond, both
        ends.
    """

    name: str
    direction: str
    neighbors: tuple[tuple[str, float], ...]


def relations_of(item: Explained) -> list[Relation]:
    """Return the relations around an explained node, the strongest link's first; contributions not known are left out."""
    explanation = item.explanation
    graph = explanation.graph
    source, target, labels = (
        graph.edge_source.tolist(),
        graph.edge_target.tolist(),
        graph.edge_labels,
    )
    groups: dict[tuple[Any, str], list[tuple[str, float]]] = {}
    for edges, amount in zip(
        explanation.link_edges, explanation.link_removal.tolist(), strict=True
    ):
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
            direction, text = (
                "beyond",
                f"{item.node_text(ends[0])} {arrow} {item.node_text(ends[1])}",
            )
        groups.setdefault((labels[edge], direction), []).append((text, amount))
    shared = Counter(label_text(label) for label in {label for label, _ in groups})
    found = [
        Relation(
            label_text(label) if shared[label_text(label)] == 1 else str(label),
            direction,
            tuple(sorted(neighbors, key=lambda pair: -abs(pair[1]))),
        )
        for (label, direction), neighbors in groups.items()
    ]
    return sorted(found, key=lambda relation: -abs(relation.neighbors[0][1]))


def way_text(item: Explained, node: int) -> str:
    """Say how a node stands to the explained one: ``knows → this``, or how far away it is; nothing where no way leads to it."""
    told = item.explanation
    graph = told.graph
    source, target = graph.edge_source, graph.edge_target
    between = ((source == node) & (target == told.node)) | (
        (source == told.node) & (target == node)
    )
    links: dict[int, list[int]] = {}
    for edge in between.nonzero()[:, 0].tolist():
        links.setdefault(int(told.links[edge]), []).append(edge)
    if not links:
        away = item.distance[node]
        return f"{int(away)} edges away" if away < float("inf") else ""
    ways = []
    for edges in links.values():
        arrow = _ARROWS[
            "both" if len(edges) > 1 else "in" if int(source[edges[0]]) == node else "out"
        ]
        label = (
            ""
            if graph.edge_vocabulary.constant
            else label_text(graph.edge_vocabulary[int(graph.edge_label[edges[0]])])
        )
        ways.append(f"{label} {arrow} this".strip())
    ways = list(dict.fromkeys(ways))
    more = len(ways) - _MOST_WAYS
    return ", ".join(ways[:_MOST_WAYS]) + (f" and {more:,} more" if more > 0 else "")
