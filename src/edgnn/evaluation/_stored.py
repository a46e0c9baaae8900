"""Evaluations as JSON values and back; files are checked before anything is computed from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from edgnn._files import Path_, read_file
from edgnn._json import plain
from edgnn._words import one_line
from edgnn.errors import EvaluationError, FileError, FormatError
from edgnn.evaluation._evaluation import Evaluation, Outcome
from edgnn.evaluation._metrics import find_metric
from edgnn.evaluation._splits import Split
from edgnn.evaluation._statistics import Summary

_FORMAT = 1
_TASKS = ("classes", "labels", "values")
_EXPECTED = "expected what `edgnn evaluate --out` or Evaluation.to_dict wrote"


def load_evaluation(path: Path_) -> Evaluation:
    """Return the evaluation in a file."""
    try:
        document = stored_document(path)
    except FileError:
        raise EvaluationError(f"there is no file {Path(path)}; {_EXPECTED}") from None
    except ValueError as error:
        raise FormatError(path, f"it {error}; {_EXPECTED}") from None
    return evaluation_of(document, path)


def evaluation_of(document: Mapping[str, Any], path: Path_) -> Evaluation:
    """Return the evaluation that a file holds; an error names the file."""
    try:
        return stored_evaluation(document["evaluation"])
    except ValueError as error:
        raise FormatError(path, f"what it holds is damaged ({one_line(error)})") from None


def stored_document(path: Path_) -> dict[str, Any]:
    """Return what the file of an evaluation holds; a ``ValueError`` says what else it is."""
    try:
        document = json.loads(read_file(path))
    except (ValueError, RecursionError):
        raise ValueError("is no JSON file") from None
    if not isinstance(document, dict):
        raise ValueError("is a JSON file without an evaluation")
    if {"task", "truth", "splits"} <= set(document):
        document = {"evaluation": document}
    if not isinstance(document.get("evaluation"), Mapping):
        raise ValueError("is a JSON file without an evaluation")
    return document


def stored_evaluation(values: Any) -> Evaluation:
    """Return the evaluation that ``to_dict`` wrote; a ``ValueError`` says what does not fit."""
    try:
        evaluation = evaluation_from_dict(values)
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None
    except EvaluationError as error:
        raise ValueError(one_line(error)) from None
    _check_head(evaluation)
    for split, outcome in zip(evaluation.splits, evaluation.outcomes, strict=True):
        _check_split(split, len(evaluation.truth))
        _check_outcome(outcome, len(split.test), evaluation)
    return evaluation


def _check_head(evaluation: Evaluation) -> None:
    """Check what is not of one split."""
    _check(evaluation.task in _TASKS, "its task is unknown")
    _check(bool(evaluation.metrics), "it has no metrics")
    for name in evaluation.metrics:
        _check(isinstance(name, str), "it has no metrics")
        find_metric(name)
    _check(isinstance(evaluation.settings, Mapping), "its settings are no mapping")
    columns = 1 if evaluation.task == "classes" else 2
    _check(1 <= evaluation.truth.ndim <= columns, "its targets are no list")
    _check(len(evaluation.splits) > 0, "it has no splits")
    for items in evaluation.subsets.values():
        are_items = items.ndim == 1 and _within(items, 0, len(evaluation.truth))
        _check(are_items, "a subset names an item that there is not")
    if evaluation.task == "classes":
        names, classes = evaluation.class_names, evaluation.classes
        _check(len(names) == len(classes) > 0, "its classes and their names differ in number")
        _check(all(isinstance(name, str) for name in names), "the name of a class is no text")
        _check(_within(evaluation.truth, -1, len(classes)), "a target is no class")


def _check_split(split: Split, items: int) -> None:
    numbers = (split.repeat, split.fold, split.seed)
    _check(all(type(value) is int for value in numbers), "a split has no number")
    for part in (split.known, split.test):
        _check(_within(part, 0, items), f"{split} names an item that there is not")


def _check_outcome(outcome: Outcome, size: int, evaluation: Evaluation) -> None:
    shape = (size, *evaluation.truth.shape[1:])
    _check(outcome.prediction.shape == shape, "predictions and test items differ in number")
    if evaluation.task == "classes":
        count = len(evaluation.classes)
        _check(_within(outcome.prediction, -1, count), "a prediction is no class")
        shape = (size, count)
    if outcome.probability is not None:
        _check(outcome.probability.shape == shape, "probabilities and test items differ in number")
    chosen_is_valid = outcome.chosen is None or isinstance(outcome.chosen, Mapping)
    _check(chosen_is_valid, "what was chosen is no mapping")
    _check(is_number(outcome.training_accuracy), "a training accuracy is not a number")


def is_number(value: Any) -> bool:
    """Return whether a value is missing, or a number that a float can hold."""
    if value is None:
        return True
    return type(value) in (int, float) and abs(value) < 2**1023


def _within(numbers: np.ndarray[Any, Any], low: int, high: int) -> bool:
    return len(numbers) == 0 or (int(numbers.min()) >= low and int(numbers.max()) < high)


def _check(holds: bool, rule: str) -> None:
    if not holds:
        raise ValueError(rule)


def evaluation_to_dict(evaluation: Evaluation) -> dict[str, Any]:
    """Return everything as plain values; classes are positions in the list of classes."""
    summaries = [evaluation[name] for name in evaluation.metrics]
    rows = zip(evaluation.splits, evaluation.outcomes, strict=True)
    written: dict[str, Any] = plain(
        {
            "format": _FORMAT,
            "settings": evaluation.settings,
            "task": evaluation.task,
            "classes": evaluation.classes,
            "class_names": evaluation.class_names,
            "metrics": {summary.metric.name: _summary(summary) for summary in summaries},
            "confusion": evaluation.confusion,
            "truth": evaluation.truth,
            "splits": [
                _split(number, split, outcome, summaries)
                for number, (split, outcome) in enumerate(rows)
            ],
        }
    )
    if evaluation.subsets:
        written["subsets"] = plain(dict(evaluation.subsets))
    return written


def evaluation_from_dict(values: Mapping[str, Any]) -> Evaluation:
    """Return the evaluation that :func:`evaluation_to_dict` wrote."""
    if values.get("format") != _FORMAT:
        raise EvaluationError(
            f"the evaluation has format {values.get('format')!r}, but this version of edgnn "
            f"reads format {_FORMAT}; update edgnn, or evaluate again"
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
        subsets={
            name: np.array(items, dtype=np.int64)
            for name, items in values.get("subsets", {}).items()
        },
    )


def _summary(summary: Summary) -> dict[str, Any]:
    return summary.statistics() | {"higher_is_better": summary.metric.higher_is_better}


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
