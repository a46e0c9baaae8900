"""Exact 64-bit integer arithmetic on arrays: mixing, and sums over segments, modulo 2^64."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

_FIRST = -0x40A7B892E31B1A47  # the odd multipliers of splitmix64, as signed numbers
_SECOND = -0x6B2FB644ECCEEE15
_GOLDEN = -0x61C8864680B583EB


def mix(values: Tensor, seed: int = 0) -> Tensor:
    """Return pseudo-random 64-bit numbers that depend on every bit of ``values``; equal inputs give equal outputs.

    Shapes
    ------
    values : any shape of int64 → the same
    """
    mixed = (values + _offset(seed)) * _GOLDEN
    mixed = (mixed ^ _shift_right(mixed, 30)) * _FIRST
    mixed = (mixed ^ _shift_right(mixed, 27)) * _SECOND
    return mixed ^ _shift_right(mixed, 31)


def _offset(seed: int) -> int:
    """Spread seeds over all 64-bit numbers, so that the inputs of two seeds do not overlap."""
    spread = (seed + 1) * 0xD1342543DE82EF95 & (2**64 - 1)
    spread = (spread ^ (spread >> 32)) * 0xDABA0B6EB09322E3 & (2**64 - 1)
    return spread - 2**64 if spread >= 2**63 else spread


def _shift_right(values: Tensor, bits: int) -> Tensor:
    """Shift in zeros from the left; torch's own shift of signed numbers copies the sign."""
    return (values >> bits) & ((1 << (64 - bits)) - 1)


def segment_sum(values: Tensor, indptr: Tensor) -> Tensor:
    r"""Return :math:`y_v = \sum_{indptr_v \le i < indptr_{v+1}} x_i` modulo 2^64, the same bits on every device.

    Shapes
    ------
    values : (E,), indptr : (N+1,) → (N,)
    """
    if values.device.type == "cpu":
        return _segment_sum_cpu(values, indptr)
    running = torch.zeros(len(values) + 1, dtype=torch.int64, device=values.device)
    torch.cumsum(values, 0, out=running[1:])
    return running[indptr[1:].long()] - running[indptr[:-1].long()]


def _segment_sum_cpu(values: Tensor, indptr: Tensor) -> Tensor:
    starts = indptr.numpy()[:-1]
    total = torch.zeros(len(starts), dtype=torch.int64)
    if len(values) == 0:
        return total
    filled = np.flatnonzero(np.diff(indptr.numpy()))
    total.numpy()[filled] = np.add.reduceat(values.numpy(), starts[filled])
    return total
