"""RDKit's molecules: from text, and into arrays of atoms and bonds."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import nullcontext
from functools import cache
from operator import methodcaller
from typing import Any, Literal

import numpy as np
import torch

from edgnn._deadline import check_deadline
from edgnn._optional import optional
from edgnn._words import one_line, preview, suggestion
from edgnn.errors import GraphError, UnknownLabelError
from edgnn.graphs import Graphs, OnUnknown, Vocabulary
from edgnn.io._common import Array, as_list
from edgnn.io._molecule_attributes import Attributes
from edgnn.io._molecule_size import (
    MOST_ATOMS,
    MoleculeSize,
    check_most_atoms,
    is_short,
    read_in_child,
    too_large,
)

Property = str | Sequence[str] | Callable[[Any], Hashable] | None
Aromaticity = Literal["rdkit", "cdk"]


class Collector:
    """Atoms and bonds of many molecules, gathered into arrays."""

    def __init__(
        self,
        atom_label: Property = "symbol",
        bond_label: Property = "type",
        hydrogens: bool = False,
        kekulize: bool = False,
        aromaticity: Aromaticity = "rdkit",
        like: Graphs | None = None,
        unknown: OnUnknown = "error",
        max_atoms: int = MOST_ATOMS,
        attributes: bool = True,
    ) -> None:
        check_most_atoms(max_atoms)
        if aromaticity not in ("rdkit", "cdk"):
            raise GraphError(f"aromaticity={aromaticity!r}: choose 'rdkit' or 'cdk'")
        known_atoms = known_bonds = None
        if like is not None and unknown != "map":
            known_atoms, known_bonds = like.node_vocabulary, like.edge_vocabulary
        self._atom = _Labels(_reader(atom_label, _ATOM, "atom"), "atom", known_atoms, 1)
        self._bond = _Labels(_reader(bond_label, _BOND, "bond"), "bond", known_bonds, 2)
        self.hydrogens = hydrogens
        self._kekulize = kekulize
        self._cdk = aromaticity == "cdk" and not kekulize
        self._stereo = _names_any(atom_label, "chirality") or _names_any(bond_label, "stereo")
        self._like = like
        self._unknown = unknown
        self.max_atoms = max_atoms
        self._attributes = Attributes() if attributes else None
        self._by_type = bond_label == "type"
        self._sizes, self._bonds = array("q"), array("q")
        self._begins, self._ends = array("q"), array("q")
        self.num_nodes = 0

    @property
    def num_edges(self) -> int:
        """How many edges there are so far, two for a bond."""
        return 2 * len(self._begins)

    def add(self, mol: Any, where: str) -> None:
        """Append a molecule; ``where`` names it in errors."""
        check_deadline()
        try:
            mol = self._prepared(mol)
        except (ValueError, RuntimeError) as error:
            raise GraphError(
                f"{where}: RDKit cannot prepare the molecule: {_reason(str(error))}"
            ) from None
        atoms, bonds = _atoms(mol), _bonds(mol)
        # all is read before any is kept: a molecule that raises leaves nothing behind
        atom_labels = self._atom.read(atoms, where)
        types: list[Any] = []
        if self._by_type or self._attributes is not None:
            types = list(map(_TYPE, bonds))
        if self._by_type:
            bond_labels = self._bond.shared(map(_type_name, types), where)
        else:
            bond_labels = self._bond.read(bonds, where)
        if self._attributes is not None:
            self._attributes.keep(self._attributes.read(mol, atoms, bonds, types))
        self._atom.keep(atom_labels)
        self._bond.keep(bond_labels)
        self._begins.extend(map(_BEGIN, bonds))
        self._ends.extend(map(_END, bonds))
        self._sizes.append(len(atoms))
        self._bonds.append(len(bonds))
        self.num_nodes += len(atoms)

    def graphs(self, names: Sequence[Any] | None) -> Graphs:
        """Return all molecules so far."""
        if names is not None and len(names) != len(self._sizes):
            raise GraphError(f"{len(names)} names were given for {len(self._sizes)} molecules")
        graphs = Graphs.from_edges(
            torch.from_numpy(self._edges()),
            sizes=np.asarray(self._sizes),
            node_labels=self._atom.values,
            edge_labels=self._bond.values,
            graph_names=names,
            like=self._like,
            unknown=self._unknown,
        )
        return graphs if self._attributes is None else self._attributes.added_to(graphs)

    def _edges(self) -> Array:
        """Return the ends of all edges: each bond one way, then the other."""
        sizes = np.asarray(self._sizes)
        first = np.repeat(sizes.cumsum() - sizes, np.asarray(self._bonds))
        begins, ends = (np.asarray(numbers) + first for numbers in (self._begins, self._ends))
        return np.stack([begins, ends, ends, begins], axis=1).reshape(-1, 2)

    def _prepared(self, mol: Any) -> Any:
        library = chem()
        with _base().BlockLogs():
            if mol.NeedsUpdatePropertyCache() or not _has_rings(mol):
                if reason := too_large(MoleculeSize.of_mol(mol), self.max_atoms):
                    raise ValueError(reason)
                mol = library.Mol(mol)
                mol.UpdatePropertyCache(strict=False)
                library.GetSymmSSSR(mol)
            if self.hydrogens:
                mol = library.AddHs(mol)
            if self._kekulize:
                mol = _kekulized(mol)
            if self._cdk:
                mol = _with_cdk_aromaticity(mol)
            if self._stereo:
                mol = library.Mol(mol)
                optional("rdkit.Chem.rdCIPLabeler", "the label of stereochemistry").AssignCIPLabels(
                    mol
                )
            elif self._attributes is not None and not mol.HasProp("_StereochemDone"):
                mol = _with_stereo_codes(mol)
        return mol


class _Labels:
    """The labels of all atoms (or bonds): one reference each, to one shared object per value."""

    def __init__(
        self,
        read: Callable[[Any], Hashable] | None,
        what: str,
        known: Vocabulary | None,
        copies: int,
    ) -> None:
        self.values: list[Hashable] | None = None if read is None else []
        self._read, self._what, self._known, self._copies = read, what, known, copies
        self._shared: dict[Hashable, Hashable] = {}

    def read(self, elements: Iterable[Any], where: str) -> list[Hashable]:
        """Return the labels of one molecule's nodes or edges."""
        return [] if self._read is None else self.shared(map(self._read, elements), where)

    def shared(self, values: Iterable[Hashable], where: str) -> list[Hashable]:
        """Return the one object that stands for each of a molecule's labels."""
        listed = list(values)
        try:
            labels = [self._shared[value] for value in listed]
        except (KeyError, TypeError):
            labels = [self._noted(*one, where) for one in enumerate(listed)]
        repeated: list[Hashable] = [None] * (self._copies * len(labels))
        for copy in range(self._copies):
            repeated[copy :: self._copies] = labels
        return repeated

    def _noted(self, position: int, value: Hashable, where: str) -> Hashable:
        """Return the one object that stands for a label, which may be new."""
        try:
            if value not in self._shared:
                self._check_known(value, position, where)
            return self._shared.setdefault(value, value)
        except TypeError:
            raise GraphError(
                f"{where}: the label of {self._what} {position} is a {type(value).__name__}, "
                "which cannot be hashed: "
                "use a string, a number or a tuple"
            ) from None

    def keep(self, labels: Sequence[Hashable]) -> None:
        """Append what :meth:`read` returned."""
        if self.values is not None:
            self.values.extend(labels)

    def _check_known(self, value: Hashable, position: int, where: str) -> None:
        if self._known is None or value in self._known:
            return
        raise UnknownLabelError(
            f"{where}: {self._what} {position} has the label {value!r}, "
            f"which is not among the {len(self._known)} "
            f"known ones: {preview(self._known)}; "
            'pass unknown="map" to give such labels a reserved value'
        )


