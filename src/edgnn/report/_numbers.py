"""Numbers and settings as a reader wants to see them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from edgnn._json import plain
from edgnn._words import cut, number

_LONGEST = 301
_MOST = 12
_NAMES = {
    "roc_auc": "ROC-AUC",
    "pr_auc": "PR-AUC",
    "f1": "F1",
    "rmse": "RMSE",
    "mae": "MAE",
    "r2": "R²",
}


def plus_minus(mean: float, spread: float, percent: bool = False) -> str:
    """Return a mean and what it varies by, if that is known."""
    if math.isnan(spread):
        return number(mean, percent)
    return f"{number(mean, percent)} ± {spread_text(mean, spread, percent)}"


def spread_text(mean: float, spread: float, percent: bool = False) -> str:
    """Return a spread with as many decimals as its mean has."""
    decimals = number(mean, percent).partition(".")[2]
    if percent or not math.isfinite(spread) or not decimals.isdigit():
        return number(spread, percent)
    if 0 < spread < 10.0 ** -len(decimals):
        return number(spread)
    return f"{spread:.{len(decimals)}f}"


def limits_text(interval: tuple[float, float], percent: bool, unknown: str = "–") -> str:
    """Return the ends of an interval; ``unknown`` if it has none."""
    low, high = interval
    if math.isnan(low):
        return unknown
    return f"{number(low, percent)} to {number(high, percent)}"


def metric_name(name: str, percent: bool = False) -> str:
    """Return what people call a metric."""
    text = _NAMES.get(name, name.replace("_", " "))
    return f"{text} (%)" if percent else text


def capital(text: str) -> str:
    """Return text that begins a sentence or a title."""
    return text[:1].upper() + text[1:]


def between(values: Sequence[int]) -> str:
    """Return one number, or the least and the greatest."""
    low, high = min(values), max(values)
    if low == high:
        return f"{low:,}"
    return f"{low:,} or {high:,}" if high == low + 1 else f"{low:,} to {high:,}"


def signed(points: float) -> str:
    """Return a difference with its sign, and one decimal."""
    if not math.isfinite(points):
        return "–"
    return f"{points:+.1f}".replace("-", "−") if round(points, 1) else "0.0"


def gap(difference: float, percent: bool) -> str:
    """Return a difference of two scores with its sign, in points or with three digits."""
    if percent or not math.isfinite(difference):
        return signed(100 * difference)
    return f"{difference:+.3g}".replace("-", "−") if difference else "0"


def p_text(p_value: float) -> str:
    """Return a p value as people write it."""
    if p_value < 0.001:
        return "p < 0.001"
    return "p = 1" if p_value > 0.995 else f"p = {p_value:.2g}"


def size(amount: float) -> str:
    """Return bytes in the unit one would say them in."""
    for unit in ("bytes", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def shown(value: Any) -> str:
    """Return a setting as short text."""
    value = plain(value)
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        text = json.dumps(value, ensure_ascii=False) if value else "none"
    elif isinstance(value, list):
        text = ", ".join(map(shown, value[:_MOST])) or "none"
        if len(value) > _MOST:
            text += f", … ({len(value):,} in all)"
    else:
        text = str(value) or "(empty)"
    return cut(text, _LONGEST)
