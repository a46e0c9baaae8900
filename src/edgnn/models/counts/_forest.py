"""Forest: random trees on a table of counts, for classes, labels and values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from edgnn._rules import FLAG, Rule, Rules, whole
from edgnn.models._seeds import member_seed
from edgnn.models._targets import Task
from edgnn.models.counts._table_learners import (
    COLUMN_RULES,
    FRACTION,
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
    quietly,
    trees_columns,
)
from edgnn.models.counts._trees import Trees

_RULES: Rules = {
    **COLUMN_RULES,
    "trees": whole(1),
    "extra": FLAG,
    "max_features": FRACTION.or_word("sqrt", "the square root of their number"),
    "min_samples_leaf": whole(1).or_none("2, of values 1"),
    "bootstrap": Rule(lambda value: value is None or FLAG.holds(value), "True, False or None"),
    "folds": whole(2),
}


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
        Of each training item, the mean of the trees that did not see it; of an item that all trees
        saw, the mean target.

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
        return total / self._trees_of_outputs()

    def _trees_of_outputs(self) -> Array:
        """Return how many trees each output has; all are of every class, also where it is 0."""
        outputs = self.held_out.shape[1]
        if self.task == "classes":
            return np.full(outputs, len(self.trees))
        return np.bincount(self.output[self.output >= 0], minlength=outputs)

    def check(self, columns: int) -> None:
        """Raise ``ValueError`` where the arrays do not fit together, or not a table so wide."""
        outputs = self.held_out.shape[-1] if self.held_out.ndim else 0
        check_predictions(self.task, self.held_out, outputs)
        check_numbers(held_out=self.held_out)
        check_positions("columns", self.columns, 0, columns)
        check_positions("output", self.output, -1, outputs)
        self.trees.check(max(1, len(self.columns)))
        if self.output.shape != (len(self.trees), self.trees.value.shape[1]):
            raise ValueError("the stored forest is damaged: trees and outputs do not fit")
        if not self._trees_of_outputs().all():
            raise ValueError("the stored forest is damaged: an output has no tree")


@dataclass(frozen=True)
class Forest:
    """Learn many random trees; their mean is the prediction.

    No tree sees all items, so that every item is predicted by the trees that did not see it, at no
    cost: a tree sees a bootstrap sample, or all items but those of one fold. The latter predicts
    values better, where trees are best grown from all there is. Labels or values that are known of
    the same items share their trees.

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
        How many folds there are to leave out, without bootstrap samples.
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
    folds: int = 10
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
    ) -> FittedForest:
        """Learn from a table, as :meth:`TableLearner.fit` says."""
        lesson = Lesson.of(table, targets, task, weight, outputs, seed)
        columns = trees_columns(table, self.most_columns, self.least_items)
        values = dense(table, columns)
        held_out: Array = np.zeros((len(lesson), lesson.outputs))
        grown: list[_Grown] = []
        for number, group in enumerate(lesson.by_known_items()):
            forests = list(self._grown(group, values, member_seed(seed, number)))
            held_out[:, group.members] = _out_of_bag(group, forests, values)
            grown += forests
        widest = max(len(forest.outputs) for forest in grown)
        output = np.concatenate([forest.output(widest) for forest in grown])
        trees = Trees.joined([forest.trees for forest in grown])
        return FittedForest(task, columns, trees, output, held_out)

    def _grown(self, group: Outputs, values: Array, seed: int) -> Iterator[_Grown]:
        """Yield forests of some outputs: one of bootstrap samples, or one per fold left out."""
        known = group.known
        bootstrap = group.task != "values" if self.bootstrap is None else self.bootstrap
        if bootstrap or len(known) < 2 or self.trees < 2:
            yield self._forest(group, values, known, self.trees, bootstrap, seed)
            return
        folds = min(self.folds, self.trees)
        fold = held_out_folds(group.targets(known), group.task, seed, folds)
        counts = np.bincount(np.arange(self.trees) % (fold.max() + 1)).tolist()
        for number, trees in enumerate(counts):
            own = member_seed(seed, number)
            yield self._forest(group, values, known[fold != number], trees, False, own)

    def _forest(
        self,
        group: Outputs,
        values: Array,
        items: Array,
        trees: int,
        bootstrap: bool,
        seed: int,
    ) -> _Grown:
        """Learn some outputs from some items.

        Labels are learned as values: the variance of 0 and 1 is half their Gini impurity, and
        several labels can share trees.
        """
        from sklearn import ensemble

        kind = "ExtraTrees" if self.extra else "RandomForest"
        task = "Classifier" if group.task == "classes" else "Regressor"
        default_leaf = 1 if group.task == "values" else 2
        forest = getattr(ensemble, kind + task)(
            trees,
            bootstrap=bootstrap,
            max_features=self.max_features,
            min_samples_leaf=self.min_samples_leaf or default_leaf,
            random_state=seed % 2**32,
            n_jobs=self.n_jobs,
        )
        targets, scale = group.targets(items), np.ones(1)
        if targets.ndim == 2 and group.task == "values":
            # outputs count alike, whatever their units
            spread = targets.std(axis=0)
            scale = np.where(spread > 0, spread, 1.0)
        weight = group.weights(items)
        quietly(forest.fit, values[items], targets / scale, sample_weight=weight)
        return _Grown.of(forest, group, items, scale)


