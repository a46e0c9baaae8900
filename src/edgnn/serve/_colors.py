"""The colors of a graph round by round, drawn and in words, and which the training data lacks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from edgnn._words import counted, short_iri
from edgnn.errors import GraphError
from edgnn.explain import is_molecule, node_texts
from edgnn.graphs import Graphs, Nodes
from edgnn.report.draw import (
    MARGIN,
    clean,
    edge_length,
    fill,
    layout,
    panel,
    skeleton,
)
from edgnn.wl import Coloring

if TYPE_CHECKING:
    from edgnn.serve._model import Served

_Array = np.ndarray[Any, Any]
#: Draws a graph: fills and titles of its nodes, the nodes with new colors, the node asked about.
_Draw = Callable[[list[str], list[str], list[int], int | None], str]

_LARGEST, _LARGEST_AROUND, _MOST_DRAWN_EDGES = 150, 40, 1_000
_LEGEND = 40
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
_ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
    'markerHeight="7" orient="auto-start-reverse">'
    '<path d="M0,0 L8,4 L0,8 z" fill="#8a929b"/></marker></defs>'
)


def color_rounds(served: Served, item: Graphs | Nodes, rounds: int | None) -> dict[str, Any]:
    """Return the refinement and its rounds, ready for JSON.

    Parameters
    ----------
    served : Served
        The model, which says how it refines, and which colors it has seen.
    item : Graphs or Nodes
        One graph, or one node.
    rounds : int, optional
        How many rounds; default: as many as the model sees.
    """
    graphs = item.graphs if isinstance(item, Nodes) else item
    if not graphs.num_nodes:
        raise GraphError("the graph has no nodes, so there is nothing to color")
    coloring = served.coloring(graphs, rounds)
    familiarity = served.model.familiarity(item)
    seen = [] if familiarity is None else [known.tolist() for known in familiarity.known]
    if isinstance(item, Nodes):
        drawn = _rounds_of_node(coloring, item, seen, served.texts(item.graphs))
    else:
        drawn = _rounds_of_graph(coloring, item, seen)
    return {"scheme": coloring.scheme, "rounds": drawn}


class _Fills:
    """Fills of colors: a number keeps its fill from round to round."""

    def __init__(self) -> None:
        self._order: dict[int, int] = {}

    def of(self, colors: list[int]) -> list[str]:
        """Return the fill of each color."""
        return [fill(self._order.setdefault(color, len(self._order))) for color in colors]


def _rounds_of_graph(
    coloring: Coloring, graph: Graphs, seen: list[list[bool]]
) -> list[dict[str, Any]]:
    draw = _drawer(graph)
    fills = _Fills()
    rounds: list[dict[str, Any]] = []
    for round in range(coloring.rounds + 1):
        colors = coloring.at(round).tolist()
        known: Sequence[bool | None] = [None] * len(colors)
        if round < len(seen):
            known = seen[round]
        unfamiliar = [node for node, is_known in enumerate(known) if is_known is False]
        filled = fills.of(colors)
        legend = _legend(coloring, round, colors, filled, known, _LARGEST + 1)
        entry: dict[str, Any] = {
            "round": round,
            "colors": len(set(colors)),
            "seen": None,
            "new_nodes": None,
            "meaning": None,
            "legend": list(legend.values())[:_LEGEND],
            "drawn": None,
            "picture": None,
        }
        if round < len(seen):
            entry |= {"seen": not unfamiliar, "new_nodes": len(unfamiliar)}
        if draw is not None:
            titles = _titles(legend, colors, unfamiliar)
            entry["picture"] = draw(filled, titles, unfamiliar, None)
        rounds.append(entry)
    return rounds


def _legend(
    coloring: Coloring,
    round: int,
    colors: list[int],
    fills: list[str],
    known: Sequence[bool | None],
    most: int,
) -> dict[int, dict[str, Any]]:
    """Return what each color means, the most frequent first, and at most so many."""
    node_of = dict(zip(colors, range(len(colors)), strict=True))
    legend = {}
    for color, count in Counter(colors).most_common(most):
        node = node_of[color]
        legend[color] = {
            "fill": fills[node],
            "count": count,
            "meaning": short_iri(coloring.meaning(color, round, size=200).text),
            "seen": known[node],
        }
    return legend


def _titles(
    legend: dict[int, dict[str, Any]], colors: list[int], unfamiliar: list[int]
) -> list[str]:
    titles = [legend[color]["meaning"] for color in colors]
    for node in unfamiliar:
        titles[node] += "; never seen in training"
    return titles


def _rounds_of_node(
    coloring: Coloring, item: Nodes, seen: list[list[bool]], texts: Sequence[str]
) -> list[dict[str, Any]]:
    node = int(item.index[0])
    around = _around(item.graphs, node)
    center = int((around == node).nonzero()[0])
    neighborhood = item.graphs.induced(around)[int(item.graphs.graph_of_node[node])]
    names = [texts[number] for number in around.tolist()] if texts else node_texts(neighborhood)
    neighbors = neighborhood.num_nodes - 1
    draw = None
    is_small = neighborhood.num_edges <= _MOST_DRAWN_EDGES
    if is_small and 1 <= neighbors < _LARGEST_AROUND:
        draw = _digraph_drawer(_renamed(neighborhood, names))
    fills = _Fills()
    rounds: list[dict[str, Any]] = []
    for round in range(coloring.rounds + 1):
        colors = coloring.at(round)
        shown = colors[around].tolist()
        filled = fills.of(shown)
        own = seen[round][0] if round < len(seen) else None
        known = [own if color == shown[center] else None for color in shown]
        legend = _legend(coloring, round, shown, filled, known, _LEGEND)
        meaning = coloring.meaning(int(colors[node]), round, size=600).text
        drawn = picture = None
        if draw is not None:
            drawn = f"this node and its {counted(neighbors, 'neighbor')}"
            unfamiliar = [center] if own is False else []
            picture = draw(filled, _names(neighborhood), unfamiliar, center)
        elif neighbors:
            star = _Star.of(neighborhood, center, shown, names)
            drawn = star.description
            picture = star.draw(filled, unfamiliar=own is False)
        rounds.append(
            {
                "round": round,
                "colors": len(set(shown)),
                "seen": own,
                "new_nodes": None,
                "meaning": short_iri(meaning),
                "legend": list(legend.values()),
                "drawn": drawn,
                "picture": picture,
            }
        )
    return rounds


@dataclass(frozen=True, eq=False)
class _Star:
    """A node and its neighbors, where they are many: those that look alike as one.

    Attributes
    ----------
    graph : Graphs
        The node, and one node for each group of neighbors.
    members : list of list of int
        Which nodes of the neighborhood each node of the graph stands for.
    titles : list of str
        What they are called.
    description : str
        What is drawn.
    """

    graph: Graphs
    members: list[list[int]]
    titles: list[str]
    description: str

    @classmethod
    def of(
        cls, neighborhood: Graphs, center: int, colors: Sequence[int], names: Sequence[str]
    ) -> _Star:
        """Group the neighbors that have the same links to the node and the same color."""
        links = _links_of(neighborhood, center)
        alike: dict[Any, list[int]] = defaultdict(list)
        for neighbor, own in links.items():
            alike[colors[neighbor], tuple(own)].append(neighbor)
        groups = sorted(alike.values(), key=len, reverse=True)[:_LARGEST_AROUND]
        members = [[center], *groups]
        texts = [_group_text(group, names) for group in members]
        ends, labels = [], []
        for number, group in enumerate(groups, 1):
            for incoming, label in links[group[0]]:
                ends.append((number, 0) if incoming else (0, number))
                labels.append(label)
        graph = Graphs.from_edges(
            ends, num_nodes=len(members), node_labels=texts, edge_labels=labels
        )
        description = f"this node and its {len(links):,} neighbors, those that look alike as one"
        left_out = len(alike) - len(groups)
        if left_out:
            description += f" (without {counted(left_out, 'less frequent kind')})"
        return cls(graph, members, [_group_title(group, names) for group in members], description)

    def draw(self, fills: Sequence[str], *, unfamiliar: bool) -> str:
        """Return the picture, with the fills of the neighborhood's nodes."""
        own_fills = [fills[group[0]] for group in self.members]
        return _digraph_drawer(self.graph)(own_fills, self.titles, [0] if unfamiliar else [], 0)


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


