"""What was learned from a table, for a run folder and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from edgnn.errors import RunError
from edgnn.models._state import pack_fields, unpack_fields
from edgnn.models.counts._boosting import FittedBoosting
from edgnn.models.counts._forest import FittedForest
from edgnn.models.counts._sparse import FittedSparse
from edgnn.models.counts._table_learners import FittedTable

_KINDS: dict[str, type[Any]] = {
    "forest": FittedForest,
    "boosting": FittedBoosting,
    "sparse": FittedSparse,
}


def pack_fitted(fitted: FittedTable, prefix: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return what was learned, as JSON and as tensors whose names begin with a prefix."""
    for name, kind in _KINDS.items():
        if isinstance(fitted, kind):
            facts, tensors = pack_fields(fitted, prefix)
            return facts | {"kind": name}, tensors
    raise RunError(
        f"what this learner has learned is a {type(fitted).__name__}, which a run folder cannot "
        f"store: choose one of {', '.join(_KINDS)}"
    )


def unpack_fitted(
    facts: Mapping[str, Any], tensors: Mapping[str, Tensor], prefix: str, columns: int
) -> FittedTable:
    """Return what :func:`pack_fitted` stored; ``ValueError`` where it is damaged.

    Parameters
    ----------
    facts, tensors, prefix
        What was stored, and where.
    columns : int
        How wide the table is that was learned from.
    """
    kind = _KINDS.get(facts["kind"])
    if kind is None:
        raise ValueError(f"{facts['kind']!r} is none of {', '.join(_KINDS)}")
    fitted: FittedTable = unpack_fields(kind, facts, tensors, prefix)
    fitted.check(columns)
    return fitted
