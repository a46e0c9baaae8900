"""Proof that a round of refinement merged nothing: classes compared entry by entry."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from edgnn._arrays import Array, arange, argsort, changes, filled, repeat, runs
from edgnn.wl._neighborhood import Neighborhood


def prove_round(around: Neighborhood, before: Array, after: Array, first: bool) -> bool:
    """Return whether nodes of one color ``after`` a round looked alike ``before`` it.

    ``first`` says that the round also looked at the fixed entries. Each node is compared with one
    example of its color, so the proof takes one sort of the entries and no comparison of pairs.
    """
    example = examples(after)
    if bool((before != before[example]).any()):
        return False
    codes = filled(around.num_entries, 0, after) if around.codes is None else around.codes
    if not _same_rows(around.indptr, codes, before[around.indices], example):
        return False
    if not first or around.fixed_codes is None:
        return True
    colorless = filled(len(around.fixed_codes), 0, after)
    return _same_rows(around.fixed_indptr, around.fixed_codes, colorless, example)


def examples(color: Array) -> Array:
    """Return, for every node, one node of its color: the first."""
    order = argsort(color, stable=True)
    begin, size = runs(changes(color[order]))
    leader = filled(len(order), 0, color)
    leader[order] = repeat(order[begin], size)
    return leader


def _same_rows(indptr: Array, codes: Array, colors: Array, example: Array) -> bool:
    """Return whether every row of (code, color) pairs is, in some order, that of its example."""
    length = indptr[1:] - indptr[:-1]
    if bool((length != length[example]).any()):
        return False
    order = _within_rows(repeat(arange(len(length), length), length), codes, colors)
    codes, colors = codes[order], colors[order]
    other = arange(len(codes), codes) + repeat(indptr[example] - indptr[:-1], length)
    return not bool(((codes != codes[other]) | (colors != colors[other])).any())


def _within_rows(rows: Array, codes: Array, colors: Array) -> Array:
    """Return the order that sorts by row, then code, then color."""
    if not isinstance(rows, Tensor):
        return np.lexsort((colors, codes, rows))
    order = argsort(colors, stable=True)
    for key in (codes, rows):
        order = order[argsort(key[order], stable=True)]
    return order
