"""Resuming a run: what it began with, and whether that is what is asked for now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from edgnn._values import parse_value
from edgnn.cli._choices import class_weight_of, recipe_of, seconds_of, validation_of
from edgnn.errors import RunError

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
    """Return the test set of ``--test``, as :func:`edgnn.train` takes it."""
    from edgnn.evaluation import find_test_set

    value: float | str | None = "auto" if flag is None else parse_value(flag)
    return find_test_set(value, data)


def check_same(
    options: Mapping[str, Any],
    parameters: Mapping[str, Any],
    run: RunFolder,
    model: Model,
    data: Dataset,
) -> None:
    """Raise where a flag, a file or settings differ from the run that is to be resumed."""
    from edgnn.evaluation import stored_sets

    # runs of edGNN did not say the name of their model
    name = run.config.get("model", "edgnn")
    stored = model.get_params(deep=False) | stored_sets(run) | {"model": name}
    tried = _stored_candidates(run)
    for parameter, value in _asked(options, parameters, data).items():
        found = tried if isinstance(value, tuple) and parameter in tried else stored
        if parameter not in found or found[parameter] != value:
            has = f"no parameter {parameter!r}"
            if parameter in found:
                has = f"{parameter}={found[parameter]!r}"
            raise RunError(
                f"the run in {run.path} has {has}, not {value!r}: "
                "leave that out to resume it, or start another run"
            )


def _asked(
    options: Mapping[str, Any], parameters: Mapping[str, Any], data: Dataset
) -> dict[str, Any]:
    """Return what flags, a file or settings ask for, by the names that a run stores."""
    row = recipe_of(options.get("settings"), data)
    asked = ({} if row is None else row.estimator) | dict(parameters)
    if "max_epochs" in parameters:
        del asked["max_epochs"]  # no epoch depends on how many there are
    if "budget" in options:
        asked["seconds"] = seconds_of(options["budget"])
    if "class_weight" in asked:
        asked["class_weight"] = class_weight_of(asked["class_weight"], data.class_names)
    asked |= {option: options[option] for option in ("model", "seed") if option in options}
    if "test" in options:
        asked["test"] = test_set_of(options["test"], data)
    if "validation" in options or row is not None:
        asked["validation"] = validation_of(options.get("validation"), row)
    return asked


def _stored_candidates(run: RunFolder) -> dict[str, tuple[Any, ...]]:
    """Return the candidates that the parameters of a run were chosen from."""
    tried: dict[str, list[Any]] = {}
    try:
        for row in run.config.get("search", {}).get("candidates", []):
            for name, value in row["parameters"].items():
                values = tried.setdefault(name, [])
                if value not in values:
                    values.append(value)
    except (AttributeError, KeyError, TypeError):
        raise RunError(
            f"{run.path / 'config.json'} does not say which candidates there were; the file is "
            "damaged"
        ) from None
    return {name: tuple(values) for name, values in tried.items()}
