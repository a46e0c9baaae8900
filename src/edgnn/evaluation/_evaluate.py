"""Run a model over splits: all of them as one fleet where the model can, else one by one."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from edgnn._json import plain
from edgnn.errors import EdgnnError, EvaluationError
from edgnn.evaluation._evaluation import Evaluation
from edgnn.evaluation._metrics import Metric, default_metrics, find_metric
from edgnn.evaluation._predictions import outcome_of
from edgnn.evaluation._splits import Split
from edgnn.evaluation._targets import (
    Array,
    Task,
    coded_targets,
    missing,
    target_array,
    task_of,
)

_Answers = list[Mapping[str, Any]]
_ONCE = " (said once for all splits)"
_HOW_TO_SPLIT = "make some with kfold, holdout, published or scaffold"


@dataclass(frozen=True)
class Progress:
    """How far an evaluation is.

    Parameters
    ----------
    done : int
        Epochs (of all models together) or splits that are finished.
    total : int, optional
        How many there will be at most, where that is known.
    unit : {"epoch", "split", "candidate"}
        What is counted.
    epoch : object, optional
        What the fleet reports about the epoch.
    """

    done: int
    total: int | None
    unit: Literal["epoch", "split", "candidate"]
    epoch: Any = None


_OnProgress = Callable[[Progress], Any] | None


def evaluate(
    estimator: Any,
    X: Any,
    y: Any,
    splits: Any,
    *,
    metrics: Any = None,
    sample_weight: Any = None,
    class_names: Sequence[str] | None = None,
    subsets: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    on_progress: Callable[[Progress], Any] | None = None,
) -> Evaluation:
    """Train and evaluate a model on every split.

    An estimator with ``predict_splits(X, y, splits)`` is given all splits at once: a fleet trains
    them together, a kernel method compares all items once. Any other scikit-learn estimator is
    cloned and fitted split by split: its ``random_state`` (also of the steps of a pipeline) becomes
    the split's seed, and the validation part is given to ``fit`` as ``validation=(X, y)`` if it has
    such an argument, else it is trained on as well.

    Parameters
    ----------
    estimator : object
        A classifier or a regressor. It is not changed.
    X : Graphs, Nodes, or anything that an array of positions indexes
        The items.
    y : array-like
        The targets: classes (n,), labels 0/1 (n, L), real values (n,) or (n, T). NaN is missing;
        scores leave it out.
    splits : iterable of Split
        From :func:`kfold`, :func:`holdout`, :func:`published` or :func:`scaffold`; or a splitter of
        scikit-learn, or the pairs (train, test) of positions that it yields.
    metrics : str, callable, or a sequence of them, optional
        As :func:`find_metric` takes them; the first is the main one. Default: what the targets
        deserve: of classes the accuracy, with the balanced one where classes are uneven and the
        ROC-AUC of two; of labels the mean ROC-AUC; of values RMSE, MAE and R².
    sample_weight : array-like, optional
        One weight per item, for training only; scores are not weighted.
    class_names : sequence of str, optional
        How to print the classes, in sorted order, or by class number; default: as they are.
    subsets : mapping, optional
        Positions of items that are scored by themselves as well, by name, such as
        :attr:`edgnn.Dataset.subsets`; :attr:`Evaluation.by_subset` has their scores.
    n_jobs : int, optional
        Splits at once, for estimators that are fitted split by split; ``None`` is one, or what
        ``joblib.parallel_config`` says, which may name a cluster.
    on_progress : callable, optional
        Called with a :class:`Progress` after each epoch of the fleet, or each split. What it
        returns goes to the fleet, which stops at True.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from edgnn.evaluation import evaluate, kfold
    >>> y = np.array([0, 0, 1] * 10)
    >>> evaluate(DummyClassifier(), np.zeros((30, 1)), y, kfold(y, folds=5, repeats=2))
    Evaluation(accuracy (%) 66.7 ± 0.0, roc auc 0.5 ± 0; 10 splits in 2 repeats)
    """
    targets = target_array(y)
    parts = _split_list(splits, targets)
    task = task_of(targets, _is_classifier(estimator))
    weight = None if sample_weight is None else np.asarray(sample_weight)
    is_fleet = hasattr(estimator, "predict_splits")
    _check_data(X, targets, parts, weight)
    truth, classes = coded_targets(targets, task)
    if metrics is None:
        counts = np.bincount(truth[truth >= 0], minlength=len(classes)) if classes else truth[:0]
        metrics = default_metrics(task, counts, _has_probabilities(estimator))
    chosen = _metrics(metrics, task)
    _check_estimator(estimator, is_fleet, weight, chosen)
    names = _class_names(class_names, classes)
    shown = _without_gaps(targets, parts, classes) if is_fleet and classes else targets
    answers = answers_of(estimator, X, shown, parts, weight, n_jobs, on_progress)
    _check_probabilities(estimator, chosen, all("probability" in answer for answer in answers))
    outcomes = [
        outcome_of(answer, split, task, targets.shape[1:], classes)
        for answer, split in zip(answers, parts, strict=True)
    ]
    return Evaluation(
        task=task,
        metrics=tuple(metric.name for metric in chosen),
        splits=tuple(parts),
        truth=truth,
        outcomes=tuple(outcomes),
        classes=classes,
        class_names=names,
        settings=_settings(estimator),
        own_metrics={metric.name: metric for metric in chosen if metric.kind != "column"},
        subsets=_subsets(subsets or {}, len(targets)),
    )


def answers_of(
    estimator: Any,
    X: Any,
    y: Array,
    splits: Sequence[Split],
    weight: Array | None = None,
    n_jobs: int | None = None,
    on_progress: _OnProgress = None,
) -> _Answers:
    """Return what an estimator answers for every split, from one fleet or one model after another.

    Of labels that it has not learned it warns once.
    """
    with warned_once():
        if hasattr(estimator, "predict_splits"):
            return _as_fleet(estimator, X, y, splits, weight, on_progress)
        return _one_by_one(estimator, X, y, splits, weight, n_jobs, on_progress)


@contextmanager
def warned_once() -> Iterator[None]:
    """Warn of labels that were never seen once, not once for every split."""
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            yield
    finally:
        of_labels = [warning for warning in caught if _is_of_labels(warning)]
        first, repeated = of_labels[:1], of_labels[1:]
        for warning in caught:
            if warning in repeated:
                continue
            message: Warning | str = warning.message
            if repeated and warning in first:
                message = str(message).removesuffix(_ONCE) + _ONCE
            warnings.warn_explicit(message, warning.category, warning.filename, warning.lineno)


def _is_of_labels(warning: warnings.WarningMessage) -> bool:
    from edgnn.models import UnknownLabelWarning

    return issubclass(warning.category, UnknownLabelWarning)


def _has_probabilities(estimator: Any) -> bool:
    searched = getattr(estimator, "model", None)
    return hasattr(estimator, "predict_proba") or hasattr(searched, "predict_proba")


def _as_fleet(
    estimator: Any,
    X: Any,
    y: Array,
    splits: Sequence[Split],
    weight: Array | None,
    on_progress: _OnProgress,
) -> _Answers:
    options: dict[str, Any] = {}
    if weight is not None:
        options["sample_weight"] = weight
    if on_progress is not None and _takes(estimator, "on_progress", "predict_splits"):
        options["on_progress"] = on_progress
    elif on_progress is not None and _takes(estimator, "on_epoch", "predict_splits"):
        total = getattr(estimator, "max_epochs", None)
        options["on_epoch"] = lambda epoch: on_progress(
            Progress(epoch.number, total, "epoch", epoch)
        )
    elif on_progress is not None and _takes(estimator, "on_split", "predict_splits"):
        options["on_split"] = lambda done: on_progress(Progress(done, len(splits), "split"))
    answers = list(estimator.predict_splits(X, y, list(splits), **options))
    if len(answers) != len(splits):
        raise EvaluationError(
            f"{type(estimator).__name__}.predict_splits answered {len(answers)} "
            f"of {len(splits)} splits"
        )
    return answers


def _without_gaps(y: Array, splits: Sequence[Split], classes: tuple[Any, ...]) -> Array:
    """Return targets without gaps, as a fleet takes those of all items at once.

    Items without a class that no split trains on get some class.
    """
    gaps = missing(y)
    gaps[np.concatenate([split.known for split in splits])] = False
    if not gaps.any():
        return y
    filled = y.copy()
    filled[gaps] = classes[0]
    return filled


def _one_by_one(
    estimator: Any,
    X: Any,
    y: Array,
    splits: Sequence[Split],
    weight: Array | None,
    n_jobs: int | None,
    on_progress: _OnProgress,
) -> _Answers:
    from joblib import Parallel, delayed

    calls = (delayed(_fit_predict)(estimator, X, y, split, weight) for split in splits)
    answers: _Answers = []
    for answer in Parallel(n_jobs=n_jobs, return_as="generator")(calls):
        answers.append(answer)
        if on_progress is not None:
            on_progress(Progress(len(answers), len(splits), "split"))
    return answers


def _fit_predict(
    estimator: Any, X: Any, y: Array, split: Split, weight: Array | None
) -> dict[str, Any]:
    """Fit a clone on one split and return its predictions; an error names the split."""
    try:
        return _predictions(estimator, X, y, split, weight)
    except EdgnnError as error:
        error.add_note(f"in {split}")
        raise
    except ValueError as error:
        raise EvaluationError(f"{split}: {type(estimator).__name__} failed: {error}") from error


def _predictions(
    estimator: Any, X: Any, y: Array, split: Split, weight: Array | None
) -> dict[str, Any]:
    from sklearn.base import clone

    model = clone(estimator)
    seeds = [name for name in model.get_params() if f"__{name}".endswith("__random_state")]
    model.set_params(**dict.fromkeys(seeds, split.seed))
    options: dict[str, Any] = {}
    if split.valid is not None and _takes(estimator, "validation"):
        train = split.train
        options["validation"] = (_take(X, split.valid), y[split.valid])
    else:
        train = np.sort(split.known)
    if weight is not None:
        options["sample_weight"] = weight[train]
    model.fit(_take(X, train), y[train], **options)
    items = _take(X, split.test)
    answer = {"prediction": model.predict(items), "chosen": getattr(model, "chosen_", None)}
    if hasattr(model, "predict_proba"):
        answer |= {"probability": model.predict_proba(items), "classes": model.classes_}
    return answer


def _split_list(splits: Any, y: Array) -> list[Split]:
    """Return splits as a list; pairs of positions become splits without a validation part."""
    if hasattr(splits, "split") and not isinstance(splits, str):
        splits = splits.split(np.zeros((len(y), 1)), y)
    if not isinstance(splits, Iterable):
        raise EvaluationError(f"splits={splits!r} is no list of splits; {_HOW_TO_SPLIT}")
    parts = []
    for number, split in enumerate(splits):
        if isinstance(split, tuple) and len(split) == 2:
            split = Split(*split, fold=number, seed=number)
        if not isinstance(split, Split):
            kind = type(split).__name__
            raise EvaluationError(f"split {number} is a {kind}; {_HOW_TO_SPLIT}")
        parts.append(split)
    return parts


def _subsets(given: Mapping[str, Any], size: int) -> dict[str, Array]:
    """Return subsets as arrays, after a check that they name items."""
    subsets = {name: np.asarray(items, dtype=np.int64) for name, items in given.items()}
    for name, items in subsets.items():
        if items.ndim != 1 or (len(items) and not 0 <= items.min() <= items.max() < size):
            raise EvaluationError(
                f"the subset {name!r} must be a list of positions from 0 to {size - 1}"
            )
    return subsets


def _metrics(given: Any, task: Task) -> list[Metric]:
    """Return metrics, each once, after checking what they are for."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        given = [given]
    chosen: dict[str, Metric] = {}
    for metric in map(find_metric, given):
        if task not in metric.tasks:
            raise EvaluationError(
                f"{metric.name} is a metric for {' and '.join(metric.tasks)}, "
                f"but the targets are {task}; choose another metric or estimator"
            )
        chosen[metric.name] = metric
    if not chosen:
        raise EvaluationError("no metric was named; give at least one, such as 'accuracy'")
    return list(chosen.values())


