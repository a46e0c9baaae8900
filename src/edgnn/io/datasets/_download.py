"""Download of one file through pooch: mirrors in order, resumed after a cut, checked at the end."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from http import HTTPStatus
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from edgnn._optional import optional
from edgnn._words import one_line
from edgnn.errors import ChecksumError, FetchError, FormatError

OFFLINE_ADVICE = "to work without the network, point --data-dir or EDGNN_DATA at a local copy"

_MOST_REDIRECTS = 5
_ATTEMPTS = 3
_BLOCK = 2**14  # what a cut connection loses at most
_LARGEST_FILE = 4 * 2**30


class _MirrorError(Exception):
    """Why one mirror did not deliver."""


class _CutError(_MirrorError):
    """The connection ended before the file did; asking once more may help."""


def download(
    urls: Sequence[str],
    destination: Path,
    *,
    sha256: str | None = None,
    timeout: float = 30.0,
    max_bytes: int = _LARGEST_FILE,
    progress: bool | None = None,
    title: str = "",
    check: Callable[[Path], None] | None = None,
) -> str:
    """Download a file from the first mirror that delivers it, and return that mirror's url.

    What has arrived so far lies in ``NAME.part`` beside the destination; a later call resumes from
    there. Two calls for the same destination must not run at the same time.

    Parameters
    ----------
    urls : sequence of str
        Mirrors, tried in order; http and https only.
    destination : Path
        Where the complete, checked file appears; one that is there already is only checked.
    sha256 : str, optional
        What the content must hash to.
    timeout : float
        Seconds a server may stay silent.
    max_bytes : int
        Size a file may have.
    progress : bool, optional
        Whether to show a bar on stderr; default: if that is a terminal.
    title : str
        What the bar and the errors call the file; default: its name.
    check : callable, optional
        Called with the complete file; a :class:`ChecksumError` or :class:`FormatError` of its own
        rejects the file, and the next mirror is tried.

    Raises
    ------
    ChecksumError
        If every mirror delivered something, and all of it was wrong.
    FetchError
        If no mirror delivered for other reasons, or the file cannot be written.
    """
    title = title or destination.name
    downloader = _Downloader(destination, timeout, max_bytes, _is_shown(progress), title)
    reasons = []
    rejected = 0
    for url in urls:
        try:
            _retrieve(url, destination, sha256, downloader)
            if check is not None:
                check(destination)
            return url
        except (ChecksumError, FormatError) as error:
            destination.unlink(missing_ok=True)
            rejected += 1
            reasons.append(f"{url}: {error}")
        except _MirrorError as error:
            reasons.append(f"{url}: {error}")
    listed = "; ".join(reasons) or "no mirror of it is known"
    if reasons and rejected == len(reasons):
        raise ChecksumError(
            f"{title} arrived damaged or changed from every mirror: {listed}; {OFFLINE_ADVICE}"
        )
    raise FetchError(f"{title} could not be downloaded: {listed}; {OFFLINE_ADVICE}")


def _retrieve(url: str, destination: Path, sha256: str | None, downloader: _Downloader) -> None:
    """Have pooch fetch and hash the file.

    A cut, or a resumed file that is wrong, is tried again.
    """
    pooch = optional("pooch", "downloading data sets")
    pooch.get_logger().setLevel("WARNING")  # else it reports every download on stderr
    hashed = None if sha256 is None else f"sha256:{sha256.lower()}"
    for attempt in range(_ATTEMPTS):
        is_last = attempt == _ATTEMPTS - 1
        try:
            pooch.retrieve(url, hashed, destination.name, destination.parent, downloader=downloader)
            return
        except _CutError:
            if is_last:
                raise
        except _MirrorError:
            raise
        except ValueError as error:  # what pooch raises for a wrong hash
            if is_last or not downloader.resumed:
                raise ChecksumError(f"the checksum is wrong ({one_line(error)})") from None
        except OSError as error:
            raise FetchError(
                f"cannot write {error.filename or downloader.part}: {error.strerror or error}; "
                "free some space there, or choose another folder with EDGNN_CACHE"
            ) from error


class _Downloader:
    """A downloader for pooch that keeps what has arrived, and resumes from there."""

    def __init__(
        self, destination: Path, timeout: float, max_bytes: int, show: bool, title: str
    ) -> None:
        self.part = destination.with_name(f"{destination.name}.part")
        self._note = destination.with_name(f"{destination.name}.part.json")
        self._timeout = timeout
        self._max_bytes = max_bytes
        self._show = show
        self._title = title
        self.resumed = False

    def __call__(self, url: str, output_file: str, pooch: Any) -> None:
        """Download ``url``, as pooch asks for it."""
        errors = optional("requests", "downloading data sets").exceptions
        try:
            self._download(url)
        except errors.RequestException as error:
            raise _mirror_error(error, self._timeout) from None
        except ValueError as error:  # of a url that nothing can be made of
            raise _MirrorError(one_line(error)) from None
        self.part.replace(output_file)
        self._note.unlink(missing_ok=True)

    def _download(self, url: str) -> None:
        headers = {"User-Agent": f"edgnn/{_version()}", "Accept-Encoding": "identity"}
        offset, etag = self._resume_point(url)
        if offset:
            headers |= {"Range": f"bytes={offset}-", "If-Range": etag}
        with optional("requests", "downloading data sets").Session() as session:
            session.max_redirects = _MOST_REDIRECTS
            with session.get(url, headers=headers, stream=True, timeout=self._timeout) as response:
                status = response.status_code
                is_rest = status == HTTPStatus.PARTIAL_CONTENT and _starts_at(
                    response, offset, etag
                )
                self.resumed = offset > 0 and is_rest
                if status == HTTPStatus.OK:
                    self._note.write_text(
                        json.dumps({"url": url, "etag": response.headers.get("ETag")})
                    )
                    self._receive(response, 0)
                elif self.resumed:
                    self._receive(response, offset)
                elif offset:
                    self._discard()
                    raise _CutError(f"the rest of the file cannot be had ({_status(response)})")
                else:
                    raise _MirrorError(_status(response))

    def _resume_point(self, url: str) -> tuple[int, str]:
        """Return how many bytes to keep, and the version of the file that they belong to."""
        try:
            note = json.loads(self._note.read_text(encoding="utf-8"))
            etag = note["etag"]
            is_same = note["url"] == url and isinstance(etag, str) and etag.isprintable()
        except (OSError, ValueError, TypeError, KeyError):
            return 0, ""
        if not is_same or etag.startswith("W/") or not self.part.is_file():
            return 0, ""
        return self.part.stat().st_size, etag

    def _receive(self, response: Any, offset: int) -> None:
        """Write the body behind the first ``offset`` bytes of the partial file."""
        errors = optional("requests", "downloading data sets").exceptions
        total = _total(response)
        self._check_size(total or 0)
        size = offset
        with _bar(self._show) as bar, self.part.open("ab" if offset else "wb") as file:
            task = bar.add_task(self._title, total=total)
            try:
                for block in response.iter_content(_BLOCK):
                    size += len(block)
                    self._check_size(size)
                    file.write(block)
                    bar.update(task, completed=size)
            except (errors.ConnectionError, errors.ChunkedEncodingError) as error:
                if _is_timeout(error):
                    raise
                of = "" if total is None else f" of {total:,}"
                raise _CutError(f"the connection was cut after {size:,}{of} bytes") from None
            file.flush()
            os.fsync(file.fileno())
        if total is not None and size != total:
            self._discard()
            raise _MirrorError(f"it sent {size:,} bytes instead of the {total:,} it announced")

    def _check_size(self, size: int) -> None:
        if size > self._max_bytes:
            self._discard()
            raise _MirrorError(f"it has {size:,} bytes or more; the limit is {self._max_bytes:,}")

    def _discard(self) -> None:
        self.part.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)


def _total(response: Any) -> int | None:
    """Return the size of the whole file, where the headers tell."""
    total = response.headers.get("Content-Length", "")
    if response.status_code == HTTPStatus.PARTIAL_CONTENT:
        total = response.headers["Content-Range"].rpartition("/")[2]
    return int(total) if total.isdecimal() else None


def _starts_at(response: Any, offset: int, etag: str) -> bool:
    """Return whether a partial answer is the rest of the same version of the file."""
    begins = response.headers.get("Content-Range", "").startswith(f"bytes {offset}-")
    return begins and response.headers.get("ETag") in (None, etag)


def _status(response: Any) -> str:
    return f"HTTP {response.status_code} {response.reason}".strip()


def _mirror_error(error: Any, timeout: float) -> _MirrorError:
    """Return an error of requests as one plain line."""
    errors = optional("requests", "downloading data sets").exceptions
    if _is_timeout(error):
        return _MirrorError(f"no answer within {timeout:g} s")
    if isinstance(error, errors.TooManyRedirects):
        return _MirrorError(f"it redirects more than {_MOST_REDIRECTS} times, or in a circle")
    if isinstance(error, errors.InvalidSchema | errors.MissingSchema):
        return _MirrorError(f"only http and https are allowed ({one_line(error)})")
    cause = error.args[0] if error.args else error
    reason = one_line(getattr(cause, "reason", None) or cause)
    if isinstance(error, errors.ConnectionError):
        return _CutError(f"the connection was cut or refused ({reason})")
    return _MirrorError(reason)


def _is_timeout(error: Any) -> bool:
    """Return whether a server was silent too long; requests reports a pause in a body otherwise."""
    errors = optional("requests", "downloading data sets").exceptions
    pauses = optional("urllib3", "downloading data sets").exceptions.ReadTimeoutError
    return isinstance(error, errors.Timeout) or isinstance(error.args[0], pauses)


def _is_shown(progress: bool | None) -> bool:
    if progress is not None:
        return progress
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _bar(show: bool) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    label = TextColumn("{task.description}", markup=False)
    columns = (label, BarColumn(), DownloadColumn(), TransferSpeedColumn())
    return Progress(*columns, console=Console(stderr=True), disable=not show)


def _version() -> str:
    try:
        return version("edgnn")
    except PackageNotFoundError:
        return "unknown"
