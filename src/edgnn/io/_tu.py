"""The text format of the TU Dortmund collection: a folder or zip of ``NAME_A.txt`` etc."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Literal

import numpy as np
import torch
from torch import Tensor

from edgnn._files import (
    Path_,
    atomic_file,
    atomic_folder,
    open_binary,
    open_member,
    open_zip,
    zip_members,
)
from edgnn._words import one_line
from edgnn.errors import FormatError, GraphError
from edgnn.graphs import Graphs
from edgnn.io._labeled import Labeled
from edgnn.io._numbers import read_columns

_Array = np.ndarray[Any, Any]


def read_tu(
    path: Path_,
    *,
    name: str | None = None,
    target: Literal["labels", "attributes"] | None = None,
    max_bytes: int | None = None,
) -> Labeled:
    """Read a folder or zip in the TU format.

    Node and edge labels become label values (integers, or tuples where a line has several),
    attributes become features, graph labels or attributes become targets. Missing label files mean
    the constant label.

    Parameters
    ----------
    path : path
        A folder with ``NAME_A.txt``, or a zip that holds one.
    name : str, optional
        The ``NAME``, needed only where several sets lie in one place.
    target : {"labels", "attributes"}, optional
        Which targets to take; default: the labels, or the attributes where there are no labels.
    max_bytes : int, optional
        How much one compressed file may unpack to; default: 100 times its packed size, or 64 MiB if
        that is more.
    """
    path = Path(path)
    with ExitStack() as stack:
        if path.is_dir():
            entries = [entry for entry in sorted(path.iterdir()) if entry.is_file()]
            files = _Files(path, name, {entry.name: _opener(entry, max_bytes) for entry in entries})
        else:
            archive = stack.enter_context(open_zip(path))
            members = zip_members(archive, path)
            files = _Files(
                path,
                name,
                {
                    key: _member_opener(archive, info, path, max_bytes)
                    for key, info in members.items()
                },
            )
        return _read(files, target)


def write_tu(
    graphs: Graphs, folder: Path_, *, name: str | None = None, targets: _Array | None = None
) -> None:
    """Write graphs as a new folder in the TU format.

    Labels are written as they are where all of them are integers, else by number, with the names
    listed in ``README.txt`` as the collection does it. Integer targets become graph labels, others
    graph attributes.
    """
    folder = Path(folder)
    name = folder.name if name is None else name
    if graphs.num_nodes == 0:
        raise GraphError(f"there is no node to write in {graphs!r}; the TU format needs one")
    if targets is None and (int(graphs.sizes[-1]) == 0 or len(graphs) > graphs.num_nodes):
        raise GraphError(
            "the last graph has no nodes, or there are more graphs than nodes: "
            "the TU format can only express that through targets; give them"
        )
    edges = torch.stack([graphs.edge_source, graphs.edge_target], 1) + 1
    node_ids, node_legend = _integers(graphs.node_label, list(graphs.node_vocabulary))
    edge_ids, edge_legend = _integers(graphs.edge_label, list(graphs.edge_vocabulary))
    columns: dict[str, Any] = {"A": edges, "graph_indicator": graphs.graph_of_node + 1}
    columns["node_labels"] = None if graphs.node_vocabulary.constant else node_ids
    columns["edge_labels"] = None if graphs.edge_vocabulary.constant else edge_ids
    columns["node_attributes"] = _filled(graphs.node_features)
    columns["edge_attributes"] = _filled(graphs.edge_features)
    if targets is not None:
        columns |= _target_column(np.asarray(targets), len(graphs))
    with atomic_folder(folder) as unfinished:
        for key, column in columns.items():
            if column is not None:
                with atomic_file(unfinished / f"{name}_{key}.txt") as stream:
                    array = column.cpu().numpy() if isinstance(column, Tensor) else column
                    np.savetxt(stream, array, delimiter=", ", fmt=_format(array.dtype))
        legend = _legend("Node labels", node_legend) + _legend("Edge labels", edge_legend)
        (unfinished / "README.txt").write_text(
            f"{name}: {graphs!r}\n{legend}", "utf-8", "backslashreplace"
        )


def _target_column(values: _Array, size: int) -> dict[str, _Array]:
    """Return the file that holds targets: labels where they are integers, else attributes."""
    if values.dtype.kind not in "iuf" or values.ndim not in (1, 2) or len(values) != size:
        raise GraphError(f"TU targets are one number (or row of numbers) per graph: {size} of them")
    return {"graph_attributes" if values.dtype.kind == "f" else "graph_labels": values}


class _Files:
    """The files of one TU set, by the part of their name behind ``NAME_``."""

    def __init__(
        self,
        place: Path,
        name: str | None,
        openers: Mapping[str, Callable[[], AbstractContextManager[BinaryIO]]],
    ):
        names = {key: PurePosixPath(key).name for key in openers}
        if name is None:
            found = [
                key
                for key, file in names.items()
                if file.endswith("_A.txt") and not file.startswith(".")
            ]
        else:
            found = [key for key, file in names.items() if file == f"{name}_A.txt"]
        if not found:
            raise FormatError(
                place,
                f"there is no {name or 'NAME'}_A.txt here, so this is no TU data set",
                kind="tu",
            )
        if len(found) > 1:
            several = ", ".join(sorted(names[key].removesuffix("_A.txt") for key in found))
            raise FormatError(
                place, f"several TU data sets are here ({one_line(several)}); choose one with name="
            )
        self._prefix = found[0].removesuffix("A.txt")
        self._openers = openers
        self._place = place

    def path(self, part: str) -> str:
        return f"{self._place}/{one_line(self._prefix)}{part}.txt"

    def columns(self, part: str, kind: str, columns: int | None = None) -> _Array | None:
        opener = self._openers.get(f"{self._prefix}{part}.txt")
        if opener is None:
            return None
        with opener() as stream:
            return read_columns(stream, self.path(part), kind, columns)


def _opener(path: Path, max_bytes: int | None) -> Callable[[], AbstractContextManager[BinaryIO]]:
    return lambda: open_binary(path, max_bytes)


def _member_opener(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path, max_bytes: int | None
) -> Callable[[], AbstractContextManager[BinaryIO]]:
    return lambda: open_member(archive, info, path, max_bytes)


def _read(files: _Files, target: str | None) -> Labeled:
    indicator = files.columns("graph_indicator", "int", 1)
    if indicator is None:
        raise FormatError(
            files.path("graph_indicator"),
            "the file is missing; it says which graph each node belongs to",
        )
    if len(indicator) == 0:
        raise FormatError(
            files.path("graph_indicator"),
            "the file is empty; it says which graph each node belongs to",
        )
    edges = files.columns("A", "int", 2)
    assert edges is not None
    targets = _targets(files, target)
    offset, node_order, number = _node_order(
        files, indicator[:, 0], None if targets is None else len(targets)
    )
    ends = _edge_ends(files, edges, indicator[:, 0], number)
    node_labels = _per_line(files, "node_labels", "int", len(indicator), "graph_indicator")
    node_features = _per_line(files, "node_attributes", "float", len(indicator), "graph_indicator")
    edge_labels = _per_line(files, "edge_labels", "int", len(edges), "A")
    edge_features = _per_line(files, "edge_attributes", "float", len(edges), "A")
    graphs = Graphs.from_edges(
        torch.from_numpy(ends),
        sizes=torch.from_numpy(np.diff(offset)),
        node_labels=None if node_labels is None else _label_values(node_labels[node_order]),
        edge_labels=None if edge_labels is None else _label_values(edge_labels),
        node_features=None if node_features is None else node_features[node_order],
        edge_features=edge_features,
    )
    return Labeled(
        graphs, None if targets is None else targets[:, 0] if targets.shape[1] == 1 else targets
    )


def _targets(files: _Files, target: str | None) -> _Array | None:
    if target not in (None, "labels", "attributes"):
        raise GraphError(f"target={target!r}: choose 'labels' or 'attributes'")
    labels = files.columns("graph_labels", "int") if target != "attributes" else None
    found = (
        labels
        if labels is not None
        else files.columns("graph_attributes", "float")
        if target != "labels"
        else None
    )
    if found is None and target is not None:
        raise FormatError(
            files.path(f"graph_{target}"), f"the file is missing, but target={target!r} asks for it"
        )
    return found


def _node_order(
    files: _Files, graph: _Array, graphs: int | None
) -> tuple[_Array, _Array | slice, _Array | None]:
    """Return node offsets, the order that groups nodes by graph, and the nodes' new numbers."""
    if len(graph) and graph.min() < 1:
        line = int(np.flatnonzero(graph < 1)[0]) + 1
        raise FormatError(
            files.path("graph_indicator"),
            f"graph {graph[line - 1]} is out of range; graphs count from 1",
            line,
        )
    highest = int(graph.max()) if len(graph) else 0
    if graphs is None and highest > len(graph):
        line = int(np.argmax(graph)) + 1
        raise FormatError(
            files.path("graph_indicator"),
            f"graph {highest} is out of range: there are only {len(graph)} nodes",
            line,
        )
    if graphs is not None and highest > graphs:
        line = int(np.flatnonzero(graph > graphs)[0]) + 1
        raise FormatError(
            files.path("graph_indicator"),
            f"graph {graph[line - 1]} is out of range: targets are given for {graphs} graphs",
            line,
        )
    sizes = np.bincount(graph - 1, minlength=highest if graphs is None else graphs)
    offset = np.concatenate(([0], np.cumsum(sizes)))
    if (graph[1:] >= graph[:-1]).all():
        return offset, slice(None), None
    order = np.argsort(graph, kind="stable")
    number = np.empty(len(graph), np.int64)
    number[order] = np.arange(len(graph))
    return offset, order, number


