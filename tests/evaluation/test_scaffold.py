import sys

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rdkit.Chem.Scaffolds import MurckoScaffold

import edgnn
from edgnn.errors import MissingDependencyError
from edgnn.evaluation import EvaluationError, kfold, scaffold, scaffold_groups
from edgnn.io import from_mols, read_smiles
from varied_molecules import VARIED

SMILES = [
    "Cc1ccccc1",  # benzene
    "CCO",  # no ring
    "OC(=O)c1ccccc1[N+](=O)[O-]",  # benzene
    "c1ccc(CCc2ccccc2)cc1",  # two benzenes and a chain
    "C1CCCCC1",  # cyclohexane
    "C=CC",  # no ring
    "O=C1CCCCC1",  # cyclohexanone
    "Cn1cccc1",  # pyrrole
    "c1cc[nH]c1",  # pyrrole
    "C[C@H](N)c1ccc(CCc2ccccc2)cc1",  # two benzenes and a chain
]
GROUPS = [0, 1, 0, 2, 3, 1, 4, 5, 5, 2]


def test_molecules_with_one_framework_are_one_group():
    assert scaffold_groups(SMILES).tolist() == GROUPS


def test_graphs_have_the_groups_of_their_molecules():
    assert scaffold_groups(edgnn.from_smiles(SMILES)).tolist() == GROUPS


def test_graphs_with_other_labels_are_read_by_their_names():
    assert (
        scaffold_groups(edgnn.from_smiles(SMILES, atom_label=("symbol", "charge"))).tolist()
        == GROUPS
    )
    with pytest.raises(EvaluationError, match="nodes need element symbols as labels"):
        scaffold_groups(edgnn.Graphs.from_edges([(0, 1)]))


def test_frequent_scaffolds_are_trained_on_and_rare_ones_tested():
    smiles = ["c1ccccc1"] * 6 + ["C1CCCCC1", "C1CCCC1"] + ["CC"] * 2
    split, again = scaffold(smiles[::-1], test=0.1, validation=0.1, repeats=2, balanced=False)
    assert split.train.tolist() == [0, 1, 4, 5, 6, 7, 8, 9]
    assert (split.valid.tolist(), split.test.tolist()) == ([3], [2])
    assert again.test.tolist() == split.test.tolist()
    assert again.seed != split.seed


def test_a_scaffold_split_of_a_data_set_shares_no_framework():
    data = edgnn.load_dataset("MUTAG")
    groups = scaffold_groups(data.graphs)
    for split in [scaffold(data.graphs, repeats=1)[0], *kfold(data.targets, 5, 1, groups=groups)]:
        parts = [set(groups[part].tolist()) for part in (split.train, split.valid, split.test)]
        assert parts[0].isdisjoint(parts[1])
        assert parts[2].isdisjoint(parts[0] | parts[1])
    largest = np.bincount(groups).argmax()
    assert largest in groups[scaffold(data.graphs, repeats=1)[0].train]


def test_molecules_without_target_are_in_no_part():
    y = np.arange(10.0)
    y[1] = np.nan
    split = scaffold(SMILES, y, test=0.2, validation=None, repeats=1)[0]
    assert sorted([*split.train, *split.test]) == [0, 2, 3, 4, 5, 6, 7, 8, 9]
    with pytest.raises(EvaluationError, match="2 targets were given for 10 molecules"):
        scaffold(SMILES, [1, 2])


def test_what_cannot_be_split_by_scaffold_is_explained():
    with pytest.raises(EvaluationError, match="4 molecules with 1 scaffolds cannot fill"):
        scaffold(["C", "CC", "CCC", "CCCC"])
    with pytest.raises(EvaluationError, match=r"molecule 1 \('c1cc'\)"):
        scaffold(["CC", "c1cc"])
    with pytest.raises(EvaluationError, match=r"molecule 0 .*: it is a NoneType"):
        scaffold([None])
    with pytest.raises(EvaluationError, match="a single string"):
        scaffold("CC")


def test_a_missing_rdkit_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit.Chem", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'edgnn\[molecules\]'"):
        scaffold(SMILES)


