"""The dense half of a layer on CUDA: all products in one pass, all weight gradients in another.

float32 factors are multiplied as such, on the tensor cores: split into parts that these hold
exactly, whose products are added up in float32. Two parts of TF32 and three products for states;
for counts, which are whole numbers of one byte and need no splitting, three parts of bfloat16 of
the other factor. The error is that of plain float32 products (``tests/nn/test_layer_triton.py``).
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"
from __future__ import annotations

import os
from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from edgnn.nn.ops._row_sum import launching

#: The most matrices that one pass multiplies.
MOST_PARTS = 4

#: Sizes of tiles: few, so that few kernels are ever compiled.
_INNER = 64
_COLUMNS = 64
_CHUNKS = 264  # two for each multiprocessor of the largest devices
_CHUNK_ROWS = 32

#: What holds counts of one byte exactly; Triton's interpreter does not multiply bfloat16.
_EXACT = tl.float16 if os.environ.get("TRITON_INTERPRET") == "1" else tl.bfloat16


@triton.jit
def _dot(left, right, total, precision: tl.constexpr, exact: tl.constexpr):
    if left.dtype != tl.uint8:
        total = tl.dot(left.to(right.dtype), right, total, input_precision=precision)
    elif right.dtype != tl.float32:
        total = tl.dot(left.to(right.dtype), right, total)
    else:
        counts, rest = left.to(exact), right
        for _ in tl.static_range(3):
            part = rest.to(exact)
            total = tl.dot(counts, part, total)
            rest = rest - part.to(tl.float32)
    return total


@triton.jit
def _plus(
    total,
    part,
    weight,
    row,
    there,
    column,
    inside,
    inner_stride,
    column_stride,
    size: tl.constexpr,
    block: tl.constexpr,
    precision: tl.constexpr,
    exact: tl.constexpr,
):
    for first in tl.static_range(0, size, block):
        inner = first + tl.arange(0, block)
        known = inner < size
        left = tl.load(
            part + row[:, None] * size + inner[None, :],
            mask=there[:, None] & known[None, :],
            other=0,
        )
        place = inner[:, None] * inner_stride + column[None, :] * column_stride
        right = tl.load(weight + place, mask=known[:, None] & inside[None, :], other=0.0)
        total = _dot(left, right, total, precision, exact)
    return total


@triton.jit
def _products_kernel(
    part_1,
    part_2,
    part_3,
    part_4,
    weight_1,
    weight_2,
    weight_3,
    weight_4,
    addend,
    bias,
    out,
    rows,
    width,
    inner_stride_1,
    column_stride_1,
    inner_stride_2,
    column_stride_2,
    inner_stride_3,
    column_stride_3,
    inner_stride_4,
    column_stride_4,
    parts: tl.constexpr,
    size_1: tl.constexpr,
    size_2: tl.constexpr,
    size_3: tl.constexpr,
    size_4: tl.constexpr,
    block_1: tl.constexpr,
    block_2: tl.constexpr,
    block_3: tl.constexpr,
    block_4: tl.constexpr,
    added: tl.constexpr,
    biased: tl.constexpr,
    at_once: tl.constexpr,
    wide: tl.constexpr,
    precision: tl.constexpr,
    exact: tl.constexpr,
):
    row = (tl.program_id(0) * at_once + tl.arange(0, at_once)).to(tl.int64)
    column = tl.program_id(1) * wide + tl.arange(0, wide)
    there, inside = row < rows, column < width
    total = tl.zeros((at_once, wide), dtype=tl.float32)
    place, real = row[:, None] * width + column[None, :], there[:, None] & inside[None, :]
    if added:
        total += tl.load(addend + place, mask=real, other=0.0).to(tl.float32)
    if biased:
        total += tl.load(bias + column, mask=inside, other=0.0).to(tl.float32)[None, :]
    total = _plus(
        total,
        part_1,
        weight_1,
        row,
        there,
        column,
        inside,
        inner_stride_1,
        column_stride_1,
        size_1,
        block_1,
        precision,
        exact,
    )
    if parts > 1:
        total = _plus(
            total,
            part_2,
            weight_2,
            row,
            there,
            column,
            inside,
            inner_stride_2,
            column_stride_2,
            size_2,
            block_2,
            precision,
            exact,
        )
    if parts > 2:
        total = _plus(
            total,
            part_3,
            weight_3,
            row,
            there,
            column,
            inside,
            inner_stride_3,
            column_stride_3,
            size_3,
            block_3,
            precision,
            exact,
        )
    if parts > 3:
        total = _plus(
            total,
            part_4,
            weight_4,
            row,
            there,
            column,
            inside,
            inner_stride_4,
            column_stride_4,
            size_4,
            block_4,
            precision,
            exact,
        )
    tl.store(out + place, total.to(out.dtype.element_ty), mask=real)


@triton.jit
def _gradients_kernel(
    part_1,
    part_2,
    gradient_1,
    gradient_2,
    out_1,
    out_2,
    column_sums,
    rows,
    chunk,
    width,
    size: tl.constexpr,
    same_part: tl.constexpr,
    same_gradient: tl.constexpr,
    pair: tl.constexpr,
    summed: tl.constexpr,
    at_once: tl.constexpr,
    block: tl.constexpr,
    wide: tl.constexpr,
    precision: tl.constexpr,
    exact: tl.constexpr,
):
    number = tl.program_id(0).to(tl.int64)
    inner = tl.program_id(1) * block + tl.arange(0, block)
    column = tl.program_id(2) * wide + tl.arange(0, wide)
    known, inside = inner < size, column < width
    total_1 = tl.zeros((block, wide), dtype=tl.float32)
    total_2 = tl.zeros((block, wide), dtype=tl.float32)
    sums = tl.zeros((wide,), dtype=tl.float32)
    for first in range(0, chunk, at_once):
        row = number * chunk + first + tl.arange(0, at_once)
        there = row < rows
        across, below = row[None, :] * size + inner[:, None], row[:, None] * width + column[None, :]
        met, real = there[None, :] & known[:, None], there[:, None] & inside[None, :]
        upstream_1 = tl.load(gradient_1 + below, mask=real, other=0.0)
        states_1 = tl.load(part_1 + across, mask=met, other=0)
        total_1 = _dot(states_1, upstream_1, total_1, precision, exact)
        if summed:
            sums += tl.sum(upstream_1.to(tl.float32), 0)
        if pair:
            upstream_2 = upstream_1
            if not same_gradient:
                upstream_2 = tl.load(gradient_2 + below, mask=real, other=0.0)
            states_2 = states_1
            if not same_part:
                states_2 = tl.load(part_2 + across, mask=met, other=0)
            total_2 = _dot(states_2, upstream_2, total_2, precision, exact)
    place = (number * size + inner)[:, None] * width + column[None, :]
    tl.store(out_1 + place, total_1, mask=known[:, None] & inside[None, :])
    if pair:
        tl.store(out_2 + place, total_2, mask=known[:, None] & inside[None, :])
    if summed:  # noqa: SIM102 - known when the kernel is compiled, unlike the next
        if tl.program_id(1) == 0:
            tl.store(column_sums + number * width + column, sums, mask=inside)


def products(
    parts: Sequence[Tensor],
    weights: Sequence[Tensor],
    addend: Tensor | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    r"""Return :math:`\sum_i P_i W_i + S + b` with one pass over the rows; of at most four products.

    Sums are formed in float32. Parts may be counts in uint8. Where
    ``torch.backends.cuda.matmul.allow_tf32`` is on, states are rounded to TF32.

    Shapes
    ------
    P_i (N, k_i), W_i (k_i, d), S (N, d), b (d,) → (N, d)
    """
    rows, width = parts[0].shape[0], weights[0].shape[1]
    out = torch.empty(rows, width, dtype=weights[0].dtype, device=parts[0].device)
    wide = _COLUMNS
    at_once = 128
    filled = [*range(len(parts)), *[0] * (MOST_PARTS - len(parts))]
    sizes = {f"size_{place + 1}": parts[which].shape[1] for place, which in enumerate(filled)}
    blocks = {
        f"block_{place + 1}": _block(parts[which].shape[1]) for place, which in enumerate(filled)
    }
    strides = [stride for which in filled for stride in weights[which].stride()]
    with launching(out):
        _products_kernel[(triton.cdiv(rows, at_once), triton.cdiv(width, wide))](
            *(parts[which].contiguous() for which in filled),
            *(weights[which] for which in filled),
            out if addend is None else addend.contiguous(),
            out if bias is None else bias,
            out,
            rows,
            width,
            *strides,
            parts=len(parts),
            **sizes,
            **blocks,
            added=addend is not None,
            biased=bias is not None,
            at_once=at_once,
            wide=wide,
            precision=_precision(),
            exact=_EXACT,
            num_warps=8,
            num_stages=1,
        )
    return out


def weight_gradients(pairs: Sequence[tuple[Tensor, Tensor]]) -> tuple[list[Tensor], Tensor]:
    r"""Return :math:`P_i^T G_i`, and the sums of the columns of :math:`G_1`, in float32.

    Neighbors in the list that share P or G are computed in one pass.

    Shapes
    ------
    P_i (N, k_i), G_i (N, d) → (k_i, d);  (d,)
    """
    results: list[Tensor] = []
    sums: Tensor | None = None
    while len(results) < len(pairs):
        one, *rest = pairs[len(results) :]
        other = next((pair for pair in rest[:1] if _together(one, pair)), None)
        found, of_columns = _gradients(one, other, summed=sums is None)
        results += found
        sums = of_columns if sums is None else sums
    assert sums is not None
    return results, sums


def _together(one: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor]) -> bool:
    alike = one[0].shape == other[0].shape and one[0].dtype == other[0].dtype
    return alike and (one[0] is other[0] or one[1] is other[1])


def _gradients(
    one: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor] | None, summed: bool
) -> tuple[list[Tensor], Tensor]:
    (part, gradient), (part_2, gradient_2) = one, other or one
    (rows, size), width = part.shape, gradient.shape[1]
    chunk = _CHUNK_ROWS * triton.cdiv(triton.cdiv(rows, _CHUNKS), _CHUNK_ROWS)
    chunks = triton.cdiv(rows, chunk)
    block, wide = _block(size), _COLUMNS
    products = [
        torch.empty(chunks, size, width, dtype=torch.float32, device=part.device)
        for _ in range(1 if other is None else 2)
    ]
    sums = torch.empty(chunks, width, dtype=torch.float32, device=part.device)
    with launching(sums):
        _gradients_kernel[(chunks, triton.cdiv(size, block), triton.cdiv(width, wide))](
            part.contiguous(),
            part_2.contiguous(),
            gradient.contiguous(),
            gradient_2.contiguous(),
            products[0],
            products[-1],
            sums,
            rows,
            chunk,
            width,
            size=size,
            same_part=part is part_2,
            same_gradient=gradient is gradient_2,
            pair=other is not None,
            summed=summed,
            at_once=_CHUNK_ROWS,
            block=block,
            wide=wide,
            precision=_precision(),
            exact=_EXACT,
            num_warps=4,
        )
    return [total.sum(0) for total in products], sums.sum(0) if summed else sums


def _block(size: int) -> int:
    return 16 if size <= 16 else _INNER


def _precision() -> str:
    return "tf32" if torch.backends.cuda.matmul.allow_tf32 else "tf32x3"
