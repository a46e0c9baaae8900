"""The search of the nested protocol as a table: what every candidate gave on every data set."""

from __future__ import annotations

from typing import Any

from edgnn._json import plain, to_csv
from edgnn.studies._nested import search_table
from edgnn.studies._study import Study
from edgnn.studies._study_files import write_bytes
from edgnn.studies._summaries import TableSummary
from edgnn.studies._write_tables import dumped, lines, ordered

_LEGEND = """\
Chosen: in how many splits the candidate had the lowest validation loss, which alone decides. Validation loss, training accuracy and
accuracy (percent) are means over all splits; the accuracy of a candidate was looked at afterwards only, and decides nothing.
"""


def write_search(study: Study, summary: TableSummary) -> dict[str, Any] | None:
    """Write ``tables/search-NAME.md``, ``.csv`` and ``.json``; return what the JSON file holds, ``None`` if there was no search."""
    entries = [
        {
            "row": entry.row.id,
            "title": entry.row.title,
            "dataset": entry.dataset,
            "runs": entry.runs,
        }
        | _percents(found)
        for entry in ordered(summary)
        if entry.row.search
        for found in search_table(entry.evaluation)
    ]
    if not entries:
        return None
    name = f"search-{summary.table.name}"
    title = f"{summary.table.title}: the search over layers and width"
    document: dict[str, Any] = plain(
        {"format": 1, "table": name, "title": title, "entries": entries}
    )
    place = study.path / "tables" / name
    write_bytes(place.with_name(f"{name}.md"), _markdown(title, entries).encode())
    write_bytes(
        place.with_name(f"{name}.csv"),
        to_csv({key: [entry[key] for entry in entries] for key in entries[0]}),
    )
    write_bytes(place.with_name(f"{name}.json"), dumped(document))
    return document


def _percents(found: dict[str, Any]) -> dict[str, Any]:
    shares = {name: round(100 * found[name], 4) for name in ("training_accuracy", "accuracy")}
    return found | {"valid_loss": round(found["valid_loss"], 6)} | shares


def _markdown(title: str, entries: list[dict[str, Any]]) -> str:
    titles = [
        "data set",
        "row",
        "candidate",
        "chosen",
        "validation loss",
        "training accuracy",
        "accuracy",
        "runs",
    ]
    rows = [
        [
            entry["dataset"],
            entry["title"],
            entry["candidate"],
            str(entry["chosen"]),
            f"{entry['valid_loss']:.4f}",
            f"{entry['training_accuracy']:.1f}",
            f"{entry['accuracy']:.1f}",
            str(entry["runs"]),
        ]
        for entry in entries
    ]
    return "\n".join([f"# {title}\n", lines(titles, rows), _LEGEND])
