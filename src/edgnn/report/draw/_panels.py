"""Small charts that stand side by side, one per data set: scores of the folds, curves of many rows, calibration, costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgnn.report.draw._axes import (
    AXIS,
    CHARACTER,
    FIRST,
    SECOND,
    SERIES,
    Scale,
    drawable,
    exact,
    picture,
    segment,
    text_at,
    x_axis,
    y_axis,
)

_DOT = 1.9
_MARKS = 4
_SHAPES = (
    "M{x} {y}m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
    "M{x} {y}m-3.2 -3.2h6.4v6.4h-6.4z",
    "M{x} {y}m0 -4.2l4.2 7h-8.4z",
    "M{x} {y}m0 -4.4l4.4 4.4l-4.4 4.4l-4.4 -4.4z",
    "M{x} {y}m0 4.2l4.2 -7h-8.4z",
)


@dataclass(frozen=True)
class Swarm:
    """A row of :func:`draw_swarms`: all its values, their mean, and whether the chart is about it."""

    name: str
    values: Sequence[float]
    mean: float
    main: bool = False


@dataclass(frozen=True, eq=False)
class Series:
    """A curve of :func:`draw_series`.

    Parameters
    ----------
    place : int
        Which color and which mark it has; curves of one place belong together.
    x, y : sequence of float
        Where it goes; NaN is left out.
    dashed : bool
        Whether it is the lesser of two that belong together: a dashed line without marks.
    """

    place: int
    x: Sequence[float]
    y: Sequence[float]
    dashed: bool = False


def series_color(place: int) -> str:
    """Return the color of the ``place``-th row."""
    return SERIES[place % len(SERIES)]


def series_mark(place: int, x: float, y: float) -> str:
    """Return the mark of the ``place``-th row, so that colors alone need not tell rows apart."""
    shape = _SHAPES[place % len(_SHAPES)].format(x=f"{x:.1f}", y=f"{y:.1f}")
    return f'<path d="{shape}" fill="{series_color(place)}"/>'


def series_key(place: int) -> str:
    """Return a line with its mark, for a legend."""
    start = f'<svg width="26" height="12" viewBox="0 0 26 12" aria-hidden="true">{_stroke(0, 6, 26, 6, place)}'
    return f"{start}{series_mark(place, 13, 6)}</svg>"


def draw_swarms(
    rows: Sequence[Swarm],
    x_label: str,
    *,
    title: str,
    line: float = math.nan,
    width: int = 344,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> str:
    """Draw every value as a dot, equal ones above each other, one row per model, with a bar at the mean of the row.

    A dashed ``line`` goes through all rows.
    """
    height = 34
    left, bottom = CHARACTER * max(len(row.name) for row in rows) + 14, height * len(rows) + 8
    above = width - left < 0.5 * width
    if above:
        left, height, bottom = 14, height + 14, (height + 14) * len(rows) + 8
    x = Scale.over(
        [value for row in rows for value in (*row.values, line)], left, width - 14, bounds
    )
    parts = x_axis(x, 4, bottom, x_label)
    if drawable(line):
        parts.append(
            segment(x(line), 4, x(line), bottom, f'stroke="{SECOND}" stroke-dasharray="4 3"')
        )
    for number, row in enumerate(rows):
        top = 4 + height * number
        weight = ' font-weight="600"' if row.main else ""
        parts.append(text_at(0, top + (12 if above else 21), row.name, weight))
        parts += _swarm(row, x, top + (31 if above else 17), 34)
    told = "; ".join(f"{row.name}: mean {row.mean:.1f} of {len(row.values)}" for row in rows)
    return picture(parts, width, bottom + AXIS, title, told)


def draw_series(
    curves: Sequence[Series],
    x_label: str,
    y_label: str,
    *,
    title: str,
    about: str = "",
    width: int = 344,
) -> str:
    """Draw curves over one axis; those of one place are a group of the class ``series`` with that number.

    A few values that are much higher than all others, as losses of the first epochs may be, are cut
    off.
    """
    height, left = 220, 52
    known = [
        pair
        for curve in curves
        for pair in zip(curve.x, curve.y, strict=True)
        if all(map(drawable, pair))
    ]
    x = exact([place for place, _ in known], left, width - 10)
    y = Scale.over([value for _, value in known if value <= _roof(curves)], height, 8)
    parts = x_axis(x, 8, height, x_label, whole=True) + y_axis(y, left, width - 10, y_label)
    grouped: dict[int, list[Series]] = {}
    for curve in curves:
        grouped.setdefault(curve.place, []).append(curve)
    frame = f'x="{left}" y="8" width="{width - left - 5}" height="{height - 8}"'
    parts.append(
        f'<svg {frame} viewBox="{left} 8 {width - left - 5} {height - 8}" aria-hidden="true">'
    )  # cuts off what is above
    for place, group in grouped.items():
        parts.append(f'<g class="series" data-series="{place}">')
        for curve in group:
            parts += _curve(curve, x, y)
        parts.append("</g>")
    return picture([*parts, "</svg>"], width, height + AXIS, title, about)


def draw_reliability(
    points: Sequence[tuple[float, float, int]],
    *,
    title: str,
    y_label: str = "right (%)",
    width: int = 210,
) -> str:
    """Draw what was said (%) against what happened (%), with the number of cases as area, and the line where both are equal."""
    left, top = 46, 8
    end = width - 16
    height = top + end - left
    x, y = Scale(0, 100, left, end), Scale(0, 100, height, top)
    parts = x_axis(x, top, height, "probability (%)") + y_axis(y, left, end, y_label)
    parts.append(segment(left, height, end, top, f'stroke="{SECOND}" stroke-dasharray="4 3"'))
    most = max((count for *_, count in points), default=1)
    for said, true, count in points:
        size = 2 + 6 * math.sqrt(count / most)
        dot = f'<circle cx="{x(said):.1f}" cy="{y(true):.1f}" r="{size:.1f}" fill="{FIRST}" fill-opacity=".7"/>'
        parts.append(dot)
    told = "; ".join(
        f"probability {said:.0f}, right {true:.0f} ({count} cases)" for said, true, count in points
    )
    return picture(parts, width, height + AXIS, title, told)


def draw_costs(
    costs: Mapping[str, float], texts: Sequence[str], x_label: str, *, title: str, width: int = 640
) -> str:
    """Draw one bar per name on an axis of powers of ten."""
    height = 24
    left, right = (CHARACTER * max(map(len, words)) + 14 for words in (costs, texts))
    bottom = height * len(costs) + 8
    logs = [math.log10(cost) for cost in costs.values() if cost > 0 and drawable(cost)]
    low, high = (
        (math.floor(min(logs)), max(math.ceil(max(logs)), math.floor(min(logs)) + 1))
        if logs
        else (0, 1)
    )
    x = Scale(low, high, left, width - right)
    parts = []
    for power in range(low, high + 1):
        parts.append(
            segment(x(power), 4, x(power), bottom, 'stroke="currentColor" stroke-opacity=".15"')
        )
        parts.append(
            text_at(
                x(power),
                bottom + 16,
                f"{10.0**power:,.6g}",
                ' text-anchor="middle" fill-opacity=".75"',
            )
        )
    parts.append(
        text_at(
            (left + width - right) / 2,
            bottom + 33,
            x_label,
            ' text-anchor="middle" fill-opacity=".75"',
        )
    )
    for number, ((name, cost), text) in enumerate(zip(costs.items(), texts, strict=True)):
        middle = 4 + height * (number + 0.5)
        parts.append(text_at(0, middle + 4, name, ""))
        parts.append(text_at(width, middle + 4, text, ' text-anchor="end"'))
        if cost > 0 and drawable(cost):
            end = max(x(math.log10(cost)), left + 1)
            parts.append(
                f'<rect x="{left:.1f}" y="{middle - 5:.1f}" width="{end - left:.1f}" height="10" rx="2" fill="{FIRST}"/>'
            )
    told = "; ".join(f"{name} {text}" for name, text in zip(costs, texts, strict=True))
    return picture(parts, width, bottom + AXIS, title, told)


def _roof(curves: Sequence[Series]) -> float:
    """Return the highest value to be seen: of what comes after the first tenth of each curve, and a little more."""
    later = [
        value for curve in curves for value in curve.y[len(curve.y) // 10 :] if drawable(value)
    ]
    every = [value for curve in curves for value in curve.y if drawable(value)]
    if not every:
        return math.inf
    roof = max(later) + 0.25 * (max(later) - min(every))
    return roof if roof > max(later) else math.inf


def _swarm(row: Swarm, x: Scale, y: float, height: float) -> list[str]:
    """Return the dots as one path: a column of dots wherever values fall together."""
    columns: dict[int, list[float]] = {}
    for value in row.values:
        if drawable(value):
            columns.setdefault(round(x(value) / _DOT), []).append(x(value))
    dots = []
    for column in columns.values():
        step = min(2 * _DOT, (height - 6) / len(column))
        start = y - step * (len(column) - 1) / 2
        dots += [
            f"M{place:.1f} {start + step * number:.1f}h0" for number, place in enumerate(column)
        ]
    paint = f'stroke="{FIRST if row.main else "currentColor"}" stroke-width="{2 * _DOT}" stroke-linecap="round"'
    mean = [
        segment(
            x(row.mean), y - 13, x(row.mean), y + 13, 'stroke="currentColor" stroke-width="1.6"'
        )
    ]
    path = f'<path d="{"".join(dots)}" fill="none" {paint} stroke-opacity="{".8" if row.main else ".55"}"/>'
    return [*(mean if drawable(row.mean) else []), *([path] if dots else [])]


def _curve(curve: Series, x: Scale, y: Scale) -> list[str]:
    points = [
        (x(place), y(value))
        for place, value in zip(curve.x, curve.y, strict=True)
        if drawable(place) and drawable(value)
    ]
    if not points:
        return []
    path = " ".join(f"{place:.1f},{value:.1f}" for place, value in points)
    dashes = ' stroke-dasharray="4 3" stroke-opacity=".8"' if curve.dashed else ""
    color = series_color(curve.place)
    parts = [
        f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{1.4 if curve.dashed else 2}"{dashes}/>'
    ]
    if not curve.dashed:
        step = max(1, len(points) // _MARKS)
        first = min(len(points) - 1, (curve.place * 7) % step)
        parts += [
            series_mark(curve.place, *points[number]) for number in range(first, len(points), step)
        ]
    return parts


def _stroke(x1: float, y1: float, x2: float, y2: float, place: int) -> str:
    return segment(x1, y1, x2, y2, f'stroke="{series_color(place)}" stroke-width="2"')
