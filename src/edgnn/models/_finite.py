"""Only finite numbers: what a model stores and what it predicts is checked here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from edgnn._words import preview, short
from edgnn.errors import EstimatorError, RunError, TrainingError

_Array = np.ndarray[Any, Any]

#: The ``kind`` of the error of a model whose outputs are not finite numbers.
NOT_FINITE = "overflow"


def check_outputs(outputs: _Array, axis: int = 0) -> None:
    """Raise where a model gives NaN or infinity for items, which are counted along an axis."""
    finite = np.isfinite(outputs)
    if finite.all():
        return
    items = np.flatnonzero(~np.moveaxis(finite, axis, 0).reshape(outputs.shape[axis], -1).all(1))
    if len(items) == 1:
        subject = f"the prediction of item {items[0]} is"
    else:
        subject = f"the predictions of items {preview(items.tolist())} are"
    raise EstimatorError(
        f"{subject} NaN or infinite: the features are too large, or the model's weights are; "
        "scale the features as those of the training set",
        kind=NOT_FINITE,
    )


def check_learned(tensors: Mapping[str, Tensor]) -> None:
    """Raise where training has ended with weights or statistics that are NaN or infinite."""
    for name in _overflowed(tensors):
        raise TrainingError(
            f"training has overflowed: {name} is NaN or infinite; scale the features and the "
            "targets, lower learning_rate, or set clip_norm",
            kind=NOT_FINITE,
        )


def check_stored(folder: Path, file: str, facts: Any, tensors: Mapping[str, Tensor]) -> None:
    """Raise where a run folder holds numbers of a model that are NaN or infinite."""
    for name in _overflowed(tensors):
        raise RunError(
            f"{folder / file} is damaged: the tensor {short(name)} holds NaN or infinity, "
            "where a model has finite numbers"
        )
    for name in _overflowed_facts(facts):
        raise RunError(
            f"{folder} is damaged: what config.json says of {short(name)} is NaN or infinite, "
            "where a model has finite numbers"
        )


def _overflowed(tensors: Mapping[str, Tensor]) -> Iterator[str]:
    return (name for name, value in tensors.items() if not bool(value.isfinite().all()))


def _overflowed_facts(facts: Any, name: str = "fitted") -> Iterator[str]:
    """Yield where numbers of plain values are NaN or infinite."""
    if isinstance(facts, float) and not np.isfinite(facts):
        yield name
    elif isinstance(facts, list):
        for entry in facts:
            yield from _overflowed_facts(entry, name)
    elif isinstance(facts, dict):
        for key, entry in facts.items():
            yield from _overflowed_facts(entry, key)
