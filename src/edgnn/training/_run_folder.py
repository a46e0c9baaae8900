"""RunFolder: everything a run leaves behind, each file whole at any moment."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from torch import Tensor

import edgnn
from edgnn._files import Path_, atomic_file, exclusive_lock, sync_folder
from edgnn._json import from_json, to_csv, to_json
from edgnn._paths import CONFIG, LOCK, MODEL, UNFINISHED, check_free, holds_run
from edgnn.errors import RunError
from edgnn.training._environment import environment
from edgnn.training._run_files import (
    CHECKPOINT,
    ENVIRONMENT,
    FORMAT,
    HISTORY,
    METRICS,
    PREDICTIONS,
    SPLITS,
    UPDATE,
    append_line,
    load,
    make_folder,
    named,
    path_of,
    read_bytes,
    read_config,
    reading,
    remove_folders,
    writing,
)
from edgnn.training._values import pack_tensors, unpack_tensors

__all__ = [
    "CHECKPOINT",
    "CONFIG",
    "ENVIRONMENT",
    "FORMAT",
    "HISTORY",
    "METRICS",
    "MODEL",
    "PREDICTIONS",
    "SPLITS",
    "UPDATE",
    "RunFolder",
]

_FILES = (CHECKPOINT, MODEL, UPDATE, METRICS, PREDICTIONS, SPLITS, HISTORY, ENVIRONMENT)


class RunFolder:
    """Everything one run leaves behind, enough to repeat, resume, predict and report from it.

    The files are ``config.json``, ``history.jsonl``, ``model.safetensors``, ``metrics.json``,
    ``predictions.csv``, ``splits.json`` and ``environment.json``, with ``checkpoint.safetensors``
    beside them while training. Made by :meth:`create` and :meth:`open`.

    A file is written beside its place, flushed to the disk and renamed, so that an interruption, a
    full disk or a crash leaves the old file or the new one, never a part. Rows of the history are
    appended; the half row that a crash may leave is skipped by
    :meth:`history` and cut off by the next :meth:`append_history`. A row survives the end of the
    process at once, and a power cut as soon as any other file has been written after it, so a
    checkpoint never knows more than the history. Nothing that is loaded is executed.

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
    def create(
        cls, path: Path_, config: Mapping[str, Any], *, overwrite: bool = False
    ) -> RunFolder:
        """Start a run in a new or empty folder, with its configuration and environment.

        Parameters
        ----------
        path : path
            The folder; those that it lies in are made where they are missing.
        config : mapping
            What the run is, as plain values; ``format`` and ``edgnn`` (the version) are added.
        overwrite : bool
            Whether a run that is there is thrown away. Files of other names are kept; a folder that
            is no run is refused always.
        """
        run = cls(
            path_of(path),
            from_json(to_json({**config, "format": FORMAT, "edgnn": edgnn.__version__})),
        )
        made = make_folder(run.path)
        try:
            with reading(run.path):
                check_free(run.path, overwrite)
            with run._locked():
                with reading(run.path):
                    check_free(run.path, overwrite)
                run._begin(made)
        except BaseException:
            remove_folders(made)
            raise
        return run

    def _begin(self, made: list[Path]) -> None:
        """Write the first files; where that fails in a new run, take back what was written."""
        fresh = not holds_run(self.path)
        try:
            # the configuration last: until it is replaced, this is the old run, not yet trained
            for name in _FILES:
                self._unlink(name)
            self._write(CONFIG, lambda: to_json(self._config, indent=2))
            self.write_json(ENVIRONMENT, environment())
        except BaseException:
            if fresh:
                self._take_back([CONFIG, ENVIRONMENT, *([LOCK] if made else [])])
            raise

    @classmethod
    def open(cls, path: Path_) -> RunFolder:
        """Open the folder of a run that was started before."""
        place = path_of(path)
        return cls(place, read_config(place))

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
                raise RunError(
                    f"the field {name!r} of {self.path / CONFIG} says what wrote it and cannot be "
                    "set"
                )
        changed = from_json(to_json(self._config | changes))
        self._write(CONFIG, lambda: to_json(changed, indent=2))
        self._config = changed

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes from training into this folder; they get an error at once.

        The lock is the operating system's and ends with the process, however that ends. Files that
        a killed process left unfinished are removed.
        """
        with self._locked():
            if to_json(read_config(self.path)) != to_json(self._config):
                raise RunError(
                    f"{self.path / CONFIG} was changed by another training since it was opened; "
                    "open the folder again"
                )
            yield

    def append_history(self, row: Mapping[str, Any]) -> None:
        """Append the row of one epoch; ``row["epoch"]`` is its number."""
        if type(row.get("epoch")) is not int:
            raise RunError(
                f"a row of the history needs a whole number 'epoch', not {row.get('epoch')!r}"
            )
        line, path = to_json(row), self.path / HISTORY
        with writing(path, "write"):
            if path.is_symlink() or (path.exists() and not path.is_file()):
                raise RunError(
                    f"{path} is no regular file, so nothing is appended to it; remove it"
                )
            with path.open("a+b", buffering=0) as stream:
                append_line(stream, line)
        self._unsynced = True

    def history(self) -> list[dict[str, Any]]:
        """Return the rows of the history; an unfinished last one is left out."""
        return [row for row, _ in self._history()]

    def truncate_history(self, epoch: int) -> None:
        """Drop the rows of the epochs after ``epoch``, and an unfinished one."""
        if self.has(HISTORY):
            kept = b"".join(line for row, line in self._history() if row["epoch"] <= epoch)
            self._write(HISTORY, lambda: kept)

    def save_tensors(self, name: str, tensors: Mapping[str, Tensor]) -> None:
        """Write tensors as a safetensors file."""
        self._write(named(name, ".safetensors"), lambda: pack_tensors(tensors))

    def load_tensors(self, name: str) -> dict[str, Tensor]:
        """Return the tensors of a safetensors file, on the CPU, in the order of their names."""
        return load(self.path / named(name, ".safetensors"), unpack_tensors)

    def write_json(self, name: str, value: Any) -> None:
        """Write a value of plain types; NaN and infinities are kept, as strings."""
        if named(name, ".json") == CONFIG:
            raise RunError(f"{CONFIG} is written by update_config, which keeps its version")
        self._write(name, lambda: to_json(value, indent=2))

    def read_json(self, name: str) -> Any:
        """Return the value of a JSON file."""
        return load(self.path / named(name, ".json"), from_json)

    def write_rows(self, name: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """Write a table as CSV in UTF-8: a header, then one line per row, quoted as RFC 4180 says.

        Numbers are written in the fewest digits that read back as the same number, truth values as
        ``true`` and ``false``; ``None`` is an empty field, empty text is ``""``.
        """
        self._write(named(name, ".csv"), lambda: to_csv(columns))

    def has(self, name: str) -> bool:
        """Return whether the folder holds the file ``name``."""
        path = self.path / named(name, "")
        with reading(path):
            return path.is_file()

    def remove(self, name: str) -> None:
        """Remove a file, such as the checkpoint of a finished training; it may be missing."""
        if named(name, "") == CONFIG:
            raise RunError(
                f"{CONFIG} makes the folder a run and stays; remove the whole folder to be rid of "
                "the run"
            )
        self._unlink(name)

    def _history(self) -> list[tuple[dict[str, Any], bytes]]:
        """Return each row with its line."""
        if not self.has(HISTORY):
            return []
        path, rows = self.path / HISTORY, []
        for number, line in enumerate(read_bytes(path).split(b"\n")[:-1], start=1):
            try:
                row = from_json(line)
            except ValueError as error:
                raise RunError(f"{path}, line {number} is damaged: {error}") from None
            if not isinstance(row, dict) or type(row.get("epoch")) is not int:
                raise RunError(
                    f"{path}, line {number} is damaged: it is no row with a whole number 'epoch'"
                )
            rows.append((row, line + b"\n"))
        return rows

    def _write(self, name: str, content: Callable[[], bytes]) -> None:
        with writing(self.path / name, "write"):
            data = content()
            if self._unsynced and self.has(HISTORY):
                with (self.path / HISTORY).open("r+b") as stream:
                    os.fsync(stream.fileno())
            self._unsynced = False
            with atomic_file(self.path / name) as stream:
                stream.write(data)
            sync_folder(self.path)

    def _unlink(self, name: str) -> None:
        with writing(self.path / name, "remove"):
            (self.path / name).unlink(missing_ok=True)

    def _take_back(self, names: list[str]) -> None:
        """Remove what a failed :meth:`create` has written."""
        with suppress(OSError):
            for name in names:
                (self.path / name).unlink(missing_ok=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        in_use = RunError(
            f"another training is writing to {self.path}; wait until it has ended, "
            "or choose another folder"
        )
        with ExitStack() as held:
            with writing(self.path / LOCK, "use"):
                held.enter_context(exclusive_lock(self.path / LOCK, in_use))
            with writing(self.path, "tidy up"):
                for entry in list(self.path.iterdir()):
                    if UNFINISHED.fullmatch(entry.name):
                        entry.unlink(missing_ok=True)
            yield
