"""Networks: classifiers and regressors for graphs and for nodes, trained as fleets."""

from edgnn.models.networks._base import Estimator
from edgnn.models.networks._estimators import (
    GraphClassifier,
    GraphRegressor,
    NodeClassifier,
    NodeRegressor,
)

__all__ = [
    "Estimator",
    "GraphClassifier",
    "GraphRegressor",
    "NodeClassifier",
    "NodeRegressor",
]
