"""Molecules whose rings would take RDKit gigabytes are refused, or read by a child process."""

import subprocess
import sys

import pytest

pytest.importorskip("rdkit")

from rdkit import Chem

import edgnn
from edgnn.errors import FormatError, GraphError
from edgnn.io import from_mols, from_smiles, read_sdf, read_smiles


def ring(size):
    return "C1" + "C" * (size - 2) + "C1"


def dense(half):
    """Return a molecule in which each of ``half`` atoms is bonded to each of as many others."""
    mol = Chem.RWMol()
    for _ in range(2 * half):
        mol.AddAtom(Chem.Atom("*"))
    for one in range(half):
        for other in range(half, 2 * half):
            mol.AddBond(one, other, Chem.BondType.SINGLE)
    return mol.GetMol()


def test_a_ring_beyond_the_bound_is_refused_without_asking_rdkit():
    for size in (1_001, 10_000, 1_000_000):
        with pytest.raises(GraphError, match=rf"has {size:,} atoms, and max_atoms=1,000: leave"):
            from_smiles([ring(size)])


def test_molecules_up_to_the_bound_are_read_as_before():
    assert len(from_smiles([ring(1_000), "C" * 1_000, "C(" * 499 + "C" + ")" * 499])) == 3


def test_long_names_brackets_and_labels_of_rings_are_no_atoms():
    text = "C[C@@H](N)C(=O)[O-] " + "C" * 5_000
    assert from_smiles([text]).num_nodes == 6
    assert from_smiles(["C%12CC%12", "[13CH4]", "BrCCl"]).sizes.tolist() == [3, 1, 3]


def test_many_rings_on_few_atoms_are_refused():
    mol = dense(12)
    for give in (from_mols, lambda one: from_smiles([Chem.MolToSmiles(one)])):
        with pytest.raises(GraphError, match="rings on 24 atoms, which may take RDKit gigabytes"):
            give(mol)


def test_atoms_around_rings_that_share_many_bonds_hide_nothing(tmp_path):
    mol = Chem.CombineMols(dense(12), Chem.MolFromSmiles("C" * 300))
    with pytest.raises(GraphError, match="121 rings on 324 atoms"):
        from_smiles([Chem.MolToSmiles(mol)])
    path = tmp_path / "dense.sdf"
    for write in (Chem.MolToMolBlock, Chem.MolToV3KMolBlock):
        path.write_text(f"{write(mol, kekulize=False)}$$$$\n")
        with pytest.raises(FormatError, match="121 rings on 324 atoms"):
            read_sdf(path)


def test_many_rings_that_share_few_bonds_are_read():
    benzenes = ".".join(["c1ccccc1"] * 150)
    ladder = "C1" + "".join(f"C%({n})" for n in range(100, 400)) + "CC1"
    ladder += "".join(f"C%({n})" for n in reversed(range(100, 400)))
    assert from_smiles([benzenes, ladder]).sizes.tolist() == [900, 603]


def test_a_table_says_which_line_is_too_large_or_skips_it(tmp_path):
    path = tmp_path / "rings.csv"
    path.write_text(f"smiles\nCCO\n{ring(3_000)}\n")
    with pytest.raises(FormatError, match=r"line 3: .*3,000 atoms") as raised:
        edgnn.read(path)
    assert raised.value.line == 3
    with pytest.warns(UserWarning, match="1 of 2 molecules were skipped"):
        assert len(edgnn.read(path, bad="skip")) == 1


def test_mol_blocks_have_the_same_bound(tmp_path):
    path = tmp_path / "rings.sdf"
    small = Chem.MolToMolBlock(Chem.MolFromSmiles("C1" + "C" * 148 + "C1"))
    large = Chem.MolToV3KMolBlock(Chem.MolFromSmiles("C" * 1_500))
    path.write_text(f"{small}$$$$\n{large}$$$$\n")
    with pytest.raises(FormatError, match=r"record 2: it has 1,500 atoms"):
        read_sdf(path)
    path.write_text(f"{small}$$$$\n")
    assert read_sdf(path).graphs.num_nodes == 150
    path.write_text(f"{Chem.MolToMolBlock(dense(12), kekulize=False)}$$$$\n")
    with pytest.raises(FormatError, match="121 rings on 24 atoms"):
        read_sdf(path)


