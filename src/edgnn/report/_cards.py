"""How each row of a study predicts: whether its probabilities hold, which classes it mistakes, what it chose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from edgnn._words import short_iri
from edgnn.report._calibration import reliability
from edgnn.report._chosen import choices
from edgnn.report._html import Cell, Html, folded, part, scrolled, sortable, table, tag
from edgnn.report._numbers import number
from edgnn.report._predictions import confusion_matrix
from edgnn.report._results import computed_entries
from edgnn.report.draw import draw_reliability

if TYPE_CHECKING:
    from edgnn.studies import Entry, TableSummary

_MOST_CLASSES = 12
_LONGEST_NAME = 28


def predictions_part(summary: TableSummary) -> Html:
    """Return calibration and confusion of every row, folded away, one fold per data set."""
    folds = []
    for dataset in summary.datasets:
        entries = [entry for entry in computed_entries(summary) if entry.dataset == dataset]
        folds.append(folded(dataset, tag("div", *map(_card, entries), class_="cards")))
    note = (
        "Above: the probability of the predicted class against how often it is right, in groups of ten percent; the larger a dot, "
        "the more predictions; on the dashed line, probabilities can be taken at their word. "
        "Below: true classes (rows) and predicted ones (columns) in all test parts."
    )
    return part("Calibration and confusion", tag("p", note, class_="note"), *folds)


def chosen_part(summary: TableSummary) -> list[Html]:
    """Return what rows chose inside the training parts, and how often; nothing where nothing was chosen."""
    entries = computed_entries(summary)
    searches = [entry for entry in entries if _is_search(entry)]
    folds = [
        folded(f"{entry.row.title} on {entry.dataset}: the search", _search(entry))
        for entry in searches
    ]
    rows = [
        (entry.row.title, entry.dataset, name, told)
        for entry in entries
        if not _is_search(entry)
        for name, told in choices(entry.evaluation)
    ]
    listed = (
        [
            folded(
                "Other choices, by model and data set",
                table(("model", "data set", "setting", "values"), rows),
            )
        ]
        if rows
        else []
    )
    if not folds and not listed:
        return []
    note = "Chosen anew in every split, by what its training part alone can tell."
    return [
        part("Chosen inside the training parts", tag("p", note, class_="note"), *folds, *listed)
    ]


def _card(entry: Entry) -> Html:
    evaluation = entry.evaluation
    points, off = reliability(evaluation)
    parts: list[Html] = [tag("h4", entry.row.title)]
    if points:
        shown = [(100 * said, 100 * true, count) for _, said, true, count in points]
        title = f"Calibration of {entry.row.title} on {entry.dataset}"
        parts += [
            Html(draw_reliability(shown, title=title)),
            tag("p", f"On average {number(off, True)} points off.", class_="note"),
        ]
    else:
        parts.append(tag("p", "It gives no probabilities.", class_="note"))
    counts = evaluation.confusion
    if counts is not None and len(counts) <= _MOST_CLASSES:
        caption = f"Confusion of {entry.row.title} on {entry.dataset}"
        parts.append(scrolled(confusion_matrix(counts, _short(evaluation.class_names), caption)))
    return tag("div", *parts)


def _is_search(entry: Entry) -> bool:
    told = [outcome.chosen or {} for outcome in entry.evaluation.outcomes]
    return bool(told) and all("candidates" in chosen for chosen in told)


def _search(entry: Entry) -> Html:
    """Return a line for each candidate: its validation loss, how often it was chosen, what it would have given."""
    lines = [_candidate(row) for row in search_rows(entry)]
    caption = f"Candidates of {entry.row.title} on {entry.dataset}, in {len(entry.evaluation.splits)} splits; accuracies in percent"
    head = [
        "candidate",
        "chosen",
        "validation loss",
        "training accuracy",
        "test accuracy, seen by no choice",
    ]
    return sortable(caption, head, lines)


def search_rows(entry: Entry) -> list[dict[str, Any]]:
    """Return the search of an entry as plain values, one row per candidate; none if there was no search."""
    from edgnn.studies import search_table

    return search_table(entry.evaluation) if _is_search(entry) else []


def _candidate(row: dict[str, Any]) -> list[Cell]:
    loss, training, accuracy = (
        float(row[name]) for name in ("valid_loss", "training_accuracy", "accuracy")
    )
    return [
        Cell(row["candidate"]),
        Cell(str(row["chosen"]), row["chosen"]),
        Cell(number(loss), loss),
        Cell(number(training, True), training),
        Cell(number(accuracy, True), accuracy),
    ]


def _short(names: Sequence[str]) -> list[str]:
    short = [short_iri(name) for name in names]
    return [
        name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…" for name in short
    ]
