"""The page of an evaluation: what came out, beside the paper and the majority class, and how to repeat it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from edgnn._files import Path_
from edgnn._words import counted, duration
from edgnn.evaluation import Evaluation, Summary
from edgnn.report._calibration import calibration_section
from edgnn.report._chosen import chosen_section
from edgnn.report._curves import curves_of, curves_section
from edgnn.report._data import evaluation_values
from edgnn.report._errors import ReportError
from edgnn.report._explain import BASELINE, computed, parts_of, repeat_section, shape_of, verdict
from edgnn.report._html import Html, figure, pairs, section, table, tag
from edgnn.report._numbers import metric_name, number, plus_minus, spread_text
from edgnn.report._page import write_page
from edgnn.report._predictions import confusion_section, points_section
from edgnn.report.draw import Estimate, Strip, draw_estimates, draw_strips

_MOST_ROWS = 25
_MOST_DOTS = 500
_NONE = (math.nan, math.nan)


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
    told = {name: value for name, value in settings.items() if name != "command"}
    body = [
        _result(evaluation, summary, published),
        _measures(evaluation),
        _scores(evaluation, summary),
        *_predictions(evaluation),
        *calibration_section(evaluation),
        *curves_section(curves),
        *chosen_section(evaluation),
        computed(evaluation, summary),
        repeat_section(evaluation, settings.get("command"), Path(path).name, values["complete"]),
        *([section("Settings", pairs(told), class_="long")] if told else []),
        *([section("Environment", pairs(environment), class_="long")] if environment else []),
    ]
    known = {
        "kind": "evaluation",
        "seconds": seconds,
        "paper": published,
        "settings": settings,
        "environment": environment,
    }
    day = str(environment.get("date", ""))[:10]
    lead = " · ".join(part for part in (shape_of(evaluation), duration(seconds), day) if part)
    write_page(path, title, lead, body, {**known, "curves": curves and curves.to_dict(), **values})


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


def _result(evaluation: Evaluation, summary: Summary, paper: tuple[float, float] | None) -> Html:
    percent = summary.metric.percent
    rows = [("this run", summary.mean, summary.spread, summary.interval)]
    rows += [("paper", *paper, _NONE)] if paper else []
    rows.append((BASELINE[evaluation.task], summary.majority, math.nan, _NONE))
    texts = [plus_minus(mean, spread, percent) for _, mean, spread, _ in rows]
    figures = [
        tag(
            "div",
            tag("dt", name),
            tag("dd", text + " %" * percent),
            class_=None if place else "main",
        )
        for place, ((name, *_), text) in enumerate(zip(rows, texts, strict=True))
    ]
    factor = 100 if percent else 1
    estimates = [
        Estimate(
            name,
            text,
            factor * mean,
            factor * spread,
            (factor * ends[0], factor * ends[1]),
            main=name == "this run",
        )
        for (name, mean, spread, ends), text in zip(rows, texts, strict=True)
    ]
    axis = metric_name(summary.metric.name, percent)
    bounds = (factor * summary.metric.bounds[0], factor * summary.metric.bounds[1])
    caption = "Dot: mean. Thick bar: ± the spread. Thin line: 95 % confidence interval of the mean."
    better = "" if summary.metric.higher_is_better else " Lower is better."
    return section(
        f"Result: {metric_name(summary.metric.name)}",
        tag("dl", *figures, class_="figures"),
        tag("p", verdict(summary, paper, BASELINE[evaluation.task]) + better),
        figure(lambda width: draw_estimates(estimates, axis, width=width, bounds=bounds), caption),
    )


def _scores(evaluation: Evaluation, summary: Summary) -> Html:
    percent = summary.metric.percent
    factor = 100 if percent else 1
    strips, thinned = _strips(evaluation, summary, factor)
    axis = metric_name(summary.metric.name, percent)
    bounds = (factor * summary.metric.bounds[0], factor * summary.metric.bounds[1])
    rows = len(strips) > 1
    draw = partial(
        draw_strips, strips, axis, line=factor * summary.mean if rows else math.nan, bounds=bounds
    )
    caption = (
        "Dot: one split"
        + (f" ({_MOST_DOTS} of {len(summary.scores):,} are drawn)" if thinned else "")
        + ". Upright bar: mean"
    )
    caption += " of the repeat. Dashed line: mean of the whole run." if rows else "."
    gone = int(np.isnan(summary.scores).sum())
    lost = f"{gone} of {counted(len(summary.scores), 'score')} cannot be told (the test part does not allow it) and are left out."
    means = [number(mean, percent) for mean in summary.repeat_means.tolist()]
    listed = tag("p", tag("strong", "Means of the repeats: "), ", ".join(means), class_="note")
    return section(
        "Scores of the splits",
        tag("p", parts_of(evaluation)),
        figure(lambda width: draw(width=width), caption),
        *([tag("p", lost)] if gone else []),
        *([listed] if 1 < len(means) <= 4 * _MOST_ROWS else []),
    )


def _strips(evaluation: Evaluation, summary: Summary, factor: float) -> tuple[list[Strip], bool]:
    """Return a row per repeat if that is readable, else one row; and whether dots had to be left out."""
    scores = (factor * summary.scores).tolist()
    splits = evaluation.splits
    shown = [number(score, summary.metric.percent) for score in summary.scores.tolist()]
    titles = [
        f"repeat {split.repeat + 1}, fold {split.fold + 1}: {text}"
        for split, text in zip(splits, shown, strict=True)
    ]
    repeats = sorted({split.repeat for split in splits})
    if len(repeats) <= _MOST_ROWS and len(splits) > len(repeats) and len(splits) <= _MOST_DOTS:
        rows = []
        for repeat, mean in zip(repeats, summary.repeat_means.tolist(), strict=True):
            places = [place for place, split in enumerate(splits) if split.repeat == repeat]
            name = f"repeat {repeat + 1}" if len(repeats) > 1 else ""
            rows.append(
                Strip(
                    name,
                    [scores[place] for place in places],
                    [titles[place] for place in places],
                    factor * mean,
                )
            )
        return rows, False
    kept = range(len(scores))
    if too_many := len(scores) > _MOST_DOTS:
        order = np.argsort(summary.scores, kind="stable")
        kept = order[np.linspace(0, len(scores) - 1, _MOST_DOTS).round().astype(int)].tolist()
    return [
        Strip(
            "",
            [scores[place] for place in kept],
            [titles[place] for place in kept],
            factor * summary.mean,
        )
    ], too_many


def _predictions(evaluation: Evaluation) -> list[Html]:
    """Return the section on the predictions themselves, as far as their kind has one."""
    if evaluation.confusion is not None:
        return confusion_section(evaluation.confusion, evaluation.class_names, _tested(evaluation))
    if evaluation.task != "values":
        return []
    true = np.concatenate([evaluation.truth[split.test].ravel() for split in evaluation.splits])
    said = np.concatenate([outcome.prediction.ravel() for outcome in evaluation.outcomes])
    return points_section(true, said, _tested(evaluation))


def _tested(evaluation: Evaluation) -> str:
    tested = np.concatenate([split.test for split in evaluation.splits])
    times = len(tested) / len(np.unique(tested))
    return (
        "Each item was tested once."
        if times == 1
        else f"Test items of all splits together; an item counts {times:.3g} times."
    )


def _measures(evaluation: Evaluation) -> Html:
    rows = []
    for name in evaluation.metrics:
        one = evaluation[name]
        percent, (low, high) = one.metric.percent, one.interval
        mean, spread = number(one.mean, percent), spread_text(one.mean, one.spread, percent)
        limits = "–" if math.isnan(low) else f"{number(low, percent)} to {number(high, percent)}"
        others = [number(value, percent) for value in (one.minimum, one.maximum, one.majority)]
        rows.append((metric_name(name, percent), mean, spread, limits, *others))
    head = (
        "measure",
        "mean",
        "spread",
        "95 % interval",
        "least",
        "greatest",
        BASELINE[evaluation.task],
    )
    return section("All measures", table(head, rows, class_="numbers"))
