"""Mixing of 64-bit integers: the one hash function of the package."""

from __future__ import annotations

from torch import Tensor

from edgnn._arrays import Array

_FIRST = -0x40A7B892E31B1A47  # the odd multipliers of splitmix64, as signed numbers
_SECOND = -0x6B2FB644ECCEEE15
_GOLDEN = -0x61C8864680B583EB
_SPREAD, _SPREAD_AGAIN = 0xD1342543DE82EF95 - 2**64, 0xDABA0B6EB09322E3 - 2**64


def mix(values: Array, seed: int | Tensor = 0) -> Array:
    """Return pseudo-random 64-bit numbers that depend on every bit of ``values``, one-to-one.

    Shapes
    ------
    values : any shape of int64 → the same;  seed : a number, or one in a tensor
    """
    mixed = (values + (_offset_of(seed) if isinstance(seed, Tensor) else _offset(seed))) * _GOLDEN
    for bits, factor in ((30, _FIRST), (27, _SECOND)):
        mixed ^= _shift_right(mixed, bits)
        mixed *= factor
    mixed ^= _shift_right(mixed, 31)
    return mixed


def _offset(seed: int) -> int:
    """Spread seeds over all 64-bit numbers, so that the inputs of two seeds do not overlap."""
    spread = (seed + 1) * _SPREAD & (2**64 - 1)
    spread = (spread ^ (spread >> 32)) * _SPREAD_AGAIN & (2**64 - 1)
    return spread - 2**64 if spread >= 2**63 else spread


def _offset_of(seed: Tensor) -> Tensor:
    """Compute :func:`_offset` where the seed is."""
    spread = (seed + 1) * _SPREAD
    offset: Tensor = (spread ^ _shift_right(spread, 32)) * _SPREAD_AGAIN
    return offset


def _shift_right(values: Array, bits: int) -> Array:
    """Shift in zeros from the left; a shift of signed numbers copies the sign."""
    shifted = values >> bits
    shifted &= (1 << (64 - bits)) - 1
    return shifted
