"""What the machine offers: Python, processor, threads, memory, CUDA devices."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator

from edgnn.cli.doctor._finding import Finding

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


def machine() -> Iterator[Finding]:
    """Look at what models would run on."""
    yield Finding(
        "machine",
        "Python",
        "ok",
        f"{platform.python_version()} on {platform.platform(terse=True)}, {platform.machine()}",
    )
    try:
        import torch
    except Exception as error:  # a library that torch needs can fail in any way
        way_out = "install it anew: pip install --force-reinstall torch"
        yield Finding(
            "machine",
            "torch",
            "failed",
            f"cannot be imported: {type(error).__name__}: {error}",
            way_out,
        )
        return
    set_by = "".join(f", {name}={os.environ[name]}" for name in _THREADS if name in os.environ)
    threads = torch.get_num_threads()
    yield Finding(
        "machine",
        "CPU",
        "ok",
        f"{_cores()} cores, of which torch uses {threads}{set_by}{_memory()}",
    )
    yield from _cuda()


def _cuda() -> Iterator[Finding]:
    import torch

    if torch.version.cuda is None:
        yield Finding(
            "machine",
            "CUDA",
            "absent",
            f"torch {torch.__version__} is built without it; everything runs on the CPU",
        )
        return
    if not torch.cuda.is_available():
        yield Finding(
            "machine",
            "CUDA",
            "absent",
            f"torch is built for CUDA {torch.version.cuda}, but sees no device",
        )
        return
    for number in range(torch.cuda.device_count()):
        about = torch.cuda.get_device_properties(number)
        told = f"{about.name}, {about.total_memory / 2**30:.0f} GiB, CUDA {torch.version.cuda}"
        yield Finding("machine", f"cuda:{number}", "ok", told)


def _cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> str:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return ""
    return f"; {total / 2**30:.0f} GiB of memory"
