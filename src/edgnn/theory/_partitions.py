"""Two groupings of the same items compared: which classes of one the other takes apart."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

#: How many examples a report keeps.
EXAMPLES = 5


@dataclass(frozen=True)
class Splits:
    """How many classes are taken apart, and pairs of items that show it (at most five classes, one pair each)."""

    count: int
    examples: tuple[tuple[int, int], ...]


def splits(classes: Tensor, by: Tensor) -> Splits:
    """Find the classes whose items do not all have the same value of ``by``."""
    first = first_of_class(classes)
    parted = (by != by[first]).nonzero()[:, 0]
    found = torch.unique(classes[parted])
    examples: dict[int, tuple[int, int]] = {}
    for item in parted.tolist():
        examples.setdefault(int(classes[item]), (int(first[item]), item))
        if len(examples) == EXAMPLES:
            break
    return Splits(len(found), tuple(examples.values()))


def first_of_class(classes: Tensor) -> Tensor:
    """Return, for every item, the first item of its class."""
    _, position = torch.unique(classes, return_inverse=True)
    return first_items(position)[position]


def first_items(position: Tensor) -> Tensor:
    """Return the first item of each class, for classes numbered 0, 1, 2, … without a gap."""
    count = int(position.max()) + 1 if len(position) else 0
    first = torch.full((count,), len(position), dtype=torch.int64)
    return first.scatter_reduce_(0, position, torch.arange(len(position)), "amin")


def number_rows(rows: Tensor) -> Tensor:
    """Number equal rows alike."""
    if rows.shape[0] == 0 or rows.shape[1] == 0:
        return torch.zeros(rows.shape[0], dtype=torch.int64)
    _, number = torch.unique(rows, dim=0, return_inverse=True)
    return torch.as_tensor(number)
