"""Splits as evaluations give them, checked, and one loop over them for models without a fleet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgnn.errors import EstimatorError

_Array = np.ndarray[Any, Any]
#: Called with the number of splits that are done.
OnSplit = Callable[[int], Any]


@dataclass(frozen=True, eq=False)
class Split:
    """Positions of the items of one split, and the random seed of its models."""

    train: _Array
    valid: _Array | None
    test: _Array
    seed: int

    @property
    def known(self) -> _Array:
        """Positions of the training and the validation set, rising."""
        sets = [self.train] if self.valid is None else [self.train, self.valid]
        return np.unique(np.concatenate(sets))


def checked_split(split: Any, count: int, number: int) -> Split:
    """Return a split with positions of ``count`` items, its test set apart from the others.

    Parameters
    ----------
    split : object
        With ``train``, ``valid`` (or ``None``) and ``test``, positions or masks, and ``seed``.
    count : int
        How many items there are.
    number : int
        Which split it is, for errors.
    """
    valid = None if split.valid is None else _positions(split.valid, count, number, "valid")
    checked = Split(
        _positions(split.train, count, number, "train"),
        valid,
        _positions(split.test, count, number, "test"),
        int(split.seed),
    )
    shared = np.intersect1d(checked.known, checked.test)
    if len(shared):
        raise EstimatorError(
            f"item {shared[0]} of split {number} is both in its test set and in what it learns from"
        )
    return checked


def _positions(given: Any, count: int, split: int, name: str) -> _Array:
    positions = np.asarray(given)
    if positions.dtype == bool and positions.shape == (count,):
        positions = np.flatnonzero(positions)
    if positions.ndim != 1 or (len(positions) and positions.dtype.kind not in "iu"):
        raise EstimatorError(f"the {name} set of split {split} must be a list of positions in X")
    wrong = positions[(positions < 0) | (positions >= count)]
    if len(wrong):
        raise EstimatorError(
            f"the {name} set of split {split} names item {wrong[0]}, but X has {count}"
        )
    return positions.astype(np.int64)


def known_splits(splits: Iterable[Any], count: int) -> list[Split]:
    """Return checked splits, each with items to learn from."""
    checked = []
    for number, given in enumerate(splits):
        split = checked_split(given, count, number)
        if not len(split.known):
            raise EstimatorError(f"split {number} has no training items: there is nothing to learn")
        checked.append(split)
    return checked


def in_threads(
    work: Sequence[Callable[[], list[Any]]], n_jobs: Any, on_split: OnSplit | None
) -> list[list[Any]]:
    """Call functions that return results of some splits, ``n_jobs`` at a time, in threads."""
    from joblib import Parallel, delayed

    done = 0
    results = []
    calls = (delayed(function)() for function in work)
    for result in Parallel(n_jobs, prefer="threads", return_as="generator")(calls):
        results.append(result)
        for _ in result:
            done += 1
            if on_split is not None:
                on_split(done)
    return results
