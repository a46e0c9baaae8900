"""Results kept in a folder: how figures moved from run to run, and Markdown tables."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._harness import Row, Skipped, all_hold, row_of
from benchmarks._table import amount, extras, percent, size
from edgnn._files import atomic_file
from edgnn.errors import EdgnnError, FormatError

HISTORY = "history.jsonl"


@dataclass(frozen=True)
class Figure:
    """A figure of one run: when, of which commit, ours and the ratio to the peer."""

    date: str
    commit: str | None
    ours: float
    ratio: float | None


@dataclass(frozen=True)
class Trend:
    """One figure over all runs on one machine, the oldest first."""

    question: str
    device: str
    machine: str
    what: str
    unit: str
    figures: tuple[Figure, ...]

    @property
    def change(self) -> float | None:
        """The last run's figure over that of the run before; ``None`` for a first run."""
        if len(self.figures) < 2 or not self.figures[-2].ours:
            return None
        return self.figures[-1].ours / self.figures[-2].ours


def append_history(folder: str | os.PathLike[str], results: dict[str, Any]) -> None:
    """Add the results of a question, as :func:`~benchmarks.document` returns them, as one line of ``history.jsonl``."""
    settings, environment = results["settings"], results["environment"]
    on_device = settings["device"] != "cpu" and environment["accelerator"]
    line = {
        "date": environment["date"],
        "question": results["question"],
        "device": settings["device"],
        "quick": settings["quick"],
        "machine": environment["accelerator"]
        if on_device
        else f"{environment['processor']}, {settings['threads']} threads",
        "commit": environment["commit"],
        "rows": [_brief(row) for row in results["results"] if "ours_s" in row],
    }
    path = Path(folder) / HISTORY
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_bytes() if path.exists() else b""
    whole_lines = before[: before.rfind(b"\n") + 1]  # a killed run leaves half a line at most
    with atomic_file(path) as stream:
        stream.write(whole_lines)
        stream.write((json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n").encode())


def read_history(folder: str | os.PathLike[str], questions: list[str] | None = None) -> list[Trend]:
    """Return every figure that was kept, of all runs or of those of some questions, in the order of first appearance.

    Runs on tiny sizes (``--quick``) are left out.
    """
    kept: dict[tuple[str, str, str, str, str], list[Figure]] = {}
    for run in _runs(Path(folder) / HISTORY):
        if run["quick"] or (questions and run["question"] not in questions):
            continue
        for row in run["rows"]:
            key = (run["question"], run["device"], run["machine"], _named(row), row["unit"])
            kept.setdefault(key, []).append(
                Figure(run["date"], run["commit"], row["ours"], row["ratio"])
            )
    return [Trend(*key, tuple(figures)) for key, figures in kept.items()]


def _runs(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        raise FormatError(
            path,
            "there is no history here: run python -m benchmarks with --out and this folder first",
        )
    runs = []
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], start=1):
        try:
            run = json.loads(line)
            [(row["what"], float(row["ours"]), row["ratio"], row["unit"]) for row in run["rows"]]
            runs.append(
                {
                    name: run[name]
                    for name in ("date", "question", "device", "quick", "machine", "commit", "rows")
                }
            )
        except (ValueError, KeyError, TypeError) as error:
            raise FormatError(
                path, f"this is no run of a benchmark ({error!r}); remove the line", line=number
            ) from None
    return runs


def _brief(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "what": f"{row['ours']}, {row['what']}",
        "unit": row["unit"],
        "ours": _rounded(row["ours_s"]),
        "peer": row.get("peer") or None,
        "peer_s": _rounded(row["peer_s"]),
        "ratio": _rounded(row["ratio"]),
    }


def _named(row: dict[str, Any]) -> str:
    peer = row.get("peer")
    return f"{row['what']} | {peer}" if peer else str(row["what"])


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


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
