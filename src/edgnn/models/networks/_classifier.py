"""What makes an estimator a classifier: probabilities, averaged over members, calibrated if asked; several labels as well."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from edgnn.errors import EstimatorError
from edgnn.models.networks._base import Estimator
from edgnn.models.networks._calibration import probabilities, temperature_of
from edgnn.models.networks._fleet import raw_outputs
from edgnn.models.networks._parameters import ClassifierParameters
from edgnn.models.networks._problem import Part, Problem
from edgnn.models.networks._targets import Encoding, read_classes, read_weight
from edgnn.models.networks._uncertainty import Uncertainty, uncertainty_of

_Array = np.ndarray[Any, Any]


class Classifier(ClassifierMixin, ClassifierParameters, Estimator):  # type: ignore[misc]
    """Classes or several labels from the outputs of a fleet."""

    _classifies: ClassVar[bool] = True

    def predict_proba(self, X: Any) -> _Array:
        """Return the probability of each class in the order of ``classes_``; of several labels, that of each label.

        Shapes
        ------
        → (n, K)
        """
        mean: _Array = self._member_probabilities(X).mean(axis=0)
        return mean

    def predict(self, X: Any) -> _Array:
        """Return the most probable class of each item; of several labels, a matrix of 0 and 1.

        Shapes
        ------
        → (n,), or (n, L)
        """
        return decide(self.predict_proba(X), self._encoding)

    def predict_uncertainty(self, X: Any) -> Uncertainty:
        """Return how uncertain each prediction is, and how much of that the members disagree about."""
        return uncertainty_of(self._member_probabilities(X), self._encoding.task)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy; of several labels, the share of items with every known label right."""
        predicted = self.predict(X)
        target, task = read_classes(y, len(predicted), self._level)
        if task != self._encoding.task:
            raise EstimatorError(
                f"y has the shape {target.shape}, but the estimator was fitted on another kind of targets"
            )
        weight = read_weight(sample_weight, len(predicted), self._level)
        if task == "classes":
            return float(accuracy_score(target, predicted, sample_weight=weight))
        right = ((target == predicted) | np.isnan(target)).all(axis=1)
        return float(np.average(right, weights=weight))

    def _member_probabilities(self, X: Any) -> _Array:
        logits = self._outputs(X)
        return probabilities(logits, self._encoding.task, self.temperature_)

    def _check_part(self, part: Part) -> None:
        if self.calibrate and not len(part.valid):
            raise EstimatorError(
                "calibrate=True needs a validation part: set validation to a share such as 0.1, or pass validation=(X, y) to fit"
            )

    def _learned(self, problem: Problem, part: Part) -> None:
        self.classes_ = self._encoding.classes
        self.temperature_ = 1.0
        if self.calibrate:
            logits = raw_outputs(self._model, problem.inputs, problem.items)
            self.temperature_ = self._temperature(logits, problem, self._encoding, part)

    def _restore(self, fitted: dict[str, Any]) -> None:
        self.classes_ = self._encoding.classes
        self.temperature_ = float(fitted["temperature"])

    def _temperature(
        self, logits: _Array, problem: Problem, encoding: Encoding, part: Part
    ) -> float:
        """Return the temperature of an ensemble, found on its validation part."""
        data = problem.data
        weight = None if data.weight is None else data.weight[part.valid]
        return temperature_of(
            logits[:, part.valid], encoding.encode(data.y[part.valid]), encoding.task, weight
        )

    def _result(
        self, outputs: _Array, problem: Problem, encoding: Encoding, part: Part, test: _Array
    ) -> dict[str, Any]:
        """Return the predictions for the test part of a split."""
        temperature = self._temperature(outputs, problem, encoding, part) if self.calibrate else 1.0
        probability = probabilities(outputs[:, test], encoding.task, temperature).mean(axis=0)
        return {
            "prediction": decide(probability, encoding),
            "probability": probability,
            "classes": encoding.classes,
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def decide(probability: _Array, encoding: Encoding) -> _Array:
    if encoding.task == "labels":
        return (probability > 0.5).astype(np.int64)
    chosen: _Array = encoding.classes[probability.argmax(axis=1)]
    return chosen
