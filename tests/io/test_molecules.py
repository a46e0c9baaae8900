import gzip
import tracemalloc
from importlib.util import find_spec
from io import BytesIO
from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rdkit import Chem, rdBase

import edgnn
from edgnn.errors import FormatError, GraphError, UnknownLabelError
from edgnn.graphs import UNKNOWN, Graphs
from edgnn.io import (
    SkippedWarning,
    from_mols,
    from_sdf,
    from_smiles,
    read,
    read_sdf,
    read_smiles_table,
    read_tu,
    to_networkx,
)
from edgnn.io._molecule_files import sd_records

NITROBENZENE = "c1ccccc1[N+](=O)[O-]"
CAFFEINE = "Cn1c(=O)c2c(ncn2C)n(C)c1=O"


# Atoms and bonds


def test_bonds_become_two_edges_in_their_order():
    graphs = from_smiles("C=CO")
    assert list(zip(graphs.edge_source.tolist(), graphs.edge_target.tolist(), strict=True)) == [
        (0, 1),
        (1, 0),
        (1, 2),
        (2, 1),
    ]
    assert graphs.edge_labels == ["double", "double", "single", "single"]
    assert graphs.node_labels == ["C", "C", "O"]


def test_many_strings_make_many_named_graphs():
    graphs = from_smiles(iter(["CCO", NITROBENZENE]))
    assert graphs.sizes.tolist() == [3, 9]
    assert graphs.graph_names.tolist() == ["CCO", NITROBENZENE]
    assert set(graphs.edge_vocabulary) == {"single", "aromatic", "double"}


def test_lines_of_a_file_are_read_with_their_ends():
    assert from_smiles(["CC\n", "CCO\r\n", "\nC"]).sizes.tolist() == [2, 3, 1]


def test_names_replace_the_strings():
    assert from_smiles(["C", "O"], names=["methane", "water"]).graph_names.tolist() == [
        "methane",
        "water",
    ]
    with pytest.raises(GraphError, match="1 names were given for 2 molecules"):
        from_smiles(["C", "O"], names=["methane"])


def test_nothing_makes_no_graphs():
    assert len(from_smiles([])) == 0


@pytest.mark.parametrize(
    ("name", "smiles", "labels"),
    [
        ("symbol", "C[Se]", ["C", "Se"]),
        ("number", "CO", [6, 8]),
        ("charge", "[O-][N+]", [-1, 1]),
        ("aromatic", "Cn1cccc1", [False] + [True] * 5),
        ("degree", "CCO", [1, 2, 1]),
        ("hydrogens", "CCO", [3, 2, 1]),
        ("valence", "CN", [4, 3]),
        ("radicals", "[CH2]C", [1, 0]),
        ("hybridization", "C=C-C#N", ["sp2", "sp2", "sp", "sp"]),
        (
            "chirality",
            "N[C@@H](C)C(=O)O",
            ["none", "S", "none", "none", "none", "none"],
        ),  # L-alanine
        ("chirality", "N[C@H](C)C(=O)O", ["none", "R", "none", "none", "none", "none"]),
        ("in_ring", "CC1CC1", [False, True, True, True]),
        ("ring_size", "CC1CC1", [0, 3, 3, 3]),
        ("isotope", "[13C]C", [13, 0]),
        ("mass_number", "[13C]Br", [13, 79]),
        (("symbol", "charge"), "C[O-]", [("C", 0), ("O", -1)]),
        (lambda atom: atom.GetIdx() % 2, "CCC", [0, 1, 0]),
    ],
)
def test_atom_labels(name, smiles, labels):
    assert from_smiles(smiles, atom_label=name).node_labels == labels


def test_ring_size_is_that_of_the_smallest_ring():
    indole = from_smiles("c1ccc2[nH]ccc2c1", atom_label="ring_size", bond_label="ring_size")
    assert sorted(indole.node_labels) == [5] * 5 + [6] * 4
    assert sorted(indole.edge_labels) == [5] * 10 + [6] * 10


@pytest.mark.parametrize(
    ("name", "smiles", "labels"),
    [
        ("type", "C#N", ["triple"]),
        ("type", "[NH3]->[Fe]", ["dative"]),
        ("stereo", "F/C=C/F", ["none", "E", "none"]),
        ("stereo", r"F/C=C\F", ["none", "Z", "none"]),
        ("conjugated", "C=CC=CC", [True, True, True, False]),
        ("in_ring", "CC1CC1", [False, True, True, True]),
        (["type", "in_ring"], "C=O", [("double", False)]),
        (lambda bond: bond.GetIdx(), "CCC", [0, 1]),
    ],
)
def test_bond_labels_are_the_same_both_ways(name, smiles, labels):
    found = from_smiles(smiles, bond_label=name).edge_labels
    assert found[::2] == found[1::2] == labels


def test_labels_can_be_left_out():
    graphs = from_smiles("CO", atom_label=None, bond_label=None)
    assert graphs.node_vocabulary.constant
    assert graphs.edge_vocabulary.constant


def test_unknown_property_lists_the_known_ones():
    with pytest.raises(GraphError, match=r"atom_label='color'.*symbol, number, charge"):
        from_smiles("C", atom_label="color")
    with pytest.raises(GraphError, match=r"bond_label='color'.*type, stereo"):
        from_smiles("C", bond_label=("type", "color"))


