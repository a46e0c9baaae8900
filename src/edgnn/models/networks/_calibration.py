"""Temperature scaling: one number that makes probabilities honest, found on the validation part."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, log_softmax, logsumexp, softmax

_Array = np.ndarray[Any, Any]

_WIDEST = np.log(100.0)


def probabilities(logits: _Array, task: str, temperature: float = 1.0) -> _Array:
    r"""Return each member's probabilities, softmax or, of several labels, sigmoid of :math:`logits / T`.

    Shapes
    ------
    logits : (M, n, K) → (M, n, K)
    """
    scaled = logits / temperature
    result: _Array = softmax(scaled, axis=-1) if task == "classes" else expit(scaled)
    return result


def negative_log_likelihood(
    logits: _Array, target: _Array, task: str, temperature: float, weight: _Array | None
) -> float:
    """Return the mean negative log-likelihood of the members' averaged probabilities; missing labels are left out.

    Shapes
    ------
    logits (M, n, K); target (n,) class numbers, or (n, K) labels with NaN; weight (n,)
    """
    scaled, members = logits / temperature, np.log(len(logits))
    if task == "classes":
        chosen = np.take_along_axis(log_softmax(scaled, axis=-1), target[None, :, None], axis=-1)[
            ..., 0
        ]
        loss, known = -(logsumexp(chosen, axis=0) - members), np.ones(len(target), dtype=bool)
        weights = np.ones(len(target)) if weight is None else weight
    else:
        known = ~np.isnan(target)
        chosen = log_expit(np.where(target > 0, scaled, -scaled))
        loss = -(logsumexp(chosen, axis=0) - members)
        weights = (
            np.ones_like(loss) if weight is None else np.broadcast_to(weight[:, None], loss.shape)
        )
    return float(np.average(loss[known], weights=weights[known]))


def temperature_of(
    logits: _Array, target: _Array, task: str, weight: _Array | None = None
) -> float:
    """Return the most likely temperature, its logarithm being drawn from N(0, 1).

    A validation part of hundreds of items speaks for itself; a handful, all of them right, would
    ask for a temperature of zero, and the prior answers that.
    """
    known = target.size if task == "classes" else int((~np.isnan(target)).sum())

    def loss(log_temperature: float) -> float:
        likelihood = negative_log_likelihood(
            logits, target, task, float(np.exp(log_temperature)), weight
        )
        return known * likelihood + log_temperature**2 / 2

    if known == 0:
        return 1.0
    coarse = np.linspace(-_WIDEST, _WIDEST, 31)
    best, step = coarse[int(np.argmin([loss(value) for value in coarse]))], coarse[1] - coarse[0]
    fine = minimize_scalar(
        loss, bounds=(best - step, best + step), method="bounded", options={"xatol": 1e-6}
    )
    return float(np.exp(fine.x))
