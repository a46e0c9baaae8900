"""Kernel ridge in closed form: exact leave-one-out predictions of every strength at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

_Array = np.ndarray[Any, Any]

#: Strengths λ to choose from, rising; relative to the spread of the training items.
STRENGTHS = tuple(2.0**power for power in range(-10, 7))

_ROWS_AT_ONCE = 8_192
_SMALLEST = 1e-10  # of eigenvalues, relative to the largest
_FLAT = 1e-6  # of the spread, relative to the items' lengths; less is rounding of equal items


@dataclass(frozen=True, eq=False)
class Solution:
    """A ridge on some columns of targets, at the strength of the smallest left-out error.

    Shapes
    ------
    weight (centers, T), intercept (T,), left_out (n, T), error (), strength ()
    """

    weight: _Array
    intercept: _Array
    left_out: _Array
    error: float
    strength: float


def solve(
    K: _Array,
    targets: _Array,
    weight: _Array | None = None,
    strengths: tuple[float, ...] = STRENGTHS,
) -> Solution:
    r"""Solve kernel ridge with an unpenalized intercept, for all items as centers.

    With S the roots of the weights, :math:`P = I - s s^T / s^T s` and :math:`P S K S P = Q \Lambda
    Q^T`,

    .. math:: M = Q (\Lambda + \lambda)^{-1} Q^T - s s^T / (\lambda s^T s), \qquad
              \beta = M S y, \qquad y_i - \hat y_{-i} = \beta_i / (s_i M_{ii})

    where :math:`\hat y_{-i}` is what the model that is fitted without item i says of it.

    Shapes
    ------
    K (n, n), targets (n, T), weight (n,)
    """
    root = np.ones(len(K)) if weight is None else np.sqrt(weight)
    unit = root / np.linalg.norm(root)
    inner = K.astype(np.float64) if weight is None else root[:, None] * K * root[None, :]
    flat = _FLAT * float(np.trace(inner)) / len(K)
    inner -= unit[:, None] * (unit @ inner)
    inner -= (inner @ unit)[:, None] * unit[None, :]
    scale = max(float(np.trace(inner)) / len(K), flat, 1e-12)
    values, vectors = eigh(inner, driver="evd", overwrite_a=True, check_finite=False)
    values = np.maximum(values, 0) / scale
    scaled = root[:, None] * targets
    inside = vectors.T @ (scaled - unit[:, None] * (unit @ scaled))
    square = vectors**2
    best: tuple[float, float, _Array] | None = None
    for strength in strengths:
        shrink = 1 / (values + strength)
        beta = vectors @ (shrink[:, None] * inside)
        diagonal = square @ shrink - unit**2 / strength
        # without its only item a model knows nothing: its residual is the target itself
        diagonal = np.where(diagonal > _SMALLEST / strength, diagonal, np.inf)
        alone = np.isinf(diagonal)[:, None] * targets
        residual = beta / diagonal[:, None] / root[:, None] + alone
        error = _mean_square(residual, weight)
        if best is None or error <= best[0] * (1 + 1e-9):
            best = error, strength, residual
    assert best is not None
    error, strength, residual = best
    beta = vectors @ (inside / (values + strength)[:, None])
    alpha = root[:, None] * beta / scale
    offset = root[:, None] * (targets - K @ alpha)
    intercept = (root @ offset) / (root @ root)
    return Solution(alpha, intercept, targets - residual, error, strength)


def solve_with_centers(
    K: _Array,
    among: _Array,
    targets: _Array,
    weight: _Array | None = None,
    strengths: tuple[float, ...] = STRENGTHS,
) -> Solution:
    r"""Solve kernel ridge whose solution is a sum over some centers (Nyström).

    The features are :math:`\Phi = K_{nm} K_{mm}^{-1/2}`; left-out predictions are exact for them.

    Shapes
    ------
    K (n, m), among (m, m), targets (n, T), weight (n,)
    """
    values, vectors = eigh(among.astype(np.float64), driver="evd", check_finite=False)
    keep = values > _SMALLEST * values[-1]
    projection = vectors[:, keep] / np.sqrt(values[keep])
    features = K @ projection.astype(K.dtype)
    weights = np.ones(len(K)) if weight is None else weight
    total = float(weights.sum())
    flat = _FLAT * float((features**2).sum(axis=1) @ weights) / len(K)
    center = (weights.astype(K.dtype) @ features).astype(np.float64) / total
    features -= center.astype(K.dtype)
    inner = _weighted_inner(features, weights)
    spread, axes = eigh(inner, driver="evd", overwrite_a=True)
    spread = np.maximum(spread, 0)
    scale = max(float(spread.sum()) / len(K), flat, 1e-12)
    mean = (weights @ targets) / total
    centered = targets - mean
    shrinks = 1 / (spread[:, None] + scale * np.asarray(strengths)[None, :])
    inside = axes.T @ (features.T @ (weights[:, None] * centered).astype(K.dtype)).astype(float)
    left_out = np.empty((len(strengths), *targets.shape))
    for start in range(0, len(K), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        turned = (features[rows] @ axes.astype(K.dtype)).astype(np.float64)
        leverage = weights[rows, None] * (turned**2 @ shrinks + 1 / total)
        room = np.maximum(1 - leverage, 1e-9)
        for number in range(len(strengths)):
            residual = centered[rows] - turned @ (shrinks[:, number, None] * inside)
            left_out[number, rows] = residual / room[:, number, None]
    errors = [_mean_square(residual, weight) for residual in left_out]
    # of equally good strengths the strongest
    best = max(number for number, error in enumerate(errors) if error <= min(errors) * (1 + 1e-9))
    coefficients = axes @ (inside * shrinks[:, best, None])
    alpha = projection @ coefficients
    intercept = mean - center @ coefficients
    return Solution(alpha, intercept, targets - left_out[best], errors[best], strengths[best])


def _weighted_inner(features: _Array, weights: _Array) -> _Array:
    """Return the weighted inner products of the columns, added up in double precision."""
    inner: _Array = np.zeros((features.shape[1], features.shape[1]))
    for start in range(0, len(features), _ROWS_AT_ONCE):
        some = features[start : start + _ROWS_AT_ONCE]
        own = weights[start : start + _ROWS_AT_ONCE].astype(features.dtype)
        inner += (some * own[:, None]).T @ some
    return inner


def _mean_square(residual: _Array, weight: _Array | None) -> float:
    squares = (residual**2).mean(axis=1)
    return float(np.average(squares, weights=weight))
