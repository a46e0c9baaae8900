"""The views of one table of models: pictures per data set, costs, and all numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from edgnn._json import plain
from edgnn._words import duration
from edgnn.report._curves import Curves, curves_of
from edgnn.report._method import BASELINE
from edgnn.report._numbers import capital, metric_name, number, size
from edgnn.report._paired import Pair, measured, pair_values
from edgnn.report._predictions import search_rows
from edgnn.report._results import (
    computed_entries,
    listed_entries,
    majority_of,
    rounded,
    summary_of,
)
from edgnn.report._views import MISSING, Cell, Figure, Sortable, figure, panels
from edgnn.report.draw import (
    Estimate,
    Series,
    Swarm,
    draw_costs,
    draw_estimates,
    draw_series,
    draw_swarms,
    series_key,
)

if TYPE_CHECKING:
    from edgnn.studies import Entry, TableSummary

_MAIN = "edgnn"
_MOST_POINTS = 80
_STATISTICS = (
    "mean",
    "spread",
    "minimum",
    "maximum",
    "interval",
    "interval_kind",
    "majority",
    "repeat_means",
)


@dataclass(frozen=True)
class _Axis:
    """The axis of a table's metric: its name, what scores are multiplied by, and its limits."""

    name: str
    label: str
    factor: float
    bounds: tuple[float, float]

    @classmethod
    def of(cls, summary: TableSummary) -> _Axis:
        metric = measured(summary)
        factor = 100 if metric.percent else 1
        low, high = metric.bounds
        label = metric_name(metric.name, metric.percent)
        name = capital(metric_name(metric.name))
        return cls(name, label, factor, (factor * low, factor * high))


def estimate_figure(summary: TableSummary) -> Figure:
    """Return all means with their intervals, the paper's figures and the majority."""
    axis = _Axis.of(summary)

    def draw(dataset: str, width: int) -> str:
        return draw_estimates(
            [_estimate(entry, axis.factor) for entry in _entries(summary, dataset)],
            axis.label,
            width=width,
            bounds=axis.bounds,
            line=axis.factor * majority_of(summary, dataset),
            title=f"{axis.name} of each model on {dataset}",
        )

    paper = any(entry.paper for entry in summary.entries.values())
    caption = (
        "Dot: mean of the runs. Thick bar: ± their spread. Thin line: 95 % confidence interval. "
        f"{'Diamond: the paper’s figure. ' if paper else ''}Dashed line: the {_baseline(summary)}."
    )
    return panels(draw, summary.datasets, caption)


def score_figure(summary: TableSummary) -> Figure:
    """Return the scores of all folds."""
    axis = _Axis.of(summary)

    def draw(dataset: str, width: int) -> str:
        rows = []
        for entry in _entries(summary, dataset):
            scores = summary_of(entry)
            values = (axis.factor * scores.scores).tolist()
            main = entry.row.id == _MAIN
            rows.append(Swarm(entry.row.title, values, axis.factor * scores.mean, main))
        return draw_swarms(
            rows,
            axis.label,
            title=f"{axis.name} of every fold on {dataset}",
            line=axis.factor * majority_of(summary, dataset),
            width=width,
            bounds=axis.bounds,
        )

    caption = (
        "Dot: one test part, of one fold of one run. Upright bar: mean. "
        f"Dashed line: the {_baseline(summary)}."
    )
    return panels(draw, summary.datasets, caption)


def table_curves(summary: TableSummary) -> dict[tuple[str, str], Curves]:
    """Return the learning curves by row and data set.

    A search over candidates has none: its epochs are those of many models.
    """
    found = {}
    for entry in computed_entries(summary):
        if any("candidates" in (outcome.chosen or {}) for outcome in entry.evaluation.outcomes):
            continue
        curves = curves_of(entry.history, _MOST_POINTS)
        if curves is not None:
            found[entry.row.id, entry.dataset] = curves
    return found


def curve_view(
    summary: TableSummary, curves: dict[tuple[str, str], Curves]
) -> dict[str, Any] | None:
    """Return the learning curves with their legend; ``None`` where no row has epochs."""
    with_curves = {row for row, _ in curves}
    rows = [row for row in summary.rows if row.id in with_curves]
    if not rows:
        return None

    def draw(dataset: str, width: int) -> str:
        lines, about = [], []
        for place, row in enumerate(rows):
            found = curves.get((row.id, dataset))
            if found is None:
                continue
            for name in ("train_loss", "valid_loss"):
                if name in found.series:
                    middle = found.series[name].middle
                    lines.append(Series(place, found.epochs, middle, name == "train_loss"))
            points = len(found.epochs)
            about.append(f"{row.title}: {points} points up to epoch {found.epochs[-1]}")
        title = f"Learning curves on {dataset}"
        return draw_series(lines, "epoch", "loss", title=title, about="; ".join(about), width=width)

    drawn = {dataset for _, dataset in curves}
    caption = (
        "Full line: loss on the validation part. Dashed: on the training part. Means over all "
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
    texts = [duration(cost) for cost in costs.values()]
    caption = (
        "Mean time of one run on one data set, all its folds together; "
        "each step to the right is ten times as long."
    )
    devices = sorted({device for entry in entries.values() for device in entry.devices})
    if devices:
        caption += f" Computed on {', '.join(devices)}."
    title = "Time per run of each model"
    return {
        "figure": figure(
            lambda width: draw_costs(costs, texts, "seconds per run", title=title, width=width),
            caption,
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
        "comparisons": {reference: pair_values(found) for reference, found in pairs.items()},
    }
    found: dict[str, Any] = rounded(plain(values))
    return found


def _entry_values(entry: Entry) -> dict[str, Any]:
    summary, paper, splits = summary_of(entry), entry.paper, entry.evaluation.splits
    scores = zip(splits, summary.scores.tolist(), strict=True)
    return {
        "row": entry.row.id,
        "dataset": entry.dataset,
        "metric": summary.metric.name,
        **{name: getattr(summary, name) for name in _STATISTICS},
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


def _entries(summary: TableSummary, dataset: str) -> list[Entry]:
    return [entry for entry in computed_entries(summary) if entry.dataset == dataset]


def _baseline(summary: TableSummary) -> str:
    return BASELINE[next(iter(summary.entries.values())).evaluation.task]


def _estimate(entry: Entry, factor: float) -> Estimate:
    summary = summary_of(entry)
    low, high = summary.interval
    return Estimate(
        entry.row.title,
        number(summary.mean, summary.metric.percent),
        factor * summary.mean,
        spread=math.nan if entry.runs == 1 else factor * summary.spread,
        interval=(factor * low, factor * high),
        main=entry.row.id == _MAIN,
        mark=math.nan if entry.paper is None else entry.paper.mean,
    )
