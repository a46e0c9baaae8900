"""Named sets of molecules, on synthetic tables; the real files where EDGNN_DATA has them."""

import hashlib
import zipfile
from dataclasses import replace

import numpy as np
import pytest

import edgnn
from edgnn.errors import ChecksumError, DatasetError, FormatError
from edgnn.io import SkippedWarning
from edgnn.io.datasets import (
    DATASETS,
    Entry,
    Part,
    class_counts,
    find,
    locate,
    names,
    statistics,
)

CLIFFS = """smiles,exp_mean [nM],y,cliff_mol,split,y [pEC50/pKi]
CCO,1,-0.5,0,test,8.5
CCN,2,-1.5,1,train,7.5
c1ccccc1,3,-2.5,0,train,6.5
c1ccncc1,4,-3.5,1,test,5.5
"""
RINGS = [f"C1{'C' * size}1" for size in range(2, 22)]


@pytest.fixture
def made(monkeypatch, tmp_path):
    """Write the file of a set below a data folder, and register the set."""
    monkeypatch.delenv("EDGNN_DATA", raising=False)
    monkeypatch.setenv("EDGNN_CACHE", str(tmp_path / "cache"))
    registered = []

    def make(file, content, name="toy", **fields):
        (tmp_path / "toys").mkdir(exist_ok=True)
        path = tmp_path / "toys" / file
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        part = Part((f"https://example.invalid/{file}",), file)
        entry = Entry(name, "molecules", "toys", (part,), sha256={file: sha256}, **fields)
        registered.append(DATASETS.register(entry))
        return tmp_path

    yield make
    for entry in registered:
        DATASETS.unregister(entry.name)


def _cliffs(made):
    return made(
        "TOY.csv",
        CLIFFS,
        name="Toys/TOY",
        task="values",
        target="y",
        target_count=1,
        split="split",
        subsets={"cliffs": "cliff_mol"},
    )


def _zipped(path, **files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"{name}.csv", text)
    return path.read_bytes()


def test_a_column_of_parts_is_the_published_split_and_a_flag_is_a_subset(made):
    folder = _cliffs(made)
    data = edgnn.load_dataset("toys/toy", data_dir=folder)
    assert data.task == "values"
    assert data.targets.tolist() == [-0.5, -1.5, -2.5, -3.5]
    assert data.target_names == ("y",)
    assert {part: items.tolist() for part, items in data.split.items()} == {
        "train": [1, 2],
        "test": [0, 3],
    }
    assert data.subsets["cliffs"].tolist() == [1, 3]
    assert list(data.graphs.graph_names) == ["CCO", "CCN", "c1ccccc1", "c1ccncc1"]
    counts = {row.key: row.value for row in statistics(data)}
    assert (counts["train"], counts["test"], counts["cliffs"]) == (2, 2, 2)


def test_a_changed_table_is_refused(made):
    folder = _cliffs(made)
    (folder / "toys" / "TOY.csv").write_text(CLIFFS.replace("-0.5", "-0.6"))
    with pytest.raises(ChecksumError, match=r"TOY\.csv is not the published file"):
        edgnn.load_dataset("Toys/TOY", data_dir=folder)


def test_a_table_in_a_zip_archive_has_the_scaffold_split(made, tmp_path):
    smiles = [*["c1ccccc1"] * 20, *RINGS[:10]]
    rows = "".join(f"{number % 2},{text},\n" for number, text in enumerate(smiles))
    content = _zipped(tmp_path / "any.zip", mol=f"active,smiles,mol_id\n{rows}")
    folder = made(
        "mol.csv.zip",
        content,
        target="active",
        task="classes",
        split="scaffold",
        classes={"0": "no", "1": "yes"},
    )
    data = edgnn.load_dataset("toy", data_dir=folder)
    assert class_counts(data) == {"no": 15, "yes": 15}
    # of scaffolds that occur once, the last come first
    assert list(data.split) == ["train", "validation", "test"]
    assert data.split["train"].tolist() == [*range(20), *range(26, 30)]
    assert data.split["validation"].tolist() == [23, 24, 25]
    assert data.split["test"].tolist() == [20, 21, 22]
    (split,) = edgnn.evaluation.scaffold(smiles, repeats=1, balanced=False)
    assert split.test.tolist() == data.split["test"].tolist()


def test_a_scaffold_split_is_kept_in_the_cache(made, tmp_path, monkeypatch):
    texts = [*["c1ccccc1"] * 20, *RINGS[:10]]
    rows = "".join(f"{number % 2},{text}\n" for number, text in enumerate(texts))
    folder = made("mol.csv", f"y,smiles\n{rows}", target="y", task="classes", split="scaffold")

    def split():
        data = edgnn.load_dataset("toy", data_dir=folder)
        return {part: items.tolist() for part, items in data.split.items()}

    first = split()
    (kept,) = (tmp_path / "cache" / "splits").iterdir()
    with monkeypatch.context() as patched:
        patched.setattr(
            "edgnn.io.datasets._molecule_sets.framework", lambda mol: pytest.fail("computed again")
        )
        assert split() == first
    content = kept.read_bytes()
    for damaged in (content[:-1], b"", b"\x07" * 30):
        kept.write_bytes(damaged)
        assert split() == first
        assert kept.read_bytes() == content
    monkeypatch.setenv("EDGNN_CACHE", str(kept))  # a file, where nothing can be kept
    assert split() == first


