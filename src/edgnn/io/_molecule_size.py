"""How large a molecule is before RDKit looks for its rings, and a child process for large ones.

Finding the rings takes RDKit time and memory that grow with the square of a ring's size, and faster
where rings share many bonds; where memory runs out, it ends the whole process. So sizes are counted
in the text first, by rules of our own: RDKit's parser of mol blocks looks for rings at once.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from edgnn._deadline import check_deadline, seconds_left
from edgnn.errors import GraphError

#: Atoms that a molecule may have by default.
MOST_ATOMS = 1_000

_FEW_RINGS = 100
_MOST_CROWDED = 180  # 22 atoms with eleven bonds each come to 154, and take a fifth of a second
_SECONDS = 300
_FRACTION_OF_MEMORY = 2
_CHILD = Path(__file__).with_name("_molecule_child.py")

_ATOM = re.compile(r"\[[^\]]*\]?|Br|Cl|[BCNOSPFIbcnosp*]")
_BRACKETS = re.compile(r"\[[^\]]*\]?")
_RING_END = re.compile(r"%\(\d+\)|%\d\d|\d")
_DIGIT = re.compile(r"\d")
_LINES_OF_HEAD = 5  # three lines of text, one of counts and the version, and the rest
_VERSION = slice(34, 39)
_CONTINUED = re.compile(r"-[ \t\r]*\nM  V30 ")
_COUNTS_V3000 = re.compile(r"^M  V30 *COUNTS[^\d\n]*(\d+)(?:[^\d\n]+(\d+))?", re.M)
_BOND_V3000 = re.compile(r"^M  V30 +\d+ +\d+ +(\d+) +(\d+)(?: |$)", re.M)


@dataclass(frozen=True)
class MoleculeSize:
    """How many atoms and independent rings a molecule has, and how much its rings share.

    ``crowding`` counts the bonds beyond four of each atom, among bonds that may be parts of rings.
    RDKit's memory follows it: 1,000 atoms of four bonds take it less than a second, 48 atoms with
    24 bonds each end the process, however many other atoms surround them.
    """

    atoms: int
    rings: int
    crowding: int = 0

    @classmethod
    def of_smiles(cls, text: str) -> MoleculeSize:
        """Count in a SMILES; what follows a blank is not a part of it."""
        smiles = text.split(maxsplit=1)[0]
        ends = len(_RING_END.findall(_BRACKETS.sub("", smiles)))
        atoms, rings = len(_ATOM.findall(smiles)), ends // 2
        if atoms > MOST_ATOMS or rings <= _FEW_RINGS:
            return cls(atoms, rings)
        from rdkit import Chem, rdBase

        with rdBase.BlockLogs():
            mol = Chem.MolFromSmiles(smiles, sanitize=False)  # without looking for rings
        return cls(atoms, rings) if mol is None else cls.of_mol(mol)

    @classmethod
    def of_mol_block(cls, text: str) -> MoleculeSize:
        """Read the lines of counts and of bonds; RDKit would look for rings in it."""
        lines = text.split("\n", 4)
        if len(lines) < _LINES_OF_HEAD:
            return cls(0, 0)  # nothing that RDKit reads
        if lines[3][_VERSION].upper() == "V3000":
            return cls._of_v3000(lines[4].upper())
        atoms, bonds = (int("0" + "".join(_DIGIT.findall(lines[3][at : at + 3]))) for at in (0, 3))
        if bonds <= _FEW_RINGS:
            return cls(atoms, bonds)
        rows = lines[4].split("\n")[atoms : atoms + bonds]
        return cls._of_bonds(atoms, bonds, [(row[:3].strip(), row[3:6].strip()) for row in rows])

    @classmethod
    def _of_v3000(cls, text: str) -> MoleculeSize:
        """Read what follows the fourth line, where a line may go on behind a hyphen."""
        text = _CONTINUED.sub("", text)
        counts = [(int(a), int(b or 0)) for a, b in _COUNTS_V3000.findall(text)]
        atoms, bonds = map(max, zip(*counts, strict=True)) if counts else (text.count("\n"), 0)
        if atoms > MOST_ATOMS or bonds <= _FEW_RINGS:
            return cls(atoms, bonds)
        return cls._of_bonds(atoms, bonds, _BOND_V3000.findall(text))

    @classmethod
    def of_mol(cls, mol: Any) -> MoleculeSize:
        """Count in RDKit's molecule."""
        atoms, bonds = mol.GetNumAtoms(), mol.GetNumBonds()
        if atoms > MOST_ATOMS or bonds <= _FEW_RINGS:
            return cls(atoms, bonds)
        numbered = map(mol.GetBondWithIdx, range(bonds))
        ends = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in numbered]
        return cls._of_bonds(atoms, bonds, ends)

    @classmethod
    def _of_bonds(cls, atoms: int, bonds: int, ends: list[tuple[Any, Any]]) -> MoleculeSize:
        """Count among bonds between named atoms; bonds that are not listed count in full."""
        neighbors: dict[Any, set[Any]] = defaultdict(set)
        for one, other in ends:
            neighbors[one].add(other)
            neighbors[other].add(one)
        rings = bonds - len(neighbors) + _parts(neighbors)
        _drop_chains(neighbors)
        unlisted = max(0, bonds - len(ends))
        crowding = sum(max(0, len(around) - 4) for around in neighbors.values())
        return cls(atoms, rings, crowding + unlisted)

    @property
    def is_safe(self) -> bool:
        """Whether RDKit finds the rings in about a second and some hundred megabytes at most."""
        few = self.rings <= _FEW_RINGS or self.crowding <= _MOST_CROWDED
        return self.atoms <= MOST_ATOMS and few


