"""Data frames in place of files: pandas, polars and pyarrow tables, none of which is imported."""

from __future__ import annotations

import csv
import io
from typing import IO, Any

from edgnn.errors import FormatError, GraphError


class Frame:
    """A table in memory where a path is taken: as the CSV file of it, its columns with types.

    Parameters
    ----------
    frame : table
        It has column names (``columns``, or ``column_names`` as in pyarrow), and a column by name
        that can become a list. An index is not looked at.
    """

    def __init__(self, frame: Any) -> None:
        self.name = type(frame).__name__
        self._frame = frame
        self._keys = {str(key): key for key in _keys(frame)}
        self.names = [str(key) for key in _keys(frame)]

    def __fspath__(self) -> str:
        """Return what errors call it."""
        return self.name

    __str__ = __fspath__

    def is_dir(self) -> bool:
        """Return ``False``."""
        return False

    def column(self, name: str) -> list[Any]:
        """Return the values of a column; ``None`` where one is missing."""
        if self.names.count(name) > 1:
            rule = f"{self.names.count(name)} columns are called {name!r}; rename all but one"
            raise FormatError(self, rule)
        column = self._frame[self._keys[name]]
        to_list = getattr(column, "to_pylist", None) or column.to_list
        return [None if _is_missing(value) else value for value in to_list()]

    def open(self, mode: str = "rb") -> IO[bytes]:
        """Return the table as CSV, every cell in quotation marks."""
        assert mode == "rb"
        text = io.StringIO()
        writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow(self.names)
        columns = [self.column(name) for name in self.names]
        for row in zip(*columns, strict=True):
            writer.writerow(["" if value is None else value for value in row])
        return io.BytesIO(text.getvalue().encode())


def as_source(value: Any) -> Any:
    """Return a data frame as a :class:`Frame`; anything else as it is."""
    if isinstance(value, str | Frame) or _keys(value) is None or not hasattr(value, "__getitem__"):
        return value
    return Frame(value)


def column_values(values: Any) -> Any:
    """Return a column of pyarrow, or the only one of a data frame, as a list; others as given."""
    table = as_source(values)
    if not isinstance(table, Frame):
        return values.to_pylist() if hasattr(values, "to_pylist") else values
    if len(table.names) != 1:
        raise GraphError(
            f"a {table} of {len(table.names)} columns stands where one is expected: choose it, as "
            "df['smiles'], or read the whole table with edgnn.read or edgnn.load_dataset"
        )
    return table.column(table.names[0])


def _keys(frame: Any) -> Any:
    keys = getattr(frame, "column_names", None)
    return getattr(frame, "columns", None) if keys is None else keys


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # pandas' NA is neither equal nor unequal; arrays are values
        return type(value).__name__ == "NAType"
