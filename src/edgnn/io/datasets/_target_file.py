"""Targets from a table of their own: names of nodes or graphs in one column, targets in others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from os import fspath
from typing import Any

import numpy as np
import torch

from edgnn._files import Path_, open_binary
from edgnn._words import closest, preview, short, suggestion
from edgnn.errors import DatasetError, FormatError
from edgnn.graphs import Graphs, Nodes
from edgnn.io._molecule_files import TargetColumns, column_of, is_number, table
from edgnn.io.datasets._dataset import Dataset, encode_classes

_Array = np.ndarray[Any, Any]
_Rows = list[tuple[int, list[str]]]

#: What a first line without a name may hold: it says what the lines below it are.
_HEADERS = {
    f"{word}{end}"
    for word in (
        "node",
        "name",
        "id",
        "iri",
        "uri",
        "url",
        "entity",
        "item",
        "subject",
        "resource",
        "vertex",
        "graph",
    )
    for end in ("", "s", "_id", "_name")
} | {"entities", "vertices"}


def with_target_file(
    data: Dataset, path: Path_, target: Sequence[str] = (), *, level: str | None = None
) -> Dataset:
    """Return a data set with the targets that a table gives to its nodes, or to its graphs.

    Parameters
    ----------
    data : Dataset
        Whose graphs or nodes have names, or are counted from 0.
    path : path
        A table (CSV or TSV, plain or gzip) with a header, which a table of two columns, names and
        targets, may lack. The column of names is the first in which every row names a node (a
        graph).
    target : sequence of str
        Columns of targets; default: the only other one.
    level : {"graph", "node"}, optional
        What the rows name; default: nodes of a single graph, else graphs.
    """
    level = level or ("node" if len(data.graphs) == 1 else "graph")
    header, rows = _read(path)
    names = node_numbers(data.graphs) if level == "node" else _graph_numbers(data.graphs)
    headed = _names_columns(header, rows, names, target)
    if not headed:
        rows = [(1, header), *rows]
    key = _key_column(path, header, rows, names, level)
    if not headed:
        header = _numbered(path, rows, key, target, level)
    others = [name for column, name in enumerate(header) if column != key]
    if not target and len(others) != 1:
        raise FormatError(path, f"which column holds the targets? {_choice(others)}")
    wanted = list(target) or others
    columns = TargetColumns(path, wanted[0] if len(wanted) == 1 else wanted, level)
    places = [column_of(header, name, path) for name in wanted]
    for line, row in rows:
        columns.add([row[place].strip() for place in places], line)
    values = columns.targets()
    assert values is not None
    index = np.array([names[_bare(row[key])] for _, row in rows], dtype=np.int64)
    _check_once(path, index, rows, key)
    targets, class_names = encode_classes(values)
    if level == "node":
        return replace(
            data,
            nodes=Nodes(data.graphs, torch.from_numpy(index)),
            targets=targets,
            class_names=class_names,
        )
    return replace(
        data, graphs=data.graphs[index], nodes=None, targets=targets, class_names=class_names
    )


def named_nodes(graphs: Graphs, path: Path_) -> Nodes:
    """Return the nodes that a file names: one per line, or one per row in the first column of a table that holds only names.

    The first line of a list is passed over where it is a word such as ``node``, ``name``, ``id`` or
    ``iri``, that of a table where it names no node.
    """
    names = node_numbers(graphs)
    with open_binary(path) as stream:
        lines = enumerate(stream.read().decode("utf-8-sig", "replace").splitlines(), 1)
    rows = [(number, [line]) for number, line in lines if line.strip()]
    if any(_bare(row[0]) in names for _, row in rows):
        first, header = rows.pop(0)
    else:
        header, rows = _read(path)
        first = 1
    if not _names_columns(header, rows, names):
        rows = [(first, header), *rows]
    key = _key_column(path, header, rows, names, "node")
    return Nodes(
        graphs, torch.tensor([names[_bare(row[key])] for _, row in rows], dtype=torch.int64)
    )


def node_numbers(graphs: Graphs) -> dict[str, int]:
    """Return the number of each node by its name as text; by its number where nodes have none."""
    if graphs.node_names is None:
        return {str(number): number for number in range(graphs.num_nodes)}
    numbers = {str(name): number for number, name in enumerate(graphs.node_names.tolist())}
    if len(numbers) < graphs.num_nodes:
        raise DatasetError(
            f"the names of the {graphs.num_nodes:,} nodes are not unique, so nodes cannot be found by name"
        )
    return numbers


def _graph_numbers(graphs: Graphs) -> dict[str, int]:
    names = range(len(graphs)) if graphs.graph_names is None else graphs.graph_names.tolist()
    numbers = {str(name): number for number, name in enumerate(names)}
    if len(numbers) < len(graphs):
        raise DatasetError(
            f"the names of the {len(graphs):,} graphs are not unique, so graphs cannot be found by name"
        )
    return numbers


def _read(path: Path_) -> tuple[list[str], _Rows]:
    with open_binary(path) as stream:
        delimiter = "\t" if fspath(path).lower().removesuffix(".gz").endswith(".tsv") else None
        header, lines = table(stream, path, "", delimiter)
        rows = list(lines)
    for line, row in rows:
        if len(row) != len(header):
            raise FormatError(
                path, f"the row has {len(row)} cells, the first line {len(header)}", line
            )
    return header, rows


def _names_columns(
    header: list[str], rows: _Rows, names: dict[str, int], target: Sequence[str] = ()
) -> bool:
    """Return whether the first line is a header: it has the columns that are asked for, or no name where other lines have one."""
    folded = [cell.strip().casefold() for cell in header]
    if target and all(name.strip().casefold() in folded for name in target):
        return True
    key = min(
        range(len(header)),
        key=lambda column: sum(_bare(row[column]) not in names for _, row in rows),
    )
    cell = _bare(header[key])
    if "://" in cell:
        return False
    if len(header) == 1:
        return cell not in names and folded[key] in _HEADERS
    return cell not in names or folded[key] in _HEADERS


def _numbered(path: Path_, rows: _Rows, key: int, target: Sequence[str], level: str) -> list[str]:
    """Return names for the columns of a table without a header: of names, and of targets of which the first is like the others."""
    first = rows[0][1]
    rule = f"the first line names the {level} {short(first[key].strip())}, not the columns; put a header above it, such as {level},"
    if target:
        raise FormatError(path, f"there is no column {target[0]!r}: {rule}{target[0]}", 1)
    if len(first) > 2 or (
        len(first) == 2 and not _alike([row[1 - key].strip() for _, row in rows])
    ):
        raise FormatError(
            path, f"{rule}target, or if it is one, say which of its columns holds the targets", 1
        )
    return [f"column {place + 1}" for place in range(len(first))]


def _alike(values: list[str]) -> bool:
    return values[0] in values[1:] or all(is_number(value) for value in values if value)


def _choice(others: list[str]) -> str:
    return (
        f"Name one of {preview(others, 20)}"
        if others
        else "There is none beside the names; add one"
    )


def _key_column(
    path: Path_, header: list[str], rows: _Rows, names: dict[str, int], level: str
) -> int:
    """Return the first column that names only nodes (graphs); where there is none, raise with what the best one lacks."""
    if not rows:
        raise FormatError(
            path,
            f"no {level} of the data is named in it, there is only the line {short(','.join(header))}",
            1,
        )
    unknown = [
        [place for place, (_, row) in enumerate(rows) if _bare(row[column]) not in names]
        for column in range(len(header))
    ]
    best = min(range(len(header)), key=lambda column: len(unknown[column]))
    if unknown[best]:
        line, row = rows[unknown[best][0]]
        count = f"{len(unknown[best]):,} of the {len(rows):,} name{'s' * (len(rows) != 1)} in column {best + 1}"
        rule = f"{short(row[best].strip())} is no {level} of the data; unknown are {count}"
        raise FormatError(path, f"{rule}{_way_out(_bare(row[best]), names)}", line)
    return best


def _way_out(name: str, names: dict[str, int]) -> str:
    """Return what to do about an unknown name; nobody means a blank node or a literal by a name that is none."""
    alike = [known for known in names if _kind(known) == _kind(name)]
    iris = [known for known in alike if "://" in known]
    scheme, colon, _ = name.partition(":")
    if (
        not iris
        or _kind(name)
        or (colon and any(known.startswith(f"{scheme}:") for known in alike))
    ):
        return (
            suggestion(name, alike)
            or "; correct the name or remove the row (IRIs stand in full, with or without <>)"
        )
    tail = _tail(name)
    close = next(
        (iri for iri in iris if tail and iri.endswith(tail) and _tail(iri) == tail), None
    ) or closest(name, iris)
    return f"; give the whole IRI{', not a prefix' * bool(colon)}" + (
        "" if close is None else f"; did you mean {close!r}?"
    )


def _kind(name: str) -> str:
    return "blank" if name.startswith("_:") else "literal" if name.startswith('"') else ""


def _tail(iri: str) -> str:
    return re.split("[:/#]", iri)[-1]


def _bare(cell: str) -> str:
    """Return the name in a cell: an IRI may stand in brackets."""
    cell = cell.strip()
    return (
        cell[1:-1]
        if cell.startswith("<") and cell.endswith(">") and not cell.startswith("<<")
        else cell
    )


def _check_once(path: Path_, index: _Array, rows: _Rows, key: int) -> None:
    first = np.unique(index, return_index=True)[1]
    if len(first) < len(index):
        again = int(np.setdiff1d(np.arange(len(index)), first)[0])
        line, row = rows[again]
        raise FormatError(path, f"{short(row[key].strip())} is named twice", line)
