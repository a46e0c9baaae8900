"""Targets from a table of their own: names of nodes or graphs in one column, targets in others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import fspath
from typing import Any

import numpy as np
import torch

from edgnn._suggest import suggestion
from edgnn._text import preview, short
from edgnn.datasets._dataset import Dataset, encode_classes
from edgnn.errors import DatasetError, FormatError
from edgnn.graphs import Graphs, Nodes
from edgnn.io._files import Path_, open_binary
from edgnn.io._molecule_files import TargetColumns, column_of, table

_Array = np.ndarray[Any, Any]


def with_target_file(data: Dataset, path: Path_, target: Sequence[str] = (), *, level: str | None = None) -> Dataset:
    """Return a data set with the targets that a table gives to its nodes, or to its graphs.

    Parameters
    ----------
    data : Dataset
        Whose graphs or nodes have names, or are counted from 0.
    path : path
        A table (CSV or TSV, plain or gzip) with a header. The column of names is the first in which every row names a node (a
        graph).
    target : sequence of str
        Columns of targets; default: the only other one.
    level : {"graph", "node"}, optional
        What the rows name; default: nodes of a single graph, else graphs.
    """
    level = level or ("node" if len(data.graphs) == 1 else "graph")
    header, rows = _read(path)
    names = node_numbers(data.graphs) if level == "node" else _graph_numbers(data.graphs)
    key = _key_column(path, header, rows, names, level)
    others = [name for column, name in enumerate(header) if column != key]
    if not target and len(others) != 1:
        raise FormatError(path, f"which column holds the targets? Name one of {preview(others, 20)}")
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
        return replace(data, nodes=Nodes(data.graphs, torch.from_numpy(index)), targets=targets, class_names=class_names)
    return replace(data, graphs=data.graphs[index], nodes=None, targets=targets, class_names=class_names)


def named_nodes(graphs: Graphs, path: Path_) -> Nodes:
    """Return the nodes that a file names: one per line, or one per row in the first column of a table that holds only names."""
    names = node_numbers(graphs)
    with open_binary(path) as stream:
        lines = [line.strip() for line in stream.read().decode("utf-8", "replace").splitlines() if line.strip()]
    lines = [_bare(line) for line in lines]
    if lines and all(line in names for line in lines):
        return Nodes(graphs, torch.tensor([names[line] for line in lines], dtype=torch.int64))
    header, rows = _read(path)
    if _bare(header[0]) in names:
        rows = [(1, header), *rows]
    key = _key_column(path, header, rows, names, "node")
    return Nodes(graphs, torch.tensor([names[_bare(row[key])] for _, row in rows], dtype=torch.int64))


def node_numbers(graphs: Graphs) -> dict[str, int]:
    """Return the number of each node by its name as text; by its number where nodes have none."""
    if graphs.node_names is None:
        return {str(number): number for number in range(graphs.num_nodes)}
    numbers = {str(name): number for number, name in enumerate(graphs.node_names.tolist())}
    if len(numbers) < graphs.num_nodes:
        raise DatasetError(f"the names of the {graphs.num_nodes:,} nodes are not unique, so nodes cannot be found by name")
    return numbers


def _graph_numbers(graphs: Graphs) -> dict[str, int]:
    names = range(len(graphs)) if graphs.graph_names is None else graphs.graph_names.tolist()
    numbers = {str(name): number for number, name in enumerate(names)}
    if len(numbers) < len(graphs):
        raise DatasetError(f"the names of the {len(graphs):,} graphs are not unique, so graphs cannot be found by name")
    return numbers


def _read(path: Path_) -> tuple[list[str], list[tuple[int, list[str]]]]:
    with open_binary(path) as stream:
        delimiter = "\t" if fspath(path).lower().removesuffix(".gz").endswith(".tsv") else None
        header, lines = table(stream, path, "", delimiter)
        rows = list(lines)
    for line, row in rows:
        if len(row) != len(header):
            raise FormatError(path, f"the row has {len(row)} cells, the first line {len(header)}", line)
    return header, rows


def _key_column(path: Path_, header: list[str], rows: list[tuple[int, list[str]]], names: dict[str, int], level: str) -> int:
    """Return the first column that names only nodes (graphs); where there is none, raise with what the best one lacks."""
    if not rows:
        raise FormatError(path, f"no {level} of the data is named in it, there is only the line {short(','.join(header))}", 1)
    unknown = [
        [place for place, (_, row) in enumerate(rows) if _bare(row[column]) not in names] for column in range(len(header))
    ]
    best = min(range(len(header)), key=lambda column: len(unknown[column]))
    if unknown[best]:
        line, row = rows[unknown[best][0]]
        count = f"{len(unknown[best]):,} of the {len(rows):,} names in column {best + 1}"
        rule = f"{short(row[best].strip())} is no {level} of the data; unknown are {count}"
        raise FormatError(path, f"{rule}{_way_out(_bare(row[best]), names)}", line)
    return best


def _way_out(name: str, names: dict[str, int]) -> str:
    return suggestion(name, names) or "; correct the name or remove the row (IRIs stand in full, with or without <>)"


def _bare(cell: str) -> str:
    """Return the name in a cell: an IRI may stand in brackets."""
    cell = cell.strip()
    return cell[1:-1] if cell.startswith("<") and cell.endswith(">") and not cell.startswith("<<") else cell


def _check_once(path: Path_, index: _Array, rows: list[tuple[int, list[str]]], key: int) -> None:
    first = np.unique(index, return_index=True)[1]
    if len(first) < len(index):
        again = int(np.setdiff1d(np.arange(len(index)), first)[0])
        line, row = rows[again]
        raise FormatError(path, f"{short(row[key].strip())} is named twice", line)
