"""The user's cache of data sets: complete folders, verified on every use, fetched once."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from edgnn._files import exclusive_lock, open_member, open_zip, unpack_limit, zip_members
from edgnn._json import parsed
from edgnn._words import one_line
from edgnn.errors import ChecksumError, DatasetError, FormatError
from edgnn.io.datasets._download import OFFLINE_ADVICE, download

#: The note in a downloaded folder: where its files came from and what their hashes are.
MANIFEST = ".edgnn.json"

_CHUNK = 2**20
_PLAIN_PATH = re.compile(r"[^./\\:\0][^/\\:\0]*(/[^./\\:\0][^/\\:\0]*)*")


@dataclass(frozen=True)
class Part:
    """One download of a data set: a file, or a zip archive whose members are unpacked.

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
    """Return the cache folder: ``$EDGNN_CACHE``, else ``edgnn`` in the user's cache folder."""
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
    """Return the complete, verified folder of a data set; download it if missing or damaged.

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
            if _is_complete(target, checksums):
                return target
    except ChecksumError as error:
        damage = error
    try:
        with _usable(root), _locked(root, folder, lock_timeout):
            with suppress(ChecksumError):
                if _is_complete(target, checksums):  # another process has fetched it meanwhile
                    return target
            expected = checksums or recorded(target)
            _fetch(target, parts, expected, timeout, progress)
    except DatasetError as error:
        if damage is None:
            raise
        raise ChecksumError(
            f"{damage}; fetching it anew failed, too: {error}; "
            f"delete the folder {target} to start over"
        ) from error
    if expected is None and on_first is not None:
        on_first(
            f"no checksums are published for {folder}: the SHA-256 of its files was recorded in "
            f"{target / MANIFEST} and will be checked from now on"
        )
    return target


def manifest(folder: Path) -> dict[str, Any] | None:
    """Return what was noted when the folder was downloaded.

    ``downloaded`` is the date, ``files`` the url, sha256 and size of each file. ``None`` where
    there is no such note, or it is damaged.
    """
    try:
        note: dict[str, Any] = parsed((folder / MANIFEST).read_text(encoding="utf-8"))
        hashes = [entry["sha256"] for entry in note["files"].values()]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    has_hashes = bool(hashes) and all(isinstance(sha256, str) for sha256 in hashes)
    return note if has_hashes else None


def recorded(folder: Path) -> dict[str, str] | None:
    """Return the SHA-256 of every file as noted when the folder was downloaded, or None."""
    note = manifest(folder)
    if note is None:
        return None
    return {name: entry["sha256"] for name, entry in note["files"].items()}


def verify(folder: Path, checksums: Mapping[str, str], name: str = "") -> None:
    """Raise :class:`ChecksumError` at the first file that is missing or whose SHA-256 differs.

    ``name`` is what errors call the folder; default: its path.
    """
    for file, expected in checksums.items():
        path = folder / file
        shown = f"{name or folder}/{file}"
        if not path.is_file():
            raise ChecksumError(f"{shown} is missing (its SHA-256 should be {expected[:12]})")
        try:
            sha256 = _sha256_of(path)
        except OSError as error:
            raise ChecksumError(f"{shown} cannot be read ({error.strerror})") from error
        if sha256 != expected.lower():
            raise ChecksumError(
                f"{shown} is not the published file: its SHA-256 is {sha256[:12]}, "
                f"but should be {expected[:12]}"
            )


def _sha256_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _is_complete(target: Path, checksums: Mapping[str, str] | None) -> bool:
    """Return whether the folder is there; raise :class:`ChecksumError` if it is, but damaged."""
    if not target.exists():
        return False
    expected = checksums or recorded(target)
    if expected is None:
        raise ChecksumError(
            f"{target / MANIFEST} is missing or damaged, so the files cannot be checked"
        )
    verify(target, expected)
    return True


def _fetch(
    target: Path,
    parts: Sequence[Part],
    expected: Mapping[str, str] | None,
    timeout: float,
    progress: bool | None,
) -> None:
    """Download and unpack all parts beside the target, then rename them into place at once."""
    partial = target.with_name(f".{target.name}.partial")
    files = partial / "files"
    _remove(files)
    files.mkdir(parents=True)
    try:
        sources: dict[str, str] = {}
        for number, part in enumerate(parts):
            place = partial / f"download-{number}"
            names, url = _fetch_part(part, place, files, expected, timeout, progress)
            sources |= dict.fromkeys(names, url)
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
) -> tuple[list[str], str]:
    """Download one part and put what it holds under ``files``; return the names, and the mirror."""
    unpacked = place.with_name("unpacked")

    def unpack_here(path: Path) -> None:
        _remove(unpacked)
        unpacked.mkdir()
        unpack(path, part.file, unpacked, part.keep, expected)

    url = download(
        part.urls,
        place,
        sha256=None if expected is None or part.archive else expected.get(part.file),
        timeout=timeout,
        progress=progress,
        title=part.file,
        check=unpack_here if part.archive else None,
    )
    if not part.archive:
        (files / part.file).parent.mkdir(parents=True, exist_ok=True)
        place.replace(files / part.file)
        return [part.file], url
    names = sorted(path.name for path in unpacked.iterdir())
    for name in names:
        (unpacked / name).replace(files / name)
    _remove(unpacked)
    place.unlink()
    return names, url


def unpack(
    path: Path, name: str, into: Path, keep: str = "", expected: Mapping[str, str] | None = None
) -> None:
    """Unpack members of a zip archive side by side, and verify them where hashes are expected.

    Our own, because an archive from the network must not unpack to more than is reasonable, nor to
    anything but plain files.

    Parameters
    ----------
    path : Path
        The archive.
    name : str
        What errors call it.
    into : Path
        An empty folder.
    keep : str
        Take members whose name starts with this, which lie in one folder, and any ``README`` beside
        them.
    expected : mapping of str to str, optional
        SHA-256 by name; members without one are left out, and those that ``keep`` would take must
        be there.
    """
    try:
        archive = open_zip(path)
    except FormatError as error:
        raise FormatError(name, error.rule) from None
    with archive:
        chosen = _choose_members(zip_members(archive, name), name, keep)
        if expected is not None:
            chosen = {key: info for key, info in chosen.items() if key in expected}
        size = sum(info.file_size for info in chosen.values())
        limit = unpack_limit(path.stat().st_size, None)
        if size > limit:
            raise FormatError(
                name,
                f"it unpacks to {size:,} bytes where {limit:,} are the most to expect, "
                "as a decompression bomb would",
                kind="size",
            )
        for key, info in chosen.items():
            with open_member(archive, info, name, limit) as stream, (into / key).open("xb") as copy:
                shutil.copyfileobj(stream, copy, _CHUNK)
                copy.flush()
                os.fsync(copy.fileno())
    if expected is not None:
        taken = {key: sha for key, sha in expected.items() if key.startswith((keep, "README"))}
        verify(into, taken, name)


def _choose_members(
    members: Mapping[str, zipfile.ZipInfo], name: str, keep: str
) -> dict[str, zipfile.ZipInfo]:
    """Return the wanted members by their bare name."""
    paths = {PurePosixPath(member): info for member, info in members.items()}
    folders = {path.parent for path in paths if path.name.startswith(keep)}
    if len(folders) != 1:
        where = f"in {len(folders)} folders; they must lie in one" if folders else "nowhere"
        raise FormatError(name, f"the archive holds files named {keep}… {where}")
    folder = folders.pop()
    chosen = {}
    for path, info in paths.items():
        is_wanted = path.name.startswith((keep, "README")) and path.name != MANIFEST
        if path.parent != folder or not is_wanted:
            continue
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise FormatError(
                f"{name}/{one_line(info.filename)}",
                "it is not compressed by deflate, as every zip of data sets is",
            )
        chosen[path.name] = info
    return chosen


def _write_manifest(files: Path, sources: Mapping[str, str]) -> None:
    entries = {}
    for name, url in sorted(sources.items()):
        path = files / name
        entries[name] = {"url": url, "sha256": _sha256_of(path), "size": path.stat().st_size}
    note = {"downloaded": datetime.now(UTC).isoformat(timespec="seconds"), "files": entries}
    (files / MANIFEST).write_text(json.dumps(note, indent=2) + "\n", encoding="utf-8")


def _locked(root: Path, folder: str, timeout: float) -> AbstractContextManager[None]:
    """Keep other processes and threads from fetching the same folder."""
    path = root / ".locks" / f"{folder.replace('/', '--')}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    in_use = DatasetError(
        f"another process has been fetching {folder} for more than {timeout:g} s "
        f"(it holds {path}); wait for it or end it, then try again"
    )
    return exclusive_lock(path, in_use, timeout)


@contextmanager
def _usable(root: Path) -> Iterator[None]:
    """Turn what goes wrong on the disk of the cache into one clear error."""
    try:
        yield
    except DatasetError:  # a FetchError is an OSError, too
        raise
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise DatasetError(
            f"cannot use the cache {root}: {error.strerror or error}{where}; "
            f"choose another folder with EDGNN_CACHE, or, {OFFLINE_ADVICE}"
        ) from error


def _relative(name: str) -> Path:
    """Return a name as a path, which stays within the folder it is joined to."""
    if not _PLAIN_PATH.fullmatch(name):
        raise DatasetError(
            f"{name!r} is no place within the cache; use plain names with '/' between them"
        )
    return Path(name)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
