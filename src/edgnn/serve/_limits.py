"""What one request may ask for, and the threads that work within these limits."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar, get_args

from edgnn.errors import EdgnnError
from edgnn.io import Deadline

LONGEST_SMILES = 5_000
LONGEST_LINES = 2**24  # characters of a field of names

_T = TypeVar("_T")
Pool = Literal["predict", "files", "explain"]


class TooLarge(EdgnnError):
    """A request beyond the limits of the server."""


class Busy(EdgnnError):
    """Too many requests wait already, or this one took too long."""


class ClientGone(EdgnnError):
    """The client has closed the connection: nobody waits for the answer."""


@dataclass(frozen=True)
class Limits:
    """What one request may ask for.

    Parameters
    ----------
    bytes : int
        Size of a request's body.
    json : int
        Size of a body of JSON, which is parsed at one go while all others wait; never more than
        ``bytes``.
    held : int
        Size of the bodies of all requests that are at work or wait for it.
    unpacked : int
        Bytes that an uploaded compressed file may unpack to.
    items : int
        Graphs, molecules or nodes to predict.
    nodes, edges : int
        Of all graphs of a request together.
    files : int
        Files of one upload.
    explained : int
        Nodes of a graph that is to be explained.
    seconds : float
        For the body of a request to arrive, and from then on to its answer.
    waiting : int
        Requests that may be at work or wait for it; more are asked to come again.
    workers : int
        Threads that predict, as many that read files, and as many that explain.
    """

    bytes: int = 32 * 2**20
    json: int = 8 * 2**20
    held: int = 512 * 2**20
    unpacked: int = 256 * 2**20
    items: int = 10_000
    nodes: int = 200_000
    edges: int = 1_000_000
    files: int = 20
    explained: int = 1_000
    seconds: float = 60.0
    waiting: int = 1_000
    workers: int = 2

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0 or not math.isfinite(value):
                raise EdgnnError(f"the limit {field.name}={value}: choose a number above 0")

    def of_body(self, content_type: str) -> int:
        """Return how many bytes a body may have: files come as multipart, all else is JSON."""
        if content_type.strip().lower().startswith("multipart/"):
            return self.bytes
        return min(self.json, self.bytes)

    def check_items(self, count: int, what: str) -> None:
        """Raise where there are too many items."""
        if count > self.items:
            raise TooLarge(
                f"{count:,} {what} are more than the {self.items:,} of one request; "
                "send them in parts"
            )

    def check_sizes(self, nodes: int, edges: int) -> None:
        """Raise where there are too many nodes or edges."""
        for count, most, what in ((nodes, self.nodes, "nodes"), (edges, self.edges, "edges")):
            if count > most:
                raise TooLarge(
                    f"the graphs have {count:,} {what}, more than the {most:,} of one request; "
                    "send fewer at a time"
                )


class Workers:
    """Threads that predict, as many that read files, and as many that explain.

    Neither a file that takes long to read nor an explanation keeps other predictions waiting.

    A thread cannot be stopped from outside. So what is not begun is dropped when its client has
    left or its time is over, and what is under way stops at its next look at the deadline; until
    then it keeps its thread, which bounds the work that goes on at a time.

    Parameters
    ----------
    limits : Limits
        How many threads, how many requests may wait, and how long each may take, its waiting
        included.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._jobs: set[Future[Any]] = set()
        self._open()

    def _open(self) -> None:
        self._pools = {
            name: ThreadPoolExecutor(self._limits.workers, thread_name_prefix=name)
            for name in get_args(Pool)
        }

    @property
    def waiting(self) -> int:
        """How many requests are at work or wait for it."""
        return len(self._jobs)

    async def run(
        self,
        work: Callable[[Deadline], _T],
        receive: Callable[[], Awaitable[Any]],
        pool: Pool = "predict",
    ) -> _T:
        """Return the result of ``work``, done in a thread.

        Parameters
        ----------
        work : callable
            Called with the deadline.
        receive : callable
            What the ASGI server gives to hear from the client, after the body has been read.
        pool : {"predict", "files", "explain"}
            Which threads.
        """
        if self.waiting >= self._limits.waiting:
            raise Busy(f"{self.waiting:,} requests are waiting already; try again in a moment")
        deadline = Deadline(self._limits.seconds)
        job = self._pools[pool].submit(_begin, work, deadline)
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)
        answer: asyncio.Future[_T] = asyncio.wrap_future(job)
        leaving = asyncio.create_task(_disconnect(receive))
        try:
            await asyncio.wait(
                (answer, leaving),
                timeout=self._limits.seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if answer.done():
                return answer.result()
            if leaving.done():
                raise ClientGone("the client has closed the connection")
            raise Busy(
                f"this took longer than {self._limits.seconds:g} seconds; "
                "try again in a moment, or ask for less at once"
            )
        finally:
            deadline.end()
            answer.cancel()
            leaving.cancel()

    def close(self) -> None:
        """Drop what waits, without waiting for what runs; new threads start with the next work."""
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
        self._open()


def _begin(work: Callable[[Deadline], _T], deadline: Deadline) -> _T:
    deadline.check()
    with deadline:
        return work(deadline)


async def _disconnect(receive: Callable[[], Awaitable[Any]]) -> None:
    """Return when the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        continue
