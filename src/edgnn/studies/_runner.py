"""The runner: computes the cells of a plan, several at once, and lets no failure stop the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from typing import Protocol

from edgnn.errors import StudyError
from edgnn.studies._cells import Task
from edgnn.studies._plan import Plan
from edgnn.studies._study import Study
from edgnn.studies._workers import Report, perform, ready, working

_TICK = 1.0


class Watcher(Protocol):
    """Who is told how far it is."""

    def started(self, task: Task) -> None:
        """Take note of a cell that is being computed."""

    def ended(self, report: Report) -> None:
        """Take note of a cell that is done or has failed."""

    def tick(self) -> None:
        """Take note of the time."""


class Expected:
    """How long cells take: as those of the same row and data set of the table did, else of the same row, else all."""

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
        """Return the seconds until all cells are done; ``None`` while most are of rows that no cell is known of.

        ``running`` has those being computed with the seconds so far.
        """
        spent = [(task, 0.0) for task in waiting] + list(running)
        known = sum(self._keys(task)[1] in self._seconds for task, _ in spent)
        if 2 * known < len(spent):
            return None
        rest = [max((self.of(task) or 0.0) - so_far, 0.0) for task, so_far in spent]
        return max(sum(rest) / jobs, max(rest, default=0.0))

    @staticmethod
    def _keys(task: Task) -> list[tuple[str, ...]]:
        row = (task.table.name, task.row.id, task.cell.protocol)
        return [(*row, task.cell.dataset), row, ()]


def run(plan: Plan, study: Study, jobs: int, watcher: Watcher, expected: Expected) -> None:
    """Compute all cells of a plan; those that fail are added to its failures.

    Parameters
    ----------
    plan : Plan
        What to compute.
    study : Study
        Where cells are written; locked by the caller.
    jobs : int
        How many at once, each in a process of its own; 1 computes in this process.
    watcher : Watcher
        Told of every cell.
    expected : Expected
        Learns how long cells take.
    """
    waiting = list(plan.todo)
    count = min(jobs, len(waiting))
    loop = (
        _in_processes(waiting, expected, study, count, watcher)
        if count > 1
        else _here(waiting, expected, study, watcher)
    )
    with closing(loop):
        for report in loop:
            if report.kind == "study":
                raise StudyError(report.error)
            if report.seconds is None:
                plan.failures.append(report)
            else:
                plan.took.append((report.task, report.seconds))
                expected.add(report.task, report.seconds)
            watcher.ended(report)


def next_task(waiting: list[Task], expected: Expected, running: Sequence[Task]) -> Task:
    """Take the next cell: first one of each row and data set, which tells how long they take, then the longest."""
    busy = {(task.row.id, task.cell.dataset) for task in running}

    def rank(place: int) -> tuple[bool, bool, float]:
        task = waiting[place]
        known = expected.knows(task)
        return (
            not known and (task.row.id, task.cell.dataset) in busy,
            known,
            -(expected.of(task) or 0.0) if known else place,
        )

    return waiting.pop(min(range(len(waiting)), key=rank))


def _here(
    waiting: list[Task], expected: Expected, study: Study, watcher: Watcher
) -> Generator[Report, None, None]:
    while waiting:
        task = next_task(waiting, expected, ())
        watcher.started(task)
        yield perform(task, study.path)


def _in_processes(
    waiting: list[Task], expected: Expected, study: Study, count: int, watcher: Watcher
) -> Generator[Report, None, None]:
    with working(count, study.path) as workers:
        while waiting or any(worker.task is not None for worker in workers):
            for worker in workers:
                if worker.task is None and waiting:
                    running = [other.task for other in workers if other.task is not None]
                    worker.begin(next_task(waiting, expected, running))
                    assert worker.task is not None
                    watcher.started(worker.task)
            for worker in ready(workers, _TICK):
                yield worker.report()
            watcher.tick()
