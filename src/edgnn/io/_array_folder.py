"""A folder of arrays and values under one JSON header, which says what each file must be."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from edgnn._files import open_regular, read_file, status_of
from edgnn._words import one_line, short
from edgnn.errors import FormatError, GraphError
from edgnn.graphs import decode_value, encode_value
from edgnn.io._array_files import Entry, changed, damaged, map_array, verify_array
from edgnn.io._common import Array

VERSION = 1

#: The header of each kind of folder, and what opens it.
_OPENED_BY = {"graphs.json": "edgnn.read", "structure.json": "edgnn.io.open_structure"}

_LINES = 2**14
_LARGEST_HEADER = 2**20


class ValuesFile:
    """Label values or names, one per line as JSON, in a file that grows.

    Parameters
    ----------
    path : Path
        A new file.
    what : str
        Whose values they are, for errors.
    """

    def __init__(self, path: Path, what: str) -> None:
        self.lines = 0
        self._what, self._crc32 = what, 0
        self._stream = path.open("wb")

    def append(self, values: Iterable[Any]) -> None:
        """Write more values."""
        remaining = iter(values)
        while piece := list(islice(remaining, _LINES)):
            data = b"".join(
                self._line(value, self.lines + place) for place, value in enumerate(piece)
            )
            self._crc32 = zlib.crc32(data, self._crc32)
            self._stream.write(data)
            self.lines += len(piece)

    def _line(self, value: Any, number: int) -> bytes:
        try:
            return json.dumps(encode_value(value), allow_nan=False).encode() + b"\n"
        except GraphError as error:
            raise GraphError(f"{self._what} {number} cannot be written: {error}") from None

    def finish(self) -> dict[str, int]:
        """Complete the file, on disk, and return what the folder's header says about it."""
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        return {"lines": self.lines, "crc32": self._crc32}

    def close(self) -> None:
        """Give the file up."""
        self._stream.close()


def write_header(path: Path, kind: str, content: Mapping[str, Any]) -> None:
    """Write the header of a folder; the last file to be written."""
    text = json.dumps(
        {"format": kind, "version": VERSION, "crc32": _checksum(content), "content": content},
        indent=1,
    )
    with path.open("wb") as stream:
        stream.write(text.encode() + b"\n")
        stream.flush()
        os.fsync(stream.fileno())


def read_header(path: Path, kind: str) -> dict[str, Any]:
    """Return the content of a folder's header."""
    folder = path.parent
    if not folder.is_dir():
        status_of(folder)
        raise FormatError(folder, f"this is a file, but the format {kind!r} is a folder")
    try:
        with open_regular(path) as stream:
            data = stream.read(_LARGEST_HEADER)
    except FileNotFoundError:
        raise _no_header(path, kind) from None
    try:
        header = json.loads(data)
        stored, version, content = header["format"], header["version"], header["content"]
        is_whole = header["crc32"] == _checksum(content) and isinstance(content, dict)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise damaged(path, f"this is no readable header of {kind}") from None
    if stored != kind:
        raise FormatError(path, f"the folder holds {short(stored)}, not {kind!r}")
    if version != VERSION:
        raise FormatError(
            path,
            f"the folder has version {short(version)}; this edgnn reads version {VERSION}: "
            "update edgnn",
        )
    if not is_whole:
        raise changed(path, "header")
    return dict(content)


def _no_header(path: Path, kind: str) -> FormatError:
    rule = f"the folder has no such header, so it holds no {kind}"
    for name, opener in _OPENED_BY.items():
        if (path.parent / name).exists():
            return FormatError(path, f"{rule}: open it with {opener}")
    return damaged(path, rule)


def whole_numbers(content: Mapping[str, Any], *names: str) -> list[int]:
    """Return the sizes that a header tells; a ``ValueError`` where one is none."""
    numbers = [content[name] for name in names]
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError(f"{' and '.join(names)} must be whole numbers")
    return numbers


@contextmanager
def blaming(path: Path) -> Iterator[None]:
    """Raise what makes no graphs, or what a header lacks, as damage of the file."""
    try:
        yield
    except FormatError:
        raise
    except GraphError as error:
        raise damaged(path, str(error)) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        rule = f"the header lacks what it must tell ({one_line(error)})"
        raise damaged(path, rule) from None


def open_arrays(
    folder: Path, stored: Any, known: Iterable[str], *, verify: bool
) -> dict[str, tuple[Array, Entry]]:
    """Map the arrays that a header lists, those of known names, each with its entry."""
    arrays = {}
    for name in known:
        if name not in stored:
            continue
        try:
            entry = Entry.of(stored[name])
        except (ValueError, TypeError, KeyError):
            rule = f"the header describes {name!r} in a way this edgnn does not know"
            raise damaged(folder, rule) from None
        path = folder / f"{name}.npy"
        array = map_array(path, entry)
        if verify:
            verify_array(path, array, entry)
        arrays[name] = (array, entry)
    return arrays


def read_values(path: Path, stored: Mapping[str, Any]) -> list[Any]:
    """Return the values of a file that :class:`ValuesFile` wrote, after a check of its size."""
    try:
        data = read_file(path)
    except FileNotFoundError:
        raise damaged(path, "the file is missing") from None
    if zlib.crc32(data) != stored["crc32"]:
        raise changed(path, "content")
    values: list[Any] = []
    lines = iter(data.splitlines())
    try:
        while piece := b",".join(islice(lines, _LINES)):
            values += map(decode_value, json.loads(b"[" + piece + b"]"))
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"the file holds what is no value ({one_line(error)})") from None
    return values


def _checksum(content: Any) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())
