"""Fill in the tables that were asked for: compute the cells that are missing, write the tables."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from edgnn.errors import EdgnnError
from edgnn.studies._cells import Task, loaded
from edgnn.studies._measured_tables import write_measured
from edgnn.studies._other_tables import DEVELOPED, write_choice, write_search, write_statistics
from edgnn.studies._plan import Plan, Request, plan
from edgnn.studies._runner import Expected, Watcher, run
from edgnn.studies._study import Cell, Study
from edgnn.studies._summaries import TableSummary, summarize
from edgnn.studies._tables import Table, find_table
from edgnn.studies._workers import Report
from edgnn.studies._write_tables import write_table

Watch = Callable[[Plan, Expected], AbstractContextManager[Watcher]]


@dataclass(eq=False)
class Reproduction:
    """What :func:`reproduce` returns.

    Attributes
    ----------
    documents : list of dict
        The tables as plain values, as their JSON files hold them.
    summaries : list of (Table, TableSummary)
        The tables with cells: as asked for, and with all that the study holds.
    plan : Plan
        What there was to do, and which cells failed.
    missing : list of str
        Data that cannot be fetched for tables of data sets, one line each.
    interrupted : bool
        Whether it was stopped before all was done.
    seconds : float
        How long computing took.
    """

    documents: list[dict[str, Any]] = field(default_factory=list)
    summaries: list[tuple[Table, TableSummary]] = field(default_factory=list)
    plan: Plan = field(default_factory=Plan)
    missing: list[str] = field(default_factory=list)
    interrupted: bool = False
    seconds: float = 0.0


class _Unwatched:
    """Shows no progress."""

    def started(self, task: Task) -> None:
        """Do nothing."""

    def ended(self, report: Report) -> None:
        """Do nothing."""

    def tick(self) -> None:
        """Do nothing."""


def _unwatched(plan: Plan, expected: Expected) -> AbstractContextManager[Watcher]:
    return nullcontext(_Unwatched())


def reproduce(
    request: Request,
    study: Study,
    watch: Watch = _unwatched,
    tell: Callable[[str], Any] = lambda line: None,
) -> Reproduction:
    """Fill in tables.

    Parameters
    ----------
    request : Request
        Which tables, and how.
    study : Study
        The folder; locked by the caller.
    watch : callable, optional
        Given the plan and the times of cells, returns a context whose value shows progress.
    tell : callable, optional
        Called with each line that the user should read.
    """
    made = Reproduction()
    for table in request.tables:
        if table.statistics:
            _write_statistics(made, table, request, study)
    made.plan = plan(request, study)
    for note in made.plan.notes:
        tell(note)
    expected = Expected(made.plan.done)
    start = time.perf_counter()
    try:
        with watch(made.plan, expected) as watcher:
            run(made.plan, study, request, watcher, expected)
    except KeyboardInterrupt:
        made.interrupted = True
    made.seconds = time.perf_counter() - start
    for table in request.tables:
        if table.rows:
            _write(made, table, request, study, tell)
    return made


def failure_lines(made: Reproduction) -> list[str]:
    """Return one line per distinct failure: which cells, and why."""
    lines = list(made.missing)
    cells_of: dict[str, list[Cell]] = defaultdict(list)
    for report in made.plan.failures:
        cells_of[report.error] += [task.cell for task in report.task.each()]
    for error, cells in cells_of.items():
        rows = ", ".join(dict.fromkeys(cell.row for cell in cells))
        datasets = ", ".join(dict.fromkeys(cell.dataset for cell in cells))
        count = f"{len(cells)} cells" if len(cells) > 1 else f"run {cells[0].run}"
        lines.append(f"{rows} on {datasets} ({count}) failed: {error}")
    return lines


def _write_statistics(made: Reproduction, table: Table, request: Request, study: Study) -> None:
    """Write a table of data sets, as far as these can be fetched."""
    data = []
    for name in table.datasets:
        try:
            data.append(loaded(name, request.data_dir))
        except (EdgnnError, OSError) as error:
            made.missing.append(f"{table.name} lacks {name}: {error}")
    if data:
        made.documents.append(write_statistics(study, table, data))


def _write(
    made: Reproduction, asked: Table, request: Request, study: Study, tell: Callable[[str], Any]
) -> None:
    summary = summarize(study, find_table(asked.name), request.protocol, tell)
    if not summary.entries:
        return
    made.summaries.append((asked, summary))
    if asked.metrics:
        made.documents.append(write_measured(study, summary))
        return
    made.documents.append(write_table(study, summary))
    if asked.name == DEVELOPED:
        made.documents += write_choice(study, summary)
    if request.protocol == "nested":
        made.documents += write_search(study, summary)
