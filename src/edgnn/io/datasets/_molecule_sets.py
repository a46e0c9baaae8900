"""Named sets of molecules: one table of SMILES, with its targets, published split and subsets."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import fspath
from pathlib import Path
from typing import IO

import numpy as np

from edgnn._files import open_member, open_zip, zip_members
from edgnn._words import counted, preview
from edgnn.errors import DatasetError, FormatError
from edgnn.graphs import Graphs
from edgnn.io._common import Array, object_array
from edgnn.io._molecule_files import MoleculeRecord, SkippedMolecules, molecule_records
from edgnn.io._molecules import from_mols
from edgnn.io._rdkit import read_smiles
from edgnn.io._scaffolds import divide_by_frequency, framework
from edgnn.io._separated import TargetColumns, column_of
from edgnn.io.datasets._kept_splits import keep_split, kept_split
from edgnn.io.datasets._registry import SCAFFOLD, Entry
from edgnn.io.datasets._target_columns import choose_columns

#: The parts of a published split, in the order that people name them.
PARTS = ("train", "validation", "test")

_HELD_OUT = 0.1  # of a scaffold split, for validation and for test each
_SMILES = "smiles"
_NO_TARGETS = (_SMILES, "id")
_YES = "1"


@dataclass(frozen=True, eq=False)
class MoleculeTable:
    """What the table of a named set holds.

    Parameters
    ----------
    graphs : Graphs
        The molecules, by their SMILES.
    targets : array
        As the file has them, one or one row per molecule.
    target_names : tuple of str
        The columns.
    parts : array, optional
        The part of the published split that each molecule is in.
    subsets : mapping
        By name, whether each molecule belongs to it.
    """

    graphs: Graphs
    targets: Array
    target_names: tuple[str, ...]
    parts: Array | None
    subsets: Mapping[str, Array]


def read_molecule_set(folder: Path, entry: Entry) -> MoleculeTable:
    """Read the table of a named set, which may lie in a zip archive by itself.

    Valences are not checked, as RDKit's rules have become stricter since the sets were made; what
    cannot be read nevertheless is left out with one warning.
    """
    file, sha256 = next(iter(entry.sha256.items()))
    path = folder / file
    kept = kept_split(sha256, len(PARTS)) if entry.split == SCAFFOLD else None
    source = _Zipped(path) if path.suffix == ".zip" else path
    with molecule_records(source, "smiles", smiles=_SMILES, columns=None) as records:
        header = records.columns
        names = _target_columns(header, entry, source)
        rows = _Rows(source, names)
        new_split = entry.split == SCAFFOLD and kept is None
        mols = rows.molecules(records, keep_frameworks=new_split)
        # the list of SMILES fills up while the molecules are read, which is before it is looked at
        graphs = from_mols(mols, names=rows.smiles)
    subsets = {
        name: rows.column(column_of(header, column, source)) == _YES
        for name, column in entry.subsets.items()
    }
    parts = None
    if entry.split == SCAFFOLD:
        if kept is None or len(kept) != len(graphs):
            kept = _scaffold_codes(rows.all_frameworks())
            keep_split(sha256, kept)
        parts = object_array(PARTS)[kept]
    elif entry.split:
        parts = rows.column(column_of(header, entry.split, source))
    return MoleculeTable(graphs, rows.targets(header), tuple(names), parts, subsets)


def _scaffold_codes(frameworks: Sequence[str]) -> Array:
    """Return the part of each molecule in the scaffold split of OGB: 80, 10 and 10 percent."""
    count = round(_HELD_OUT * len(frameworks))
    room = [len(frameworks) - 2 * count, count, count]
    codes = np.zeros(len(frameworks), np.int64)
    for code, places in enumerate(divide_by_frequency(frameworks, room)):
        codes[places] = code
    return codes


class _Rows:
    """The cells of the molecules that can be read."""

    def __init__(self, path: Path | _Zipped, names: Sequence[str]) -> None:
        self._path = path
        self._names = names
        self._cells: list[tuple[str, ...]] = []
        self._lines: list[int] = []
        self.smiles: list[str] = []
        self._frameworks: list[str] = []

    def molecules(
        self, records: Iterable[MoleculeRecord], keep_frameworks: bool
    ) -> Iterator[object]:
        """Yield the molecules of records, and keep what else is asked of them."""
        skipped = SkippedMolecules(self._path, "skip")
        for position, record in enumerate(records):
            mol, reason = None, record.problem
            if not reason:
                mol, reason = read_smiles(record.text, check_valence=False)
            if reason:
                skipped.add(position, record, reason)
                continue
            self.smiles.append(record.text)
            self._cells.append(record.cells)
            self._lines.append(record.line)
            if keep_frameworks:
                self._frameworks.append(framework(mol))
            yield mol
        skipped.end(len(self.smiles))

    def all_frameworks(self) -> list[str]:
        """Return the framework of each molecule; a second look where they were not kept."""
        if len(self._frameworks) == len(self.smiles):
            return self._frameworks
        return [framework(read_smiles(text, check_valence=False)[0]) for text in self.smiles]

    def column(self, place: int) -> Array:
        """Return the cells of a column as texts."""
        return object_array([cells[place] for cells in self._cells])

    def targets(self, header: Sequence[str]) -> Array:
        """Return the columns of targets as numbers."""
        single = len(self._names) == 1
        columns = TargetColumns(self._path, self._names[0] if single else list(self._names))
        places = [column_of(header, name, self._path) for name in self._names]
        for cells, line in zip(self._cells, self._lines, strict=True):
            columns.add([cells[place] for place in places], line)
        values = columns.targets()
        assert values is not None
        return values


def _target_columns(header: Sequence[str], entry: Entry, path: Path | _Zipped) -> list[str]:
    """Return the columns of targets of a set, after a check that they are as many as expected."""
    used = {*_NO_TARGETS, entry.split, *entry.subsets.values()}
    free = [name for name in header if name.casefold() not in used]
    try:
        names = choose_columns([entry.target], free)
    except DatasetError as error:
        raise FormatError(path, str(error), 1) from None
    if entry.target_count not in (0, len(names)):
        raise FormatError(
            path,
            f"{entry.name} has {counted(entry.target_count, 'column')} of targets, but the file "
            f"has {counted(len(free), 'column')} that could be: {preview(free, 30)}",
            1,
        )
    return names


class _Zipped:
    """The only file of a zip archive, in the place of a path."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with open_zip(path) as archive:
            members = list(zip_members(archive, path))
        if len(members) != 1:
            raise FormatError(path, f"the archive holds {len(members)} files; it must hold one")
        self._member = members[0]

    def __fspath__(self) -> str:
        """Return what errors call it."""
        return f"{fspath(self._path)}/{self._member}"

    __str__ = __fspath__

    def open(self, mode: str = "rb") -> IO[bytes]:
        """Return its content."""
        assert mode == "rb"
        with open_zip(self._path) as archive:
            info = zip_members(archive, self._path)[self._member]
            with open_member(archive, info, self._path) as stream:
                return io.BytesIO(stream.read())