def _edge_ends(files: _Files, edges: _Array, graph: _Array, number: _Array | None) -> _Array:
    outside = (edges < 1) | (edges > len(graph))
    if outside.any():
        line, side = (int(where[0]) for where in np.nonzero(outside))
        raise FormatError(
            files.path("A"),
            f"node {edges[line, side]} is out of range: nodes are 1 to {len(graph)}",
            line + 1,
        )
    ends = edges - 1
    across = graph[ends[:, 0]] != graph[ends[:, 1]]
    if across.any():
        line = int(np.flatnonzero(across)[0])
        first, second = edges[line]
        raise FormatError(
            files.path("A"),
            f"the edge joins node {first} of graph {graph[first - 1]} to node {second} of graph "
            f"{graph[second - 1]}; "
            "an edge stays within one graph",
            line + 1,
        )
    return ends if number is None else number[ends]


def _per_line(files: _Files, part: str, kind: str, lines: int, master: str) -> _Array | None:
    """Read an optional file that has one line for every line of another."""
    values = files.columns(part, kind)
    if values is None:
        return None
    if len(values) != lines:
        raise FormatError(
            files.path(part),
            f"it has {len(values)} lines, but {master} has {lines}; each line needs its partner",
        )
    if kind == "int":
        return values
    with np.errstate(over="ignore"):
        values = values.astype(np.float32)
    if not np.isfinite(values).all():
        line = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0]) + 1
        raise FormatError(
            files.path(part),
            "an attribute is not a finite 32-bit number; fill in or drop missing values",
            line,
        )
    return values


