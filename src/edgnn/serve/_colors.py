"""The colors of a graph round by round, drawn and in words, with those that the training data has not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from edgnn._words import short_iri
from edgnn.errors import GraphError
from edgnn.graphs import Graphs, Nodes
from edgnn.report.draw import (
    MARGIN,
    clean,
    edge_length,
    fill,
    is_molecule,
    layout,
    node_texts,
    panel,
    skeleton,
)
from edgnn.wl import Coloring

if TYPE_CHECKING:
    from edgnn.serve._model import Served

_Array = np.ndarray[Any, Any]
_LARGEST, _LARGEST_AROUND, _MOST_DRAWN_EDGES = 150, 40, 1_000
_LEGEND = 40
_BESIDE = 34  # room for names at the border
_STYLE = (
    ".node{stroke:currentColor;stroke-opacity:.55;stroke-width:1}.edge{fill:none;stroke:#8a929b;stroke-width:1.4}"
    ".label{font:12px sans-serif;text-anchor:middle;fill:currentColor}"
    ".edge-label{font:10px sans-serif;fill:#8a929b;text-anchor:middle}"
    ".new{fill:none;stroke:#c8442f;stroke-width:2.6;stroke-dasharray:4 3}.own{fill:none;stroke:currentColor;stroke-width:2.4}"
)
_ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
    '<path d="M0,0 L8,4 L0,8 z" fill="#8a929b"/></marker></defs>'
)


def color_rounds(served: Served, item: Graphs | Nodes, rounds: int | None) -> list[dict[str, Any]]:
    """Return one entry per round, ready for JSON.

    Parameters
    ----------
    served : Served
        The model, whose layers say how many rounds, and which colors it has seen.
    item : Graphs or Nodes
        One graph, or one node.
    rounds : int, optional
        How many rounds.
    """
    last = served.layers if rounds is None else rounds
    graphs = item.graphs if isinstance(item, Nodes) else item
    if not graphs.num_nodes:
        raise GraphError("the graph has no nodes, so there is nothing to color")
    coloring = served.coloring(graphs, last)
    familiar = served.estimator.familiarity(item)
    known = [] if familiar is None else list(familiar.known)
    if isinstance(item, Nodes):
        return _of_node(coloring, item, known, served.texts(item.graphs))
    return _of_graph(coloring, item, known)


def _of_graph(coloring: Coloring, graph: Graphs, known: list[_Array]) -> list[dict[str, Any]]:
    draw = (
        _drawer(graph)
        if graph.num_nodes <= _LARGEST and graph.num_edges <= _MOST_DRAWN_EDGES
        else None
    )
    numbers: dict[int, int] = {}
    found: list[dict[str, Any]] = []
    for round in range(coloring.rounds + 1):
        colors = coloring.at(round).tolist()
        seen = known[round].tolist() if round < len(known) else None
        fills = [fill(numbers.setdefault(color, len(numbers))) for color in colors]
        legend = _legend(coloring, round, colors, fills, seen)
        words = {entry["number"]: entry["meaning"] for entry in legend}
        titles = [
            _title(words.get(color, f"color {color}"), seen, place)
            for place, color in enumerate(colors)
        ]
        strange = [] if seen is None else [place for place, one in enumerate(seen) if not one]
        found.append(
            {
                "round": round,
                "colors": len(set(colors)),
                "seen": None if seen is None else all(seen),
                "new_nodes": None if seen is None else len(strange),
                "meaning": None,
                "legend": [
                    {name: value for name, value in entry.items() if name != "number"}
                    for entry in legend[:_LEGEND]
                ],
                "picture": None if draw is None else draw(fills, titles, strange, None),
            }
        )
    return found


def _of_node(
    coloring: Coloring, item: Nodes, known: list[_Array], texts: Sequence[str]
) -> list[dict[str, Any]]:
    node = int(item.index[0])
    around = _around(item.graphs, node)
    place = int((around == node).nonzero()[0])
    part = item.graphs.induced(around)
    part = part[int(torch.searchsorted(item.graphs.graph_offset, node, right=True)) - 1]
    called = [texts[number] for number in around.tolist()] if texts else node_texts(part)
    drawn = 1 < part.num_nodes <= _LARGEST_AROUND and part.num_edges <= _MOST_DRAWN_EDGES
    draw = _digraph_drawer(_renamed(part, called)) if drawn else None
    numbers: dict[int, int] = {}
    found: list[dict[str, Any]] = []
    for round in range(coloring.rounds + 1):
        colors = coloring.at(round)
        own, shown = int(colors[node]), colors[around].tolist()
        seen = bool(known[round][0]) if round < len(known) else None
        meaning = short_iri(coloring.meaning(own, round, size=600).text)
        fills = [fill(numbers.setdefault(color, len(numbers))) for color in shown]
        strange = [place] if seen is False else []
        found.append(
            {
                "round": round,
                "colors": len(set(shown)),
                "seen": seen,
                "new_nodes": None,
                "meaning": meaning,
                "legend": [],
                "picture": None if draw is None else draw(fills, _names(part), strange, place),
            }
        )
    return found


def _around(graphs: Graphs, node: int) -> torch.Tensor:
    """Return the numbers of a node and its neighbors, in order."""
    touching = (graphs.edge_source == node) | (graphs.edge_target == node)
    ends = torch.cat(
        [graphs.edge_source[touching], graphs.edge_target[touching], torch.tensor([node])]
    )
    return torch.from_numpy(np.unique(ends.numpy()))


def _renamed(graph: Graphs, texts: list[str]) -> Graphs:
    """Return the graph with what people call its nodes in the place of names and labels."""
    names = np.empty(graph.num_nodes, dtype=object)
    names[:] = [text or str(place) for place, text in enumerate(texts)]
    return graph.with_node_labels(names.tolist())


def _names(graph: Graphs) -> list[str]:
    names = graph.node_labels if graph.node_names is None else graph.node_names.tolist()
    return [str(name) for name in names]


def _legend(
    coloring: Coloring, round: int, colors: list[int], fills: list[str], seen: list[bool] | None
) -> list[dict[str, Any]]:
    first: dict[int, int] = {}
    counts: dict[int, int] = {}
    for place, color in enumerate(colors):
        first.setdefault(color, place)
        counts[color] = counts.get(color, 0) + 1
    order = sorted(counts, key=lambda color: (-counts[color], first[color]))
    return [
        {
            "number": color,
            "fill": fills[first[color]],
            "count": counts[color],
            "meaning": short_iri(coloring.meaning(color, round, size=200).text),
            "seen": None if seen is None else seen[first[color]],
        }
        for color in order[: _LARGEST + 1]
    ]


def _title(words: str, seen: list[bool] | None, place: int) -> str:
    return words if seen is None or seen[place] else f"{words}; never seen in training"


def _drawer(graph: Graphs) -> Any:
    """Return what draws the graph with given fills; the places of its nodes are found once."""
    return _molecule_drawer(graph) if is_molecule(graph) else _digraph_drawer(graph)


def _molecule_drawer(graph: Graphs) -> Any:
    lines, places, width, height = skeleton(graph)

    def draw(fills: list[str], titles: list[str], strange: list[int], own: int | None) -> str:
        disks = [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="11" fill="{color}" fill-opacity=".75"/>'
            for (x, y), color in zip(places.tolist(), fills, strict=True)
        ]
        hovers = [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="13" fill="transparent"><title>{clean(title)}</title></circle>'
            for (x, y), title in zip(places.tolist(), titles, strict=True)
        ]
        return _picture(
            [*disks, lines, *_rings(places, strange, "new", 14), *hovers],
            width + 32,
            height + 32,
            16,
            16,
        )

    return draw


def _digraph_drawer(graph: Graphs) -> Any:
    place = layout(graph)
    points = (place - place.min(axis=0)) * edge_length(graph) + MARGIN

    def draw(fills: list[str], titles: list[str], strange: list[int], own: int | None) -> str:
        inside, width, height = panel(graph, place, fills, titles)
        rings = _rings(points, [] if own is None else [own], "own", 19) + _rings(
            points, strange, "new", 22
        )
        return _picture([_ARROW, inside, *rings], width + 2 * _BESIDE, height + 40, _BESIDE, 20)

    return draw


def _rings(points: _Array, places: list[int], kind: str, radius: float) -> list[str]:
    return [
        f'<circle cx="{points[place][0]:.1f}" cy="{points[place][1]:.1f}" r="{radius}" class="{kind}"/>'
        for place in places
    ]


def _picture(parts: list[str], width: float, height: float, right: float, down: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img"><style>{_STYLE}</style>'
        f'<g transform="translate({right},{down})">{"".join(parts)}</g></svg>'
    )
