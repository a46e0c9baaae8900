"""Pictures of colored graphs: molecules, digraphs, and a node among very many neighbors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from edgnn._words import counted
from edgnn.explain import is_molecule
from edgnn.graphs import Graphs
from edgnn.report.draw import (
    MARGIN,
    arrow,
    clean,
    edge_length,
    layout,
    panel,
    skeleton,
)

_Array = np.ndarray[Any, Any]
#: Draws a graph: fills and titles of its nodes, the nodes with new colors, the node asked about.
Draw = Callable[[list[str], list[str], list[int], int | None], str]

LARGEST = 150
_LARGEST_AROUND, _MOST_DRAWN_EDGES = 40, 1_000
_NAMED = 5
_NAME_MARGIN = 34  # room for names at the border
_STYLE = (
    ".node{stroke:currentColor;stroke-opacity:.55;stroke-width:1}"
    ".edge{fill:none;stroke:#8a929b;stroke-width:1.4}"
    ".label{font:12px sans-serif;text-anchor:middle;fill:currentColor}"
    ".edge-label{font:10px sans-serif;fill:#8a929b;text-anchor:middle}"
    ".new{fill:none;stroke:#c8442f;stroke-width:2.6;stroke-dasharray:4 3}"
    ".own{fill:none;stroke:currentColor;stroke-width:2.4}"
)
_ARROW = arrow("#8a929b")


def drawer(graph: Graphs) -> Draw | None:
    """Return what draws the graph, whose layout is found once; ``None`` of a large graph."""
    if graph.num_nodes > LARGEST or graph.num_edges > _MOST_DRAWN_EDGES:
        return None
    return _molecule_drawer(graph) if is_molecule(graph) else _digraph_drawer(graph)


def _molecule_drawer(graph: Graphs) -> Draw:
    lines, points, width, height = skeleton(graph)

    def draw(fills: list[str], titles: list[str], unfamiliar: list[int], own: int | None) -> str:
        disks = [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="11" fill="{color}" fill-opacity=".75"/>'
            for (x, y), color in zip(points.tolist(), fills, strict=True)
        ]
        hovers = [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="13" fill="transparent">'
            f"<title>{clean(title)}</title></circle>"
            for (x, y), title in zip(points.tolist(), titles, strict=True)
        ]
        parts = [*disks, lines, *_rings(points, unfamiliar, "new", 14), *hovers]
        return _picture(parts, width + 32, height + 32, 16, 16)

    return draw


def _digraph_drawer(graph: Graphs) -> Draw:
    places = layout(graph)
    points = (places - places.min(axis=0)) * edge_length(graph) + MARGIN

    def draw(fills: list[str], titles: list[str], unfamiliar: list[int], own: int | None) -> str:
        inside, width, height = panel(graph, places, fills, titles)
        own_ring = _rings(points, [] if own is None else [own], "own", 19)
        parts = [_ARROW, inside, *own_ring, *_rings(points, unfamiliar, "new", 22)]
        return _picture(parts, width + 2 * _NAME_MARGIN, height + 40, _NAME_MARGIN, 20)

    return draw


def _rings(points: _Array, nodes: list[int], kind: str, radius: float) -> list[str]:
    return [
        f'<circle cx="{points[node][0]:.1f}" cy="{points[node][1]:.1f}" r="{radius}" '
        f'class="{kind}"/>'
        for node in nodes
    ]


def _picture(parts: list[str], width: float, height: float, right: float, down: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img"><style>{_STYLE}</style>'
        f'<g transform="translate({right},{down})">{"".join(parts)}</g></svg>'
    )


class NeighborhoodPicture:
    """A node among its neighbors; where these are many, those that look alike as one.

    Parameters
    ----------
    graph : Graphs
        The node and its neighbors.
    center : int
        The node.
    names : sequence of str
        What people call the nodes.
    """

    def __init__(self, graph: Graphs, center: int, names: Sequence[str]) -> None:
        self._graph = graph
        self._center = center
        self._names = names
        self._links = _links_of(graph, center)
        self._draw: Draw | None = None
        neighbors = graph.num_nodes - 1
        if 1 <= neighbors < _LARGEST_AROUND and graph.num_edges <= _MOST_DRAWN_EDGES:
            self._draw = _digraph_drawer(_renamed(graph, names))

    def draw(
        self, colors: Sequence[int], fills: list[str], *, unfamiliar: bool
    ) -> tuple[str | None, str | None]:
        """Return the picture of a round and what it shows; nothing of a node without neighbors."""
        if self._draw is not None:
            description = f"this node and its {counted(self._graph.num_nodes - 1, 'neighbor')}"
            rings = [self._center] if unfamiliar else []
            titles = _node_names(self._graph)
            return self._draw(fills, titles, rings, self._center), description
        if not self._links:
            return None, None
        return self._draw_star(colors, fills, [0] if unfamiliar else [])

    def _draw_star(
        self, colors: Sequence[int], fills: Sequence[str], rings: list[int]
    ) -> tuple[str, str]:
        """Draw the neighbors that have the same links to the node and the same color as one."""
        alike: dict[Any, list[int]] = defaultdict(list)
        for neighbor, links in self._links.items():
            alike[colors[neighbor], tuple(links)].append(neighbor)
        groups = sorted(alike.values(), key=len, reverse=True)[:_LARGEST_AROUND]
        ends, labels = [], []
        for number, group in enumerate(groups, 1):
            for incoming, label in self._links[group[0]]:
                ends.append((number, 0) if incoming else (0, number))
                labels.append(label)
        members = [[self._center], *groups]
        texts = [_group_text(group, self._names) for group in members]
        star = Graphs.from_edges(
            ends, num_nodes=len(members), node_labels=texts, edge_labels=labels
        )
        titles = [_group_title(group, self._names) for group in members]
        picture = _digraph_drawer(star)([fills[group[0]] for group in members], titles, rings, 0)
        shown = f"this node and its {len(self._links):,} neighbors, those that look alike as one"
        if len(groups) < len(alike):
            kinds = counted(len(alike) - len(groups), "less frequent kind")
            return picture, f"{shown} (without {kinds})"
        return picture, shown


def _renamed(graph: Graphs, texts: Sequence[str]) -> Graphs:
    """Return the graph with what people call its nodes instead of names and labels."""
    return graph.with_node_labels([text or str(node) for node, text in enumerate(texts)])


def _node_names(graph: Graphs) -> list[str]:
    names = graph.node_labels if graph.node_names is None else graph.node_names.tolist()
    return list(map(str, names))


def _links_of(graph: Graphs, center: int) -> dict[int, list[tuple[bool, Any]]]:
    """Return, for each neighbor, whether its links come in to the node, and their labels."""
    links: dict[int, list[tuple[bool, Any]]] = defaultdict(list)
    ends = zip(
        graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_labels, strict=True
    )
    for source, target, label in ends:
        if source == center != target:
            links[target].append((False, label))
        elif target == center != source:
            links[source].append((True, label))
    for own in links.values():
        own.sort(key=repr)
    return links


def _group_text(group: list[int], names: Sequence[str]) -> str:
    """Return what stands at the node of a group: its name, or how many it is."""
    return names[group[0]] if len(group) == 1 else f"{len(group):,}×"


def _group_title(group: list[int], names: Sequence[str]) -> str:
    """Return what shows over the node of a group."""
    shown = [names[node] for node in group[:_NAMED] if names[node]]
    more = f" and {len(group) - _NAMED:,} more" if len(group) > _NAMED else ""
    return f"{len(group):,}× {', '.join(shown)}{more}" if len(group) > 1 else ", ".join(shown)
