"""What the rivals are given, checked: items of a level they are made for, one class per item, parts of a split, candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgnn.errors import EstimatorError
from edgnn.estimators._inputs import Items, Level, collect
from edgnn.estimators._targets import read_classes
from edgnn.graphs import Graphs, Nodes
from edgnn.graphs._join import joined

Array = np.ndarray[Any, Any]


def read_items(X: Any, levels: Sequence[Level]) -> Items:
    """Return ``X`` as one collection of graphs or nodes, of a level among ``levels``."""
    if len(levels) == 1:
        return collect(X, levels[0])
    return joined(X) if _holds_nodes(X) else collect(X, "graph")


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
    known, test = np.unique(np.concatenate(parts)).astype(np.int64), np.asarray(split.test, dtype=np.int64)
    for positions in (known, test):
        wrong = positions[(positions < 0) | (positions >= count)]
        if len(wrong):
            raise EstimatorError(f"split {number} names item {wrong[0]}, but X has {count}")
    shared = np.intersect1d(known, test)
    if len(shared):
        raise EstimatorError(f"item {shared[0]} of split {number} is both in its test part and in what it learns from")
    if not len(known):
        raise EstimatorError(f"split {number} has no training items: there is nothing to learn")
    return known, test


def candidates(values: Any, name: str, lowest: int, highest: int) -> list[int]:
    """Return one whole number, or several, as a rising list without repetition."""
    several = [values] if isinstance(values, int | np.integer) else values
    whole = isinstance(several, Sequence | np.ndarray) and all(is_whole(value, lowest, highest) for value in several)
    if not whole or not len(several):
        raise EstimatorError(f"{name}={values!r}: give a whole number from {lowest} to {highest}, or several to choose from")
    return sorted({int(value) for value in several})


def is_whole(value: Any, lowest: int, highest: int) -> bool:
    """Return whether a value is a whole number within limits."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and lowest <= int(value) <= highest


def _holds_nodes(X: Any) -> bool:
    if isinstance(X, Graphs | Nodes) or not isinstance(X, Sequence):
        return isinstance(X, Nodes)
    return len(X) > 0 and isinstance(X[0], Nodes)
