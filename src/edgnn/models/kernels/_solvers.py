"""What learns from kernel matrices of a training set, and chooses there among kernels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from torch import Tensor

from edgnn._rules import POSITIVE, Rules, whole
from edgnn.errors import RunError
from edgnn.models._probabilities import stored_temperature
from edgnn.models._state import pack_fields, to_tensor, unpack_fields
from edgnn.models.kernels._checks import Array

Kernels = Mapping[Hashable, Array]

#: For the parameters ``C`` and ``folds`` of classifiers that use :class:`SVMSolver`.
SVM_RULES: Rules = {"C": POSITIVE.or_several(), "folds": whole(2)}

_MOST_STEPS = 10_000_000  # only kernels far out of scale need more; scikit-learn then warns


class Fitted(Protocol):
    """What a solver has learned; with ``probabilities(K)`` beside it where it can tell them."""

    @property
    def setting(self) -> Any:
        """Which of the kernels it chose."""

    @property
    def chosen(self) -> dict[str, Any]:
        """Everything it chose, as plain values."""

    def predict(self, K: Array) -> Array:
        """Return class numbers from the kernel values of new items against the training items."""
        ...

    def scores(self, K: Array) -> Array:
        """Return what decides: of two classes (n,), above zero for the second; else (n, K)."""
        ...


class Solver(Protocol):
    """Learns from the kernel matrices of a training set."""

    def fit(self, kernels: Kernels, y: Array, classes: int, seed: int) -> Fitted:
        """Choose a kernel and learn from it.

        Parameters
        ----------
        kernels : mapping
            Gram matrices of the training set by setting, the simplest first.
        y : array
            Class numbers.
        classes : int
            How many classes there are.
        seed : int
            The random seed of inner folds.
        """
        ...


@dataclass(frozen=True)
class Constant:
    """What is learned from items of a single class."""

    setting: Any
    chosen: dict[str, Any]

    def predict(self, K: Array) -> Array:
        """Return the one class."""
        return np.zeros(len(K), dtype=np.int64)

    def scores(self, K: Array) -> Array:
        """Return zeros."""
        return np.zeros((len(K), 1))


@dataclass(frozen=True)
class FittedSVM:
    """A support vector machine on the kernel that was chosen: one decision per pair of classes.

    Parameters
    ----------
    setting : object
        Which kernel.
    chosen : dict
        Everything that was chosen, as plain values.
    support : array
        Positions of the training items that count.
    weight, intercept : array
        Decisions are ``K[:, support] @ weight + intercept``, above zero for the first class of a
        pair.

    Shapes
    ------
    support (s,), weight (s, pairs), intercept (pairs,) for the pairs (0, 1), (0, 2), … (1, 2), …
    """

    setting: Any
    chosen: dict[str, Any]
    classes: int
    support: Array
    weight: Array
    intercept: Array

    @classmethod
    def of(cls, setting: Any, chosen: dict[str, Any], machine: Any) -> FittedSVM:
        """Take the numbers out of a fitted ``sklearn.svm.SVC``.

        Its coefficients have a row for each other class; support vectors stand by class.
        """
        classes = len(machine.classes_)
        # of two classes, scikit-learn turns the signs around
        sign = -1.0 if classes == 2 else 1.0
        owner = np.repeat(np.arange(classes), machine.n_support_)
        pairs = list(combinations(range(classes), 2))
        weight: Array = np.zeros((len(owner), len(pairs)))
        for column, (first, second) in enumerate(pairs):
            of_first, of_second = owner == first, owner == second
            weight[of_first, column] = machine.dual_coef_[second - 1, of_first]
            weight[of_second, column] = machine.dual_coef_[first, of_second]
        support = machine.support_.astype(np.int64)
        return cls(setting, chosen, classes, support, sign * weight, sign * machine.intercept_)

    def is_of(self, count: int) -> bool:
        """Return whether the arrays fit together, and to so many training items."""
        pairs = self.classes * (self.classes - 1) // 2
        shapes_fit = self.weight.shape == (len(self.support), pairs)
        first, last = self.support.min(initial=0), self.support.max(initial=0)
        pairs_fit = self.classes > 1 and len(self.intercept) == pairs
        return shapes_fit and pairs_fit and 0 <= first <= last < count

    def predict(self, K: Array) -> Array:
        """Return class numbers: those that win the most pairs, of equals the first."""
        found: Array = self._votes(self._decisions(K)).argmax(axis=1)
        return found

    def scores(self, K: Array) -> Array:
        """Return what decides; of more than two classes, the pairs won, then by how much."""
        decisions = self._decisions(K)
        if self.classes == 2:
            of_second: Array = -decisions[:, 0]
            return of_second
        margin: Array = np.zeros((len(K), self.classes))
        for column, (first, second) in enumerate(combinations(range(self.classes), 2)):
            margin[:, first] += decisions[:, column]
            margin[:, second] -= decisions[:, column]
        # a third at most, so that margins order those of equally many votes alone
        found: Array = self._votes(decisions) + margin / (3 * (np.abs(margin) + 1))
        return found

    def _decisions(self, K: Array) -> Array:
        found: Array = K[:, self.support] @ self.weight + self.intercept
        return found

    def _votes(self, decisions: Array) -> Array:
        votes: Array = np.zeros((len(decisions), self.classes))
        for column, (first, second) in enumerate(combinations(range(self.classes), 2)):
            wins = decisions[:, column] > 0
            votes[wins, first] += 1
            votes[~wins, second] += 1
        return votes


@dataclass(frozen=True)
class SVMSolver:
    """Choose kernel and C by inner stratified folds of the training set, then train on all of it.

    Of equally accurate choices the first kernel and the smallest C win.

    Parameters
    ----------
    C : sequence of float
        Candidates, rising.
    folds : int
        Number of inner folds; fewer where a class has fewer items. The only item of a class is
        never left out.
    """

    C: Sequence[float] = tuple(10.0**power for power in range(-3, 4))
    folds: int = 5

    @classmethod
    def of(cls, C: Any, folds: Any) -> SVMSolver:
        """Return a solver with these candidates, in any order."""
        return cls(tuple(np.sort(np.atleast_1d(C)).astype(float).tolist()), int(folds))

    def fit(self, kernels: Kernels, y: Array, classes: int, seed: int) -> Fitted:
        """Choose and train."""
        first = next(iter(kernels))
        if classes < 2:
            return Constant(first, {"kernel": first})
        choices = [(setting, strength) for setting in kernels for strength in self.C]
        folds = self._folds(y)
        setting, strength = first, self.C[len(self.C) // 2]
        inner: dict[str, Any] = {}
        if len(choices) > 1 and folds > 1:
            accuracy = self._inner_accuracy(kernels, y, folds, seed)
            setting, strength = choices[int(np.argmax(accuracy))]
            inner = {"inner_accuracy": float(accuracy.max())}
        chosen = {"kernel": setting, "C": strength} | inner
        return FittedSVM.of(setting, chosen, _machine(kernels[setting], y, strength))

    def _folds(self, y: Array) -> int:
        """Return the number of inner folds: at most the items of any class, single ones apart."""
        sizes = np.bincount(y)
        several = sizes[sizes > 1]
        return min(self.folds, int(several.min())) if len(several) else 1

    def _inner_accuracy(self, kernels: Kernels, y: Array, folds: int, seed: int) -> Array:
        """Return the mean accuracy over inner folds, kernel by kernel and within it C by C."""
        from sklearn.model_selection import StratifiedKFold

        alone = np.bincount(y)[y] == 1
        shared, always = np.flatnonzero(~alone), np.flatnonzero(alone)
        splitter = StratifiedKFold(folds, shuffle=True, random_state=seed % 2**32)
        parts = [
            (np.union1d(shared[train], always), shared[test])
            for train, test in splitter.split(shared, y[shared])
        ]
        right: Array = np.zeros((len(kernels), len(self.C)))
        for row, K in enumerate(kernels.values()):
            for train, test in parts:
                inner, outer = K[np.ix_(train, train)], K[np.ix_(test, train)]
                for column, strength in enumerate(self.C):
                    predicted = _machine(inner, y[train], strength).predict(outer)
                    right[row, column] += (predicted == y[test]).sum()
        flat: Array = right.ravel() / len(shared)
        return flat


def _machine(K: Array, y: Array, C: float) -> Any:
    from sklearn.svm import SVC

    return SVC(C=C, kernel="precomputed", max_iter=_MOST_STEPS).fit(K, y)


def fitted_state(fitted: Fitted, codes: Array) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return what a solver has learned, and the class numbers it learned from, for a run folder."""
    kind = type(fitted).__name__
    if kind not in _kinds():
        raise RunError(
            f"what this solver has learned is a {kind}, which a run folder cannot store; "
            "override get_state and set_state of the classifier"
        )
    facts, tensors = pack_fields(fitted, "solved.")
    return {"solved": facts | {"kind": kind}}, tensors | {"codes": to_tensor(codes)}


def fitted_from(facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> tuple[Fitted, Array]:
    """Return what :func:`fitted_state` stored."""
    stored = facts["solved"]
    fitted = unpack_fields(_kinds()[stored["kind"]], stored, tensors, "solved.")
    if hasattr(fitted, "temperature"):
        stored_temperature(fitted.temperature)
    codes: Array = tensors["codes"].numpy()
    count = len(codes)
    if isinstance(fitted, FittedSVM):
        fits = fitted.is_of(count)
    else:
        fits = isinstance(fitted, Constant) or len(fitted.weight) == count
    if not fits:
        raise ValueError(f"what was learned is not of the {count} training items")
    return fitted, codes


def _kinds() -> dict[str, type[Any]]:
    from edgnn.models.kernels._ridge import FittedRidge

    return {kind.__name__: kind for kind in (Constant, FittedSVM, FittedRidge)}
