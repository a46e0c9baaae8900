"""The pictures of a study's table, one panel per data set: estimates, scores of the folds, learning curves, costs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from edgnn._words import duration
from edgnn.report._comparisons import measured
from edgnn.report._curves import Curves, curves_of
from edgnn.report._explain import BASELINE
from edgnn.report._html import Cell, Html, figure, panels, part, sortable, tag
from edgnn.report._numbers import metric_name, number, size
from edgnn.report._results import computed_entries, majority_of, summary_of
from edgnn.report.draw import (
    Estimate,
    Series,
    Swarm,
    draw_costs,
    draw_estimates,
    draw_series,
    draw_swarms,
)
from edgnn.report.draw._panels import series_key

if TYPE_CHECKING:
    from edgnn.studies import Entry, TableSummary

_MAIN = "edgnn"
_MOST_POINTS = 80


def estimate_part(summary: TableSummary) -> Html:
    """Return the picture of all means with their intervals, the paper's figures and the majority."""
    name, axis, factor, bounds = _axis(summary)

    def draw(dataset: str, width: int) -> str:
        rows = [_estimate(entry) for entry in _entries(summary, dataset)]
        line = factor * majority_of(summary, dataset)
        title = f"{name} of each model on {dataset}"
        return draw_estimates(rows, axis, width=width, bounds=bounds, line=line, title=title)

    caption = (
        "Dot: mean of the runs. Thick bar: ± their spread. Thin line: 95 % confidence interval. "
    )
    caption += "Diamond: the paper’s figure. " * any(
        entry.paper for entry in summary.entries.values()
    )
    caption += f"Dashed line: the {_baseline(summary)}."
    return part("Estimates", panels(draw, summary.datasets, caption))


def scores_part(summary: TableSummary) -> Html:
    """Return the picture of the scores of all folds."""
    name, axis, factor, bounds = _axis(summary)

    def draw(dataset: str, width: int) -> str:
        rows = []
        for entry in _entries(summary, dataset):
            found = summary_of(entry)
            values = (factor * found.scores).tolist()
            rows.append(Swarm(entry.row.title, values, factor * found.mean, entry.row.id == _MAIN))
        line = factor * majority_of(summary, dataset)
        title = f"{name} of every fold on {dataset}"
        return draw_swarms(rows, axis, title=title, line=line, width=width, bounds=bounds)

    caption = f"Dot: one test part, of one fold of one run. Upright bar: mean. Dashed line: the {_baseline(summary)}."
    return part("Scores of the folds", panels(draw, summary.datasets, caption))


def table_curves(summary: TableSummary) -> dict[tuple[str, str], Curves]:
    """Return the learning curves by row and data set; a search over candidates has none, its epochs being those of many models."""
    found = {}
    for entry in computed_entries(summary):
        searched = any(
            "candidates" in (outcome.chosen or {}) for outcome in entry.evaluation.outcomes
        )
        curves = None if searched else curves_of(entry.history, _MOST_POINTS)
        if curves is not None:
            found[entry.row.id, entry.dataset] = curves
    return found


def curves_part(summary: TableSummary, curves: dict[tuple[str, str], Curves]) -> list[Html]:
    """Return the picture of the learning curves, with a legend to choose from; nothing where no row has epochs."""
    rows = [row for row in summary.rows if any(row.id == name for name, _ in curves)]
    sets = [dataset for dataset in summary.datasets if any(dataset == name for _, name in curves)]
    if not rows:
        return []

    def draw(dataset: str, width: int) -> str:
        lines, told = [], []
        for place, row in enumerate(rows):
            found = curves.get((row.id, dataset))
            if found is None:
                continue
            known = [name for name in ("train_loss", "valid_loss") if name in found.series]
            lines += [
                Series(place, found.epochs, found.series[name].middle, name == "train_loss")
                for name in known
            ]
            told.append(f"{row.title}: {len(found.epochs)} points up to epoch {found.epochs[-1]}")
        title = f"Learning curves on {dataset}"
        return draw_series(lines, "epoch", "loss", title=title, about="; ".join(told), width=width)

    items = [
        tag("li", Html(series_key(place)), row.title, data_place=str(place))
        for place, row in enumerate(rows)
    ]
    caption = (
        "Full line: loss on the validation part. Dashed: on the training part. Means over all models that are still trained; "
        "one that has stopped early no longer counts."
    )
    legend = tag("ul", *items, class_="legend", aria_label="Curves")
    return [part("Learning curves", legend, panels(draw, sets, caption))]


def cost_part(summary: TableSummary) -> Html:
    """Return how long each row took and what it held in memory."""
    entries = {(entry.row.id, entry.dataset): entry for entry in computed_entries(summary)}
    rows = [row for row in summary.rows if row.best_of is None]
    lines = []
    for row in rows:
        cells = [_cost(entries.get((row.id, dataset))) for dataset in summary.datasets]
        lines.append([Cell(row.title), *cells])
    costs = {}
    for row in rows:
        own = [entry for (name, _), entry in entries.items() if name == row.id]
        costs[row.title] = sum(entry.seconds / max(entry.runs, 1) for entry in own) / max(
            len(own), 1
        )
    texts = [duration(cost) for cost in costs.values()]
    title = "Time per run of each model"
    caption = "Mean time of one run on one data set, all its folds together; each step to the right is ten times as long."
    devices = sorted({device for entry in entries.values() for device in entry.devices})
    where = f" Computed on {', '.join(devices)}." if devices else ""
    return part(
        "Time and memory",
        figure(
            lambda width: draw_costs(costs, texts, "seconds per run", title=title, width=width),
            caption + where,
        ),
        sortable(
            "Time of one run, and the most memory that a run held",
            ["model", *summary.datasets],
            lines,
        ),
    )


def _cost(entry: Entry | None) -> Cell:
    if entry is None or not entry.runs:
        return Cell("–", math.nan)
    each = entry.seconds / entry.runs
    return Cell(duration(each), each, "" if entry.memory is None else size(entry.memory))


def _entries(summary: TableSummary, dataset: str) -> list[Entry]:
    return [entry for entry in computed_entries(summary) if entry.dataset == dataset]


def _axis(summary: TableSummary) -> tuple[str, str, float, tuple[float, float]]:
    """Return what the scores are called at the start of a title and beside an axis, what they are multiplied by, their limits."""
    metric = measured(summary)
    name, factor = metric_name(metric.name), 100 if metric.percent else 1
    low, high = metric.bounds
    return (
        name[:1].upper() + name[1:],
        metric_name(metric.name, metric.percent),
        factor,
        (factor * low, factor * high),
    )


def _baseline(summary: TableSummary) -> str:
    return BASELINE[next(iter(summary.entries.values())).evaluation.task]


def _estimate(entry: Entry) -> Estimate:
    found = summary_of(entry)
    factor = 100 if found.metric.percent else 1
    low, high = (factor * end for end in found.interval)
    mark = math.nan if entry.paper is None else entry.paper.mean
    text = number(found.mean, found.metric.percent)
    spread = math.nan if entry.runs == 1 else factor * found.spread
    return Estimate(
        entry.row.title, text, factor * found.mean, spread, (low, high), entry.row.id == _MAIN, mark
    )
