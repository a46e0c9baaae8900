"""The tables of a study: figures as the paper prints them, beside its own, and as plain values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from edgnn._words import counted, duration
from edgnn.evaluation import Summary
from edgnn.report._numbers import limits_text, number, signed, size, spread_text
from edgnn.report._views import MISSING, Cell, Sortable
from edgnn.studies import NOTABLE

if TYPE_CHECKING:
    from edgnn.studies import Entry, Published, TableSummary


def summary_of(entry: Entry) -> Summary:
    """Return the scores of an entry by the first metric of its evaluation."""
    return entry.evaluation[entry.evaluation.metrics[0]]


def computed_entries(summary: TableSummary) -> list[Entry]:
    """Return the entries of rows with runs of their own, row by row."""
    return [entry for entry in listed_entries(summary) if entry.row.best_of is None]


def listed_entries(summary: TableSummary) -> list[Entry]:
    """Return all entries of a table, row by row."""
    keys = [(row.id, dataset) for row in summary.rows for dataset in summary.datasets]
    return [summary.entries[key] for key in keys if key in summary.entries]


def own_entries(summaries: Sequence[TableSummary]) -> list[Entry]:
    """Return the entries of several tables, each once.

    Under the nested protocol, rows without a search are those of the paper's protocol again.
    """
    return [
        entry
        for summary in summaries
        for entry in computed_entries(summary)
        if summary.protocol == "paper" or entry.row.search
    ]


def result_table(summary: TableSummary) -> Sortable:
    """Return the table as the paper has it: rows by data sets, with the paper's figures below."""
    best: dict[str, float] = {}
    for entry in computed_entries(summary):
        mean = summary_of(entry).mean
        best[entry.dataset] = max(mean, best.get(entry.dataset, mean))
    cells = {key: _result_cell(entry, best) for key, entry in summary.entries.items()}
    rows = []
    for row in summary.rows:
        own = [cells.get((row.id, dataset), MISSING) for dataset in summary.datasets]
        rows.append([Cell(row.title), *own])
    if all(row.model != "majority" for row in summary.rows):
        majority = [majority_of(summary, dataset) for dataset in summary.datasets]
        own = [Cell(number(value, True), value, spread="") for value in majority]
        rows.append([Cell("majority"), *own])
    caption = "Accuracy in percent, mean ± spread of the runs"
    if any(entry.paper for entry in summary.entries.values()):
        caption += ", with the paper’s figure below"
    return Sortable(f"{caption}; bold: the best mean", ["model", *summary.datasets], rows)


def whole_table(summary: TableSummary) -> Sortable:
    """Return a line for each data set and row with everything that is known of it."""
    head = [
        "model",
        "data set",
        "paper",
        "ours",
        "difference",
        "best run",
        "majority",
        "95 % interval",
        "training",
        "WL ceiling",
        "time",
        "memory",
        "runs",
    ]
    places = {dataset: place for place, dataset in enumerate(summary.datasets)}
    entries = sorted(listed_entries(summary), key=lambda entry: places[entry.dataset])
    caption = "Accuracies in percent; time of all runs, memory of the largest"
    return Sortable(caption, head, [_line(entry) for entry in entries], "all")


def verdict(summary: TableSummary) -> str:
    """Return in words how many of the paper's figures are met, and which are not."""
    gaps = _gaps(summary)
    if not gaps:
        return ""
    missed = [
        f"{entry.row.title} on {entry.dataset} ({signed(gap)})"
        for entry, gap in gaps
        if gap < -NOTABLE
    ]
    inside = sum(_inside(entry) for entry, _ in gaps)
    text = (
        f"{len(gaps) - len(missed)} of {counted(len(gaps), 'mean')} of the paper met: "
        f"ours lies above, or at most {NOTABLE} points below. "
        f"{inside} of {len(gaps)} inside our 95 % interval."
    )
    return f"{text} Not met: {', '.join(missed)}." if missed else text


