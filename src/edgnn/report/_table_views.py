"""The views of one table of models: pictures per data set, costs, and all numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from edgnn._json import plain
from edgnn._words import duration
from edgnn.report._curves import Curves, curves_of
from edgnn.report._method import baseline_phrase
from edgnn.report._numbers import capital, metric_name, size
from edgnn.report._paired import Pair, pair_values
from edgnn.report._predictions import has_candidates, search_rows
from edgnn.report._results import (
    by_dataset,
    computed_entries,
    listed_entries,
    rounded,
)
from edgnn.report._views import MISSING, Cell, Figure, Score, Sortable, figure, panels
from edgnn.report.draw import (
    Dots,
    Estimate,
    draw_costs,
    draw_dots,
    draw_estimates,
    draw_series,
    series_key,
)

if TYPE_CHECKING:
    from edgnn.studies import Entry, TableSummary

_MAIN = "edgnn"
_MOST_POINTS = 80


def estimate_figure(summary: TableSummary) -> Figure:
    """Return all means with their intervals, the paper's figures and the majority."""
    axis, entries = _score(summary), by_dataset(summary)

    def draw(dataset: str, width: int) -> str:
        return draw_estimates(
            list(map(_estimate, entries[dataset])),
            **axis.axis,
            width=width,
            line=axis.factor * entries[dataset][0].evaluation.majority,
            title=f"{capital(metric_name(axis.metric.name))} of each model on {dataset}",
        )

    caption = (
        "Dot: mean of the runs. Thick bar: ± their spread. Thin line: 95 % confidence interval. "
    )
    if any(entry.paper for entry in summary.entries.values()):
        caption += "Diamond: the paper’s figure. "
    return panels(draw, summary.datasets, caption + _baseline_note(summary))


def score_figure(summary: TableSummary) -> Figure:
    """Return the scores of all folds."""
    axis, entries = _score(summary), by_dataset(summary)

    def draw(dataset: str, width: int) -> str:
        rows = []
        for entry in entries[dataset]:
            scores = Score.of(entry.evaluation).summary
            values = (axis.factor * scores.scores).tolist()
            main = entry.row.id == _MAIN
            rows.append(Dots(entry.row.title, values, axis.factor * scores.mean, main=main))
        return draw_dots(
            rows,
            **axis.axis,
            title=f"{capital(metric_name(axis.metric.name))} of every fold on {dataset}",
            line=axis.factor * entries[dataset][0].evaluation.majority,
            width=width,
        )

    caption = "Dot: one test set, of one fold of one run. Upright bar: mean. "
    return panels(draw, summary.datasets, caption + _baseline_note(summary))


def table_curves(summary: TableSummary) -> dict[tuple[str, str], Curves]:
    """Return the learning curves by row and data set.

    A search over candidates has none: its epochs are those of many models.
    """
    of_entries = {}
    for entry in computed_entries(summary):
        curves = None
        if not has_candidates(entry):
            curves = curves_of(entry.history, _MOST_POINTS)
        if curves is not None:
            of_entries[entry.row.id, entry.dataset] = curves
    return of_entries


def curve_view(
    summary: TableSummary, curves: dict[tuple[str, str], Curves]
) -> dict[str, Any] | None:
    """Return the learning curves with their legend; ``None`` where no row has epochs."""
    if not curves:
        return None
    with_curves = {row for row, _ in curves}
    rows = [row for row in summary.rows if row.id in with_curves]

    def draw(dataset: str, width: int) -> str:
        lines, about = [], []
        for place, row in enumerate(rows):
            if (row.id, dataset) in curves:
                own = curves[row.id, dataset]
                lines += own.lines(place)
                points = f"{len(own.epochs)} points up to epoch {own.epochs[-1]}"
                about.append(f"{row.title}: {points}")
        title = f"Learning curves on {dataset}"
        return draw_series(lines, "epoch", "loss", title=title, about="; ".join(about), width=width)

    drawn = {dataset for _, dataset in curves}
    caption = (
        "Full line: loss on the validation set. Dashed: on the training set. Means over all "
        "models that are still trained; one that has stopped early no longer counts."
    )
    return {
        "legend": [(series_key(place), row.title) for place, row in enumerate(rows)],
        "figure": panels(draw, [name for name in summary.datasets if name in drawn], caption),
    }


