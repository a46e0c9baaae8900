"""Every error edgnn raises on purpose: one base, and one class per kind of mistake."""

from __future__ import annotations

from os import PathLike, fspath

__all__ = [
    "ChecksumError",
    "DatasetError",
    "EdgnnError",
    "EstimatorError",
    "EvaluationError",
    "FetchError",
    "FormatError",
    "GraphError",
    "MissingDependencyError",
    "ModelError",
    "RunError",
    "StudyError",
    "TrainingError",
    "UnknownLabelError",
]


class EdgnnError(Exception):
    """Base of all errors that say what to change; the command line prints them as one line.

    Attributes
    ----------
    kind : str, optional
        What happened, for code that has to decide by it: ``"memory"`` where memory ran out.
    """

    def __init__(self, *args: object, kind: str | None = None) -> None:
        super().__init__(*args)
        self.kind = kind


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
        1-based line (or record) the problem was found on.
    """

    def __init__(self, path: str | PathLike[str], rule: str, line: int | None = None) -> None:
        self.path = fspath(path)
        self.rule = rule
        self.line = line
        where = self.path if line is None else f"{self.path}, line {line}"
        super().__init__(f"{where}: {rule}")

    def __reduce__(self) -> tuple[type[FormatError], tuple[str, str, int | None]]:
        return type(self), (self.path, self.rule, self.line)


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
    """Training cannot go on: a loss that is no number, nothing to train on, too little memory."""


class RunError(EdgnnError):
    """A run folder is missing, damaged, in use or from a newer version."""


class StudyError(EdgnnError):
    """A folder of a reproduction is missing, damaged, in use or from a newer version, or asked for what it cannot have."""
