"""What an evaluation did and how its numbers are computed, in words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from edgnn._words import counted
from edgnn.evaluation import Evaluation, Summary
from edgnn.report._html import Html, section, tag
from edgnn.report._numbers import between, metric_name, number

#: What a model that ignores its input is called, by the kind of targets.
BASELINE = {
    "classes": "majority class",
    "labels": "most frequent labels",
    "values": "mean of the targets",
}
_ANSWER = {
    "classes": "always answers with the most frequent class of the items it may see.",
    "labels": "gives every label its most frequent value.",
    "values": "always answers with the mean of the targets it may see.",
}


def shape_of(evaluation: Evaluation) -> str:
    """Return how many items, repeats and folds there are."""
    folds = Counter(split.repeat for split in evaluation.splits)
    sizes, items = set(folds.values()), counted(len(evaluation.truth), "item")
    if sizes == {1}:
        return f"{items}, {counted(len(folds), 'split')}"
    each = counted(sizes.pop(), "fold") if len(sizes) == 1 else "several folds"
    return f"{items}, {counted(len(folds), 'repeat')} of {each}"


def parts_of(evaluation: Evaluation) -> str:
    """Return how large the parts of the splits are."""
    test = between([len(split.test) for split in evaluation.splits])
    valid = [len(split.valid) for split in evaluation.splits if split.valid is not None]
    epochs = bool(valid and evaluation.settings.get("fleet"))
    train = between([len(split.train if epochs else split.known) for split in evaluation.splits])
    chosen = f"Its best epoch is chosen on {between(valid)} others. " if epochs else ""
    return f"Each model learns from {train} items. {chosen}It is judged on {test} items that it has never seen."


def verdict(summary: Summary, paper: tuple[float, float] | None, baseline: str) -> str:
    """Return where the confidence interval lies, compared with the paper and with ignoring the input."""
    if math.isnan(summary.mean):
        return "No split allows a score, so there is no result."
    low, high = summary.interval
    if math.isnan(low):
        return "A confidence interval needs at least two scores, so there is none."
    percent = summary.metric.percent
    sides = (
        [(baseline, summary.majority)]
        if paper is None
        else [("paper’s figure", paper[0]), (baseline, summary.majority)]
    )
    told = [
        f"{_side(value, low, high)} the {name}" for name, value in sides if not math.isnan(value)
    ]
    first = (
        f"The 95 % confidence interval goes from {number(low, percent)} to {number(high, percent)}"
    )
    return f"{first}; it {' and '.join(told)}." if told else f"{first}."


def computed(evaluation: Evaluation, summary: Summary) -> Html:
    """Return the section on how the numbers follow from the predictions."""
    repeats = len(summary.repeat_means)
    scores = counted(int((~np.isnan(summary.scores)).sum()), "score")
    units = f"means of the {repeats} repeats" if repeats > 1 else f"{scores} of the splits"
    paragraphs = {
        "Mean": f"{metric_name(summary.metric.name)}, averaged over the folds of each repeat, then over the repeats.",
        "Spread (±), least and greatest": f"standard deviation and limits of the {units}.",
        "95 % confidence interval": _interval(evaluation, summary, scores),
        BASELINE[
            evaluation.task
        ].capitalize(): f"what a model scores that ignores its input and {_ANSWER[evaluation.task]}",
    }
    return section(
        "How these numbers are computed",
        *(tag("p", tag("strong", f"{name}: "), text) for name, text in paragraphs.items()),
    )


def repeat_section(evaluation: Evaluation, command: Any, name: str, complete: bool) -> Html:
    """Return the section on how to get the same numbers again."""
    parts = [tag("p", "The command:"), tag("pre", str(command))] if command else []
    if estimator := evaluation.settings.get("estimator"):
        call = call_of(estimator, evaluation.settings.get("parameters", {}))
        parts += [tag("p", "The model with all its parameters:"), tag("pre", call)]
    if complete:
        code = (
            "from edgnn.evaluation import Evaluation, evaluate\nfrom edgnn.report import read_report\n\n"
            f'splits = Evaluation.from_dict(read_report({name!r})["evaluation"]).splits\nevaluate(model, X, y, splits)'
        )
        parts += [
            tag(
                "p",
                "The splits, with their seeds and predictions, are stored in this page; to train on the same ones:",
            )
        ]
        parts += [tag("pre", code)]
    else:
        seeds = sorted({split.seed for split in evaluation.splits})
        shown = ", ".join(map(str, seeds[:10])) + (
            f", … ({len(seeds):,} in all)" if len(seeds) > 10 else ""
        )
        parts += [
            tag("p", f"The splits are too many to be stored in this page. Their seeds: {shown}.")
        ]
    return section("How to repeat it", *parts)


def call_of(estimator: str, parameters: Mapping[str, Any]) -> str:
    """Return the call that makes an estimator."""
    return f"{estimator}({', '.join(f'{name}={value!r}' for name, value in parameters.items())})"


def _side(value: float, low: float, high: float) -> str:
    return "lies above" if value < low else "lies below" if value > high else "contains"


def _interval(evaluation: Evaluation, summary: Summary, scores: str) -> str:
    if summary.interval_kind == "test-set":
        return (
            f"all splits share one test part of {len(evaluation.splits[0].test):,} items. It is "
            "Wilson’s interval of a share among so many items, widened by the t interval over the seeds (the distances from the "
            "mean are squared and added)."
        )
    if summary.interval_kind == "seeds":
        return (
            "t interval over the seeds. All splits share one test part, so it does not cover that other "
            "test items might give another result."
        )
    return (
        f"mean ± t · √((1/n + items tested / items seen) · s²) over the n = {scores} of all splits, with "
        "variance s² and n − 1 degrees of freedom. This is the corrected resampled t of Nadeau and Bengio (Machine Learning 52, "
        "2003): the training parts of folds and repeats overlap, so the plain standard error s/√n would be too small."
    )
