"""``edgnn datasets``: which sets there are, where they would come from, what is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from edgnn._words import counted
from edgnn.cli._options import (
    DataDir,
    Json,
    Options,
    SourceArgument,
    console,
    print_json,
    reader_options,
)
from edgnn.cli._source import Source, check_files
from edgnn.cli._usage import Commands

if TYPE_CHECKING:
    from edgnn.io.datasets import Dataset, Statistic

_LABELED: tuple[Literal["node", "edge"], ...] = ("node", "edge")
_MOST_LABELS = 10
_TASK = {"values": "regression"}

datasets_app = typer.Typer(
    cls=Commands,
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
                "put options behind the command: "
                f"edgnn datasets {context.invoked_subcommand} NAME --json"
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
                "task": f"{entry.level} {_TASK.get(entry.task, 'classification')}",
                "from": location.place,
                "path": None if location.path is None else str(location.path),
                "description": entry.description,
            }
        )
    if as_json:
        print_json(rows)
    else:
        _print_list(rows)


def _print_list(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("Name", no_wrap=True)
    for title in ("Task", "Comes from", "What it is"):
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(row["name"], row["task"], row["from"], row["description"])
    screen = console()
    screen.print(table)
    screen.print(
        "\nEvery other TU set is loaded by its name too. "
        "[bold]edgnn datasets show NAME[/] prints what is in one."
    )


@datasets_app.command("show")
def show(
    name: SourceArgument,
    option: Options = None,
    data_dir: DataDir = None,
    all_labels: Annotated[
        bool, typer.Option("--all", help="List all labels, not only the ten most frequent.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Load a data set and print its statistics beside the paper's."""
    options = reader_options(option)
    check_files(name, {"options": options})
    from edgnn.io.datasets import load_dataset, summary

    data = load_dataset(name, data_dir=data_dir, **options)
    if as_json:
        print_json(summary(data))
    else:
        _print(data, Source(name, options=options).columns(), None if all_labels else _MOST_LABELS)


def _print(data: Dataset, columns: list[str], most_labels: int | None) -> None:
    from rich.markup import escape

    from edgnn.io.datasets import class_counts, label_counts, stored_both_ways, term_counts

    screen = console()
    screen.print(f"[bold]{escape(data.name)}[/]  {escape(data.description)}".rstrip() + "\n")
    screen.print(_statistics(data))
    if data.paper_note:
        screen.print(f"* {escape(data.paper_note)}")
    counts = [f"{escape(name)}: {count}" for name, count in class_counts(data).items()]
    if counts:
        screen.print(f"\nClasses   {', '.join(counts)}")
    if data.level == "graph" and stored_both_ways(data.graphs):
        screen.print("Edges     each is stored both ways; the table counts it once")
    terms = [counted(count, kind) for kind, count in term_counts(data.graphs).items()]
    if terms:
        screen.print(f"Terms     {', '.join(terms)}")
    for element in _LABELED:
        _print_labels(screen, element, label_counts(data.graphs, element), most_labels)
    for line in columns:
        screen.print(f"Columns   {escape(line.removeprefix('columns '))}", soft_wrap=True)
    screen.print(f"Source    {escape(data.source)}")
    if data.citation:
        screen.print(f"Cite      {escape(data.citation)}")
    if data.license:
        screen.print(f"License   {escape(data.license)}")


def _statistics(data: Dataset) -> Any:
    """Return a table of the numbers of a data set, with the paper's below them."""
    from rich.table import Table

    from edgnn.io.datasets import statistics

    rows = statistics(data)
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for row in rows:
        table.add_column(row.title, justify="right", no_wrap=True)
    unlabeled = {
        f"{element}_labels"
        for element in _LABELED
        if getattr(data.graphs, f"{element}_vocabulary").constant
    }
    table.add_row("here", *("none" if row.key in unlabeled else _number(row.value) for row in rows))
    if data.paper:
        table.add_row("paper", *(_of_paper(row) for row in rows))
    return table


def _of_paper(row: Statistic) -> str:
    if row.paper is None:
        return ""
    return f"[yellow]{row.paper:,}*[/]" if row.differs else f"{row.paper:,}"


def _number(value: int | float) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"


def _print_labels(
    screen: Any, element: str, counts: list[tuple[Any, int]], most: int | None
) -> None:
    """Print the most frequent labels, each as an option of a reader would have it."""
    from rich.markup import escape

    if not counts:
        return
    screen.print(f"{element.capitalize()} labels, by how many {element}s have them")
    width = len(f"{counts[0][1]:,}")
    for label, count in counts[:most]:
        screen.print(f"    {count:>{width},}  {escape(str(label))}", soft_wrap=True)
    if most is not None and len(counts) > most:
        screen.print(f"    and {len(counts) - most:,} more (--all lists them)")
