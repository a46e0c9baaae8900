"""Proof that a round of refinement merged nothing: classes compared entry by entry."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from edgnn._arrays import Array, arange, argsort, filled, repeat
from edgnn.wl._neighborhood import Neighborhood


def prove_round(around: Neighborhood, before: Array, after: Array, first: bool) -> bool:
    """Return whether nodes of one color ``after`` the round had the same color and the same neighborhood ``before`` it.

    ``first`` says that the round also looked at the fixed entries.
    """
    example = examples(after)
    if bool((before != before[example]).any()):
        return False
    codes = filled(around.num_entries, 0, after) if around.codes is None else around.codes
    if not _same_rows(around.indptr, codes, before[around.indices], example):
        return False
    if first and around.fixed_codes is not None:
        return _same_rows(
            around.fixed_indptr,
            around.fixed_codes,
            filled(len(around.fixed_codes), 0, after),
            example,
        )
    return True


def examples(color: Array) -> Array:
    """Return, for every node, one node of its color."""
    order = argsort(color, stable=True)
    arranged = color[order]
    start = filled(len(order), 0, color)
    start[1:] = arranged[1:] != arranged[:-1]
    group = start.cumsum(0)
    leader = filled(len(order), 0, color)
    leader[order] = order[_first_of(group)]
    return leader


def _first_of(group: Array) -> Array:
    """Return, for every place of a rising sequence, the first place with the same number."""
    place = arange(len(group), group)
    begin = filled(len(group), 0, group)
    if len(group):
        new = filled(len(group), True, group)
        new[1:] = group[1:] != group[:-1]
        begin = place[new][group]
    return begin


def _same_rows(indptr: Array, codes: Array, colors: Array, example: Array) -> bool:
    """Return whether every row of (code, color) pairs equals, in some order, the row of its example."""
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
