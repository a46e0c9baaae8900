"""Graphs of molecules back into RDKit's molecules, from labels and attributes alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from edgnn._deadline import check_deadline
from edgnn._optional import optional
from edgnn._words import short
from edgnn.errors import GraphError
from edgnn.graphs import UNKNOWN, Graphs
from edgnn.io._common import Array
from edgnn.io._rdkit import chem

_NEEDED = ("charge", "hydrogens", "radicals", "isotope")
# Atomic numbers
_ANY, _HYDROGEN = 0, 1
_WITHOUT_BRACKETS = (5, 6, 7, 8, 9, 15, 16, 17, 35, 53)  # in SMILES


def to_mols(graphs: Graphs) -> list[Any]:
    """Return the RDKit molecules that graphs were made of, without their stereochemistry.

    Atoms and bonds keep their order. What molecule readers note is enough: symbols and bond types
    as labels, charges, hydrogens, radicals and isotopes as attributes. Canonical SMILES without
    stereochemistry, fingerprints and 2D descriptors are those of the molecules that were read. The
    label ``UNKNOWN`` becomes a dummy atom, or a bond of unspecified type.

    Parameters
    ----------
    graphs : Graphs
        As :func:`from_smiles` and the other readers of molecules make them, with the labels they
        have by default.

    Examples
    --------
    >>> from rdkit import Chem
    >>> from edgnn.io import from_smiles, to_mols
    >>> [Chem.MolToSmiles(mol) for mol in to_mols(from_smiles(["OCC", "C[NH3+].[Cl-]"]))]
    ['CCO', 'C[NH3+].[Cl-]']
    """
    return list(rebuilt(graphs))


def holds_molecules(graphs: Graphs) -> bool:
    """Return whether :func:`to_mols` can rebuild molecules from graphs."""
    try:
        rebuilt(graphs)
    except GraphError:
        return False
    return True


def rebuilt(graphs: Graphs) -> Iterator[Any]:
    """Yield the molecules one by one; all that can be wrong is an error before the first."""
    graphs = graphs.to("cpu")
    _check_attributes(graphs)
    number = _numbers(graphs)[graphs.node_label.numpy()]
    begin, end, bond_types = _bonds(graphs)
    atoms, kinds = _atoms(graphs, number, _valences(begin, end, bond_types, len(number)))
    order = _order(graphs)[begin]
    first_bond = np.searchsorted(order, np.arange(len(graphs) + 1))
    offsets = graphs.graph_offset.tolist()
    bounds = zip(pairwise(offsets), pairwise(first_bond.tolist()), strict=True)
    return _each(kinds, atoms, begin, end, bond_types, bounds)


def _each(
    kinds: Sequence[Any], atoms: Array, begin: Array, end: Array, types: Sequence[Any], bounds: Any
) -> Iterator[Any]:
    for (start, stop), (first, last) in bounds:
        check_deadline()
        chosen = [kinds[kind] for kind in atoms[start:stop].tolist()]
        ends = zip(
            (begin[first:last] - start).tolist(),
            (end[first:last] - start).tolist(),
            types[first:last],
            strict=True,
        )
        yield _built(chosen, list(ends))


def _built(atoms: Sequence[Any], bonds: Sequence[tuple[int, int, Any]]) -> Any:
    """Return a molecule, sanitized where RDKit can do so, without a word in its log."""
    library = chem()
    editable = library.RWMol()
    for atom in atoms:
        editable.AddAtom(atom)
    for begin, end, kind in bonds:
        editable.AddBond(begin, end, kind)
    mol = editable.GetMol()
    flags = library.SanitizeFlags
    # radicals are given, and RDKit would count them again; bonds are as it has cleaned them up
    given = flags.SANITIZE_FINDRADICALS | flags.SANITIZE_CLEANUP
    steps = flags.SANITIZE_ALL & ~(given | flags.SANITIZE_CLEANUP_ORGANOMETALLICS)
    with optional("rdkit.rdBase", "molecules").BlockLogs():
        if library.SanitizeMol(mol, steps, catchErrors=True) == flags.SANITIZE_NONE:
            return mol
    mol = editable.GetMol()
    mol.UpdatePropertyCache(strict=False)
    library.GetSymmSSSR(mol)
    return mol


def _check_attributes(graphs: Graphs) -> None:
    names = graphs.node_attribute_names
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        raise GraphError(
            "the graphs hold no molecules, or were read with attributes=False: there are no node "
            f"attributes {', '.join(map(repr, missing))}; read them with edgnn.io.from_smiles or "
            "another reader of molecules"
        )


def _atoms(graphs: Graphs, number: Array, valence: Array) -> tuple[Array, list[Any]]:
    """Return the kind of every atom, and an atom of RDKit for each kind."""
    names = graphs.node_attribute_names
    assert graphs.node_attributes is not None
    charge, hydrogens, radicals, isotope = (
        graphs.node_attributes[:, names.index(name)].numpy() for name in _NEEDED
    )
    near_hydrogen = graphs.edge_target.numpy()[number[graphs.edge_source.numpy()] == _HYDROGEN]
    attached = np.bincount(near_hydrogen, minlength=len(number))
    hydrogens = hydrogens - attached
    plain = (charge == 0) & (radicals == 0) & (isotope == 0)
    implied = plain & (hydrogens == _implied_hydrogens(number, valence))
    rows = np.stack([number, charge, hydrogens, radicals, isotope, implied], axis=1)
    values, kind = np.unique(rows, axis=0, return_inverse=True)
    return kind.reshape(-1), [_atom(*row) for row in values.tolist()]


def _valences(begin: Array, end: Array, types: Sequence[Any], atoms: int) -> Array:
    """Return the sum of the orders of each atom's bonds; NaN where one is neither 1, 2 nor 3."""
    kind = chem().BondType
    order_of = {kind.SINGLE: 1, kind.DOUBLE: 2, kind.TRIPLE: 3}
    order = np.array([order_of.get(bond, np.nan) for bond in types])
    sums: Array = np.bincount(begin, order, atoms) + np.bincount(end, order, atoms)
    return sums


