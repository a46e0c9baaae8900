"""Every error edgnn raises on purpose: one base, and one class per kind of mistake."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any

__all__ = [
    "ChecksumError",
    "DatasetError",
    "DeadlineError",
    "EdgnnError",
    "EstimatorError",
    "EvaluationError",
    "FetchError",
    "FileError",
    "FormatError",
    "GraphError",
    "MissingDependencyError",
    "MissingFileError",
    "ModelError",
    "RunError",
    "StudyError",
    "TrainingError",
    "UnknownLabelError",
]


class EdgnnError(Exception):
    """Base of all errors that tell the user what to change; the command line prints one line.

    Parameters
    ----------
    *args : object
        The message.
    kind : str, optional
        What happened, as one word that code can compare (``"memory"``, ``"newer"``, …); the
        message is for people.
    path : path or str, optional
        The file or folder it happened in.
    line : int, optional
        1-based line (or record) it happened on.
    advice : str
        The end of the message: how callers of Python or a command fix it. Others, such as people
        in front of the page of ``edgnn serve``, are given advice of their own instead.
    """

    kind: str | None
    path: str | None
    line: int | None
    advice: str

    def __init__(
        self,
        *args: object,
        kind: str | None = None,
        path: str | PathLike[str] | None = None,
        line: int | None = None,
        advice: str = "",
    ) -> None:
        message = (f"{args[0]}{advice}", *args[1:]) if advice else args
        super().__init__(*message)
        self.kind = kind
        self.path = None if path is None else fspath(path)
        self.line = line
        self.advice = advice

    def __reduce__(self) -> Any:
        # without it, the pickles of tblib, which Dask installs, call the wrong base's __new__
        return type(self), self.args, {**vars(self), "path": self.path}


class GraphError(EdgnnError, ValueError):
    """Arrays, labels or names that do not make a labeled digraph."""


class UnknownLabelError(GraphError):
    """A label that the reference vocabulary has never seen."""


class FormatError(GraphError):
    """A file that breaks the rules of its format.

    Parameters
    ----------
    path : path or str
        The file, as the user named it (``archive.zip/member.txt`` inside an archive).
    rule : str
        What is wrong and what the format asks for.
    line : int, optional
        1-based line (or record) the problem is on.
    kind : str, optional
        What happened, as one word that code can compare.
    advice : str
        How callers fix it, as the end of the rule.
    """

    path: str

    def __init__(
        self,
        path: str | PathLike[str],
        rule: str,
        line: int | None = None,
        kind: str | None = None,
        advice: str = "",
    ) -> None:
        where = fspath(path) if line is None else f"{fspath(path)}, line {line}"
        super().__init__(f"{where}: {rule}", kind=kind, path=path, line=line, advice=advice)
        self.rule = rule + advice

    def __reduce__(self) -> Any:
        rule = self.rule.removesuffix(self.advice)
        return type(self), (self.path, rule, self.line, self.kind, self.advice)


class FileError(EdgnnError, OSError):
    """What cannot be opened or read as a file: a folder, a pipe, a link loop, a bad disk.

    Parameters
    ----------
    path : path or str
        The file, as the user named it.
    rule : str
        What is wrong.
    number : int, optional
        The error number of the operating system, as ``errno``.
    """

    path: str

    def __init__(self, path: str | PathLike[str], rule: str, number: int | None = None) -> None:
        super().__init__(f"{fspath(path)}: {rule}", path=path)
        self.errno = number
        self.strerror = rule
        self.filename = fspath(path)

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> Any:
        return type(self), (self.path, self.strerror, self.errno)


class MissingFileError(FileError, FileNotFoundError):
    """A file or folder that does not exist."""


class DeadlineError(EdgnnError):
    """Work that did not end within the time it was given by :class:`edgnn.io.Deadline`."""


class DatasetError(EdgnnError, ValueError):
    """A data set that is not known, not found, or not what was asked for."""


class ChecksumError(DatasetError):
    """A file whose content is not the published one."""


class FetchError(DatasetError, OSError):
    """A download that failed on every mirror."""


class MissingDependencyError(EdgnnError, ImportError):
    """An optional package that the called function needs."""


class ModelError(EdgnnError, ValueError):
    """A model asked for something it does not offer, or given graphs it was not made for."""


class EstimatorError(ModelError):
    """A parameter, an input or a target that an estimator cannot work with."""


class EvaluationError(EdgnnError, ValueError):
    """Splits, targets, metrics or predictions that do not fit together."""


class TrainingError(EdgnnError):
    """Training cannot go on: a loss that is NaN, nothing to train on, too little memory."""


class RunError(EdgnnError):
    """A run folder is missing, damaged, in use or from a newer version."""


class StudyError(EdgnnError):
    """The folder of a study is missing, damaged, in use or newer, or lacks what was asked for."""
