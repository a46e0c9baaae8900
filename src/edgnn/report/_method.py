"""What an evaluation did and how its numbers are computed, in words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from edgnn._words import counted
from edgnn.evaluation import Evaluation, Summary
from edgnn.report._numbers import between, limits_text, metric_name

#: What a model that ignores its input is called, by the kind of targets.
BASELINE = {
    "classes": "majority class",
    "labels": "most frequent labels",
    "values": "mean of the targets",
}
_FEW_SEEDS = 10


def shape_of(evaluation: Evaluation) -> str:
    """Return how many items, repeats and folds there are."""
    folds = Counter(split.repeat for split in evaluation.splits)
    sizes = set(folds.values())
    items = counted(len(evaluation.truth), "item")
    if sizes == {1}:
        return f"{items}, {counted(len(folds), 'split')}"
    each = counted(sizes.pop(), "fold") if len(sizes) == 1 else "several folds"
    return f"{items}, {counted(len(folds), 'repeat')} of {each}"


def split_sizes(evaluation: Evaluation) -> str:
    """Return how many items the models of the splits learn from and are evaluated on."""
    test = between([len(split.test) for split in evaluation.splits])
    valid = [len(split.valid) for split in evaluation.splits if split.valid is not None]
    with_epochs = bool(valid and evaluation.settings.get("fleet"))
    if with_epochs:
        train = between([len(split.train) for split in evaluation.splits])
        epochs = f"Its best epoch is chosen on {between(valid)} others. "
    else:
        train = between([len(split.known) for split in evaluation.splits])
        epochs = ""
    return (
        f"Each model learns from {train} items. {epochs}"
        f"It is judged on {test} items that it has never seen."
    )


def verdict(summary: Summary, paper: tuple[float, float] | None, baseline: str) -> str:
    """Return where the confidence interval lies, beside the paper and a model without input."""
    if math.isnan(summary.mean):
        return "No split allows a score, so there is no result."
    low, high = summary.interval
    if math.isnan(low):
        return "A confidence interval needs at least two scores, so there is none."
    figures = {} if paper is None else {"paper’s figure": paper[0]}
    figures[baseline] = summary.majority
    sides = [
        f"{_side(value, low, high)} the {name}"
        for name, value in figures.items()
        if not math.isnan(value)
    ]
    limits = limits_text(summary.interval, summary.metric.percent)
    where = f"; it {' and '.join(sides)}" if sides else ""
    return f"The 95 % confidence interval goes from {limits}{where}."


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
        "baseline": BASELINE[evaluation.task].capitalize(),
        "task": evaluation.task,
    }


def steps_to_repeat(
    evaluation: Evaluation, command: Any, name: str, complete: bool
) -> list[tuple[str, str]]:
    """Return how to get the same numbers again: texts, each with the code below it."""
    steps = [("The command:", str(command))] if command else []
    if estimator := evaluation.settings.get("estimator"):
        call = call_of(estimator, evaluation.settings.get("parameters", {}))
        steps.append(("The model with all its parameters:", call))
    if complete:
        code = (
            "from edgnn.evaluation import Evaluation, evaluate\n"
            "from edgnn.report import read_report\n\n"
            f'splits = Evaluation.from_dict(read_report({name!r})["evaluation"]).splits\n'
            "evaluate(model, X, y, splits)"
        )
        stored = "The splits, with their seeds and predictions, are stored in this page; "
        steps.append((f"{stored}to train on the same ones:", code))
    else:
        seeds = sorted({split.seed for split in evaluation.splits})
        listed = ", ".join(map(str, seeds[:_FEW_SEEDS]))
        if len(seeds) > _FEW_SEEDS:
            listed += f", … ({len(seeds):,} in all)"
        steps.append(
            (f"The splits are too many to be stored in this page. Their seeds: {listed}.", "")
        )
    return steps


def call_of(estimator: str, parameters: Mapping[str, Any]) -> str:
    """Return the call that makes an estimator."""
    return f"{estimator}({', '.join(f'{name}={value!r}' for name, value in parameters.items())})"


def _side(value: float, low: float, high: float) -> str:
    if value < low:
        return "lies above"
    return "lies below" if value > high else "contains"
