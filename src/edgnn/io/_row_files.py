"""Matrices written row after row from sorted (row, column) numbers, sparse and dense."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from edgnn.errors import GraphError
from edgnn.io._array_files import ArrayFile, Entry, map_array
from edgnn.io._common import Array

#: From so many entries on, index arrays have 64 bits.
INT32_ENTRIES = 2**31

_COLUMN = 2**32 - 1
_EXACT_FLOAT32 = 2**24
_PIECE = 2**18


class RowsFile:
    """A CSR being written: ``NAME_indptr``, ``NAME_indices`` and, of counts, ``NAME_values``.

    Parameters
    ----------
    folder : Path
        Where the files are.
    name : str
        Of the matrix.
    rows : int
        How many rows it has.
    most : int
        How many entries there can be.
    dtype : dtype, optional
        Of counts; without it every entry is one.
    """

    def __init__(self, folder: Path, name: str, rows: int, most: int, dtype: Any = None) -> None:
        self._folder = folder
        self._name = name
        self._rows = rows
        index = np.int32 if most < INT32_ENTRIES else np.int64
        self._indptr = ArrayFile(folder / f"{name}_indptr.npy", index)
        self._indices = ArrayFile(folder / f"{name}_indices.npy", index)
        self._values = None if dtype is None else ArrayFile(folder / f"{name}_values.npy", dtype)

    def append(self, keys: Array, counts: Array | None = None) -> None:
        """Write entries, in rising order and behind all before."""
        row, before = keys >> 32, self._indices.rows
        last = int(row[-1])
        for start in range(self._indptr.rows, last + 1, _PIECE):
            here = np.arange(start, min(last + 1, start + _PIECE))
            self._indptr.append(np.searchsorted(row, here) + before)
        self._indices.append(keys & _COLUMN)
        if self._values is not None:
            assert counts is not None
            check_exact(counts, self._values.dtype)
            self._values.append(counts)

    def append_repeated(self, keys: Array, counts: Array | None) -> None:
        """Write entries each as often as its count says; once without counts."""
        if counts is None or counts.max() == 1:
            self.append(keys)
        elif len(keys) > 1:
            self.append(np.repeat(keys, counts))
        else:
            for start in range(0, int(counts[0]), _PIECE):
                self.append(np.repeat(keys, min(_PIECE, int(counts[0]) - start)))

    def finish(self) -> dict[str, Entry]:
        """Complete the files and return what the header says about them."""
        entries = self._indices.rows
        self._indptr.fill(entries, self._rows + 1 - self._indptr.rows)
        is_too_wide = self._indices.dtype == np.int64 and entries < INT32_ENTRIES
        finished = {}
        for part, file in (("indptr", self._indptr), ("indices", self._indices)):
            name = f"{self._name}_{part}"
            entry = file.finish()
            if is_too_wide:
                entry = _narrowed(self._folder / f"{name}.npy", entry)
            finished[name] = entry
        if self._values is not None:
            finished[f"{self._name}_values"] = self._values.finish()
        return finished

    def close(self) -> None:
        """Give the files up."""
        for file in (self._indptr, self._indices, self._values):
            if file is not None:
                file.close()


class DenseCounts:
    """A dense matrix of counts being written.

    Parameters
    ----------
    folder : Path
        Where the file is.
    name : str
        Of the matrix.
    rows, columns : int
        Its shape.
    dtype : dtype
        Of the counts.
    """

    def __init__(self, folder: Path, name: str, rows: int, columns: int, dtype: Any) -> None:
        self._name = name
        self._rows = rows
        self._columns = columns
        self._file = ArrayFile(folder / f"{name}.npy", dtype)

    def append(self, keys: Array, counts: Array) -> None:
        """Write counts, in rising order and behind all before."""
        check_exact(counts, self._file.dtype)
        place = (keys >> 32) * self._columns + (keys & _COLUMN)
        for start in range(self._file.rows, int(place[-1]) + 1, _PIECE):
            stop = min(int(place[-1]) + 1, start + _PIECE)
            first, last = np.searchsorted(place, (start, stop))
            piece = np.zeros(stop - start, self._file.dtype)
            piece[place[first:last] - start] = counts[first:last]
            self._file.append(piece)

    def finish(self) -> dict[str, Entry]:
        """Complete the file and return what the header says about it."""
        self._file.fill(0, self._rows * self._columns - self._file.rows)
        self._file.rows, self._file.width = self._rows, self._columns
        return {self._name: self._file.finish()}

    def close(self) -> None:
        """Give the file up."""
        self._file.close()


def check_exact(counts: Array, dtype: Any) -> None:
    """Raise where a count is beyond what its type holds exactly."""
    if dtype == np.float32 and len(counts) and counts.max() >= _EXACT_FLOAT32:
        raise GraphError(
            f"a node has {int(counts.max()):,} or more edges of one label, "
            "beyond what float32 counts exactly: "
            "build the structure with dtype=torch.float64"
        )


def _narrowed(path: Path, entry: Entry) -> Entry:
    """Rewrite an array of int64 as int32, which duplicates that were dropped have made enough."""
    wide = map_array(path, entry)
    narrow = path.with_suffix(".narrow")
    with closing(ArrayFile(narrow, np.int32)) as file:
        for start in range(0, len(wide), _PIECE):
            file.append(wide[start : start + _PIECE])
        done = file.finish()
    narrow.replace(path)
    return done
