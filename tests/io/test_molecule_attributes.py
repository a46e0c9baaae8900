"""Attributes of atoms and bonds, and columns of numbers beside molecules."""

from __future__ import annotations

import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import rdMolDescriptors

import edgnn
from edgnn.errors import DatasetError, FormatError, GraphError
from edgnn.io import (
    from_mols,
    from_smiles,
    molecule_records,
    pieces_of,
    read_pieces,
    read_sdf,
    read_smiles_table,
    smiles_pieces,
)
from varied_molecules import VARIED

MOLS = [Chem.MolFromSmiles(text) for text in VARIED]
CODES = {"R": 1, "S": 2, "Z": 1, "E": 2}
STEREO = {Chem.BondStereo.STEREOZ: 1, Chem.BondStereo.STEREOE: 2}


def column(graphs, what, name):
    names = getattr(graphs, f"{what}_attribute_names")
    return getattr(graphs, f"{what}_attributes")[:, names.index(name)].tolist()


def of_atoms(mols, read):
    return [int(read(atom)) for mol in mols for atom in mol.GetAtoms()]


def of_bonds(mols, read):
    """Return what each bond has, twice, as each is two edges."""
    return [int(read(bond)) for mol in mols for bond in mol.GetBonds() for _ in range(2)]


def smallest_ring(mol, atoms):
    sizes = [len(ring) for ring in mol.GetRingInfo().AtomRings() if atoms <= set(ring)]
    return min(sizes, default=0)


def bond_ring(bond):
    rings = bond.GetOwningMol().GetRingInfo().BondRings()
    return min((len(ring) for ring in rings if bond.GetIdx() in ring), default=0)


def code_of(element):
    return CODES.get(element.GetProp("_CIPCode") if element.HasProp("_CIPCode") else "", 0)


@pytest.mark.parametrize("kekulize", [False, True])
def test_attributes_of_atoms_are_those_of_rdkit(kekulize):
    graphs = from_mols(MOLS, kekulize=kekulize)
    mols = [Chem.Mol(mol) for mol in MOLS]
    for mol in mols if kekulize else ():
        Chem.Kekulize(mol, clearAromaticFlags=True)
    readers = {
        "charge": lambda atom: atom.GetFormalCharge(),
        "hydrogens": lambda atom: atom.GetTotalNumHs(includeNeighbors=True),
        "aromatic": lambda atom: atom.GetIsAromatic(),
        "chirality": code_of,
        "in_ring": lambda atom: atom.IsInRing(),
        "ring_size": lambda atom: smallest_ring(atom.GetOwningMol(), {atom.GetIdx()}),
        "radicals": lambda atom: atom.GetNumRadicalElectrons(),
        "isotope": lambda atom: atom.GetIsotope(),
    }
    assert graphs.node_attribute_names == (*readers, "pharmacophore")
    for name, read in readers.items():
        expected = of_atoms(mols, read)
        assert column(graphs, "node", name) == expected, name
        assert kekulize or any(expected), name
    features = [bits for mol in mols for bits in rdMolDescriptors.GetFeatureInvariants(mol)]
    assert column(graphs, "node", "pharmacophore") == features


def test_every_feature_of_binding_occurs():
    bits = np.bitwise_or.reduce(column(from_mols(MOLS), "node", "pharmacophore"))
    assert bits == 63


def test_attributes_of_bonds_are_those_of_rdkit():
    graphs = from_mols(MOLS)
    readers = {
        "stereo": lambda bond: STEREO.get(bond.GetStereo(), 0),
        "conjugated": lambda bond: bond.GetIsConjugated(),
        "in_ring": lambda bond: bond.IsInRing(),
        "ring_size": bond_ring,
    }
    assert graphs.edge_attribute_names == tuple(readers)
    for name, read in readers.items():
        assert column(graphs, "edge", name) == of_bonds(MOLS, read), name
    assert set(column(graphs, "edge", "stereo")) == {0, 1, 2}


