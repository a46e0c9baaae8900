"""MajorityClassifier: what can be had without looking at the graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from edgnn.models.kernels._reading import Array, read_items, read_targets
from edgnn.models.networks._errors import NotFitted


class MajorityClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predict the most frequent class, with the frequencies as probabilities; of equally frequent ones, the first.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    class_prior_ : array
        How frequent each is.
    """

    def fit(self, X: Any, y: Any) -> MajorityClassifier:
        """Count the classes of graphs or nodes."""
        self.classes_, counts = np.unique(
            read_targets(y, read_items(X, ("graph", "node"))), return_counts=True
        )
        self.class_prior_ = counts / counts.sum()
        return self

    def predict(self, X: Any) -> Array:
        """Return the most frequent class for each item."""
        chances = self.predict_proba(X)
        found: Array = self.classes_[chances.argmax(axis=1)]
        return found

    def predict_proba(self, X: Any) -> Array:
        """Return the frequencies for each item.

        Shapes
        ------
        → (n, K)
        """
        if not hasattr(self, "classes_"):
            raise NotFitted("this MajorityClassifier is not fitted yet: call fit first")
        return np.tile(self.class_prior_, (len(read_items(X, ("graph", "node"))), 1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags
