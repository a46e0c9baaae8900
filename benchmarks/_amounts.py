"""Figures as one reads them: three digits and a unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def amount(value: float, unit: str = "s") -> str:
    """Return a time, or a figure in another unit, with three digits."""
    if unit != "s":
        return f"{_number(value)} {unit}"
    for factor, word in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 1:
            return f"{_number(value * factor)} {word}"
    return f"{_number(1e9 * value)} ns"


def size(count: int) -> str:
    """Return a number of bytes with three digits."""
    value, units = float(count), ["B", "KiB", "MiB", "GiB"]
    while abs(value) >= 1000 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{_number(value)} {units[0]}"


def percent(share: float) -> str:
    """Return a share in per cent, whole."""
    return f"{100 * share:.0f} %"


def extras(extra: Mapping[str, Any]) -> list[str]:
    """Return the numbers that stand beside a figure, each with its name."""
    return [
        f"{key.replace('_', ' ')} {_number(value)}"
        for key, value in extra.items()
        if isinstance(value, int | float)
    ]


def _number(value: int | float) -> str:
    """Return a number with three digits, a larger or whole one without a fraction."""
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 999.5 else f"{value:.3g}"
