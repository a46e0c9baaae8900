"""One graph as SVG: arrows, labels, filled nodes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from edgnn._words import cut, short_iri
from edgnn.graphs import Graphs

_Array = np.ndarray[Any, Any]
SCALE = 62
CHARACTER = 6.2
RADIUS = 15
MARGIN = 30
#: Colors that remain distinct in print and for most color-blind readers; more are spread over the
#: hue circle.
PALETTE = (
    "#4e79a7",
    "#f28e2b",
    "#59a14f",
    "#e15759",
    "#76b7b2",
    "#edc948",
    "#b07aa1",
    "#ff9da7",
    "#9c755f",
    "#bab0ac",
)


def arrow(color: str) -> str:
    """Return the tip of arrows that lines name by ``url(#arrow)``."""
    return (
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto-start-reverse">'
        f'<path d="M0,0 L8,4 L0,8 z" fill="{color}"/></marker></defs>'
    )


class Fills:
    """Fills of colors: a number keeps its fill from round to round."""

    def __init__(self) -> None:
        self._order: dict[int, int] = {}

    def of(self, colors: Sequence[int]) -> list[str]:
        """Return the fill of each color."""
        return [fill(self._order.setdefault(color, len(self._order))) for color in colors]


def fill(number: int) -> str:
    """Return the fill color of the ``number``-th class."""
    if number < len(PALETTE):
        return PALETTE[number]
    hue = (number * 137.508) % 360
    return f"hsl({hue:.0f},{45 + number % 3 * 15}%,{62 + number % 4 * 6}%)"


def panel(
    graph: Graphs, place: _Array, fills: Sequence[str], titles: Sequence[str]
) -> tuple[str, float, float]:
    """Return the SVG elements of one graph, its width and its height.

    Parameters
    ----------
    graph : Graphs
        A single graph.
    place : array
        Positions from :func:`layout`.
    fills, titles : sequence of str
        Color and hover text of every node.
    """
    if not len(place):
        return "", 2 * MARGIN, 2 * MARGIN
    points = (place - place.min(axis=0)) * edge_length(graph) + MARGIN
    width, height = (points.max(axis=0) + MARGIN).tolist()
    parts = []
    for line in lines(graph):
        drawn, mark = curve(line, points), ' marker-end="url(#arrow)"' if line.arrow else ""
        parts.append(f'<path d="{drawn.path}" class="edge"{mark}/>{_edge_label(drawn.spot, line)}')
    texts = graph.node_labels
    if graph.node_vocabulary.constant and graph.node_names is not None:
        texts = graph.node_names.tolist()
    for (x, y), color, label, title in zip(points.tolist(), fills, texts, titles, strict=True):
        text = _short(label)
        below = 0 if len(text) <= 3 else RADIUS + 9
        circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}" fill="{color}" class="node"/>'
        name = f'<text x="{x:.1f}" y="{y + below:.1f}" dy=".35em" class="label">{text}</text>'
        parts.append(f"<g><title>{escape(title)}</title>{circle}{name}</g>")
    return "\n".join(parts), width, height


def _short(label: Any) -> str:
    return "" if label is None else escape(cut(short_iri(str(label)), 14))


@dataclass(frozen=True)
class Line:
    """One line of a drawing: an edge, or an edge and its reverse of the same label.

    Parameters
    ----------
    edges : tuple of int
        The edges it stands for.
    source, target : int
        Nodes it joins.
    label : object
        The users' own label.
    arrow : bool
        Whether it has a direction.
    bend : float
        How far it is bent, so that lines between the same nodes stay apart; of a loop, its number
        at its node.
    """

    edges: tuple[int, ...]
    source: int
    target: int
    label: Any
    arrow: bool
    bend: float


@dataclass(frozen=True)
class Curve:
    """Where a line goes: its path, the spot of its label, its tip, and the point before that."""

    path: str
    spot: _Array
    tip: _Array
    before: _Array


