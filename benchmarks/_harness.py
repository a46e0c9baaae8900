"""The rows of a benchmark: ours beside a peer, the goal, memory, and the fraction of copying speed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from benchmarks._growths import draw_growths
from benchmarks._timing import Missing, Timed, arithmetic, tried
from edgnn._files import atomic_file
from edgnn._system import peak_memory
from edgnn.errors import EdgnnError
from edgnn.io.datasets import find, locate
from edgnn.training import environment

_FORM = re.compile(
    r"(?P<memory>memory )?(?P<sign>[≥≤]) (?P<bound>\d+(?:\.\d+)?)(?P<unit>×| % of copying| \S+)"
)


@dataclass(frozen=True)
class Clause:
    """One thing that is asked: of the ratio to the peer, of that of memories, of our bytes, of copying, or of ours in a unit."""

    text: str
    about: Literal["ratio", "memory", "bytes", "copying", "ours"]
    at_least: bool
    bound: float
    unit: str = ""

    def holds(self, value: float | None) -> bool | None:
        """Return whether a value is as asked; ``None`` where there is none."""
        if value is None:
            return None
        return value >= self.bound if self.at_least else value <= self.bound


def clauses(goal: str) -> list[Clause]:
    """Return what a goal asks for, clause by clause."""
    return [_clause(part, goal) for part in goal.split(", ")] if goal else []


def all_hold(verdicts: list[bool | None]) -> bool | None:
    """Return False if anything is missed, else None if anything could not be judged or nothing was asked."""
    if False in verdicts:
        return False
    return None if None in verdicts or not verdicts else True


def _clause(part: str, goal: str) -> Clause:
    match = _FORM.fullmatch(part)
    if match is None or (match["memory"] and match["unit"] not in ("×", " GiB")):
        raise EdgnnError(
            f"{part!r} of the goal {goal!r} asks for nothing: write '≥ 2×', 'memory ≤ 0.1×', 'memory ≤ 5 GiB', '≤ 5 s' or "
            "'≥ 80 % of copying'"
        )
    at_least, bound, unit = match["sign"] == "≥", float(match["bound"]), match["unit"].strip()
    if match["memory"]:
        return (
            Clause(part, "memory", at_least, bound)
            if unit == "×"
            else Clause(part, "bytes", at_least, bound * 2**30)
        )
    if unit == "×":
        return Clause(part, "ratio", at_least, bound)
    return (
        Clause(part, "copying", at_least, bound / 100)
        if unit.startswith("%")
        else Clause(part, "ours", at_least, bound, unit)
    )


TU_SETS = ("MUTAG", "PTC_FM", "PTC_FR", "PTC_MM", "PTC_MR")
_KILLED = -9


@dataclass(frozen=True)
class Traffic:
    """Bytes that must be moved, how fast they were, and how fast the same machine copies memory in the same run."""

    bytes: int
    bytes_per_s: float
    copy_bytes_per_s: float

    @property
    def share(self) -> float:
        """Of the speed of copying; above one where caches serve much of it."""
        return self.bytes_per_s / self.copy_bytes_per_s


@dataclass(frozen=True)
class Memory:
    """Bytes taken on top of what is there before."""

    ours: int
    peer: int | None = None

    @property
    def ratio(self) -> float | None:
        """Ours over the peer's."""
        return None if not self.peer else self.ours / self.peer


