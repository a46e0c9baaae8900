"""Scaffold splits of named sets, kept in the cache, as frameworks take a third of the loading."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np

from edgnn._files import atomic_file
from edgnn._optional import optional
from edgnn.errors import EdgnnError
from edgnn.io._common import Array
from edgnn.io.datasets._cache import cache_root

#: To be increased where frameworks or the rule of the split change.
_RULE = 1
_FOLDER = "splits"


def kept_split(sha256: str, parts: int) -> Array | None:
    """Return the part of each molecule of a file, as kept by an earlier reading, or nothing.

    Parameters
    ----------
    sha256 : str
        The hash of the file.
    parts : int
        How many parts there are.

    Shapes
    ------
    → (n,) from 0 to parts − 1
    """
    try:
        codes = np.fromfile(_path(sha256), np.uint8)
    except (EdgnnError, OSError):
        return None
    return codes if len(codes) and codes.max() < parts else None


def keep_split(sha256: str, codes: Array) -> None:
    """Keep a split for the next reading of the same file; where that is not possible, do not."""
    with suppress(EdgnnError, OSError):
        path = _path(sha256)
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as stream:
            stream.write(codes.astype(np.uint8).tobytes())


def _path(sha256: str) -> Path:
    """Return the file of a split: versions of RDKit differ in what they read and call aromatic."""
    version = optional("rdkit.rdBase", "reading molecules").rdkitVersion
    return cache_root() / _FOLDER / f"{sha256}-rdkit-{version}-{_RULE}.bin"
