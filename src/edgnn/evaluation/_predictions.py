"""Predictions of a model, brought into the shape and the classes of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from edgnn.errors import EvaluationError
from edgnn.evaluation._evaluation import Evaluation, Outcome
from edgnn.evaluation._metrics import METRICS
from edgnn.evaluation._splits import Split
from edgnn.evaluation._targets import Array, Task, coded_targets, encode


def evaluate_predictions(
    task: Task,
    learned: Array,
    tested: Array,
    answer: Mapping[str, Any],
    class_names: Sequence[str] = (),
) -> Evaluation:
    """Return an evaluation of one trained model on one test set by all metrics that fit.

    Without probabilities these are the metrics that need none.

    Parameters
    ----------
    task : {"classes", "labels", "values"}
        What the targets are.
    learned, tested : array
        Targets of the items the model was trained on (the majority is theirs), and of the test set.
    answer : mapping
        ``"prediction"``, ``"probability"`` and ``"classes"`` for the test set, as estimators give
        them.
    class_names : sequence of str
        How to print the classes, by class number; default: as they are.
    """
    y = np.concatenate([learned, tested])
    split = Split(np.arange(len(learned)), np.arange(len(learned), len(y)))
    truth, classes = coded_targets(y, task)
    if class_names:
        names = tuple(class_names[number] for number in classes)
    else:
        names = tuple(map(str, classes))
    has_probabilities = answer.get("probability") is not None
    metrics = []
    for metric in METRICS.values():
        can_be_scored = has_probabilities or metric.needs != "probabilities"
        if task in metric.tasks and can_be_scored:
            metrics.append(metric.name)
    return Evaluation(
        task=task,
        metrics=tuple(metrics),
        splits=(split,),
        truth=truth,
        outcomes=(outcome_of(answer, split, task, y.shape[1:], classes),),
        classes=classes,
        class_names=names,
    )


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
        the training set; ``"training_accuracy"`` where it is known.
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
            known = np.asarray(answer["classes"])
            chances = _class_probabilities(np.asarray(chances), known, classes, split)
        return Outcome(codes, chances, _chosen(answer), answer.get("training_accuracy"))
    if task == "values":
        chances = None
    elif chances is not None:
        chances = _label_probabilities(chances, answer, expected, split)
    return Outcome(prediction.astype(np.float64), chances, _chosen(answer))


def _chosen(answer: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if "chosen" in answer:
        chosen: Mapping[str, Any] | None = answer["chosen"]
        return chosen
    epoch = {}
    for name in ("best_epoch", "valid_loss"):
        if answer.get(name) is not None:
            epoch[name] = answer[name]
    return epoch or None


def _class_probabilities(
    given: Array, known: Array, classes: tuple[Any, ...], split: Split
) -> Array:
    """Order the columns as the evaluation's classes; a class that was not trained on has 0."""
    expected = (len(split.test), len(known))
    if given.shape != expected:
        raise EvaluationError(
            f"{split}: probabilities have the shape {given.shape}, but {expected} is needed: "
            "one column per class"
        )
    ordered = np.zeros((len(given), len(classes)))
    ordered[:, encode(known, classes, f"{split}: probability column")] = given
    return ordered


def _label_probabilities(
    given: Any, answer: Mapping[str, Any], expected: tuple[int, ...], split: Split
) -> Array:
    """Return the probability of label 1, one column per label.

    scikit-learn may give a list of arrays (n, classes) instead.
    """
    if isinstance(given, list):
        columns = []
        for rows, known in zip(given, answer["classes"], strict=True):
            column = rows[:, list(known).index(1)] if 1 in known else np.zeros(len(rows))
            columns.append(column)
        return np.stack(columns, axis=1)
    chances = np.asarray(given, dtype=np.float64)
    if chances.shape != expected:
        raise EvaluationError(
            f"{split}: probabilities have the shape {chances.shape}, but {expected} is needed"
        )
    return chances
