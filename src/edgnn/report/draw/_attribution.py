"""A digraph with its nodes and edges shaded by what they contribute to a prediction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from edgnn._words import cut
from edgnn.errors import GraphError
from edgnn.explain import label_text, node_texts
from edgnn.graphs import Graphs
from edgnn.report.draw._digraph import (
    LONGEST_LABEL,
    MOST_LABELED,
    Name,
    Shown,
    draw_label,
    draw_line,
    draw_node,
    names_beside,
    strengths,
    strongest_part,
)
from edgnn.report.draw._layout import layout
from edgnn.report.draw._shade import Shade, clean, document, headed, scores_of, strongest
from edgnn.report.draw._svg import CHARACTER, edge_length, lines

_Array = np.ndarray[Any, Any]
_MARGIN, _ROW, _SCALE, _LEAST_WIDTH = 26, 18, 200, 300
_LEGEND_WIDTH, _MOST_ROWS, _AIR = 46, 10, 1.35
_LABEL_ROW = 'dy=".35em" class="label-row"'
_CIRCLE = '<circle cx="7" cy="8" r="8" fill="none" stroke="currentColor" stroke-opacity=".45"/>'
_ARROW = (
    '<path d="M-2,8 H12 M8,4 L13,8 L8,12" fill="none" stroke="currentColor" stroke-opacity=".6"/>'
)


def draw_attribution(
    graph: Graphs,
    node_score: Any,
    edge_score: Any,
    *,
    node: int | None = None,
    title: str | None = None,
    largest: int = 200,
    names: Sequence[str] | None = None,
    marked_nodes: Sequence[int] = (),
    marked_edges: Sequence[int] = (),
    like: Graphs | None = None,
) -> str:
    """Draw a digraph as SVG: what speaks for a prediction red, what speaks against blue (dashed).

    Parameters
    ----------
    graph : Graphs
        One graph; an edge and its reverse of the same label are one line without an arrow.
    node_score, edge_score : sequence of float
        Contribution of every node and edge; NaN is not shaded, ``None`` shades none.
    node : int, optional
        The node that is explained; it gets a ring.
    title : str, optional
        What stands above the picture.
    largest : int
        Of a graph with more nodes, so many are drawn: those that contribute most, with what
        connects them to ``node``.
    names : sequence of str, optional
        What to call every node; default: the literal that a relation such as ``name`` or ``label``
        leads to, else its own name.
    marked_nodes, marked_edges : sequence of int
        Nodes and edges to draw an outline around.
    like : Graphs, optional
        A graph of as many nodes, at most ``largest``, which then have the same places in both
        pictures.

    Returns
    -------
    str
        The picture, complete in itself and safe to stand in a page: no script, no link, no id.
        Names and labels are shortened; the whole of them, and the contributions, show under the
        pointer.

    Examples
    --------
    >>> from edgnn import Graphs
    >>> from edgnn.report.draw import draw_attribution
    >>> graph = Graphs.from_edges(
    ...     [(0, 1), (2, 1)],
    ...     node_labels=["paper", "person", "paper"],
    ...     edge_labels=["author", "editor"],
    ... )
    >>> draw_attribution(graph, [0.2, 0, -0.4], [0.7, -0.1], node=1)[:4]
    '<svg'
    """
    _check(graph, node, largest, names)
    shown = Shown(
        graph,
        scores_of(node_score, graph.num_nodes, "node"),
        scores_of(edge_score, graph.num_edges, "edge"),
        node_texts(graph) if names is None else list(map(str, names)),
        list(range(graph.num_nodes)),
        node,
        frozenset(map(int, marked_nodes)),
        frozenset(map(int, marked_edges)),
    )
    shade = Shade.over(shown.nodes, shown.edges)
    if graph.num_nodes > largest:
        strength = strengths(graph, shown.nodes, shown.edges)
        shown = shown.part(strongest_part(graph, strength, node, largest))
    points = _points(shown, like)
    points, beside, (width, top) = _framed(points, names_beside(shown, points))
    drawn = lines(shown.graph)
    parts = []
    for line in drawn:
        parts += draw_line(line, shown, points, shade)
    for line in drawn:
        parts += draw_label(line, shown, points)
    for number in range(len(points)):
        parts += draw_node(number, shown, points, shade)
    parts += [name.svg() for name in beside]
    for note in _notes(shown, graph.num_nodes):
        parts.append(_line_of_text(_MARGIN, top + 8, note, 'fill-opacity=".8" class="remark"'))
        top += _ROW
    rows = _legend(shown)
    for number, row in enumerate(rows):
        shift = f"translate({_MARGIN},{top + 6 + number * _ROW:.1f})"
        parts.append(f'<g transform="{shift}">{row}</g>')
    top += len(rows) * _ROW + 8
    if shade.largest:
        parts += shade.legend(_MARGIN, top + 4, _SCALE)
        top += 38
    width = max(width, _LEAST_WIDTH, _LEGEND_WIDTH * CHARACTER + 60 if rows else 0)
    parts, above = headed(parts, title, width)
    name = title or f"graph of {graph.num_nodes:,} nodes and {graph.num_edges:,} edges"
    return document(parts, width, top + 6 + above, name, _about(shown))


def _check(graph: Graphs, node: int | None, largest: int, names: Sequence[str] | None) -> None:
    if len(graph) != 1:
        raise GraphError(f"a drawing shows one graph, not {len(graph)}; choose one: graphs[0]")
    if node is not None and not 0 <= node < graph.num_nodes:
        raise GraphError(
            f"node {node} is to be ringed, but the graph has {graph.num_nodes} nodes, "
            "numbered from 0"
        )
    if largest < 1:
        raise GraphError(f"largest={largest}: at least one node must be drawn")
    if names is not None and len(names) != graph.num_nodes:
        raise GraphError(f"{len(names)} names were given for {graph.num_nodes} nodes")


def _points(shown: Shown, like: Graphs | None) -> _Array:
    """Return where the nodes are, or those of a graph of as many nodes."""
    graph = shown.graph
    if not graph.num_nodes:
        return np.zeros((0, 2))
    same = like if like is not None and like.num_nodes == graph.num_nodes else graph
    place = layout(same)
    longer = _AIR if graph.num_edges <= MOST_LABELED else 1.0
    points: _Array = (place - place.min(axis=0)) * edge_length(graph) * longer
    return points


def _framed(points: _Array, names: list[Name]) -> tuple[_Array, list[Name], tuple[float, float]]:
    """Move everything so that also names at the sides are inside, and return the size."""
    across, down = points.max(axis=0).tolist() if len(points) else (2.0 * _MARGIN, 2.0 * _MARGIN)
    left = min([0.0, *(name.ends[0] for name in names)])
    right = max([across, *(name.ends[1] for name in names)])
    margin, top = _MARGIN + 4, _MARGIN + 6
    shift = np.array([margin - left, top])
    moved = [Name(name.x + shift[0], name.y + shift[1], name.text, name.anchor) for name in names]
    return points + shift, moved, (right - left + 2 * margin, down + top + _MARGIN + 14)


def _notes(shown: Shown, nodes: int) -> list[str]:
    """Return what the picture leaves out."""
    notes = []
    if shown.graph.num_nodes < nodes:
        joined = "" if shown.node is None else ", and what joins them to the ringed node"
        drawn = f"{shown.graph.num_nodes} of {nodes:,} nodes"
        notes.append(f"{drawn}: those that contribute most{joined}")
    if not shown.graph.edge_vocabulary.constant and shown.graph.num_edges > MOST_LABELED:
        notes.append("too many edges to write their labels: they show under the pointer")
    return notes


def _legend(shown: Shown) -> list[str]:
    """Return what the codes of nodes and the labels of edges stand for, most frequent first."""
    rows: list[str] = []
    if shown.codes:
        rows += _rows(shown.labels, "node", shown.codes)
    labels = shown.graph.edge_labels
    if any(len(label_text(label)) > LONGEST_LABEL for label in set(labels)):
        rows += _rows(labels, "edge", {})
    return rows


def _rows(labels: list[Any], kind: str, codes: dict[Any, str]) -> list[str]:
    """Return a row per label: its sign, its text, how often it occurs."""
    rows = []
    counts = Counter(labels).most_common()
    for label, count in counts[:_MOST_ROWS]:
        sign = _ARROW
        if codes:
            code = clean(codes[label])
            text = '<text x="7" y="8" dy=".35em" font-size="9" text-anchor="middle">'
            sign = f"{_CIRCLE}{text}{code}</text>"
        short = clean(f"{cut(label_text(label), _LEGEND_WIDTH)} ×{count}")
        whole = clean("" if label is None else str(label))
        words = _line_of_text(24, 8, f"{short}<title>{whole}</title>", _LABEL_ROW)
        rows.append(f"{sign}{words}")
    if len(counts) > _MOST_ROWS:
        more = f"and {len(counts) - _MOST_ROWS} more {kind} labels"
        rows.append(_line_of_text(24, 8, more, 'dy=".35em"'))
    return rows


def _line_of_text(x: float, y: float, content: str, paint: str) -> str:
    return f'<text x="{x}" y="{y:.1f}" font-size="11" {paint}>{content}</text>'


def _about(shown: Shown) -> str:
    """Return what contributes most, for readers who do not see the picture."""
    nodes = "; ".join(shown.node_title(node) for node in strongest(shown.nodes))
    size = f"A graph of {shown.graph.num_nodes} nodes and {shown.graph.num_edges} edges."
    return f"{size} The strongest contributions of nodes: {nodes}." if nodes else size
