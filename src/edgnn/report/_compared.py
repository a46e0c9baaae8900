"""Several evaluations of the same items and splits: read from their files, checked, compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from edgnn._files import Path_
from edgnn._json import plain
from edgnn._words import preview
from edgnn.evaluation import Evaluation, Metric, Summary, difference_of
from edgnn.report._comparisons import Pair, compared, measured
from edgnn.report._errors import ReportError
from edgnn.report._evaluation_file import EvaluationFile, read_evaluation_file
from edgnn.studies import Entry, Row, Table, TableSummary

_EXPECTED = (
    "several files are compared where each is the JSON file of an evaluation (edgnn evaluate --out)"
)
_SAME = "evaluate all on the same data with the same --protocol, --runs, --test and --seed"


@dataclass(frozen=True, eq=False)
class Compared:
    """Several models beside each other, and the first with all others.

    Attributes
    ----------
    summary : TableSummary
        A table of one data set, a row for each model.
    pairs : dict
        For each model as the reference, how all others compare with it.
    files : tuple of Path
        Where the models come from, in the order of the rows.
    """

    summary: TableSummary
    pairs: dict[str, list[Pair]]
    files: tuple[Path, ...]

    @property
    def data(self) -> str:
        """What the models were evaluated on."""
        return self.summary.datasets[0]

    @property
    def metric(self) -> Metric:
        """What they are compared by."""
        return measured(self.summary)

    @property
    def entries(self) -> list[Entry]:
        """One for each model, in the order of the files."""
        return [self.summary.entries[row.id, self.data] for row in self.summary.rows]

    @property
    def to_first(self) -> list[Pair]:
        """All others against the first."""
        return self.pairs[self.summary.rows[0].id]

    def to_dict(self) -> dict[str, Any]:
        """Return means and differences as plain values."""
        values: dict[str, Any] = plain(self._told())
        return values

    def _told(self) -> dict[str, Any]:
        return {
            "data": self.data,
            "metric": self.metric.name,
            "models": [
                {"model": entry.row.title, "file": str(file)}
                | _figures(entry.evaluation[self.metric.name])
                for entry, file in zip(self.entries, self.files, strict=True)
            ],
            "compared_with": self.summary.rows[0].title,
            "differences": [_difference(pair) for pair in self.to_first],
        }


def compare_files(sources: Sequence[Path_]) -> Compared:
    """Return several evaluations beside each other; an error names the file that differs from the first, and in what.

    Parameters
    ----------
    sources : sequence of path
        At least two JSON files of ``edgnn evaluate --out``.
    """
    places = [Path(source) for source in sources]
    if len(places) < 2:
        raise ReportError(f"a comparison needs two files at least, not {len(places)}")
    for number, place in enumerate(places):
        if not place.is_file():
            raise ReportError(
                f"{f'{place} is a folder' if place.exists() else f'there is no {place}'}; {_EXPECTED}"
            )
        if place.resolve() in [other.resolve() for other in places[:number]]:
            raise ReportError(f"{place} is named twice; name each evaluation once")
    files = [read_evaluation_file(place, _EXPECTED) for place in places]
    for file in files[1:]:
        _check_same(files[0], file)
    metrics = _common_metrics(files)
    data = ", ".join(dict.fromkeys(Path(file.data or file.path.stem).name for file in files))
    rows = [
        Row(id=name, title=name, says="", model=file.model)
        for name, file in zip(_names(files), files, strict=True)
    ]
    entries = {
        (row.id, data): _entry(
            row, data, file, _alike(file.evaluation, metrics, files[0].evaluation)
        )
        for row, file in zip(rows, files, strict=True)
    }
    table = Table("comparison", f"Models on {data}", "", (data,), tuple(rows), paper=False)
    summary = TableSummary(table, "paper", (data,), tuple(rows), entries)
    return Compared(summary, compared(summary), tuple(places))


def _check_same(first: EvaluationFile, other: EvaluationFile) -> None:
    differs = difference_of(first.evaluation, other.evaluation)
    names = other.evaluation.class_names
    if not differs and names != first.evaluation.class_names:
        differs = f"the classes {preview(names)}, not {preview(first.evaluation.class_names)}"
    if differs:
        raise ReportError(
            f"{other.path} cannot be compared with {first.path}: it has {differs}; {_SAME}"
        )


def _common_metrics(files: Sequence[EvaluationFile]) -> tuple[str, ...]:
    """Return the metrics that all files have, in the order of the first."""
    found = files[0].evaluation.metrics
    for file in files[1:]:
        kept = tuple(name for name in found if name in file.evaluation.metrics)
        if not kept:
            own = ", ".join(file.evaluation.metrics)
            raise ReportError(
                f"{file.path} cannot be compared with {files[0].path}: it was judged by {own}, not by {', '.join(found)}; "
                "evaluate all with the same --metric"
            )
        found = kept
    return found


def _alike(evaluation: Evaluation, metrics: tuple[str, ...], first: Evaluation) -> Evaluation:
    """Return an evaluation by some metrics, its splits numbered as those of the first."""
    numbered = zip(evaluation.splits, first.splits, strict=True)
    splits = tuple(replace(own, repeat=other.repeat, fold=other.fold) for own, other in numbered)
    return replace(evaluation, metrics=metrics, splits=splits)


def _names(files: Sequence[EvaluationFile]) -> list[str]:
    """Return what the models are called; where two have one name, their files tell them apart."""
    models = [
        str(file.model or file.evaluation.settings.get("estimator") or file.path.stem)
        for file in files
    ]
    stems = Counter((model, file.path.stem) for model, file in zip(models, files, strict=True))
    names = []
    for model, file in zip(models, files, strict=True):
        own = file.path.stem if stems[model, file.path.stem] == 1 else str(file.path)
        names.append(model if models.count(model) == 1 else f"{model} ({own})")
    return names


def _entry(row: Row, data: str, file: EvaluationFile, evaluation: Evaluation) -> Entry:
    return Entry(
        row=row,
        dataset=data,
        evaluation=evaluation,
        runs=len({split.repeat for split in evaluation.splits}),
        seconds=file.seconds,
        training_accuracy=evaluation.training_accuracy,
        settings=file.settings,
        environment=file.environment,
    )


def _figures(found: Summary) -> dict[str, Any]:
    return {
        name: getattr(found, name)
        for name in ("mean", "spread", "interval", "interval_kind", "majority")
    }


def _difference(pair: Pair) -> dict[str, Any]:
    found = pair.comparison
    assert found is not None
    told = {
        name: getattr(found, name)
        for name in ("difference", "interval", "p_value", "splits", "kind")
    }
    return {
        "model": pair.row.title,
        **told,
        "corrected_p_value": pair.corrected,
        "verdict": pair.verdict,
    }
