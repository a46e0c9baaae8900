"""Resuming a run: what it began with, and whether that is what is asked for now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from edgnn.cli._choices import class_weight_of, recipe_of, validation_of
from edgnn.cli._options import parse_value
from edgnn.errors import EdgnnError, RunError

if TYPE_CHECKING:
    from edgnn.io.datasets import Dataset
    from edgnn.models import Model
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


def stored_seed(run: RunFolder, model: Model) -> int:
    """Return the random seed of a run; older ones have it as a parameter of the model only."""
    seed = run.config.get("seed", getattr(model, "random_state", 0))
    if type(seed) is int:
        return seed
    raise RunError(f"{run.path / 'config.json'} has no usable random seed; the file is damaged")


def test_set_of(flag: Any, data: Dataset) -> float | str | None:
    """Return the test set of ``--test``: ``"published"``, a fraction of all items, or none."""
    if flag is None:
        return None if data.split is None else "published"
    value: float | str | None = parse_value(flag)
    if not isinstance(value, float | None) and value != "published":
        raise EdgnnError(f"test={flag!r}: choose published, a fraction between 0 and 1, or none")
    return value


def check_same(
    options: Mapping[str, Any],
    parameters: Mapping[str, Any],
    run: RunFolder,
    model: Model,
    data: Dataset,
) -> None:
    """Raise where a flag, a file or settings differ from the run that is to be resumed."""
    parts = run.config["parts"]
    row = recipe_of(options.get("settings"), data)
    asked = ({} if row is None else row.estimator) | dict(parameters)
    if "max_epochs" in parameters:
        del asked["max_epochs"]  # no epoch depends on how many there are
    if "class_weight" in asked:
        asked["class_weight"] = class_weight_of(asked["class_weight"], data.class_names)
    stored = model.get_params(deep=False) | parts
    stored |= {"seed": stored_seed(run, model), "model": run.config.get("model", "edgnn")}
    asked |= {name: options[name] for name in ("seed", "model") if name in options}
    if "test" in options:
        asked["test"] = test_set_of(options["test"], data)
    if "validation" in options or row is not None:
        asked["validation"] = validation_of(options.get("validation"), row)
    for name, value in asked.items():
        if name not in stored or stored[name] != value:
            has = f"{name}={stored[name]!r}" if name in stored else f"no parameter {name!r}"
            raise RunError(
                f"the run in {run.path} has {has}, not {value!r}: "
                "leave that out to resume it, or start another run"
            )
