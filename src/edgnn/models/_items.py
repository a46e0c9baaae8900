"""What users pass as X, made one collection: graphs, nodes, or what can be read as graphs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from edgnn.errors import EstimatorError, GraphError
from edgnn.graphs import UNKNOWN, Graphs, Nodes, Vocabulary, joined

Level = Literal["graph", "node"]
Items = Graphs | Nodes

_NODES_AT_ONCE = 200_000
_READERS = {"networkx": "from_networkx", "torch_geometric": "from_pyg", "rdkit": "from_mols"}
_WRONG_LEVEL = {
    "node": "X holds nodes, but this estimator is for whole graphs: pass graphs, "
    "or use one of nodes, such as NodeClassifier",
    "graph": "X holds graphs, but this estimator is for nodes: pass graphs.nodes, "
    "or use one of graphs, such as GraphClassifier",
}


def read_items(X: Any, levels: Sequence[Level]) -> Items:
    """Return ``X`` as one collection of graphs or of nodes, of a level among ``levels``.

    SMILES strings, RDKit molecules, networkx and PyG graphs are read with the default options of
    ``from_smiles`` and its like; read them yourself for other ones.
    """
    items = X if isinstance(X, Graphs | Nodes) else _read(X, levels)
    level: Level = "node" if isinstance(items, Nodes) else "graph"
    if level not in levels:
        raise EstimatorError(_WRONG_LEVEL[level])
    return items


def graphs_of(items: Items) -> Graphs:
    """Return the graphs, or those that the nodes belong to."""
    return items.graphs if isinstance(items, Nodes) else items


def positions_of(items: Items) -> Tensor | None:
    """Return the numbers of the nodes; ``None`` for graphs."""
    return items.index if isinstance(items, Nodes) else None


def with_graphs(items: Items, graphs: Graphs) -> Items:
    """Return the same items of changed graphs."""
    return Nodes._of(graphs, items.index) if isinstance(items, Nodes) else graphs


def numbered_by_appearance(items: Items) -> Items:
    """Return items with the labels that occur alone, in the order of their first appearance.

    What is learned from them depends neither on labels that nothing has, nor on the order in which
    a vocabulary lists them.
    """
    graphs = graphs_of(items)
    changes: dict[str, Any] = {}
    for kind in ("node", "edge"):
        labels, vocabulary = getattr(graphs, f"{kind}_label"), getattr(graphs, f"{kind}_vocabulary")
        order = _order_of_appearance(labels, vocabulary)
        if np.array_equal(order, np.arange(len(vocabulary))):
            continue
        number = np.zeros(len(vocabulary), dtype=np.int64)
        number[order] = np.arange(len(order))
        changes[f"{kind}_label"] = torch.from_numpy(number).to(labels.device)[labels]
        changes[f"{kind}_vocabulary"] = Vocabulary([vocabulary[old] for old in order] or [None])
    return with_graphs(items, graphs._with(**changes)) if changes else items


def _order_of_appearance(labels: Tensor, vocabulary: Vocabulary) -> np.ndarray[Any, Any]:
    """Return the labels that occur, the first to appear first; ``UNKNOWN`` stays the last."""
    if vocabulary.constant:
        return np.zeros(1, dtype=np.int64)
    count = len(labels)
    first = np.full(len(vocabulary), count)
    first[labels.cpu().numpy()[::-1]] = np.arange(count)[::-1]
    occurs = first < count
    if UNKNOWN in vocabulary:
        first[vocabulary.index(UNKNOWN)] = count
    order = np.argsort(first, kind="stable")
    return order[occurs[order]]


def in_pieces(items: Items, members: int) -> Iterator[Items]:
    """Yield graphs some at a time; nodes need their whole graphs and come at once."""
    if isinstance(items, Nodes) or not len(items):
        yield items
        return
    size = max(1, _NODES_AT_ONCE // max(1, members * (items.num_nodes // len(items))))
    for start in range(0, len(items), size):
        yield items[start : start + size]


def append(items: Items, more: Items) -> Items:
    """Return ``items`` followed by ``more``; nodes of the same graphs share one copy of them."""
    if isinstance(items, Graphs) and isinstance(more, Graphs):
        return Graphs.concat([items, more])
    assert isinstance(items, Nodes)
    assert isinstance(more, Nodes)
    if more.graphs is items.graphs or more.graphs.equals(items.graphs):
        return Nodes._of(items.graphs, torch.cat([items.index, more.index]))
    both = Graphs.concat([items.graphs, more.graphs])
    return Nodes._of(both, torch.cat([items.index, more.index + items.graphs.num_nodes]))


def _read(X: Any, levels: Sequence[Level]) -> Items:
    """Read graphs of other packages; join a list of our own."""
    from edgnn import io

    X = io.column_values(X)
    _refuse_arrays(X)
    if _reader(X) is not None:
        X = [X]
    if not isinstance(X, Iterable):
        return joined(X)
    items = list(X)
    reader = _reader(items[0]) if items else None
    if reader is None:
        return joined(items)
    if reader == "from_smiles" and "graph" not in levels:
        raise EstimatorError(
            "X holds text, but this estimator is for nodes: pass edgnn.Nodes.named(graphs, names)"
        )
    for position, item in enumerate(items):
        if _reader(item) != reader:
            raise EstimatorError(
                f"item {position} of X is a {type(item).__name__}, "
                f"but item 0 is a {type(items[0]).__name__}: pass items of one kind"
            )
    graphs: Graphs = getattr(io, reader)(items)
    return graphs


def _reader(value: Any) -> str | None:
    """Return which function of ``edgnn.io`` reads a value, by its type; imports nothing."""
    if isinstance(value, str):
        return "from_smiles"
    for kind in type(value).__mro__:
        package = kind.__module__.partition(".")[0]
        if package in _READERS:
            return _READERS[package]
    return None


def _refuse_arrays(X: Any) -> None:
    dimensions = getattr(X, "ndim", 1)
    kind = getattr(getattr(X, "dtype", None), "kind", "O")
    if isinstance(X, Tensor) or dimensions != 1 or kind not in "OUT":
        shape = tuple(getattr(X, "shape", ()))
        raise GraphError(
            f"X is a {type(X).__name__} of shape {shape}; edgnn learns from graphs: "
            "pass Graphs (Graphs.from_edges, edgnn.read), Nodes, or a list of networkx or PyG "
            "graphs or of SMILES strings, such as a column of a table"
        )
