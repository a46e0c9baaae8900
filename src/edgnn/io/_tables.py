"""Graphs from tables: an edge table, and beside it, where there is one, a node table and a graph table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn._files import Path_
from edgnn._words import preview, short, suggestion
from edgnn.errors import FormatError, GraphError
from edgnn.graphs import Graphs, Nodes, OnUnknown, Vocabulary
from edgnn.io._columns import Column, Keys, Numbers, Targets, number, read_columns
from edgnn.io._elements import coded_labels
from edgnn.io._labeled import Labeled
from edgnn.io._table_files import PARQUET, TEXT, Table, open_table
from edgnn.io._table_nodes import Listed, Placed, place
from edgnn.io._write_tables import write_tables

__all__ = ["read_tables", "write_tables"]

_Array = np.ndarray[Any, Any]
#: Words that are used for the same column.
_ALIKE = (
    ("node", "id", "name", "node_id", "entity"),
    ("graph", "id", "name", "graph_id"),
    ("source", "from", "src", "subject"),
    ("target", "to", "dst", "object"),
)


def read_tables(
    path: Path_,
    *,
    nodes: Path_ | None = None,
    graphs: Path_ | None = None,
    source: str = "source",
    target: str = "target",
    edge_label: str | None = "label",
    edge_graph: str | None = "graph",
    edge_features: str | Sequence[str] | None = None,
    node: str = "node",
    node_label: str | None = "label",
    node_graph: str | None = "graph",
    node_features: str | Sequence[str] | None = None,
    node_target: str | None = None,
    graph: str = "graph",
    graph_target: str | Sequence[str] | None = "target",
    delimiter: str | None = None,
    like: Graphs | None = None,
    unknown: OnUnknown = "error",
    max_bytes: int | None = None,
) -> Labeled:
    """Read graphs from tables in CSV or Parquet.

    Only the edge table is needed. Ids and labels of a Parquet file keep their types; those of a CSV
    file are text, but where every value of the column is a whole number, written plainly and within
    64 bits, they are whole numbers (``007`` keeps its column text). Node names are the node ids,
    graph names the graph ids.

    Parameters
    ----------
    path : path
        The edge table (``.csv``, ``.tsv``, ``.txt``, each also with ``.gz``, ``.parquet``,
        ``.pq``), or a folder with a table ``edges`` and perhaps tables ``nodes`` and ``graphs``.
    nodes : path, optional
        The node table. It lists all nodes; without one, nodes are those in the edge table, by first
        appearance.
    graphs : path, optional
        The graph table. It lists all graphs, empty ones too; without one, graphs are numbered by
        first appearance.
    source, target : str
        Columns of the edge table that hold the ids of an edge's ends.
    edge_label, node_label : str or None
        Columns that hold labels. Where the column is not there or has only empty cells there are no
        labels; where only some cells are empty, that is an error. In CSV, ``""`` in quotation marks
        is a label, the empty text.
    edge_graph, node_graph : str or None
        Columns that hold the graph an edge or a node belongs to; without them all is one graph.
        Node ids then count within their graph, unless only the node table has the column.
    edge_features, node_features : str or sequence of str, optional
        Columns of numbers; default: ``feature_0``, ``feature_1``, … as far as they are there
        (``()`` for none).
    node : str
        Column of the node table that holds the ids.
    node_target : str, optional
        Column of the node table that holds targets; nodes whose cell is empty are not among the
        :attr:`Labeled.nodes`.
    graph : str
        Column of the graph table that holds the ids.
    graph_target : str or sequence of str or None
        Columns of the graph table that hold targets; a missing number is NaN. Where there is no
        column ``target``, the default takes ``target_0``, ``target_1``, …. With ``node_target``,
        graphs' targets are left out.
    delimiter : str, optional
        What separates the values of a text file; default: a tab in ``.tsv``, else the first of ``,
        tab ; | space`` that the first line has.
    like, unknown
        Number labels as other graphs do; see :meth:`Graphs.from_edges`.
    max_bytes : int, optional
        How much a compressed file may unpack to; default: 100 times its size, or 64 MiB if that is
        more.
    """
    edge_path, node_path, graph_path = table_paths(Path(path), nodes, graphs)
    edges = Rows(open_table(edge_path, delimiter, max_bytes))
    ends = (
        edges.ids(source, "source", "the source of an edge"),
        edges.ids(target, "target", "the target of an edge"),
    )
    edges.labels(edge_label, "edge_label")
    edges.graphs(edge_graph, "edge_graph")
    edges.features(edge_features, "edge_features")
    listed = collection = None
    if node_path is not None:
        listed = Rows(open_table(node_path, delimiter, max_bytes))
        listed.ids(node, "node", "a node id")
        listed.labels(node_label, "node_label")
        listed.graphs(node_graph, "node_graph")
        listed.features(node_features, "node_features")
        listed.targets(node_target, "node_target")
    elif node_target is not None:
        raise GraphError(
            f"node_target={node_target!r} is a column of the node table, but there is no node table"
        )
    if graph_path is not None:
        collection = Rows(open_table(graph_path, delimiter, max_bytes))
        collection.ids(graph, "graph", "a graph id")
        collection.targets(graph_target, "graph_target")
    for rows in (collection, listed, edges):
        if rows is not None:
            read_columns(rows.table, rows.columns)
    placed = place(*ends, edges.graph, _listed(listed), _listed(collection))
    made = _graphs(placed, edges, listed, like, unknown)
    if listed is not None and listed.target:
        values, present = listed.target[0].values()
        labeled = np.flatnonzero(present)
        return Labeled(
            made, values[labeled], Nodes(made, torch.from_numpy(placed.node_of(labeled)))
        )
    return Labeled(made, None if collection is None else _graph_targets(collection))


class Rows:
    """The columns that are wanted of one table."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.columns: list[Column] = []
        self.id: list[Keys] = []
        self.label: Keys | None = None
        self.graph: Keys | None = None
        self.feature: list[Numbers] = []
        self.target: list[Targets] = []

    def ids(self, name: str, option: str, what: str) -> Keys:
        column = Keys(self.table, self._existing(name, option), what)
        self.id.append(column)
        self.columns.append(column)
        return column

    def labels(self, name: str | None, option: str) -> None:
        if name is not None and self._present(name, option, default="label"):
            self.label = Keys(self.table, name, "a label", label=True)
            self.columns.append(self.label)

    def graphs(self, name: str | None, option: str) -> None:
        if name is not None and self._present(name, option, default="graph"):
            self.graph = Keys(self.table, name, "a graph id")
            self.columns.append(self.graph)

    def features(self, names: str | Sequence[str] | None, option: str) -> None:
        wanted = (
            self._numbered("feature")
            if names is None
            else [names]
            if isinstance(names, str)
            else names
        )
        self.feature = [
            Numbers(self.table, self._existing(name, option), "a feature") for name in wanted
        ]
        self.columns.extend(self.feature)

    def targets(self, names: str | Sequence[str] | None, option: str) -> None:
        wanted = [] if names is None else [names] if isinstance(names, str) else list(names)
        if wanted == ["target"] and option == "graph_target" and "target" not in self.table.names:
            wanted = self._numbered("target")
        self.target = [
            Targets(self.table, self._existing(name, option), "a target") for name in wanted
        ]
        self.columns.extend(self.target)

    def feature_matrix(self) -> Tensor | None:
        if not self.feature:
            return None
        return torch.from_numpy(np.column_stack([column.values() for column in self.feature]))

    def _numbered(self, stem: str) -> list[str]:
        return list(
            takewhile(self.table.names.__contains__, (f"{stem}_{place}" for place in count()))
        )

    def _present(self, name: str, option: str, default: str) -> bool:
        return name in self.table.names or (name != default and bool(self._existing(name, option)))

    def _existing(self, name: str, option: str) -> str:
        if name not in self.table.names:
            meant = suggestion(name, self.table.names) or _other_word(name, self.table.names)
            columns = preview(self.table.names, 20)
            raise FormatError(
                self.table.path,
                f"there is no column {name!r}; the columns are {columns}: choose one with {option}={meant}",
            )
        return name


