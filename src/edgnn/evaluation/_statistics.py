"""Summaries of scores: mean and spread over runs, confidence intervals, paired tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from edgnn.evaluation._metrics import Metric
from edgnn.evaluation._targets import Array, known_mean

Interval = tuple[float, float]
_NONE: Interval = (float("nan"), float("nan"))
#: The quantile at the upper end of a 95 % interval.
_UPPER = (1 + 0.95) / 2


@dataclass(frozen=True, eq=False)
class Summary:
    """One metric over all splits.

    Parameters
    ----------
    metric : Metric
        What was measured.
    scores, majority_scores : array
        Of each split: the model's, and those of a model that ignores its input: the most frequent
        class of the training and validation part (its frequencies as probabilities), or the mean of
        the targets.
    mean : float
        Mean of the repeats' means; scores that are not defined (NaN) are left out everywhere.
    spread, minimum, maximum : float
        Of the repeats' means (the paper's ±; standard deviation of a sample); of the folds if there
        is one repeat.
    interval : pair of float
        95 % confidence interval of the mean.
    interval_kind : {"corrected-t", "test-set", "seeds"}
        How the interval was found. ``"corrected-t"``: Nadeau and Bengio's corrected resampled t,
        over all folds of all repeats (:func:`t_test`). Where
        all splits have the same test part, accuracy has ``"test-set"``: Wilson's interval for the
        size of the test part, widened by the seeds' t interval; other metrics have ``"seeds"``: a t
        interval that covers the seeds only, not the choice of the test part.
    majority : float
        Mean of the repeats' means of ``majority_scores``.
    repeat_means : array
        Mean over the folds of each repeat.
    """

    metric: Metric
    scores: Array
    majority_scores: Array
    mean: float
    spread: float
    minimum: float
    maximum: float
    interval: tuple[float, float]
    interval_kind: str
    majority: float
    repeat_means: Array

    def statistics(self) -> dict[str, Any]:
        """Return what was computed of the scores, by name."""
        every = {field.name: getattr(self, field.name) for field in fields(self)}
        for given in ("metric", "scores", "majority_scores"):
            del every[given]
        return every


@dataclass(frozen=True)
class Comparison:
    """The difference of two evaluations on the same splits, first minus second.

    Parameters
    ----------
    metric : str
        What was compared.
    difference : float
        Mean over the splits.
    interval : pair of float
        95 % confidence interval.
    p_value : float
        Of "no difference on average", two-sided.
    splits : int
        How many splits were compared.
    kind : {"corrected-t", "test-set", "seeds"}
        How both were found. ``"corrected-t"``: Nadeau and Bengio's corrected resampled t. Where all
        splits have the same test part, accuracy has ``"test-set"``: a t-test over its items,
        widened by the seeds; other metrics have ``"seeds"``: an interval that covers the seeds
        only, not the choice of the test part, and therefore no p value (NaN).
    """

    metric: str
    difference: float
    interval: tuple[float, float]
    p_value: float
    splits: int
    kind: str


def summarize(
    metric: Metric,
    scores: Array,
    majority: Array,
    repeats: Sequence[int],
    interval: Interval,
    kind: str,
) -> Summary:
    """Return the summary of the scores of all splits; the interval ends where the metric does."""
    means = repeat_means(scores, repeats)
    units = means if len(means) > 1 else scores
    minimum, maximum = extremes(units)
    if interval[0] == interval[0]:  # not NaN
        low, high = metric.bounds
        interval = max(interval[0], low), min(interval[1], high)
    return Summary(
        metric=metric,
        scores=scores,
        majority_scores=majority,
        repeat_means=means,
        mean=known_mean(means),
        spread=spread(units),
        minimum=minimum,
        maximum=maximum,
        interval=interval,
        interval_kind=kind,
        majority=known_mean(repeat_means(majority, repeats)),
    )


def summary_row(summary: Summary) -> dict[str, str]:
    """Return the numbers of a summary as text for a table; accuracies in percent."""

    def shown(value: float) -> str:
        if value != value:
            return "–"
        return f"{100 * value:.1f}" if summary.metric.percent else f"{value:.4g}"

    low, high = summary.interval
    return {
        "mean": shown(summary.mean),
        "spread": shown(summary.spread),
        "95 % interval": f"{shown(low)} to {shown(high)}" if low == low else "–",
        "minimum": shown(summary.minimum),
        "maximum": shown(summary.maximum),
        "majority": shown(summary.majority),
    }


def repeat_means(scores: Array, repeats: Sequence[int]) -> Array:
    """Return the mean score of each repeat, in rising order of repeats; NaN scores are left out."""
    of = np.asarray(repeats)
    return np.array([known_mean(scores[of == repeat]) for repeat in np.unique(of)])


def spread(values: Array) -> float:
    """Return the standard deviation of a sample (n − 1), NaN for fewer than two known values."""
    known = values[~np.isnan(values)]
    return float(known.std(ddof=1)) if len(known) > 1 else float("nan")


def extremes(values: Array) -> Interval:
    """Return the least and the greatest known value."""
    known = values[~np.isnan(values)]
    return (float(known.min()), float(known.max())) if len(known) else _NONE


def t_test(values: Array, ratio: float) -> tuple[Interval, float]:
    r"""Return the interval of the mean of resampled scores, and the p value of "it is 0".

    The standard error is :math:`\sqrt{(1/n + n_\text{test}/n_\text{train})\,s^2}`. The training
    parts of folds and repeats overlap, so scores are not independent and :math:`s/\sqrt n` is too
    small; Nadeau and Bengio (Inference for the generalization error, Machine Learning 52, 2003)
    correct it by the ratio of test to training items. ``ratio=0`` is the plain t-test.
    """
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return _NONE, float("nan")
    error = float(np.sqrt((1 / len(known) + ratio) * known.var(ddof=1)))
    return _two_sided(float(known.mean()), error, len(known) - 1)


def _two_sided(mean: float, error: float, degrees: int) -> tuple[Interval, float]:
    """Return interval and p value of a mean by Student's t with so many degrees of freedom."""
    from scipy.special import stdtr, stdtrit

    half = float(stdtrit(degrees, _UPPER)) * error
    if error > 0:
        p_value = 2 * float(stdtr(degrees, -abs(mean) / error))
    else:
        p_value = float(mean == 0)
    return (mean - half, mean + half), p_value


