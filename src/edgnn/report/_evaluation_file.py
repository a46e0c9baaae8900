"""The JSON file of an evaluation, as ``edgnn evaluate --out`` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgnn._words import one_line
from edgnn.errors import EdgnnError, FormatError
from edgnn.evaluation import Evaluation, evaluation_of, stored_document
from edgnn.report._page import ReportError

_NOT_SETTINGS = (
    "splits",
    "seconds",
    "paper",
    "task",
    "class_names",
    "metrics",
    "confusion",
    "environment",
    "evaluation",
)


@dataclass(frozen=True, eq=False)
class EvaluationFile:
    """What the file of an evaluation holds.

    Attributes
    ----------
    path : Path
        Where it lies.
    evaluation : Evaluation
        The evaluation, checked.
    model, data : str, optional
        What was evaluated on what; ``None`` where the file does not say.
    settings, environment : dict
        How it was made, and where.
    seconds : float
        How long it took; NaN where the file does not say.
    paper : pair of float, optional
        The paper's mean and spread.
    """

    path: Path
    evaluation: Evaluation
    model: str | None
    data: str | None
    settings: dict[str, Any]
    environment: dict[str, Any]
    seconds: float
    paper: tuple[float, float | None] | None


def read_evaluation_file(path: Path, expected: str) -> EvaluationFile:
    """Return what a file holds; ``expected`` says what should have been there, for the error."""
    if path.suffix.lower() in (".html", ".htm"):
        raise ReportError(f"{path} is a page already; {expected}")
    try:
        document = stored_document(path)
    except ValueError as error:
        raise ReportError(f"{path} {error}; {expected}") from None
    evaluation = evaluation_of(document, path)
    with damage_named(path):
        settings = {name: value for name, value in document.items() if name not in _NOT_SETTINGS}
        parameters, paper = evaluation.settings.get("parameters"), document.get("paper")
        if parameters:
            settings["parameters"] = parameters
        return EvaluationFile(
            path=path,
            evaluation=evaluation,
            model=_text(document.get("model")),
            data=_text(document.get("data")),
            settings=settings,
            environment=dict(document.get("environment") or {}),
            seconds=float(document.get("seconds", "nan")),
            paper=None if paper is None else (paper["mean"], paper["spread"]),
        )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Raise errors that only values of the wrong kind lead to as a fault of the file."""
    try:
        yield
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        IndexError,
        ArithmeticError,
        RecursionError,
    ) as error:
        if isinstance(error, EdgnnError):
            raise
        raise FormatError(
            path, f"what it holds is damaged ({type(error).__name__}: {one_line(error)})"
        ) from None