def _label_values(columns: _Array) -> _Array:
    """Return one label per line.

    Its number, or where it has several the tuple of them, one object for equal lines.
    """
    if columns.shape[1] == 1:
        return columns[:, 0]
    rows = np.zeros(len(columns), np.int64)
    for column in columns.T:
        values, place = np.unique(column, return_inverse=True)
        rows = np.unique(rows * len(values) + place, return_inverse=True)[1]
    _, first = np.unique(rows, return_index=True)
    labels = np.empty(len(first), dtype=object)
    labels[:] = list(map(tuple, columns[first].tolist()))
    return labels[rows]


def _filled(features: Tensor | None) -> Tensor | None:
    return None if features is None or features.shape[1] == 0 else features


def _integers(ids: Tensor, values: list[Any]) -> tuple[_Array, list[Any]]:
    """Return labels as integers and, where values are not integers, the list of them."""
    if all(type(value) is int and -(2**63) <= value < 2**63 for value in values):
        return np.array(values, dtype=np.int64)[ids.cpu().numpy()], []
    return ids.cpu().numpy(), values


def _format(dtype: np.dtype[Any]) -> str:
    return "%d" if dtype.kind in "iu" else "%.9g" if dtype.itemsize == 4 else "%.17g"


def _legend(title: str, values: list[Any]) -> str:
    return (
        f"\n{title}:\n\n" + "".join(f"  {number}  {value}\n" for number, value in enumerate(values))
        if values
        else ""
    )
