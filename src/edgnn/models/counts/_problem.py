"""Problem: the targets of training items as every learner on counts takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from edgnn.models._targets import Task

_Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be learned of training items.

    Parameters
    ----------
    task : {"classes", "labels", "values"}
        What the targets are.
    targets : array
        Class numbers, or a matrix of labels or values with NaN where missing.
    outputs : int
        How many classes, labels or values.
    weight : array, optional
        One number above zero per item.
    seed : int
        The random seed.

    Shapes
    ------
    targets (n,) or (n, T), weight (n,)
    """

    task: Task
    targets: _Array
    outputs: int
    weight: _Array | None
    seed: int

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def columns(self) -> _Array:
        """The targets as numbers to regress on, one column per class, label or value; NaN: missing.

        A class or label is 1 where it is there and 0 elsewhere.
        """
        if self.task != "classes":
            return self.targets.astype(np.float64)
        one_hot: _Array = np.eye(self.outputs)[self.targets]
        return one_hot

    @property
    def known(self) -> _Array:
        """Which targets are there, as a matrix."""
        known: _Array = ~np.isnan(self.columns)
        return known

    def __getitem__(self, items: _Array) -> Problem:
        """Return the problem of some of the items."""
        weight = None if self.weight is None else self.weight[items]
        return Problem(self.task, self.targets[items], self.outputs, weight, self.seed)

    def losses(self, outputs: _Array) -> _Array:
        """Return the loss of each item: squared error, or negative log-likelihood; NaN: unknown.

        Values are measured in standard deviations of their column.

        Shapes
        ------
        outputs (n, K) → (n,)
        """
        if self.task == "classes":
            chosen = np.take_along_axis(outputs, self.targets[:, None], axis=1)[:, 0]
            losses: _Array = -np.log(np.maximum(chosen, 1e-6))
            return losses
        if self.task == "labels":
            right = np.where(self.targets > 0, outputs, 1 - outputs)
            each = np.where(self.known, -np.log(np.maximum(right, 1e-6)), np.nan)
        else:
            spread = np.nanstd(self.targets, axis=0)
            each = ((self.targets - outputs) / np.where(spread > 0, spread, 1)) ** 2
        counts = self.known.sum(axis=1)
        total: _Array = np.nansum(each, axis=1) / np.maximum(counts, 1)
        return np.where(counts > 0, total, np.nan)