@pytest.mark.parametrize(
    ("written", "other"),
    [
        ("\n     RDKit", "M  V30 COUNTS 1 0\n     RDKit"),
        ("M  V30 COUNTS 1500 1499", "M  V30 COU-\nM  V30 NTS 15-\nM  V30 00 1499"),
        ("M  V30 COUNTS 1500 1499", "M  V30 COUNTS 1500 1499 -\nM  V30"),
        ("M  V30 COUNTS", "M  V30 counts"),
    ],
)
def test_the_size_of_a_mol_block_is_that_of_the_line_that_rdkit_reads(tmp_path, written, other):
    block = Chem.MolToV3KMolBlock(Chem.MolFromSmiles("C" * 1_500))
    assert written in block
    path = tmp_path / "chain.sdf"
    path.write_text(f"{block.replace(written, other, 1)}$$$$\n")
    with pytest.raises(FormatError, match=r"it has 1,500 atoms"):
        read_sdf(path)


def test_larger_molecules_are_read_by_a_child_where_asked_for(tmp_path):
    graphs = from_smiles([ring(1_500), "CCO"], atom_label=["symbol", "in_ring"], max_atoms=2_000)
    assert graphs.sizes.tolist() == [1_500, 3]
    assert list(graphs.node_vocabulary) == [("C", True), ("C", False), ("O", False)]
    path = tmp_path / "chain.sdf"
    path.write_text(Chem.MolToV3KMolBlock(Chem.MolFromSmiles("C" * 1_500)) + "$$$$\n")
    assert read_sdf(path, max_atoms=1_500).graphs.num_nodes == 1_500


def test_what_a_child_cannot_read_is_one_reason():
    mol, reason = read_smiles("C" * 1_500 + "1", max_atoms=2_000)
    assert mol is None
    assert reason.startswith("RDKit cannot read it as SMILES: it is not valid, or takes too much")


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
def test_half_a_surrogate_pair_is_a_reason_at_any_size():
    for text in ("C\ud800", "C" * 2_000 + "\ud800"):
        mol, reason = read_smiles(text, max_atoms=10_000)
        assert mol is None
        assert "RDKit cannot read it as SMILES" in reason


def test_a_child_that_takes_too_long_is_a_reason(monkeypatch):
    monkeypatch.setattr("edgnn.io._molecule_size._SECONDS", 0.01)
    mol, reason = read_smiles(ring(2_000), max_atoms=10_000)
    assert mol is None
    assert "time" in reason


def test_a_child_without_a_ceiling_reads_as_well(monkeypatch):
    monkeypatch.setattr("os.sysconf", no_such_setting)
    mol, reason = read_smiles(ring(2_000), max_atoms=10_000)
    assert (mol.GetNumAtoms(), reason) == (2_000, "")


def no_such_setting(name):
    raise ValueError(f"unrecognized configuration name {name}")


def test_a_mol_block_that_ends_in_its_head_is_told(tmp_path):
    (tmp_path / "short.sdf").write_text("title\n  x\n$$$$\n")
    with pytest.raises(FormatError, match="RDKit cannot read its mol block"):
        read_sdf(tmp_path / "short.sdf")


def test_a_child_that_runs_out_of_memory_takes_nobody_along(monkeypatch):
    monkeypatch.setattr("edgnn.io._molecule_size._ceiling", lambda: 200 * 2**20)
    mol, reason = read_smiles(ring(8_000), max_atoms=10_000)
    assert mol is None
    assert "too much memory" in reason


ONE_PROCESS = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_the_command_ends_with_a_line_under_a_memory_ceiling(tmp_path):
    (tmp_path / "ring.smi").write_text(f"{ring(10_000)} x\n")
    words = ["-m", "edgnn", "convert", "ring.smi", "r.graphs", "--memory", "1GiB"]
    # a process starts with the peak of the one that starts it: this one's would count as its own
    between = [sys.executable, "-c", ONE_PROCESS, sys.executable, *words]
    ended = subprocess.run(between, cwd=tmp_path, capture_output=True, text=True)
    code, kilobytes = map(int, ended.stdout.split())
    assert code == 2
    assert "10,000 atoms, and max_atoms=1,000" in ended.stderr
    assert kilobytes < 2**20


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "many"])
def test_a_bound_that_makes_no_sense_is_refused(value):
    with pytest.raises(GraphError, match=r"max_atoms=.*whole number, 1 or more"):
        from_smiles(["C"], max_atoms=value)
