"""The tables of a study as Markdown, CSV and JSON: paper and ours side by side, and every fold's predictions."""

from __future__ import annotations

import json
import math
from typing import Any

from edgnn._json import plain, to_csv
from edgnn.studies._study import Study
from edgnn.studies._study_files import write_bytes
from edgnn.studies._summaries import Entry, TableSummary

#: A difference from the paper beyond so many points is marked.
NOTABLE = 1.5

_LEGEND = """\
Accuracies in percent. Ours: mean ± standard deviation of the runs (of the folds, if there is one run). Difference: ours minus the
paper's mean, marked ▲ or ▼ beyond 1.5 points. Max run: the best run, chosen by its test accuracy as the paper's row "edGNN (max)"
is, so no estimate of anything. Majority: the most frequent class of each training part. Interval: 95 %, Nadeau and Bengio's
corrected resampled t over all folds; for a single test part Wilson's, widened by the runs. Ceiling: the best training accuracy of
any model that Eq. 2 bounds.
"""


def write_table(study: Study, summary: TableSummary) -> dict[str, Any]:
    """Write ``tables/NAME.md``, ``.csv`` and ``.json`` and the predictions of each data set; return what the JSON file holds."""
    document = table_document(study, summary)
    place = study.path / "tables" / summary.name
    write_bytes(place.with_name(f"{summary.name}.md"), markdown(summary).encode())
    write_bytes(place.with_name(f"{summary.name}.csv"), to_csv(_columns(document["entries"])))
    write_bytes(place.with_name(f"{summary.name}.json"), dumped(document))
    for dataset in summary.datasets:
        write_bytes(
            study.path / "predictions" / summary.name / f"{dataset}.csv",
            to_csv(_predictions(summary, dataset)),
        )
    return document


