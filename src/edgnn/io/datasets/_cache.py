"""The user's cache of data sets: complete folders, verified on every use, fetched once however many ask."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from edgnn.errors import ChecksumError, DatasetError
from edgnn.io.datasets._checksums import MANIFEST, sha256_of, verify
from edgnn.io.datasets._fetch import WAY_OUT, download
from edgnn.io.datasets._unpack import unpack

_CHUNK = 2**20


@dataclass(frozen=True)
class Part:
    """One download of a data set: a file kept as it is, or a zip archive whose members are unpacked side by side.

    Parameters
    ----------
    urls : tuple of str
        Mirrors, tried in order.
    file : str
        Name of the file within the set's folder; of an archive, which is not kept itself, the name
        that errors use.
    archive : bool
        Whether this is a zip archive.
    keep : str
        Of an archive, only members whose name starts with this, and the ``README`` beside them, are
        unpacked.
    """

    urls: tuple[str, ...]
    file: str
    archive: bool = False
    keep: str = ""

    def __post_init__(self) -> None:
        _relative(self.file)


def cache_root() -> Path:
    """Return the cache folder: ``$EDGNN_CACHE``, else ``edgnn`` within the user's cache folder. It need not exist."""
    if own := os.environ.get("EDGNN_CACHE"):
        return Path(own).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    if Path(shared).is_absolute():
        return Path(shared) / "edgnn"
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "edgnn" / "Cache"
    try:
        return Path.home() / ".cache" / "edgnn"
    except RuntimeError:
        raise DatasetError(
            "there is no home folder to keep data sets in; name one with EDGNN_CACHE"
        ) from None


def ensure(
    folder: str,
    parts: Sequence[Part],
    *,
    checksums: Mapping[str, str] | None,
    root: Path | None = None,
    timeout: float = 30.0,
    progress: bool | None = None,
    on_first: Callable[[str], None] | None = None,
    lock_timeout: float = 3600.0,
) -> Path:
    """Return the complete, verified folder of a data set, downloading it where it is missing or damaged.

    Parameters
    ----------
    folder : str
        Place within the cache, such as ``"TUDataset/MUTAG"``.
    parts : sequence of Part
        What to download; no two parts hold the same file.
    checksums : mapping of str to str, or None
        SHA-256 of every file of the set; other files of an archive are left out. None where nothing
        is published: the hashes of the first download then stand in for it, and are kept with the
        set.
    root : Path, optional
        The cache; default: :func:`cache_root`.
    timeout : float
        Seconds a server may stay silent.
    progress : bool, optional
        Whether to show a bar on stderr; default: if that is a terminal.
    on_first : callable, optional
        Called with a message when hashes were recorded because none are published.
    lock_timeout : float
        Seconds to wait for another process that is fetching the same set.
    """
    root = cache_root() if root is None else Path(root)
    target = root / _relative(folder)
    checksums = checksums or None
    damage = None
    try:
        with _usable(root):
            if _complete(target, checksums):
                return target
    except ChecksumError as error:
        damage = error
    try:
        with _usable(root), _locked(root, folder, lock_timeout):
            if _complete(target, checksums, damaged=False):
                return target
            expected = checksums or recorded(target)
            _fetch(target, parts, expected, timeout, progress)
    except DatasetError as error:
        if damage is None:
            raise
        raise ChecksumError(
            f"{damage}; fetching it anew failed, too: {error}; delete the folder {target} to start over"
        ) from error
    if expected is None and on_first is not None:
        on_first(
            f"no checksums are published for {folder}: the SHA-256 of its files was recorded in {target / MANIFEST} "
            "and will be checked from now on"
        )
    return target


