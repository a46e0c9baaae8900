"""What scikit-learn expects to be raised before fit, and the warning about labels never seen."""

from __future__ import annotations

from sklearn.exceptions import NotFittedError

from edgnn.errors import EstimatorError


class NotFitted(EstimatorError, NotFittedError):  # type: ignore[misc]
    """An estimator that was asked for results before it was fitted."""


class UnknownLabelWarning(UserWarning):
    """Labels that the fitted model has never seen count for nothing in its predictions."""
