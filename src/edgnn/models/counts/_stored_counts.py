"""How represented items and columns stand in a run folder: arrays as tensors, names in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from torch import Tensor

from edgnn.models._state import to_tensor
from edgnn.models.counts._features import WIDEST, Standard
from edgnn.models.counts._parts import Counts
from edgnn.models.counts._representation import Columns, Represented, View, view_facts, view_from

_Array = np.ndarray[Any, Any]

_MOST_PARTS = 1000  # of one view
_MOST_COUNTED = 2**40  # of one item


def pack_represented(items: Represented, prefix: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return represented items: what was counted as JSON, counts and numbers as tensors."""
    facts = {
        "views": [view_facts(view) for view in items.views],
        "parts": [len(view) for view in items.counts],
    }
    tensors = {f"{prefix}features": to_tensor(items.features)}
    for number, view in enumerate(items.counts):
        for round, part in enumerate(view):
            own = f"{prefix}{number}.{round}."
            tensors[f"{own}names"] = to_tensor(part.names)
            tensors[f"{own}totals"] = to_tensor(part.totals)
            tensors[f"{own}log_square"] = to_tensor(part.log_square)
            tensors[f"{own}data"] = to_tensor(part.table.data.astype(np.float32))
            tensors[f"{own}indices"] = to_tensor(part.table.indices.astype(np.int32))
            tensors[f"{own}indptr"] = to_tensor(part.table.indptr.astype(np.int32))
    return facts, tensors


def unpack_represented(
    facts: Mapping[str, Any], tensors: Mapping[str, Tensor], prefix: str
) -> Represented:
    """Return what :func:`pack_represented` stored; arrays that make no counts are an error."""
    features = _numbers(tensors[f"{prefix}features"], 2)
    if (np.abs(features) > WIDEST).any():
        raise ValueError("the stored features of training items are damaged")
    views = tuple(view_from(view) for view in facts["views"])
    parts = _part_counts(facts["parts"], len(views))
    counts = []
    for number, rounds in enumerate(parts):
        view = [
            _counts(tensors, f"{prefix}{number}.{round}.", len(features)) for round in range(rounds)
        ]
        counts.append(tuple(view))
    return Represented(views, tuple(counts), features)


def pack_columns(columns: Columns, prefix: str) -> dict[str, Tensor]:
    """Return the columns of a table as tensors."""
    return {
        f"{prefix}{number}.{round}": to_tensor(names)
        for number, view in enumerate(columns.names)
        for round, names in enumerate(view)
    }


def unpack_columns(parts: list[int], tensors: Mapping[str, Tensor], prefix: str) -> Columns:
    """Return what :func:`pack_columns` stored, for so many rounds of each view."""
    names = []
    for number, rounds in enumerate(parts):
        view = [_hashes(tensors[f"{prefix}{number}.{round}"]) for round in range(rounds)]
        names.append(tuple(view))
    return Columns(tuple(names))


def pack_views(views: tuple[View, ...]) -> list[dict[str, Any]]:
    """Return views as JSON."""
    return [view_facts(view) for view in views]


def unpack_views(stored: Any) -> tuple[View, ...]:
    """Return what :func:`pack_views` stored."""
    return tuple(view_from(view) for view in stored)


def pack_standard(standard: Standard, prefix: str) -> dict[str, Tensor]:
    """Return how numbers are standardized as tensors; of a column that does not vary, scale 0."""
    scale = np.where(np.isinf(standard.scale), 0.0, standard.scale)
    return {f"{prefix}mean": to_tensor(standard.mean), f"{prefix}scale": to_tensor(scale)}


def unpack_standard(tensors: Mapping[str, Tensor], prefix: str) -> Standard:
    """Return what :func:`pack_standard` stored."""
    mean, scale = (_numbers(tensors[f"{prefix}{name}"], 1) for name in ("mean", "scale"))
    if len(mean) != len(scale) or (scale < 0).any():
        raise ValueError("the stored means and scales of numbers are damaged")
    return Standard(mean, np.where(scale > 0, scale, np.inf))


def unpack_shares(stored: Any, learned: Any) -> dict[str, float]:
    """Return the share of each learner; what was not learned has none, and all sum to 1."""
    shares = {name: float(share) for name, share in stored.items()}
    positive = all(share > 0 for share in shares.values())
    if not positive or not set(shares) <= set(learned) or abs(sum(shares.values()) - 1) > 1e-6:
        raise ValueError("the stored shares of the learners are damaged: they must sum to 1")
    return shares


def check_columns(views: tuple[View, ...], columns: Columns) -> None:
    """Raise where stored columns are not of what the views count."""
    rounds = [1 if view.kind == "pairs" else view.rounds + 1 for view in views]
    if [len(names) for names in columns.names] != rounds:
        raise ValueError("the stored columns are not those of the stored views")


def check_task(task: str, outputs: int, expected: str, wanted: int) -> None:
    """Raise where a stored learner has learned other targets than its model."""
    if (task, outputs) != (expected, wanted):
        raise ValueError(
            f"a stored learner has {outputs} outputs ({task}), the model {wanted} ({expected})"
        )


def _part_counts(stored: Any, views: int) -> list[int]:
    fine = isinstance(stored, list) and len(stored) == views
    if not fine or not all(type(number) is int and 0 < number < _MOST_PARTS for number in stored):
        raise ValueError("the stored numbers of rounds fit no views")
    return list(stored)


def _counts(tensors: Mapping[str, Tensor], prefix: str, items: int) -> Counts:
    names = _hashes(tensors[f"{prefix}names"])
    totals, squares = (_numbers(tensors[f"{prefix}{name}"], 1) for name in ("totals", "log_square"))
    data, indices, indptr = (
        tensors[f"{prefix}{name}"].numpy() for name in ("data", "indices", "indptr")
    )
    if {indices.dtype.kind, indptr.dtype.kind} != {"i"}:
        raise ValueError("the stored positions of counts are damaged: they must be whole numbers")
    table = csr_array((data, indices, indptr), shape=(items, len(names)))
    table.check_format()
    counted = data.dtype.kind == "f" and ((data > 0) & (data < _MOST_COUNTED)).all()
    sums = np.concatenate([totals, squares])
    fitting = len(totals) == len(squares) == items and ((sums >= 0) & (sums < _MOST_COUNTED)).all()
    if not counted or not fitting:
        raise ValueError("the stored counts are damaged")
    return Counts(names, table, totals, squares)


def _hashes(tensor: Tensor) -> _Array:
    names: _Array = tensor.numpy()
    if names.dtype != np.int64 or names.ndim != 1 or (names[1:] <= names[:-1]).any():
        raise ValueError("the stored names of parts are damaged: they must be rising numbers")
    return names


def _numbers(tensor: Tensor, dimensions: int) -> _Array:
    array: _Array = tensor.numpy()
    if array.ndim != dimensions or array.dtype.kind != "f" or not np.isfinite(array).all():
        raise ValueError("stored numbers are damaged: they must be finite")
    return array
