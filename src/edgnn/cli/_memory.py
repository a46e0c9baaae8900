"""``--memory``: a ceiling on the memory of a command; reaching it is one clear line."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from edgnn._system import is_out_of_memory, process_memory
from edgnn.errors import EdgnnError

MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Take no more memory than this, such as 2GiB or 500MB; more is an error.",
    ),
]

_SIZE = re.compile(
    r"\s*(\d{1,15}(?:\.\d{1,6})?)\s*(?:([kmgt])(i?)b?|b)?\s*", re.IGNORECASE | re.ASCII
)
_UNITS = {unit: power for power, unit in enumerate(("", "k", "m", "g", "t"))}
#: What is left to a command at least, beyond what the program itself takes.
_LEAST_ROOM = 64 * 2**20
_FRACTION_FOR_STATES = 4


def parse_size(text: str) -> int:
    """Return the bytes that ``2GiB``, ``500MB``, ``1.5g`` or ``100000000`` stand for."""
    match = _SIZE.fullmatch(text)
    size = 0
    if match is not None:
        number, unit, binary = match.groups()
        is_decimal = unit and not binary and text.strip().lower().endswith("b")
        base = 1000 if is_decimal else 1024
        size = int(float(number) * base ** _UNITS[(unit or "").lower()])
    if not 0 < size < 2**60:
        raise EdgnnError(f"--memory {text!r}: give a size such as 2GiB, 500MB or a number of bytes")
    return size


@contextmanager
def ceiling(limit: str | None, *sources: str | Path | None) -> Iterator[None]:
    """Hold this process, and those that it starts, to a ceiling while the block lasts.

    What exceeds it fails at once, before the machine swaps; the error says so. Outputs of node
    models are computed layer by layer where all at once would take more than a quarter of it.

    Parameters
    ----------
    limit : str, optional
        The ceiling, as of :func:`parse_size`; without it nothing is done.
    *sources : path or str, optional
        Data: folders of arrays among it are mapped, and what is mapped is the system's to keep or
        drop.
    """
    if limit is None:
        yield
        return
    size = parse_size(limit)
    from edgnn.training import states_within

    with (
        _limited(limit, size, sum(map(mapped_bytes, sources))) as lift,
        states_within(size // _FRACTION_FOR_STATES),
    ):
        try:
            yield
        except (MemoryError, RuntimeError, OSError, EdgnnError) as error:
            lift()
            if not _is_of_memory(error):
                raise
            raise EdgnnError(
                f"this needs more than --memory {limit}; to fix it: a higher --memory, a smaller "
                "batch size, hidden size or number of members, or data as a folder of arrays "
                "(edgnn convert DATA big.graphs), which is mapped, not read"
            ) from None


def mapped_bytes(source: str | Path | None) -> int:
    """Return how many bytes of a source are mapped into memory rather than read."""
    try:
        if source is None or not (Path(source) / "graphs.json").is_file():
            return 0
        return sum(file.stat().st_size for file in Path(source).glob("*.npy"))
    except (OSError, ValueError):
        return 0


@contextmanager
def _limited(limit: str, size: int, mapped: int) -> Iterator[Callable[[], None]]:
    """Limit the memory of the process until the end of the block, or until it is lifted."""
    if sys.platform != "linux":
        raise EdgnnError(
            f"--memory {limit}: only Linux holds a process to a ceiling; "
            "leave it out, or run it in a container"
        )
    import resource

    import torch

    # torch starts its threads now: one that starts later and gets no memory cannot report it
    torch.ones(2**18).exp_()
    reserved, used = process_memory("VmData") or 0, process_memory("RssAnon") or 0
    if size < used + _LEAST_ROOM:
        raise EdgnnError(
            f"--memory {limit}: the program itself takes {used / 2**20:.0f} MiB; "
            f"give at least {(used + _LEAST_ROOM) / 2**20:.0f}MiB"
        )
    before = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = size + max(0, reserved - used) + mapped
    if before[1] != resource.RLIM_INFINITY:
        wanted = min(wanted, before[1])

    def lift() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, before)

    resource.setrlimit(resource.RLIMIT_DATA, (wanted, before[1]))
    try:
        yield lift
    finally:
        lift()


def _is_of_memory(error: BaseException) -> bool:
    """Return whether the machine's memory ran out; a device has memory of its own."""
    return is_out_of_memory(error) and "cuda" not in str(error).lower()
