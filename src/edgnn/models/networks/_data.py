"""Items with their targets and weights, checked together; a validation part is appended behind the training part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from edgnn.errors import EstimatorError
from edgnn.models.networks._inputs import Items, Level, append
from edgnn.models.networks._targets import Task, observed, read_classes, read_values, read_weight

_Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Data:
    """What ``fit`` was given.

    Parameters
    ----------
    items : Graphs or Nodes
        All items.
    y : array
        Checked targets as the user has them.
    task : {"classes", "labels", "values"}
        What kind of target that is.
    weight : array, optional
        Weights of the items.

    Shapes
    ------
    y : (n,) or (n, T), weight : (n,)
    """

    items: Items
    y: _Array
    task: Task
    weight: _Array | None

    @classmethod
    def read(cls, items: Items, y: Any, weight: Any, level: Level, *, classifier: bool) -> Data:
        """Check the targets and weights of items."""
        values, task = (read_classes if classifier else read_values)(y, len(items), level)
        return cls(items, values, task, read_weight(weight, len(items), level))

    def __len__(self) -> int:
        return len(self.items)

    @property
    def usable(self) -> _Array:
        """Which items have a target and a weight above zero."""
        known = observed(self.y)
        return known if self.weight is None else known & (self.weight > 0)

    def followed_by(self, other: Data) -> Data:
        """Return these items followed by those of a validation part."""
        if self.y.shape[1:] != other.y.shape[1:] or self.task != other.task:
            raise EstimatorError(
                f"the targets of the validation part have the shape {other.y.shape}, those of the training part {self.y.shape}: "
                "give both the same columns"
            )
        if (self.y.dtype.kind in "US") != (other.y.dtype.kind in "US") and "O" not in (
            self.y.dtype.kind,
            other.y.dtype.kind,
        ):
            raise EstimatorError(
                f"the classes of the validation part are {other.y.dtype}, those of the training part {self.y.dtype}: use one type"
            )
        weight = None
        if self.weight is not None or other.weight is not None:
            weight = np.concatenate(
                [
                    np.ones(len(part)) if part.weight is None else part.weight
                    for part in (self, other)
                ]
            )
        return Data(
            append(self.items, other.items), np.concatenate([self.y, other.y]), self.task, weight
        )


def validation_parts(validation: Any) -> tuple[Any, Any, Any]:
    """Return the items, targets and weights of the ``validation`` argument of ``fit``: (X, y), or (X, y, weights)."""
    if not isinstance(validation, tuple | list) or len(validation) not in (2, 3):
        raise EstimatorError(
            f"validation is a {type(validation).__name__}: pass a tuple (X, y) or (X, y, sample_weight); "
            "the share to hold out is a parameter of the estimator"
        )
    X, y, weight = (*validation, None)[:3]
    return X, y, weight
