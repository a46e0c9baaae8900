"""One graph as SVG: arrows, labels, filled nodes."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from edgnn.graphs import Graphs

_Array = np.ndarray[Any, Any]
SCALE = 62
CHARACTER = 6.2
RADIUS = 15
MARGIN = 30
#: Colors that remain distinct in print and for most color-blind readers; more are spread over the hue circle.
PALETTE = (
    "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#bab0ac",
)  # fmt: skip


def fill(number: int) -> str:
    """Return the fill color of the ``number``-th class."""
    if number < len(PALETTE):
        return PALETTE[number]
    hue = (number * 137.508) % 360
    return f"hsl({hue:.0f},{45 + number % 3 * 15}%,{62 + number % 4 * 6}%)"


def panel(graph: Graphs, place: _Array, fills: Sequence[str], titles: Sequence[str]) -> tuple[str, float, float]:
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
    points = (place - place.min(axis=0)) * _scale(graph) + MARGIN if len(place) else np.zeros((0, 2))
    width, height = (points.max(axis=0) + MARGIN).tolist() if len(points) else (2 * MARGIN, 2 * MARGIN)
    parts = _edges(graph, points)
    named = graph.node_vocabulary.constant and graph.node_names is not None
    texts = graph.node_names.tolist() if named and graph.node_names is not None else graph.node_labels
    for (x, y), color, label, title in zip(points.tolist(), fills, texts, titles, strict=True):
        text = escape(_cut(short_iri("" if label is None else str(label)), 14))
        parts.append(
            f'<g><title>{escape(title)}</title><circle cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}" fill="{color}" class="node"/>'
            f'<text x="{x:.1f}" y="{y + (0 if len(text) <= 3 else RADIUS + 9):.1f}" dy=".35em" class="label">{text}</text></g>'
        )
    return "\n".join(parts), width, height


def _edges(graph: Graphs, points: _Array) -> list[str]:
    """Draw the edges between each pair of nodes: one plain line where each has its reverse, else bent arrows."""
    between: dict[tuple[int, int], list[tuple[int, int, Any]]] = defaultdict(list)
    for source, target, label in zip(graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_labels, strict=True):
        between[min(source, target), max(source, target)].append((source, target, label))
    parts = []
    for (first, second), edges in between.items():
        if first == second:
            parts += [_loop(points[first], label, turn) for turn, (_, _, label) in enumerate(edges)]
            continue
        lines = _paired(edges)
        for number, (source, target, label, arrow) in enumerate(lines):
            bend = (number - (len(lines) - 1) / 2) * 22 * (1 if source == first else -1)
            parts.append(_arc(points[source], points[target], label, bend, arrow))
    return parts


def _paired(edges: list[tuple[int, int, Any]]) -> list[tuple[int, int, Any, bool]]:
    """Merge an edge and its reverse of the same label into one line without an arrow."""
    waiting, lines = list(edges), []
    while waiting:
        source, target, label = waiting.pop(0)
        reverse = (target, source, label)
        if reverse in waiting:
            waiting.remove(reverse)
            lines.append((source, target, label, False))
        else:
            lines.append((source, target, label, True))
    return lines


def _arc(start: _Array, end: _Array, label: Any, bend: float, arrow: bool) -> str:
    direction = (end - start) / max(float(np.linalg.norm(end - start)), 1e-9)
    normal = np.array([-direction[1], direction[0]])
    middle = (start + end) / 2 + normal * bend
    gap = RADIUS + (3 if arrow else 0)
    a = start + _toward(start, middle) * RADIUS
    b = end + _toward(end, middle) * gap
    mark = ' marker-end="url(#arrow)"' if arrow else ""
    path = f'<path d="M{a[0]:.1f},{a[1]:.1f} Q{middle[0]:.1f},{middle[1]:.1f} {b[0]:.1f},{b[1]:.1f}" class="edge"{mark}/>'
    spot = (a + 2 * middle + b) / 4
    return path + _edge_label(spot, label)


def _loop(center: _Array, label: Any, turn: int) -> str:
    angle = -math.pi / 2 + turn * 0.9
    x, y = center
    left, right = angle - 0.5, angle + 0.5
    points = [
        (x + r * math.cos(a), y + r * math.sin(a)) for r, a in ((RADIUS, left), (44, left), (44, right), (RADIUS + 3, right))
    ]
    d = "M{:.1f},{:.1f} C{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}".format(*(value for point in points for value in point))
    spot = np.array([x + 40 * math.cos(angle), y + 40 * math.sin(angle)])
    return f'<path d="{d}" class="edge" marker-end="url(#arrow)"/>' + _edge_label(spot, label)


def short_iri(text: str) -> str:
    """Return text with every IRI in it shortened to the part that tells it from others."""
    return re.sub(r"<?[a-z][a-z0-9+.-]*://[^\s,;\]>]*?([^/#\s,;\]>]+)[/#]?>?(?=[\s,;\]]|$)", r"\1", text)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _scale(graph: Graphs) -> float:
    """Return the length of an edge that leaves room for its label."""
    longest = max((len(_cut(short_iri(str(value)), 14)) for value in graph.edge_vocabulary if value is not None), default=0)
    return max(SCALE, 2 * RADIUS + 14 + CHARACTER * longest)


def _toward(start: _Array, end: _Array) -> _Array:
    step: _Array = (end - start) / max(float(np.linalg.norm(end - start)), 1e-9)
    return step


def _edge_label(spot: _Array, label: Any) -> str:
    if label is None:
        return ""
    text = str(label)
    short = escape(_cut(short_iri(text), 14))
    return (
        f'<text x="{spot[0]:.1f}" y="{spot[1]:.1f}" dy=".35em" class="edge-label">{short}<title>{escape(text)}</title></text>'
    )
