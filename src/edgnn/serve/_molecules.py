"""Molecules of requests, as SMILES and in files, read one after another within the limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgnn._words import short
from edgnn.errors import FormatError, GraphError
from edgnn.io import (
    FORMATS,
    Collector,
    Deadline,
    MoleculeOptions,
    MoleculeRecord,
    MoleculeRecords,
    Piece,
    Unread,
    listed,
    molecule_records,
    none_readable,
    pieces_of,
)
from edgnn.io.datasets import molecule_options
from edgnn.serve._limits import LONGEST_SMILES, Limits, TooLarge

if TYPE_CHECKING:
    from edgnn.serve._model import Served

#: Parsing lets no other thread run meanwhile; atoms and rings have a bound in the reader.
_LONGEST = {"smiles": LONGEST_SMILES, "sdf": 40 * LONGEST_SMILES}


def read_smiles_list(
    served: Served, texts: Sequence[str], limits: Limits, deadline: Deadline, *, skip: bool
) -> Piece:
    """Return molecules as graphs, and those that were skipped."""
    served.check_level("graph", "smiles")
    limits.check_items(len(texts), "molecules")
    options = molecule_options(served.config)
    return _read(listed(texts), "smiles", options, limits, deadline, None, skip=skip)


def read_molecule_file(
    path: Path,
    kind: str,
    options: Mapping[str, Any],
    limits: Limits,
    deadline: Deadline,
    *,
    skip: bool,
) -> Piece:
    """Return the molecules of an SD file or a table, as its reader does, and those skipped.

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
        Whether to skip what cannot be read.
    """
    fitted = FORMATS[kind].check_read_options(options)
    chosen = {name: fitted[name] for name in ("smiles", "id", "delimiter") if name in fitted}
    with molecule_records(path, kind, columns=None, max_bytes=limits.unpacked, **chosen) as records:
        return _read(records, kind, fitted, limits, deadline, path, skip=skip)


def _read(
    records: MoleculeRecords,
    kind: str,
    options: Mapping[str, Any],
    limits: Limits,
    deadline: Deadline,
    path: Path | None,
    *,
    skip: bool,
) -> Piece:
    """Return all molecules as one piece; one that may not be skipped is an error."""
    # Above the reader's own bound on atoms, it starts child processes: not for requests.
    known = MoleculeOptions.__annotations__.keys() - {"max_atoms"}
    chosen = {name: value for name, value in options.items() if name in known}
    collector = Collector(**chosen)

    def within_limits() -> Iterator[MoleculeRecord]:
        for record in records:
            deadline.check()
            yield _of_allowed_length(record, _LONGEST[kind], path, skip=skip)
            limits.check_sizes(collector.num_nodes, collector.num_edges)

    def refuse(unread: Unread, record: MoleculeRecord) -> None:
        raise _refusal(path, record, unread.reason)

    (piece,) = pieces_of(
        MoleculeRecords(records.columns, within_limits()),
        chosen | {"descriptors": options.get("descriptors")},
        on_unread=None if skip else refuse,
        atoms=inf,
        collector=collector,
    )
    if piece.unread and not len(piece.items):
        first = piece.unread[0]
        raise none_readable(len(piece.unread), short(first.text, 60), first.reason)
    return piece


def _of_allowed_length(
    record: MoleculeRecord, longest: int, path: Path | None, *, skip: bool
) -> MoleculeRecord:
    """Return a record, or one with a problem where it is too long to be parsed."""
    if len(record.text) <= longest:
        return record
    problem = f"the molecule has {len(record.text):,} characters; {longest:,} are allowed"
    if not skip:
        where = record.where if path is None else f"{path.name}, line {record.line}"
        raise TooLarge(f"{where}: {problem}: leave it out")
    return replace(record, text=record.text[:longest], name=record.name[:longest], problem=problem)


def _refusal(path: Path | None, record: MoleculeRecord, reason: str) -> GraphError:
    """Return the error that one molecule of a list or of a file is."""
    if path is None:
        return GraphError(f"{record.where}: {reason}")
    advice = "correct it, take it out, or have it skipped with bad=skip"
    return FormatError(path, f"{record.where}: {reason}; {advice}", record.line)
