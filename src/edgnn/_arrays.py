"""Integer arrays on either side: numpy on the CPU, torch on a device, behind one set of names.

On the CPU numpy is used on purpose: its calls take microseconds and one thread, so thousands of
small rounds stay fast on a busy machine, where torch waits for its threads at every indexing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

#: numpy int64 or bool array on the CPU, torch tensor elsewhere. Indexing, arithmetic and comparison
#: read the same for both.
Array = Any

_LONG_SEGMENT = 4


def to_array(tensor: Tensor) -> Array:
    """Return a tensor as the kind of array that its device works with, sharing memory."""
    return tensor.numpy() if tensor.device.type == "cpu" else tensor


def to_tensor(array: Array) -> Tensor:
    """Return an array as a tensor, sharing memory."""
    return array if isinstance(array, Tensor) else torch.from_numpy(array)


def to_host(array: Array) -> np.ndarray[Any, Any]:
    """Return an array as numpy, copied from its device if need be."""
    return array.cpu().numpy() if isinstance(array, Tensor) else array


def arange(size: int, like: Array) -> Array:
    """Return 0, 1, …, size − 1."""
    return torch.arange(size, device=like.device) if isinstance(like, Tensor) else np.arange(size)


def filled(size: int, value: int | bool, like: Array) -> Array:
    """Return ``size`` times ``value``."""
    if isinstance(like, Tensor):
        return torch.full((size,), value, device=like.device)
    return np.full(size, value) if value else np.zeros(size, dtype=type(value))


def argsort(values: Array, stable: bool = False) -> Array:
    """Return the order that sorts ``values``."""
    if isinstance(values, Tensor):
        return torch.argsort(values, stable=stable)
    return np.argsort(values, kind="stable" if stable else None)


def hash_order(keys: Array) -> Array:
    """Return an order in which equal keys stand together; keys are hashes, low bits can be spared.

    On the CPU the positions are put into the low bits and the values sorted, which is several times
    faster than an argsort. Where different keys agree in all other bits, which is rare, the argsort
    is done after all.
    """
    if isinstance(keys, Tensor):
        return torch.argsort(keys)
    mask = (1 << len(keys).bit_length()) - 1
    packed = (keys & ~mask) | np.arange(len(keys))
    packed.sort()
    order = packed & mask
    arranged = keys[order]
    if (
        (arranged[1:] != arranged[:-1]) & ((arranged[1:] & ~mask) == (arranged[:-1] & ~mask))
    ).any():
        return np.argsort(keys)
    return order


def nonzero(mask: Array) -> Array:
    """Return the positions of true entries."""
    return mask.nonzero()[:, 0] if isinstance(mask, Tensor) else np.flatnonzero(mask)


def where(mask: Array, yes: Array, no: Array) -> Array:
    """Return ``yes`` where ``mask`` is true and ``no`` elsewhere."""
    return torch.where(mask, yes, no) if isinstance(mask, Tensor) else np.where(mask, yes, no)


def concat(parts: list[Array]) -> Array:
    """Return arrays behind one another."""
    return torch.cat(parts) if isinstance(parts[0], Tensor) else np.concatenate(parts)


def repeat(values: Array, times: Array) -> Array:
    """Return each value as often as its count says."""
    return (
        torch.repeat_interleave(values, times)
        if isinstance(values, Tensor)
        else np.repeat(values, times)
    )


def count(numbers: Array, size: int) -> Array:
    """Return how often each of 0, 1, …, size − 1 occurs."""
    if not isinstance(numbers, Tensor):
        return np.bincount(numbers, minlength=size)
    total = torch.zeros(size, dtype=torch.int64, device=numbers.device)
    distinct, times = torch.unique(
        numbers, return_counts=True
    )  # bincount would add millions of ones to one address
    total[distinct] = times
    return total


def running(counts: Array) -> Array:
    """Return where each of so many runs of entries begins, and behind them where the last ends."""
    if isinstance(counts, Tensor):
        return torch.cat([counts.new_zeros(1), torch.cumsum(counts, 0)])
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def row_entries(indptr: Any, rows: Any) -> tuple[Any, Any]:
    """Return all entries of some rows of a matrix in numpy, and which of the rows each is of."""
    starts = np.asarray(indptr)[rows]
    lengths = np.asarray(indptr)[rows + 1] - starts
    owner = np.repeat(np.arange(len(rows)), lengths)
    before = np.cumsum(lengths) - lengths
    return owner, np.arange(len(owner)) + (starts - before)[owner]


def runs(new: Array) -> tuple[Array, Array]:
    """Return begin and length of each run; ``new`` marks the entries that differ from the last."""
    begin = nonzero(new)
    end = concat([begin[1:], filled(1, len(new), begin)])[: len(begin)]
    return begin, end - begin


def changes(values: Array) -> Array:
    """Mark the first entry, and every entry that differs from the one before it."""
    new = filled(len(values), True, values)
    new[1:] = values[1:] != values[:-1]
    return new


def add_at(target: Array, index: Array, values: Array) -> None:
    """Add each value at its position, also where positions repeat."""
    if isinstance(target, Tensor):
        order, ends = _grouped(index)
        running = torch.cumsum(values[order], 0)[ends]
        target[index[order[ends]]] += torch.diff(running, prepend=running.new_zeros(1))
    else:
        np.add.at(target, index, values)


def _grouped(group: Tensor, order: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return a stable order that brings groups together, and the last position of each group.

    Within a group, items follow another order, where one is given.

    Sorting instead of atomic additions: these take turns where many meet, as all nodes of one color
    do.
    """
    places = torch.argsort(group if order is None else group[order], stable=True)
    order = places if order is None else order[places]
    arranged = group[order]
    last = torch.ones(len(order), dtype=torch.bool, device=group.device)
    last[:-1] = arranged[1:] != arranged[:-1]
    return order, nonzero(last)