def test_hydrogens_that_are_nodes_still_count_at_their_neighbors():
    graphs = from_smiles(["N[C@@H](C)O", "c1cc[nH]c1"], hydrogens=True)
    with_hydrogens = [
        Chem.AddHs(Chem.MolFromSmiles(text)) for text in ("N[C@@H](C)O", "c1cc[nH]c1")
    ]
    features = [bit for mol in with_hydrogens for bit in rdMolDescriptors.GetFeatureInvariants(mol)]
    assert column(graphs, "node", "hydrogens")[:4] == [2, 1, 3, 1]
    assert column(graphs, "node", "chirality")[1] in (1, 2)
    assert column(graphs, "node", "pharmacophore") == features


def test_molecules_that_do_not_say_their_stereochemistry_are_asked_and_stay_as_they_are():
    mol = Chem.MolFromSmiles("C/C=C/[C@](F)(Cl)Br", sanitize=False)
    Chem.SanitizeMol(mol)
    assert not mol.HasProp("_StereochemDone")
    graphs = from_mols(mol)
    assert graphs.labeled(node="chirality").node_labels == column(
        from_smiles("C/C=C/[C@](F)(Cl)Br"), "node", "chirality"
    )
    assert column(graphs, "edge", "stereo") == [0, 0, 2, 2] + [0] * 8
    assert not mol.GetAtomWithIdx(3).HasProp("_CIPCode")


def test_molecules_that_were_never_sanitized_have_attributes():
    graphs = from_mols(Chem.MolFromSmiles("CN(C)(C)(C)C", sanitize=False))
    assert column(graphs, "node", "hydrogens") == [3, 0, 3, 3, 3, 3]


def test_labels_are_as_without_attributes():
    full = from_smiles(VARIED, bond_label=("type", "stereo"), atom_label="degree")
    plain = from_smiles(
        VARIED, bond_label=("type", "stereo"), atom_label="degree", attributes=False
    )
    assert plain.node_attributes is None
    assert plain.edge_attribute_names == ()
    assert full.labeled().equals(plain)


def test_stereo_agrees_with_labels_of_stereo_where_these_are_asked_for():
    graphs = from_smiles(VARIED, atom_label="chirality", bond_label="stereo")
    words = {"none": 0, "any": 0, "R": 1, "S": 2, "Z": 1, "E": 2}
    assert column(graphs, "node", "chirality") == [words.get(w, 0) for w in graphs.node_labels]
    assert column(graphs, "edge", "stereo") == [words[w] for w in graphs.edge_labels]


def test_no_molecules_and_lone_atoms_have_attributes_too():
    assert from_smiles([]).node_attributes.shape == (0, 9)
    assert from_smiles(["[Na+]"]).node_attributes[0].tolist() == [1] + [0] * 8
    assert from_smiles(["[Na+]"]).edge_attributes.shape == (0, 4)


def test_a_molecule_that_is_refused_leaves_nothing_behind():
    with pytest.warns(edgnn.io.SkippedWarning):
        graphs = from_smiles(["CO", "nonsense", "C=O"], bad="skip")
    assert column(graphs, "node", "hydrogens") == [3, 1, 2, 0]


# Columns of numbers beside molecules


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "doses.csv"
    path.write_text("smiles,y,dose,logP\nCCO,0,1.5,-0.1\nCCN,1,2,3e2\nCCC,1,0.5,7\n")
    return path


def test_descriptors_of_a_table_are_features_of_graphs(table):
    labeled = read_smiles_table(table, target="y", descriptors=["logP", "dose"])
    assert labeled.graphs.graph_features.tolist() == [[-0.1, 1.5], [300.0, 2.0], [7.0, 0.5]]
    assert labeled.graphs.graph_feature_names == ("logP", "dose")
    assert labeled.targets.tolist() == [0, 1, 1]
    one = read_smiles_table(table, descriptors="DOSE").graphs
    assert one.graph_features.tolist() == [[1.5], [2.0], [0.5]]
    assert read_smiles_table(table).graphs.graph_features is None


