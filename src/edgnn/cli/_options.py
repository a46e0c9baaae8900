"""What commands share: options, the meaning of NAME=VALUE, output as JSON, the console."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgnn._values import Word, parse_values
from edgnn.cli._complete import sources, words
from edgnn.errors import EdgnnError

if TYPE_CHECKING:
    from rich.console import Console

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
        help="Column or property of the file to learn; several with commas or by repeating it, "
        "'NR-*' for all that fit, '*' for all that nothing else uses.",
        rich_help_panel="Data",
    ),
]
Descriptors = Annotated[
    list[str] | None,
    typer.Option(
        "--descriptors",
        metavar="COLUMN",
        help="Molecules: columns or properties of numbers to learn from as well; several as with "
        "--target.",
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
SkipUnknown = Annotated[
    bool | None,
    typer.Option(
        "--skip-unknown",
        help="Leave out rows of a table of names (--target-file, --nodes) that name nothing in "
        "the data; they are counted.",
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
    texts = _split_assignments(assignments, flag, example)
    return {name: parse_values(text) for name, text in texts}


def _split_assignments(
    assignments: Iterable[str] | None, flag: str = "--option", example: str = "source=from"
) -> Iterator[tuple[str, str]]:
    for word in assignments or ():
        name, equals, value = word.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name.isidentifier():
            raise EdgnnError(f"{flag} takes NAME=VALUE, such as {example}, not {word!r}")
        yield name, value


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
    "unknown_names": "--skip-unknown",
    "split_column": "--split-column",
    **dict.fromkeys(("allowed", "device", "host", "limits", "on_start", "port", "run"), ""),
}


def reader_options(assignments: Iterable[str] | None) -> dict[str, Any]:
    """Return the options of a reader from ``-o NAME=VALUE``; the reader says what each means."""
    options = {name: Word(text) for name, text in _split_assignments(assignments)}
    for name in options:
        if name in _NOT_FOR_READERS:
            instead = _NOT_FOR_READERS[name]
            advice = f"use {instead}" if instead else "leave it out"
            raise EdgnnError(f"-o {name}= is no option of a file's reader; {advice}")
    return options


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
