"""What there is to compute: the cells that were asked for, less those that are done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from edgnn._system import cores
from edgnn.errors import EdgnnError, FormatError
from edgnn.studies._cells import Task, device_of, estimator_of, fingerprint_of, loaded, settings_of
from edgnn.studies._study import Cell, Protocol, Study
from edgnn.studies._summaries import cell_protocol
from edgnn.studies._tables import Row, Table
from edgnn.studies._workers import Report


@dataclass(frozen=True)
class Asked:
    """What was asked for.

    Attributes
    ----------
    tables : tuple of Table
        With the rows and data sets that are wanted.
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
    """

    tables: tuple[Table, ...]
    runs: int = 10
    protocol: Protocol = "paper"
    device: str = "cpu"
    jobs: int = 1
    data_dir: str | None = None


@dataclass(eq=False)
class Plan:
    """What is to do.

    Attributes
    ----------
    todo : list of Task
        Cells to compute, in the order of tables, runs, rows and data sets.
    done : list of (Task, float)
        Those that are there, with the seconds that they took.
    failures : list of Report
        Cells that cannot be computed, such as those of data that is not to be had; later, also
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


def plan(asked: Asked, study: Study) -> Plan:
    """Return which cells are missing, and set those aside that do not count any more.

    A cell counts if it is whole and its fingerprint is that of the settings as they are now. Others
    are renamed and computed anew; those beyond the runs that were asked for are renamed only. So no
    table ever mixes settings.
    """
    made = Plan()
    spoiled: dict[str, list[Cell]] = {"damaged": [], "of other settings": []}
    for table in asked.tables:
        for row, dataset in _pairs(asked, table, made):
            tasks = _tasks(asked, study, table, row, dataset)
            try:
                estimator = estimator_of(tasks[0], loaded(dataset, asked.data_dir))
            except EdgnnError as error:
                made.failures += [
                    Report(task, None, str(error), "failed")
                    for task in tasks
                    if task.cell.run < asked.runs
                ]
                continue
            missing = []
            for task in tasks:
                state, seconds = _state(study, task)
                if state in spoiled:
                    spoiled[state].append(task.cell)
                    study.set_aside(task.cell)
                if state == "done":
                    made.done.append((task, seconds))
                elif task.cell.run < asked.runs:
                    missing.append(task)
            if (
                missing and device_of(estimator) != "cpu"
            ):  # launching takes the time there, so all runs are one fleet
                missing = [replace(missing[0], together=tuple(range(asked.runs)))]
            made.todo += missing
    made.notes += [_note(cells, what, study) for what, cells in spoiled.items() if cells]
    order = [table.name for table in asked.tables]
    made.todo.sort(key=lambda task: (order.index(task.table.name), task.cell.run))
    return made


def _pairs(asked: Asked, table: Table, made: Plan) -> Iterable[tuple[Row, str]]:
    """Yield rows and data sets that go together; data that cannot be had fails all its cells."""
    for dataset in table.datasets if table.rows else ():
        try:
            level = loaded(dataset, asked.data_dir).level
        except (EdgnnError, OSError) as error:
            for row in (row for row in table.rows if row.model is not None):
                tasks = _wanted(asked, table, row, dataset)
                made.failures += [Report(task, None, str(error), "failed") for task in tasks]
            continue
        for row in table.rows_of(level):
            if row.model is not None:
                yield row, dataset


def _tasks(asked: Asked, study: Study, table: Table, row: Row, dataset: str) -> list[Task]:
    """Return the runs of a row on a data set that were asked for, and others that are there."""
    there = study.runs(table.name, dataset, row.id, cell_protocol(row, asked.protocol))
    wanted = _wanted(asked, table, row, dataset)
    return wanted + [_task(asked, table, row, cell) for cell in there if cell.run >= asked.runs]


def _wanted(asked: Asked, table: Table, row: Row, dataset: str) -> list[Task]:
    protocol = cell_protocol(row, asked.protocol)
    return [
        _task(asked, table, row, Cell(table.name, dataset, row.id, run, protocol))
        for run in range(asked.runs)
    ]


def _task(asked: Asked, table: Table, row: Row, cell: Cell) -> Task:
    return Task(cell, table, row, asked.device, asked.data_dir, max(1, cores() // asked.jobs))


def _state(study: Study, task: Task) -> tuple[str, float]:
    """Return whether a cell is missing, damaged, of other settings or done, and the seconds that it took."""
    if not study.has(task.cell):
        return "missing", 0.0
    try:
        found = study.read(task.cell)
    except FormatError:
        return "damaged", 0.0
    data = loaded(task.cell.dataset, task.data_dir)
    same = found.fingerprint == fingerprint_of(settings_of(task, data, estimator_of(task, data)))
    return ("done" if same else "of other settings"), found.seconds


def _note(cells: Sequence[Cell], what: str, study: Study) -> str:
    count = f"1 cell is {what}" if len(cells) == 1 else f"{len(cells)} cells are {what}"
    such = f"such as {study.path / cells[0].path}, kept as {cells[0].path.name}.old"
    return f"{count} and set aside ({such}); what was asked for is computed anew"
