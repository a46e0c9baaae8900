"""The tables of a study: figures as the paper prints them, beside its own, and as plain values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from edgnn._words import duration, number
from edgnn.report._numbers import signed, size, spread_text
from edgnn.report._views import MISSING, Cell, Score, Sortable, setting_groups
from edgnn.studies import NOTABLE

if TYPE_CHECKING:
    from edgnn.studies import Entry, Published, TableSummary


def computed_entries(summary: TableSummary) -> list[Entry]:
    """Return the entries of rows with runs of their own, row by row."""
    return [entry for entry in listed_entries(summary) if entry.row.best_of is None]


def listed_entries(summary: TableSummary) -> list[Entry]:
    """Return all entries of a table, row by row."""
    keys = [(row.id, dataset) for row in summary.rows for dataset in summary.datasets]
    return [summary.entries[key] for key in keys if key in summary.entries]


def by_dataset(summary: TableSummary) -> dict[str, list[Entry]]:
    """Return the entries of rows with runs of their own for each data set."""
    entries: dict[str, list[Entry]] = {dataset: [] for dataset in summary.datasets}
    for entry in computed_entries(summary):
        entries[entry.dataset].append(entry)
    return entries


def own_entries(summaries: Sequence[TableSummary]) -> list[Entry]:
    """Return the entries of several tables, each once.

    Under the nested protocol, rows without a search are those of the paper's protocol again.
    """
    entries = []
    for summary in summaries:
        every = summary.protocol == "paper"
        entries += [entry for entry in computed_entries(summary) if every or entry.row.search]
    return entries


def dates_of(summaries: Sequence[TableSummary], calls: Sequence[Mapping[str, Any]]) -> str:
    """Return the day, or the first and the last one."""
    dated = [*calls]
    for summary in summaries:
        dated += [entry.environment for entry in computed_entries(summary)]
    days = sorted({str(facts.get("date", ""))[:10] for facts in dated} - {""})
    return " to ".join(dict.fromkeys([*days[:1], *days[-1:]]))


def environments_of(summaries: Sequence[TableSummary]) -> list[tuple[list[str], dict[str, Any]]]:
    """Return each machine and its versions with the cells from there, whatever the date."""
    grouped: dict[str, tuple[list[str], dict[str, Any]]] = {}
    for summary in summaries:
        for entry in computed_entries(summary):
            facts = {name: value for name, value in entry.environment.items() if name != "date"}
            if entry.environment:
                key = repr(sorted(facts.items(), key=repr))
                cells, _ = grouped.setdefault(key, ([], entry.environment))
                cells.append(f"{entry.row.title} on {entry.dataset}")
    return list(grouped.values())


def environment_view(summaries: Sequence[TableSummary]) -> list[tuple[list[str], Any]]:
    """Return the machines and versions as text, each with the cells that were computed there."""
    environments = environments_of(summaries)
    return [(cells, setting_groups(facts)) for cells, facts in environments]


def result_table(summary: TableSummary) -> Sortable:
    """Return the table as the paper has it: rows by data sets, with the paper's figures below."""
    best, majority = {}, []
    for dataset, entries in by_dataset(summary).items():
        best[dataset] = max(entry.evaluation.mean for entry in entries)
        majority.append(entries[0].evaluation.majority)
    rows = {row.id: [Cell(row.title)] for row in summary.rows}
    for row in summary.rows:
        for dataset in summary.datasets:
            known = summary.entries.get((row.id, dataset))
            rows[row.id].append(_result_cell(known, best[dataset]) if known else MISSING)
    if all(row.model != "majority" for row in summary.rows):
        cells = [Cell(number(value, True), value, spread="") for value in majority]
        rows["majority"] = [Cell("majority"), *cells]
    caption = "Accuracy in percent, mean ± spread of the runs"
    if any(entry.paper for entry in summary.entries.values()):
        caption += ", with the paper’s figure below"
    head = ["model", *summary.datasets]
    return Sortable(f"{caption}; bold: the best mean", head, list(rows.values()))


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


def verdict(summary: TableSummary) -> dict[str, Any]:
    """Return how many of the paper's means are met, which are not, and which model is best."""
    gaps = {}
    inside = 0
    for entry in computed_entries(summary):
        if entry.paper is None or entry.difference is None or math.isnan(entry.difference):
            continue
        gaps[f"{entry.row.title} on {entry.dataset}"] = round(entry.difference, 1)
        low, high = Score.of(entry.evaluation).summary.interval
        inside += 100 * low <= entry.paper.mean <= 100 * high
    missed = [f"{name} ({signed(gap)})" for name, gap in gaps.items() if gap < -NOTABLE]
    return {
        "reported": len(gaps),
        "met": len(gaps) - len(missed),
        "missed": missed,
        "inside": inside,
        "notable": NOTABLE,
        "best": _best_rows(summary),
    }


def _best_rows(summary: TableSummary) -> list[tuple[str, list[str]]]:
    """Return the rows that have the best mean somewhere, with these data sets."""
    sets_of: dict[str, list[str]] = {}
    for dataset, entries in by_dataset(summary).items():
        known = [entry for entry in entries if not math.isnan(entry.evaluation.mean)]
        if known:
            best = max(known, key=lambda entry: entry.evaluation.mean)
            mean = Score.of(best.evaluation).text(best.evaluation.mean)
            sets_of.setdefault(best.row.title, []).append(f"{dataset} ({mean})")
    return list(sets_of.items())


def _result_cell(entry: Entry, best: float) -> Cell:
    note, note_spread = "", None
    if entry.paper is not None:
        note, note_spread = f"paper {entry.paper.mean:.1f}", _paper_spread(entry.paper)
    cell = _mean_cell(entry)
    is_best = entry.row.best_of is None and cell.value == best
    return replace(cell, note=note, note_spread=note_spread, best=is_best)


def _mean_cell(entry: Entry) -> Cell:
    score = Score.of(entry.evaluation)
    summary = score.summary
    spread = ""
    if entry.row.best_of is None and entry.runs != 1 and not math.isnan(summary.spread):
        spread = f"± {spread_text(summary.mean, summary.spread, score.metric.percent)}"
    return replace(score.cell(summary.mean), spread=spread)


def _paper_spread(paper: Published) -> str:
    return "" if paper.spread is None else f"± {paper.spread:.1f}"


def _line(entry: Entry) -> list[Cell]:
    score, paper = Score.of(entry.evaluation), entry.paper
    summary = score.summary
    best = float(summary.repeat_means.max()) if len(summary.repeat_means) > 1 else summary.mean
    published = gap = interval = seconds = memory = MISSING
    runs = Cell(f"1 of {entry.runs}", 1)
    if paper is not None:
        published = Cell(f"{paper.mean:.1f}", paper.mean, spread=_paper_spread(paper))
    if entry.difference is not None:
        gap = Cell(signed(entry.difference), entry.difference)
    if entry.row.best_of is None:
        interval = Cell(score.interval_text, summary.interval[0])
        seconds = Cell(duration(entry.seconds), entry.seconds)
        runs = Cell(f"{entry.runs}", entry.runs)
        if entry.memory is not None:
            memory = Cell(size(entry.memory), entry.memory)
    return [
        Cell(entry.row.title),
        Cell(entry.dataset),
        published,
        _mean_cell(entry),
        gap,
        score.cell(best),
        score.cell(summary.majority),
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
    if isinstance(value, list):
        return [rounded(entry) for entry in value]
    return value
