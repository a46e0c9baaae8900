"""Items with their targets and weights, checked together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from edgnn.errors import EstimatorError
from edgnn.graphs import Nodes
from edgnn.models._items import Items, Level, append
from edgnn.models._targets import (
    Encoding,
    Task,
    encoding_of,
    observed,
    read_classes,
    read_values,
    read_weight,
)

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
    weight: _Array | None = None

    @classmethod
    def read(cls, items: Items, y: Any, tasks: Sequence[Task], weight: Any = None) -> Data:
        """Check targets and weights of items; ``tasks`` are the kinds of targets that are fine."""
        noun = "node" if isinstance(items, Nodes) else "graph"
        if "values" in tasks:
            values, task = read_values(y, len(items), noun)
        else:
            values, task = read_classes(y, len(items), noun)
        if task not in tasks:
            raise EstimatorError(
                f"y has the shape {values.shape}; this classifier learns one class per item: "
                "give one column, or fit one per label"
            )
        if not len(items):
            raise EstimatorError(f"X holds no {noun}s: there is nothing to learn (0 samples)")
        return cls(items, values, task, read_weight(weight, len(items), noun))

    def __len__(self) -> int:
        return len(self.items)

    @property
    def level(self) -> Level:
        """Whether the items are graphs or nodes."""
        return "node" if isinstance(self.items, Nodes) else "graph"

    @cached_property
    def encoding(self) -> Encoding:
        """How the targets are numbered."""
        return encoding_of(self.y, self.task)

    @cached_property
    def codes(self) -> _Array:
        """The targets as numbers: the number of each item's class, or a matrix."""
        return self.encoding.encode(self.y)

    @property
    def usable(self) -> _Array:
        """Which items have a target and a weight above zero."""
        known = observed(self.y)
        return known if self.weight is None else known & (self.weight > 0)

    def __getitem__(self, positions: _Array) -> Data:
        """Return some of the items."""
        weight = None if self.weight is None else self.weight[positions]
        return Data(self.items[positions], self.y[positions], self.task, weight)

    def followed_by(self, other: Data, name: str = "the validation set") -> Data:
        """Return these items followed by others, which errors call by a name."""
        self._check_same_kind(other, name)
        weight = None
        if self.weight is not None or other.weight is not None:
            weight = np.concatenate([self._weights(), other._weights()])
        items = append(self.items, other.items)
        return Data(items, np.concatenate([self.y, other.y]), self.task, weight)

    def _weights(self) -> _Array:
        return np.ones(len(self)) if self.weight is None else self.weight

    def _check_same_kind(self, other: Data, name: str) -> None:
        if self.y.shape[1:] != other.y.shape[1:] or self.task != other.task:
            raise EstimatorError(
                f"the targets of {name} have the shape {other.y.shape}, "
                f"those of the training set {self.y.shape}: give both the same columns"
            )
        kinds = {self.y.dtype.kind, other.y.dtype.kind}
        texts = kinds & {"U", "S"}
        numbers = kinds - {"U", "S", "O"}
        if texts and numbers:
            raise EstimatorError(
                f"the classes of {name} are {other.y.dtype}, "
                f"those of the training set {self.y.dtype}: use one type"
            )


def validation_parts(validation: Any) -> tuple[Any, Any, Any]:
    """Return X, y and weights of the ``validation`` argument of ``fit``."""
    if not isinstance(validation, tuple | list) or len(validation) not in (2, 3):
        raise EstimatorError(
            f"validation is a {type(validation).__name__}: pass a tuple (X, y) or "
            "(X, y, sample_weight); the fraction to hold out is a parameter of the estimator"
        )
    X, y, weight = (*validation, None)[:3]
    return X, y, weight
