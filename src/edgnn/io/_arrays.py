"""Graphs as a folder of arrays that are mapped, so that they may be larger than memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from edgnn._files import Path_
from edgnn.errors import GraphError
from edgnn.graphs import Graphs, Nodes, Vocabulary
from edgnn.graphs import checks as graph_check
from edgnn.io import _piece_checks as check
from edgnn.io._array_files import Entry, damaged
from edgnn.io._array_folder import blaming, open_arrays, read_header, read_values, whole_numbers
from edgnn.io._common import Array, object_array
from edgnn.io._graph_writer import COLUMNS, HEADER, KIND, GraphWriter
from edgnn.io._labeled import Labeled

_INTEGERS, _FLOATS = ("<i8",), ("<f4", "<f8")
_PIECE = 2**18

#: What each array of a folder must be: of what it has one row each, its types, its dimensions.
_ARRAYS = {
    "node_label": ("nodes", _INTEGERS, 1),
    "edge_source": ("edges", _INTEGERS, 1),
    "edge_target": ("edges", _INTEGERS, 1),
    "edge_label": ("edges", _INTEGERS, 1),
    "graph_offset": ("offsets", _INTEGERS, 1),
    "edge_offset": ("offsets", _INTEGERS, 1),
    "node_features": ("nodes", _FLOATS, 2),
    "edge_features": ("edges", _FLOATS, 2),
    "node_attributes": ("nodes", _INTEGERS, 2),
    "edge_attributes": ("edges", _INTEGERS, 2),
    "graph_features": ("graphs", _FLOATS, 2),
}
_TARGETS = ("targets", "target_nodes")
_OPTIONAL = ("node_features", "edge_features", *COLUMNS)


def write_arrays(
    graphs: Graphs, folder: Path_, *, targets: Any = None, nodes: Nodes | Any = None
) -> None:
    """Write graphs as raw arrays in a new folder, which :func:`read_arrays` maps into memory.

    Every array is a ``.npy`` file of its own; ``graphs.json`` says what each must be, with
    checksums. Label values and names are lines of JSON: text, numbers, truth values, ``None``,
    bytes and tuples of them come back as they were. What is held in memory besides ``graphs`` does
    not grow with them; :class:`GraphWriter` writes what never is in memory as a whole.

    Parameters
    ----------
    graphs : Graphs
        What to write.
    folder : path
        A place where nothing is yet, such as ``"big.graphs"``.
    targets : array-like, optional
        One target, or one row of them, per graph, or per entry of ``nodes``.
    nodes : Nodes or array of int, optional
        The nodes that the targets belong to.
    """
    if nodes is not None and targets is None:
        raise GraphError("nodes= says which nodes have targets, but there are no targets=")
    with GraphWriter(
        folder, node_vocabulary=graphs.node_vocabulary, edge_vocabulary=graphs.edge_vocabulary
    ) as writer:
        writer.add(graphs)
        if targets is not None:
            writer.add_targets(targets, nodes)


def read_arrays(path: Path_, *, names: bool = True, verify: bool = False) -> Labeled:
    """Map graphs that :func:`write_arrays` or :class:`GraphWriter` wrote.

    Nothing of an array is read before it is used.

    Sizes are checked, contents are not, as that would read everything. Label values and names do
    not stay on disk.

    Parameters
    ----------
    path : path
        The folder.
    names : bool
        Whether to read the names of nodes and graphs, where there are some.
    verify : bool
        Check the contents as well, in bounded memory: that they are what was written, and make
        graphs. For folders from others, and after a copy.
    """
    folder = Path(path)
    content = read_header(folder / HEADER, KIND)
    with blaming(folder / HEADER):
        return _read(folder, content, names, verify)


def _read(folder: Path, content: Mapping[str, Any], names: bool, verify: bool) -> Labeled:
    opened = _opened(folder, content, verify)
    arrays = {name: array for name, (array, _) in opened.items()}
    values = _values(folder, content, names)
    fields: dict[str, Any] = {
        name: torch.from_numpy(array) for name, array in arrays.items() if name in _ARRAYS
    }
    fields |= _column_names(folder, content, arrays)
    edge_offset = fields.pop("edge_offset")
    graphs = Graphs._trusted(**fields, **values)
    graphs.__dict__["edge_offset"] = edge_offset  # what the property would read all edges for
    if verify:
        with blaming(folder):
            _verify(graphs)
    return _labeled(folder, content, graphs, arrays, verify)


def _opened(
    folder: Path, content: Mapping[str, Any], verify: bool
) -> dict[str, tuple[Array, Entry]]:
    """Map all arrays and check their sizes against one another."""
    graphs, nodes, edges = whole_numbers(content, "graphs", "nodes", "edges")
    sizes = {"graphs": graphs, "nodes": nodes, "edges": edges, "offsets": graphs + 1}
    opened = open_arrays(folder, content["arrays"], (*_ARRAYS, *_TARGETS), verify=verify)
    for name, (rows, types, dimensions) in _ARRAYS.items():
        if name not in opened and name in _OPTIONAL:
            continue
        if name not in opened:
            raise damaged(folder / HEADER, f"the header lacks the array {name!r}")
        entry = opened[name][1]
        has_shape = len(entry.shape) == dimensions and entry.shape[0] == sizes[rows]
        if entry.dtype not in types or not has_shape:
            raise damaged(
                folder / HEADER,
                f"{name!r} has the type {entry.dtype} and the shape {entry.shape}, "
                f"but it must have {' or '.join(types)}, "
                f"{dimensions} dimension(s) and {sizes[rows]} rows",
            )
    for name, total in (("graph_offset", "nodes"), ("edge_offset", "edges")):
        offset = opened[name][0]
        if offset[0] != 0 or offset[-1] != sizes[total]:
            rule = f"it must rise from 0 to the number of {total}, {sizes[total]}"
            raise damaged(folder / f"{name}.npy", rule)
    return opened


def _values(folder: Path, content: Mapping[str, Any], names: bool) -> dict[str, Any]:
    """Return the vocabularies and, where they are asked for, the names."""
    stored = content["values"]
    values: dict[str, Any] = {}
    for name in ("node_vocabulary", "edge_vocabulary"):
        path = folder / f"{name}.jsonl"
        if name not in stored:
            raise damaged(folder / HEADER, f"the header lacks the values {name!r}")
        with blaming(path):
            values[name] = Vocabulary(read_values(path, stored[name]))
    if not names:
        return values
    for name, owner in (("node_names", "nodes"), ("graph_names", "graphs")):
        if name not in stored:
            continue
        path = folder / f"{name}.jsonl"
        values[name] = object_array(read_values(path, stored[name]))
        if len(values[name]) != content[owner]:
            rule = f"there are {len(values[name])} names for {content[owner]} {owner}"
            raise damaged(path, rule)
    return values


def _column_names(
    folder: Path, content: Mapping[str, Any], arrays: Mapping[str, Array]
) -> dict[str, tuple[str, ...]]:
    """Return the names of attributes and of features of graphs."""
    stored = content.get("columns", {})
    names = {}
    for array, field in COLUMNS.items():
        if array in arrays:
            names[field] = tuple(stored[array])
            with blaming(folder / HEADER):
                width = arrays[array].shape[1]
                graph_check.column_names(names[field], width, f"{array} column")
    return names


def _labeled(
    folder: Path,
    content: Mapping[str, Any],
    graphs: Graphs,
    arrays: Mapping[str, Array],
    verify: bool,
) -> Labeled:
    targets = arrays.get("targets")
    stored = content["values"].get("targets")
    if targets is None and stored is not None:
        targets = object_array(read_values(folder / "targets.jsonl", stored))
    nodes = None
    if "target_nodes" in arrays:
        numbers = arrays["target_nodes"]
        if verify and ((numbers < 0) | (numbers >= graphs.num_nodes)).any():
            rule = f"it names nodes that are not among the {graphs.num_nodes}"
            raise damaged(folder / "target_nodes.npy", rule)
        nodes = Nodes._of(graphs, torch.from_numpy(numbers))
    with blaming(folder):
        return Labeled(graphs, targets, nodes)


def _verify(graphs: Graphs) -> None:
    """Check every element, a piece at a time."""
    offset, edge_offset = graphs.graph_offset.numpy(), graphs.edge_offset.numpy()
    check.offsets(offset, graphs.num_nodes, "graph_offset")
    check.offsets(edge_offset, graphs.num_edges, "edge_offset")
    sides = graphs.edge_source.numpy(), graphs.edge_target.numpy()
    for start in range(0, graphs.num_edges, _PIECE):
        source, target = (side[start : start + _PIECE] for side in sides)
        check.ends_within(source, target, start, offset, edge_offset)
    for what, label, vocabulary, features in (
        ("node", graphs.node_label, graphs.node_vocabulary, graphs.node_features),
        ("edge", graphs.edge_label, graphs.edge_vocabulary, graphs.edge_features),
    ):
        for start in range(0, len(label), _PIECE):
            check.label_numbers(label[start : start + _PIECE].numpy(), len(vocabulary), start, what)
            if features is not None:
                check.finite(features[start : start + _PIECE].numpy(), start, what)
    if graphs.graph_features is not None:
        for start in range(0, len(graphs), _PIECE):
            check.finite(graphs.graph_features[start : start + _PIECE].numpy(), start, "graph")
    if graphs.node_names is not None:
        graph_check.unique_names(graphs.node_names, graphs.graph_offset)
