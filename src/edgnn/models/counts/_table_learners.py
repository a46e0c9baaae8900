"""What learns from a table of numbers: one protocol, and what all such learners share."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, get_args

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.special import expit, logit, softmax

from edgnn._rules import Rule, Rules, check, number, whole
from edgnn.errors import EstimatorError
from edgnn.models._targets import Task

Array = np.ndarray[Any, Any]
#: One row per item: counts or other numbers.
Table: TypeAlias = csr_array | Array

#: Numbers of a plain table; scikit-learn's boosting copies it to twice as many bytes.
_DENSE = 2**27
#: Numbers of a piece of a table that is predicted at once.
_PIECE = 2**24
#: The raw score of a class that no training item has: far below all others, and finite.
NEVER = -1000.0

#: Options that several learners have.
FRACTION: Rule = number(lambda value: 0 < value <= 1, "a number above 0, at most 1")
JOBS: Rule = Rule(
    lambda value: value == -1 or whole(1).holds(value), "a whole number, 1 or more, or -1 (all)"
)
COLUMN_RULES: Rules = {"most_columns": whole(1), "least_items": whole(1), "n_jobs": JOBS}


class FittedTable(Protocol):
    """What a learner has learned: plain arrays and facts, which a run folder can hold.

    Stored by :func:`pack_fields` and read by :func:`unpack_fields`; call :meth:`check` then.
    """

    @property
    def task(self) -> Task:
        """What the targets are."""

    @property
    def held_out(self) -> Array:
        """What :meth:`predict` would say of the training items had they not been learned from.

        The items of the table as it was given to ``fit``, in its order and shaped as predictions.
        An item whose target is NaN, or whose weight is zero, was not learned from to begin with.
        """

    def predict(self, table: Table) -> Array:
        """Return predictions.

        Parameters
        ----------
        table : csr_array or array
            The columns are those of the table that was learned from.

        Shapes
        ------
        → (n, K) probabilities of classes; (n, T) probabilities of 1; (n, T) values
        """
        ...

    def check(self, columns: int) -> None:
        """Raise ``ValueError`` where the arrays do not fit together, or not a table so wide."""
        ...


class TableLearner(Protocol):
    """Learns classes, labels or values from a table of numbers; a frozen dataclass of options."""

    def fit(
        self,
        table: Table,
        targets: Array,
        task: Task,
        *,
        weight: Array | None = None,
        outputs: int | None = None,
        seed: int = 0,
    ) -> FittedTable:
        """Learn from a table.

        Parameters
        ----------
        table : csr_array or array
            Finite numbers, one row per item.
        targets : array
            ``"classes"``: class numbers from 0. ``"labels"``: 0, 1, or NaN where unknown.
            ``"values"``: real numbers, NaN where unknown.
        task : {"classes", "labels", "values"}
            What the targets are.
        weight : array, optional
            How much each item counts; zero: not at all.
        outputs : int, optional
            How many classes there are; default: as many as the highest class number says.
        seed : int
            The random seed.

        Shapes
        ------
        table (n, d); targets (n,) of classes, else (n, T); weight (n,)
        """
        ...


@dataclass(frozen=True, eq=False)
class Lesson:
    """A checked table with targets to learn.

    Parameters
    ----------
    table, task, seed
        As given to ``fit``.
    targets : array
        Class numbers, or columns of labels or values.
    weight : array
        How much each item counts, 1 on average; zero: not at all.
    outputs : int
        Number of classes, labels or values.

    Shapes
    ------
    table (n, d); targets (n,) of classes, else (n, outputs); weight (n,)
    """

    table: Table
    targets: Array
    task: Task
    weight: Array
    outputs: int
    seed: int

    @classmethod
    def of(
        cls,
        table: Table,
        targets: Array,
        task: Task,
        weight: Array | None,
        outputs: int | None,
        seed: int,
    ) -> Lesson:
        """Check what is given to ``fit``."""
        items = table.shape[0]
        targets = np.asarray(targets)
        if task != "classes":
            targets = targets.reshape(len(targets), -1).astype(np.float64)
        if len(targets) != items or not items:
            raise EstimatorError(f"there are {len(targets)} targets for {items} rows of a table")
        _refuse_infinite(table)
        weights = _checked_weight(weight, items)
        if task == "labels" and not np.isin(targets[~np.isnan(targets)], (0, 1)).all():
            raise EstimatorError("labels must be 0, 1 or NaN")
        if task == "classes":
            classes = int(targets.max()) + 1 if outputs is None else outputs
            if targets.min() < 0 or targets.max() >= classes:
                raise EstimatorError(f"class numbers must be 0 to {classes - 1}")
        else:
            classes = targets.shape[1]
            _refuse_unknown(targets, weights)
        return cls(table, targets, task, weights, classes, seed)

    def __len__(self) -> int:
        return len(self.targets)

    def one_by_one(self) -> Iterator[Outputs]:
        """Yield the classes together, or each label or value."""
        for members in [range(self.outputs)] if self.task == "classes" else range(self.outputs):
            yield Outputs.of(self, np.atleast_1d(members))

    def by_known_items(self) -> Iterator[Outputs]:
        """Yield the classes together, or labels or values that are known of the same items."""
        if self.task == "classes":
            yield from self.one_by_one()
            return
        unknown, pattern = np.unique(np.isnan(self.targets), axis=1, return_inverse=True)
        for which in range(unknown.shape[1]):
            yield Outputs.of(self, np.flatnonzero(pattern.ravel() == which))


@dataclass(frozen=True, eq=False)
class Outputs:
    """Some outputs of a lesson that are learned together.

    Parameters
    ----------
    lesson : Lesson
        All outputs.
    members : array
        Which outputs.
    known : array
        Positions of the items to learn them from.
    """

    lesson: Lesson
    members: Array
    known: Array

    @classmethod
    def of(cls, lesson: Lesson, members: Array) -> Outputs:
        """Return outputs whose targets are known of the same items."""
        learned = lesson.weight > 0
        if lesson.task != "classes":
            learned &= ~np.isnan(lesson.targets[:, members[0]])
        return cls(lesson, members, np.flatnonzero(learned))

    @property
    def task(self) -> Task:
        """What the targets are."""
        return self.lesson.task

    def targets(self, items: Array) -> Array:
        """Return class numbers, or numbers; a vector where there is one output."""
        if self.task == "classes":
            codes: Array = self.lesson.targets[items]
            return codes
        columns: Array = self.lesson.targets[np.ix_(items, self.members)]
        return columns[:, 0] if len(self.members) == 1 else columns

    def weights(self, items: Array) -> Array | None:
        """Return the weights of items; ``None`` where all of the lesson count alike."""
        weight = self.lesson.weight
        return weight[items] if (weight != weight[0]).any() else None

    def mean(self, items: Array) -> Array:
        """Return weighted means: class frequencies, or the mean of each output."""
        weight, targets = self.lesson.weight[items], self.targets(items)
        if self.task == "classes":
            sums: Array = np.bincount(targets, weight, minlength=len(self.members))
            frequency: Array = sums / weight.sum()
            return frequency
        return np.atleast_1d(np.average(targets, axis=0, weights=weight))

    def prior(self, items: Array) -> Array:
        """Return the raw scores of a model that knows targets alone."""
        mean = self.mean(items)
        if self.task == "values":
            return mean
        if self.task == "labels":
            # half an item of either kind more: a label that is always 1 has finite odds
            odds: Array = logit((mean * len(items) + 0.5) / (len(items) + 1))
            return odds
        return np.where(mean > 0, np.log(np.where(mean > 0, mean, 1)), NEVER)


def _refuse_infinite(table: Table) -> None:
    numbers: Any = table.data if issparse(table) else np.asarray(table)
    with np.errstate(over="ignore"):
        finite = np.isfinite(numbers.astype(np.float32, copy=False)).all()
    if not finite:
        raise EstimatorError("the table holds NaN, infinity or numbers beyond those of float32")


def _checked_weight(weight: Array | None, items: int) -> Array:
    """Return weights of mean 1."""
    if weight is None:
        return np.ones(items)
    weights: Array = np.asarray(weight, dtype=np.float64)
    if weights.shape != (items,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise EstimatorError(f"weight must be {items} finite numbers, none of them negative")
    if not weights.any():
        raise EstimatorError("all weights are zero: there is nothing to learn")
    return weights / float(weights.mean())


def _refuse_unknown(targets: Array, weight: Array) -> None:
    unknown = np.isnan(targets[weight > 0]).all(axis=0)
    if unknown.any():
        raise EstimatorError(
            f"target column {int(unknown.argmax())} (counted from 0) is NaN for all items to learn "
            "from: leave the column out, or give items whose value is known"
        )


# Columns and pieces of tables


def select_columns(table: Table, most: int | None = None, least: int = 2) -> Array:
    """Return which columns to learn from: not constant, and present in several items.

    A number is present where it is not zero. Of more than ``most`` columns those stay that are
    present in the most items; of equals, the first.

    Parameters
    ----------
    table : csr_array or array
        One row per item.
    most : int, optional
        How many columns at most.
    least : int
        In how many items a column must be present.

    Shapes
    ------
    table (n, d) → (columns,), rising
    """
    present = np.asarray((table != 0).sum(axis=0)).ravel()
    columns = np.flatnonzero((present >= least) & (_spread(table) > 0))
    if most is not None and len(columns) > most:
        order = np.argsort(-present[columns], kind="stable")
        columns = np.sort(columns[order[:most]])
    return columns


def _spread(table: Table) -> Array:
    """Return the difference of the largest and the smallest number of each column."""
    highest, lowest = table.max(axis=0), table.min(axis=0)
    if issparse(table):
        highest, lowest = highest.toarray(), lowest.toarray()
    spread: Array = np.asarray(highest).ravel() - np.asarray(lowest).ravel()
    return spread


def trees_columns(table: Table, most: int, least: int) -> Array:
    """Return the columns for trees: so few that they fit into memory as a plain table."""
    return select_columns(table, min(most, max(1, _DENSE // max(1, table.shape[0]))), least)


def dense(table: Table, columns: Array) -> Array:
    """Return some columns as a plain array of float32; of no columns, one of zeros.

    Shapes
    ------
    (n, d) → (n, columns)
    """
    if not len(columns):
        return np.zeros((table.shape[0], 1), dtype=np.float32)
    chosen: Any = table[:, columns].astype(np.float32)
    plain: Array = chosen.toarray() if issparse(chosen) else np.ascontiguousarray(chosen)
    return plain


def dense_pieces(table: Table, columns: Array, rows: int) -> Iterator[tuple[slice, Array]]:
    """Yield a table in plain pieces of at most so many rows, with the place of their items."""
    step = max(1, min(rows, _PIECE // max(1, len(columns))))
    for start in range(0, table.shape[0], step):
        place = slice(start, start + step)
        yield place, dense(table[place], columns)


# Targets


def held_out_folds(targets: Array, task: Task, seed: int, folds: int = 5) -> Array:
    """Deal items into inner folds of equal size, like items into different folds.

    Like are items of one class, or of values that are neighbors in their order, or whose first
    label is the same. Of fewer items than folds, each is a fold.

    Parameters
    ----------
    targets : array
        Class numbers, or labels or values, of which the first column decides.
    task : {"classes", "labels", "values"}
        What the targets are.
    seed : int
        The random seed.
    folds : int
        How many.

    Shapes
    ------
    targets (n,) or (n, T) → (n,), numbers from 0
    """
    key = targets if targets.ndim == 1 else targets[:, 0]
    count = max(1, min(folds, len(key)))
    random = np.random.default_rng(seed % 2**64)
    shuffled = random.permutation(len(key))
    order = shuffled[np.argsort(key[shuffled], kind="stable")]
    dealt = np.arange(len(key)) % count
    if task == "values":
        # shuffled among as many neighbors as there are folds: else one fold had all the lowest
        dealt = np.argsort(np.arange(len(key)) // count + random.random(len(key))) % count
    fold: Array = np.empty(len(key), dtype=np.int64)
    fold[order] = dealt
    return fold


def linked(raw: Array, task: str) -> Array:
    """Return predictions from raw scores: softmax of classes, sigmoid of labels, values as is.

    Shapes
    ------
    (n, outputs) → (n, outputs)
    """
    if task == "values":
        return raw
    if task == "labels":
        probability: Array = expit(raw)
        return probability
    if raw.shape[1] == 2:
        second: Array = expit(raw[:, 1] - raw[:, 0])  # the bits of scikit-learn
        return np.stack([1 - second, second], axis=1)
    of_classes: Array = softmax(raw, axis=1)
    return of_classes


def quietly(fit: Any, *given: Any, **options: Any) -> Any:
    """Learn; weights that are not exact are judged by the inner folds as they are.

    That there are nearly as many classes as items is nothing to warn of either.
    """
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        return fit(*given, **options)


def check_options(learner: Any, rules: Rules) -> None:
    """Raise where an option of a learner makes no sense."""
    check(vars(learner), rules, EstimatorError)


def check_predictions(task: str, held_out: Array, outputs: int) -> None:
    """Raise where stored predictions of the training items are not of a task and its outputs."""
    if task not in get_args(Task):
        raise ValueError(f"the stored task is damaged: it must be one of {get_args(Task)}")
    if held_out.ndim != 2 or held_out.shape[1] != outputs:
        raise ValueError(f"the stored held_out is damaged: it must have {outputs} columns")


def check_numbers(**arrays: Array) -> None:
    """Raise where a stored array holds NaN or infinity."""
    for name, array in arrays.items():
        if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
            raise ValueError(f"the stored {name} is damaged: it must hold finite numbers")


def check_positions(name: str, positions: Array, low: int, high: int) -> None:
    """Raise where a stored array holds other whole numbers than from ``low`` to below ``high``."""
    whole = positions.dtype.kind in "iu"
    if not whole or not ((positions >= low) & (positions < high)).all():
        raise ValueError(f"the stored {name} is damaged: it must be from {low} to {high - 1}")
