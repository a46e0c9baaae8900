"""Predictions beside the truth: confusion of classes, errors of values, calibration, choices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from edgnn._words import cut, number, short_iri
from edgnn.evaluation import Evaluation
from edgnn.report._numbers import shown
from edgnn.report._results import by_dataset, computed_entries
from edgnn.report._views import Cell, Sortable, evenly, figure
from edgnn.report.draw import draw_points, draw_reliability

if TYPE_CHECKING:
    from edgnn.studies import Entry, TableSummary

_Array = np.ndarray[Any, Any]
_View = dict[str, Any]
#: Classes in a matrix of an evaluation, of a card of a study, and in a list.
_WIDEST, _WIDEST_CARD, _MOST_CLASSES = 20, 12, 200
_MOST_DOTS = 500
_LONGEST_NAME, _LONGEST_CARD_NAME = 61, 28
_BINS = 10
_MOST_VALUES = 6
#: What a choice was made by, or between, is not itself chosen.
_NOT_CHOSEN = (
    *("inner_accuracy", "inner_score", "loo_error", "best_epoch", "valid_loss"),
    "candidates",
)


def confusion_view(counts: _Array, names: Sequence[str], note: str) -> _View:
    """Return which class (row) is taken for which (column), or of many classes one row each."""
    short = [cut(name, _LONGEST_NAME) for name in names]
    if len(names) > _WIDEST:
        rows = _class_rows(counts, short)
        return {"classes": rows, "hidden": len(names) - len(rows), "note": note}
    about = "Counts and shares of the row; the stronger the shade, the larger the share."
    return {"matrix": confusion_matrix(counts, short), "note": f"{about} {note}"}


def confusion_matrix(counts: _Array, names: Sequence[str], caption: str = "") -> _View:
    """Return counts and percents of a confusion matrix, row by row."""
    percents = 100 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    cells = [
        list(zip(*row, strict=True)) for row in zip(counts.tolist(), percents.tolist(), strict=True)
    ]
    rows = list(zip(names, cells, counts.sum(axis=1).tolist(), strict=True))
    return {"caption": caption, "names": names, "rows": rows}


def points_view(true: _Array, predicted: _Array, note: str) -> _View | None:
    """Return predicted beside true values; of more than 500, some are drawn."""
    known = np.flatnonzero(np.isfinite(true) & np.isfinite(predicted))
    if not len(known):
        return None
    if len(known) > _MOST_DOTS:
        note = f"{_MOST_DOTS} of {len(known):,} predictions are drawn. {note}"
        known = known[evenly(len(known), _MOST_DOTS)]
    caption = f"On the dashed line, both are equal. {note}"
    points = true[known].tolist(), predicted[known].tolist()
    return {"points": figure(caption, draw_points, *points, "true value", "prediction")}


def _class_rows(counts: _Array, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return one row per class, the largest first, where a matrix would be too wide."""
    sizes, hits = counts.sum(axis=1), counts.diagonal()
    wrong = counts - np.diag(hits)
    rows: list[tuple[str, ...]] = []
    for row in np.argsort(-sizes, kind="stable")[:_MOST_CLASSES].tolist():
        other = int(wrong[row].argmax())
        taken = f"{names[other]} ({wrong[row, other]:,})" if wrong[row, other] else "–"
        right = hits[row] / sizes[row] if sizes[row] else float("nan")
        rows.append((names[row], f"{sizes[row]:,}", number(right, True), taken))
    return rows


# Calibration


def calibration_view(evaluation: Evaluation) -> _View | None:
    """Return probabilities beside what happened, or ``None`` where there are none."""
    groups, error = reliability(evaluation)
    if not groups:
        return None
    rows = []
    for decile, mean, fraction, count in groups:
        limits = f"{100 * decile // _BINS} to {100 * (decile + 1) // _BINS}"
        numbers = (number(value, True) for value in (mean, fraction, fraction - mean))
        rows.append((limits, f"{count:,}", *numbers))
    classes = evaluation.task == "classes"
    outcome = "right (%)" if classes else "label is 1 (%)"
    of = "probability of the predicted class (%)" if classes else "probability of the label (%)"
    picture = draw_reliability(_dots(groups), title="Calibration", y_label=outcome, width=260)
    return {
        "error": number(error, True),
        "picture": picture,
        "head": (of, "predictions", "on average (%)", outcome, "difference"),
        "rows": rows,
    }


def reliability(evaluation: Evaluation) -> tuple[list[tuple[int, float, float, int]], float]:
    """Return groups of predictions of similar probability, and the expected calibration error.

    A group is its number (0 to 9, by tens of percent), the mean of its probabilities, the fraction
    that came true, and its size.
    """
    pairs = [_stated_and_true(evaluation, place) for place in range(len(evaluation.splits))]
    stated = np.concatenate([pair[0] for pair in pairs])
    true = np.concatenate([pair[1] for pair in pairs])
    decile = np.minimum((stated * _BINS).astype(int), _BINS - 1)
    groups, error = [], 0.0
    for group in np.unique(decile).tolist():
        here = decile == group
        mean, fraction = float(stated[here].mean()), float(true[here].mean())
        count = int(here.sum())
        error += abs(mean - fraction) * count / len(stated)
        groups.append((group, mean, fraction, count))
    return groups, error


