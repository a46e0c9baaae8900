"""Plans: the cells that were asked for, less those that are done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from edgnn._system import cores
from edgnn.errors import EdgnnError, FormatError
from edgnn.studies._cells import Task, device_of, estimator_of, fingerprint_of, loaded, settings_of
from edgnn.studies._study import Cell, Protocol, Study
from edgnn.studies._summaries import cell_protocol
from edgnn.studies._tables import Row, Table
from edgnn.studies._workers import Backend, Report


@dataclass(frozen=True)
class Request:
    """Which tables are to be filled in, and how.

    Attributes
    ----------
    tables : tuple of Table
        With the rows and data sets that are asked for; see :func:`select`.
    runs : int
        Runs of every row.
    protocol : {"paper", "nested"}
        How settings are chosen.
    device : str
        Where networks are trained.
    jobs : int
        Cells computed at once.
    data_dir : str, optional
        Where data is looked for first.
    backend : {"loky", "dask"}
        Who computes cells: processes of this machine, or workers of a Dask cluster.
    scheduler : str, optional
        Address of the Dask scheduler; without one, a cluster of this machine is started.
    """

    tables: tuple[Table, ...]
    runs: int = 10
    protocol: Protocol = "paper"
    device: str = "cpu"
    jobs: int = 1
    data_dir: str | None = None
    backend: Backend = "loky"
    scheduler: str | None = None


@dataclass(eq=False)
class Plan:
    """What is to be computed.

    Attributes
    ----------
    todo : list of Task
        Cells to compute, in the order of tables, runs, rows and data sets.
    done : list of (Task, float)
        Those that are there, with the seconds that they took.
    failures : list of Report
        Cells that cannot be computed, such as those of data that cannot be fetched; later, also
        those that failed.
    took : list of (Task, float)
        Cells that were computed, with their seconds.
    notes : list of str
        What the user should know, one line each.
    """

    todo: list[Task] = field(default_factory=list)
    done: list[tuple[Task, float]] = field(default_factory=list)
    failures: list[Report] = field(default_factory=list)
    took: list[tuple[Task, float]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def plan(request: Request, study: Study) -> Plan:
    """Return which cells are missing, and set those aside that do not count any more.

    A cell counts if it is whole and its fingerprint is that of the settings as they are now. Others
    are renamed and computed anew; those beyond the runs that were asked for are renamed only. So no
    table ever mixes settings.
    """
    made = Plan()
    set_aside: dict[str, list[Cell]] = {"damaged": [], "of other settings": []}
    for table in request.tables:
        for row, dataset in _pairs(request, table, made):
            made.todo += _missing(request, study, table, row, dataset, made, set_aside)
    made.notes += [_note(cells, state, study) for state, cells in set_aside.items() if cells]
    order = [table.name for table in request.tables]
    made.todo.sort(key=lambda task: (order.index(task.table.name), task.cell.run))
    return made


def _pairs(request: Request, table: Table, made: Plan) -> Iterable[tuple[Row, str]]:
    """Yield rows and data sets that go together; data that cannot be had fails all its cells."""
    rows = [row for row in table.rows if row.model is not None]
    for dataset in table.datasets if rows else ():
        try:
            level = loaded(dataset, request.data_dir).level
        except (EdgnnError, OSError) as error:
            for row in rows:
                made.failures += _failures(_wanted(request, table, row, dataset), error)
            continue
        for row in rows:
            if row.level in (None, level):
                yield row, dataset


def _missing(
    request: Request,
    study: Study,
    table: Table,
    row: Row,
    dataset: str,
    made: Plan,
    set_aside: dict[str, list[Cell]],
) -> list[Task]:
    """Return the runs of a row on a data set that are to be computed."""
    wanted = _wanted(request, table, row, dataset)
    try:
        estimator = estimator_of(wanted[0], loaded(dataset, request.data_dir))
    except EdgnnError as error:
        made.failures += _failures(wanted, error)
        return []
    there = study.runs(table.name, dataset, row.id, cell_protocol(row, request.protocol))
    others = [_task(request, table, row, cell) for cell in there if cell.run >= request.runs]
    missing = []
    for task in wanted + others:
        state, seconds = _state(study, task)
        if state == "done":
            made.done.append((task, seconds))
            continue
        if state in set_aside:
            set_aside[state].append(task.cell)
            study.set_aside(task.cell)
        if task.cell.run < request.runs:
            missing.append(task)
    if missing and device_of(estimator) != "cpu":
        # launching takes the time there, so all runs are one fleet
        return [replace(missing[0], together=tuple(range(request.runs)))]
    return missing


def _failures(tasks: list[Task], error: Exception) -> list[Report]:
    return [Report(task, None, str(error), "failed") for task in tasks]


def _wanted(request: Request, table: Table, row: Row, dataset: str) -> list[Task]:
    protocol = cell_protocol(row, request.protocol)
    cells = [Cell(table.name, dataset, row.id, run, protocol) for run in range(request.runs)]
    return [_task(request, table, row, cell) for cell in cells]


def _task(request: Request, table: Table, row: Row, cell: Cell) -> Task:
    jobs = 1 if request.backend == "dask" else max(1, cores() // request.jobs)
    return Task(cell, table, row, request.device, request.data_dir, jobs)


def _state(study: Study, task: Task) -> tuple[str, float]:
    """Return whether a cell is missing, damaged, of other settings or done, and its seconds."""
    if not study.has(task.cell):
        return "missing", 0.0
    try:
        result = study.read(task.cell)
    except FormatError:
        return "damaged", 0.0
    data = loaded(task.cell.dataset, task.data_dir)
    fingerprint = fingerprint_of(settings_of(task, data, estimator_of(task, data)))
    state = "done" if result.fingerprint == fingerprint else "of other settings"
    return state, result.seconds


def _note(cells: Sequence[Cell], what: str, study: Study) -> str:
    count = f"1 cell is {what}" if len(cells) == 1 else f"{len(cells)} cells are {what}"
    such = f"such as {study.path / cells[0].path}, kept as {cells[0].path.name}.old"
    return f"{count} and set aside ({such}); what was asked for is computed anew"
