"""Charts of scores, losses and costs as SVG, in the colors of the text around them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from edgnn.report.draw._svg import PALETTE

#: Lines of charts: each stands out on white and on black (contrast of at least 3 to either), for
#: most color-blind readers too.
SERIES = (
    "#4a87c0",
    "#c8641e",
    "#3a9150",
    "#b65fa8",
    "#8f7a1f",
    "#1f9499",
    "#d9536a",
    "#7d74d0",
    "#8a7466",
    "#6f8796",
)
FIRST, SECOND = SERIES[0], PALETTE[3]
_SHAPES = (
    "M{x} {y}m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
    "M{x} {y}m-3.2 -3.2h6.4v6.4h-6.4z",
    "M{x} {y}m0 -4.2l4.2 7h-8.4z",
    "M{x} {y}m0 -4.4l4.4 4.4l-4.4 4.4l-4.4 -4.4z",
    "M{x} {y}m0 4.2l4.2 -7h-8.4z",
)
_NONE = (math.nan, math.nan)
_UNBOUNDED = (-math.inf, math.inf)
_DASHED = f'stroke="{SECOND}" stroke-dasharray="4 3"'
_GRID = 'stroke="currentColor" stroke-opacity=".15"'
_SOFT = 'fill-opacity=".75"'
#: What a character takes, and the height of a horizontal axis with its name.
_CHARACTER, _AXIS = 6.8, 40
_TICK_GAP, _LEAST_GAP = 66, 36
#: Larger numbers have no place on an axis: their differences would overflow.
_LARGEST = 1e200
_DOT, _SMALL_DOT = 3.2, 1.9
#: Names stand above their rows where less than this would be left for the chart.
_ROOM = 200
_MARKS = 4


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


@dataclass(frozen=True)
class Dots:
    """A row of :func:`draw_dots`.

    Parameters
    ----------
    name : str
        What stands beside it.
    values, mean : sequence of float, float
        The dots, and the upright bar.
    titles : sequence of str
        Texts to show over each of the dots; none by default.
    main : bool
        Whether it is the row the chart is about.
    """

    name: str
    values: Sequence[float]
    mean: float
    titles: Sequence[str] = ()
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
    low, high : sequence of float
        Limits around it, if there are any: the area between them is shaded.
    """

    place: int
    x: Sequence[float]
    y: Sequence[float]
    dashed: bool = False
    low: Sequence[float] = ()
    high: Sequence[float] = ()


def draw_estimates(
    rows: Sequence[Estimate],
    x_label: str,
    *,
    width: int = 640,
    bounds: tuple[float, float] = _UNBOUNDED,
    line: float = math.nan,
    title: str = "",
) -> str:
    """Draw means with their spreads and intervals, one row each, on one axis within ``bounds``.

    Names and texts stand beside the rows, or above them where that would leave too little room. A
    ``line`` goes through all rows.
    """
    names, texts = [row.name for row in rows], [row.text for row in rows]
    frame = _Rows(names, texts, width, height=34 if len(rows) <= 4 else 25)
    x = frame.scale([_ends(row, bounds, line) for row in rows], bounds)
    parts = frame.axis(x, x_label, line=line, main=[row.main for row in rows])
    for number, row in enumerate(rows):
        parts += _estimate(row, x, frame.middle(number))
    return frame.picture(
        parts, title or x_label, "; ".join(map(" ".join, zip(names, texts, strict=True)))
    )


def draw_dots(
    rows: Sequence[Dots],
    x_label: str,
    *,
    title: str,
    line: float = math.nan,
    width: int = 344,
    bounds: tuple[float, float] = _UNBOUNDED,
) -> str:
    """Draw every value as a dot, equal ones above each other, with a bar at the mean of a row.

    A dashed ``line`` goes through all rows.
    """
    height = 34 if len(rows) > 1 else 64
    frame = _Rows([row.name for row in rows], [""] * len(rows), width, height)
    values = [line]
    for row in rows:
        values += row.values
    x = frame.scale(values, bounds)
    parts = frame.axis(x, x_label, line=line, main=[row.main for row in rows])
    about = []
    for number, row in enumerate(rows):
        parts += _dots(row, x, frame.middle(number), height)
        if _drawable(row.mean):
            about.append(f"{row.name} mean {row.mean:.4g} of {len(row.values)}".strip())
    return frame.picture(parts, title, "; ".join(about))


