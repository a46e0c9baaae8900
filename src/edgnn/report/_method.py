"""How an evaluation was made: what its pages say of splits, numbers and how to repeat it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from edgnn._words import counted
from edgnn.evaluation import Evaluation, Summary
from edgnn.report._numbers import between, capital, limits_text, metric_name

#: What a model does that ignores its input, by the kind of targets.
_BASELINE = {
    "classes": "the majority class",
    "labels": "the most frequent labels",
    "values": "predicting the mean",
}


def baseline_phrase(task: str) -> str:
    """Return what a model does that ignores its input, for the middle of a sentence."""
    return _BASELINE.get(task, "the majority")


def baseline_name(task: str) -> str:
    """Return the same, for the head of a column or the name of a row."""
    return baseline_phrase(task).removeprefix("the ")


def shape_of(evaluation: Evaluation) -> str:
    """Return how many items, repeats and folds there are."""
    folds = Counter(split.repeat for split in evaluation.splits)
    sizes = set(folds.values())
    items = counted(len(evaluation.truth), "item")
    if sizes == {1}:
        return f"{items}, {counted(len(folds), 'split')}"
    each = counted(sizes.pop(), "fold") if len(sizes) == 1 else "several folds"
    return f"{items}, {counted(len(folds), 'repeat')} of {each}"


def split_sizes(evaluation: Evaluation) -> dict[str, str]:
    """Return how many items the models of the splits learn from and are evaluated on.

    ``valid`` are those that epochs are chosen on; empty where there is no such choice.
    """
    sizes: dict[str, list[int]] = {"known": [], "train": [], "valid": [], "test": []}
    for split in evaluation.splits:
        for part, of_part in sizes.items():
            items = getattr(split, part)
            if items is not None:
                of_part.append(len(items))
    if not evaluation.settings.get("fleet"):
        sizes["valid"] = []
    return {part: between(of_part) if of_part else "" for part, of_part in sizes.items()}


def interval_facts(summary: Summary, marks: Mapping[str, float]) -> dict[str, Any]:
    """Return the confidence interval, and on which side of some marks it lies."""
    low, high = summary.interval
    sides = []
    for name, value in marks.items():
        if value < low:
            sides.append(("lies above", name))
        elif value > high:
            sides.append(("lies below", name))
        elif not math.isnan(value):
            sides.append(("contains", name))
    return {
        "has_scores": not math.isnan(summary.mean),
        "interval": limits_text(summary.interval, summary.metric.percent, unknown=""),
        "sides": sides,
    }


def method_facts(evaluation: Evaluation, summary: Summary) -> dict[str, Any]:
    """Return what a page needs to say how the numbers follow from the predictions."""
    repeats = len(summary.repeat_means)
    scores = counted(int((~np.isnan(summary.scores)).sum()), "score")
    return {
        "metric": metric_name(summary.metric.name),
        "scores": scores,
        "units": f"means of the {repeats} repeats" if repeats > 1 else f"{scores} of the splits",
        "interval_kind": summary.interval_kind,
        "test_items": f"{len(evaluation.splits[0].test):,}",
        "baseline": capital(baseline_name(evaluation.task)),
        "task": evaluation.task,
    }


def call_of(settings: Mapping[str, Any]) -> str:
    """Return the call that makes an estimator; empty where the settings do not say."""
    estimator, parameters = settings.get("estimator"), settings.get("parameters")
    if not estimator or not isinstance(parameters, Mapping):
        return ""
    options = [f"{name}={value!r}" for name, value in parameters.items()]
    return f"{estimator}({', '.join(options)})"
