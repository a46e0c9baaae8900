"""Which node and graph the rows of tables speak of: ids to numbers, grouped by graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from edgnn._words import short
from edgnn.errors import FormatError
from edgnn.io._columns import Keys, encoded, number
from edgnn.io._common import Array, grouping, inverse, object_array
from edgnn.io._table_files import arrow


@dataclass(frozen=True)
class Placed:
    """Nodes and edges by number, grouped by graph.

    An order is ``None`` where the rows already stand in it.
    """

    source: Array
    target: Array
    offset: Array
    node_order: Array | None
    edge_order: Array | None
    node_names: Array
    graph_names: Array | None

    @property
    def size(self) -> int:
        """Number of nodes."""
        return int(self.offset[-1])

    def node_of(self, rows: Array) -> Array:
        """Return the numbers of the nodes that stand in these rows of the node table."""
        return rows if self.node_order is None else inverse(self.node_order)[rows]


@dataclass(frozen=True)
class Listed:
    """The ids that a table lists, and the graph of each where it says so."""

    ids: Keys
    graph: Keys | None = None


def place(
    source: Keys, target: Keys, edge_graph: Keys | None, nodes: Listed | None, graphs: Listed | None
) -> Placed:
    """Number nodes and graphs, by the edge table and what a node and a graph table list."""
    node_graph = None if nodes is None else nodes.graph
    _check_graph_columns(source, edge_graph, nodes, graphs)
    graph_numbers, graph_ids = _graphs(graphs, node_graph, edge_graph)
    (sources, targets, *listed), ids = number(
        [source, target] if nodes is None else [source, target, nodes.ids]
    )
    ends = np.empty(2 * len(sources), np.int32)
    ends[::2], ends[1::2] = sources, targets
    del sources, targets
    # ids count within their graph where edges have one, so that the key of a node is the pair
    keys = ends
    if edge_graph is not None:
        keys = _pairs(np.repeat(graph_numbers[edge_graph], 2), ends, len(ids))
    if nodes is None:
        numbers, distinct = _by_first_appearance(keys)
        id_of_node = distinct % max(len(ids), 1)
        graph_of_node = None if edge_graph is None else distinct // max(len(ids), 1)
    else:
        id_of_node = listed[0]
        graph_of_node = None if node_graph is None else graph_numbers[node_graph]
        own = id_of_node
        if edge_graph is not None and graph_of_node is not None:
            own = _pairs(graph_of_node, id_of_node, len(ids))
        numbers, _ = _by_first_appearance(np.concatenate([own, keys]))
        _check_listed(numbers[: len(own)], nodes, ids, id_of_node)
        numbers = numbers[len(own) :]
        _check_known(numbers, len(own), source, target, nodes, ids, ends)
    names = object_array(ids.take(arrow().array(id_of_node)).to_pylist())
    if graph_of_node is None:
        one_graph = np.zeros(len(names), np.int64)
        return _grouped(numbers, one_graph, names, None)
    if edge_graph is None:
        _check_within(numbers, graph_of_node, source, names, graph_ids)
    return _grouped(numbers, graph_of_node, names, object_array(graph_ids.to_pylist()))


def _grouped(
    numbers: Array, graph_of_node: Array, node_names: Array, graph_names: Array | None
) -> Placed:
    """Bring the nodes and the edges of each graph together, in the order they have within it."""
    node_order = grouping(graph_of_node)
    if node_order is not None:
        numbers, node_names = inverse(node_order)[numbers], node_names[node_order]
        graph_of_node = graph_of_node[node_order]
    source, target = numbers[::2].astype(np.int64), numbers[1::2].astype(np.int64)
    edge_order = grouping(graph_of_node[source])
    if edge_order is not None:
        source, target = source[edge_order], target[edge_order]
    graphs = 1 if graph_names is None else len(graph_names)
    sizes = np.bincount(graph_of_node, minlength=graphs)
    offset = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
    return Placed(source, target, offset, node_order, edge_order, node_names, graph_names)


def _graphs(
    listed: Listed | None, node_graph: Keys | None, edge_graph: Keys | None
) -> tuple[dict[Keys, Array], Any]:
    """Return each column's graphs by number, and the graph ids: those of the graph table first."""
    given = (None if listed is None else listed.ids, node_graph, edge_graph)
    columns = [column for column in given if column is not None]
    numbers, ids = number(columns)
    by_column = dict(zip(columns, numbers, strict=True))
    if listed is not None:
        own = by_column[listed.ids]
        _check_listed(own, listed, ids, own)
        for column in columns[1:]:
            unlisted = np.flatnonzero(by_column[column] >= len(own))
            if len(unlisted):
                graph = ids[int(by_column[column][unlisted[0]])].as_py()
                raise column.table.error(
                    f"the graph {short(graph)} is not in {listed.ids.table.path.name}",
                    int(unlisted[0]),
                )
    return by_column, ids


def _check_graph_columns(
    source: Keys, edge_graph: Keys | None, nodes: Listed | None, graphs: Listed | None
) -> None:
    if nodes is not None and nodes.graph is None and edge_graph is not None:
        raise FormatError(
            nodes.ids.table.path,
            f"the edge table has graphs in its column {edge_graph.name!r}, "
            "but this one has no such column; "
            "name it with node_graph=, or pass edge_graph=None",
        )
    if graphs is not None and edge_graph is None and (nodes is None or nodes.graph is None):
        raise FormatError(
            source.table.path,
            f"{graphs.ids.table.path.name} lists graphs, "
            "but no column says which graph an edge is in; name it with edge_graph=",
        )


def _check_listed(numbers: Array, listed: Listed, ids: Any, id_of_row: Array) -> None:
    """Check that no row of a table repeats the id of an earlier one: each has a new number."""
    again = np.flatnonzero(numbers != np.arange(len(numbers)))
    if len(again):
        row = int(again[0])
        within = "" if listed.graph is None else " in one graph"
        raise listed.ids.table.error(
            f"the id {short(ids[int(id_of_row[row])].as_py())} stands twice{within}; "
            "ids are unique",
            row,
        )


def _check_known(
    numbers: Array, known: int, source: Keys, target: Keys, nodes: Listed, ids: Any, ends: Array
) -> None:
    unknown = np.flatnonzero(numbers >= known)
    if len(unknown):
        row, side = divmod(int(unknown[0]), 2)
        column = target if side else source
        node, table = ids[int(ends[unknown[0]])].as_py(), nodes.ids.table.path.name
        where = "" if nodes.graph is None else " in this graph"
        raise column.table.error(
            f"the {column.name} {short(node)} is not among the nodes of {table}{where}", row
        )


def _check_within(
    numbers: Array, graph_of_node: Array, source: Keys, names: Array, graph_ids: Any
) -> None:
    across = np.flatnonzero(graph_of_node[numbers[::2]] != graph_of_node[numbers[1::2]])
    if len(across):
        row = int(across[0])
        first, second = (
            f"node {short(names[end])} of graph {short(graph_ids[int(graph_of_node[end])].as_py())}"
            for end in numbers[2 * row : 2 * row + 2]
        )
        raise source.table.error(
            f"the edge joins {first} to {second}; an edge stays within one graph", row
        )


def _pairs(graph: Array, node: Array, ids: int) -> Array:
    return graph.astype(np.int64) * ids + node


def _by_first_appearance(keys: Array) -> tuple[Array, Array]:
    numbered = encoded(arrow().array(keys))
    return numbered.indices.to_numpy(), numbered.dictionary.to_numpy()