def test_unhashable_label_names_its_atom():
    with pytest.raises(GraphError, match=r"SMILES 1 \('CO'\): the label of atom 1 is a list"):
        from_smiles(["C", "CO"], atom_label=lambda atom: [] if atom.GetSymbol() == "O" else 1)


def test_hydrogens_become_nodes_when_asked():
    assert from_smiles("[H]C([H])[H]").num_nodes == 1
    methanol = from_smiles("CO", hydrogens=True)
    assert sorted(methanol.node_labels) == ["C", "H", "H", "H", "H", "O"]
    assert methanol.num_edges == 10


def test_kekulized_benzene_alternates():
    graphs = from_smiles("c1ccccc1", kekulize=True, atom_label="aromatic")
    assert sorted(graphs.edge_labels) == ["double"] * 6 + ["single"] * 6
    assert graphs.node_labels == [False] * 6


def test_cdk_aromaticity_leaves_out_rings_with_outward_double_bonds():
    coumarin = "O=c1ccc2ccccc2o1"
    assert from_smiles(coumarin).edge_labels.count("aromatic") == 22
    cdk = from_smiles(coumarin, aromaticity="cdk", atom_label="aromatic")
    assert cdk.edge_labels.count("aromatic") == 12
    assert cdk.node_labels.count(True) == 6
    assert from_smiles(CAFFEINE, aromaticity="cdk").edge_labels.count("aromatic") == 10
    assert from_smiles(NITROBENZENE, aromaticity="cdk").equals(from_smiles(NITROBENZENE))
    with pytest.raises(GraphError, match="choose 'rdkit' or 'cdk'"):
        from_smiles("C", aromaticity="mdl")


# What cannot be read


@pytest.mark.parametrize(
    ("smiles", "reason"),
    [
        (["C", "CCX"], r"SMILES 1 \('CCX'\): .*syntax error around position 3"),
        (["C1CC"], "unclosed ring"),
        (["C(C)(C)(C)(C)C"], "Explicit valence for atom # 0 C, 5"),
        (["c1cccc1"], "Can't kekulize mol"),
        (["C", ""], r"SMILES 1 \(''\): the SMILES is empty"),
        (["  "], "the SMILES is empty"),
        (
            ["CC", "C\nC"],
            r"SMILES 1 \('C\\nC'\): it has a newline in the middle.* give each molecule a string of its own",
        ),
        (["C", None], r"SMILES 1: it is missing \(None\)"),
        ([float("nan")], r"SMILES 0: it is missing \(nan\)"),
        ([b"C"], "SMILES 0: it is a bytes, not a string"),
        (["C\ud800"], "SMILES 0"),
        ([f"{'C' * 900}X"], r"SMILES 0 \('C{80}…'\): .*around position 901"),
        (b"C", "expected SMILES strings, got a bytes"),
        (7, "expected SMILES strings, got a int"),
    ],
)
def test_unreadable_smiles_names_position_string_and_reason(smiles, reason):
    with pytest.raises(GraphError, match=reason) as caught:
        from_smiles(smiles)
    assert len(str(caught.value)) < 300


def test_rdkit_stays_silent_and_its_log_settings_stay(capfd):
    before = rdBase.LogStatus()
    with pytest.raises(GraphError):
        from_smiles("CCX")
    from_smiles("[H]", hydrogens=True)  # RDKit warns about lone hydrogen atoms
    assert capfd.readouterr().err == ""
    assert rdBase.LogStatus() == before
    Chem.MolFromSmiles("CCX")
    assert "syntax error" in capfd.readouterr().err


def test_user_code_still_sees_rdkits_log(capfd):
    from_smiles("C", atom_label=lambda atom: Chem.MolFromSmiles("CCX") is None)
    assert "syntax error" in capfd.readouterr().err


@given(st.text(max_size=40))
@example("C C")
@example("CCO |foo|")
@example("[H]")
@example("*")
@example(f"0000{chr(0x80) * 7}{chr(0x10000) * 6}")
def test_any_text_is_a_molecule_or_a_graph_error(text):
    _graphs_or_error(lambda: from_smiles(text))


SMILES_LETTERS = "CNOPSFIcnos()[]=#-+@/\\%.:123456789HBrl*$~>|{} \x00é"


@given(st.text(SMILES_LETTERS, max_size=25))
def test_anything_like_smiles_is_a_molecule_or_a_graph_error(text):
    _graphs_or_error(
        lambda: from_smiles(
            text, atom_label=("symbol", "chirality", "ring_size"), bond_label=("type", "stereo")
        )
    )


@given(
    st.sampled_from([CAFFEINE, NITROBENZENE, "C[C@H](F)/C=C/Cl", "[NH3]->[Fe+2]"]),
    st.integers(0, 20),
    st.integers(0, 3),
    st.text(SMILES_LETTERS, max_size=3),
    st.booleans(),
    st.sampled_from(["rdkit", "cdk"]),
)
def test_damaged_smiles_is_a_molecule_or_a_graph_error(
    smiles, start, cut, put, hydrogens, aromaticity
):
    damaged = smiles[:start] + put + smiles[start + cut :]
    _graphs_or_error(lambda: from_smiles(damaged, hydrogens=hydrogens, aromaticity=aromaticity))


