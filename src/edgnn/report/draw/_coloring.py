"""A refinement round by round: the graph with nodes filled by color, and what each color means."""

from __future__ import annotations

from collections import Counter
from html import escape

from edgnn._words import counted, cut, short_iri
from edgnn.errors import GraphError
from edgnn.report._page import render
from edgnn.report.draw._layout import layout
from edgnn.report.draw._svg import MARGIN, Fills, arrow, panel
from edgnn.wl import Coloring

LARGEST = 200
_MOST_PANELS = 8
_LEGEND_LINES = 12
_LEGEND_WIDTH = 62
_LINE = 17

_STYLE = """
.node{stroke:#333;stroke-width:1.2}.edge{fill:none;stroke:#777;stroke-width:1.4}
.label{font:12px sans-serif;text-anchor:middle}
.edge-label{font:10px sans-serif;fill:#555;text-anchor:middle}
.edge-label{paint-order:stroke;stroke:#fff;stroke-width:3px}
.title{font:bold 14px sans-serif}.legend{font:11px sans-serif}
"""
_ARROW = arrow("#777")


def draw_coloring(coloring: Coloring, graph: int = 0) -> str:
    """Draw the refinement of one graph as an SVG document, a panel for each of at most 8 rounds.

    Parameters
    ----------
    coloring : Coloring
        From :func:`edgnn.wl.refine`; a color has the same fill in every panel in which it keeps its
        number.
    graph : int
        Which of the refined graphs.
    """
    panels, width, height = _panels(coloring, graph)
    across = width * len(panels)
    parts = [
        f'<g transform="translate({number * width:.0f},0)">{text}</g>'
        for number, text in enumerate(panels)
    ]
    size = f'width="{across:.0f}" height="{height:.0f}" viewBox="0 0 {across:.0f} {height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{_STYLE}</style>{_ARROW}'
    ground = '<rect width="100%" height="100%" fill="#fff"/>'
    return "\n".join([head + ground, *parts, "</svg>\n"])


def coloring_page(coloring: Coloring, graph: int = 0) -> str:
    """Return a self-contained HTML page that steps through the rounds, at most 8."""
    panels, width, height = _panels(coloring, graph)
    return render(
        "coloring.html",
        style=_STYLE,
        arrow=_ARROW,
        scheme=coloring.scheme,
        colors=coloring.num_colors(),
        rounds=coloring.rounds,
        panels=panels,
        width=f"{width:.0f}",
        height=f"{height:.0f}",
    )


def _panels(coloring: Coloring, graph: int) -> tuple[list[str], float, float]:
    """Return the drawn rounds and the width and height they share."""
    one = coloring.graphs[graph]
    if one.num_nodes > LARGEST:
        raise GraphError(
            f"graph {graph} has {one.num_nodes} nodes; drawings stay readable up to {LARGEST}"
        )
    start = int(coloring.graphs.graph_offset[graph % len(coloring.graphs)])
    place = layout(one)
    round_fills = Fills()
    panels, widths, heights = [], [], []
    for round in range(min(coloring.rounds + 1, _MOST_PANELS)):
        colors = coloring.at(round)[start : start + one.num_nodes].tolist()
        counts = Counter(colors)
        meanings = {color: coloring.meaning(color, round, size=160).text for color in counts}
        fills = round_fills.of(colors)
        titles = [f"color {color}: {meanings[color]}" for color in colors]
        picture, width, height = panel(one, place, fills, titles)
        words = f"round {round}: {counted(len(counts), 'color')}"
        title = f'<text x="{MARGIN / 2}" y="18" class="title">{words}</text>'
        legend = _legend(counts, meanings, dict(zip(colors, fills, strict=True)), height + 34)
        panels.append(f'{title}<g transform="translate(0,22)">{picture}</g>{"".join(legend)}')
        widths.append(max(width, 7 + _LEGEND_WIDTH * 6.1))
        heights.append(height + 44 + len(legend) * _LINE)
    return panels, max(widths) + 10, max(heights)


def _legend(
    counts: dict[int, int], meanings: dict[int, str], fills: dict[int, str], top: float
) -> list[str]:
    """Return a line for each of the most frequent colors: how often it occurs, what it means."""
    order = sorted(counts, key=lambda color: (-counts[color], color))
    left, lines = MARGIN / 2, []
    for line, color in enumerate(order[:_LEGEND_LINES]):
        y = top + line * _LINE
        text = f"{counts[color]}× {meanings[color]}"
        short = escape(cut(short_iri(text), _LEGEND_WIDTH))
        square = f'<rect x="{left}" y="{y - 6:.0f}" width="12" height="12" class="node"'
        label = f'<text x="{left + 18}" y="{y:.0f}" dy=".35em" class="legend">{short}'
        lines.append(
            f'{square} fill="{fills[color]}"/>\n{label}<title>{escape(text)}</title></text>'
        )
    if len(order) > _LEGEND_LINES:
        more = f"and {len(order) - _LEGEND_LINES} more"
        y = top + _LEGEND_LINES * _LINE
        lines.append(f'<text x="{left}" y="{y:.0f}" class="legend">{more}</text>')
    return lines