def _around(graphs: Graphs, node: int) -> torch.Tensor:
    """Return the numbers of a node and its neighbors, in order."""
    touching = (graphs.edge_source == node) | (graphs.edge_target == node)
    ends = torch.cat(
        [graphs.edge_source[touching], graphs.edge_target[touching], torch.tensor([node])]
    )
    return torch.from_numpy(np.unique(ends.numpy()))


def _renamed(graph: Graphs, texts: list[str]) -> Graphs:
    """Return the graph with what people call its nodes instead of names and labels."""
    names = np.empty(graph.num_nodes, dtype=object)
    names[:] = [text or str(number) for number, text in enumerate(texts)]
    return graph.with_node_labels(names.tolist())


def _names(graph: Graphs) -> list[str]:
    names = graph.node_labels if graph.node_names is None else graph.node_names.tolist()
    return [str(name) for name in names]


# Drawing


def _drawer(graph: Graphs) -> _Draw | None:
    """Return what draws the graph, whose layout is found once; ``None`` of a large graph."""
    if graph.num_nodes > _LARGEST or graph.num_edges > _MOST_DRAWN_EDGES:
        return None
    return _molecule_drawer(graph) if is_molecule(graph) else _digraph_drawer(graph)


def _molecule_drawer(graph: Graphs) -> _Draw:
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


def _digraph_drawer(graph: Graphs) -> _Draw:
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
