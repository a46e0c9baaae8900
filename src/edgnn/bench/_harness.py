"""Timing side by side: ours and a peer in turns, medians, and the machine they ran on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from edgnn.datasets import find, locate
from edgnn.io._files import atomic_file
from edgnn.training import environment

TU_SETS = ("MUTAG", "PTC_FM", "PTC_FR", "PTC_MM", "PTC_MR")


@dataclass(frozen=True)
class Row:
    """One line of a benchmark: what was measured, ours, the peer's (in ``unit``), and what we ask of the ratio.

    ``ratio`` is peer over ours (higher is better for us) unless ``goal`` starts with ``≤``, when it is ours over the peer's.
    """

    what: str
    ours_s: float
    peer: str = ""
    peer_s: float | None = None
    goal: str = ""
    extra: dict[str, Any] = field(default_factory=dict)
    unit: str = "s"

    @property
    def ratio(self) -> float | None:
        """How ours compares with the peer, in the sense of the goal."""
        if self.peer_s is None:
            return None
        return self.ours_s / self.peer_s if self.goal.startswith("≤") else self.peer_s / self.ours_s

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; ``None`` where there is none."""
        if not self.goal or self.ratio is None:
            return None
        bound = float(self.goal[1:].strip().removesuffix("×"))
        return self.ratio <= bound if self.goal.startswith("≤") else self.ratio >= bound


@dataclass(frozen=True)
class Skipped:
    """A measurement that could not be made here, and why."""

    what: str
    reason: str


def folder_of(name: str, data_dir: str | os.PathLike[str] | None) -> Path | None:
    """Return where the files of a registered set are on this machine, or None."""
    entry = find(name)
    return None if entry is None else locate(entry, data_dir).path


def in_turns(ours: Callable[[], Any], peer: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Run both once to warm up, then ``repeats`` times in turns; return their median times."""
    times: tuple[list[float], list[float]] = ([], [])
    for attempt in range(repeats + 1):
        for function, seen in zip((ours, peer), times, strict=True):
            start = time.perf_counter()
            function()
            if attempt:
                seen.append(time.perf_counter() - start)
    return median(times[0]), median(times[1])


def wait(device: str) -> None:
    """Wait until ``device`` has done all it was given."""
    if device.startswith("cuda"):
        import torch

        torch.cuda.synchronize()


def peak_bytes() -> int:
    """Return the most memory this process has held so far (Linux: of this program alone, not of what started it)."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        import resource

        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure_alone(code: str, *arguments: str) -> dict[str, Any]:
    """Run Python code in a process of its own and return the JSON object it prints last."""
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def save(path: str | os.PathLike[str], question: str, rows: list[Row | Skipped]) -> None:
    """Write the results with their environment as JSON."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as stream:
        stream.write((json.dumps(document(question, rows), indent=2, ensure_ascii=False) + "\n").encode())


def document(question: str, rows: list[Row | Skipped]) -> dict[str, Any]:
    """Return the results with their environment, ready for JSON."""
    entries = [asdict(row) | ({"ratio": row.ratio, "met": row.met} if isinstance(row, Row) else {}) for row in rows]
    return {"question": question, "environment": environment(), "results": entries}
