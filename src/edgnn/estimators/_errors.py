"""What goes wrong with an estimator: bad parameters and targets, use before fit, labels it has never seen."""

from __future__ import annotations

from sklearn.exceptions import NotFittedError

from edgnn.errors import EdgnnError


class EstimatorError(EdgnnError, ValueError):
    """A parameter, an input or a target that an estimator cannot work with."""


class NotFitted(EstimatorError, NotFittedError):  # type: ignore[misc]
    """An estimator that was asked for results before it was fitted."""


class UnknownLabelWarning(UserWarning):
    """Labels that the fitted model has never seen count for nothing in its predictions."""
