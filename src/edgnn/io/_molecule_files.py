"""Files of molecules as text: records of SD files and rows of tables, walked through alike."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from os import fspath
from typing import IO, Any, Literal

from edgnn._files import Path_, open_binary
from edgnn._words import preview, short
from edgnn.errors import FormatError, GraphError, UnknownLabelError
from edgnn.io._descriptor_columns import DescriptorColumns
from edgnn.io._molecule_size import MOST_ATOMS
from edgnn.io._rdkit import Collector, is_reaction, read_mol_block, read_smiles
from edgnn.io._separated import (
    Row,
    column_of,
    has_column,
    id_column,
    number_in,
    numbered_lines,
    refuse_spreadsheet,
    split_lines,
    uneven,
)

OnBad = Literal["error", "skip"]

#: Endings of tables of SMILES that may do without a header.
HEADERLESS = (".smi", ".smiles")

_SMILES = "smiles"
_LOOKED_AT = 20
_SHOWN_POSITIONS = 10
_CHOOSE_COLUMN = (
    "; choose the column of SMILES with smiles= (-o smiles=NAME in a command), "
    "or where the file has no header, let its name end in .smi"
)


class SkippedWarning(UserWarning):
    """Molecules that could not be read were left out.

    Attributes
    ----------
    skipped : dict
        The reason of each, by its position in the list or file, counted from 0.
    """

    def __init__(self, message: str, skipped: dict[int, str]) -> None:
        super().__init__(message)
        self.skipped = skipped


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
    cells : tuple of str
        Its cells of the columns (its values of the properties) that were asked for.
    is_smiles : bool
        Whether ``text`` is a SMILES.
    problem : str
        Why the molecule is not even looked at; empty where it is.
    """

    line: int
    where: str
    name: str
    text: str
    cells: tuple[str, ...] = ()
    is_smiles: bool = True
    problem: str = ""

    @property
    def given(self) -> str:
        """The SMILES, shortened and quoted, or what errors call a record."""
        return short(self.text, 60) if self.is_smiles else self.where

    def read(self, keep_hydrogens: bool = False, max_atoms: int = MOST_ATOMS) -> tuple[Any, str]:
        """Return RDKit's molecule, or ``None`` and the reason why it cannot be read."""
        if self.problem:
            return None, self.problem
        if self.is_smiles:
            return read_smiles(self.text, max_atoms)
        return read_mol_block(self.text, keep_hydrogens, max_atoms)


@dataclass(frozen=True)
class MoleculeRecords:
    """The records of an open file, one after another.

    Parameters
    ----------
    columns : tuple of str
        What the cells of a record are called.
    records : iterator of MoleculeRecord
        The records.
    """

    columns: tuple[str, ...]
    records: Iterator[MoleculeRecord] = field(repr=False)

    def __iter__(self) -> Iterator[MoleculeRecord]:
        return self.records


def read_records(
    records: Iterable[MoleculeRecord],
    collector: Collector,
    path: Path_ | None = None,
    descriptors: DescriptorColumns | None = None,
) -> Iterator[tuple[MoleculeRecord, str]]:
    """Add molecules to a collector, one by one, and what stands beside them to ``descriptors``.

    Yields each record with the reason why it could not be read; an empty text where it was added.
    A label that the collector must know and does not is an error.
    """
    for record in records:
        mol, reason = record.read(collector.hydrogens, collector.max_atoms)
        numbers: list[float] = []
        if mol is not None and descriptors is not None:
            numbers, reason = descriptors.read(record.cells)
        if mol is not None and not reason:
            where = record.where
            if path is not None:
                where = f"{fspath(path)}, line {record.line}: {where}"
            try:
                collector.add(mol, where)
            except UnknownLabelError:
                raise
            except GraphError as error:
                reason = str(error).removeprefix(f"{where}: ")
        if descriptors is not None and not reason:
            descriptors.keep(numbers)
        yield record, reason


