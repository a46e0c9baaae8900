"""Targets: one class, several labels 0/1, or real values per item; some items may have none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from edgnn.errors import EvaluationError

Array = np.ndarray[Any, Any]
Task = Literal["classes", "labels", "values"]


def target_array(y: Any) -> Array:
    """Return targets as an array of shape (n,) or, for several columns, (n, T)."""
    array = np.asarray(y)
    if array.dtype.kind in "US" and not isinstance(y, np.ndarray):
        # else numpy turns a missing entry into the text "nan"
        array = np.array(list(y), dtype=object)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim not in (1, 2) or array.dtype.kind not in "biufOUS":
        raise EvaluationError(
            "targets are one value or one row of values per item, "
            f"got {array.dtype} of shape {array.shape}; use numbers or class names"
        )
    return array


def missing(y: Array) -> Array:
    """Mark the items that have no target at all: NaN or None, in every column."""
    if y.dtype.kind == "O":
        values = [value is None or value != value for value in y.ravel().tolist()]
        gone: Array = np.array(values, dtype=bool).reshape(y.shape)
    elif y.dtype.kind == "f":
        gone = np.asarray(np.isnan(y))
    else:
        gone = np.zeros(y.shape, dtype=bool)
    return gone if y.ndim == 1 else np.asarray(gone.all(axis=1))


def task_of(y: Array, classifier: bool | None = None) -> Task:
    """Return what the targets are.

    Parameters
    ----------
    y : array
        From :func:`target_array`.
    classifier : bool, optional
        Whether classes (or labels) are to be predicted, where that is known. Otherwise a column of
        floats is real values, any other column is classes, and several columns are labels if they
        hold only 0, 1 and NaN.
    """
    if y.ndim == 1:
        regression = y.dtype.kind == "f" if classifier is None else not classifier
        if regression and y.dtype.kind not in "biuf":
            raise EvaluationError(
                f"a regressor needs numbers as targets, got {y.dtype} ({y[0]!r}, …)"
            )
        return "values" if regression else "classes"
    if y.dtype.kind not in "biuf":
        raise EvaluationError(
            f"targets in several columns must be numbers, got {y.dtype}; "
            "encode names as numbers first"
        )
    strange = np.argwhere(~np.isin(y, (0, 1)) & (y == y))  # NaN is missing, not strange
    if classifier and len(strange):
        row, column = strange[0].tolist()
        raise EvaluationError(
            f"labels in several columns are 0, 1 or NaN, but item {row} has {y[row, column]} "
            f"in column {column}; give one column of classes, or one column per class"
        )
    return "values" if classifier is False or len(strange) else "labels"


def classes_of(y: Array) -> tuple[Any, ...]:
    """Return the distinct classes in sorted order, without missing ones."""
    values = set(y[~missing(y)].tolist())
    try:
        return tuple(sorted(values))
    except TypeError:
        return tuple(sorted(values, key=lambda value: (type(value).__name__, repr(value))))


def encode(y: Array, classes: Sequence[Any], what: str = "item") -> Array:
    """Return the position of each value among ``classes``, −1 where it is missing.

    ``what`` names an entry in errors.
    """
    position = {value: code for code, value in enumerate(classes)}
    codes = np.full(len(y), -1, dtype=np.int64)
    for item, (value, gone) in enumerate(zip(y.tolist(), missing(y).tolist(), strict=True)):
        if gone:
            continue
        if value not in position:
            raise EvaluationError(
                f"{what} {item} has the class {value!r}, "
                f"which is not among the {len(classes)} known ones"
            )
        codes[item] = position[value]
    return codes


def coded_targets(y: Array, task: Task) -> tuple[Array, tuple[Any, ...]]:
    """Return targets as an evaluation keeps them, and their classes.

    Classes become their positions in sorted order (−1: missing), other targets become floats.
    """
    if task != "classes":
        return y.astype(np.float64), ()
    classes = classes_of(y)
    return encode(y, classes), classes


def known_mean(values: Array) -> float:
    """Return the mean of all numbers that are not NaN, or NaN if there are none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
