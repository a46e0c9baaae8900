"""A model's answers, brought into the shape and the classes of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from edgnn.errors import EvaluationError
from edgnn.evaluation._evaluation import Outcome
from edgnn.evaluation._splits import Split
from edgnn.evaluation._targets import Array, Task, encode


def outcome_of(
    answer: Mapping[str, Any],
    split: Split,
    task: Task,
    columns: tuple[int, ...],
    classes: tuple[Any, ...],
) -> Outcome:
    """Return the outcome of one split.

    Parameters
    ----------
    answer : mapping
        ``"prediction"``; from classifiers ``"probability"`` and the ``"classes"`` of its columns;
        ``"chosen"``, or ``"best_epoch"`` and ``"valid_loss"``, where something was chosen inside
        the training part; ``"training_accuracy"`` where it is known.
    split : Split
        Which items were predicted.
    task : {"classes", "labels", "values"}
        What the targets are.
    columns : tuple of int
        The shape of one item's target: () or (T,).
    classes : tuple
        All classes, sorted.
    """
    expected = (len(split.test), *columns)
    prediction = np.asarray(answer["prediction"])
    if prediction.size != np.prod(expected):
        raise EvaluationError(
            f"{split}: predictions have the shape {prediction.shape}, but {expected} is needed"
        )
    prediction = prediction.reshape(expected)
    chances = answer.get("probability")
    if task == "classes":
        codes = encode(prediction, classes, f"{split}: prediction")
        if chances is not None:
            chances = _class_chances(
                np.asarray(chances), np.asarray(answer["classes"]), classes, split
            )
        return Outcome(codes, chances, _chosen(answer), answer.get("training_accuracy"))
    if chances is not None:
        chances = None if task == "values" else _label_chances(chances, answer, expected, split)
    return Outcome(prediction.astype(np.float64), chances, _chosen(answer))


def _chosen(answer: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if "chosen" in answer:
        chosen: Mapping[str, Any] | None = answer["chosen"]
        return chosen
    return {
        name: answer[name] for name in ("best_epoch", "valid_loss") if answer.get(name) is not None
    } or None


def _class_chances(given: Array, known: Array, classes: tuple[Any, ...], split: Split) -> Array:
    """Order the columns as the evaluation's classes; a class that was not trained on has probability 0."""
    if given.shape != (len(split.test), len(known)):
        raise EvaluationError(
            f"{split}: probabilities have the shape {given.shape}, but {(len(split.test), len(known))} is needed: "
            "one column per class"
        )
    chances = np.zeros((len(given), len(classes)))
    chances[:, encode(known, classes, f"{split}: probability column")] = given
    return chances


def _label_chances(
    given: Any, answer: Mapping[str, Any], expected: tuple[int, ...], split: Split
) -> Array:
    """Return the probability of label 1, one column per label; scikit-learn may give a list of (n, classes) arrays instead."""
    if isinstance(given, list):
        pairs = zip(given, answer["classes"], strict=True)
        given = [
            rows[:, list(known).index(1)] if 1 in known else np.zeros(len(rows))
            for rows, known in pairs
        ]
        return np.stack(given, axis=1)
    chances = np.asarray(given, dtype=np.float64)
    if chances.shape != expected:
        raise EvaluationError(
            f"{split}: probabilities have the shape {chances.shape}, but {expected} is needed"
        )
    return chances
