"""Resuming a run: what it began with, and whether that is what is asked for now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from edgnn._values import parse_value
from edgnn.cli._choices import class_weight_of, recipe_of, validation_of
from edgnn.errors import EdgnnError, RunError

if TYPE_CHECKING:
    from edgnn.io.datasets import Dataset
    from edgnn.models import Model
    from edgnn.training import RunFolder


def stored_origin(run: RunFolder) -> dict[str, Any]:
    """Return what a run says about its data."""
    from edgnn.io.datasets import loadable_origin

    origin = loadable_origin(run.config)
    if origin is not None:
        return origin
    raise RunError(
        f"{run.path / 'config.json'} does not say what the run was trained on; the file is damaged"
    )


def test_set_of(flag: Any, data: Dataset) -> float | str | None:
    """Return the test set of ``--test``: ``"published"``, a fraction of all items, or none."""
    from edgnn.evaluation import find_test_set

    if flag is None:
        return find_test_set("auto", data)
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
    from edgnn.evaluation import stored_sets

    row = recipe_of(options.get("settings"), data)
    asked = ({} if row is None else row.estimator) | dict(parameters)
    if "max_epochs" in parameters:
        del asked["max_epochs"]  # no epoch depends on how many there are
    if "class_weight" in asked:
        asked["class_weight"] = class_weight_of(asked["class_weight"], data.class_names)
    # runs of edGNN did not say the name of their model
    name = run.config.get("model", "edgnn")
    stored = model.get_params(deep=False) | stored_sets(run) | {"model": name}
    for option in ("model", "seed"):
        if option in options:
            asked[option] = options[option]
    if "test" in options:
        asked["test"] = test_set_of(options["test"], data)
    if "validation" in options or row is not None:
        asked["validation"] = validation_of(options.get("validation"), row)
    for parameter, value in asked.items():
        if parameter not in stored or stored[parameter] != value:
            has = f"no parameter {parameter!r}"
            if parameter in stored:
                has = f"{parameter}={stored[parameter]!r}"
            raise RunError(
                f"the run in {run.path} has {has}, not {value!r}: "
                "leave that out to resume it, or start another run"
            )