def test_an_archive_of_several_files_is_refused(made, tmp_path):
    folder = made("mol.csv.zip", _zipped(tmp_path / "any.zip", a="a\n", b="b\n"), target="a")
    with pytest.raises(FormatError, match="the archive holds 2 files; it must hold one"):
        edgnn.load_dataset("toy", data_dir=folder)


def test_all_columns_but_smiles_and_id_can_be_targets(made):
    table = "id,smiles,NR-AR,SR-p53\n1,CC,0,\n2,CO,1,0\n3,CN,,1\n"
    folder = made("many.csv", table, target="*", target_count=2)
    data = edgnn.load_dataset("toy", data_dir=folder)
    assert (data.task, data.target_names) == ("labels", ("NR-AR", "SR-p53"))
    assert np.array_equal(data.targets, [[0, np.nan], [1, 0], [np.nan, 1]], equal_nan=True)
    assert data.split is None


@pytest.mark.parametrize(
    ("target", "count", "said"),
    [
        (
            "*",
            1,
            "toy has 1 column of targets, but the file has 2 columns that could be: 'a', 'b'",
        ),
        ("z", 1, "there is no column 'z'; the columns are 'smiles', 'a', 'b'"),
    ],
)
def test_columns_that_do_not_fit_are_listed(made, target, count, said):
    folder = made("t.csv", "smiles,a,b\nCC,1,2\n", target=target, target_count=count)
    with pytest.raises(FormatError, match=said):
        edgnn.load_dataset("toy", data_dir=folder)


def test_valences_beyond_rdkits_rules_are_read_and_nonsense_is_left_out(made):
    table = "smiles,y,split\nCc1ccc([B-2]2(C)=NCCO2)cc1,0.5,test\nc1cc,1,test\nCC,1.5,train\n"
    folder = made("t.csv", table, target="y", task="values", split="split")
    with pytest.warns(SkippedWarning, match="1 of 3 molecules were skipped; the first: line 3"):
        data = edgnn.load_dataset("toy", data_dir=folder)
    assert data.targets.tolist() == [0.5, 1.5]
    assert {part: items.tolist() for part, items in data.split.items()} == {
        "train": [1],
        "test": [0],
    }


def test_sets_of_one_data_folder_have_folders_of_their_own_in_the_cache(made, server, monkeypatch):
    folder = _cliffs(made)
    entry = DATASETS["Toys/TOY"]
    DATASETS.unregister("Toys/TOY")
    url = server.add("/TOY.csv", CLIFFS.encode())
    DATASETS.register(replace(entry, parts=(Part((url,), "TOY.csv"),)))
    data = edgnn.load_dataset("Toys/TOY")
    assert len(data) == 4
    assert (folder / "cache" / "toys" / "TOY" / "TOY.csv").is_file()
    assert locate(DATASETS["Toys/TOY"]).place == "cache"
    edgnn.load_dataset("Toys/TOY", download=False)
    assert len(server.requests) == 1


def test_a_set_that_is_not_here_says_where_its_file_belongs(made, tmp_path):
    _cliffs(made)
    with pytest.raises(DatasetError, match=r"put its files under \$EDGNN_DATA/toys"):
        edgnn.load_dataset("Toys/TOY", download=False)


ACE = [name for name in names() if name.startswith("MoleculeACE/")]


def test_fifteen_sets_of_moleculeace_are_registered():
    assert len(ACE) == 15
    assert find("moleculeace/chembl204-ki").description.startswith(
        "Molecules and their affinity to"
    )


def _real(name, data_dir):
    if locate(find(name), data_dir).place == "network":
        pytest.skip(f"{name} is not in the folder that EDGNN_DATA names")
    return edgnn.load_dataset(name, data_dir=data_dir)


@pytest.mark.parametrize("name", ["MoleculeACE/CHEMBL2835_Ki", "MoleculeACE/CHEMBL4616_EC50"])
def test_sets_of_moleculeace_have_their_split_and_cliffs(name, data_dir):
    data = _real(name, data_dir)
    assert data.task == "values"
    assert list(data.split) == ["train", "test"]
    sizes = [len(items) for items in data.split.values()]
    assert sum(sizes) == len(data)
    assert 0.18 < sizes[1] / len(data) < 0.22
    assert set(data.split["test"]) & set(data.subsets["cliffs"])


@pytest.mark.slow
def test_molhiv_has_the_split_of_ogb(data_dir):
    data = _real("ogbg-molhiv", data_dir)
    assert class_counts(data) == {"inactive": 39684, "active": 1443}
    parts = {
        part: (len(items), int(data.targets[items].sum())) for part, items in data.split.items()
    }
    assert parts == {"train": (32901, 1232), "validation": (4113, 81), "test": (4113, 130)}
    (split,) = edgnn.evaluation.scaffold(data.graphs, repeats=1, balanced=False)
    for part, items in (("train", split.train), ("validation", split.valid), ("test", split.test)):
        assert np.array_equal(items, data.split[part])
