"""Readout: from the states of nodes to one vector per graph."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from edgnn.errors import ModelError
from edgnn.graphs import CSR
from edgnn.nn._inputs import Inputs, Matrix
from edgnn.nn.ops import sparse_product

Readout = Literal["sum", "mean", "max"]


def readout(x: Tensor, inputs: Inputs, kind: Readout = "sum") -> Tensor:
    """Return the sum, mean or maximum of the states of each graph's nodes.

    Zeros for a graph without nodes.

    Shapes
    ------
    x : (…, N, d) → (…, G, d)
    """
    if kind == "max":
        return _maximum(x, inputs)
    total = sparse_product(inputs.pool, x, inputs.pool_t)
    return total if kind == "sum" else total / inputs.sizes.clamp(min=1).unsqueeze(-1)


def input_readout(inputs: Inputs, kind: Readout = "sum") -> Matrix:
    """Return the readout of the inputs themselves (t = 0)."""
    if kind == "sum":
        return inputs.graph_H0
    if isinstance(inputs.H0, Tensor):
        return readout(inputs.H0, inputs, kind)
    sums = inputs.graph_H0
    if kind == "max" or not isinstance(sums, CSR) or sums.values is None:
        raise ModelError(
            f"readout={kind!r} of so many one-hot labels is not offered: give the model an "
            "embedding, or include_input=False"
        )
    share = 1 / inputs.sizes.clamp(min=1).to(sums.values.dtype)
    return replace(
        sums, values=sums.values * torch.repeat_interleave(share.flatten(), sums.indptr.diff())
    )


def _maximum(x: Tensor, inputs: Inputs) -> Tensor:
    graphs = inputs.sizes.shape[-1]
    owner = _owner(inputs, graphs).unsqueeze(-1).expand(x.shape)
    result = x.new_zeros(*x.shape[:-2], graphs + 1, x.shape[-1])
    return result.scatter_reduce(-2, owner, x, "amax", include_self=False)[..., :-1, :]


def _owner(inputs: Inputs, graphs: int) -> Tensor:
    """Return the graph of every node, within its member's block; padding is one graph more."""
    pool_t = inputs.pool_t
    there, owner = (
        pool_t.indptr.diff() > 0,
        torch.full((pool_t.shape[0],), graphs, device=pool_t.indptr.device),
    )
    if pool_t.nnz:
        listed = pool_t.indices[pool_t.indptr[:-1].clamp(max=pool_t.nnz - 1)].long() % graphs
        owner = torch.where(there, listed, owner)
    return owner if inputs.mask is None else owner.view(inputs.mask.shape)
