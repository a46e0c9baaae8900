"""Standard input as a file: what is piped is kept in a temporary folder while a command runs."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from edgnn.errors import EdgnnError, FormatError

STANDARD_INPUT = "-"
_NAME = "standard input"
#: No SMILES holds these; a file without a header has blanks or tabs.
_MARKS = (",", ";", "|")


@contextmanager
def piped(source: str, options: Mapping[str, Any], *, molecules: bool) -> Iterator[str]:
    """Give the path of a source; for ``-`` that of a file with what is piped into the command.

    Parameters
    ----------
    source : str
        The source.
    options : mapping
        Of the reader.
    molecules : bool
        Whether text that is no SD file holds molecules: a table, or a SMILES on each line.
    """
    if source != STANDARD_INPUT:
        yield source
        return
    if sys.stdin is None or sys.stdin.isatty():
        raise EdgnnError("- reads what is piped into the command: cat molecules.csv | edgnn …")
    folder = tempfile.mkdtemp(prefix="edgnn-stdin-")
    try:
        path = Path(folder, "stdin")
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield str(_named(path, options, molecules))
    except FormatError as error:
        raise FormatError(_NAME, error.rule, error.line) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _named(path: Path, options: Mapping[str, Any], molecules: bool) -> Path:
    """Return the file under a name that says its format, where its content alone does not."""
    from edgnn.io import Candidate

    start = Candidate(path).text
    is_sd_file = b"V2000" in start or b"V3000" in start
    kind = options.get("format", "smiles" if molecules and not is_sd_file else None)
    if kind == "tables":
        return path.rename(path.with_suffix(".csv"))
    if kind != "smiles":
        return path
    header = start.partition(b"\n")[0].decode("utf-8", "replace")
    # between " |" and "|" there is an extension of a SMILES
    is_table = " |" not in header and any(mark in header for mark in _MARKS)
    return path.rename(path.with_suffix(".csv" if is_table else ".smi"))
