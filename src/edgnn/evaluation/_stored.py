"""Evaluations from files: checked before anything is computed from them, as a file may say anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from edgnn._files import Path_
from edgnn._words import one_line
from edgnn.errors import EvaluationError, FormatError
from edgnn.evaluation._evaluation import Evaluation, Outcome
from edgnn.evaluation._metrics import find_metric
from edgnn.evaluation._plain import evaluation_from_dict
from edgnn.evaluation._splits import Split

_TASKS = ("classes", "labels", "values")
_EXPECTED = "expected what `edgnn evaluate --out` or Evaluation.to_dict wrote"


def load_evaluation(path: Path_) -> Evaluation:
    """Return the evaluation in a file."""
    try:
        document = stored_document(path)
    except (FileNotFoundError, IsADirectoryError):
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
    """Return what the file of an evaluation holds, the evaluation under that name; a ``ValueError`` says what else it is."""
    try:
        document = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError):
        raise ValueError("is no JSON file") from None
    if isinstance(document, dict) and {"task", "truth", "splits"} <= set(document):
        document = {"evaluation": document}
    if not isinstance(document, dict) or not isinstance(document.get("evaluation"), Mapping):
        raise ValueError("is a JSON file without an evaluation")
    return document


def stored_evaluation(values: Any) -> Evaluation:
    """Return the evaluation that ``to_dict`` wrote; a ``ValueError`` (or one of edgnn's errors) where the parts do not fit."""
    try:
        found = evaluation_from_dict(values)
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None
    except EvaluationError as error:
        raise ValueError(one_line(error)) from None
    _check(found.task in _TASKS, "its task is unknown")
    _check(
        bool(found.metrics) and all(isinstance(name, str) for name in found.metrics),
        "it has no metrics",
    )
    for name in found.metrics:
        find_metric(name)
    _check(isinstance(found.settings, Mapping), "its settings are no mapping")
    _check(
        found.truth.ndim == 1 or (found.truth.ndim == 2 and found.task != "classes"),
        "its targets are no list",
    )
    if found.task == "classes":
        _check(
            len(found.class_names) == len(found.classes) > 0,
            "its classes and their names differ in number",
        )
        _check(
            all(isinstance(name, str) for name in found.class_names),
            "the name of a class is no text",
        )
        _check(_within(found.truth, -1, len(found.classes)), "a target is no class")
    _check(len(found.splits) > 0, "it has no splits")
    for split, outcome in zip(found.splits, found.outcomes, strict=True):
        _check_split(split, len(found.truth))
        _check_outcome(outcome, len(split.test), found)
    return found


def _check_split(split: Split, items: int) -> None:
    _check(
        all(type(value) is int for value in (split.repeat, split.fold, split.seed)),
        "a split has no number",
    )
    _check(
        _within(split.known, 0, items) and _within(split.test, 0, items),
        f"{split} names an item that there is not",
    )


def _check_outcome(outcome: Outcome, size: int, found: Evaluation) -> None:
    _check(
        outcome.prediction.shape == (size, *found.truth.shape[1:]),
        "predictions and test items differ in number",
    )
    if found.task == "classes":
        _check(_within(outcome.prediction, -1, len(found.classes)), "a prediction is no class")
    if outcome.probability is not None:
        width = (len(found.classes),) if found.task == "classes" else found.truth.shape[1:]
        _check(
            outcome.probability.shape == (size, *width),
            "probabilities and test items differ in number",
        )
    _check(
        outcome.chosen is None or isinstance(outcome.chosen, Mapping),
        "what was chosen is no mapping",
    )
    _check(is_number(outcome.training_accuracy), "a training accuracy is no number")


def is_number(value: Any) -> bool:
    """Return whether a value is missing, or a number that a float can hold."""
    return value is None or (
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**1023
    )


def _within(numbers: np.ndarray[Any, Any], low: int, high: int) -> bool:
    return len(numbers) == 0 or (int(numbers.min()) >= low and int(numbers.max()) < high)


def _check(holds: bool, rule: str) -> None:
    if not holds:
        raise ValueError(rule)
