"""The command line: one file per command; parses, calls the library, prints."""

from __future__ import annotations

import os
import signal
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from edgnn.cli._app import app, main

__all__ = ["app", "main", "run"]

_INTERRUPTED = 130


def run() -> NoReturn:
    """Run the command line as a program: exit 0, 2 for the user's mistakes, 1 for ours.

    Nothing is imported before Ctrl-C is one line; the imports take longer than many commands.
    """
    signal.signal(signal.SIGINT, _interrupt)
    try:
        process = import_module("edgnn.cli._process")
        process.open_streams()
        process.set_up()
        import_module("edgnn.cli._ranks").be_silent()
        process.leave_with(import_module("edgnn.cli._app").main)
    except KeyboardInterrupt:
        _end_interrupted()
    raise AssertionError("the process has ended")


def _interrupt(number: int, frame: Any) -> None:
    """Raise ``KeyboardInterrupt``; while a module is imported, end the process instead.

    Commands import torch and RDKit when they need them, and an exception in native code that sets
    up its module aborts the process, or is ignored. There is nothing to keep at such a moment.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            _end_interrupted()
        frame = frame.f_back
    raise KeyboardInterrupt


def _end_interrupted() -> NoReturn:
    os.write(2, b"edgnn: interrupted\n")
    os._exit(_INTERRUPTED)


def __getattr__(name: str) -> Any:
    if name in ("app", "main"):
        return getattr(import_module("edgnn.cli._app"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
