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
    signal.signal(signal.SIGINT, _end_at_once)
    process = import_module("edgnn.cli._process")
    process.open_streams()
    process.set_up()
    import_module("edgnn.cli._ranks").be_silent()
    main = import_module("edgnn.cli._app").main
    signal.signal(signal.SIGINT, signal.default_int_handler)
    process.leave_with(main)
    raise AssertionError("the process has ended")


def _end_at_once(number: int, frame: Any) -> None:
    os.write(2, b"edgnn: interrupted\n")
    os._exit(_INTERRUPTED)


def __getattr__(name: str) -> Any:
    if name in ("app", "main"):
        return getattr(import_module("edgnn.cli._app"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