def _check_data(X: Any, y: Array, splits: Sequence[Split], weight: Array | None) -> None:
    size = X.shape[0] if hasattr(X, "shape") else len(X)
    if size != len(y):
        raise EvaluationError(f"{len(y)} targets were given for {size} items")
    if weight is not None and weight.shape != (size,):
        raise EvaluationError(
            f"sample_weight has the shape {weight.shape}, but {(size,)} is needed: "
            "one number per item"
        )
    if not len(splits):
        raise EvaluationError(f"no splits were given; {_HOW_TO_SPLIT}")
    for split in splits:
        if not len(split.test):
            raise EvaluationError(f"{split} has no item to test on; give it a test part")
        most = max(int(split.known.max()), int(split.test.max()))
        if most >= size:
            raise EvaluationError(
                f"{split} names item {most}, but there are {size} items, numbered from 0"
            )


def _check_estimator(
    estimator: Any, is_fleet: bool, weight: Array | None, metrics: list[Metric]
) -> None:
    """Check before training what the estimator must have."""
    name = type(estimator).__name__
    method = "predict_splits" if is_fleet else "fit"
    for needed in ("get_params", "fit", "predict"):
        if not is_fleet and not hasattr(estimator, needed):
            raise EvaluationError(
                f"{name} has no {needed}; give a scikit-learn estimator, or one with predict_splits"
            )
    if weight is not None and not _takes(estimator, "sample_weight", method):
        raise EvaluationError(
            f"{name}.{method} takes no sample_weight; leave it out or choose another estimator"
        )
    if hasattr(estimator, "predict"):
        _check_probabilities(estimator, metrics, hasattr(estimator, "predict_proba"))


