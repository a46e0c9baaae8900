"""The nodes, lines and names of a digraph whose parts are shaded."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from edgnn._words import cut
from edgnn.explain import label_text
from edgnn.graphs import Graphs
from edgnn.report.draw._shade import (
    AGAINST,
    DASHES,
    FOR,
    GROUND,
    Shade,
    clean,
    signed,
    stronger,
)
from edgnn.report.draw._svg import CHARACTER, RADIUS, Line, curve

_Array = np.ndarray[Any, Any]
LONGEST_LABEL, MOST_LABELED = 14, 90
_LONGEST_NAME = 22
_GROUND = f'stroke="{GROUND}" style="stroke:var(--ground,{GROUND})"'
_HALO = f'{_GROUND} stroke-width="3" paint-order="stroke" stroke-linejoin="round"'


@dataclass(frozen=True, eq=False)
class Shown:
    """What is drawn: a graph or a part of one, with what belongs to its nodes and edges."""

    graph: Graphs
    nodes: _Array
    edges: _Array
    texts: list[str]
    numbers: list[int]
    node: int | None
    rings: frozenset[int]
    outlined: frozenset[int]

    @cached_property
    def labels(self) -> list[Any]:
        """The users' own label of every node."""
        return self.graph.node_labels

    @cached_property
    def degrees(self) -> _Array:
        """How many ends of edges every node has."""
        ends = np.concatenate(
            [self.graph.edge_source.cpu().numpy(), self.graph.edge_target.cpu().numpy()]
        )
        return np.bincount(ends, minlength=self.graph.num_nodes)

    @cached_property
    def codes(self) -> dict[Any, str]:
        """What stands in the circles for every node label; nothing where nodes have none."""
        if self.graph.node_vocabulary.constant:
            return {}
        return codes(list(dict.fromkeys(self.labels)))

    def part(self, chosen: list[int]) -> Shown:
        """Return the part on some of the nodes."""
        ends = (self.graph.edge_source.cpu().numpy(), self.graph.edge_target.cpu().numpy())
        kept = np.flatnonzero(np.isin(ends[0], chosen) & np.isin(ends[1], chosen))
        place = {old: new for new, old in enumerate(chosen)}
        edge_place = {old: new for new, old in enumerate(kept.tolist())}
        return Shown(
            self.graph.induced(chosen),
            self.nodes[chosen],
            self.edges[kept],
            [self.texts[old] for old in chosen],
            [self.numbers[old] for old in chosen],
            None if self.node is None else place[self.node],
            frozenset(place[old] for old in self.rings & place.keys()),
            frozenset(edge_place[old] for old in self.outlined & edge_place.keys()),
        )

    def node_title(self, number: int) -> str:
        """Return all that is known of a node: how it is called, its label, what it contributes."""
        names, label, text = self.graph.node_names, self.labels[number], self.texts[number]
        title = f"node {self.numbers[number]}" if names is None else str(names[number])
        if text and text not in title:
            title = f"{text} ({title})"
        if label is not None:
            title += f", {label_text(label)}"
        return _with_score(title, self.nodes[number])

    def score(self, line: Line) -> float:
        """Return the contribution of a line: the stronger one where it stands for two edges."""
        return stronger(*self.edges[list(line.edges)].tolist())

    def line_title(self, line: Line) -> str:
        """Return all that is known of a line: its label, what it joins, what it contributes."""
        source, target = (
            self.texts[end] or f"node {self.numbers[end]}" for end in (line.source, line.target)
        )
        title = f"{source} {'→' if line.arrow else '–'} {target}"
        if line.label is not None:
            title = f"{line.label}, {title}"
        return _with_score(title, self.score(line))


def _with_score(title: str, score: float) -> str:
    return title if math.isnan(score) else f"{title}: {signed(score)}"


