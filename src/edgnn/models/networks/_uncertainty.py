"""How sure a classifier is: entropy of its prediction, split into what the members agree on and what they do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import entr

_Array = np.ndarray[Any, Any]


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
    """Return the uncertainty of members' probabilities, shape (M, n, K); several labels count one by one."""
    mean = probability.mean(axis=0)
    total, expected = _entropy(mean, task), _entropy(probability, task).mean(axis=0)
    return Uncertainty(total, expected, np.maximum(total - expected, 0.0), probability.std(axis=0))


def _entropy(probability: _Array, task: str) -> _Array:
    own: _Array = entr(probability)
    other: _Array = entr(1 - probability)
    entropy: _Array = own.sum(axis=-1) if task == "classes" else own + other
    return entropy