def test_columns_of_descriptors_are_found_by_pattern_and_not_listed_as_unused(table):
    data = edgnn.load_dataset(table, target_column="y", descriptors="*")
    assert data.graphs.graph_feature_names == ("dose", "logP")
    data = edgnn.load_dataset(table, target="y", descriptors="logP,d*")
    assert data.graphs.graph_feature_names == ("logP", "dose")
    (use,) = edgnn.io.FORMATS["smiles"].columns(table, {"target": "y", "descriptors": ["dose"]})
    assert use.unused == ("logP",)
    both = edgnn.load_dataset(table, target_column="*", descriptors=["dose"], task="values")
    assert both.target_names == ("y", "logP")
    with pytest.raises(DatasetError, match=r"no column fits descriptors='x\*'"):
        edgnn.load_dataset(table, target="y", descriptors="x*")


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("", "the descriptor 'dose' is empty; fill it in"),
        ("low", "the descriptor 'dose' is 'low', but must be a finite number"),
        ("nan", "'nan', but must be a finite number"),
        ('"1,5"', "a number with a decimal comma"),
    ],
)
def test_a_row_without_a_descriptor_is_named_or_skipped(table, cell, message):
    table.write_text(f"smiles,dose\nCCO,1\nCCN,{cell}\nCCC,3\n")
    with pytest.raises(FormatError, match=f"doses.csv, line 3.*{message}.*bad='skip'"):
        read_smiles_table(table, descriptors="dose")
    with pytest.warns(edgnn.io.SkippedWarning, match="line 3"):
        graphs = read_smiles_table(table, descriptors="dose", bad="skip").graphs
    assert graphs.graph_features.tolist() == [[1.0], [3.0]]
    (piece,) = read_pieces(table, "smiles", descriptors=["dose"])
    assert [unread.line for unread in piece.unread] == [3]
    assert piece.items.graph_features.tolist() == [[1.0], [3.0]]
    assert piece.columns["dose"] == ["1", cell.strip('"'), "3"]


def test_wrong_columns_of_descriptors_are_named(table):
    with pytest.raises(FormatError, match="there is no column 'doze'"):
        read_smiles_table(table, descriptors="doze")
    with pytest.raises(GraphError, match="'y' is a target, so it cannot be a descriptor"):
        read_smiles_table(table, target="y", descriptors=["y"])
    with pytest.raises(GraphError, match="descriptors= names the column 'dose' twice"):
        read_smiles_table(table, descriptors=["dose", "dose"])
    with pytest.raises(GraphError, match="there is no column 'doze', which descriptors= names"):
        list(read_pieces(table, "smiles", descriptors=["doze"]))
    with pytest.raises(GraphError, match="the columns are none"):
        list(smiles_pieces(["CCO"], descriptors=["dose"]))


def test_many_pieces_have_the_descriptors_of_their_rows(table):
    with molecule_records(table, "smiles", columns=None) as records:
        pieces = list(pieces_of(records, {"descriptors": "dose"}, atoms=3))
    values = [piece.items.graph_features.tolist() for piece in pieces if len(piece)]
    assert values == [[[1.5]], [[2.0]], [[0.5]]]


def test_properties_of_an_sd_file_are_features_of_graphs(tmp_path):
    path = tmp_path / "m.sdf"
    with Chem.SDWriter(str(path)) as writer:
        for text, dose in (("CCO", 1.5), ("CCN", 2)):
            mol = Chem.MolFromSmiles(text)
            mol.SetProp("dose", str(dose))
            mol.SetProp("batch", "A")
            writer.write(mol)
    graphs = read_sdf(path, descriptors=["dose"], target="batch").graphs
    assert graphs.graph_features.tolist() == [[1.5], [2.0]]
    (use,) = edgnn.io.FORMATS["sdf"].columns(path, {"descriptors": ["dose"]})
    assert use.unused == ("batch",)
    with pytest.raises(FormatError, match="'weight' is empty"):
        read_sdf(path, descriptors="weight")
