"""Graphs from tables of edges, nodes and graphs, of which only the first is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn._files import Path_
from edgnn._words import short
from edgnn.errors import FormatError, GraphError
from edgnn.graphs import Graphs, Nodes, OnUnknown, Vocabulary
from edgnn.io._columns import Column, Keys, Numbers, Targets, number, read_columns
from edgnn.io._common import Array, as_list, labels_like
from edgnn.io._frames import Frame
from edgnn.io._labeled import Labeled
from edgnn.io._separated import column_of
from edgnn.io._table_files import ENDINGS, open_table
from edgnn.io._table_nodes import Listed, Placed, place
from edgnn.io._write_tables import write_tables
from edgnn.registry import Level

__all__ = ["read_tables", "write_tables"]


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
        What separates the values of a text file; default: a tab in ``.tsv``, else the first of tab,
        comma, semicolon, bar and blank that the first line has.
    like, unknown
        Number labels as other graphs do; see :meth:`Graphs.from_edges`.
    max_bytes : int, optional
        How much a compressed file may unpack to; default: 100 times its size, or 64 MiB if that is
        more.
    """
    # locals() here are the options of this function, as of_tables in _column_uses has them
    edges, listed, collection = chosen_columns(_path(path), locals())
    for rows in (collection, listed, edges):
        if rows is not None:
            read_columns(rows.table, rows.columns)
    placed = place(edges.ids[0], edges.ids[1], edges.graph, _listed(listed), _listed(collection))
    made = labels_like(_graphs(placed, edges, listed), like, unknown)
    if listed is not None and listed.targets:
        values, present = listed.targets[0].values()
        labeled = np.flatnonzero(present)
        owners = Nodes(made, torch.from_numpy(placed.node_of(labeled)))
        return Labeled(made, values[labeled], owners)
    return Labeled(made, None if collection is None else _graph_targets(collection))


def chosen_columns(
    path: Path | Frame, options: Mapping[str, Any]
) -> tuple[TableColumns, TableColumns | None, TableColumns | None]:
    """Return the columns that options of :func:`read_tables` choose, of edges, nodes and graphs."""
    edge_path, node_path, graph_path = table_paths(path, options["nodes"], options["graphs"])
    if node_path is None and options["node_target"] is not None:
        raise GraphError(
            f"node_target={options['node_target']!r} is a column of the node table, "
            "but there is no node table"
        )
    edges = TableColumns(edge_path, options)
    edges.add_id("source", "the source of an edge")
    edges.add_id("target", "the target of an edge")
    edges.add_element("edge")
    nodes = graphs = None
    if node_path is not None:
        nodes = TableColumns(node_path, options)
        nodes.add_id("node", "a node id")
        nodes.add_element("node")
        nodes.add_targets("node_target")
    if graph_path is not None:
        graphs = TableColumns(graph_path, options)
        graphs.add_id("graph", "a graph id")
        graphs.add_targets("graph_target")
    return edges, nodes, graphs


class TableColumns:
    """The columns that are read of one table, chosen by the options of :func:`read_tables`."""

    def __init__(self, path: Path | Frame, options: Mapping[str, Any]) -> None:
        self.table = open_table(path, options["delimiter"], options["max_bytes"])
        self._options = options
        self.ids: list[Keys] = []
        self.label: Keys | None = None
        self.graph: Keys | None = None
        self.features: list[Numbers] = []
        self.targets: list[Targets] = []

    @property
    def columns(self) -> list[Column]:
        """All columns that are read."""
        keys = [column for column in (self.label, self.graph) if column is not None]
        return [*self.ids, *keys, *self.features, *self.targets]

    @property
    def label_name(self) -> str | None:
        """The column of labels, where there is one."""
        return None if self.label is None else self.label.name

    def add_id(self, option: str, what: str) -> None:
        """Choose a column of ids."""
        name = self._existing(self._options[option], option)
        self.ids.append(Keys(self.table, name, what))

    def add_element(self, what: str) -> None:
        """Choose the labels, the graph and the features of edges or nodes."""
        label = self._optional(f"{what}_label", default="label")
        if label is not None:
            self.label = Keys(self.table, label, "a label", label=True)
        graph = self._optional(f"{what}_graph", default="graph")
        if graph is not None:
            self.graph = Keys(self.table, graph, "a graph id")
        option = f"{what}_features"
        names = self._options[option]
        chosen = self._numbered("feature") if names is None else as_list(names)
        self.features = [
            Numbers(self.table, self._existing(name, option), "a feature") for name in chosen
        ]

    def add_targets(self, option: str) -> None:
        """Choose the columns of targets."""
        chosen = as_list(self._options[option])
        is_default = option == "graph_target" and chosen == ["target"]
        if is_default and "target" not in self.table.names:
            chosen = self._numbered("target")
        item = option.removesuffix("_target")
        self.targets = [
            Targets(self.table, self._existing(name, option), item, by_default=is_default)
            for name in chosen
        ]

    def feature_matrix(self) -> Tensor | None:
        """Return the features as a matrix, where there are any."""
        if not self.features:
            return None
        return torch.from_numpy(np.column_stack([column.values() for column in self.features]))

    def _numbered(self, stem: str) -> list[str]:
        names = (f"{stem}_{number}" for number in count())
        return list(takewhile(self.table.position.__contains__, names))

    def _optional(self, option: str, default: str) -> str | None:
        """Return the column of an option; ``None`` where it is the default and not there."""
        name = self._options[option]
        if name is None or (name == default and name not in self.table.position):
            return None
        return self._existing(name, option)

    def _existing(self, name: str, option: str) -> str:
        if name in self.table.position:
            return name
        hint = f": choose one with {option}="
        if option == "target":
            hint += "; the column of targets is target_column= (--target in a command)"
        names = self.table.names
        return names[column_of(names, name, self.table.path, hint)]


