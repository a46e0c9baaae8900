"""Kernel ridge in closed form: one eigendecomposition gives all strengths and left-out scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from edgnn.errors import EstimatorError
from edgnn.models._probabilities import probabilities, temperature_of
from edgnn.models.kernels._checks import Array
from edgnn.models.kernels._solvers import Kernels

#: Strengths λ to choose from, rising; they are relative to the spread of the training items.
STRENGTHS = tuple(2.0**power for power in range(-9, 7))

_SAME_ERROR = 1e-9
_SAME_ITEMS = 1e-14


@dataclass(frozen=True)
class FittedRidge:
    """Kernel ridge on the kernel that was chosen.

    Parameters
    ----------
    setting : object
        Which kernel.
    chosen : dict
        Everything that was chosen, as plain values.
    weight, intercept : array
        Scores are ``K @ weight + intercept``.
    loo_decision : array
        The score of each training item by the model that is fitted without it, as in
        :meth:`scores`.
    loo_error : float
        Mean squared error of those.
    temperature : float
        What scores are divided by to become logits; the likeliest for ``loo_decision``.

    Shapes
    ------
    weight (n,) and intercept () for two classes, else (n, K) and (K,); loo_decision as weight
    """

    setting: Any
    chosen: dict[str, Any]
    weight: Array
    intercept: Array
    loo_decision: Array
    loo_error: float
    temperature: float

    def predict(self, K: Array) -> Array:
        """Return class numbers; the class of the highest probability."""
        found: Array = logits(self.scores(K)).argmax(axis=1)
        return found

    def scores(self, K: Array) -> Array:
        """Return what decides: of two classes (n,), above zero for the second; else (n, K)."""
        found: Array = K @ self.weight + self.intercept
        return found

    def probabilities(self, K: Array) -> Array:
        """Return the probability of each class, (n, classes)."""
        found: Array = probabilities(logits(self.scores(K))[None], "classes", self.temperature)[0]
        return found


@dataclass(frozen=True)
class RidgeSolver:
    r"""Choose kernel and strength by the exact leave-one-out squared error.

    Targets are −1 and +1, or for more classes one column of 0 and 1 each; the intercept is not
    penalized. A kernel is divided by the mean of its centered diagonal over the training items.
    With H the centering matrix and :math:`HKH = Q \Lambda Q^T`,

    .. math:: M = Q (\Lambda + \lambda)^{-1} Q^T - 11^T / n\lambda, \qquad \alpha = M y, \qquad
              \hat y_{-i} = y_i - \alpha_i / M_{ii}

    where :math:`\hat y_{-i}` is what the model fitted without item i says of it. Of equally good
    choices the first kernel and the strongest penalty win.

    Parameters
    ----------
    strengths : sequence of float
        Candidates for λ, above zero.
    """

    strengths: Sequence[float] = STRENGTHS

    def fit(self, kernels: Kernels, y: Array, classes: int, seed: int = 0) -> FittedRidge:
        """Choose and train; nothing is random, so the seed is not used."""
        strengths = np.sort(np.asarray(self.strengths, dtype=np.float64))
        if not len(strengths) or not strengths[0] > 0 or not np.isfinite(strengths[-1]):
            raise EstimatorError(
                f"strengths={self.strengths!r}: give at least one finite number above zero"
            )
        targets: Array = (
            np.where(y == 1, 1.0, -1.0)[:, None] if classes == 2 else np.eye(classes)[y]
        )
        best: tuple[Any, _Path] | None = None
        for setting, K in kernels.items():
            path = _Path.of(K, targets, strengths, setting)
            if best is None or path.lowest < best[1].lowest - _same(best[1].lowest):
                best = setting, path
        if best is None:
            raise EstimatorError("there is no kernel to learn from")
        setting, path = best
        place, K = path.place, kernels[setting]
        weight, decision = path.weight[:, :, place] / path.scale, path.left_out[:, :, place]
        intercept = (targets - K @ weight).mean(axis=0)
        if classes == 2:
            weight, decision, intercept = weight[:, 0], decision[:, 0], intercept[0]
        error = float(path.error[place])
        chosen = {"kernel": setting, "strength": float(strengths[place]), "loo_error": error}
        temperature = temperature_of(logits(decision)[None], y, "classes")
        return FittedRidge(setting, chosen, weight, intercept, decision, error, temperature)


@dataclass(frozen=True)
class _Path:
    """One kernel's ridge at L strengths: weights, left-out predictions and their error.

    Shapes
    ------
    weight (n, K, L), left_out (n, K, L), error (L,)
    """

    scale: float
    weight: Array
    left_out: Array
    error: Array

    @classmethod
    def of(cls, K: Array, targets: Array, strengths: Array, setting: Any) -> _Path:
        """Solve for all strengths."""
        if not np.isfinite(K).all():
            raise EstimatorError(f"the kernel {setting!r} has values that are not finite numbers")
        centered, scale = _centered(K)
        values, vectors = eigh(centered, driver="evd", overwrite_a=True, check_finite=False)
        shrink = 1 / (np.maximum(values, 0)[:, None] + strengths)
        inside = vectors.T @ (targets - targets.mean(axis=0))
        size = len(targets)
        weight = (vectors @ (inside[:, :, None] * shrink[:, None, :]).reshape(size, -1)).reshape(
            size, -1, len(strengths)
        )
        if size == 1:
            left_out = np.zeros_like(weight)  # without its only item a model knows nothing
        else:
            diagonal = vectors**2 @ shrink - 1 / (size * strengths)
            left_out = targets[:, :, None] - weight / diagonal[:, None, :]
        return cls(
            scale, weight, left_out, ((targets[:, :, None] - left_out) ** 2).mean(axis=(0, 1))
        )

    @property
    def lowest(self) -> float:
        """The smallest error of any strength."""
        return float(self.error.min())

    @property
    def place(self) -> int:
        """Position of the strongest penalty with the smallest error."""
        return int(np.flatnonzero(self.error <= self.lowest + _same(self.lowest))[-1])


def logits(scores: Array) -> Array:
    """Return one number per class, (n, classes), from the scores of a fitted ridge."""
    return np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores


def _centered(K: Array) -> tuple[Array, float]:
    """Return the kernel of centered items, scaled so that its mean diagonal is 1, and the scale."""
    centered: Array = K - K.mean(axis=0)
    centered -= centered.mean(axis=1)[:, None]
    scale = float(np.trace(centered)) / len(K)
    if not scale > _SAME_ITEMS * float(np.abs(K).max()):
        return np.zeros_like(centered), 1.0  # all items look the same
    return centered / scale, scale


def _same(error: float) -> float:
    """Return by how much an error may differ from this one and still count as equal."""
    return _SAME_ERROR * (1 + error)
