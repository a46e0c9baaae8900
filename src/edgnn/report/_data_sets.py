"""The tables of the data sets in a study: what the files hold beside what the paper says."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgnn.report._html import Cell, Html, section, sortable, tag
from edgnn.studies import TABLES, find_table


def data_set_tables(folder: Path, lost: list[str]) -> list[dict[str, Any]]:
    """Return the tables of data sets that a study has written; damaged ones are named in ``lost``."""
    found = []
    for path in (
        folder / "tables" / f"{name}.json" for name in TABLES if find_table(name).statistics
    ):
        if not path.is_file():
            continue
        try:
            document = json.loads(path.read_bytes())
            data_set_section(document)
            found.append(document)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            lost.append(
                f"{path.name} cannot be read ({type(error).__name__}: {error}); `edgnn reproduce` writes it again."
            )
    return found


def anchor_of(document: Mapping[str, Any]) -> str:
    """Return the name by which the page links to a table."""
    return f"table-{document['table']}"


def data_set_section(document: Mapping[str, Any]) -> Html:
    """Return a table with one row per data set, the paper's number below ours."""
    titles = list(dict.fromkeys(str(entry["title"]) for entry in document["entries"]))
    rows = []
    for name in document["datasets"]:
        here = {
            str(entry["title"]): entry for entry in document["entries"] if entry["dataset"] == name
        }
        rows.append([Cell(str(name)), *(_cell(here.get(title)) for title in titles)])
    notes = [
        tag("p", f"* {name}: {note}.", class_="note") for name, note in document["notes"].items()
    ]
    says = str(document["says"])
    caption = "Ours, with the paper’s number below; * where they differ"
    told = tag("p", f"{says[:1].upper()}{says[1:]}.")
    return section(
        str(document["title"]),
        told,
        sortable(caption, ["data set", *titles], rows),
        *notes,
        id_=anchor_of(document),
    )


def _cell(entry: Mapping[str, Any] | None) -> Cell:
    if entry is None:
        return Cell("–", math.nan)
    paper = entry["paper"]
    note = "" if paper is None else f"paper {_shown(paper)}{'*' * bool(entry['differs'])}"
    return Cell(_shown(entry["ours"]), float(entry["ours"]), note)


def _shown(value: float) -> str:
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"
