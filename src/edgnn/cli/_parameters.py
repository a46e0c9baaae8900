"""The options of every command that trains: data, model, training, and a TOML file of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from edgnn._values import parse_values
from edgnn.cli._choices import read_config
from edgnn.cli._complete import model_lines, names, words
from edgnn.cli._options import (
    DataDir,
    Descriptors,
    Options,
    Regression,
    SkipUnknown,
    SplitColumn,
    SplitsFile,
    TargetFile,
    TargetOption,
    TaskOption,
    TestFile,
    TrainingDevice,
    ValidationFile,
    parse_assignments,
    reader_options,
)

#: By help panel: parameter, placeholder of its value (``None`` for a switch), help.
_FLAGS: dict[str, tuple[tuple[str, str | None, str], ...]] = {
    "Model": (
        ("layers", "N", "Number of layers; default 2."),
        ("hidden", "N", "Hidden units per layer; default 64."),
        ("conv", "NAME", f"The layer: {', '.join(names('conv'))}; default edgnn."),
        ("activation", "NAME", "relu, cosine, tanh and others."),
        ("dropout", "RATE", "Of each layer's result; default 0 for graphs, 0.5 for nodes."),
        ("batch_norm", None, "Normalize after each activation; default for graphs."),
        ("bias", None, "Whether layers have one."),
        ("embedding", "WIDTH", "Learn embeddings of node labels of this width; one-hot without."),
        ("readout", "NAME", "Graphs: sum, mean or max over the nodes."),
        ("direction", "NAME", "both: edges count at both ends. in: only at their target."),
        ("degree_labels", "NAME", "Degrees instead of node labels: in, out, both, auto or none."),
    ),
    "Training": (
        ("learning_rate", "RATE", "Default 0.001 for graphs, 0.005 for nodes."),
        ("weight_decay", "RATE", "Default 0.0005 for graphs, 0 for nodes."),
        (
            "batch_size",
            "N",
            "Graphs or nodes per step, or none for all at once; default 8 graphs, all nodes.",
        ),
        (
            "fanout",
            "N[,N]",
            "Nodes with --batch-size: most neighbors read per node; or per layer, last first, "
            "none for the first.",
        ),
        (
            "max_epochs",
            "N",
            "Most epochs; default 40 for graphs, 400 for nodes. The best epoch's weights are kept.",
        ),
        (
            "patience",
            "N",
            "Stop after so many epochs without a lower validation loss; default: never.",
        ),
        ("class_weight", "WEIGHTS", "balanced, or NAME=WEIGHT,NAME=WEIGHT."),
        (
            "calibrate",
            None,
            "Calibrate probabilities with a temperature fitted on the validation set.",
        ),
        ("members", "K", "Train an ensemble of K models at once."),
        ("precision", "NAME", "float32, float64 or bfloat16."),
        (
            "unknown",
            "NAME",
            "What predictions do with labels never seen: zero (count for nothing, warn) or error.",
        ),
    ),
}
ModelName = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        autocompletion=words("model"),
        help="Default: auto for graphs; edgnn for nodes, or with options of networks."
        f"\n\n{model_lines()}",
        rich_help_panel="Model",
    ),
]
Seed = Annotated[
    int | None, typer.Option("--seed", min=0, metavar="N", help="Random seed; default 0.")
]
ValidationFraction = Annotated[
    str | None,
    typer.Option(
        "--validation",
        metavar="FRACTION",
        help="Fraction of all items that chooses the epoch, or none; default 0.1.",
    ),
]
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
        help=f"Stored settings to start from: {', '.join(words('settings')(''))}.",
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="TIME",
        help="auto: the time for trying learners, such as 30s, 2min or 1h; default: as it takes.",
    ),
]
_ANY_OTHER = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any other parameter of the model. Candidates with commas (hidden=16,64; in the "
        "options above, too) are chosen from inside the training set.",
        rich_help_panel="Training",
    ),
]
#: Options of every training command that a TOML file can hold as well.
_SHARED = {
    "task": TaskOption,
    "target": TargetOption,
    "descriptors": Descriptors,
    "target_file": TargetFile,
    "skip_unknown": SkipUnknown,
    "regression": Regression,
    "split_column": SplitColumn,
    "splits_file": SplitsFile,
    "test_file": TestFile,
    "validation_file": ValidationFile,
    "model": ModelName,
    "settings": SettingsRow,
    "validation": ValidationFraction,
    "seed": Seed,
    "budget": Budget,
    "options": Options,
}
#: Options of every training command that are about this call only.
_OF_THE_CALL = {"config": Config, "device": TrainingDevice, "data_dir": DataDir}


@dataclass(frozen=True)
class Choices:
    """What a training command is asked for: its options, and parameters of the estimator."""

    options: dict[str, Any]
    parameters: dict[str, Any]
    names: frozenset[str]
    config: Path | None
    data_dir: Path | None

    def with_config(self) -> Choices:
        """Return them with those of the TOML file, which flags override."""
        if self.config is None:
            return self
        options, parameters = read_config(self.config, self.names)
        return replace(
            self, options=options | self.options, parameters=parameters | self.parameters
        )


def training_command(
    *without: str, **own: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of data, model and training; it receives :class:`Choices`.

    Parameters
    ----------
    *without : str
        Parameters of the estimator that get no flag.
    **own : annotation
        The command's own options that a TOML file can hold as well.
    """
    options = _SHARED | own
    flags = {
        name: _option(name, metavar, text, panel)
        for panel, rows in _FLAGS.items()
        for name, metavar, text in rows
        if name not in without
    }

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def wrapped(**given: Any) -> None:
            used = {name: given.pop(name) for name in options}
            parameters = _parameters({name: given.pop(name) for name in flags}, given.pop("set_"))
            device = given.pop("device")
            if device is not None:
                parameters["device"] = device
            config, data_dir = given.pop("config"), given.pop("data_dir")
            choices = Choices(_plain(used), parameters, frozenset(options), config, data_dir)
            command(**given, choices=choices)

        signature = inspect.signature(command, eval_str=True)
        kept = [option for name, option in signature.parameters.items() if name != "choices"]
        added = own | _SHARED | _OF_THE_CALL | flags | {"set_": _ANY_OTHER}
        # typer reads the options of a command from its signature
        wrapped.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*kept, *(_keyword(name, option) for name, option in added.items())]
        )
        wrapped.__annotations__ = {}
        return wrapped

    return decorate


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were used, as plain values."""
    used = {name: value for name, value in options.items() if value is not None and value != []}
    if "options" in used:
        used["options"] = reader_options(used["options"])
    return {name: _text_or_value(value) for name, value in used.items()}


def _text_or_value(value: Any) -> Any:
    return str(value) if isinstance(value, str | Path) else value  # also of an enumeration


def _parameters(flags: dict[str, Any], others: list[str] | None) -> dict[str, Any]:
    """Return the parameters of the estimator that were used."""
    parameters = parse_assignments(others, "--set", "clip_norm=1.0")
    for name, value in flags.items():
        if value is not None:
            parameters[name] = parse_values(value) if isinstance(value, str) else value
    # estimators take several values as tuples, which nobody can change
    for name, value in parameters.items():
        parameters[name] = tuple(value) if isinstance(value, list) else value
    return parameters


def _keyword(name: str, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
    )


def _option(name: str, metavar: str | None, text: str, panel: str) -> Any:
    flag = name.replace("_", "-")
    if metavar is None:
        switch = typer.Option(f"--{flag}/--no-{flag}", help=text, rich_help_panel=panel)
        return Annotated[bool | None, switch]
    option = typer.Option(
        f"--{flag}",
        metavar=metavar,
        autocompletion=words(name) if names(name) else None,
        help=text,
        rich_help_panel=panel,
    )
    return Annotated[str | None, option]
