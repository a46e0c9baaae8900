"""The text format of the TU Dortmund collection: a folder or zip of ``NAME_A.txt`` etc."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Literal

import numpy as np
import torch
from torch import Tensor

from edgnn._deadline import checked
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
from edgnn.graphs import Graphs, Vocabulary
from edgnn.io._common import Array, grouping, inverse, object_array
from edgnn.io._labeled import Labeled
from edgnn.io._numbers import read_columns


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
    with _opened(Path(path), name, max_bytes) as files:
        return _read(files, target)


def write_tu(
    graphs: Graphs, folder: Path_, *, name: str | None = None, targets: Array | None = None
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
    node_ids, node_legend = _integers(graphs.node_label, graphs.node_vocabulary)
    edge_ids, edge_legend = _integers(graphs.edge_label, graphs.edge_vocabulary)
    columns: dict[str, Any] = {
        "A": torch.stack([graphs.edge_source, graphs.edge_target], 1) + 1,
        "graph_indicator": graphs.graph_of_node + 1,
        "node_labels": node_ids,
        "edge_labels": edge_ids,
        "node_attributes": _filled(graphs.node_features),
        "edge_attributes": _filled(graphs.edge_features),
    }
    if targets is not None:
        columns |= _target_column(np.asarray(targets), len(graphs))
    with atomic_folder(folder) as unfinished:
        for key, column in columns.items():
            if column is not None:
                _write_column(unfinished / f"{name}_{key}.txt", column)
        legend = _legend("Node labels", node_legend) + _legend("Edge labels", edge_legend)
        (unfinished / "README.txt").write_text(
            f"{name}: {graphs!r}\n{legend}", "utf-8", "backslashreplace"
        )


def _target_column(values: Array, size: int) -> dict[str, Array]:
    """Return the file that holds targets: labels where they are integers, else attributes."""
    if values.dtype.kind not in "iuf" or values.ndim not in (1, 2) or len(values) != size:
        raise GraphError(f"TU targets are one number (or row of numbers) per graph: {size} of them")
    return {"graph_attributes" if values.dtype.kind == "f" else "graph_labels": values}


def _write_column(path: Path, column: Tensor | Array) -> None:
    array = column.cpu().numpy() if isinstance(column, Tensor) else column
    form = "%d"
    if array.dtype.kind == "f":
        form = "%.9g" if array.dtype.itemsize == 4 else "%.17g"
    with atomic_file(path) as stream:
        np.savetxt(stream, array, delimiter=", ", fmt=form)


_Opener = Callable[[], AbstractContextManager[BinaryIO]]


@contextmanager
def _opened(path: Path, name: str | None, max_bytes: int | None) -> Iterator[_Files]:
    """Open a folder or an archive for as long as the block lasts."""
    openers: dict[str, _Opener] = {}
    if path.is_dir():
        for entry in sorted(path.iterdir()):
            if entry.is_file():
                openers[entry.name] = partial(open_binary, entry, max_bytes)
        yield _Files(path, name, openers)
        return
    with open_zip(path) as archive:
        for key, info in zip_members(archive, path).items():
            openers[key] = partial(open_member, archive, info, path, max_bytes)
        yield _Files(path, name, openers)


class _Files:
    """The files of one TU set, by the part of their name behind ``NAME_``."""

    def __init__(self, folder: Path, name: str | None, openers: Mapping[str, _Opener]):
        pattern = "[!.]*_A.txt" if name is None else f"{glob.escape(name)}_A.txt"
        sets = [key for key in openers if fnmatchcase(PurePosixPath(key).name, pattern)]
        if not sets:
            raise FormatError(
                folder,
                f"there is no {name or 'NAME'}_A.txt here, so this is no TU data set",
                kind="tu",
            )
        if len(sets) > 1:
            names = sorted(PurePosixPath(key).name.removesuffix("_A.txt") for key in sets)
            several = one_line(", ".join(names))
            raise FormatError(
                folder,
                f"several TU data sets are here ({several}); choose one with name= "
                "(-o name=NAME in a command)",
            )
        self._prefix = sets[0].removesuffix("A.txt")
        self._openers = openers
        self._folder = folder

    def path(self, part: str) -> str:
        return f"{self._folder}/{one_line(self._prefix)}{part}.txt"

    def columns(self, part: str, kind: str, columns: int | None = None) -> Array | None:
        opener = self._openers.get(f"{self._prefix}{part}.txt")
        if opener is None:
            return None
        with opener() as stream:
            return read_columns(stream, self.path(part), kind, columns)


def _read(files: _Files, target: str | None) -> Labeled:
    indicator = files.columns("graph_indicator", "int", 1)
    if indicator is None or len(indicator) == 0:
        state = "missing" if indicator is None else "empty"
        raise FormatError(
            files.path("graph_indicator"),
            f"the file is {state}; it says which graph each node belongs to",
        )
    edges = files.columns("A", "int", 2)
    assert edges is not None
    targets = _targets(files, target)
    graph_of_node = indicator[:, 0]
    offset = _offset(files, graph_of_node, targets)
    ends = _edge_ends(files, edges, graph_of_node)
    order: Array | slice = slice(None)
    nodes_by_graph = grouping(graph_of_node)
    if nodes_by_graph is not None:
        order = nodes_by_graph
        ends = inverse(order)[ends]
    graphs = Graphs.from_edges(
        torch.from_numpy(ends),
        sizes=torch.from_numpy(np.diff(offset)),
        node_labels=_labels(files, "node_labels", "graph_indicator", len(indicator), order),
        edge_labels=_labels(files, "edge_labels", "A", len(edges)),
        node_features=_features(files, "node_attributes", "graph_indicator", len(indicator), order),
        edge_features=_features(files, "edge_attributes", "A", len(edges)),
    )
    if targets is not None and targets.shape[1] == 1:
        targets = targets[:, 0]
    return Labeled(graphs, targets)


def _targets(files: _Files, target: str | None) -> Array | None:
    if target not in (None, "labels", "attributes"):
        raise GraphError(f"target={target!r}: choose 'labels' or 'attributes'")
    if target != "attributes":
        labels = files.columns("graph_labels", "int")
        if labels is not None:
            return labels
    if target != "labels":
        attributes = files.columns("graph_attributes", "float")
        if attributes is not None:
            return attributes
    if target is not None:
        raise FormatError(
            files.path(f"graph_{target}"), f"the file is missing, but target={target!r} asks for it"
        )
    return None


def _offset(files: _Files, graph: Array, targets: Array | None) -> Array:
    """Return where the nodes of each graph begin, once they are grouped by graph."""
    highest = int(graph.max())
    most = len(graph) if targets is None else len(targets)
    outside = np.flatnonzero((graph < 1) | (graph > most))
    if len(outside):
        first = int(outside[0])
        rule = f"targets are given for {most} graphs"
        if targets is None:
            rule = f"there are only {most} nodes"
        if graph[first] < 1:
            rule = "graphs count from 1"
        raise FormatError(
            files.path("graph_indicator"),
            f"graph {graph[first]} is out of range: {rule}",
            first + 1,
        )
    sizes = np.bincount(graph - 1, minlength=highest if targets is None else len(targets))
    return np.concatenate(([0], np.cumsum(sizes)))


def _edge_ends(files: _Files, edges: Array, graph: Array) -> Array:
    """Return the ends of edges, numbered from 0, after a check that they are nodes of one graph."""
    outside = (edges < 1) | (edges > len(graph))
    if outside.any():
        line, side = np.argwhere(outside)[0].tolist()
        rule = f"node {edges[line, side]} is out of range: nodes are 1 to {len(graph)}"
        raise FormatError(files.path("A"), rule, line + 1)
    ends = edges - 1
    across = graph[ends[:, 0]] != graph[ends[:, 1]]
    if across.any():
        line = int(np.argmax(across))
        first, second = edges[line]
        raise FormatError(
            files.path("A"),
            f"the edge joins node {first} of graph {graph[first - 1]} to node {second} of graph "
            f"{graph[second - 1]}; "
            "an edge stays within one graph",
            line + 1,
        )
    return ends


def _per_line(files: _Files, part: str, kind: str, master: str, lines: int) -> Array | None:
    """Read an optional file that has one line for every line of another."""
    values = files.columns(part, kind)
    if values is not None and len(values) != lines:
        raise FormatError(
            files.path(part),
            f"it has {len(values)} lines, but {master} has {lines}; each line needs its partner",
        )
    return values


def _features(
    files: _Files, part: str, master: str, lines: int, order: Array | slice = slice(None)
) -> Array | None:
    values = _per_line(files, part, "float", master, lines)
    if values is None:
        return None
    with np.errstate(over="ignore"):
        values = values.astype(np.float32)
    is_finite = np.isfinite(values).all(axis=1)
    if not is_finite.all():
        raise FormatError(
            files.path(part),
            "an attribute is not a finite 32-bit number; fill in or drop missing values",
            int(np.argmin(is_finite)) + 1,
        )
    return values[order]


def _labels(
    files: _Files, part: str, master: str, lines: int, order: Array | slice = slice(None)
) -> Array | None:
    columns = _per_line(files, part, "int", master, lines)
    return None if columns is None else _label_values(columns[order])


def _label_values(columns: Array) -> Array:
    """Return one label per line.

    Its number, or where it has several the tuple of them, one object for equal lines.
    """
    if columns.shape[1] == 1:
        return columns[:, 0]
    rows = np.zeros(len(columns), np.int64)
    for column in checked(columns.T):
        values, place = np.unique(column, return_inverse=True)
        rows = np.unique(rows * len(values) + place, return_inverse=True)[1]
    _, first = np.unique(rows, return_index=True)
    labels = object_array([tuple(row) for row in columns[first].tolist()])
    return labels[rows]


def _filled(features: Tensor | None) -> Tensor | None:
    return None if features is None or features.shape[1] == 0 else features


def _integers(ids: Tensor, vocabulary: Vocabulary) -> tuple[Array | None, list[Any]]:
    """Return labels as integers and, where values are not integers, the list of them."""
    if vocabulary.constant:
        return None, []
    numbers = ids.cpu().numpy()
    values = list(vocabulary)
    if all(type(value) is int and -(2**63) <= value < 2**63 for value in values):
        return np.array(values, dtype=np.int64)[numbers], []
    return numbers, values


def _legend(title: str, values: list[Any]) -> str:
    if not values:
        return ""
    lines = "".join(f"  {number}  {value}\n" for number, value in enumerate(values))
    return f"\n{title}:\n\n{lines}"
