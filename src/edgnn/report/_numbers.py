"""Numbers and settings as a reader wants to see them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from edgnn._json import plain

_LONGEST = 300
_MOST = 12
_NAMES = {
    "roc_auc": "ROC-AUC",
    "pr_auc": "PR-AUC",
    "f1": "F1",
    "rmse": "RMSE",
    "mae": "MAE",
    "r2": "R²",
}


def number(value: float, percent: bool = False) -> str:
    """Return a score, in percent with one decimal or with four digits; a dash if it is not known."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞" if value > 0 else "−∞"
    return (f"{100 * value:.1f}" if percent else f"{value:.4g}").replace("-", "−")


def plus_minus(mean: float, spread: float, percent: bool = False) -> str:
    """Return a mean and what it varies by, if that is known."""
    return number(mean, percent) + (
        "" if math.isnan(spread) else f" ± {spread_text(mean, spread, percent)}"
    )


def spread_text(mean: float, spread: float, percent: bool = False) -> str:
    """Return a spread with as many decimals as its mean has."""
    decimals = number(mean, percent).partition(".")[2]
    if percent or not math.isfinite(spread) or not decimals.isdigit():
        return number(spread, percent)
    return (
        f"{spread:.{len(decimals)}f}"
        if spread == 0 or spread >= 10.0 ** -len(decimals)
        else number(spread)
    )


def metric_name(name: str, percent: bool = False) -> str:
    """Return what people call a metric."""
    return _NAMES.get(name, name.replace("_", " ")) + (" (%)" if percent else "")


def between(values: Sequence[int]) -> str:
    """Return one number, or the least and the greatest."""
    low, high = min(values), max(values)
    return (
        f"{low:,}"
        if low == high
        else f"{low:,} or {high:,}"
        if high == low + 1
        else f"{low:,} to {high:,}"
    )


def signed(points: float) -> str:
    """Return a difference with its sign, and one decimal."""
    if not math.isfinite(points):
        return "–"
    return f"{points:+.1f}".replace("-", "−") if round(points, 1) else "0.0"


def gap(difference: float, percent: bool) -> str:
    """Return a difference of two scores with its sign: in points where scores are percent, else with three digits."""
    if percent or not math.isfinite(difference):
        return signed(100 * difference)
    return f"{difference:+.3g}".replace("-", "−") if difference else "0"


def p_text(p_value: float) -> str:
    """Return a p value as people write it."""
    return "p < 0.001" if p_value < 0.001 else "p = 1" if p_value > 0.995 else f"p = {p_value:.2g}"


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
        return _cut(json.dumps(value, ensure_ascii=False)) if value else "none"
    if isinstance(value, list):
        if len(value) > _MOST:
            return _cut(f"{', '.join(map(shown, value[:_MOST]))}, … ({len(value):,} in all)")
        return _cut(", ".join(map(shown, value))) or "none"
    return _cut(str(value)) or "(empty)"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
