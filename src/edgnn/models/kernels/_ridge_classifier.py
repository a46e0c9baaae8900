"""RidgeClassifier: what classifiers in closed form share: probabilities, and what each training item gets when it is left out."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgnn.errors import EstimatorError
from edgnn.models.kernels._classifier import KernelClassifier
from edgnn.models.kernels._reading import Array
from edgnn.models.kernels._ridge import RidgeSolver, logits
from edgnn.models.networks._errors import NotFitted


class RidgeClassifier(KernelClassifier):
    """A classifier by kernel ridge: no epochs, one exact solution, and the exact leave-one-out decision of every training item."""

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, as sure as the left-out training items bear out.

        Shapes
        ------
        → (n, K)
        """
        found: Array = self._here().probabilities(self._compared(X))
        return found

    @property
    def loo_decision_(self) -> Array:
        """The decision on each training item by the model that is fitted without it, as in :meth:`decision_function`."""
        found: Array = self._here().loo_decision
        return found

    @property
    def loo_error_(self) -> float:
        """Mean squared error of the left-out decisions, for targets −1 and 1 (several classes: 0 and 1)."""
        return float(self._here().loo_error)

    @property
    def loo_score_(self) -> float:
        """Accuracy of the left-out decisions: what to expect of new items, without a test part."""
        said = self.classes_[logits(self.loo_decision_).argmax(axis=1)]
        return float(np.mean(said == self._targets))

    def _solver(self) -> RidgeSolver:
        self._check()
        return RidgeSolver()

    def _check(self) -> None:
        """Refuse parameters that make no sense."""

    def _here(self) -> Any:
        if not self.__sklearn_is_fitted__():
            raise NotFitted(f"this {type(self).__name__} is not fitted yet: call fit first")
        return self._fitted


def positive(value: Any, name: str) -> float:
    """Return a finite number above zero, or say that it is none."""
    if (
        isinstance(value, int | float | np.number)
        and not isinstance(value, bool)
        and 0 < value < np.inf
    ):
        return float(value)
    raise EstimatorError(f"{name}={value!r}: give a finite number above 0")


def chosen_words(value: Any, name: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
    """Return one or several different words out of those that are allowed."""
    words = (value,) if isinstance(value, str) else value
    known = isinstance(words, tuple | list) and all(
        isinstance(word, str) and word in allowed for word in words
    )
    if not known or not words or len(set(words)) < len(words):
        listed = f"{', '.join(map(repr, allowed[:-1]))} or {allowed[-1]!r}"
        raise EstimatorError(f"{name}={value!r}: choose {listed}, or several of them, each once")
    return tuple(words)