def best_rows(summary: TableSummary) -> str:
    """Return in words which row has the best mean on each data set."""
    sets_of: dict[str, list[str]] = {}
    for dataset in summary.datasets:
        entries = [
            entry
            for entry in computed_entries(summary)
            if entry.dataset == dataset and not math.isnan(summary_of(entry).mean)
        ]
        if entries:
            best = max(entries, key=lambda entry: summary_of(entry).mean)
            mean = number(summary_of(best).mean, summary_of(best).metric.percent)
            sets_of.setdefault(best.row.title, []).append(f"{dataset} ({mean})")
    rows = [f"{row} on {', '.join(sets)}" for row, sets in sets_of.items()]
    return f"Best means: {'; '.join(rows)}." if rows else ""


def met_of(summary: TableSummary) -> tuple[int, int]:
    """Return how many of the paper's means are met, and how many there are."""
    gaps = _gaps(summary)
    return sum(gap >= -NOTABLE for _, gap in gaps), len(gaps)


def majority_of(summary: TableSummary, dataset: str) -> float:
    """Return what a model that ignores its input scores on a data set."""
    entries = (entry for entry in listed_entries(summary) if entry.dataset == dataset)
    return summary_of(next(entries)).majority


def _gaps(summary: TableSummary) -> list[tuple[Entry, float]]:
    """Return the entries that the paper has a mean of, with our distance from it."""
    return [
        (entry, round(entry.difference, 1))
        for entry in summary.entries.values()
        if entry.row.best_of is None
        and entry.difference is not None
        and not math.isnan(entry.difference)
    ]


def _inside(entry: Entry) -> bool:
    low, high = summary_of(entry).interval
    return entry.paper is not None and 100 * low <= entry.paper.mean <= 100 * high


def _result_cell(entry: Entry, best: dict[str, float]) -> Cell:
    summary, paper = summary_of(entry), entry.paper
    return Cell(
        number(summary.mean, summary.metric.percent),
        summary.mean,
        note="" if paper is None else f"paper {paper.mean:.1f}",
        spread=_spread(entry),
        note_spread=None if paper is None else _paper_spread(paper),
        best=entry.row.best_of is None and summary.mean == best[entry.dataset],
    )


def _spread(entry: Entry) -> str:
    summary = summary_of(entry)
    if entry.row.best_of is not None or entry.runs == 1 or math.isnan(summary.spread):
        return ""
    return f"± {spread_text(summary.mean, summary.spread, summary.metric.percent)}"


def _paper_spread(paper: Published) -> str:
    return "" if paper.spread is None else f"± {paper.spread:.1f}"


def _line(entry: Entry) -> list[Cell]:
    summary, paper = summary_of(entry), entry.paper
    percent = summary.metric.percent
    best = float(summary.repeat_means.max()) if len(summary.repeat_means) > 1 else summary.mean
    published = gap = interval = seconds = memory = MISSING
    runs = Cell(f"1 of {entry.runs}", 1)
    if paper is not None:
        published = Cell(f"{paper.mean:.1f}", paper.mean, spread=_paper_spread(paper))
    if entry.difference is not None:
        gap = Cell(signed(entry.difference), entry.difference)
    if entry.row.best_of is None:
        interval = Cell(limits_text(summary.interval, percent), summary.interval[0])
        seconds = Cell(duration(entry.seconds), entry.seconds)
        runs = Cell(f"{entry.runs}", entry.runs)
        if entry.memory is not None:
            memory = Cell(size(entry.memory), entry.memory)
    return [
        Cell(entry.row.title),
        Cell(entry.dataset),
        published,
        Cell(number(summary.mean, percent), summary.mean, spread=_spread(entry)),
        gap,
        Cell(number(best, percent), best),
        Cell(number(summary.majority, percent), summary.majority),
        interval,
        _fraction(entry.training_accuracy),
        _fraction(entry.ceiling),
        seconds,
        memory,
        runs,
    ]


def _fraction(value: float | None) -> Cell:
    return MISSING if value is None else Cell(number(value, True), value)


def rounded(value: Any) -> Any:
    """Return plain values with six digits at any depth, which is enough for a page."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {name: rounded(entry) for name, entry in value.items()}
    return [rounded(entry) for entry in value] if isinstance(value, list) else value
