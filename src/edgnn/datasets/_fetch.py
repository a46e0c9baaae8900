"""Download of one file: mirrors in order, resumed after a cut, checked before it appears under its name."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit

from edgnn.errors import ChecksumError, FetchError, FormatError

WAY_OUT = "to work without the network, point --data-dir or EDGNN_DATA at a local copy"

_SCHEMES = ("http", "https")
_BLOCK = 2**16
_CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")

_Report = Callable[[int, int | None], None]


def download(
    urls: Sequence[str],
    destination: Path,
    *,
    sha256: str | None = None,
    timeout: float = 30.0,
    max_bytes: int = 4 * 2**30,
    progress: bool | None = None,
    description: str = "",
    accept: Callable[[Path, str], None] | None = None,
) -> str:
    """Download a file from the first mirror that delivers it, and return its SHA-256.

    What has arrived so far lies in ``NAME.part`` beside the destination, with ``NAME.part.json`` saying where it came from; a
    later call goes on from there. Two calls for the same destination must not run at the same time.

    Parameters
    ----------
    urls : sequence of str
        Mirrors, tried in order; http and https only.
    destination : Path
        Where the complete, checked file appears.
    sha256 : str, optional
        What the content must hash to.
    timeout : float
        Seconds a server may stay silent.
    max_bytes : int
        Size a file may have.
    progress : bool, optional
        Whether to show a bar on stderr; default: if that is a terminal.
    description : str
        What the bar and the errors call the file; default: its name.
    accept : callable, optional
        Called with the complete file and its url before it gets its name; a :class:`ChecksumError` or :class:`FormatError` of
        its own turns the file down, and the next mirror is tried.

    Raises
    ------
    ChecksumError
        If every mirror delivered something, and all of it was wrong.
    FetchError
        If no mirror delivered for other reasons, or the file cannot be written.
    """
    what = description or destination.name
    failures: list[tuple[str, _Failure]] = []
    with _bar(progress, what) as report:
        transfer = _Transfer(destination, None if sha256 is None else sha256.lower(), timeout, max_bytes, accept, report)
        for url in urls:
            try:
                return transfer.fetch(url)
            except _Failure as failure:
                failures.append((url, failure))
    reasons = "; ".join(f"{url}: {failure}" for url, failure in failures) or "no mirror of it is known"
    if failures and all(isinstance(failure, _Wrong) for _, failure in failures):
        raise ChecksumError(f"{what} arrived damaged or changed from every mirror: {reasons}; {WAY_OUT}")
    raise FetchError(f"{what} could not be downloaded: {reasons}; {WAY_OUT}")


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class _Failure(Exception):
    """Why one mirror did not deliver."""


class _Cut(_Failure):
    """The connection ended before the file did; asking once more may help."""


class _TooLarge(_Failure):
    """The file is over the size limit, or over its announced size."""


class _Wrong(_Failure):
    """All bytes arrived, and they are not the right ones."""


@dataclass
class _Transfer:
    """One file on its way: the partial file, the note on its origin, and what the whole must satisfy."""

    destination: Path
    sha256: str | None
    timeout: float
    max_bytes: int
    accept: Callable[[Path, str], None] | None
    report: _Report

    def __post_init__(self) -> None:
        self.part = self.destination.with_name(self.destination.name + ".part")
        self.note = self.destination.with_name(self.destination.name + ".part.json")

    def fetch(self, url: str) -> str:
        """Get the file from one mirror, or raise :class:`_Failure`."""
        cut_before = False
        while True:
            try:
                resumed = self._receive(url)
            except _Cut:
                if cut_before:
                    raise
                cut_before = True
                continue
            except _TooLarge:
                self._discard()
                raise
            try:
                return self._finish(url)
            except _Wrong:
                self._discard()
                if not resumed:
                    raise

    def _receive(self, url: str) -> bool:
        """Complete the partial file, and return whether it was begun by an earlier request."""
        offset, validator = self._resume_point(url)
        headers = {"Range": f"bytes={offset}-"} if offset else {}
        if offset and validator is not None:
            headers["If-Range"] = validator
        with _open(url, headers, self.timeout) as response:
            start, total = _extent(response)
            if response.status == HTTPStatus.OK:
                self._append(response, 0, total, {"url": url, "validator": _validator(response.headers)})
                return False
            if not offset:
                raise _Failure(_status(response.status))
            if response.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and total == offset:
                return True
            unchanged = validator is None or _validator(response.headers) in (None, validator)
            if response.status == HTTPStatus.PARTIAL_CONTENT and start == offset and unchanged:
                self._append(response, offset, total, {"url": url, "validator": validator})
                return True
        self._discard()
        return self._receive(url)

    def _resume_point(self, url: str) -> tuple[int, str | None]:
        """Return how many bytes to keep, and what the server must still have for that.

        Bytes of unknown origin, or of another mirror, are only worth keeping where a hash tells in the end.
        """
        try:
            note = json.loads(self.note.read_text(encoding="utf-8"))
            validator = note["validator"] if note["url"] == url else None
        except (OSError, ValueError, TypeError, KeyError):
            validator = None
        if not (isinstance(validator, str) and validator.isprintable()):
            validator = None
        if validator is None and self.sha256 is None:
            return 0, None
        return self.part.stat().st_size if self.part.is_file() else 0, validator

    def _append(self, response: Any, offset: int, total: int | None, note: dict[str, str | None]) -> None:
        """Write the body behind the first ``offset`` bytes of the partial file."""
        if total is not None and total > self.max_bytes:
            raise _TooLarge(f"it has {total:,} bytes, and the limit is {self.max_bytes:,}")
        self.report(offset, total)
        size = offset
        with _writing(self.part), self.part.open("ab" if offset else "wb") as stream:
            self.note.write_text(json.dumps(note), encoding="utf-8")
            for block in _blocks(response, self.timeout):
                size += len(block)
                if size > self.max_bytes:
                    raise _TooLarge(f"it has more than the {self.max_bytes:,} bytes of the limit")
                stream.write(block)
                self.report(size, total)
            stream.flush()
            os.fsync(stream.fileno())
        if total is not None and size > total:
            raise _TooLarge(f"it sent more than the {total:,} bytes it announced")
        if total is not None and size < total:
            raise _Cut(f"the connection was cut after {size:,} of {total:,} bytes")

    def _finish(self, url: str) -> str:
        """Check the complete file and give it its name."""
        with _writing(self.part):
            found = sha256_of(self.part)
        if self.sha256 is not None and found != self.sha256:
            raise _Wrong(f"the checksum is wrong (SHA-256 {found[:12]}, published is {self.sha256[:12]})")
        if self.accept is not None:
            try:
                self.accept(self.part, url)
            except (ChecksumError, FormatError) as error:
                raise _Wrong(str(error)) from error
        with _writing(self.destination):
            self.part.replace(self.destination)
            self.note.unlink(missing_ok=True)
        return found

    def _discard(self) -> None:
        with _writing(self.part):
            self.part.unlink(missing_ok=True)
            self.note.unlink(missing_ok=True)


class _Redirects(request.HTTPRedirectHandler):
    """Follow redirects, a few of them, within http and https."""

    max_redirections = 5

    def http_error_302(self, req: request.Request, fp: Any, code: int, msg: str, headers: Message) -> Any:
        fp.close()  # else its body, however long, would be read to the end
        target = urljoin(req.full_url, headers.get("location", ""))
        if urlsplit(target).scheme not in _SCHEMES:
            raise _Failure(f"it redirects to {target[:200]!r}; only http and https are followed")
        return super().http_error_302(req, fp, code, msg, headers)  # type: ignore[arg-type]

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def _open(url: str, headers: dict[str, str], timeout: float) -> Any:
    """Send a GET request; the answer has status 200, 206 or 416."""
    headers = {"User-Agent": f"edgnn/{_version()}", "Accept-Encoding": "identity", **headers}
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler,
        request.HTTPHandler,
        request.HTTPSHandler,
        request.HTTPErrorProcessor,
        request.HTTPDefaultErrorHandler,
        _Redirects,
    ):
        opener.add_handler(handler())
    try:
        if urlsplit(url).scheme not in _SCHEMES:
            raise _Failure("only http and https are allowed")
        return opener.open(request.Request(url, headers=headers), timeout=timeout)
    except HTTPError as error:
        if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return error
        error.close()
        if 300 <= error.code < 400 and "location" in error.headers:
            raise _Failure(f"it redirects more than {_Redirects.max_redirections} times, or in a circle") from None
        raise _Failure(_status(error.code)) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        cause = error.reason if isinstance(error, URLError) else error
        if isinstance(cause, TimeoutError):
            raise _Failure(f"no answer within {timeout:g} s") from None
        if isinstance(cause, ConnectionError) and not isinstance(cause, ConnectionRefusedError):
            raise _Cut(f"the connection was cut ({_why(cause)})") from None
        raise _Failure(_why(cause)) from None


def _blocks(response: Any, timeout: float) -> Iterator[bytes]:
    """Yield the body as it arrives, with every error of the network as :class:`_Failure`."""
    while True:
        try:
            block = response.read1(_BLOCK)
        except TimeoutError:
            raise _Failure(f"nothing more arrived within {timeout:g} s") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _Cut(f"the connection was cut ({_why(error)})") from None
        if not block:
            return
        yield block


def _extent(response: Any) -> tuple[int | None, int | None]:
    """Return the place of the body's first byte in the file and the file's size, where the headers tell."""
    if response.status == HTTPStatus.OK:
        return 0, response.length
    match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
    if match is None:
        return None, None
    first, last, total = match.groups()
    size = int(total) if total != "*" else None if last is None else int(last) + 1
    return None if first is None else int(first), size


def _validator(headers: Message) -> str | None:
    """Return what identifies a version of the file: a strong ETag, else the date of its last change."""
    etag: str | None = headers.get("ETag")
    return etag if etag is not None and not etag.startswith("W/") else headers.get("Last-Modified")


def _status(code: int) -> str:
    phrase = HTTPStatus(code).phrase if code in set(HTTPStatus) else ""
    return f"HTTP {code} {phrase}".strip()


def _why(cause: object) -> str:
    text = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    return " ".join(str(text).split())


def _version() -> str:
    try:
        return version("edgnn")
    except PackageNotFoundError:
        return "unknown"


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn what goes wrong on our own disk into a :class:`FetchError`, which no other mirror could mend."""
    try:
        yield
    except OSError as error:
        raise FetchError(
            f"cannot write {path}: {_why(error)}; free some space there, or choose another folder with EDGNN_CACHE"
        ) from error


@contextmanager
def _bar(show: bool | None, description: str) -> Iterator[_Report]:
    """Give a function that takes the bytes so far and in all, and shows them where wanted."""
    if show is None:
        show = sys.stderr is not None and sys.stderr.isatty()
    if not show:
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(description, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
