"""Kernel ridge in closed form: exact leave-one-out predictions of every strength at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

_Array = np.ndarray[Any, Any]

#: Strengths λ to choose from, rising; relative to the spread of the training items.
STRENGTHS = tuple(2.0**power for power in range(-10, 7))

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
    root = np.ones(len(K)) if weight is None else np.sqrt(weight)
    unit = root / np.linalg.norm(root)
    features = root[:, None].astype(features.dtype) * features
    flat = _FLAT * float((features**2).sum()) / len(K)
    features -= unit[:, None].astype(features.dtype) * (unit @ features).astype(features.dtype)
    spread, axes = eigh((features.T @ features).astype(np.float64), driver="evd")
    spread = np.maximum(spread, 0)
    scale = max(float(spread.sum()) / len(K), flat, 1e-12)
    turned = features @ axes.astype(features.dtype)
    square = turned**2
    scaled = root[:, None] * targets
    scaled = scaled - unit[:, None] * (unit @ scaled)
    inside = turned.T @ scaled
    best: tuple[float, float, _Array] | None = None
    for strength in strengths:
        shrink = 1 / (spread + strength * scale)
        residual = scaled - turned @ (shrink[:, None] * inside)
        leverage = square @ shrink + unit**2
        left = residual / np.maximum(1 - leverage, 1e-9)[:, None] / root[:, None]
        error = _mean_square(left, weight)
        if best is None or error <= best[0] * (1 + 1e-9):
            best = error, strength, left
    assert best is not None
    error, strength, left = best
    coefficients = axes @ (inside / (spread + strength * scale)[:, None])
    alpha = projection @ coefficients
    offset = root[:, None] * (targets - K @ alpha)
    intercept = (root @ offset) / (root @ root)
    return Solution(alpha, intercept, targets - left, error, strength)


def _mean_square(residual: _Array, weight: _Array | None) -> float:
    squares = (residual**2).mean(axis=1)
    return float(np.average(squares, weights=weight))