def wilson_interval(fraction: float, size: int) -> Interval:
    """Return Wilson's interval of a fraction of correct answers among ``size`` items.

    SciPy's takes a whole number of correct answers; a mean over seeds is none.
    """
    from scipy.special import ndtri

    if size == 0 or np.isnan(fraction):
        return _NONE
    z = float(ndtri(_UPPER))
    center = (fraction + z * z / (2 * size)) / (1 + z * z / size)
    root = float(np.sqrt(fraction * (1 - fraction) / size + z * z / (4 * size * size)))
    half = z / (1 + z * z / size) * root
    return center - half, center + half


def single_test_interval(scores: Array, size: int) -> Interval:
    """Return an interval of accuracy for several seeds on one test set of ``size`` items.

    Two things are uncertain: which items the test set happens to hold (Wilson's interval around the
    mean) and which seeds were drawn (t interval of the mean). They are independent, so the
    distances of their limits from the mean are squared and added.
    """
    mean = known_mean(scores)
    _, high_of_seeds = t_test(scores, 0)[0]
    half = 0.0 if np.isnan(high_of_seeds) else high_of_seeds - mean
    low, high = (float(np.hypot(limit - mean, half)) for limit in wilson_interval(mean, size))
    return mean - low, mean + high


def single_test_comparison(seeds: Array, items: Array) -> tuple[Interval, float]:
    """Return interval and two-sided p value of the mean difference of two models on one test set.

    As in :func:`single_test_interval`, which items the test set holds is as uncertain as which
    seeds were drawn; the two squared standard errors are added, and t has a degree of freedom for
    each item but one.

    Parameters
    ----------
    seeds, items : array
        Differences of each seed, over all items; and of each item, over all seeds.
    """
    if len(items) < 2:
        return _NONE, float("nan")
    variance = items.var(ddof=1) / len(items)
    if len(seeds) > 1:
        variance += seeds.var(ddof=1) / len(seeds)
    return _two_sided(float(items.mean()), float(np.sqrt(variance)), len(items) - 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values corrected for their number by Holm's step-down method.

    NaN stays NaN and does not count.
    """
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values)[: int((~np.isnan(values)).sum())]  # NaN is sorted last
    factors = np.arange(len(order), 0, -1)
    corrected = np.full(len(values), np.nan)
    corrected[order] = np.maximum.accumulate(np.minimum(1.0, factors * values[order]))
    return [float(value) for value in corrected]