# Label numbers of other graphs


def test_like_numbers_labels_as_the_other_graphs_do():
    reference = from_smiles(["OC#N", NITROBENZENE])
    graphs = from_smiles(["CCO"], like=reference)
    assert graphs.node_vocabulary == reference.node_vocabulary
    assert graphs.node_label.tolist() == [reference.node_vocabulary.index(atom) for atom in "CCO"]


def test_unknown_atom_is_named_or_mapped():
    reference = from_smiles(["CCO"])
    with pytest.raises(
        UnknownLabelError, match=r"SMILES 1 \('\[Xe\]'\): atom 0 has the label 'Xe'"
    ):
        from_smiles(["C", "[Xe]"], like=reference)
    with pytest.raises(UnknownLabelError, match="bond 0 has the label 'triple'"):
        from_smiles(["C#C"], like=reference)
    assert from_smiles(["[Xe]"], like=reference, unknown="map").node_labels == [UNKNOWN]
    with pytest.raises(UnknownLabelError, match="'Xe'"):
        from_smiles(["[Xe]"], like=from_smiles([]))


# RDKit's own molecules


def test_mols_and_smiles_give_the_same_graphs():
    strings = ["CCO", NITROBENZENE, CAFFEINE]
    graphs = from_mols(map(Chem.MolFromSmiles, strings), names=strings)
    assert graphs.equals(from_smiles(strings))


def test_mols_stay_as_they_are():
    mol = Chem.MolFromSmiles("F/C=C/c1ccccc1")
    before = mol.ToBinary(Chem.PropertyPickleOptions.AllProps)
    from_mols(mol, hydrogens=True, kekulize=True)
    from_mols(mol, bond_label="stereo", aromaticity="cdk")
    assert mol.ToBinary(Chem.PropertyPickleOptions.AllProps) == before


def test_titles_name_the_graphs_if_all_have_one():
    named, bare = Chem.MolFromSmiles("CO methanol"), Chem.MolFromSmiles("C")
    assert from_mols([named]).graph_names.tolist() == ["methanol"]
    assert from_mols([named, bare]).graph_names is None


def test_mol_that_is_none_is_named():
    with pytest.raises(GraphError, match="molecule 1 is a NoneType"):
        from_mols([Chem.MolFromSmiles("C"), None])


def test_mol_without_sanitization_is_completed():
    mol = Chem.MolFromSmiles("C1CC1", sanitize=False)
    assert from_mols(mol, atom_label=("hydrogens", "ring_size")).node_labels == [(2, 3)] * 3
    assert mol.NeedsUpdatePropertyCache()


def test_mol_that_cannot_be_kekulized_is_named():
    mol = Chem.MolFromSmiles("c1cccc1", sanitize=False)
    with pytest.raises(
        GraphError, match="molecule 0: RDKit cannot prepare the molecule: Can't kekulize"
    ):
        from_mols(mol, kekulize=True)


def test_mol_without_atoms_is_a_graph_without_nodes():
    assert from_mols([Chem.Mol(), Chem.MolFromSmiles("C")]).sizes.tolist() == [0, 1]


# SD files


def _record(smiles, title="", **properties):
    mol = Chem.MolFromSmiles(smiles)
    mol.SetProp("_Name", title)
    return (
        Chem.MolToMolBlock(mol)
        + "".join(f"> <{name}>\n{value}\n\n" for name, value in properties.items())
        + "$$$$\n"
    )


def _sdf(folder, *records, name="some.sdf"):
    path = Path(folder) / name
    text = "".join(records).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return path


@pytest.mark.parametrize("name", ["some.sdf", "some.sdf.gz"])
def test_sdf_gives_the_graphs_of_its_smiles(name, tmp_path):
    strings = ["CCO", NITROBENZENE, "F/C=C/F"]
    path = _sdf(tmp_path, *(_record(text, title=text) for text in strings), name=name)
    labels = {"atom_label": ("symbol", "charge"), "bond_label": ("type", "stereo")}
    assert from_sdf(path, **labels).equals(from_smiles(strings, **labels))
    assert from_sdf(path, hydrogens=True).equals(from_smiles(strings, hydrogens=True))


def test_single_mol_file_is_read(tmp_path):
    path = _sdf(tmp_path, _record("CCO").removesuffix("$$$$\n"), name="some.mol")
    assert from_sdf(path).sizes.tolist() == [3]


def test_titles_that_are_missing_leave_graphs_unnamed(tmp_path):
    assert from_sdf(_sdf(tmp_path, _record("C", title="a"), _record("C"))).graph_names is None


