"""Where a named data set is found: a data folder, the cache, an installed package, or the network."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from edgnn.errors import DatasetError
from edgnn.io.datasets._cache import cache_root
from edgnn.io.datasets._registry import Entry

Place = Literal["data folder", "EDGNN_DATA", "cache", "installed package", "network"]


@dataclass(frozen=True)
class Location:
    """Where a data set would come from; ``path`` is ``None`` for the network."""

    place: Place
    path: Path | None


def locate(entry: Entry, data_dir: str | os.PathLike[str] | None = None) -> Location:
    """Return the first place that has the files of ``entry``, without reading or fetching them."""
    if data_dir is not None and not Path(data_dir).is_dir():
        raise DatasetError(f"the data folder {os.fspath(data_dir)!r} does not exist")
    for place, root in _roots(data_dir):
        if _complete(root / entry.folder, entry):
            return Location(place, root / entry.folder)
    carried = _in_grakel(entry)
    if carried is not None:
        return Location("installed package", carried)
    return Location("network", None)


def _roots(data_dir: str | os.PathLike[str] | None) -> list[tuple[Place, Path]]:
    roots: list[tuple[Place, Path]] = []
    if data_dir is not None:
        roots.append(("data folder", Path(data_dir)))
    if os.environ.get("EDGNN_DATA"):
        roots.append(("EDGNN_DATA", Path(os.environ["EDGNN_DATA"])))
    return [*roots, ("cache", cache_root())]


def _complete(folder: Path, entry: Entry) -> bool:
    wanted = list(entry.sha256) or [f"{entry.name}_A.txt"]
    return all((folder / file).is_file() for file in wanted)


def _in_grakel(entry: Entry) -> Path | None:
    """Return the folder of a TU set inside the installed GraKeL, which ships MUTAG; GraKeL itself is not imported."""
    spec = find_spec("grakel") if entry.kind == "tu" else None
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "tests" / "data" / entry.name
    return folder if _complete(folder, entry) else None
