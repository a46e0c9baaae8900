"""Charts of scores and losses as SVG, in the colors of the text around them: estimates, strips, bands, points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from edgnn.draw._svg import fill

_Array = np.ndarray[Any, Any]
_NONE = (math.nan, math.nan)
_FIRST, _SECOND = "#4a87c0", fill(3)  # both stand out on white and on black
_CHARACTER = 6.8
_ROW, _DOT, _SHIFT = 34, 3.2, 4
_AXIS = 40
_TICK_GAP, _ROOM = 70, 200
_LARGEST = 1e200


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
    """

    name: str
    text: str
    mean: float
    spread: float = math.nan
    interval: tuple[float, float] = _NONE
    main: bool = False


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


@dataclass(frozen=True)
class _Scale:
    """An axis: the values at its ends and where they lie."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def over(cls, values: Any, start: float, end: float, bounds: tuple[float, float] = (-math.inf, math.inf)) -> _Scale:
        """Return an axis with some air around all finite values, within ``bounds``."""
        finite = np.asarray(values, dtype=float)
        finite = finite[np.abs(finite) <= _LARGEST]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
        size = max(abs(low), abs(high))
        air = 0.06 * (high - low)
        if size < 1 / _LARGEST or air < 1e-9 * size:
            air = 0.5 if size < 1 / _LARGEST else 0.1 * size
        low, high = max(low - air, min(bounds[0], low)), min(high + air, max(bounds[1], high))
        return cls(low, high, start, end) if low < high else cls(low - 0.5, high + 0.5, start, end)

    def __call__(self, value: float) -> float:
        return self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low)

    def ticks(self, whole: bool = False) -> list[tuple[float, str]]:
        """Return the places and texts of round numbers, as many as there is room for."""
        most = max(3, int(abs(self.end - self.start) / _TICK_GAP))
        rough = max((self.high - self.low) / most, 1 if whole else 0)
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        size = max(abs(self.low), abs(self.high))
        digits = max(1, math.ceil(math.log10(size / step)) + 1)
        form = f".{digits}g" if size >= 1e6 or decimals > 5 else f".{decimals}f"
        numbers = range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1)
        return [(number * step, format(number * step, form).replace("-", "−")) for number in numbers]


def draw_estimates(
    rows: Sequence[Estimate], x_label: str, *, width: int = 640, bounds: tuple[float, float] = (-math.inf, math.inf)
) -> str:  # fmt: skip
    """Draw means with their spreads and intervals, one row each, on one axis that stays within ``bounds``.

    Names and texts stand beside the rows, or above them where that would leave too little room.
    """
    left = _CHARACTER * max(len(row.name) for row in rows) + 14
    right = _CHARACTER * max(len(row.text) for row in rows) + 14
    above = width - left - right < _ROOM
    if above:
        left = right = 14
    height = _ROW + 12 * above
    bottom = height * len(rows) + 8
    ends = [
        (row.mean, max(row.mean - row.spread, bounds[0]), min(row.mean + row.spread, bounds[1]), *row.interval) for row in rows
    ]
    x = _Scale.over(ends, left, width - right, bounds)
    parts = _x_axis(x, bottom - 7 if above else 4, bottom, x_label)
    for number, row in enumerate(rows):
        middle = 4 + height * (number + 0.5)
        weight = ' font-weight="600"' if row.main else ""
        for place, text, side in ((0, row.name, "start"), (width, row.text, "end")):
            parts.append(_text(place, middle + (-6 if above else 4), text, f' text-anchor="{side}"{weight}'))
        parts += _estimate(row, x, middle + 10 * above)
    return _picture(parts, width, bottom + _AXIS, f"{x_label}: " + "; ".join(f"{row.name} {row.text}" for row in rows))


def draw_strips(
    rows: Sequence[Strip], x_label: str, *, line: float = math.nan, width: int = 640,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> str:  # fmt: skip
    """Draw every value as a dot, one row per group, with a bar at the mean of the row and a ``line`` through all rows.

    Dots that would cover each other are moved up and down.
    """
    height = 24 if len(rows) > 1 else 64
    left, bottom = _CHARACTER * max(len(row.name) for row in rows) + 14, height * len(rows) + 8
    x = _Scale.over([value for row in rows for value in row.values], left, width - 12, bounds)
    parts = _x_axis(x, 4, bottom, x_label)
    if _drawable(line):
        parts.append(_line(x(line), 4, x(line), bottom, f'stroke="{_SECOND}" stroke-dasharray="4 3"'))
    for number, row in enumerate(rows):
        parts += _strip(row, x, 4 + height * (number + 0.5), height)
    return _picture(parts, width, bottom + _AXIS, f"{x_label}, one dot per split")


def draw_bands(
    x_values: Sequence[float], curves: Mapping[str, Band], x_label: str, y_label: str, *, width: int = 640
) -> str:  # fmt: skip
    """Draw curves over one axis, each with the area between its limits."""
    height, left = 260, 58
    x = _exact(x_values, left, width - 14)
    values = [value for curve in curves.values() for part in (curve.middle, curve.low, curve.high) for value in part]
    y = _Scale.over(values, height, 30)
    whole = all(float(value).is_integer() for value in x_values)
    parts = _x_axis(x, 30, height, x_label, whole) + _y_axis(y, left, width - 14, y_label)
    at = float(left)
    for number, (name, curve) in enumerate(curves.items()):
        color = (_FIRST, _SECOND)[number] if number < 2 else fill(number)
        parts += _band(x_values, curve, x, y, color)
        parts.append(_line(at, 12, at + 16, 12, f'stroke="{color}" stroke-width="3"'))
        parts.append(_text(at + 22, 16, name, ""))
        at += 40 + _CHARACTER * len(name)
    return _picture(parts, width, height + _AXIS, f"{y_label} over {x_label}: {', '.join(curves)}")


def draw_points(x_values: Sequence[float], y_values: Sequence[float], x_label: str, y_label: str, *, width: int = 640) -> str:
    """Draw points on two axes of the same range, with the line where both values are equal."""
    left, top = 58, 10
    height = top + min(width - left - 14, 380)
    pairs = [pair for pair in zip(x_values, y_values, strict=True) if all(map(_drawable, pair))]
    x = _Scale.over(pairs, left, left + height - top)
    y = _Scale(x.low, x.high, height, top)
    parts = _x_axis(x, top, height, x_label) + _y_axis(y, left, x.end, y_label)
    parts.append(_line(x.start, y.start, x.end, y.end, f'stroke="{_SECOND}" stroke-dasharray="4 3"'))
    parts.append(f'<g fill="{_FIRST}" fill-opacity=".65">')
    parts += [f'<circle cx="{x(one):.1f}" cy="{y(two):.1f}" r="{_DOT}"/>' for one, two in pairs]
    return _picture([*parts, "</g>"], width, height + _AXIS, f"{y_label} against {x_label}, {len(pairs)} points")


def _estimate(row: Estimate, x: _Scale, y: float) -> list[str]:
    if not _drawable(row.mean):
        return []
    parts = []
    paint = f'stroke="{_FIRST if row.main else "currentColor"}"'
    low, high = row.interval
    if _drawable(low) and _drawable(high):
        parts.append(_line(x(low), y, x(high), y, f'{paint} stroke-width="1.5"'))
        parts += [_line(x(end), y - 5, x(end), y + 5, f'{paint} stroke-width="1.5"') for end in (low, high)]
    if _drawable(row.spread):
        ends = (max(row.mean - row.spread, x.low), min(row.mean + row.spread, x.high))
        parts.append(_line(x(ends[0]), y, x(ends[1]), y, f'{paint} stroke-width="8" stroke-opacity=".45"'))
    color = _FIRST if row.main else "currentColor"
    return [*parts, f'<circle cx="{x(row.mean):.1f}" cy="{y:.1f}" r="5" fill="{color}"/>']


def _strip(row: Strip, x: _Scale, y: float, height: float) -> list[str]:
    parts = [_text(0, y + 4, row.name, ""), f'<g fill="{_FIRST}" fill-opacity=".65">']
    levels = max(1, int((height / 2 - _DOT) / _SHIFT))
    met: dict[int, int] = {}
    for value, title in zip(row.values, row.titles, strict=True):
        if not _drawable(value):
            continue
        spot = round(x(value) / (2 * _DOT))
        met[spot] = met.get(spot, -1) + 1
        step = met[spot] % (2 * levels + 1)
        shift = _SHIFT * ((step + 1) // 2) * (1 if step % 2 else -1)
        hover = f"><title>{escape(title)}</title></circle>" if title else "/>"
        parts.append(f'<circle cx="{x(value):.1f}" cy="{y + shift:.1f}" r="{_DOT}"{hover}')
    parts.append("</g>")
    if _drawable(row.mean):
        half = min(height / 2 - 2, 14)
        parts.append(_line(x(row.mean), y - half, x(row.mean), y + half, 'stroke="currentColor" stroke-width="2.5"'))
    return parts


def _band(x_values: Sequence[float], curve: Band, x: _Scale, y: _Scale, color: str) -> list[str]:
    rows = [row for row in zip(x_values, curve.middle, curve.low, curve.high, strict=True) if all(map(_drawable, row))]
    if not rows:
        return []
    upper = [f"{x(place):.1f},{y(high):.1f}" for place, _, _, high in rows]
    lower = [f"{x(place):.1f},{y(low):.1f}" for place, _, low, _ in reversed(rows)]
    middle = [f"{x(place):.1f},{y(value):.1f}" for place, value, _, _ in rows]
    parts = [f'<polyline points="{" ".join(middle)}" fill="none" stroke="{color}" stroke-width="2"/>']
    if upper != lower[::-1]:
        parts.insert(0, f'<polygon points="{" ".join(upper + lower)}" fill="{color}" fill-opacity=".18"/>')
    if len(rows) == 1:
        parts.append(f'<circle cx="{x(rows[0][0]):.1f}" cy="{y(rows[0][1]):.1f}" r="{_DOT}" fill="{color}"/>')
    return parts


def _drawable(value: float) -> bool:
    return abs(value) <= _LARGEST


def _exact(values: Sequence[float], start: float, end: float) -> _Scale:
    """Return an axis that begins and ends at the first and the last value."""
    low, high = (min(values), max(values)) if len(values) else (0.0, 1.0)
    return _Scale(low, high, start, end) if low < high else _Scale(low - 0.5, high + 0.5, start, end)


def _x_axis(scale: _Scale, top: float, bottom: float, label: str, whole: bool = False) -> list[str]:
    parts = []
    for value, text in scale.ticks(whole):
        parts.append(_line(scale(value), top, scale(value), bottom, 'stroke="currentColor" stroke-opacity=".15"'))
        parts.append(_text(scale(value), bottom + 16, text, ' text-anchor="middle" fill-opacity=".75"'))
    middle = (scale.start + scale.end) / 2
    return [*parts, _text(middle, bottom + 33, label, ' text-anchor="middle" fill-opacity=".75"')]


def _y_axis(scale: _Scale, left: float, right: float, label: str) -> list[str]:
    parts = []
    for value, text in scale.ticks():
        parts.append(_line(left, scale(value), right, scale(value), 'stroke="currentColor" stroke-opacity=".15"'))
        parts.append(_text(left - 7, scale(value) + 4, text, ' text-anchor="end" fill-opacity=".75"'))
    middle = (scale.start + scale.end) / 2
    turned = f' text-anchor="middle" fill-opacity=".75" transform="rotate(-90 12 {middle:.0f})"'
    return [*parts, _text(12, middle, label, turned)]


def _line(x1: float, y1: float, x2: float, y2: float, paint: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {paint}/>'


def _text(x: float, y: float, text: str, more: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(text)}</text>'


def _picture(parts: Sequence[str], width: float, height: float, title: str) -> str:
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    font = 'font-family="system-ui,sans-serif" font-size="12" fill="currentColor"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font} role="img" aria-label="{escape(title)}">'
    return head + "\n" + "\n".join(parts) + "\n</svg>"
