"""The scikit-learn face: classifiers and regressors for graphs and for nodes."""

from edgnn.errors import EstimatorError
from edgnn.models.networks._base import Estimator
from edgnn.models.networks._errors import UnknownLabelWarning
from edgnn.models.networks._familiarity import Familiarity
from edgnn.models.networks._graph import GraphClassifier, GraphRegressor
from edgnn.models.networks._node import NodeClassifier, NodeRegressor
from edgnn.models.networks._storage import load_estimator
from edgnn.models.networks._uncertainty import Uncertainty

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
