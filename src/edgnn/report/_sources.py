"""A page for what edgnn has written: the folder of a study or a run, or files of evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from edgnn._files import Path_
from edgnn.report._comparison import compare_files, comparison_page
from edgnn.report._evaluation import write_evaluation_report
from edgnn.report._evaluation_file import damage_named, read_evaluation_file
from edgnn.report._page import ReportError
from edgnn.report._run import write_run_report
from edgnn.report._study import write_study_report
from edgnn.studies import STUDY
from edgnn.training import CONFIG

_EXPECTED = (
    "expected the folder of a study (edgnn reproduce --out), the folder of a run "
    "(edgnn train --out), or the JSON file of an evaluation (edgnn evaluate --out)"
)


def write_report(source: Path_ | Sequence[Path_], path: Path_ | None = None) -> Path:
    """Write a self-contained HTML page about a study, a run or evaluations, and return where it is.

    Parameters
    ----------
    source : path or sequence of path
        A folder that ``edgnn reproduce`` or ``edgnn train`` has written, or the JSON file of
        ``edgnn evaluate --out``. Several such files of the same items and splits are compared:
        every model's mean, and which differences are real.
    path : path, optional
        The page; default: ``report.html`` in the folder, or beside the JSON file under its name; of
        several files, ``comparison.html`` beside the first.
    """
    sources = [source] if isinstance(source, str | PathLike) else list(source)
    if len(sources) != 1:
        return comparison_page(compare_files(sources), path)
    place = Path(sources[0])
    if not place.exists():
        raise ReportError(f"there is no {place}; {_EXPECTED}")
    with damage_named(place):
        if (place / STUDY).exists():
            return write_study_report(place, path)
        if (place / CONFIG).exists():
            return write_run_report(place, path)
        if place.is_dir():
            raise ReportError(f"{place} is a folder without {STUDY} or {CONFIG}; {_EXPECTED}")
        return _evaluation_page(place, place.with_suffix(".html") if path is None else Path(path))


def _evaluation_page(source: Path, path: Path) -> Path:
    file = read_evaluation_file(source, _EXPECTED)
    named = file.model is not None and file.data is not None
    write_evaluation_report(
        path,
        file.evaluation,
        title=f"{file.model} on {file.data}" if named else source.stem,
        paper=file.paper,
        settings=file.settings,
        environment=file.environment,
        seconds=file.seconds,
    )
    return path
