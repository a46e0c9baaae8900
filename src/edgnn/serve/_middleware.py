"""What every request passes first: who may ask, and how large a request may be."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Collection
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from edgnn._system import process_memory, release_memory
from edgnn.serve._limits import Limits

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
#: On every answer: the page runs its own script only, and no other site may use what is here.
SECURITY_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
#: The rest of a body that is not read on would be taken for the next request.
_CLOSE = {"connection": "close"}
_RETRY = {"retry-after": "5"}
_LONGEST_LENGTH = 18  # digits of a Content-Length
#: What is still read of a refused body: seconds, and how many times the largest body.
_LINGER_SECONDS, _LINGER_BODIES = 10, 4
#: The memory that a process holds beside its files, and how many bytes more of it are released.
_HELD, _GROWTH = "RssAnon", 16 * 2**20
#: What browsers say of requests by pages of this server, and by nobody's page: a typed address.
_OWN_SITES = ("same-origin", "none")
_LINK = ["navigate", "document"]


def json_answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a value as JSON; what is not ASCII is escaped, as texts may hold lone surrogates."""
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    except ValueError:  # there are NaN or infinity, which JSON does not have
        text = json.dumps(_finite(value), allow_nan=False, separators=(",", ":"))
    return Response(text.encode(), status, headers, "application/json")


