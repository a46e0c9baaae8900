"""Work beside the event loop: a few threads, a bounded queue, a time for everything."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from edgnn.serve._limits import Busy, Deadline, Limits

_T = TypeVar("_T")


class Workers:
    """Threads that predict, and one that explains, so that no explanation keeps a prediction waiting.

    Parameters
    ----------
    limits : Limits
        How many threads, how many requests may wait, and how long each may take, its waiting
        included.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._sizes = {"predict": limits.workers, "explain": 1}
        self._lanes: dict[str, ThreadPoolExecutor] = {}
        self._waiting = 0

    @property
    def waiting(self) -> int:
        """How many requests are at work or wait for it."""
        return self._waiting

    async def run(self, work: Callable[[Deadline], _T], lane: str = "predict") -> _T:
        """Return the result of ``work``; raise :class:`Busy` where the queue is full or the time is over.

        Where the caller is canceled, work that waits is dropped, and work under way ends where it
        next looks at its deadline.
        """
        if self._waiting >= self._limits.waiting:
            raise Busy(f"{self._waiting:,} requests are waiting already; try again in a moment")
        deadline = Deadline(self._limits.seconds)
        future = self._lane(lane).submit(_within, work, deadline)
        self._waiting += 1
        loop = asyncio.get_running_loop()
        future.add_done_callback(lambda _: _in_loop(loop, self._ended))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._limits.seconds)
        except TimeoutError:
            raise Busy(
                f"this took longer than {self._limits.seconds:g} seconds; try again in a moment, or ask for less at once"
            ) from None
        finally:
            deadline.end()

    def _lane(self, name: str) -> ThreadPoolExecutor:
        if (
            name not in self._lanes
        ):  # the first time, or after an application was ended and is started again
            self._lanes[name] = ThreadPoolExecutor(self._sizes[name], thread_name_prefix=name)
        return self._lanes[name]

    def _ended(self) -> None:
        self._waiting -= 1

    def close(self) -> None:
        """Drop what waits; what runs is not waited for."""
        for lane in self._lanes.values():
            lane.shutdown(wait=False, cancel_futures=True)
        self._lanes.clear()


def _within(work: Callable[[Deadline], _T], deadline: Deadline) -> _T:
    deadline.check()
    return work(deadline)


def _in_loop(loop: asyncio.AbstractEventLoop, call: Callable[[], Any]) -> None:
    try:
        loop.call_soon_threadsafe(call)
    except RuntimeError:  # the loop is closed: nobody counts any more
        return
