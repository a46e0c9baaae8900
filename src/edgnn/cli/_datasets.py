"""``edgnn datasets``: which sets there are, where they would come from, what is in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from edgnn.cli._complete import sources
from edgnn.errors import EdgnnError

if TYPE_CHECKING:
    from edgnn.io.datasets import Dataset

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
_LABELED: tuple[Literal["node", "edge"], ...] = ("node", "edge")
_MOST_LABELS = 10

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

datasets_app = typer.Typer(
    help="List the named data sets, or show one.",
    invoke_without_command=True,
    no_args_is_help=False,
)


@datasets_app.callback()
def list_sets(context: typer.Context, data_dir: DataDir = None, as_json: Json = False) -> None:
    """List the named data sets and where each would come from."""
    if context.invoked_subcommand is not None:
        if as_json or data_dir is not None:
            raise typer.BadParameter(
                f"put options behind the command: edgnn datasets {context.invoked_subcommand} NAME --json"
            )
        return
    from edgnn.io import datasets

    rows: list[dict[str, Any]] = []
    for name in datasets.names():
        entry = datasets.find(name)
        assert entry is not None
        location = datasets.locate(entry, data_dir)
        rows.append(
            {
                "name": name,
                "task": "graph classification" if entry.kind == "tu" else "node classification",
                "from": location.place,
                "path": None if location.path is None else str(location.path),
                "description": entry.description,
            }
        )
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in ("Name", "Task", "Comes from", "What it is"):
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(row["name"], row["task"], row["from"], row["description"])
    _console().print(table)
    _console().print(
        "\nEvery other TU set is loaded by its name too. [bold]edgnn datasets show NAME[/] tells what is in one."
    )


@datasets_app.command("show")
def show(
    name: Annotated[
        str,
        typer.Argument(
            autocompletion=sources,
            help="A set's name, or a file or folder in any format edgnn reads.",
        ),
    ],
    option: Options = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Load a data set and print its statistics beside the paper's."""
    from edgnn.cli._source import Source, check_told

    options = parse_options(option)
    check_told(name, {"options": options})
    from edgnn.io.datasets import load_dataset, summary

    data = load_dataset(name, data_dir=data_dir, **options)
    if as_json:
        typer.echo(json.dumps(summary(data), indent=2, ensure_ascii=False))
    else:
        _print(data, Source(name, options=options).columns())


def _print(data: Dataset, columns: list[str]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from edgnn.io.datasets import class_counts, label_counts, statistics, stored_both_ways

    console = _console()
    rows = statistics(data)
    console.print(f"[bold]{escape(data.name)}[/]  {escape(data.description)}".rstrip() + "\n")
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for row in rows:
        table.add_column(row.title, justify="right", no_wrap=True)
    bare = {f"{of}_labels" for of in _LABELED if getattr(data.graphs, f"{of}_vocabulary").constant}
    table.add_row("here", *("none" if row.key in bare else _number(row.value) for row in rows))
    if data.paper:
        table.add_row(
            "paper",
            *(
                ""
                if row.paper is None
                else f"[yellow]{row.paper:,}*[/]"
                if row.differs
                else f"{row.paper:,}"
                for row in rows
            ),
        )
    console.print(table)
    if data.paper_note:
        console.print(f"* {escape(data.paper_note)}")
    counts = class_counts(data)
    if counts:
        console.print(
            "\nClasses   " + ", ".join(f"{escape(name)}: {count}" for name, count in counts.items())
        )
    if data.level == "graph" and stored_both_ways(data.graphs):
        console.print("Edges     each is stored both ways; the table counts it once")
    for of in _LABELED:
        _print_labels(console, of, label_counts(data.graphs, of))
    for line in columns:
        console.print(f"Columns   {escape(line.removeprefix('columns '))}", soft_wrap=True)
    console.print(f"Source    {escape(data.source)}")
    if data.citation:
        console.print(f"Cite      {escape(data.citation)}")


def _print_labels(console: Any, of: str, counts: list[tuple[Any, int]]) -> None:
    """Print the most frequent labels, each as an option of a reader would have it."""
    from rich.markup import escape

    if not counts:
        return
    console.print(f"{of.capitalize()} labels, by how many {of}s have them")
    width = len(f"{counts[0][1]:,}")
    for label, count in counts[:_MOST_LABELS]:
        console.print(f"    {count:>{width},}  {escape(str(label))}", soft_wrap=True)
    if len(counts) > _MOST_LABELS:
        console.print(f"    and {len(counts) - _MOST_LABELS:,} more")


def parse_options(options: list[str] | None) -> dict[str, Any]:
    """Turn ``name=value`` words into keyword arguments: numbers, true, false and none by meaning, ``a,b`` as a list, else text."""
    parsed: dict[str, Any] = {}
    for word in options or []:
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier():
            raise EdgnnError(f"--option takes NAME=VALUE, such as source=from, not {word!r}")
        plain = {"true": True, "false": False, "none": None}
        parsed[name] = (
            plain[value.lower()]
            if value.lower() in plain
            else int(value)
            if value.isdecimal()
            else value
        )
        if isinstance(parsed[name], str) and "," in value and len(value) > 1:
            parsed[name] = value.split(",")
    return parsed


def _number(value: int | float) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"


def _console() -> Any:
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # for the application to handle; rich would exit with 1

    return Piped(highlight=False)