@contextmanager
def molecule_records(
    path: Path_,
    format: str,
    *,
    smiles: str | None = None,
    id: str | None = None,  # noqa: A002 - what the column is called nearly everywhere
    columns: Sequence[str] | None = (),
    delimiter: str | None = None,
    max_bytes: int | None = None,
) -> Iterator[MoleculeRecords]:
    """Open a file of molecules and give its records one after another.

    Parameters
    ----------
    path : path
        The file, in UTF-8, plain or gzip.
    format : {"smiles", "sdf"}
        A table with a column of SMILES, or an SD file.
    smiles, id, delimiter
        Of tables; see :func:`edgnn.io.read_smiles_table`.
    columns : sequence of str, optional
        Columns or properties to give with each record; ``None`` for all, but not a column ``id``
        that is the one of names, as the record has it already.
    max_bytes : int, optional
        How much a compressed file may unpack to.

    Examples
    --------
    >>> from edgnn.io import molecule_records
    >>> with molecule_records("molecules.csv", "smiles") as records:  # doctest: +SKIP
    ...     for record in records:
    ...         mol, reason = record.read()
    """
    if format == "sdf" and columns is None:
        with open_binary(path, max_bytes) as stream:
            columns = _property_names(stream, path)
    with open_binary(path, max_bytes) as stream:
        if format == "sdf":
            names = tuple(columns or ())
            yield MoleculeRecords(names, _of_sd_file(stream, path, names))
        else:
            table = smiles_table(stream, path, smiles, delimiter)
            yield _of_table(table, path, id, columns)


def _of_sd_file(stream: IO[bytes], path: Path_, columns: Sequence[str]) -> Iterator[MoleculeRecord]:
    for number, (line, record) in enumerate(sd_records(stream, path), 1):
        title = record.partition("\n")[0].strip()
        where = f"record {number} ({short(title)})" if title else f"record {number}"
        values: tuple[str, ...] = ()
        if columns:
            properties = _properties_of(record)
            values = tuple(properties.get(name, "") for name in columns)
        yield MoleculeRecord(line, where, title, record, values, is_smiles=False)


def _property_names(stream: IO[bytes], path: Path_) -> list[str]:
    """Return the names of all properties that occur, in the order of their first appearance."""
    names: dict[str, None] = {}
    for _, record in sd_records(stream, path):
        names.update(dict.fromkeys(_properties_of(record)))
    return list(names)


@dataclass(frozen=True)
class SmilesTable:
    """A table with a column of SMILES.

    Parameters
    ----------
    header : list of str
        The column names.
    rows : iterator of Row
        The rows, with the number of the line of each.
    column : int
        The column of SMILES.
    has_header : bool
        Whether the first line of the file names the columns.
    """

    header: list[str]
    rows: Iterator[Row]
    column: int
    has_header: bool = True


def _of_table(
    table: SmilesTable,
    path: Path_,
    id: str | None,  # noqa: A002 - as above
    columns: Sequence[str] | None,
) -> MoleculeRecords:
    names, places = table_columns(table, path, id, columns)
    called = tuple(table.header[place].strip() for place in places)
    return MoleculeRecords(called, _rows(table, names, places))


def _rows(table: SmilesTable, names: int | None, places: Sequence[int]) -> Iterator[MoleculeRecord]:
    width = len(table.header)
    for line, row in table.rows:
        problem = "" if len(row) == width else uneven(row, width)
        row += [""] * (width - len(row))
        text = row[table.column].strip()
        name = "" if names is None else row[names].strip()
        cells = tuple(row[place].strip() for place in places)
        where = f"SMILES {short(text)}"
        yield MoleculeRecord(line, where, name or text, text, cells, problem=problem)


def table_columns(
    table: SmilesTable,
    path: Path_,
    id: str | None,  # noqa: A002 - as above
    columns: Sequence[str] | None,
) -> tuple[int | None, list[int]]:
    """Return the column of names, and those that are asked for by name; ``None`` asks for all."""
    if columns is not None:
        places = [column_of(table.header, name, path) for name in columns]
        return id_column(table.header, id, [table.column, *places], path), places
    names = id_column(table.header, id, [table.column], path)
    if not table.has_header:
        return names, [table.column]
    is_repeated = names is not None and table.header[names].strip() == "id"
    return names, [
        place for place in range(len(table.header)) if not (is_repeated and place == names)
    ]


