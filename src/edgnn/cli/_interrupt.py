"""Ctrl-C that waits for the end of an epoch, and SIGTERM as Ctrl-C, so that what is there can still be used."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_SAID = b"edgnn: stopping after this epoch; press Ctrl-C again to stop at once\n"
_SAID_ONCE = b"edgnn: stopping after this epoch\n"


class Interrupt:
    """Whether Ctrl-C was pressed."""

    asked = False


@contextmanager
def softly_interrupted(*, when: bool = True, patient: bool = False) -> Iterator[Interrupt]:
    """Take note of the first Ctrl-C; the second one, or any where there are no epochs to wait for, interrupts at once.

    With ``patient``, none does: torchrun passes on each one that the terminal has sent to all
    processes already.
    """
    interrupt = Interrupt()
    if not when or threading.current_thread() is not threading.main_thread():
        yield interrupt
        return

    def note(number: int, frame: Any) -> None:
        if interrupt.asked and not patient:
            raise KeyboardInterrupt
        if not interrupt.asked:
            os.write(
                2, _SAID_ONCE if patient else _SAID
            )  # a stream may be in the middle of a write
        interrupt.asked = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)


class Ending:
    """Whether the system asked the process to end."""

    terminated = False


@contextmanager
def terminated_softly() -> Iterator[Ending]:
    """Take SIGTERM as Ctrl-C, so that what is there is still written and no process is left behind."""
    ending = Ending()
    if threading.current_thread() is not threading.main_thread():
        yield ending
        return

    def note(number: int, frame: Any) -> None:
        ending.terminated = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, note)
    try:
        yield ending
    finally:
        signal.signal(signal.SIGTERM, before)
