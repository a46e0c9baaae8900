"""Tables that are not rows beside the paper's: data sets, the search, the choice of recipes."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgnn.io.datasets import Dataset, statistics
from edgnn.studies._nested import search_table
from edgnn.studies._study import Study
from edgnn.studies._summaries import Entry, TableSummary
from edgnn.studies._tables import Row, Table
from edgnn.studies._write_tables import lines, ordered, write_files

#: The table that recipes are developed in.
DEVELOPED = "develop"

_SEARCH_LEGEND = """\
Chosen: in how many splits the candidate had the lowest validation loss, which alone decides.
Validation loss, training accuracy and accuracy (percent) are means over all splits; the accuracy
of a candidate was looked at afterwards only, and decides nothing.
"""
_CHOICE_LEGEND = """\
Accuracies in percent. The recipe with the highest mean over the data sets of its kind is taken,
of the trained networks likewise; rows that lack a data set are not ranked. Recipes were developed
on these accuracies, so the best of them flatters itself.
"""


def write_statistics(study: Study, table: Table, data: list[Dataset]) -> dict[str, Any]:
    """Write a table of data sets; return what the JSON file holds."""
    entries = [
        {
            "dataset": one.name,
            "statistic": statistic.key,
            "title": statistic.title,
            "ours": round(statistic.value, 4),
            "paper": statistic.paper,
            "differs": statistic.differs,
        }
        for one in data
        for statistic in statistics(one)
    ]
    document = {
        "format": 1,
        "table": table.name,
        "title": table.title,
        "says": table.says,
        "datasets": [one.name for one in data],
        "entries": entries,
        "notes": {one.name: one.paper_note for one in data if one.paper_note},
    }
    notes = [f"- \\* {one.name}: {one.paper_note}." for one in data if one.paper_note]
    head = f"# {table.title}\n\n{table.says}.\n"
    text = "\n".join([head, lines(statistics_rows(document)), *notes]).rstrip() + "\n"
    rows = [dict(entry) for entry in entries]
    for row in rows:
        del row["title"]
    return write_files(study, table.name, text, rows, document)


def statistics_rows(document: dict[str, Any]) -> list[dict[str, str]]:
    """Return the rows of a table of data sets as texts by title.

    The paper's number stands in brackets, with a star where it differs.
    """
    rows = {name: {"ours (paper)": name} for name in document["datasets"]}
    titles = dict.fromkeys(entry["title"] for entry in document["entries"])
    for row in rows.values():
        row |= dict.fromkeys(titles, "")
    for entry in document["entries"]:
        rows[entry["dataset"]][entry["title"]] = _statistic(entry)
    return list(rows.values())


def _statistic(entry: dict[str, Any]) -> str:
    ours, paper = entry["ours"], entry["paper"]
    text = f"{ours:,.1f}" if isinstance(ours, float) else f"{ours:,}"
    if paper is None:
        return text
    star = "*" if entry["differs"] else ""
    return f"{text} ({paper:,}{star})"


def write_search(study: Study, summary: TableSummary) -> list[dict[str, Any]]:
    """Write the search of the nested protocol, if there is one; return what the JSON file holds."""
    entries: list[dict[str, Any]] = []
    for entry in ordered(summary):
        if entry.row.search:
            entries += [_candidate(entry, row) for row in search_table(entry.evaluation)]
    if not entries:
        return []
    name = f"search-{summary.table.name}"
    title = f"{summary.table.title}: the search over layers and width"
    document = {"format": 1, "table": name, "title": title, "entries": entries}
    rows = [_search_row(entry) for entry in entries]
    text = "\n".join([f"# {title}\n", lines(rows), _SEARCH_LEGEND])
    return [write_files(study, name, text, entries, document)]


def _search_row(entry: dict[str, Any]) -> dict[str, str]:
    return {
        "data set": entry["dataset"],
        "row": entry["title"],
        "candidate": entry["candidate"],
        "chosen": str(entry["chosen"]),
        "validation loss": f"{entry['valid_loss']:.4f}",
        "training accuracy": f"{entry['training_accuracy']:.1f}",
        "accuracy": f"{entry['accuracy']:.1f}",
        "runs": str(entry["runs"]),
    }


def _candidate(entry: Entry, candidate: dict[str, Any]) -> dict[str, Any]:
    head = {
        "row": entry.row.id,
        "title": entry.row.title,
        "dataset": entry.dataset,
        "runs": entry.runs,
    }
    rounded = {
        "valid_loss": round(candidate["valid_loss"], 6),
        "training_accuracy": round(100 * candidate["training_accuracy"], 4),
        "accuracy": round(100 * candidate["accuracy"], 4),
    }
    return head | candidate | rounded


def write_choice(study: Study, summary: TableSummary) -> list[dict[str, Any]]:
    """Write the choice of recipes, if there is one; return what the JSON file holds."""
    ranked = rankings(summary)
    if not ranked:
        return []
    title = "The choice of recipes"
    document = {"format": 1, "table": "choice", "title": title, "rankings": ranked}
    entries = []
    for ranking in ranked:
        for row in ranking["rows"]:
            head = {"level": ranking["level"], "row": row["row"], "title": row["title"]}
            tail = {"mean": row["mean"], "runs": row["runs"]}
            for dataset, accuracy in row["accuracy"].items():
                entries.append(head | {"dataset": dataset, "accuracy": accuracy} | tail)
    text = "\n".join([f"# {title}\n", *map(_ranking_markdown, ranked), _CHOICE_LEGEND])
    return [write_files(study, "choice", text, entries, document)]


def rankings(summary: TableSummary) -> list[dict[str, Any]]:
    """Return, for graphs and for nodes, the rows by their mean accuracy over all data sets.

    Each ranking has the ``level``, its ``datasets``, the ``rows`` (id, title, accuracies, mean,
    runs), the best first, and which are ``chosen``: the best of all, and the best whose weights are
    trained by message passing alone.
    """
    levels = summary.table.protocol
    ranked = [_ranking(summary, level, protocol) for level, protocol in levels.items()]
    return [ranking for ranking in ranked if ranking["rows"]]


def _ranking(summary: TableSummary, level: str, protocol: str) -> dict[str, Any]:
    """Return the ranking of the rows that have cells of a protocol on all its data sets."""
    by_row = _entries_by_row(summary, protocol)
    with_entries = {name for entries in by_row.values() for name in entries}
    datasets = [name for name in summary.datasets if name in with_entries]
    rows = []
    for row in summary.rows:
        entries = by_row.get(row.id, {})
        if entries and len(entries) == len(datasets):
            rows.append(_ranked_row(row, {name: entries[name] for name in datasets}))
    rows.sort(key=lambda row: -row["mean"])
    best = [row["row"] for row in rows]
    trained = [row for row in best if summary.table.row(row).trained]
    chosen = {"any": next(iter(best), None), "trained": next(iter(trained), None)}
    return {"level": level, "datasets": datasets, "rows": rows, "chosen": chosen}


def _entries_by_row(summary: TableSummary, protocol: str) -> dict[str, dict[str, Entry]]:
    """Return the entries with cells of a protocol, by row and data set."""
    by_row: dict[str, dict[str, Entry]] = {}
    for (row_id, dataset), entry in summary.entries.items():
        if entry.settings["protocol"] == protocol:
            by_row.setdefault(row_id, {})[dataset] = entry
    return by_row


def _ranked_row(row: Row, entries: dict[str, Entry]) -> dict[str, Any]:
    accuracy = {name: 100 * entry.evaluation.mean for name, entry in entries.items()}
    return {
        "row": row.id,
        "title": row.title,
        "accuracy": accuracy,
        "mean": float(np.mean(list(accuracy.values()))),
        "runs": min(entry.runs for entry in entries.values()),
    }


def _ranking_markdown(ranking: dict[str, Any]) -> str:
    rows = []
    for row in ranking["rows"]:
        head = {"recipe": f"{row['title']} (`{row['row']}`)"}
        accuracies = {name: f"{row['accuracy'][name]:.1f}" for name in ranking["datasets"]}
        rows.append(head | accuracies | {"mean": f"{row['mean']:.2f}", "runs": str(row["runs"])})
    chosen = ranking["chosen"]
    trained = ""
    if chosen["trained"] is not None:
        trained = f"; of the trained networks `{chosen['trained']}`"
    title = f"## {ranking['level'].capitalize()}s: `{chosen['any']}`{trained}\n"
    return f"{title}\n{lines(rows)}"
