"""Molecule files as text: records of SD files, rows of tables, columns that become targets."""

from __future__ import annotations

import csv
import io
import re
import warnings
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from os import fspath
from typing import IO, Any, Literal

import numpy as np

from edgnn._files import Path_, line_chunks, open_binary
from edgnn._words import preview, short, suggestion
from edgnn.errors import FormatError, GraphError
from edgnn.io._decimal_commas import first_decimal_comma, write_points

_IDS = ("id", "name")

OnBad = Literal["error", "skip"]


def _lines(stream: IO[bytes], path: Path_) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a UTF-8 text, line ends kept, a byte order mark removed."""
    for first, chunk in line_chunks(stream, path):
        for number, raw in enumerate(io.BytesIO(chunk), first):
            try:
                text = raw.decode()
            except UnicodeDecodeError as error:
                wrong = raw[error.start]
                raise FormatError(
                    path,
                    f"byte 0x{wrong:02x} is not UTF-8; convert the file to UTF-8 first",
                    number,
                ) from None
            yield number, text.removeprefix("\ufeff") if number == 1 else text


def records(stream: IO[bytes], path: Path_) -> Iterator[tuple[int, str]]:
    """Yield the records of an SD file, each with the number of its first line."""
    first, record, ended = (
        1,
        bytearray(),
        0,
    )  # as a list, short lines would take many times their length
    for number, text in _lines(stream, path):
        if text.startswith("$$$$"):
            yield first, record.decode()
            first, record, ended = number + 1, bytearray(), ended + 1
        else:
            record += text.encode()
    rest = record.decode()
    if rest.strip():
        if ended or "\n>" in rest:
            raise FormatError(
                path, f"record {ended + 1} does not end with $$$$; the file is cut off", first
            )
        yield first, rest
    elif not ended:
        raise FormatError(path, "the file is empty; expected mol blocks that end with $$$$")


def properties_of(record: str) -> dict[str, str]:
    """Return the data items that stand behind the mol block of a record."""
    found: dict[str, str] = {}
    name = None
    for line in islice(io.StringIO(record, newline="\n"), 1, None):
        if name is None and line.startswith(">") and (match := re.search("<(.*)>", line)):
            name = match[1]
            found[name] = ""
        elif name is not None and line.strip():
            found[name] = f"{found[name]}\n{line.strip()}".strip()
        else:
            name = None
    return found


def table(
    stream: IO[bytes], path: Path_, smiles: str, delimiter: str | None
) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Return the column names and the numbered rows of a table."""
    refuse_spreadsheet(path)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise GraphError(
            f"delimiter={delimiter!r}: a delimiter is one character, such as ',' or a tab"
        )
    lines = _lines(stream, path)
    _, first = next(lines, (1, ""))
    if (
        fspath(path).lower().removesuffix(".gz").endswith((".smi", ".smiles"))
        and smiles.casefold() not in first.casefold()
    ):
        return [smiles, "name"], (
            (line, _fields(text)) for line, text in chain([(1, first)], lines) if text.strip()
        )
    mark = delimiter or delimiter_of(first)
    rows = _rows(chain([first], (text for _, text in lines)), path, mark)
    _, header = next(rows, (1, []))
    if not header:
        raise FormatError(path, "the table is empty; its first line must name the columns")
    return header, rows


def delimiter_of(header: str) -> str:
    """Return what stands between the columns that a line names."""
    return next((mark for mark in "\t,;| " if mark in header.strip()), ",")


def refuse_spreadsheet(path: Path_) -> None:
    """Raise where the name is that of a workbook, which is no text."""
    if fspath(path).lower().endswith((".xlsx", ".xls", ".xlsm", ".ods")):
        raise FormatError(path, "a spreadsheet is not read; save it as CSV")


def _fields(text: str) -> list[str]:
    """Return the SMILES and the name on a line; a name that is lacking is empty, and an extension between bars is none."""
    fields = (
        [field.strip() for field in text.strip().split("\t")]
        if "\t" in text.strip()
        else text.split()
    )
    name = fields[1] if len(fields) > 1 and not fields[1].startswith("|") else ""
    return [fields[0].split()[0] if fields[0] else "", name]


