"""Networks: classifiers and regressors for graphs and for nodes, trained as fleets."""

from edgnn.models.networks._base import SCHEMES, Estimator
from edgnn.models.networks._estimators import (
    GraphClassifier,
    GraphRegressor,
    NodeClassifier,
    NodeRegressor,
)

__all__ = [
    "SCHEMES",
    "Estimator",
    "GraphClassifier",
    "GraphRegressor",
    "NodeClassifier",
    "NodeRegressor",
]
