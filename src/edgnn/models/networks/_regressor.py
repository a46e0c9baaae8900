"""What makes an estimator a regressor: values in the users' units, averaged over members; several targets, some missing."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from edgnn.errors import EstimatorError
from edgnn.models.networks._base import Estimator
from edgnn.models.networks._problem import Part, Problem
from edgnn.models.networks._targets import Encoding, read_values, read_weight

_Array = np.ndarray[Any, Any]


class Regressor(RegressorMixin, Estimator):  # type: ignore[misc]
    """Real values from the outputs of a fleet."""

    _classifies: ClassVar[bool] = False

    def predict(self, X: Any) -> _Array:
        """Return the predicted value, or values, of each item.

        Shapes
        ------
        → (n,), or (n, T) where y was a matrix
        """
        return shaped(self._outputs(X).mean(axis=0), self._encoding)

    def predict_uncertainty(self, X: Any) -> _Array:
        """Return the standard deviation of the members' predictions.

        Shapes
        ------
        → as :meth:`predict`
        """
        outputs = self._outputs(X)
        if len(outputs) == 1:
            raise EstimatorError(
                "a single model has no spread: fit with members=5 or so to have an ensemble"
            )
        return shaped(outputs.std(axis=0), self._encoding)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination R², its mean over the targets of which two or more values are known."""
        predicted = self.predict(X)
        target, _ = read_values(y, len(predicted), self._level)
        if target.shape != predicted.shape:
            raise EstimatorError(
                f"y has the shape {target.shape}, but the predictions have {predicted.shape}"
            )
        weight = read_weight(sample_weight, len(predicted), self._level)
        columns, guesses = (values.reshape(len(target), -1).T for values in (target, predicted))
        known = ~np.isnan(columns)
        if not known.any():
            raise EstimatorError(
                f"none of the {len(target)} {self._level}s has a known target: there is nothing to score"
            )
        counts = known.sum(axis=1)
        scores = []
        for column in np.flatnonzero(counts >= min(2, counts.max())):
            use = known[column]
            scores.append(
                r2_score(
                    columns[column, use],
                    guesses[column, use],
                    sample_weight=None if weight is None else weight[use],
                )
            )
        return float(np.mean(scores))

    def _result(
        self, outputs: _Array, problem: Problem, encoding: Encoding, part: Part, test: _Array
    ) -> dict[str, Any]:
        """Return the predictions for the test part of a split."""
        return {
            "prediction": shaped(outputs[:, test].mean(axis=0), encoding),
            "probability": None,
            "classes": None,
        }


def shaped(values: _Array, encoding: Encoding) -> _Array:
    return values[:, 0] if encoding.flat else values