def _rows(lines: Iterable[str], path: Path_, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table, each with the number of its first line; blank lines are left out."""
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter == " ", strict=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise FormatError(path, f"the row cannot be split into cells: {error}", line) from None
        if row is None:
            return
        if any(cell.strip() for cell in row):
            yield line, row


def column_of(header: Sequence[str], name: str, path: Path_, hint: str = "") -> int:
    """Return the column of a name: as it is, or else without regard to case; ``hint`` says what else could help."""
    for fold in (str.strip, lambda text: text.strip().casefold()):
        found = [column for column, cell in enumerate(header) if fold(cell) == fold(name)]
        if len(found) == 1:
            return found[0]
        if found:
            raise FormatError(
                path, f"{len(found)} columns are called {name!r}; rename all but one", 1
            )
    names = [cell.strip() for cell in header]
    meant = suggestion(name, names)
    raise FormatError(
        path, f"there is no column {name!r}; the header line has {preview(names)}{hint}{meant}", 1
    )


def has_column(path: Path_, name: Any, delimiter: str | None = None) -> bool:
    """Return whether a table has a column of that name; upper and lower case do not matter."""
    with open_binary(path) as stream:
        header = table(stream, path, "", delimiter)[0]
    return str(name).strip().casefold() in [cell.strip().casefold() for cell in header]


def id_column(
    header: Sequence[str], name: str | None, others: Sequence[int], path: Path_
) -> int | None:
    """Return the column of names: that which was asked for, or else one called id or name that is for nothing else."""
    if name is not None:
        return column_of(header, name, path)
    folded = [cell.strip().casefold() for cell in header]
    found = [
        place
        for word in _IDS
        for place, cell in enumerate(folded)
        if cell == word and place not in others
    ]
    return found[0] if found else None


class TargetColumns:
    """Text columns that become targets of molecules, or of whatever ``what`` says."""

    def __init__(
        self, path: Path_, target: str | Sequence[str] | None, what: str = "molecule"
    ) -> None:
        self._path, self._single, self._what = path, isinstance(target, str), what
        self.names: list[str] = (
            [] if target is None else [target] if isinstance(target, str) else list(target)
        )
        self._values: list[list[str]] = [[] for _ in self.names]
        self._lines = array("q")

    def add(self, cells: Sequence[str], line: int) -> None:
        for values, cell in zip(self._values, cells, strict=True):
            values.append(cell)
        self._lines.append(line)

    def targets(self) -> np.ndarray[Any, Any] | None:
        if not self.names:
            return None
        columns = [
            self._column(name, values)
            for name, values in zip(self.names, self._values, strict=True)
        ]
        if self._single:
            return columns[0]
        if len({column.dtype == object for column in columns}) > 1:
            kinds = ", ".join(
                f"{name!r} ({'text' if column.dtype == object else 'numbers'})"
                for name, column in zip(self.names, columns, strict=True)
            )
            raise FormatError(
                self._path,
                f"targets of one kind make one array, but these differ: {kinds}; read them apart",
            )
        return np.column_stack(columns)

    def _column(self, name: str, values: list[str]) -> np.ndarray[Any, Any]:
        if values and not any(values):
            raise FormatError(
                self._path, f"no {self._what} has a value for {name!r}; check the name"
            )
        for convert, dtype in ((int, np.int64), (float, np.float64)):
            try:
                return np.array([_number(value, convert) for value in values], dtype=dtype)
            except (ValueError, OverflowError):
                continue
        comma = first_decimal_comma(values, names="" not in values)
        if comma is not None:
            rule = f"the target {name!r} is {short(values[comma])}{write_points(values[comma])}"
            raise FormatError(self._path, rule, self._lines[comma])
        if "" in values:
            line = self._lines[values.index("")]
            rule = f"the text target {name!r} has no value here; fill it in or drop the {self._what}{self._why_text(values)}"
            raise FormatError(self._path, rule, line)
        texts = np.empty(
            len(values), object
        )  # an array of str_ would give every cell the room of the longest one
        texts[:] = values
        return texts

    def _why_text(self, values: list[str]) -> str:
        """Return which cell keeps a column from being numbers, where there are some."""
        texts = [place for place, value in enumerate(values) if value and not is_number(value)]
        if not texts or len(texts) + values.count("") == len(values):
            return ""
        return f". Without {short(values[texts[0]])} in line {self._lines[texts[0]]} it would be one of numbers"


def _number(text: str, convert: type[int] | type[float]) -> int | float:
    if "_" in text or not text.isascii():
        raise ValueError(text)  # Python would read 1_000 as a number
    return float("nan") if text == "" and convert is float else convert(text)


def is_number(text: str) -> bool:
    """Return whether a cell is a number, or empty."""
    try:
        _number(text, float)
    except ValueError:
        return False
    return True


class Skipped:
    """Records that could not be read: an error, or a count and one warning."""

    def __init__(self, path: Path_, bad: OnBad) -> None:
        if bad not in ("error", "skip"):
            raise GraphError(f"bad={bad!r}: choose 'error' or 'skip'")
        self._path, self._bad = path, bad
        self._count, self._first = 0, ""

    def add(self, rule: str, line: int) -> None:
        if self._bad == "error":
            raise FormatError(
                self._path,
                f"{rule}; to leave such molecules out, pass bad='skip' (-o bad=skip in a command)",
                line,
            )
        self._first = self._first or f"line {line}: {rule}"
        self._count += 1

    def warn(self, kept: int) -> None:
        if self._count:
            warnings.warn(
                f"{fspath(self._path)}: {self._count} of {self._count + kept} molecules were skipped; the first: {self._first}",
                stacklevel=3,
            )
