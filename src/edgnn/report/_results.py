"""What a study's tables say: the figures as the paper prints them, beside its own, and all that is known of each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from edgnn._words import counted, duration
from edgnn.evaluation import Summary
from edgnn.report._html import Cell, Html, markup, sortable, tag
from edgnn.report._numbers import number, signed, size, spread_text
from edgnn.studies import NOTABLE

if TYPE_CHECKING:
    from edgnn.studies import Entry, Published, TableSummary


def summary_of(entry: Entry) -> Summary:
    """Return the scores of an entry by the first metric of its evaluation."""
    return entry.evaluation[entry.evaluation.metrics[0]]


def computed_entries(summary: TableSummary) -> list[Entry]:
    """Return the entries of rows with runs of their own, row by row."""
    return [
        summary.entries[row.id, dataset]
        for row in summary.rows
        for dataset in summary.datasets
        if row.best_of is None and (row.id, dataset) in summary.entries
    ]


def own_entries(summaries: Sequence[TableSummary]) -> list[Entry]:
    """Return the entries of several tables; under the nested protocol, rows without a search are those of the paper's again."""
    return [
        entry
        for summary in summaries
        for entry in computed_entries(summary)
        if summary.protocol == "paper" or entry.row.search
    ]


def result_table(summary: TableSummary) -> Html:
    """Return the table as the paper has it: rows by data sets, ours with the paper's figure below."""
    best = {
        dataset: max(
            (
                summary_of(entry).mean
                for entry in computed_entries(summary)
                if entry.dataset == dataset
            ),
            default=math.nan,
        )
        for dataset in summary.datasets
    }
    rows = []
    for row in summary.rows:
        cells = [
            _result(summary.entries.get((row.id, dataset)), best[dataset])
            for dataset in summary.datasets
        ]
        rows.append([Cell(row.title), *cells])
    if all(row.model != "majority" for row in summary.rows):
        rows.append(
            [Cell("majority"), *(_majority(summary, dataset) for dataset in summary.datasets)]
        )
    beside = (
        ", with the paper’s figure below"
        if any(entry.paper for entry in summary.entries.values())
        else ""
    )
    caption = f"Accuracy in percent, mean ± spread of the runs{beside}; bold: the best mean"
    return sortable(caption, ["model", *summary.datasets], rows)


def whole_table(summary: TableSummary) -> Html:
    """Return a line for each row and data set with everything that is known of it."""
    entries = [
        summary.entries[row.id, dataset]
        for dataset in summary.datasets
        for row in summary.rows
        if (row.id, dataset) in summary.entries
    ]
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
    return sortable(
        "Accuracies in percent; time of all runs, memory of the largest",
        head,
        [_line(entry) for entry in entries],
        class_="all",
    )


def row_notes(summary: TableSummary) -> Html:
    """Return what each row is."""
    items = [tag("li", tag("strong", f"{row.title}: "), row.says) for row in summary.rows]
    return tag("ul", *items, class_="said")


def verdict(summary: TableSummary) -> str:
    """Return in words how many of the paper's figures are met, and which are not."""
    known = [(entry, gap) for entry, gap in _gaps(summary) if entry.row.best_of is None]
    if not known:
        return ""
    missed = [
        f"{entry.row.title} on {entry.dataset} ({signed(gap)})"
        for entry, gap in known
        if gap < -NOTABLE
    ]
    inside = sum(_inside(entry) for entry, _ in known)
    told = f"{len(known) - len(missed)} of {counted(len(known), 'mean')} of the paper met: ours lies above, or at most "
    told += f"{NOTABLE} points below. {inside} of {len(known)} inside our 95 % interval."
    return told + (f" Not met: {', '.join(missed)}." if missed else "")