@cache
def _type_name(kind: Any) -> str:
    return str(kind).lower()


def _mass_number(atom: Any) -> int:
    return int(
        atom.GetIsotope() or chem().GetPeriodicTable().GetMostCommonIsotope(atom.GetAtomicNum())
    )


def _stereo(bond: Any) -> str:
    if str(bond.GetStereo()) == "STEREOANY" and not bond.HasProp("_CIPCode"):
        return "any"
    return _cip(bond)


def _cip(element: Any) -> str:
    return str(element.GetProp("_CIPCode")) if element.HasProp("_CIPCode") else "none"


# twice as fast as functions that call a method
_SYMBOL, _TYPE, _BEGIN, _END = map(
    methodcaller, ("GetSymbol", "GetBondType", "GetBeginAtomIdx", "GetEndAtomIdx")
)

_ATOM: dict[str, Callable[[Any], Hashable]] = {
    "symbol": _SYMBOL,
    "number": lambda atom: atom.GetAtomicNum(),
    "charge": lambda atom: atom.GetFormalCharge(),
    "aromatic": lambda atom: atom.GetIsAromatic(),
    "degree": lambda atom: atom.GetDegree(),
    "hydrogens": lambda atom: atom.GetTotalNumHs(includeNeighbors=True),
    "valence": lambda atom: atom.GetTotalValence(),
    "radicals": lambda atom: atom.GetNumRadicalElectrons(),
    "hybridization": lambda atom: str(atom.GetHybridization()).lower(),
    "chirality": _cip,
    "in_ring": lambda atom: atom.IsInRing(),
    "ring_size": lambda atom: atom.GetOwningMol().GetRingInfo().MinAtomRingSize(atom.GetIdx()),
    "isotope": lambda atom: atom.GetIsotope(),
    "mass_number": _mass_number,
}
_BOND: dict[str, Callable[[Any], Hashable]] = {
    "type": lambda bond: _type_name(bond.GetBondType()),
    "stereo": _stereo,
    "conjugated": lambda bond: bond.GetIsConjugated(),
    "in_ring": lambda bond: bond.IsInRing(),
    "ring_size": lambda bond: bond.GetOwningMol().GetRingInfo().MinBondRingSize(bond.GetIdx()),
}


