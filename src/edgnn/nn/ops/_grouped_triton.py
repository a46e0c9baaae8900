"""Products per relation on CUDA: sum the neighbors of pairs of a relation, multiply at once."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"
from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from edgnn.graphs import CSR, Relations
from edgnn.nn.ops._row_sum import launching, row_sum

#: How much one program does: pairs at a time, columns of states; for gradients of weights, pairs at
#: a time and in all.
_ROWS, _COLUMNS = 64, 64
_OUTER_ROWS, _SPAN = 32, 2048
_WARPS = 4

#: Pairs with more entries are summed by :func:`row_sum` first, which knows how to cut them.
_LONGEST = 32


@triton.jit
def _gathered(
    indptr,
    indices,
    values,
    x,
    row,
    inside,
    column,
    has_column,
    width,
    weighted: tl.constexpr,
    rows: tl.constexpr,
    columns: tl.constexpr,
):
    """Return the sums over the entries of some rows."""
    start = tl.load(indptr + row, mask=inside, other=0)
    length = tl.load(indptr + row + 1, mask=inside, other=0) - start
    total = tl.zeros((rows, columns), dtype=tl.float32)
    for step in range(tl.max(length, axis=0)):
        there = step < length
        neighbor = tl.load(indices + start + step, mask=there, other=0).to(tl.int64)
        state = tl.load(
            x + neighbor[:, None] * width + column[None, :],
            mask=there[:, None] & has_column[None, :],
            other=0.0,
        ).to(tl.float32)
        if weighted:
            state *= tl.load(values + start + step, mask=there, other=0.0).to(tl.float32)[:, None]
        total += state
    return total


@triton.jit
def _product_kernel(
    tiles,
    indptr,
    indices,
    values,
    x,
    weight,
    out,
    nodes,
    pairs,
    groups,
    width,
    out_width,
    member_stride,
    group_stride,
    row_stride,
    column_stride,
    gathering: tl.constexpr,
    weighted: tl.constexpr,
    rows: tl.constexpr,
    columns: tl.constexpr,
    out_columns: tl.constexpr,
    precision: tl.constexpr,
):
    tile = tl.program_id(0)
    member = tl.program_id(2).to(tl.int64)
    group = tl.load(tiles + 3 * tile).to(tl.int64)
    row = tl.load(tiles + 3 * tile + 1) + tl.arange(0, rows)
    inside = row < tl.load(tiles + 3 * tile + 2)
    out_column = tl.program_id(1) * out_columns + tl.arange(0, out_columns)
    has_out = out_column < out_width
    weight += (member + group // groups) * member_stride + group % groups * group_stride
    total = tl.zeros((rows, out_columns), dtype=tl.float32)
    for begin in range(0, width, columns):
        column = begin + tl.arange(0, columns)
        has_column = column < width
        if gathering:
            state = _gathered(
                indptr,
                indices,
                values,
                x + member * nodes * width,
                row,
                inside,
                column,
                has_column,
                width,
                weighted,
                rows,
                columns,
            ).to(weight.dtype.element_ty)
        else:
            place = member * pairs + row
            state = tl.load(
                x + place[:, None] * width + column[None, :],
                mask=inside[:, None] & has_column[None, :],
                other=0.0,
            )
        part = tl.load(
            weight + column[:, None] * row_stride + out_column[None, :] * column_stride,
            mask=has_column[:, None] & has_out[None, :],
            other=0.0,
        )
        total = tl.dot(state, part, total, input_precision=precision)
    place = member * pairs + row
    tl.store(
        out + place[:, None] * out_width + out_column[None, :],
        total.to(out.dtype.element_ty),
        mask=inside[:, None] & has_out[None, :],
    )


@triton.jit
def _outer_kernel(
    spans,
    owner,
    indptr,
    indices,
    values,
    x,
    grad,
    out,
    first,
    x_nodes,
    nodes,
    pairs,
    num_spans,
    width,
    out_width,
    gathering: tl.constexpr,
    weighted: tl.constexpr,
    rows: tl.constexpr,
    columns: tl.constexpr,
    out_columns: tl.constexpr,
    precision: tl.constexpr,
):
    span = tl.program_id(0)
    member = tl.program_id(2).to(tl.int64)
    across = tl.cdiv(width, columns)
    column = tl.program_id(1) % across * columns + tl.arange(0, columns)
    out_column = tl.program_id(1) // across * out_columns + tl.arange(0, out_columns)
    has_column, has_out = column < width, out_column < out_width
    stop = tl.load(spans + 3 * span + 2)
    total = tl.zeros((columns, out_columns), dtype=tl.float32)
    for begin in range(tl.load(spans + 3 * span + 1), stop, rows):
        row = begin + tl.arange(0, rows)
        inside = row < stop
        own = tl.load(owner + row, mask=inside, other=0) + first + member * x_nodes
        state = tl.load(
            x + own[None, :] * width + column[:, None],
            mask=inside[None, :] & has_column[:, None],
            other=0.0,
        )
        if gathering:
            received = _gathered(
                indptr,
                indices,
                values,
                grad + member * nodes * out_width,
                row,
                inside,
                out_column,
                has_out,
                out_width,
                weighted,
                rows,
                out_columns,
            ).to(x.dtype.element_ty)
        else:
            place = member * pairs + row
            received = tl.load(
                grad + place[:, None] * out_width + out_column[None, :],
                mask=inside[:, None] & has_out[None, :],
                other=0.0,
            )
        total = tl.dot(state, received, total, input_precision=precision)
    out += (member * num_spans + span) * width * out_width
    tl.store(
        out + column[:, None] * out_width + out_column[None, :],
        total,
        mask=has_column[:, None] & has_out[None, :],
    )


def gathers_itself(piece: Relations) -> bool:
    """Whether kernels add up the states of pairs: all rows of a tile wait for its longest."""
    return piece.gather.short or piece.longest <= _LONGEST


def grouped_product(piece: Relations, x: Tensor, weight: Tensor, received: Tensor | None) -> Tensor:
    """Return, for each pair, its sum of neighbors' rows of ``x`` times its relation's weights.

    Where pairs have received sums already, these are multiplied.

    Shapes
    ------
    x (C, d) or (M, C, d), received (P, d) or (M, P, d), weight (R, d, k) or (M, R, d, k) → (P, k)
    or (M, P, k)
    """
    states = x if received is None else received
    blocks, (width, out_width) = piece.gather.blocks, weight.shape[-2:]
    members, pairs = (len(x) if x.dim() == 3 and blocks == 1 else 1), piece.gather.shape[0]
    weight = weight if weight.dim() == 4 else weight[None]
    out = x.new_empty(*x.shape[:-2], pairs // blocks, out_width)
    tiles, _ = piece.tiles(_ROWS)
    columns, out_columns = _columns(width), _columns(out_width)
    grid = (len(tiles), triton.cdiv(out_width, out_columns), members)
    with launching(out):
        _product_kernel[grid](
            tiles,
            *_entries(piece.gather),
            states,
            weight,
            out,
            x.shape[-2],
            pairs,
            piece.num_relations,
            width,
            out_width,
            *weight.stride(),
            gathering=received is None,
            weighted=piece.gather.values is not None,
            rows=_ROWS,
            columns=columns,
            out_columns=out_columns,
            precision=_precision(),
            num_warps=_WARPS,
        )
    return out


def add_grouped_outer(
    total: Tensor, piece: Relations, x: Tensor, first: int, grad: Tensor, received: Tensor | None
) -> None:
    """Add, per relation, the outer products of pairs' own rows of ``x`` with what they received.

    Programs add up spans of pairs, which are then added up in order.

    Shapes
    ------
    total (R, d, k) or (M, R, d, k), x (C, d) or (M, C, d), grad (N, k) or (M, N, k), received (P,
    k) or (M, P, k)
    """
    blocks, (width, out_width) = piece.gather.blocks, total.shape[-2:]
    members = len(x) if x.dim() == 3 and blocks == 1 else 1
    spans, of_group = piece.tiles(_SPAN)
    partial = torch.empty(
        members, len(spans), width * out_width, dtype=torch.float32, device=x.device
    )
    columns, out_columns = _columns(width), _columns(out_width)
    grid = (len(spans), triton.cdiv(width, columns) * triton.cdiv(out_width, out_columns), members)
    with launching(partial):
        _outer_kernel[grid](
            spans,
            piece.owner,
            *_entries(piece.gather),
            x,
            grad if received is None else received,
            partial,
            first,
            x.shape[-2],
            grad.shape[-2],
            piece.gather.shape[0],
            len(spans),
            width,
            out_width,
            gathering=received is None,
            weighted=piece.gather.values is not None,
            rows=_OUTER_ROWS,
            columns=columns,
            out_columns=out_columns,
            precision=_precision(),
            num_warps=_WARPS,
        )
    total += row_sum(of_group, partial).view(total.shape)


def _entries(matrix: CSR) -> tuple[Tensor, Tensor, Tensor]:
    return matrix.indptr, matrix.indices, matrix.indices if matrix.values is None else matrix.values


def _columns(width: int) -> int:
    return max(16, min(_COLUMNS, int(triton.next_power_of_2(width))))


def _precision() -> str:
    """Multiply float32 in three passes of the tensor cores, as exactly as without them.

    Unless torch was set to be content with one pass.
    """
    return "tf32" if torch.backends.cuda.matmul.allow_tf32 else "tf32x3"
