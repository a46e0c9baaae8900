"""Tables of other metrics than accuracy: ours beside published figures, data set by data set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from edgnn._words import counted
from edgnn.evaluation import find_metric
from edgnn.studies._settings import read_toml
from edgnn.studies._study import Study
from edgnn.studies._summaries import Entry, TableSummary
from edgnn.studies._write_tables import lines, ordered, write_files, write_predictions

_LEGEND = """\
Means over the runs, on the published test part. Behind the slash: on the subset that is named. The
mean over a family of sets is of rows that have all of its sets that are shown.
"""


def write_measured(study: Study, summary: TableSummary) -> dict[str, Any]:
    """Write a table and the predictions of each data set; return what the JSON file holds."""
    document = measured_document(study, summary)
    entries = [dict(entry) for entry in document["entries"]]
    text = "\n".join(
        [
            f"# {summary.table.title}\n\n{summary.table.says}.\n",
            lines(compact_rows(document)),
            "## Data set by data set\n",
            lines(full_rows(document)),
            _LEGEND,
            "## Rows\n",
            *(f"- **{row['title']}**: {row['says']}" for row in document["rows"]),
            "",
        ]
    )
    written = write_files(study, summary.name, text, entries, document)
    write_predictions(study, summary)
    return written


def measured_document(study: Study, summary: TableSummary) -> dict[str, Any]:
    """Return a table as values: its rows, published ones first, and one entry per figure."""
    table = summary.table
    environment = next((entry.environment for entry in summary.entries.values()), {})
    published = read_toml(table.published)["rows"] if table.published else {}
    figures = [
        _published_figure(row, stored["title"], dataset, stored["figures"][dataset])
        for row, stored in published.items()
        for dataset in summary.datasets
        if dataset in stored["figures"]
    ]
    shown = {figure["row"] for figure in figures}
    rows = [
        {"id": row, "title": stored["title"], "says": f"published: {stored['source']}"}
        for row, stored in published.items()
        if row in shown
    ]
    rows += [{"id": row.id, "title": row.title, "says": row.says} for row in summary.rows]
    return {
        "format": 1,
        "table": table.name,
        "title": table.title,
        "says": table.says,
        "protocol": summary.protocol,
        "datasets": summary.datasets,
        "rows": rows,
        "entries": figures + [_our_figure(entry) for entry in ordered(summary)],
        "made": {
            "commands": [call.get("command") for call in study.calls],
            "environment": environment,
        },
    }


def _published_figure(
    row: str, title: str, dataset: str, stored: Mapping[str, float]
) -> dict[str, Any]:
    """Return a figure of the file of published ones: a metric, a spread, and a subset."""
    rest = dict(stored)
    spread = rest.pop("spread", None)
    (metric, value), *subset = rest.items()
    name, of_subset = subset[0] if subset else (None, None)
    head = {"row": row, "title": title, "dataset": dataset, "metric": metric, "published": True}
    tail = {"subset": name, "subset_value": of_subset, "runs": None, "seconds": None}
    return head | {"value": value, "spread": spread} | tail


def _our_figure(entry: Entry) -> dict[str, Any]:
    evaluation = entry.evaluation
    metric = evaluation.metrics[0]
    summary = evaluation[metric]
    name, of_subset = next(iter(evaluation.by_subset.items()), (None, None))
    return {
        "row": entry.row.id,
        "title": entry.row.title,
        "dataset": entry.dataset,
        "metric": metric,
        "published": False,
        "value": round(summary.mean, 6),
        "spread": round(summary.spread, 6) if entry.runs > 1 else None,
        "subset": name,
        "subset_value": None if of_subset is None else round(of_subset[metric].mean, 6),
        "runs": entry.runs,
        "seconds": round(entry.seconds, 3),
    }


def compact_rows(document: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return one row per model as texts by title: the mean over each family of data sets.

    A family are the sets whose names begin alike, up to a slash.
    """
    families: dict[str, list[str]] = {}
    for dataset in document["datasets"]:
        families.setdefault(dataset.partition("/")[0], []).append(dataset)
    figures = _by_row(document)
    rows = []
    for row in document["rows"]:
        cells = {"model": row["title"]}
        for family, datasets in families.items():
            known = [figures[row["id"], name] for name in datasets if (row["id"], name) in figures]
            shown = _text(known) if len(known) == len(datasets) else ""
            cells[_family_title(family, datasets, document)] = shown
        rows.append(cells)
    return rows


def full_rows(document: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return one row per data set as texts by title, a column per model."""
    figures = _by_row(document)
    rows = []
    for dataset in document["datasets"]:
        cells = {"data set": dataset}
        for row in document["rows"]:
            figure = figures.get((row["id"], dataset))
            cells[row["title"]] = "" if figure is None else _text([figure])
        rows.append(cells)
    return rows


def _by_row(document: Mapping[str, Any]) -> dict[tuple[str, str], Mapping[str, Any]]:
    return {(entry["row"], entry["dataset"]): entry for entry in document["entries"]}


def _family_title(family: str, datasets: list[str], document: Mapping[str, Any]) -> str:
    """Return the title of a column: family, number of sets, metric, subset."""
    of_family = [entry for entry in document["entries"] if entry["dataset"] in datasets]
    subset = next((entry["subset"] for entry in of_family if entry["subset"]), None)
    count = "" if datasets == [family] else f" ({counted(len(datasets), 'set')})"
    slash = "" if subset is None else f" / {subset}"
    return f"{family}{count}: {_metric_title(of_family)}{slash}"


def _metric_title(entries: Iterable[Mapping[str, Any]]) -> str:
    return ", ".join(dict.fromkeys(str(entry["metric"]).replace("_", " ") for entry in entries))


def _text(figures: list[Mapping[str, Any]]) -> str:
    """Return the mean of figures, with the spread of one alone, and of their subsets."""
    metric = figures[0]["metric"]
    shown = _number(metric, [figure["value"] for figure in figures])
    if len(figures) == 1 and figures[0]["spread"] is not None:
        shown += f" ± {_number(metric, [figures[0]['spread']])}"
    if any(figure["subset"] is None for figure in figures):
        return shown
    return f"{shown} / {_number(metric, [figure['subset_value'] for figure in figures])}"


def _number(metric: str, values: list[float | None]) -> str:
    """Return the mean of values as text; a dash where one is not defined, as JSON has no NaN."""
    known = [value for value in values if value is not None and value == value]
    if len(known) < len(values):
        return "–"
    mean, kind = float(np.mean(known)), find_metric(metric)
    if kind.percent:
        return f"{100 * mean:.1f}"
    return f"{mean:.4f}" if kind.higher_is_better else f"{mean:.3f}"
