"""An evaluation as plain values for JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from edgnn._json import plain
from edgnn.errors import EvaluationError
from edgnn.evaluation._evaluation import Evaluation, Outcome
from edgnn.evaluation._splits import Split
from edgnn.evaluation._summary import Summary

_FORMAT = 1


def evaluation_to_dict(evaluation: Evaluation) -> dict[str, Any]:
    """Return everything as plain values; classes in truth and predictions are positions in the list of classes."""
    summaries = [evaluation[name] for name in evaluation.metrics]
    rows = zip(evaluation.splits, evaluation.outcomes, strict=True)
    confusion = evaluation.confusion
    written: dict[str, Any] = plain(
        {
            "format": _FORMAT,
            "settings": evaluation.settings,
            "task": evaluation.task,
            "classes": evaluation.classes,
            "class_names": evaluation.class_names,
            "metrics": {summary.metric.name: _summary(summary) for summary in summaries},
            "confusion": confusion,
            "truth": evaluation.truth,
            "splits": [
                _split(number, split, outcome, summaries)
                for number, (split, outcome) in enumerate(rows)
            ],
        }
    )
    return written


def evaluation_from_dict(values: Mapping[str, Any]) -> Evaluation:
    """Return the evaluation that :func:`evaluation_to_dict` wrote."""
    if values.get("format") != _FORMAT:
        raise EvaluationError(
            f"the evaluation has format {values.get('format')!r}, but this version of edgnn reads format {_FORMAT}; "
            "update edgnn, or evaluate again"
        )
    kind: type = np.int64 if values["task"] == "classes" else np.float64
    return Evaluation(
        task=values["task"],
        metrics=tuple(values["metrics"]),
        splits=tuple(_read_split(row) for row in values["splits"]),
        truth=np.array(values["truth"], dtype=kind),
        outcomes=tuple(_read_outcome(row, kind) for row in values["splits"]),
        classes=tuple(values["classes"]),
        class_names=tuple(values["class_names"]),
        settings=values["settings"],
    )


def _summary(summary: Summary) -> dict[str, Any]:
    names = (
        "mean",
        "spread",
        "minimum",
        "maximum",
        "interval",
        "interval_kind",
        "majority",
        "repeat_means",
    )
    return {name: getattr(summary, name) for name in names} | {
        "higher_is_better": summary.metric.higher_is_better
    }


def _split(number: int, split: Split, outcome: Outcome, summaries: list[Summary]) -> dict[str, Any]:
    return {
        "repeat": split.repeat,
        "fold": split.fold,
        "seed": split.seed,
        "train": split.train,
        "valid": split.valid,
        "test": split.test,
        "prediction": outcome.prediction,
        "probability": outcome.probability,
        "chosen": outcome.chosen,
        "training_accuracy": outcome.training_accuracy,
        "scores": {summary.metric.name: summary.scores[number] for summary in summaries},
        "majority": {summary.metric.name: summary.majority_scores[number] for summary in summaries},
    }


def _read_split(row: Mapping[str, Any]) -> Split:
    train, test = (np.array(row[part], dtype=np.int64) for part in ("train", "test"))
    valid = None if row["valid"] is None else np.array(row["valid"], dtype=np.int64)
    return Split(train, test, valid, row["repeat"], row["fold"], row["seed"])


def _read_outcome(row: Mapping[str, Any], kind: type) -> Outcome:
    probability = row["probability"]
    chances = None if probability is None else np.array(probability, dtype=float)
    return Outcome(
        np.array(row["prediction"], dtype=kind),
        chances,
        row.get("chosen"),
        row.get("training_accuracy"),
    )
