"""What commands share: options, the meaning of NAME=VALUE, output as JSON, the console."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgnn.cli._complete import sources, words
from edgnn.errors import EdgnnError

if TYPE_CHECKING:
    from rich.console import Console

_INTEGER = re.compile(r"[+-]?(0|[1-9]\d{0,30})", re.ASCII)
_FLOAT = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+(?=e))(e[+-]?\d+)?", re.ASCII)
_CONSTANTS = {"none": None, "true": True, "false": False}
_WIDTH_IN_A_PIPE = 200


class Level(StrEnum):
    """What targets belong to, for the command line's own checking."""

    graph = "graph"
    node = "node"


RunArgument = Annotated[Path, typer.Argument(help="A run folder of edgnn train.")]
SourceArgument = Annotated[
    str,
    typer.Argument(
        autocompletion=sources,
        help="A data set's name, or a file or folder in any format edgnn reads.",
    ),
]
TaskOption = Annotated[
    Level | None,
    typer.Option(
        "--task",
        help="Whether targets belong to graphs or nodes; default: as the data has them.",
        rich_help_panel="Data",
    ),
]
TargetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        "-t",
        metavar="COLUMN",
        help="Column or property of the file to learn; repeat it for several.",
        rich_help_panel="Data",
    ),
]
TargetFile = Annotated[
    Path | None,
    typer.Option(
        "--target-file",
        help="A table of names and targets, for files that hold none, such as RDF.",
        rich_help_panel="Data",
    ),
]
Regression = Annotated[
    bool | None,
    typer.Option(
        "--regression/--classification",
        help="Take numbers as values or as classes; default: whole numbers as classes "
        "(written 1.0, if there are few).",
        rich_help_panel="Data",
    ),
]
SplitColumn = Annotated[
    str | None,
    typer.Option(
        "--split-column",
        metavar="COLUMN",
        help="Column that says which part each item is in: train, validation, test; or its fold.",
        rich_help_panel="Data",
    ),
]
SplitsFile = Annotated[
    Path | None,
    typer.Option(
        "--splits-file",
        metavar="FILE",
        help='Splits as JSON, [{"train": [0, 1], "val": "2-9", "test": [10]}], or a table of id '
        "and part.",
        rich_help_panel="Data",
    ),
]
TestFile = Annotated[
    Path | None,
    typer.Option(
        "--test-file",
        metavar="FILE",
        help="Test on the items of this file, which is read as SOURCE is.",
        rich_help_panel="Data",
    ),
]
ValidationFile = Annotated[
    Path | None,
    typer.Option(
        "--validation-file",
        metavar="FILE",
        help="Validate on the items of this file, which is read as SOURCE is.",
        rich_help_panel="Data",
    ),
]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Look here first; laid out as TUDataset/NAME and rdf/NAME."),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        metavar="NAME=VALUE",
        help="An option of the file's reader, such as source=from; repeatable.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Open = Annotated[bool, typer.Option("--open", help="Open the page in a browser.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Nodes = Annotated[
    str | None,
    typer.Option(
        "--nodes",
        metavar="FILE|all",
        help="Which nodes: a file that names them, one per line, or all; default: those for which "
        "SOURCE itself has targets (AIFB, -o node_target=COLUMN), else all.",
    ),
]
_DEVICE = "cpu, cuda, cuda:1 or auto"
#: ``--device`` of commands that use a trained model, where it has a default.
Device = Annotated[
    str, typer.Option("--device", autocompletion=words("device"), help=f"{_DEVICE}.")
]
#: ``--device`` of commands that train, where stored settings can have a say.
TrainingDevice = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="NAME",
        autocompletion=words("device"),
        help=f"{_DEVICE}; default cpu.",
    ),
]


def parse_assignments(
    assignments: Iterable[str] | None, flag: str = "--option", example: str = "source=from"
) -> dict[str, Any]:
    """Return what ``NAME=VALUE`` words mean, by name (``-`` in a name reads as ``_``)."""
    parsed: dict[str, Any] = {}
    for word in assignments or ():
        name, equals, value = word.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name.isidentifier():
            raise EdgnnError(f"{flag} takes NAME=VALUE, such as {example}, not {word!r}")
        parsed[name] = parse_values(value)
    return parsed


#: Words that ``load_dataset`` or a command takes for itself, and the option that says the same.
_NOT_FOR_READERS = {
    "data_dir": "--data-dir",
    "download": "",
    "level": "--task",
    "like": "",
    "path": "",
    "progress": "",
    "target_column": "--target",
    "target_file": "--target-file",
    "task": "--regression or --classification",
    **dict.fromkeys(("allowed", "device", "host", "limits", "on_start", "port", "run"), ""),
}


def parse_reader_options(assignments: Iterable[str] | None) -> dict[str, Any]:
    """Return the options of a file's reader, as ``-o NAME=VALUE`` gives them."""
    options = parse_assignments(assignments)
    for name in options:
        if name in _NOT_FOR_READERS:
            instead = _NOT_FOR_READERS[name]
            advice = f"use {instead}" if instead else "leave it out"
            raise EdgnnError(f"-o {name}= is no option of a file's reader; {advice}")
    return options


def parse_values(text: str) -> Any:
    """Return what a text means; of words with commas between them, a list of what each means.

    Pairs (``a=1,b=2``) stay text, and so does a single comma, which is a delimiter.
    """
    words = [word.strip() for word in _unwrapped(text.strip()).split(",")]
    if len(words) == 1 or not any(words) or "=" in text:
        return parse_value(text)
    return [parse_value(word) for word in words if word]


def parse_value(text: Any) -> Any:
    """Return what one word means: none, true, false, a number, else the text itself.

    Only numbers as Python writes them are numbers: ``007``, ``nan`` or ``1_000`` may be names.
    """
    if not isinstance(text, str):
        return text
    word = text.strip().lower()
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    if _INTEGER.fullmatch(word):
        return int(word)
    if _FLOAT.fullmatch(word):
        return float(word)
    return text


def _unwrapped(text: str) -> str:
    """Return what is inside the brackets of a list as Python writes it."""
    if (text[:1], text[-1:]) in (("(", ")"), ("[", "]")):
        return text[1:-1]
    return text


def print_json(document: Any, *, indent: int | None = 2) -> None:
    """Print a document of plain values as JSON."""
    typer.echo(json.dumps(document, indent=indent, ensure_ascii=False))


def console(*, wide: bool = False) -> Console:
    """Return a console for results; with ``wide``, lines are not folded in a pipe."""
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # for the application to handle; rich would exit with 1

    screen = Piped(highlight=False)
    if wide and not screen.is_terminal:
        screen.width = _WIDTH_IN_A_PIPE
    return screen


def open_page(path: Path) -> None:
    """Open a page in the browser."""
    typer.launch(path.resolve().as_uri())