def _parts(neighbors: dict[Any, set[Any]]) -> int:
    """Return how many parts hang together."""
    seen: set[Any] = set()
    parts = 0
    for first in neighbors:
        parts += first not in seen
        waiting = [first]
        while waiting:
            atom = waiting.pop()
            if atom not in seen:
                seen.add(atom)
                waiting.extend(neighbors[atom])
    return parts


def _drop_chains(neighbors: dict[Any, set[Any]]) -> None:
    """Remove what is in no ring and between no rings, from the ends of chains inwards."""
    ends = [atom for atom, around in neighbors.items() if len(around) <= 1]
    while ends:
        atom = ends.pop()
        for other in neighbors.pop(atom, ()):
            neighbors[other].discard(atom)
            if len(neighbors[other]) == 1:
                ends.append(other)


def check_most_atoms(value: Any) -> None:
    """Raise where a bound on atoms makes no sense."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise GraphError(f"max_atoms={value!r}: choose a whole number, 1 or more")


def is_short(smiles: str, max_atoms: int) -> bool:
    """Return whether a SMILES is too short for many atoms and rings, without counting them.

    An atom takes a character or more, a ring two.
    """
    return len(smiles) <= min(max_atoms, 2 * _FEW_RINGS, MOST_ATOMS)


def too_large(size: MoleculeSize, max_atoms: int) -> str | None:
    """Return why a molecule is refused; ``None`` where it is read."""
    if size.atoms > max_atoms:
        return (
            f"it has {size.atoms:,} atoms, and max_atoms={max_atoms:,}: leave it out, or give a "
            "higher max_atoms (-o max_atoms=N in a command)"
        )
    if not size.is_safe and max_atoms <= MOST_ATOMS:
        return (
            f"it has {size.rings:,} rings on {size.atoms:,} atoms, which may take RDKit gigabytes: "
            f"leave it out, or give a max_atoms above {MOST_ATOMS:,} to read it in a child process"
        )
    return None


def read_in_child(kind: Literal["smiles", "sdf"], text: str, keep_hydrogens: bool) -> Any:
    """Return RDKit's molecule, or ``None`` where the child process failed.

    Its memory is limited to a part of the machine's, and to what this process may take.
    """
    from rdkit.Chem import Mol

    command = [sys.executable, "-I", str(_CHILD), kind, str(int(keep_hydrogens)), str(_ceiling())]
    try:
        child = subprocess.run(  # noqa: S603 - our own file and three words
            command,
            input=text.encode(errors="replace"),  # half a surrogate pair is no SMILES, nor is "?"
            capture_output=True,
            timeout=seconds_left(_SECONDS),
            check=False,
        )
    except subprocess.TimeoutExpired:
        check_deadline()
        return None
    if child.returncode != 0 or not child.stdout:
        return None
    return Mol(child.stdout)  # type: ignore[call-overload]  # its stubs know text only


def _ceiling() -> int:
    """Return how many bytes a child may take; 0 where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _FRACTION_OF_MEMORY
    except (AttributeError, ValueError, OSError):
        return 0
