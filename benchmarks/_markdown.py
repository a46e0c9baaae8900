"""Stored results as Markdown: a table per file, and the places in a page where tables belong."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks._amounts import amount, extras, percent, size
from benchmarks._goals import all_hold
from benchmarks._harness import Row, Skipped, row_of
from edgnn.errors import EdgnnError, FormatError

_SIGNS = {True: "✓", False: "✗", None: "?"}
_COLUMNS = (
    "",
    "ours",
    "peer",
    "peer's",
    "ratio",
    "asked",
    "of copying",
    "memory",
    "peer's memory",
    "more",
)
_PLACE = re.compile(
    r"(<!-- figures: (?P<name>[\w.-]+) -->\n)(?P<inside>.*?)(<!-- end of figures -->)", re.DOTALL
)


def stored(
    folder: str | os.PathLike[str], questions: list[str] | None = None
) -> dict[str, dict[str, Any]]:
    """Return the results kept in a folder by the names of their files (``layer-cuda``), of all questions or of some."""
    found = {}
    for path in sorted(Path(folder).glob("*.json")):
        try:
            content = json.loads(path.read_bytes())
        except ValueError as error:
            raise FormatError(
                path, f"this is no JSON ({error}): run python -m benchmarks with --out again"
            ) from None
        if not isinstance(content, dict) or not {"question", "results"} <= content.keys():
            continue  # something else that is kept beside results
        if not questions or content["question"] in questions:
            found[path.stem] = content
    if not found:
        raise EdgnnError(
            f"{os.fspath(folder)}: there are no results{' of these questions' if questions else ''} in this folder"
        )
    return found


def markdown(results: Mapping[str, Any]) -> str:
    """Return the results of a question, as :func:`~benchmarks.document` returns them, as a table with machine and command.

    Columns that nothing stands in are left out; what could not be measured is listed behind the
    table.
    """
    try:
        rows = [row_of(entry) for entry in results["results"]]
    except (KeyError, TypeError) as error:
        raise EdgnnError(
            f"these are no results of python -m benchmarks that this version knows ({error}): measure again"
        ) from None
    cells = [_cells(row) for row in rows if isinstance(row, Row)]
    columns = [
        number for number in range(len(_COLUMNS)) if number < 2 or any(row[number] for row in cells)
    ]
    lines = [_origin(results), ""]
    if cells:
        lines += [_line([_COLUMNS[number] for number in columns]), "|---" * len(columns) + "|"]
        lines += [_line([row[number] for number in columns]) for row in cells]
    skipped = [
        f"- {_plain(row.what)}: not measured, {_plain(row.reason)}"
        for row in rows
        if isinstance(row, Skipped)
    ]
    return "\n".join([*lines, *([""] if cells and skipped else []), *skipped]) + "\n"


def fill(page: str, tables: Mapping[str, str]) -> tuple[str, list[str]]:
    """Put tables in their places of a page, and return it with the names of the places that were filled.

    A place is from ``<!-- figures: layer-cuda -->`` to ``<!-- end of figures -->``. Places without
    a table stay as they are.
    """
    filled = []

    def put(place: re.Match[str]) -> str:
        name = place["name"]
        if name not in tables:
            return place[0]
        filled.append(name)
        return f"{place[1]}\n{tables[name]}\n{place[4]}"

    return _PLACE.sub(put, page), filled


def _origin(results: Mapping[str, Any]) -> str:
    """Return when, where, of what and by which command the results came."""
    environment, settings = results.get("environment", {}), results.get("settings", {})
    device = settings.get("device", "cpu")
    machine = environment.get("processor", "")
    if device != "cpu" and environment.get("accelerator"):
        machine = environment["accelerator"]
    elif "threads" in settings:
        machine += f", {settings['threads']} thread{'s' * (settings['threads'] != 1)}"
    command = f"python -m benchmarks {results['question']}" + (
        "" if device == "cpu" else f" --device {device}"
    )
    torch = environment.get("packages", {}).get("torch")
    parts = [
        f"`{command}{' --quick' if settings.get('quick') else ''}`",
        machine,
        torch and f"torch {torch}",
        str(environment.get("date", ""))[:10],
        environment.get("commit") and f"commit {environment['commit'][:7]}",
    ]
    return ", ".join(_plain(part) for part in parts if part)


def _cells(row: Row) -> list[str]:
    verdicts = row.verdicts
    asked = row.goal and f"{_SIGNS[all_hold([verdict for _, verdict in verdicts])]} {row.goal}"
    memory = row.memory
    return [
        _plain(row.what) if row.ours == "edgnn" else f"**{_plain(row.ours)}**, {_plain(row.what)}",
        amount(row.ours_s, row.unit),
        _plain(row.peer),
        "" if row.peer_s is None else amount(row.peer_s, row.unit),
        "" if row.ratio is None else f"{row.ratio:.3g}×",
        asked,
        "" if row.traffic is None else percent(row.traffic.share),
        "" if memory is None else size(memory.ours),
        "" if memory is None or memory.peer is None else size(memory.peer),
        "; ".join(extras(row.extra)),
    ]


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _plain(text: str) -> str:
    """Return text that cannot end a cell of a table, or a line."""
    return " ".join(text.split()).replace("|", "\\|")
