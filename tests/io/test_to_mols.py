"""Molecules rebuilt from graphs, their descriptors and fingerprints."""

from __future__ import annotations

import numpy as np
import pytest
from rdkit import Chem, rdBase
from rdkit.Chem import Crippen, Descriptors, rdFingerprintGenerator, rdMolDescriptors
from rdkit.Chem.EState import EState_VSA

import edgnn
from edgnn.errors import GraphError
from edgnn.graphs import Graphs
from edgnn.io import (
    ecfp_counts,
    from_mols,
    from_smiles,
    rdkit_descriptors,
    read_smiles,
    to_mols,
)
from varied_molecules import VARIED

GENERATOR = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)


@pytest.fixture(scope="module", autouse=True)
def silent():
    with rdBase.BlockLogs():
        yield


@pytest.fixture(scope="module")
def originals():
    with rdBase.BlockLogs():
        return [Chem.MolFromSmiles(text) for text in VARIED]


def flat(mol):
    """Return the canonical SMILES without stereochemistry."""
    mol = Chem.Mol(mol)
    Chem.RemoveStereochemistry(mol)
    return Chem.MolToSmiles(mol)


def counts(mol):
    return GENERATOR.GetCountFingerprint(mol).GetNonzeroElements()


@pytest.mark.parametrize("options", [{}, {"kekulize": True}, {"aromaticity": "cdk"}])
def test_rebuilt_molecules_are_those_that_were_read(originals, options):
    rebuilt = to_mols(from_smiles(VARIED, **options))
    assert [flat(mol) for mol in rebuilt] == [flat(mol) for mol in originals]
    assert [counts(mol) for mol in rebuilt] == [counts(mol) for mol in originals]


def test_atoms_and_bonds_keep_their_order(originals):
    for mol, original in zip(to_mols(from_smiles(VARIED)), originals, strict=True):
        bonds = [
            [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in one.GetBonds()]
            for one in (mol, original)
        ]
        assert bonds[0] == bonds[1]
        symbols = [[atom.GetSymbol() for atom in one.GetAtoms()] for one in (mol, original)]
        assert symbols[0] == symbols[1]


def test_molecules_are_rebuilt_from_selected_and_stored_graphs(tmp_path):
    graphs = from_smiles(["CCO", "c1cc[nH]c1", "C[N+](C)(C)C.[Cl-]", "[NH3]->[Cu+2]"])
    edgnn.write(graphs, tmp_path / "m.graphs")
    chosen = edgnn.read(tmp_path / "m.graphs")[[3, 1, 2]]
    assert [flat(mol) for mol in to_mols(Graphs.concat([chosen, graphs[:1]]))] == [
        flat(Chem.MolFromSmiles(text))
        for text in ("[NH3]->[Cu+2]", "c1cc[nH]c1", "C[N+](C)(C)C.[Cl-]", "CCO")
    ]


def test_hydrogens_that_are_nodes_are_atoms():
    (mol,) = to_mols(from_smiles("C[NH3+]", hydrogens=True))
    assert mol.GetNumAtoms() == 8
    assert flat(Chem.RemoveHs(mol)) == "C[NH3+]"


def test_molecules_that_rdkit_cannot_sanitize_are_rebuilt_as_they_are():
    odd = Chem.MolFromSmiles("CN(C)(C)(C)C", sanitize=False)
    (mol,) = to_mols(from_mols(odd))
    assert Chem.MolToSmiles(mol) == "CN(C)(C)(C)C"
    assert ecfp_counts(from_mols(odd)).nnz
    assert np.isfinite(rdkit_descriptors(from_mols(odd))[0]).all()


def test_molecules_of_old_sets_with_odd_valences_are_rebuilt_and_described():
    # RDKit's rules of valence have become stricter since these sets were made
    texts = ["C[Al](C)(C)(C)C", "Cc1ccc([B-2]2(C)=NCCO2)cc1", "O=[Cl](=O)(C)C", "CCO"]
    mols = [read_smiles(text, check_valence=False)[0] for text in texts]
    graphs = from_mols(mols)
    assert [flat(mol) for mol in to_mols(graphs)] == [flat(mol) for mol in mols]
    assert (ecfp_counts(graphs).sum(axis=1) > 0).all()
    values, names = rdkit_descriptors(graphs)
    assert np.isfinite(values).all()
    assert values[:, names.index("NumHeavyAtoms")].tolist() == list(graphs.sizes)


