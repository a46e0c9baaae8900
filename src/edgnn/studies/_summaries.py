"""Summaries of the cells of a study: one entry per row and data set, beside the paper's figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from edgnn.errors import DatasetError, FormatError
from edgnn.evaluation import Evaluation
from edgnn.studies._settings import Published, published_accuracy
from edgnn.studies._study import Cell, CellResult, Protocol, Study
from edgnn.studies._tables import Row, Table


@dataclass(frozen=True, eq=False)
class Entry:
    """All runs of one row on one data set.

    Attributes
    ----------
    row : Row
        The row.
    dataset : str
        The data set.
    evaluation : Evaluation
        All runs joined; of a row that is the best run of another, that run.
    paper : Published, optional
        What the paper reports.
    runs : int
        How many runs there are.
    seconds : float
        Sum over the cells; 0 for a row that has none of its own.
    memory : int, optional
        Most bytes over the cells.
    training_accuracy : float, optional
        Mean over the splits.
    ceiling : float, optional
        Best training accuracy of any model bounded by Eq. 2, mean over the cells.
    history : list of dict
        Of all cells, one behind the other; an epoch occurs once per cell.
    settings, environment : dict
        Of the first cell.
    devices : tuple of str
        Where the cells were computed.
    """

    row: Row
    dataset: str
    evaluation: Evaluation
    paper: Published | None = None
    runs: int = 0
    seconds: float = 0.0
    memory: int | None = None
    training_accuracy: float | None = None
    ceiling: float | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    devices: tuple[str, ...] = ()

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's mean, in points; ``None`` where the paper has no figure."""
        return None if self.paper is None else 100 * self.evaluation.mean - self.paper.mean


@dataclass(frozen=True, eq=False)
class TableSummary:
    """One table with what its cells give.

    Attributes
    ----------
    table : Table
        The table.
    protocol : {"paper", "nested"}
        How settings were chosen. Rows that choose inside the training part anyhow have the same
        cells in both.
    datasets : tuple of str
        Those with at least one cell.
    rows : tuple of Row
        Those with at least one cell.
    entries : dict
        By row id and data set.
    """

    table: Table
    protocol: Protocol
    datasets: tuple[str, ...]
    rows: tuple[Row, ...]
    entries: dict[tuple[str, str], Entry]

    @property
    def name(self) -> str:
        """What its files are called."""
        return self.table.name + (".nested" if self.protocol == "nested" else "")

    def narrow(self, table: Table) -> TableSummary:
        """Return the summary with the rows and data sets of a table that was asked for."""
        asked = product([row.id for row in table.rows], table.datasets)
        entries = {key: self.entries[key] for key in asked if key in self.entries}
        return _summary(self.table, self.protocol, entries)


def summarize(
    study: Study,
    table: Table,
    protocol: Protocol = "paper",
    tell: Callable[[str], Any] | None = None,
) -> TableSummary:
    """Return what the cells of a table give.

    Parameters
    ----------
    study : Study
        The folder.
    table : Table
        Which table.
    protocol : {"paper", "nested"}
        Which cells count. With ``"nested"``, rows without a search have those of ``"paper"``.
    tell : callable, optional
        Called with a line for each cell that is damaged or of other settings than the first run,
        which is then left out; without it, such a cell is an error.
    """
    entries: dict[tuple[str, str], Entry] = {}
    for row, dataset in product(table.rows, table.datasets):
        if row.best_of is None:
            cells = study.runs(table.name, dataset, row.id, cell_protocol(row, protocol))
            results = _results(study, cells, tell)
            if results:
                entries[row.id, dataset] = _entry(table, row, dataset, results)
    for row, dataset in product(table.rows, table.datasets):
        base = entries.get((row.best_of or "", dataset))
        if base is not None:
            entries[row.id, dataset] = _best(table, row, base)
    return _summary(table, protocol, entries)


def cell_protocol(row: Row, protocol: Protocol) -> Protocol:
    """Return the protocol of the cells of a row: only rows with a search have nested ones."""
    return protocol if row.search else "paper"


def _summary(
    table: Table, protocol: Protocol, entries: dict[tuple[str, str], Entry]
) -> TableSummary:
    """Return a summary of the rows and data sets that have an entry, in the table's order."""
    with_rows = {row for row, _ in entries}
    with_datasets = {dataset for _, dataset in entries}
    return TableSummary(
        table=table,
        protocol=protocol,
        datasets=tuple(name for name in table.datasets if name in with_datasets),
        rows=tuple(row for row in table.rows if row.id in with_rows),
        entries=entries,
    )


def _results(
    study: Study, cells: Sequence[Cell], tell: Callable[[str], Any] | None
) -> list[CellResult]:
    """Return the results of cells that are whole and of the same settings."""
    results: list[CellResult] = []
    for cell in cells:
        try:
            result = study.read(cell)
            if results and _shared(result) != _shared(results[0]):
                raise FormatError(
                    study.path / cell.path,
                    f"its settings are not those of run {results[0].cell.run}",
                )
            results.append(result)
        except FormatError as error:
            if tell is None:
                raise
            tell(f"{error}; it is left out of the tables")
    return results


def _shared(result: CellResult) -> dict[str, Any]:
    """Return the settings that all runs of a row on a data set have in common."""
    shared = {**result.settings, "seed": None, "device": None}
    if isinstance(shared.get("parameters"), Mapping):
        shared["parameters"] = {**shared["parameters"], "random_state": None}
    return shared


def _entry(table: Table, row: Row, dataset: str, results: list[CellResult]) -> Entry:
    evaluation = Evaluation.joined([result.evaluation for result in results])
    history: list[dict[str, Any]] = []
    memory: list[int] = []
    ceilings: list[float] = []
    for result in results:
        history += result.history
        if result.memory is not None:
            memory.append(result.memory)
        if result.ceiling is not None:
            ceilings.append(result.ceiling)
    return Entry(
        row=row,
        dataset=dataset,
        evaluation=evaluation,
        paper=_paper(table, row, dataset),
        runs=len(results),
        seconds=sum(result.seconds for result in results),
        memory=max(memory, default=None),
        training_accuracy=evaluation.training_accuracy,
        ceiling=float(np.mean(ceilings)) if ceilings else None,
        history=history,
        settings=results[0].settings,
        environment=results[0].environment,
        devices=tuple(dict.fromkeys(_device(result) for result in results)),
    )


def _best(table: Table, row: Row, base: Entry) -> Entry:
    """Return the entry of the best run of another row; of equally good ones, the first."""
    means = base.evaluation[base.evaluation.metrics[0]].repeat_means
    repeats = list(dict.fromkeys(split.repeat for split in base.evaluation.splits))
    best = repeats[int(np.argmax(np.nan_to_num(means, nan=-np.inf)))]
    evaluation = base.evaluation.of_repeats([best])
    return replace(
        base,
        row=row,
        evaluation=evaluation,
        paper=_paper(table, row, base.dataset),
        seconds=0.0,
        memory=None,
        training_accuracy=evaluation.training_accuracy,
        history=[],
    )


def _paper(table: Table, row: Row, dataset: str) -> Published | None:
    if row.paper is None or not table.paper:
        return None
    try:
        return published_accuracy(dataset, row.paper)
    except DatasetError:  # a row of the other level
        return None


def _device(result: CellResult) -> str:
    device = str(result.settings.get("device", "cpu"))
    key = "accelerator" if device.startswith("cuda") else "processor"
    return str(result.environment.get(key) or device)
