"""What computing takes and may take: threads, cores, the most memory a process held."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def cores() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute every sum in one thread: in several, the last bits of a result would depend on how many there are."""
    import scipy.linalg  # noqa: F401 - what is loaded later would not be limited
    import sklearn.svm  # noqa: F401
    import torch
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    before = torch.get_num_threads()
    try:
        with threadpool_limits(limits=1):
            torch.set_num_threads(1)
            yield
    finally:
        torch.set_num_threads(before)


class PeakMemory:
    """The most memory that the process held since this was made, that of a device included."""

    def __init__(self, device: str) -> None:
        import torch

        self.on_device = device.startswith("cuda") and torch.cuda.is_available()
        if self.on_device:
            torch.cuda.reset_peak_memory_stats(device)
        self.device = device
        with suppress(
            OSError
        ):  # not allowed everywhere; the mark of the whole process is left then
            _CLEAR.write_text("5")

    def read(self) -> int | None:
        """Return it in bytes; ``None`` where the system does not tell."""
        held = _high_water_mark()
        if not self.on_device or held is None:
            return held
        import torch

        return held + int(torch.cuda.max_memory_allocated(self.device))


def _high_water_mark() -> int | None:
    with suppress(OSError):
        found = re.search(
            r"^VmHWM:\s*(\d+) kB",
            _STATUS.read_text(encoding="ascii", errors="replace"),
            re.MULTILINE,
        )
        if found:
            return int(found[1]) * 1024
    with suppress(ImportError, OSError):
        import resource
        import sys

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return None


#: How torch, numpy and the C++ library say that memory ran out: on the CPU, torch raises a plain
#: RuntimeError, so that only its words tell.
_NO_MEMORY = (
    "out of memory",
    "can't allocate memory",
    "cannot allocate memory",
    "not enough memory",
    "unable to allocate",
    "alloc of size",
    "bad_alloc",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error means that memory ran out, of the machine or of a device."""
    if isinstance(error, MemoryError) or getattr(error, "kind", None) == "memory":
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(words in text for words in _NO_MEMORY)
