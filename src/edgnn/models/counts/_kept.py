"""What a model has learned from, kept so that items can be added and taken out later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor

from edgnn._words import counted, short
from edgnn.errors import EstimatorError
from edgnn.models._data import Data
from edgnn.models._items import graphs_of, numbered_by_appearance
from edgnn.models._state import pack_items, to_tensor, unpack_items
from edgnn.models._targets import Encoding

_Array = np.ndarray[Any, Any]

MOST_KEPT = 20_000  # training items that a run folder holds

_COLUMNS = ("node_attribute_names", "edge_attribute_names", "graph_feature_names")


def usable_part(data: Data) -> Data:
    """Return the items that can be learned from, labels numbered by appearance among them alone.

    So what is learned does not depend on items that are left out.
    """
    usable = np.flatnonzero(data.usable)
    if not len(usable):
        raise EstimatorError(
            "no item has a known target and a weight above zero: there is nothing to learn"
        )
    kept = data[usable]
    return replace(kept, items=numbered_by_appearance(kept.items))


def extended(data: Data, more: Data) -> Data:
    """Return the items followed by more; raise where those lack something or have more."""
    old, new = graphs_of(data.items), graphs_of(more.items)
    for name in _COLUMNS:
        mine, theirs = getattr(old, name), getattr(new, name)
        if mine != theirs:
            raise EstimatorError(
                f"the {name.replace('_', ' ')} of the new items are {short(list(theirs))}, those "
                f"of the training items {short(list(mine))}: read both alike"
            )
    return data.followed_by(more, "the new items")


def without(data: Data, items: Any) -> Data:
    """Return the items that are not named, by position or by the name of their graph."""
    gone = positions_named(data, items)
    left = np.setdiff1d(np.arange(len(data)), gone)
    if not len(left):
        raise EstimatorError("no item would be left to learn from: fit a new model instead")
    return data[left]


def positions_named(data: Data, items: Any) -> _Array:
    """Return the positions of training items that are given by position, mask or graph name."""
    if isinstance(items, str) or np.ndim(items) == 0:
        items = [items]
    given = np.asarray(items)
    if not len(given):
        return np.zeros(0, dtype=np.int64)
    if given.dtype.kind == "b":
        if given.shape != (len(data),):
            raise EstimatorError(
                f"the mask has {len(given)} entries; there are {counted(len(data), 'item')}"
            )
        return np.flatnonzero(given)
    if given.dtype.kind in "iu":
        return _numbered(given, len(data))
    return _named(list(items), graphs_of(data.items).graph_names)


def _numbered(positions: _Array, count: int) -> _Array:
    for position in positions.tolist():
        if not -count <= position < count:
            raise EstimatorError(
                f"there is no training item {position}: they are numbered from 0 to {count - 1}"
            )
    numbers: _Array = positions.astype(np.int64) % count
    return numbers


def _named(names: Sequence[Any], known: Any) -> _Array:
    if known is None:
        raise EstimatorError("the training items have no names: give their positions")
    listed = np.array([str(name) for name in known.tolist()])
    texts = [str(name) for name in names]
    for name in texts:
        if name not in listed:
            raise EstimatorError(f"there is no training item named {short(name)}")
    return np.flatnonzero(np.isin(listed, texts))


# Run folders


def pack_data(data: Data) -> dict[str, Tensor]:
    """Return items, targets and weights as tensors."""
    missing = np.isnan(data.codes)
    tensors = pack_items(data.items)
    # a run folder holds finite numbers alone
    tensors["codes"] = to_tensor(np.where(missing, 0, data.codes).astype(data.codes.dtype))
    tensors["codes.missing"] = to_tensor(missing)
    if data.weight is not None:
        tensors["weights"] = to_tensor(data.weight)
    return tensors


def unpack_data(tensors: Mapping[str, Tensor], encoding: Encoding) -> Data:
    """Return what :func:`pack_data` stored; ``ValueError`` where it is damaged."""
    items, codes = unpack_items(tensors), tensors["codes"].numpy()
    missing = tensors["codes.missing"].numpy()
    if missing.dtype != np.bool_ or missing.shape != codes.shape:
        raise ValueError("the stored targets are damaged")
    if missing.any():
        codes = np.where(missing, np.nan, codes)
    weight = tensors["weights"].numpy() if "weights" in tensors else None
    fine = len(codes) == len(items) and (weight is None or weight.shape == (len(items),))
    if encoding.task == "classes":
        fine &= codes.dtype == np.int64 and codes.ndim == 1
        fine &= bool(((codes >= 0) & (codes < encoding.outputs)).all())
    else:
        fine &= codes.dtype == np.float64 and codes.shape[1:] == (encoding.outputs,)
        fine &= not np.isinf(codes).any()
    if not fine or (weight is not None and not (np.isfinite(weight) & (weight > 0)).all()):
        raise ValueError("the stored targets or weights fit no items")
    return Data(items, _decoded(codes, encoding), encoding.task, weight)


def _decoded(codes: _Array, encoding: Encoding) -> _Array:
    if encoding.task == "classes":
        y: _Array = encoding.classes[codes]
        return y
    return codes[:, 0] if encoding.flat and encoding.task == "values" else codes
