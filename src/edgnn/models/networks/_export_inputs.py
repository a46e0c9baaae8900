"""New data for an exported model: graphs in the JSON that the script beside the program reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from edgnn._files import Path_, atomic_file
from edgnn.errors import ModelError
from edgnn.graphs import Graphs, Nodes
from edgnn.models._items import Items, graphs_of
from edgnn.models._predictions import check_known
from edgnn.training import encode_value

if TYPE_CHECKING:
    from edgnn.models.networks._base import Estimator


def check_network(model: Any) -> None:
    """Raise where a model is no network, so that there is no program of it."""
    if not hasattr(model, "export"):
        raise ModelError(
            f"a {type(model).__name__} cannot be exported: only trained networks become programs "
            "of torch; predict with edgnn itself (edgnn predict, edgnn serve)"
        )


def write_inputs(estimator: Estimator, items: Items, path: Path_) -> None:
    """Write items as the input of the ``predict.py`` of an exported estimator.

    Parameters
    ----------
    estimator : Estimator
        Fitted. What it could not predict is an error here.
    items : Graphs or Nodes
        With names, by which the script's answers are told apart.
    path : path
        The file; it appears when all is written.
    """
    check_network(estimator)
    estimator._coder.encode(graphs_of(items))
    check_known(estimator, items)
    with atomic_file(path) as stream:
        begin = b"[\n"
        for graph in _described(estimator, items):
            stream.write(begin + json.dumps(graph, ensure_ascii=False).encode())
            begin = b",\n"
        stream.write(b"[]\n" if begin == b"[\n" else b"\n]\n")


def plain_graph(graph: Graphs) -> dict[str, Any]:
    """Return one graph as JSON."""
    found: dict[str, Any] = {
        "edges": torch.stack([graph.edge_source, graph.edge_target], dim=1).tolist(),
        "node_labels": [encode_value(value) for value in graph.node_labels],
        "edge_labels": [encode_value(value) for value in graph.edge_labels],
    }
    for name in ("node_features", "edge_features"):
        if getattr(graph, name) is not None:
            found[name] = getattr(graph, name).tolist()
    return found


def _described(estimator: Estimator, items: Items) -> Iterator[dict[str, Any]]:
    """Yield each graph with its name, and for models of nodes which nodes are meant."""
    graphs = graphs_of(items)
    labeled = estimator._coder.relabeled(graphs) if estimator._coder.identity else graphs
    owner, offset = graphs.graph_of_node, graphs.graph_offset
    for number, graph in enumerate(labeled):
        found = plain_graph(graph)
        if graphs.graph_names is not None:
            found = {"id": _id(graphs.graph_names[number])} | found
        if isinstance(items, Nodes):
            if graph.node_names is not None:
                found["node_ids"] = [_id(name) for name in graph.node_names]
            found["nodes"] = (items.index[owner[items.index] == number] - offset[number]).tolist()
        yield found


def _id(name: Any) -> Any:
    plain = name.item() if hasattr(name, "item") else name
    return plain if isinstance(plain, str | int | float) else str(plain)
