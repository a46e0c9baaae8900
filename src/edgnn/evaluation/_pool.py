"""Balanced draws: items in proportion of their classes, or whole groups, into folds or parts.

They are our own, not scikit-learn's splitters: the folds of the published results and of stored
studies are made by them, and classes may have fewer items than there are folds.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from edgnn.errors import EvaluationError
from edgnn.evaluation._targets import Array, classes_of, encode, missing, target_array, task_of
from edgnn.io.datasets import has_few_kinds


@dataclass(frozen=True, eq=False)
class Pool:
    """The items that have a target, with the class of each and the group it belongs to."""

    items: Array
    codes: Array
    group: Array | None
    total: int

    @classmethod
    def of(cls, y: Any, stratify: bool, groups: Any = None) -> Pool:
        """Gather the items of ``y`` that have a target."""
        targets = target_array(y)
        items = np.flatnonzero(~missing(targets))
        codes = _strata(targets[items]) if stratify else np.zeros(len(items), dtype=np.int64)
        group = None if groups is None else _group_numbers(groups, len(targets))[items]
        return cls(items, codes, group, len(targets))

    @property
    def size(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def unit(self) -> str:
        """What is dealt out as a whole."""
        return "item" if self.group is None else "group"

    def count(self, fraction: float | None, name: str) -> int:
        """Return how many items a fraction of the pool is."""
        return fraction_count(fraction, self.size, name)

    def deal(self, folds: int, rng: np.random.Generator) -> Array:
        """Return the fold of each item."""
        if self.group is not None:
            return _deal_groups(self.codes, self.group, folds, rng)
        fold_of = np.empty(self.size, dtype=np.int64)
        fold_of[_by_class(self.codes, rng)] = np.arange(self.size) % folds
        return fold_of

    def draw(self, places: Array, count: int, rng: np.random.Generator, part: str) -> Array:
        """Return ``count`` of the places, or about as many in whole groups."""
        if count and count >= len(places):
            raise EvaluationError(
                f"the {part} part asks for {count} of {len(places)} items, "
                "which leaves none to train on; give a smaller fraction"
            )
        if count and self.group is not None:
            return places[_draw_groups(self.group[places], count, rng)]
        return places[_draw_items(self.codes[places], count, rng)]


def _strata(y: Array) -> Array:
    """Number the classes; whole numbers kept as floats are classes while there are few of them.

    Floats occur where the class of some item is missing.
    """
    are_classes = task_of(y) == "classes"
    if y.ndim == 1 and y.dtype.kind == "f":
        are_classes = has_few_kinds(y)
    if are_classes:
        return encode(y, classes_of(y))
    return np.zeros(len(y), dtype=np.int64)


def _by_class(codes: Array, rng: np.random.Generator) -> Array:
    """Return all places, class after class, each class shuffled."""
    order = rng.permutation(len(codes))
    ordered: Array = order[np.argsort(codes[order], kind="stable")]
    return ordered


def _draw_items(codes: Array, count: int, rng: np.random.Generator) -> Array:
    """Draw at equal steps from the items in order of class, the last one of a class at the end."""
    order = _by_class(codes, rng)
    last = np.diff(codes[order], append=-1) != 0
    spare, kept = order[~last], order[last]
    if count > len(spare):
        return np.concatenate([spare, rng.permutation(kept)[: count - len(spare)]])
    start = rng.integers(max(len(spare), 1))
    drawn: Array = spare[(np.arange(count) * len(spare) + start) // max(count, 1)]
    return drawn


def _draw_groups(group: Array, count: int, rng: np.random.Generator) -> Array:
    """Draw whole groups in random order while they fit; the smallest group if none does."""
    numbers, sizes = np.unique(group, return_counts=True)
    chosen, room = [], count
    for place in rng.permutation(len(numbers)).tolist():
        if sizes[place] <= room:
            chosen.append(numbers[place])
            room -= sizes[place]
    return np.flatnonzero(np.isin(group, chosen or numbers[[np.argmin(sizes)]]))


def _deal_groups(codes: Array, group: Array, folds: int, rng: np.random.Generator) -> Array:
    """Give each group, the largest first, to the fold that has the fewest items of its classes."""
    numbers, group = np.unique(group, return_inverse=True)
    counts = np.zeros((len(numbers), int(codes.max()) + 1))
    np.add.at(counts, (group, codes), 1)
    order = rng.permutation(len(numbers))
    order = order[np.argsort(-counts[order].sum(axis=1), kind="stable")]
    load = np.zeros((folds, counts.shape[1]))
    fold_of = np.empty(len(numbers), dtype=np.int64)
    fraction = counts / np.maximum(counts.sum(axis=0), 1)
    for number in order.tolist():
        fold = np.lexsort((load.sum(axis=1), load @ fraction[number]))[0]
        load[fold] += counts[number]
        fold_of[number] = fold
    dealt: Array = fold_of[group]
    return dealt


def fraction_count(fraction: Any, size: int, name: str) -> int:
    """Return how many of ``size`` items a fraction is: at least one, none for None."""
    if fraction is None:
        return 0
    if not isinstance(fraction, Real) or not 0 < float(fraction) < 1:
        raise EvaluationError(
            f"{name}={fraction!r}: give a fraction of all items above 0 and below 1, or None"
        )
    return max(1, round(float(fraction) * size))


def _group_numbers(groups: Any, size: int) -> Array:
    values = list(np.asarray(groups).tolist() if hasattr(groups, "dtype") else groups)
    if len(values) != size:
        raise EvaluationError(f"{len(values)} groups were given for {size} items")
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)
