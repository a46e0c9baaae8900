"""Unpacking of a zip archive into one flat folder, within bounds."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from edgnn._files import open_member, open_zip, unpack_limit, zip_members
from edgnn._words import one_line
from edgnn.errors import FormatError
from edgnn.io.datasets._checksums import MANIFEST, verify_file

_CHUNK = 2**20


def unpack(
    path: Path, name: str, into: Path, keep: str = "", expected: Mapping[str, str] | None = None
) -> None:
    """Unpack members of a zip archive side by side, and verify them where hashes are expected.

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
        chosen = _choose(zip_members(archive, name), name, keep)
        if expected is not None:
            chosen = {key: info for key, info in chosen.items() if key in expected}
        size, limit = (
            sum(info.file_size for info in chosen.values()),
            unpack_limit(path.stat().st_size, None),
        )
        if size > limit:
            raise FormatError(
                name,
                f"it unpacks to {size:,} bytes where {limit:,} are the most to expect, as a decompression bomb would",
            )
        for key, info in chosen.items():
            with open_member(archive, info, name, limit) as stream, (into / key).open("xb") as copy:
                shutil.copyfileobj(stream, copy, _CHUNK)
                copy.flush()
                os.fsync(copy.fileno())
    for key, sha256 in (expected or {}).items():
        if key.startswith((keep, "README")):
            verify_file(into / key, sha256, f"{name}/{key}")


def _choose(
    members: Mapping[str, zipfile.ZipInfo], name: str, keep: str
) -> dict[str, zipfile.ZipInfo]:
    """Return the wanted members by their bare name."""
    paths = {PurePosixPath(member): info for member, info in members.items()}
    homes = {path.parent for path in paths if path.name.startswith(keep)}
    if len(homes) != 1:
        where = f"in {len(homes)} folders; they must lie in one" if homes else "nowhere"
        raise FormatError(name, f"the archive holds files named {keep}… {where}")
    home = homes.pop()
    chosen = {
        path.name: info
        for path, info in paths.items()
        if path.parent == home and path.name.startswith((keep, "README")) and path.name != MANIFEST
    }
    for info in chosen.values():
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise FormatError(
                f"{name}/{one_line(info.filename)}",
                "it is not compressed by deflate, as every zip of data sets is",
            )
    return chosen
