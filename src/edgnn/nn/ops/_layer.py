"""The sum inside a layer on CUDA as one step: a row sum, one pass for all dense products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from edgnn.graphs import Structure, Window
from edgnn.nn.ops._row_sum import _on_device, row_sum, sparse_product

#: From so many rows on one pass is faster than a product at a time; below, all are too short to
#: matter.
_LEAST_ROWS = 8192
_MOST_PRODUCTS = 2  # beside the states' own and their neighbors'
_NARROWEST = 32  # up to here tiles would be mostly empty
_WIDEST = 256  # beyond, compiling takes long and products are better done one by one


def fits_layer(x: Tensor, structure: Structure, widths: tuple[int, int]) -> bool:
    """Return whether :func:`layer_sum` takes these states, constants and widths."""
    neighbors = structure.neighbors
    is_shared = neighbors.blocks == 1 and not isinstance(neighbors, Window)
    is_single = x.dim() == 2 or (len(x) == 1 and is_shared)
    is_whole = structure.halo is None and neighbors.shape[0] == neighbors.shape[1]
    is_float = x.dtype in (torch.float32, torch.bfloat16)
    is_large = x.shape[-2] >= _LEAST_ROWS
    if not all((_on_device(x.device), is_float, is_large, is_single, is_whole)):
        return False
    return _fits_widths(structure, *widths)


def _fits_widths(structure: Structure, in_dim: int, out_dim: int) -> bool:
    constants = (structure.C_in, structure.C_out, structure.F_in, structure.F_out)
    dense = [constant.shape[1] for constant in constants if isinstance(constant, Tensor)]
    if len(dense) > _MOST_PRODUCTS or in_dim > out_dim:
        return False
    return out_dim > _NARROWEST and max(out_dim, *dense, 0) <= _WIDEST


def layer_sum(
    x: Tensor,
    structure: Structure,
    W1: Tensor,
    W2: Tensor,
    constants: Sequence[Tensor],
    weights: Sequence[Tensor],
    addend: Tensor | None,
    bias: Tensor | None,
) -> Tensor:
    r"""Return :math:`X W_1 + A X W_2 + \sum_i C_i V_i + S + b` for dense constants :math:`C_i`.

    Differentiable, as often as wanted. Memory: :math:`A X` while it computes; nothing but ``x`` is
    kept for the backward pass, which needs :math:`A^T G` likewise.

    Shapes
    ------
    x (N, d), W1 (d, d'), W2 (d, d'), constants (N, k_i), weights (k_i, d'), addend (N, d'), bias
    (d',) → (N, d'); with a single member, all but the constants have a leading axis of one
    """
    if x.dim() == 3:
        x, W1, W2 = x[0], W1[0], W2[0]
        addend, bias = (None if part is None else part[0] for part in (addend, bias))
        return layer_sum(
            x, structure, W1, W2, constants, [weight[0] for weight in weights], addend, bias
        ).unsqueeze(0)
    if torch.is_autocast_enabled("cuda"):
        dtype = torch.get_autocast_dtype("cuda")
        x, W1, W2 = (part.to(dtype) for part in (x, W1, W2))
        weights, bias = (
            [weight.to(dtype) for weight in weights],
            None if bias is None else bias.to(dtype),
        )
    constants = [_compact(constant) for constant in constants]
    result: Tensor = _LayerSum.apply(  # type: ignore[no-untyped-call]
        x, addend, bias, W1, W2, structure, constants, *weights
    )
    return result


#: One-byte copies of constants that are small counts, and ``None`` for others, as long as these
#: live unchanged.
_COMPACT: Any = WeakTensorKeyDictionary()


def _compact(constant: Tensor) -> Tensor:
    """Return counts that fit into one byte as such.

    That is a quarter of the reading, and such factors need no splitting.
    """
    version, found = _COMPACT.get(constant, (None, None))
    if version != constant._version:
        small = constant.to(torch.uint8)
        found = small if bool((small == constant).all()) else None
        _COMPACT[constant] = constant._version, found
    return constant if found is None else found


class _LayerSum(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        addend: Tensor | None,
        bias: Tensor | None,
        W1: Tensor,
        W2: Tensor,
        structure: Structure,
        constants: Sequence[Tensor],
        *weights: Tensor,
    ) -> Tensor:
        from edgnn.nn.ops._layer_triton import products

        ctx.save_for_backward(x, W1, W2)
        ctx.structure, ctx.constants, ctx.types = (
            structure,
            constants,
            [weight.dtype for weight in weights],
        )
        parts = [x, row_sum(structure.neighbors, x), *constants]
        return products(parts, [W1, W2, *weights], addend, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        from edgnn.nn.ops._layer_triton import products, weight_gradients

        (x, W1, W2), structure = ctx.saved_tensors, ctx.structure
        upstream = gradients[0].contiguous()
        turned = structure.neighbors.T if structure.neighbors_t is None else structure.neighbors_t
        if torch.is_grad_enabled():
            around = sparse_product(turned, upstream, structure.neighbors)
            plain = _plain_gradients(x, W1, W2, ctx.constants, upstream, around)
            needed = zip(plain, ctx.needs_input_grad, strict=True)
            return tuple(gradient if is_needed else None for gradient, is_needed in needed)
        around = row_sum(turned, upstream)
        of_x = products([upstream, around], [W1.T, W2.T]) if ctx.needs_input_grad[0] else None
        of_addend = upstream if ctx.needs_input_grad[1] else None
        if not any(ctx.needs_input_grad[2:]):
            return of_x, of_addend, *[None] * (5 + len(ctx.constants))
        pairs = [(x, upstream), (x, around), *((constant, upstream) for constant in ctx.constants)]
        (of_W1, of_W2, *rest), sums = weight_gradients(pairs)
        of_bias = sums.to(upstream.dtype) if ctx.needs_input_grad[2] else None
        of_weights = [gradient.to(kind) for gradient, kind in zip(rest, ctx.types, strict=True)]
        return (
            of_x,
            of_addend,
            of_bias,
            of_W1.to(W1.dtype),
            of_W2.to(W2.dtype),
            None,
            None,
            *of_weights,
        )


def _plain_gradients(
    x: Tensor, W1: Tensor, W2: Tensor, constants: Sequence[Tensor], upstream: Tensor, around: Tensor
) -> tuple[Tensor | None, ...]:
    """Return all gradients in operations that have derivatives themselves."""
    return (
        upstream @ W1.T + around @ W2.T,
        upstream,
        upstream.sum(0),
        x.T @ upstream,
        x.T @ around,
        None,
        None,
        *(constant.to(upstream.dtype).T @ upstream for constant in constants),
    )