def _reader(
    label: Property, table: dict[str, Callable[[Any], Hashable]], what: str
) -> Callable[[Any], Hashable] | None:
    if label is None or callable(label):
        return label
    names = as_list(label)
    for name in names:
        if name not in table:
            raise GraphError(
                f"{what}_label={name!r}: choose among {', '.join(table)}; "
                f"a function of the {what}; or None"
                f"{suggestion(name, table)}"
            )
    if isinstance(label, str):
        return table[label]
    readers = [table[name] for name in names]
    return lambda element: tuple(read(element) for read in readers)


def _names_any(label: Property, name: str) -> bool:
    return not callable(label) and name in as_list(label)


def _atoms(mol: Any) -> list[Any]:
    return list(map(mol.GetAtomWithIdx, range(mol.GetNumAtoms())))


def _bonds(mol: Any) -> list[Any]:
    # three times as fast as GetBonds()
    return list(map(mol.GetBondWithIdx, range(mol.GetNumBonds())))


def _with_stereo_codes(mol: Any) -> Any:
    """Return a molecule whose atoms and bonds say R or S, E or Z, where RDKit can tell."""
    marked = chem().Mol(mol)
    try:
        chem().AssignStereochemistry(marked)
    except (ValueError, RuntimeError):  # of a molecule that was never sanitized
        return mol
    return marked


def _has_rings(mol: Any) -> bool:
    try:
        mol.GetRingInfo().NumRings()
    except RuntimeError:
        return False
    return True


def _kekulized(mol: Any) -> Any:
    plain = chem().Mol(mol)
    chem().Kekulize(plain, clearAromaticFlags=True)
    return plain


def _with_cdk_aromaticity(mol: Any) -> Any:
    """Keep aromatic only the rings that are so by themselves.

    All bonds aromatic, no double bond out of the ring.
    """
    plain, mol = _kekulized(mol), chem().Mol(mol)
    double = chem().BondType.DOUBLE
    bonds = _bonds(mol)
    outward: set[int] = set()
    for bond in bonds:
        if bond.GetBondType() == double:
            outward |= {bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()}
    rings, kept = mol.GetRingInfo(), set()
    for atoms, ring in zip(rings.AtomRings(), rings.BondRings(), strict=True):
        if outward.isdisjoint(atoms) and all(bonds[bond].GetIsAromatic() for bond in ring):
            kept.update(ring)
    for bond in bonds:
        if bond.GetIsAromatic() and bond.GetIdx() not in kept:
            bond.SetBondType(plain.GetBondWithIdx(bond.GetIdx()).GetBondType())
            bond.SetIsAromatic(False)
    for atom in mol.GetAtoms():
        atom.SetIsAromatic(any(bond.GetIsAromatic() for bond in atom.GetBonds()))
    return mol


def chem() -> Any:
    """Return ``rdkit.Chem``."""
    return optional("rdkit.Chem", "reading molecules")


def _base() -> Any:
    return optional("rdkit.rdBase", "reading molecules")


