"""Sums over neighbors with weights of their relation: pairs (relation, node), then products."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from edgnn.graphs import Relations
from edgnn.nn.ops._row_sum import sparse_product

#: Pairs are worked on in pieces whose states take about so many bytes: less than what is fetched
#: from the system anew at every use.
_PIECE_BYTES = {"cpu": 2**24, "cuda": 2**28}
#: Pieces have at least so many pairs per relation, or products would be too small.
_PIECE_ROWS = 512


def relational_product(
    x: Tensor, weight: Tensor, relations: Relations, *, mean: bool = False
) -> Tensor:
    r"""Return :math:`y_v = \sum_r \sum_{u \in N_r(v)} x_u W_r`.

    With ``mean``, the average over each :math:`N_r(v)` instead of its sum.

    Differentiable by ``x`` and ``weight``, as often as wanted; the same call gives the same bits.
    The backward pass is the same sum over reversed edges, so nothing is kept between the two but
    ``x`` and ``weight``, and nothing is as large as the edges: pairs are worked on in pieces.

    Parameters
    ----------
    x : Tensor
        States, one row for each column of ``relations.gather``.
    weight : Tensor
        :math:`W_r` for every relation.
    relations : Relations
        By target.

    Shapes
    ------
    x (C, d), weight (R, d, k) → (N, k);  x (M, C, d) or (C, d), weight (M, R, d, k) → (M, N, k),
    where all members share the
    relations, or these have a block for each
    """
    kind = x.device.type
    has_autocast = kind != "meta" and torch.is_autocast_enabled(kind)
    if has_autocast and x.dtype != torch.float64:
        x, weight = (part.to(torch.get_autocast_dtype(kind)) for part in (x, weight))
    if mean:
        relations = relations.averaged(torch.float64 if x.dtype == torch.float64 else torch.float32)
    if x.dim() + 1 == weight.dim():
        return _apply(x, weight, relations)
    members, groups, width, out_width = (
        weight.shape
    )  # shared states are gathered once and multiplied with all members' weights
    side_by_side = weight.permute(1, 2, 0, 3).reshape(groups, width, members * out_width)
    together = _apply(x, side_by_side, relations)
    return together.view(-1, members, out_width).transpose(0, 1).contiguous()


def _apply(x: Tensor, weight: Tensor, relations: Relations) -> Tensor:
    # made contiguous here, not inside: what is saved for a second derivative has to be an input
    product: Tensor = _RelationalProduct.apply(  # type: ignore[no-untyped-call]
        x.contiguous(), weight, relations
    )
    return product


class _RelationalProduct(torch.autograd.Function):
    """The product; its gradients are such a product and a :class:`_RelationalOuter`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, relations: Relations) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.relations = relations
        out = _empty_rows(x, weight, relations)
        for first, piece in _pieces(relations, x, max(weight.shape[-2:])):
            sent = _sent(piece, x, weight, _received(piece, x))
            _put(out, first, sparse_product(piece.spread, sent))
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        (x, weight), relations = ctx.saved_tensors, ctx.relations
        of_x, of_weight = ctx.needs_input_grad[:2]
        grad = grads[0].contiguous()
        if not torch.is_grad_enabled():
            return *_gradients(x, weight if of_x else None, grad, relations, of_weight), None
        # the gradients will be differentiated themselves
        x_grad = _apply(grad, _turned(weight, relations), relations.turned) if of_x else None
        weight_grad = _outer(x, grad, relations) if of_weight else None
        return x_grad, weight_grad, None