def _finite(value: Any) -> Any:
    """Return a value of lists and dicts with ``None`` for NaN and infinity."""
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def problem(status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    """Return an error as every error of the server looks: one sentence."""
    retry = _RETRY if status == 503 else {}
    return json_answer({"error": " ".join(sentence.split())}, status, {**retry, **(headers or {})})


class Guard:
    """Check host and origin of every request; put security headers on every answer.

    Starlette's ``TrustedHostMiddleware`` answers in plain text, and every error here is JSON.

    Parameters
    ----------
    app : ASGI application
        The application behind.
    hosts : collection of str, optional
        Names the server may be asked for by; ``None`` for any.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str] | None) -> None:
        self._app = app
        self._hosts = None if hosts is None else {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def send_guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                MutableHeaders(scope=message).update(SECURITY_HEADERS)
            await send(message)

        refusal = self._refusal(Headers(scope=scope))
        if refusal is not None:
            await problem(403, refusal, _CLOSE)(scope, receive, send_guarded)
            return
        if scope["method"] == "HEAD":  # the same as GET; the server sends the head alone
            scope = {**scope, "method": "GET"}
        try:
            await self._app(scope, receive, send_guarded)
        except asyncio.CancelledError:  # the server ends
            if not started:
                sentence = "the server is being ended; ask again once it has been started again"
                await problem(503, sentence, _CLOSE)(scope, receive, send_guarded)
            raise

    def _refusal(self, headers: Headers) -> str | None:
        """Say what is wrong with host or origin.

        A page elsewhere can have its own name rebound to this address: then the host is that name.
        Or it can send requests across sites: then the origin is not the host; of what needs no
        origin, such as a picture, browsers say which site it is for. Links may lead here.
        """
        host = headers.get("host", "")
        if self._hosts is not None and host_of(host) not in self._hosts:
            names = ", ".join(sorted(self._hosts))
            return (
                f"this server is not known as {host[:100]!r}; ask for it as one of {names}, "
                "or start it with --allow-host"
            )
        origin = headers.get("origin")
        if origin is not None and _authority(origin) != host.lower():
            return f"a page of {origin[:100]!r} may not use this server; open the server's own page"
        is_link = [headers.get(f"sec-fetch-{name}") for name in ("mode", "dest")] == _LINK
        if headers.get("sec-fetch-site", "none") not in _OWN_SITES and not is_link:
            return "a page of another site may not use this server; open the server's own page"
        return None


class Linger:
    """Read the rest of a refused body, within bounds, before the answer ends.

    A client that sends everything before it reads, such as ``urllib.request``, would find the
    connection reset in place of the answer.

    Parameters
    ----------
    app : ASGI application
        The application behind.
    limits : Limits
        Size of a body, and the time in which one must arrive.
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or not _has_body(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        end = time.monotonic() + self._limits.seconds
        complete = False

        async def receive_watched() -> Message:
            nonlocal complete
            message = await receive()
            complete = not message.get("more_body", False)
            return message

        async def discard() -> None:
            size = 0
            while not complete and size <= _LINGER_BODIES * self._limits.bytes:
                size += len((await receive_watched()).get("body", b""))

        async def send_lingering(message: Message) -> None:
            if complete or message["type"] != "http.response.body" or message.get("more_body"):
                await send(message)
                return
            await send({**message, "more_body": True})
            with suppress(TimeoutError):
                await asyncio.wait_for(discard(), min(end - time.monotonic(), _LINGER_SECONDS))
            await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self._app(scope, receive_watched, send_lingering)


class MemoryRelease:
    """Give memory back to the system after requests that made the process grow.

    The C library would keep what one large request has used, for as long as the server runs.

    Parameters
    ----------
    app : ASGI application
        The application behind.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._level = process_memory(_HELD) or 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            await self._app(scope, receive, send)
        finally:
            if scope["type"] == "http" and scope["method"] == "POST":
                asyncio.get_running_loop().run_in_executor(None, self._release)

    def _release(self) -> None:
        held = process_memory(_HELD)
        if held is None:
            return
        if held > self._level + _GROWTH:
            release_memory()
            self._level = process_memory(_HELD) or held
        self._level = min(self._level, held)


class BodyLimit:
    """Refuse bodies that are too large, together too many, or too slow to arrive.

    Parameters
    ----------
    app : ASGI application
        The application behind.
    limits : Limits
        Size of a body and of all bodies at a time, and the time in which one must arrive.
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        most = self._limits.of_body(headers.get("content-type", ""))
        declared = headers.get("content-length", "").lstrip("0")
        if len(declared) > _LONGEST_LENGTH or (declared.isdecimal() and int(declared) > most):
            await problem(413, self._too_large(most), _CLOSE)(scope, receive, send)
            return
        size = 0
        complete = False
        end = time.monotonic() + self._limits.seconds

        async def receive_limited() -> Message:
            nonlocal size, complete
            if complete:  # only the end of the connection can still come
                return await receive()
            message = await self._arriving(receive, end)
            arrived = len(message.get("body", b""))
            size += arrived
            self._held += arrived
            complete = not message.get("more_body", False)
            if size > most:
                raise HTTPException(413, self._too_large(most), _CLOSE)
            if self._held > max(self._limits.held, size):  # one alone may always be as large
                sentence = f"requests of more than {self._limits.held:,} bytes are at work"
                raise HTTPException(503, f"{sentence}; try again in a moment", _CLOSE)
            return message

        try:
            await self._app(scope, receive_limited, send)
        finally:
            self._held -= size

    async def _arriving(self, receive: Receive, end: float) -> Message:
        try:
            return await asyncio.wait_for(receive(), max(end - time.monotonic(), 0.001))
        except TimeoutError:
            sentence = f"the request did not arrive within {self._limits.seconds:g} seconds"
            raise HTTPException(408, sentence, _CLOSE) from None

    def _too_large(self, most: int) -> str:
        if most < self._limits.bytes:
            return (
                f"this is more than the {most:,} bytes of JSON in one request; "
                "send it in parts, or as a file"
            )
        return f"this is more than the {most:,} bytes of one request; send it in parts"


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0").strip("0") != ""


def _authority(origin: str) -> str:
    """Return host and port of an origin; nothing where it has none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def host_of(header: str) -> str:
    """Return the name in a Host header, in small letters and without its port; or nothing."""
    try:
        parts = urlsplit(f"//{header}")
        is_host = parts.netloc == header and parts.username is None and parts.port != 0
    except ValueError:
        return ""
    return (parts.hostname or "") if is_host else ""
