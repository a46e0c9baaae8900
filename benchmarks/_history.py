"""How figures moved: one line per run in a file, read back as a series per figure."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgnn.errors import FormatError
from edgnn.training._run_files import append_line

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
    with path.open("a+b") as stream:
        append_line(
            stream, (json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n").encode()
        )


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
            path, "there is no history here: run edgnn bench with --out and this folder first"
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
