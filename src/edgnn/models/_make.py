"""From a model's name and parameters to a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgnn._words import short
from edgnn.errors import EstimatorError
from edgnn.models._model import Model, check_names
from edgnn.registry import MODELS, Level, Task


def model_parts(
    name: str,
    level: Level,
    task: Task,
    *,
    common: Mapping[str, Any] | None = None,
    **parameters: Any,
) -> tuple[type[Model], dict[str, Any]]:
    """Return the class of a model, and its parameters with those that the name stands for.

    Parameters
    ----------
    name : str
        One of :data:`edgnn.registry.MODELS`.
    level : {"graph", "node"}
        What the targets belong to.
    task : {"classes", "labels", "values"}
        What the targets are.
    common : mapping, optional
        Parameters for every model that has them, such as a random seed; other models do without.
    **parameters
        What was chosen; one that the model does not have is an error, and so is one that the name
        stands for with another value.
    """
    entry = MODELS.find(name)
    kind: Any = entry.find_class(level, task)
    if "device" in parameters and "device" not in kind._get_param_names():
        check_runs_on(name, parameters.pop("device"))
    check_names(kind, parameters)
    for parameter, value in entry.parameters.items():
        if parameters.get(parameter, value) != value:
            raise EstimatorError(
                f"{parameter}={short(parameters[parameter])} is not the model {name!r}, which "
                f"stands for {parameter}={value!r}; leave out one of the two"
            )
    shared = {key: value for key, value in (common or {}).items() if key in kind._get_param_names()}
    return kind, {**shared, **entry.parameters, **parameters}


def check_runs_on(name: str, device: Any) -> None:
    """Raise where a model without a device of its choice is asked to run elsewhere."""
    if device not in (None, "cpu", "auto"):
        raise EstimatorError(
            f"the model {name!r} runs on the CPU: leave device={device!r} "
            "(--device in a command) out"
        )


def make_model(
    name: str,
    *,
    level: Level = "graph",
    task: Task = "classes",
    common: Mapping[str, Any] | None = None,
    **parameters: Any,
) -> Model:
    """Return a model by its name, ready to be fitted.

    Parameters
    ----------
    name : str
        One of :data:`edgnn.registry.MODELS`, such as ``"edgnn"`` or ``"ridge"``.
    level : {"graph", "node"}
        What the targets belong to.
    task : {"classes", "labels", "values"}
        What the targets are: one class per item, several labels, or numbers.
    common : mapping, optional
        Parameters for every model that has them, such as ``{"random_state": 0}``.
    **parameters
        Parameters of the model; one that it does not have, or that makes no sense, is an error.

    Examples
    --------
    >>> from edgnn.models import make_model
    >>> make_model("ridge", depth=3)
    RidgeGraphClassifier(depth=3)
    """
    kind, chosen = model_parts(name, level, task, common=common, **parameters)
    model = kind(**chosen)
    model.check_parameters()
    return model