def _other_word(name: str, columns: Sequence[str]) -> str:
    """Return the question for a column that is called by another word for the same."""
    alike = {word for words in _ALIKE if name.casefold() in words for word in words}
    meant = next((column for column in columns if column.casefold() in alike), None)
    return "" if meant is None else f"; did you mean {meant!r}?"


def _listed(rows: Rows | None) -> Listed | None:
    return None if rows is None else Listed(rows.id[0], rows.graph)


def table_paths(
    path: Path, nodes: Path_ | None, graphs: Path_ | None
) -> tuple[Path, Path | None, Path | None]:
    """Return where the edge, node and graph tables are."""
    node_path, graph_path = (None if given is None else Path(given) for given in (nodes, graphs))
    if not path.is_dir():
        return path, node_path, graph_path
    found = {stem: list(_tables_named(path, stem)) for stem in ("edges", "nodes", "graphs")}
    for stem, files in found.items():
        if len(files) > 1:
            raise FormatError(
                path,
                f"{' and '.join(file.name for file in files)} are both here; keep one table of {stem}",
            )
    if not found["edges"]:
        raise FormatError(
            path,
            "there is no table edges.csv or edges.parquet here, so this is no folder of tables",
        )
    return (
        found["edges"][0],
        node_path or next(iter(found["nodes"]), None),
        graph_path or next(iter(found["graphs"]), None),
    )