def best_rows(summary: TableSummary) -> str:
    """Return in words which row has the best mean on each data set."""
    told: dict[str, list[str]] = {}
    for dataset in summary.datasets:
        here = [entry for entry in computed_entries(summary) if entry.dataset == dataset]
        known = [entry for entry in here if not math.isnan(summary_of(entry).mean)]
        if known:
            best = max(known, key=lambda entry: summary_of(entry).mean)
            mean = number(summary_of(best).mean, summary_of(best).metric.percent)
            told.setdefault(best.row.title, []).append(f"{dataset} ({mean})")
    rows = [f"{row} on {', '.join(sets)}" for row, sets in told.items()]
    return f"Best means: {'; '.join(rows)}." if rows else ""


def met_of(summary: TableSummary) -> tuple[int, int]:
    """Return how many of the paper's means are met, and how many there are."""
    gaps = [gap for entry, gap in _gaps(summary) if entry.row.best_of is None]
    return sum(gap >= -NOTABLE for gap in gaps), len(gaps)


def _gaps(summary: TableSummary) -> Iterator[tuple[Entry, float]]:
    for entry in summary.entries.values():
        if entry.difference is not None and not math.isnan(entry.difference):
            yield entry, round(entry.difference, 1)


def _inside(entry: Entry) -> bool:
    low, high = summary_of(entry).interval
    return entry.paper is not None and 100 * low <= entry.paper.mean <= 100 * high


def _result(entry: Entry | None, best: float) -> Cell:
    if entry is None:
        return Cell("–", math.nan)
    found, paper = summary_of(entry), entry.paper
    derived = entry.row.best_of is not None
    text = _aligned(number(found.mean, found.metric.percent), "" if derived else _spread(entry))
    if found.mean == best and not derived:
        text = tag("span", text, class_="best")
    note = "" if paper is None else markup("paper ", _published(paper))
    return Cell(text, found.mean, note)


def _spread(entry: Entry) -> str:
    found = summary_of(entry)
    return (
        ""
        if entry.runs == 1 or math.isnan(found.spread)
        else f"± {spread_text(found.mean, found.spread, found.metric.percent)}"
    )


def _published(paper: Published) -> Html:
    return _aligned(f"{paper.mean:.1f}", "" if paper.spread is None else f"± {paper.spread:.1f}")


def _aligned(mean: str, spread: str) -> Html:
    """Return a mean and its spread such that means stand below each other, with a spread or without."""
    return markup(mean, tag("span", spread, class_="pm"))


def _majority(summary: TableSummary, dataset: str) -> Cell:
    value = majority_of(summary, dataset)
    return Cell(_aligned(number(value, True), ""), value)


def majority_of(summary: TableSummary, dataset: str) -> float:
    """Return what ignoring the input gives on a data set."""
    entry = next(
        summary.entries[row.id, dataset]
        for row in summary.rows
        if (row.id, dataset) in summary.entries
    )
    return summary_of(entry).majority


def _line(entry: Entry) -> list[Cell]:
    found, paper = summary_of(entry), entry.paper
    percent = found.metric.percent
    derived = entry.row.best_of is not None
    low, high = found.interval
    limits = "–" if math.isnan(low) else f"{number(low, percent)} to {number(high, percent)}"
    best = float(found.repeat_means.max()) if len(found.repeat_means) > 1 else found.mean
    return [
        Cell(entry.row.title),
        Cell(entry.dataset),
        Cell("–", math.nan) if paper is None else Cell(_published(paper), paper.mean),
        Cell(_aligned(number(found.mean, percent), "" if derived else _spread(entry)), found.mean),
        Cell("–", math.nan)
        if entry.difference is None
        else Cell(signed(entry.difference), entry.difference),
        Cell(number(best, percent), best),
        Cell(number(found.majority, percent), found.majority),
        Cell("–" if derived else limits, math.nan if derived else low),
        _share(entry.training_accuracy),
        _share(entry.ceiling),
        Cell("–", math.nan) if derived else Cell(duration(entry.seconds), entry.seconds),
        Cell("–", math.nan)
        if derived or entry.memory is None
        else Cell(size(entry.memory), entry.memory),
        Cell(f"1 of {entry.runs}" if derived else f"{entry.runs}", 1 if derived else entry.runs),
    ]


def _share(value: float | None) -> Cell:
    return Cell("–", math.nan) if value is None else Cell(number(value, True), value)
