"""From the graphs of the molecule sets through SMILES and back: what RDKit and the sets agree on."""

import pytest
from rdkit import Chem
from rdkit.rdBase import BlockLogs

import edgnn
from edgnn import wl

BONDS = {
    "single": Chem.BondType.SINGLE,
    "double": Chem.BondType.DOUBLE,
    "triple": Chem.BondType.TRIPLE,
    "aromatic": Chem.BondType.AROMATIC,
}


def smiles_of(graph):
    """Write a labeled graph as SMILES, or None where no charges and hydrogens make it a molecule."""
    mol = Chem.RWMol()
    for symbol in graph.node_labels:
        mol.AddAtom(Chem.Atom(symbol))
    for source, target, label in zip(
        graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_labels, strict=True
    ):
        if source < target:
            mol.AddBond(source, target, BONDS[label])
    for bond in mol.GetBonds():
        if bond.GetBondType() == Chem.BondType.AROMATIC:
            for part in (bond, bond.GetBeginAtom(), bond.GetEndAtom()):
                part.SetIsAromatic(True)
    for atom in mol.GetAtoms():
        charge(atom)
    return written(mol)


def charge(atom):
    """Separate the charges of nitro groups and N-oxides, which the sets write with single and double bonds."""
    ends = [
        bond.GetOtherAtom(atom)
        for bond in atom.GetBonds()
        if bond.GetBondType() == Chem.BondType.SINGLE
    ]
    oxides = [end for end in ends if end.GetSymbol() == "O" and end.GetDegree() == 1]
    order = sum(bond.GetBondTypeAsDouble() for bond in atom.GetBonds())
    if atom.GetSymbol() == "N" and (
        order >= 4 if not atom.GetIsAromatic() else atom.GetDegree() == 3 and oxides
    ):
        atom.SetFormalCharge(1)
        for end in oxides[:1]:
            end.SetFormalCharge(-1)


def written(mol):
    """Return SMILES, with a hydrogen on one aromatic nitrogen if it takes that."""
    pyrroles = [
        atom.GetIdx()
        for atom in mol.GetAtoms()
        if atom.GetSymbol() == "N" and atom.GetIsAromatic() and atom.GetDegree() == 2
    ]
    for place in [None, *pyrroles]:
        trial = Chem.RWMol(mol)
        if place is not None:
            trial.GetAtomWithIdx(place).SetNumExplicitHs(1)
        with BlockLogs():
            if Chem.SanitizeMol(trial, catchErrors=True) == Chem.SanitizeFlags.SANITIZE_NONE:
                return Chem.MolToSmiles(trial)
    return None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rdkit", "cdk"),
    [
        ("MUTAG", 186, 186),
        ("PTC_FM", 342, 349),
        ("PTC_FR", 344, 351),
        ("PTC_MM", 331, 336),
        ("PTC_MR", 337, 344),
    ],
)
def test_graphs_come_back_from_smiles(name, rdkit, cdk, data_dir):
    """The figures of docs/data.md."""
    graphs = edgnn.load_dataset(name, data_dir=data_dir).graphs
    texts = [smiles_of(graph) for graph in graphs]
    for aromaticity, expected in (("rdkit", rdkit), ("cdk", cdk)):
        back = [
            None if text is None else edgnn.from_smiles(text, aromaticity=aromaticity, like=graphs)
            for text in texts
        ]
        assert (
            sum(
                made is not None and wl.isomorphic(graph, made)
                for graph, made in zip(graphs, back, strict=True)
            )
            == expected
        )