def test_sdf_properties_become_targets(tmp_path):
    records = (
        _record("C", energy="1.5", kind="a", toxic=1, note=" two\nlines "),
        _record("CC", energy="", kind="b", toxic=0, note="x"),
        _record("CCC", energy="-2e3", kind="a", toxic=1, note="x"),
    )
    path = _sdf(tmp_path, *records)
    assert read_sdf(path).targets is None
    assert np.array_equal(
        read_sdf(path, target="energy").targets, [1.5, np.nan, -2000], equal_nan=True
    )
    assert read_sdf(path, target="kind").targets.tolist() == ["a", "b", "a"]
    assert read_sdf(path, target="note").targets.tolist() == ["two\nlines", "x", "x"]
    toxic = read_sdf(path, target="toxic").targets
    assert (toxic.tolist(), toxic.dtype) == ([1, 0, 1], np.int64)
    assert read_sdf(path, target=["toxic", "energy"]).targets.shape == (3, 2)
    with pytest.raises(FormatError, match=r"'toxic' \(numbers\), 'kind' \(text\); read them apart"):
        read_sdf(path, target=["toxic", "kind"])
    with pytest.raises(FormatError, match="no molecule has a value for 'colour'"):
        read_sdf(path, target="colour")


def test_missing_text_target_names_the_line_of_its_record(tmp_path):
    first = _record("C", kind="a")
    with pytest.raises(FormatError, match="text target 'kind' has no value") as caught:
        read_sdf(_sdf(tmp_path, first, _record("CC", kind="")), target="kind")
    assert caught.value.line == first.count("\n") + 1


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("O   0", "Zz  0", "Element 'Zz' not found"),
        ("  1  2  1  0", "  1  7  1  0", "bond"),
        ("  3  2", "  9  2", "mol block"),
        ("M  END\n", "", "mol block"),
        ("O   0  0", "O   0  1", None),
        (" C   0", "", "mol block"),
    ],
)
def test_bad_record_names_number_title_and_line(old, new, reason, tmp_path):
    good, record = _record("C"), _record("CCO", title="ethanol")
    assert old in record
    path = _sdf(tmp_path, good, record.replace(old, new), good)
    if reason is None:
        assert len(read_sdf(path).graphs) == 3
        return
    with pytest.raises(FormatError, match=rf"record 2 \('ethanol'\): .*{reason}") as caught:
        read_sdf(path)
    assert caught.value.line == good.count("\n") + 1 == 8
    assert len(str(caught.value)) < 400
    with pytest.warns(
        UserWarning, match="1 of 3 molecules were skipped; the first: line 8: record 2"
    ):
        assert read_sdf(path, bad="skip").graphs.sizes.tolist() == [1, 1]


def test_record_without_atoms_is_bad(tmp_path):
    empty = "nothing\n  made\n\n  0  0  0  0  0  0  0  0  0  0999 V2000\nM  END\n$$$$\n"
    with pytest.raises(FormatError, match=r"record 1 \('nothing'\): it has no atoms"):
        read_sdf(_sdf(tmp_path, empty))


def test_targets_skip_with_their_records(tmp_path):
    path = _sdf(tmp_path, _record("C", y=1), "broken\n$$$$\n", _record("O", y=3))
    with pytest.warns(UserWarning, match="1 of 3"):
        data = read_sdf(path, target="y", bad="skip")
    assert data.targets.tolist() == [1, 3]
    assert data.graphs.node_labels == ["C", "O"]


def test_cut_off_sdf_is_an_error(tmp_path):
    text = _record("C", y=1) + _record("CCO", y=2)
    for end in range(len(_record("C", y=1)) + 20, len(text) - 5, 7):
        path = _sdf(tmp_path, text[:end])
        with pytest.raises(FormatError, match="record 2"):
            read_sdf(path)


def test_sdf_that_is_not_utf8_names_its_line(tmp_path):
    path = tmp_path / "some.sdf"
    path.write_bytes(_record("C", title="a").encode() + "é\n".encode("latin-1"))
    with pytest.raises(FormatError, match="byte 0xe9 is not UTF-8") as caught:
        read_sdf(path)
    assert caught.value.line == _record("C").count("\n") + 1


def test_empty_sdf_is_an_error(tmp_path):
    with pytest.raises(FormatError, match="the file is empty"):
        read_sdf(_sdf(tmp_path, "\n\n"))


def test_sdf_bomb_stops_at_the_limit(tmp_path):
    path = _sdf(tmp_path, _record("C") * 100, name="some.sdf.gz")
    with pytest.raises(FormatError, match="more than 2,000 bytes"):
        from_sdf(path, max_bytes=2000)
    with pytest.raises(GraphError, match="choose 'error' or 'skip'"):
        from_sdf(path, bad="ignore")


