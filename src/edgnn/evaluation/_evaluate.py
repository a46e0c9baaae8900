"""Run a model over splits: all of them as one fleet where the model can, else one after another."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from edgnn._json import plain
from edgnn.errors import EdgnnError, EvaluationError
from edgnn.evaluation._answers import outcome_of
from edgnn.evaluation._evaluation import Evaluation
from edgnn.evaluation._metrics import Metric, find_metric
from edgnn.evaluation._splits import Split
from edgnn.evaluation._targets import (
    Array,
    Task,
    classes_of,
    encode,
    missing,
    target_array,
    task_of,
)


@dataclass(frozen=True)
class Progress:
    """How far an evaluation is.

    Parameters
    ----------
    done : int
        Epochs (of all models together) or splits that are finished.
    total : int, optional
        How many there will be at most, where that is known.
    unit : {"epoch", "split"}
        What is counted.
    epoch : object, optional
        What the fleet reports about the epoch.
    """

    done: int
    total: int | None
    unit: Literal["epoch", "split"]
    epoch: Any = None


def evaluate(
    estimator: Any,
    X: Any,
    y: Any,
    splits: Iterable[Split],
    *,
    metrics: str | Sequence[str] | None = None,
    sample_weight: Any = None,
    class_names: Sequence[str] | None = None,
    on_progress: Callable[[Progress], Any] | None = None,
) -> Evaluation:
    """Train and judge a model on every split.

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
        From :func:`kfold`, :func:`holdout`, :func:`published` or :func:`scaffold`; or pairs (train,
        test) of positions, as scikit-learn's splitters yield them.
    metrics : str or sequence of str, optional
        Names in :data:`METRICS`; the first is the main one. Default: ``"accuracy"``, or ``"rmse"``
        for real values.
    sample_weight : array-like, optional
        One weight per item, for training only; scores are not weighted.
    class_names : sequence of str, optional
        How to print the classes, in sorted order, or by class number; default: as they are.
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
    Evaluation(accuracy (%) 66.7 ± 0.0; 10 splits in 2 repeats)
    """
    targets, splits = target_array(y), _listed(splits)
    task = task_of(targets, _is_classifier(estimator))
    if metrics is None:
        metrics = "rmse" if task == "values" else "accuracy"
    chosen = _metrics(metrics, task)
    weight = None if sample_weight is None else np.asarray(sample_weight)
    _check(X, targets, splits, weight)
    classes = classes_of(targets) if task == "classes" else ()
    names = _class_names(class_names, classes)
    fleet = hasattr(estimator, "predict_splits")
    _check_weight(estimator, weight, "predict_splits" if fleet else "fit")
    if not fleet:
        _check_estimator(estimator)
    if not fleet or hasattr(estimator, "predict"):
        _check_probabilities(estimator, chosen, hasattr(estimator, "predict_proba"))
    run = _as_fleet if fleet else _one_by_one
    shown = _without_gaps(targets, splits, classes) if fleet and task == "classes" else targets
    answers = run(estimator, X, shown, splits, weight, on_progress)
    _check_probabilities(estimator, chosen, all("probability" in answer for answer in answers))
    return Evaluation(
        task=task,
        metrics=tuple(metric.name for metric in chosen),
        splits=tuple(splits),
        truth=encode(targets, classes) if task == "classes" else targets.astype(np.float64),
        outcomes=tuple(
            outcome_of(*pair, task, targets.shape[1:], classes)
            for pair in zip(answers, splits, strict=True)
        ),
        classes=classes,
        class_names=names,
        settings=_settings(estimator, fleet and _takes(estimator, "on_epoch", "predict_splits")),
    )


def _as_fleet(
    estimator: Any,
    X: Any,
    y: Array,
    splits: Sequence[Split],
    weight: Array | None,
    on_progress: Callable[[Progress], Any] | None,
) -> list[Mapping[str, Any]]:
    options: dict[str, Any] = {}
    if weight is not None:
        options["sample_weight"] = weight
    if on_progress is not None and _takes(estimator, "on_epoch", "predict_splits"):
        total = getattr(estimator, "max_epochs", None)
        options["on_epoch"] = lambda epoch: on_progress(
            Progress(epoch.number, total, "epoch", epoch)
        )
    elif on_progress is not None and _takes(estimator, "on_split", "predict_splits"):
        options["on_split"] = lambda done: on_progress(Progress(done, len(splits), "split"))
    answers = list(estimator.predict_splits(X, y, list(splits), **options))
    if len(answers) != len(splits):
        raise EvaluationError(
            f"{type(estimator).__name__}.predict_splits answered {len(answers)} of {len(splits)} splits"
        )
    return answers


def _without_gaps(y: Array, splits: Sequence[Split], classes: tuple[Any, ...]) -> Array:
    """Give items without a class that no split learns from some class: a fleet takes the targets of all items at once."""
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
    on_progress: Callable[[Progress], Any] | None,
) -> list[Mapping[str, Any]]:
    answers: list[Mapping[str, Any]] = []
    for number, split in enumerate(splits, 1):
        try:
            answers.append(_fit_predict(estimator, X, y, split, weight))
        except EdgnnError as error:
            error.add_note(f"in {split}")
            raise
        except ValueError as error:
            raise EvaluationError(f"{split}: {type(estimator).__name__} failed: {error}") from error
        if on_progress is not None:
            on_progress(Progress(number, len(splits), "split"))
    return answers


def _fit_predict(
    estimator: Any, X: Any, y: Array, split: Split, weight: Array | None
) -> dict[str, Any]:
    from sklearn.base import clone

    model = clone(estimator)
    names = [
        name
        for name in model.get_params()
        if name == "random_state" or name.endswith("__random_state")
    ]
    model.set_params(**dict.fromkeys(names, split.seed))
    apart = split.valid is not None and _takes(estimator, "validation")
    train = split.train if apart else np.sort(split.known)
    options: dict[str, Any] = (
        {"validation": (_take(X, split.valid), y[split.valid])} if apart else {}
    )
    if weight is not None:
        options["sample_weight"] = weight[train]
    model.fit(_take(X, train), y[train], **options)
    items = _take(X, split.test)
    answer = {"prediction": model.predict(items), "chosen": getattr(model, "chosen_", None)}
    if hasattr(model, "predict_proba"):
        answer |= {"probability": model.predict_proba(items), "classes": model.classes_}
    return answer


def _listed(splits: Any) -> list[Split]:
    """Return splits as a list; pairs of positions become splits without a validation part."""
    if not isinstance(splits, Iterable):
        raise EvaluationError(
            f"splits={splits!r} is no list of splits; make one with kfold, holdout, published or scaffold"
        )
    found = []
    for number, split in enumerate(splits):
        if isinstance(split, tuple) and len(split) == 2:
            split = Split(*split, fold=number, seed=number)
        if not isinstance(split, Split):
            raise EvaluationError(
                f"split {number} is a {type(split).__name__}; make splits with kfold, holdout or published"
            )
        found.append(split)
    return found


def _metrics(names: str | Sequence[str], task: Task) -> list[Metric]:
    chosen = [find_metric(name) for name in ([names] if isinstance(names, str) else names)]
    if not chosen:
        raise EvaluationError("no metric was named; give at least one, such as 'accuracy'")
    for metric in chosen:
        if task not in metric.tasks:
            kinds = " and ".join(metric.tasks)
            raise EvaluationError(
                f"{metric.name} judges {kinds}, but the targets are {task}; choose another metric or estimator"
            )
    return list(dict.fromkeys(chosen))


def _check(X: Any, y: Array, splits: Sequence[Split], weight: Array | None) -> None:
    size = X.shape[0] if hasattr(X, "shape") else len(X)
    if size != len(y):
        raise EvaluationError(f"{len(y)} targets were given for {size} items")
    if weight is not None and weight.shape != (size,):
        raise EvaluationError(
            f"sample_weight has the shape {weight.shape}, but {(size,)} is needed: one number per item"
        )
    if not len(splits):
        raise EvaluationError(
            "no splits were given; make some with kfold, holdout, published or scaffold"
        )
    for split in splits:
        most = max(int(split.known.max()), int(split.test.max()))
        if most >= size:
            raise EvaluationError(
                f"{split} names item {most}, but there are {size} items, numbered from 0"
            )


def _check_probabilities(estimator: Any, metrics: list[Metric], given: bool) -> None:
    for metric in metrics:
        if metric.needs == "probabilities" and not given:
            name = type(estimator).__name__
            raise EvaluationError(
                f"{metric.name} needs probabilities, which {name} does not predict; choose another metric"
            )


def _check_estimator(estimator: Any) -> None:
    for method in ("get_params", "fit", "predict"):
        if not hasattr(estimator, method):
            name = type(estimator).__name__
            raise EvaluationError(
                f"{name} has no {method}; give a scikit-learn estimator, or one with predict_splits"
            )


def _check_weight(estimator: Any, weight: Array | None, method: str) -> None:
    if (
        weight is not None
        and hasattr(estimator, method)
        and not _takes(estimator, "sample_weight", method)
    ):
        name = type(estimator).__name__
        raise EvaluationError(
            f"{name}.{method} takes no sample_weight; leave it out or choose another estimator"
        )


def _class_names(names: Sequence[str] | None, classes: tuple[Any, ...]) -> tuple[str, ...]:
    if names is None or (not names and not classes):
        return tuple(map(str, classes))
    if len(names) > len(classes) and all(
        isinstance(value, int) and 0 <= value < len(names) for value in classes
    ):
        return tuple(str(names[value]) for value in classes)
    if len(names) != len(classes):
        raise EvaluationError(
            f"{len(names)} class names were given for {len(classes)} classes: {', '.join(map(str, classes))}"
        )
    return tuple(map(str, names))


def _settings(estimator: Any, fleet: bool) -> dict[str, Any]:
    parameters = {name: plain(value) for name, value in sorted(_parameters(estimator).items())}
    return {"estimator": type(estimator).__name__, "parameters": parameters, "fleet": fleet}


def _parameters(estimator: Any) -> dict[str, Any]:
    return dict(estimator.get_params(deep=False)) if hasattr(estimator, "get_params") else {}


def _is_classifier(estimator: Any) -> bool | None:
    """Say whether it is a classifier or a regressor, or None if it does not tell."""
    from sklearn.base import is_classifier, is_regressor

    if not hasattr(estimator, "__sklearn_tags__"):
        return None
    return True if is_classifier(estimator) else False if is_regressor(estimator) else None


def _takes(estimator: Any, argument: str, method: str = "fit") -> bool:
    return argument in inspect.signature(getattr(estimator, method)).parameters


def _take(X: Any, index: Array | None) -> Any:
    assert index is not None
    if hasattr(X, "iloc"):
        return X.iloc[index]
    return [X[position] for position in index.tolist()] if isinstance(X, list | tuple) else X[index]
