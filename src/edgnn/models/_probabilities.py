"""Probabilities from outputs: temperature scaling, and how uncertain they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import entr, expit, log_expit, log_softmax, logsumexp, softmax

_Array = np.ndarray[Any, Any]

_WIDEST = np.log(100.0)


def probabilities(logits: _Array, task: str, temperature: float = 1.0) -> _Array:
    r"""Return each member's probabilities: softmax, or sigmoid of labels, of :math:`logits / T`.

    Shapes
    ------
    logits : (M, n, K) → (M, n, K)
    """
    scaled = logits / temperature
    result: _Array = softmax(scaled, axis=-1) if task == "classes" else expit(scaled)
    return result


def stored_temperature(value: float) -> float:
    """Return a temperature from a run folder; ``ValueError`` where it divides no logits."""
    temperature = float(value)
    if not 0 < temperature < np.inf:
        raise ValueError("the stored temperature is not a number above 0")
    return temperature


def negative_log_likelihood(
    logits: _Array, target: _Array, task: str, temperature: float, weight: _Array | None
) -> float:
    """Return the mean negative log-likelihood of averaged probabilities, without missing labels.

    Shapes
    ------
    logits (M, n, K); target (n,) class numbers, or (n, K) labels with NaN; weight (n,)
    """
    scaled, members = logits / temperature, np.log(len(logits))
    if task == "classes":
        logarithms = log_softmax(scaled, axis=-1)
        chosen = np.take_along_axis(logarithms, target[None, :, None], axis=-1)[..., 0]
        loss = -(logsumexp(chosen, axis=0) - members)
        known = np.ones(len(target), dtype=bool)
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

    A validation set of hundreds of items decides by itself; a handful, all of them right, would
    ask for a temperature of zero, which the prior prevents.
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
    best = coarse[int(np.argmin([loss(value) for value in coarse]))]
    step = coarse[1] - coarse[0]
    fine = minimize_scalar(
        loss, bounds=(best - step, best + step), method="bounded", options={"xatol": 1e-6}
    )
    return float(np.exp(fine.x))


@dataclass(frozen=True, eq=False)
class Uncertainty:
    r"""Uncertainty of the predictions of an ensemble, in nats.

    Parameters
    ----------
    total_entropy : array
        :math:`H(\bar p)`: entropy of the averaged probabilities.
    expected_entropy : array
        :math:`\overline{H(p)}`: mean entropy of the members, what is uncertain in the data itself.
    mutual_information : array
        Their difference, what the members disagree about; zero for a single member.
    std : array
        Standard deviation of the members' probabilities.

    Shapes
    ------
    total_entropy, expected_entropy, mutual_information : (n,), with several labels (n, L); std :
    (n, K)
    """

    total_entropy: _Array
    expected_entropy: _Array
    mutual_information: _Array
    std: _Array


def uncertainty_of(probability: _Array, task: str) -> Uncertainty:
    """Return the uncertainty of members' probabilities, (M, n, K); labels count one by one."""
    mean = probability.mean(axis=0)
    total, expected = _entropy(mean, task), _entropy(probability, task).mean(axis=0)
    return Uncertainty(total, expected, np.maximum(total - expected, 0.0), probability.std(axis=0))


def _entropy(probability: _Array, task: str) -> _Array:
    own: _Array = entr(probability)
    other: _Array = entr(1 - probability)
    entropy: _Array = own.sum(axis=-1) if task == "classes" else own + other
    return entropy
