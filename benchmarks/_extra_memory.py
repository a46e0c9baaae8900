"""How much memory does a step take? On the CPU each in a process of its own, which alone knows its peak."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from benchmarks._formulations import Size, Step
from benchmarks._harness import measure_alone, peak_bytes
from edgnn._system import process_memory, restart_peak_memory

_STEP_ALONE = """
import json, sys
from benchmarks._extra_memory import peak_of_step
from benchmarks._formulations import Size
print(json.dumps({"bytes": peak_of_step(sys.argv[1], Size(*map(int, sys.argv[2:6])))}))
"""
_M_MMAP_THRESHOLD = -3
_LOOK_S = 0.002


def step_bytes(kind: str, size: Size) -> int:
    """Return how much more memory a step takes on the CPU than its graph, weights and states."""
    numbers = map(str, (size.nodes, size.edges, size.labels, size.width))
    return int(measure_alone(_STEP_ALONE, kind, *numbers)["bytes"])


def peak_of_step(kind: str, size: Size) -> int:
    """Return what :func:`step_bytes` does, in this process, which must have done nothing else."""
    return_memory_at_once()
    Step(
        kind, Size(50, 500, size.labels, size.width), "cpu"
    )()  # what is loaded and set up on first use is no part of it
    step = Step(kind, size, "cpu")
    before = _restart_peak()
    step()
    return peak_bytes() - before


def most_held(call: Callable[[], Any]) -> tuple[int, Any]:
    """Return how much more memory of its own this process holds during a call than before it, and the call's result.

    Pages of mapped files are not counted: the system takes them back whenever it needs to. The
    process must have done nothing else in large arrays, and have called
    :func:`return_memory_at_once`. What it holds is looked at every two milliseconds.
    """
    before = peak = _own_bytes()
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(_LOOK_S):
            peak = max(peak, _own_bytes())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        result = call()
    finally:
        done.set()
        watcher.join()
    return max(peak, _own_bytes()) - before, result


def _own_bytes() -> int:
    """Return the memory this process holds now without mapped files; where the system does not tell, its peak so far."""
    return process_memory("RssAnon") or peak_bytes()


def return_memory_at_once() -> None:
    """Have freed blocks go back to the system, so that what the preparation freed is not taken for what the step needs."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, 1 << 16)


def _restart_peak() -> int:
    """Set the peak of this process back to what it holds now, where the system lets us, and return it."""
    restart_peak_memory()
    return peak_bytes()
