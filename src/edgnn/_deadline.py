"""When a piece of work must be done: set by a caller, looked at between the steps of the work."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from contextvars import ContextVar, Token
from typing import TypeVar

from edgnn.errors import DeadlineError

_T = TypeVar("_T")

_EVERY = 256


class Deadline:
    """A time limit for what runs inside a ``with`` block, such as reading a file.

    Every reader of :mod:`edgnn.io` looks at it between the pieces it reads, and raises
    :class:`edgnn.errors.DeadlineError` once the time is over. The limit holds for the thread that
    entered the block; of nested ones, the earliest counts.

    Parameters
    ----------
    seconds : float
        From now on.

    Examples
    --------
    >>> import edgnn
    >>> with edgnn.io.Deadline(30):
    ...     molecules = edgnn.from_smiles(["CCO", "CCN"])
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._outer: Deadline | None = None
        self._token: Token[Deadline | None] | None = None

    @property
    def left(self) -> float:
        """Seconds that are left."""
        own = self._end - time.monotonic()
        return own if self._outer is None else min(own, self._outer.left)

    @property
    def is_over(self) -> bool:
        """Whether none is left."""
        return self.left <= 0

    def end(self) -> None:
        """Let the time be over now; any thread may call this."""
        self._end = -math.inf

    def check(self) -> None:
        """Raise where the time is over."""
        if self.is_over:
            raise DeadlineError("the time is over; allow more, or ask for less at once")

    def __enter__(self) -> Deadline:
        self._outer = _CURRENT.get()
        self._token = _CURRENT.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._token is not None
        _CURRENT.reset(self._token)
        self._outer = self._token = None


_CURRENT: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def check_deadline() -> None:
    """Raise where the time of the enclosing :class:`Deadline` is over; without one, do nothing."""
    current = _CURRENT.get()
    if current is not None:
        current.check()


def seconds_left(most: float) -> float:
    """Return how many seconds a step may take: ``most``, or what the deadline leaves of it."""
    current = _CURRENT.get()
    return most if current is None else max(0.0, min(most, current.left))


def checked(items: Iterable[_T]) -> Iterator[_T]:
    """Yield the items, and look at the deadline every few hundred of them."""
    for number, item in enumerate(items):
        if not number % _EVERY:
            check_deadline()
        yield item
