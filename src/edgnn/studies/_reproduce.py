"""reproduce: the cells that were asked for, computed as far as they are missing, and the tables made from them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from edgnn.errors import EdgnnError
from edgnn.studies._cells import loaded
from edgnn.studies._choice import DEVELOPED, write_choice
from edgnn.studies._plan import Asked, Plan, plan
from edgnn.studies._runner import Expected, Watcher, run
from edgnn.studies._search_tables import write_search
from edgnn.studies._statistics_tables import write_statistics
from edgnn.studies._study import Study
from edgnn.studies._summaries import TableSummary, summarize
from edgnn.studies._tables import Table, table
from edgnn.studies._write_tables import write_table

Watch = Callable[[Plan, Expected], AbstractContextManager[Watcher]]


@dataclass(eq=False)
class Reproduction:
    """What came of it.

    Attributes
    ----------
    documents : list of dict
        The tables as plain values, as their JSON files hold them.
    summaries : list of (Table, TableSummary)
        The tables with cells: as asked for, and with all that the study holds.
    plan : Plan
        What there was to do, and which cells failed.
    missing : list of str
        Data that was not to be had for tables of data sets, one line each.
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


def reproduce(asked: Asked, study: Study, watch: Watch, tell: Callable[[str], Any]) -> Reproduction:
    """Fill in tables.

    Parameters
    ----------
    asked : Asked
        Which, and how.
    study : Study
        The folder; locked by the caller.
    watch : callable
        Given the plan and the times of cells, returns a context whose value is told how far it is.
    tell : callable
        Told what the user should know, in one line each.
    """
    made = Reproduction()
    for one in asked.tables:
        if one.statistics:
            _describe(made, one, asked, study)
    made.plan = plan(asked, study)
    for note in made.plan.notes:
        tell(note)
    start, expected = time.perf_counter(), Expected(made.plan.done)
    try:
        with watch(made.plan, expected) as watcher:
            run(made.plan, study, asked.jobs, watcher, expected)
    except KeyboardInterrupt:
        made.interrupted = True
    made.seconds = time.perf_counter() - start
    for one in asked.tables:
        if one.rows:
            _write(made, one, asked, study, tell)
    return made


def failure_lines(made: Reproduction) -> list[str]:
    """Return one line per distinct failure: which cells, and why."""
    lines, failures = list(made.missing), made.plan.failures
    for error in dict.fromkeys(report.error for report in failures):
        cells = [
            task.cell for report in failures if report.error == error for task in report.task.each()
        ]
        rows, datasets = (
            ", ".join(dict.fromkeys(getattr(cell, name) for cell in cells))
            for name in ("row", "dataset")
        )
        count = f"{len(cells)} cells" if len(cells) > 1 else f"run {cells[0].run}"
        lines.append(f"{rows} on {datasets} ({count}) failed: {error}")
    return lines


def _describe(made: Reproduction, one: Table, asked: Asked, study: Study) -> None:
    """Write a table of data sets, as far as these are to be had."""
    data = []
    for name in one.datasets:
        try:
            data.append(loaded(name, asked.data_dir))
        except (EdgnnError, OSError) as error:
            made.missing.append(f"{one.name} lacks {name}: {error}")
    if data:
        made.documents.append(write_statistics(study, one, data))


def _write(
    made: Reproduction, one: Table, asked: Asked, study: Study, tell: Callable[[str], Any]
) -> None:
    summary = summarize(study, table(one.name), asked.protocol, tell)
    if not summary.entries:
        return
    made.summaries.append((one, summary))
    made.documents.append(write_table(study, summary))
    if one.name == DEVELOPED and (choice := write_choice(study, summary)) is not None:
        made.documents.append(choice)
    if asked.protocol == "nested" and (search := write_search(study, summary)) is not None:
        made.documents.append(search)
