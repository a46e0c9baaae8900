"""Curves of cost against size, on logarithmic axes, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from edgnn.report.draw._svg import fill

_WIDTH, _HEIGHT = 640, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 170, 46, 60
_STYLE = ".grid{stroke:#e3e3e3}.tick{font:11px sans-serif}.name{font:12px sans-serif}.title{font:bold 14px sans-serif}"


def draw_growth(
    series: Mapping[str, Sequence[tuple[float, float]]], title: str, x_label: str, y_label: str
) -> str:
    """Draw curves of positive values, both axes logarithmic; a straight line of slope one means cost in proportion to size."""
    points = [point for curve in series.values() for point in curve]
    x_range, y_range = _decades([x for x, _ in points]), _decades([y for _, y in points])
    parts = [
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="24" class="title">{escape(title)}</text>',
    ]
    for power in range(x_range[0], x_range[1] + 1):
        x = _place(10.0**power, x_range, _LEFT, _WIDTH - _RIGHT)
        parts.append(
            f'<line x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{_HEIGHT - _BOTTOM}" class="grid"/>'
        )
        parts.append(
            f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle" class="tick">{_power(power)}</text>'
        )
    for power in range(y_range[0], y_range[1] + 1):
        y = _place(10.0**power, y_range, _HEIGHT - _BOTTOM, _TOP)
        parts.append(
            f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}" class="grid"/>'
        )
        parts.append(
            f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" class="tick">{_power(power)}</text>'
        )
    for number, (name, curve) in enumerate(series.items()):
        parts += _curve(name, curve, fill(number), number, x_range, y_range)
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(
        f'<text x="{middle}" y="{_HEIGHT - 18}" text-anchor="middle" class="name">{escape(x_label)}</text>'
    )
    turned = f'text-anchor="middle" transform="rotate(-90 20 {_HEIGHT / 2})"'
    parts.append(f'<text x="20" y="{_HEIGHT / 2}" {turned} class="name">{escape(y_label)}</text>')
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{_STYLE}</style>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _curve(
    name: str,
    curve: Sequence[tuple[float, float]],
    color: str,
    number: int,
    x_range: tuple[int, int],
    y_range: tuple[int, int],
) -> list[str]:
    places = [
        (_place(x, x_range, _LEFT, _WIDTH - _RIGHT), _place(y, y_range, _HEIGHT - _BOTTOM, _TOP))
        for x, y in sorted(curve)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    legend = _TOP + 10 + 20 * number
    return [
        f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>',
        *(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{color}"/>' for x, y in places),
        f'<circle cx="{_WIDTH - _RIGHT + 18}" cy="{legend}" r="5" fill="{color}"/>',
        f'<text x="{_WIDTH - _RIGHT + 30}" y="{legend + 4}" class="name">{escape(name)}</text>',
    ]


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _place(value: float, decades: tuple[int, int], start: float, end: float) -> float:
    return start + (end - start) * (math.log10(value) - decades[0]) / (decades[1] - decades[0])


def _power(exponent: int) -> str:
    raised = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}"
