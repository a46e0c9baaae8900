"""One array as one ``.npy`` file: written in pieces with a checksum, mapped when read."""

from __future__ import annotations

import math
import mmap
import os
import platform
import sys
import zlib
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from edgnn._files import open_regular
from edgnn.errors import FormatError, GraphError
from edgnn.io._common import Array

_TYPES = ("<i8", "<i4", "<f4", "<f8", "|b1")
_HEADER = 128
_PIECE = 8 * 2**20
_MACHINES = ("x86_64", "aarch64", "riscv64", "s390x")


def _no_reserve() -> int:
    """Return the flag that lets a private mapping be larger than the memory of the machine.

    Python names it from 3.13 on.
    """
    usual = 0x4000 if sys.platform == "linux" and platform.machine() in _MACHINES else 0
    return int(getattr(mmap, "MAP_NORESERVE", usual))


def damaged(path: Path, rule: str) -> FormatError:
    """Return the error of a folder of arrays that is not as it was written."""
    return FormatError(
        path, f"{rule}: copy the whole folder again from where it is whole, or write it anew"
    )


@dataclass(frozen=True)
class Entry:
    """What a folder's header says about an array."""

    dtype: str
    shape: tuple[int, ...]
    crc32: int

    @classmethod
    def of(cls, stored: Any) -> Self:
        """Return the entry of parsed JSON; a ``ValueError`` where it is none."""
        entry = cls(stored["dtype"], tuple(stored["shape"]), stored["crc32"])
        are_sizes = all(type(size) is int and 0 <= size < 2**48 for size in entry.shape)
        is_array = entry.dtype in _TYPES and len(entry.shape) in (1, 2) and are_sizes
        if not is_array or type(entry.crc32) is not int:
            raise ValueError
        return entry

    @property
    def nbytes(self) -> int:
        """Size of the data."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    def stored(self) -> dict[str, Any]:
        """Return the entry as JSON."""
        return {"dtype": self.dtype, "shape": list(self.shape), "crc32": self.crc32}


class ArrayFile:
    """An array that grows at its end, on disk.

    Parameters
    ----------
    path : Path
        A new file.
    dtype : dtype
        Of the numbers; kept in little-endian order.
    width : int, optional
        Number of columns of a matrix.
    """

    def __init__(self, path: Path, dtype: Any, width: int | None = None) -> None:
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.width = width
        self.rows = 0
        self._crc32 = 0
        self._stream = path.open("wb")
        self._stream.write(bytes(_HEADER))

    def append(self, array: Array) -> None:
        """Write more rows."""
        step = self._rows_per_piece()
        for start in range(0, len(array), step):
            piece = np.ascontiguousarray(array[start : start + step], self.dtype)
            data = piece.reshape(-1).view(np.uint8).data
            self._crc32 = zlib.crc32(data, self._crc32)
            self._stream.write(data)
        self.rows += len(array)

    def fill(self, value: int, rows: int) -> None:
        """Write elements of a vector that all hold one value."""
        step = self._rows_per_piece()
        for start in range(0, rows, step):
            self.append(np.full(min(step, rows - start), value, self.dtype))

    def _rows_per_piece(self) -> int:
        row_bytes = int(self.dtype.itemsize) * max(1, self.width or 1)
        return max(1, _PIECE // row_bytes)

    def finish(self) -> Entry:
        """Complete the file, on disk, and return what the folder's header says about it."""
        shape = (self.rows,) if self.width is None else (self.rows, self.width)
        entry = Entry(self.dtype.str, shape, self._crc32)
        self._stream.seek(0)
        self._stream.write(npy_header(entry))
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        return entry

    def close(self) -> None:
        """Give the file up."""
        self._stream.close()


def write_array(path: Path, array: Array) -> Entry:
    """Write a whole array and return what the folder's header says about it."""
    with closing(ArrayFile(path, array.dtype, array.shape[1] if array.ndim == 2 else None)) as file:
        file.append(array)
        return file.finish()


def npy_header(entry: Entry) -> bytes:
    """Return the 128 bytes that numpy itself puts before such an array."""
    text = f"{{'descr': '{entry.dtype}', 'fortran_order': False, 'shape': {entry.shape}, }}"
    return (
        b"\x93NUMPY\x01\x00"
        + (_HEADER - 10).to_bytes(2, "little")
        + text.ljust(_HEADER - 11).encode()
        + b"\n"
    )


def map_array(path: Path, entry: Entry) -> Array:
    """Return the array of a file, of which nothing is read before it is used.

    Changes stay in memory and never reach the file.
    """
    expected = _HEADER + entry.nbytes
    try:
        with open_regular(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            if size != expected:
                rule = f"the file has {size:,} bytes, but the folder's header asks for {expected:,}"
                raise damaged(path, rule)
            if stream.read(_HEADER) != npy_header(entry):
                kind = f"{' × '.join(map(str, entry.shape))} numbers of type {entry.dtype}"
                rule = f"the file does not begin as the folder's header says, with {kind}"
                raise damaged(path, rule)
            buffer = _private_map(stream.fileno())
    except FileNotFoundError:
        raise damaged(path, "the file is missing") from None
    return np.frombuffer(buffer, entry.dtype, math.prod(entry.shape), _HEADER).reshape(entry.shape)


def _private_map(file: int) -> mmap.mmap:
    """Map a file such that changes stay in memory."""
    if sys.platform == "win32":
        return mmap.mmap(file, 0, access=mmap.ACCESS_COPY)
    protection = mmap.PROT_READ | mmap.PROT_WRITE
    return mmap.mmap(file, 0, flags=mmap.MAP_PRIVATE | _no_reserve(), prot=protection)


def verify_array(path: Path, array: Array, entry: Entry) -> None:
    """Raise where the content of a file is not what was written into it."""
    flat = array.reshape(-1).view(np.uint8)
    checksum = 0
    for start in range(0, len(flat), _PIECE):
        checksum = zlib.crc32(flat[start : start + _PIECE].data, checksum)
    if checksum != entry.crc32:
        raise changed(path, "content")


def changed(path: Path, what: str) -> FormatError:
    """Return the error of a checksum that differs."""
    return damaged(path, f"the {what} has changed since it was written (its checksum differs)")


def plain_array(values: Any, what: str) -> Array:
    """Return users' values, in any kind of array or sequence, as an array on the CPU."""
    if isinstance(values, Tensor):
        values = values.detach().cpu()
        if values.dtype == torch.bfloat16:
            values = values.float()
    try:
        return np.asarray(values)
    except (RuntimeError, TypeError, ValueError) as error:
        raise GraphError(f"{what} cannot be read as an array ({error})") from None


def plain_numbers(values: Any, what: str) -> Array:
    """Return users' whole numbers, of any kind of array, as a vector on the CPU."""
    array = plain_array(values, what)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise GraphError(
            f"{what} must be a vector of whole numbers, got {array.dtype} of shape {array.shape}"
        )
    if array.dtype == np.uint64 and array.size and array.max() >= 2**63:
        raise GraphError(f"{what} must be below 2^63")
    return array.astype(np.int64, copy=False)