def manifest(folder: Path) -> dict[str, Any] | None:
    """Return what was noted when the folder was downloaded: ``downloaded`` (date) and ``files`` (url, sha256, size of each).

    None where there is no such note, or it is damaged.
    """
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        whole = found["files"] and all(
            isinstance(entry["sha256"], str) for entry in found["files"].values()
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return found if whole else None


def recorded(folder: Path) -> dict[str, str] | None:
    """Return the SHA-256 of every file as noted when the folder was downloaded, or None."""
    found = manifest(folder)
    return (
        None if found is None else {name: entry["sha256"] for name, entry in found["files"].items()}
    )


def _complete(target: Path, checksums: Mapping[str, str] | None, *, damaged: bool = True) -> bool:
    """Return whether the folder is there and right; if it is there and wrong, raise, or say no where ``damaged=False``."""
    if not target.exists():
        return False
    try:
        expected = checksums or recorded(target)
        if expected is None:
            raise ChecksumError(
                f"{target / MANIFEST} is missing or damaged, so the files cannot be checked"
            )
        verify(target, expected)
    except ChecksumError:
        if damaged:
            raise
        return False
    return True


def _fetch(
    target: Path,
    parts: Sequence[Part],
    expected: Mapping[str, str] | None,
    timeout: float,
    progress: bool | None,
) -> None:
    """Download and unpack all parts beside the target, then put them in its place in one step."""
    partial = target.with_name(f".{target.name}.partial")
    files = partial / "files"
    _remove(files)
    files.mkdir(parents=True)
    try:
        sources: dict[str, str] = {}
        for number, part in enumerate(parts):
            sources |= _fetch_part(
                part, partial / f"download-{number}", files, expected, timeout, progress
            )
        if expected is not None:
            verify(files, expected)
        _write_manifest(files, sources)
        if target.exists():
            aside = target.with_name(f".{target.name}.damaged")
            _remove(aside)
            target.rename(aside)
        files.rename(target)
        _remove(partial)
    except BaseException:
        with suppress(OSError):
            _remove(files)
            _remove(partial / "unpacked")
            if not any(partial.glob("*.part")):
                _remove(partial)
        raise


def _fetch_part(
    part: Part,
    place: Path,
    files: Path,
    expected: Mapping[str, str] | None,
    timeout: float,
    progress: bool | None,
) -> dict[str, str]:
    """Download one part and put what it holds under ``files``; return the mirror each file came from, by name."""
    unpacked = place.with_name("unpacked")
    source = ""

    def accept(path: Path, url: str) -> None:
        nonlocal source
        source = url
        if part.archive:
            _remove(unpacked)
            unpacked.mkdir()
            unpack(path, part.file, unpacked, part.keep, expected)

    sha256 = None if expected is None or part.archive else expected.get(part.file)
    download(
        part.urls,
        place,
        sha256=sha256,
        timeout=timeout,
        progress=progress,
        description=part.file,
        accept=accept,
    )
    if not part.archive:
        (files / part.file).parent.mkdir(parents=True, exist_ok=True)
        place.replace(files / part.file)
        return {part.file: source}
    names = sorted(path.name for path in unpacked.iterdir())
    for name in names:
        (unpacked / name).replace(files / name)
    _remove(unpacked)
    place.unlink()
    return dict.fromkeys(names, source)


def _write_manifest(files: Path, sources: Mapping[str, str]) -> None:
    entries = {
        name: {"url": url, "sha256": sha256_of(files / name), "size": (files / name).stat().st_size}
        for name, url in sorted(sources.items())
    }
    note = {"downloaded": datetime.now(UTC).isoformat(timespec="seconds"), "files": entries}
    (files / MANIFEST).write_text(json.dumps(note, indent=2) + "\n", encoding="utf-8")


@contextmanager
def _locked(root: Path, folder: str, timeout: float) -> Iterator[None]:
    """Keep other processes and threads from fetching the same folder."""
    from filelock import FileLock, Timeout

    path = root / ".locks" / f"{folder.replace('/', '--')}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=timeout)
    except Timeout:
        raise DatasetError(
            f"another process has been fetching {folder} for more than {timeout:g} s (it holds {path}); "
            "wait for it or end it, then try again"
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _usable(root: Path) -> Iterator[None]:
    """Turn what goes wrong on the disk of the cache into one clear error."""
    try:
        yield
    except DatasetError:
        raise
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise DatasetError(
            f"cannot use the cache {root}: {error.strerror or error}{where}; "
            f"choose another folder with EDGNN_CACHE, or, {WAY_OUT}"
        ) from error


def _relative(name: str) -> Path:
    """Return a name as a path, which stays within the folder it is joined to."""
    parts = name.split("/")
    if any(
        not part or part.startswith(".") or "\\" in part or ":" in part or "\0" in part
        for part in parts
    ):
        raise DatasetError(
            f"{name!r} is no place within the cache; use plain names with '/' between them"
        )
    return Path(*parts)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
