"""Separated text, such as CSV: one rule for delimiters, columns by name, cells that are numbers.

Rows come from Python's ``csv`` module; tables of edges, which may be long, are read by pyarrow
(``_table_files.py``) with the delimiter and the columns found here.
"""

from __future__ import annotations

import csv
import io
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from os import fspath
from typing import IO, Any

import numpy as np

from edgnn._deadline import checked
from edgnn._files import Path_, line_chunks, open_binary
from edgnn._words import one_line, preview, short, suggestion
from edgnn.errors import FormatError, GraphError
from edgnn.io._common import Array, as_list, object_array

Row = tuple[int, list[str]]

#: Numbers are classes rather than values while there are at most so many different ones.
FEW_KINDS = 20

_DELIMITERS = "\t,;| "
_QUOTED = re.compile(r'"[^"]*"')
#: What people call a column of names, in the order in which it is looked for; ``-`` and blanks
#: count as ``_``.
_ID_COLUMNS = (
    *("id", "name", "compound_id", "molecule_id", "mol_id", "cid", "cmpd_id", "chembl_id"),
    *("molecule_chembl_id", "compound_name", "molecule_name", "mol_name", "identifier", "title"),
)
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods")
_COMMA_NUMBER = re.compile(r"[-+]?([0-9]{1,3}(\.[0-9]{3})+|[0-9]*),[0-9]+([eE][-+]?[0-9]+)?")
#: Other words that people use for the columns of tables.
_SYNONYMS = (
    ("node", "id", "name", "node_id", "entity"),
    ("graph", "id", "name", "graph_id"),
    ("source", "from", "src", "subject"),
    ("target", "to", "dst", "object"),
)


def delimiter_of(header: str, path: Path_ = "", chosen: str | None = None) -> str:
    """Return what separates the cells of a table.

    Parameters
    ----------
    header : str
        Its first line.
    path : path
        Its name: a ``.tsv`` file is separated by tabs.
    chosen : str, optional
        What the user asks for. Otherwise it is the first of tab, comma, semicolon, bar and blank
        that the first line has outside of quotation marks.
    """
    if chosen is not None:
        if len(chosen) != 1 or chosen in '"\r\n' or not chosen.isascii():
            raise GraphError(
                f"delimiter={short(chosen)}: a delimiter is one ASCII character, such as ',' or a "
                "tab, and no quotation mark or line end"
            )
        return chosen
    if fspath(path).lower().removesuffix(".gz").endswith(".tsv"):
        return "\t"
    bare = _QUOTED.sub("", header.strip())
    return next((mark for mark in _DELIMITERS if mark in bare), ",")


def read_rows(
    stream: IO[bytes], path: Path_, delimiter: str | None = None
) -> tuple[list[str], Iterator[Row]]:
    """Return the column names of a table, and its rows with the number of the line of each.

    Blank lines are left out. A row that has not as many cells as the header is an error.
    """
    return split_lines(numbered_lines(stream, path), path, delimiter)


def split_lines(
    lines: Iterator[tuple[int, str]], path: Path_, delimiter: str | None, *, even: bool = True
) -> tuple[list[str], Iterator[Row]]:
    """Return the column names and the rows that are written on lines.

    With ``even``, a row that has not as many cells as the header is an error.
    """
    _, first = next(lines, (1, ""))
    mark = delimiter_of(first, path, delimiter)
    rows = _rows(chain([first], (text for _, text in lines)), path, mark)
    _, header = next(rows, (1, []))
    if not header:
        raise FormatError(path, "the table is empty; its first line must name the columns")
    return header, _even_rows(rows, len(header), path) if even else rows


def read_header(path: Path_, delimiter: str | None = None) -> list[str]:
    """Return the column names of a table."""
    with open_binary(path) as stream:
        return read_rows(stream, path, delimiter)[0]


