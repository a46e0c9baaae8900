"""Progress of a training: a live bar on a terminal, a few plain lines in a pipe, nothing when asked to be quiet."""

from __future__ import annotations

import math
import os
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import typer

from edgnn._words import duration

_MOST_LINES = 20
_SECONDS_BETWEEN_LINES = 30.0
_SECONDS_AT_LEAST = 0.25


class Progress:
    """Shows the epochs or splits of a training on stderr.

    Parameters
    ----------
    total : int
        Most of them.
    what : str
        What is being done.
    unit : str
        What is counted.
    quiet : bool
        Show nothing.
    """

    def __init__(self, total: int, what: str, unit: str = "epoch", *, quiet: bool = False) -> None:
        self._view = (
            _Nothing()
            if quiet
            else _Bar(total, what, unit)
            if can_redraw()
            else _Lines(total, unit)
        )

    def __enter__(self) -> Progress:
        self._view.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._view.stop()

    def epoch(self, epoch: Any) -> None:
        """Show an epoch of a training, with its losses."""
        self._view.show(epoch.number, losses(epoch))

    def step(self, number: int) -> None:
        """Show that so much is done."""
        self._view.show(number, {})


def can_redraw() -> bool:
    """Return whether people look at stderr, on a terminal that can draw a line anew."""
    return sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def losses(epoch: Any) -> dict[str, str]:
    """Return what is worth showing of an epoch: mean losses of the models, the best epoch of each, how many go on."""
    shown = {"training loss": f"{_mean(epoch.train_loss):.4f}"}
    valid = _mean(epoch.valid_loss)
    if not math.isnan(valid):
        least, most = min(epoch.best_epoch), max(epoch.best_epoch)
        shown |= {
            "validation loss": f"{valid:.4f}",
            "best epoch": str(least) if least == most else f"{least}–{most}",
        }
    active = sum(epoch.active)
    if active < len(epoch.active):
        shown["still training"] = f"{active} of {len(epoch.active)}"
    return shown


@contextmanager
def told_warnings() -> Iterator[None]:
    """Print the package's own warnings as one line each on stderr."""

    def tell(
        message: Any, category: Any, filename: Any, lineno: Any, file: Any = None, line: Any = None
    ) -> None:
        typer.echo(f"edgnn: warning: {' '.join(str(message).split())}", err=True)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", module=r"edgnn\.")
        warnings.showwarning = tell
        yield


class _Nothing:
    """Shows nothing."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def show(self, number: int, details: dict[str, str]) -> None: ...


class _Lines(_Nothing):
    """About twenty lines in all, or one every half minute if that is more; far fewer where all is over in a moment."""

    def __init__(self, total: int, unit: str) -> None:
        self.total, self.unit, self.begin, self.first, self.last = (
            total,
            unit,
            time.monotonic(),
            0,
            0.0,
        )

    def show(self, number: int, details: dict[str, str]) -> None:
        now = time.monotonic()
        self.first = self.first or number
        step = max(1, math.ceil(self.total / _MOST_LINES))
        pause = _SECONDS_BETWEEN_LINES if number % step else _SECONDS_AT_LEAST
        if number != self.total and now - self.last < pause:
            return
        self.last = now
        left = (now - self.begin) / (number - self.first + 1) * (self.total - number)
        told = [f"{name} {value}" for name, value in details.items()]
        told += [f"{duration(left)} left"] if number < self.total else []
        typer.echo(
            f"{self.unit} {number} of {self.total}: {', '.join(told)}".rstrip(": "), err=True
        )


class _Bar(_Nothing):
    """One line that is drawn again and again, and goes away at the end."""

    def __init__(self, total: int, what: str, unit: str) -> None:
        from rich import progress as rich_progress
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

        self.progress = rich_progress.Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn(unit + " {task.completed:.0f} of {task.total:.0f}  {task.fields[details]}"),
            TimeRemainingColumn(compact=True),
            TextColumn("left"),
            console=Console(stderr=True),
            transient=True,
        )
        self.task = self.progress.add_task(what, total=total, details="")

    def start(self) -> None:
        self.progress.start()

    def stop(self) -> None:
        self.progress.stop()

    def show(self, number: int, details: dict[str, str]) -> None:
        short = {
            "training loss": "train",
            "validation loss": "valid",
            "best epoch": "best",
            "still training": "active",
        }
        text = "  ".join(f"{short.get(name, name)} {value}" for name, value in details.items())
        self.progress.update(self.task, completed=number, details=text)


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan
