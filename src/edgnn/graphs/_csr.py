"""Compressed rows: the one sparse format of the package, built by sorting packed keys."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class CSR:
    """A sparse matrix by rows: row ``v`` has the columns ``indices[indptr[v]:indptr[v + 1]]``.

    Index arrays are int32 while the number of entries allows it. ``values`` is ``None`` where every
    entry is one; a repeated column then counts as often as it stands there. A matrix of several
    ``blocks`` of equal shape along the diagonal says so, and one that is known to have no long rows
    says that it is ``short``: nobody needs to look.

    Shapes
    ------
    indptr (rows+1,), indices (nnz,), values (nnz,)
    """

    indptr: Tensor
    indices: Tensor
    values: Tensor | None
    shape: tuple[int, int]
    blocks: int = 1
    short: bool = False

    @property
    def nnz(self) -> int:
        """Number of stored entries."""
        return len(self.indices)

    @property
    def nbytes(self) -> int:
        """Memory that the arrays hold."""
        return sum(
            part.nbytes for part in (self.indptr, self.indices, self.values) if part is not None
        )

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> CSR:
        """Return the matrix on ``device``, its values in ``dtype``."""
        values = None if self.values is None else self.values.to(device=device, dtype=dtype)
        return CSR(
            self.indptr.to(device),
            self.indices.to(device),
            values,
            self.shape,
            self.blocks,
            self.short,
        )

    @property
    def row_of_entry(self) -> Tensor:
        """The row of every entry; with its size given, nothing waits for the device."""
        rows = torch.arange(self.shape[0], device=self.indptr.device)
        return torch.repeat_interleave(rows, self.indptr.diff(), output_size=self.nnz)

    @cached_property
    def T(self) -> CSR:
        """The transpose, built on first use; each row again has rising columns."""
        rows, columns = self.shape
        if self.indices.device.type == "cpu":
            from scipy.sparse import csr_array  # linear time, unlike a sort

            entry = torch.zeros(self.nnz, dtype=torch.int8)
            if self.values is not None:
                entry = torch.arange(self.nnz)
            arrays = tuple(part.numpy() for part in (entry, self.indices, self.indptr))
            turned = csr_array(arrays, shape=self.shape, copy=False).tocsc()
            indptr, indices, order = (
                torch.from_numpy(part) for part in (turned.indptr, turned.indices, turned.data)
            )
            values = None if self.values is None else self.values[order]
            return CSR(indptr, indices, values, (columns, rows), self.blocks)
        order, device = torch.argsort(self.indices, stable=True), self.indptr.device
        indptr = torch.zeros(columns + 1, dtype=self.indptr.dtype, device=device)
        indptr[1:] = torch.searchsorted(
            self.indices[order], torch.arange(1, columns + 1, device=device)
        )
        indices = self.row_of_entry[order].to(self.indices.dtype)
        values = None if self.values is None else self.values[order]
        return CSR(indptr, indices, values, (columns, rows), self.blocks)

    def __getstate__(self) -> dict[str, Any]:
        return {
            field.name: getattr(self, field.name) for field in fields(self)
        }  # without what was derived

    def repeated(self, blocks: int) -> CSR:
        """Return the matrix so many times along the diagonal; the last result is kept."""
        if blocks == 1:
            return self
        kept: CSR | None = self.__dict__.get("_repeated")
        if kept is None or kept.blocks != blocks:
            (rows, columns), device = self.shape, self.indptr.device
            number = torch.arange(blocks, device=device)[:, None]
            indices = (self.indices + (number * columns).to(self.indices.dtype)).flatten()
            starts = (self.indptr[:-1] + (number * self.nnz).to(self.indptr.dtype)).flatten()
            indptr = torch.cat([starts, starts.new_full((1,), blocks * self.nnz)])
            values = None if self.values is None else self.values.repeat(blocks)
            kept = CSR(indptr, indices, values, (blocks * rows, blocks * columns), blocks)
            self.__dict__["_repeated"] = kept
        return kept

    def take(self, rows: Tensor, place: Tensor | None = None, columns: int | None = None) -> CSR:
        """Return chosen rows, in their order.

        ``place`` gives the new number of every column, below ``columns``; entries stay where they
        were, so they may no longer rise.
        """
        starts = self.indptr[rows].to(torch.int64)
        lengths = self.indptr[rows + 1].to(torch.int64) - starts
        indptr = torch.zeros(len(rows) + 1, dtype=torch.int64, device=rows.device)
        torch.cumsum(lengths, 0, out=indptr[1:])
        total = int(indptr[-1])
        entry = torch.repeat_interleave(starts - indptr[:-1], lengths, output_size=total)
        entry += torch.arange(total, device=rows.device)
        indices = self.indices[entry]
        if place is not None:
            indices = place[indices.long()].to(indices.dtype)
        values = None if self.values is None else self.values[entry]
        shape = (len(rows), self.shape[1] if columns is None else columns)
        return CSR(indptr.to(self.indptr.dtype), indices, values, shape)

    def to_dense(self, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return the matrix as a dense tensor; for small ones and for tests."""
        dense = torch.zeros(self.shape, dtype=dtype, device=self.indices.device)
        values = torch.ones_like(self.indices) if self.values is None else self.values
        entries = (self.row_of_entry, self.indices.long())
        return dense.index_put_(entries, values.to(dtype), accumulate=True)

    def to_scipy(self) -> Any:
        """Return the matrix as ``scipy.sparse.csr_array``, repeated columns added up."""
        from scipy.sparse import csr_array

        values = torch.ones(self.nnz) if self.values is None else self.values
        arrays = (part.cpu().numpy() for part in (values, self.indices, self.indptr))
        matrix = csr_array(tuple(arrays), shape=self.shape, copy=True)
        matrix.sum_duplicates()
        return matrix


