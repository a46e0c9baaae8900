"""The page of an evaluation: its result beside the paper and the majority, and how to repeat it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from edgnn._files import Path_
from edgnn._words import counted, duration
from edgnn.evaluation import Evaluation, Summary
from edgnn.report._curves import curve_figure, curves_of
from edgnn.report._errors import ReportError
from edgnn.report._method import (
    BASELINE,
    method_facts,
    shape_of,
    split_sizes,
    steps_to_repeat,
    verdict,
)
from edgnn.report._numbers import limits_text, metric_name, number, plus_minus, spread_text
from edgnn.report._page import evaluation_values, write_page
from edgnn.report._predictions import calibration_view, choices, confusion_view, points_view
from edgnn.report._views import Figure, figure, setting_groups
from edgnn.report.draw import Estimate, Strip, draw_estimates, draw_strips

_MOST_ROWS = 25
_MOST_DOTS = 500


def write_evaluation_report(
    path: Path_,
    evaluation: Evaluation,
    *,
    title: str,
    paper: tuple[float, float | None] | None = None,
    settings: Mapping[str, Any],
    environment: Mapping[str, Any],
    seconds: float,
    history: Iterable[Mapping[str, Any]] | None = None,
) -> None:
    """Write a self-contained HTML page about an evaluation.

    Parameters
    ----------
    path : path
        The page; the folder it lies in must exist.
    evaluation : Evaluation
        What :func:`edgnn.evaluation.evaluate` returned.
    title : str
        The heading.
    paper : pair of float, optional
        Mean and spread (``None``: not known) the paper has for the same set and metric. For metrics
        that are read in percent, a mean above 1 is percent.
    settings : mapping
        What the reader needs to know of how it was made; ``"command"`` is the command that repeats
        it.
    environment : mapping
        From :func:`edgnn.training.environment`.
    seconds : float
        How long it took.
    history : iterable of mapping, optional
        ``epoch``, ``train_loss`` and ``valid_loss`` (one number per model) of each epoch.
    """
    if not isinstance(evaluation, Evaluation):
        raise ReportError(
            f"a report needs an Evaluation, as evaluate returns it, not {type(evaluation).__name__}"
        )
    for name, given in (("settings", settings), ("environment", environment)):
        if not isinstance(given, Mapping):
            raise ReportError(f"{name} is a table of names and values, not {given!r}")
    summary = evaluation[evaluation.metrics[0]]
    published = _published(paper, summary)
    curves, values = curves_of(history), evaluation_values(evaluation)
    data = {
        "kind": "evaluation",
        "seconds": seconds,
        "paper": published,
        "settings": settings,
        "environment": environment,
        "curves": curves and curves.to_dict(),
        **values,
    }
    baseline = BASELINE[evaluation.task]
    lead = [shape_of(evaluation), duration(seconds), str(environment.get("date", ""))[:10]]
    write_page(
        path,
        "evaluation.html",
        title,
        " · ".join(text for text in lead if text),
        data,
        metric=metric_name(summary.metric.name),
        baseline=baseline,
        verdict=verdict(summary, published, baseline),
        lower_is_better=not summary.metric.higher_is_better,
        measures=_measures(evaluation),
        sizes=split_sizes(evaluation),
        predictions=_predictions(evaluation),
        calibration=calibration_view(evaluation),
        curves=curve_figure(curves),
        choices=choices(evaluation),
        methods=method_facts(evaluation, summary),
        steps=steps_to_repeat(
            evaluation, settings.get("command"), Path(path).name, values["complete"]
        ),
        settings=setting_groups(
            {name: value for name, value in settings.items() if name != "command"}
        ),
        environment=setting_groups(environment),
        **_result(evaluation, summary, published),
        **_scores(evaluation, summary),
    )


def _published(
    paper: tuple[float, float | None] | None, summary: Summary
) -> tuple[float, float] | None:
    """Return the paper's figure in the unit of the metric."""
    if paper is None:
        return None
    try:
        mean, spread = (math.nan if value is None else float(value) for value in paper)
    except (TypeError, ValueError):
        raise ReportError(
            f"paper={paper!r}: give its mean and its spread, such as (0.869, 0.010)"
        ) from None
    return (mean / 100, spread / 100) if summary.metric.percent and mean > 1 else (mean, spread)


def _result(
    evaluation: Evaluation, summary: Summary, paper: tuple[float, float] | None
) -> dict[str, Any]:
    """Return the headline figures and their picture: this run, the paper, the majority."""
    percent = summary.metric.percent
    factor = 100 if percent else 1
    rows = [("this run", summary.mean, summary.spread)]
    if paper:
        rows.append(("paper", *paper))
    rows.append((BASELINE[evaluation.task], summary.majority, math.nan))
    headline, estimates = [], []
    for name, mean, spread in rows:
        text = plus_minus(mean, spread, percent)
        headline.append((name, f"{text} %" if percent else text))
        estimates.append(Estimate(name, text, factor * mean, factor * spread))
    low, high = summary.interval
    estimates[0] = replace(estimates[0], interval=(factor * low, factor * high), main=True)
    axis = metric_name(summary.metric.name, percent)
    caption = "Dot: mean. Thick bar: ± the spread. Thin line: 95 % confidence interval of the mean."
    draw = partial(draw_estimates, estimates, axis, bounds=_bounds(summary))
    return {"headline": headline, "estimates": figure(lambda width: draw(width=width), caption)}