def draw_costs(
    costs: Mapping[str, float], texts: Sequence[str], x_label: str, *, title: str, width: int = 640
) -> str:
    """Draw one bar per name on an axis of powers of ten."""
    frame = _Rows(list(costs), texts, width, height=24)
    logs = [math.log10(cost) for cost in costs.values() if cost > 0 and _drawable(cost)]
    low = math.floor(min(logs, default=0))
    x = Scale(low, max(math.ceil(max(logs, default=0)), low + 1), frame.left, frame.end)
    ticks = [(power, f"{10.0**power:,.6g}") for power in range(low, int(x.high) + 1)]
    parts = frame.axis(x, x_label, ticks)
    for number, cost in enumerate(costs.values()):
        if cost > 0 and _drawable(cost):
            length = max(x(math.log10(cost)) - frame.left, 1)
            top = frame.middle(number) - 5
            box = f'x="{frame.left:.1f}" y="{top:.1f}" width="{length:.1f}" height="10"'
            parts.append(f'<rect {box} rx="2" fill="{FIRST}"/>')
    return frame.picture(parts, title, "; ".join(map(" ".join, zip(costs, texts, strict=True))))


def draw_series(
    curves: Sequence[Series],
    x_label: str,
    y_label: str,
    *,
    title: str,
    about: str = "",
    width: int = 344,
) -> str:
    """Draw curves over one axis; those of one place are a group of the class ``series``.

    A few values that are much higher than all others, as losses of the first epochs may be, are cut
    off, and the highest is named.
    """
    height, left = 220, 52
    known = [point for curve in curves for point in _drawable_points(curve.x, curve.y)]
    roof = _roof(curves)
    x = Scale.exact([place for place, _ in known], left, width - 10)
    reached = [value for curve in curves for value in (*curve.y, *curve.low, *curve.high)]
    y = Scale.over([value for value in reached if value <= roof], height, 8)
    # An inner frame cuts off what is above the roof.
    across, down = width - left - 5, height - 8
    frame = f'x="{left}" y="8" width="{across}" height="{down}"'
    parts = [
        *_x_axis(x, 8, height, x_label, whole=True),
        *_y_axis(y, left, width - 10, y_label),
        f'<svg {frame} viewBox="{left} 8 {across} {down}" aria-hidden="true">',
        *_groups(curves, x, y),
        "</svg>",
    ]
    highest = max((value for _, value in known), default=roof)
    if highest > roof:
        note = f"↑ up to {highest:.3g}"
        parts.append(_text(width - 14, 20, note, f'text-anchor="end" {_SOFT}'))
    return _picture(parts, width, height + _AXIS, title, about)


def draw_points(
    x_values: Sequence[float],
    y_values: Sequence[float],
    x_label: str,
    y_label: str,
    *,
    width: int = 640,
) -> str:
    """Draw points on two axes of the same range, with the line where both values are equal."""
    left = 58
    points = _drawable_points(x_values, y_values)
    x = Scale.over(points, left, left + min(width - left - 14, 380))
    dots = [(one, two, _DOT) for one, two in points]
    title = f"{y_label} against {x_label}, {len(points)} points"
    return _square(dots, x, x_label, y_label, width, title)


def draw_reliability(
    points: Sequence[tuple[float, float, int]],
    *,
    title: str,
    y_label: str = "right (%)",
    width: int = 210,
) -> str:
    """Draw stated probabilities (%) against what happened (%), with the number of cases as area."""
    most = max((count for *_, count in points), default=1)
    dots, about = [], []
    for stated, true, count in points:
        dots.append((stated, true, 2 + 6 * math.sqrt(count / most)))
        about.append(f"probability {stated:.0f}, right {true:.0f} ({count} cases)")
    x = Scale(0, 100, 46, width - 16)
    return _square(dots, x, "probability (%)", y_label, width, title, "; ".join(about))


def _square(
    dots: Sequence[tuple[float, float, float]],
    x: Scale,
    x_label: str,
    y_label: str,
    width: float,
    title: str,
    about: str = "",
) -> str:
    """Draw dots of some radius on two axes of the same range, with the diagonal dashed."""
    top = 10
    bottom = top + x.end - x.start
    y = Scale(x.low, x.high, bottom, top)
    parts = _x_axis(x, top, bottom, x_label) + _y_axis(y, x.start, x.end, y_label)
    parts.append(_segment(x.start, y.start, x.end, y.end, _DASHED))
    parts.append(f'<g fill="{FIRST}" fill-opacity=".65">')
    parts += [_circle(x(one), y(two), radius) for one, two, radius in dots]
    return _picture([*parts, "</g>"], width, bottom + _AXIS, title, about)


