"""What learns from kernel matrices: it is shown the training part alone and chooses there among kernels and strengths."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from edgnn.errors import EstimatorError
from edgnn.models.kernels._reading import Array, is_whole, numbers

Kernels = Mapping[Hashable, Array]

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
        """Return what decides: (n,) for two classes, above zero for the second; else (n, classes)."""
        ...


class Solver(Protocol):
    """Learns from the kernel matrices of a training part."""

    def fit(self, kernels: Kernels, y: Array, classes: int, seed: int) -> Fitted:
        """Choose a kernel and learn from it.

        Parameters
        ----------
        kernels : mapping
            Gram matrices of the training part by setting, the simplest first.
        y : array
            Class numbers.
        classes : int
            How many classes there are.
        seed : int
            What inner folds follow from.
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
    """A support vector machine on the kernel that was chosen."""

    setting: Any
    chosen: dict[str, Any]
    machine: Any

    def predict(self, K: Array) -> Array:
        """Return class numbers."""
        found: Array = self.machine.predict(K) if len(K) else np.zeros(0, dtype=np.int64)
        return found

    def scores(self, K: Array) -> Array:
        """Return the decision function."""
        several = len(self.machine.classes_) > 2
        empty = np.zeros((0, len(self.machine.classes_)) if several else 0)
        found: Array = self.machine.decision_function(K) if len(K) else empty
        return found


@dataclass(frozen=True)
class SVMSolver:
    """Choose kernel and C by inner stratified folds of the training part, then train on all of it.

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
    def checked(cls, C: Any, folds: Any) -> SVMSolver:
        """Return a solver, or say what is wrong with the candidates for C or with the number of folds."""
        strengths = numbers(C)
        if not len(strengths) or not (np.isfinite(strengths) & (strengths > 0)).all():
            raise EstimatorError(f"C={C!r}: give numbers above zero, such as (0.1, 1, 10)")
        if not is_whole(folds, 2, 2**31):
            raise EstimatorError(f"folds={folds!r}: give a whole number from 2 on")
        return cls(tuple(np.sort(strengths).tolist()), int(folds))

    def fit(self, kernels: Kernels, y: Array, classes: int, seed: int) -> Fitted:
        """Choose and train."""
        first = next(iter(kernels))
        if classes < 2:
            return Constant(first, {"kernel": first})
        choices = [(setting, strength) for setting in kernels for strength in self.C]
        sizes = np.bincount(y)
        folds = (
            min(self.folds, int(sizes[sizes > 1].min(initial=self.folds)))
            if (sizes > 1).any()
            else 1
        )
        chosen: dict[str, Any] = {}
        if len(choices) > 1 and folds > 1:
            accuracy = self._inner_accuracy(kernels, y, folds, seed)
            (setting, strength), inner = choices[int(np.argmax(accuracy))], float(accuracy.max())
            chosen = {"inner_accuracy": inner}
        else:
            setting, strength = first, self.C[len(self.C) // 2]
        return FittedSVM(
            setting,
            {"kernel": setting, "C": strength} | chosen,
            _machine(kernels[setting], y, strength),
        )

    def _inner_accuracy(self, kernels: Kernels, y: Array, folds: int, seed: int) -> Array:
        """Return the mean accuracy over inner folds, kernel by kernel and within it C by C."""
        from sklearn.model_selection import StratifiedKFold

        alone = np.bincount(y)[y] == 1
        shared, always = np.flatnonzero(~alone), np.flatnonzero(alone)
        dealt = StratifiedKFold(folds, shuffle=True, random_state=seed % 2**32).split(
            shared, y[shared]
        )
        parts = [(np.union1d(shared[train], always), shared[test]) for train, test in dealt]
        right: Array = np.zeros((len(kernels), len(self.C)))
        for row, K in enumerate(kernels.values()):
            for train, test in parts:
                inner, outer = K[np.ix_(train, train)], K[np.ix_(test, train)]
                for column, strength in enumerate(self.C):
                    right[row, column] += (
                        _machine(inner, y[train], strength).predict(outer) == y[test]
                    ).sum()
        flat: Array = right.ravel() / len(shared)
        return flat


def _machine(K: Array, y: Array, C: float) -> Any:
    from sklearn.svm import SVC

    return SVC(C=C, kernel="precomputed", max_iter=_MOST_STEPS).fit(K, y)
