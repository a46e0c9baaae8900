"""Words that name files and folders, checked without torch: a wrong one is told at once."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path

from edgnn._words import preview
from edgnn.errors import ModelError, RunError

CONFIG, MODEL, LOCK = "config.json", "model.safetensors", ".edgnn.lock"
#: What a writer that was killed leaves of a file of a run.
UNFINISHED = re.compile(
    r"\.[A-Za-z0-9_][A-Za-z0-9_.-]*\.(json|jsonl|safetensors|csv)\.[a-z0-9_]{8}"
)
PROGRAM, LABELS = "model.pt2", "labels.json"


def exists(name: str | os.PathLike[str]) -> bool:
    """Return whether there is such a file or folder; a word may also be no path at all, as a long SMILES is none."""
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False


def check_run(path: Path) -> None:
    """Raise where a path is not the folder of a run; whether the run is whole, ``RunFolder.open`` finds out."""
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
    """Refuse a path to create where it, or one of those that it lies in, is a file."""
    if folder.exists() and not folder.is_dir():
        which = "there is a file of that name" if folder == path else f"{folder} is a file"
        raise RunError(f"cannot create {path}: {which}; choose another folder")


def check_free(path: Path, overwrite: bool) -> None:
    """Refuse a folder that a new run must not be written into."""
    there = sorted(
        entry.name
        for entry in path.iterdir()
        if entry.name != LOCK and not UNFINISHED.fullmatch(entry.name)
    )
    run = holds_run(path)
    if not there or (overwrite and run):
        return
    if run:
        way_on = "" if (path / MODEL).is_file() else "go on with it (--resume), "
        raise RunError(
            f"{path} already holds a run: {way_on}choose another folder, or throw it away (--overwrite, overwrite=True)"
        )
    raise RunError(
        f"{path} is not empty and no run of edgnn (it holds {preview(there, 3)}); choose another folder"
    )


def holds_run(path: Path) -> bool:
    """Return whether a folder holds a run, of whatever format."""
    try:
        config = json.loads((path / CONFIG).read_bytes()) if (path / CONFIG).is_file() else None
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(config, dict) and "format" in config and "edgnn" in config


def check_new_export(path: Path, overwrite: bool) -> None:
    """Raise where an exported model could not be put."""
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return
    ours = path.is_dir() and (path / PROGRAM).exists() and (path / LABELS).exists()
    if not ours:
        raise ModelError(f"{path} exists and is no exported model: name a new or empty folder")
    if not overwrite:
        raise ModelError(
            f"{path} holds an exported model already: choose another folder, or set overwrite=True (--overwrite)"
        )
