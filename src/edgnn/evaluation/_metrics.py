"""Metrics: one number for how well predictions fit the truth; NaN where a part cannot tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from edgnn._words import closest
from edgnn.errors import EvaluationError
from edgnn.evaluation._targets import (
    Array,
    Task,
    classes_of,
    encode,
    known_mean,
    target_array,
    task_of,
)

_OTHER_NAMES = {
    **dict.fromkeys(("auc", "auroc", "rocauc", "roc"), "roc_auc"),
    **dict.fromkeys(("ap", "auprc", "prauc", "average_precision"), "pr_auc"),
    **dict.fromkeys(("f1_score", "f_score"), "f1"),
    "mse": "rmse",
}
Needs = Literal["labels", "probabilities", "values"]
_NAN = float("nan")


@dataclass(frozen=True)
class Metric:
    """One way to judge predictions.

    Parameters
    ----------
    name : str
        As in :data:`METRICS`.
    function : callable
        Of the truth and the prediction of one column without missing values, and the number of
        classes.
    needs : {"labels", "probabilities", "values"}
        What the prediction is: class positions, the probability of one class, or real values.
    higher_is_better : bool
        Which way is up.
    tasks : tuple
        The kinds of targets it is for.
    bounds : pair of float
        The least and the greatest possible value.
    percent : bool
        Whether people read it in percent.
    of_second : bool
        Whether it is another for each of two classes, and so that of the second.
    """

    name: str
    function: Callable[[Array, Array, int], float]
    needs: Needs
    higher_is_better: bool
    tasks: tuple[Task, ...]
    bounds: tuple[float, float]
    percent: bool = False
    of_second: bool = False


def find_metric(name: str) -> Metric:
    """Return the metric of that name; case, ``-``, ``_`` and blanks do not matter."""
    key = str(name).casefold().replace("-", "_").replace(" ", "_")
    if key in METRICS:
        return METRICS[key]
    close = _OTHER_NAMES.get(key) or closest(key, METRICS)
    hint = f"did you mean {close!r}? All are" if close else "choose among"
    raise EvaluationError(f"there is no metric {name!r}; {hint} {', '.join(METRICS)}")


def score(
    metric: str,
    y_true: Any,
    prediction: Any = None,
    *,
    probability: Any = None,
    classes: Sequence[Any] | None = None,
    task: Task | None = None,
) -> float:
    """Judge predictions by a metric.

    Missing targets (NaN) are left out. A metric that a part cannot tell, such as ROC-AUC where all
    items are of one class, is NaN.

    Parameters
    ----------
    metric : str
        A name in :data:`METRICS`. For two classes, ``f1``, ``roc_auc`` and ``pr_auc`` are those of
        the second class; for more, the mean over the classes, each against the rest; for labels in
        several columns and for several real targets, the mean over the columns. Classes and columns
        for which the metric is not defined are left out of the mean.
    y_true : array-like
        Classes (n,), labels 0/1 (n, L), or real values (n,) or (n, T).
    prediction : array-like, optional
        Predicted classes, labels or values, in the shape of ``y_true``.
    probability : array-like, optional
        Probability (or any rising score) of each class (n, K), or of label 1 (n, L).
    classes : sequence, optional
        What the columns of ``probability`` stand for; default: the classes that occur, sorted.
    task : {"classes", "labels", "values"}, optional
        What the targets are; default: told from the metric and ``y_true``, where a column of floats
        is real values.
    """
    wanted, truth = find_metric(metric), target_array(y_true)
    task = task or (wanted.tasks[0] if len(wanted.tasks) == 1 else task_of(truth))
    guess = None if prediction is None else target_array(prediction)
    if task == "classes":
        if classes is None:
            classes = classes_of(
                truth
                if guess is None
                else np.concatenate([truth.astype(object), guess.astype(object)])
            )
        truth, guess = encode(truth, classes), None if guess is None else encode(guess, classes)
    chances = None if probability is None else np.asarray(probability, dtype=float)
    return measure(wanted, task, truth, guess, chances, len(classes or ()))


def measure(
    metric: Metric,
    task: Task,
    truth: Array,
    prediction: Array | None,
    probability: Array | None,
    num_classes: int,
) -> float:
    """Judge predictions whose classes are positions among ``num_classes``, −1 for missing ones; see :func:`score`."""
    if task not in metric.tasks:
        fitting = ", ".join(name for name, other in METRICS.items() if task in other.tasks)
        raise EvaluationError(
            f"{metric.name} is not a metric for {_NOUN[task]}; choose among {fitting}"
        )
    guess = probability if metric.needs == "probabilities" else prediction
    if guess is None:
        raise EvaluationError(f"{metric.name} needs {_GIVEN[metric.needs]}, and none were given")
    of_classes = task == "classes" and metric.needs == "probabilities"
    expected = (len(truth), num_classes) if of_classes else truth.shape
    if guess.shape != expected:
        raise EvaluationError(
            f"{_GIVEN[metric.needs]} have the shape {guess.shape}, but {expected} is needed"
        )
    if task == "labels" and metric.needs == "labels" and not np.isin(guess, (0, 1)).all():
        raise EvaluationError(
            f"predicted labels must be 0 or 1, got {guess[~np.isin(guess, (0, 1))][0]}"
        )
    columns = _chances(truth, guess, num_classes) if of_classes else _columns(truth, guess, task)
    size = num_classes if task == "classes" and not of_classes else 2
    return known_mean(
        np.array([_guarded(metric, *column, size) for column in columns], dtype=float)
    )


_NOUN = {"classes": "classes", "labels": "labels in several columns", "values": "real values"}
_GIVEN = {
    "labels": "predicted classes",
    "probabilities": "probabilities",
    "values": "predicted values",
}


def _columns(truth: Array, guess: Array, task: Task) -> Iterator[tuple[Array, Array]]:
    """Yield the known part of each column."""
    for one, other in zip(
        truth.reshape(len(truth), -1).T, guess.reshape(len(guess), -1).T, strict=True
    ):
        known = one >= 0 if task == "classes" else ~np.isnan(one)
        yield one[known], other[known]


def _chances(truth: Array, probability: Array, num_classes: int) -> Iterator[tuple[Array, Array]]:
    """Yield each class against the rest; of two classes only the second."""
    known = truth >= 0
    for number in [1] if num_classes == 2 else range(num_classes):
        yield truth[known] == number, probability[known, number]


def _guarded(metric: Metric, truth: Array, guess: Array, num_classes: int) -> float:
    if len(truth) == 0 or not np.isfinite(guess).all():
        return _NAN
    return float(metric.function(truth, guess, num_classes))


def _accuracy(truth: Array, guess: Array, num_classes: int) -> float:
    return float((truth == guess).mean())


def _balanced_accuracy(truth: Array, guess: Array, num_classes: int) -> float:
    return float(np.mean([(guess[truth == value] == value).mean() for value in np.unique(truth)]))


def _f1(truth: Array, guess: Array, num_classes: int) -> float:
    from sklearn.metrics import f1_score

    if num_classes < 2:
        return _NAN
    each = f1_score(truth, guess, labels=np.arange(num_classes), average=None, zero_division=np.nan)
    return float(each[1]) if num_classes == 2 else known_mean(each)


def _roc_auc(truth: Array, guess: Array, num_classes: int) -> float:
    """Return the share of pairs, one item of each side, that are in the right order; equal ones count half."""
    positive = truth.astype(bool)
    ones, zeros = int(positive.sum()), int((~positive).sum())
    if not ones or not zeros:
        return _NAN
    _, place, counts = np.unique(guess, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return float((ranks[positive].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def _pr_auc(truth: Array, guess: Array, num_classes: int) -> float:
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(truth, guess)) if len(np.unique(truth)) == 2 else _NAN


def _rmse(truth: Array, guess: Array, num_classes: int) -> float:
    return float(np.sqrt(np.square(truth - guess).mean()))


def _mae(truth: Array, guess: Array, num_classes: int) -> float:
    return float(np.abs(truth - guess).mean())


def _r2(truth: Array, guess: Array, num_classes: int) -> float:
    from sklearn.metrics import r2_score

    return float(r2_score(truth, guess)) if len(np.unique(truth)) > 1 else _NAN


_CHOICE: tuple[Task, ...] = ("classes", "labels")

#: All metrics by name. ``pr_auc`` is average precision: the area under the precision-recall curve,
#: by steps.
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("accuracy", _accuracy, "labels", True, _CHOICE, (0, 1), percent=True),
        Metric(
            "balanced_accuracy", _balanced_accuracy, "labels", True, _CHOICE, (0, 1), percent=True
        ),
        Metric("roc_auc", _roc_auc, "probabilities", True, _CHOICE, (0, 1)),
        Metric("pr_auc", _pr_auc, "probabilities", True, _CHOICE, (0, 1), of_second=True),
        Metric("f1", _f1, "labels", True, _CHOICE, (0, 1), of_second=True),
        Metric("rmse", _rmse, "values", False, ("values",), (0, float("inf"))),
        Metric("mae", _mae, "values", False, ("values",), (0, float("inf"))),
        Metric("r2", _r2, "values", True, ("values",), (-float("inf"), 1)),
    )
}
