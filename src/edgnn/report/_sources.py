"""A page for whatever edgnn has left behind: the folder of a study or of a run, or the JSON file of an evaluation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from edgnn._text import one_line
from edgnn.errors import EdgnnError, FormatError
from edgnn.evaluation import Evaluation
from edgnn.experiments._stored_evaluation import stored_evaluation
from edgnn.experiments._study_files import STUDY
from edgnn.io._files import Path_
from edgnn.report._errors import ReportError
from edgnn.report._evaluation import write_evaluation_report
from edgnn.report._run import write_run_report
from edgnn.report._study import write_study_report
from edgnn.training._run_folder import CONFIG

_EXPECTED = (
    "expected the folder of a study (edgnn reproduce --out), the folder of a run (edgnn train --out), or the JSON file of an "
    "evaluation (edgnn evaluate --out)"
)
_NOT_SETTINGS = ("splits", "seconds", "paper", "task", "class_names", "metrics", "confusion", "environment", "evaluation")


def write_report(source: Path_, path: Path_ | None = None) -> Path:
    """Write a self-contained HTML page about a study, a run or an evaluation, and return where it is.

    Parameters
    ----------
    source : path
        A folder that ``edgnn reproduce`` or ``edgnn train`` has written, or the JSON file of ``edgnn evaluate --out``.
    path : path, optional
        The page; default: ``report.html`` in the folder, or beside the JSON file under its name.
    """
    place = Path(source)
    if not place.exists():
        raise ReportError(f"there is no {place}; {_EXPECTED}")
    with _telling(place):
        if (place / STUDY).exists():
            return write_study_report(place, path)
        if (place / CONFIG).exists():
            return write_run_report(place, path)
        if place.is_dir():
            raise ReportError(f"{place} is a folder without {STUDY} or {CONFIG}; {_EXPECTED}")
        return _evaluation_page(place, place.with_suffix(".html") if path is None else Path(path))


@contextmanager
def _telling(place: Path) -> Iterator[None]:
    """Tell as a fault of the source what only values of the wrong kind lead to."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError) as error:
        if isinstance(error, EdgnnError):
            raise
        raise FormatError(place, f"what it holds is damaged ({type(error).__name__}: {one_line(error)})") from None


def _evaluation_page(source: Path, path: Path) -> Path:
    if source.suffix.lower() in (".html", ".htm"):
        raise ReportError(f"{source} is a page already; {_EXPECTED}")
    document = _read(source)
    evaluation = stored_evaluation(document["evaluation"])
    paper = document.get("paper")
    write_evaluation_report(
        path,
        evaluation,
        title=f"{document['model']} on {document['data']}" if {"model", "data"} <= set(document) else source.stem,
        paper=None if paper is None else (paper["mean"], paper["spread"]),
        settings={name: value for name, value in document.items() if name not in _NOT_SETTINGS} | _parameters(evaluation),
        environment=document.get("environment") or {},
        seconds=float(document.get("seconds", "nan")),
    )
    return path


def _parameters(evaluation: Evaluation) -> dict[str, Any]:
    known = evaluation.settings.get("parameters")
    return {"parameters": known} if known else {}


def _read(source: Path) -> dict[str, Any]:
    """Return what an evaluation's file holds; the plain values of an evaluation alone will do."""
    try:
        document = json.loads(source.read_bytes())
    except (ValueError, RecursionError):
        raise ReportError(f"{source} is no JSON file; {_EXPECTED}") from None
    if isinstance(document, dict) and {"task", "truth", "splits"} <= set(document):
        document = {"evaluation": document}
    if not isinstance(document, dict) or not isinstance(document.get("evaluation"), Mapping):
        raise ReportError(f"{source} is a JSON file without an evaluation; {_EXPECTED}")
    return document
