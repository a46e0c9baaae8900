"""Row sums on CUDA: several short rows per program, long rows cut into pieces."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from edgnn.graphs import CSR, Window
from edgnn.nn.ops._row_sum import launching

#: A program holds about so many bytes of sums: enough loads in flight, few enough registers. Of the
#: sizes tried the fastest for widths from 16 to 256, in float32 and bfloat16.
_BYTES_AT_ONCE = 1024
_ROWS_AT_ONCE = 16
_ENTRIES_AT_ONCE = 4

#: Rows with more entries are long, and are cut into pieces of ``PIECE``.
LONG = 256
PIECE = 512
_PIECE_BYTES_AT_ONCE = 8192
_NONE_LONG = 2**31 - 1


@triton.jit
def _rows_kernel(
    indptr,
    indices,
    values,
    x,
    out,
    chosen,
    shift,
    rows,
    columns,
    width,
    long,
    weighted: tl.constexpr,
    window: tl.constexpr,
    wide: tl.constexpr,
    at_once: tl.constexpr,
    entries: tl.constexpr,
    total_type: tl.constexpr,
):
    blocks = tl.cdiv(width, wide)
    row = tl.program_id(0) // blocks * at_once + tl.arange(0, at_once)
    member = tl.program_id(1).to(tl.int64)
    column = tl.program_id(0) % blocks * wide + tl.arange(0, wide)
    there, inside = row < rows, column < width
    source = row
    moved = tl.zeros((at_once,), dtype=tl.int64)
    if window:
        source = tl.load(chosen + row, mask=there, other=0)
        moved = tl.load(shift + row, mask=there, other=0)
    start = tl.load(indptr + source, mask=there, other=0)
    stop = tl.load(indptr + source + 1, mask=there, other=0)
    stop = tl.where(stop - start > long, start, stop)
    total = tl.zeros((at_once, wide), dtype=total_type)
    base = x + member * columns * width + column
    for first in range(0, tl.max(stop - start, 0), entries):
        for step in tl.static_range(entries):
            entry = start + first + step
            left = entry < stop
            neighbor = tl.load(indices + entry, mask=left, other=0).to(tl.int64) + moved
            state = tl.load(
                base[None, :] + neighbor[:, None] * width,
                mask=left[:, None] & inside[None, :],
                other=0.0,
            )
            state = state.to(total_type)
            if weighted:
                state *= tl.load(values + entry, mask=left, other=0.0).to(total_type)[:, None]
            total += state
    place = (member * rows + row)[:, None] * width + column[None, :]
    tl.store(out + place, total.to(out.dtype.element_ty), mask=there[:, None] & inside[None, :])


@triton.jit
def _pieces_kernel(
    starts,
    stops,
    slots,
    indices,
    values,
    x,
    out,
    pieces,
    columns,
    width,
    weighted: tl.constexpr,
    wide: tl.constexpr,
    entries: tl.constexpr,
    total_type: tl.constexpr,
):
    blocks = tl.cdiv(width, wide)
    piece = tl.program_id(0) // blocks
    member = tl.program_id(1).to(tl.int64)
    column = tl.program_id(0) % blocks * wide + tl.arange(0, wide)
    inside = column < width
    stop = tl.load(stops + piece)
    total = tl.zeros((entries, wide), dtype=total_type)
    base = x + member * columns * width + column
    for first in range(tl.load(starts + piece), stop, entries):
        entry = first + tl.arange(0, entries)
        left = entry < stop
        neighbor = tl.load(indices + entry, mask=left, other=0).to(tl.int64)
        state = tl.load(
            base[None, :] + neighbor[:, None] * width,
            mask=left[:, None] & inside[None, :],
            other=0.0,
        )
        state = state.to(total_type)
        if weighted:
            state *= tl.load(values + entry, mask=left, other=0.0).to(total_type)[:, None]
        total += state
    place = (member * pieces + tl.load(slots + piece)) * width + column
    tl.store(out + place, tl.sum(total, 0).to(out.dtype.element_ty), mask=inside)


@dataclass(frozen=True, eq=False)
class _Long:
    """The long rows of a matrix, and their pieces.

    Pieces are worked on in the order in which they stand in their rows: those at work at the same
    time then reach for columns that are close to one another, and find them in the cache. ``slots``
    is where each piece's sum goes, ``sums`` adds them up per row.
    """

    rows: Tensor
    starts: Tensor
    stops: Tensor
    slots: Tensor
    sums: CSR

    @classmethod
    def of(cls, matrix: CSR) -> _Long | None:
        """Find the long rows of a matrix, once; ``None`` if there are none."""
        if "_long" not in matrix.__dict__:
            matrix.__dict__["_long"] = None if matrix.short else cls._of(matrix)
        found: _Long | None = matrix.__dict__["_long"]
        return found

    @classmethod
    def _of(cls, matrix: CSR) -> _Long | None:
        lengths = matrix.indptr.diff()
        rows = (lengths > LONG).nonzero().flatten()
        if not len(rows):
            return None
        pieces = (lengths[rows].long() + PIECE - 1) // PIECE
        first = torch.zeros(len(rows) + 1, dtype=torch.int64, device=rows.device)
        torch.cumsum(pieces, 0, out=first[1:])
        owner = torch.repeat_interleave(torch.arange(len(rows), device=rows.device), pieces)
        slot = torch.arange(len(owner), device=rows.device)
        number = slot - first[owner]
        order = torch.argsort(number, stable=True)
        start = matrix.indptr[rows].long()[owner] + number * PIECE
        stop = torch.minimum(start + PIECE, matrix.indptr[rows + 1].long()[owner])
        sums = CSR(first.to(torch.int32), slot.to(torch.int32), None, (len(rows), len(owner)))
        return cls(rows, start[order], stop[order], slot[order], sums)


def row_sum_on_device(matrix: CSR, x: Tensor) -> Tensor:
    """Return ``matrix @ x`` for x of shape (C, d) or (M, C, d).

    Sums have float32 or wider, and the same order every time.
    """
    with launching(x):
        return _row_sum_on_device(matrix, x.contiguous())


def _row_sum_on_device(matrix: CSR, x: Tensor) -> Tensor:
    (rows, columns), width, size = matrix.shape, x.shape[-1], x.element_size()
    members = 1 if x.dim() == 2 else len(x)
    out = x.new_empty(*x.shape[:-2], rows, width)
    wide = min(triton.next_power_of_2(width), max(_BYTES_AT_ONCE // size, 1))
    at_once = max(1, min(_ROWS_AT_ONCE, _BYTES_AT_ONCE // (wide * size)))
    weights = matrix.indices if matrix.values is None else matrix.values
    common = {
        "weighted": matrix.values is not None,
        "wide": wide,
        "total_type": tl.float64 if x.dtype == torch.float64 else tl.float32,
    }
    blocks = triton.cdiv(width, wide)  # beside the rows: the other axes of a grid are short
    window = isinstance(matrix, Window)
    chosen: Any = matrix.indptr  # not read without a window
    shift: Any = matrix.indptr
    if isinstance(matrix, Window):
        chosen, shift = matrix.rows, matrix.shift
    _rows_kernel[(triton.cdiv(rows, at_once) * blocks, members)](
        matrix.indptr,
        matrix.indices,
        weights,
        x,
        out,
        chosen,
        shift,
        rows,
        columns,
        width,
        _NONE_LONG if matrix.short else LONG,
        window=window,
        at_once=at_once,
        entries=_ENTRIES_AT_ONCE,
        num_warps=1,
        **common,
    )
    long = _Long.of(matrix)
    if long is not None:
        pieces = len(long.starts)
        partial = x.new_empty(
            *x.shape[:-2], pieces, width, dtype=torch.promote_types(x.dtype, torch.float32)
        )
        _pieces_kernel[(pieces * blocks, members)](
            long.starts,
            long.stops,
            long.slots,
            matrix.indices,
            weights,
            x,
            partial,
            pieces,
            columns,
            width,
            entries=max(8, min(64, _PIECE_BYTES_AT_ONCE // (wide * size))),
            num_warps=4,
            **common,
        )
        out.index_copy_(-2, long.rows, _row_sum_on_device(long.sums, partial).to(x.dtype))
    return out
