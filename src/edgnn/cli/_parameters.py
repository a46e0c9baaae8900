"""The estimators' parameters as flags, once for every command that trains."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from edgnn.cli._complete import WORDS, words
from edgnn.errors import EdgnnError
from edgnn.registry import LAYERS

ValidationShare = Annotated[
    str | None,
    typer.Option(
        "--validation",
        metavar="SHARE",
        help="Share of all items that chooses the epoch, or none; default 0.1.",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed", min=0, metavar="N", help="What everything random follows from; default 0."
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="NAME",
        autocompletion=words("device"),
        help="cpu, cuda, cuda:1 or auto; default cpu.",
    ),
]


@dataclass(frozen=True)
class Flag:
    """One parameter of the estimators on the command line; a flag without a metavar is a switch."""

    name: str
    metavar: str | None
    help: str
    panel: str

    @property
    def word(self) -> str:
        """How it is written."""
        return "--" + self.name.replace("_", "-")


_MODEL = (
    ("layers", "N", "How many layers; default 2."),
    ("hidden", "N", "How wide they are; default 64."),
    (
        "conv",
        "NAME",
        f"The layer: {', '.join(LAYERS)}; default edgnn, Eq. 4 of the paper.",
    ),
    ("activation", "NAME", "relu, cosine, tanh and others."),
    ("dropout", "RATE", "Of each layer's result; default 0 for graphs, 0.5 for nodes."),
    ("batch_norm", None, "Normalize after each activation; default for graphs."),
    ("bias", None, "Whether layers have one."),
    ("embedding", "WIDTH", "Learn embeddings of node labels of this width; one-hot without."),
    ("readout", "NAME", "Graphs: sum, mean or max over the nodes."),
    ("direction", "NAME", "both: edges count at both ends. in: only at their target."),
    ("degree_labels", "NAME", "Degrees in the place of node labels: in, out, both, auto or none."),
)
_TRAINING = (
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
        "Nodes with --batch-size: most neighbors read per node; or per layer, last first, none for the first.",
    ),
    (
        "max_epochs",
        "N",
        "Most epochs; default 40 for graphs, 400 for nodes. The best epoch's weights are kept.",
    ),
    ("patience", "N", "Stop after so many epochs without a lower validation loss; default: never."),
    ("class_weight", "WEIGHTS", "balanced, or NAME=WEIGHT,NAME=WEIGHT."),
    (
        "calibrate",
        None,
        "Make probabilities honest with a temperature found on the validation part.",
    ),
    ("members", "K", "Train an ensemble of K models at once."),
    ("precision", "NAME", "float32, float64 or bfloat16."),
    (
        "unknown",
        "NAME",
        "What predictions do with labels never seen: zero (count for nothing, warn) or error.",
    ),
)
FLAGS = tuple(
    Flag(name, metavar, text, panel)
    for panel, rows in (("Model", _MODEL), ("Training", _TRAINING))
    for name, metavar, text in rows
)


def takes_parameters(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command a flag per parameter and ``--set``; it receives those that were used as the dict ``parameters``."""
    flags = {flag.name: flag for flag in FLAGS if flag.name not in without}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def wrapped(**given: Any) -> None:
            used = {name: given.pop(name) for name in flags}
            rest = parse_assignments(given.pop("set_"), "--set")
            chosen = {
                name: several_of(value) if name == "fanout" else value_of(value)
                for name, value in used.items()
                if value is not None
            }
            command(
                **given,
                parameters={name: several_of(value) for name, value in rest.items()} | chosen,
            )

        own = inspect.signature(command, eval_str=True)
        kept = [parameter for name, parameter in own.parameters.items() if name != "parameters"]
        added = [_parameter(flag) for flag in flags.values()]
        wrapped.__signature__ = own.replace(parameters=[*kept, *added, _set_parameter()])  # type: ignore[attr-defined]
        wrapped.__annotations__ = {}
        return wrapped

    return decorate


def parse_assignments(words: list[str] | None, flag: str) -> dict[str, str]:
    """Split ``name=value`` words."""
    parsed: dict[str, str] = {}
    for word in words or []:
        name, equals, value = word.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name.isidentifier():
            raise EdgnnError(f"{flag} takes NAME=VALUE, such as clip_norm=1.0, not {word!r}")
        parsed[name] = value.strip()
    return parsed


def value_of(text: Any) -> Any:
    """Return what a word means: none, true, false, a number, or itself; what is no text stays as it is, lists as tuples."""
    if not isinstance(text, str):
        return tuple(text) if isinstance(text, list) else text
    plain = {"none": None, "true": True, "false": False}
    if text.lower() in plain:
        return plain[text.lower()]
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text


def several_of(text: str) -> Any:
    """Return what a word means, or of a list with commas, what each of its words does."""
    if "," not in text or "=" in text:
        return value_of(text)
    return tuple(value_of(word.strip()) for word in text.strip("()[] ").split(",") if word.strip())


def _parameter(flag: Flag) -> inspect.Parameter:
    if flag.metavar is None:
        word = f"{flag.word}/--no-{flag.word[2:]}"
        option: Any = Annotated[
            bool | None, typer.Option(word, help=flag.help, rich_help_panel=flag.panel)
        ]
    else:
        known = words(flag.name) if flag.name in WORDS else None
        option = Annotated[
            str | None,
            typer.Option(
                flag.word,
                metavar=flag.metavar,
                autocompletion=known,
                help=flag.help,
                rich_help_panel=flag.panel,
            ),
        ]
    return inspect.Parameter(
        flag.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option
    )


def _set_parameter() -> inspect.Parameter:
    option = Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any other parameter of the model; candidates to choose from with commas, as C=0.1,1,10.",
            rich_help_panel="Training",
        ),
    ]
    return inspect.Parameter(
        "set_", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option
    )
