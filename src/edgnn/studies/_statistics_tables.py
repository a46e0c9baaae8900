"""The tables of the data sets: what the paper says of them beside what the files hold."""

from __future__ import annotations

from typing import Any

from edgnn._json import plain, to_csv
from edgnn.io.datasets import Dataset, statistics
from edgnn.studies._study import Study
from edgnn.studies._study_files import write_bytes
from edgnn.studies._tables import Table
from edgnn.studies._write_tables import dumped, lines


def write_statistics(study: Study, table: Table, data: list[Dataset]) -> dict[str, Any]:
    """Write ``tables/NAME.md``, ``.csv`` and ``.json`` of a table of data sets; return what the JSON file holds."""
    document = statistics_document(table, data)
    place = study.path / "tables" / table.name
    write_bytes(place.with_name(f"{table.name}.md"), _markdown(table, document).encode())
    write_bytes(place.with_name(f"{table.name}.csv"), to_csv(_columns(document)))
    write_bytes(place.with_name(f"{table.name}.json"), dumped(document))
    return document


def statistics_document(table: Table, data: list[Dataset]) -> dict[str, Any]:
    """Return a table of data sets as plain values."""
    entries = [
        {
            "dataset": one.name,
            "statistic": found.key,
            "title": found.title,
            "ours": round(found.value, 4),
            "paper": found.paper,
            "differs": found.differs,
        }
        for one in data
        for found in statistics(one)
    ]
    written: dict[str, Any] = plain(
        {
            "format": 1,
            "table": table.name,
            "title": table.title,
            "says": table.says,
            "datasets": [one.name for one in data],
            "entries": entries,
            "notes": {one.name: one.paper_note for one in data if one.paper_note},
        }
    )
    return written


def statistics_rows(document: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return titles and texts of a table of data sets, the paper's number in brackets, with a star where it differs."""
    titles = list(dict.fromkeys(entry["title"] for entry in document["entries"]))
    rows = []
    for dataset in document["datasets"]:
        found = {
            entry["title"]: entry for entry in document["entries"] if entry["dataset"] == dataset
        }
        rows.append(
            [dataset, *(_shown(found[title]) if title in found else "" for title in titles)]
        )
    return ["ours (paper)", *titles], rows


def _shown(entry: dict[str, Any]) -> str:
    ours = f"{entry['ours']:,.1f}" if isinstance(entry["ours"], float) else f"{entry['ours']:,}"
    paper = "" if entry["paper"] is None else f" ({entry['paper']:,}{'*' * entry['differs']})"
    return ours + paper


def _markdown(table: Table, document: dict[str, Any]) -> str:
    notes = "\n".join(f"- \\* {name}: {note}." for name, note in document["notes"].items())
    return (
        "\n".join(
            [f"# {table.title}\n\n{table.says}.\n", lines(*statistics_rows(document)), notes]
        ).rstrip()
        + "\n"
    )


def _columns(document: dict[str, Any]) -> dict[str, list[Any]]:
    names = ("dataset", "statistic", "ours", "paper", "differs")
    return {name: [entry[name] for entry in document["entries"]] for name in names}
