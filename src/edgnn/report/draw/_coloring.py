"""A refinement round by round: the graph once per round, nodes filled by color, with a legend of what each color means."""

from __future__ import annotations

from html import escape

import numpy as np

from edgnn._words import short_iri
from edgnn.errors import GraphError
from edgnn.report.draw._layout import layout
from edgnn.report.draw._svg import MARGIN, fill, panel
from edgnn.wl import Coloring

LARGEST = 200
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
_ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
    '<path d="M0,0 L8,4 L0,8 z" fill="#777"/></marker></defs>'
)


def draw_coloring(coloring: Coloring, graph: int = 0, *, rounds: int | None = None) -> str:
    """Draw the refinement of one graph as an SVG document, one panel per round.

    Parameters
    ----------
    coloring : Coloring
        From :func:`edgnn.wl.refine`; a color has the same fill in every panel in which it keeps its
        number.
    graph : int
        Which of the refined graphs.
    rounds : int, optional
        How many rounds to draw; default: all, at most eight.
    """
    panels, width, height = _panels(coloring, graph, rounds)
    body = "\n".join(
        f'<g transform="translate({number * width:.0f},0)">{text}</g>'
        for number, text in enumerate(panels)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width * len(panels):.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width * len(panels):.0f} {height:.0f}"><style>{_STYLE}</style>{_ARROW}'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>\n'
    )


def coloring_page(
    coloring: Coloring,
    graph: int = 0,
    *,
    rounds: int | None = None,
    title: str = "Color refinement",
) -> str:
    """Return a self-contained HTML page that steps through the rounds."""
    panels, width, height = _panels(coloring, graph, rounds)
    figures = "\n".join(
        f'<svg class="round" id="r{number}" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">'
        f"{_ARROW if number == 0 else ''}{text}</svg>"
        for number, text in enumerate(panels)
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>
<style>{_STYLE}
body{{font:15px/1.5 sans-serif;margin:2rem;color:#222}}
svg{{max-width:100%;height:auto;border:1px solid #ddd;border-radius:6px;margin:.4rem}}
.step .round{{display:none}}.step .round.on{{display:inline}}</style></head>
<body><h1>{escape(title)}</h1>
<p>Scheme <b>{coloring.scheme}</b>; {coloring.num_colors():,} colors after {coloring.rounds} rounds.
Hover over a node to read its color.</p>
<p><label><input type="checkbox" id="all" checked> all rounds at once</label>
<label>&nbsp; round <input type="range" id="at" min="0" max="{len(panels) - 1}" value="0"></label> <output id="now">0</output></p>
<div id="rounds">{figures}</div>
<script>
const box=document.getElementById("rounds"),at=document.getElementById("at"),all=document.getElementById("all");
function show(){{box.classList.toggle("step",!all.checked);document.getElementById("now").textContent=at.value;
document.querySelectorAll(".round").forEach((s,i)=>s.classList.toggle("on",i==at.value))}}
at.oninput=()=>{{all.checked=false;show()}};all.onchange=show;show();
</script></body></html>
"""


def _panels(coloring: Coloring, graph: int, rounds: int | None) -> tuple[list[str], float, float]:
    """Return the drawn rounds and the width and height they share."""
    one = coloring.graphs[graph]
    if one.num_nodes > LARGEST:
        raise GraphError(
            f"graph {graph} has {one.num_nodes} nodes; drawings stay readable up to {LARGEST}"
        )
    last = min(coloring.rounds, 7 if rounds is None else rounds)
    start = int(coloring.graphs.graph_offset[graph % len(coloring.graphs)])
    place = layout(one)
    numbers: dict[int, int] = {}
    panels, sizes = [], []
    for round in range(last + 1):
        colors = coloring.at(round)[start : start + one.num_nodes].tolist()
        counts = dict(
            zip(*(part.tolist() for part in np.unique(colors, return_counts=True)), strict=True)
        )
        meanings = {color: coloring.meaning(color, round, size=160).text for color in counts}
        fills = [fill(numbers.setdefault(color, len(numbers))) for color in colors]
        picture, width, height = panel(
            one, place, fills, [f"color {color}: {meanings[color]}" for color in colors]
        )
        title = f'<text x="{MARGIN / 2}" y="18" class="title">round {round}: {len(counts)} color{"s" * (len(counts) != 1)}</text>'
        legend, lines = _legend(colors, counts, meanings, fills, height + 34)
        panels.append(f'{title}<g transform="translate(0,22)">{picture}</g>{legend}')
        sizes.append((max(width, 7 + _LEGEND_WIDTH * 6.1), height + 44 + lines * _LINE))
    return panels, max(width for width, _ in sizes) + 10, max(height for _, height in sizes)


def _legend(
    colors: list[int],
    counts: dict[int, int],
    meanings: dict[int, str],
    fills: list[str],
    top: float,
) -> tuple[str, int]:
    fill_of = dict(zip(colors, fills, strict=True))
    order = sorted(counts, key=lambda color: (-counts[color], color))
    parts = []
    for line, color in enumerate(order[:_LEGEND_LINES]):
        y = top + line * _LINE
        text = f"{counts[color]}× {meanings[color]}"
        short = short_iri(text)
        shown = short if len(short) <= _LEGEND_WIDTH else f"{short[: _LEGEND_WIDTH - 1]}…"
        parts.append(
            f'<rect x="{MARGIN / 2}" y="{y - 6:.0f}" width="12" height="12" fill="{fill_of[color]}" class="node"/>'
            f'<text x="{MARGIN / 2 + 18}" y="{y:.0f}" dy=".35em" class="legend">{escape(shown)}<title>{escape(text)}</title></text>'
        )
    if len(order) > _LEGEND_LINES:
        y = top + _LEGEND_LINES * _LINE
        parts.append(
            f'<text x="{MARGIN / 2}" y="{y:.0f}" class="legend">and {len(order) - _LEGEND_LINES} more</text>'
        )
    return "\n".join(parts), min(len(order), _LEGEND_LINES + 1)