def cost_view(summary: TableSummary) -> dict[str, Any]:
    """Return how long each row took and what it held in memory."""
    entries = {(entry.row.id, entry.dataset): entry for entry in computed_entries(summary)}
    lines, costs = [], {}
    for row in summary.rows:
        if row.best_of is not None:
            continue
        own = [entries.get((row.id, dataset)) for dataset in summary.datasets]
        lines.append([Cell(row.title), *map(_cost, own)])
        seconds = [entry.seconds / max(entry.runs, 1) for entry in own if entry is not None]
        costs[row.title] = sum(seconds) / max(len(seconds), 1)
    caption = (
        "Mean time of one run on one data set, all its folds together; "
        "each step to the right is ten times as long."
    )
    devices = sorted({device for entry in entries.values() for device in entry.devices})
    if devices:
        caption += f" Computed on {', '.join(devices)}."
    return {
        "figure": figure(
            caption,
            draw_costs,
            costs,
            [duration(cost) for cost in costs.values()],
            "seconds per run",
            title="Time per run of each model",
        ),
        "table": Sortable(
            "Time of one run, and the most memory that a run held",
            ["model", *summary.datasets],
            lines,
        ),
    }


def table_values(
    summary: TableSummary, pairs: dict[str, list[Pair]], curves: dict[tuple[str, str], Curves]
) -> dict[str, Any]:
    """Return a table as plain values of six digits: scores of all folds, no single predictions."""
    entries = []
    for entry in listed_entries(summary):
        losses = curves.get((entry.row.id, entry.dataset))
        entries.append(_entry_values(entry) | {"curves": losses and losses.to_dict()})
    row_names = ("id", "title", "says", "best_of")
    values: dict[str, Any] = {
        "table": summary.table.name,
        "protocol": summary.protocol,
        "datasets": summary.datasets,
        "rows": [{name: getattr(row, name) for name in row_names} for row in summary.rows],
        "entries": entries,
        "comparisons": {reference: pair_values(own) for reference, own in pairs.items()},
    }
    plain_values: dict[str, Any] = rounded(plain(values))
    return plain_values


def _entry_values(entry: Entry) -> dict[str, Any]:
    summary, paper = Score.of(entry.evaluation).summary, entry.paper
    scores = zip(entry.evaluation.splits, summary.scores.tolist(), strict=True)
    return {
        "row": entry.row.id,
        "dataset": entry.dataset,
        "metric": summary.metric.name,
        **summary.statistics(),
        "scores": [[split.repeat, split.fold, score] for split, score in scores],
        "paper": None if paper is None else {"mean": paper.mean, "spread": paper.spread},
        "training_accuracy": entry.training_accuracy,
        "ceiling": entry.ceiling,
        "runs": entry.runs,
        "seconds": entry.seconds,
        "memory": entry.memory,
        "confusion": entry.evaluation.confusion,
        "class_names": entry.evaluation.class_names,
        "search": search_rows(entry),
        "settings": entry.settings,
    }


def _cost(entry: Entry | None) -> Cell:
    if entry is None or not entry.runs:
        return MISSING
    each = entry.seconds / entry.runs
    return Cell(duration(each), each, "" if entry.memory is None else size(entry.memory))


def _score(summary: TableSummary) -> Score:
    """Return the scores of the first entry, whose metric is that of the table."""
    return Score.of(next(iter(summary.entries.values())).evaluation)


def _baseline_note(summary: TableSummary) -> str:
    evaluation = next(iter(summary.entries.values())).evaluation
    return f"Dashed line: {baseline_phrase(evaluation.task)}."


def _estimate(entry: Entry) -> Estimate:
    score = Score.of(entry.evaluation)
    more: dict[str, Any] = {"main": entry.row.id == _MAIN}
    if entry.runs == 1:
        more["spread"] = math.nan
    if entry.paper is not None:
        more["mark"] = entry.paper.mean
    return score.estimate(entry.row.title, score.text(score.summary.mean), **more)
