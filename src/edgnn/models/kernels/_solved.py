"""SolvedClassifier: what all rivals share that learn from kernel matrices, whatever the kernels are made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from sklearn.base import BaseEstimator, ClassifierMixin

from edgnn.models.kernels._reading import Array
from edgnn.models.kernels._solvers import Fitted
from edgnn.models.networks._errors import NotFitted
from edgnn.models.networks._inputs import Level

OnSplit = Callable[[int], Any]


class SolvedClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A classifier that predicts from kernel values of new items against the training items, by what a solver has learned.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    chosen_ : dict
        What was chosen inside the training part.
    """

    _levels: ClassVar[tuple[Level, ...]]

    @abstractmethod
    def _compared(self, X: Any) -> Array:
        """Return the chosen kernel's values of new items against the training items."""

    def _keep(self, fitted: Fitted, classes: Array) -> None:
        """Take note of what was learned; from here on the classifier is fitted."""
        self._fitted, self.classes_, self.chosen_ = fitted, classes, fitted.chosen

    def predict(self, X: Any) -> Array:
        """Return the class of each item.

        Shapes
        ------
        → (n,)
        """
        K = self._compared_if_fitted(X)
        found: Array = self.classes_[self._fitted.predict(K)]
        return found

    def decision_function(self, X: Any) -> Array:
        """Return what decides: for two classes one number, above zero for the second; else one per class.

        Shapes
        ------
        → (n,) or (n, K)
        """
        K = self._compared_if_fitted(X)
        return self._fitted.scores(K)

    def _compared_if_fitted(self, X: Any) -> Array:
        if not self.__sklearn_is_fitted__():
            raise NotFitted(f"this {type(self).__name__} is not fitted yet: call fit first")
        return self._compared(X)

    # What scikit-learn asks

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags
