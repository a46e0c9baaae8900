"""Whether two evaluations are of the same items, targets and splits, so that their scores can be compared one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgnn.evaluation._targets import Array

if TYPE_CHECKING:
    from edgnn.evaluation._evaluation import Evaluation

_KINDS = {
    "classes": "a class for each item",
    "labels": "several labels for each item",
    "values": "real values",
}


def difference_of(one: Evaluation, two: Evaluation) -> str:
    """Return what ``two`` has that ``one`` has otherwise, in words; nothing where their scores can be compared."""
    if one.task != two.task:
        return f"{_KINDS[two.task]}, not {_KINDS[one.task]}"
    if len(one.truth) != len(two.truth):
        return f"{len(two.truth):,} items, not {len(one.truth):,}"
    if one.truth.shape != two.truth.shape:
        return "another number of targets for each item"
    other = (one.truth != two.truth) & ~(np.isnan(one.truth) & np.isnan(two.truth))
    if other.any():
        return f"another target for item {np.argwhere(other)[0, 0]}, counted from 0"
    if len(one.splits) != len(two.splits):
        return f"{len(two.splits):,} splits, not {len(one.splits):,}"
    for first, second in zip(one.splits, two.splits, strict=True):
        for part, items in (("test", "items to judge on"), ("known", "items to learn from")):
            if not equal_sets(getattr(first, part), getattr(second, part)):
                return f"other {items} in {first}"
    return ""


def equal_sets(one: Array, two: Array) -> bool:
    """Return whether two arrays hold the same numbers, in any order."""
    return np.array_equal(np.sort(one), np.sort(two))