@given(st.binary(max_size=300))
def test_any_bytes_are_molecules_or_a_format_error(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.sdf"
    path.write_bytes(content)
    _graphs_or_error(lambda: read_sdf(path))


@given(st.data())
def test_damaged_sdf_is_molecules_or_a_format_error(tmp_path_factory, data):
    text = (_record("C[C@H](F)/C=C/Cl", title="a", y=1) + _record(CAFFEINE, y=2)).encode()
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        put = data.draw(
            st.binary(max_size=4)
            | st.sampled_from([b"\n", b"$$$$\n", b"V3000", b"-1", b"999", b"M  END\n"])
        )
        text = text[:start] + put + text[start + data.draw(st.integers(0, 6)) :]
    path = tmp_path_factory.getbasetemp() / "damaged.sdf"
    path.write_bytes(text)
    _graphs_or_error(lambda: read_sdf(path, target="y"))


# Tables


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "number,SMILES,y\n1,CCO,0.5\n2,C,\n"),
        ("a.tsv", "smiles\tname, and more\ty\nCCO\tx\t0.5\nC\ty\t\n"),
        ("a.csv", 'y;"Smiles"\n0.5;CCO\n\n;C\n'),
        ("a.smi", "smiles y\nCCO 0.5\nC  nan\n"),
        ("a.csv", "\ufeffsmiles,y\r\nCCO,0.5\r\n C ,\r\n"),
        ("a.csv.gz", "smiles,y\nCCO,0.5\nC,"),
    ],
)
def test_table_gives_graphs_and_targets(name, text, tmp_path):
    path = _sdf(tmp_path, text, name=name)
    data = read_smiles_table(path, target="y")
    assert data.graphs.equals(from_smiles(["CCO", "C"]))
    assert np.array_equal(data.targets, [0.5, np.nan], equal_nan=True)


@pytest.mark.parametrize("name", ["a.smi", "a.smiles.gz"])
def test_smi_file_may_lack_a_header(name, tmp_path):
    path = _sdf(tmp_path, "CCO ethyl alcohol\n\nC\tmethane\nO\n", name=name)
    assert read_smiles_table(path).graphs.equals(
        from_smiles(["CCO", "C", "O"], names=["ethyl", "methane", "O"])
    )


@pytest.mark.parametrize(
    ("header", "options", "names"),
    [
        ("ID,smiles,Name", {}, ["a", "CO"]),
        ("code,smiles,Name", {}, ["x", "y"]),
        ("code,smiles,more", {}, ["C", "CO"]),
        ("code,smiles,Name", {"target": "Name"}, ["C", "CO"]),
        ("Code,smiles,id", {"id": "code"}, ["a", "CO"]),
        ("id,smiles,name", {"id": "smiles"}, ["C", "CO"]),
    ],
)
def test_molecules_are_called_as_a_column_says(header, options, names, tmp_path):
    path = _sdf(tmp_path, f"{header}\na,C,x\n,CO,y\n", name="a.csv")
    assert read_smiles_table(path, **options).graphs.graph_names.tolist() == names


def test_a_missing_column_of_names_is_an_error(tmp_path):
    with pytest.raises(
        FormatError, match="there is no column 'code'; the columns are 'smiles', 'id'"
    ):
        read_smiles_table(_sdf(tmp_path, "smiles,id\nC,a\n", name="a.csv"), id="code")


def test_names_of_smi_lines_are_their_second_fields(tmp_path):
    path = _sdf(tmp_path, "CCO\tethyl alcohol\t0.5\nC |^1:0| radical\nO water 1\n", name="a.smi")
    assert read_smiles_table(path).graphs.graph_names.tolist() == ["ethyl alcohol", "C", "water"]


def test_a_missing_column_of_smiles_names_the_way_out(tmp_path):
    with pytest.raises(
        FormatError,
        match=r"the columns are 'mol', 'y'; choose .* \(-o smiles=NAME in a command\)",
    ):
        read_smiles_table(_sdf(tmp_path, "mol,y\nCX,1\n", name="a.csv"))


def test_a_word_among_numbers_with_gaps_is_named(tmp_path):
    path = _sdf(tmp_path, "smiles,y\nC,1.5\nCC,\nCCC,n/a\n", name="a.csv")
    with pytest.raises(
        FormatError,
        match=r"'y' has no value here.* Without 'n/a' in line 4 it would be one of numbers",
    ) as caught:
        read_smiles_table(path, target="y")
    assert caught.value.line == 3


def test_table_targets_keep_their_kind(tmp_path):
    path = _sdf(
        tmp_path,
        "smiles,whole,text,long,odd\nC,1,a,99999999999999999999,1_0\nO,-2,b,1,2\n",
        name="a.csv",
    )
    assert read_smiles_table(path).targets is None
    assert read_smiles_table(path, target="whole").targets.dtype == np.int64
    assert read_smiles_table(path, target="text").targets.tolist() == ["a", "b"]
    assert read_smiles_table(path, target="long").targets.tolist() == [1e20, 1]
    assert read_smiles_table(path, target="odd").targets.tolist() == ["1_0", "2"]
    assert read_smiles_table(path, target=["Whole", "long"]).targets.tolist() == [
        [1, 1e20],
        [-2, 1],
    ]


def test_smiles_column_can_be_named(tmp_path):
    path = _sdf(tmp_path, "a|b\nC|O\n", name="a.txt")
    assert read_smiles_table(path, smiles="B", delimiter="|").graphs.node_labels == ["O"]
    with pytest.raises(GraphError, match="a delimiter is one ASCII character"):
        read_smiles_table(path, delimiter="||")


def test_case_decides_between_columns_of_one_name(tmp_path):
    path = _sdf(tmp_path, "smiles,SMILES,x,X,x\nC,O,1,2,3\n", name="a.csv")
    assert read_smiles_table(path, smiles="SMILES").graphs.node_labels == ["O"]
    with pytest.raises(FormatError, match="2 columns are called 'x'"):
        read_smiles_table(path, target="x")
    path = _sdf(tmp_path, "smiles,smiles\nC,O\n", name="b.csv")
    with pytest.raises(FormatError, match=r"b\.csv, line 1: 2 columns are called 'smiles'"):
        edgnn.read(path)