@dataclass(frozen=True)
class Row:
    """One line of a benchmark: what was measured, ours, the peer's (in ``unit``), and what is asked.

    ``goal`` is in the words of :func:`clauses`. ``ratio`` is how many times faster ours is:
    peer over ours, or ours over the peer's where the unit is one per second; the other way around
    if the goal puts a bound above it. ``points`` are the places of the row in plots: sizes by axis.
    """

    what: str
    ours_s: float
    peer: str = ""
    peer_s: float | None = None
    goal: str = ""
    extra: dict[str, Any] = field(default_factory=dict)
    unit: str = "s"
    ours: str = "edgnn"
    memory: Memory | None = None
    traffic: Traffic | None = None
    points: dict[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """How ours compares with the peer, in the sense of the goal."""
        if self.peer_s is None:
            return None
        bounded = any(
            clause.about == "ratio" and not clause.at_least for clause in clauses(self.goal)
        )
        upside_down = bounded != self.unit.endswith("/s")
        return self.ours_s / self.peer_s if upside_down else self.peer_s / self.ours_s

    @property
    def verdicts(self) -> list[tuple[str, bool | None]]:
        """Every clause of the goal, and whether it is reached; ``None`` where that could not be judged."""
        seen = {
            "ratio": self.ratio,
            "memory": None if self.memory is None else self.memory.ratio,
            "bytes": None if self.memory is None else self.memory.ours,
            "copying": None if self.traffic is None else self.traffic.share,
        }
        return [
            (
                clause.text,
                clause.holds(
                    seen.get(clause.about, self.ours_s if clause.unit == self.unit else None)
                ),
            )
            for clause in clauses(self.goal)
        ]

    @property
    def met(self) -> bool | None:
        """Whether all that is asked is reached; ``None`` where nothing is, or where some of it could not be judged."""
        return all_hold([verdict for _, verdict in self.verdicts])


@dataclass(frozen=True)
class Skipped:
    """A measurement that could not be made here, and why; ``failed`` where something is wrong."""

    what: str
    reason: str
    failed: bool = False


def beside(
    what: str,
    ours: tuple[str, Timed | Missing],
    peer: tuple[str, Timed | Missing] | None,
    goal: str = "",
    **fields: Any,
) -> list[Row | Skipped]:
    """Return what was timed as a row; a peer that could not run is a line of its own, and ours stays."""
    name, our_time = ours
    peer_name, peer_time = peer or ("", None)
    if isinstance(our_time, Missing):
        return [left_out(f"{name}, {what}", our_time)]
    named: dict[str, Any] = {"goal": goal, "ours": name}
    if our_time.extra_bytes is not None:
        named["memory"] = Memory(
            our_time.extra_bytes, peer_time.extra_bytes if isinstance(peer_time, Timed) else None
        )
    if isinstance(peer_time, Timed):
        return [Row(what, our_time.seconds, peer_name, peer_time.seconds, **(named | fields))]
    row = Row(what, our_time.seconds, **(named | fields))
    return [row] if peer_time is None else [row, left_out(f"{peer_name}, {what}", peer_time)]


def left_out(what: str, missing: Missing) -> Skipped:
    """Return the line of what could not be timed."""
    return Skipped(what, missing.reason, missing.failed)


def or_skipped(what: str, measure: Callable[[], Row | Skipped], device: str) -> Row | Skipped:
    """Return what is measured, or why it could not be."""
    row: Row | Skipped | Missing = tried(measure, device)
    return left_out(what, row) if isinstance(row, Missing) else row


def as_far_as_it_goes(
    what: str, rows: Iterator[Row | Skipped], device: str
) -> Iterator[Row | Skipped]:
    """Yield rows; where making one of them fails, say why in the place of all that are left."""
    while (row := tried(partial(next, rows, None), device)) is not None:
        yield left_out(what, row) if isinstance(row, Missing) else row


def folder_of(name: str, data_dir: str | os.PathLike[str] | None) -> Path | None:
    """Return where the files of a registered set are on this machine, or None."""
    entry = find(name)
    return None if entry is None else locate(entry, data_dir).path


def measure_alone(code: str, *arguments: str) -> dict[str, Any]:
    """Run Python code in a process of its own and return the JSON object it prints last."""
    return printed_by([sys.executable, "-c", code, *arguments])


def printed_by(command: Sequence[str]) -> dict[str, Any]:
    """Run a command and return the JSON object it prints last, or say what it ended with."""
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - our own code
    if done.returncode == _KILLED:
        raise MemoryError("the process was killed, as the system does for want of memory")
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
        raise EdgnnError(f"a process of its own failed: {said[-1].strip()}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def peak_bytes() -> int:
    """Return the most memory this process has held so far (Linux: of this program alone, not of what started it)."""
    return peak_memory() or 0


def save(path: str | os.PathLike[str], results: dict[str, Any]) -> None:
    """Write the results of a question as JSON."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as stream:
        stream.write((json.dumps(results, indent=2, ensure_ascii=False) + "\n").encode())


def document(
    question: str, rows: list[Row | Skipped], device: str = "cpu", quick: bool = False
) -> dict[str, Any]:
    """Return the results with what they depend on, ready for JSON."""
    settings = {"device": device, "quick": quick} | arithmetic()
    return {
        "question": question,
        "environment": environment(),
        "settings": settings,
        "results": [_entry(row) for row in rows],
    }


def row_of(entry: dict[str, Any]) -> Row | Skipped:
    """Return the row that an object of stored results was written from."""
    if "reason" in entry:
        return Skipped(entry["what"], entry["reason"], entry.get("failed", False))
    fields = {
        name: value
        for name, value in entry.items()
        if name not in ("ratio", "met", "memory", "traffic")
    }
    for name, kind, derived in (("memory", Memory, "ratio"), ("traffic", Traffic, "share")):
        if entry.get(name) is not None:
            fields[name] = kind(
                **{part: value for part, value in entry[name].items() if part != derived}
            )
    return Row(**fields)


def _entry(row: Row | Skipped) -> dict[str, Any]:
    """Return a row as an object: its fields as far as they are filled, and what follows from them."""
    if isinstance(row, Skipped):
        return {"what": row.what, "reason": row.reason} | ({"failed": True} if row.failed else {})
    filled = {
        name: value
        for name, value in asdict(row).items()
        if value not in (None, {}) or name in ("peer_s", "extra")
    }
    if row.memory is not None:
        filled["memory"]["ratio"] = row.memory.ratio
    if row.traffic is not None:
        filled["traffic"]["share"] = row.traffic.share
    return filled | {"ratio": row.ratio, "met": row.met}


def draw_points(rows: Sequence[Row | Skipped], title: str) -> str:
    """Draw one chart per axis that rows have a place on, ours and the peer's; return nothing where none has."""
    charts: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for row in rows:
        if not isinstance(row, Row):
            continue
        for axis, size in row.points.items():
            curves = charts.setdefault(axis, {})
            curves.setdefault(row.ours, []).append((size, row.ours_s))
            if row.peer_s is not None:
                curves.setdefault(row.peer, []).append((size, row.peer_s))
    return draw_growths(charts, title) if charts else ""
