"""The scores of one metric over all splits in a few numbers, and the difference between two models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgnn.evaluation._metrics import Metric
from edgnn.evaluation._statistics import Interval, extremes, repeat_means, spread
from edgnn.evaluation._targets import Array, known_mean


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
    repeat_means : array
        Mean over the folds of each repeat.
    mean : float
        Mean of the repeats' means; scores that are not defined (NaN) are left out everywhere.
    spread, minimum, maximum : float
        Of the repeats' means (the paper's ±; standard deviation of a sample); of the folds if there
        is one repeat.
    interval : pair of float
        95 % confidence interval of the mean.
    interval_kind : {"corrected-t", "test-set", "seeds"}
        How the interval was found. ``"corrected-t"``: Nadeau and Bengio's corrected resampled t,
        over all folds of all repeats (``corrected_error`` in ``evaluation/_statistics.py``). Where
        all splits have the same test part, accuracy has ``"test-set"``: Wilson's interval for the
        size of the test part, widened by the seeds' t interval; other metrics have ``"seeds"``: a t
        interval that covers the seeds only, not the choice of the test part.
    majority : float
        Mean of the repeats' means of ``majority_scores``.
    """

    metric: Metric
    scores: Array
    majority_scores: Array
    repeat_means: Array
    mean: float
    spread: float
    minimum: float
    maximum: float
    interval: tuple[float, float]
    interval_kind: str
    majority: float


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
    """Boil the scores of all splits down; the interval is cut off where the metric ends."""
    means = repeat_means(scores, repeats)
    units = means if len(means) > 1 else scores
    minimum, maximum = extremes(units)
    low, high = interval
    return Summary(
        metric=metric,
        scores=scores,
        majority_scores=majority,
        repeat_means=means,
        mean=known_mean(means),
        spread=spread(units),
        minimum=minimum,
        maximum=maximum,
        interval=(max(low, metric.bounds[0]), min(high, metric.bounds[1]))
        if low == low
        else interval,
        interval_kind=kind,
        majority=known_mean(repeat_means(majority, repeats)),
    )


def summary_row(summary: Summary) -> dict[str, str]:
    """Return a summary as text for a table; accuracies in percent."""

    def shown(value: float) -> str:
        return (
            "–"
            if value != value
            else f"{100 * value:.1f}"
            if summary.metric.percent
            else f"{value:.4g}"
        )

    low, high = summary.interval
    return {
        "metric": summary.metric.name.replace("_", " ")
        + (" (%)" if summary.metric.percent else ""),
        "mean": shown(summary.mean),
        "spread": shown(summary.spread),
        "95 % interval": f"{shown(low)} to {shown(high)}" if low == low else "–",
        "minimum": shown(summary.minimum),
        "maximum": shown(summary.maximum),
        "majority": shown(summary.majority),
    }
