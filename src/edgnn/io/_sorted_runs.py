"""Any number of whole numbers sorted in bounded memory: runs on disk that are merged."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from edgnn.io._common import Array


class SortedRuns:
    """Sorts what is added, with at most ``run`` numbers in memory.

    Used in a ``with`` block, whose end removes the file.

    Parameters
    ----------
    path : Path
        A new file, which gets 8 bytes per number.
    run : int
        How many numbers are sorted at a time.
    distinct : bool
        Keep one of equal numbers; else they are counted.
    expected : int, optional
        How many numbers will come, at most.
    """

    def __init__(
        self, path: Path, run: int, *, distinct: bool, expected: int | None = None
    ) -> None:
        self._path = path
        self._run = run
        self._distinct = distinct
        self._stream = path.open("wb")
        size = run if expected is None else max(1, min(run, expected))
        self._buffer = np.empty(size, np.int64)
        self._held = 0
        self._bounds = [0]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stream.close()
        self._path.unlink()

    def add(self, numbers: Array) -> None:
        """Take more numbers."""
        while len(numbers):
            fitting = numbers[: len(self._buffer) - self._held]
            self._buffer[self._held : self._held + len(fitting)] = fitting
            self._held += len(fitting)
            numbers = numbers[len(fitting) :]
            if self._held == len(self._buffer):
                self._flush()

    def merged(self) -> Iterator[tuple[Array, Array | None]]:
        """Yield the different numbers in rising order, in pieces, with their counts if kept."""
        self._flush()
        self._buffer = np.empty(0, np.int64)
        self._stream.flush()
        if self._bounds[-1] == 0:
            return
        stored = np.asarray(np.memmap(self._path, np.int64, "r"))
        runs = [stored[start:stop] for start, stop in pairwise(self._bounds)]
        splits = self._splits(runs)
        alone = np.append(np.diff(splits) == 1, False)
        places = np.stack(
            [np.append(np.searchsorted(run, splits), len(run)) for run in runs], axis=1
        )
        for piece, (starts, stops) in enumerate(pairwise(places)):
            total = int((stops - starts).sum())
            if total and alone[piece]:
                yield splits[piece : piece + 1], None if self._distinct else np.array([total])
            elif total:
                numbers = np.concatenate(
                    [run[a:b] for run, a, b in zip(runs, starts, stops, strict=True)]
                )
                numbers.sort()
                yield _counted(numbers, self._distinct)

    def _flush(self) -> None:
        numbers = self._buffer[: self._held]
        numbers.sort()
        if self._distinct:
            numbers = _counted(numbers, True)[0]
        self._stream.write(numbers.data)
        if len(numbers):
            self._bounds.append(self._bounds[-1] + len(numbers))
        self._held = 0

    def _splits(self, runs: list[Array]) -> Array:
        """Return first values of ranges that hold less than ``run`` numbers, or a single one.

        With every ``stride``-th number of every run as a sample, a range with s samples holds less
        than (s + runs) · stride numbers. Every so many samples begin a range; a number that would
        begin several has one of its own, which is counted without being read.
        """
        stride, samples_per_range = max(1, self._run // (8 * len(runs))), 2 * len(runs)
        firsts = np.sort(np.concatenate([run[::stride] for run in runs]))[::samples_per_range]
        again = firsts[1:][firsts[1:] == firsts[:-1]]
        return np.unique(np.concatenate([firsts, again + 1]))


def _counted(numbers: Array, distinct: bool) -> tuple[Array, Array | None]:
    """Return each sorted number once, with its count unless only ``distinct`` are wanted."""
    if len(numbers) == 0:
        return numbers, None if distinct else numbers
    new = np.empty(len(numbers), bool)
    new[0] = True
    np.not_equal(numbers[1:], numbers[:-1], out=new[1:])
    if distinct:
        return numbers[new], None
    return numbers[new], np.diff(np.flatnonzero(new), append=len(numbers))
