"""Several evaluations of the same items and splits: read, checked, compared, and their page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from edgnn._files import Path_
from edgnn._json import plain
from edgnn._words import counted, duration, number, preview
from edgnn.evaluation import Evaluation, Metric, difference_of
from edgnn.report._evaluation_file import EvaluationFile, read_evaluation_file
from edgnn.report._method import baseline_name, method_facts, shape_of, split_sizes
from edgnn.report._numbers import capital, metric_name, p_text
from edgnn.report._page import ReportError, write_page
from edgnn.report._paired import (
    Pair,
    compared,
    comparison_note,
    comparison_values,
    comparison_view,
    measured,
)
from edgnn.report._predictions import cards, chosen_view
from edgnn.report._results import dates_of, environment_view, environments_of
from edgnn.report._table_views import estimate_figure, score_figure, table_values
from edgnn.report._views import MISSING, Cell, Score, Sortable, side_by_side
from edgnn.studies import Entry, Row, Table, TableSummary

_EXPECTED = (
    "several files are compared where each is the JSON file of an evaluation (edgnn evaluate --out)"
)
_SAME = "evaluate all on the same data with the same --protocol, --runs, --test and --seed"
_PAGE = "comparison.html"
_MOST_NAMES, _MOST_OPEN = 3, 15
_STATISTICS = ("mean", "spread", "interval", "interval_kind", "majority")


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
        models = []
        for entry, file in zip(self.entries, self.files, strict=True):
            summary = entry.evaluation[self.metric.name]
            statistics = {name: getattr(summary, name) for name in _STATISTICS}
            models.append({"model": entry.row.title, "file": str(file)} | statistics)
        differences = [
            {"model": pair.row.title, **comparison_values(pair), "verdict": pair.verdict}
            for pair in self.to_first
        ]
        values: dict[str, Any] = plain(
            {
                "data": self.data,
                "metric": self.metric.name,
                "models": models,
                "compared_with": self.summary.rows[0].title,
                "differences": differences,
            }
        )
        return values


def compare_files(sources: Sequence[Path_]) -> Compared:
    """Return several evaluations beside each other.

    An error names the file that differs from the first, and in what.

    Parameters
    ----------
    sources : sequence of path
        At least two JSON files of ``edgnn evaluate --out``.
    """
    paths = [Path(source) for source in sources]
    _check_paths(paths)
    files = [read_evaluation_file(path, _EXPECTED) for path in paths]
    first = files[0]
    for file in files[1:]:
        _check_same(first, file)
    metrics = _common_metrics(files)
    data = ", ".join(dict.fromkeys(Path(file.data or file.path.stem).name for file in files))
    rows, entries = [], {}
    for name, file in zip(_names(files), files, strict=True):
        row = Row(id=name, title=name, says="", model=file.model)
        rows.append(row)
        evaluation = _alike(file.evaluation, metrics, first.evaluation)
        entries[name, data] = _entry(row, data, file, evaluation)
    table = Table("comparison", f"Models on {data}", "", (data,), tuple(rows), paper=False)
    summary = TableSummary(table, "paper", (data,), tuple(rows), entries)
    return Compared(summary, compared(summary), tuple(paths))


def comparison_page(models: Compared, path: Path_ | None = None) -> Path:
    """Write a self-contained HTML page about several evaluations, and return where it is.

    Parameters
    ----------
    models : Compared
        The models, from :func:`compare_files`.
    path : path, optional
        The page; default: ``comparison.html`` beside the first file.
    """
    target = models.files[0].parent / _PAGE if path is None else Path(path)
    summary, first = models.summary, models.entries[0]
    evaluation = first.evaluation
    data = {
        "kind": "comparison",
        "files": [str(file) for file in models.files],
        "environment": [environment for _, environment in environments_of([summary])],
        **table_values(summary, models.pairs, {}),
    }
    lead = filter(None, [shape_of(evaluation), dates_of([summary], [])])
    write_page(
        target,
        "comparison.html",
        title_of(models),
        " · ".join(lead),
        data,
        metric=metric_name(models.metric.name),
        differences=[_difference(pair, first) for pair in models.to_first],
        comparison_note=comparison_note(models.to_first),
        lower_is_better=not models.metric.higher_is_better,
        sizes=split_sizes(evaluation),
        results=_results(models),
        further=_further(models),
        estimates=estimate_figure(summary),
        comparisons=comparison_view(summary, models.pairs, first.row.id),
        scores=score_figure(summary),
        cards=cards(summary) if evaluation.task == "classes" else [],
        chosen=chosen_view(summary),
        methods=method_facts(evaluation, evaluation[models.metric.name]),
        sources=[
            (entry.row.title, str(file), entry.settings.get("command"))
            for entry, file in zip(models.entries, models.files, strict=True)
        ],
        files=[repr(str(file)) for file in models.files[:2]],
        settings=_settings(models),
        environments=environment_view([summary]),
    )
    return target


def title_of(models: Compared) -> str:
    """Return the heading: the models, if they are few, and the data."""
    names = [entry.row.title for entry in models.entries]
    if len(names) > _MOST_NAMES:
        return f"{counted(len(names), 'model')} on {models.data}"
    return f"{', '.join(names[:-1])} and {names[-1]} on {models.data}"


def _difference(pair: Pair, first: Entry) -> tuple[str, str]:
    """Return which models are compared, and their difference and whether it is real."""
    texts = [f"{pair.gap_text} points" if pair.percent else pair.gap_text]
    if pair.limits_text != "–":
        texts.append(f"95 % interval {pair.limits_text}")
    if pair.corrected == pair.corrected:
        texts.append(p_text(pair.corrected))
    name = f"{pair.row.title} − {first.row.title}"
    return name, f"{', '.join(texts)} – {pair.verdict}."


def _results(models: Compared) -> Sortable:
    metric, first = models.metric, models.entries[0].evaluation
    means = [entry.evaluation.mean for entry in models.entries]
    best = max(means) if metric.higher_is_better else min(means)
    rows = [_line(entry, best) for entry in models.entries]
    if all(entry.row.model != "majority" for entry in models.entries):
        baseline = Score.of(first).cell(first.majority)
        rows.append([Cell(baseline_name(first.task)), baseline, *[MISSING] * 5])
    head = ["model", "mean ± spread", "95 % interval", "least", "greatest", "time", "training"]
    if all(entry.training_accuracy is None for entry in models.entries):
        head.pop()
        rows = [row[:-1] for row in rows]
    unit = " in percent" if metric.percent else ""
    caption = f"{capital(metric_name(metric.name))}{unit}; bold: the best mean"
    return Sortable(caption, head, rows)


def _line(entry: Entry, best: float) -> list[Cell]:
    score = Score.of(entry.evaluation)
    summary = score.summary
    training = float("nan") if entry.training_accuracy is None else entry.training_accuracy
    return [
        Cell(entry.row.title),
        Cell(score.mean_text, summary.mean, best=summary.mean == best),
        Cell(score.interval_text, summary.interval[0]),
        score.cell(summary.minimum),
        score.cell(summary.maximum),
        Cell(duration(entry.seconds), entry.seconds),
        Cell(number(training, True), training),
    ]


def _further(models: Compared) -> Sortable | None:
    """Return the table of the further measures, if there are some."""
    first = models.entries[0].evaluation
    names = first.metrics[1:]
    if not names:
        return None
    rows = []
    for entry in models.entries:
        scores = [Score(entry.evaluation[name]) for name in names]
        cells = [
            Cell(score.mean_text, score.summary.mean, score.interval_text.strip("–"))
            for score in scores
        ]
        rows.append([Cell(entry.row.title), *cells])
    columns = [metric_name(name, first[name].metric.percent) for name in names]
    caption = (
        "Further measures, mean ± spread and 95 % interval; differences of these are not tested"
    )
    return Sortable(caption, ["model", *columns], rows)


def _settings(models: Compared) -> list[dict[str, Any]]:
    """Return the settings side by side, those that differ first."""
    settings = {}
    for entry in models.entries:
        kept = {name: value for name, value in entry.settings.items() if name != "command"}
        settings[entry.row.title] = kept
    same, different = side_by_side(settings)
    rows = [(name, *values.values()) for name, values in different.items()]
    tables = [
        {
            "title": "Different",
            "head": ("setting", *settings),
            "rows": rows,
            "open": len(rows) <= _MOST_OPEN,
        },
        {"title": "The same", "head": ("setting", "all models"), "rows": same, "open": False},
    ]
    return [table for table in tables if table["rows"]]


# Reading and checking the files


def _check_paths(paths: Sequence[Path]) -> None:
    if len(paths) < 2:
        raise ReportError(f"a comparison needs two files at least, not {len(paths)}")
    seen: set[Path] = set()
    for path in paths:
        if not path.is_file():
            wrong = f"{path} is a folder" if path.exists() else f"there is no {path}"
            raise ReportError(f"{wrong}; {_EXPECTED}")
        if path.resolve() in seen:
            raise ReportError(f"{path} is named twice; name each evaluation once")
        seen.add(path.resolve())


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
    metrics = files[0].evaluation.metrics
    for file in files[1:]:
        kept = tuple(name for name in metrics if name in file.evaluation.metrics)
        if not kept:
            raise ReportError(
                f"{file.path} cannot be compared with {files[0].path}: it was evaluated by "
                f"{', '.join(file.evaluation.metrics)}, not by {', '.join(metrics)}; "
                "evaluate all with the same --metric"
            )
        metrics = kept
    return metrics


def _alike(evaluation: Evaluation, metrics: tuple[str, ...], first: Evaluation) -> Evaluation:
    """Return an evaluation by some metrics, its splits numbered as those of the first."""
    numbered = zip(evaluation.splits, first.splits, strict=True)
    splits = tuple(replace(own, repeat=other.repeat, fold=other.fold) for own, other in numbered)
    return replace(evaluation, metrics=metrics, splits=splits)


def _names(files: Sequence[EvaluationFile]) -> list[str]:
    """Return what the models are called; where two have one name, with their files."""
    models = []
    for file in files:
        model = file.model or file.evaluation.settings.get("estimator") or file.path.stem
        models.append(str(model))
    stems = Counter((model, file.path.stem) for model, file in zip(models, files, strict=True))
    names = []
    for model, file in zip(models, files, strict=True):
        stem = file.path.stem if stems[model, file.path.stem] == 1 else str(file.path)
        names.append(model if models.count(model) == 1 else f"{model} ({stem})")
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
