"""Worker processes that compute cells: one cell each at a time, ended with the command however it ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from edgnn.errors import EdgnnError, StudyError
from edgnn.studies._cells import Task, compute_together
from edgnn.studies._study import Study

_SPAWN = multiprocessing.get_context("spawn")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Report:
    """How computing a cell went.

    Attributes
    ----------
    task : Task
        Which cell.
    seconds : float, optional
        How long it took; ``None`` where it failed.
    error : str
        Why it failed.
    kind : {"done", "failed", "unexpected", "study"}
        Whether it is done; or what the user can mend; or a mistake of ours; or nothing can be
        written, so that going on is no use.
    warnings : tuple of str
        What the user should hear.
    """

    task: Task
    seconds: float | None = None
    error: str = ""
    kind: str = "done"
    warnings: tuple[str, ...] = ()


def perform(task: Task, study: Path) -> Report:
    """Compute a cell, or runs that go together, and write them into a study; whatever goes wrong is told in the report."""
    with _heard_warnings() as heard:
        try:
            results, place = compute_together(task.each()), Study.open(study)
            for result in results:
                if not place.has(result.cell):
                    place.write(result)
        except StudyError as error:
            return Report(task, None, str(error), "study")
        except EdgnnError as error:
            return Report(task, None, str(error), "failed")
        except MemoryError:
            return Report(
                task,
                None,
                "out of memory: use fewer --jobs, or a machine with more of it",
                "failed",
            )
        except Exception as error:
            return Report(task, None, _located(error), "unexpected")
    return Report(
        task, sum(result.seconds for result in results), warnings=tuple(dict.fromkeys(heard))
    )


class Worker:
    """One process that computes one cell at a time."""

    def __init__(self, study: Path) -> None:
        self.task: Task | None = None
        self._study = study
        self._start()

    def begin(self, task: Task) -> None:
        """Hand over a cell; a process that has died in the meantime is replaced."""
        self.task = task
        try:
            self.connection.send((task, self._study))
        except OSError:
            self.end()
            self._start()
            self.connection.send((task, self._study))

    def report(self) -> Report:
        """Return how the cell went, once there is something to read; a process that died is replaced."""
        assert self.task is not None
        try:
            told: Report = self.connection.recv()
        except (EOFError, OSError):
            self.end()
            told = Report(self.task, None, self._death(), "failed")
            self._start()
        self.task = None
        return told

    def end(self) -> None:
        """End the process at once; what it has not finished was not written."""
        self.process.kill()
        self.process.join()
        self.connection.close()

    def _start(self) -> None:
        self.connection, other = _SPAWN.Pipe()
        self.process = _SPAWN.Process(target=_serve, args=(other,), daemon=True)
        with _few_threads(), _unreached_by_ctrl_c():
            self.process.start()
        other.close()

    def _death(self) -> str:
        code = self.process.exitcode
        name = signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
        return f"the process that computed it was ended from outside ({name}), as systems do when memory runs out; use fewer --jobs"


@contextmanager
def working(count: int, study: Path) -> Iterator[list[Worker]]:
    """Start workers, and end them in any case."""
    workers: list[Worker] = []
    try:
        while len(workers) < count:
            workers.append(Worker(study))
        yield workers
    finally:
        for worker in workers:
            worker.process.kill()
        for worker in workers:
            worker.end()


def ready(workers: list[Worker], seconds: float) -> list[Worker]:
    """Wait at most so long, and return the workers that have something to report."""
    by_connection: dict[Any, Worker] = {
        worker.connection: worker for worker in workers if worker.task is not None
    }
    return [by_connection[connection] for connection in wait(list(by_connection), seconds)]


def _serve(connection: Connection) -> None:
    """Compute what is asked for until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            connection.send(perform(*connection.recv()))
    os._exit(0)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@contextmanager
def _few_threads() -> Iterator[None]:
    """Let a process that is started now have one thread per library."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _unreached_by_ctrl_c() -> Iterator[None]:
    """Let a process that is started now not hear Ctrl-C, which reaches the whole group: the command decides what it means."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # starting it with the first process would let Ctrl-C through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _heard_warnings() -> Iterator[list[str]]:
    """Collect the package's own warnings."""
    heard: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", module=r"edgnn\.")
        try:
            yield heard
        finally:
            heard += [" ".join(str(warning.message).split()) for warning in caught]


def _located(error: Exception) -> str:
    """Say what an unexpected error is and where it arose."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"unexpected {type(error).__name__}: {' '.join(str(error).split())}{where}"
