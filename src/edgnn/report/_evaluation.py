"""The page of an evaluation: its result beside the paper and the majority, and how to repeat it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgnn._files import Path_
from edgnn._words import counted, duration, short
from edgnn.evaluation import Evaluation
from edgnn.report._curves import curve_figure, curves_of
from edgnn.report._method import (
    baseline_name,
    baseline_phrase,
    call_of,
    interval_facts,
    method_facts,
    shape_of,
    split_sizes,
)
from edgnn.report._numbers import metric_name, plus_minus, shown, spread_text
from edgnn.report._page import ReportError, evaluation_values, write_page
from edgnn.report._predictions import calibration_view, choices, confusion_view, points_view
from edgnn.report._views import Figure, Score, evenly, figure, setting_groups
from edgnn.report.draw import Dots, Estimate, draw_dots, draw_estimates

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
    score = Score.of(evaluation)
    published = _published(paper, score)
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
    rows = _compared_rows(evaluation, score, published)
    lead = [shape_of(evaluation), duration(seconds), str(environment.get("date", ""))[:10]]
    marks = {f"the score of {baseline_phrase(evaluation.task)}": score.summary.majority}
    if published:
        marks = {"the paper’s figure": published[0], **marks}
    write_page(
        path,
        "evaluation.html",
        title,
        " · ".join(filter(None, lead)),
        data,
        metric=metric_name(score.metric.name),
        unit=" %" if score.metric.percent else "",
        headline=[
            (name, plus_minus(mean, spread, score.metric.percent)) for name, mean, spread in rows
        ],
        estimates=_estimate_figure(score, rows),
        baseline=baseline_name(evaluation.task),
        verdict=interval_facts(score.summary, marks),
        lower_is_better=not score.metric.higher_is_better,
        measures=_measures(evaluation),
        sizes=split_sizes(evaluation),
        scores=_score_figure(evaluation, score),
        score_count=counted(len(score.summary.scores), "score"),
        undefined=int(np.isnan(score.summary.scores).sum()),
        repeat_means=[score.text(mean) for mean in score.summary.repeat_means.tolist()],
        predictions=_predictions(evaluation),
        calibration=calibration_view(evaluation),
        curves=curve_figure(curves),
        choices=choices(evaluation),
        methods=method_facts(evaluation, score.summary),
        command=settings.get("command"),
        call=call_of({"parameters": {}, **evaluation.settings}),
        name=repr(Path(path).name),
        seeds=shown(sorted({split.seed for split in evaluation.splits})),
        complete=values["complete"],
        settings=setting_groups(
            {name: value for name, value in settings.items() if name != "command"}
        ),
        environment=setting_groups(environment),
    )


def _published(
    paper: tuple[float, float | None] | None, score: Score
) -> tuple[float, float] | None:
    """Return the paper's figure in the unit of the metric."""
    if paper is None:
        return None
    try:
        mean, given = paper
        mean = float(mean)
        spread = math.nan if given is None else float(given)
    except (TypeError, ValueError):
        raise ReportError(
            f"paper={short(paper)}: give its mean and its spread, such as (0.869, 0.010)"
        ) from None
    if score.metric.percent and mean > 1:
        return mean / 100, spread / 100
    return mean, spread


def _compared_rows(
    evaluation: Evaluation, score: Score, paper: tuple[float, float] | None
) -> list[tuple[str, float, float]]:
    """Return name, mean and spread of this run, the paper and a model that ignores its input."""
    rows = [("this run", score.summary.mean, score.summary.spread)]
    if paper:
        rows.append(("paper", *paper))
    return [*rows, (baseline_name(evaluation.task), score.summary.majority, math.nan)]


def _estimate_figure(score: Score, rows: Sequence[tuple[str, float, float]]) -> Figure:
    estimates = [score.estimate("this run", score.mean_text, main=True)]
    for name, mean, spread in rows[1:]:
        text = plus_minus(mean, spread, score.metric.percent)
        estimates.append(Estimate(name, text, score.factor * mean, score.factor * spread))
    caption = "Dot: mean. Thick bar: ± the spread. Thin line: 95 % confidence interval of the mean."
    return figure(caption, draw_estimates, estimates, **score.axis)


def _score_figure(evaluation: Evaluation, score: Score) -> Figure:
    strips = _strips(evaluation, score)
    line = math.nan
    caption = "Dot: one split"
    if len(score.summary.scores) > _MOST_DOTS:
        caption += f" ({_MOST_DOTS} of {len(score.summary.scores):,} are drawn)"
    if len(strips) > 1:
        line = score.factor * score.summary.mean
        caption += ". Upright bar: mean of the repeat. Dashed line: mean of the whole run."
    else:
        caption += ". Upright bar: mean."
    title = f"{score.axis['x_label']}, one dot per split"
    return figure(caption, draw_dots, strips, title=title, line=line, **score.axis)


def _strips(evaluation: Evaluation, score: Score) -> list[Dots]:
    """Return a row per repeat if that is readable, else one with the scores of all splits."""
    scores, splits = score.summary.scores, evaluation.splits
    places_of: dict[int, list[int]] = {}
    for place, split in enumerate(splits):
        places_of.setdefault(split.repeat, []).append(place)
    few = len(places_of) <= _MOST_ROWS and len(splits) <= _MOST_DOTS
    if not few or len(places_of) == len(splits):
        order = np.argsort(scores, kind="stable")
        if len(scores) <= _MOST_DOTS:
            order = np.arange(len(scores))
        kept = order[evenly(len(scores), _MOST_DOTS)].tolist()
        return [_strip("", kept, score.summary.mean, evaluation, score)]
    rows = []
    repeats = sorted(places_of)
    for repeat, mean in zip(repeats, score.summary.repeat_means.tolist(), strict=True):
        name = f"repeat {repeat + 1}" if len(repeats) > 1 else ""
        rows.append(_strip(name, places_of[repeat], mean, evaluation, score))
    return rows


def _strip(
    name: str, places: Sequence[int], mean: float, evaluation: Evaluation, score: Score
) -> Dots:
    values, titles = [], []
    for place in places:
        value, split = float(score.summary.scores[place]), evaluation.splits[place]
        values.append(score.factor * value)
        where = f"repeat {split.repeat + 1}, fold {split.fold + 1}"
        titles.append(f"{where}: {score.text(value)}")
    return Dots(name, values, score.factor * mean, titles)


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
    rows: list[tuple[str, ...]] = []
    for name in evaluation.metrics:
        score = Score(evaluation[name])
        summary = score.summary
        rows.append(
            (
                score.axis["x_label"],
                score.text(summary.mean),
                spread_text(summary.mean, summary.spread, score.metric.percent),
                score.interval_text,
                score.text(summary.minimum),
                score.text(summary.maximum),
                score.text(summary.majority),
            )
        )
    return rows
