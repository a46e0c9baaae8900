"""From a model's name and parameters to a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgnn._words import closest, short
from edgnn.errors import EstimatorError
from edgnn.models._model import Model, check_names
from edgnn.registry import MODELS, Level, Task

#: Devices that a model without a device of its choice runs on, too.
_EVERYWHERE = (None, "cpu", "auto")


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
    stands_for = entry.find_parameters(level, task)
    for parameter, value in stands_for.items():
        if parameters.get(parameter, value) != value:
            raise EstimatorError(
                f"{parameter}={short(parameters[parameter])} is not the model {name!r}, which "
                f"stands for {parameter}={value!r}; leave out one of the two"
            )
    shared = {key: value for key, value in (common or {}).items() if key in kind._get_param_names()}
    return kind, {**shared, **stands_for, **parameters}


def default_model(level: Level, parameters: Mapping[str, Any]) -> str:
    """Return the name of the model that is trained where none is named.

    That is ``"auto"`` for graphs, and the network for nodes, or where a parameter is one that
    ``"auto"`` does not have and the network has.

    Parameters
    ----------
    level : {"graph", "node"}
        What the targets belong to.
    parameters : mapping
        What was chosen.
    """
    return "edgnn" if level == "node" or network_parameters(parameters) else "auto"


def network_parameters(parameters: Mapping[str, Any]) -> list[str]:
    """Return which parameters are those of networks and not of ``"auto"``."""
    network, auto = _parameters_of("edgnn"), _parameters_of("auto")
    return [
        name
        for name, value in parameters.items()
        if name not in auto
        and closest(name, network | auto) in network  # a slip of the pen means it as well
        and not (name == "device" and value in _EVERYWHERE)
    ]


def _parameters_of(name: str) -> set[str]:
    """Return the parameters that a model of graphs has for some targets."""
    kinds: list[Any] = [MODELS[name].find_class("graph", task) for task in ("classes", "values")]
    return {parameter for kind in kinds for parameter in kind._get_param_names()}


def check_runs_on(name: str, device: Any) -> None:
    """Raise where a model without a device of its choice is asked to run elsewhere."""
    if device not in _EVERYWHERE:
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
    >>> make_model("ridge", rounds=3)
    AutoClassifier(learners='ridge', rounds=3)
    """
    kind, chosen = model_parts(name, level, task, common=common, **parameters)
    model = kind(**chosen)
    model.check_parameters()
    return model
