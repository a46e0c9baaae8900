"""Facts of the system: cores, threads, the memory of this process, errors for want of it."""

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
    """Compute every sum in one thread; the last bits of a sum depend on how many there are."""
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


def process_memory(field: str) -> int | None:
    """Return a figure of this process in bytes; ``None`` where the system does not report it.

    Parameters
    ----------
    field : str
        As in ``/proc/self/status``: ``"VmHWM"`` is the peak, ``"RssAnon"`` what is held now without
        mapped files, ``"VmData"`` what is reserved.
    """
    try:
        status = _STATUS.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    line = re.search(rf"^{field}:\s*(\d+) kB", status, re.MULTILINE)
    return None if line is None else int(line[1]) * 1024


def restart_peak_memory() -> None:
    """Begin to look for the peak anew; where that is not allowed, it stays that of the process."""
    with suppress(OSError):
        _CLEAR.write_text("5", encoding="ascii")


def peak_memory() -> int | None:
    """Return the most bytes this process held; ``None`` where the system does not report it."""
    peak = process_memory("VmHWM")
    if peak is not None:
        return peak
    with suppress(ImportError, OSError):
        import resource
        import sys

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return None


def release_memory() -> None:
    """Give free memory back to the system, which the C library would keep; costs milliseconds."""
    with suppress(OSError, AttributeError):  # not glibc
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)


class PeakMemory:
    """The most memory that the process held since this was made, that of a device included."""

    def __init__(self, device: str) -> None:
        import torch

        self.on_device = device.startswith("cuda") and torch.cuda.is_available()
        if self.on_device:
            torch.cuda.reset_peak_memory_stats(device)
        self.device = device
        restart_peak_memory()

    def read(self) -> int | None:
        """Return it in bytes; ``None`` where the system does not report it."""
        peak = peak_memory()
        if not self.on_device or peak is None:
            return peak
        import torch

        return peak + int(torch.cuda.max_memory_allocated(self.device))


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
    if isinstance(error, MemoryError):
        return True
    if getattr(error, "kind", None) == "memory":
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    if not isinstance(error, RuntimeError):
        return False
    text = str(error).lower()
    return any(words in text for words in _NO_MEMORY)


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raise a ``MemoryError`` where memory runs out, also where torch has its own words for it."""
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise MemoryError(str(error).partition("\n")[0]) from None
