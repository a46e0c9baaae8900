"""The command line: one file per command; parses, calls the library, prints."""

from edgnn.cli._app import app, main, run

__all__ = ["app", "main", "run"]
