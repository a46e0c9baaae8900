"""How large a molecule is before RDKit looks for its rings, and a child process for large ones.

Finding the rings takes RDKit time and memory that grow with the square of a ring's size, and faster
where rings share many bonds; where memory runs out, it ends the whole process. So sizes are counted
in the text first.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from edgnn._deadline import check_deadline, seconds_left
from edgnn.errors import GraphError

#: Atoms that a molecule may have by default.
MOST_ATOMS = 1_000

_FEW_RINGS = 100
_RINGS_PER_ATOM = 0.6  # a sheet of graphite has half a ring per atom
_SECONDS = 300
_FRACTION_OF_MEMORY = 2
_CHILD = Path(__file__).with_name("_molecule_child.py")

_ATOM = re.compile(r"\[[^\]]*\]?|Br|Cl|[BCNOSPFIbcnosp*]")
_BRACKETS = re.compile(r"\[[^\]]*\]?")
_RING_END = re.compile(r"%\(\d+\)|%\d\d|\d")
_COUNTS_V2000 = re.compile(r"([ \d]{3})([ \d]{3}).*V2000")
_COUNTS_V3000 = re.compile(r"M  V30 COUNTS +(\d+) +(\d+)")


@dataclass(frozen=True)
class MoleculeSize:
    """How many atoms and independent rings a molecule has."""

    atoms: int
    rings: int

    @classmethod
    def of_smiles(cls, text: str) -> MoleculeSize:
        """Count in a SMILES; what follows a blank is not a part of it."""
        smiles = text.split(maxsplit=1)[0]
        ends = len(_RING_END.findall(_BRACKETS.sub("", smiles)))
        return cls(len(_ATOM.findall(smiles)), ends // 2)

    @classmethod
    def of_mol_block(cls, text: str) -> MoleculeSize:
        """Read the line of counts; where there are many bonds, count the rings they close."""
        counts = _COUNTS_V3000.search(text) or _COUNTS_V2000.search(text)
        if counts is None:
            return cls(0, 0)  # nothing that RDKit reads
        atoms, bonds = (int("".join(count.split()) or 0) for count in counts.groups())
        if atoms > MOST_ATOMS or bonds <= _FEW_RINGS:
            return cls(atoms, min(bonds, _FEW_RINGS))
        from rdkit import Chem, rdBase

        with rdBase.BlockLogs():
            mol = Chem.MolFromMolBlock(text, sanitize=False, removeHs=False)
        return cls(atoms, 0) if mol is None else cls.of_mol(mol)

    @classmethod
    def of_mol(cls, mol: Any) -> MoleculeSize:
        """Count in RDKit's molecule."""
        from rdkit.Chem import GetMolFrags

        atoms = mol.GetNumAtoms()
        return cls(atoms, mol.GetNumBonds() - atoms + len(GetMolFrags(mol)))

    @property
    def is_safe(self) -> bool:
        """Whether RDKit finds the rings in some megabytes and a fraction of a second."""
        few = self.rings <= max(_FEW_RINGS, _RINGS_PER_ATOM * self.atoms)
        return self.atoms <= MOST_ATOMS and few


def check_most_atoms(value: Any) -> None:
    """Raise where a bound on atoms makes no sense."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise GraphError(f"max_atoms={value!r}: choose a whole number, 1 or more")


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
            input=text.encode(),
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
