"""Evaluation: the predictions of every split, and what follows from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from edgnn._files import Path_
from edgnn.errors import EvaluationError
from edgnn.evaluation import _statistics as statistics
from edgnn.evaluation._metrics import Metric, find_metric, measure
from edgnn.evaluation._splits import Split
from edgnn.evaluation._statistics import Comparison, Summary, summarize, summary_row
from edgnn.evaluation._targets import Array, Task, known_mean

_KINDS = {
    "classes": "a class for each item",
    "labels": "several labels for each item",
    "values": "real values",
}


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a model predicts for the test part of one split.

    Parameters
    ----------
    prediction : array
        Positions among the evaluation's classes, labels 0/1, or real values.
    probability : array, optional
        Of each class (n, K), or of label 1 (n, L).
    chosen : mapping, optional
        What the model chose inside the training part, such as its strength or its best epoch.
    training_accuracy : float, optional
        Fraction of the items it was trained on that it classifies correctly; ``None`` where that is
        not known.
    """

    prediction: Array
    probability: Array | None = None
    chosen: Mapping[str, Any] | None = None
    training_accuracy: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """What :func:`evaluate` returns: settings, splits, predictions; scores are computed from them.

    ``mean``, ``spread``, ``interval`` and ``majority`` are those of the first metric;
    ``evaluation["roc_auc"]`` is the :class:`Summary` of another.

    Parameters
    ----------
    task : {"classes", "labels", "values"}
        What the targets are.
    metrics : tuple of str
        Names of the metrics.
    splits : tuple of Split
        The parts.
    truth : array
        All targets: positions among ``classes`` (−1: missing), labels 0/1, or real values.
    outcomes : tuple of Outcome
        One per split.
    classes : tuple
        The classes, sorted; empty for other targets.
    class_names : tuple of str
        How to print them.
    settings : mapping
        The estimator's name and parameters.
    own_metrics : mapping
        Metrics that were given as functions, by name; other names are found by
        :func:`find_metric`.
    subsets : mapping
        Positions of items that are of interest by themselves, by name; see :attr:`by_subset`.
    """

    task: Task
    metrics: tuple[str, ...]
    splits: tuple[Split, ...]
    truth: Array
    outcomes: tuple[Outcome, ...]
    classes: tuple[Any, ...] = ()
    class_names: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    own_metrics: Mapping[str, Metric] = field(default_factory=dict)
    subsets: Mapping[str, Array] = field(default_factory=dict)

    def metric(self, name: str) -> Metric:
        """Return a metric by its name."""
        return self.own_metrics.get(name) or find_metric(name)

    def __getitem__(self, metric: str) -> Summary:
        name = self.metric(metric).name
        if name not in self._summaries:
            raise EvaluationError(f"{name} was not evaluated, only {', '.join(self.metrics)}")
        return self._summaries[name]

    @property
    def mean(self) -> float:
        """Mean of the repeats' means."""
        return self[self.metrics[0]].mean

    @property
    def spread(self) -> float:
        """Standard deviation of the repeats' means, or of the folds of a single repeat."""
        return self[self.metrics[0]].spread

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of the mean; :class:`Summary` says which."""
        return self[self.metrics[0]].interval

    @property
    def majority(self) -> float:
        """What a model that ignores its input scores on the same splits."""
        return self[self.metrics[0]].majority

    @property
    def training_accuracy(self) -> float | None:
        """Mean accuracy on the training items; ``None`` unless it is known of every split."""
        accuracies = [outcome.training_accuracy for outcome in self.outcomes]
        if not accuracies or None in accuracies:
            return None
        return float(np.mean(np.array(accuracies, dtype=float)))

    @cached_property
    def scores(self) -> dict[str, Array]:
        """Score of each split, by metric."""
        return {name: self._scored(name, self.outcomes) for name in self.metrics}

    @cached_property
    def by_target(self) -> tuple[Evaluation, ...]:
        """The evaluation of each of several targets alone; empty where there is one target."""
        if self.truth.ndim < 2 or self.truth.shape[1] < 2:
            return ()
        return tuple(self._of_target([number]) for number in range(self.truth.shape[1]))

    def _of_target(self, column: list[int]) -> Evaluation:
        outcomes = []
        for outcome in self.outcomes:
            prediction, probability = outcome.prediction[:, column], outcome.probability
            if probability is not None:
                probability = probability[:, column]
            outcomes.append(replace(outcome, prediction=prediction, probability=probability))
        return replace(self, truth=self.truth[:, column], outcomes=tuple(outcomes))

    @property
    def by_subset(self) -> dict[str, Evaluation]:
        """The evaluation of the test items of each subset alone, by name.

        Models are trained on what they were trained on. Splits whose test part has no item of a
        subset are left out, as are subsets without any test item.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.dummy import DummyRegressor
        >>> from edgnn.evaluation import evaluate, published
        >>> y = np.array([0.0, 2, 1, 5])
        >>> splits = published(["train", "train", "test", "test"], repeats=1)
        >>> found = evaluate(DummyRegressor(), y[:, None], y, splits, subsets={"hard": [3]})
        >>> found["mae"].mean, found.by_subset["hard"]["mae"].mean
        (2.0, 4.0)
        """
        ours = {name: self._of_items(items) for name, items in self.subsets.items()}
        return {name: one for name, one in ours.items() if one.splits}

    def _of_items(self, items: Array) -> Evaluation:
        splits, outcomes = [], []
        for split, outcome in zip(self.splits, self.outcomes, strict=True):
            chosen = np.isin(split.test, items)
            if not chosen.any():
                continue
            prediction, probability = outcome.prediction[chosen], outcome.probability
            if probability is not None:
                probability = probability[chosen]
            splits.append(replace(split, test=split.test[chosen]))
            outcomes.append(replace(outcome, prediction=prediction, probability=probability))
        return replace(self, splits=tuple(splits), outcomes=tuple(outcomes), subsets={})

    @cached_property
    def confusion(self) -> Array | None:
        """How often each class (row) was predicted as each (column); ``None`` without classes."""
        if self.task != "classes":
            return None
        table = np.zeros((len(self.classes), len(self.classes)), dtype=np.int64)
        for split, outcome in zip(self.splits, self.outcomes, strict=True):
            true = self.truth[split.test]
            np.add.at(table, (true[true >= 0], outcome.prediction[true >= 0]), 1)
        return table

    def paired(self, other: Evaluation, metric: str | None = None) -> Comparison:
        """Compare with another model's evaluation on the same splits of the same targets.

        Parameters
        ----------
        other : Evaluation
            Of the other model; differences are ours minus theirs.
        metric : str, optional
            What to compare by; the first metric by default.
        """
        if not isinstance(other, Evaluation):
            raise EvaluationError(
                f"an evaluation is compared with another one, not with a {type(other).__name__}"
            )
        name = self.metric(metric or self.metrics[0]).name
        if differs := difference_of(self, other):
            raise EvaluationError(
                f"the two evaluations have different targets or splits ({differs}); "
                "evaluate both with one list of splits"
            )
        differences = self[name].scores - other[name].scores
        kind = self._interval_kind(name)
        if kind == "test-set":
            items = self._right() - other._right()
            interval, p_value = statistics.single_test_comparison(differences, items)
        else:
            interval, p_value = statistics.t_test(differences, self._ratio)
        if kind == "seeds":
            p_value = float("nan")
        return Comparison(
            metric=name,
            difference=known_mean(differences),
            interval=interval,
            p_value=p_value,
            splits=int((~np.isnan(differences)).sum()),
            kind=kind,
        )

    def _right(self) -> Array:
        """Return how often each item of the one test part was classified correctly.

        Items are in rising order; those without a class are left out.
        """
        truth = self.truth[np.sort(self.splits[0].test)]
        right = [
            outcome.prediction[np.argsort(split.test)] == truth
            for split, outcome in zip(self.splits, self.outcomes, strict=True)
        ]
        return np.asarray(np.mean(right, axis=0)[truth >= 0])

    def table(self) -> list[dict[str, str]]:
        """Return one row per metric, ready to print; accuracies in percent."""
        return [summary_row(self[name]) | {"metric": self.title(name)} for name in self.metrics]

    def title(self, metric: str) -> str:
        """Return the printed name of a metric, with its unit or the class that it is of."""
        found = self.metric(metric)
        name = found.name.replace("_", " ")
        if found.percent:
            return f"{name} (%)"
        if found.of_second and self.task == "classes" and len(self.classes) == 2:
            return f"{name} ({self.class_names[1]})"
        return name

    def __repr__(self) -> str:
        repeats = len({split.repeat for split in self.splits})
        parts = [f"{row['metric']} {row['mean']} ± {row['spread']}" for row in self.table()]
        return f"Evaluation({', '.join(parts)}; {len(self.splits)} splits in {repeats} repeats)"

    def of_repeats(self, repeats: Collection[int]) -> Evaluation:
        """Return the evaluation of some of the repeats."""
        splits, outcomes = [], []
        for split, outcome in zip(self.splits, self.outcomes, strict=True):
            if split.repeat in repeats:
                splits.append(split)
                outcomes.append(outcome)
        return replace(self, splits=tuple(splits), outcomes=tuple(outcomes))

    @staticmethod
    def joined(parts: Sequence[Evaluation]) -> Evaluation:
        """Return one evaluation of all splits of several, in order; the settings of the first.

        Parameters
        ----------
        parts : sequence of Evaluation
            Of one model on the same targets, with the same metrics, such as its runs one by one.
        """
        if not parts:
            raise EvaluationError("no evaluation was given to join; give at least one")
        first = parts[0]
        for number, part in enumerate(parts):
            for name in ("task", "metrics", "classes"):
                if getattr(part, name) != getattr(first, name):
                    raise EvaluationError(
                        f"evaluation {number} has the {name} {getattr(part, name)!r}, "
                        f"the first one {getattr(first, name)!r}; join evaluations of one kind"
                    )
            if not np.array_equal(part.truth, first.truth, equal_nan=first.task != "classes"):
                raise EvaluationError(
                    f"evaluation {number} has other targets than the first; "
                    "join evaluations of the same items"
                )
        splits = chain.from_iterable(part.splits for part in parts)
        outcomes = chain.from_iterable(part.outcomes for part in parts)
        return replace(first, splits=tuple(splits), outcomes=tuple(outcomes))

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as values that JSON can hold; :meth:`from_dict` reads them."""
        from edgnn.evaluation._stored import evaluation_to_dict

        return evaluation_to_dict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Evaluation:
        """Return the evaluation that :meth:`to_dict` wrote; scores are computed anew."""
        from edgnn.evaluation._stored import evaluation_from_dict

        return evaluation_from_dict(values)

    @classmethod
    def load(cls, path: Path_) -> Evaluation:
        """Return the evaluation in a JSON file, to compare it: ``Evaluation.load(a).paired(…)``.

        Parameters
        ----------
        path : path
            What ``edgnn evaluate --out`` wrote, or the values of :meth:`to_dict` alone. All of it
            is checked; scores are computed from its predictions.
        """
        from edgnn.evaluation._stored import load_evaluation

        return load_evaluation(path)

    @cached_property
    def _one_test_part(self) -> bool:
        return all(equal_sets(self.splits[0].test, split.test) for split in self.splits[1:])

    @cached_property
    def _ratio(self) -> float:
        """Test items per training item, by which intervals are widened; 0 for a single test set."""
        if self._one_test_part:
            return 0.0
        return float(np.mean([len(split.test) / len(split.known) for split in self.splits]))

    @cached_property
    def _summaries(self) -> dict[str, Summary]:
        baseline = [self._majority_outcome(split) for split in self.splits]
        return {name: self._summary(name, self._scored(name, baseline)) for name in self.metrics}

    def _scored(self, name: str, outcomes: Sequence[Outcome]) -> Array:
        metric = self.metric(name)
        scores = [
            measure(
                metric,
                self.task,
                self.truth[split.test],
                outcome.prediction,
                outcome.probability,
                self.classes,
            )
            for split, outcome in zip(self.splits, outcomes, strict=True)
        ]
        return np.array(scores)

    def _summary(self, name: str, majority: Array) -> Summary:
        metric, scores = self.metric(name), self.scores[name]
        kind = self._interval_kind(metric.name)
        if kind == "test-set":
            size = int((self.truth[self.splits[0].test] >= 0).sum())
            interval = statistics.single_test_interval(scores, size)
        else:
            interval, _ = statistics.t_test(scores, self._ratio)
        repeats = [split.repeat for split in self.splits]
        return summarize(metric, scores, majority, repeats, interval, kind)

    def _interval_kind(self, metric: str) -> str:
        """Return how intervals are found, as :class:`Summary` describes."""
        if not self._one_test_part:
            return "corrected-t"
        if metric == "accuracy" and self.task == "classes":
            return "test-set"
        return "seeds"

    def _majority_outcome(self, split: Split) -> Outcome:
        """Return the predictions of a model that ignores the items: most frequent class, or mean.

        By numpy, not by scikit-learn's DummyClassifier, which takes 50 times as long for a split.
        """
        known, size = self.truth[split.known], len(split.test)
        if self.task == "classes":
            counts = np.bincount(known[known >= 0], minlength=len(self.classes))
            frequencies = counts / max(counts.sum(), 1)
            return Outcome(np.full(size, counts.argmax()), np.tile(frequencies, (size, 1)))
        if known.ndim == 1:
            return Outcome(np.full(size, known_mean(known)))
        means = np.tile([known_mean(column) for column in known.T], (size, 1))
        if self.task == "values":
            return Outcome(means)
        return Outcome((means > 0.5).astype(float), means)


def difference_of(one: Evaluation, two: Evaluation) -> str:
    """Return in words how ``two`` differs from ``one``; empty where scores can be compared."""
    if one.task != two.task:
        return f"{_KINDS[two.task]}, not {_KINDS[one.task]}"
    if len(one.truth) != len(two.truth):
        return f"{len(two.truth):,} items, not {len(one.truth):,}"
    if one.truth.shape != two.truth.shape:
        return "another number of targets for each item"
    other = (one.truth != two.truth) & ~(np.isnan(one.truth) & np.isnan(two.truth))
    if other.any():
        return f"another target for item {np.argwhere(other)[0, 0]}, counted from 0"
    if len(one.splits) != len(two.splits):
        return f"{len(two.splits):,} splits, not {len(one.splits):,}"
    for first, second in zip(one.splits, two.splits, strict=True):
        for part, items in (("test", "items to judge on"), ("known", "items to learn from")):
            if not equal_sets(getattr(first, part), getattr(second, part)):
                return f"other {items} in {first}"
    return ""


def equal_sets(one: Array, two: Array) -> bool:
    """Return whether two arrays hold the same numbers, in any order."""
    return np.array_equal(np.sort(one), np.sort(two))
