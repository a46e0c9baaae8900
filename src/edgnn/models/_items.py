"""What users pass as X, made one collection: graphs, nodes, or what can be read as graphs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from edgnn.errors import EstimatorError, GraphError
from edgnn.graphs import Graphs, Nodes, joined

Level = Literal["graph", "node"]
Items = Graphs | Nodes

_NODES_AT_ONCE = 200_000
_FOREIGN = ("networkx", "torch_geometric", "rdkit")


def collect(X: Any, level: Level) -> Items:
    """Return ``X`` as one collection of the items that an estimator of this level takes.

    SMILES strings, RDKit molecules, networkx and PyG graphs are read with the default options of
    ``from_smiles`` and its like; read them yourself for other ones.
    """
    if level == "node" and _is_text(X):
        raise EstimatorError(
            "X holds text, but this estimator is for nodes: pass edgnn.Nodes.named(graphs, names)"
        )
    items = read_any(X)
    if level == "graph" and isinstance(items, Nodes):
        raise EstimatorError(
            "X holds nodes, but this estimator is for whole graphs: pass graphs, "
            "or use one of nodes, such as NodeClassifier"
        )
    if level == "node" and isinstance(items, Graphs):
        raise EstimatorError(
            "X holds graphs, but this estimator is for nodes: pass graphs.nodes, "
            "or use one of graphs, such as GraphClassifier"
        )
    return items


def read_items(X: Any, levels: Sequence[Level]) -> Items:
    """Return ``X`` as one collection of graphs or of nodes, of a level among ``levels``."""
    return collect(X, levels[0]) if len(levels) == 1 else read_any(X)


def graphs_of(items: Items) -> Graphs:
    """Return the graphs, or those that the nodes belong to."""
    return items.graphs if isinstance(items, Nodes) else items


def positions_of(items: Items) -> Tensor | None:
    """Return the numbers of the nodes; ``None`` for graphs."""
    return items.index if isinstance(items, Nodes) else None


def with_graphs(items: Items, graphs: Graphs) -> Items:
    """Return the same items of changed graphs."""
    return Nodes._of(graphs, items.index) if isinstance(items, Nodes) else graphs


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


def read_any(X: Any) -> Items:
    """Return ``X`` as one collection of graphs or of nodes, whichever it holds."""
    if isinstance(X, Graphs | Nodes):
        return X
    _refuse_arrays(X)
    if isinstance(X, str) or _package(X) in _FOREIGN:
        return _foreign([X])
    if not isinstance(X, Iterable):
        return joined(X)
    items = list(X)
    if items and (isinstance(items[0], str) or _package(items[0]) in _FOREIGN):
        return _foreign(items)
    return joined(items)


def _foreign(items: list[Any]) -> Graphs:
    from edgnn.io import from_mols, from_networkx, from_pyg, from_smiles

    kind = str if isinstance(items[0], str) else _package(items[0])
    for position, item in enumerate(items):
        if (str if isinstance(item, str) else _package(item)) != kind:
            raise EstimatorError(
                f"item {position} of X is a {type(item).__name__}, "
                f"but item 0 is a {type(items[0]).__name__}: pass items of one kind"
            )
    read: dict[Any, Any] = {
        str: from_smiles,
        "networkx": from_networkx,
        "torch_geometric": from_pyg,
        "rdkit": from_mols,
    }
    graphs: Graphs = read[kind](items)
    return graphs


def _is_text(X: Any) -> bool:
    return isinstance(X, str) or (
        isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], str)
    )


def _package(value: Any) -> str | None:
    """Return which package made the type of ``value``, if we read its graphs; imports nothing."""
    roots = (kind.__module__.partition(".")[0] for kind in type(value).__mro__)
    return next((root for root in roots if root in _FOREIGN), None)


def _refuse_arrays(X: Any) -> None:
    dimensions = getattr(X, "ndim", 1)
    kind = getattr(getattr(X, "dtype", None), "kind", "O")
    if isinstance(X, Tensor) or dimensions != 1 or kind not in "OUT":
        shape = tuple(getattr(X, "shape", ()))
        raise GraphError(
            f"X is a {type(X).__name__} of shape {shape}; edgnn learns from graphs: "
            "pass Graphs (Graphs.from_edges, edgnn.read), Nodes, or a list of networkx or PyG "
            "graphs or of SMILES strings"
        )