def dumped(document: dict[str, Any]) -> bytes:
    """Return a document as the bytes of a JSON file."""
    return (json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def table_document(study: Study, summary: TableSummary) -> dict[str, Any]:
    """Return a table as plain values; what depends on the machine and the day stands under ``"cost"`` and ``"made"``."""
    table = summary.table
    entries = list(summary.entries.values())
    written: dict[str, Any] = plain(
        {
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
            "entries": [numbers(entry) | _details(entry) for entry in ordered(summary)],
            "made": {
                "commands": [call.get("command") for call in study.calls],
                "environment": entries[0].environment if entries else {},
            },
        }
    )
    return written


def ordered(summary: TableSummary) -> list[Entry]:
    """Return the entries data set by data set, in the order of rows."""
    pairs = ((row.id, dataset) for dataset in summary.datasets for row in summary.rows)
    return [summary.entries[pair] for pair in pairs if pair in summary.entries]


def numbers(entry: Entry) -> dict[str, Any]:
    """Return an entry as plain numbers; accuracies in percent."""
    accuracy = entry.evaluation["accuracy"]
    low, high = _interval(entry)
    return {
        "row": entry.row.id,
        "title": entry.row.title,
        "dataset": entry.dataset,
        "paper": None if entry.paper is None else entry.paper.mean,
        "paper_spread": None if entry.paper is None else entry.paper.spread,
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
        "roc_auc": _rounded(entry.evaluation["roc_auc"].mean)
        if "roc_auc" in entry.evaluation.metrics
        else None,
        "runs": entry.runs,
    }


def cost(entry: Entry) -> dict[str, Any]:
    """Return what an entry took: seconds of all runs, most bytes."""
    return {"seconds": round(entry.seconds, 3), "memory": entry.memory, "devices": entry.devices}


def markdown(summary: TableSummary) -> str:
    """Return a table as Markdown: a compact one, then one with everything."""
    table = summary.table
    nested = (
        "; layers and width chosen inside the training part of each split"
        if summary.protocol == "nested"
        else ""
    )
    parts = [
        f"# {table.title}\n\n{table.says}{nested}.\n",
        _compact(summary),
        "## In full\n",
        _full(summary),
        _LEGEND,
    ]
    rows = "\n".join(f"- **{row.title}** (`{row.id}`): {row.says}" for row in summary.rows)
    return "\n".join([*parts, "## Rows\n", rows, ""])


def ours(entry: Entry) -> str:
    """Return our accuracy as the paper prints its own; one run has no spread over runs."""
    accuracy = entry.evaluation["accuracy"]
    spread = accuracy.spread
    alone = entry.row.best_of is not None or entry.runs == 1 or spread != spread
    return f"{100 * accuracy.mean:.1f}" + ("" if alone else f" ± {100 * spread:.1f}")


def marked(entry: Entry) -> str:
    """Return the difference from the paper with its sign, marked where it is notable; to one decimal, as the paper's figures."""
    if entry.difference is None:
        return ""
    points = round(entry.difference, 1) + 0.0  # no −0.0
    mark = "" if abs(points) <= NOTABLE else "▲ " if points > 0 else "▼ "
    return mark + f"{points:+.1f}".replace("-", "−")


def lines(titles: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table; all columns but the first are set flush right."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    rule = ["---", *(["---:"] * (len(titles) - 1))]
    return "\n".join("| " + " | ".join(row) + " |" for row in [titles, rule, *cells]) + "\n"


def _compact(summary: TableSummary) -> str:
    beside = " / paper" if any(entry.paper for entry in summary.entries.values()) else ""
    rows = []
    for row in summary.rows:
        entries = [summary.entries.get((row.id, dataset)) for dataset in summary.datasets]
        shown = [
            "" if one is None else ours(one) + (f" / {one.paper}" if one.paper else "")
            for one in entries
        ]
        rows.append([row.title, *shown])
    return lines([f"ours{beside}", *summary.datasets], rows)


def _full(summary: TableSummary) -> str:
    titles = [
        "data set",
        "row",
        "paper",
        "ours",
        "difference",
        "max run",
        "majority",
        "95 % interval",
        "training accuracy",
        "ceiling",
        "runs",
        "seconds",
        "peak MiB",
    ]
    rows = []
    for entry in ordered(summary):
        accuracy, (low, high) = entry.evaluation["accuracy"], _interval(entry)
        rows.append(
            [
                entry.dataset,
                entry.row.title,
                "" if entry.paper is None else str(entry.paper),
                ours(entry),
                marked(entry),
                _shown(max(accuracy.repeat_means)),
                _shown(accuracy.majority),
                "" if low != low else f"{_shown(low)} to {_shown(high)}",
                _shown(entry.training_accuracy),
                _shown(entry.ceiling),
                str(entry.runs),
                f"{entry.seconds:.1f}" if entry.seconds else "",
                "" if entry.memory is None else f"{entry.memory / 2**20:.0f}",
            ]
        )
    return lines(titles, rows)


def _interval(entry: Entry) -> tuple[float, float]:
    """Return the interval of the mean; none for the best run of another row, which estimates nothing."""
    return (math.nan, math.nan) if entry.row.best_of else entry.evaluation["accuracy"].interval


def _columns(entries: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return the numbers of all entries as columns, what they cost last."""
    names = [name for name in entries[0] if name not in ("cost", "run_means", "settings")]
    columns = {name: [entry[name] for entry in entries] for name in names}
    return columns | {
        name: [entry["cost"][name] for entry in entries] for name in ("seconds", "memory")
    }


def _details(entry: Entry) -> dict[str, Any]:
    means = entry.evaluation["accuracy"].repeat_means
    settings = {name: value for name, value in entry.settings.items() if name != "device"}
    return {
        "run_means": [_percent(float(mean)) for mean in means],
        "settings": settings,
        "cost": cost(entry),
    }


def _predictions(summary: TableSummary, dataset: str) -> dict[str, list[Any]]:
    """Return every fold's predictions for a data set as columns; those of the best run of another row are the other's."""
    names = ["row", "run", "fold", "item", "truth", "prediction"]
    found = [
        summary.entries[row.id, dataset]
        for row in summary.rows
        if (row.id, dataset) in summary.entries
    ]
    entries = [entry for entry in found if entry.row.best_of is None]
    classes = entries[0].evaluation.class_names
    columns: dict[str, list[Any]] = {
        name: [] for name in [*names, *(f"p({name})" for name in classes)]
    }
    for entry in entries:
        evaluation = entry.evaluation
        for split, outcome in zip(evaluation.splits, evaluation.outcomes, strict=True):
            said = [classes[code] for code in outcome.prediction.tolist()]
            true = [classes[code] for code in evaluation.truth[split.test].tolist()]
            some = [
                [entry.row.id] * len(said),
                [split.repeat] * len(said),
                [split.fold] * len(said),
                split.test.tolist(),
                true,
                said,
            ]
            given = outcome.probability
            chances = (
                [[None] * len(said) for _ in classes]
                if given is None
                else given.T.round(6).tolist()
            )
            for column, values in zip(columns.values(), some + chances, strict=True):
                column += values
    return columns


def _percent(value: float | None) -> float | None:
    return None if value is None else _rounded(100 * value)


def _rounded(value: float) -> float | None:
    return None if value != value else round(value, 4)


def _shown(value: float | None) -> str:
    return "" if value is None or value != value else f"{100 * value:.1f}"