def target_level(path: Path, options: Mapping[str, Any]) -> Level:
    """Return what targets of tables belong to: graphs where there is a table of them."""
    if "graphs" in options:
        return "graph"
    return "graph" if path.is_dir() and table_paths(path, None, None)[2] else "node"


def _listed(rows: TableColumns | None) -> Listed | None:
    return None if rows is None else Listed(rows.ids[0], rows.graph)


def table_paths(
    path: Path | Frame, nodes: Path_ | None, graphs: Path_ | None
) -> tuple[Path | Frame, Path | Frame | None, Path | Frame | None]:
    """Return where the edge, node and graph tables are."""
    node_path = None if nodes is None else _path(nodes)
    graph_path = None if graphs is None else _path(graphs)
    if isinstance(path, Frame) or not path.is_dir():
        return path, node_path, graph_path
    edge_path = _table_named("edges", path)
    if edge_path is None:
        raise FormatError(
            path,
            "there is no table edges.csv or edges.parquet here, so this is no folder of tables",
        )
    return (
        edge_path,
        node_path or _table_named("nodes", path),
        graph_path or _table_named("graphs", path),
    )


def _path(path: Path_ | Frame) -> Path | Frame:
    return path if isinstance(path, Frame) else Path(path)


def _table_named(stem: str, folder: Path) -> Path | None:
    """Return the only table of that name in a folder; ``None`` where there is none."""
    names = {f"{stem}{ending}" for ending in ENDINGS}
    files = [file for file in sorted(folder.iterdir()) if file.name.lower() in names]
    if len(files) > 1:
        both = " and ".join(file.name for file in files)
        raise FormatError(folder, f"{both} are both here; keep one table of {stem}")
    return files[0] if files else None


def _graphs(placed: Placed, edges: TableColumns, nodes: TableColumns | None) -> Graphs:
    node_label, node_vocabulary, node_features = _elements(nodes, placed.size, placed.node_order)
    edge_label, edge_vocabulary, edge_features = _elements(
        edges, len(placed.source), placed.edge_order
    )
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


def _elements(
    rows: TableColumns | None, size: int, order: Array | None
) -> tuple[Tensor, Vocabulary, Tensor | None]:
    """Return the labels and features of nodes or edges in the order of the graphs."""
    labels = torch.zeros(size, dtype=torch.int64)
    vocabulary = Vocabulary([None])
    if rows is None:
        return labels, vocabulary, None
    features = rows.feature_matrix()
    column = rows.label
    if column is not None and column.missing < column.size:
        (codes,), values = number([column])
        labels = torch.from_numpy(codes.astype(np.int64))
        vocabulary = Vocabulary(values.to_pylist())
    if order is None:
        return labels, vocabulary, features
    positions = torch.from_numpy(order)
    if features is not None:
        features = features[positions]
    return labels[positions], vocabulary, features


def _graph_targets(collection: TableColumns) -> Array | None:
    columns = collection.targets
    arrays = [_of_every_graph(column, collection) for column in columns]
    if len(arrays) < 2:
        return arrays[0] if arrays else None
    for column, values in zip(columns, arrays, strict=True):
        if _are_texts(values):
            raise FormatError(
                collection.table.path,
                f"the column {short(column.name)} holds text; "
                "several targets together must be numbers",
            )
    matrix = np.column_stack(arrays)
    # truth values with gaps are objects, of which None becomes NaN
    return matrix.astype(np.float64) if matrix.dtype == object else matrix


def _of_every_graph(column: Targets, collection: TableColumns) -> Array:
    """Return the targets of a column, which may lack numbers and truth values, but no text."""
    values, present = column.values()
    if _are_texts(values) and not present.all():
        rule = (
            f"the column {short(column.name)} is empty; a target that is text is needed everywhere"
        )
        raise collection.table.error(rule, int(np.argmin(present)))
    return values


def _are_texts(values: Array) -> bool:
    return values.dtype == object and any(isinstance(value, str) for value in values)
