"""A hash of data: the same for the same graphs and targets, whatever file they came from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn.errors import RunError
from edgnn.graphs import Graphs
from edgnn.models._items import Items, graphs_of, positions_of
from edgnn.training import encode_value

_ARRAYS = (
    "graph_offset",
    "node_label",
    "edge_source",
    "edge_target",
    "edge_label",
    "node_features",
    "edge_features",
)


def fingerprint(X: Items, y: Any, *, attributes: bool = False) -> str:
    """Return a SHA-256 over all that training reads of items and targets; names do not count.

    Parameters
    ----------
    X : Graphs or Nodes
        The items.
    y : array-like
        Their targets.
    attributes : bool
        Whether attributes of nodes and edges count, with their names: of models that read them.
        Without, the hash is that of the same graphs before they had any.
    """
    graphs, digest = graphs_of(X), hashlib.sha256()
    for name in _ARRAYS:
        _add_array(digest, name, getattr(graphs, name))
    if graphs.graph_features is not None:
        _add_columns(digest, graphs, "graph_features", "graph_feature_names")
    if attributes:
        _add_columns(digest, graphs, "node_attributes", "node_attribute_names")
        _add_columns(digest, graphs, "edge_attributes", "edge_attribute_names")
    _add_array(digest, "items", positions_of(X))
    _add_values(digest, graphs.node_vocabulary)
    _add_values(digest, graphs.edge_vocabulary)
    targets = np.asarray(y)
    if targets.dtype.kind not in "biuf":
        _add_values(digest, targets.ravel().tolist())
    else:
        kind = "<f8" if targets.dtype.kind == "f" else "<i8"
        _add_array(digest, "targets", torch.from_numpy(targets.astype(kind)))
    return digest.hexdigest()


def _add_array(digest: Any, name: str, array: Tensor | None) -> None:
    if array is None:
        digest.update(f"{name} none;".encode())
        return
    values = array.detach().cpu().contiguous().numpy()
    digest.update(f"{name} {values.dtype.str} {values.shape};".encode())
    digest.update(values.reshape(-1).view(np.uint8).data)


def _add_columns(digest: Any, graphs: Graphs, name: str, names: str) -> None:
    _add_array(digest, name, getattr(graphs, name))
    _add_values(digest, getattr(graphs, names))


def _add_values(digest: Any, values: Iterable[Any]) -> None:
    digest.update(json.dumps([_plain(value) for value in values]).encode())


def _plain(value: Any) -> Any:
    try:
        return encode_value(value)
    except RunError:
        return repr(value)
