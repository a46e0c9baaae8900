"""Groupings of items: rows that are equal, or nearly, and classes that another grouping splits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

_Array = np.ndarray[Any, Any]
#: How many examples a report keeps.
EXAMPLES = 5
#: Up to so many rows are compared pair by pair.
_PAIRWISE = 2048


@dataclass(frozen=True)
class Splits:
    """How many classes are split, and pairs of items that show it: one pair each, at most five."""

    count: int
    examples: tuple[tuple[int, int], ...]


def splits(classes: Tensor, by: Tensor) -> Splits:
    """Find the classes whose items do not all have the same value of ``by``."""
    first = first_of_class(classes)
    differing = (by != by[first]).nonzero()[:, 0]
    examples: dict[int, tuple[int, int]] = {}
    for item in differing.tolist():
        examples.setdefault(int(classes[item]), (int(first[item]), item))
        if len(examples) == EXAMPLES:
            break
    return Splits(len(torch.unique(classes[differing])), tuple(examples.values()))


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


def group_rows(rows: Tensor, tolerance: float) -> Tensor:
    """Number rows alike that agree within ``tolerance``, by first appearance.

    Rows agree when no column differs by more than ``tolerance`` times the column's largest absolute
    value; chains of such rows form one group. Groups are split column by column wherever sorted
    values leave a gap, which never parts rows that agree; groups that are still wider than the
    tolerance are settled pair by pair.

    Shapes
    ------
    rows (n, d) → (n,)
    """
    values = rows.detach().cpu().to(torch.float64).numpy()
    scale = np.abs(values).max(axis=0, initial=0.0)
    values = values / np.where(scale > 0, scale, 1.0)
    group = _split_at_gaps(values, tolerance)
    for members in _wide_groups(values, group, tolerance):
        chain = _chained(values[members], tolerance)
        group[members] = np.where(chain > 0, group.max() + chain, group[members])
    return torch.from_numpy(_by_first_appearance(group))


def _split_at_gaps(values: _Array, tolerance: float) -> _Array:
    """Split by each column in turn, until no column splits any more."""
    group = np.zeros(len(values), np.int64)
    count = 0
    while len(values) and count < group.max() + 1:
        count = int(group.max()) + 1
        for column in values.T:
            order = np.lexsort((column, group))
            cut = (np.diff(group[order]) != 0) | (np.diff(column[order]) > tolerance)
            group[order[1:]] = np.cumsum(cut)
            group[order[:1]] = 0
    return group


def _wide_groups(values: _Array, group: _Array, tolerance: float) -> list[_Array]:
    """Return the members of groups with rows that differ by more, unless there are too many."""
    order = np.argsort(group, kind="stable")
    wide = []
    for members in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        width = np.ptp(values[members], axis=0).max(initial=0.0) if len(members) else 0.0
        if width > tolerance and 2 < len(members) <= _PAIRWISE:
            wide.append(members)
    return wide


def _chained(values: _Array, tolerance: float) -> _Array:
    from scipy.sparse.csgraph import connected_components

    rows = torch.from_numpy(values)
    near = torch.cdist(rows, rows, p=float("inf")).numpy() <= tolerance
    chains: _Array = connected_components(near, directed=False)[1]
    return chains


def _by_first_appearance(group: _Array) -> _Array:
    _, first, position = np.unique(group, return_index=True, return_inverse=True)
    numbered: _Array = np.argsort(np.argsort(first))[position]
    return numbered
