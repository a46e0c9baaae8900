"""Requests as graphs: those that spell graphs out, and those that name what is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from edgnn.errors import GraphError
from edgnn.graphs import Graphs, Nodes
from edgnn.io.datasets import node_numbers
from edgnn.serve._limits import Limits

if TYPE_CHECKING:
    from edgnn.serve._model import Served
    from edgnn.serve._requests import GraphIn

_MOST_NODES = 2**31


def of_json(parts: Sequence[GraphIn], limits: Limits) -> Graphs:
    """Return graphs that a request spells out."""
    limits.check_items(len(parts), "graphs")
    nodes, edges, made = 0, sum(len(part.edges) for part in parts), []
    for place, part in enumerate(parts):
        try:
            nodes += _num_nodes(part)
            limits.check_sizes(nodes, edges)
            made.append(_graph(part))
        except GraphError as error:
            raise GraphError(f"graph {place}: {error}") from None
    named = [part.name for part in parts]
    graphs = Graphs.concat(made)
    if all(name is None for name in named):
        return graphs
    return graphs._with(
        graph_names=_objects(
            [str(place) if name is None else name for place, name in enumerate(named)]
        )
    )


def _num_nodes(part: GraphIn) -> int:
    """Return how many nodes a graph has, after a look at its edges: their ends alone may call for any number."""
    for place, edge in enumerate(part.edges):
        for end in edge[:2]:
            if type(end) is not int or not 0 <= end < _MOST_NODES:
                raise GraphError(
                    f"edge {place} is {edge!r:.100}: write [source, target] or [source, target, label], nodes as numbers"
                )
        if len(edge) != len(part.edges[0]):
            raise GraphError(
                f"edge {place} has {'a' if len(edge) > 2 else 'no'} label, unlike edge 0; label all edges or none"
            )
    given = next(
        (len(rows) for rows in (part.node_labels, part.node_features, part.node_names) if rows),
        part.num_nodes,
    )
    return (
        1 + max((end for edge in part.edges for end in edge[:2]), default=-1)
        if given is None
        else given
    )


def _graph(part: GraphIn) -> Graphs:
    labeled = bool(part.edges) and len(part.edges[0]) > 2
    ends: Any = [edge[:2] for edge in part.edges]
    return Graphs.from_edges(
        ends,
        num_nodes=part.num_nodes,
        node_labels=None
        if part.node_labels is None
        else [_label(value) for value in part.node_labels],
        edge_labels=[_label(edge[2]) for edge in part.edges] if labeled else None,
        node_features=part.node_features or None,
        edge_features=part.edge_features or None,
        node_names=part.node_names,
    )


def _label(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _objects(values: list[Any]) -> Any:
    import numpy as np

    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def of_names(served: Served, names: Sequence[str], limits: Limits, level: str) -> Sequence[int]:
    """Return the places of items of the loaded data."""
    served.check_level(level, "nodes" if level == "node" else "examples")
    limits.check_items(len(names), f"{level}s")
    return served.catalog_or_fail().positions(names)


def nodes_of(graphs: Graphs, names: Sequence[str] | None, limits: Limits) -> Nodes:
    """Return the nodes of a request's graph that are asked for; all by default."""
    if not names:
        limits.check_items(graphs.num_nodes, "nodes")
        return graphs.nodes
    limits.check_items(len(names), "nodes")
    if len(graphs) != 1:
        raise GraphError(
            f"nodes are named in one graph, but there are {len(graphs):,}; leave `nodes` out to predict all nodes"
        )
    numbers = node_numbers(graphs)
    for entry, name in enumerate(names):
        if name not in numbers:
            raise GraphError(f"entry {entry} of nodes, {name[:200]!r}, is no node of the graph")
    return graphs.nodes[[numbers[name] for name in names]]


def one_of(graphs: Graphs | Nodes, item: int) -> Graphs | Nodes:
    """Return one item of several."""
    if item >= len(graphs):
        what = "nodes" if isinstance(graphs, Nodes) else "graphs"
        raise GraphError(
            f"item {item} was asked for, but there are {len(graphs):,} {what}, counted from 0"
        )
    return graphs[item : item + 1]
