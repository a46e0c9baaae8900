"""Intervals and sets of classes that hold the truth as often as asked, by held-out items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls

from edgnn.errors import EstimatorError
from edgnn.models.counts._problem import Problem

_Array = np.ndarray[Any, Any]

_NONE = -1.0  # in the place of a score; a run folder holds finite numbers alone


@dataclass(frozen=True, eq=False)
class Conformal:
    r"""How far held-out predictions were from the truth, in units that grow with novelty.

    For values, the score of a training item is :math:`|y_i - \hat y_{-i}| / s(u_i)` with
    :math:`s(u) = a + b u`, u being how unlike the others the item is. For classes it is one less
    the held-out probability of the true class. New items are exchangeable with training items, so
    the :math:`\lceil (n + 1) c \rceil`-th smallest score bounds that of a new item with
    probability c.

    Parameters
    ----------
    scores : array
        Sorted scores, one column per value; −1 fills columns with fewer. Of classes one column.
    codes : array
        The class of each score, of classes; else empty.
    slope : array
        The a and b of each value; of classes empty.

    Shapes
    ------
    scores (n, T), codes (n,), slope (2, T)
    """

    scores: _Array
    codes: _Array
    slope: _Array

    @classmethod
    def of(cls, held_out: _Array, novelty: _Array, problem: Problem) -> Conformal:
        """Learn from held-out predictions of the training items."""
        if problem.task != "values":
            chosen = np.take_along_axis(held_out, problem.targets[:, None], axis=1)
            order = np.argsort(-chosen[:, 0], kind="stable")
            return cls(1 - chosen[order], problem.targets[order], np.zeros((2, 0)))
        distance = np.abs(problem.targets - held_out)
        scores = np.full(distance.shape, _NONE)
        slopes = []
        for column, known in enumerate(problem.known.T):
            slope = _spread(distance[known, column], novelty[known])
            scores[known, column] = distance[known, column] / _scale(slope, novelty[known])
            slopes.append(slope)
        return cls(np.sort(scores, axis=0), np.zeros(0, dtype=np.int64), np.stack(slopes, axis=1))

    def check(self, task: str, outputs: int) -> None:
        """Raise ``ValueError`` where the arrays are not those of so many values, or of classes."""
        items, columns = self.scores.shape
        shapes = self.codes.shape, self.slope.shape
        right = ((0,), (2, columns)) if task == "values" else ((items,), (2, 0))
        if shapes != right or columns != (outputs if task == "values" else 1):
            raise ValueError("the stored scores of held-out items are damaged")

    def half_widths(self, novelty: _Array, coverage: float) -> _Array:
        """Return how far an interval reaches to either side of each prediction.

        Shapes
        ------
        novelty (m,) → (m, T)
        """
        columns = [
            _scale(slope, novelty) * _quantile(scores[scores >= 0], coverage)
            for slope, scores in zip(self.slope.T, self.scores.T, strict=True)
        ]
        return np.stack(columns, axis=1)

    def members(self, probability: _Array, coverage: float, per_class: bool) -> _Array:
        """Return which classes belong to the set of each item.

        Shapes
        ------
        probability (m, K) → (m, K) of bool
        """
        scores = self.scores[:, 0]
        limits = np.full(probability.shape[1], _quantile(scores, coverage))
        if per_class:
            limits = np.array(
                [
                    _quantile(scores[self.codes == code], coverage)
                    for code in range(probability.shape[1])
                ]
            )
        members: _Array = 1 - probability <= limits
        return members


def check_coverage(coverage: Any) -> float:
    """Return how often an interval shall hold the truth; raise where that is no fraction."""
    if isinstance(coverage, bool) or not isinstance(coverage, int | float | np.floating):
        raise EstimatorError(f"coverage={coverage!r}: choose a number between 0 and 1, such as 0.9")
    if not 0 < coverage < 1:
        raise EstimatorError(f"coverage={coverage!r}: choose a number between 0 and 1, such as 0.9")
    return float(coverage)


def _quantile(scores: _Array, coverage: float) -> float:
    """Return the score that bounds a new one with this probability; infinite where too few are."""
    rank = int(np.ceil((len(scores) + 1) * coverage))
    return float(np.sort(scores)[rank - 1]) if rank <= len(scores) else np.inf


def _spread(distance: _Array, novelty: _Array) -> _Array:
    """Return a, b ≥ 0 such that a + b·novelty is about the mean distance; a is not zero."""
    design = np.stack([np.ones_like(novelty), novelty], axis=1)
    slope, _ = nnls(design, distance)
    least = max(0.1 * float(distance.mean()), 1e-12)
    return np.array([max(slope[0], least), slope[1]])


def _scale(slope: _Array, novelty: _Array) -> _Array:
    scale: _Array = slope[0] + slope[1] * novelty
    return scale
