"""Proof that a round of refinement merged nothing: classes compared entry by entry."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from edgnn.wl._neighborhood import Neighborhood


def prove_round(around: Neighborhood, before: Tensor, after: Tensor, first: bool) -> bool:
    """Return whether nodes of one color ``after`` the round had the same color and the same neighborhood ``before`` it.

    ``first`` says that the round also looked at the fixed entries.
    """
    _, example = _examples(after)
    if not torch.equal(before, before[example]):
        return False
    codes = torch.zeros_like(around.indices, dtype=torch.int64) if around.codes is None else around.codes
    if not _same_rows(around.indptr, _arranged(around.indptr, codes, before[around.indices]), example):
        return False
    if first and around.fixed_indptr is not None and around.fixed_codes is not None:
        nothing = torch.zeros_like(around.fixed_codes)
        return _same_rows(around.fixed_indptr, _arranged(around.fixed_indptr, around.fixed_codes, nothing), example)
    return True


def _examples(color: Tensor) -> tuple[Tensor, Tensor]:
    """Return the distinct colors, and for every node one node of its color."""
    distinct, position = torch.unique(color, return_inverse=True)
    example = torch.empty(len(distinct), dtype=torch.int64, device=color.device)
    example[position] = torch.arange(len(color), device=color.device)
    return distinct, example[position]


def _arranged(indptr: Tensor, codes: Tensor, colors: Tensor) -> Tensor:
    """Return (code, color) pairs, sorted within each row, as a matrix of two columns."""
    rows = torch.repeat_interleave(torch.arange(len(indptr) - 1, device=indptr.device), indptr.diff())
    if rows.device.type == "cpu":
        order = torch.from_numpy(np.lexsort((colors.numpy(), codes.numpy(), rows.numpy())))
    else:
        order = torch.argsort(colors, stable=True)
        order = order[torch.argsort(codes[order], stable=True)]
        order = order[torch.argsort(rows[order], stable=True)]
    return torch.stack([codes[order], colors[order]], 1)


def _same_rows(indptr: Tensor, entries: Tensor, example: Tensor) -> bool:
    """Return whether every row equals the row of its example."""
    length = indptr.diff()
    if not torch.equal(length, length[example]):
        return False
    shift = torch.repeat_interleave(indptr[example] - indptr[:-1], length)
    position = torch.arange(len(entries), device=entries.device)
    return torch.equal(entries, entries[position + shift])