def read_smiles(
    text: str, max_atoms: int = MOST_ATOMS, *, check_valence: bool = True
) -> tuple[Any, str]:
    """Return the molecule, or None and the reason.

    Parameters
    ----------
    text : str
        The SMILES.
    max_atoms : int
        The most atoms it may have. What is larger than the default is read by a child process,
        whose end for want of memory is a reason like any other.
    check_valence : bool
        Whether an atom with more bonds than RDKit knows of its element is a reason. Versions of
        RDKit differ in that, and benchmarks were made with older ones.
    """
    if not text.strip():
        return None, "the SMILES is empty; a molecule has at least one atom"
    if "\n" in text.strip():
        rule = "it has a newline in the middle, where RDKit would end reading"
        return None, f"{rule}; give each molecule a string of its own"
    if is_reaction(text):
        return None, (
            "it is a reaction, which edgnn does not read; give the molecules on one side of the >>"
        )
    complaint = "RDKit cannot read it as SMILES"
    if not is_short(text, max_atoms):
        size = MoleculeSize.of_smiles(text)
        if reason := too_large(size, max_atoms):
            return None, reason
        if not size.is_safe:
            return _from_child("smiles", text, False, complaint)
    mol, reason = _quietly(chem().MolFromSmiles, text, complaint)
    if mol is None and not check_valence:
        mol, _ = _quietly(_without_valence_check, text, complaint)
    return mol, "" if mol is not None else reason


def _without_valence_check(text: str) -> Any:
    """Do what ``MolFromSmiles`` does, but for the check of valences."""
    library = chem()
    mol = library.MolFromSmiles(text, sanitize=False)
    if mol is None:
        return None
    mol.UpdatePropertyCache(strict=False)
    flags = library.SanitizeFlags
    library.SanitizeMol(mol, flags.SANITIZE_ALL ^ flags.SANITIZE_PROPERTIES)
    mol = library.RemoveHs(mol, sanitize=False)
    library.AssignStereochemistry(mol, cleanIt=True)
    return mol


def is_reaction(text: str) -> bool:
    """Return whether a text is a reaction: ``reactants>agents>products``.

    A single ``>`` occurs in molecules as well, in dative bonds (``->``).
    """
    words = text.split(maxsplit=1)
    return bool(words) and words[0].replace("->", "").count(">") > 1


def read_mol_block(text: str, keep_hydrogens: bool, max_atoms: int = MOST_ATOMS) -> tuple[Any, str]:
    """Return the molecule, or None and the reason."""
    size = MoleculeSize.of_mol_block(text)
    if reason := too_large(size, max_atoms):
        return None, reason
    complaint = "RDKit cannot read its mol block"
    if size.is_safe:
        mol, reason = _quietly(
            lambda block: chem().MolFromMolBlock(block, removeHs=not keep_hydrogens),
            text,
            complaint,
        )
    else:
        mol, reason = _from_child("sdf", text, keep_hydrogens, complaint)
    if mol is not None and mol.GetNumAtoms() == 0:
        return None, "it has no atoms"
    return mol, reason


def _from_child(
    kind: Literal["smiles", "sdf"], text: str, keep_hydrogens: bool, complaint: str
) -> tuple[Any, str]:
    mol = read_in_child(kind, text, keep_hydrogens)
    reason = f"{complaint}: it is not valid, or takes too much memory or time"
    return mol, "" if mol is not None else reason


def _quietly(parse: Callable[[str], Any], text: str, complaint: str) -> tuple[Any, str]:
    """Run an RDKit parser with its log held back; the user's log settings stay as they are."""
    check_deadline()
    base = _base()
    # RDKit before 2026 keeps its reasons to its log
    capture = getattr(base, "CaptureErrorLog", nullcontext)
    said = ""
    with base.BlockLogs(), capture() as log:
        try:
            mol = parse(text)
        except (ValueError, RuntimeError) as error:
            mol, said = None, str(error)
    if mol is not None:
        return mol, ""
    try:
        said = getattr(log, "messages", "") or said
    except UnicodeDecodeError:
        # RDKit cuts what it quotes in the middle of a character
        said = "it holds characters that do not belong there"
    reason = _reason(said)
    return None, f"{complaint}: {reason}" if reason else complaint


def _reason(messages: str) -> str:
    """Boil RDKit's many lines down to one."""
    if place := re.search(r"around position (\d+)", messages):
        return f"syntax error around position {place[1]}"
    for line in messages.splitlines():
        text = re.sub(r"^\[[\d:]+\]|SMILES Parse Error:| for input: .*", "", line).strip()
        if text and not re.fullmatch(r"\*+|[-\w ]+ (Violation|Error)", text):
            return one_line(text)
    return ""
