"""Connections that ask within a time: those that say nothing, or never end what they say, are closed."""

from __future__ import annotations

import asyncio
from typing import Any

from edgnn._optional import optional


def patient_only(seconds: float) -> type[Any]:
    """Return uvicorn's protocol, with a time in which the head of a request must have arrived.

    Parameters
    ----------
    seconds : float
        From the opening of a connection, or from the first byte of a later request. The body has a time of its own.
    """
    plain = optional("uvicorn.protocols.http.h11_impl", "serving a model").H11Protocol

    class Patient(plain):  # type: ignore[misc, valid-type]
        _clock: asyncio.TimerHandle | None = None

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
            super().connection_lost(exc)

        def _stop(self) -> None:
            if self._clock is not None:
                self._clock.cancel()
                self._clock = None

        def _too_late(self) -> None:
            self._clock = None
            self.transport.close()

    return Patient
