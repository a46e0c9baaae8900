"""Nodes, edges and labels in the users' own terms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from edgnn.graphs import Graphs

_Array = np.ndarray[Any, Any]


def plain(value: Any) -> Any:
    """Return a value as JSON has it: texts, numbers, truth values and nothing stay, others become text; no number is null."""
    if isinstance(value, np.ndarray):
        return [plain(part) for part in value.tolist()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def short(value: Any) -> str:
    """Return a label or name as text; of an address, what stands behind its last ``#`` or ``/``."""
    text = str(value)
    if "://" not in text:
        return text
    tail = text.rstrip("/#").replace("#", "/").rsplit("/", 1)[-1]
    return tail or text


def node_words(graph: Graphs, node: int, numbers: Tensor | None = None) -> str:
    """Return ``node 3 (N)``, or the name of a node that has one; ``numbers`` are those of a part's nodes in the whole graph."""
    label = (
        None
        if graph.node_vocabulary.constant
        else short(graph.node_vocabulary[int(graph.node_label[node])])
    )
    named = graph.node_names is not None
    name = (
        short(graph.node_names[node])
        if graph.node_names is not None
        else f"node {node if numbers is None else int(numbers[node])}"
    )
    return name if label is None or (named and label == name) else f"{name} ({label})"


def link_words(graph: Graphs, edges: Sequence[int], numbers: Tensor | None = None) -> str:
    """Return ``node 0 (C) – node 3 (N): double``; with an arrow where the edge goes one way."""
    edge = int(edges[0])
    source, target = int(graph.edge_source[edge]), int(graph.edge_target[edge])
    arrow = "–" if len(edges) > 1 else "→"
    ends = f"{node_words(graph, source, numbers)} {arrow} {node_words(graph, target, numbers)}"
    return ends if graph.edge_vocabulary.constant else f"{ends}: {edge_label_words(graph, edge)}"


def edge_label_words(graph: Graphs, edge: int) -> str:
    """Return the label of an edge."""
    return short(graph.edge_vocabulary[int(graph.edge_label[edge])])
