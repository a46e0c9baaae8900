"""A web server on loopback that misbehaves as told."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@dataclass
class Page:
    """What the server answers under one path, and how."""

    body: bytes = b""
    status: int = 200
    location: str | None = None
    etag: str | None = '"version-1"'
    modified: str | None = None
    ranges: bool = True  # False: a range request gets the whole file with status 200
    shift: int = 0  # a range request gets bytes from this much further on
    sloppy: bool = False  # If-Range is not looked at
    surplus: int = 0  # a range request gets this many bytes more than the file has
    cuts: list[int] = field(
        default_factory=list
    )  # each request takes one and gets no more of the body than that
    stall: int | None = None  # silence after this many bytes of the body, -1: before the headers
    length: int | None = None  # what Content-Length claims
    no_length: bool = False  # no Content-Length; the end of the connection is the end of the body
    pause: float = 0.0  # seconds before the answer


class Loopback(ThreadingHTTPServer):
    """Serves pages and remembers requests: ``server.add("/a.zip", body, cuts=[100])`` returns the url."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pages: dict[str, Page] = {}
        self.requests: list[tuple[str, Message]] = []
        self.released = threading.Event()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{path}"

    def add(self, path: str, body: bytes = b"", **how: object) -> str:
        self.pages[path] = Page(body, **how)  # type: ignore[arg-type]
        return self.url(path)

    def headers_of(self, path: str) -> list[Message]:
        return [headers for asked, headers in self.requests if asked == path]

    def ranges_of(self, path: str) -> list[str | None]:
        return [headers["Range"] for headers in self.headers_of(path)]

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing about clients that hang up."""


class _Handler(BaseHTTPRequestHandler):
    server: Loopback

    def do_GET(self) -> None:
        self.server.requests.append((self.path, self.headers))
        page = self.server.pages.get(self.path, Page(status=404))
        if page.pause:
            self.server.released.wait(page.pause)
        if page.stall == -1:
            self.server.released.wait()
            return
        self._answer(page)

    def _answer(self, page: Page) -> None:
        start = self._start(page)
        body = page.body[start + (page.shift if start else 0) :]
        cut = page.cuts.pop(0) if page.cuts else None
        if start and body:
            body += bytes(page.surplus)
        if start and not body:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(page.body)}")
            body = b""
        else:
            self.send_response(206 if start else page.status)
            if start:
                first = start + page.shift
                self.send_header(
                    "Content-Range", f"bytes {first}-{len(page.body) - 1}/{len(page.body)}"
                )
        for name, value in [
            ("Location", page.location),
            ("ETag", page.etag),
            ("Last-Modified", page.modified),
        ]:
            if value is not None:
                self.send_header(name, value)
        if not page.no_length:
            self.send_header(
                "Content-Length", str(len(body) if page.length is None else page.length)
            )
        self.end_headers()
        stop = min(len(body) if limit is None else limit for limit in (cut, page.stall, None))
        self.wfile.write(body[:stop])
        self.wfile.flush()
        if page.stall is not None and stop == page.stall:
            self.server.released.wait()
        self.close_connection = True
        if cut is not None:
            self.connection.shutdown(socket.SHUT_RDWR)

    def _start(self, page: Page) -> int:
        condition = None if page.sloppy else self.headers["If-Range"]
        if (
            page.status != 200
            or not page.ranges
            or self.headers["Range"] is None
            or condition not in (None, page.etag, page.modified)
        ):
            return 0
        return int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))

    def log_message(self, format: str, *args: object) -> None:
        """Keep test output quiet."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    for variable in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(variable, "127.0.0.1")
    loopback = Loopback()
    thread = threading.Thread(
        target=loopback.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    )
    thread.start()
    yield loopback
    loopback.released.set()
    loopback.shutdown()
    loopback.server_close()
    thread.join()
