"""What ``edgnn reproduce`` prints: the tables, what took how long, where the files are."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from edgnn._words import duration
from edgnn.cli._show import _console, _count, _table

if TYPE_CHECKING:
    from edgnn.studies import Entry, Reproduction, Study, TableSummary

_LONGEST = 3


def print_reproduction(made: Reproduction, study: Study) -> None:
    """Print the tables that were asked for, and what to do next."""
    from rich.markup import escape

    from edgnn.studies import narrowed

    console = _console()
    for document in made.documents:
        if "datasets" in document and "rows" not in document:
            _print_statistics(console, document)
    for asked, summary in made.summaries:
        _print_table(console, narrowed(summary, asked))
    _print_time(console, made)
    names = [
        document["table"] + (".nested" if document.get("protocol") == "nested" else "")
        for document in made.documents
    ]
    if names:
        shown = names[0] if len(names) == 1 else "{" + ",".join(names) + "}"
        console.print(
            f"Tables: {escape(str(study.path / 'tables'))}/{escape(shown)}.{{md,csv,json}}"
        )
    if made.summaries:
        console.print(f"Every fold's predictions: {escape(str(study.path / 'predictions'))}")
        console.print(f"Next: [bold]edgnn report {escape(shlex.quote(str(study.path)))}[/]")


def _print_statistics(console: Any, document: dict[str, Any]) -> None:
    from rich.markup import escape

    from edgnn.studies import statistics_rows

    titles, rows = statistics_rows(document)
    console.print(f"[bold]{escape(document['title'])}[/]")
    table = _table(*titles)
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table)
    for name, note in document["notes"].items():
        console.print(f"* {escape(name)}: {escape(note)}")
    console.print()


def _print_table(console: Any, summary: TableSummary) -> None:
    from rich.markup import escape

    if not summary.entries:
        return
    beside = any(entry.paper for entry in summary.entries.values())
    nested = ", nested" if summary.protocol == "nested" else ""
    console.print(f"[bold]{escape(summary.table.title)}{nested}[/]  accuracy (%), {_runs(summary)}")
    table = _table("ours (paper)" if beside else "", *map(escape, summary.datasets))
    for row in summary.rows:
        cells = [_cell(summary.entries.get((row.id, dataset))) for dataset in summary.datasets]
        table.add_row(
            escape(row.title), *(_unbroken(cell) if console.is_terminal else cell for cell in cells)
        )
    console.print(table)
    console.print()


def _cell(entry: Entry | None) -> str:
    from edgnn.studies import ours

    if entry is None:
        return ""
    return ours(entry) + ("" if entry.paper is None else f" ({entry.paper})")


def _unbroken(cell: str) -> str:
    """Return figures that a narrow terminal breaks between ours and the paper's only."""
    return cell.replace(" ", "\N{NO-BREAK SPACE}").replace("\N{NO-BREAK SPACE}(", " (")


def _runs(summary: TableSummary) -> str:
    counts = sorted({entry.runs for entry in summary.entries.values()})
    return _count(counts[0], "run") if len(counts) == 1 else f"{counts[0]}–{counts[-1]} runs"


def _print_time(console: Any, made: Reproduction) -> None:
    """Print how many cells were computed, and which rows took longest."""
    computed = sum(task.count for task, _ in made.plan.took)
    if not computed and not made.plan.done:
        return
    there = len(made.plan.done)
    kept = f", {there:,} {'was' if there == 1 else 'were'} there" if there else ""
    console.print(f"{_count(computed, 'cell')} computed in {duration(made.seconds)}{kept}")
    by_row: dict[str, float] = {}
    for task, seconds in made.plan.took:
        by_row[task.row.id] = by_row.get(task.row.id, 0.0) + seconds
    longest = sorted(by_row.items(), key=lambda pair: -pair[1])[:_LONGEST]
    if len(by_row) > 1:
        console.print(
            "Longest: " + ", ".join(f"{row} {duration(seconds)}" for row, seconds in longest)
        )
