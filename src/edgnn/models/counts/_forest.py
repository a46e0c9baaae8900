"""Forest: random trees on a table of counts, for classes, labels and values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from edgnn.models._seeds import member_seed
from edgnn.models._targets import Task
from edgnn.models.counts._table_learners import (
    Array,
    Lesson,
    Outputs,
    Table,
    check_numbers,
    check_positions,
    dense,
    dense_pieces,
    held_out_folds,
    trees_columns,
)
from edgnn.models.counts._trees import Trees


@dataclass(frozen=True, eq=False)
class FittedForest:
    """The mean of the trees of a forest.

    Parameters
    ----------
    task : {"classes", "labels", "values"}
        What is predicted.
    columns : array
        Which columns of a table the trees look at.
    trees : Trees
        All of them.
    output : array
        Which outputs the values of each tree are of; −1: of none.
    held_out : array
        Of each training item, the mean of the trees that did not see it, and of an item that all
        trees saw, the mean target; without bootstrap samples, what inner folds say.

    Shapes
    ------
    columns (c,), output (trees, width), held_out (n, outputs)
    """

    task: Task
    columns: Array
    trees: Trees
    output: Array
    held_out: Array

    def predict(self, table: Table) -> Array:
        """Return class frequencies, frequencies of label 1, or mean values, (n, outputs)."""
        total: Array = np.zeros((table.shape[0], self.held_out.shape[1]))
        for place, values in dense_pieces(table, self.columns, self.trees.rows_at_once()):
            self.trees.add_to(total[place], values, self.output)
        return total / np.maximum(self._trees_of_outputs(), 1)

    def _trees_of_outputs(self) -> Array:
        """Return how many trees each output has; a class that no item had has none."""
        used = self.output[self.output >= 0]
        return np.bincount(used, minlength=self.held_out.shape[1])

    def check(self, columns: int) -> None:
        """Raise ``ValueError`` where the arrays do not fit together, or not a table so wide."""
        check_numbers(held_out=self.held_out)
        check_positions("columns", self.columns, 0, columns)
        outputs = self.held_out.shape[1]
        check_positions("output", self.output, -1, outputs)
        self.trees.check(max(1, len(self.columns)))
        if self.output.shape != (len(self.trees), self.trees.value.shape[1]):
            raise ValueError("the stored forest is damaged: trees and outputs do not fit")
        counts = self._trees_of_outputs()
        if not counts.any() or (self.task != "classes" and not counts.all()):
            raise ValueError("the stored forest is damaged: an output has no tree")


@dataclass(frozen=True)
class Forest:
    """Learn many random trees; their mean is the prediction.

    Where each tree sees a bootstrap sample of the items, every item is predicted by the trees that
    did not see it, at no cost. Trees that see all items predict values better, and then inner folds
    say what is held out. Labels or values that are known of the same items share their trees.

    Parameters
    ----------
    trees : int
        How many.
    extra : bool
        Thresholds at random (extremely randomized trees) instead of the best ones.
    max_features : float or "sqrt"
        Which fraction of the columns a node looks at, or the square root of their number.
    min_samples_leaf : int, optional
        Least items in a leaf; default: 1 for values, 2 for classes and labels.
    bootstrap : bool, optional
        Whether a tree sees a bootstrap sample; default: not for values.
    folds : int
        Inner folds for ``held_out``, without bootstrap samples.
    most_columns, least_items : int
        Columns that are looked at: as :func:`select_columns` says.
    n_jobs : int
        How many trees grow at a time.
    """

    trees: int = 500
    extra: bool = True
    max_features: float | Literal["sqrt"] = "sqrt"
    min_samples_leaf: int | None = None
    bootstrap: bool | None = None
    folds: int = 5
    most_columns: int = 4000
    least_items: int = 2
    n_jobs: int = 1

    def fit(
        self,
        table: Table,
        targets: Array,
        task: Task,
        *,
        weight: Array | None = None,
        outputs: int | None = None,
        seed: int = 0,
    ) -> FittedForest:
        """Learn from a table, as :meth:`TableLearner.fit` says."""
        lesson = Lesson.of(table, targets, task, weight, outputs, seed)
        columns = trees_columns(table, self.most_columns, self.least_items)
        values = dense(table, columns)
        held_out: Array = np.zeros((len(lesson), lesson.outputs))
        grown, owners = [], []
        for number, group in enumerate(lesson.by_known_items()):
            member = member_seed(seed, number)
            forest = self._grown(group, values, group.known, member)
            if forest.samples is None:
                held_out[:, group.members] = self._by_folds(group, values, forest, member)
            else:
                held_out[:, group.members] = forest.out_of_bag(values, forest.samples)
            grown.append(forest.trees)
            owners.append(np.tile(forest.outputs, (len(forest.trees), 1)))
        widest = max(owner.shape[1] for owner in owners)
        output = np.concatenate([_filled(owner, widest) for owner in owners])
        return FittedForest(task, columns, Trees.joined(grown), output, held_out)

    def _by_folds(self, group: Outputs, values: Array, whole: _Grown, seed: int) -> Array:
        """Return predictions by forests of inner folds; of items without a target by the whole."""
        held_out = whole.mean(values)
        fold = held_out_folds(group.targets(group.known), group.task, seed, self.folds)
        for number in range(fold.max() + 1):
            rest, own = group.known[fold != number], group.known[fold == number]
            if len(rest):
                forest = self._grown(group, values, rest, member_seed(seed, number))
                held_out[own] = forest.mean(values[own])
            else:  # the only item
                held_out[own] = group.mean(own)
        return held_out

    def _grown(self, group: Outputs, values: Array, items: Array, seed: int) -> _Grown:
        """Learn some outputs from some items."""
        targets, scale = group.targets(items), np.ones(1)
        if targets.ndim == 2 and group.task == "values":
            # outputs count alike, whatever their units
            spread = targets.std(axis=0)
            scale = np.where(spread > 0, spread, 1.0)
        forest = self._estimator(group.task, seed)
        forest.fit(values[items], targets / scale, sample_weight=group.weights(items))
        trees = Trees.of_forest(forest)
        outputs = np.asarray(getattr(forest, "classes_", group.members), dtype=np.int64)
        samples = None
        if forest.bootstrap:
            samples = [items[sample] for sample in forest.estimators_samples_]
        return _Grown(group, replace(trees, value=trees.value * scale), outputs, samples)

    def _estimator(self, task: Task, seed: int) -> Any:
        """Return a forest of scikit-learn; labels are learned as values.

        The variance of 0 and 1 is half their Gini impurity, and several labels can share trees.
        """
        from sklearn import ensemble

        kind = "ExtraTrees" if self.extra else "RandomForest"
        is_classifier = task == "classes"
        default_leaf = 1 if task == "values" else 2
        return getattr(ensemble, kind + ("Classifier" if is_classifier else "Regressor"))(
            self.trees,
            bootstrap=task != "values" if self.bootstrap is None else self.bootstrap,
            max_features=self.max_features,
            min_samples_leaf=self.min_samples_leaf or default_leaf,
            random_state=seed % 2**32,
            n_jobs=self.n_jobs,
        )


@dataclass(frozen=True, eq=False)
class _Grown:
    """The trees of some outputs.

    Parameters
    ----------
    group : Outputs
        What they were grown for.
    trees : Trees
        In the units of the targets.
    outputs : array
        Of which outputs the values of leaves are; of classes, those that occur.
    samples : sequence of arrays, optional
        Positions of the items that each tree has seen, where these differ.
    """

    group: Outputs
    trees: Trees
    outputs: Array
    samples: Sequence[Array] | None

    def mean(self, values: Array) -> Array:
        """Return the mean of all trees, (n, members)."""
        mean: Array = np.zeros((len(values), len(self.group.members)))
        mean[:, self._places()] = self.trees.predict_proba(values)
        return mean

    def out_of_bag(self, values: Array, samples: Sequence[Array]) -> Array:
        """Return the mean of the trees that did not see an item, (n, members)."""
        unseen = np.ones((len(values), len(self.trees)), dtype=bool)
        for tree, sample in enumerate(samples):
            unseen[sample, tree] = False
        total: Array = np.zeros((len(values), len(self.outputs)))
        rows = self.trees.rows_at_once()
        for start in range(0, len(values), rows):
            place = slice(start, start + rows)
            leaves, free = self.trees.leaves(values[place]), unseen[place]
            for tree in range(len(self.trees)):
                items = np.flatnonzero(free[:, tree])
                total[start + items] += self.trees.value[leaves[items, tree]]
        count = unseen.sum(axis=1)
        mean: Array = np.zeros((len(values), len(self.group.members)))
        mean[:, self._places()] = total / np.maximum(count, 1)[:, None]
        mean[count == 0] = self.group.mean(self.group.known)
        return mean

    def _places(self) -> Array:
        """Return the position of the outputs among the members of the group."""
        return np.searchsorted(self.group.members, self.outputs)


def _filled(owner: Array, width: int) -> Array:
    return np.pad(owner, ((0, 0), (0, width - owner.shape[1])), constant_values=-1)
