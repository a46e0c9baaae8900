"""The rules of a packed labeled digraph, checked a piece at a time; each broken one is an error that names the element."""

from __future__ import annotations

import numpy as np

from edgnn.errors import GraphError
from edgnn.io._array_files import Array

_PIECE = 2**22


def label_numbers(numbers: Array, size: int, start: int, what: str) -> None:
    """Check the label numbers of the elements from ``start`` on against a vocabulary of ``size`` values."""
    if len(numbers) and (numbers.min() < 0 or numbers.max() >= size):
        place = int(np.flatnonzero((numbers < 0) | (numbers >= size))[0])
        raise GraphError(f"{what} {start + place} has the label number {numbers[place]}, but the vocabulary has {size}")


def ends(source: Array, target: Array, low: Array | int, high: Array | int, start: int) -> None:
    """Check that the edges from ``start`` on join nodes from ``low`` to ``high``, bounds of their graph."""
    for side, verb in ((source, "starts at"), (target, "points to")):
        outside = np.flatnonzero((side < low) | (side >= high))
        if len(outside):
            place = int(outside[0])
            first, last = (int(np.broadcast_to(bound, side.shape)[place]) for bound in (low, high))
            raise GraphError(
                f"edge {start + place} {verb} node {side[place]}, but its graph has the nodes from {first} to {last - 1}"
                if first < last
                else f"edge {start + place} {verb} node {side[place]}, but its graph has no nodes"
            )


def finite(features: Array, start: int, what: str) -> None:
    """Check that the feature rows from ``start`` on hold finite numbers."""
    step = max(1, _PIECE // max(1, features.shape[1]))
    for first in range(0, len(features), step):
        piece = features[first : first + step]
        if not np.isfinite(piece).all():
            row, column = (int(place) for place in np.argwhere(~np.isfinite(piece))[0])
            raise GraphError(
                f"feature {column} of {what} {start + first + row} is {piece[row, column]}; features must be finite: "
                "fill in or drop missing values first"
            )


def offsets(offset: Array, total: int, name: str) -> None:
    """Check that ``offset`` rises from 0 to ``total``."""
    if len(offset) == 0 or offset[0] != 0 or offset[-1] != total or (np.diff(offset) < 0).any():
        raise GraphError(f"{name} must rise from 0 to {total}")