@dataclass(frozen=True, eq=False)
class _Grown:
    """The trees of some outputs.

    Parameters
    ----------
    trees : Trees
        In the units of the targets.
    outputs : array
        Of which outputs the values of leaves are; of classes, those that occur.
    samples : sequence of arrays
        Positions of the items that each tree has seen.
    """

    trees: Trees
    outputs: Array
    samples: Sequence[Array]

    @classmethod
    def of(cls, forest: Any, group: Outputs, items: Array, scale: Array) -> _Grown:
        """Take the trees out of a forest of scikit-learn that was fitted to some items."""
        trees = Trees.of_forest(forest)
        outputs = np.asarray(getattr(forest, "classes_", group.members), dtype=np.int64)
        samples = [items] * len(trees)
        if forest.bootstrap:
            samples = [items[sample] for sample in forest.estimators_samples_]
        return cls(replace(trees, value=trees.value * scale), outputs, samples)

    def output(self, width: int) -> Array:
        """Return which outputs the values of each tree are of, (trees, width); −1: of none."""
        padded = np.pad(self.outputs, (0, width - len(self.outputs)), constant_values=-1)
        return np.tile(padded, (len(self.trees), 1))

    def unseen(self, items: int) -> Array:
        """Return which items each tree has not seen, (n, trees)."""
        unseen = np.ones((items, len(self.trees)), dtype=bool)
        for tree, sample in enumerate(self.samples):
            unseen[sample, tree] = False
        return unseen

    def sums(self, values: Array, unseen: Array) -> Array:
        """Return the sum of what the trees say that did not see an item, (n, outputs)."""
        total: Array = np.zeros((len(values), len(self.outputs)))
        anywhere = np.flatnonzero(unseen.any(axis=1))
        rows = self.trees.rows_at_once()
        for start in range(0, len(anywhere), rows):
            items = anywhere[start : start + rows]
            leaves, free = self.trees.leaves(values[items]), unseen[items]
            for tree in range(len(self.trees)):
                own = np.flatnonzero(free[:, tree])
                total[items[own]] += self.trees.value[leaves[own, tree]]
        return total


def _out_of_bag(group: Outputs, forests: Sequence[_Grown], values: Array) -> Array:
    """Return the mean of the trees that did not see an item, (n, members)."""
    total: Array = np.zeros((len(values), len(group.members)))
    count: Array = np.zeros((len(values), 1))
    for forest in forests:
        unseen = forest.unseen(len(values))
        places = np.searchsorted(group.members, forest.outputs)
        total[:, places] += forest.sums(values, unseen)
        count += unseen.sum(axis=1, keepdims=True)
    return np.where(count > 0, total / np.maximum(count, 1), group.mean(group.known))
