"""What scikit-learn hands out, joined again: lists of single items become one collection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from edgnn.errors import GraphError
from edgnn.graphs._graphs import Graphs
from edgnn.graphs._nodes import Nodes

Input = Graphs | Nodes | Sequence[Graphs] | Sequence[Nodes]


def joined(items: Input) -> Graphs | Nodes:
    """Return graphs or nodes as they are, and a list of them as one collection."""
    if isinstance(items, Graphs | Nodes):
        return items
    if not isinstance(items, Iterable):
        raise GraphError(
            f"a {type(items).__name__} is neither Graphs nor Nodes; of a data set, pass "
            "data.graphs or data.nodes"
        )
    parts: list[Any] = list(items)
    if parts and all(isinstance(part, Nodes) for part in parts):
        return Nodes.concat(parts)
    for position, part in enumerate(parts):
        if not isinstance(part, Graphs):
            raise GraphError(
                f"item {position} is a {type(part).__name__}; a list of Graphs or of Nodes is "
                "needed"
            )
    return Graphs.concat(parts)


def joined_graphs(items: Graphs | Sequence[Graphs]) -> Graphs:
    """Return graphs as they are, and a list of them as one collection."""
    graphs = joined(items)
    if isinstance(graphs, Nodes):
        raise GraphError("graphs are needed, not nodes; nodes.graphs are the ones they belong to")
    return graphs
