"""Tables of predictions as files, written piece by piece, all of it or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from edgnn._files import Path_, atomic_file
from edgnn._json import to_csv
from edgnn._optional import optional
from edgnn._words import short
from edgnn.errors import EdgnnError
from edgnn.models._predict_table import Columns, TablePiece

_EXACT = 2**53  # whole numbers below this are exact
_CSV, _PARQUET = ".csv", ".parquet"


def check_table_file(path: Path_, name: str = "the table") -> None:
    """Raise before the work where :func:`write_table` does not write such a file."""
    kind = Path(path).suffix.lower()
    if kind not in (_CSV, _PARQUET):
        raise EdgnnError(f"{name} {path}: name it .csv or .parquet")
    if kind == _PARQUET:
        optional("pyarrow", "writing Parquet")


def csv_rows(tables: Iterable[TablePiece]) -> Iterator[bytes]:
    """Yield a table as CSV, a piece at a time."""
    for number, table in enumerate(tables):
        yield to_csv(table.columns, header=number == 0)


def write_table(tables: Iterable[TablePiece], path: Path_) -> None:
    """Write a table as ``.csv`` or ``.parquet``; the file appears when all of it is written.

    Parameters
    ----------
    tables : iterable of TablePiece
        The pieces of the table, as :func:`predict_table` yields them.
    path : path
        The file.
    """
    check_table_file(path)
    if Path(path).suffix.lower() == _PARQUET:
        _write_parquet(tables, path)
        return
    with atomic_file(Path(path)) as stream:
        for rows in csv_rows(tables):
            stream.write(rows)


def write_columns(columns: Mapping[str, Any], path: Path_) -> None:
    """Write arrays or lists by name as ``.csv`` or ``.parquet``; whole numbers as such."""
    check_table_file(path)
    whole = {name: _whole(values) for name, values in columns.items()}
    with atomic_file(Path(path)) as stream:
        if Path(path).suffix.lower() == _CSV:
            stream.write(to_csv({name: list(values) for name, values in whole.items()}))
            return
        arrow = optional("pyarrow", "writing Parquet")
        parquet = optional("pyarrow.parquet", "writing Parquet")
        parquet.write_table(arrow.table(whole), stream)


def _whole(values: Any) -> Any:
    """Return an array of numbers without fractions as whole numbers, other values as they are."""
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
        return values
    small = np.isfinite(values) & (np.abs(values) < _EXACT)
    is_whole = small.all() and (values == np.rint(values)).all()
    return values.astype(np.int64 if is_whole else np.float64)


def _write_parquet(tables: Iterable[TablePiece], path: Path_) -> None:
    arrow = optional("pyarrow", "writing Parquet")
    parquet = optional("pyarrow.parquet", "writing Parquet")
    tables = iter(tables)
    first: list[TablePiece] = []
    for table in tables:  # the first pieces may have no prediction whose type could be seen
        first.append(table)
        if table.failed < len(table):
            break
    schema = _schema(arrow, [table.columns for table in first])
    with atomic_file(Path(path)) as stream, parquet.ParquetWriter(stream, schema) as writer:
        for table in chain(first, tables):
            arrays = [_array(arrow, table.columns[field.name], field) for field in schema]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))


def _schema(arrow: Any, tables: list[Columns]) -> Any:
    fields = []
    for name in tables[0] if tables else ():
        values = [value for columns in tables for value in columns[name]]
        kind = arrow.string()
        if name == "first_new_round":
            kind = arrow.int64()
        elif any(value is not None for value in values):
            kind = _kind(arrow, values)
        fields.append(arrow.field(name, kind))
    return arrow.schema(fields)


def _kind(arrow: Any, values: list[Any]) -> Any:
    """Return the type of a column; text where values have several."""
    try:
        return arrow.array(values).type
    except (arrow.ArrowException, OverflowError, TypeError, ValueError):
        return arrow.string()


def _array(arrow: Any, values: list[Any], field: Any) -> Any:
    if field.type == arrow.string():
        texts = [None if value is None else str(value) for value in values]
        return arrow.array(texts, type=field.type)
    try:
        return arrow.array(values, type=field.type)
    except (arrow.ArrowException, OverflowError, TypeError, ValueError):
        raise EdgnnError(
            f"the column {short(field.name)} begins with values of the type {field.type} and goes "
            "on with others, which Parquet does not have: write .csv"
        ) from None
