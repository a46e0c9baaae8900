"""Molecules of requests, as SMILES and in files: read one after another, those that cannot be read named or left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from edgnn._files import open_binary
from edgnn._words import short
from edgnn.errors import FormatError, GraphError
from edgnn.graphs import Graphs
from edgnn.io import (
    Collector,
    MoleculeOptions,
    column_of,
    fitting,
    id_column,
    read_mol_block,
    read_sdf,
    read_smiles,
    read_smiles_table,
    records,
    table,
)
from edgnn.io.datasets import molecule_options
from edgnn.serve._limits import LONGEST_SMILES, Deadline, Limits, TooLarge

if TYPE_CHECKING:
    from edgnn.serve._model import Served

_LONGEST = {
    "smiles": LONGEST_SMILES,
    "sdf": 40 * LONGEST_SMILES,
}  # RDKit takes the square of a ring, and lets no thread run
_READERS = {"smiles": read_smiles_table, "sdf": read_sdf}
_RENAME = (
    "; call the column of SMILES so, or where the file has no header, let its name end in .smi"
)


@dataclass(frozen=True)
class LeftOut:
    """A molecule that could not be read.

    Parameters
    ----------
    index : int
        Its place in the request or file, counted from 0.
    input : str
        What was given: its SMILES, or the title of its record.
    error : str
        Why it could not be read.
    name : str or int
        What it is called in a table of answers.
    """

    index: int
    input: str
    error: str
    name: str | int


@dataclass(frozen=True)
class _Entry:
    """A molecule of a file as text: the line it begins at, what errors call it, what tables call it."""

    line: int
    where: str
    name: str
    text: str


def of_smiles(
    served: Served, texts: Sequence[str], limits: Limits, deadline: Deadline, *, skip: bool
) -> tuple[Graphs, list[LeftOut]]:
    """Return molecules as graphs, and those left out."""
    served.check_level("graph", "smiles")
    limits.check_items(len(texts), "molecules")
    entries = (
        _Entry(place, f"SMILES {place} ({short(text)})", text, text)
        for place, text in enumerate(texts)
    )
    refused = None if skip else lambda entry, reason, _: GraphError(f"{entry.where}: {reason}")
    return _collected(entries, "smiles", molecule_options(served.config), limits, deadline, refused)


def of_molecule_file(
    path: Path,
    kind: str,
    options: Mapping[str, Any],
    limits: Limits,
    deadline: Deadline,
    *,
    skip: bool,
) -> tuple[Graphs, list[LeftOut]]:
    """Return the molecules of an SD file or a table, as its reader does, and those left out.

    Parameters
    ----------
    path : path
        The file.
    kind : {"smiles", "sdf"}
        Its format.
    options : mapping
        Of the reader.
    limits : Limits
        How much there may be.
    deadline : Deadline
        Looked at before every molecule.
    skip : bool
        Whether to leave out what cannot be read.
    """
    told = fitting(kind, _READERS[kind], options)
    with open_binary(path, limits.unpacked) as stream:
        entries = _records(stream, path) if kind == "sdf" else _rows(stream, path, told)
        return _collected(
            entries, kind, told, limits, deadline, None if skip else partial(_refused, path)
        )


def _collected(
    entries: Iterable[_Entry],
    kind: str,
    options: Mapping[str, Any],
    limits: Limits,
    deadline: Deadline,
    refused: Callable[[_Entry, str, bool], Exception] | None,
) -> tuple[Graphs, list[LeftOut]]:
    """Read molecules one after another; those that cannot be read are left out, or are the error that ``refused`` makes of them."""
    collector = Collector(
        **{
            name: value
            for name, value in options.items()
            if name in MoleculeOptions.__annotations__
        }
    )
    names: dict[int, str] = {}
    skipped: list[LeftOut] = []
    nodes = edges = 0
    for place, entry in enumerate(entries):
        deadline.check()
        try:
            mol = _molecule(entry, kind, keep_hydrogens=bool(options.get("hydrogens")))
            collector.add(mol, entry.where)
        except (GraphError, TooLarge) as error:
            reason = str(error).removeprefix(f"{entry.where}: ")
            if refused is not None:
                raise refused(entry, reason, isinstance(error, TooLarge)) from None
            given = entry.text if kind == "smiles" else entry.name or entry.where
            skipped.append(
                LeftOut(place, given[:LONGEST_SMILES], reason, entry.name[:LONGEST_SMILES] or place)
            )
            continue
        names[place] = entry.name
        nodes, edges = nodes + mol.GetNumAtoms(), edges + 2 * mol.GetNumBonds()
        limits.check_sizes(nodes, edges)
    if skipped and not names:
        raise _none_readable(skipped)
    numbered = (
        list(names) if skipped else None
    )  # with some left out, numbers would be those of others
    return collector.graphs(list(names.values()) if all(names.values()) else numbered), skipped


def _records(stream: BinaryIO, path: Path) -> Iterator[_Entry]:
    for number, (line, record) in enumerate(records(stream, path), 1):
        title = record.partition("\n")[0].strip()
        yield _Entry(
            line,
            f"record {number} ({short(title)})" if title else f"record {number}",
            title,
            record,
        )


def _rows(stream: BinaryIO, path: Path, options: Mapping[str, Any]) -> Iterator[_Entry]:
    smiles = options.get("smiles", "smiles")
    header, rows = table(stream, path, smiles, options.get("delimiter"))
    place = column_of(header, smiles, path, _RENAME)
    named = id_column(header, options.get("id"), [place], path)
    for line, row in rows:
        if len(row) != len(header):
            raise FormatError(
                path, f"the row has {len(row)} cells, but the header has {len(header)}", line
            )
        text = row[place].strip()
        yield _Entry(
            line,
            f"SMILES {short(text)}",
            (row[named].strip() if named is not None else "") or text,
            text,
        )


def _molecule(entry: _Entry, kind: str, *, keep_hydrogens: bool) -> Any:
    if len(entry.text) > _LONGEST[kind]:
        raise TooLarge(
            f"the molecule has {len(entry.text):,} characters; {_LONGEST[kind]:,} are allowed"
        )
    mol, reason = (
        read_mol_block(entry.text, keep_hydrogens) if kind == "sdf" else read_smiles(entry.text)
    )
    if mol is None:
        raise GraphError(reason)
    return mol


def _refused(path: Path, entry: _Entry, reason: str, long: bool) -> GraphError | TooLarge:
    """Return the error that one molecule is."""
    if long:
        return TooLarge(f"{path.name}, line {entry.line}: {reason}: leave it out")
    return FormatError(
        path,
        f"{entry.where}: {reason}; correct it, take it out, or have it skipped with bad=skip",
        entry.line,
    )


def _none_readable(skipped: Sequence[LeftOut]) -> GraphError:
    first = short(skipped[0].input, 60)
    if len(skipped) == 1:
        return GraphError(f"the molecule {first} cannot be read: {skipped[0].error}")
    return GraphError(
        f"none of the {len(skipped):,} molecules can be read; the first, {first}: {skipped[0].error}"
    )
