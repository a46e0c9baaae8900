"""Molecules to Graphs through RDKit: SMILES, Mol objects, SD files, tables with a SMILES column."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypedDict, Unpack

from edgnn._files import Path_
from edgnn._words import short
from edgnn.errors import GraphError
from edgnn.graphs import Graphs, OnUnknown
from edgnn.io._common import as_list
from edgnn.io._descriptor_columns import DescriptorColumns
from edgnn.io._frames import column_values
from edgnn.io._labeled import Labeled
from edgnn.io._molecule_files import (
    MoleculeRecord,
    OnBad,
    SkippedMolecules,
    SkippedWarning,
    check_bad,
    molecule_records,
    none_readable,
    read_records,
    unreadable,
)
from edgnn.io._molecule_size import MOST_ATOMS
from edgnn.io._rdkit import Aromaticity, Collector, Property, chem
from edgnn.io._separated import TargetColumns


class MoleculeOptions(TypedDict, total=False):
    """The keyword arguments that all molecule readers share; :func:`from_smiles` explains them."""

    atom_label: Property
    bond_label: Property
    hydrogens: bool
    kekulize: bool
    aromaticity: Aromaticity
    like: Graphs | None
    unknown: OnUnknown
    max_atoms: int
    attributes: bool


def from_smiles(
    smiles: str | Iterable[str],
    *,
    atom_label: Property = "symbol",
    bond_label: Property = "type",
    hydrogens: bool = False,
    kekulize: bool = False,
    aromaticity: Aromaticity = "rdkit",
    names: Sequence[Any] | None = None,
    bad: OnBad = "error",
    like: Graphs | None = None,
    unknown: OnUnknown = "error",
    max_atoms: int = MOST_ATOMS,
    attributes: bool = True,
) -> Graphs:
    """Convert SMILES strings: atoms become nodes, each bond two edges, one each way.

    Parameters
    ----------
    smiles : str or iterable of str
        One molecule per string. What follows a blank is a name or CXSMILES extension, as RDKit
        reads it.
    atom_label : str, sequence of str or callable, optional
        Node label: ``"symbol"``, ``"number"``, ``"charge"``, ``"aromatic"``, ``"degree"``,
        ``"hydrogens"`` (all that are attached), ``"valence"``, ``"radicals"``, ``"hybridization"``
        (``"sp2"``), ``"chirality"`` (``"R"``, ``"S"``, ``"none"``), ``"in_ring"``, ``"ring_size"``
        (the smallest ring, 0 for none), ``"isotope"`` (0 where not given), ``"mass_number"``;
        several of them for a tuple; a function of the RDKit atom; or ``None`` for no labels.
    bond_label : str, sequence of str or callable, optional
        Edge label, the same in both directions: ``"type"`` (``"single"``, ``"double"``,
        ``"triple"``, ``"aromatic"``, else RDKit's name, such as ``"dative"``), ``"stereo"``
        (``"E"``, ``"Z"``, ``"any"``, ``"none"``), ``"conjugated"``, ``"in_ring"``, ``"ring_size"``;
        several; a function of the RDKit bond; or ``None``.
    hydrogens : bool
        Make every hydrogen atom a node.
    kekulize : bool
        Write aromatic rings as alternating single and double bonds.
    aromaticity : {"rdkit", "cdk"}
        What is aromatic. ``"cdk"`` leaves out rings with a double bond that points out of the ring,
        such as those of coumarin and caffeine: the rule that the PTC sets of the TU collection
        follow.
    names : sequence, optional
        Graph names, one per string; default: the strings themselves.
    bad : {"error", "skip"}
        What to do with strings that cannot be read, missing ones (None, NaN) among them: raise an
        error that names their positions, or leave them out, together with their names, with a
        ``SkippedWarning`` whose ``skipped`` has the reason of each by position.
    like : Graphs, optional
        Number the labels as these graphs do, so that a model made for them fits.
    unknown : {"error", "map"}
        What to do with a label that ``like`` does not know: raise, or give it the reserved label
        ``UNKNOWN``.
    max_atoms : int
        The most atoms a molecule may have; a larger one is an error. RDKit's memory grows with the
        square of a ring's size, so molecules beyond the default, and those with very many rings,
        are read by a child process with limited memory.
    attributes : bool
        Whether to note, beside the labels, what models may ask for. As ``node_attributes``:
        ``charge``, ``hydrogens`` (all that are attached), ``aromatic``, ``chirality`` (0 none, 1 R,
        2 S), ``in_ring``, ``ring_size`` (the smallest ring, 0 for none), ``radicals``, ``isotope``
        (0 where not given) and ``pharmacophore``, a mask (1 donates a hydrogen, 2 accepts one, 4
        aromatic, 8 halogen, 16 basic, 32 acidic: the feature invariants of RDKit). As
        ``edge_attributes``: ``stereo`` (0 none, 1 Z, 2 E), ``conjugated``, ``in_ring`` and
        ``ring_size``.

    Examples
    --------
    >>> from edgnn.io import from_smiles
    >>> from_smiles(["CCO", "c1ccccc1[N+](=O)[O-]"])
    Graphs(2 graphs, 12 nodes, 22 edges, 3 node labels, 3 edge labels, 9 node attributes, 4 edge
    attributes)

    With positions as names, the result says which strings were read:

    >>> import warnings
    >>> texts = ["CCO", "nonsense", "CCN"]
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     graphs = from_smiles(texts, bad="skip", names=range(len(texts)))
    >>> graphs.graph_names.tolist()
    [0, 2]
    """
    check_bad(bad)
    collector = Collector(
        atom_label,
        bond_label,
        hydrogens,
        kekulize,
        aromaticity,
        like,
        unknown,
        max_atoms,
        attributes,
    )
    texts: list[Any] = []
    skipped: dict[int, str] = {}
    first = ("", "")
    for position, (record, reason) in enumerate(read_records(list_records(smiles), collector)):
        texts.append(record.text)
        if reason:
            first = first if skipped else (record.where, reason)
            skipped[position] = f"{record.where}: {reason}"
    if names is not None and len(names) != len(texts):
        raise GraphError(f"{len(names)} names were given for {len(texts)} molecules")
    if skipped and bad == "error":
        raise unreadable(skipped, "correct or drop them, or pass bad='skip'")
    if skipped:
        _warn_of_skipped(skipped, first, len(texts))
    called = texts if names is None else names
    return collector.graphs([name for at, name in enumerate(called) if at not in skipped])


def list_records(smiles: Any) -> Iterator[MoleculeRecord]:
    """Yield SMILES strings as records; what is not a string has a problem."""
    for position, text in enumerate(_items(smiles, str, "SMILES strings")):
        if isinstance(text, str):
            where = f"SMILES {position} ({short(text)})"
            yield MoleculeRecord(0, where, text, text)
            continue
        is_missing = text is None or text != text
        what = f"a {type(text).__name__}, not a string"
        problem = f"it is missing ({text})" if is_missing else f"it is {what}"
        yield MoleculeRecord(0, f"SMILES {position}", "", "", problem=problem)


def _warn_of_skipped(skipped: dict[int, str], first: tuple[str, str], count: int) -> None:
    """Warn of strings that were left out; raise where none is left."""
    if len(skipped) == count:
        raise none_readable(count, *first)
    message = f"{len(skipped)} of {count} SMILES were skipped; the first: {': '.join(first)}"
    warnings.warn(SkippedWarning(message, skipped), stacklevel=3)


def from_mols(
    mols: Any, *, names: Sequence[Any] | None = None, **options: Unpack[MoleculeOptions]
) -> Graphs:
    """Convert RDKit molecules, which stay as they are.

    Parameters
    ----------
    mols : rdkit.Chem.Mol or iterable of them
        Hydrogens that are atoms of the molecule become nodes.
    names : sequence, optional
        Graph names; default: the molecules' titles (``_Name``), if all have one.
    **options
        As in :func:`from_smiles`.
    """
    library = chem()
    collector = Collector(**options)
    titles = []
    for position, mol in enumerate(_items(mols, library.Mol, "RDKit molecules")):
        if not isinstance(mol, library.Mol):
            raise GraphError(
                f"molecule {position} is a {type(mol).__name__}, not an RDKit molecule; "
                "drop it or parse it again"
            )
        collector.add(mol, f"molecule {position}")
        titles.append(mol.GetProp("_Name").strip() if mol.HasProp("_Name") else "")
    return collector.graphs(names if names is not None else _all_or_none(titles))


def from_sdf(
    path: Path_,
    *,
    bad: OnBad = "error",
    max_bytes: int | None = None,
    **options: Unpack[MoleculeOptions],
) -> Graphs:
    """Read the molecules of an SD file without its properties.

    Parameters
    ----------
    path : path
        The file; it may be compressed with gzip.
    bad, max_bytes, **options
        As of :func:`read_sdf` and :func:`from_smiles`.
    """
    return read_sdf(path, bad=bad, max_bytes=max_bytes, **options).graphs


def read_sdf(
    path: Path_,
    *,
    target: str | Sequence[str] | None = None,
    descriptors: str | Sequence[str] | None = None,
    bad: OnBad = "error",
    max_bytes: int | None = None,
    **options: Unpack[MoleculeOptions],
) -> Labeled:
    """Read an SD file (or a single mol file), plain or gzip.

    Parameters
    ----------
    path : path
        The file, in UTF-8.
    target : str or sequence of str, optional
        Properties to take as targets. A column of whole numbers becomes integers, one of numbers
        floats with NaN where a molecule lacks it; any other text stays text, and must then be there
        for every molecule.
    descriptors : str or sequence of str, optional
        Properties to take as features of graphs: numbers, for every molecule.
    bad : {"error", "skip"}
        What to do with a record that RDKit cannot read, that has no atoms or that lacks a
        descriptor: raise, or skip it with one warning for all.
    max_bytes : int, optional
        How much a compressed file may unpack to; default: 100 times its packed size, or 64 MiB if
        that is more.
    **options
        As in :func:`from_smiles`.

    Returns
    -------
    Labeled
        Graph names are the molecules' titles, if all have one.
    """
    columns = TargetColumns(path, target)
    beside = _descriptors(columns, descriptors)
    wanted = (*columns.names, *beside.names)
    with molecule_records(path, "sdf", columns=wanted, max_bytes=max_bytes) as records:
        graphs = _read_all(records, path, bad, columns, beside, options)
    return Labeled(graphs, columns.targets())


def read_smiles_table(
    path: Path_,
    *,
    smiles: str | None = None,
    id: str | None = None,  # noqa: A002 - what the column is called nearly everywhere
    target: str | Sequence[str] | None = None,
    descriptors: str | Sequence[str] | None = None,
    delimiter: str | None = None,
    bad: OnBad = "error",
    max_bytes: int | None = None,
    **options: Unpack[MoleculeOptions],
) -> Labeled:
    """Read a text table (CSV, TSV), plain or gzip, with a header line and a column of SMILES.

    A ``.smi`` or ``.smiles`` file may do without a header: then each line is a SMILES, its name
    where it has one, and what is not read.

    Parameters
    ----------
    path : path
        The file, in UTF-8.
    smiles : str, optional
        Name of the column; upper and lower case do not matter where the name is not there as it is.
        Default: ``smiles``; else the only column whose name holds that word; else the only one
        whose first cells are all SMILES.
    id : str, optional
        Name of the column of names; default: the first of ``id``, ``name``, ``compound_id``,
        ``molecule_id``, ``cid`` and the like, in upper or lower case, that is there and no target.
        ``id="smiles"`` takes the SMILES themselves.
    target : str or sequence of str, optional
        Columns to take as targets, by the rules of :func:`read_sdf`; an empty cell is a missing
        value.
    descriptors : str or sequence of str, optional
        Columns to take as features of graphs: numbers, in every row.
    delimiter : str, optional
        What separates columns; default: a tab in ``.tsv``, else the first of tab, comma, semicolon,
        bar and blank that the header line has.
    bad : {"error", "skip"}
        What to do with a row whose SMILES RDKit cannot read, or that lacks a descriptor: raise, or
        skip it with one warning for all.
    max_bytes : int, optional
        How much a compressed file may unpack to; default: 100 times its packed size, or 64 MiB if
        that is more.
    **options
        As in :func:`from_smiles`.

    Returns
    -------
    Labeled
        Graph names are those of the column of names; without it, or where its cell is empty, the
        SMILES strings.
    """
    columns = TargetColumns(path, target)
    beside = _descriptors(columns, descriptors)
    with molecule_records(
        path,
        "smiles",
        smiles=smiles,
        id=id,
        columns=(*columns.names, *beside.names),
        delimiter=delimiter,
        max_bytes=max_bytes,
    ) as records:
        graphs = _read_all(records, path, bad, columns, beside, options)
    return Labeled(graphs, columns.targets())


def _descriptors(
    columns: TargetColumns, descriptors: str | Sequence[str] | None
) -> DescriptorColumns:
    """Return the columns of descriptors, whose cells stand behind those of targets."""
    names, first = as_list(descriptors), len(columns.names)
    for name in names:
        if name in columns.names:
            raise GraphError(f"the column {name!r} is a target, so it cannot be a descriptor")
    return DescriptorColumns(names, range(first, first + len(names)))


def _read_all(
    records: Iterable[MoleculeRecord],
    path: Path_,
    bad: OnBad,
    columns: TargetColumns,
    descriptors: DescriptorColumns,
    options: MoleculeOptions,
) -> Graphs:
    """Return the molecules as graphs, by name where all have one; hand their targets on."""
    collector = Collector(**options)
    skipped = SkippedMolecules(path, bad)
    names: list[str] = []
    read = read_records(records, collector, path, descriptors)
    for position, (record, reason) in enumerate(read):
        if reason:
            skipped.add(position, record, reason)
            continue
        names.append(record.name)
        columns.add(record.cells, record.line)
    skipped.end(len(names))
    return descriptors.added_to(collector.graphs(_all_or_none(names)))


def _items(values: Any, single: type, what: str) -> Iterable[Any]:
    values = column_values(values)
    if isinstance(values, single):
        return [values]
    if isinstance(values, bytes) or not isinstance(values, Iterable):
        raise GraphError(f"expected {what}, got a {type(values).__name__}")
    return values


def _all_or_none(titles: list[str]) -> list[str] | None:
    return titles if titles and all(titles) else None
