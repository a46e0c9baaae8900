"""What targets mean: classes, several labels, or values. The one rule for files and commands."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from edgnn._words import preview
from edgnn.errors import DatasetError
from edgnn.io._common import Array
from edgnn.io._separated import FEW_KINDS, decimal_comma_advice, has_decimal_comma, number_in
from edgnn.registry import Level, Task

if TYPE_CHECKING:
    from edgnn.io.datasets._dataset import Dataset

_LARGEST_EXACT = 2**53  # whole numbers beyond it are not all float64
_MISSING_WORDS = frozenset(
    ("", "-", "?", "na", "n/a", "nan", "nil", "none", "null", "missing", "unknown")
)


def has_few_kinds(values: Array) -> bool:
    """Return whether numbers are whole and at most 20 different ones, as those of classes are."""
    is_whole = bool((values == np.round(values)).all())
    return is_whole and len(np.unique(values)) <= FEW_KINDS


def are_classes(values: Array) -> bool:
    """Return whether a column of targets is classes when nobody says what it is.

    Whole numbers and texts are. Numbers with a point (``1.0``) or with gaps (NaN) are where all
    that are there are 0 or 1, or are whole, at most 20 different ones, and come twice on average.
    """
    if values.dtype.kind != "f":
        return True
    values = values[~np.isnan(values)]
    if _are_binary(values):
        return True
    is_exact = bool((np.abs(values) < _LARGEST_EXACT).all())
    come_twice = len(np.unique(values)) <= len(values) // 2
    return has_few_kinds(values) and is_exact and come_twice


def task_of(targets: Array) -> Task:
    """Return what encoded targets are: of several columns, labels where they hold only 0 and 1."""
    if targets.ndim == 1:
        return "classes" if targets.dtype.kind in "biu" else "values"
    known = targets[~np.isnan(targets)] if targets.dtype.kind == "f" else targets
    return "labels" if _are_binary(known) else "values"


def _are_binary(known: Array) -> bool:
    return bool(np.isin(known, (0, 1)).all())


def encode_targets(
    values: Array,
    *,
    task: str | None = None,
    class_names: Mapping[str, str] | None = None,
    name: str = "the data",
    level: Level = "graph",
) -> tuple[Array, tuple[str, ...], Array]:
    """Return a file's targets as class numbers or as real values.

    Parameters
    ----------
    values : array
        Targets as the file has them; several columns are returned as they are.
    task : {"classes", "values"}, optional
        What they are; default: what :func:`are_classes` says.
    class_names : mapping, optional
        Readable names of the values, which are written as text.
    name, level
        What errors call the data, and what the targets belong to.

    Returns
    -------
    targets : array
        Class numbers (int64) in the order of the sorted values, or real values.
    class_names : tuple of str
        Empty for values.
    kept : array of int
        Positions of the items that have a class; of values and of several labels, all.
    """
    if task not in (None, "classes", "values"):
        raise DatasetError(f"task={task!r}: choose 'classes' or 'values'")
    everything = np.arange(len(values))
    if values.ndim > 1:
        return values, (), everything
    if task == "values":
        return _as_values(values, name, level), (), everything
    if task is None and not are_classes(values):
        return values, (), everything
    kept = np.flatnonzero(~missing_targets(values))
    if len(kept) < len(values):
        _warn_of_missing(len(values) - len(kept), len(values), level)
    values = values[kept]
    if values.dtype.kind == "f":
        values = _whole(values, name)
    numbers, names = _numbered(values)
    known = class_names or {}
    return numbers, tuple(known.get(text, text) for text in names), kept


def _numbered(values: Array) -> tuple[Array, list[str]]:
    """Number values by their sorted order; return the numbers, and the values as text."""
    if values.dtype.kind != "O":
        distinct, numbers = np.unique(values, return_inverse=True)
        return numbers.astype(np.int64), [str(value) for value in distinct]
    # not np.unique: as an array of str_, every value would take the size of the longest one
    texts = [str(value) for value in values]
    names = sorted(set(texts))
    number = {text: position for position, text in enumerate(names)}
    return np.array([number[text] for text in texts], np.int64), names


def _as_values(values: Array, name: str, level: Level) -> Array:
    if values.dtype.kind in "fiu":
        return values.astype(np.float64)
    numbers = [number_in(value) for value in values.tolist()]
    array = np.array(numbers, np.float64)  # None becomes NaN
    missing = np.isnan(array)
    if missing.any():
        position = int(np.argmax(missing))
        value = str(values[position])
        advice = decimal_comma_advice(value) if has_decimal_comma(value) else ""
        raise DatasetError(
            f"values must be numbers, but {name} has the target {value!r} "
            f"({level} {position}, counted from 0){advice}"
        )
    return array


def missing_targets(values: Array) -> Array:
    """Return which targets are missing: NaN, or ``None`` among objects."""
    if values.dtype.kind == "O":
        return np.array([value is None for value in values.flat], bool).reshape(values.shape)
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    return np.zeros(values.shape, bool)


def _whole(known: Array, name: str) -> Array:
    """Return classes as whole numbers; a number that is not whole is an error."""
    wrong = known[(known != np.round(known)) | (np.abs(known) >= _LARGEST_EXACT)]
    if len(wrong):
        raise DatasetError(
            f"classes must be whole numbers below 2**53, or names, but {name} has the target "
            f"{wrong[0]:g}"
        )
    return known.astype(np.int64)


def _warn_of_missing(missing: int, total: int, level: Level) -> None:
    verbs = "has no target and is" if missing == 1 else "have no target and are"
    warnings.warn(f"{missing:,} of {total:,} {level}s {verbs} left out", stacklevel=4)


def doubts(data: Dataset) -> list[str]:
    """Return what speaks against the classes of a data set, a line each.

    Doubtful are numbers that were read as classes, words for missing values, and classes of a
    single item.
    """
    class_names = data.class_names
    if data.targets is None or not class_names:
        return []
    lines = []
    absent = [name for name in class_names if name.strip().casefold() in _MISSING_WORDS]
    if absent:
        lines.append(
            f"{preview(absent)} is taken for a class like any other; "
            "where it means that nothing is known, leave the cell empty"
        )
    numbers = [name for name in class_names if _reads_as_number(name)]
    if len(numbers) > max(FEW_KINDS, len(class_names) // 2):
        lines.append(_mostly_numbers(class_names, numbers, absent))
        return lines
    counts = np.bincount(data.targets, minlength=len(class_names))
    alone = [name for name, count in zip(class_names, counts, strict=True) if count == 1]
    if alone:
        lines.append(
            f"only one {data.level} has the class {preview(alone)}: "
            "it can be learned or tested, not both"
        )
    return lines


def _mostly_numbers(names: tuple[str, ...], numbers: list[str], absent: list[str]) -> str:
    words = [name for name in names if name not in (*numbers, *absent)] or absent
    cause = f", because of {preview(words)}" if words else ""
    comma = next(filter(has_decimal_comma, numbers), None)
    advice = "--regression learns numbers as values"
    if comma is not None:
        advice = f"{comma!r} is{decimal_comma_advice(comma)[1:]}"
    return (
        f"the targets are taken for {len(names):,} classes{cause}, "
        f"but most of them are numbers; {advice}"
    )


def _reads_as_number(name: str) -> bool:
    return number_in(name) is not None or has_decimal_comma(name)
