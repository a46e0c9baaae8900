"""RunFolder: everything a run leaves behind, each file whole at any moment."""

from __future__ import annotations

import copy
import errno
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeVar

from torch import Tensor

import edgnn
from edgnn.errors import RunError
from edgnn.graphs._vocabulary import preview
from edgnn.io._files import Path_, atomic_file
from edgnn.training._environment import environment
from edgnn.training._values import from_json, pack_tensors, to_csv, to_json, unpack_tensors

#: The layout of the folder; a folder with a higher number is refused.
FORMAT = 1

CONFIG, HISTORY, MODEL, METRICS = "config.json", "history.jsonl", "model.safetensors", "metrics.json"
PREDICTIONS, ENVIRONMENT, CHECKPOINT = "predictions.csv", "environment.json", "checkpoint.safetensors"

_FILES = (CHECKPOINT, MODEL, METRICS, PREDICTIONS, HISTORY, ENVIRONMENT)
_LOCK = ".edgnn.lock"
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_UNFINISHED = re.compile(r"\.[A-Za-z0-9_][A-Za-z0-9_.-]*\.(json|jsonl|safetensors|csv)\.[a-z0-9_]{8}")
_FULL = (errno.ENOSPC, errno.EDQUOT)
_BLOCK = 2**12
_T = TypeVar("_T")