@dataclass(frozen=True)
class Name:
    """A text beside a node."""

    x: float
    y: float
    text: str
    anchor: str

    @property
    def ends(self) -> tuple[float, float]:
        """Where it begins and ends, from left to right."""
        width = len(self.text) * CHARACTER
        start = self.x - {"start": 0.0, "middle": width / 2, "end": width}[self.anchor]
        return start, start + width

    def svg(self) -> str:
        """Return the element."""
        place = f'x="{self.x:.1f}" y="{self.y:.1f}" dy=".35em" text-anchor="{self.anchor}"'
        paint = f'font-size="11" class="name" pointer-events="none" {_HALO}'
        return f"<text {place} {paint}>{clean(self.text)}</text>"


def names_beside(shown: Shown, points: _Array) -> list[Name]:
    """Return the texts beside the nodes, on the side that is away from their neighbors."""
    middle, count = np.zeros_like(points), np.zeros(len(points))
    ends = (shown.graph.edge_source.cpu().numpy(), shown.graph.edge_target.cpu().numpy())
    for one, other in (ends, ends[::-1]):
        np.add.at(middle, one, points[other])
        np.add.at(count, one, 1)
    away = points - middle / np.maximum(count, 1)[:, None]
    away[count == 0] = (0.0, 1.0)
    names = []
    for (x, y), (right, down), text in zip(
        points.tolist(), away.tolist(), shown.texts, strict=True
    ):
        length, short = math.hypot(right, down), cut(text, _LONGEST_NAME)
        if not text:
            continue
        if length <= 1 or abs(right) <= 0.4 * length:
            below = math.copysign(RADIUS + 9, 1 if down >= 0 else -1)
            names.append(Name(x, y + below, short, "middle"))
        elif right > 0:
            names.append(Name(x + RADIUS + 5, y, short, "start"))
        else:
            names.append(Name(x - RADIUS - 5, y, short, "end"))
    return names


def draw_line(line: Line, shown: Shown, points: _Array, shade: Shade) -> list[str]:
    """Return a line and its tip."""
    score = shown.score(line)
    strength = shade.strength(score)
    width, drawn = 1.3 + 3.7 * strength, curve(line, points, gap=4)
    color, opacity, dashes = "currentColor", 0.4, ""
    if shade.opacity(score):
        color, opacity = FOR if score > 0 else AGAINST, 0.35 + 0.65 * strength
    if color == AGAINST:
        dashes = f' stroke-dasharray="{DASHES}"'
    path, parts = f'<path d="{drawn.path}" fill="none"', []
    if shown.outlined.intersection(line.edges):
        parts.append(f'{path} stroke="currentColor" stroke-width="{width + 6:.1f}" class="mark"/>')
        parts.append(f'{path} {_GROUND} stroke-width="{width + 3:.1f}"/>')
    paint = f'stroke="{color}" stroke-opacity="{opacity:.2f}" stroke-width="{width:.1f}"{dashes}'
    title = f"<title>{clean(shown.line_title(line))}</title>"
    parts.append(f'{path} class="edge" {paint}>{title}</path>')
    if line.arrow:
        filled = f'fill="{color}" fill-opacity="{opacity:.2f}"'
        parts.append(_tip(drawn.tip, drawn.before, 5 + 1.5 * width, filled))
    return parts


def draw_label(line: Line, shown: Shown, points: _Array) -> list[str]:
    """Return the label of a line; nothing where there are so many that none could be read."""
    if line.label is None or shown.graph.num_edges > MOST_LABELED:
        return []
    spot = curve(line, points, gap=4).spot
    few, many = sorted((line.source, line.target), key=lambda end: int(shown.degrees[end]))
    if shown.degrees[many] > shown.degrees[few] + 2:
        spot = spot + 0.3 * (points[few] - spot)  # away from where many lines meet
    text = clean(cut(label_text(line.label), LONGEST_LABEL))
    place = f'x="{spot[0]:.1f}" y="{spot[1]:.1f}" dy=".35em" font-size="10" text-anchor="middle"'
    title = f"<title>{clean(shown.line_title(line))}</title>"
    return [f'<text {place} class="edge-label" {_HALO}>{text}{title}</text>']


