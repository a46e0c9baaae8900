"""Checksums: whether files are the ones that were published, or recorded."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from edgnn.errors import ChecksumError

#: The note in a downloaded folder: where its files came from and what their hashes are.
MANIFEST = ".edgnn.json"


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def verify(folder: Path, checksums: Mapping[str, str]) -> None:
    """Raise :class:`ChecksumError` at the first file that is missing or whose SHA-256 differs."""
    for name, expected in checksums.items():
        verify_file(folder / name, expected, str(folder / name))


def verify_file(path: Path, expected: str, name: str) -> None:
    """Raise :class:`ChecksumError`, calling the file ``name``, if it is missing or its SHA-256 differs."""
    if not path.is_file():
        raise ChecksumError(f"{name} is missing (its SHA-256 should be {expected[:12]})")
    try:
        found = sha256_of(path)
    except OSError as error:
        raise ChecksumError(f"{name} cannot be read ({error.strerror})") from error
    if found != expected.lower():
        raise ChecksumError(
            f"{name} is not the published file: its SHA-256 is {found[:12]}, but should be {expected[:12]}"
        )