def _stated_and_true(evaluation: Evaluation, place: int) -> tuple[_Array, _Array]:
    """Return the probabilities that a split's model states, and whether each came true."""
    outcome, truth = evaluation.outcomes[place], evaluation.truth[evaluation.splits[place].test]
    if outcome.probability is None or evaluation.task == "values":
        return np.zeros(0), np.zeros(0)
    if evaluation.task == "classes":
        stated = outcome.probability[np.arange(len(truth)), outcome.prediction]
        known = (truth >= 0) & np.isfinite(stated)
        return stated[known].clip(0, 1), (truth == outcome.prediction)[known].astype(float)
    known = np.isfinite(truth) & np.isfinite(outcome.probability)
    return outcome.probability[known].clip(0, 1), truth[known]


def _dots(groups: list[tuple[int, float, float, int]]) -> list[tuple[float, float, int]]:
    return [(100 * mean, 100 * fraction, count) for _, mean, fraction, count in groups]


def cards(summary: TableSummary) -> list[tuple[str, list[_View]]]:
    """Return calibration and confusion of every row of a table, by data set."""
    entries = by_dataset(summary)
    return [(dataset, list(map(_card, own))) for dataset, own in entries.items()]


def _card(entry: Entry) -> _View:
    where = f"{entry.row.title} on {entry.dataset}"
    groups, error = reliability(entry.evaluation)
    picture = draw_reliability(_dots(groups), title=f"Calibration of {where}") if groups else ""
    counts, matrix = entry.evaluation.confusion, None
    if counts is not None and len(counts) <= _WIDEST_CARD:
        names = [cut(short_iri(name), _LONGEST_CARD_NAME) for name in entry.evaluation.class_names]
        matrix = confusion_matrix(counts, names, f"Confusion of {where}")
    return {
        "title": entry.row.title,
        "picture": picture,
        "error": number(error, True),
        "matrix": matrix,
    }


# Choices


def choices(evaluation: Evaluation) -> list[tuple[str, str]]:
    """Return each setting chosen inside the training sets, with how many splits chose what."""
    counts: dict[str, Counter[str]] = {}
    for outcome in evaluation.outcomes:
        for name, value in (outcome.chosen or {}).items():
            if name not in _NOT_CHOSEN:
                counts.setdefault(name, Counter())[shown(value)] += 1
    rows = []
    for name, times in counts.items():
        values = [f"{value} ({count}×)" for value, count in times.most_common(_MOST_VALUES)]
        if len(times) > _MOST_VALUES:
            values.append(f"{len(times) - _MOST_VALUES} others")
        rows.append((name, ", ".join(values)))
    return rows


def chosen_view(summary: TableSummary) -> _View | None:
    """Return the searches and other choices of a table's rows; ``None`` where there are none."""
    searches, rows = [], []
    for entry in computed_entries(summary):
        where = (entry.row.title, entry.dataset)
        if has_candidates(entry):
            searches.append((f"{where[0]} on {where[1]}: the search", _search_table(entry)))
        else:
            rows += [(*where, *choice) for choice in choices(entry.evaluation)]
    return {"searches": searches, "rows": rows} if searches or rows else None


def search_rows(entry: Entry) -> list[dict[str, Any]]:
    """Return a row per candidate of an entry's search; none if there was no search."""
    from edgnn.studies import search_table

    return search_table(entry.evaluation) if has_candidates(entry) else []


def has_candidates(entry: Entry) -> bool:
    """Return whether the settings were searched among candidates, in every split."""
    chosen = [outcome.chosen or {} for outcome in entry.evaluation.outcomes]
    return bool(chosen) and all("candidates" in choice for choice in chosen)


def _search_table(entry: Entry) -> Sortable:
    head = [
        "candidate",
        "chosen",
        "validation loss",
        "training accuracy",
        "test accuracy, seen by no choice",
    ]
    splits = len(entry.evaluation.splits)
    return Sortable(
        f"Candidates of {entry.row.title} on {entry.dataset}, in {splits} splits; "
        "accuracies in percent",
        head,
        [_candidate(row) for row in search_rows(entry)],
    )


def _candidate(row: dict[str, Any]) -> list[Cell]:
    names = ("valid_loss", "training_accuracy", "accuracy")
    loss, training, accuracy = (float(row[name]) for name in names)
    return [
        Cell(row["candidate"]),
        Cell(str(row["chosen"]), row["chosen"]),
        Cell(number(loss), loss),
        Cell(number(training, True), training),
        Cell(number(accuracy, True), accuracy),
    ]