def series_color(place: int) -> str:
    """Return the color of the ``place``-th row."""
    return SERIES[place % len(SERIES)]


def series_mark(place: int, x: float, y: float) -> str:
    """Return the mark of the ``place``-th row, so that colors alone need not tell rows apart."""
    shape = _SHAPES[place % len(_SHAPES)].format(x=f"{x:.1f}", y=f"{y:.1f}")
    return f'<path d="{shape}" fill="{series_color(place)}"/>'


def series_key(place: int) -> str:
    """Return a line with its mark, for a legend."""
    line = _segment(0, 6, 26, 6, f'stroke="{series_color(place)}" stroke-width="2"')
    return (
        '<svg width="26" height="12" viewBox="0 0 26 12" aria-hidden="true">'
        f"{line}{series_mark(place, 13, 6)}</svg>"
    )


# Rows and curves


class _Rows:
    """Rows below each other on one axis, with names and texts at both ends of them.

    Where these would leave too little room for the chart, they stand above the rows.
    """

    def __init__(
        self, names: Sequence[str], texts: Sequence[str], width: float, height: float
    ) -> None:
        self.names, self.texts, self.width, self.height = names, texts, width, height
        self.left, right = _room(names), _room(texts)
        self.above = width - self.left - right < _ROOM
        if self.above:
            self.left = right = 14
            self.height += 14
        self.end = width - right
        self.bottom = self.height * len(names) + 8

    def scale(self, values: Any, bounds: tuple[float, float]) -> Scale:
        """Return the axis of some values."""
        return Scale.over(values, self.left, self.end, bounds)

    def middle(self, number: int) -> float:
        """Return where the marks of a row stand."""
        middle = 4 + self.height * (number + 0.5)
        return middle + 10 if self.above else middle

    def axis(
        self,
        x: Scale,
        label: str,
        ticks: Sequence[tuple[float, str]] = (),
        line: float = math.nan,
        main: Sequence[bool] = (),
    ) -> list[str]:
        """Return the axis, names and texts, those of ``main`` rows bold, and the ``line``."""
        # Below names that stand above their rows, an axis has no lines, but marks.
        top = self.bottom - 7 if self.above else 4
        parts = _x_grid(x, ticks or x.ticks(), top, self.bottom, label)
        if _drawable(line):
            parts.append(_segment(x(line), 4, x(line), self.bottom, _DASHED))
        for number, (name, text) in enumerate(zip(self.names, self.texts, strict=True)):
            baseline = self.middle(number) + (-16 if self.above else 4)
            weight = ' font-weight="600"' if any(main[number : number + 1]) else ""
            parts.append(_text(0, baseline, name, f'text-anchor="start"{weight}'))
            parts.append(_text(self.width, baseline, text, f'text-anchor="end"{weight}'))
        return parts

    def picture(self, parts: Sequence[str], title: str, about: str) -> str:
        """Return the whole picture."""
        return _picture(parts, self.width, self.bottom + _AXIS, title, about)


def _ends(row: Estimate, bounds: tuple[float, float], line: float) -> tuple[float, ...]:
    """Return all that an axis must reach."""
    low = max(row.mean - row.spread, bounds[0])
    high = min(row.mean + row.spread, bounds[1])
    return row.mean, low, high, *row.interval, row.mark, line


def _estimate(row: Estimate, x: Scale, y: float) -> list[str]:
    parts = []
    if _drawable(row.mark):
        corners = f"M{x(row.mark):.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z"
        parts.append(f'<path d="{corners}" fill="none" stroke="{SECOND}" stroke-width="1.8"/>')
    if not _drawable(row.mean):
        return parts
    color = FIRST if row.main else "currentColor"
    low, high = row.interval
    if _drawable(low) and _drawable(high):
        thin = f'stroke="{color}" stroke-width="1.5"'
        parts.append(_segment(x(low), y, x(high), y, thin))
        parts += [_segment(x(end), y - 5, x(end), y + 5, thin) for end in (low, high)]
    if _drawable(row.spread):
        thick = f'stroke="{color}" stroke-width="8" stroke-opacity=".45"'
        start, end = max(row.mean - row.spread, x.low), min(row.mean + row.spread, x.high)
        parts.append(_segment(x(start), y, x(end), y, thick))
    return [*parts, _circle(x(row.mean), y, 4.5, f'fill="{color}"')]


