"""From a model's name and parameters to a model."""

from __future__ import annotations

from typing import Any

from edgnn._words import similar
from edgnn.errors import EstimatorError
from edgnn.models._model import Model
from edgnn.registry import MODELS, Level, Task


def model_parts(
    name: str, level: Level, task: Task, **parameters: Any
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
    **parameters
        What was chosen; one that the model does not have is an error.
    """
    entry = MODELS.find(name)
    kind: Any = entry.find_class(level, task)
    known = kind._get_param_names()
    for parameter in parameters:
        if parameter not in known:
            raise EstimatorError(
                f"a {kind.__name__} has no parameter {parameter!r}{similar(parameter, known)}"
            )
    return kind, {**entry.parameters, **parameters}


def make_model(
    name: str, *, level: Level = "graph", task: Task = "classes", **parameters: Any
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
    **parameters
        Parameters of the model; one that it does not have, or that makes no sense, is an error.

    Examples
    --------
    >>> from edgnn.models import make_model
    >>> make_model("ridge", depth=3)
    RidgeGraphClassifier(depth=3)
    """
    kind, chosen = model_parts(name, level, task, **parameters)
    model = kind(**chosen)
    model.check_parameters()
    return model
