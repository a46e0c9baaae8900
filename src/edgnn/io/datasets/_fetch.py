"""Download of one file: mirrors in order, resumed after a cut, checked before it appears under its name."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from edgnn.errors import ChecksumError, FetchError, FormatError
from edgnn.io.datasets._checksums import sha256_of
from edgnn.io.datasets._http import (
    Cut,
    Failure,
    TooLarge,
    Wrong,
    blocks,
    extent,
    open_url,
    status_text,
    validator_of,
    why,
)

WAY_OUT = "to work without the network, point --data-dir or EDGNN_DATA at a local copy"

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

    What has arrived so far lies in ``NAME.part`` beside the destination, with ``NAME.part.json``
    saying where it came from; a later call goes on from there. Two calls for the same destination
    must not run at the same time.

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
        Called with the complete file and its url before it gets its name; a :class:`ChecksumError`
        or :class:`FormatError` of its own turns the file down, and the next mirror is tried.

    Raises
    ------
    ChecksumError
        If every mirror delivered something, and all of it was wrong.
    FetchError
        If no mirror delivered for other reasons, or the file cannot be written.
    """
    what = description or destination.name
    failures: list[tuple[str, Failure]] = []
    with _bar(progress, what) as report:
        transfer = _Transfer(
            destination,
            None if sha256 is None else sha256.lower(),
            timeout,
            max_bytes,
            accept,
            report,
        )
        for url in urls:
            try:
                return transfer.fetch(url)
            except Failure as failure:
                failures.append((url, failure))
    reasons = (
        "; ".join(f"{url}: {failure}" for url, failure in failures) or "no mirror of it is known"
    )
    if failures and all(isinstance(failure, Wrong) for _, failure in failures):
        raise ChecksumError(
            f"{what} arrived damaged or changed from every mirror: {reasons}; {WAY_OUT}"
        )
    raise FetchError(f"{what} could not be downloaded: {reasons}; {WAY_OUT}")


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
        """Get the file from one mirror, or raise :class:`Failure`."""
        cut_before = False
        while True:
            try:
                resumed = self._receive(url)
            except Cut:
                if cut_before:
                    raise
                cut_before = True
                continue
            except TooLarge:
                self._discard()
                raise
            try:
                return self._finish(url)
            except Wrong:
                self._discard()
                if not resumed:
                    raise

    def _receive(self, url: str) -> bool:
        """Complete the partial file, and return whether it was begun by an earlier request."""
        offset, validator = self._resume_point(url)
        headers = {"Range": f"bytes={offset}-"} if offset else {}
        if offset and validator is not None:
            headers["If-Range"] = validator
        with open_url(url, headers, self.timeout) as response:
            start, total = extent(response)
            if response.status == HTTPStatus.OK:
                self._append(
                    response, 0, total, {"url": url, "validator": validator_of(response.headers)}
                )
                return False
            if not offset:
                raise Failure(status_text(response.status))
            if response.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and total == offset:
                return True
            unchanged = validator is None or validator_of(response.headers) in (None, validator)
            if response.status == HTTPStatus.PARTIAL_CONTENT and start == offset and unchanged:
                self._append(response, offset, total, {"url": url, "validator": validator})
                return True
        self._discard()
        return self._receive(url)

    def _resume_point(self, url: str) -> tuple[int, str | None]:
        """Return how many bytes to keep, and what the server must still have for that.

        Bytes of unknown origin, or of another mirror, are only worth keeping where a hash tells in
        the end.
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

    def _append(
        self, response: Any, offset: int, total: int | None, note: dict[str, str | None]
    ) -> None:
        """Write the body behind the first ``offset`` bytes of the partial file."""
        if total is not None and total > self.max_bytes:
            raise TooLarge(f"it has {total:,} bytes, and the limit is {self.max_bytes:,}")
        self.report(offset, total)
        size = offset
        with _writing(self.part), self.part.open("ab" if offset else "wb") as stream:
            self.note.write_text(json.dumps(note), encoding="utf-8")
            for block in blocks(response, self.timeout):
                size += len(block)
                if size > self.max_bytes:
                    raise TooLarge(f"it has more than the {self.max_bytes:,} bytes of the limit")
                stream.write(block)
                self.report(size, total)
            stream.flush()
            os.fsync(stream.fileno())
        if total is not None and size > total:
            raise TooLarge(f"it sent more than the {total:,} bytes it announced")
        if total is not None and size < total:
            raise Cut(f"the connection was cut after {size:,} of {total:,} bytes")

    def _finish(self, url: str) -> str:
        """Check the complete file and give it its name."""
        with _writing(self.part):
            found = sha256_of(self.part)
        if self.sha256 is not None and found != self.sha256:
            raise Wrong(
                f"the checksum is wrong (SHA-256 {found[:12]}, published is {self.sha256[:12]})"
            )
        if self.accept is not None:
            try:
                self.accept(self.part, url)
            except (ChecksumError, FormatError) as error:
                raise Wrong(str(error)) from error
        with _writing(self.destination):
            self.part.replace(self.destination)
            self.note.unlink(missing_ok=True)
        return found

    def _discard(self) -> None:
        with _writing(self.part):
            self.part.unlink(missing_ok=True)
            self.note.unlink(missing_ok=True)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn what goes wrong on our own disk into a :class:`FetchError`, which no other mirror could mend."""
    try:
        yield
    except OSError as error:
        raise FetchError(
            f"cannot write {path}: {why(error)}; free some space there, or choose another folder with EDGNN_CACHE"
        ) from error


@contextmanager
def _bar(show: bool | None, description: str) -> Iterator[_Report]:
    """Give a function that takes the bytes so far and in all, and shows them where wanted."""
    if show is None:
        show = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    if not show:
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(description, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