class RunFolder:
    """Everything one run leaves behind, enough to repeat, resume, predict and report from it.

    The files are ``config.json``, ``history.jsonl``, ``model.safetensors``, ``metrics.json``, ``predictions.csv`` and
    ``environment.json``, with ``checkpoint.safetensors`` beside them while training. Made by :meth:`create` and :meth:`open`.

    A file is written beside its place, flushed to the disk and renamed, so that an interruption, a full disk or a crash leaves the
    old file or the new one, never a part. Rows of the history are appended; the half row that a crash may leave is skipped by
    :meth:`history` and cut off by the next :meth:`append_history`. A row survives the end of the process at once, and a power cut
    as soon as any other file has been written after it, so a checkpoint never knows more than the history. Nothing that is loaded
    is executed.

    Attributes
    ----------
    path : Path
        The folder.
    """

    def __init__(self, path: Path, config: dict[str, Any]) -> None:
        self.path = path
        self._config = config
        self._unsynced = False

    @classmethod
    def create(cls, path: Path_, config: Mapping[str, Any], *, overwrite: bool = False) -> RunFolder:
        """Start a run in a new or empty folder, with its configuration and environment.

        Parameters
        ----------
        path : path
            The folder; the one it lies in must exist.
        config : mapping
            What the run is, as plain values; ``format`` and ``edgnn`` (the version) are added.
        overwrite : bool
            Whether a run that is there is thrown away. Files of other names are kept; a folder that is no run is refused always.
        """
        run = cls(_place(path), from_json(to_json({**config, "format": FORMAT, "edgnn": edgnn.__version__})))
        made = _make_folder(run.path)
        _check_free(run.path, overwrite)
        with run._locked():
            _check_free(run.path, overwrite)
            fresh = not _holds_run(run.path)
            try:
                for name in _FILES:  # the configuration last: until it is replaced, this is the old run, not yet trained
                    run._unlink(name)
                run._write(CONFIG, lambda: to_json(run._config, indent=2))
                run.write_json(ENVIRONMENT, environment())
            except BaseException:
                if fresh:
                    run._take_back(made)
                raise
        return run

    @classmethod
    def open(cls, path: Path_) -> RunFolder:
        """Open the folder of a run that was started before."""
        place = _place(path)
        with _reading(place):
            if not place.exists():
                raise RunError(f"there is no folder {place}")
            if not place.is_dir():
                raise RunError(f"{place} is a file, not the folder of a run")
        return cls(place, _read_config(place))

    def __repr__(self) -> str:
        return f"RunFolder({str(self.path)!r})"

    @property
    def config(self) -> dict[str, Any]:
        """A copy of the configuration, as it stands in the folder."""
        return copy.deepcopy(self._config)

    def update_config(self, **changes: Any) -> None:
        """Set fields of the configuration."""
        for name in ("format", "edgnn"):
            if name in changes:
                raise RunError(f"the field {name!r} of {self.path / CONFIG} says what wrote it and cannot be set")
        changed = from_json(to_json(self._config | changes))
        self._write(CONFIG, lambda: to_json(changed, indent=2))
        self._config = changed

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes from training into this folder; one that tries gets a :class:`~edgnn.errors.RunError` at once.

        The lock is the operating system's and ends with the process, however that ends. Files that a killed process left
        unfinished are removed.
        """
        with self._locked():
            if to_json(_read_config(self.path)) != to_json(self._config):
                raise RunError(
                    f"{self.path / CONFIG} was changed by another training since it was opened; open the folder again"
                )
            yield

    def append_history(self, row: Mapping[str, Any]) -> None:
        """Append the row of one epoch; ``row["epoch"]`` is its number."""
        if type(row.get("epoch")) is not int:
            raise RunError(f"a row of the history needs a whole number 'epoch', not {row.get('epoch')!r}")
        line, path = to_json(row), self.path / HISTORY
        with _writing(path, "write"):
            if path.is_symlink() or (path.exists() and not path.is_file()):
                raise RunError(f"{path} is no regular file, so nothing is appended to it; remove it")
            with path.open("a+b", buffering=0) as stream:
                _append_line(stream, line)
        self._unsynced = True

    def history(self) -> list[dict[str, Any]]:
        """Return the rows of the history; an unfinished last one is left out."""
        return [row for row, _ in self._history()]

    def truncate_history(self, epoch: int) -> None:
        """Drop the rows of the epochs after ``epoch``, and an unfinished one."""
        if self.has(HISTORY):
            kept = b"".join(line for row, line in self._history() if row["epoch"] <= epoch)
            self._write(HISTORY, lambda: kept)

    def save_tensors(self, name: str, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
        """Write tensors, and texts that belong to them, as a safetensors file."""
        self._write(_named(name, ".safetensors"), lambda: pack_tensors(tensors, metadata))

    def load_tensors(self, name: str) -> dict[str, Tensor]:
        """Return the tensors of a safetensors file, on the CPU, in the order of their names."""
        return _load(self.path / _named(name, ".safetensors"), unpack_tensors)[0]

    def load_metadata(self, name: str) -> dict[str, str]:
        """Return the texts that were saved with tensors."""
        return _load(self.path / _named(name, ".safetensors"), unpack_tensors)[1]

    def write_json(self, name: str, value: Any) -> None:
        """Write a value of plain types; NaN and infinities are kept (as strings: strict JSON has no such numbers)."""
        if _named(name, ".json") == CONFIG:
            raise RunError(f"{CONFIG} is written by update_config, which keeps its version")
        self._write(name, lambda: to_json(value, indent=2))

    def read_json(self, name: str) -> Any:
        """Return the value of a JSON file."""
        return _load(self.path / _named(name, ".json"), from_json)

    def write_rows(self, name: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """Write a table as CSV in UTF-8: a header, then one line per row, quoted as RFC 4180 says.

        Numbers are written in the fewest digits that read back as the same number, truth values as ``true`` and ``false``;
        ``None`` is an empty field, empty text is ``""``.
        """
        self._write(_named(name, ".csv"), lambda: to_csv(columns))

    def has(self, name: str) -> bool:
        """Return whether the folder holds the file ``name``."""
        path = self.path / _named(name, "")
        with _reading(path):
            return path.is_file()

    def remove(self, name: str) -> None:
        """Remove a file, such as the checkpoint of a training that is done; one that is not there is fine."""
        if _named(name, "") == CONFIG:
            raise RunError(f"{CONFIG} makes the folder a run and stays; remove the whole folder to be rid of the run")
        self._unlink(name)

    def _history(self) -> list[tuple[dict[str, Any], bytes]]:
        """Return each row with its line."""
        if not self.has(HISTORY):
            return []
        path, rows = self.path / HISTORY, []
        for number, line in enumerate(_read(path).split(b"\n")[:-1], start=1):
            try:
                row = from_json(line)
            except ValueError as error:
                raise RunError(f"{path}, line {number} is damaged: {error}") from None
            if not isinstance(row, dict) or type(row.get("epoch")) is not int:
                raise RunError(f"{path}, line {number} is damaged: it is no row with a whole number 'epoch'")
            rows.append((row, line + b"\n"))
        return rows

    def _write(self, name: str, content: Callable[[], bytes]) -> None:
        with _writing(self.path / name, "write"):
            data = content()
            if self._unsynced and self.has(HISTORY):
                with (self.path / HISTORY).open("r+b") as stream:
                    os.fsync(stream.fileno())
            self._unsynced = False
            with atomic_file(self.path / name) as stream:
                stream.write(data)
            _sync_folder(self.path)

    def _unlink(self, name: str) -> None:
        with _writing(self.path / name, "remove"):
            (self.path / name).unlink(missing_ok=True)

    def _take_back(self, made: bool) -> None:
        """Remove what a failed :meth:`create` has written."""
        with suppress(OSError):
            for name in (CONFIG, ENVIRONMENT):
                (self.path / name).unlink(missing_ok=True)
            if made:
                (self.path / _LOCK).unlink()
                self.path.rmdir()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        from filelock import FileLock, Timeout

        lock = FileLock(self.path / _LOCK)
        with _writing(self.path / _LOCK, "use"):
            try:
                lock.acquire(blocking=False)
            except Timeout:
                raise RunError(
                    f"another training is writing to {self.path}; wait until it has ended, or choose another folder"
                ) from None
        try:
            with _writing(self.path, "tidy up"):
                for entry in list(self.path.iterdir()):
                    if _UNFINISHED.fullmatch(entry.name):
                        entry.unlink(missing_ok=True)
            yield
        finally:
            lock.release()


def _place(path: Path_) -> Path:
    try:
        place = Path(path)
    except TypeError:
        raise RunError(f"a run folder is named by a path, not by {path!r}") from None
    if "\0" in str(place):
        raise RunError(f"{str(place)!r} is no path: it holds a zero byte")
    return place


def _named(name: str, suffix: str) -> str:
    """Return ``name`` if it is a plain one of a file right in the folder."""
    if not isinstance(name, str) or not _PLAIN_NAME.fullmatch(name) or not name.endswith(suffix):
        ending = f" ending in {suffix}" if suffix else ""
        raise RunError(f"{name!r} is no name of a file in a run folder: use letters, digits and '_', '-', '.'{ending}")
    return name


def _make_folder(path: Path) -> bool:
    """Make the folder where it is missing; return whether it was."""
    with _writing(path, "create"):
        if path.is_dir():
            return False
        if path.exists():
            raise RunError(f"cannot create {path}: there is a file of that name; choose another folder")
        if not path.parent.is_dir():
            raise RunError(f"cannot create {path}: there is no folder {path.parent}; make it first, or choose another place")
        path.mkdir()
        with suppress(OSError):
            _sync_folder(path.parent)
    return True


def _check_free(path: Path, overwrite: bool) -> None:
    """Refuse a folder that a new run must not be written into."""
    with _reading(path):
        there = sorted(entry.name for entry in path.iterdir() if entry.name != _LOCK and not _UNFINISHED.fullmatch(entry.name))
    if not there or (overwrite and _holds_run(path)):
        return
    if _holds_run(path):
        raise RunError(
            f"{path} already holds a run: go on with it (--resume), choose another folder, or throw it away (overwrite=True)"
        )
    raise RunError(f"{path} is not empty and no run of edgnn (it holds {preview(there, 3)}); choose another folder")


def _holds_run(path: Path) -> bool:
    try:
        config = _load(path / CONFIG, from_json)
    except RunError:
        return False
    return isinstance(config, dict) and "format" in config and "edgnn" in config


def _read_config(folder: Path) -> dict[str, Any]:
    with _reading(folder / CONFIG):
        if not (folder / CONFIG).exists():
            raise RunError(f"{folder} is not the folder of a run: it has no {CONFIG}")
    config = _load(folder / CONFIG, from_json)
    if not isinstance(config, dict) or type(config.get("format")) is not int or config["format"] < 1:
        raise RunError(f"{folder / CONFIG} has no valid field 'format', so this is no run of edgnn")
    if config["format"] > FORMAT:
        raise RunError(
            f"{folder}: this run was written by edgnn {config.get('edgnn')} (format {config['format']}); "
            f"this edgnn ({edgnn.__version__}) reads up to format {FORMAT}: upgrade edgnn"
        )
    return config


def _load(path: Path, decode: Callable[[bytes], _T]) -> _T:
    data = _read(path)
    try:
        return decode(data)
    except ValueError as error:
        raise RunError(f"{path} is damaged: {error}") from None


def _read(path: Path) -> bytes:
    with _reading(path):
        if not path.exists():
            raise RunError(f"{path.parent} has no {path.name}; has the run come that far?")
        if not path.is_file():
            raise RunError(f"{path} is no regular file")
        return path.read_bytes()


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror or error}") from error


@contextmanager
def _writing(path: Path, verb: str) -> Iterator[None]:
    """Turn what goes wrong on the disk into one clear error."""
    try:
        yield
    except OSError as error:
        way_out = "choose another folder"
        if error.errno in _FULL:
            way_out = "the folder is intact: free some space and try again (train with --resume), or choose another folder"
        raise RunError(f"cannot {verb} {path}: {error.strerror or error}; {way_out}") from error


def _append_line(stream: IO[bytes], line: bytes) -> None:
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


def _sync_folder(path: Path) -> None:
    """Make a rename survive a power cut, where the system can do that for folders."""
    if os.name != "posix":
        return
    try:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EACCES):
            raise
