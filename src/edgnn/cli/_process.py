"""Everything the commands change about the process itself, each with its reason.

Memory of the allocator, spinning threads, text streams, the exit, Ctrl-C and SIGTERM, the number of
threads of a training. The library does none of this; a program that imports it keeps its own ways.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from edgnn.errors import RunError

if TYPE_CHECKING:
    from edgnn.io.datasets import Dataset
    from edgnn.models import Model
    from edgnn.training import RunFolder

#: Exit code at Ctrl-C, as a shell says it (128 + SIGINT).
INTERRUPTED = 130

_MOST_THREADS = 4096
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as glibc numbers its settings
_KEPT_BYTES = 2**30
_LARGEST_BLOCK = 2**25  # glibc takes no larger threshold
_STOPPING = b"edgnn: stopping after this epoch"
_AGAIN = b"; press Ctrl-C again to stop at once"


def open_streams() -> None:
    """Open what is closed of standard input, output and errors (``>&-``) as nothing.

    Python has ``None`` in their place, and the next files that are opened would get their numbers,
    so that what libraries print would go into them.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, that of the stream
            nothing = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - stays open
            setattr(sys, name, nothing)


def set_up() -> None:
    """Make the process fast and its output safe; before torch is imported."""
    # torch's threads wait by spinning, which on a busy machine takes the time of others
    os.environ.setdefault("GOMP_SPINCOUNT", "2000")
    _reuse_memory()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ± shows a question mark


def _reuse_memory() -> None:
    """Keep freed memory for the next step, and put large arrays into huge pages.

    A training step frees and takes the same arrays again and again; fresh pages from the system can
    cost as much as the work itself. Only with glibc, and only where the user has not set the same
    by ``THP_MEM_ALLOC_ENABLE`` or ``MALLOC_…``.
    """
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    if any(name.startswith("MALLOC_") for name in os.environ):
        return
    with suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, _LARGEST_BLOCK)
        library.mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)


def leave_with(main: Callable[[], None]) -> NoReturn:
    """Run ``main`` and leave at once: native threads of libraries may hang in an orderly end."""
    code: int | str | None = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    except KeyboardInterrupt:
        os.write(2, b"edgnn: interrupted\n")
        code = INTERRUPTED
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    if code is None:
        code = 0
    os._exit(code if isinstance(code, int) else 1)


def drop_output() -> None:
    """Send what is still to be printed nowhere: the reader of the pipe has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Interrupt:
    """Whether the process was asked to end."""

    asked = False


@contextmanager
def softly_interrupted(*, when: bool = True, patient: bool = False) -> Iterator[Interrupt]:
    """Note the first Ctrl-C, so that the epoch can end and its weights be kept.

    A second one interrupts at once, and so does the first where there are no epochs (``when``).
    With ``patient`` none does: torchrun passes on each one that the terminal has sent to all
    processes already.
    """
    interrupt = Interrupt()

    def note(number: int, frame: Any) -> None:
        if interrupt.asked and not patient:
            raise KeyboardInterrupt
        if not interrupt.asked:
            # written past the streams, which may be in the middle of a write
            os.write(2, _STOPPING + (b"" if patient else _AGAIN) + b"\n")
        interrupt.asked = True

    if not when:
        yield interrupt
        return
    with _handled(signal.SIGINT, note):
        yield interrupt


@contextmanager
def terminated_softly() -> Iterator[Interrupt]:
    """Take SIGTERM as Ctrl-C: results so far are still written, and no process is left behind."""
    ending = Interrupt()

    def note(number: int, frame: Any) -> None:
        ending.asked = True
        raise KeyboardInterrupt

    with _handled(signal.SIGTERM, note):
        yield ending


@contextmanager
def _handled(number: signal.Signals, handler: Callable[[int, Any], None]) -> Iterator[None]:
    """Handle a signal while the block runs; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def use_few_threads(model: Model, data: Dataset, ensembles: int = 1) -> None:
    """Use one thread for small networks: several would wait longer than they work."""
    if not model.trains_by_epochs:
        return
    import torch

    from edgnn.models import is_small

    graphs = data.graphs
    items = len(graphs) if data.level == "graph" else graphs.num_nodes
    width = model.hidden * model.members * ensembles
    if is_small(graphs.num_nodes, items, model.batch_size, width):
        torch.set_num_threads(1)


def use_threads_of(run: RunFolder) -> None:
    """Use as many threads as a run began with: sums in another order have other last bits."""
    import torch

    if not run.has("environment.json"):
        return
    stored = run.read_json("environment.json")
    threads = stored.get("threads") if isinstance(stored, dict) else None
    if type(threads) is not int or not 1 <= threads <= _MOST_THREADS:
        raise RunError(
            f"{run.path / 'environment.json'} does not say how many threads the run began with; "
            "it is damaged"
        )
    torch.set_num_threads(threads)