def _tip(tip: _Array, before: _Array, size: float, paint: str) -> str:
    along = (tip - before) / max(float(np.linalg.norm(tip - before)), 1e-9)
    across = np.array([-along[1], along[0]]) * size * 0.5
    back = tip - along * (size - 4)
    corners = (tip + along * 4, back + across, back - across)
    return f'<path d="M{" L".join(f"{x:.1f},{y:.1f}" for x, y in corners)}Z" class="tip" {paint}/>'


def draw_node(number: int, shown: Shown, points: _Array, shade: Shade) -> list[str]:
    """Return a node: a circle with the code of its label, rings around it if it is special."""
    x, y = points[number]
    circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r='
    ground = f'fill="{GROUND}" style="fill:var(--ground,{GROUND})"'
    ring = 'fill="none" stroke="currentColor" stroke-width='
    parts = [
        f"<g><title>{clean(shown.node_title(number))}</title>",
        f'{circle}"{RADIUS}" {ground} stroke="currentColor" stroke-opacity=".45" class="node"/>',
    ]
    if shade.opacity(shown.nodes[number]):
        parts.append(f'{circle}"{RADIUS}" class="shade" {shade.halo(shown.nodes[number])}/>')
    if number == shown.node:
        parts.append(f'{circle}"{RADIUS + 4}" {ring}"2" class="explained"/>')
    if number in shown.rings:
        parts.append(f'{circle}"{RADIUS + 2.5}" {ring}"1.6" class="mark"/>')
    if shown.codes:
        place = f'x="{x:.1f}" y="{y:.1f}" dy=".35em" text-anchor="middle" font-size="11"'
        parts.append(f"<text {place}>{clean(shown.codes[shown.labels[number]])}</text>")
    return [*parts, "</g>"]


def codes(labels: Sequence[Any]) -> dict[Any, str]:
    """Return at most three characters for each label, different ones for different labels."""
    code_of: dict[Any, str] = {}
    taken = {""}
    for label in labels:
        text = label_text(label)
        letters = re.sub(r"\W", "", text) or text.strip()
        tries = [text] if len(text) <= 3 else [letters[:1], letters[:2], letters[:3]]
        tries += map(str, range(1, len(labels) + 1))
        code_of[label] = next(code for code in tries if code not in taken)
        taken.add(code_of[label])
    return code_of


# The part of a large graph that is worth drawing: what contributes most, and what connects it


def strengths(graph: Graphs, nodes: _Array, edges: _Array) -> _Array:
    """Return how much each node matters: its contribution, or a stronger one of an edge at it."""
    strength: _Array = np.abs(np.nan_to_num(nodes))
    known = np.abs(np.nan_to_num(edges))
    for ends in (graph.edge_source, graph.edge_target):
        np.maximum.at(strength, ends.cpu().numpy(), known)
    return strength


def strongest_part(graph: Graphs, strength: _Array, root: int | None, most: int) -> list[int]:
    """Return at most ``most`` nodes: the strongest, each with a shortest path to ``root``.

    Without a root, that is the strongest node; nodes that no path leads to come last.
    """
    order = np.argsort(-strength, kind="stable").tolist()
    start = order[0] if root is None else root
    parent = _parents(graph, strength, start)
    chosen = {start}
    for node in sorted(order, key=lambda node: node not in parent):
        path = []
        while node not in chosen:
            path.append(node)
            if node not in parent:
                break
            node = parent[node]
        if len(chosen) + len(path) <= most:
            chosen.update(path)
        if len(chosen) == most:
            break
    return sorted(chosen)


def _parents(graph: Graphs, strength: _Array, root: int) -> dict[int, int]:
    """Return the next node on a shortest path to the root, over the strongest nodes."""
    near: list[list[int]] = [[] for _ in range(graph.num_nodes)]
    for source, target in zip(graph.edge_source.tolist(), graph.edge_target.tolist(), strict=True):
        near[source].append(target)
        near[target].append(source)
    parent, waiting = {root: root}, deque([root])
    while waiting:
        layer = sorted(waiting, key=lambda node: (-strength[node], node))
        waiting.clear()
        for node in layer:
            for other in near[node]:
                if other not in parent:
                    parent[other] = node
                    waiting.append(other)
    return parent
