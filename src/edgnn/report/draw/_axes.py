"""Axes of charts and the elements they are drawn with, in the colors of the text around them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from edgnn.report.draw._svg import fill

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
FIRST, SECOND = SERIES[0], fill(3)
CHARACTER = 6.8
AXIS = 40
_TICK_GAP, _LEAST_GAP = 66, 36
_LARGEST = 1e200


@dataclass(frozen=True)
class Scale:
    """An axis: the values at its ends and where they lie."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def over(
        cls,
        values: Any,
        start: float,
        end: float,
        bounds: tuple[float, float] = (-math.inf, math.inf),
    ) -> Scale:
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
        room = abs(self.end - self.start)
        most = max(3, min(5, int(room / _LEAST_GAP)), int(room / _TICK_GAP))
        rough = max((self.high - self.low) / most, 1 if whole else 0)
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        size = max(abs(self.low), abs(self.high))
        digits = max(1, math.ceil(math.log10(size / step)) + 1)
        form = f".{digits}g" if size >= 1e6 or decimals > 5 else f".{decimals}f"
        numbers = range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1)
        return [
            (number * step, format(number * step, form).replace("-", "−")) for number in numbers
        ]


def drawable(value: float) -> bool:
    """Return whether a value has a place on an axis."""
    return abs(value) <= _LARGEST


def exact(values: Sequence[float], start: float, end: float) -> Scale:
    """Return an axis that begins and ends at the first and the last value."""
    low, high = (min(values), max(values)) if len(values) else (0.0, 1.0)
    return Scale(low, high, start, end) if low < high else Scale(low - 0.5, high + 0.5, start, end)


def x_axis(scale: Scale, top: float, bottom: float, label: str, whole: bool = False) -> list[str]:
    """Return upright lines at round numbers, with the numbers and the name of the axis below."""
    parts = []
    for value, text in scale.ticks(whole):
        parts.append(
            segment(
                scale(value),
                top,
                scale(value),
                bottom,
                'stroke="currentColor" stroke-opacity=".15"',
            )
        )
        parts.append(
            text_at(scale(value), bottom + 16, text, ' text-anchor="middle" fill-opacity=".75"')
        )
    middle = (scale.start + scale.end) / 2
    return [*parts, text_at(middle, bottom + 33, label, ' text-anchor="middle" fill-opacity=".75"')]


def y_axis(scale: Scale, left: float, right: float, label: str) -> list[str]:
    """Return level lines at round numbers, with the numbers and the name of the axis to their left."""
    parts = []
    for value, text in scale.ticks():
        parts.append(
            segment(
                left,
                scale(value),
                right,
                scale(value),
                'stroke="currentColor" stroke-opacity=".15"',
            )
        )
        parts.append(
            text_at(left - 7, scale(value) + 4, text, ' text-anchor="end" fill-opacity=".75"')
        )
    middle = (scale.start + scale.end) / 2
    turned = f' text-anchor="middle" fill-opacity=".75" transform="rotate(-90 12 {middle:.0f})"'
    return [*parts, text_at(12, middle, label, turned)]


def segment(x1: float, y1: float, x2: float, y2: float, paint: str) -> str:
    """Return a straight line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {paint}/>'


def text_at(x: float, y: float, text: str, more: str) -> str:
    """Return a text; ``more`` are further attributes."""
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(text)}</text>'


def picture(parts: Sequence[str], width: float, height: float, title: str, about: str = "") -> str:
    """Return the whole picture; ``title`` names it, ``about`` says what can be seen in it."""
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    font = 'font-family="system-ui,sans-serif" font-size="12" fill="currentColor"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font} role="img" aria-label="{escape(title)}">'
    told = f"<desc>{escape(about)}</desc>\n" if about else ""
    return f"{head}\n<title>{escape(title)}</title>\n{told}" + "\n".join(parts) + "\n</svg>"