def _dots(row: Dots, x: Scale, y: float, height: float) -> list[str]:
    """Return the dots, a column of them wherever values fall together, and the bar of the mean.

    Dots without titles are one path, as there may be thousands.
    """
    radius = _DOT if row.titles else _SMALL_DOT
    columns: dict[int, list[tuple[float, str]]] = {}
    titles = row.titles or [""] * len(row.values)
    for value, title in zip(row.values, titles, strict=True):
        if _drawable(value):
            columns.setdefault(round(x(value) / radius), []).append((x(value), title))
    color, opacity = (FIRST, ".8") if row.main or row.titles else ("currentColor", ".55")
    path, parts = "", []
    for column in columns.values():
        step = min(2 * radius, (height - 6) / len(column))
        top = y - step * (len(column) - 1) / 2
        for number, (place, title) in enumerate(column):
            if title:
                paint = f'fill="{color}" fill-opacity=".65"'
                parts.append(_circle(place, top + step * number, radius, paint, title))
            else:
                path += f"M{place:.1f} {top + step * number:.1f}h0"
    if path:
        stroke = f'stroke="{color}" stroke-width="{2 * radius}" stroke-linecap="round"'
        parts.append(f'<path d="{path}" fill="none" {stroke} stroke-opacity="{opacity}"/>')
    if _drawable(row.mean):
        paint = 'stroke="currentColor" stroke-width="2"'
        parts.append(_segment(x(row.mean), y - 13, x(row.mean), y + 13, paint))
    return parts


def _groups(curves: Sequence[Series], x: Scale, y: Scale) -> list[str]:
    """Return all curves, those of one place as a group."""
    drawn: dict[int, list[str]] = {}
    for curve in curves:
        drawn.setdefault(curve.place, []).extend(_curve(curve, x, y))
    return [
        "\n".join([f'<g class="series" data-series="{place}">', *parts, "</g>"])
        for place, parts in drawn.items()
    ]


