"""scikit-learn's scorers as metrics; imported when one is asked for, as scikit-learn is slow to."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer

from edgnn.evaluation._metrics import Metric
from edgnn.evaluation._targets import Array, Task, known_mean

__all__ = ["get_scorer_names", "measure_scorer", "metric_of_callable", "metric_of_scorer_name"]

_NAN = float("nan")


class _Regressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Stands for a fitted regressor where a scorer asks for predictions: they are known."""

    def __init__(self, prediction: Array) -> None:
        self.prediction = prediction

    def predict(self, X: Any) -> Array:
        return self.prediction


class _Classifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Stands for a fitted classifier."""

    def __init__(self, prediction: Array, classes: Array) -> None:
        self.prediction = prediction
        self.classes_ = classes

    def predict(self, X: Any) -> Array:
        return self.prediction


class _ClassifierWithProbabilities(_Classifier):
    """Stands for a fitted classifier that predicts probabilities."""

    def __init__(self, prediction: Array, classes: Array, probability: Array) -> None:
        super().__init__(prediction, classes)
        self.probability = probability

    def predict_proba(self, X: Any) -> Array:
        return self.probability


@cache
def metric_of_scorer_name(name: str) -> Metric:
    """Return the scorer of a name, such as ``"matthews_corrcoef"``, as a metric."""
    return _metric_of_scorer(name, get_scorer(name))


def metric_of_callable(function: Any) -> Metric:
    """Return the metric of a scorer, or of a function ``f(y_true, y_pred)``."""
    scored = getattr(function, "_score_func", None)
    if scored is not None:  # a scorer: it is called with an estimator, not with two arrays
        return _metric_of_scorer(scored.__name__, function)
    return Metric(getattr(function, "__name__", repr(function)), function)


def measure_scorer(
    metric: Metric,
    task: Task,
    truth: Array,
    prediction: Array | None,
    probability: Array | None,
    classes: tuple[Any, ...],
) -> float:
    """Score by a scorer; of several columns the mean, NaN where it is not defined."""
    if task == "classes":
        known, names = truth >= 0, np.asarray(classes)
        # a scorer of probabilities does not look at the predicted classes
        guess = truth if prediction is None else prediction
        chances = None if probability is None else probability[known]
        return _score(metric, names[truth[known]], names[guess[known]], chances, names)
    columns = truth.reshape(len(truth), -1)
    guesses = columns if prediction is None else prediction.reshape(columns.shape)
    scores = []
    for number, column in enumerate(columns.T):
        known = ~np.isnan(column)
        targets, guess = column[known], guesses[known, number]
        if task == "values":
            scores.append(_score(metric, targets, guess))
            continue
        chances = None
        if probability is not None:
            chance = probability.reshape(columns.shape)[known, number]
            chances = np.stack([1 - chance, chance], axis=1)
        both = np.array([0, 1])
        scores.append(_score(metric, both[targets.astype(int)], guess.astype(int), chances, both))
    return known_mean(np.array(scores, dtype=float))


def _score(
    metric: Metric,
    truth: Array,
    guess: Array,
    probability: Array | None = None,
    classes: Array | None = None,
) -> float:
    if len(truth) == 0:
        return _NAN
    model = _model(guess, probability, classes)
    scorer = metric.function if metric.kind == "scorer" else make_scorer(metric.function)
    with warnings.catch_warnings():  # a fold with one class alone is nothing to warn of
        warnings.simplefilter("ignore")
        try:
            return float(scorer(model, truth, truth))
        except ValueError:  # such as one class alone where two are needed
            return _NAN


def _model(guess: Array, probability: Array | None, classes: Array | None) -> BaseEstimator:
    if classes is None:
        return _Regressor(guess)
    if probability is None:
        return _Classifier(guess, classes)
    return _ClassifierWithProbabilities(guess, classes, probability)


def _metric_of_scorer(name: str, scorer: Any) -> Metric:
    """Return a scorer as a metric; it does not say what it is for, so it is tried."""
    names, values = np.array(["a", "b", "a"]), np.array([0.5, 1.5, 2.5])
    certain = np.array([[0.6, 0.4], [0.4, 0.6], [0.6, 0.4]])
    tasks: list[Task] = []
    if _works(scorer, _model(names, certain, names[:2]), names):
        tasks += ["classes", "labels"]
    if _works(scorer, _model(values, None, None), values):
        tasks.append("values")
    needs: Any = "labels"
    if tasks == ["values"]:
        needs = "values"
    elif tasks and not _works(scorer, _model(names, None, names[:2]), names):
        needs = "probabilities"
    known_tasks = tuple(tasks) or ("classes", "labels")
    return Metric(name, scorer, needs, tasks=known_tasks, kind="scorer")


def _works(scorer: Any, model: BaseEstimator, truth: Array) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            scorer(model, truth, truth)
        except (AttributeError, TypeError, ValueError):
            return False
    return True
