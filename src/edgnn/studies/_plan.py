"""Plans: the cells that were asked for, less those that are done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from edgnn._system import cores
from edgnn.errors import EdgnnError, FormatError
from edgnn.io.datasets import Dataset
from edgnn.registry import MODELS
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
    planner = _Planner(request, study)
    for table in request.tables:
        for dataset in table.datasets:
            planner.add(table, dataset)
    return planner.finish()


class _Planner:
    """Sorts the cells of a request into those to compute, those that are done, and failures."""

    def __init__(self, request: Request, study: Study) -> None:
        self.request = request
        self.study = study
        self.plan = Plan()
        self.set_aside: dict[str, list[Cell]] = {"damaged": [], "of other settings": []}

    def add(self, table: Table, dataset: str) -> None:
        """Plan the cells of a data set; where it cannot be loaded, all of them fail."""
        rows = [row for row in table.rows if row.model is not None]
        if not rows:
            return
        try:
            data = loaded(dataset, self.request.data_dir)
        except (EdgnnError, OSError) as error:
            for row in rows:
                self._fail(self._wanted(table, row, dataset), error)
            return
        for row in rows:
            if row.level in (None, data.level) and _learns(row, data):
                self._add_row(table, row, data, dataset)

    def finish(self) -> Plan:
        """Return the plan, its cells in the order of tables and runs."""
        for state, cells in self.set_aside.items():
            if cells:
                self.plan.notes.append(_note(cells, state, self.study))
        order = [table.name for table in self.request.tables]
        self.plan.todo.sort(key=lambda task: (order.index(task.table.name), task.cell.run))
        return self.plan

    def _add_row(self, table: Table, row: Row, data: Dataset, dataset: str) -> None:
        wanted = self._wanted(table, row, dataset)
        try:
            estimator = estimator_of(wanted[0], data)
        except EdgnnError as error:
            self._fail(wanted, error)
            return
        protocol = cell_protocol(row, self.request.protocol)
        stored = self.study.runs(table.name, dataset, row.id, protocol)
        others = [self._task(table, row, cell) for cell in stored if cell.run >= self.request.runs]
        missing = [task for task in wanted if not self._is_done(task)]
        for task in others:  # beyond what was asked for: they count, or are set aside
            self._is_done(task)
        if missing and device_of(estimator) != "cpu":
            # launching takes the time there, so all runs are one fleet
            missing = [replace(missing[0], together=tuple(range(self.request.runs)))]
        self.plan.todo += missing

    def _is_done(self, task: Task) -> bool:
        """Return whether a cell is there and counts; one that does not count is set aside."""
        state, seconds = _state(self.study, task)
        if state == "done":
            self.plan.done.append((task, seconds))
            return True
        if state in self.set_aside:
            self.set_aside[state].append(task.cell)
            self.study.set_aside(task.cell)
        return False

    def _fail(self, tasks: list[Task], error: Exception) -> None:
        self.plan.failures += [Report(task, None, str(error), "failed") for task in tasks]

    def _wanted(self, table: Table, row: Row, dataset: str) -> list[Task]:
        protocol = cell_protocol(row, self.request.protocol)
        tasks = []
        for run in range(self.request.runs):
            cell = Cell(table.name, dataset, row.id, run, protocol)
            tasks.append(self._task(table, row, cell))
        return tasks

    def _task(self, table: Table, row: Row, cell: Cell) -> Task:
        request = self.request
        jobs = 1 if request.backend == "dask" else max(1, cores() // request.jobs)
        return Task(cell, table, row, request.device, request.data_dir, jobs)


def _learns(row: Row, data: Dataset) -> bool:
    """Return whether a row's model learns such targets; one of the other level is asked anyway."""
    known = MODELS.get(str(row.model))
    tasks = () if known is None else known.tasks(data.level)
    return not tasks or data.task in tasks


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