def largest(group: Array, values: Array, groups: int) -> Array:
    """Return, for each value, the position of the largest of its group, of equal ones the last.

    Groups are numbers below ``groups``.
    """
    if isinstance(values, Tensor):
        places, ends = _grouped(group, torch.argsort(values, stable=True))
        best = torch.zeros(groups, dtype=torch.int64, device=values.device)
        best[group[places[ends]]] = places[ends]
        return best[group]
    order = np.argsort(values, kind="stable")
    place = np.empty(groups, dtype=np.int64)
    place[group[order]] = order  # of several assignments the last stands
    return place[group]


def segment_sum(values: Array, indptr: Array) -> Array:
    r"""Return :math:`y_v = \sum_{indptr_v \le i < indptr_{v+1}} x_i` modulo 2^64 on any device.

    Shapes
    ------
    values : (E,) of int64, indptr : (N+1,) → (N,)
    """
    if not isinstance(values, Tensor):
        return _segment_sum(values, indptr)
    running = torch.zeros(len(values) + 1, dtype=torch.int64, device=values.device)
    torch.cumsum(values, 0, out=running[1:])
    ends = running[indptr]
    return ends[1:] - ends[:-1]


def _segment_sum(
    values: np.ndarray[Any, Any], indptr: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Add up short segments as differences of one running sum, longer ones each by itself.

    Whichever numpy does faster.
    """
    rows = len(indptr) - 1
    if len(values) < _LONG_SEGMENT * rows:
        running = np.empty(len(values) + 1, dtype=np.int64)
        running[0] = 0
        np.cumsum(values, out=running[1:])
        ends = running[indptr]
        difference: np.ndarray[Any, Any] = ends[1:] - ends[:-1]
        return difference
    total = np.zeros(rows, dtype=np.int64)
    if len(values):
        filled_rows = np.flatnonzero(indptr[1:] != indptr[:-1])
        total[filled_rows] = np.add.reduceat(values, indptr[filled_rows])
    return total
