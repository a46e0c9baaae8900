"""The runner: computes the cells of a plan, several at once; no failure stops the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import closing
from itertools import chain, repeat
from typing import Protocol

from edgnn.errors import StudyError
from edgnn.studies._cells import Task
from edgnn.studies._plan import Plan, Request
from edgnn.studies._study import Study
from edgnn.studies._workers import Report, Workers, located, perform, started

_TICK = 1.0
_DIED = (
    "the worker that computed it died, as happens when memory runs out; "
    "use fewer --jobs, or a machine with more memory"
)


class Watcher(Protocol):
    """Shows progress."""

    def started(self, task: Task) -> None:
        """Take note of a cell that is being computed."""

    def ended(self, report: Report) -> None:
        """Take note of a cell that is done or has failed."""

    def tick(self) -> None:
        """Take note of the time."""


class Expected:
    """How long cells take: as those of the same row and data set, else of the row, else all."""

    def __init__(self, done: Iterable[tuple[Task, float]]) -> None:
        self._seconds: dict[tuple[str, ...], list[float]] = defaultdict(list)
        for task, seconds in done:
            self.add(task, seconds)

    def add(self, task: Task, seconds: float) -> None:
        """Take note of a cell that is done, or of several that were computed together."""
        for key in self._keys(task):
            self._seconds[key].append(seconds / task.count)

    def knows(self, task: Task) -> bool:
        """Return whether a cell of the same row and data set is done."""
        return self._keys(task)[0] in self._seconds

    def of(self, task: Task) -> float | None:
        """Return the seconds that a task will take, ``None`` while nothing is known."""
        for key in self._keys(task):
            if key in self._seconds:
                return task.count * sum(self._seconds[key]) / len(self._seconds[key])
        return None

    def left(
        self, waiting: Sequence[Task], running: Iterable[tuple[Task, float]], jobs: int
    ) -> float | None:
        """Return the seconds until all cells are done.

        ``running`` has those being computed with the seconds so far. The result is ``None`` while
        most cells are of rows that no cell is done of.
        """
        known = 0
        rest: list[float] = []
        for task, so_far in chain(zip(waiting, repeat(0.0)), running):
            known += self._keys(task)[1] in self._seconds
            expected = self.of(task) or 0.0
            rest.append(max(expected - so_far, 0.0))
        if 2 * known < len(rest):
            return None
        return max(sum(rest) / jobs, max(rest, default=0.0))

    @staticmethod
    def _keys(task: Task) -> list[tuple[str, ...]]:
        row = (task.table.name, task.row.id, task.cell.protocol)
        return [(*row, task.cell.dataset), row, ()]


def run(plan: Plan, study: Study, request: Request, watcher: Watcher, expected: Expected) -> None:
    """Compute all cells of a plan and write them; those that fail are added to its failures.

    Parameters
    ----------
    plan : Plan
        What to compute.
    study : Study
        Where cells are written, by this process alone; locked by the caller.
    request : Request
        How many cells at once, and by which workers; one job computes in this process.
    watcher : Watcher
        Told of every cell.
    expected : Expected
        Learns how long cells take.
    """
    waiting = list(plan.todo)
    if not waiting:
        return
    count = min(request.jobs, len(waiting))
    if request.backend == "loky" and count == 1:
        reports = _compute_here(waiting, expected, watcher)
    else:
        reports = _compute_by_workers(waiting, expected, watcher, request, count)
    with closing(reports):
        for report in reports:
            for result in report.results:
                if not study.has(result.cell):
                    study.write(result)
            if report.seconds is None:
                plan.failures.append(report)
            else:
                plan.took.append((report.task, report.seconds))
                expected.add(report.task, report.seconds)
            watcher.ended(report)


def next_task(waiting: list[Task], expected: Expected, running: Iterable[Task]) -> Task:
    """Take the next cell: first one of each row and data set, then the longest.

    The first ones show how long the others will take.
    """
    busy = {(task.row.id, task.cell.dataset) for task in running}

    def rank(position: int) -> tuple[bool, bool, float]:
        task = waiting[position]
        is_known = expected.knows(task)
        is_busy = (task.row.id, task.cell.dataset) in busy
        order = -(expected.of(task) or 0.0) if is_known else position
        return not is_known and is_busy, is_known, order

    return waiting.pop(min(range(len(waiting)), key=rank))


def _compute_here(
    waiting: list[Task], expected: Expected, watcher: Watcher
) -> Generator[Report, None, None]:
    while waiting:
        task = next_task(waiting, expected, ())
        watcher.started(task)
        yield perform(task)


def _compute_by_workers(
    waiting: list[Task], expected: Expected, watcher: Watcher, request: Request, count: int
) -> Generator[Report, None, None]:
    with started(request.backend, count, request.scheduler) as workers:
        queue = _Queue(waiting, expected, workers)
        while queue.is_busy:
            for task in queue.start():
                watcher.started(task)
            yield from queue.finished(_TICK)
            watcher.tick()


class _Queue:
    """Cells that wait, and those that are being computed by workers.

    With a process of this machine, the whole pool dies, and with it every cell in it. Which of them
    is to blame is not known, so each is computed once more, alone; it fails if its worker dies
    again. Dask gives the cells of a dead worker to others by itself, several times.
    """

    def __init__(self, waiting: list[Task], expected: Expected, workers: Workers) -> None:
        self._waiting, self._expected, self._workers = waiting, expected, workers
        self._running: dict[Future[Report], Task] = {}
        self._suspects: list[Task] = []
        self._alone: Task | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a cell waits or is being computed."""
        return bool(self._waiting or self._suspects or self._running)

    def start(self) -> list[Task]:
        """Give cells to free workers; return those that are computed for the first time."""
        if self._suspects or self._alone is not None:
            if not self._running:
                self._alone = self._suspects.pop(0)
                self._submit(self._alone)
            return []
        begun: list[Task] = []
        while self._waiting and len(self._running) < self._workers.count:
            task = next_task(self._waiting, self._expected, self._running.values())
            self._submit(task)
            begun.append(task)
        return begun

    def finished(self, seconds: float) -> list[Report]:
        """Wait at most so long, and return the reports of cells that ended."""
        done, _ = wait(self._running, seconds, FIRST_COMPLETED)
        reports = (self._report(future, self._running.pop(future)) for future in done)
        return [report for report in reports if report is not None]

    def _submit(self, task: Task) -> None:
        self._running[self._workers.submit(task)] = task

    def _report(self, future: Future[Report], task: Task) -> Report | None:
        """Return how a cell went; ``None`` where it is to be computed once more."""
        was_alone = task is self._alone
        if was_alone:
            self._alone = None
        try:
            return future.result()
        except self._workers.died:
            if was_alone or self._workers.retries:
                return Report(task, None, _DIED, "failed")
            self._suspects.append(task)
            return None
        except CancelledError:
            raise StudyError(
                "the connection to the Dask cluster is lost; what is done is safe: "
                "repeat the command once the cluster is there again"
            ) from None
        except Exception as error:  # such as a worker that lacks this package
            return Report(task, None, located(error), "unexpected")
