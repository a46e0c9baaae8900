"""Connections that ask and read within a time: those that say nothing, never end it, or take no answer are closed."""

from __future__ import annotations

import asyncio
from typing import Any

from edgnn._optional import optional


def patient_only(seconds: float) -> type[Any]:
    """Return uvicorn's protocol, with a time for the head of a request to arrive, and for an answer to be taken.

    Parameters
    ----------
    seconds : float
        From the opening of a connection, or from the first byte of a later request; and from the
        end of an answer. The body has a time of its own.
    """
    plain = optional("uvicorn.protocols.http.h11_impl", "serving a model").H11Protocol

    class Patient(plain):  # type: ignore[misc, valid-type]
        _clock: asyncio.TimerHandle | None = None
        _untaken: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._clock = self.loop.call_later(seconds, self._too_late)

        def data_received(self, data: bytes) -> None:
            before = self.cycle
            super().data_received(data)
            if self.cycle is not before:
                self._stop()
            elif self._clock is None and (before is None or before.response_complete):
                self._clock = self.loop.call_later(seconds, self._too_late)

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            if self._untaken is not None:
                self._untaken.cancel()
            super().connection_lost(exc)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._await_reader()

        def pause_writing(self) -> None:  # the next answer waits until this one is taken
            super().pause_writing()
            self._await_reader()

        def _stop(self) -> None:
            if self._clock is not None:
                self._clock.cancel()
                self._clock = None

        def _too_late(self) -> None:
            self._clock = None
            self.transport.close()

        def _await_reader(self) -> None:
            if self._untaken is not None:
                self._untaken.cancel()
            self._untaken = (
                self.loop.call_later(seconds, self._give_up)
                if self.transport.get_write_buffer_size()
                else None
            )

        def _give_up(self) -> None:
            self._untaken = None
            if self.transport.get_write_buffer_size():
                self.transport.abort()  # closing would wait until all is taken

    return Patient
