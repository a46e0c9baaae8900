"""Targets as users have them and as models count them: classes, several labels, real values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from edgnn._rules import NOT_NEGATIVE
from edgnn._words import preview, short, suggestion
from edgnn.errors import EstimatorError

_Array = np.ndarray[Any, Any]
Task = Literal["classes", "labels", "values"]


@dataclass(frozen=True, eq=False)
class Encoding:
    """What kind of target there is, and the values behind its numbers.

    Parameters
    ----------
    task : {"classes", "labels", "values"}
        One class per item, several 0/1 labels, or real values.
    classes : array
        The users' classes in sorted order; of several labels their numbers; empty for real values.
    flat : bool
        Whether real values were given as a vector.
    outputs : int
        Number of outputs of the model.
    """

    task: Task
    classes: _Array
    flat: bool
    outputs: int

    def encode(self, y: _Array) -> _Array:
        """Return class numbers (int64), or a float matrix of labels (0, 1, NaN) or values.

        Items of other classes get some number: they are never trained on.
        """
        if self.task != "classes":
            return y.reshape(len(y), -1).astype(np.float64)
        numbers = np.searchsorted(self.classes, y).clip(max=self.outputs - 1)
        return numbers.astype(np.int64)

    def same(self, other: Encoding) -> bool:
        """Whether both number the same targets alike."""
        shape = (self.task, self.flat, self.outputs, self.classes.dtype.kind)
        others = (other.task, other.flat, other.outputs, other.classes.dtype.kind)
        return shape == others and np.array_equal(self.classes, other.classes)


def encoding_of(y: _Array, task: Task) -> Encoding:
    """Learn the encoding of checked targets."""
    if task == "classes":
        classes = np.unique(y)
        return Encoding(task, classes, True, len(classes))
    is_vector = y.ndim == 1
    width = 1 if is_vector else y.shape[1]
    numbers = np.arange(width if task == "labels" else 0)
    return Encoding(task, numbers, is_vector, width)


def read_classes(y: Any, count: int, what: str) -> tuple[_Array, Task]:
    """Check targets of a classifier: a vector of classes, or a 0/1 matrix with NaN for missing."""
    array = _array(y, count, what)
    if array.ndim == 2 and array.shape[1] == 1:
        array = _column(array)
    if array.ndim == 2:
        return _label_matrix(array), "labels"
    if array.dtype.kind == "O":
        array = _objects(array)
    if array.dtype.kind == "f":
        _refuse(~np.isfinite(array), array, "has the class {value}; drop items without a class")
        _refuse(
            array != np.round(array),
            array,
            "has the value {value}, which is no class: "
            "a continuous target (Unknown label type) needs a regressor",
        )
    if array.dtype.kind not in "biufUS" and array.dtype != object:
        raise EstimatorError(
            f"y has the type {array.dtype}; classes are texts, whole numbers or truth values"
        )
    return array, "classes"


def read_values(y: Any, count: int, what: str) -> tuple[_Array, Task]:
    """Check targets of a regressor: a vector or matrix of numbers, with NaN for missing."""
    array = _array(y, count, what)
    if array.dtype.kind == "c":
        raise EstimatorError(
            "y holds complex numbers, which are not supported: Complex data not supported"
        )
    try:
        values = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise EstimatorError(f"y cannot be read as real numbers ({error})") from None
    _refuse(
        np.isinf(values),
        values,
        "has the value {value}; Input y contains infinity, "
        "and targets must be finite, or NaN where missing",
    )
    return values, "values"


def read_weight(weight: Any, count: int, what: str) -> _Array | None:
    """Check the weights of items: one finite number, 0 or more, per item."""
    if weight is None:
        return None
    try:
        values = np.asarray(weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EstimatorError(f"sample_weight cannot be read as numbers ({error})") from None
    if values.ndim == 0:
        values = np.full(count, float(values))
    if values.shape != (count,):
        raise EstimatorError(
            f"sample_weight has the shape {values.shape}; there are {count} {what}s: "
            "give one number for each"
        )
    _refuse(
        ~np.isfinite(values) | (values < 0),
        values,
        "has the sample_weight {value}; a weight is a finite number, 0 or more",
    )
    return values


def class_weights(weight: Any, encoding: Encoding) -> Any:
    """Return ``class_weight`` as the training loop takes it: one number per class, or as given."""
    if weight is None:
        return None
    if encoding.task == "labels":
        raise EstimatorError(
            "class_weight is for one class per item; "
            "with a matrix of labels, weigh items with sample_weight"
        )
    if isinstance(weight, str) and weight == "balanced":
        return weight
    if not isinstance(weight, Mapping):
        raise EstimatorError(
            f"class_weight={short(weight)}: choose 'balanced', a dict of weights by class, or None"
        )
    known = encoding.classes.tolist()
    for name, value in weight.items():
        if name not in known:
            raise EstimatorError(
                f"class_weight names the class {short(name)}, which is not among those of y: "
                f"{preview(known)}{suggestion(name, known)}"
            )
        if not NOT_NEGATIVE.holds(value):
            raise EstimatorError(
                f"class_weight[{short(name)}]={short(value)}: "
                "a weight is a finite number, 0 or more"
            )
    return [float(weight.get(name, 1.0)) for name in known]


def decide(probability: _Array, encoding: Encoding) -> _Array:
    """Return the most probable class of each item; of several labels, a matrix of 0 and 1."""
    if encoding.task == "labels":
        return (probability > 0.5).astype(np.int64)
    chosen: _Array = encoding.classes[probability.argmax(axis=1)]
    return chosen


def shaped(values: _Array, encoding: Encoding) -> _Array:
    """Return a matrix of values as the targets were given: one that was a vector is one again."""
    return values[:, 0] if encoding.flat else values


def observed(y: _Array) -> _Array:
    """Return which items have a target at all."""
    if y.dtype.kind != "f":
        return np.ones(len(y), dtype=bool)
    missing: _Array = np.isnan(y.reshape(len(y), -1))
    return np.asarray(~missing.all(axis=1))


def _array(y: Any, count: int, what: str) -> _Array:
    if y is None:
        raise EstimatorError("this estimator requires y to be passed, but the target y is None")
    try:
        array = np.asarray(y.detach().cpu() if hasattr(y, "detach") else y)
    except (TypeError, ValueError) as error:
        raise EstimatorError(f"y cannot be read as an array ({error})") from None
    texts = array.ndim == 1 and array.dtype.kind in "US"
    if texts and not all(isinstance(value, str | bytes) for value in y):
        # numpy has made texts of what is none: a missing class, a number
        array = np.array(list(y), dtype=object)
    if array.ndim not in (1, 2):
        raise EstimatorError(
            "y should be a 1d array, or a matrix for several targets; "
            f"got an array of shape {array.shape}"
        )
    if len(array) != count:
        raise EstimatorError(
            f"y has {len(array)} targets for {count} {what}s; there must be one for each"
        )
    if array.ndim == 2 and array.shape[1] == 0:
        raise EstimatorError("y is a matrix without columns; there is nothing to learn")
    return array


def _column(array: _Array) -> _Array:
    from sklearn.utils.validation import column_or_1d

    flat: _Array = column_or_1d(array, warn=True)
    return flat


def _label_matrix(array: _Array) -> _Array:
    try:
        values = array.astype(np.float64)
    except (TypeError, ValueError):
        raise EstimatorError(
            "y is a matrix, so it holds one 0/1 column per label; its entries are no numbers"
        ) from None
    _refuse(
        ~(np.isnan(values) | (values == 0) | (values == 1)),
        values,
        "has the value {value}; "
        "a matrix y holds 0, 1, or NaN where missing (real values: use a regressor)",
    )
    return values


def _objects(array: _Array) -> _Array:
    """Give objects of one plain kind the type that numpy has for it."""
    for item, value in enumerate(array.tolist()):
        if value is None or value != value:
            raise EstimatorError(f"item {item} has the class {value}; drop items without a class")
    try:
        np.unique(array)
    except TypeError as error:
        raise EstimatorError(
            f"the classes in y cannot be sorted ({error}); use one type, such as text, for all"
        ) from None
    kinds = {type(value) for value in array.tolist()}
    plain = any(kinds <= alike for alike in ({bool}, {int, float}))
    return np.array(array.tolist()) if plain else array


def _refuse(bad: _Array, values: _Array, rule: str) -> None:
    """Raise for the first value that is marked as bad."""
    if not bad.any():
        return
    item, *column = np.argwhere(bad)[0].tolist()
    where = f"target {column[0]} of item {item}" if column else f"item {item}"
    raise EstimatorError(f"{where} {rule.format(value=values[(item, *column)])}")
