"""Which columns of table files a reader takes, and which it leaves: from the first lines alone, with the reader's own rules."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from edgnn._files import Path_, open_binary
from edgnn.io._molecule_files import column_of, id_column, table
from edgnn.io._molecules import read_smiles_table
from edgnn.io._table_files import Table, open_table
from edgnn.io._tables import Rows, read_tables, table_paths

_LOOKED_AT = 200


@dataclass(frozen=True)
class ColumnUse:
    """What is read of one table.

    Attributes
    ----------
    path : Path
        The file.
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
        could be labels, as far as the first rows tell: words that come again.
    """

    path: Path
    of: str
    label: str | None
    features: tuple[str, ...]
    unused: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


def column_uses(path: Path_, kind: str, options: Mapping[str, Any]) -> list[ColumnUse]:
    """Return what the reader of a format takes of each table that it reads; nothing for formats that are no tables.

    Parameters
    ----------
    path : path
        What was read.
    kind : str
        Its format, such as ``"tables"`` or ``"smiles"``.
    options : mapping
        Those of the reader.
    """
    if kind == "smiles":
        return [_of_molecules(Path(path), _told(read_smiles_table, options))]
    return _of_tables(Path(path), _told(read_tables, options)) if kind == "tables" else []


def _told(reader: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    parameters = signature(reader).parameters.items()
    return {
        name: one.default for name, one in parameters if one.kind is Parameter.KEYWORD_ONLY
    } | dict(options)


def _of_molecules(path: Path, told: dict[str, Any]) -> ColumnUse:
    named = told["target"] or ()
    with open_binary(path, told["max_bytes"]) as stream:
        header, _ = table(stream, path, told["smiles"], told["delimiter"])
    used = [
        column_of(header, name, path)
        for name in (told["smiles"], *([named] if isinstance(named, str) else named))
    ]
    used += [place for place in [id_column(header, told["id"], used, path)] if place is not None]
    return ColumnUse(
        path,
        "graph",
        None,
        (),
        tuple(cell.strip() for place, cell in enumerate(header) if place not in used),
    )


def _of_tables(path: Path, told: dict[str, Any]) -> list[ColumnUse]:
    places = table_paths(path, told["nodes"], told["graphs"])
    edges, nodes, graphs = (
        None if place is None else Rows(open_table(place, told["delimiter"], told["max_bytes"]))
        for place in places
    )
    assert edges is not None
    edges.ids(told["source"], "source", "the source of an edge")
    edges.ids(told["target"], "target", "the target of an edge")
    if nodes is not None:
        nodes.ids(told["node"], "node", "a node id")
        nodes.targets(told["node_target"], "node_target")
    if graphs is not None:
        graphs.ids(told["graph"], "graph", "a graph id")
        graphs.targets(told["graph_target"], "graph_target")
    for rows, of in ((edges, "edge"), (nodes, "node")):
        if rows is not None:
            rows.labels(told[f"{of}_label"], f"{of}_label")
            rows.graphs(told[f"{of}_graph"], f"{of}_graph")
            rows.features(told[f"{of}_features"], f"{of}_features")
    return [
        _use(rows, of)
        for rows, of in ((nodes, "node"), (edges, "edge"), (graphs, "graph"))
        if rows is not None
    ]


def _use(rows: Rows, of: str) -> ColumnUse:
    used = {column.name for column in rows.columns}
    unused = [name for name in rows.table.names if name and name not in used]
    label = None if rows.label is None else rows.label.name
    first = _first_cells(rows.table, unused) if unused and of != "graph" else {}
    numbers = [name for name, cells in first.items() if cells and all(map(_is_number, cells))]
    words = [
        name
        for name, cells in first.items()
        if name not in numbers and None not in cells and len(set(cells)) < len(cells)
    ]
    features = tuple(column.name for column in rows.feature)
    return ColumnUse(
        rows.table.path, of, label, features, tuple(unused), tuple(numbers), tuple(words)
    )


def _first_cells(table: Table, names: list[str]) -> dict[str, list[Any]]:
    with closing(table.batches(names)) as batches:
        batch = next(batches, None)
    if batch is None:
        return {}
    return {
        name: column.to_pylist()
        for name, column in zip(names, batch.slice(0, _LOOKED_AT).columns, strict=True)
    }


def _is_number(cell: Any) -> bool:
    try:
        return not isinstance(cell, bool) and float(cell) == float(cell)
    except (TypeError, ValueError):
        return False
