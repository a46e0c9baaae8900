"""Which columns of table files a reader takes, and which it leaves, from the first lines alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

from edgnn._files import open_binary
from edgnn.io._common import as_list
from edgnn.io._frames import Frame
from edgnn.io._molecule_files import molecule_records, smiles_table, table_columns
from edgnn.io._molecules import read_sdf, read_smiles_table
from edgnn.io._separated import number_in
from edgnn.io._table_files import Table
from edgnn.io._tables import TableColumns, chosen_columns, read_tables

_LOOKED_AT = 200
_MOST_COLUMNS = 200


@dataclass(frozen=True)
class ColumnUse:
    """What is read of one table.

    Attributes
    ----------
    path : Path or Frame
        The file, or the data frame.
    of : {"edge", "node", "graph"}
        What its rows are.
    label : str, optional
        The column of labels.
    features : tuple of str
        Columns of features.
    unused : tuple of str
        Columns that are not read.
    numbers, words : tuple of str
        Of these, where edges and nodes have them: those that could be features, and those that
        could be labels, as far as the first rows tell: words that come again. Only the first few
        hundred columns are looked at.
    """

    path: Path | Frame
    of: str
    label: str | None
    features: tuple[str, ...]
    unused: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


def of_molecules(path: Path, options: Mapping[str, Any]) -> list[ColumnUse]:
    """Return what the reader of tables with SMILES takes of a table."""
    given = _with_defaults(read_smiles_table, options)
    wanted = [*as_list(given["target"]), *as_list(given["descriptors"])]
    with open_binary(path, given["max_bytes"]) as stream:
        table = smiles_table(stream, path, given["smiles"], given["delimiter"])
    names, targets = table_columns(table, path, given["id"], wanted)
    used = {table.column, names, *targets}
    unused = tuple(cell.strip() for place, cell in enumerate(table.header) if place not in used)
    return [ColumnUse(path, "graph", None, (), unused)]


def of_sd_file(path: Path, options: Mapping[str, Any]) -> list[ColumnUse]:
    """Return which properties of an SD file are not read, in the order of their appearance."""
    given = _with_defaults(read_sdf, options)
    with molecule_records(path, "sdf", columns=None, max_bytes=given["max_bytes"]) as records:
        names = records.columns
    wanted = [*as_list(given["target"]), *as_list(given["descriptors"])]
    return [ColumnUse(path, "graph", None, (), tuple(name for name in names if name not in wanted))]


def of_tables(path: Path, options: Mapping[str, Any]) -> list[ColumnUse]:
    """Return what the reader of tables takes of each table."""
    given = _with_defaults(read_tables, options)
    edges, nodes, graphs = chosen_columns(path, given)
    uses = []
    if nodes is not None:
        uses.append(_use(nodes, "node"))
    uses.append(_use(edges, "edge"))
    if graphs is not None:
        uses.append(_use(graphs, "graph"))
    return uses


def _with_defaults(reader: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    return (reader.__kwdefaults__ or {}) | dict(options)


def _use(rows: TableColumns, of: str) -> ColumnUse:
    used = {column.name for column in rows.columns}
    unused = tuple(name for name in rows.table.names if name and name not in used)
    features = tuple(column.name for column in rows.features)
    numbers: list[str] = []
    words: list[str] = []
    first = _first_cells(rows.table, unused[:_MOST_COLUMNS]) if unused and of != "graph" else {}
    for name, cells in first.items():
        if _are_numbers(cells):
            numbers.append(name)
        elif None not in cells and len(set(cells)) < len(cells):
            words.append(name)
    return ColumnUse(
        rows.table.path, of, rows.label_name, features, unused, tuple(numbers), tuple(words)
    )


def _are_numbers(cells: list[Any]) -> bool:
    for cell in cells:
        number = number_in(cell)
        if number is None or isnan(number):
            return False
    return bool(cells)


def _first_cells(table: Table, names: Sequence[str]) -> dict[str, list[Any]]:
    with closing(table.batches(names)) as batches:
        batch = next(batches, None)
    if batch is None:
        return {}
    columns = batch.slice(0, _LOOKED_AT).columns
    return {name: column.to_pylist() for name, column in zip(names, columns, strict=True)}
