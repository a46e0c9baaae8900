"""Which rows and data sets of which tables are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edgnn._words import unknown_name
from edgnn.errors import StudyError
from edgnn.studies._summaries import TableSummary
from edgnn.studies._tables import Table, table

#: What is reproduced unless told otherwise: the four tables of the paper's appendix.
PAPER_TABLES = ("graph-datasets", "node-datasets", "graphs", "nodes")


def select(
    names: Sequence[str], models: Sequence[str] = (), datasets: Sequence[str] = ()
) -> tuple[Table, ...]:
    """Return tables with the rows and data sets that are wanted; those left without any are dropped.

    Parameters
    ----------
    names : sequence of str
        Of tables; none: those of the paper.
    models : sequence of str
        Ids of rows; none: all. A row that is the best run of another brings that one along.
    datasets : sequence of str
        Names of data sets (case, ``-`` and ``_`` do not matter); none: all. Tables that lack one
        are passed over.
    """
    tables = [table(name) for name in dict.fromkeys(names or PAPER_TABLES)]
    where = f" in the table{'s' * (len(tables) != 1)} {', '.join(one.name for one in tables)}"
    sets = {_key(name): name for one in tables for name in one.datasets}
    rows = {row.id: row for one in tables for row in one.rows}
    for name in datasets:
        if _key(name) not in sets:
            raise unknown_name(StudyError, "data set", name, sets.values(), where)
    for name in models:
        if name not in rows and any(one.rows for one in tables):
            raise unknown_name(StudyError, "model", name, rows, where)
    wanted = {sets[_key(name)] for name in datasets} or set(sets.values())
    kept = set(models) | {
        base for name in models if name in rows and (base := rows[name].best_of)
    } or set(rows)
    cut = [_narrowed(one, kept, wanted) for one in tables]
    found = tuple(one for one in cut if one.datasets and (one.rows or one.statistics))
    if not found:
        raise StudyError(f"there is nothing{where} that has these models and data sets together")
    return found


def narrowed(summary: TableSummary, asked: Table) -> TableSummary:
    """Return a summary with the rows and data sets that were asked for."""
    rows = tuple(row for row in summary.rows if row.id in {one.id for one in asked.rows})
    datasets = tuple(dataset for dataset in summary.datasets if dataset in asked.datasets)
    pairs = {(row.id, dataset) for row in rows for dataset in datasets}
    return replace(
        summary,
        rows=rows,
        datasets=datasets,
        entries={pair: one for pair, one in summary.entries.items() if pair in pairs},
    )


def _narrowed(one: Table, rows: set[str], datasets: set[str]) -> Table:
    return replace(
        one,
        rows=tuple(row for row in one.rows if row.id in rows),
        datasets=tuple(dataset for dataset in one.datasets if dataset in datasets),
    )


def _key(name: str) -> str:
    return name.casefold().replace("-", "_")
