"""Rows that are equal up to rounding, grouped."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

_PAIRWISE = 2048
_Array = np.ndarray[Any, Any]


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
        parts = _chained(values[members], tolerance)
        group[members] = np.where(parts > 0, group.max() + parts, group[members])
    return torch.from_numpy(_by_first_appearance(group))


def _split_at_gaps(values: _Array, tolerance: float) -> _Array:
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
    """Return the members of groups in which some rows differ by more than the tolerance, unless there are too many."""
    order = np.argsort(group, kind="stable")
    return [
        members
        for members in np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
        if 2 < len(members) <= _PAIRWISE
        and np.ptp(values[members], axis=0).max(initial=0.0) > tolerance
    ]


def _chained(values: _Array, tolerance: float) -> _Array:
    from scipy.sparse.csgraph import connected_components

    near = (
        torch.cdist(torch.from_numpy(values), torch.from_numpy(values), p=float("inf")).numpy()
        <= tolerance
    )
    parts: _Array = connected_components(near, directed=False)[1]
    return parts


def _by_first_appearance(group: _Array) -> _Array:
    _, first, position = np.unique(group, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    numbered: _Array = rank[position]
    return numbered
