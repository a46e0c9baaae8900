"""Charts of scores and losses as SVG, in the colors of the text around them: estimates, strips, bands, points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from edgnn.report.draw._axes import (
    AXIS,
    CHARACTER,
    FIRST,
    SECOND,
    Scale,
    drawable,
    exact,
    picture,
    segment,
    text_at,
    x_axis,
    y_axis,
)
from edgnn.report.draw._svg import fill

_NONE = (math.nan, math.nan)
_ROW, _LOW_ROW, _MANY, _DOT, _SHIFT = 34, 25, 4, 3.2, 4
_ROOM = 200
_DASHED = f'stroke="{SECOND}" stroke-dasharray="4 3"'


@dataclass(frozen=True)
class Estimate:
    """A row of :func:`draw_estimates`.

    Parameters
    ----------
    name, text : str
        What stands to the left and to the right of it.
    mean, spread : float
        The dot, and half the length of the thick bar (NaN: none).
    interval : pair of float
        Ends of the thin line (NaN: none).
    main : bool
        Whether it is the row the chart is about.
    mark : float
        A diamond: what others report (NaN: none).
    """

    name: str
    text: str
    mean: float
    spread: float = math.nan
    interval: tuple[float, float] = _NONE
    main: bool = False
    mark: float = math.nan


@dataclass(frozen=True, eq=False)
class Band:
    """A curve of :func:`draw_bands`: one value per place on the x axis, and the limits around it; NaN is left out."""

    middle: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


@dataclass(frozen=True)
class Strip:
    """A row of :func:`draw_strips`: values, a text to show over each of them, and their mean; NaN is left out."""

    name: str
    values: Sequence[float]
    titles: Sequence[str]
    mean: float


def draw_estimates(
    rows: Sequence[Estimate],
    x_label: str,
    *,
    width: int = 640,
    bounds: tuple[float, float] = (-math.inf, math.inf),
    line: float = math.nan,
    title: str = "",
) -> str:
    """Draw means with their spreads and intervals, one row each, on one axis that stays within ``bounds``.

    Names and texts stand beside the rows, or above them where that would leave too little room. A
    ``line`` goes through all rows.
    """
    left = CHARACTER * max(len(row.name) for row in rows) + 14
    right = CHARACTER * max(len(row.text) for row in rows) + 14
    above = width - left - right < _ROOM
    if above:
        left = right = 14
    height = (_ROW if len(rows) <= _MANY else _LOW_ROW) + 12 * above
    bottom = height * len(rows) + 8
    ends = [
        (
            row.mean,
            max(row.mean - row.spread, bounds[0]),
            min(row.mean + row.spread, bounds[1]),
            *row.interval,
            row.mark,
            line,
        )
        for row in rows
    ]
    x = Scale.over(ends, left, width - right, bounds)
    parts = x_axis(x, bottom - 7 if above else 4, bottom, x_label)
    if drawable(line):
        parts.append(segment(x(line), 4, x(line), bottom, _DASHED))
    for number, row in enumerate(rows):
        middle = 4 + height * (number + 0.5)
        weight = ' font-weight="600"' if row.main else ""
        for place, text, side in ((0, row.name, "start"), (width, row.text, "end")):
            parts.append(
                text_at(
                    place, middle + (-6 if above else 4), text, f' text-anchor="{side}"{weight}'
                )
            )
        parts += _estimate(row, x, middle + 10 * above)
    told = "; ".join(f"{row.name} {row.text}" for row in rows)
    return picture(
        parts, width, bottom + AXIS, title or f"{x_label}: {told}", told if title else ""
    )


def draw_strips(
    rows: Sequence[Strip],
    x_label: str,
    *,
    line: float = math.nan,
    width: int = 640,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> str:
    """Draw every value as a dot, one row per group, with a bar at the mean of the row and a ``line`` through all rows.

    Dots that would cover each other are moved up and down.
    """
    height = 24 if len(rows) > 1 else 64
    left, bottom = CHARACTER * max(len(row.name) for row in rows) + 14, height * len(rows) + 8
    x = Scale.over([value for row in rows for value in row.values], left, width - 12, bounds)
    parts = x_axis(x, 4, bottom, x_label)
    if drawable(line):
        parts.append(segment(x(line), 4, x(line), bottom, _DASHED))
    for number, row in enumerate(rows):
        parts += _strip(row, x, 4 + height * (number + 0.5), height)
    return picture(parts, width, bottom + AXIS, f"{x_label}, one dot per split")


def draw_bands(
    x_values: Sequence[float],
    curves: Mapping[str, Band],
    x_label: str,
    y_label: str,
    *,
    width: int = 640,
) -> str:
    """Draw curves over one axis, each with the area between its limits."""
    height, left = 260, 58
    x = exact(x_values, left, width - 14)
    values = [
        value
        for curve in curves.values()
        for part in (curve.middle, curve.low, curve.high)
        for value in part
    ]
    y = Scale.over(values, height, 30)
    whole = all(float(value).is_integer() for value in x_values)
    parts = x_axis(x, 30, height, x_label, whole) + y_axis(y, left, width - 14, y_label)
    at = float(left)
    for number, (name, curve) in enumerate(curves.items()):
        color = (FIRST, SECOND)[number] if number < 2 else fill(number)
        parts += _band(x_values, curve, x, y, color)
        parts.append(segment(at, 12, at + 16, 12, f'stroke="{color}" stroke-width="3"'))
        parts.append(text_at(at + 22, 16, name, ""))
        at += 40 + CHARACTER * len(name)
    return picture(parts, width, height + AXIS, f"{y_label} over {x_label}: {', '.join(curves)}")


def draw_points(
    x_values: Sequence[float],
    y_values: Sequence[float],
    x_label: str,
    y_label: str,
    *,
    width: int = 640,
) -> str:
    """Draw points on two axes of the same range, with the line where both values are equal."""
    left, top = 58, 10
    height = top + min(width - left - 14, 380)
    pairs = [pair for pair in zip(x_values, y_values, strict=True) if all(map(drawable, pair))]
    x = Scale.over(pairs, left, left + height - top)
    y = Scale(x.low, x.high, height, top)
    parts = x_axis(x, top, height, x_label) + y_axis(y, left, x.end, y_label)
    parts.append(segment(x.start, y.start, x.end, y.end, _DASHED))
    parts.append(f'<g fill="{FIRST}" fill-opacity=".65">')
    parts += [f'<circle cx="{x(one):.1f}" cy="{y(two):.1f}" r="{_DOT}"/>' for one, two in pairs]
    return picture(
        [*parts, "</g>"], width, height + AXIS, f"{y_label} against {x_label}, {len(pairs)} points"
    )


def _estimate(row: Estimate, x: Scale, y: float) -> list[str]:
    parts = []
    if drawable(row.mark):
        corners = f"M{x(row.mark):.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z"
        parts.append(f'<path d="{corners}" fill="none" stroke="{SECOND}" stroke-width="1.8"/>')
    if not drawable(row.mean):
        return parts
    paint = f'stroke="{FIRST if row.main else "currentColor"}"'
    low, high = row.interval
    if drawable(low) and drawable(high):
        parts.append(segment(x(low), y, x(high), y, f'{paint} stroke-width="1.5"'))
        parts += [
            segment(x(end), y - 5, x(end), y + 5, f'{paint} stroke-width="1.5"')
            for end in (low, high)
        ]
    if drawable(row.spread):
        ends = (max(row.mean - row.spread, x.low), min(row.mean + row.spread, x.high))
        parts.append(
            segment(x(ends[0]), y, x(ends[1]), y, f'{paint} stroke-width="8" stroke-opacity=".45"')
        )
    color = FIRST if row.main else "currentColor"
    return [*parts, f'<circle cx="{x(row.mean):.1f}" cy="{y:.1f}" r="4.5" fill="{color}"/>']


def _strip(row: Strip, x: Scale, y: float, height: float) -> list[str]:
    parts = [text_at(0, y + 4, row.name, ""), f'<g fill="{FIRST}" fill-opacity=".65">']
    levels = max(1, int((height / 2 - _DOT) / _SHIFT))
    met: dict[int, int] = {}
    for value, title in zip(row.values, row.titles, strict=True):
        if not drawable(value):
            continue
        spot = round(x(value) / (2 * _DOT))
        met[spot] = met.get(spot, -1) + 1
        step = met[spot] % (2 * levels + 1)
        shift = _SHIFT * ((step + 1) // 2) * (1 if step % 2 else -1)
        hover = f"><title>{escape(title)}</title></circle>" if title else "/>"
        parts.append(f'<circle cx="{x(value):.1f}" cy="{y + shift:.1f}" r="{_DOT}"{hover}')
    parts.append("</g>")
    if drawable(row.mean):
        half = min(height / 2 - 2, 14)
        parts.append(
            segment(
                x(row.mean),
                y - half,
                x(row.mean),
                y + half,
                'stroke="currentColor" stroke-width="2.5"',
            )
        )
    return parts


def _band(x_values: Sequence[float], curve: Band, x: Scale, y: Scale, color: str) -> list[str]:
    rows = [
        row
        for row in zip(x_values, curve.middle, curve.low, curve.high, strict=True)
        if all(map(drawable, row))
    ]
    if not rows:
        return []
    upper = [f"{x(place):.1f},{y(high):.1f}" for place, _, _, high in rows]
    lower = [f"{x(place):.1f},{y(low):.1f}" for place, _, low, _ in reversed(rows)]
    middle = [f"{x(place):.1f},{y(value):.1f}" for place, value, _, _ in rows]
    parts = [
        f'<polyline points="{" ".join(middle)}" fill="none" stroke="{color}" stroke-width="2"/>'
    ]
    if upper != lower[::-1]:
        parts.insert(
            0, f'<polygon points="{" ".join(upper + lower)}" fill="{color}" fill-opacity=".18"/>'
        )
    if len(rows) == 1:
        parts.append(
            f'<circle cx="{x(rows[0][0]):.1f}" cy="{y(rows[0][1]):.1f}" r="{_DOT}" fill="{color}"/>'
        )
    return parts
