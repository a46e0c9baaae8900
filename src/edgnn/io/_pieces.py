"""Sources of molecules a piece at a time: what can be read, and why the rest cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from edgnn._files import Path_
from edgnn.errors import FormatError, GraphError
from edgnn.graphs import Graphs, Nodes
from edgnn.io._common import as_list
from edgnn.io._descriptor_columns import DescriptorColumns
from edgnn.io._molecule_files import (
    MoleculeRecord,
    MoleculeRecords,
    check_bad,
    molecule_records,
    read_records,
)
from edgnn.io._molecules import MoleculeOptions, list_records
from edgnn.io._rdkit import Collector

#: How many atoms, or rows, a piece has; small enough that all that is made of it is, too.
ATOMS_AT_ONCE = 50_000
_ROWS_AT_ONCE = 10_000

_BAD = ("keep", "skip", "error")
_OF_READER = ("smiles", "id", "delimiter", "max_bytes")

OnUnread = Callable[["Unread", MoleculeRecord], None]


@dataclass(frozen=True)
class Unread:
    """A row or record whose molecule cannot be read.

    Parameters
    ----------
    position : int
        Its position in the source, counted from 0.
    line : int
        The line that it begins on; 0 where it is of a list.
    text : str
        What was given: its SMILES, or the title or number of its record.
    reason : str
        Why it cannot be read.
    """

    position: int
    line: int
    text: str
    reason: str

    @property
    def located_reason(self) -> str:
        """The reason, with the line before it."""
        return f"line {self.line}: {self.reason}" if self.line else self.reason


@dataclass(frozen=True, eq=False)
class Piece:
    """Consecutive items of a source.

    Parameters
    ----------
    items : Graphs or Nodes
        Those that can be read.
    unread : tuple of Unread
        Those that cannot.
    names : sequence, optional
        What all are called, in the order of the source; default: as the items are.
    columns : mapping
        What the source says about them beside that: by name, one cell for each.
    first : int
        Position of the first in the source.
    """

    items: Graphs | Nodes
    unread: tuple[Unread, ...] = ()
    names: Sequence[Any] | None = None
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    first: int = 0

    def __len__(self) -> int:
        return len(self.items) + len(self.unread)


def read_pieces(
    path: Path_,
    format: str,
    *,
    bad: str = "keep",
    atoms: int = ATOMS_AT_ONCE,
    **options: Any,
) -> Iterator[Piece]:
    r"""Read a file of molecules a piece at a time, with all of its columns or properties.

    Parameters
    ----------
    path : path
        The file.
    format : {"smiles", "sdf"}
        A table with a column of SMILES, or an SD file.
    bad : {"keep", "skip", "error"}
        What to do with molecules that cannot be read: note them in the piece (``"skip"`` does the
        same: a piece loses nothing), or raise.
    atoms : int
        After how many atoms a piece ends.
    **options
        As of :func:`read_smiles_table` or :func:`read_sdf`, without targets. A molecule that lacks
        one of its ``descriptors`` is one that cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from edgnn.io import read_pieces
    >>> _ = Path("three.csv").write_text("smiles,batch\nCCO,A\nnonsense,B\nCCN,B\n")
    >>> (piece,) = read_pieces("three.csv", "smiles")
    >>> len(piece.items), piece.columns["batch"], piece.unread[0].line
    (2, ['A', 'B', 'B'], 3)
    """
    check_bad(bad, _BAD)
    of_reader = {name: options[name] for name in _OF_READER if name in options}
    with molecule_records(path, format, columns=None, **of_reader) as records:
        refuse = _refusing(path) if bad == "error" else None
        yield from pieces_of(records, options, on_unread=refuse, atoms=atoms)


def smiles_pieces(smiles: Iterable[str], **options: Any) -> Iterator[Piece]:
    """Read SMILES strings a piece at a time; options as in :func:`read_pieces`."""
    bad = options.pop("bad", "keep")
    check_bad(bad, _BAD)
    records = listed(smiles)
    yield from pieces_of(records, options, on_unread=_refuse if bad == "error" else None)


def listed(smiles: Iterable[str]) -> MoleculeRecords:
    """Return SMILES strings as records; errors count them from 0."""
    return MoleculeRecords((), list_records(smiles))


def pieces_of(
    records: MoleculeRecords,
    options: Mapping[str, Any],
    *,
    on_unread: OnUnread | None = None,
    atoms: float = ATOMS_AT_ONCE,
    collector: Collector | None = None,
) -> Iterator[Piece]:
    """Gather molecules into pieces; there is one at least.

    Parameters
    ----------
    records : MoleculeRecords
        The molecules.
    options : mapping
        Those of ``MoleculeOptions`` are used, and ``descriptors``.
    on_unread : callable, optional
        Called with each molecule that cannot be read; it may raise.
    atoms : float
        After how many atoms a piece ends.
    collector : Collector, optional
        Where the molecules of the first piece go, for a caller who looks at its size meanwhile.
    """
    known = MoleculeOptions.__annotations__
    chosen: Any = {name: value for name, value in options.items() if name in known}
    names = as_list(options.get("descriptors"))
    gathered = _Gathered(records.columns, collector or Collector(**chosen), names, 0)
    while True:
        ended = gathered.fill(records.records, on_unread, atoms)
        if len(gathered.names) or not gathered.first:
            yield gathered.piece()
        if ended:
            return
        first = gathered.first + len(gathered.names)
        gathered = _Gathered(records.columns, Collector(**chosen), names, first)


class _Gathered:
    """The molecules of one piece."""

    def __init__(
        self, columns: Sequence[str], collector: Collector, descriptors: Sequence[str], first: int
    ) -> None:
        self.first = first
        self._descriptors = DescriptorColumns.among(columns, descriptors)
        self.names: list[Any] = []
        self._collector = collector
        self._columns: list[tuple[str, list[str]]] = [(name, []) for name in columns]
        self._unread: list[Unread] = []

    def fill(
        self, records: Iterator[MoleculeRecord], on_unread: OnUnread | None, atoms: float
    ) -> bool:
        """Take records until the piece is full; return whether they have ended."""
        for record, reason in read_records(records, self._collector, descriptors=self._descriptors):
            position = self.first + len(self.names)
            self.names.append(record.name or position)
            for (_, cells), cell in zip(self._columns, record.cells, strict=True):
                cells.append(cell)
            if reason:
                text = record.text if record.is_smiles else record.name or record.where
                unread = Unread(position, record.line, text, reason)
                if on_unread is not None:
                    on_unread(unread, record)
                self._unread.append(unread)
            if self._collector.num_nodes >= atoms or len(self.names) >= max(atoms, _ROWS_AT_ONCE):
                return False
        return True

    def piece(self) -> Piece:
        """Return what was gathered."""
        missing = {unread.position - self.first for unread in self._unread}
        kept = [name for place, name in enumerate(self.names) if place not in missing]
        return Piece(
            self._descriptors.added_to(self._collector.graphs(kept)),
            tuple(self._unread),
            self.names,
            distinct(self._columns),
            self.first,
        )


def distinct(columns: Sequence[tuple[str, Any]], taken: Iterable[str] = ()) -> dict[str, Any]:
    """Return columns by name; one whose name is taken already is called ``name (2)`` and so on."""
    used = set(taken)
    named: dict[str, Any] = {}
    for name, cells in columns:
        free = next(new for new in _numbered(name) if new not in used)
        used.add(free)
        named[free] = cells
    return named


def _numbered(name: str) -> Iterator[str]:
    yield name
    for number in count(2):
        yield f"{name} ({number})"


def _refusing(path: Path_) -> OnUnread:
    def refuse(unread: Unread, record: MoleculeRecord) -> None:
        raise FormatError(path, f"{record.where}: {unread.reason}", record.line)

    return refuse


def _refuse(unread: Unread, record: MoleculeRecord) -> None:
    raise GraphError(f"{record.where}: {unread.reason}")