def test_a_column_of_reactions_is_refused_by_name_whatever_it_is_called(tmp_path):
    path = _sdf(tmp_path, "rxn,yield\nCC>>CO,1\nCN>[Pd]>CC,2\n", name="a.csv")
    with pytest.raises(FormatError, match=r"line 2.*it is a reaction, which edgnn does not read"):
        edgnn.read(path)


@pytest.mark.parametrize(
    ("content", "line", "rule"),
    [
        (b"", None, "the table is empty"),
        (b"a,b\nC,O\n", 1, "there is no column 'smiles'; the columns are 'a', 'b'"),
        (b"smiles,y\nC,1\nC\n", 3, "the row has 1 cells, but the header has 2"),
        (b"smiles,y\nC,1\nCX,1\n", 3, r"SMILES 'CX': .*around position 2"),
        (b"smiles,y\nC,1\n,1\n", 3, "SMILES '': the SMILES is empty"),
        (b'smiles,y\n"C\nC",1\n', 2, "it has a newline in the middle"),
        (b"smiles,y\nC,1\nC,\xe9\n", 3, "byte 0xe9 is not UTF-8"),
        (b'smiles,y\nC,1\nC,"1\n2\n', 3, "cannot be split into cells: unexpected end of data"),
        (b'smiles,y\nC,"1"2\n', 2, "cannot be split into cells"),
        (b'smiles,y\nC,"' + b"x\n" * 10**5, 2, "field larger than field limit"),
        (b'smiles,y\n"C","1\n2"\nCX,1\n', 4, "SMILES 'CX'"),
        (b"smiles,z\nC,1\n", 1, "there is no column 'y'"),
    ],
)
def test_bad_table_names_its_line(content, line, rule, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=rule) as caught:
        read_smiles_table(path, target="y")
    assert caught.value.line == line


def test_bad_smiles_say_how_to_skip_them(tmp_path):
    (tmp_path / "a.csv").write_text("smiles\nCX\n")
    with pytest.raises(
        FormatError, match=r"line 2: SMILES 'CX': .*; to leave such molecules out, .*-o bad=skip"
    ):
        read_smiles_table(tmp_path / "a.csv")


def test_bad_smiles_can_be_skipped(tmp_path):
    path = _sdf(tmp_path, "smiles,y\nC,1\nCX,2\n,3\nO,4\n", name="a.csv")
    with pytest.warns(
        UserWarning, match="2 of 4 molecules were skipped; the first: line 3: SMILES 'CX'"
    ) as warned:
        data = read_smiles_table(path, target="y", bad="skip")
    assert len(warned) == 1
    assert data.targets.tolist() == [1, 4]
    assert data.graphs.graph_names.tolist() == ["C", "O"]


def test_table_without_rows_has_no_graphs(tmp_path):
    data = read_smiles_table(_sdf(tmp_path, "smiles,y\n", name="a.csv"), target="y")
    assert (len(data.graphs), data.targets.shape) == (0, (0,))


@given(
    st.lists(
        st.text('C1(,";\t \n\ré=#', max_size=12).map(str.encode) | st.binary(max_size=8), max_size=8
    )
)
def test_any_table_is_molecules_or_a_format_error(tmp_path_factory, cells):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(b"smiles,y\n" + b",".join(cells))
    _graphs_or_error(lambda: read_smiles_table(path, target="y"))


# The TU sets


MUTAG_ATOMS = dict(enumerate(["C", "N", "O", "F", "I", "Cl", "Br"]))
MUTAG_BONDS = dict(enumerate(["aromatic", "single", "double", "triple"]))
IN_MUTAG = {
    "1-nitronaphthalene": "O=[N+]([O-])c1cccc2ccccc12",
    "2-nitronaphthalene": "O=[N+]([O-])c1ccc2ccccc2c1",
    "4-nitrobiphenyl": "O=[N+]([O-])c1ccc(cc1)-c1ccccc1",
    "2-nitrofluorene": "O=[N+]([O-])c1ccc2-c3ccccc3Cc2c1",
    "2,7-dinitrofluorene": "O=[N+]([O-])c1ccc2-c3ccc(cc3Cc2c1)[N+](=O)[O-]",
    "2,4,7-trinitrofluorenone": "O=C1c2cc(ccc2-c2c1cc(cc2[N+](=O)[O-])[N+](=O)[O-])[N+](=O)[O-]",
    "2-nitroanthracene": "O=[N+]([O-])c1ccc2cc3ccccc3cc2c1",
    "1-nitropyrene": "O=[N+]([O-])c1ccc2ccc3cccc4ccc1c2c34",
    "1,8-dinitropyrene": "O=[N+]([O-])c1ccc2ccc3ccc([N+](=O)[O-])c4ccc1c2c34",
    "6-nitrochrysene": "O=[N+]([O-])c1cc2c3ccccc3ccc2c2ccccc12",
    "3-nitrofluoranthene": "O=[N+]([O-])c1ccc2-c3ccccc3-c3cccc1c23",
    "5-nitroacenaphthene": "O=[N+]([O-])c1ccc2CCc3cccc1c23",
    "5-nitroquinoline": "O=[N+]([O-])c1cccc2ncccc12",
    "2-nitrodibenzofuran": "O=[N+]([O-])c1ccc2oc3ccccc3c2c1",
    "1-chloro-2,4-dinitrobenzene": "Clc1ccc(cc1[N+](=O)[O-])[N+](=O)[O-]",
}