def lines(graph: Graphs) -> list[Line]:
    """Return the lines between pairs of nodes: plain where each has its reverse, else arrows."""
    between: dict[tuple[int, int], list[tuple[int, int, int, Any]]] = defaultdict(list)
    ends = zip(
        graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_labels, strict=True
    )
    for edge, (source, target, label) in enumerate(ends):
        between[min(source, target), max(source, target)].append((edge, source, target, label))
    joined = []
    for (first, second), edges in between.items():
        if first == second:
            joined += [
                Line((edge,), first, first, label, True, turn)
                for turn, (edge, _, _, label) in enumerate(edges)
            ]
            continue
        pairs = _paired(edges)
        for number, (members, source, target, label) in enumerate(pairs):
            bend = (number - (len(pairs) - 1) / 2) * 22 * (1 if source == first else -1)
            joined.append(Line(members, source, target, label, len(members) == 1, bend))
    return joined


def _paired(edges: list[tuple[int, int, int, Any]]) -> list[tuple[tuple[int, ...], int, int, Any]]:
    """Merge an edge and its reverse of the same label."""
    waiting, merged = list(edges), []
    while waiting:
        edge, source, target, label = waiting.pop(0)
        reverse = next(
            (place for place, other in enumerate(waiting) if other[1:] == (target, source, label)),
            None,
        )
        members: tuple[int, ...] = (edge,) if reverse is None else (edge, waiting.pop(reverse)[0])
        merged.append((members, source, target, label))
    return merged


def curve(line: Line, points: _Array, gap: float = 3) -> Curve:
    """Return where a line goes; an arrow ends ``gap`` before the node."""
    if line.source == line.target:
        return _loop(points[line.source], line.bend, gap)
    return _arc(line, points, gap)


def _arc(line: Line, points: _Array, gap: float) -> Curve:
    start, end = points[line.source], points[line.target]
    direction = (end - start) / max(float(np.linalg.norm(end - start)), 1e-9)
    normal = np.array([-direction[1], direction[0]])
    middle = (start + end) / 2 + normal * line.bend
    a = start + _toward(start, middle) * RADIUS
    b = end + _toward(end, middle) * (RADIUS + (gap if line.arrow else 0))
    path = f"M{a[0]:.1f},{a[1]:.1f} Q{middle[0]:.1f},{middle[1]:.1f} {b[0]:.1f},{b[1]:.1f}"
    return Curve(path, (a + 2 * middle + b) / 4, b, middle)


def _loop(center: _Array, turn: float, gap: float) -> Curve:
    angle = -math.pi / 2 + turn * 0.9
    x, y = center
    left, right = angle - 0.5, angle + 0.5
    points = [
        (x + r * math.cos(a), y + r * math.sin(a))
        for r, a in ((RADIUS, left), (44, left), (44, right), (RADIUS + gap, right))
    ]
    path = "M{:.1f},{:.1f} C{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}".format(
        *(value for point in points for value in point)
    )
    spot = np.array([x + 40 * math.cos(angle), y + 40 * math.sin(angle)])
    return Curve(path, spot, np.array(points[3]), np.array(points[2]))


def edge_length(graph: Graphs) -> float:
    """Return the length of an edge that leaves room for its label."""
    labels = [value for value in graph.edge_vocabulary if value is not None]
    longest = max((len(cut(short_iri(str(value)), 14)) for value in labels), default=0)
    return max(SCALE, 2 * RADIUS + 14 + CHARACTER * longest)


def _toward(start: _Array, end: _Array) -> _Array:
    step: _Array = (end - start) / max(float(np.linalg.norm(end - start)), 1e-9)
    return step


def _edge_label(spot: _Array, line: Line) -> str:
    if line.label is None:
        return ""
    place = f'x="{spot[0]:.1f}" y="{spot[1]:.1f}" dy=".35em" class="edge-label"'
    title = f"<title>{escape(str(line.label))}</title>"
    return f"<text {place}>{_short(line.label)}{title}</text>"
