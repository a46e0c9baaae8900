"""How the nodes around an explained node are related to it, in words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from edgnn.explain._names import label_of, label_text

if TYPE_CHECKING:
    from edgnn.explain._explained import Explained

_ARROWS = {"in": "→", "out": "←", "both": "↔"}
_MOST_PATHS = 2


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

    @property
    def strongest(self) -> float:
        """What the strongest link contributes."""
        return self.neighbors[0][1]


def relations_of(item: Explained) -> list[Relation]:
    """Return the relations around an explained node, that of the strongest link first."""
    explanation = item.explanation
    graph = explanation.graph
    groups: dict[tuple[Any, str], list[tuple[str, float]]] = {}
    amounts = explanation.link_removal.tolist()
    for edges, amount in zip(explanation.link_edges, amounts, strict=True):
        if amount == amount:  # NaN: was not tried
            direction, text = _neighbor(item, edges.tolist())
            label = label_of(graph, "edge", edges[0])
            groups.setdefault((label, direction), []).append((text, amount))
    shared = Counter(label_text(label) for label in {label for label, _ in groups})
    relations = []
    for (label, direction), neighbors in groups.items():
        text = label_text(label)
        name = text if shared[text] == 1 else str(label)
        order = sorted(neighbors, key=lambda neighbor: -abs(neighbor[1]))
        relations.append(Relation(name, direction, tuple(order)))
    return sorted(relations, key=lambda relation: -abs(relation.strongest))


def _neighbor(item: Explained, edges: list[int]) -> tuple[str, str]:
    """Return how a link stands to the explained node, and what it leads to."""
    graph, node = item.explanation.graph, item.explanation.node
    source, target = int(graph.edge_source[edges[0]]), int(graph.edge_target[edges[0]])
    if node not in (source, target):
        arrow = "–" if len(edges) > 1 else "→"
        return "beyond", f"{item.node_text(source)} {arrow} {item.node_text(target)}"
    other = target if source == node else source
    if len(edges) > 1:
        return "both", item.node_text(other)
    return "out" if source == node else "in", item.node_text(other)


def path_text(item: Explained, node: int) -> str:
    """Return how a node stands to the explained one: ``knows → this``, or how far away it is."""
    explanation = item.explanation
    graph = explanation.graph
    source, target = graph.edge_source, graph.edge_target
    to_explained = (source == node) & (target == explanation.node)
    from_explained = (source == explanation.node) & (target == node)
    links: dict[int, list[int]] = {}
    for edge in (to_explained | from_explained).nonzero()[:, 0].tolist():
        links.setdefault(int(explanation.links[edge]), []).append(edge)
    if not links:
        away = item.distance[node]
        return f"{int(away)} edges away" if away < float("inf") else ""
    paths = []
    for edges in links.values():
        direction = "in" if int(source[edges[0]]) == node else "out"
        arrow = _ARROWS["both" if len(edges) > 1 else direction]
        constant = graph.edge_vocabulary.constant
        label = "" if constant else label_text(label_of(graph, "edge", edges[0]))
        paths.append(f"{label} {arrow} this".strip())
    paths = list(dict.fromkeys(paths))
    text = ", ".join(paths[:_MOST_PATHS])
    more = len(paths) - _MOST_PATHS
    return f"{text} and {more:,} more" if more > 0 else text