@pytest.fixture(scope="module")
def mutag():
    spec = find_spec("grakel")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "tests" / "data" / "MUTAG"
    return read_tu(folder).graphs.renamed(node_labels=MUTAG_ATOMS, edge_labels=MUTAG_BONDS)


@pytest.mark.parametrize("name", IN_MUTAG)
def test_nitroaromatic_is_isomorphic_to_a_graph_of_mutag(name, mutag):
    made = from_smiles(IN_MUTAG[name], like=mutag)
    assert made.node_vocabulary == mutag.node_vocabulary
    assert made.edge_vocabulary == mutag.edge_vocabulary
    assert _places(made, mutag) != []


def test_molecule_outside_mutag_is_not_found_there(mutag):
    for smiles in (NITROBENZENE, "O=[N+]([O-])c1c2ccccc2cc2ccccc12", "O=Nc1cccc2ccccc12"):
        assert _places(from_smiles(smiles, like=mutag), mutag) == []


@pytest.mark.parametrize("aromaticity", ["rdkit", "cdk"])
def test_all_of_mutag_but_two_come_back_from_their_smiles(aromaticity, mutag):
    lost = [place for place, graph in enumerate(mutag) if not _comes_back(graph, aromaticity)]
    assert lost == [82, 187]  # carbon 10 of both has five bonds in the set itself


PTC_BONDS = {
    name: ["triple", "double", "single", "aromatic"] for name in ("PTC_FR", "PTC_MM", "PTC_MR")
}
PTC_BONDS["PTC_FM"] = ["triple", "single", "double", "aromatic"]
PTC_ATOMS = {
    "PTC_FM": "In P C O N Cl S Br Na F As K Cu I Ba Sn Pb Ca",
    "PTC_FR": "In P O N Na C Cl S Br F As K Cu Zn I Sn Pb Te Ca",
    "PTC_MM": "In P O N Na C Cl S Br F As K B Cu Zn I Ba Sn Pb Ca",
    "PTC_MR": "In P O N Na C Cl S Br F K Cu Zn I Ba Sn Pb Ca",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "lost_to_rdkit"), [("PTC_FM", 7), ("PTC_FR", 7), ("PTC_MM", 5), ("PTC_MR", 7)]
)
def test_all_of_ptc_come_back_from_their_smiles_with_cdk_aromaticity(name, lost_to_rdkit, data_dir):
    atoms, bonds = dict(enumerate(PTC_ATOMS[name].split())), dict(enumerate(PTC_BONDS[name]))
    graphs = read_tu(data_dir / "TUDataset" / name).graphs.renamed(
        node_labels=atoms, edge_labels=bonds
    )
    assert all(_comes_back(graph, "cdk") for graph in graphs)
    assert sum(not _comes_back(graph, "rdkit") for graph in graphs) == lost_to_rdkit


def _places(made: Graphs, collection: Graphs) -> list[int]:
    sizes = (made.num_nodes, made.num_edges)
    return [
        place
        for place, graph in enumerate(collection)
        if (graph.num_nodes, graph.num_edges) == sizes and _same(made, graph)
    ]


def _same(one: Graphs, other: Graphs) -> bool:
    left, right = (nx.DiGraph(to_networkx(graph)[0]) for graph in (one, other))
    match = nx.algorithms.isomorphism.categorical_node_match("label", None)
    return nx.is_isomorphic(left, right, node_match=match, edge_match=match)


def _comes_back(graph: Graphs, aromaticity: str) -> bool:
    with rdBase.BlockLogs():
        mol = _molecule(graph)
    return mol is not None and _same(
        from_smiles(Chem.MolToSmiles(mol), aromaticity=aromaticity), graph
    )


def _molecule(graph: Graphs) -> Chem.Mol | None:
    """Rebuild the molecule of a set's graph, which has neither charges nor hydrogens."""
    mol = Chem.RWMol()
    for symbol in graph.node_labels:
        mol.AddAtom(Chem.Atom(symbol))
    for source, target, label in zip(
        graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_labels, strict=True
    ):
        if source < target:
            mol.AddBond(source, target, Chem.BondType.names[label.upper()])
            for end in (source, target):
                mol.GetAtomWithIdx(end).SetIsAromatic(
                    label == "aromatic" or mol.GetAtomWithIdx(end).GetIsAromatic()
                )
            mol.GetBondBetweenAtoms(source, target).SetIsAromatic(label == "aromatic")
    for atom in mol.GetAtoms():
        if (
            atom.GetSymbol() == "N"
            and not atom.GetIsAromatic()
            and sum(b.GetBondTypeAsDouble() for b in atom.GetBonds()) == 4
        ):
            atom.SetFormalCharge(1)
            oxides = [
                other
                for other in atom.GetNeighbors()
                if other.GetSymbol() == "O" and other.GetDegree() == 1
            ]
            single = [
                o
                for o in oxides
                if mol.GetBondBetweenAtoms(o.GetIdx(), atom.GetIdx()).GetBondTypeAsDouble() == 1
            ]
            if single:
                single[0].SetFormalCharge(-1)
    pyrrolic = [
        a.GetIdx()
        for a in mol.GetAtoms()
        if a.GetSymbol() == "N" and a.GetIsAromatic() and a.GetDegree() == 2
    ]
    for count in range(3):
        for chosen in combinations(pyrrolic, count):
            tried = Chem.RWMol(mol)
            for place in chosen:
                tried.GetAtomWithIdx(place).SetNumExplicitHs(1)
            if Chem.SanitizeMol(tried, catchErrors=True) == Chem.SanitizeFlags.SANITIZE_NONE:
                return tried.GetMol()
    return None


