"""Where named data sets are looked for, in that order, what is found where, and where files can be written."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from edgnn.cli.doctor._finding import Finding
from edgnn.errors import DatasetError

_LITTLE_SPACE = 2**30


def places() -> Iterator[Finding]:
    """Look at the places of data sets; the network is not touched."""
    yield _data_folder()
    yield _cache()
    yield from _sets()
    yield _temporary()


def _sets() -> Iterator[Finding]:
    from edgnn.io.datasets import find, locate, names

    found: dict[str, list[str]] = {}
    for name in names():
        entry = find(name)
        assert entry is not None
        try:
            found.setdefault(locate(entry).place, []).append(name)
        except DatasetError:  # there is no home folder, as said already
            return
    away = found.pop("network", [])
    here = "; ".join(f"{', '.join(sets)} ({place})" for place, sets in found.items())
    yield Finding(
        "data",
        "sets here",
        "ok" if here else "absent",
        here or "none of the named sets is on this machine",
    )
    if away:
        told = f"{', '.join(away)}: fetched from the network when first used"
        yield Finding(
            "data",
            "sets away",
            "absent",
            told,
            "work without the network: point EDGNN_DATA at a copy",
        )


def _data_folder() -> Finding:
    told = os.environ.get("EDGNN_DATA")
    if not told:
        return Finding("data", "EDGNN_DATA", "absent", "not set; it would be looked in first")
    folder = Path(told)
    if not folder.is_dir():
        return Finding(
            "data",
            "EDGNN_DATA",
            "warning",
            f"{folder} is no folder",
            "set it to one with TUDataset/ or rdf/ in it",
        )
    known = [name for name in ("TUDataset", "rdf") if (folder / name).is_dir()]
    if not known:
        return Finding(
            "data",
            "EDGNN_DATA",
            "warning",
            f"{folder} holds neither TUDataset/ nor rdf/",
            "set it to one that does",
        )
    return Finding("data", "EDGNN_DATA", "ok", f"{folder} ({', '.join(known)})")


def _cache() -> Finding:
    from edgnn.io.datasets import cache_root

    way_out = "name another folder with EDGNN_CACHE"
    try:
        folder = cache_root()
    except DatasetError as error:
        return Finding("data", "cache", "warning", str(error), way_out)
    there = next(place for place in (folder, *folder.absolute().parents) if os.path.exists(place))  # noqa: PTH110 - never raises
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        return Finding("data", "cache", "warning", f"{folder} cannot be written", way_out)
    return Finding(
        "data",
        "cache",
        "ok",
        f"{folder}, {'writable' if there == folder else 'made when first needed'}{_space(there)}",
    )


def _temporary() -> Finding:
    try:
        with tempfile.TemporaryDirectory(prefix="edgnn-") as folder:
            free, where = shutil.disk_usage(folder).free, Path(folder).parent
    except OSError as error:
        return Finding(
            "data",
            "temporary files",
            "failed",
            f"cannot be written: {error}",
            "name a folder with TMPDIR",
        )
    little = free < _LITTLE_SPACE
    told = f"{where}, {free / 2**30:.1f} GiB free"
    return Finding(
        "data",
        "temporary files",
        "warning" if little else "ok",
        told,
        "name another folder with TMPDIR" * little,
    )


def _space(folder: Path) -> str:
    try:
        return f", {shutil.disk_usage(folder).free / 2**30:.1f} GiB free"
    except OSError:
        return ""