def _check_probabilities(estimator: Any, metrics: list[Metric], given: bool) -> None:
    for metric in metrics:
        if metric.needs == "probabilities" and not given:
            name = type(estimator).__name__
            raise EvaluationError(
                f"{metric.name} needs probabilities, which {name} does not predict; "
                "choose another metric"
            )


def _class_names(names: Sequence[str] | None, classes: tuple[Any, ...]) -> tuple[str, ...]:
    if names is None:
        return tuple(map(str, classes))
    if len(names) > len(classes) and set(classes) <= set(range(len(names))):
        return tuple(str(names[int(number)]) for number in classes)
    if len(names) != len(classes):
        raise EvaluationError(
            f"{len(names)} class names were given for {len(classes)} classes: "
            f"{', '.join(map(str, classes))}"
        )
    return tuple(map(str, names))


def _settings(estimator: Any) -> dict[str, Any]:
    """Return what an evaluation keeps of its estimator."""
    parameters = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    return {
        "estimator": getattr(estimator, "model_name", type(estimator).__name__),
        "parameters": plain(dict(sorted(parameters.items()))),
        "fleet": _takes(estimator, "on_epoch", "predict_splits"),
    }


def _is_classifier(estimator: Any) -> bool | None:
    """Return whether it is a classifier or a regressor, or None if it does not say."""
    from sklearn.base import is_classifier, is_regressor

    if not hasattr(estimator, "__sklearn_tags__"):
        return None
    if is_classifier(estimator):
        return True
    return False if is_regressor(estimator) else None


def _takes(estimator: Any, argument: str, method: str = "fit") -> bool:
    """Return whether a method of the estimator has such an argument."""
    function = getattr(estimator, method, None)
    return function is not None and argument in inspect.signature(function).parameters


def _take(X: Any, index: Array) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[index]
    if isinstance(X, list | tuple):
        return [X[position] for position in index.tolist()]
    return X[index]