class _RelationalOuter(torch.autograd.Function):
    r"""The gradient by the weights, :math:`\sum_v \sum_{u \in N_r(v)} x_u^T g_v` per relation."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, grad: Tensor, relations: Relations) -> Tensor:
        ctx.save_for_backward(x, grad)
        ctx.relations = relations
        _, outer = _gradients(x, None, grad, relations, True)
        assert outer is not None
        return outer

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        (x, grad), relations, weight = ctx.saved_tensors, ctx.relations, grads[0]
        of_x, of_grad = ctx.needs_input_grad[:2]
        x_grad = _apply(grad, _turned(weight, relations), relations.turned) if of_x else None
        return x_grad, _apply(x, weight, relations) if of_grad else None, None


def _outer(x: Tensor, grad: Tensor, relations: Relations) -> Tensor:
    outer: Tensor = _RelationalOuter.apply(x, grad, relations)  # type: ignore[no-untyped-call]
    return outer


def _gradients(
    x: Tensor, weight: Tensor | None, grad: Tensor, relations: Relations, of_weight: bool
) -> tuple[Tensor | None, Tensor | None]:
    """Sum over reversed edges, once for both gradients.

    Where s is what u gets back over r, x' adds up s W_r^T, and W_r' adds up x_u^T s. Without a
    weight, x' is not asked for.
    """
    turned = relations.turned
    x_grad = weight_t = weight_grad = None
    if weight is not None:
        weight_t = _turned(weight, relations)
        x_grad = _empty_rows(grad, weight_t, turned)
    if of_weight:
        shape = (*x.shape[:-2], relations.num_relations, x.shape[-1], grad.shape[-1])
        total_type = torch.float64 if x.dtype == torch.float64 else torch.float32
        weight_grad = torch.zeros(shape, dtype=total_type, device=x.device)
    for first, piece in _pieces(turned, grad, max(x.shape[-1], grad.shape[-1])):
        received = _received(piece, grad)
        if weight_grad is not None:
            _add_outer(weight_grad, piece, x, first, grad, received)
        if x_grad is not None and weight_t is not None:
            sent = _sent(piece, grad, weight_t, received)
            _put(x_grad, first, sparse_product(piece.spread, sent))
    if weight_grad is not None:
        weight_grad = weight_grad.roll(-_shift(relations), -3).to(x.dtype)
    return x_grad, weight_grad


def _turned(weight: Tensor, relations: Relations) -> Tensor:
    """Return the transposed weights, each under the number of its relation reversed."""
    return weight.roll(_shift(relations), -3).mT


def _shift(relations: Relations) -> int:
    """Return how far the number of a relation reversed is from its own."""
    return relations.num_relations // 2 if relations.mirrored else 0


def _empty_rows(x: Tensor, weight: Tensor, relations: Relations) -> Tensor:
    """Return room for the result, zeros where no piece will fill it."""
    make = x.new_empty if relations.offset[-1] else x.new_zeros
    return make(
        *x.shape[:-2], relations.spread.shape[0] // relations.spread.blocks, weight.shape[-1]
    )


def _pieces(relations: Relations, x: Tensor, width: int) -> tuple[tuple[int, Relations], ...]:
    """Cut relations into pieces of bounded size.

    Sizes are powers of two, so that layers of various widths share the pieces.
    """
    if not relations.offset[-1]:
        return ()
    members = len(x) if x.dim() == 3 else 1
    pairs = _PIECE_BYTES.get(x.device.type, 2**28) // (members * width * x.element_size())
    return relations.in_pieces(
        1 << max(pairs, _PIECE_ROWS * relations.num_relations).bit_length() - 1
    )


def _put(out: Tensor, first: int, part: Tensor) -> None:
    out[..., first : first + part.shape[-2], :] = part


def _on_device(x: Tensor) -> bool:
    """Whether the kernels for devices are used; they have no float64."""
    return x.device.type == "cuda" and x.dtype != torch.float64


def _received(piece: Relations, x: Tensor) -> Tensor | None:
    """Add up states per pair, unless kernels do that themselves."""
    if _on_device(x):
        from edgnn.nn.ops._grouped_triton import gathers_itself

        if gathers_itself(piece):
            return None
    return sparse_product(piece.gather, x)


def _sent(piece: Relations, x: Tensor, weight: Tensor, received: Tensor | None) -> Tensor:
    """Multiply each pair with the weights of its relation."""
    if _on_device(x):
        from edgnn.nn.ops._grouped_triton import grouped_product

        return grouped_product(piece, x, weight, received)
    assert received is not None
    sent = received.new_empty(*received.shape[:-1], weight.shape[-1])
    for relation, rows in _by_relation(piece):
        torch.matmul(received[..., rows, :], weight[..., relation, :, :], out=sent[..., rows, :])
    return sent


def _add_outer(
    total: Tensor, piece: Relations, x: Tensor, first: int, grad: Tensor, received: Tensor | None
) -> None:
    """Add, per relation, the products of the pairs' own states with what they received."""
    if _on_device(x):
        from edgnn.nn.ops._grouped_triton import add_grouped_outer

        add_grouped_outer(total, piece, x, first, grad, received)
        return
    assert received is not None
    nodes = x.flatten(0, -2) if piece.gather.blocks > 1 else x[..., first:, :]
    own_t = nodes.index_select(-2, piece.owner).view(*received.shape[:-1], -1).mT
    for relation, rows in _by_relation(piece):
        part = total[..., relation, :, :]
        if part.dim() == 2 and part.dtype == x.dtype:
            part.addmm_(own_t[:, rows], received[rows])
        else:
            part += own_t[..., rows] @ received[..., rows, :]


def _by_relation(piece: Relations) -> Iterator[tuple[int, slice]]:
    """Return the rows of each relation that has any."""
    return (
        (relation, slice(*ends))
        for relation, ends in enumerate(pairwise(piece.offset))
        if ends[0] < ends[1]
    )
