"""Integer arrays on either side: numpy on the CPU, torch on a device, behind one set of names.

On the CPU numpy is used on purpose: its calls take microseconds and one thread, so thousands of small rounds stay fast on a busy
machine, where torch waits for its threads at every indexing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

#: numpy int64 or bool array on the CPU, torch tensor elsewhere. Indexing, arithmetic and comparison read the same for both.
Array = Any


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
    return np.full(size, value)


def argsort(values: Array, stable: bool = False) -> Array:
    """Return the order that sorts ``values``."""
    if isinstance(values, Tensor):
        return torch.argsort(values, stable=stable)
    return np.argsort(values, kind="stable" if stable else None)


def nonzero(mask: Array) -> Array:
    """Return the positions of true entries."""
    return mask.nonzero()[:, 0] if isinstance(mask, Tensor) else np.flatnonzero(mask)


def cumsum(values: Array) -> Array:
    """Return running sums."""
    return torch.cumsum(values, 0) if isinstance(values, Tensor) else np.cumsum(values)


def where(mask: Array, yes: Array, no: Array) -> Array:
    """Return ``yes`` where ``mask`` is true and ``no`` elsewhere."""
    return torch.where(mask, yes, no) if isinstance(mask, Tensor) else np.where(mask, yes, no)


def concat(parts: list[Array]) -> Array:
    """Return arrays behind one another."""
    return torch.cat(parts) if isinstance(parts[0], Tensor) else np.concatenate(parts)


def repeat(values: Array, times: Array) -> Array:
    """Return each value as often as its count says."""
    return torch.repeat_interleave(values, times) if isinstance(values, Tensor) else np.repeat(values, times)


def count(numbers: Array, size: int) -> Array:
    """Return how often each of 0, 1, …, size − 1 occurs."""
    return (torch if isinstance(numbers, Tensor) else np).bincount(numbers, minlength=size)


def segment_sum(values: Array, indptr: Array) -> Array:
    r"""Return :math:`y_v = \sum_{indptr_v \le i < indptr_{v+1}} x_i` modulo 2^64, the same bits on every device.

    Shapes
    ------
    values : (E,) of int64, indptr : (N+1,) → (N,)
    """
    if isinstance(values, Tensor):
        running = torch.zeros(len(values) + 1, dtype=torch.int64, device=values.device)
        torch.cumsum(values, 0, out=running[1:])
        return running[indptr[1:]] - running[indptr[:-1]]
    total = np.zeros(len(indptr) - 1, dtype=np.int64)
    if len(values):
        rows = np.flatnonzero(indptr[1:] != indptr[:-1])
        total[rows] = np.add.reduceat(values, indptr[rows])
    return total
