"""What scores say beyond their mean: spread over runs, confidence intervals, paired tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgnn.evaluation._targets import Array, known_mean

Interval = tuple[float, float]
_NONE: Interval = (float("nan"), float("nan"))


def repeat_means(scores: Array, repeats: Sequence[int]) -> Array:
    """Return the mean score of each repeat, in rising order of repeats; NaN scores are left out."""
    of = np.asarray(repeats)
    return np.array([known_mean(scores[of == repeat]) for repeat in np.unique(of)])


def spread(values: Array) -> float:
    """Return the standard deviation of a sample (n − 1 in the denominator), NaN for fewer than two known values."""
    known = values[~np.isnan(values)]
    return float(known.std(ddof=1)) if len(known) > 1 else float("nan")


def extremes(values: Array) -> Interval:
    """Return the least and the greatest known value."""
    known = values[~np.isnan(values)]
    return (float(known.min()), float(known.max())) if len(known) else _NONE


def corrected_error(values: Array, ratio: float) -> float:
    r"""Return the standard error of the mean of resampled scores, :math:`\sqrt{(1/n + n_\text{test}/n_\text{train})\,s^2}`.

    The training parts of folds and repeats overlap, so scores are not independent and
    :math:`s/\sqrt n` is too small; Nadeau and Bengio (Inference for the generalization error,
    Machine Learning 52, 2003) correct it by the ratio of test to training items.
    """
    known = values[~np.isnan(values)]
    return (
        float(np.sqrt((1 / len(known) + ratio) * known.var(ddof=1)))
        if len(known) > 1
        else float("nan")
    )


def t_interval(values: Array, ratio: float, confidence: float = 0.95) -> Interval:
    """Return mean ± t · :func:`corrected_error` with n − 1 degrees of freedom; ``ratio=0`` is the plain t interval."""
    from scipy.special import stdtrit

    known = values[~np.isnan(values)]
    if len(known) < 2:
        return _NONE
    half = float(stdtrit(len(known) - 1, (1 + confidence) / 2)) * corrected_error(known, ratio)
    mean = float(known.mean())
    return mean - half, mean + half


def wilson_interval(share: float, size: int, confidence: float = 0.95) -> Interval:
    """Return Wilson's interval of a share of correct answers among ``size`` independent items."""
    from scipy.special import ndtri

    if size == 0 or np.isnan(share):
        return _NONE
    z = float(ndtri((1 + confidence) / 2))
    center = (share + z * z / (2 * size)) / (1 + z * z / size)
    half = (
        z
        / (1 + z * z / size)
        * float(np.sqrt(share * (1 - share) / size + z * z / (4 * size * size)))
    )
    return center - half, center + half


def single_test_interval(scores: Array, size: int, confidence: float = 0.95) -> Interval:
    """Return an interval of accuracy for several seeds on one test set of ``size`` items.

    Two things are uncertain: which items the test set happens to hold (Wilson's interval around the
    mean) and which seeds were drawn (t interval of the mean). They are independent, so the
    distances of their limits from the mean are squared and added.
    """
    mean = known_mean(scores)
    limits, seeds = wilson_interval(mean, size, confidence), t_interval(scores, 0, confidence)
    half = 0.0 if np.isnan(seeds[0]) else seeds[1] - mean
    low, high = (float(np.hypot(limit - mean, half)) for limit in limits)
    return mean - low, mean + high


def single_test_comparison(
    seeds: Array, items: Array, confidence: float = 0.95
) -> tuple[Interval, float]:
    """Return interval and two-sided p value of the mean difference of two models on one test set.

    As in :func:`single_test_interval`, which items the test set holds is as uncertain as which
    seeds were drawn; the two squared standard errors are added, and t has a degree of freedom for
    each item but one.

    Parameters
    ----------
    seeds, items : array
        Differences of each seed, over all items; and of each item, over all seeds.
    """
    from scipy.special import stdtr, stdtrit

    if len(items) < 2:
        return _NONE, float("nan")
    mean, parts = float(items.mean()), [items, seeds] if len(seeds) > 1 else [items]
    error = float(np.sqrt(sum(part.var(ddof=1) / len(part) for part in parts)))
    half = float(stdtrit(len(items) - 1, (1 + confidence) / 2)) * error
    if error == 0:
        return (mean, mean), 1.0 if mean == 0 else 0.0
    return (mean - half, mean + half), 2 * float(stdtr(len(items) - 1, -abs(mean) / error))


def corrected_p_value(differences: Array, ratio: float) -> float:
    """Return the two-sided p value of Nadeau and Bengio's corrected resampled t-test of "no difference on average"."""
    from scipy.special import stdtr

    known = differences[~np.isnan(differences)]
    if len(known) < 2:
        return float("nan")
    mean, error = abs(float(known.mean())), corrected_error(known, ratio)
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return 2 * float(stdtr(len(known) - 1, -mean / error))