def _tables_named(folder: Path, stem: str) -> Iterator[Path]:
    names = {f"{stem}{ending}" for ending in (*TEXT, *PARQUET)}
    return (
        entry
        for entry in sorted(folder.iterdir())
        if entry.name.lower() in names and entry.is_file()
    )


def _graphs(
    placed: Placed, edges: Rows, listed: Rows | None, like: Graphs | None, unknown: OnUnknown
) -> Graphs:
    node_label, node_vocabulary = _labels(
        None if listed is None else listed.label, placed.size, like, unknown, "node"
    )
    edge_label, edge_vocabulary = _labels(edges.label, len(placed.source), like, unknown, "edge")
    node_features = None if listed is None else listed.feature_matrix()
    edge_features = edges.feature_matrix()
    if placed.node_order is not None:
        order = torch.from_numpy(placed.node_order)
        node_label = node_label[order]
        node_features = None if node_features is None else node_features[order]
    if placed.edge_order is not None:
        order = torch.from_numpy(placed.edge_order)
        edge_label = edge_label[order]
        edge_features = None if edge_features is None else edge_features[order]
    return Graphs._trusted(
        node_label=node_label,
        edge_source=torch.from_numpy(placed.source),
        edge_target=torch.from_numpy(placed.target),
        edge_label=edge_label,
        graph_offset=torch.from_numpy(placed.offset),
        node_vocabulary=node_vocabulary,
        edge_vocabulary=edge_vocabulary,
        node_features=node_features,
        edge_features=edge_features,
        node_names=placed.node_names,
        graph_names=placed.graph_names,
    )


def _labels(
    column: Keys | None, size: int, like: Graphs | None, unknown: OnUnknown, what: str
) -> tuple[Tensor, Vocabulary]:
    if column is None or column.missing == column.size:
        return coded_labels(None, [], size, like, unknown, what)
    (codes,), values = number([column])
    return coded_labels(codes.astype(np.int64), values.to_pylist(), size, like, unknown, what)


def _graph_targets(collection: Rows) -> _Array | None:
    arrays = []
    for column in collection.target:
        values, present = column.values()
        if values.dtype == object and not present.all():
            row = int(np.argmin(present))
            raise collection.table.error(
                f"the column {short(column.name)} is empty; a target that is text is needed everywhere",
                row,
            )
        if values.dtype == object and len(collection.target) > 1:
            raise FormatError(
                collection.table.path,
                f"the column {short(column.name)} holds text; several targets together must be numbers",
            )
        arrays.append(values)
    return None if not arrays else arrays[0] if len(arrays) == 1 else np.column_stack(arrays)
