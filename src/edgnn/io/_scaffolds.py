"""Frameworks of molecules, and how whole groups of molecules fill the parts of a split."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from edgnn.io._common import Array
from edgnn.io._rdkit import chem


def framework(mol: Any, *, labels_only: bool = False) -> str:
    """Return the Bemis–Murcko scaffold of a molecule as SMILES.

    That is the rings and the chains between them, with what is double-bonded to either.
    Stereochemistry does not count. A molecule without a ring has the empty one.

    Parameters
    ----------
    mol : rdkit.Chem.Mol
        The molecule.
    labels_only : bool
        Leave out charges and hydrogens, where the molecule was built without them.
    """
    bare = chem().MurckoDecompose(mol)
    if labels_only:
        # RDKit adds a hydrogen where it cuts a chain off an aromatic nitrogen, but cannot know one
        # that was never there: pyrrole and its derivatives would differ
        for atom in bare.GetAtoms():
            atom.SetFormalCharge(0)
            atom.SetNumExplicitHs(0)
            atom.SetNoImplicit(True)
    bare.ClearComputedProps()
    bare.UpdatePropertyCache(strict=False)
    return str(chem().MolToSmiles(bare, isomericSmiles=False))


def grouped(frameworks: Iterable[str]) -> Array:
    """Number texts in order of first appearance."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(text, len(numbers)) for text in frameworks], np.int64)


def members_of(group: Array) -> list[Array]:
    """Return the positions of each group, by rising number of the group."""
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    return np.split(order, starts[1:]) if len(order) else []


def frequent_first(groups: Sequence[Array]) -> list[Array]:
    """Return groups by falling size; of one size, the one that begins last comes first.

    This is the order of OGB and DeepChem, which sort (size, first position) downwards.
    """
    return sorted(groups, key=lambda places: (-len(places), -int(places[0])))


def filled(groups: Iterable[Array], room: Sequence[int], *, carry: bool) -> list[Array]:
    """Give each group to the first part that has room for all of it.

    Parameters
    ----------
    groups : iterable of array
        Positions of items, group by group.
    room : sequence of int
        Size of each part.
    carry : bool
        Whether room that the parts before have left counts as well, as in OGB and DeepChem. Without
        it, a group that fits nowhere goes to the first part.

    Returns
    -------
    list of array
        The positions in each part, in rising order.
    """
    left = np.array(room, np.int64)
    parts: list[list[Array]] = [[np.empty(0, np.int64)] for _ in room]
    for places in groups:
        free = np.cumsum(left) if carry else left
        number = int(np.argmax(free >= len(places)))  # 0 where none has
        parts[number].append(places)
        left[number] -= len(places)
    return [np.sort(np.concatenate(part)) for part in parts]
