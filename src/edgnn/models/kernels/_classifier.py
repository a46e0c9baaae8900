"""KernelClassifier: what closed forms and kernel methods share, from items to predictions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from torch import Tensor

from edgnn._rules import Rule, Rules, check
from edgnn._words import preview, short
from edgnn.errors import EstimatorError, RunError
from edgnn.models._data import Data
from edgnn.models._finite import check_outputs
from edgnn.models._items import Items
from edgnn.models._model import ClassifierModel, new_model
from edgnn.models._predictions import Predictions
from edgnn.models._seeds import root_seed
from edgnn.models._splits import OnSplit, Split, in_threads, known_splits
from edgnn.models._state import decode_parameters, encode_parameters, pack_items, unpack_items
from edgnn.models.kernels._checks import Array
from edgnn.models.kernels._ridge import FittedRidge, RidgeSolver, logits
from edgnn.models.kernels._solvers import Fitted, Kernels, Solver, fitted_from, fitted_state


def _is_job_count(value: Any) -> bool:
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return value is None or (is_whole and 0 < abs(int(value)) < 2**15)


_JOBS = Rule(_is_job_count, "a number of jobs, -1 for one per core, or None for one")


@dataclass(kw_only=True, eq=False, repr=False)
class SplitClassifier(ClassifierModel):
    """A classifier without epochs that learns from many splits and shares what it can.

    Attributes
    ----------
    rules : dict
        Which values the parameters of a subclass may have.
    """

    rules: ClassVar[Rules] = {}

    n_jobs: int | None = None
    random_state: Any = None

    def check_parameters(self) -> None:
        """Raise where a parameter makes no sense."""
        check(self.get_params(deep=False), {**self.rules, "n_jobs": _JOBS}, EstimatorError)

    def predict_splits(
        self, X: Any, y: Any, splits: Iterable[Any], *, on_split: OnSplit | None = None
    ) -> list[dict[str, Any]]:
        """Learn from every split and predict its test set.

        A split gets what a fresh classifier with ``random_state=split.seed`` predicts for
        ``X[split.test]`` after ``fit`` on the training and validation set together, positions
        rising. Classes of test items are not looked at.

        Parameters
        ----------
        X, y
            As in :meth:`fit`, of all items.
        splits : iterable
            Objects with ``train``, ``valid`` (or ``None``) and ``test``, positions in ``X``, and
            ``seed``.
        on_split : callable, optional
            Called with the number of splits that are done.

        Returns
        -------
        list of dict
            For each split ``"prediction"``, ``"chosen"`` and ``"training_accuracy"``, that on the
            training and validation set; ``"probability"`` and ``"classes"`` where there are
            probabilities.
        """
        self.check_parameters()
        data = self.read_training(X, y)
        chosen = known_splits(splits, len(data))
        shared = self._shared(data)
        groups = self._groups(data, chosen)
        work = [
            partial(self._results, data, shared, [chosen[number] for number in group])
            for group in groups
        ]
        results: list[dict[str, Any]] = [{} for _ in chosen]
        for group, answers in zip(groups, in_threads(work, self.n_jobs, on_split), strict=True):
            for number, answer in zip(group, answers, strict=True):
                results[number] = answer
        return results

    @abstractmethod
    def _shared(self, data: Data) -> Any:
        """Return what all splits share, such as kernel matrices."""

    def _groups(self, data: Data, splits: Sequence[Split]) -> list[list[int]]:
        """Return which splits are worked on together."""
        return [[number] for number in range(len(splits))]

    @abstractmethod
    def _results(self, data: Data, shared: Any, splits: Sequence[Split]) -> list[dict[str, Any]]:
        """Learn from the splits of a group."""


class SolvedClassifier(SplitClassifier):
    """A classifier that predicts from kernel values of new items against the training items.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    chosen_ : dict
        What was chosen inside the training set.
    """

    _fitted: Fitted
    _codes: Array

    @abstractmethod
    def _compared(self, items: Items) -> Array:
        """Return the chosen kernel's values of new items against the training items."""

    def _keep(self, fitted: Fitted, data: Data) -> None:
        """Take what was learned; from here on the classifier is fitted."""
        self._fitted, self._codes, self.chosen_ = fitted, data.codes, fitted.chosen
        self.remember(data)

    def predict(self, X: Any) -> Array:
        """Return the class of each item.

        Shapes
        ------
        → (n,)
        """
        found: Array = self.classes_[self._fitted.predict(self._kernel_values(X))]
        return found

    def decision_function(self, X: Any) -> Array:
        """Return what decides: of two classes, a number above zero for the second; else one each.

        Shapes
        ------
        → (n,) or (n, K)
        """
        return self._fitted.scores(self._kernel_values(X))

    def _kernel_values(self, X: Any) -> Array:
        """Return what decides about items; raise where they or the weights are too large."""
        K = self._compared(self.read_items(X))
        check_outputs(self._fitted.scores(K))
        return K

    def _has_probabilities(self) -> bool:
        return False

    @available_if(lambda self: self._has_probabilities())  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, as sure as left-out training items bear out.

        Shapes
        ------
        → (n, K)
        """
        return self._fitted.probabilities(self._kernel_values(X))  # type: ignore[attr-defined,no-any-return]

    def predictions(self, X: Any) -> Predictions:
        """Return predictions, with probabilities where there are any."""
        K = self._kernel_values(X)
        probability = None
        if hasattr(self._fitted, "probabilities"):
            probability = self._fitted.probabilities(K)
        return Predictions(self.classes_[self._fitted.predict(K)], probability)

    def get_state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Return what the solver has learned."""
        return fitted_state(self._fitted, self._codes)

    def set_state(self, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """Set what the solver has learned."""
        self._fitted, self._codes = fitted_from(facts, tensors)
        self.chosen_ = self._fitted.chosen


class KernelClassifier(SolvedClassifier):
    """A classifier that compares items in pairs and knows nothing else of them.

    A subclass says how items are represented, which kernels compare two representations, and what
    learns from the kernels. What is said of an item depends on that item alone, never on which
    others it came with, and no label enters.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    chosen_ : dict
        What was chosen inside the training set.
    """

    @abstractmethod
    def _represent(self, items: Items, reference: Any = None) -> Any:
        """Represent items.

        Parameters
        ----------
        items : Graphs or Nodes
            Any items.
        reference : object, optional
            The representation of the training items, which these are to be compared with.
        """

    @abstractmethod
    def _kernels(self, rows: Any, columns: Any) -> dict[Hashable, Array]:
        """Compare two representations by every candidate kernel.

        Returns
        -------
        dict
            Matrices (n, m) by setting, the simplest setting first.
        """

    @abstractmethod
    def _solver(self) -> Solver:
        """Return what learns from the kernels."""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from items and their classes.

        Parameters
        ----------
        X : Graphs or Nodes, or a list of them
            The items.
        y : array-like
            One class per item.
        """
        self.check_parameters()
        data = self.read_training(X, y)
        seed, solver = root_seed(self.random_state), self._solver()
        represented = self._represent(data.items)
        kernels = self._kernels(represented, represented)
        fitted = solver.fit(kernels, data.codes, data.encoding.outputs, seed)
        self._seed, self._as_fitted = seed, clone(self)
        self._trained_on = represented
        self._keep(fitted, data)
        return self

    @cached_property
    def _trained_on(self) -> Any:
        # a loaded classifier has the training items and represents them when it first predicts
        return self._as_fitted._represent(self._training_items())

    def _shared(self, data: Data) -> Kernels:
        represented = self._represent(data.items)
        return self._kernels(represented, represented)

    def _results(self, data: Data, shared: Any, splits: Sequence[Split]) -> list[dict[str, Any]]:
        return [solved_split(self._solver(), shared, data, split)[0] for split in splits]

    def _compared(self, items: Items) -> Array:
        then = self._as_fitted  # parameters may have been set anew since
        new = then._represent(items, self._trained_on)
        kernels = then._kernels(new, self._trained_on)
        setting = self._fitted.setting
        if setting not in kernels:
            raise RunError(
                f"the model's kernel {short(setting)} is none of those that it compares by, "
                f"{preview(list(kernels))}: its run folder is damaged"
            )
        compared: Array = kernels[setting]
        return compared

    def get_state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Return the training items, and what the solver has learned from them."""
        facts, tensors = super().get_state()
        facts["fitted_with"] = encode_parameters(self._as_fitted)
        return facts, tensors | pack_items(self._training_items())

    def set_state(self, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """Set the training items, and what the solver has learned from them."""
        super().set_state(facts, tensors)
        self._as_fitted = type(self)(**decode_parameters(facts["fitted_with"], new_model))
        self._as_fitted.check_parameters()
        self._items = unpack_items(tensors)
        if len(self._items) != len(self._codes):
            raise ValueError(f"{len(self._items)} training items have {len(self._codes)} classes")


class RidgeClassifier(KernelClassifier):
    """A classifier by kernel ridge: one exact solution, and exact leave-one-out decisions."""

    _fitted: FittedRidge

    def _has_probabilities(self) -> bool:
        return True

    @property
    def loo_decision_(self) -> Array:
        """The decision on each training item by the model that is fitted without it."""
        return self._ridge().loo_decision

    @property
    def loo_error_(self) -> float:
        """Mean squared error of the left-out decisions; targets are −1 and 1, or 0 and 1."""
        return float(self._ridge().loo_error)

    @property
    def loo_score_(self) -> float:
        """Accuracy of the left-out decisions: what to expect of new items, without a test set."""
        return float(np.mean(logits(self.loo_decision_).argmax(axis=1) == self._codes))

    def _solver(self) -> Solver:
        return RidgeSolver()

    def _ridge(self) -> FittedRidge:
        self._check_fitted()
        return self._fitted


def solved_split(
    solver: Solver, kernels: Kernels, data: Data, split: Split
) -> tuple[dict[str, Any], Fitted]:
    """Learn from the known items of a split; return its results, and what was learned."""
    known, test = split.known, split.test
    among = {setting: K[np.ix_(known, known)] for setting, K in kernels.items()}

    def compared(setting: Hashable) -> Array:
        new: Array = kernels[setting][np.ix_(test, known)]
        return new

    return solved_among(solver, among, compared, data.y[known], split.seed)


def solved_among(
    solver: Solver,
    among: Kernels,
    compared: Callable[[Hashable], Array],
    y: Array,
    seed: int,
) -> tuple[dict[str, Any], Fitted]:
    """Learn from kernels among known items, and predict others.

    Parameters
    ----------
    solver : Solver
        What learns.
    among : mapping
        Kernel matrices of the known items.
    compared : callable
        Returns the values of one of these kernels for the other items against the known ones.
    y : array
        The classes of the known items.
    seed : int
        The random seed.
    """
    classes, codes = np.unique(y, return_inverse=True)
    fitted = solver.fit(among, codes, len(classes), seed)
    K = compared(fitted.setting)
    result = {
        "prediction": classes[fitted.predict(K)],
        "chosen": fitted.chosen,
        "training_accuracy": float(np.mean(fitted.predict(among[fitted.setting]) == codes)),
    }
    if hasattr(fitted, "probabilities"):
        result |= {"probability": fitted.probabilities(K), "classes": classes}
    return result, fitted
