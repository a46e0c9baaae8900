"""The estimators' parameters as flags, once for every command that trains."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from edgnn.cli._complete import names, words
from edgnn.cli._options import parse_assignments, parse_value, parse_values
from edgnn.registry import LAYERS

_LAYERS = ", ".join(f"{layer.name} ({layer.summary})" for layer in LAYERS.values())
#: By help panel: parameter, placeholder of its value (``None`` for a switch), help.
_FLAGS: dict[str, tuple[tuple[str, str | None, str], ...]] = {
    "Model": (
        ("layers", "N", "Number of layers; default 2."),
        ("hidden", "N", "Hidden units per layer; default 64."),
        ("conv", "NAME", f"The layer: {_LAYERS}."),
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
_ANY_OTHER = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any other parameter of the model; candidates to choose from with commas, "
        "as C=0.1,1,10.",
        rich_help_panel="Training",
    ),
]


def takes_parameters(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command a flag per parameter and ``--set``.

    The command receives those that were used as the dict ``parameters``.
    """
    flags = {
        name: _option(name, metavar, text, panel)
        for panel, rows in _FLAGS.items()
        for name, metavar, text in rows
        if name not in without
    }

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def wrapped(**given: Any) -> None:
            parameters = parse_assignments(given.pop("set_"), "--set", "clip_norm=1.0")
            for name in flags:
                value = given.pop(name)
                if value is not None:
                    parse = parse_values if name == "fanout" else parse_value
                    parameters[name] = parse(value)
            # estimators take several values as tuples, which nobody can change
            for name, value in parameters.items():
                parameters[name] = tuple(value) if isinstance(value, list) else value
            command(**given, parameters=parameters)

        own = inspect.signature(command, eval_str=True)
        kept = [parameter for name, parameter in own.parameters.items() if name != "parameters"]
        added = [_keyword(name, option) for name, option in flags.items()]
        # typer reads the options of a command from its signature
        signature = own.replace(parameters=[*kept, *added, _keyword("set_", _ANY_OTHER)])
        wrapped.__signature__ = signature  # type: ignore[attr-defined]
        wrapped.__annotations__ = {}
        return wrapped

    return decorate


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
