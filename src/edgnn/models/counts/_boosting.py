"""Boosting: trees that correct each other, on a table of counts, without a pickle."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgnn._rules import NOT_NEGATIVE, POSITIVE, Rules, whole
from edgnn._system import one_thread
from edgnn.models._seeds import member_seed
from edgnn.models._targets import Task
from edgnn.models.counts._table_learners import (
    COLUMN_RULES,
    FRACTION,
    NEVER,
    Array,
    Lesson,
    Outputs,
    Table,
    check_numbers,
    check_options,
    check_positions,
    check_predictions,
    dense,
    dense_pieces,
    held_out_folds,
    linked,
    quietly,
    trees_columns,
)
from edgnn.models.counts._trees import Trees

_RULES: Rules = {
    **COLUMN_RULES,
    "iterations": whole(1).or_none("300, of classes and labels 100"),
    "learning_rate": POSITIVE,
    "max_features": FRACTION,
    "leaves": whole(2),
    "min_samples_leaf": whole(1),
    "penalty": NOT_NEGATIVE,
    "bins": whole(2, 255),
    "folds": whole(2),
}


@dataclass(frozen=True, eq=False)
class FittedBoosting:
    """A sum of trees.

    Parameters
    ----------
    task : {"classes", "labels", "values"}
        What is predicted.
    columns : array
        Which columns of a table the trees look at.
    trees : Trees
        Those of all outputs.
    output : array
        Which output each tree is of.
    baseline : array
        The raw score of each output before the first tree.
    held_out : array
        Predictions of the training items by models of inner folds that did not see them.

    Shapes
    ------
    columns (c,), output (trees, 1), baseline (outputs,), held_out (n, outputs)
    """

    task: Task
    columns: Array
    trees: Trees
    output: Array
    baseline: Array
    held_out: Array

    def predict(self, table: Table) -> Array:
        """Return probabilities of classes, probabilities of label 1, or values, (n, outputs)."""
        raw: Array = np.tile(self.baseline, (table.shape[0], 1))
        for place, values in dense_pieces(table, self.columns, self.trees.rows_at_once()):
            self.trees.add_to(raw[place], values, self.output)
        return linked(raw, self.task)

    def check(self, columns: int) -> None:
        """Raise ``ValueError`` where the arrays do not fit together, or not a table so wide."""
        if self.baseline.ndim != 1:
            raise ValueError("the stored baseline is damaged: it must be a vector")
        check_predictions(self.task, self.held_out, len(self.baseline))
        check_numbers(baseline=self.baseline, held_out=self.held_out)
        check_positions("columns", self.columns, 0, columns)
        check_positions("output", self.output, 0, len(self.baseline))
        self.trees.check(max(1, len(self.columns)))
        if (self.output.shape, self.trees.value.shape[1:]) != ((len(self.trees), 1), (1,)):
            raise ValueError("the stored boosting is damaged: trees and outputs do not fit")


@dataclass(frozen=True)
class Boosting:
    """Learn trees one after the other, each from what those before it got wrong.

    The histogram gradient boosting of scikit-learn, with all its iterations: the same number for
    all folds and for all items. Labels and values are learned one by one.

    Parameters
    ----------
    iterations : int, optional
        Trees per output; default: 300 of values, 100 of classes and labels, which more of them
        make too sure.
    learning_rate : float
        How much of a correction each tree makes.
    max_features : float
        Which fraction of the columns a node looks at.
    leaves : int
        Most leaves of a tree.
    min_samples_leaf : int
        Least items in a leaf.
    penalty : float
        L2 penalty of what leaves say.
    bins : int
        How many different numbers of a column are told apart; most counts are small.
    folds : int
        Inner folds for ``held_out``.
    most_columns, least_items : int
        Columns that are looked at: as :func:`select_columns` says.
    n_jobs : int
        Threads: 1, or as many as OpenMP uses.
    """

    iterations: int | None = None
    learning_rate: float = 0.05
    max_features: float = 0.2
    leaves: int = 15
    min_samples_leaf: int = 3
    penalty: float = 10.0
    bins: int = 32
    folds: int = 5
    most_columns: int = 4000
    least_items: int = 2
    n_jobs: int = 1

    def __post_init__(self) -> None:
        check_options(self, _RULES)

    def fit(
        self,
        table: Table,
        targets: Array,
        task: Task,
        *,
        weight: Array | None = None,
        outputs: int | None = None,
        seed: int = 0,
    ) -> FittedBoosting:
        """Learn from a table, as :meth:`TableLearner.fit` says."""
        lesson = Lesson.of(table, targets, task, weight, outputs, seed)
        columns = trees_columns(table, self.most_columns, self.least_items)
        values = dense(table, columns)
        held_out: Array = np.empty((len(lesson), lesson.outputs))
        learned = []
        with _threads(self.n_jobs):
            for group in lesson.one_by_one():
                boosted = self._boosted(group, values, group.known, seed)
                learned.append(boosted)
                held_out[:, group.members] = self._held_out(group, values, boosted, seed)
        trees = Trees.joined([boosted.trees for boosted in learned])
        output = np.concatenate([boosted.output for boosted in learned])[:, None]
        baseline: Array = np.full(lesson.outputs, NEVER)
        for boosted in learned:
            baseline[boosted.members] = boosted.baseline
        return FittedBoosting(task, columns, trees, output, baseline, held_out)

    def _held_out(self, group: Outputs, values: Array, whole: _Boosted, seed: int) -> Array:
        """Return predictions by models of inner folds; of items without a target by the whole."""
        raw = whole.raw(values)
        fold = held_out_folds(group.targets(group.known), group.task, seed, self.folds)
        for number in range(fold.max() + 1):
            rest, own = group.known[fold != number], group.known[fold == number]
            if len(rest):
                boosted = self._boosted(group, values, rest, member_seed(seed, number))
                raw[own] = boosted.raw(values[own])
            else:  # the only item
                raw[own] = group.prior(own)
        return linked(raw, group.task)

    def _boosted(self, group: Outputs, values: Array, items: Array, seed: int) -> _Boosted:
        """Learn from some items."""
        targets = group.targets(items)
        seen = np.unique(targets)
        if len(seen) < 2 or not values.any():
            empty: Array = np.zeros(0, dtype=np.int64)
            return _Boosted(group.members, Trees.joined([]), empty, group.prior(items))
        estimator = self._estimator(group.task, seed)
        weight = group.weights(items)
        quietly(estimator.fit, values[items], targets, sample_weight=weight)
        return _Boosted.of(estimator, group, seen)

    def _estimator(self, task: Task, seed: int) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        kind = HistGradientBoostingRegressor if task == "values" else HistGradientBoostingClassifier
        return kind(
            max_iter=self.iterations or (300 if task == "values" else 100),
            learning_rate=self.learning_rate,
            max_features=self.max_features,
            max_leaf_nodes=self.leaves,
            min_samples_leaf=self.min_samples_leaf,
            l2_regularization=self.penalty,
            max_bins=self.bins,
            early_stopping=False,
            random_state=seed % 2**32,
        )


@dataclass(frozen=True, eq=False)
class _Boosted:
    """What was learned for some outputs: raw scores before the first tree, and the trees."""

    members: Array
    trees: Trees
    output: Array
    baseline: Array

    @classmethod
    def of(cls, estimator: Any, group: Outputs, seen: Array) -> _Boosted:
        """Take the numbers out of a fitted estimator of scikit-learn.

        It has one raw score for two classes, that of the second, and knows those that occur.
        """
        trees = Trees.of_boosting(estimator)
        start = estimator._baseline_prediction.ravel()
        if group.task != "classes":
            return cls(group.members, trees, np.repeat(group.members, len(trees)), start)
        seen = seen.astype(np.int64)
        baseline: Array = np.full(len(group.members), NEVER)
        baseline[seen] = 0.0
        scored = seen[-len(start) :]
        baseline[scored] = start
        return cls(group.members, trees, np.tile(scored, len(trees) // len(scored)), baseline)

    def raw(self, values: Array) -> Array:
        """Return raw scores, (n, members)."""
        raw: Array = np.tile(self.baseline, (len(values), 1))
        own = np.searchsorted(self.members, self.output)[:, None]
        rows = self.trees.rows_at_once()
        for start in range(0, len(values), rows):
            place = slice(start, start + rows)
            self.trees.add_to(raw[place], values[place], own)
        return raw


def _threads(n_jobs: int) -> AbstractContextManager[None]:
    """Compute in one thread, where so asked, for the same sums on every machine."""
    return one_thread() if n_jobs == 1 else nullcontext()