def _implied_hydrogens(number: Array, valence: Array) -> Array:
    """Return how many hydrogens a SMILES without brackets implies; −1 where it needs brackets."""
    table = chem().GetPeriodicTable()
    implied = np.full(len(number), -1.0)
    for element in _WITHOUT_BRACKETS:
        for allowed in sorted(table.GetValenceList(element), reverse=True):
            # the smallest valence that is enough is written last, and stays
            fits = (number == element) & (valence <= allowed)
            implied[fits] = allowed - valence[fits]
    return implied


def _atom(
    number: int, charge: int, hydrogens: int, radicals: int, isotope: int, implied: int
) -> Any:
    atom = chem().Atom(number)
    if implied:
        # where bonds are cut off, as for scaffolds, RDKit adds hydrogens to such atoms only
        return atom
    atom.SetFormalCharge(charge)
    atom.SetNoImplicit(True)
    atom.SetNumExplicitHs(max(0, hydrogens))
    atom.SetNumRadicalElectrons(radicals)
    atom.SetIsotope(isotope)
    return atom


def _numbers(graphs: Graphs) -> Array:
    """Return the atomic number of every label; an error where one that is used is no element."""
    table = chem().GetPeriodicTable()
    symbols = {table.GetElementSymbol(number): number for number in range(119)}
    numbers = np.array([_number(value, symbols) for value in graphs.node_vocabulary], np.int64)
    label = graphs.node_label.numpy()
    if len(label) and (numbers[label] < 0).any():
        node = int(np.argmax(numbers[label] < 0))
        raise GraphError(
            f"node {node} has the label {short(graphs.node_vocabulary[int(label[node])])}, which "
            "is no symbol of an element: molecules are rebuilt where atom_label='symbol', the "
            "default of their readers"
        )
    return numbers


def _number(value: Any, symbols: dict[str, int]) -> int:
    if value is UNKNOWN:  # an explanation leaves out what the atom is
        return _ANY
    return symbols.get(value, -1) if isinstance(value, str) else -1


def _bonds(graphs: Graphs) -> tuple[Array, Array, list[Any]]:
    """Return the ends of every bond, once, and RDKit's types of bonds."""
    names: dict[Any, Any] = {name.lower(): kind for name, kind in chem().BondType.names.items()}
    names[UNKNOWN] = chem().BondType.UNSPECIFIED
    kinds = [
        names.get(value) if isinstance(value, str) or value is UNKNOWN else None
        for value in graphs.edge_vocabulary
    ]
    label = graphs.edge_label.numpy()
    unknown = np.array([kind is None for kind in kinds], bool)
    if len(label) and unknown[label].any():
        edge = int(np.argmax(unknown[label]))
        raise GraphError(
            f"edge {edge} has the label {short(graphs.edge_vocabulary[int(label[edge])])}, which "
            "is no type of a bond: molecules are rebuilt where bond_label='type', the default of "
            "their readers"
        )
    source, target = graphs.edge_source.numpy(), graphs.edge_target.numpy()
    if (source == target).any():
        node = int(source[np.argmax(source == target)])
        raise GraphError(f"node {node} has an edge to itself, which is no bond")
    keys = np.minimum(source, target) * max(1, graphs.num_nodes) + np.maximum(source, target)
    # the first of a bond's two edges has its direction, which tells for dative ones
    bond = np.sort(np.unique(keys, return_index=True)[1])
    return source[bond], target[bond], [kinds[number] for number in label[bond].tolist()]


def _order(graphs: Graphs) -> Array:
    numbers: Array = graphs.graph_of_node.numpy()
    return numbers
