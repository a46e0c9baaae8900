"""Metrics: one number for how well predictions fit the targets; NaN where it is not defined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
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
from edgnn.registry import Registry

_OTHER_NAMES = {
    **dict.fromkeys(("auc", "auroc", "rocauc", "roc"), "roc_auc"),
    **dict.fromkeys(("ap", "auprc", "prauc"), "pr_auc"),
    **dict.fromkeys(("f1_score", "f_score"), "f1"),
    "mse": "rmse",
}
_NAN = float("nan")
_NOUN = {"classes": "classes", "labels": "labels in several columns", "values": "real values"}
_GIVEN = {
    "labels": "predicted classes",
    "probabilities": "probabilities",
    "values": "predicted values",
}


@dataclass(frozen=True)
class Metric:
    """One way to score predictions.

    Parameters
    ----------
    name : str
        What it is found by.
    function : callable
        As ``kind`` says; of targets and predictions without missing values.
    needs : {"labels", "probabilities", "values"}
        What it scores: predicted classes, probabilities, or real values alone.
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
    kind : {"function", "scorer", "column"}
        What the function is: ``f(y_true, y_pred)``; a scikit-learn scorer; or, of this package's
        own metrics, a function of one column of numbers and of the number of classes.

    Examples
    --------
    >>> from sklearn.metrics import matthews_corrcoef
    >>> from edgnn.evaluation import Metric, score
    >>> score(Metric("mcc", matthews_corrcoef), ["a", "b", "a"], ["a", "b", "a"])
    1.0
    """

    name: str
    function: Callable[..., float]
    needs: Literal["labels", "probabilities", "values"] = "labels"
    higher_is_better: bool = True
    tasks: tuple[Task, ...] = ("classes", "labels", "values")
    bounds: tuple[float, float] = (-float("inf"), float("inf"))
    percent: bool = False
    of_second: bool = False
    kind: Literal["function", "scorer", "column"] = "function"


def find_metric(metric: Any) -> Metric:
    """Return a metric.

    Parameters
    ----------
    metric : str, callable or Metric
        A name in :data:`METRICS` (case, ``-``, ``_`` and blanks do not matter), the name of a
        scikit-learn scorer such as ``"matthews_corrcoef"``, a scorer, or a function
        ``f(y_true, y_pred)`` that is better when higher.
    """
    if isinstance(metric, Metric):
        return metric
    if callable(metric):
        from edgnn.evaluation._scorers import metric_of_callable

        return metric_of_callable(metric)
    key = str(metric).casefold().replace("-", "_").replace(" ", "_")
    if key in METRICS:
        return METRICS[key]
    from edgnn.evaluation._scorers import get_scorer_names, metric_of_scorer_name

    if key in get_scorer_names():
        return metric_of_scorer_name(key)
    close = _OTHER_NAMES.get(key) or closest(key, [*METRICS, *get_scorer_names()])
    hint = f"did you mean {close!r}? All are" if close else "choose among"
    raise EvaluationError(
        f"there is no metric {metric!r}; {hint} {', '.join(METRICS)}, "
        "and the names of scikit-learn's scorers"
    )


def default_metrics(task: Task, counts: Array, probabilities: bool) -> tuple[str, ...]:
    """Return the metrics that targets deserve when nobody names one, the main one first.

    Parameters
    ----------
    task : {"classes", "labels", "values"}
        What the targets are.
    counts : array of int
        How many items each class has.
    probabilities : bool
        Whether the model predicts any.

    Returns
    -------
    tuple of str
        Of values ``rmse``, ``mae`` and ``r2``. Of classes ``accuracy``, with
        ``balanced_accuracy`` where one class has more than 1.5 times its even share, and with
        ``roc_auc`` where there are two. Of labels ``roc_auc``, the mean over them, and
        ``accuracy``.
    """
    if task == "values":
        return ("rmse", "mae", "r2")
    ranks = ("roc_auc",) if probabilities else ()
    if task == "labels":
        return (*ranks, "accuracy")
    uneven = counts.max(initial=0) * len(counts) > 1.5 * counts.sum()
    balanced = ("balanced_accuracy",) if uneven else ()
    return ("accuracy", *balanced, *(ranks if len(counts) == 2 else ()))


def score(
    metric: Any,
    y_true: Any,
    prediction: Any = None,
    *,
    probability: Any = None,
    classes: Sequence[Any] | None = None,
    task: Task | None = None,
) -> float:
    """Score predictions by a metric.

    Missing targets (NaN) are left out. Where a metric is not defined, such as ROC-AUC where all
    items are of one class, it is NaN.

    Parameters
    ----------
    metric : str, callable or Metric
        As in :func:`find_metric`. For two classes, ``f1``, ``roc_auc`` and ``pr_auc`` are those of
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
        What the targets are; default: follows from the metric and ``y_true``, where a column of
        floats is real values.
    """
    wanted = find_metric(metric)
    truth = target_array(y_true)
    if task is None:
        task = wanted.tasks[0] if len(wanted.tasks) == 1 else task_of(truth)
    guess = None if prediction is None else target_array(prediction)
    chances = None if probability is None else np.asarray(probability, dtype=float)
    if task != "classes":
        return measure(wanted, task, truth, guess, chances, ())
    seen = truth.astype(object)
    if guess is not None:
        seen = np.concatenate([seen, guess.astype(object)])
    every = classes_of(seen) if classes is None else tuple(classes)
    codes = None if guess is None else encode(guess, every)
    return measure(wanted, task, encode(truth, every), codes, chances, every)


def measure(
    metric: Metric,
    task: Task,
    truth: Array,
    prediction: Array | None,
    probability: Array | None,
    classes: tuple[Any, ...],
) -> float:
    """Score predictions whose classes are positions in ``classes``, −1 for missing ones.

    See :func:`score`.
    """
    guess = _checked_guess(metric, task, truth, prediction, probability, classes)
    if metric.kind != "column":
        from edgnn.evaluation._scorers import measure_scorer

        return measure_scorer(metric, task, truth, prediction, probability, classes)
    if task != "classes":
        columns, size = _each_column(truth, guess), 2
    elif metric.needs == "probabilities":
        columns, size = _each_class(truth, guess), 2
    else:
        known = truth >= 0
        columns, size = [(truth[known], guess[known])], len(classes)
    scores = [_score_or_nan(metric, *column, size) for column in columns]
    return known_mean(np.array(scores, dtype=float))


def _checked_guess(
    metric: Metric,
    task: Task,
    truth: Array,
    prediction: Array | None,
    probability: Array | None,
    classes: tuple[Any, ...],
) -> Array:
    """Return what the metric scores, predictions or probabilities, after checking its shape."""
    if task not in metric.tasks:
        fitting = ", ".join(name for name, other in METRICS.items() if task in other.tasks)
        raise EvaluationError(
            f"{metric.name} is not a metric for {_NOUN[task]}; choose among {fitting}"
        )
    needs = "values" if task == "values" else metric.needs
    guess = probability if needs == "probabilities" else prediction
    if guess is None:
        raise EvaluationError(f"{metric.name} needs {_GIVEN[needs]}, and none were given")
    expected = truth.shape
    if task == "classes" and needs == "probabilities":
        expected = (len(truth), len(classes))
    if guess.shape != expected:
        raise EvaluationError(
            f"{_GIVEN[needs]} have the shape {guess.shape}, but {expected} is needed"
        )
    if task == "labels" and needs == "labels":
        _check_labels(guess)
    return guess


def _check_labels(guess: Array) -> None:
    strange = guess[~np.isin(guess, (0, 1))]
    if len(strange):
        raise EvaluationError(f"predicted labels must be 0 or 1, got {strange[0]}")


_Columns = list[tuple[Array, Array]]


def _each_column(truth: Array, guess: Array) -> _Columns:
    """Return the items of each column that have a target."""
    columns: _Columns = []
    shape = (len(truth), -1)
    for targets, guesses in zip(truth.reshape(shape).T, guess.reshape(shape).T, strict=True):
        known = ~np.isnan(targets)
        columns.append((targets[known], guesses[known]))
    return columns


def _each_class(truth: Array, probability: Array) -> _Columns:
    """Return each class against the rest; of two classes only the second."""
    known = truth >= 0
    width = probability.shape[1]
    numbers = [1] if width == 2 else range(width)
    return [(truth[known] == number, probability[known, number]) for number in numbers]


def _score_or_nan(metric: Metric, truth: Array, guess: Array, num_classes: int) -> float:
    if len(truth) == 0 or not np.isfinite(guess).all():
        return _NAN
    return float(metric.function(truth, guess, num_classes))


# Accuracy, balanced accuracy and ROC-AUC are our own: on the 19 items of a fold they take 10 to 30
# µs, scikit-learn's 300 to 1,400, and the tables of a study score thousands of folds. The tests
# hold them to scikit-learn's values.


def _accuracy(truth: Array, guess: Array, num_classes: int) -> float:
    return float((truth == guess).mean())


def _balanced_accuracy(truth: Array, guess: Array, num_classes: int) -> float:
    return float(np.mean([(guess[truth == value] == value).mean() for value in np.unique(truth)]))


def _roc_auc(truth: Array, guess: Array, num_classes: int) -> float:
    """Return the fraction of pairs of both classes in the right order; ties count half."""
    positive = truth.astype(bool)
    ones, zeros = int(positive.sum()), int((~positive).sum())
    if not ones or not zeros:
        return _NAN
    _, position, counts = np.unique(guess, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[position]
    return float((ranks[positive].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def _f1(truth: Array, guess: Array, num_classes: int) -> float:
    from sklearn.metrics import f1_score

    if num_classes < 2:
        return _NAN
    each = f1_score(truth, guess, labels=np.arange(num_classes), average=None, zero_division=np.nan)
    return float(each[1]) if num_classes == 2 else known_mean(each)


def _by_sklearn(name: str, distinct: int, truth: Array, guess: Array, num_classes: int) -> float:
    """Score by a function of scikit-learn; NaN where the targets have too few distinct values."""
    from sklearn import metrics

    if len(np.unique(truth)) < distinct:
        return _NAN
    return float(getattr(metrics, name)(truth, guess))


_pr_auc = partial(_by_sklearn, "average_precision_score", 2)
_rmse = partial(_by_sklearn, "root_mean_squared_error", 1)
_mae = partial(_by_sklearn, "mean_absolute_error", 1)
_r2 = partial(_by_sklearn, "r2_score", 2)


_CLASSES: dict[str, Any] = {"tasks": ("classes", "labels"), "bounds": (0, 1), "kind": "column"}
_OF_LABELS = _CLASSES | {"needs": "labels"}
_OF_PROBABILITIES = _CLASSES | {"needs": "probabilities"}
_OF_VALUES: dict[str, Any] = {"needs": "values", "tasks": ("values",), "kind": "column"}
_ERROR = _OF_VALUES | {"higher_is_better": False, "bounds": (0, float("inf"))}

#: The metrics by name; other packages add to them by the entry points ``edgnn.metrics``.
#: ``pr_auc`` is average precision: the area under the precision-recall curve, by steps.
METRICS: Registry[Metric] = Registry(
    "metric",
    "edgnn.metrics",
    [
        Metric("accuracy", _accuracy, percent=True, **_OF_LABELS),
        Metric("balanced_accuracy", _balanced_accuracy, percent=True, **_OF_LABELS),
        Metric("roc_auc", _roc_auc, **_OF_PROBABILITIES),
        Metric("pr_auc", _pr_auc, of_second=True, **_OF_PROBABILITIES),
        Metric("f1", _f1, of_second=True, **_OF_LABELS),
        Metric("rmse", _rmse, **_ERROR),
        Metric("mae", _mae, **_ERROR),
        Metric("r2", _r2, bounds=(-float("inf"), 1), **_OF_VALUES),
    ],
    EvaluationError,
)
