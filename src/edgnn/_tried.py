"""What a model tried, as rows of text for the terminal and for pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from edgnn._words import duration, number

_NOT_SCORES = ("learner", "seconds", "share", "skipped")
_PERCENT = ("accuracy",)


def tried_table(rows: Any) -> tuple[list[str], list[list[str]]]:
    """Return the titles and the cells of a table of what was tried.

    Parameters
    ----------
    rows : sequence of mappings
        The learner, how well it predicts held-out items, its seconds and its share. What is damaged
        is left out.
    """
    rows = _usable(rows)
    scores = dict.fromkeys(name for row in rows for name in row if name not in _NOT_SCORES)
    if not rows or not scores:
        return [], []
    titles = ["tried", *(_score_title(name) for name in scores), "time", "share (%)"]
    return titles, [_cells(row, list(scores)) for row in rows]


def coverage_text(measured: Any) -> str:
    """Return in a sentence how often intervals or sets held the truth of the test set."""
    if not isinstance(measured, Mapping):
        return ""
    asked, held, size = (_number(measured.get(key)) for key in ("asked", "held", "mean_size"))
    if math.isnan(asked) or math.isnan(held):
        return ""
    is_sets = measured.get("of") == "sets"
    what, how_large = ("sets of classes", "classes") if is_sets else ("intervals", "wide")
    text = f"{100 * asked:g} % {what} hold {number(held, percent=True)} % of the test set"
    return f"{text}." if math.isnan(size) else f"{text}; on average {number(size)} {how_large}."


def _usable(rows: Any) -> list[Mapping[str, Any]]:
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        return []
    return [row for row in rows if isinstance(row, Mapping) and "learner" in row]


def _score_title(name: str) -> str:
    return f"held-out {name} (%)" if name in _PERCENT else f"held-out {name}"


def _cells(row: Mapping[str, Any], scores: Sequence[str]) -> list[str]:
    skipped = row.get("skipped")
    texts = [number(_number(row.get(name)), name in _PERCENT) for name in scores]
    if isinstance(skipped, str):
        texts[0] = skipped
    seconds = duration(_number(row["seconds"])) if "seconds" in row else ""
    share = number(_number(row["share"]), percent=True) if "share" in row else ""
    return [str(row["learner"]), *texts, seconds, share]


def _number(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else math.nan
