"""Workers that compute cells: processes of this machine, or those of a Dask cluster.

Both are executors with futures: joblib's loky, and Dask's client. ``joblib.Parallel`` is not used
here because it does not hear of a Dask worker that was killed, and would wait for it forever.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from edgnn._optional import optional
from edgnn.errors import EdgnnError, StudyError
from edgnn.studies._cells import Task, compute_together
from edgnn.studies._study import CellResult

Backend = Literal["loky", "dask"]

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_SECONDS_BETWEEN_LOOKS = 0.5


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
    kind : {"done", "failed", "unexpected"}
        Whether it is done, or failed for a reason that the user can fix, or by a mistake of ours.
    warnings : tuple of str
        Warnings of this package for the user.
    results : tuple of CellResult
        What is to be written into the study.
    """

    task: Task
    seconds: float | None = None
    error: str = ""
    kind: str = "done"
    warnings: tuple[str, ...] = ()
    results: tuple[CellResult, ...] = field(default=(), repr=False, compare=False)


def perform(task: Task) -> Report:
    """Compute a cell, or runs that are trained together; an error becomes a report."""
    with _own_warnings() as messages:
        try:
            results = compute_together(task.each())
        except EdgnnError as error:
            return Report(task, None, str(error), "failed")
        except MemoryError:
            reason = "out of memory: use fewer --jobs, or a machine with more of it"
            return Report(task, None, reason, "failed")
        except Exception as error:
            return Report(task, None, located(error), "unexpected")
    seconds = sum(result.seconds for result in results)
    return Report(task, seconds, warnings=tuple(messages), results=tuple(results))


class Workers(Protocol):
    """What the runner needs of workers."""

    #: What a future raises whose worker died.
    died: tuple[type[BaseException], ...]
    #: Whether the backend itself gives a cell whose worker died to another worker.
    retries: bool

    @property
    def count(self) -> int:
        """How many cells can be computed at once."""

    def submit(self, task: Task) -> Future[Report]:
        """Have a cell computed."""

    def close(self) -> None:
        """End the workers at once, whatever they compute."""


class LocalWorkers:
    """Processes of this machine; they keep the data sets that they have loaded."""

    retries = False

    def __init__(self, count: int) -> None:
        from joblib.externals.loky import BrokenProcessPool

        self.count = count
        self.died: tuple[type[BaseException], ...] = (BrokenProcessPool,)
        self._pool = self._new_pool()

    def submit(self, task: Task) -> Future[Report]:
        """Have a cell computed; processes are started with the first one."""
        with _unreached_by_ctrl_c():
            try:
                future: Future[Report] = self._pool.submit(perform, task)
            except self.died:  # with one of its processes, the whole pool ends
                self.close()
                self._pool = self._new_pool()
                future = self._pool.submit(perform, task)
        return future

    def close(self) -> None:
        """End the processes at once."""
        self._pool.shutdown(wait=True, kill_workers=True)

    def _new_pool(self) -> Any:
        from joblib.externals.loky import ProcessPoolExecutor

        return ProcessPoolExecutor(
            max_workers=self.count,
            env=dict.fromkeys(_THREADS, "1"),
            initializer=_end_with,
            initargs=(os.getpid(),),
        )


class ClusterWorkers:
    """Workers of a Dask cluster: the one behind a scheduler, or one of this machine."""

    retries = True

    def __init__(self, count: int, scheduler: str | None = None) -> None:
        distributed = optional("distributed", "the backend dask")
        self.died: tuple[type[BaseException], ...] = (distributed.scheduler.KilledWorker,)
        self._cluster: Any = None
        with _unreached_by_ctrl_c():
            if scheduler is None:
                self._cluster = distributed.LocalCluster(
                    host="127.0.0.1",
                    n_workers=count,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",  # any free port, not the usual one
                    scheduler_kwargs={"dashboard": False},
                    memory_limit=0,  # as for other processes, the system decides
                    silence_logs=logging.ERROR,
                )
            try:
                self._client = distributed.Client(self._cluster or scheduler, set_as_default=False)
            except (OSError, ValueError) as error:
                raise StudyError(
                    f"the Dask scheduler {scheduler} does not answer ({error}); "
                    "give the address that `dask scheduler` prints, such as tcp://10.0.0.1:8786"
                ) from None
        self._executor = self._client.get_executor()
        self._check_threads()

    @property
    def count(self) -> int:
        """How many workers there are now; a cluster may grow and shrink."""
        return max(1, len(self._client.nthreads()))

    def submit(self, task: Task) -> Future[Report]:
        """Have a cell computed."""
        future: Future[Report] = self._executor.submit(perform, task)
        return future

    def close(self) -> None:
        """Leave the cluster; one of this machine ends."""
        self._executor.shutdown(wait=False)
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def _check_threads(self) -> None:
        """Refuse workers that compute several cells in one process: these would share threads."""
        threads = max(self._client.nthreads().values(), default=1)
        if threads > 1:
            self.close()
            raise StudyError(
                f"a worker of the Dask cluster has {threads} threads; cells need a process each: "
                "start workers with `dask worker --nthreads 1`"
            )


@contextmanager
def started(backend: Backend, count: int, scheduler: str | None = None) -> Iterator[Workers]:
    """Start workers, and end them in any case."""
    workers: Workers
    if backend == "dask":
        workers = ClusterWorkers(count, scheduler)
    else:
        workers = LocalWorkers(count)
    try:
        yield workers
    finally:
        workers.close()


def located(error: BaseException) -> str:
    """Return what an unexpected error is and where it arose."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"unexpected {type(error).__name__}: {' '.join(str(error).split())}{where}"


def _end_with(parent: int) -> None:
    """Have this process end soon after its parent, however that ended."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _unreached_by_ctrl_c() -> Iterator[None]:
    """Keep Ctrl-C, which goes to all processes of a terminal, from processes started here.

    The signal mask is inherited. What an interruption means is decided by the main process alone.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend import resource_tracker as loky_tracker

    # Starting a tracker unblocks the signal, so it must run before.
    resource_tracker.ensure_running()
    loky_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _own_warnings() -> Iterator[list[str]]:
    """Collect the package's own warnings, each once."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", module=r"edgnn\.")
        try:
            yield messages
        finally:
            texts = (" ".join(str(warning.message).split()) for warning in caught)
            messages += dict.fromkeys(texts)
