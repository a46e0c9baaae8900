"""networkx graphs to Graphs and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from edgnn._optional import optional
from edgnn.errors import GraphError
from edgnn.graphs import Graphs, OnUnknown
from edgnn.io._common import as_list, node_names
from edgnn.io._elements import DEFAULT_LABEL, NO_VALUE, absent_label, no_feature, no_label


def from_networkx(
    graphs: Any,
    *,
    node_label: str | None = "label",
    edge_label: str | None = "label",
    node_features: str | Sequence[str] | None = None,
    edge_features: str | Sequence[str] | None = None,
    like: Graphs | None = None,
    unknown: OnUnknown = "error",
) -> Graphs:
    """Convert networkx graphs.

    Parameters
    ----------
    graphs : networkx graph, or iterable of them
        ``DiGraph`` and ``MultiDiGraph`` as they are; an edge of a ``Graph`` or ``MultiGraph``
        becomes two, one each way (a self-loop stays one).
    node_label, edge_label : str, optional
        Attributes that hold the labels. Where no element of any graph has ``"label"`` there are no
        labels; where only some have it, or none has another one that is asked for, that is an
        error.
    node_features, edge_features : str or sequence of str, optional
        Attributes that hold continuous features: one that holds a vector, or several that hold
        numbers.
    like, unknown
        Number labels as other graphs do; see :meth:`Graphs.from_edges`.

    Returns
    -------
    Graphs
        Node names are the networkx nodes; graph names are the graphs' ``name`` attributes, where
        all have one.
    """
    nx = optional("networkx", "from_networkx")
    if not isinstance(graphs, nx.Graph | Iterable):
        raise GraphError(f"a {type(graphs).__name__} is neither a networkx graph nor several")
    items = [graphs] if isinstance(graphs, nx.Graph) else list(graphs)
    numbers: list[tuple[int, int]] = []
    names: list[Any] = []
    edge_owner: list[tuple[Any, Any]] = []
    node_data: list[dict[str, Any]] = []
    edge_data: list[dict[str, Any]] = []
    for position, graph in enumerate(items):
        if not isinstance(graph, nx.Graph):
            raise GraphError(f"item {position} is a {type(graph).__name__}, not a networkx graph")
        number = {node: len(names) + position for position, node in enumerate(graph.nodes)}
        for source, target, data in _directed_edges(graph):
            numbers.append((number[source], number[target]))
            edge_data.append(data)
            edge_owner.append((source, target))
        names.extend(graph.nodes)
        node_data.extend(graph.nodes[node] for node in graph.nodes)
    return Graphs.from_edges(
        torch.tensor(numbers, dtype=torch.int64).reshape(-1, 2),
        sizes=[len(graph) for graph in items],
        node_labels=_attribute(node_data, node_label, names, "node"),
        edge_labels=_attribute(edge_data, edge_label, edge_owner, "edge"),
        node_features=_feature_rows(node_data, node_features, names, "node"),
        edge_features=_feature_rows(edge_data, edge_features, edge_owner, "edge"),
        node_names=names,
        graph_names=_graph_names(items),
        like=like,
        unknown=unknown,
    )


def _graph_names(items: Sequence[Any]) -> list[Any] | None:
    """Return the names of the graphs, where all have one."""
    names = [graph.graph.get("name") for graph in items]
    has_gap = any(name is None or name == "" for name in names)
    return None if has_gap or not names else names


def _directed_edges(graph: Any) -> Iterator[tuple[Any, Any, dict[str, Any]]]:
    """Yield the edges of a graph; of an undirected one, each in both directions."""
    for source, target, data in graph.edges(data=True):
        yield source, target, data
        if not graph.is_directed() and source != target:
            yield target, source, data


def to_networkx(
    graphs: Graphs,
    *,
    node_label: str = "label",
    edge_label: str = "label",
    node_features: str = "features",
    edge_features: str = "features",
) -> list[Any]:
    """Convert to a list of ``networkx.MultiDiGraph``, one per graph.

    Nodes are the node names, or numbers from 0 in each graph.

    Parameters
    ----------
    graphs : Graphs
        What to convert.
    node_label, edge_label, node_features, edge_features : str
        The attributes that labels and features go into; graphs without them have none.
    """
    nx = optional("networkx", "to_networkx")
    converted = []
    for position, graph in enumerate(graphs):
        names = node_names(graph)
        one = nx.MultiDiGraph()
        if graphs.graph_names is not None:
            one.graph["name"] = graphs.graph_names[position]
        nodes = _dicts(
            graph.node_labels,
            graph.node_vocabulary.constant,
            node_label,
            graph.node_features,
            node_features,
        )
        edges = _dicts(
            graph.edge_labels,
            graph.edge_vocabulary.constant,
            edge_label,
            graph.edge_features,
            edge_features,
        )
        one.add_nodes_from(zip(names, nodes, strict=True))
        ends = zip(graph.edge_source.tolist(), graph.edge_target.tolist(), edges, strict=True)
        one.add_edges_from((names[source], names[target], data) for source, target, data in ends)
        converted.append(one)
    return converted


def _attribute(
    data: Sequence[dict[str, Any]], name: str | None, owners: Sequence[Any], what: str
) -> list[Any] | None:
    if name is None:
        return None
    values = [entry.get(name, NO_VALUE) for entry in data]
    lacking = [position for position, value in enumerate(values) if value is NO_VALUE]
    if len(lacking) == len(values):
        if values and name != DEFAULT_LABEL:
            raise GraphError(absent_label(what, name))
        return None
    if lacking:
        raise GraphError(no_label(what, owners[lacking[0]], name))
    return values


def _feature_rows(
    data: Sequence[dict[str, Any]],
    names: str | Sequence[str] | None,
    owners: Sequence[Any],
    what: str,
) -> list[Any] | None:
    if names is None:
        return None
    rows = []
    for entry, owner in zip(data, owners, strict=True):
        try:
            row = [entry[name] for name in as_list(names)]
        except KeyError as error:
            raise GraphError(no_feature(what, owner, error.args[0])) from None
        rows.append(row[0] if isinstance(names, str) else row)
    return rows


def _dicts(
    labels: list[Any], constant: bool, label: str, features: Any, feature: str
) -> Iterable[dict[str, Any]]:
    rows = [None] * len(labels) if features is None else features.tolist()
    for value, row in zip(labels, rows, strict=True):
        entry = {} if constant else {label: value}
        if row is not None:
            entry[feature] = row
        yield entry
