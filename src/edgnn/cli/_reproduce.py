"""``edgnn reproduce``: the paper's tables, computed cell by cell, beside what the paper says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgnn.cli._cells_progress import cells_progress
from edgnn.cli._complete import data_sets, several, words
from edgnn.cli._datasets import DataDir, Json
from edgnn.cli._interrupt import terminated_softly
from edgnn.cli._parameters import Device
from edgnn.cli._show import _count
from edgnn.cli._show_tables import print_reproduction
from edgnn.errors import StudyError

if TYPE_CHECKING:
    from edgnn.studies import Asked, Reproduction, Study

_JOBS_ON_DEVICE = 2


class Choice(StrEnum):
    """How settings are chosen, for the command line's own checking."""

    paper = "paper"
    nested = "nested"


def reproduce(
    context: typer.Context,
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TABLE",
            autocompletion=words("table"),
            help="graph-datasets, node-datasets, graphs, nodes (these four without any), nodes-repeated, develop, beyond.",
            show_default=False,
        ),
    ] = None,
    runs: Annotated[
        int, typer.Option("--runs", min=1, max=1000, metavar="N", help="Runs of every row.")
    ] = 10,
    out: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="The folder; one that is there is gone on with."),
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
            autocompletion=several(data_sets),
            help="Data sets; repeatable; default: all.",
        ),
    ] = None,
    protocol: Annotated[
        Choice,
        typer.Option(
            "--protocol",
            help="paper: the stored settings. nested: layers and width chosen inside the training part.",
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
    device: Device = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Fill in the paper's tables: what is done is never computed again, so it may be stopped and repeated at any time."""
    from edgnn.studies import Study
    from edgnn.studies import reproduce as fill_in

    asked = _asked(
        tables or (), runs, _words(models), _words(datasets), protocol, jobs, device, data_dir
    )
    study = Study.create(out)
    with study.lock(), terminated_softly() as ended:
        study.add_call(_call(context, asked, models, datasets))
        made = fill_in(
            asked,
            study,
            lambda plan, expected: cells_progress(plan, expected, asked.jobs, quiet),
            lambda line: typer.echo(f"edgnn: {line}", err=True),
        )
    _print(made, study, as_json)
    code = _code(made)
    if made.interrupted:
        typer.echo(
            f"edgnn: interrupted with {_count(_left(made), 'cell')} left; repeat the command to go on",
            err=True,
        )
        code = 143 if ended.terminated else 130
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
) -> Asked:
    from edgnn._system import cores
    from edgnn.models import device_of
    from edgnn.studies import Asked, select

    chosen = select(tables, models, datasets)
    place = str(device_of(device or "cpu"))
    return Asked(
        tables=chosen,
        runs=runs,
        protocol=protocol.value,
        device=place,
        jobs=jobs or (cores() if place == "cpu" else _JOBS_ON_DEVICE),
        data_dir=None if data_dir is None else str(data_dir),
    )


def _words(options: Sequence[str] | None) -> list[str]:
    """Split what may be given with commas and several times."""
    words = [word.strip() for option in options or () for word in option.split(",")]
    if options and not all(words):
        raise StudyError(
            f"{','.join(options)!r}: name models and data sets with single commas between them, such as MUTAG,AIFB"
        )
    return words


def _call(
    context: typer.Context, asked: Asked, models: list[str] | None, datasets: list[str] | None
) -> dict[str, Any]:
    from datetime import UTC, datetime

    import edgnn

    return {
        "command": context.meta["command"],
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "tables": [table.name for table in asked.tables],
        "runs": asked.runs,
        "models": _words(models) or None,
        "datasets": _words(datasets) or None,
        "protocol": asked.protocol,
        "device": asked.device,
        "jobs": asked.jobs,
        "version": edgnn.__version__,
    }


def _print(made: Reproduction, study: Study, as_json: bool) -> None:
    from edgnn.studies import failure_lines

    failures = failure_lines(made)
    if as_json:
        state = {"interrupted": made.interrupted, "left": _left(made), "failures": failures}
        document = {
            "out": str(study.path),
            "seconds": made.seconds,
            **state,
            "tables": made.documents,
        }
        typer.echo(json.dumps(document, indent=1, ensure_ascii=False))
    else:
        print_reproduction(made, study)
    for line in failures:
        typer.echo(f"edgnn: {line}", err=True)


def _left(made: Reproduction) -> int:
    """Return how many cells are missing still."""
    return sum(task.count for task in made.plan.todo) - sum(
        task.count for task, _ in made.plan.took
    )


def _code(made: Reproduction) -> int:
    """Return 0, 2 where cells failed for reasons that the user can mend, 1 where a mistake of ours was among them."""
    kinds = {report.kind for report in made.plan.failures}
    return 1 if "unexpected" in kinds else 2 if kinds or made.missing else 0
