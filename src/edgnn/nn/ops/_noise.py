"""Randomness as a function of a seed, a purpose and a position, and of nothing before it.

A generator with a state would make a member's numbers depend on how many others drew before it.
Here every number is a hash of where it is used, so that a member is the same alone, in a fleet of
any size, after resuming, and on every device.
"""

from __future__ import annotations

import torch
from torch import Tensor

from edgnn._hashing import mix

_COUNTER = -0x61C88647  # odd 32-bit multipliers, as signed numbers
_FIRST = 0x7FEB352D
_SECOND = -0x7B935975


def keys(seeds: Tensor, *purpose: int | Tensor) -> Tensor:
    """Return one 64-bit key per seed and purpose.

    A purpose is a few whole numbers, or tensors of one: what it is for, the epoch, the step, …

    Shapes
    ------
    seeds : (M,) → (M,)
    """
    mixed: Tensor = mix(seeds)
    for number in purpose:
        mixed = mix(mixed, number)
    return mixed


def random_order(seeds: Tensor, length: int, *purpose: int) -> Tensor:
    """Return a random number for each of ``length`` positions of each member, to shuffle by.

    Shapes
    ------
    seeds : (M,) → (M, length)
    """
    places = torch.arange(length, device=seeds.device)
    order: Tensor = mix(keys(seeds, *purpose)[:, None] + mix(places))
    return order


def keep_mask(key: Tensor, rows: int | Tensor, width: int, rate: Tensor | float) -> Tensor:
    """Return which entries dropout keeps, whatever the number of rows.

    Each is dropped with probability ``rate``, to 16 bits.

    ``rows`` is how many there are, or which: the mask of row v is the same in both forms.

    Shapes
    ------
    key : (M,), rows : (R,), rate : () or (M,) → (M, R, width) of bool
    """
    count = rows if isinstance(rows, int) else len(rows)
    numbers, halves = _numbers(rows, width, key.device)  # one number for two entries
    bits = numbers.mul_(_COUNTER)
    bits = bits ^ _low(key)[:, None]
    bits ^= (bits >> 16) & 0xFFFF
    bits *= _FIRST
    bits ^= (bits >> 15) & 0x1FFFF
    bits += _low(key >> 32)[:, None]
    bits *= _SECOND
    bits ^= (bits >> 16) & 0xFFFF
    limit = _limit(rate)
    return (bits.view(torch.int16)[:, halves] >= limit).view(len(key), count, width)


def _limit(rate: Tensor | float) -> Tensor | int:
    """Return the 16-bit number from which on entries are kept."""
    if not isinstance(rate, Tensor):
        return max(-(2**15), min(2**15 - 1, round(rate * 2**16 - 2**15)))
    threshold = (rate.to(torch.float64) * 2.0**16 - 2.0**15).round()
    return threshold.clamp(-(2.0**15), 2.0**15 - 1).to(torch.int16).reshape(-1, 1)


def _numbers(rows: int | Tensor, width: int, device: torch.device) -> tuple[Tensor, slice | Tensor]:
    """Return the numbers to be mixed, and where in the halves of the results the entries are."""
    if isinstance(rows, int):
        entries = rows * width
        return torch.arange((entries + 1) // 2, dtype=torch.int32, device=device), slice(0, entries)
    if width % 2 == 0:
        pairs = rows[:, None] * (width // 2) + torch.arange(width // 2, device=device)
        return pairs.flatten().to(torch.int32), slice(0, len(rows) * width)
    entries_ = (rows[:, None] * width + torch.arange(width, device=device)).flatten()
    return (entries_ // 2).to(torch.int32), 2 * torch.arange(
        len(entries_), device=device
    ) + entries_ % 2


def _low(numbers: Tensor) -> Tensor:
    """Return the lowest 32 bits as int32."""
    low = numbers & 0xFFFFFFFF
    return torch.where(low >= 2**31, low - 2**32, low).to(torch.int32)
