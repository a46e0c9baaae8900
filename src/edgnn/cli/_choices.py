"""The choices of a training command: stored settings, a TOML file, flags; later ones win."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgnn._files import read_file
from edgnn._values import parse_value
from edgnn._words import one_line, similar, suggestion
from edgnn.cli._complete import names
from edgnn.errors import EdgnnError

if TYPE_CHECKING:
    from edgnn.io.datasets import Dataset
    from edgnn.studies import Recipe

_DEFAULT_VALIDATION = 0.1
#: Parameters of models that options or the command itself decide.
_FROM_ELSEWHERE = ("random_state", "validation", "verbose", "warm_start")
#: Models that are edGNN with another layer, so that its settings are theirs.
_VARIANTS = ("gnn", "joint")
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*(s|min|m|h)?", re.ASCII)
_SECONDS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def read_config(path: Path, options: Iterable[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a TOML file's values for the command's own options, and for the estimator."""
    try:
        document = tomllib.loads(read_file(path).decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise EdgnnError(f"{path} is no TOML file: {one_line(error)}") from None
    except RecursionError:
        raise EdgnnError(f"{path} is no TOML file: it is nested too deeply") from None
    own, of_estimator = set(options), parameter_names()
    chosen: dict[str, Any] = {}
    parameters: dict[str, Any] = {}
    for key, value in document.items():
        name = key.replace("-", "_")
        plain = tuple(value) if isinstance(value, list) else parse_value(value)
        if name in own:
            chosen[name] = plain
        elif name in of_estimator:
            parameters[name] = plain
        else:
            hint = similar(name, own | of_estimator)
            raise EdgnnError(f"{path} has the key {key!r}, which is unknown{hint}")
    return chosen, parameters


def parameter_names() -> set[str]:
    """Return the names of all models' parameters that can be set from outside."""
    from edgnn.registry import MODELS, load_target

    targets = {
        target
        for model in MODELS.values()
        for tasks in model.classes.values()
        for target in tasks.values()
    }
    known = {name for target in targets for name in load_target(target)._get_param_names()}
    return known - set(_FROM_ELSEWHERE)


def recipe_of(row: str | None, data: Dataset) -> Recipe | None:
    """Return the stored settings of a row for a data set."""
    from edgnn.studies import recipe

    return None if row is None else recipe(row, data.level, data.name)


def validation_of(flag: Any, row: Recipe | None) -> float | str | None:
    """Return the validation set of the flag (``"none"``: none), else of the settings, else 0.1."""
    if flag is None:
        return _DEFAULT_VALIDATION if row is None else row.validation
    value: float | str | None = parse_value(flag)
    is_fraction = isinstance(value, float) and 0 < value < 1
    if value is None or value == "first-fifth" or is_fraction:
        return value
    raise EdgnnError(
        f"validation={flag!r}: choose a fraction between 0 and 1, "
        "first-fifth (of a published training set) or none"
    )


@dataclass(frozen=True)
class Choice:
    """A model that was chosen for a data set, not fitted yet.

    Attributes
    ----------
    name : str
        As the registry has it.
    settings : Recipe, optional
        The stored settings it starts from.
    validation : float, str or None
        The validation set.
    seed : int
        The random seed.
    model : Model
        With all its parameters.
    grid : mapping
        Candidates for some of them.
    reason : str
        Why this model is trained, in a line, where that was not asked for by name.
    """

    name: str
    settings: Recipe | None
    validation: float | str | None
    seed: int
    model: Any
    grid: Mapping[str, Sequence[Any]]
    reason: str = ""

    @classmethod
    def of(cls, options: Mapping[str, Any], parameters: Mapping[str, Any], data: Dataset) -> Choice:
        """Choose by options and parameters of the model; later ones win over stored settings."""
        from edgnn.evaluation import common_parameters, model_and_candidates

        settings = recipe_of(_settings_row(options), data)
        chosen = ({} if settings is None else settings.estimator) | dict(parameters)
        if "budget" in options:
            chosen["seconds"] = seconds_of(options["budget"])
        name, reason = _model_name(options, settings, chosen, data)
        validation = validation_of(options.get("validation"), settings)
        seed = options.get("seed", 0)
        _check_parameters(parameters, data)
        if "class_weight" in chosen:
            chosen["class_weight"] = class_weight_of(chosen["class_weight"], data.class_names)
        common = common_parameters(validation, seed)
        model, grid = model_and_candidates(name, data, common, chosen)
        return cls(name, settings, validation, seed, model, grid, reason)


def _settings_row(options: Mapping[str, Any]) -> str | None:
    """Return the stored settings that were asked for, else those that have the model's name."""
    model = str(options.get("model", "")).lower()
    if "settings" not in options and model in names("settings"):
        return model
    return options.get("settings")


def _model_name(
    options: Mapping[str, Any],
    settings: Recipe | None,
    parameters: Mapping[str, Any],
    data: Dataset,
) -> tuple[str, str]:
    """Return the model that was asked for, else that of the settings or parameters, and why."""
    from edgnn.models import default_model, network_parameters

    if "model" not in options and settings is None:
        name = default_model(data.level, parameters)
        reason = ""
        if data.level == "graph" and name == "edgnn":
            named = ", ".join(network_parameters(parameters))
            verb = "are" if ", " in named else "is"
            reason = f"the network edgnn, as {named} {verb} of networks; --model auto tries more"
        return name, reason
    of_settings = "edgnn" if settings is None else settings.model
    name = str(options.get("model") or of_settings).lower()
    meant = "edgnn" if name in _VARIANTS else name
    if settings is not None and settings.model != meant:
        raise EdgnnError(
            f"the settings {settings.row!r} are those of {settings.model}, not of {name}: "
            "leave out one of the two"
        )
    return name, ""


def seconds_of(text: Any) -> float:
    """Return the seconds of ``--budget``: ``90``, ``30s``, ``2min`` or ``1.5h``."""
    match = _DURATION.fullmatch(str(text).strip().lower())
    seconds = 0.0
    if match is not None:
        number, unit = match.groups()
        seconds = float(number) * _SECONDS[unit or "s"]
    if not seconds > 0:
        raise EdgnnError(f"--budget {text}: give a time such as 30s, 2min or 1h")
    return seconds


def _check_parameters(parameters: Mapping[str, Any], data: Dataset) -> None:
    """Raise for parameters that follow from elsewhere, or that such data has no use for."""
    if "random_state" in parameters:
        raise EdgnnError("random_state follows from --seed")
    for name in _FROM_ELSEWHERE:
        if name in parameters:
            raise EdgnnError(f"{name} is no parameter to choose: it follows from elsewhere")
    if "fanout" in parameters and data.level == "graph":
        raise EdgnnError(
            "fanout says how many neighbors of a node are read, and these are graphs: leave it out"
        )


def class_weight_of(weights: Any, class_names: Sequence[str]) -> Any:
    """Return weights by class number, of ``NAME=WEIGHT,…`` or a mapping; ``"balanced"`` stays."""
    if weights is None or weights == "balanced":
        return weights
    pairs = dict(weights) if isinstance(weights, Mapping) else _class_pairs(str(weights))
    numbered = {}
    for name, weight in pairs.items():
        if name not in class_names:
            raise EdgnnError(
                f"class_weight names the class {name!r}; "
                f"the classes are {', '.join(map(repr, class_names))}"
                f"{suggestion(name, class_names)}"
            )
        numbered[class_names.index(name)] = parse_value(weight)
    return numbered


def _class_pairs(text: str) -> dict[str, str]:
    """Split ``NAME=WEIGHT,NAME=WEIGHT``; a name may hold any character but these two."""
    pairs = {}
    for word in text.split(","):
        name, equals, weight = word.rpartition("=")
        if not equals:
            raise EdgnnError(f"class_weight={text!r}: choose balanced, or NAME=WEIGHT,NAME=WEIGHT")
        pairs[name.strip()] = weight.strip()
    return pairs
