"""All splits of an evaluation trained as one fleet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from edgnn.errors import EstimatorError, UnknownLabelError
from edgnn.models.networks._coder import Seen
from edgnn.models.networks._fleet import OnEpoch, raw_outputs
from edgnn.models.networks._inputs import graphs_of
from edgnn.models.networks._problem import Part, Problem
from edgnn.models.networks._targets import Encoding, class_weights, encoding_of

if TYPE_CHECKING:
    from edgnn.models.networks._base import Estimator

_Array = np.ndarray[Any, Any]


class SplitLike(Protocol):
    """Positions of the parts of one split (``valid`` may be ``None``), and the seed of its models."""

    train: Any
    valid: Any
    test: Any
    seed: int


def predict_splits(
    estimator: Estimator,
    X: Any,
    y: Any,
    splits: Iterable[SplitLike],
    sample_weight: Any,
    on_epoch: OnEpoch | None,
) -> list[dict[str, Any]]:
    """Return the predictions of every split; see :meth:`Estimator.predict_splits`."""
    parameters = estimator._checked_parameters()
    data = estimator._data(X, y, sample_weight)
    class_weights(parameters.get("class_weight"), encoding_of(data.y, data.task))
    problem = Problem.of(data, estimator._coder_of(graphs_of(data.items)), parameters)
    parts, tests = [], []
    for number, split in enumerate(splits):
        parts.append(_part(estimator, problem, split, number))
        tests.append(_positions(split.test, len(data), number, "test"))
        _refuse_overlap(parts[-1], tests[-1], number)
        if estimator.unknown == "error":
            _refuse_unseen(problem, parts[-1], tests[-1], number)
    results: list[dict[str, Any]] = [{} for _ in parts]
    for group in _groups(problem, parts):
        fleet = [parts[number] for number in group]
        encoding = encoding_of(
            data.y[fleet[0].known] if data.task == "classes" else data.y, data.task
        )
        trained = problem.train(
            estimator._level, _of_classes(parameters, encoding), encoding, fleet, on_epoch=on_epoch
        )
        outputs = raw_outputs(trained.model, problem.inputs, problem.items)
        for place, number in enumerate(group):
            members = slice(place * estimator.members, (place + 1) * estimator.members)
            part, own = parts[number], outputs[members]
            results[number] = estimator._result(own, problem, encoding, part, tests[number])
            results[number]["best_epoch"] = trained.best_epoch[members]
            if len(part.valid):
                results[number]["valid_loss"] = trained.best_loss[members]
            if data.task == "classes":
                learned = problem.learned_from(part)
                again = estimator._result(own, problem, encoding, part, learned)["prediction"]
                results[number]["training_accuracy"] = float(np.mean(again == data.y[learned]))
    return results


def _part(estimator: Estimator, problem: Problem, split: SplitLike, number: int) -> Part:
    count, seed = len(problem.data), int(split.seed)
    train = _positions(split.train, count, number, "train")
    if split.valid is None:
        part = problem.part(train, estimator.validation, seed)
    else:
        part = Part(train, _positions(split.valid, count, number, "valid"), seed)
    estimator._check_part(part)
    return part


def _refuse_overlap(part: Part, test: _Array, number: int) -> None:
    shared = np.intersect1d(part.known, test)
    if len(shared):
        raise EstimatorError(
            f"item {shared[0]} of split {number} is both in its test part and in what it learns from"
        )


def _of_classes(parameters: dict[str, Any], encoding: Encoding) -> dict[str, Any]:
    """Leave out the weights of classes that a group of splits does not have."""
    weight = parameters.get("class_weight")
    if not isinstance(weight, Mapping):
        return parameters
    known = encoding.classes.tolist()
    return parameters | {
        "class_weight": {name: value for name, value in weight.items() if name in known}
    }


def _positions(given: Any, count: int, split: int, name: str) -> _Array:
    positions = np.asarray(given)
    if positions.dtype == bool and positions.shape == (count,):
        positions = np.flatnonzero(positions)
    if positions.ndim != 1 or (len(positions) and positions.dtype.kind not in "iu"):
        raise EstimatorError(f"the {name} part of split {split} must be a list of positions in X")
    if len(positions) and not (positions.min() >= 0 and positions.max() < count):
        wrong = positions[(positions < 0) | (positions >= count)][0]
        raise EstimatorError(
            f"the {name} part of split {split} names item {wrong}, but X has {count}"
        )
    return positions.astype(np.int64)


def _groups(problem: Problem, parts: list[Part]) -> list[list[int]]:
    """Group splits that are shown the same classes, for their models have the same shape; nearly always that is all of them."""
    if problem.data.task != "classes":
        return [list(range(len(parts)))] if parts else []
    groups: dict[bytes, list[int]] = {}
    _, numbers = np.unique(problem.data.y, return_inverse=True)
    for place, part in enumerate(parts):
        groups.setdefault(np.unique(numbers[part.known]).tobytes(), []).append(place)
    return list(groups.values())


def _refuse_unseen(problem: Problem, part: Part, test: _Array, number: int) -> None:
    """Raise where the test part of a split has labels that its training part lacks."""
    raw = problem.data.items[test]
    try:
        Seen.of(problem.coder, problem.items, problem.learned_from(part)).check(
            problem.coder, graphs_of(raw), graphs_of(problem.items[test]), "error"
        )
    except UnknownLabelError as error:
        raise UnknownLabelError(f"test part of split {number}: {error}") from None
