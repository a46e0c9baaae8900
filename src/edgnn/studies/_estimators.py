"""From a model's name and parameters to its estimator for a data set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgnn.errors import EstimatorError
from edgnn.io.datasets import Dataset

#: Parameters that follow from elsewhere.
NOT_PARAMETERS = ("random_state", "validation", "verbose", "warm_start")


def make_estimator(
    data: Dataset,
    parameters: Mapping[str, Any],
    *,
    model: str = "edgnn",
    validation: float | str | None,
    seed: int,
    jobs: int = -1,
) -> Any:
    """Return the estimator of a model for a data set; see :func:`estimator_parts`."""
    kind, chosen = estimator_parts(
        data, parameters, model=model, validation=validation, seed=seed, jobs=jobs
    )
    estimator = kind(**chosen)
    estimator.check_parameters()
    return estimator


def estimator_parts(
    data: Dataset,
    parameters: Mapping[str, Any],
    *,
    model: str,
    validation: float | str | None,
    seed: int,
    jobs: int = -1,
) -> tuple[Any, dict[str, Any]]:
    """Return the class of an estimator, and all its parameters.

    Parameters
    ----------
    data : Dataset
        What it is for.
    parameters : mapping
        What was chosen; a parameter that the model does not have is an error.
    model : str
        A name in :data:`edgnn.registry.MODELS`.
    validation : float, str or None
        The fraction that chooses the epoch, for models that take one.
    seed : int
        For models that take one.
    jobs : int
        Threads of its own, for models that take a number and were not given one.
    """
    from edgnn.models import model_parts

    for name in NOT_PARAMETERS:
        if name in parameters:
            raise EstimatorError(f"{name} is no parameter to choose: it follows from elsewhere")
    assert data.task is not None
    kind, chosen = model_parts(model, data.level, data.task, **parameters)
    every = kind._get_param_names()
    if "validation" in every and not isinstance(validation, str):
        chosen["validation"] = validation
    if "random_state" in every:
        chosen["random_state"] = seed
    if "n_jobs" in every:
        chosen.setdefault("n_jobs", jobs)
    return kind, chosen
