"""Frameworks of molecules, and the scaffold split of OGB, which keeps those of one together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
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


def divide_by_frequency(groups: Iterable[Hashable], room: Sequence[int]) -> list[Array]:
    """Divide items into parts by the rule of OGB and DeepChem, which keeps groups together.

    Groups come from the largest to the smallest, of one size the one that begins last first. Each
    goes to the first part that has room for all of it, where room that the parts before have left
    counts as well.

    Parameters
    ----------
    groups : iterable
        The group of each item, such as the framework of each molecule.
    room : sequence of int
        Size of each part; together as many as there are items.

    Returns
    -------
    list of array
        The positions of the items in each part, in rising order.

    Examples
    --------
    >>> from edgnn.io import divide_by_frequency
    >>> divide_by_frequency("abbcb", [3, 1, 1])
    [array([1, 2, 4]), array([3]), array([0])]
    """
    places: dict[Hashable, list[int]] = {}
    for position, group in enumerate(groups):
        places.setdefault(group, []).append(position)
    ends = np.cumsum(room)
    taken = np.zeros(len(room), np.int64)
    parts: list[list[int]] = [[] for _ in room]
    for items in sorted(places.values(), key=lambda items: (len(items), items[0]), reverse=True):
        has_room = np.cumsum(taken) + len(items) <= ends
        number = int(np.argmax(has_room))  # the last part always has
        parts[number] += items
        taken[number] += len(items)
    return [np.array(sorted(part), np.int64) for part in parts]
