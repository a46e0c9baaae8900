"""Attributes of atoms and bonds, gathered from many molecules and worked out for all at once."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cache
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from edgnn._optional import optional
from edgnn.graphs import Graphs
from edgnn.io._common import Array
from edgnn.io._pharmacophore import Atoms, pharmacophore

#: What the columns are called, in their order.
ATOM_ATTRIBUTES = (
    *("charge", "hydrogens", "aromatic", "chirality", "in_ring", "ring_size"),
    *("radicals", "isotope", "pharmacophore"),
)
BOND_ATTRIBUTES = ("stereo", "conjugated", "in_ring", "ring_size")

_CHIRALITY = {"R": 1, "S": 2}
_STEREO = {"Z": 1, "E": 2}


class _Molecule(NamedTuple):
    """What is kept of one molecule."""

    number: bytes
    hydrogens: list[int]
    aromatic: bytes
    rare: list[tuple[int, ...]]
    bond_types: bytes
    conjugated: bytes
    stereo: list[tuple[int, int]]
    rings: Sequence[Sequence[int]]


class Attributes:
    """What is read of each atom and bond, as flat arrays.

    Few calls into RDKit are made per atom: what most atoms lack (charges, isotopes, radicals,
    chirality) is asked of the atoms that a query finds, and rings are read as lists.
    """

    def __init__(self) -> None:
        self._number, self._hydrogens = array("B"), array("H")
        self._aromatic, self._conjugated = array("B"), array("B")
        self._bond_types = array("B")
        self._rare = array("q")
        self._stereo = array("q")
        self._ring_bonds, self._ring_sizes = array("q"), array("q")

    def read(self, mol: Any, atoms: Sequence[Any], bonds: Sequence[Any], types: Any) -> _Molecule:
        """Return what is to be kept of a molecule."""
        kinds = _kinds()
        stereo = [
            (place, _stereo_of(bond, kinds.stereo))
            for place, bond, kind in zip(range(len(bonds)), bonds, types, strict=True)
            if kind == kinds.double
        ]
        return _Molecule(
            bytes(map(kinds.atom.GetAtomicNum, atoms)),
            list(map(kinds.atom.GetTotalNumHs, atoms, repeat(True))),
            bytes(map(kinds.atom.GetIsAromatic, atoms)),
            [_rare_values(atoms[place]) for (place,) in _rare_atoms(mol)],
            bytes(map(int, types)),
            bytes(map(kinds.bond.GetIsConjugated, bonds)),
            [(place, code) for place, code in stereo if code],
            mol.GetRingInfo().BondRings(),
        )

    def keep(self, molecule: _Molecule) -> None:
        """Append what :meth:`read` returned."""
        first_atom, first_bond = len(self._number), len(self._bond_types)
        self._number.frombytes(molecule.number)
        self._hydrogens.extend(molecule.hydrogens)
        self._aromatic.frombytes(molecule.aromatic)
        for place, *values in molecule.rare:
            self._rare.extend((first_atom + place, *values))
        self._bond_types.frombytes(molecule.bond_types)
        self._conjugated.frombytes(molecule.conjugated)
        for place, code in molecule.stereo:
            self._stereo.extend((first_bond + place, code))
        for ring in molecule.rings:
            self._ring_bonds.extend([first_bond + bond for bond in ring])
            self._ring_sizes.append(len(ring))

    def added_to(self, graphs: Graphs) -> Graphs:
        """Return the graphs of all molecules with their attributes."""
        atoms = len(self._number)
        source, target = graphs.edge_source.numpy(), graphs.edge_target.numpy()
        rare = np.asarray(self._rare).reshape(-1, 5)
        charge, radicals, isotope, chirality = np.zeros((4, atoms), np.int64)
        for place, values in enumerate((charge, radicals, isotope, chirality), 1):
            values[rare[:, 0]] = rare[:, place]
        aromatic = np.asarray(self._aromatic, bool)
        hydrogens = np.asarray(self._hydrogens, np.int64)
        bond_types = np.repeat(np.asarray(self._bond_types), 2)
        bond_ring = self._smallest_rings()
        edge_ring = np.repeat(bond_ring, 2)
        atom_ring = _smallest(source, edge_ring, atoms)
        features = pharmacophore(
            Atoms(
                np.asarray(self._number),
                charge,
                hydrogens,
                aromatic,
                source,
                target,
                bond_types,
                np.arange(len(source)) % 2 == 0,
            )
        )
        stereo = np.zeros(len(bond_ring), np.int64)
        marked = np.asarray(self._stereo).reshape(-1, 2)
        stereo[marked[:, 0]] = marked[:, 1]
        columns = (
            *(charge, hydrogens, aromatic, chirality, atom_ring > 0, atom_ring),
            *(radicals, isotope, features),
        )
        conjugated = np.repeat(np.asarray(self._conjugated), 2)
        edge_columns = (np.repeat(stereo, 2), conjugated, edge_ring > 0, edge_ring)
        return graphs.with_attributes(
            node=dict(zip(ATOM_ATTRIBUTES, columns, strict=True)),
            edge=dict(zip(BOND_ATTRIBUTES, edge_columns, strict=True)),
        )

    def _smallest_rings(self) -> Array:
        sizes = np.asarray(self._ring_sizes)
        members = np.asarray(self._ring_bonds)
        return _smallest(members, np.repeat(sizes, sizes), len(self._bond_types))


def _smallest(owner: Array, sizes: Array, count: int) -> Array:
    """Return the smallest size that each owner has, leaving out 0; 0 without any."""
    smallest: Array = np.zeros(count, np.int64)
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0]
    smallest[owner[order]] = sizes[order]  # the last one written, the smallest, stays
    return smallest


def _rare_values(atom: Any) -> tuple[int, ...]:
    code = atom.GetProp("_CIPCode") if atom.HasProp("_CIPCode") else ""
    return (
        atom.GetIdx(),
        atom.GetFormalCharge(),
        atom.GetNumRadicalElectrons(),
        atom.GetIsotope(),
        _CHIRALITY.get(code, 0),
    )


def _stereo_of(bond: Any, known: dict[Any, int]) -> int:
    stereo = bond.GetStereo()
    if stereo in known:
        return known[stereo]
    # cis and trans say something about priorities only where a code stands beside them
    return _STEREO.get(bond.GetProp("_CIPCode"), 0) if bond.HasProp("_CIPCode") else 0


class _Kinds:
    """Classes and values of RDKit that are needed for every atom and bond."""

    def __init__(self) -> None:
        chem = optional("rdkit.Chem", "reading molecules")
        self.atom, self.bond = chem.Atom, chem.Bond
        self.double = chem.BondType.DOUBLE
        values = chem.BondStereo
        self.stereo = {values.STEREONONE: 0, values.STEREOZ: 1, values.STEREOE: 2}


@cache
def _kinds() -> _Kinds:
    return _Kinds()


def _rare_atoms(mol: Any) -> Any:
    """Return the atoms that have a charge, radicals, an isotope, or a label of chirality."""
    return mol.GetSubstructMatches(_rare_query(), uniquify=False, maxMatches=mol.GetNumAtoms())


@cache
def _rare_query() -> Any:
    chem = optional("rdkit.Chem", "reading molecules")
    queries = optional("rdkit.Chem.rdqueries", "reading molecules")
    query = queries.FormalChargeEqualsQueryAtom(0, negate=True)
    for other in (
        queries.NumRadicalElectronsGreaterQueryAtom(0),
        queries.IsotopeGreaterQueryAtom(0),
        queries.HasPropQueryAtom("_CIPCode"),
    ):
        query.ExpandQuery(other, chem.CompositeQueryType.COMPOSITE_OR)
    molecule = chem.RWMol()
    molecule.AddAtom(query)
    return molecule.GetMol()
