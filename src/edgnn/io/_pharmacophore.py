"""What atoms can do in binding, by the rules of RDKit's feature fingerprints, for many at once.

RDKit matches a pattern per feature and molecule, which takes nearly as long as reading the molecule
does. The rules look two bonds far at most, so here each is a few operations on arrays of all atoms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgnn.io._common import Array

#: The bits of a mask, as RDKit's feature invariants have them.
DONOR, ACCEPTOR, AROMATIC, HALOGEN, BASIC, ACIDIC = 1, 2, 4, 8, 16, 32

_SINGLE, _DOUBLE, _AROMATIC_BOND, _DATIVE = 1, 2, 12, 17
_C, _N, _O, _P, _S = 6, 7, 8, 15, 16

# what a bond adds to the valence of its ends, by the number of its type in RDKit
_VALENCE = np.zeros(256)
_VALENCE[[1, 2, 3, 4, 5, 6]] = [1, 2, 3, 4, 5, 6]
_VALENCE[[7, 8, 9, 10, 11, 12]] = [1.5, 2.5, 3.5, 4.5, 5.5, 1.5]


@dataclass(frozen=True)
class Atoms:
    """Atoms of many molecules, and each of their bonds in both directions.

    Shapes
    ------
    number, charge, hydrogens, aromatic (N,): atomic numbers, charges, all hydrogens that are
    attached, truth values; source, target, bond (E,): ends, and RDKit's numbers of bond types;
    forward (E,): whether the direction is that of RDKit's bond
    """

    number: Array
    charge: Array
    hydrogens: Array
    aromatic: Array
    source: Array
    target: Array
    bond: Array
    forward: Array

    def has_neighbor(self, bond: Array, neighbor: Array) -> Array:
        """Return which atoms have a neighbor of some kind, by a bond of some kind."""
        return self.count_neighbors(bond, neighbor) > 0

    def count_neighbors(self, bond: Array, neighbor: Array) -> Array:
        """Return how many neighbors of some kind each atom has, by bonds of some kind."""
        counted = self.source[bond & neighbor[self.target]]
        return np.bincount(counted, minlength=len(self.number))

    def valence(self) -> Array:
        """Return the valence of each atom, with its hydrogens."""
        share = _VALENCE[self.bond]
        # a dative bond counts for the atom that it leads to
        share[(self.bond == _DATIVE) & ~self.forward] = 1
        bonds = np.bincount(self.source, weights=share, minlength=len(self.number))
        hydrogen_nodes = self.count_neighbors(np.ones(len(self.bond), bool), self.number == 1)
        return bonds + self.hydrogens - hydrogen_nodes


def pharmacophore(atoms: Atoms) -> Array:
    """Return a mask of features for every atom.

    Shapes
    ------
    → (N,)
    """
    number, hydrogens, charge, aromatic = (
        atoms.number,
        atoms.hydrogens,
        atoms.charge,
        atoms.aromatic,
    )
    single, double, ring_bond = (atoms.bond == kind for kind in (_SINGLE, _DOUBLE, _AROMATIC_BOND))
    either = single | ring_bond
    plain = ~aromatic
    carbon, nitrogen = (number == _C) & plain, (number == _N) & plain
    oxygen = (number == _O) & plain
    chalcogen = oxygen | ((number == _S) & plain)
    neutral = charge == 0
    valence = atoms.valence()

    strong = np.isin(number, (_O, _N, _P, _S)) & plain
    beside_double = atoms.has_neighbor(single, atoms.has_neighbor(double, strong))
    pyridine = (number == _N) & aromatic
    ring_chalcogen = np.isin(number, (_O, _S)) & aromatic
    beside_nitrogen = atoms.has_neighbor(ring_bond, pyridine)
    ring_carbon = (number == _C) & aromatic
    near_nitrogen = beside_nitrogen | atoms.has_neighbor(ring_bond, ring_carbon & beside_nitrogen)

    donor = nitrogen & (hydrogens > 0) & ((valence == 3) | ((valence == 4) & (charge == 1)))
    donor |= chalcogen & (hydrogens == 1) & neutral
    donor |= pyridine & (hydrogens == 1) & neutral

    acceptor = chalcogen & (valence == 2) & (hydrogens == 1) & ~beside_double
    acceptor |= chalcogen & (valence == 2) & (hydrogens == 0)
    acceptor |= chalcogen & (charge == -1)
    acceptor |= nitrogen & (valence == 3) & ~beside_double
    acceptor |= pyridine & (hydrogens == 0) & neutral
    acceptor |= ring_chalcogen & neutral & ~near_nitrogen

    carbonyl = atoms.has_neighbor(double, oxygen)
    bearing = atoms.count_neighbors(either, (carbon | aromatic) & ~carbonyl)
    bearing_alkyl = atoms.count_neighbors(either, carbon & ~carbonyl)
    amine = nitrogen & neutral
    basic = amine & (hydrogens == 2) & (bearing >= 1)
    basic |= amine & (hydrogens == 1) & (bearing >= 2)
    basic |= amine & (hydrogens == 0) & (bearing_alkyl >= 3)
    basic |= (number == _N) & (charge == 1)

    hydroxyl = oxygen & ((hydrogens == 1) | (charge == -1))
    acidic = (carbon | ((number == _S) & plain)) & atoms.has_neighbor(single, hydroxyl)
    acidic &= atoms.has_neighbor(double, np.isin(number, (_O, _S, _P)) & plain)

    halogen = np.isin(number, (9, 17, 35, 53))
    mask = np.zeros(len(number), np.int64)
    for bit, feature in (
        (DONOR, donor),
        (ACCEPTOR, acceptor),
        (AROMATIC, aromatic),
        (HALOGEN, halogen),
        (BASIC, basic),
        (ACIDIC, acidic),
    ):
        mask[feature] |= bit
    return mask