def numbered_lines(stream: IO[bytes], path: Path_) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a UTF-8 text, line ends kept, a byte order mark removed."""
    for first, chunk in line_chunks(stream, path):
        for number, raw in enumerate(checked(io.BytesIO(chunk)), first):
            try:
                text = raw.decode()
            except UnicodeDecodeError as error:
                byte = raw[error.start]
                rule = f"byte 0x{byte:02x} is not UTF-8; convert the file to UTF-8 first"
                raise FormatError(path, rule, number) from None
            yield number, text.removeprefix("\ufeff") if number == 1 else text


def _rows(lines: Iterable[str], path: Path_, delimiter: str) -> Iterator[Row]:
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter == " ", strict=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            rule = f"the row cannot be split into cells: {one_line(error)}"
            raise FormatError(path, rule, line) from None
        if row is None:
            return
        if any(cell.strip() for cell in row):
            yield line, row


def _even_rows(rows: Iterable[Row], width: int, path: Path_) -> Iterator[Row]:
    for line, row in rows:
        if len(row) != width:
            raise FormatError(path, uneven(row, width), line)
        yield line, row


def uneven(row: Sequence[str], width: int) -> str:
    """Return what is wrong with a row that has not as many cells as the header."""
    return f"the row has {len(row)} cells, but the header has {width}"


def refuse_spreadsheet(path: Path_) -> None:
    """Raise where the name is that of a workbook, which is not text."""
    if fspath(path).lower().endswith(_SPREADSHEETS):
        raise FormatError(path, "a spreadsheet is not read; save it as CSV")


def column_of(header: Sequence[str], name: str, path: Path_, hint: str = "") -> int:
    """Return the position of a column: its name as it is, or else in upper or lower case.

    Parameters
    ----------
    header : sequence of str
        The column names.
    name : str
        The one to look for.
    path : path
        The table, for errors.
    hint : str
        What else could help, for the error that there is no such column.
    """
    names = [cell.strip() for cell in header]
    wanted = name.strip()
    if wanted not in names:
        names, wanted = [cell.casefold() for cell in names], wanted.casefold()
    times = names.count(wanted)
    if times == 1:
        return names.index(wanted)
    if times:
        raise FormatError(path, f"{times} columns are called {name!r}; rename all but one", 1)
    names = [cell.strip() for cell in header]
    meant = suggestion(name, names) or _synonym(name, names)
    rule = f"there is no column {name!r}; the columns are {preview(names, 20)}"
    raise FormatError(path, rule, 1, kind="column", advice=f"{hint}{meant}")


def has_column(header: Sequence[str], name: str) -> bool:
    """Return whether there is a column of that name; upper and lower case do not matter."""
    return name.strip().casefold() in [cell.strip().casefold() for cell in header]


def id_column(
    header: Sequence[str], name: str | None, others: Sequence[int], path: Path_
) -> int | None:
    """Return the column of names: the chosen one, or else one called ``id``, ``name`` or the like.

    ``others`` are columns that are used for something else.
    """
    if name is not None:
        return column_of(header, name, path)
    folded = [re.sub(r"[\s-]+", "_", cell.strip().casefold()) for cell in header]
    for word in _ID_COLUMNS:
        for column, cell in enumerate(folded):
            if cell == word and column not in others:
                return column
    return None


def _synonym(name: str, columns: Sequence[str]) -> str:
    """Return the question for a column that is called by another word for the same."""
    for words in _SYNONYMS:
        if name.casefold() not in words:
            continue
        for column in columns:
            if column.casefold() in words:
                return f"; did you mean {column!r}?"
    return ""


def number_in(cell: Any) -> float | None:
    """Return the number that a cell holds; ``None`` where it is not one.

    Python's own extras, such as ``1_000`` and digits of other scripts, are not numbers.
    """
    if isinstance(cell, bool):
        return None
    if isinstance(cell, str) and ("_" in cell or not cell.isascii()):
        return None
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None


def has_decimal_comma(text: str) -> bool:
    """Return whether a text is a number with a decimal comma."""
    return _COMMA_NUMBER.fullmatch(text.strip()) is not None


def decimal_comma_advice(text: str) -> str:
    """Return the end of an error about a number with a decimal comma: what it is, how to fix it."""
    number = text.strip().replace(".", "").replace(",", ".")
    return (
        f", a number with a decimal comma; write the numbers of the column with points, as {number}"
    )


def first_decimal_comma(values: Iterable[Any], *, names: bool = True) -> int | None:
    """Return the position of the first decimal comma of a column that holds only numbers.

    Parameters
    ----------
    values : iterable
        The column; an empty text or ``None`` is a missing value.
    names : bool
        Whether few different values, each of which comes twice on average, may be names, such as
        those of classes.
    """
    first = None
    count = 0
    different = set()
    for position, value in enumerate(values):
        if value is None or value == "":
            continue
        if not isinstance(value, str):
            return None
        if has_decimal_comma(value):
            first = position if first is None else first
        elif number_in(value) is None:
            return None
        different.add(value)
        count += 1
    if names and len(different) <= min(FEW_KINDS, count // 2):
        return None
    return first


def no_values(path: Path_, name: str, item: str) -> FormatError:
    """Make the error of a column of targets that has none."""
    rule = f"no {item} has a value for {name!r}; check the name, or choose a column with values"
    return FormatError(path, rule)


class TargetColumns:
    """Text columns that become targets of molecules, or of whatever ``item`` says."""

    def __init__(
        self, path: Path_, target: str | Sequence[str] | None, item: str = "molecule"
    ) -> None:
        self._path = path
        self._item = item
        self._single = isinstance(target, str)
        self.names = as_list(target)
        self._rows: list[Sequence[str]] = []
        self._lines = array("q")

    def add(self, cells: Sequence[str], line: int) -> None:
        """Take the cells of the next item."""
        self._rows.append(cells)
        self._lines.append(line)

    def targets(self) -> Array | None:
        """Return whole numbers, numbers or texts, one or one row per item."""
        if not self.names:
            return None
        columns = [
            self._column(name, [row[position] for row in self._rows])
            for position, name in enumerate(self.names)
        ]
        if self._single:
            return columns[0]
        kinds = ["text" if column.dtype == object else "numbers" for column in columns]
        if len(set(kinds)) > 1:
            named = (f"{name!r} ({kind})" for name, kind in zip(self.names, kinds, strict=True))
            raise FormatError(
                self._path,
                "targets of one kind make one array, but these differ: "
                f"{', '.join(named)}; read them apart",
            )
        return np.column_stack(columns)

    def _column(self, name: str, values: list[str]) -> Array:
        numbers = _numbers(values)
        if numbers is not None:
            if len(numbers) and np.isnan(numbers).all():
                raise no_values(self._path, name, self._item)
            return numbers
        comma = first_decimal_comma(values, names="" not in values)
        if comma is not None:
            advice = decimal_comma_advice(values[comma])
            rule = f"the target {name!r} is {short(values[comma])}{advice}"
            raise FormatError(self._path, rule, self._lines[comma])
        if "" in values:
            rule = (
                f"the text target {name!r} has no value here; "
                f"fill it in or drop the {self._item}{self._why_text(values)}"
            )
            raise FormatError(self._path, rule, self._lines[values.index("")])
        return object_array(values)

    def _why_text(self, values: list[str]) -> str:
        """Return which cell keeps a column from being numbers, where some cells are numbers."""
        texts = [
            position for position, value in enumerate(values) if value and number_in(value) is None
        ]
        if not texts or len(texts) + values.count("") == len(values):
            return ""
        cell, line = values[texts[0]], self._lines[texts[0]]
        return f". Without {short(cell)} in line {line} it would be one of numbers"


def _numbers(values: Sequence[str]) -> Array | None:
    """Return whole numbers, or numbers with NaN for empty cells; ``None`` where a cell is text."""
    numbers = [float("nan") if value == "" else number_in(value) for value in values]
    if None in numbers:
        return None
    try:
        return np.array([int(value) for value in values], dtype=np.int64)
    except (ValueError, OverflowError):
        return np.array(numbers, dtype=np.float64)
