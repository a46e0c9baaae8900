"""Models by name: the package's own networks and their rivals, made for a data set."""

from __future__ import annotations

from typing import Any

from edgnn._words import suggestion_or
from edgnn.errors import EstimatorError
from edgnn.io.datasets import Dataset
from edgnn.models import RIVALS, rival_class
from edgnn.studies._runs import task_of_dataset

_NETWORKS = {"edgnn": "edgnn", "gnn": "gnn", "joint": "joint", "rgcn": "rgcn", "gin": "gine"}
_CLOSED = {
    "ridge": {"graph": "RidgeGraphClassifier", "node": "RidgeNodeClassifier"},
    "blend": {"graph": "BlendGraphClassifier"},
}
#: What ``edgnn evaluate --model`` takes.
MODELS = tuple(dict.fromkeys(["edgnn", "gnn", "joint", *_CLOSED, *RIVALS]))


def model_class(name: str, data: Dataset) -> tuple[Any, dict[str, Any]]:
    """Return the estimator class of a model for the targets of a data set, and the parameters its name stands for.

    Parameters
    ----------
    name : str
        One of :data:`MODELS`.
    data : Dataset
        Says whether graphs or nodes are learned about, and whether the targets are classes.
    """
    from edgnn import models as estimators

    if name not in MODELS:
        hint = suggestion_or(name, MODELS, f"choose {', '.join(MODELS[:-1])} or {MODELS[-1]}")
        raise EstimatorError(f"there is no model {name!r}; {hint}")
    task = task_of_dataset(data)
    regression = task == "values"
    if name == "majority" and task != "classes":
        from sklearn.dummy import DummyClassifier, DummyRegressor

        return DummyRegressor if regression else DummyClassifier, {}
    if name in RIVALS and not regression:
        return rival_class(name, data.level), {}
    if name in _CLOSED and not regression:
        return _closed_class(name, data), {}
    if name not in _NETWORKS:
        raise EstimatorError(
            f"{name} classifies, but the targets of {data.name} are values; choose {', '.join(_NETWORKS)}"
        )
    kind = f"{data.level.capitalize()}{'Regressor' if regression else 'Classifier'}"
    return getattr(estimators, kind), {"conv": _NETWORKS[name]}


def _closed_class(name: str, data: Dataset) -> Any:
    """Return the class of a model whose solution is in closed form, wholly or in part."""
    from edgnn import models as kernels

    if data.level not in _CLOSED[name]:
        raise EstimatorError(
            f"{name} classifies whole graphs, but the targets of {data.name} are those of nodes; choose ridge"
        )
    return getattr(kernels, _CLOSED[name][data.level])
