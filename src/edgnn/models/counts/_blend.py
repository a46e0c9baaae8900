"""Blends: how much each of several learners counts, from what they say of held-out items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize

from edgnn.models.counts._problem import Problem

_Array = np.ndarray[Any, Any]

_LEAST = 0.02  # smaller shares are left out


def blend_shares(held_out: Sequence[_Array], problem: Problem) -> _Array:
    """Return the share of each learner in the blend with the smallest held-out loss.

    Shares are 0 or more and sum to 1. A single learner is preferred to a blend that is not better
    by a tenth of the standard error of the difference, and very small shares are left out.

    Parameters
    ----------
    held_out : sequence of arrays
        What each learner says of the training items, none having learned from the item.
    problem : Problem
        The targets.

    Shapes
    ------
    held_out (n, K) each → (learners,)
    """
    count = len(held_out)
    losses = [problem.losses(outputs) for outputs in held_out]
    means = np.array([_mean(loss, problem) for loss in losses])
    best: _Array = np.eye(count)[int(np.argmin(means))]
    if count == 1:
        return best
    stacked = np.stack(held_out)

    def loss_of(logits: _Array) -> float:
        return _mean(problem.losses(np.tensordot(_softmax(logits), stacked, 1)), problem)

    starts = [np.zeros(count), 4 * best]
    found = [minimize(loss_of, start, method="L-BFGS-B") for start in starts]
    shares = _softmax(min(found, key=lambda result: float(result.fun)).x)
    shares = np.where(shares >= _LEAST, shares, 0)
    shares /= shares.sum()
    difference = losses[int(np.argmin(means))] - problem.losses(np.tensordot(shares, stacked, 1))
    known = difference[~np.isnan(difference)]
    error = known.std() / np.sqrt(max(len(known), 1))
    return shares if _mean(difference, problem) > error / 10 else best


def _mean(losses: _Array, problem: Problem) -> float:
    known = ~np.isnan(losses)
    weight = None if problem.weight is None else problem.weight[known]
    return float(np.average(losses[known], weights=weight))


def _softmax(logits: _Array) -> _Array:
    powers = np.exp(logits - logits.max())
    shares: _Array = powers / powers.sum()
    return shares
