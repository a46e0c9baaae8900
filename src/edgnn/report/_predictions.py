"""Predictions beside the truth: which class is mistaken for which, and how far values are off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgnn.report._html import Html, figure, markup, scrolled, section, table, tag
from edgnn.report._numbers import number
from edgnn.report.draw import draw_points

_Array = np.ndarray[Any, Any]
_WIDEST = 20
_MOST_CLASSES = 200
_MOST_DOTS = 500
_LONGEST_NAME = 60


def confusion_section(counts: _Array, names: Sequence[str], note: str) -> list[Html]:
    """Return the section on which class (row) is taken for which (column); ``note`` says what is counted."""
    short = [name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…" for name in names]
    if len(names) > _WIDEST:
        return [section("Classes", _by_class(counts, short), tag("p", note, class_="note"))]
    explained = (
        f"Counts and shares of the row; the stronger the shade, the larger the share. {note}"
    )
    matrix = scrolled(confusion_matrix(counts, short))
    return [section("Confusion matrix", matrix, tag("p", explained, class_="note"))]


def confusion_matrix(counts: _Array, names: Sequence[str], caption: str = "") -> Html:
    """Return a table of how often each class (row) is taken for each (column), with shades for the shares of a row."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    columns = (tag("th", name, scope="col") for name in (*names, "all"))
    head = tag("tr", tag("th", "true class", scope="col"), *columns)
    rows = [
        tag(
            "tr",
            tag("th", name, scope="row"),
            *_cells(counts[place], shares[place], place),
            tag("td", f"{counts[place].sum():,}"),
        )
        for place, name in enumerate(names)
    ]
    over = tag("th", "predicted class", colspan=str(len(names)), scope="colgroup")
    top = tag("thead", tag("tr", tag("td"), over, tag("td")), head)
    told = [tag("caption", caption, class_="unseen")] if caption else []
    return tag("table", *told, top, tag("tbody", *rows), class_="confusion")


def points_section(true: _Array, said: _Array, note: str) -> list[Html]:
    """Return the section that shows predicted beside true values; of more than 500, some are drawn."""
    known = np.flatnonzero(np.isfinite(true) & np.isfinite(said))
    if not len(known):
        return []
    if len(known) > _MOST_DOTS:
        note = f"{_MOST_DOTS} of {len(known):,} predictions are drawn. {note}"
        known = known[np.linspace(0, len(known) - 1, _MOST_DOTS).round().astype(int)]
    points = true[known].tolist(), said[known].tolist()
    caption = f"On the dashed line, both are equal. {note}"
    return [
        section(
            "Predictions",
            figure(
                lambda width: draw_points(*points, "true value", "prediction", width=width), caption
            ),
        )
    ]


def _cells(counts: _Array, shares: _Array, diagonal: int) -> list[Html]:
    cells = []
    for place, (count, share) in enumerate(zip(counts.tolist(), shares.tolist(), strict=True)):
        shade = f"background:rgb(78 121 167 / {60 * share:.0f}%)"
        text = markup(f"{count:,}", tag("small", f"{100 * share:.1f} %"))
        cells.append(tag("td", text, style=shade, class_="hit" if place == diagonal else None))
    return cells


def _by_class(counts: _Array, names: Sequence[str]) -> Html:
    """Return one row per class, the largest first, where a matrix would be too wide."""
    sizes, hits = counts.sum(axis=1), counts.diagonal()
    wrong = counts - np.diag(hits)
    order = np.argsort(-sizes, kind="stable")[:_MOST_CLASSES].tolist()
    rows = []
    for place in order:
        other = int(wrong[place].argmax())
        taken = f"{names[other]} ({wrong[place, other]:,})" if wrong[place, other] else "–"
        share = number(hits[place] / sizes[place] if sizes[place] else float("nan"), True)
        rows.append((names[place], f"{sizes[place]:,}", share, taken))
    more = len(names) - len(order)
    rest = tag("p", f"The {more:,} smallest classes are not shown.") if more else Html("")
    return markup(table(("class", "items", "right (%)", "most often taken for"), rows), rest)
