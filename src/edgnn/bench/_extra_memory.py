"""How much memory does a step take? On the CPU each in a process of its own, which alone knows its peak."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from pathlib import Path

from edgnn.bench._formulations import Size, Step
from edgnn.bench._harness import measure_alone, peak_bytes

_STEP_ALONE = """
import json, sys
from edgnn.bench._extra_memory import peak_of_step
from edgnn.bench._formulations import Size
print(json.dumps({"bytes": peak_of_step(sys.argv[1], Size(*map(int, sys.argv[2:6])))}))
"""
_M_MMAP_THRESHOLD = -3


def step_bytes(kind: str, size: Size) -> int:
    """Return how much more memory a step takes on the CPU than its graph, weights and states."""
    numbers = map(str, (size.nodes, size.edges, size.labels, size.width))
    return int(measure_alone(_STEP_ALONE, kind, *numbers)["bytes"])


def peak_of_step(kind: str, size: Size) -> int:
    """Return what :func:`step_bytes` does, in this process, which must have done nothing else."""
    _return_memory_at_once()
    Step(kind, Size(50, 500, size.labels, size.width), "cpu")()  # what is loaded and set up on first use is no part of it
    step = Step(kind, size, "cpu")
    before = _restart_peak()
    step()
    return peak_bytes() - before


def _return_memory_at_once() -> None:
    """Have freed blocks go back to the system, so that what the preparation freed is not taken for what the step needs."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, 1 << 16)


def _restart_peak() -> int:
    """Set the peak of this process back to what it holds now, where the system lets us, and return it."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return peak_bytes()
