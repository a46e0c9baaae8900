"""Hypothesis strategies for random graphs, and the plain Python view that properties compare them by."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import strategies as st

from edgnn.graphs import Graphs

STRINGS = st.sampled_from(["C", "N", "O", "", "ß", "a b", "\n"])
INTEGERS = st.sampled_from([0, 1, 2, -1, 7, -(2**40), 2**62])
TUPLES = st.tuples(st.integers(0, 1), st.sampled_from("xy"))
#: What a label column may hold: nothing at all, or values of one kind, or of several.
LABELS = st.sampled_from(
    [None, STRINGS, INTEGERS, TUPLES, st.one_of(st.none(), STRINGS, INTEGERS, TUPLES)]
)


@st.composite
def graphs(
    draw: st.DrawFn,
    *,
    min_graphs: int = 0,
    max_graphs: int = 3,
    min_nodes: int = 0,
    max_nodes: int = 5,
    max_edges: int = 8,
    labels: st.SearchStrategy[Any] = LABELS,
    features: bool = True,
    names: bool = True,
    attributes: bool = False,
) -> Graphs:
    """Draw a few small multigraphs: empty ones, self-loops and parallel edges among them.

    Features are quarters, so that sums of them are exact in any order.
    """
    sizes = draw(
        st.lists(st.integers(min_nodes, max_nodes), min_size=min_graphs, max_size=max_graphs)
    )
    edges: list[tuple[int, int]] = []
    for start, stop in pairwise(np.cumsum([0, *sizes]).tolist()):
        if start < stop:
            ends = st.tuples(st.integers(start, stop - 1), st.integers(start, stop - 1))
            edges += draw(st.lists(ends, max_size=max_edges))
    nodes = sum(sizes)
    made = Graphs.from_edges(
        edges,
        sizes=sizes,
        node_labels=_column(draw, labels, nodes),
        edge_labels=_column(draw, labels, len(edges)),
        node_features=_features(draw, nodes) if features else None,
        edge_features=_features(draw, len(edges)) if features else None,
        node_names=_names(draw, nodes) if names else None,
        graph_names=draw(st.none() | st.just([f"graph {g}" for g in range(len(sizes))]))
        if names
        else None,
    )
    return _with_attributes(draw, made) if attributes else made


def _with_attributes(draw: st.DrawFn, collection: Graphs) -> Graphs:
    values = np.random.default_rng(draw(st.integers(0, 2**16)))
    node_names = draw(st.sampled_from([(), ("charge",), ("charge", "ring")]))
    edge_names = draw(st.sampled_from([(), ("stereo",)]))
    feature_names = draw(st.sampled_from([(), ("logP", "dose")]))
    if feature_names:
        rows = values.integers(-8, 9, (len(collection), 2)) / 4
        collection = collection.with_graph_features(rows, feature_names)
    return collection.with_attributes(
        node={name: values.integers(-2, 3, collection.num_nodes) for name in node_names},
        edge={name: values.integers(0, 3, collection.num_edges) for name in edge_names},
    )


def contents(collection: Graphs) -> list[dict[str, Any]]:
    """Return every graph as plain Python values, read element by element from the packed arrays."""
    offset = collection.graph_offset.tolist()
    ends = list(zip(collection.edge_source.tolist(), collection.edge_target.tolist(), strict=True))
    node_labels, edge_labels = collection.node_labels, collection.edge_labels
    edges_of: list[list[int]] = [[] for _ in offset[1:]]
    for edge, (source, _) in enumerate(ends):
        edges_of[bisect_right(offset, source) - 1].append(edge)
    return [
        {
            "edges": [(ends[edge][0] - start, ends[edge][1] - start) for edge in edges],
            "node labels": node_labels[start:stop],
            "edge labels": [edge_labels[edge] for edge in edges],
            "node features": _rows(collection.node_features, range(start, stop)),
            "edge features": _rows(collection.edge_features, edges),
            "node names": None
            if collection.node_names is None
            else collection.node_names[start:stop].tolist(),
            "graph name": None if collection.graph_names is None else collection.graph_names[graph],
            **_beside_labels(collection, range(start, stop), edges, graph),
        }
        for graph, ((start, stop), edges) in enumerate(zip(pairwise(offset), edges_of, strict=True))
    ]


def _beside_labels(collection: Graphs, nodes: Any, edges: list[int], graph: int) -> dict[str, Any]:
    """Return attributes and features of graphs, those that are there."""
    rows = {
        "node attributes": _rows(collection.node_attributes, nodes),
        "edge attributes": _rows(collection.edge_attributes, edges),
        "graph features": _rows(collection.graph_features, [graph]),
    }
    return {name: values for name, values in rows.items() if values is not None}


def _column(draw: st.DrawFn, kinds: st.SearchStrategy[Any], size: int) -> list[Any] | None:
    values = draw(kinds)
    return None if values is None else draw(st.lists(values, min_size=size, max_size=size))


def _features(draw: st.DrawFn, rows: int) -> np.ndarray[Any, Any] | None:
    width = draw(st.integers(0, 3))
    seed = draw(st.integers(0, 2**16))
    return (
        None
        if width == 0
        else np.random.default_rng(seed).integers(-8, 9, (rows, width)).astype(np.float32) / 4
    )


def _names(draw: st.DrawFn, nodes: int) -> list[Any] | None:
    kind = draw(st.sampled_from([None, "number", "text", "tuple"]))
    make = {
        "number": lambda node: node * 10,
        "text": lambda node: f"n{node}",
        "tuple": lambda node: (node // 2, node % 2),
    }
    return None if kind is None else [make[kind](node) for node in range(nodes)]


def _rows(features: Any, wanted: Any) -> list[list[float]] | None:
    return None if features is None else [features[row].tolist() for row in wanted]
