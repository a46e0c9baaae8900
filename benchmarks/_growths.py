"""Costs against sizes of several kinds: small charts side by side on one logarithmic axis of seconds, as SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape

from edgnn.report.draw import series_color, series_mark

_WIDTH, _HEIGHT, _PER_ROW = 300, 190, 3
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 18, 34, 34
_EDGE = 16
_CHARACTER = 7.2
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1c1c1c}.tick{font-size:11px;fill:#595959}.title{font-size:15px;font-weight:600}"
    ".chart{font-weight:600}.card{fill:#fff}.grid{stroke:#e4e4e4}.line{stroke:#9a9a9a;stroke-dasharray:3 4}"
    "@media(prefers-color-scheme:dark){text{fill:#ececec}.tick{fill:#b0b0b0}.card{fill:#16181c}.grid{stroke:#33373d}"
    ".line{stroke:#7b7b7b}}"
)
_Place = Callable[[float], float]
_Curves = Mapping[str, Sequence[tuple[float, float]]]


def draw_growths(charts: Mapping[str, _Curves], title: str) -> str:
    """Draw charts of positive costs in seconds against positive sizes, all axes logarithmic.

    Charts share the axis of seconds and the colors of names. A dashed line shows what growth in
    proportion to the size would look like, from the first point of a chart on. The background is
    part of the picture, light or dark as the reader's system.

    Parameters
    ----------
    charts : mapping
        By the name of the size: curves by their name, as pairs (size, seconds).
    title : str
        Of the whole.
    """
    names = list(dict.fromkeys(name for curves in charts.values() for name in curves))
    seconds = [cost for curves in charts.values() for curve in curves.values() for _, cost in curve]
    low, high = _decades(seconds)
    columns = max(1, min(_PER_ROW, len(charts)))
    across = max(2 * _EDGE + columns * (_LEFT + _WIDTH + _RIGHT), 2 * _EDGE + 9 * len(title))
    legend, top = _legend(names, across)
    told = f'<text x="{_EDGE}" y="{top + 8:.0f}" class="tick">dashed: growth in proportion to the size</text>'
    top += 12
    parts = [f'<text x="{_EDGE}" y="28" class="title">{escape(title)}</text>', *legend, told]
    for number, (axis, curves) in enumerate(charts.items()):
        left = _EDGE + (number % columns) * (_LEFT + _WIDTH + _RIGHT) + _LEFT
        upper = top + (number // columns) * (_TOP + _HEIGHT + _BOTTOM) + _TOP
        parts += _chart(axis, curves, names, left, upper, (low, high))
    rows = -(-len(charts) // columns)
    down = top + rows * (_TOP + _HEIGHT + _BOTTOM) + _EDGE
    size = f'width="{across}" height="{down:.0f}" viewBox="0 0 {across} {down:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(title)}"><style>{_STYLE}</style>'
    return "\n".join(
        [head, f'<rect width="{across}" height="{down:.0f}" class="card"/>', *parts, "</svg>\n"]
    )


def _legend(names: Sequence[str], across: float) -> tuple[list[str], float]:
    """Return marks with their names in lines below the title, and where the charts begin."""
    parts, x, y = [], float(_EDGE), 52.0
    for place, name in enumerate(names):
        room = 32 + _CHARACTER * len(name) + 18
        if x > _EDGE and x + room > across - _EDGE:
            x, y = float(_EDGE), y + 20
        parts.append(
            f'<path d="M{x:.1f} {y:.1f}h24" stroke="{series_color(place)}" stroke-width="2"/>'
        )
        parts.append(series_mark(place, x + 12, y))
        parts.append(f'<text x="{x + 32:.1f}" y="{y + 4:.1f}">{escape(name)}</text>')
        x += room
    return parts, y + 16


def _chart(
    axis: str,
    curves: _Curves,
    names: Sequence[str],
    left: float,
    upper: float,
    decades: tuple[int, int],
) -> list[str]:
    sizes = sorted({size for curve in curves.values() for size, _ in curve})
    span = math.log10(sizes[-1] / sizes[0])

    def x(size: float) -> float:
        share = math.log10(size / sizes[0]) / span if span else 0.5
        return left + 12 + (_WIDTH - 24) * share

    def y(cost: float) -> float:
        return upper + _HEIGHT * (decades[1] - math.log10(cost)) / (decades[1] - decades[0])

    parts = [f'<text x="{left}" y="{upper - 12:.1f}" class="chart">{escape(axis)}</text>']
    for power in range(decades[0], decades[1] + 1):
        level = y(10.0**power)
        parts.append(
            f'<line x1="{left}" y1="{level:.1f}" x2="{left + _WIDTH}" y2="{level:.1f}" class="grid"/>'
        )
        parts.append(
            f'<text x="{left - 8}" y="{level + 4:.1f}" text-anchor="end" class="tick">{_time(power)}</text>'
        )
    for size in sizes:
        parts.append(
            f'<line x1="{x(size):.1f}" y1="{upper}" x2="{x(size):.1f}" y2="{upper + _HEIGHT}" class="grid"/>'
        )
        at = f'x="{x(size):.1f}" y="{upper + _HEIGHT + 16}" text-anchor="middle"'
        parts.append(f'<text {at} class="tick">{_short(size)}</text>')
    parts += _proportion(next(iter(curves.values())), sizes[-1], x, y, decades)
    for name, curve in curves.items():
        parts += _curve([(x(size), y(cost)) for size, cost in sorted(curve)], names.index(name))
    return parts


def _proportion(
    curve: Sequence[tuple[float, float]],
    last: float,
    x: _Place,
    y: _Place,
    decades: tuple[int, int],
) -> list[str]:
    """Return the line on which cost grows as the size does, as far as it stays in the chart."""
    size, cost = min(curve)
    last = min(last, size * 10.0 ** decades[1] / cost)
    if last <= size:
        return []
    ends = (
        f'x1="{x(size):.1f}" y1="{y(cost):.1f}" x2="{x(last):.1f}" y2="{y(cost * last / size):.1f}"'
    )
    return [f'<line {ends} class="line"/>']


def _curve(places: Sequence[tuple[float, float]], place: int) -> list[str]:
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return [
        f'<polyline points="{line}" fill="none" stroke="{series_color(place)}" stroke-width="2"/>',
        *(series_mark(place, x, y) for x, y in places),
    ]


def _decades(values: Sequence[float]) -> tuple[int, int]:
    if not values:
        return 0, 1
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _time(power: int) -> str:
    """Return a power of ten of a second with its unit."""
    for unit, word in ((0, "s"), (-3, "ms"), (-6, "µs")):
        if power >= unit:
            return f"{10 ** (power - unit):,} {word}"
    return f"{10 ** (power + 9):g} ns"


def _short(size: float) -> str:
    for unit, word in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if size >= unit:
            return f"{size / unit:g}{word}"
    return f"{size:g}"
