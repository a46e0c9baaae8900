"""What a training command was told: stored settings, then a TOML file, then flags; later ones win."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgnn._words import suggestion
from edgnn.cli._complete import words
from edgnn.cli._datasets import parse_options
from edgnn.cli._parameters import value_of
from edgnn.errors import EdgnnError

if TYPE_CHECKING:
    from edgnn.io.datasets import Dataset
    from edgnn.studies import Recipe

_DEFAULT_VALIDATION = 0.1

Config = Annotated[
    Path | None,
    typer.Option(
        "--config", exists=True, dir_okay=False, help="A TOML file of options; flags override it."
    ),
]
SettingsRow = Annotated[
    str | None,
    typer.Option(
        "--settings",
        metavar="ROW",
        autocompletion=words("settings"),
        help="Stored settings to start from: paper, closest or rgcn.",
    ),
]


def told_options(**flags: Any) -> dict[str, Any]:
    """Return the flags that were used, as plain values."""
    plain: dict[str, Any] = {
        name: str(value) if isinstance(value, str | Path) else value
        for name, value in flags.items()
    }
    plain["options"] = parse_options(flags["options"]) or None
    return {name: value for name, value in plain.items() if value is not None}


def read_config(path: Path | None, options: Iterable[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a TOML file says of the command's own options, and of the estimator's parameters."""
    if path is None:
        return {}, {}
    from edgnn._words import similar

    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise EdgnnError(f"{path} is no TOML file: {error}") from None
    own, known = set(options), parameter_names()
    chosen: tuple[dict[str, Any], dict[str, Any]] = {}, {}
    for key, value in document.items():
        name = key.replace("-", "_")
        if name not in own and name not in known:
            raise EdgnnError(
                f"{path} has the key {key!r}, which is unknown{similar(name, own | known)}"
            )
        chosen[name not in own][name] = value_of(value)
    return chosen


def parameter_names() -> set[str]:
    """Return the names of all models' parameters that can be set from outside."""
    from edgnn.registry import MODELS, load_target
    from edgnn.studies import NOT_PARAMETERS

    targets = {
        target
        for entry in MODELS.values()
        for tasks in entry.classes.values()
        for target in tasks.values()
    }
    kinds = [load_target(target) for target in targets]
    return {name for kind in kinds for name in kind._get_param_names()} - set(NOT_PARAMETERS)


def recipe_of(row: str | None, data: Dataset) -> Recipe | None:
    """Return the stored settings of a row for a data set."""
    from edgnn.studies import recipe

    return None if row is None else recipe(row, data.level, data.name)


def validation_of(told: Any, row: Recipe | None) -> float | str | None:
    """Return the validation part that was told (``"none"`` for none), else that of the settings, else a tenth."""
    if told is None:
        return _DEFAULT_VALIDATION if row is None else row.validation
    meant: float | str | None = value_of(told)
    if meant is None or meant == "first-fifth" or (isinstance(meant, float) and 0 < meant < 1):
        return meant
    raise EdgnnError(
        f"validation={told!r}: choose a share between 0 and 1, first-fifth (of a published training part) or none"
    )


def make_estimator(
    data: Dataset,
    parameters: Mapping[str, Any],
    *,
    model: str = "edgnn",
    validation: float | str | None,
    seed: int,
) -> Any:
    """Return the estimator of a model for a data set."""
    from edgnn.studies import _estimators

    if "random_state" in parameters:
        raise EdgnnError("random_state follows from --seed")
    if "fanout" in parameters and data.level == "graph":
        raise EdgnnError(
            "fanout says how many neighbors of a node are read, and these are graphs: leave it out"
        )
    chosen = dict(parameters)
    if "class_weight" in chosen:
        chosen["class_weight"] = class_weight_of(chosen["class_weight"], data.class_names)
    return _estimators.make_estimator(data, chosen, model=model, validation=validation, seed=seed)


def class_weight_of(told: Any, class_names: Sequence[str]) -> Any:
    """Return class weights by class number from ``NAME=WEIGHT,…`` or a mapping; ``"balanced"`` and ``None`` stay."""
    if told is None or told == "balanced":
        return told
    pairs = dict(told) if isinstance(told, Mapping) else _class_pairs(str(told))
    weights = {}
    for name, weight in pairs.items():
        if name not in class_names:
            raise EdgnnError(
                f"class_weight names the class {name!r}; the classes are {', '.join(map(repr, class_names))}"
                f"{suggestion(name, class_names)}"
            )
        weights[class_names.index(name)] = value_of(weight)
    return weights


def _class_pairs(text: str) -> dict[str, str]:
    """Split ``NAME=WEIGHT,NAME=WEIGHT``; a name may hold any character but these two."""
    pairs = {}
    for word in text.split(","):
        name, equals, weight = word.rpartition("=")
        if not equals:
            raise EdgnnError(f"class_weight={text!r}: choose balanced, or NAME=WEIGHT,NAME=WEIGHT")
        pairs[name.strip()] = weight.strip()
    return pairs
