"""Progress on stderr: a live line on a terminal, a few plain lines in a pipe; and warnings."""

from __future__ import annotations

import math
import os
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import typer

from edgnn._words import counted, duration

if TYPE_CHECKING:
    from edgnn.studies import Cell, Expected, Plan, Report, Task

_MOST_LINES = 20
#: In a pipe a line comes after a twentieth of the work, but not more often than the first and,
#: where that takes long, not less often than the second.
_SECONDS_AT_LEAST, _SECONDS_AT_MOST = 0.25, 30.0
_MOST_RUNNING = 4


class Progress:
    """Shows how much of a work is done.

    Parameters
    ----------
    total : int
        How much there is to do.
    unit : str
        What is counted.
    quiet : bool
        Show nothing.
    """

    def __init__(self, total: int, unit: str = "epoch", *, quiet: bool = False) -> None:
        self.total, self.unit = total, unit
        self._lines = not quiet and not _can_redraw()
        self._bar = None if quiet or self._lines else _bar()
        self._begin, self._first, self._last_line = time.monotonic(), 0, 0.0

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._task = self._bar.add_task("", total=self.total, text="")
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def epoch(self, epoch: Any) -> None:
        """Show an epoch of a training, with its losses."""
        details = _losses(epoch)
        self.step(epoch.number, ", ".join(f"{name} {value}" for name, value in details.items()))

    def step(self, done: int, details: str = "") -> None:
        """Show that so much is done, and when the rest will be, judged by the time so far."""
        self._first = self._first or done
        passed = time.monotonic() - self._begin
        left = passed / (done - self._first + 1) * (self.total - done)
        self.show(done, details, left if done < self.total else None)

    def show(self, done: int, details: str, left: float | None) -> None:
        """Show how much is done and how many seconds the rest will take, where that is known."""
        texts = [details] if details else []
        if left is not None:
            texts.append(f"{duration(left)} left")
        if self._bar is not None:
            count = f"{self.unit} {done} of {self.total}"
            self._bar.update(self._task, completed=done, text="  ".join([count, *texts]))
        elif self._lines and self._line_is_due(done):
            self.say(f"{self.unit} {done} of {self.total}: {', '.join(texts)}".rstrip(": "))

    def say(self, line: str) -> None:
        """Print a line to stderr; once nobody reads it any more, go on without."""
        if self._bar is not None:
            self._bar.console.print(line, highlight=False, markup=False)
            return
        with suppress(BrokenPipeError):
            typer.echo(line, err=True)

    def _line_is_due(self, done: int) -> bool:
        now = time.monotonic()
        step = max(1, math.ceil(self.total / _MOST_LINES))
        pause = _SECONDS_AT_MOST if done % step else _SECONDS_AT_LEAST
        if done != self.total and now - self._last_line < pause:
            return False
        self._last_line = now
        return True


class CellsProgress:
    """Watches the cells of a study: what is running, what is done, how long the rest will take.

    Parameters
    ----------
    plan : Plan
        What there is to do.
    expected : Expected
        How long cells take.
    jobs : int
        How many are computed at once.
    quiet : bool
        Show nothing but warnings.
    """

    def __init__(self, plan: Plan, expected: Expected, jobs: int, *, quiet: bool = True) -> None:
        self.total = sum(task.count for task in plan.todo)
        self.waiting = list(plan.todo)
        self.expected, self.jobs = expected, jobs
        self.running: dict[Cell, tuple[Task, float]] = {}
        self.done = self.failed = 0
        self._reported: set[str] = set()
        self._progress = Progress(self.total, "cell", quiet=quiet)

    def __enter__(self) -> CellsProgress:
        self._progress.__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        self._progress.__exit__(*details)

    def started(self, task: Task) -> None:
        """Take note of a cell that is being computed."""
        self.waiting.remove(task)
        self.running[task.cell] = task, time.monotonic()
        self.tick()

    def ended(self, report: Report) -> None:
        """Take note of a cell that is done or has failed."""
        self.running.pop(report.task.cell, None)
        self.done += report.task.count
        if report.seconds is None:
            self.failed += report.task.count
        for message in report.warnings:
            if message not in self._reported:
                self._reported.add(message)
                self._progress.say(f"edgnn: warning: {message}")
        took = "failed" if report.seconds is None else duration(report.seconds)
        if self._progress._lines:
            self._progress.show(self.done, f"{report.task}: {took}", self._left())
        self.tick()

    def tick(self) -> None:
        """Draw the live line anew; the lines in a pipe come when cells end."""
        if self._progress._lines:
            return
        names = [f"{cell.row} {cell.dataset} {cell.run}" for cell in self.running]
        details = ", ".join(names[:_MOST_RUNNING])
        if len(names) > _MOST_RUNNING:
            details += f" and {len(names) - _MOST_RUNNING} more"
        if self.failed:
            details = f"{counted(self.failed, 'failure')}  {details}"
        self._progress.show(self.done, details, self._left())

    def _left(self) -> float | None:
        now = time.monotonic()
        running = [(task, now - begin) for task, begin in self.running.values()]
        seconds = self.expected.left(self.waiting, running, self.jobs)
        return None if self.done == self.total else seconds


@contextmanager
def printed_warnings() -> Iterator[None]:
    """Print the package's own warnings as one line each on stderr."""

    def show(message: Any, *_: Any, **__: Any) -> None:
        typer.echo(f"edgnn: warning: {' '.join(str(message).split())}", err=True)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", module=r"edgnn\.")
        warnings.showwarning = show
        yield


def _can_redraw() -> bool:
    """Return whether people look at stderr, on a terminal that can draw a line anew."""
    return sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def _bar() -> Any:
    """Return one line that is drawn again and again, and goes away at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as RichProgress

    columns = BarColumn(bar_width=24), TextColumn("{task.fields[text]}", markup=False)
    return RichProgress(*columns, console=Console(stderr=True), transient=True)


def _losses(epoch: Any) -> dict[str, str]:
    """Return what is worth showing of an epoch: mean losses, best epochs, how many still train."""
    shown = {"training loss": f"{_mean(epoch.train_loss):.4f}"}
    validation = _mean(epoch.valid_loss)
    if not math.isnan(validation):
        least, most = min(epoch.best_epoch), max(epoch.best_epoch)
        shown["validation loss"] = f"{validation:.4f}"
        shown["best epoch"] = str(least) if least == most else f"{least}–{most}"
    active = sum(epoch.active)
    if active < len(epoch.active):
        shown["still training"] = f"{active} of {len(epoch.active)}"
    return shown


def _mean(values: Sequence[float]) -> float:
    numbers = [value for value in values if not math.isnan(value)]
    return sum(numbers) / len(numbers) if numbers else math.nan
