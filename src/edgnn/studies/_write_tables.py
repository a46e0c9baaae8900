"""The tables of a study as Markdown, CSV and JSON, and the predictions of every fold."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from itertools import product
from typing import Any

import numpy as np

from edgnn._json import plain, to_csv
from edgnn.studies._study import Study
from edgnn.studies._study_files import write_bytes
from edgnn.studies._summaries import Entry, TableSummary

#: A difference from the paper beyond so many points is marked.
NOTABLE = 1.5

_LEGEND = """\
Accuracies in percent. Ours: mean ± standard deviation of the runs (of the folds, if there is one
run). Difference: ours minus the paper's mean, marked ▲ or ▼ beyond 1.5 points. Max run: the best
run, chosen by its test accuracy as the paper's row "edGNN (max)" is, so no estimate of anything.
Majority: the most frequent class of each training part. Interval: 95 %, Nadeau and Bengio's
corrected resampled t over all folds; for a single test part Wilson's, widened by the runs.
Ceiling: the best training accuracy of any model that Eq. 2 bounds.
"""


def write_files(
    study: Study,
    name: str,
    markdown: str,
    rows: list[dict[str, Any]],
    document: dict[str, Any],
) -> dict[str, Any]:
    """Write ``tables/NAME.md``, ``.csv`` and ``.json``; return what the JSON file holds."""
    document = plain(document)
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    columns = {title: [row[title] for row in rows] for title in rows[0]}
    folder = study.path / "tables"
    write_bytes(folder / f"{name}.md", markdown.encode())
    write_bytes(folder / f"{name}.csv", to_csv(columns))
    write_bytes(folder / f"{name}.json", text.encode())
    return document


def write_table(study: Study, summary: TableSummary) -> dict[str, Any]:
    """Write a table and the predictions of each data set; return what the JSON file holds."""
    rows = [numbers(entry) | _cost(entry) for entry in ordered(summary)]
    document = table_document(study, summary)
    written = write_files(study, summary.name, markdown(summary), rows, document)
    write_predictions(study, summary)
    return written


def write_predictions(study: Study, summary: TableSummary) -> None:
    """Write the predictions of every fold, one file per data set."""
    folder = study.path / "predictions" / summary.name
    for dataset in summary.datasets:
        write_bytes(folder / f"{dataset}.csv", to_csv(_predictions(summary, dataset)))


def table_document(study: Study, summary: TableSummary) -> dict[str, Any]:
    """Return a table as values.

    What depends on the machine and the day stands under ``"cost"`` and ``"made"``.
    """
    table = summary.table
    entries = ordered(summary)
    environment = next((entry.environment for entry in summary.entries.values()), {})
    return {
        "format": 1,
        "table": table.name,
        "title": table.title,
        "says": table.says,
        "protocol": summary.protocol,
        "datasets": summary.datasets,
        "rows": [
            {"id": row.id, "title": row.title, "says": row.says, "paper": row.paper}
            for row in summary.rows
        ],
        "entries": [numbers(entry) | _details(entry) for entry in entries],
        "made": {
            "commands": [call.get("command") for call in study.calls],
            "environment": environment,
        },
    }


def ordered(summary: TableSummary) -> list[Entry]:
    """Return the entries data set by data set, in the order of rows."""
    entries = []
    for dataset, row in product(summary.datasets, summary.rows):
        entry = summary.entries.get((row.id, dataset))
        if entry is not None:
            entries.append(entry)
    return entries


def numbers(entry: Entry) -> dict[str, Any]:
    """Return an entry as plain numbers; accuracies in percent."""
    accuracy, paper = entry.evaluation["accuracy"], entry.paper
    low, high = _interval(entry)
    roc_auc = None
    if "roc_auc" in entry.evaluation.metrics:
        roc_auc = _rounded(entry.evaluation["roc_auc"].mean)
    return {
        "row": entry.row.id,
        "title": entry.row.title,
        "dataset": entry.dataset,
        "paper": None if paper is None else paper.mean,
        "paper_spread": None if paper is None else paper.spread,
        "mean": _percent(accuracy.mean),
        "spread": None if entry.row.best_of else _percent(accuracy.spread),
        "difference": None if entry.difference is None else round(entry.difference, 4),
        "max_run": _percent(float(max(accuracy.repeat_means))),
        "majority": _percent(accuracy.majority),
        "interval_low": _percent(low),
        "interval_high": _percent(high),
        "training_accuracy": _percent(entry.training_accuracy),
        "ceiling": _percent(entry.ceiling),
        "balanced_accuracy": _percent(entry.evaluation["balanced_accuracy"].mean),
        "roc_auc": roc_auc,
        "runs": entry.runs,
    }


def markdown(summary: TableSummary) -> str:
    """Return a table as Markdown: a compact one, then one with everything."""
    table = summary.table
    protocol = ""
    if summary.protocol == "nested":
        protocol = "; layers and width chosen inside the training part of each split"
    parts = [
        f"# {table.title}\n\n{table.says}{protocol}.\n",
        _compact(summary),
        "## In full\n",
        lines([_full_row(entry) for entry in ordered(summary)]),
        _LEGEND,
        "## Rows\n",
        *(f"- **{row.title}** (`{row.id}`): {row.says}" for row in summary.rows),
        "",
    ]
    return "\n".join(parts)


def ours(entry: Entry) -> str:
    """Return our accuracy as the paper prints its own; one run has no spread over runs."""
    accuracy = entry.evaluation["accuracy"]
    mean, spread = f"{100 * accuracy.mean:.1f}", accuracy.spread
    if entry.row.best_of is not None or entry.runs == 1 or spread != spread:
        return mean
    return f"{mean} ± {100 * spread:.1f}"


def marked(entry: Entry) -> str:
    """Return the difference from the paper with its sign, marked where it is notable.

    To one decimal, as the paper's figures.
    """
    if entry.difference is None:
        return ""
    points = round(entry.difference, 1) + 0.0  # no −0.0
    text = f"{points:+.1f}".replace("-", "−")
    if abs(points) <= NOTABLE:
        return text
    return f"▲ {text}" if points > 0 else f"▼ {text}"


def lines(rows: list[dict[str, str]]) -> str:
    """Return rows, texts by title, as a Markdown table; all columns but the first flush right."""
    titles = list(rows[0])
    rule = ["---", *["---:"] * (len(titles) - 1)]
    table = [titles, rule, *(list(row.values()) for row in rows)]
    return "".join(map(_line, table))


def _line(cells: list[str]) -> str:
    escaped = [cell.replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(escaped)} |\n"


def _compact(summary: TableSummary) -> str:
    has_paper = any(entry.paper for entry in summary.entries.values())
    head = "ours / paper" if has_paper else "ours"
    rows = []
    for row in summary.rows:
        cells = {head: row.title} | dict.fromkeys(summary.datasets, "")
        for name in summary.datasets:
            entry = summary.entries.get((row.id, name))
            if entry is not None:
                cells[name] = ours(entry)
                if entry.paper is not None:
                    cells[name] += f" / {entry.paper}"
        rows.append(cells)
    return lines(rows)


def _full_row(entry: Entry) -> dict[str, str]:
    accuracy = entry.evaluation["accuracy"]
    low, high = _interval(entry)
    return {
        "data set": entry.dataset,
        "row": entry.row.title,
        "paper": str(entry.paper or ""),
        "ours": ours(entry),
        "difference": marked(entry),
        "max run": _shown(max(accuracy.repeat_means)),
        "majority": _shown(accuracy.majority),
        "95 % interval": "" if math.isnan(low) else f"{_shown(low)} to {_shown(high)}",
        "training accuracy": _shown(entry.training_accuracy),
        "ceiling": _shown(entry.ceiling),
        "runs": str(entry.runs),
        "seconds": f"{entry.seconds:.1f}" if entry.seconds else "",
        "peak MiB": "" if entry.memory is None else f"{entry.memory / 2**20:.0f}",
    }


def _interval(entry: Entry) -> tuple[float, float]:
    """Return the interval of the mean; the best run of another row estimates nothing."""
    if entry.row.best_of is not None:
        return math.nan, math.nan
    return entry.evaluation["accuracy"].interval


def _cost(entry: Entry) -> dict[str, Any]:
    return {"seconds": round(entry.seconds, 3), "memory": entry.memory}


def _details(entry: Entry) -> dict[str, Any]:
    means = entry.evaluation["accuracy"].repeat_means
    settings = dict(entry.settings)
    settings.pop("device", None)
    return {
        "run_means": [_percent(float(mean)) for mean in means],
        "settings": settings,
        "cost": _cost(entry) | {"devices": entry.devices},
    }


def _predictions(summary: TableSummary, dataset: str) -> dict[str, list[Any]]:
    """Return the predictions of every fold for a data set as columns.

    A row that is the best run of another has none of its own.
    """
    columns: dict[str, list[Any]] = defaultdict(list)
    for entry in ordered(summary):
        if entry.dataset != dataset or entry.row.best_of is not None:
            continue
        evaluation = entry.evaluation
        is_named = evaluation.task == "classes"
        names = np.array(evaluation.class_names)
        for split, outcome in zip(evaluation.splits, evaluation.outcomes, strict=True):
            size = len(split.test)
            columns["row"] += [entry.row.id] * size
            columns["run"] += [split.repeat] * size
            columns["fold"] += [split.fold] * size
            columns["item"] += split.test.tolist()
            for title, values in (
                ("truth", evaluation.truth[split.test]),
                ("prediction", outcome.prediction),
            ):
                columns[title] += (names[values] if is_named else values).tolist()
            for number, name in enumerate(evaluation.class_names):
                chances: list[Any] = [None] * size
                if outcome.probability is not None:
                    chances = outcome.probability[:, number].round(6).tolist()
                columns[f"p({name})"] += chances
    return columns


def _percent(value: float | None) -> float | None:
    return None if value is None else _rounded(100 * value)


def _rounded(value: float) -> float | None:
    return None if value != value else round(value, 4)


def _shown(value: float | None) -> str:
    return "" if value is None or value != value else f"{100 * value:.1f}"
