"""Which recipe to take: the one with the best mean over the data sets that recipes are developed on."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgnn._json import plain, to_csv
from edgnn.studies._study import Study
from edgnn.studies._study_files import write_bytes
from edgnn.studies._summaries import TableSummary
from edgnn.studies._write_tables import dumped, lines

#: The table that recipes are developed in.
DEVELOPED = "develop"

_LEGEND = """\
Accuracies in percent. The recipe with the highest mean over the data sets of its kind is taken, of the trained networks likewise;
rows that lack a data set are not ranked. Recipes were developed on these accuracies, so the best of them flatters itself.
"""


def rankings(summary: TableSummary) -> list[dict[str, Any]]:
    """Return, for graphs and for nodes, the rows by the mean of their accuracies over all data sets, best first.

    Each ranking tells the ``level``, its ``datasets``, the ``rows`` (id, title, accuracies, mean,
    runs), and which are ``chosen``: the best of all, and the best whose weights are trained by
    message passing alone.
    """
    found = []
    for level, protocol in summary.table.protocol.items():
        entries = {
            key: entry
            for key, entry in summary.entries.items()
            if entry.settings["protocol"] == protocol
        }
        datasets = [
            name for name in summary.datasets if any(name == dataset for _, dataset in entries)
        ]
        rows = [
            row
            for row in summary.rows
            if datasets and all((row.id, name) in entries for name in datasets)
        ]
        mean = {
            row.id: float(
                np.mean([100 * entries[row.id, name].evaluation.mean for name in datasets])
            )
            for row in rows
        }
        rows.sort(key=lambda row: -mean[row.id])
        told = [
            {
                "row": row.id,
                "title": row.title,
                "accuracy": {
                    name: 100 * entries[row.id, name].evaluation.mean for name in datasets
                },
                "mean": mean[row.id],
                "runs": min(entries[row.id, name].runs for name in datasets),
            }
            for row in rows
        ]
        if rows:
            chosen = {
                "any": rows[0].id,
                "trained": next((row.id for row in rows if row.trained), None),
            }
            found.append({"level": level, "datasets": datasets, "rows": told, "chosen": chosen})
    return found


def write_choice(study: Study, summary: TableSummary) -> dict[str, Any] | None:
    """Write ``tables/choice.md``, ``.csv`` and ``.json``; return what the JSON file holds, ``None`` if there is no choice."""
    found = rankings(summary)
    if not found:
        return None
    document: dict[str, Any] = plain(
        {"format": 1, "table": "choice", "title": "The choice of recipes", "rankings": found}
    )
    write_bytes(study.path / "tables" / "choice.md", _markdown(found).encode())
    write_bytes(study.path / "tables" / "choice.csv", to_csv(_columns(found)))
    write_bytes(study.path / "tables" / "choice.json", dumped(document))
    return document


def _columns(found: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return a line for each row and data set as columns."""
    told = [
        {
            "level": ranking["level"],
            "row": one["row"],
            "title": one["title"],
            "dataset": name,
            "accuracy": accuracy,
        }
        | {"mean": one["mean"], "runs": one["runs"]}
        for ranking in found
        for one in ranking["rows"]
        for name, accuracy in one["accuracy"].items()
    ]
    return {key: [line[key] for line in told] for key in told[0]}


def _markdown(found: list[dict[str, Any]]) -> str:
    parts = ["# The choice of recipes\n"]
    for ranking in found:
        datasets = ranking["datasets"]
        rows = [
            [
                f"{one['title']} (`{one['row']}`)",
                *(f"{one['accuracy'][name]:.1f}" for name in datasets),
                f"{one['mean']:.2f}",
                str(one["runs"]),
            ]
            for one in ranking["rows"]
        ]
        chosen = ranking["chosen"]
        trained = (
            "" if chosen["trained"] is None else f"; of the trained networks `{chosen['trained']}`"
        )
        parts += [f"## {ranking['level'].capitalize()}s: `{chosen['any']}`{trained}\n"]
        parts += [lines(["recipe", *datasets, "mean", "runs"], rows)]
    return "\n".join([*parts, _LEGEND])