def _graphs_or_error(read):
    try:
        result = read()
    except GraphError:
        return
    graphs = result if isinstance(result, Graphs) else result.graphs
    assert graphs.num_nodes >= len(graphs)


def test_a_long_text_target_does_not_widen_the_others(tmp_path):
    rows = ["smiles,remark", f"C,{'long ' * 2000}", *["C,short"] * 500]
    (tmp_path / "x.csv").write_text("\n".join(rows))
    targets = read_smiles_table(tmp_path / "x.csv", target="remark").targets
    assert targets[1:].tolist() == ["short"] * 500
    assert targets.nbytes < (tmp_path / "x.csv").stat().st_size


def test_a_record_of_many_short_lines_is_held_as_one_text():
    data = b"ab\n" * 100_000
    tracemalloc.start()
    try:
        ((line, record),) = sd_records(BytesIO(data), "x.sdf")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (line, record) == (1, data.decode())
    assert peak < 10 * len(data)


# Columns that are found, and molecules that are left out


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        ("smiles,canonical_smiles", "C,CC", 1),
        ("SMILES,name", "C,CC", 1),
        ("canonical_smiles,other", "CC,C", 2),
        ("raw_smiles,clean_smiles", "?,CCC", 3),
        ("structure,active,mass", "CCCC,yes,58.1", 4),
    ],
)
def test_the_column_of_smiles_is_found_by_its_name_or_its_cells(tmp_path, header, row, expected):
    path = _sdf(tmp_path, f"{header}\n{row}\n", name="a.csv")
    assert read_smiles_table(path).graphs.sizes.tolist() == [expected]
    assert read(path).sizes.tolist() == [expected]


def test_two_columns_of_molecules_are_not_chosen_from(tmp_path):
    path = _sdf(tmp_path, "mol,salt\nCCO,CCN\n", name="a.csv")
    with pytest.raises(FormatError, match=r"there is no column 'smiles'.*-o smiles=NAME"):
        read_smiles_table(path)


@pytest.mark.parametrize("column", ["compound_id", "Molecule ID", "CID", "name", "id"])
def test_names_are_found_by_what_people_call_them(tmp_path, column):
    path = _sdf(tmp_path, f"{column},smiles\nx7,CC\n", name="a.csv")
    assert read_smiles_table(path).graphs.graph_names.tolist() == ["x7"]
    data = read_smiles_table(path, target=column)
    assert data.targets.tolist() == ["x7"]
    assert data.graphs.graph_names.tolist() == ["CC"]


def test_strings_that_cannot_be_read_are_named_by_position():
    texts = ["CCO", "CX", None, "CCN", "C(("]
    with pytest.raises(GraphError, match=r"SMILES 1 \('CX'\): .*; nor can those at 2, 4; .*skip"):
        from_smiles(texts)
    with pytest.warns(SkippedWarning, match=r"3 of 5 SMILES were skipped") as caught:
        graphs = from_smiles(texts, bad="skip", names=range(5))
    assert graphs.graph_names.tolist() == [0, 3]
    assert list(caught[0].message.skipped) == [1, 2, 4]
    with pytest.raises(
        GraphError, match="none of the 2 molecules can be read; the first, SMILES 0"
    ):
        from_smiles(["CX", "C(("], bad="skip")
    with pytest.raises(GraphError, match="bad='drop': choose 'error' or 'skip'"):
        from_smiles(texts, bad="drop")


@pytest.mark.parametrize("text", ["CC>>CO", "CC>O>CO", "[O-:1]>>C note", ">>C"])
def test_a_reaction_is_called_one(text):
    with pytest.raises(GraphError, match="it is a reaction, which edgnn does not read"):
        from_smiles([text])


def test_a_dative_bond_is_no_reaction():
    assert from_smiles("[NH3]->[Fe]<-[NH3]").num_nodes == 3


def test_a_molecule_whose_label_fails_leaves_nothing_behind():
    def label(atom):
        return [] if atom.GetSymbol() == "N" else atom.GetSymbol()

    with pytest.warns(SkippedWarning, match="cannot be hashed"):
        graphs = from_smiles(["CCO", "CN", "CC"], atom_label=label, bad="skip")
    assert graphs.equals(from_smiles(["CCO", "CC"], atom_label=label))
