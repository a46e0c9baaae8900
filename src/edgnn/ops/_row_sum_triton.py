"""Row sums on CUDA: one program per row, members and wide rows in the other axes of the grid."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"
from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from edgnn.graphs._csr import CSR

_WIDEST = 128


@triton.jit
def _kernel(
    indptr, indices, values, x, out, rows, columns, width, weighted: tl.constexpr, wide: tl.constexpr, total_type: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    member = tl.program_id(1).to(tl.int64)
    column = tl.program_id(2) * wide + tl.arange(0, wide)
    inside = column < width
    total = tl.zeros((wide,), dtype=total_type)
    base = x + member * columns * width + column
    for entry in range(tl.load(indptr + row), tl.load(indptr + row + 1)):
        neighbor = tl.load(indices + entry).to(tl.int64)
        state = tl.load(base + neighbor * width, mask=inside, other=0.0).to(total_type)
        if weighted:
            state *= tl.load(values + entry).to(total_type)
        total += state
    tl.store(out + (member * rows + row) * width + column, total.to(out.dtype.element_ty), mask=inside)


def row_sum_on_device(matrix: CSR, x: Tensor) -> Tensor:
    """Return ``matrix @ x`` for x of shape (C, d) or (M, C, d); entries are added in order, in float32 or wider."""
    x = x.contiguous()
    members, (rows, columns), width = 1 if x.dim() == 2 else len(x), matrix.shape, x.shape[-1]
    out = x.new_empty(*x.shape[:-2], rows, width)
    wide = min(_WIDEST, triton.next_power_of_2(width))
    total_type = tl.float64 if x.dtype == torch.float64 else tl.float32
    weighted = matrix.values is not None
    grid = (rows, members, triton.cdiv(width, wide))
    _kernel[grid](
        matrix.indptr, matrix.indices, matrix.values if weighted else matrix.indices, x, out, rows, columns, width,
        weighted=weighted, wide=wide, total_type=total_type, num_warps=1,
    )  # fmt: skip
    return out
