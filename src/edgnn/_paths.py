"""Checks of path arguments, without torch: a wrong one is reported before long work."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path

from edgnn._words import preview
from edgnn.errors import EdgnnError, ModelError, RunError

CONFIG, MODEL, LOCK = "config.json", "model.safetensors", ".edgnn.lock"
#: What a killed writer leaves of a file of a run.
UNFINISHED = re.compile(
    r"\.[A-Za-z0-9_][A-Za-z0-9_.-]*\.(json|jsonl|safetensors|csv)\.[a-z0-9_]{8}"
)
PROGRAM, LABELS = "model.pt2", "labels.json"


def exists(name: str | os.PathLike[str]) -> bool:
    """Return whether there is such a file or folder; a text that cannot be a path is none."""
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # a long SMILES, for instance
        return False


def check_run(path: Path) -> None:
    """Raise where a path is not a run folder; ``RunFolder.open`` checks whether it is whole."""
    if not path.exists():
        raise RunError(f"there is no folder {path}")
    if not path.is_dir():
        raise RunError(f"{path} is a file, not the folder of a run")
    if not (path / CONFIG).exists():
        raise RunError(f"{path} is not the folder of a run: it has no {CONFIG}")


def check_new_run(path: Path, overwrite: bool) -> None:
    """Raise where a new run can surely not be written; ``RunFolder.create`` has the last word."""
    with suppress(OSError):
        for folder in (path, *path.parents):
            check_no_file(path, folder)
        if path.is_dir():
            check_free(path, overwrite)


def check_no_file(path: Path, folder: Path) -> None:
    """Refuse a path to create where it, or one of its parent folders, is a file."""
    if folder.exists() and not folder.is_dir():
        which = "there is a file of that name" if folder == path else f"{folder} is a file"
        raise RunError(f"cannot create {path}: {which}; choose another folder")


def check_free(path: Path, overwrite: bool) -> None:
    """Refuse a folder that a new run must not be written into."""
    names = sorted(entry.name for entry in path.iterdir())
    content = [name for name in names if name != LOCK and not UNFINISHED.fullmatch(name)]
    if not content:
        return
    if not holds_run(path):
        raise RunError(
            f"{path} is not empty and no run of edgnn (it holds {preview(content, 3)}); "
            "choose another folder"
        )
    if not overwrite:
        resume = "" if (path / MODEL).is_file() else "go on with it (--resume), "
        raise RunError(
            f"{path} already holds a run: {resume}choose another folder, "
            "or throw it away (--overwrite, overwrite=True)"
        )


def holds_run(path: Path) -> bool:
    """Return whether a folder holds a run, of whatever format."""
    if not (path / CONFIG).is_file():
        return False
    try:
        config = json.loads((path / CONFIG).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(config, dict) and {"format", "edgnn"} <= set(config)


def check_new_export(path: Path, overwrite: bool) -> None:
    """Raise where an exported model could not be written."""
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return
    if not holds_export(path):
        raise ModelError(f"{path} exists and is no exported model: name a new or empty folder")
    if not overwrite:
        raise ModelError(
            f"{path} holds an exported model already: choose another folder, "
            "or set overwrite=True (--overwrite)"
        )


def holds_export(path: Path) -> bool:
    """Return whether a folder holds an exported model."""
    return (path / PROGRAM).exists() and (path / LABELS).exists()


def check_file_to_write(path: Path | None, flag: str) -> None:
    """Raise where the file that a flag names could not be written; ``None`` is no file."""
    if path is None:
        return
    if path.is_dir():
        raise EdgnnError(f"{flag} {path} is a folder; name a file")
    if not path.parent.is_dir():
        raise EdgnnError(f"{flag} {path}: there is no folder {path.parent}; make it first")