def _curve(curve: Series, x: Scale, y: Scale) -> list[str]:
    points = _points(curve.x, curve.y, x, y)
    if not points:
        return []
    color = series_color(curve.place)
    parts = []
    upper, lower = (_points(curve.x, limit or curve.y, x, y) for limit in (curve.high, curve.low))
    if _path(upper) != _path(lower):
        area = _path(upper + lower[::-1])
        parts.append(f'<polygon points="{area}" fill="{color}" fill-opacity=".18"/>')
    line = f'<polyline points="{_path(points)}" fill="none" stroke="{color}"'
    if curve.dashed and len(points) > 1:
        line += ' stroke-width="1.4" stroke-dasharray="4 3" stroke-opacity=".8"/>'
        return [*parts, line]
    # Marks of different rows stand at different places, so that none covers another.
    step = max(1, len(points) // _MARKS)
    first = min(len(points) - 1, (curve.place * 7) % step)
    marks = [series_mark(curve.place, *point) for point in points[first::step]]
    return [*parts, f'{line} stroke-width="2"/>', *marks]


def _points(
    x_values: Sequence[float], y_values: Sequence[float], x: Scale, y: Scale
) -> list[tuple[float, float]]:
    known = _drawable_points(x_values, y_values)
    return [(x(place), y(value)) for place, value in known]


def _roof(curves: Sequence[Series]) -> float:
    """Return the highest value to be seen: of what comes after the first tenth, and a bit more."""
    every: list[float] = []
    later: list[float] = []
    for curve in curves:
        every += filter(_drawable, curve.y)
        later += filter(_drawable, curve.y[len(curve.y) // 10 :])
    if not later:
        return math.inf
    roof = max(later) + 0.25 * (max(later) - min(every))
    return roof if roof > max(later) else math.inf


# Axes


@dataclass(frozen=True)
class Scale:
    """An axis: the values at its ends and where they lie."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def over(
        cls, values: Any, start: float, end: float, bounds: tuple[float, float] = _UNBOUNDED
    ) -> Scale:
        """Return an axis with some air around all finite values, within ``bounds``."""
        finite = np.asarray(values, dtype=float)
        finite = finite[np.abs(finite) <= _LARGEST]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
        size = max(abs(low), abs(high))
        air = 0.06 * (high - low)
        if size < 1 / _LARGEST:
            air = 0.5
        elif air < 1e-9 * size:  # all values are equal, but for rounding
            air = 0.1 * size
        low, high = max(low - air, min(bounds[0], low)), min(high + air, max(bounds[1], high))
        return cls.exact([low, high], start, end)

    @classmethod
    def exact(cls, values: Sequence[float], start: float, end: float) -> Scale:
        """Return an axis that begins and ends at the least and the greatest value."""
        low, high = (min(values), max(values)) if len(values) else (0.0, 1.0)
        return cls(low, high, start, end) if low < high else cls(low - 0.5, high + 0.5, start, end)

    def __call__(self, value: float) -> float:
        return self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low)

    def ticks(self, whole: bool = False) -> list[tuple[float, str]]:
        """Return the places and texts of round numbers, as many as there is room for."""
        room = abs(self.end - self.start)
        most = max(3, min(5, int(room / _LEAST_GAP)), int(room / _TICK_GAP))
        rough = max((self.high - self.low) / most, 1 if whole else 0)
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        size = max(abs(self.low), abs(self.high))
        digits = max(1, math.ceil(math.log10(size / step)) + 1)
        form = f".{digits}g" if size >= 1e6 or decimals > 5 else f".{decimals}f"
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        values = [number * step for number in range(first, last + 1)]
        return [(value, format(value, form).replace("-", "−")) for value in values]


def _x_axis(scale: Scale, top: float, bottom: float, label: str, whole: bool = False) -> list[str]:
    return _x_grid(scale, scale.ticks(whole), top, bottom, label)


def _x_grid(
    scale: Scale, ticks: Iterable[tuple[float, str]], top: float, bottom: float, label: str
) -> list[str]:
    """Return upright lines, with their numbers and the name of the axis below."""
    parts = []
    paint = f'text-anchor="middle" {_SOFT}'
    for value, text in ticks:
        parts.append(_segment(scale(value), top, scale(value), bottom, _GRID))
        parts.append(_text(scale(value), bottom + 16, text, paint))
    return [*parts, _text((scale.start + scale.end) / 2, bottom + 33, label, paint)]


def _y_axis(scale: Scale, left: float, right: float, label: str) -> list[str]:
    """Return level lines, with their numbers and the name of the axis to their left."""
    parts = []
    for value, text in scale.ticks():
        parts.append(_segment(left, scale(value), right, scale(value), _GRID))
        parts.append(_text(left - 7, scale(value) + 4, text, f'text-anchor="end" {_SOFT}'))
    middle = (scale.start + scale.end) / 2
    turned = f'text-anchor="middle" {_SOFT} transform="rotate(-90 12 {middle:.0f})"'
    return [*parts, _text(12, middle, label, turned)]


# Elements


def _drawable(value: float) -> bool:
    """Return whether a value has a place on an axis."""
    return abs(value) <= _LARGEST


def _drawable_points(x: Sequence[float], y: Sequence[float]) -> list[tuple[float, float]]:
    return [point for point in zip(x, y, strict=True) if all(map(_drawable, point))]


def _room(texts: Iterable[str]) -> float:
    """Return the width that the longest of some texts takes, with a margin."""
    return _CHARACTER * max(map(len, texts)) + 14


def _path(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _segment(x1: float, y1: float, x2: float, y2: float, paint: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {paint}/>'


def _circle(x: float, y: float, radius: float, paint: str = "", title: str = "") -> str:
    circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" {paint}'.rstrip()
    return f"{circle}><title>{escape(title)}</title></circle>" if title else f"{circle}/>"


def _text(x: float, y: float, text: str, paint: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {paint}>{escape(text)}</text>'


def _picture(parts: Sequence[str], width: float, height: float, title: str, about: str = "") -> str:
    """Return the whole picture; ``title`` names it, ``about`` says what can be seen in it."""
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    font = 'font-family="system-ui,sans-serif" font-size="12" fill="currentColor"'
    name = f'role="img" aria-label="{escape(title)}"'
    description = f"<desc>{escape(about)}</desc>\n" if about else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font} {name}>\n'
        f"<title>{escape(title)}</title>\n{description}" + "\n".join(parts) + "\n</svg>"
    )