def test_every_seed_draws_another_balanced_scaffold_split():
    graphs = edgnn.load_dataset("MUTAG").graphs
    splits = scaffold(graphs, repeats=3, test=0.2)
    assert len({tuple(split.test.tolist()) for split in splits}) == 3
    again = scaffold(graphs, repeats=1, test=0.2, seed=1)[0]
    assert again.test.tolist() == splits[1].test.tolist()
    fixed = scaffold(graphs, repeats=3, test=0.2, balanced=False)
    assert len({tuple(split.test.tolist()) for split in fixed}) == 1
    groups = scaffold_groups(graphs)
    for split in splits:
        assert set(groups[split.test]).isdisjoint(groups[split.known])


def _split_of_ogb(smiles):
    """The rule of OGB and DeepChem, written down a second time."""
    scaffolds = {}
    for position, text in enumerate(smiles):
        scaffold_of = MurckoScaffold.MurckoScaffoldSmiles(smiles=text, includeChirality=False)
        scaffolds.setdefault(scaffold_of, []).append(position)
    train, valid, test = [], [], []
    for places in sorted(scaffolds.values(), key=lambda one: (len(one), one[0]), reverse=True):
        if len(train) + len(places) <= 0.8 * len(smiles):
            train += places
        elif len(train) + len(valid) + len(places) <= 0.9 * len(smiles):
            valid += places
        else:
            test += places
    return sorted(train), sorted(valid), sorted(test)


_PIECES = [
    "C1CC1",
    "c1cc[nH]c1",
    "C1CC[NH2+]CC1",
    "C1CCNCC1",
    "CC",
    "c1ccccc1",
    "C1CCC1",
    "C1CCCC1",
]


@given(
    st.lists(st.sampled_from(_PIECES), min_size=20, max_size=60).filter(lambda s: len(s) % 10 == 0)
)
def test_a_fixed_split_of_smiles_is_that_of_ogb(smiles):
    expected = _split_of_ogb(smiles)
    assume(all(expected))
    for molecules in (smiles, edgnn.from_smiles(smiles)):
        (split,) = scaffold(molecules, repeats=1, balanced=False)
        assert (split.train.tolist(), split.valid.tolist(), split.test.tolist()) == expected


def test_charges_and_hydrogens_of_smiles_tell_frameworks_apart():
    assert scaffold_groups(["C1CC[NH2+]CC1", "C1CCNCC1", "CN1CCCCC1"]).tolist() == [0, 1, 1]
    graphs = edgnn.from_smiles(["C1CC[NH2+]CC1", "C1CCNCC1", "CN1CCCCC1"])
    assert scaffold_groups(graphs).tolist() == [0, 1, 1]
    bare = edgnn.from_smiles(["C1CC[NH2+]CC1", "C1CCNCC1"], attributes=False)
    assert scaffold_groups(bare).tolist() == [0, 0]


def test_a_molecule_with_more_bonds_than_rdkit_allows_has_a_framework():
    assert scaffold_groups(["Cc1ccc([B-2]2(C)=NCCO2)cc1", "C"]).tolist() == [0, 1]


def test_graphs_of_varied_molecules_have_the_frameworks_of_their_smiles():
    odd = ["Cc1ccc([B-2]2(C)=NCCO2)cc1", "c1ccc([B-2]2(C)=NCCO2)cc1"]
    # the chain behind a double bond to a ring is cut off, which leaves hydrogens to be added
    cut = ["CCC=C1CCCC1", "C=C1CCCC1", "CN=C1CCCC1", "N=C1CCCC1", "CC(C)=C1C=CC=C1", "CCn1cccc1"]
    iron = (
        "C1C[N+]23CCC[N+]4(C1)CC[S-]1[Fe+2]24([SH+]CC3)[S-]2CC[N+]34CCC[N+]5(CCC3)CC[SH+][Fe+2]1254"
    )
    texts = [*VARIED, *odd, *cut, iron]
    mols = [read_smiles(text, check_valence=False)[0] for text in texts]
    assert scaffold_groups(from_mols(mols)).tolist() == scaffold_groups(texts).tolist()