@dataclass(frozen=True, eq=False)
class Window(CSR):
    """Chosen rows of a matrix, the columns of each moved, that are looked up where they are.

    Only row sums on a device read it.

    Row ``v`` is row ``rows[v]`` of the arrays, with ``shift[v]`` added to its columns; there is one
    empty row at their end.

    Shapes
    ------
    rows (R,), shift (R,)
    """

    rows: Tensor | None = None
    shift: Tensor | None = None


def pack(row: Tensor, column: Tensor, both: bool = False) -> Tensor:
    """Put each (row, column) into one integer, ``row << 32 | column``.

    Sorting these integers sorts by row, then by column, several times as fast as sorting pairs.
    With ``both``, (column, row) is added as well.

    The result is a new array, free to be sorted in place. Rows and columns are below 2^31.
    """
    edges = len(row)
    keys = torch.empty(edges * (1 + both), dtype=torch.int64, device=row.device)
    torch.bitwise_left_shift(row, 32, out=keys[:edges])
    keys[:edges] |= column
    if both:
        torch.bitwise_left_shift(column, 32, out=keys[edges:])
        keys[edges:] |= row
    return keys


def from_keys(
    keys: Tensor, rows: int, columns: int, *, distinct: bool, count: torch.dtype | None = None
) -> CSR:
    """Turn packed keys (which are overwritten) into a CSR.

    Parameters
    ----------
    keys : Tensor
        From :func:`pack`.
    distinct : bool
        Keep one of equal keys.
    count : dtype, optional
        With ``distinct``: store how often each key occurred, as values of this type.
    """
    if keys.device.type != "cpu":
        return _from_keys_on_device(keys, rows, columns, distinct, count)
    sorted_keys = keys.numpy()
    # numpy's vectorized sort of values alone takes a fraction of torch.sort, and works in place
    sorted_keys.sort()
    values = None
    if distinct and len(sorted_keys):
        new = np.empty(len(sorted_keys), dtype=bool)
        new[0] = True
        np.not_equal(sorted_keys[1:], sorted_keys[:-1], out=new[1:])
        if count is not None:
            times = np.diff(np.flatnonzero(new), append=len(new))
            values = torch.from_numpy(times).to(count)
        sorted_keys = sorted_keys[new]
    elif count is not None:
        values = torch.zeros(0, dtype=count)
    index_type = np.int32 if len(sorted_keys) < 2**31 else np.int64
    indptr = np.zeros(rows + 1, dtype=index_type)
    np.cumsum(np.bincount(sorted_keys >> 32, minlength=rows), out=indptr[1:])
    indices = (sorted_keys & (2**32 - 1)).astype(index_type)
    return CSR(torch.from_numpy(indptr), torch.from_numpy(indices), values, (rows, columns))


def _from_keys_on_device(
    keys: Tensor, rows: int, columns: int, distinct: bool, count: torch.dtype | None
) -> CSR:
    keys = keys.sort().values
    values = None
    if count is not None:
        keys, times = torch.unique_consecutive(keys, return_counts=True)
        values = times.to(count)
    elif distinct:
        keys = torch.unique_consecutive(keys)
    index_type = torch.int32 if len(keys) < 2**31 else torch.int64
    indptr = torch.zeros(rows + 1, dtype=index_type, device=keys.device)
    starts = (
        torch.arange(rows, dtype=torch.int64, device=keys.device).add_(1).bitwise_left_shift_(32)
    )
    indptr[1:] = torch.searchsorted(keys, starts)
    indices = keys.bitwise_and_(2**32 - 1).to(index_type)
    return CSR(indptr, indices, values, (rows, columns))