def test_unknown_labels_become_dummy_atoms_and_bonds():
    alcohols = from_smiles(["CO"])
    mapped = from_smiles(["CN"], like=alcohols, unknown="map")
    (mol,) = to_mols(mapped)
    assert [atom.GetSymbol() for atom in mol.GetAtoms()] == ["C", "*"]
    (mol,) = to_mols(from_smiles(["C=O"], like=alcohols, unknown="map"))
    assert mol.GetBondWithIdx(0).GetBondType() == Chem.BondType.UNSPECIFIED
    assert ecfp_counts(mapped).sum() == 3  # two atoms, and both together
    assert np.isfinite(rdkit_descriptors(mapped)[0]).all()


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        (Graphs.from_edges([(0, 1)]), "the graphs hold no molecules.*'charge', 'hydrogens'"),
        (from_smiles("CO", attributes=False), "read with attributes=False.*from_smiles"),
        (from_smiles("CO", atom_label="number"), "node 0 has the label 6, which is no symbol"),
        (from_smiles("CO").with_node_labels(["C", "Foo"]), "node 1 has the label 'Foo'"),
        (from_smiles("CO", bond_label=None), "edge 0 has the label None, which is no type"),
        (from_smiles("CO").with_edge_labels(["single", "a"]), "edge 1 has the label 'a'"),
        (
            Graphs.from_edges([(0, 0)], node_labels="C", edge_labels=["single"]).with_attributes(
                node={name: [0] for name in ("charge", "hydrogens", "radicals", "isotope")}
            ),
            "node 0 has an edge to itself",
        ),
    ],
)
def test_graphs_that_hold_no_molecules_are_refused_by_what_is_missing(graphs, message):
    for function in (to_mols, rdkit_descriptors, ecfp_counts):
        with pytest.raises(GraphError, match=message):
            function(graphs)


# Descriptors


def test_descriptors_of_graphs_are_those_of_their_molecules(originals):
    values, names = rdkit_descriptors(from_smiles(VARIED))
    assert values.shape == (len(VARIED), len(names))
    assert len(set(names)) == len(names)
    assert np.isfinite(values).all()
    assert np.abs(values).max() <= 1e6
    column = dict(zip(names, values.T, strict=True))
    for name, function in {
        "exactmw": Descriptors.ExactMolWt,
        "tpsa": rdMolDescriptors.CalcTPSA,
        "CrippenClogP": Crippen.MolLogP,
        "NumRings": rdMolDescriptors.CalcNumRings,
        "NumHBD": rdMolDescriptors.CalcNumHBD,
        "kappa3": rdMolDescriptors.CalcKappa3,
        "fr_amide": Descriptors.fr_amide,
        "fr_phenol": Descriptors.fr_phenol,
        "SlogP_VSA3": lambda mol: rdMolDescriptors.SlogP_VSA_(mol)[2],
        "MQN42": lambda mol: rdMolDescriptors.MQNs_(mol)[41],
    }.items():
        expected = np.array([function(mol) for mol in originals])
        assert np.allclose(column[name], np.nan_to_num(expected)), name
        assert expected.any()


def test_states_and_areas_are_summed_as_rdkit_does(originals):
    values, names = rdkit_descriptors(from_smiles(VARIED))
    first = names.index("EState_VSA1")
    for row, mol in zip(values, originals, strict=True):
        with np.errstate(all="ignore"):
            expected = np.array([*EState_VSA.EState_VSA_(mol), *EState_VSA.VSA_EState_(mol)])
        if np.isfinite(expected).all():
            assert np.allclose(row[first : first + 21], expected)


def test_hydrogens_that_are_nodes_change_no_descriptor_and_no_fingerprint():
    texts = [text for text in VARIED if text not in ("[H][H]", "[HH]", "[H+]")]
    plain, full = from_smiles(texts), from_smiles(texts, hydrogens=True)
    assert np.allclose(rdkit_descriptors(plain)[0], rdkit_descriptors(full)[0])
    assert (ecfp_counts(plain) != ecfp_counts(full)).nnz == 0


def test_several_processes_compute_the_same(monkeypatch):
    graphs = from_smiles(VARIED[:12])
    one = rdkit_descriptors(graphs)[0], ecfp_counts(graphs)
    monkeypatch.setattr("edgnn.io._descriptors._MANY", 5)
    monkeypatch.setattr("edgnn.io._descriptors._AT_ONCE", 4)
    monkeypatch.setattr("joblib.Parallel", lambda jobs: lambda calls: [f(*a) for f, a, _ in calls])
    assert np.array_equal(rdkit_descriptors(graphs, n_jobs=2)[0], one[0])
    assert (ecfp_counts(graphs, n_jobs=2) != one[1]).nnz == 0


def test_no_molecules_have_descriptors_and_fingerprints_of_the_same_width():
    values, names = rdkit_descriptors(from_smiles([]))
    assert values.shape == (0, len(names))
    assert ecfp_counts(from_smiles([]), size=64).shape == (0, 64)


# Fingerprints


def test_fingerprints_of_graphs_are_those_of_their_molecules(originals):
    table = ecfp_counts(from_smiles(VARIED))
    assert table.dtype == np.float32
    assert table.shape == (len(VARIED), 2048)
    for number, mol in enumerate(originals):
        row = table[[number]]
        assert dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)) == counts(mol)


def test_radius_and_size_of_fingerprints_can_be_chosen():
    table = ecfp_counts(from_smiles(["CCO"]), radius=0, size=16)
    assert table.shape == (1, 16)
    assert table.sum() == 3
    with pytest.raises(GraphError, match="radius=-1"):
        ecfp_counts(from_smiles(["CCO"]), radius=-1)
