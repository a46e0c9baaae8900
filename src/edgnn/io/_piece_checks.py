"""The rules of a packed labeled digraph, checked a piece at a time."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from edgnn.errors import GraphError
from edgnn.io._common import Array

_PIECE = 2**22


def whole_number(value: Any, least: int, rule: str) -> int:
    """Return users' whole number, of any kind, as Python's own.

    One that is none, or below ``least``, breaks the ``rule``.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise GraphError(rule) from None
    if number < least or isinstance(value, bool):
        raise GraphError(rule)
    return number


def length(values: Any, what: str) -> int:
    """Return how many values there are, in an order that tells whose each one is."""
    try:
        size = len(values)
    except TypeError:
        size = -1
    if size < 0 or isinstance(values, Set | Mapping):
        kind = type(values).__name__
        raise GraphError(f"{what} must be a list or another sequence, got a {kind}")
    return size


def label_numbers(numbers: Array, size: int, start: int, what: str) -> None:
    """Check label numbers of elements from ``start`` on against a vocabulary of ``size`` values."""
    outside = (numbers < 0) | (numbers >= size)
    if outside.any():
        element = int(np.argmax(outside))
        raise GraphError(
            f"{what} {start + element} has the label number {numbers[element]}, "
            f"but the vocabulary has {size}"
        )


def ends(source: Array, target: Array, low: Array | int, high: Array | int, start: int) -> None:
    """Check that edges from ``start`` on join nodes from ``low`` to ``high``."""
    for side, verb in ((source, "starts at"), (target, "points to")):
        outside = (side < low) | (side >= high)
        if outside.any():
            edge = int(np.argmax(outside))
            first = int(np.broadcast_to(low, side.shape)[edge])
            last = int(np.broadcast_to(high, side.shape)[edge]) - 1
            nodes = f"the nodes from {first} to {last}" if first <= last else "no nodes"
            raise GraphError(
                f"edge {start + edge} {verb} node {side[edge]}, but its graph has {nodes}"
            )


def ends_within(
    source: Array, target: Array, start: int, offset: Array, edge_offset: Array
) -> None:
    """Check that the edges from ``start`` on stay within their graphs.

    ``edge_offset`` is looked at where there are several.
    """
    low, high = offset[0], offset[-1]
    if len(offset) > 2:
        graph = (
            np.searchsorted(edge_offset, np.arange(start, start + len(source)), side="right") - 1
        )
        low, high = offset[graph], offset[graph + 1]
    ends(source, target, low, high, start)


def finite(features: Array, start: int, what: str) -> None:
    """Check that the feature rows from ``start`` on hold finite numbers."""
    step = max(1, _PIECE // max(1, features.shape[1]))
    for first in range(0, len(features), step):
        piece = features[first : first + step]
        if not np.isfinite(piece).all():
            row, column = np.argwhere(~np.isfinite(piece))[0].tolist()
            raise GraphError(
                f"feature {column} of {what} {start + first + row} is {piece[row, column]}; "
                "features must be finite: fill in or drop missing values first"
            )


def offsets(offset: Array, total: int, name: str) -> None:
    """Check that ``offset`` rises from 0 to ``total``."""
    rises = len(offset) > 0 and offset[0] == 0 and offset[-1] == total
    for start in range(0, len(offset), _PIECE):
        piece = offset[start : start + _PIECE + 1]
        rises = rises and bool((piece[:-1] <= piece[1:]).all())
    if not rises:
        raise GraphError(f"{name} must rise from 0 to {total}")


def columns(indices: Array, size: int, name: str) -> None:
    """Check that ``indices`` are columns of a matrix that has ``size`` of them."""
    if len(indices) and (indices.min() < 0 or indices.max() >= size):
        raise GraphError(f"{name} must lie between 0 and {size - 1}")
