"""SparseLinear: weighted sums of few columns of a table, for classes, labels and values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np
from scipy.sparse import csr_array
from scipy.special import log_expit, logit

from edgnn._rules import Rules, number, one_of, whole
from edgnn.models._targets import Task
from edgnn.models.counts._table_learners import (
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
    held_out_folds,
    linked,
    quietly,
    select_columns,
)

Scale = Literal["max", "sd", "none"]

#: Penalties that have not helped, one after the other, before weaker ones are no longer tried.
_PATIENCE = 3
#: Of coordinate descent. Inner folds choose among weights as they are, exact or not.
_STEPS, _TOLERANCE = 1000, 1e-3
#: How many times cheaper than a weight the intercept is to liblinear, which penalizes both.
_CHEAP = 10.0
#: Slopes so small, relative to the targets, are rounding errors.
_NOTHING = 1e-12


_RULES: Rules = {
    "strengths": whole(1),
    "weakest": number(lambda value: 0 < value < 1, "a number above 0, below 1"),
    "l1_ratio": FRACTION,
    "scale": one_of(*get_args(Scale)),
    "folds": whole(2),
    "least_items": whole(1),
}


@dataclass(frozen=True, eq=False)
class FittedSparse:
    """Weighted sums of the columns of a table, with few weights that are not zero.

    Parameters
    ----------
    task : {"classes", "labels", "values"}
        What is predicted.
    column, output, coefficient : array
        A weight: of which column, for which output, how much.
    intercept : array
        What is added, of each output.
    strength : array
        The chosen penalty of each output, as a fraction of the one that leaves no weight.
    held_out : array
        Predictions of the training items by models of inner folds that did not see them; those
        folds chose the strength.

    Shapes
    ------
    column, output, coefficient (weights,); intercept, strength (outputs,); held_out (n, outputs)
    """

    task: Task
    column: Array
    output: Array
    coefficient: Array
    intercept: Array
    strength: Array
    held_out: Array

    def predict(self, table: Table) -> Array:
        """Return probabilities of classes, probabilities of label 1, or values, (n, outputs)."""
        outputs = len(self.intercept)
        places = self.column, self.output
        weights = csr_array((self.coefficient, places), shape=(table.shape[1], outputs))
        raw = (csr_array(table) @ weights).toarray() + self.intercept
        return _predicted(raw, self.task)

    def check(self, columns: int) -> None:
        """Raise ``ValueError`` where the arrays do not fit together, or not a table so wide."""
        if self.intercept.ndim != 1:
            raise ValueError("the stored intercept is damaged: it must be a vector")
        check_predictions(self.task, self.held_out, len(self.intercept))
        check_numbers(
            coefficient=self.coefficient,
            intercept=self.intercept,
            strength=self.strength,
            held_out=self.held_out,
        )
        outputs = len(self.intercept)
        check_positions("columns", self.column, 0, columns)
        check_positions("output", self.output, 0, outputs)
        sizes = {self.column.shape, self.output.shape, self.coefficient.shape}
        fit = len(sizes) == 1 and self.strength.shape == self.intercept.shape
        if not fit or self.column.ndim != 1:
            raise ValueError("the stored sparse model is damaged: its arrays do not fit together")


@dataclass(frozen=True)
class SparseLinear:
    r"""Learn weights of columns, most of them zero.

    Values: the elastic net by coordinate descent,

    .. math:: \min_{w, b} \frac{1}{2n} |y - Xw - b|^2
              + \lambda \left(\rho |w|_1 + \frac{1 - \rho}{2} |w|^2\right)

    Labels, and each class against all others: logistic regression with an L1 penalty. The penalty
    is chosen by the error in inner folds, the same for all folds as a fraction of the penalty that
    leaves no weight. Columns are divided by their scale first, and never centered, so that a sparse
    table stays sparse.

    Parameters
    ----------
    strengths : int
        How many penalties to try, from strong to weak; weaker ones only while they help.
    weakest : float
        The last of them, as a fraction of the penalty that leaves no weight.
    l1_ratio : float
        The ρ above, for values: 1 for the lasso.
    scale : {"max", "sd", "none"}
        What columns are divided by: their largest absolute value, their standard deviation, or
        nothing.
    folds : int
        Inner folds.
    most_columns, least_items : int
        Columns that are looked at: as :func:`select_columns` says.
    """

    strengths: int = 40
    weakest: float = 1e-4
    l1_ratio: float = 0.1
    scale: Scale = "max"
    folds: int = 5
    most_columns: int = 4000
    least_items: int = 2

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
    ) -> FittedSparse:
        """Learn from a table, as :meth:`TableLearner.fit` says."""
        lesson = Lesson.of(table, targets, task, weight, outputs, seed)
        columns = select_columns(table, self.most_columns, self.least_items)
        scaled, scale = _scaled(table, columns, self.scale)
        raw: Array = np.zeros((len(lesson), lesson.outputs))
        coefficient: Array = np.zeros((len(columns), lesson.outputs))
        intercept, strength = np.zeros(lesson.outputs), np.ones(lesson.outputs)
        for problem in _problems(lesson, self.folds):
            output, known = problem.output, problem.known
            line, strength[output], left_out = self._learned(problem, scaled, seed)
            coefficient[:, output], intercept[output] = line.coefficient, line.intercept
            raw[:, output] = line.scores(scaled)
            raw[known, output] = left_out
        _never(lesson, intercept, raw)
        place, owner = np.nonzero(coefficient)
        weights = coefficient[place, owner] / scale[place]
        held_out = _predicted(raw, task)
        return FittedSparse(task, columns[place], owner, weights, intercept, strength, held_out)

    def _learned(
        self, problem: _Problem, table: csr_array, seed: int
    ) -> tuple[_Line, float, Array]:
        """Return the line at the best strength, that strength, and what folds say of the items."""
        inner = [self._path(problem, table, problem.fold != fold, seed) for fold in problem.folds]
        own = [table[problem.known[problem.fold == fold]] for fold in problem.folds]
        best: tuple[float, float, Array] | None = None
        waited = 0
        for strength in np.geomspace(1, self.weakest, self.strengths).tolist():
            raw: Array = np.empty(len(problem.known))
            for fold, path, items in zip(problem.folds, inner, own, strict=True):
                raw[problem.fold == fold] = path.at(strength).scores(items)
            loss = problem.loss(raw)
            if best is None or loss < best[0]:
                best, waited = (loss, strength, raw), 0
            else:
                waited += 1
            if waited == _PATIENCE:
                break
        assert best is not None
        everything = np.ones(len(problem.known), dtype=bool)
        return self._path(problem, table, everything, seed).at(best[1]), best[1], best[2]

    def _path(self, problem: _Problem, table: csr_array, used: Array, seed: int) -> _Path:
        """Return what learns from some of the items of a problem at any strength."""
        items, numbers, weight = table[problem.known[used]], problem.numbers, problem.weight
        if not used.any():
            return _Constant(_Line(np.zeros(table.shape[1]), problem.prior(~used)))
        line = _Line(np.zeros(table.shape[1]), problem.prior(used))
        numbers, weight = numbers[used], weight[used]
        slope = items.T @ (weight * (numbers - np.average(numbers, weights=weight)))
        largest = float(np.abs(slope).max(initial=0))
        if largest <= _NOTHING * float(np.abs(numbers).max()):
            return _Constant(line)
        if problem.task == "values":
            return _Net(items, numbers, weight, largest, self.l1_ratio)
        return _Logistic(items, numbers, weight, largest, seed)


# One output


@dataclass(frozen=True, eq=False)
class _Problem:
    """One label, one value, or one class against all others, of the items that are known.

    Shapes
    ------
    known, numbers, weight, fold : (k,)
    """

    output: int
    task: Task
    known: Array
    numbers: Array
    weight: Array
    fold: Array

    @property
    def folds(self) -> range:
        """The numbers of the inner folds."""
        return range(int(self.fold.max()) + 1)

    def prior(self, used: Array) -> float:
        """Return the raw score that needs no column."""
        mean = np.average(self.numbers[used], weights=self.weight[used])
        if self.task == "values":
            return float(mean)
        # half an item of either kind more: a label that is always 1 has finite odds
        count = int(used.sum())
        return float(logit((mean * count + 0.5) / (count + 1)))

    def loss(self, raw: Array) -> float:
        """Return the mean squared error, or the mean negative log-likelihood."""
        if self.task == "values":
            losses = (raw - self.numbers) ** 2
        else:
            losses = -log_expit(np.where(self.numbers > 0, raw, -raw))
        return float(np.average(losses, weights=self.weight))


def _problems(lesson: Lesson, folds: int) -> Iterator[_Problem]:
    """Yield a problem per label or value; per class, where there are more than two."""
    for group in lesson.one_by_one():
        known, targets = group.known, group.targets(group.known)
        fold = held_out_folds(targets, lesson.task, lesson.seed, folds)
        for output in _outputs(group):
            numbers = targets == output if lesson.task == "classes" else targets
            weight = lesson.weight[known]
            yield _Problem(output, lesson.task, known, numbers.astype(float), weight, fold)


def _outputs(group: Outputs) -> list[int]:
    """Return what is to be learned: of two classes the second, against the first."""
    is_pair = group.task == "classes" and len(group.members) <= 2
    return list(map(int, group.members[1:] if is_pair else group.members))


# What learns one output at any strength


@dataclass(frozen=True, eq=False)
class _Line:
    """A weighted sum of the columns of a scaled table."""

    coefficient: Array
    intercept: float

    def scores(self, table: csr_array) -> Array:
        """Return raw scores."""
        scores: Array = table @ self.coefficient + self.intercept
        return scores


class _Path(Protocol):
    """Learns from some items, weaker and weaker penalties one after the other."""

    def at(self, strength: float) -> _Line:
        """Learn with a fraction of the penalty that leaves no weight."""
        ...


@dataclass(frozen=True, eq=False)
class _Constant:
    """What is learned where columns say nothing."""

    line: _Line

    def at(self, strength: float) -> _Line:
        """Return the same line at any strength."""
        return self.line


class _Net:
    """The elastic net; each strength starts from the weights of the one before.

    Coordinate descent on the inner products of the columns: a step costs the number of columns,
    whatever the number of items, and a sparse table stays sparse.
    """

    def __init__(
        self, table: csr_array, numbers: Array, weight: Array, largest: float, l1_ratio: float
    ) -> None:
        root, total = np.sqrt(weight), float(weight.sum())
        self._center = (table.T @ weight) / total
        self._mean = float(numbers @ weight) / total
        self._target = root * (numbers - self._mean)
        weighted = csr_array(table.multiply(root[:, None]))
        inner = (weighted.T @ weighted).toarray()
        self._inner = inner - total * np.outer(self._center, self._center)
        self._products = table.T @ (weight * (numbers - self._mean))
        self._coefficient: Array = np.zeros(table.shape[1])
        # scikit-learn takes penalties per item
        self._largest, self._l1_ratio = largest / len(numbers) / l1_ratio, l1_ratio

    def at(self, strength: float) -> _Line:
        """Learn with a fraction of the penalty that leaves no weight."""
        from sklearn.linear_model import enet_path

        shape = len(self._target), len(self._coefficient)
        found = quietly(
            enet_path,
            np.broadcast_to(0.0, shape),  # inner products are enough
            self._target,
            l1_ratio=self._l1_ratio,
            alphas=[strength * self._largest],
            precompute=self._inner,
            Xy=self._products,
            coef_init=self._coefficient,
            check_input=False,
            max_iter=_STEPS,
            tol=_TOLERANCE,
        )
        self._coefficient = found[1][:, 0]
        intercept = self._mean - float(self._center @ self._coefficient)
        return _Line(self._coefficient.copy(), intercept)


class _Logistic:
    """Logistic regression with an L1 penalty."""

    def __init__(
        self, table: csr_array, numbers: Array, weight: Array, largest: float, seed: int
    ) -> None:
        self._given = table, numbers, weight
        self._largest, self._seed = largest, seed

    def at(self, strength: float) -> _Line:
        """Learn with a fraction of the penalty that leaves no weight."""
        from sklearn.linear_model import LogisticRegression

        table, numbers, weight = self._given
        machine = LogisticRegression(
            C=1 / (strength * self._largest),
            solver="liblinear",
            # liblinear penalizes the intercept too: this makes it cheap
            intercept_scaling=_CHEAP,
            tol=_TOLERANCE,
            max_iter=_STEPS,
            random_state=self._seed % 2**32,
            **_only_l1(LogisticRegression),
        )
        quietly(machine.fit, table, numbers, weight)
        return _Line(machine.coef_[0].copy(), float(machine.intercept_[0]))


def _only_l1(kind: Any) -> dict[str, Any]:
    """Return how a version of scikit-learn asks for an L1 penalty; from 1.8 on by its ratio."""
    return {"penalty": "l1"} if kind().penalty == "l2" else {"l1_ratio": 1.0}


# Tables and predictions


def _scaled(table: Table, columns: Array, scale: Scale) -> tuple[csr_array, Array]:
    """Return columns of a table divided by their scale, and that scale."""
    chosen = csr_array(table[:, columns], dtype=np.float64)
    if scale == "none":
        size: Array = np.ones(len(columns))
    elif scale == "max":
        size = np.abs(chosen).max(axis=0).toarray().ravel()
    else:
        mean = np.asarray(chosen.mean(axis=0)).ravel()
        square = np.asarray((chosen * chosen).mean(axis=0)).ravel()
        size = np.sqrt(np.maximum(square - mean**2, np.finfo(float).eps * square))
    divided = chosen.copy()
    divided.data = chosen.data / size[chosen.indices]
    # liblinear takes no wider ones
    divided.indices, divided.indptr = (
        places.astype(np.int32) for places in (divided.indices, divided.indptr)
    )
    return divided, size


def _never(lesson: Lesson, intercept: Array, raw: Array) -> None:
    """Set, in place, the scores of classes that no item has, so that they get no probability."""
    if lesson.task != "classes":
        return
    counts = np.bincount(lesson.targets[lesson.weight > 0], minlength=lesson.outputs)
    intercept[counts == 0] = NEVER
    raw[:, counts == 0] = NEVER


def _predicted(raw: Array, task: str) -> Array:
    """Return predictions; of more than two classes each stands against all others."""
    if task == "classes" and raw.shape[1] > 2:
        return linked(log_expit(raw), task)
    return linked(raw, task)
