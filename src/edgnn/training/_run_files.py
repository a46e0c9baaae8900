"""The files of a run folder: their names; reading and writing them whole at any moment."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeVar

import edgnn
from edgnn._files import Path_, os_errors_as, sync_folder
from edgnn._json import from_json
from edgnn._paths import CONFIG, check_no_file, check_run
from edgnn._words import one_line, short
from edgnn.errors import RunError

#: The layout of the folder; a folder with a higher number is refused.
FORMAT = 1

HISTORY, METRICS, SPLITS = "history.jsonl", "metrics.json", "splits.json"
PREDICTIONS, ENVIRONMENT, CHECKPOINT = (
    "predictions.csv",
    "environment.json",
    "checkpoint.safetensors",
)
#: Tensors of a model that is replaced, until they are in their place.
UPDATE = "update.safetensors"

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_BLOCK = 2**12
_T = TypeVar("_T")


def path_of(path: Path_) -> Path:
    try:
        place = Path(path)
    except TypeError:
        raise RunError(f"a run folder is named by a path, not by {path!r}") from None
    if "\0" in str(place):
        raise RunError(f"{str(place)!r} is no path: it holds a zero byte")
    return place


def named(name: str, suffix: str) -> str:
    """Return ``name`` if it is a plain one of a file right in the folder."""
    if not isinstance(name, str) or not _PLAIN_NAME.fullmatch(name) or not name.endswith(suffix):
        ending = f" ending in {suffix}" if suffix else ""
        raise RunError(
            f"{name!r} is no name of a file in a run folder: use letters, digits and '_', '-', "
            f"'.'{ending}"
        )
    return name


def make_folder(path: Path) -> list[Path]:
    """Make the folder and its missing parents; return what was made, from the outermost on."""
    made: list[Path] = []
    try:
        with writing(path, "create"):
            for folder in reversed(
                [place for place in (path, *path.parents) if not place.is_dir()]
            ):
                check_no_file(path, folder)
                _make(folder, made)
    except BaseException:
        remove_folders(made)
        raise
    return made


def _make(folder: Path, made: list[Path]) -> None:
    """Make one folder, and add it to those made; another process may make it at the same time."""
    try:
        folder.mkdir()
    except FileExistsError:
        if not folder.is_dir():
            raise
        return
    made.append(folder)
    with suppress(OSError):
        sync_folder(folder.parent)


def remove_folders(made: list[Path]) -> None:
    """Remove folders that :func:`make_folder` made, as far as nothing lies in them."""
    with suppress(OSError):
        for folder in reversed(made):
            folder.rmdir()


def read_config(folder: Path) -> dict[str, Any]:
    with reading(folder):
        check_run(folder)
    config = load(folder / CONFIG, from_json)
    if (
        not isinstance(config, dict)
        or type(config.get("format")) is not int
        or config["format"] < 1
    ):
        raise RunError(f"{folder / CONFIG} has no valid field 'format', so this is no run of edgnn")
    if config["format"] > FORMAT:
        raise RunError(
            f"{folder}: this run was written by edgnn {one_line(config.get('edgnn'), 40)} "
            f"(format {short(config['format'], 20)}); "
            f"this edgnn ({edgnn.__version__}) reads up to format {FORMAT}: upgrade edgnn"
        )
    return config


def load(path: Path, decode: Callable[[bytes], _T]) -> _T:
    data = read_bytes(path)
    try:
        return decode(data)
    except ValueError as error:
        raise RunError(f"{path} is damaged: {error}") from None


def read_bytes(path: Path) -> bytes:
    """Return what a file of the folder holds; where there is none, the error says so."""
    with reading(path):
        if not path.exists():
            raise RunError(f"{path.parent} has no {path.name}; has the run come that far?")
        if not path.is_file():
            raise RunError(f"{path} is no regular file")
        return path.read_bytes()


@contextmanager
def reading(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror or error}") from error


def writing(path: Path, verb: str) -> AbstractContextManager[None]:
    """Turn what goes wrong on the disk into one clear error."""
    advice = (
        "the folder is intact: free some space and try again (train with --resume), "
        "or choose another folder"
    )
    return os_errors_as(RunError, verb, path, when_full=advice)


def append_line(stream: IO[bytes], line: bytes) -> None:
    """Append a line behind the last whole one; where that fails, leave the whole ones."""
    end = stream.seek(0, os.SEEK_END)
    whole = _whole_lines(stream, end)
    if whole < end:
        stream.truncate(whole)
    try:
        written = 0
        while written < len(line):
            written += os.write(stream.fileno(), line[written:])
    except BaseException:
        with suppress(OSError):
            stream.truncate(whole)
        raise


def _whole_lines(stream: IO[bytes], end: int) -> int:
    """Return how many bytes the lines take that have an end."""
    while end > 0:
        start = max(0, end - _BLOCK)
        stream.seek(start)
        found = stream.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
