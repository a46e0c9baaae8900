"""Clocks: calls in turns with medians, what could not run and why, and how fast this machine copies memory."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import torch

from edgnn.errors import EdgnnError

#: However long a call takes, it is timed so many times.
LEAST_TURNS = 3
_COPIED = {"cpu": 2**29, "cuda": 2**31}
_NO_ROOM = (
    "out of memory",
    "can't allocate memory",
    "not enough memory",
    "ALLOC_FAILED",
    "INSUFFICIENT_RESOURCES",
)


@dataclass(frozen=True)
class Timed:
    """The median time of a call, and on CUDA the memory that it takes on top of what was there before."""

    seconds: float
    extra_bytes: int | None = None


@dataclass(frozen=True)
class Missing:
    """Why a call could not be timed; ``failed`` where that is neither for lack of memory nor of a package."""

    reason: str
    failed: bool = False


def race(
    builders: Sequence[Callable[[], Callable[[], Any]]],
    repeats: int,
    device: str = "cpu",
    budget_s: float = 30.0,
) -> list[Timed | Missing]:
    """Build calls, run each once to warm up, then all in turns.

    What lacks a package, runs out of memory or fails is left out from then on, and the others go
    on. There are ``repeats`` turns, or fewer, down to three, once they have taken ``budget_s``
    seconds. A call with a method ``clear`` has it called before its memory is measured.
    """
    calls: list[Callable[[], Any] | Missing] = []
    memory: list[int | None] = []
    with exact_float32():
        for build in builders:
            call, used = _warm(build, device)
            calls.append(call)
            memory.append(used)
        times: list[list[float]] = [[] for _ in calls]
        start = time.perf_counter()
        for turn in range(repeats):
            if turn >= LEAST_TURNS and time.perf_counter() - start > budget_s:
                break
            for number, call in enumerate(calls):
                if not isinstance(call, Missing):
                    seconds = tried(partial(_clock, call, device), device)
                    if isinstance(seconds, Missing):
                        calls[number] = seconds
                    else:
                        times[number].append(seconds)
    return [
        call if isinstance(call, Missing) else Timed(median(seen), used)
        for call, seen, used in zip(calls, times, memory, strict=True)
    ]


def in_turns(
    ours: Callable[[], Any], peer: Callable[[], Any], repeats: int, device: str = "cpu"
) -> tuple[float, float]:
    """Run both once to warm up, then ``repeats`` times in turns; return their median times."""
    times: tuple[list[float], list[float]] = ([], [])
    with exact_float32():
        for attempt in range(repeats + 1):
            for function, seen in zip((ours, peer), times, strict=True):
                seconds = _clock(function, device)
                if attempt:
                    seen.append(seconds)
    return median(times[0]), median(times[1])


def timed(function: Callable[[], Any], device: str = "cpu") -> tuple[float, Any]:
    """Return how long a call takes until the device has done all of it, and its result."""
    with exact_float32():
        wait(device)
        start = time.perf_counter()
        result = function()
        wait(device)
        return time.perf_counter() - start, result


def tried(function: Callable[[], Any], device: str) -> Any:
    """Return the result of a call, or :class:`Missing` where it lacks a package or memory, or fails."""
    try:
        return function()
    except ImportError as error:
        return Missing(f"{(error.name or str(error)).partition('.')[0]} is not installed")
    except Exception as error:  # one figure less is no reason to lose the others
        missing = _why(error, device)
    with suppress(RuntimeError):  # a device may be of no use after an error
        free(device)
    return missing


def _why(error: Exception, device: str) -> Missing:
    text = str(error)
    if isinstance(error, MemoryError) or any(words in text for words in _NO_ROOM):
        return Missing(f"out of memory on {device}")
    line = next(iter(text.strip().splitlines()), "")
    kind = "" if isinstance(error, EdgnnError) and line else type(error).__name__
    return Missing(": ".join(part for part in (kind, line) if part), failed=True)


def copy_bandwidth(device: str = "cpu", size: int | None = None) -> float:
    """Return bytes per second, read and written ones, of a large copy: what any sum over memory can be measured against.

    Parameters
    ----------
    device : str
        Where to copy.
    size : int, optional
        Bytes that are read, and written; by default far beyond the caches: 512 MiB on the CPU, 2
        GiB on CUDA.
    """
    kind = torch.device(device).type
    count = (_COPIED[kind] if size is None else size) // 4
    source, target = torch.ones(count, device=device), torch.empty(count, device=device)
    target.copy_(source)
    seconds = median(_clock(partial(target.copy_, source), device) for _ in range(11))
    return 2 * 4 * count / seconds


def extra_bytes(call: Callable[[], Any], device: str) -> int | None:
    """Return how much more memory a call takes than was in use before; ``None`` on the CPU, which has no count of it."""
    if not device.startswith("cuda"):
        return None
    wait(device)
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    call()
    wait(device)
    return torch.cuda.max_memory_allocated(device) - before


def wait(device: str) -> None:
    """Wait until ``device`` has done all it was given."""
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


def free(device: str) -> None:
    """Give back a device's memory that nothing refers to any more."""
    if device.startswith("cuda"):
        gc.collect()
        torch.cuda.empty_cache()


@contextmanager
def exact_float32() -> Iterator[None]:
    """Have products of float32 matrices computed in float32, not TF32."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def arithmetic() -> dict[str, Any]:
    """Return the settings that figures depend on, as they are while a call is timed."""
    with exact_float32():
        return {
            "float32_matmul_precision": torch.get_float32_matmul_precision(),
            "allow_tf32": torch.backends.cuda.matmul.allow_tf32,
            "threads": torch.get_num_threads(),
        }


def _warm(
    build: Callable[[], Callable[[], Any]], device: str
) -> tuple[Callable[[], Any] | Missing, int | None]:
    """Return the call, which has run, and the memory it takes."""

    def ready() -> tuple[Callable[[], Any], int | None]:
        call = build()
        call()
        wait(device)
        clear: Callable[[], None] | None = getattr(call, "clear", None)
        if clear is not None:
            clear()
        return call, extra_bytes(call, device)

    result = tried(ready, device)
    return (result, None) if isinstance(result, Missing) else result


def _clock(function: Callable[[], Any], device: str) -> float:
    """Return the seconds a call takes; on CUDA by the device's own clock, so that waiting for its answer is no part of it."""
    if device.startswith("cuda"):
        stream = torch.cuda.current_stream(device)
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        wait(device)
        start.record(stream)
        function()
        end.record(stream)
        end.synchronize()
        return float(start.elapsed_time(end)) / 1e3
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin
