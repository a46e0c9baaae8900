"""Files of molecules as text: records of SD files and rows of tables, walked through alike."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from os import fspath
from typing import IO, Any, Literal

from edgnn._files import Path_, open_binary
from edgnn._words import short
from edgnn.errors import FormatError, GraphError
from edgnn.io._molecule_size import MOST_ATOMS
from edgnn.io._rdkit import read_mol_block, read_smiles
from edgnn.io._separated import (
    Row,
    column_of,
    id_column,
    numbered_lines,
    refuse_spreadsheet,
    split_lines,
)

OnBad = Literal["error", "skip"]

_CHOOSE_COLUMN = (
    "; choose the column of SMILES with smiles= (-o smiles=NAME in a command), "
    "or where the file has no header, let its name end in .smi"
)


@dataclass(frozen=True)
class MoleculeRecord:
    """A molecule of a file, as text.

    Parameters
    ----------
    line : int
        The line that it begins on.
    where : str
        What errors call it, such as ``"record 3 ('aspirin')"``.
    name : str
        Its name; empty where a record has none.
    text : str
        The SMILES, or the mol block with what follows it.
    targets : tuple of str
        Its cells of the columns (its values of the properties) that were asked for.
    is_smiles : bool
        Whether ``text`` is a SMILES.
    """

    line: int
    where: str
    name: str
    text: str
    targets: tuple[str, ...] = ()
    is_smiles: bool = True

    def read(self, keep_hydrogens: bool = False, max_atoms: int = MOST_ATOMS) -> tuple[Any, str]:
        """Return RDKit's molecule, or ``None`` and the reason why it cannot be read."""
        if self.is_smiles:
            return read_smiles(self.text, max_atoms)
        return read_mol_block(self.text, keep_hydrogens, max_atoms)


@contextmanager
def molecule_records(
    path: Path_,
    format: str,
    *,
    smiles: str = "smiles",
    id: str | None = None,  # noqa: A002 - what the column is called nearly everywhere
    target: Sequence[str] = (),
    delimiter: str | None = None,
    max_bytes: int | None = None,
) -> Iterator[Iterator[MoleculeRecord]]:
    """Open a file of molecules and give its records one after another.

    Parameters
    ----------
    path : path
        The file, in UTF-8, plain or gzip.
    format : {"smiles", "sdf"}
        A table with a column of SMILES, or an SD file.
    smiles, id, delimiter
        Of tables; see :func:`edgnn.io.read_smiles_table`.
    target : sequence of str
        Columns or properties to give with each record.
    max_bytes : int, optional
        How much a compressed file may unpack to.

    Examples
    --------
    >>> from edgnn.io import molecule_records
    >>> with molecule_records("molecules.csv", "smiles") as records:  # doctest: +SKIP
    ...     for record in records:
    ...         mol, reason = record.read()
    """
    with open_binary(path, max_bytes) as stream:
        if format == "sdf":
            yield _of_sd_file(stream, path, target)
        else:
            yield _of_table(stream, path, smiles, id, target, delimiter)


def _of_sd_file(stream: IO[bytes], path: Path_, target: Sequence[str]) -> Iterator[MoleculeRecord]:
    for number, (line, record) in enumerate(sd_records(stream, path), 1):
        title = record.partition("\n")[0].strip()
        where = f"record {number} ({short(title)})" if title else f"record {number}"
        values: tuple[str, ...] = ()
        if target:
            properties = _properties_of(record)
            values = tuple(properties.get(name, "") for name in target)
        yield MoleculeRecord(line, where, title, record, values, is_smiles=False)


def _of_table(
    stream: IO[bytes],
    path: Path_,
    smiles: str,
    id: str | None,  # noqa: A002 - as above
    target: Sequence[str],
    delimiter: str | None,
) -> Iterator[MoleculeRecord]:
    header, rows = smiles_rows(stream, path, smiles, delimiter)
    column, names, wanted = table_columns(header, path, smiles, id, target)
    for line, row in rows:
        text = row[column].strip()
        name = "" if names is None else row[names].strip()
        targets = tuple(row[place].strip() for place in wanted)
        yield MoleculeRecord(line, f"SMILES {short(text)}", name or text, text, targets)


