"""Going on with a run: what it was begun with, and whether that is what is asked for now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from edgnn.cli._choices import class_weight_of, recipe_of, validation_of
from edgnn.cli._parameters import value_of
from edgnn.errors import EdgnnError, RunError

if TYPE_CHECKING:
    from edgnn.io.datasets import Dataset
    from edgnn.models import Estimator
    from edgnn.training import RunFolder


def stored_choices(run: RunFolder) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a run says about its data and its parts."""
    from edgnn.io.datasets import loadable_origin

    origin, parts = loadable_origin(run.config), run.config.get("parts")
    if origin is not None and isinstance(parts, dict) and {"test", "validation"} <= set(parts):
        return origin, parts
    raise RunError(
        f"{run.path / 'config.json'} does not say what the run was trained on; the file is damaged"
    )


def judged_part(told: Any, data: Dataset) -> float | str | None:
    """Return the part to judge on, or how much of all items."""
    if told is None:
        return None if data.split is None else "published"
    meant: float | str | None = value_of(told)
    if not isinstance(meant, float | None) and meant != "published":
        raise EdgnnError(f"test={told!r}: choose published, a share between 0 and 1, or none")
    return meant


def check_same(
    options: Mapping[str, Any],
    parameters: Mapping[str, Any],
    run: RunFolder,
    estimator: Estimator,
    data: Dataset,
) -> None:
    """Raise where a flag, a file or settings ask for something else than the run that is to be resumed has."""
    parts = run.config["parts"]
    row = recipe_of(options.get("settings"), data)
    asked = ({} if row is None else row.estimator) | dict(parameters)
    if "max_epochs" in parameters:
        del asked["max_epochs"]  # no epoch depends on how many there are
    if "class_weight" in asked:
        asked["class_weight"] = class_weight_of(asked["class_weight"], data.class_names)
    stored = estimator.get_params(deep=False) | {"seed": estimator.random_state} | parts
    if "seed" in options:
        asked["seed"] = options["seed"]
    if "test" in options:
        asked["test"] = judged_part(options["test"], data)
    if "validation" in options or row is not None:
        asked["validation"] = validation_of(options.get("validation"), row)
    for name, value in asked.items():
        if name not in stored or stored[name] != value:
            has = f"{name}={stored[name]!r}" if name in stored else f"no parameter {name!r}"
            raise RunError(
                f"the run in {run.path} has {has}, not {value!r}: leave that out to resume it, or start another run"
            )