def smiles_table(
    stream: IO[bytes], path: Path_, smiles: str | None, delimiter: str | None
) -> SmilesTable:
    """Return a table, or a file without a header, with its column of SMILES.

    Without ``smiles``, that is the column called so; else the only one whose name holds the word;
    else the only one whose first cells are all SMILES.
    """
    refuse_spreadsheet(path)
    lines = numbered_lines(stream, path)
    first = next(lines, (1, ""))
    lines = chain([first], lines)
    may_lack_header = fspath(path).lower().removesuffix(".gz").endswith(HEADERLESS)
    if may_lack_header and (smiles or _SMILES).casefold() not in first[1].casefold():
        rows = ((line, _fields(text)) for line, text in lines if text.strip())
        return SmilesTable([smiles or _SMILES, "name"], rows, 0, has_header=False)
    header, table_rows = split_lines(lines, path, delimiter, even=False)
    if smiles is not None:
        return SmilesTable(header, table_rows, column_of(header, smiles, path, _CHOOSE_COLUMN))
    looked_at = list(islice(table_rows, _LOOKED_AT))
    column = find_smiles_column(header, [row for _, row in looked_at], path)
    if column is None:
        column = column_of(header, _SMILES, path, _CHOOSE_COLUMN)
    return SmilesTable(header, chain(looked_at, table_rows), column)


def find_smiles_column(
    header: Sequence[str], rows: Sequence[Sequence[str]], path: Path_
) -> int | None:
    """Return the column of SMILES of a table that does not say which it is, or ``None``.

    Parameters
    ----------
    header : sequence of str
        The column names.
    rows : sequence
        The first rows.
    path : path
        The file, for errors.
    """
    rows = rows[:_LOOKED_AT]
    if has_column(header, _SMILES):
        return column_of(header, _SMILES, path)
    named = [place for place, name in enumerate(header) if _SMILES in name.casefold()]
    if len(named) == 1:
        return named[0]
    places = named or range(len(header))
    fitting = [place for place in places if _are_smiles(_cells(rows, place))]
    return fitting[0] if len(fitting) == 1 else None


def _cells(rows: Sequence[Sequence[str]], place: int) -> list[str]:
    cells = (row[place].strip() for row in rows if place < len(row))
    return [cell for cell in cells if cell]


def _are_smiles(cells: Sequence[str]) -> bool:
    """Return whether all cells are molecules; numbers and words are not, as RDKit reads them.

    Reactions count, so that they are refused by name where they are read.
    """
    if not cells or any(number_in(cell) is not None for cell in cells):
        return False
    return all(is_reaction(cell) or read_smiles(cell)[0] is not None for cell in cells)


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


def check_bad(bad: str, choices: Sequence[str] = ("error", "skip")) -> None:
    """Raise where ``bad`` is none of the choices."""
    if bad not in choices:
        raise GraphError(f"bad={bad!r}: choose {' or '.join(map(repr, choices))}")


class SkippedMolecules:
    """Molecules of a file that cannot be read: an error, or a count and one warning."""

    def __init__(self, path: Path_, bad: OnBad) -> None:
        check_bad(bad)
        self._path = path
        self._bad = bad
        self._first: tuple[MoleculeRecord, str] | None = None
        self._reasons: dict[int, str] = {}

    def add(self, position: int, record: MoleculeRecord, reason: str) -> None:
        """Raise, or note the molecule."""
        rule = f"{record.where}: {reason}"
        if self._bad == "error":
            advice = "to leave such molecules out, pass bad='skip' (-o bad=skip in a command)"
            raise FormatError(self._path, f"{rule}; {advice}", record.line)
        self._first = self._first or (record, reason)
        self._reasons[position] = f"line {record.line}: {rule}"

    def end(self, kept: int) -> None:
        """Warn once where molecules were skipped; raise where none is left."""
        if self._first is None:
            return
        count = len(self._reasons)
        record, reason = self._first
        if not kept:
            raise none_readable(count, record.given, reason, self._path, record.line)
        warnings.warn(
            SkippedWarning(
                f"{fspath(self._path)}: {count} of {count + kept} molecules were skipped; "
                f"the first: line {record.line}: {record.where}: {reason}",
                self._reasons,
            ),
            stacklevel=4,
        )


def none_readable(
    count: int, first: str, reason: str, path: Path_ | None = None, line: int | None = None
) -> GraphError:
    """Return the error of molecules of which not one can be read."""
    rule = f"the molecule {first} cannot be read: {reason}"
    if count > 1:
        rule = f"none of the {count:,} molecules can be read; the first, {first}: {reason}"
    return GraphError(rule) if path is None else FormatError(path, rule, line)


def unreadable(skipped: dict[int, str], advice: str) -> GraphError:
    """Return the error of a list of SMILES some of which cannot be read, with their positions."""
    first, *others = skipped.values()
    more = ""
    if others:
        more = f"; nor can those at {preview(list(skipped)[1:], _SHOWN_POSITIONS)}"
    return GraphError(f"{first}{more}; {advice}")