def table_columns(
    header: Sequence[str],
    path: Path_,
    smiles: str,
    id: str | None,  # noqa: A002 - as above
    target: Sequence[str],
) -> tuple[int, int | None, list[int]]:
    """Return the columns of SMILES, of names and of targets."""
    column = column_of(header, smiles, path, _CHOOSE_COLUMN)
    wanted = [column_of(header, name, path) for name in target]
    return column, id_column(header, id, [column, *wanted], path), wanted


def smiles_rows(
    stream: IO[bytes], path: Path_, smiles: str, delimiter: str | None
) -> tuple[list[str], Iterator[Row]]:
    """Return the column names and the numbered rows of a table, or of a file without a header."""
    refuse_spreadsheet(path)
    lines = numbered_lines(stream, path)
    first = next(lines, (1, ""))
    lines = chain([first], lines)
    may_lack_header = fspath(path).lower().removesuffix(".gz").endswith((".smi", ".smiles"))
    if may_lack_header and smiles.casefold() not in first[1].casefold():
        return [smiles, "name"], ((line, _fields(text)) for line, text in lines if text.strip())
    return split_lines(lines, path, delimiter)


def _fields(text: str) -> list[str]:
    """Return the SMILES and the name on a line; an extension between bars is not a name."""
    separator = "\t" if "\t" in text.strip() else None
    smiles, *others = text.strip().split(separator)
    name = others[0].strip() if others else ""
    return [smiles.partition(" ")[0], "" if name.startswith("|") else name]


def sd_records(stream: IO[bytes], path: Path_) -> Iterator[tuple[int, str]]:
    """Yield the records of an SD file, each with the number of its first line."""
    first, ended = 1, 0
    record = bytearray()  # as a list, short lines would take many times their length
    for number, text in numbered_lines(stream, path):
        if not text.startswith("$$$$"):
            record += text.encode()
            continue
        yield first, record.decode()
        first, ended = number + 1, ended + 1
        record.clear()
    rest = record.decode()
    if rest.strip():
        if ended or "\n>" in rest:
            rule = f"record {ended + 1} does not end with $$$$; the file is cut off"
            raise FormatError(path, rule, first)
        yield first, rest
    elif not ended:
        raise FormatError(path, "the file is empty; expected mol blocks that end with $$$$")


def _properties_of(record: str) -> dict[str, str]:
    """Return the data items that stand behind the mol block of a record."""
    properties: dict[str, str] = {}
    name = None
    for line in islice(io.StringIO(record, newline="\n"), 1, None):
        if name is None and line.startswith(">") and (match := re.search("<(.*)>", line)):
            name = match[1]
            properties[name] = ""
        elif name is not None and line.strip():
            properties[name] = f"{properties[name]}\n{line.strip()}".strip()
        else:
            name = None
    return properties


class SkippedMolecules:
    """Molecules that cannot be read: an error, or a count and one warning."""

    def __init__(self, path: Path_, bad: OnBad) -> None:
        if bad not in ("error", "skip"):
            raise GraphError(f"bad={bad!r}: choose 'error' or 'skip'")
        self._path = path
        self._bad = bad
        self._count = 0
        self._first = ""

    def add(self, record: MoleculeRecord, reason: str) -> None:
        """Raise, or count the molecule."""
        rule = f"{record.where}: {reason}"
        if self._bad == "error":
            advice = "to leave such molecules out, pass bad='skip' (-o bad=skip in a command)"
            raise FormatError(self._path, f"{rule}; {advice}", record.line)
        self._first = self._first or f"line {record.line}: {rule}"
        self._count += 1

    def warn(self, kept: int) -> None:
        """Warn once where molecules were skipped."""
        if self._count:
            total = self._count + kept
            warnings.warn(
                f"{fspath(self._path)}: {self._count} of {total} molecules were skipped; "
                f"the first: {self._first}",
                stacklevel=4,
            )
