"""What can be predicted without looking at the graphs: the most frequent class, the mean value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from torch import Tensor

from edgnn.errors import EstimatorError
from edgnn.models._familiarity import Familiarity
from edgnn.models._model import ClassifierModel, Model, RegressorModel
from edgnn.models._state import to_tensor
from edgnn.models._targets import Task, decide, shaped

_Array = np.ndarray[Any, Any]


class _Constant(Model):
    """A model that predicts the same for every item."""

    constant_: _Array

    def _repeated(self, X: Any) -> _Array:
        return np.tile(self.constant_, (len(self.read_items(X)), 1))

    @property
    def has_familiarity(self) -> bool:
        """False: this model reads no labels."""
        return False

    def familiarity(self, X: Any) -> Familiarity | None:
        """Return ``None``: this model reads no labels."""
        self.read_items(X)
        return None

    def get_state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Return the one prediction."""
        return {}, {"constant": to_tensor(self.constant_)}

    def set_state(self, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """Set the one prediction."""
        self.constant_ = tensors["constant"].numpy()


class MajorityClassifier(ClassifierModel, _Constant):
    """Predict the most frequent class, with the frequencies as probabilities.

    Of equally frequent classes it is the first; of several labels, each by itself.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    class_prior_ : array
        How frequent each is.
    """

    tasks: ClassVar[tuple[Task, ...]] = ("classes", "labels")

    def fit(self, X: Any, y: Any) -> Self:
        """Count the classes of graphs or nodes."""
        data = self.read_training(X, y)
        if data.task == "classes":
            counts = np.bincount(data.codes, minlength=data.encoding.outputs)
            self.constant_ = counts / counts.sum()
        else:
            self.constant_ = _column_means(data.codes)
        self.remember(data)
        return self

    @property
    def class_prior_(self) -> _Array:
        """How frequent each class, or label, is."""
        return self.constant_

    def predict(self, X: Any) -> _Array:
        """Return the most frequent class for each item; of several labels, a matrix of 0 and 1."""
        return decide(self.predict_proba(X), self._encoding)

    def predict_proba(self, X: Any) -> _Array:
        """Return the frequencies for each item.

        Shapes
        ------
        → (n, K)
        """
        self._check_fitted()
        return self._repeated(X)


class MeanRegressor(RegressorModel, _Constant):
    """Predict the mean of each target over the items where it is known."""

    def fit(self, X: Any, y: Any) -> Self:
        """Average the targets of graphs or nodes."""
        data = self.read_training(X, y)
        self.constant_ = _column_means(data.codes)
        if not np.isfinite(self.constant_).all():
            raise EstimatorError(
                "the sum of the targets overflows: scale them, such as by dividing all by 1e10"
            )
        self.remember(data)
        return self

    def predict(self, X: Any) -> _Array:
        """Return the mean for each item."""
        self._check_fitted()
        return shaped(self._repeated(X), self._encoding)


def _column_means(values: _Array) -> _Array:
    """Return the mean of the known values of each column; 0 where none is known."""
    known = ~np.isnan(values)
    with np.errstate(over="ignore"):
        totals = np.where(known, values, 0.0).sum(axis=0)
    means: _Array = totals / np.maximum(known.sum(axis=0), 1)
    return means
