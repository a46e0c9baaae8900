"""What stands before every request: who may ask, how large a request may be, and what a browser may do with the answer."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from edgnn.serve._limits import RETRY_SECONDS, Limits

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_LONGEST_LENGTH = 18  # digits of a Content-Length
_LOG = logging.getLogger(__name__)


class _Refused(Exception):
    """An answer in the place of the application's."""

    def __init__(self, status: int, error: str) -> None:
        super().__init__(error)
        self.status, self.error = status, error


@dataclass
class _Body:
    most: int
    size: int = 0


class Guard:
    """Check host, origin and size of every request; put security headers on every answer, also on those to what went wrong here.

    Parameters
    ----------
    app : ASGI application
        What stands behind.
    limits : Limits
        Size of a body, of all bodies at a time, and the time in which one must arrive.
    hosts : collection of str, optional
        Names the server may be asked for by; ``None`` for any.
    """

    def __init__(self, app: App, limits: Limits, hosts: Collection[str] | None) -> None:
        self._app, self._limits = app, limits
        self._hosts = None if hosts is None else {host.lower() for host in hosts}
        self._held = 0

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal: _Refused | None = None
        started = False

        async def headed(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *own]}
            elif scope["method"] == "HEAD":
                message = {**message, "body": b""}
            await send(message)

        async def unless_refused(message: Message) -> None:
            if refusal is None:
                await headed(message)

        def refuse(reason: _Refused) -> None:
            nonlocal refusal
            refusal = reason
            raise reason

        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in scope["headers"]
        }
        body = _Body(self._limits.of_body(headers.get("content-type", "")))
        try:
            self._check_host(headers)
            self._check_size(headers, body)
            await self._app(_as_get(scope), self._bounded(receive, refuse, body), unless_refused)
        except _Refused as reason:
            refusal = reason
        except asyncio.CancelledError:  # the server ends
            if not started:
                await _answer(
                    headed,
                    _Refused(
                        503, "the server is being ended; ask again once it has been started again"
                    ),
                )
            raise
        except Exception:
            _LOG.exception("a request failed")
            if started:
                raise
            refusal = _Refused(
                500,
                "the server failed at this request; the reason stands on the terminal that it was started from",
            )
        finally:
            self._held -= body.size
        if refusal is not None:  # also where the application has made an answer of its own of it
            await _answer(headed, refusal)

    def _check_host(self, headers: dict[str, str]) -> None:
        """Refuse names that are not ours, as a page elsewhere has rebound to this address, and requests that such pages send."""
        host = headers.get("host", "")
        if self._hosts is not None and host_of(host) not in self._hosts:
            names = ", ".join(sorted(self._hosts))
            raise _Refused(
                403,
                f"this server is not known as {host[:100]!r}; ask for it as one of {names}, or start it with --allow-host",
            )
        origin = headers.get("origin")
        if origin is not None and _place(origin) != host.lower():
            raise _Refused(
                403,
                f"a page of {origin[:100]!r} may not use this server; open the server's own page",
            )

    def _check_size(self, headers: dict[str, str], body: _Body) -> None:
        length = headers.get("content-length", "0").lstrip("0") or "0"
        if len(length) > _LONGEST_LENGTH:
            raise self._too_large("this is", body)
        if length.isdecimal() and int(length) > body.most:
            raise self._too_large(f"{int(length):,} bytes are", body)

    def _bounded(
        self, receive: Receive, refuse: Callable[[_Refused], None], body: _Body
    ) -> Receive:
        """Count the bytes of a body as they arrive, and the time."""
        end = time.monotonic() + self._limits.seconds
        complete = False

        async def counted() -> Message:
            nonlocal complete
            if complete:
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), max(end - time.monotonic(), 0.001))
            except TimeoutError:
                refuse(
                    _Refused(
                        408, f"the request did not arrive within {self._limits.seconds:g} seconds"
                    )
                )
                raise
            size = len(message.get("body", b""))
            body.size += size
            self._held += size
            complete = not message.get("more_body", False)
            if body.size > body.most:
                refuse(self._too_large("this is", body))
            if self._held > max(
                self._limits.held, body.size
            ):  # one alone may always be as large as one may be
                refuse(
                    _Refused(
                        503,
                        f"requests of more than {self._limits.held:,} bytes are at work; try again in a moment",
                    )
                )
            return message

        return counted

    def _too_large(self, what: str, body: _Body) -> _Refused:
        if body.most < self._limits.bytes:
            return _Refused(
                413,
                f"{what} more than the {body.most:,} bytes of JSON in one request; send it in parts, or as a file",
            )
        return _Refused(
            413, f"{what} more than the {body.most:,} bytes of one request; send it in parts"
        )


def _as_get(scope: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Return the request that HEAD stands for: the same as GET, and nothing of the answer but its head."""
    return {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope


def _place(origin: str) -> str:
    """Return host and port of an origin; nothing where it has none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def host_of(header: str) -> str:
    """Return the name in a Host header, in small letters and without its port; nothing where there is none."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


async def _answer(send: Send, refused: _Refused) -> None:
    body = json.dumps({"error": refused.error}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    if refused.status == 503:
        headers.append((b"retry-after", RETRY_SECONDS.encode()))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
