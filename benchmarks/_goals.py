"""What is asked of a figure, in the words it is shown in: ``≥ 55×, memory ≤ 0.1×``, ``≤ 5 s``, ``≥ 80 % of copying``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from edgnn.errors import EdgnnError

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
