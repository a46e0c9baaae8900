"""What the rivals are given, checked: items of a level they are made for, one class per item, parts of a split, candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgnn.errors import EstimatorError
from edgnn.graphs import Nodes
from edgnn.models.networks._inputs import Items, Level, collect, read_any
from edgnn.models.networks._targets import read_classes

Array = np.ndarray[Any, Any]


def read_items(X: Any, levels: Sequence[Level]) -> Items:
    """Return ``X`` as one collection of graphs or nodes, of a level among ``levels``."""
    if len(levels) == 1:
        return collect(X, levels[0])
    return read_any(X)


def read_targets(y: Any, items: Items) -> Array:
    """Return one class per item."""
    what = "node" if isinstance(items, Nodes) else "graph"
    values, task = read_classes(y, len(items), what)
    if task != "classes":
        raise EstimatorError(
            f"y has the shape {values.shape}; this classifier learns one class per item: give one column, or fit one per label"
        )
    if not len(items):
        raise EstimatorError(f"X holds no {what}s: there is nothing to learn (0 samples)")
    return values


def read_split(split: Any, count: int, number: int) -> tuple[Array, Array]:
    """Return the positions a split learns from (training and validation part, rising) and those it is judged on."""
    parts = [split.train] if split.valid is None else [split.train, split.valid]
    known, test = (
        np.unique(np.concatenate(parts)).astype(np.int64),
        np.asarray(split.test, dtype=np.int64),
    )
    for positions in (known, test):
        wrong = positions[(positions < 0) | (positions >= count)]
        if len(wrong):
            raise EstimatorError(f"split {number} names item {wrong[0]}, but X has {count}")
    shared = np.intersect1d(known, test)
    if len(shared):
        raise EstimatorError(
            f"item {shared[0]} of split {number} is both in its test part and in what it learns from"
        )
    if not len(known):
        raise EstimatorError(f"split {number} has no training items: there is nothing to learn")
    return known, test


def candidates(values: Any, name: str, lowest: int, highest: int) -> list[int]:
    """Return one whole number, or several, as a rising list without repetition."""
    several = [values] if isinstance(values, int | np.integer) else values
    whole = isinstance(several, Sequence | np.ndarray) and all(
        is_whole(value, lowest, highest) for value in several
    )
    if not whole or not len(several):
        raise EstimatorError(
            f"{name}={values!r}: give a whole number from {lowest} to {highest}, or several to choose from"
        )
    return sorted({int(value) for value in several})


def numbers(values: Any) -> Array:
    """Return one number, or several, as an array; empty if they are none."""
    try:
        found: Array = np.atleast_1d(np.asarray(values, dtype=np.float64)).ravel()
    except (TypeError, ValueError):
        found = np.zeros(0)
    return found


def flag(value: Any, name: str) -> bool:
    """Return a truth value that is one."""
    if not isinstance(value, bool | np.bool_):
        raise EstimatorError(f"{name}={value!r}: choose True or False")
    return bool(value)


def job_count(n_jobs: Any) -> int | None:
    """Return a number of jobs that joblib can take."""
    if n_jobs is not None and not (is_whole(n_jobs, -(2**15), 2**15) and n_jobs):
        raise EstimatorError(
            f"n_jobs={n_jobs!r}: give a number of jobs, -1 for one per core, or None for one"
        )
    return None if n_jobs is None else int(n_jobs)


def is_whole(value: Any, lowest: int, highest: int) -> bool:
    """Return whether a value is a whole number within limits."""
    return (
        isinstance(value, int | np.integer)
        and not isinstance(value, bool)
        and lowest <= int(value) <= highest
    )
