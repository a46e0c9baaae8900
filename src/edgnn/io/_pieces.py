"""Long arrays as text, a piece at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, BinaryIO

from torch import Tensor

_PIECE = 2**14


def rows(array: Tensor) -> Iterator[Any]:
    """Yield the rows of ``array`` as Python numbers or lists, a piece at a time."""
    return (
        row
        for start in range(0, len(array), _PIECE)
        for row in array[start : start + _PIECE].tolist()
    )


def write_joined(stream: BinaryIO, texts: Iterable[str], between: str) -> None:
    """Write ``texts`` with ``between`` between them."""
    remaining = iter(texts)
    before = ""
    while piece := list(islice(remaining, _PIECE)):
        stream.write((before + between.join(piece)).encode())
        before = between
