"""Molecules of requests, as SMILES and in files, read one after another within the limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgnn._words import short
from edgnn.errors import EdgnnError, FormatError, GraphError
from edgnn.graphs import Graphs
from edgnn.io import FORMATS, Collector, Deadline, MoleculeOptions, MoleculeRecord, molecule_records
from edgnn.io.datasets import molecule_options
from edgnn.serve._limits import LONGEST_SMILES, Limits, TooLarge

if TYPE_CHECKING:
    from edgnn.serve._model import Served

#: Parsing lets no other thread run meanwhile; atoms and rings have a bound in the reader.
_LONGEST = {"smiles": LONGEST_SMILES, "sdf": 40 * LONGEST_SMILES}


@dataclass(frozen=True)
class Skipped:
    """A molecule that could not be read.

    Parameters
    ----------
    index : int
        Its position in the request or file, counted from 0.
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


def read_smiles_list(
    served: Served, texts: Sequence[str], limits: Limits, deadline: Deadline, *, skip: bool
) -> tuple[Graphs, list[Skipped]]:
    """Return molecules as graphs, and those that were skipped."""
    served.check_level("graph", "smiles")
    limits.check_items(len(texts), "molecules")
    entries = (
        MoleculeRecord(number, f"SMILES {number} ({short(text)})", text, text)
        for number, text in enumerate(texts)
    )
    molecules = _Molecules("smiles", molecule_options(served.config), limits, deadline)
    return molecules.read(entries, None, skip=skip)


def read_molecule_file(
    path: Path,
    kind: str,
    options: Mapping[str, Any],
    limits: Limits,
    deadline: Deadline,
    *,
    skip: bool,
) -> tuple[Graphs, list[Skipped]]:
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
    with molecule_records(path, kind, max_bytes=limits.unpacked, **chosen) as records:
        return _Molecules(kind, fitted, limits, deadline).read(records, path, skip=skip)


class _Molecules:
    """Molecules read one by one into graphs, within limits."""

    def __init__(
        self, kind: str, options: Mapping[str, Any], limits: Limits, deadline: Deadline
    ) -> None:
        self._kind = kind
        self._limits = limits
        self._deadline = deadline
        self._hydrogens = bool(options.get("hydrogens"))
        known = MoleculeOptions.__annotations__
        self._collector = Collector(
            **{name: value for name, value in options.items() if name in known}
        )
        self._nodes = 0
        self._edges = 0

    def read(
        self, records: Iterable[MoleculeRecord], path: Path | None, *, skip: bool
    ) -> tuple[Graphs, list[Skipped]]:
        """Return graphs and skipped molecules; one that may not be skipped is an error."""
        names: dict[int, str] = {}
        skipped: list[Skipped] = []
        for number, record in enumerate(records):
            self._deadline.check()
            try:
                self._add(record)
            except (GraphError, TooLarge) as error:
                reason = str(error).removeprefix(f"{record.where}: ")
                if not skip:
                    raise _refusal(path, record, reason, error) from None
                skipped.append(self._skipped(number, record, reason))
                continue
            names[number] = record.name
            self._limits.check_sizes(self._nodes, self._edges)
        if skipped and not names:
            raise _none_readable(skipped)
        return self._collector.graphs(self._graph_names(names, skipped)), skipped

    def _add(self, record: MoleculeRecord) -> None:
        longest = _LONGEST[self._kind]
        if len(record.text) > longest:
            raise TooLarge(
                f"the molecule has {len(record.text):,} characters; {longest:,} are allowed"
            )
        mol, reason = record.read(self._hydrogens)
        if mol is None:
            raise GraphError(reason)
        self._collector.add(mol, record.where)
        self._nodes += mol.GetNumAtoms()
        self._edges += 2 * mol.GetNumBonds()

    def _skipped(self, number: int, record: MoleculeRecord, reason: str) -> Skipped:
        given = record.text if record.is_smiles else record.name or record.where
        name = record.name[:LONGEST_SMILES] or number
        return Skipped(number, given[:LONGEST_SMILES], reason, name)

    def _graph_names(self, names: dict[int, str], skipped: list[Skipped]) -> list[Any] | None:
        if all(names.values()):
            return list(names.values())
        # Where some were skipped, numbers by default would be those of other molecules.
        return list(names) if skipped else None


def _refusal(
    path: Path | None, record: MoleculeRecord, reason: str, error: EdgnnError
) -> EdgnnError:
    """Return the error that one molecule of a list or of a file is."""
    if path is None:
        return GraphError(f"{record.where}: {reason}")
    if isinstance(error, TooLarge):
        return TooLarge(f"{path.name}, line {record.line}: {reason}: leave it out")
    advice = "correct it, take it out, or have it skipped with bad=skip"
    return FormatError(path, f"{record.where}: {reason}; {advice}", record.line)


def _none_readable(skipped: Sequence[Skipped]) -> GraphError:
    first = short(skipped[0].input, 60)
    reason = skipped[0].error
    if len(skipped) == 1:
        return GraphError(f"the molecule {first} cannot be read: {reason}")
    return GraphError(
        f"none of the {len(skipped):,} molecules can be read; the first, {first}: {reason}"
    )
