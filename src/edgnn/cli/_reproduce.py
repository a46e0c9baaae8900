"""``edgnn reproduce``: the paper's tables, computed cell by cell, beside what the paper says."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgnn._words import counted, duration
from edgnn.cli._complete import names, several, words
from edgnn.cli._options import (
    DataDir,
    Json,
    Quiet,
    TrainingDevice,
    console,
    print_json,
)
from edgnn.cli._process import terminated_softly
from edgnn.cli._progress import CellsProgress
from edgnn.cli._show import result_table
from edgnn.errors import StudyError

if TYPE_CHECKING:
    from edgnn.studies import Entry, Reproduction, Request, Study, TableSummary

_JOBS_ON_DEVICE = 2
_LONGEST_ROWS = 3
_INTERRUPTED, _TERMINATED = 130, 143


class Choice(StrEnum):
    """How settings are chosen, for the command line's own checking."""

    paper = "paper"
    nested = "nested"


class Backend(StrEnum):
    """Who computes cells, for the command line's own checking."""

    loky = "loky"
    dask = "dask"


def reproduce(
    context: typer.Context,
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TABLE",
            autocompletion=words("table"),
            help=f"{', '.join(names('table'))}; default: the first four.",
            show_default=False,
        ),
    ] = None,
    runs: Annotated[
        int, typer.Option("--runs", min=1, max=1000, metavar="N", help="Runs of every row.")
    ] = 10,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Output folder. If it exists, the study in it is resumed.",
        ),
    ] = Path("reproduction"),
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--models",
            metavar="A,B",
            autocompletion=several(words("model")),
            help="Rows, such as edgnn,wl-subtree; repeatable; default: all.",
        ),
    ] = None,
    datasets: Annotated[
        list[str] | None,
        typer.Option(
            "--datasets",
            metavar="A,B",
            autocompletion=several(words("dataset")),
            help="Data sets; repeatable; default: all.",
        ),
    ] = None,
    protocol: Annotated[
        Choice,
        typer.Option(
            "--protocol",
            help="paper: the stored settings. nested: layers and hidden units chosen inside the "
            "training set.",
        ),
    ] = Choice.paper,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            min=1,
            max=1024,
            metavar="N",
            help="Cells at once; default: one per core, 2 on a device.",
        ),
    ] = None,
    device: TrainingDevice = None,
    backend: Annotated[
        Backend,
        typer.Option(
            "--backend",
            help="loky: processes of this machine. dask: workers of a Dask cluster.",
        ),
    ] = Backend.loky,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            help="Of the Dask scheduler, such as tcp://10.0.0.1:8786; default: a local cluster.",
        ),
    ] = None,
    quiet: Quiet = False,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Compute the paper's tables.

    Finished cells are kept, so the command may be stopped and repeated at any time.
    """
    from edgnn.studies import Study
    from edgnn.studies import reproduce as compute

    rows, sets = _split_at_commas(models), _split_at_commas(datasets)
    if scheduler is not None and backend is not Backend.dask:
        raise StudyError("--scheduler is the address of a Dask cluster: add --backend dask")
    asked = _asked(tables or (), runs, rows, sets, protocol, jobs, device, data_dir)
    asked = replace(asked, backend=backend.value, scheduler=scheduler)
    study = Study.create(out)
    with study.lock(), terminated_softly() as ending:
        study.add_call(_call(context.meta["command"], asked, rows, sets))
        made = compute(
            asked,
            study,
            lambda plan, expected: CellsProgress(plan, expected, asked.jobs, quiet=quiet),
            lambda line: typer.echo(f"edgnn: {line}", err=True),
        )
    _print(made, study, as_json)
    code = _exit_code(made)
    if made.interrupted:
        typer.echo(
            f"edgnn: interrupted with {counted(_left(made), 'cell')} left; "
            "repeat the command to go on",
            err=True,
        )
        code = _TERMINATED if ending.asked else _INTERRUPTED
    raise typer.Exit(code)


def _asked(
    tables: Sequence[str],
    runs: int,
    models: list[str],
    datasets: list[str],
    protocol: Choice,
    jobs: int | None,
    device: str | None,
    data_dir: Path | None,
) -> Request:
    from edgnn._system import cores
    from edgnn.models import device_of
    from edgnn.studies import Request, select

    chosen = select(tables, models, datasets)
    place = str(device_of(device or "cpu"))
    if jobs is None:
        jobs = cores() if place == "cpu" else _JOBS_ON_DEVICE
    return Request(
        tables=chosen,
        runs=runs,
        protocol=protocol.value,
        device=place,
        jobs=jobs,
        data_dir=None if data_dir is None else str(data_dir),
    )


def _split_at_commas(options: Sequence[str] | None) -> list[str]:
    """Return the words of options that may be given with commas and several times."""
    split = [word.strip() for option in options or () for word in option.split(",")]
    if options and not all(split):
        raise StudyError(
            f"{','.join(options)!r}: name models and data sets with single commas between them, "
            "such as MUTAG,AIFB"
        )
    return split


def _call(command: str, asked: Request, models: list[str], datasets: list[str]) -> dict[str, Any]:
    """Return what the study folder keeps about this call."""
    from datetime import UTC, datetime

    import edgnn

    return {
        "command": command,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "tables": [table.name for table in asked.tables],
        "runs": asked.runs,
        "models": models or None,
        "datasets": datasets or None,
        "protocol": asked.protocol,
        "device": asked.device,
        "jobs": asked.jobs,
        "version": edgnn.__version__,
    }


def _left(made: Reproduction) -> int:
    """Return how many cells are still missing."""
    planned = sum(task.count for task in made.plan.todo)
    return planned - sum(task.count for task, _ in made.plan.took)


def _exit_code(made: Reproduction) -> int:
    """Return 1 where a cell failed by a mistake of ours, 2 where the user can help, else 0."""
    kinds = {report.kind for report in made.plan.failures}
    if "unexpected" in kinds:
        return 1
    return 2 if kinds or made.missing else 0


def _print(made: Reproduction, study: Study, as_json: bool) -> None:
    from edgnn.studies import failure_lines

    failures = failure_lines(made)
    if as_json:
        document = {
            "out": str(study.path),
            "seconds": made.seconds,
            "interrupted": made.interrupted,
            "left": _left(made),
            "failures": failures,
            "tables": made.documents,
        }
        print_json(document, indent=1)
    else:
        _print_tables(made, study)
    for line in failures:
        typer.echo(f"edgnn: {line}", err=True)


def _print_tables(made: Reproduction, study: Study) -> None:
    """Print the tables that were asked for, and what to do next."""
    from rich.markup import escape

    screen = console(wide=True)
    for document in made.documents:
        if "datasets" in document and "rows" not in document:
            _print_statistics(screen, document)
    for asked, summary in made.summaries:
        show = _print_measured if asked.metrics else _print_table
        show(screen, summary.narrow(asked), study)
    _print_time(screen, made)
    files = [_file_name(document) for document in made.documents]
    if files:
        shown = files[0] if len(files) == 1 else f"{{{','.join(files)}}}"
        folder = escape(str(study.path / "tables"))
        screen.print(f"Tables: {folder}/{escape(shown)}.{{md,csv,json}}")
    if made.summaries:
        screen.print(f"Every fold's predictions: {escape(str(study.path / 'predictions'))}")
        screen.print(f"Next: [bold]edgnn report {escape(shlex.quote(str(study.path)))}[/]")


def _file_name(document: dict[str, Any]) -> str:
    name = str(document["table"])
    return f"{name}.nested" if document.get("protocol") == "nested" else name


def _print_statistics(screen: Any, document: dict[str, Any]) -> None:
    from rich.markup import escape

    from edgnn.studies import statistics_rows

    rows = statistics_rows(document)
    screen.print(f"[bold]{escape(document['title'])}[/]")
    table = result_table(*rows[0])
    for row in rows:
        table.add_row(*map(escape, row.values()))
    screen.print(table)
    for name, note in document["notes"].items():
        screen.print(f"* {escape(name)}: {escape(note)}")
    screen.print()


def _print_measured(screen: Any, summary: TableSummary, study: Study) -> None:
    """Print a table of other metrics than accuracy: means over families, then each data set."""
    from rich.markup import escape

    from edgnn.studies import compact_rows, full_rows, measured_document

    if not summary.entries:
        return
    document = measured_document(study, summary)
    screen.print(f"[bold]{escape(summary.table.title)}[/]  {_runs(summary)}")
    tables = [compact_rows(document)]
    if len(summary.datasets) > len(tables[0][0]) - 1:  # a family is of several sets
        tables.append(full_rows(document))
    for rows in tables:
        table = result_table(*map(escape, rows[0]))
        for row in rows:
            table.add_row(*map(escape, row.values()))
        screen.print(table)
        screen.print()


def _print_table(screen: Any, summary: TableSummary, study: Study) -> None:
    from rich.markup import escape

    if not summary.entries:
        return
    has_paper = any(entry.paper for entry in summary.entries.values())
    nested = ", nested" if summary.protocol == "nested" else ""
    title = f"[bold]{escape(summary.table.title)}{nested}[/]"
    screen.print(f"{title}  accuracy (%), {_runs(summary)}")
    table = result_table("ours (paper)" if has_paper else "", *map(escape, summary.datasets))
    for row in summary.rows:
        cells = [_cell(summary.entries.get((row.id, dataset))) for dataset in summary.datasets]
        if screen.is_terminal:
            cells = [_unbroken(cell) for cell in cells]
        table.add_row(escape(row.title), *cells)
    screen.print(table)
    screen.print()


def _cell(entry: Entry | None) -> str:
    from edgnn.studies import ours

    if entry is None:
        return ""
    return ours(entry) if entry.paper is None else f"{ours(entry)} ({entry.paper})"


def _unbroken(cell: str) -> str:
    """Return figures that a narrow terminal breaks between ours and the paper's only."""
    return cell.replace(" ", "\N{NO-BREAK SPACE}").replace("\N{NO-BREAK SPACE}(", " (")


def _runs(summary: TableSummary) -> str:
    counts = sorted({entry.runs for entry in summary.entries.values()})
    if len(counts) == 1:
        return counted(counts[0], "run")
    return f"{counts[0]}–{counts[-1]} runs"


def _print_time(screen: Any, made: Reproduction) -> None:
    """Print how many cells were computed, and which rows took longest."""
    computed = sum(task.count for task, _ in made.plan.took)
    cached = len(made.plan.done)
    if not computed and not cached:
        return
    line = f"{counted(computed, 'cell')} computed in {duration(made.seconds)}"
    if cached:
        line += f", {cached:,} {'was' if cached == 1 else 'were'} there"
    screen.print(line)
    by_row: dict[str, float] = {}
    for task, seconds in made.plan.took:
        by_row[task.row.id] = by_row.get(task.row.id, 0.0) + seconds
    if len(by_row) > 1:
        longest = sorted(by_row.items(), key=lambda pair: -pair[1])[:_LONGEST_ROWS]
        shown = ", ".join(f"{row} {duration(seconds)}" for row, seconds in longest)
        screen.print(f"Longest: {shown}")
