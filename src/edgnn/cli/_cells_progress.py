"""Progress over the cells of a study: a live line on a terminal, a line now and then in a pipe, nothing when asked to be quiet."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import typer

from edgnn._words import duration
from edgnn.cli._progress import can_redraw

if TYPE_CHECKING:
    from edgnn.studies import Cell, Expected, Plan, Report, Task

_MOST_LINES = 20
_SECONDS_BETWEEN_LINES = 60.0
_SECONDS_AT_LEAST = 0.25


class CellsProgress:
    """Knows what is running, what is done, and how long the rest will take; shows nothing.

    Parameters
    ----------
    plan : Plan
        What there is to do.
    expected : Expected
        How long cells take.
    jobs : int
        How many are computed at once.
    """

    def __init__(self, plan: Plan, expected: Expected, jobs: int) -> None:
        self.total, self.waiting = sum(task.count for task in plan.todo), list(plan.todo)
        self.expected, self.jobs = expected, jobs
        self.running: dict[Cell, tuple[Task, float]] = {}
        self.heard: set[str] = set()
        self.done = self.failed = 0

    def started(self, task: Task) -> None:
        """Take note of a cell that is being computed."""
        self.waiting.remove(task)
        self.running[task.cell] = task, time.monotonic()
        self.show(None)

    def ended(self, report: Report) -> None:
        """Take note of a cell that is done or has failed."""
        self.running.pop(report.task.cell, None)
        self.done += report.task.count
        self.failed += report.task.count * (report.seconds is None)
        for message in report.warnings:
            if message not in self.heard:
                self.heard.add(message)
                self.say(f"edgnn: warning: {message}")
        self.show(report)

    def tick(self) -> None:
        """Take note of the time."""
        self.show(None)

    def left(self) -> str:
        """Return the time until all is done, as people say it; nothing while it is not known."""
        now = time.monotonic()
        running = [(task, now - begun) for task, begun in self.running.values()]
        seconds = self.expected.left(self.waiting, running, self.jobs)
        return "" if seconds is None or self.done == self.total else f"{duration(seconds)} left"

    def say(self, line: str) -> None:
        """Print a line to stderr; once nobody reads it any more, go on without."""
        with suppress(BrokenPipeError):
            typer.echo(line, err=True)

    def show(self, report: Report | None) -> None:
        """Show how far it is; ``report`` is that of a cell that has just ended."""


class _Lines(CellsProgress):
    """About twenty lines in all, or one a minute if that is more; far fewer where all is over in a moment."""

    last = 0.0

    def show(self, report: Report | None) -> None:
        if report is None:
            return
        now = time.monotonic()
        step = max(1, math.ceil(self.total / _MOST_LINES))
        pause = _SECONDS_BETWEEN_LINES if self.done % step else _SECONDS_AT_LEAST
        if self.done != self.total and now - self.last < pause:
            return
        self.last = now
        took = "failed" if report.seconds is None else duration(report.seconds)
        self.say(
            ", ".join(
                filter(
                    None, [f"cell {self.done} of {self.total}: {report.task}: {took}", self.left()]
                )
            )
        )


class _Bar(CellsProgress):
    """One line that is drawn again and again, and goes away at the end."""

    def __init__(self, plan: Plan, expected: Expected, jobs: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        super().__init__(plan, expected, jobs)
        self.bar = Progress(
            BarColumn(bar_width=24),
            TextColumn(
                "cell {task.completed:.0f} of {task.total:.0f}  {task.fields[left]}  {task.fields[running]}"
            ),
            console=Console(stderr=True),
            transient=True,
        )
        self.task = self.bar.add_task("", total=self.total, left="", running="")

    def say(self, line: str) -> None:
        self.bar.console.print(line, highlight=False, markup=False)

    def show(self, report: Report | None) -> None:
        shown = [f"{cell.row} {cell.dataset} {cell.run}" for cell in self.running]
        running = ", ".join(shown[:4]) + (f" and {len(shown) - 4} more" if len(shown) > 4 else "")
        failed = f"{self.failed} failed  " if self.failed else ""
        self.bar.update(
            self.task, completed=self.done, left=self.left(), running=f"{failed}[dim]{running}[/]"
        )


@contextmanager
def cells_progress(
    plan: Plan, expected: Expected, jobs: int, quiet: bool
) -> Iterator[CellsProgress]:
    """Show progress while the block runs."""
    if quiet:
        yield CellsProgress(plan, expected, jobs)
    elif not can_redraw():
        yield _Lines(plan, expected, jobs)
    else:
        view = _Bar(plan, expected, jobs)
        with view.bar:
            yield view
