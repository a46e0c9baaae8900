"""The scikit-learn face: classifiers and regressors for graphs and for nodes."""

from edgnn.errors import EstimatorError
from edgnn.estimators._base import Estimator
from edgnn.estimators._errors import UnknownLabelWarning
from edgnn.estimators._familiarity import Familiarity
from edgnn.estimators._graph import GraphClassifier, GraphRegressor
from edgnn.estimators._node import NodeClassifier, NodeRegressor
from edgnn.estimators._storage import load_estimator
from edgnn.estimators._uncertainty import Uncertainty

__all__ = [
    "Estimator",
    "EstimatorError",
    "Familiarity",
    "GraphClassifier",
    "GraphRegressor",
    "NodeClassifier",
    "NodeRegressor",
    "Uncertainty",
    "UnknownLabelWarning",
    "load_estimator",
]
