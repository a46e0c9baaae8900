"""A hash of data: the same for the same graphs and targets, whatever file they came from."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from torch import Tensor

from edgnn.errors import RunError
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


def fingerprint(X: Items, y: Any) -> str:
    """Return a SHA-256 over all that training reads of items and targets; names do not count.

    Parameters
    ----------
    X : Graphs or Nodes
        The items.
    y : array-like
        Their targets.
    """
    graphs, digest = graphs_of(X), hashlib.sha256()
    parts = [(name, getattr(graphs, name)) for name in _ARRAYS] + [("items", positions_of(X))]
    for name, array in parts:
        _add(digest, name, None if array is None else array.detach().cpu().contiguous())
    for vocabulary in (graphs.node_vocabulary, graphs.edge_vocabulary):
        digest.update(json.dumps([_plain(value) for value in vocabulary]).encode())
    targets = np.asarray(y)
    if targets.dtype.kind in "biuf":
        targets = np.ascontiguousarray(
            targets.astype("<f8" if targets.dtype.kind == "f" else "<i8")
        )
        _add(digest, "targets", targets)
    else:
        digest.update(json.dumps([_plain(value) for value in targets.ravel().tolist()]).encode())
    return digest.hexdigest()


def _add(digest: Any, name: str, array: Tensor | np.ndarray[Any, Any] | None) -> None:
    if array is None:
        digest.update(f"{name} none;".encode())
        return
    values = array.numpy() if isinstance(array, Tensor) else array
    digest.update(f"{name} {values.dtype.str} {values.shape};".encode())
    digest.update(values.reshape(-1).view(np.uint8).data)


def _plain(value: Any) -> Any:
    try:
        return encode_value(value)
    except RunError:
        return repr(value)
