"""Scaffold split: molecules with one ring framework stay in one part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgnn._words import short
from edgnn.errors import EvaluationError
from edgnn.evaluation._pool import fraction_count
from edgnn.evaluation._splits import Split, bases, member_seed
from edgnn.evaluation._targets import Array, missing, target_array
from edgnn.graphs import Graphs
from edgnn.io import (
    chem,
    divide_by_frequency,
    framework,
    holds_molecules,
    read_smiles,
    to_mols,
)

_BONDS = ("single", "double", "triple", "aromatic")


def scaffold(
    molecules: Graphs | Sequence[str],
    y: Any = None,
    *,
    test: float = 0.1,
    validation: float | None = 0.1,
    repeats: int = 10,
    seed: int = 0,
    balanced: bool = True,
) -> list[Split]:
    """Split molecules by their Bemis–Murcko scaffold, anew for each seed.

    The molecules of a scaffold go to the training part while it has room for all of them, then to
    the validation part, then to the test part. Those of the balanced split come in random order,
    but first the large ones, which would fill more than half of a part that is held out, as in
    chemprop.

    Parameters
    ----------
    molecules : Graphs or sequence of SMILES
        As in :func:`scaffold_groups`.
    y : array-like, optional
        The targets; molecules without any (NaN) are in no part.
    test, validation : float
        Sizes as fractions of all items; the frameworks decide how exactly they are met.
    repeats, seed : int
        Repeat ``r`` has the seed of ``seed + r``.
    balanced : bool
        Without it, scaffolds come from the most to the least frequent, as in OGB and DeepChem:
        always the same split, with the rare ones in the test part; seeds are those of the models.
        Of equally frequent scaffolds, the one that appears last comes first. Given SMILES, or
        graphs read from them, the split is that of OGB.
    """
    group = scaffold_groups(molecules)
    items = np.arange(len(group))
    if y is not None:
        targets = target_array(y)
        if len(targets) != len(group):
            raise EvaluationError(f"{len(targets)} targets were given for {len(group)} molecules")
        items = np.flatnonzero(~missing(targets))
    tested = fraction_count(test, len(items), "test")
    count = fraction_count(validation, len(items), "validation")
    room = [len(items) - tested - count, count, tested]
    groups = _largest_first(group[items])
    splits = []
    for repeat, base in bases(repeats, seed):
        if balanced:
            parts = _filled(_balanced(groups, room[1:], base), room)
        else:
            parts = divide_by_frequency(group[items].tolist(), room)
        train, valid, test_part = (items[places] for places in parts)
        if not len(train) or not len(test_part):
            raise EvaluationError(
                f"{len(items)} molecules with {len(groups)} scaffolds cannot fill "
                f"a training and a test part of {tested}; "
                "ask for another fraction, or use holdout or kfold"
            )
        chosen_by = valid if len(valid) else None
        splits.append(Split(train, test_part, chosen_by, repeat, 0, member_seed(base, 0)))
    return splits


def _balanced(groups: list[Array], held_out: list[int], seed: int) -> list[Array]:
    """Return the groups in random order, those larger than half of a held-out part first."""
    bound = min(size for size in held_out if size) / 2
    rng = np.random.default_rng(seed)
    shuffled = [groups[place] for place in rng.permutation(len(groups))]
    return sorted(shuffled, key=lambda places: len(places) <= bound)


def _filled(groups: list[Array], room: list[int]) -> list[Array]:
    """Give each group to the first part that has room for it, else to the first of all."""
    room = list(room)
    parts: list[list[int]] = [[] for _ in room]
    for members in groups:
        has_room = np.asarray(room) >= len(members)
        number = int(np.argmax(has_room))  # 0 where none has
        parts[number] += members.tolist()
        room[number] -= len(members)
    return [np.array(sorted(part), dtype=np.int64) for part in parts]


def scaffold_groups(molecules: Graphs | Sequence[str]) -> Array:
    """Number molecules by their Bemis–Murcko scaffold, for ``groups=`` of the other splits.

    Numbers are given in order of first appearance. The scaffold is the rings and the chains between
    them, with what is double-bonded to either. Stereochemistry does not count; charges and
    hydrogens count where they are given, in SMILES and in the attributes of graphs that were read
    from molecules. All molecules without a ring have the same, empty scaffold.

    Parameters
    ----------
    molecules : Graphs or sequence of SMILES
        Graphs are read back as molecules by their labels and attributes, as
        :func:`edgnn.io.to_mols` does; without attributes by labels alone: element symbols, and
        ``"single"``, ``"double"``, ``"triple"`` or ``"aromatic"`` bonds. Graphs with other labels
        need SMILES as graph names, as :func:`edgnn.from_smiles` gives them.
    """
    if isinstance(molecules, Graphs):
        frameworks = _frameworks(molecules)
    elif isinstance(molecules, str):
        raise EvaluationError("molecules must be Graphs or a list of SMILES, got a single string")
    else:
        mols = (_from_smiles(text, position) for position, text in enumerate(molecules))
        frameworks = [framework(mol) for mol in mols]
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(text, len(numbers)) for text in frameworks], np.int64)


def _largest_first(group: Array) -> list[Array]:
    """Return the members of each group, larger groups first, then in order of first appearance."""
    members = [np.flatnonzero(group == number) for number in np.unique(group)]
    return sorted(members, key=lambda places: (-len(places), int(places[0])))


def _from_smiles(text: Any, position: int, hint: str = "") -> Any:
    if isinstance(text, str):
        mol, reason = read_smiles(text, check_valence=False)
    else:
        mol, reason = None, f"it is a {type(text).__name__}, not a string"
    if mol is None:
        raise EvaluationError(f"molecule {position} ({short(str(text))}): {reason}{hint}")
    return mol


def _frameworks(graphs: Graphs) -> list[str]:
    if holds_molecules(graphs):
        return [framework(mol) for mol in to_mols(graphs)]
    table = chem().GetPeriodicTable()
    symbols = {table.GetElementSymbol(number) for number in range(1, 119)}
    are_atoms = all(label in symbols for label in graphs.node_vocabulary)
    if are_atoms and all(label in _BONDS for label in graphs.edge_vocabulary):
        return [framework(_molecule(graph), labels_only=True) for graph in graphs]
    if graphs.graph_names is None:
        raise EvaluationError(
            f"{graphs!r} cannot be read as molecules: nodes need element symbols as labels, "
            f"edges {', '.join(_BONDS)}; or pass SMILES"
        )
    hint = (
        "; labels like these do not tell the molecule, its name must: "
        "read the table with id= and its column of SMILES"
    )
    return [
        framework(_from_smiles(name, position, hint))
        for position, name in enumerate(graphs.graph_names.tolist())
    ]


def _molecule(graph: Graphs) -> Any:
    """Build the molecule of a graph.

    Charges and hydrogens are not in the labels, so valences stay unchecked.
    """
    library = chem()
    mol = library.RWMol()
    for symbol in graph.node_labels:
        mol.AddAtom(library.Atom(symbol))
    sources, targets = graph.edge_source.tolist(), graph.edge_target.tolist()
    bonds: dict[tuple[int, int], str] = {}
    for source, target, label in zip(sources, targets, graph.edge_labels, strict=True):
        bonds[min(source, target), max(source, target)] = label
    for (begin, end), label in bonds.items():
        if begin != end:
            mol.AddBond(begin, end, getattr(library.BondType, label.upper()))
    for bond in mol.GetBonds():
        if bond.GetBondType() == library.BondType.AROMATIC:
            for part in (bond, bond.GetBeginAtom(), bond.GetEndAtom()):
                part.SetIsAromatic(True)
    mol.UpdatePropertyCache(strict=False)
    library.FastFindRings(mol)
    return mol.GetMol()