def _bounds(summary: Summary) -> tuple[float, float]:
    factor = 100 if summary.metric.percent else 1
    low, high = summary.metric.bounds
    return factor * low, factor * high


def _scores(evaluation: Evaluation, summary: Summary) -> dict[str, Any]:
    """Return the picture of the scores of the splits, and what it leaves out."""
    percent = summary.metric.percent
    undefined = int(np.isnan(summary.scores).sum())
    text = ""
    if undefined:
        scores = counted(len(summary.scores), "score")
        reason = "cannot be told (the test part does not allow it)"
        text = f"{undefined} of {scores} {reason} and are left out."
    means = [number(mean, percent) for mean in summary.repeat_means.tolist()]
    listed = 1 < len(means) <= 4 * _MOST_ROWS
    return {
        "scores": _score_figure(evaluation, summary),
        "undefined_scores": text,
        "repeat_means": ", ".join(means) if listed else "",
    }


def _score_figure(evaluation: Evaluation, summary: Summary) -> Figure:
    percent = summary.metric.percent
    strips, thinned = _strips(evaluation, summary)
    several = len(strips) > 1
    draw = partial(
        draw_strips,
        strips,
        metric_name(summary.metric.name, percent),
        line=(100 if percent else 1) * summary.mean if several else math.nan,
        bounds=_bounds(summary),
    )
    drawn = f" ({_MOST_DOTS} of {len(summary.scores):,} are drawn)" if thinned else ""
    mean = "mean of the repeat. Dashed line: mean of the whole run" if several else "mean"
    caption = f"Dot: one split{drawn}. Upright bar: {mean}."
    return figure(lambda width: draw(width=width), caption)


def _strips(evaluation: Evaluation, summary: Summary) -> tuple[list[Strip], bool]:
    """Return a row per repeat if that is readable, else one; and whether dots were left out."""
    factor = 100 if summary.metric.percent else 1
    scores = (factor * summary.scores).tolist()
    splits = evaluation.splits
    titles = []
    for split, score in zip(splits, summary.scores.tolist(), strict=True):
        text = number(score, summary.metric.percent)
        titles.append(f"repeat {split.repeat + 1}, fold {split.fold + 1}: {text}")

    def strip(name: str, places: Iterable[int], mean: float) -> Strip:
        places = list(places)
        values = [scores[place] for place in places]
        return Strip(name, values, [titles[place] for place in places], factor * mean)

    repeats = sorted({split.repeat for split in splits})
    if len(repeats) <= _MOST_ROWS and len(repeats) < len(splits) <= _MOST_DOTS:
        rows = []
        for repeat, mean in zip(repeats, summary.repeat_means.tolist(), strict=True):
            own = [place for place, split in enumerate(splits) if split.repeat == repeat]
            name = f"repeat {repeat + 1}" if len(repeats) > 1 else ""
            rows.append(strip(name, own, mean))
        return rows, False
    if len(scores) <= _MOST_DOTS:
        return [strip("", range(len(scores)), summary.mean)], False
    order = np.argsort(summary.scores, kind="stable")
    kept = order[np.linspace(0, len(scores) - 1, _MOST_DOTS).round().astype(int)].tolist()
    return [strip("", kept, summary.mean)], True


def _predictions(evaluation: Evaluation) -> dict[str, Any] | None:
    """Return the predictions themselves beside the truth, as far as their kind has a view."""
    tested = np.concatenate([split.test for split in evaluation.splits])
    times = len(tested) / len(np.unique(tested))
    note = "Each item was tested once."
    if times != 1:
        note = f"Test items of all splits together; an item counts {times:.3g} times."
    if evaluation.confusion is not None:
        return confusion_view(evaluation.confusion, evaluation.class_names, note)
    if evaluation.task != "values":
        return None
    true = np.concatenate([evaluation.truth[split.test].ravel() for split in evaluation.splits])
    predicted = np.concatenate([outcome.prediction.ravel() for outcome in evaluation.outcomes])
    return points_view(true, predicted, note)


def _measures(evaluation: Evaluation) -> list[tuple[str, ...]]:
    rows = []
    for name in evaluation.metrics:
        summary = evaluation[name]
        percent = summary.metric.percent
        others = (summary.minimum, summary.maximum, summary.majority)
        rows.append(
            (
                metric_name(name, percent),
                number(summary.mean, percent),
                spread_text(summary.mean, summary.spread, percent),
                limits_text(summary.interval, percent),
                *(number(value, percent) for value in others),
            )
        )
    return rows
