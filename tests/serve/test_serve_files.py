import csv
import io
import tempfile
import zipfile
from dataclasses import replace

import numpy as np
import pytest

import edgnn
from edgnn.errors import DeadlineError
from edgnn.io import Deadline
from edgnn.models import NodeClassifier
from edgnn.serve import Limits
from edgnn.serve._molecules import read_molecule_file
from edgnn.training import RunFolder
from serve_runs import client_of, error, upload


def zipped(*names):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return packed.getvalue()


def test_a_table_of_smiles_is_predicted(molecules):
    found = upload(molecules, "/predict/file", [("set.csv", "smiles,kind\nCCO,a\nCCN,b\n")]).json()
    assert [row["id"] for row in found["predictions"]] == ["CCO", "CCN"]


def test_the_set_of_the_training_is_read_with_the_names_of_its_labels(molecules, data_dir):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted((data_dir / "TUDataset" / "MUTAG").glob("MUTAG_*.txt")):
            archive.write(file, f"MUTAG/{file.name}")
    rows = upload(molecules, "/predict/file", [("MUTAG.zip", packed.getvalue())]).json()[
        "predictions"
    ]
    own = molecules.post(
        "/predict", json={"examples": [str(number) for number in range(188)]}
    ).json()["predictions"]
    np.testing.assert_allclose(
        [row["probabilities"] for row in rows], [row["probabilities"] for row in own], rtol=1e-5
    )
    assert error(upload(molecules, "/predict/file", [("OTHER.zip", packed.getvalue())])).startswith(
        "the model has learned none"
    )


def test_a_bomb_is_not_unpacked(mutag_run):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in ("A", "graph_indicator", "graph_labels"):
            archive.writestr(f"X/X_{part}.txt", "1\n" * 500_000)
    client = client_of(mutag_run, limits=Limits(unpacked=100_000))
    said = error(upload(client, "/predict/file", [("X.zip", packed.getvalue())]))
    assert "unpacks to more than 100,000 bytes" in said


def test_several_tables_are_one_graph(nodes, people):
    files = [(name, (people / name).read_text()) for name in ("nodes.csv", "edges.csv")]
    found = upload(nodes, "/predict/file", files).json()["predictions"]
    own = nodes.post("/predict", json={"nodes": [f"p{n}" for n in range(30)]}).json()["predictions"]
    assert [row["id"] for row in found] == [f"p{n}" for n in range(30)]
    np.testing.assert_allclose(
        [row["probabilities"] for row in found], [row["probabilities"] for row in own], rtol=1e-5
    )
    some = upload(nodes, "/predict/file", files, nodes="p7\np3\n").json()["predictions"]
    assert [row["id"] for row in some] == ["p7", "p3"]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([("set.csv", "smiles\nCCO\nC((\n")], "set.csv, line 3: SMILES 'C(('"),
        ([("set.csv", "a,b\n1,2\n")], "set.csv, line 1: there are neither columns"),
        ([("set.zip", "PK nothing")], "set.zip: this is not a readable zip archive"),
        ([("set.graphml", "<graphml>")], "set.graphml"),
        ([("..", "x")], "a file is called '..'"),
        ([("a" * 300, "x")], "a file is called"),
        (
            [("set.zip", zipped("edges.csv"))],
            "set.zip: there is no NAME_A.txt here, so this is no TU data set; of other data,",
        ),
        (
            [("what", "nothing at all")],
            "what: the format is not recognized; name the file by its format: .csv",
        ),
        ([("a.csv", "x"), ("a.csv", "y")], "two files are called 'a.csv'"),
        ([("a.csv", "x"), ("b.csv", "y")], "the upload: the folder holds neither"),
        ([("graphs.json", "{}"), ("x.bin", "y")], "the upload: folders of arrays are not taken"),
    ],
)
def test_a_bad_file_gets_one_sentence_without_the_place_it_lay_at(molecules, files, said):
    sentence = error(upload(molecules, "/predict/file", files))
    assert sentence.startswith(said)
    assert tempfile.gettempdir() not in sentence


def test_a_file_name_leads_nowhere_else(molecules, tmp_path):
    target = tmp_path / "evil.csv"
    found = upload(molecules, "/predict/file", [(f"../../../../../{target}", "smiles\nCCO\n")])
    assert found.status_code == 200
    assert not target.exists()


def test_nothing_uploaded_stays(mutag_run, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    client = client_of(mutag_run)
    for content in ("smiles\nCCO\n", "smiles\nC((\n", "smiles\n" + "CCO\n" * 400_000):
        upload(client, "/predict/file", [("set.csv", content)])
    assert list(tmp_path.iterdir()) == []


def test_columns_of_the_training_are_read_again(tmp_path):
    (tmp_path / "old.csv").write_text(
        "from,to,label\n" + "".join(f"n{n},n{n + 1},{'xy'[n % 2]}\n" for n in range(12))
    )
    options = {"source": "from", "target": "to"}
    graphs = edgnn.load_dataset(tmp_path / "old.csv", **options).graphs
    NodeClassifier(max_epochs=2, hidden=4, random_state=0).fit(
        graphs.nodes, [n % 2 for n in range(13)]
    ).save(tmp_path / "run")
    source = {"name": str(tmp_path / "old.csv"), "options": options, "format": "tables"}
    RunFolder.open(tmp_path / "run").update_config(source=source)
    rows = upload(
        client_of(tmp_path / "run"), "/predict/file", [("new.csv", "from,to,label\na,b,x\n")]
    ).json()
    assert [row["id"] for row in rows["predictions"]] == ["a", "b"]


# Molecules that cannot be read


def sd_file(*records):
    from rdkit import Chem

    return "".join(
        f"{title}\n{Chem.MolToMolBlock(Chem.MolFromSmiles(smiles)).partition(chr(10))[2] if smiles else 'x'}\n$$$$\n"
        for title, smiles in records
    )


TABLE = "name,smiles\na,CCO\nb,C((\nc,CCN\nd,\n"


def test_rows_that_cannot_be_read_are_left_out_on_request(molecules):
    found = upload(molecules, "/predict/file", [("set.csv", TABLE)], bad="skip").json()
    assert [row["id"] for row in found["predictions"]] == ["a", "c"]
    assert [(row["index"], row["input"]) for row in found["skipped"]] == [(1, "C(("), (3, "")]
    assert found["skipped"][0]["error"].startswith("RDKit cannot read it as SMILES")
    assert set(found["skipped"][0]) == {"index", "input", "error"}
    alone = upload(molecules, "/predict/file", [("set.csv", "name,smiles\na,CCO\nc,CCN\n")]).json()[
        "predictions"
    ]
    assert found["predictions"] == alone


def test_by_default_a_row_that_cannot_be_read_is_an_error_with_its_line(molecules):
    said = error(upload(molecules, "/predict/file", [("set.csv", TABLE)]))
    assert said.startswith("set.csv, line 3: SMILES 'C((': RDKit cannot read it as SMILES")
    assert said.endswith("; correct it, take it out, or have it skipped with bad=skip")
    assert "bad" in error(upload(molecules, "/predict/file", [("set.csv", TABLE)], bad="maybe"))


def test_records_that_cannot_be_read_are_left_out_on_request(molecules):
    content = sd_file(("one", "CCO"), ("", None), ("three", "CCN"))
    found = upload(molecules, "/predict/file", [("set.sdf", content)], bad="skip").json()
    assert [row["id"] for row in found["predictions"]] == ["one", "three"]
    assert [(row["index"], row["input"]) for row in found["skipped"]] == [(1, "record 2")]
    untitled = sd_file(("", "CCO"), ("", None), ("", "CCN"))
    rows = upload(molecules, "/predict/file", [("set.sdf", untitled)], bad="skip").json()[
        "predictions"
    ]
    assert [row["id"] for row in rows] == [0, 2]
    assert error(upload(molecules, "/predict/file", [("set.sdf", content)])).startswith(
        "set.sdf, line "
    )


def test_what_was_skipped_of_a_file_has_a_row_of_the_csv(molecules):
    answer = upload(molecules, "/predict/file?format=csv", [("set.csv", TABLE)], bad="skip")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["id"] for row in rows] == ["a", "b", "c", "d"]
    assert [bool(row["error"]) for row in rows] == [False, True, False, True]
    assert list(rows[0])[-1] == "error"


def test_items_are_counted_as_they_were_answered(molecules):
    for path in ("/explain", "/colors"):
        found = upload(molecules, f"{path}/file", [("set.csv", TABLE)], bad="skip", item="1").json()
        assert found == molecules.post(path, json={"smiles": "CCN"}).json()
        assert error(upload(molecules, f"{path}/file", [("set.csv", TABLE)], item="1")).startswith(
            "set.csv, line 3"
        )


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("C((\n", "the molecule 'C((' cannot be read: RDKit"),
        ("C((\nC)\n", "none of the 2 molecules can be read; the first, 'C((': RDKit"),
        ("C,C\n", "the molecule 'C' cannot be read: the row has 2 cells, but the header has 1"),
    ],
)
def test_a_file_of_nothing_readable_is_an_error_also_where_some_may_be_skipped(
    molecules, rows, said
):
    assert error(
        upload(molecules, "/predict/file", [("set.csv", f"smiles\n{rows}")], bad="skip")
    ).startswith(said)


def test_a_molecule_far_too_long_is_one_that_can_be_skipped(molecules):
    rows = f"smiles\nCCO\n{'C' * 6_000}\n"
    found = upload(molecules, "/predict/file", [("set.csv", rows)], bad="skip").json()
    assert [row["id"] for row in found["predictions"]] == ["CCO"]
    assert found["skipped"] == [
        {
            "index": 1,
            "input": "C" * 5_000,
            "error": "the molecule has 6,000 characters; 5,000 are allowed",
        }
    ]


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize(
    ("name", "content", "kind", "options"),
    [
        ("a.csv", "id;SMILES;x\n1;CCO;u\n;c1ccccc1O;v\n", "smiles", {"hydrogens": True}),
        (
            "a.tsv",
            "name\t7\tid\nn\tC=C\t\n",
            "smiles",
            {"smiles": 7, "id": "name", "bond_label": None},
        ),
        ("a.smi", "CCO ethanol\nCCN\n\nOC\tmethanol\n", "smiles", {"kekulize": True}),
        (
            "a.sdf",
            [("one", "CCO"), ("two", "c1ccccc1O")],
            "sdf",
            {"atom_label": ["symbol", "charge"]},
        ),
        ("a.sdf", [("one", "CCO"), ("", "CCN")], "sdf", {}),
    ],
)
def test_molecules_are_those_of_the_readers(tmp_path, name, content, kind, options, skip):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else sd_file(*content))
    expected = edgnn.read(path, format=kind, **options)
    piece = read_molecule_file(path, kind, options, Limits(), Deadline(1_000), skip=skip)
    named = replace(piece.items, graph_names=expected.graph_names)  # records without a title
    assert named.equals(expected)
    assert piece.unread == ()


def test_reading_a_file_ends_with_its_time(tmp_path, monkeypatch):
    path, deadline, read = tmp_path / "a.csv", Deadline(1_000), []

    def slowly(text, *bounds):
        read.append(text)
        if len(read) == 2:
            deadline.end()
        return rdkit(text, *bounds)

    from edgnn.io import read_smiles as rdkit

    monkeypatch.setattr("edgnn.io._molecule_files.read_smiles", slowly)
    path.write_text("smiles\n" + "CCO\n" * 10)
    with pytest.raises(DeadlineError):
        read_molecule_file(path, "smiles", {}, Limits(), deadline, skip=True)
    assert len(read) == 2


def test_molecules_beyond_the_limits_are_not_read_on(mutag_run):
    client = client_of(mutag_run, limits=Limits(nodes=5))
    answer = upload(client, "/predict/file", [("a.csv", "smiles\n" + "CCO\n" * 10)])
    assert error(answer, 413).startswith("the graphs have 6 nodes, more than the 5")


# Words


@pytest.mark.parametrize("name", ["book.xlsx", "book.XLS", "book.ods"])
def test_a_workbook_gets_a_sentence_of_its_own(molecules, name):
    assert (
        error(upload(molecules, "/predict/file", [(name, b"PK\x03\x04")]))
        == f"{name}: a spreadsheet is not read; save it as CSV"
    )


def test_a_file_without_a_known_label_is_refused_in_words_for_those_who_upload(molecules, nodes):
    said, *others = (
        error(upload(molecules, f"/{what}/file", [("set.csv", "smiles\n[Xe]\n")]))
        for what in ("predict", "explain", "colors")
    )
    assert others == [said, said]
    assert said.startswith("the model has learned none of the labels of these 1 node")
    assert said.endswith("; write labels as the training data has them")
    assert error(
        upload(nodes, "/predict/file", [("edges.csv", "source,target,label\na,b,x\n")])
    ).startswith("the model has learned")


def test_columns_that_are_called_otherwise_are_told_without_options_of_a_command(molecules):
    said = error(upload(molecules, "/predict/file", [("set.csv", "a,b\n1,2\n")]))
    assert said.endswith("the columns are 'a', 'b': rename those of edges, or that of molecules")


def test_a_list_of_names_may_be_as_long_as_the_interface_says(nodes, people):
    files = [(name, (people / name).read_text()) for name in ("nodes.csv", "edges.csv")]
    names = "p7" + "\n" * 2**21 + "p3"
    rows = upload(nodes, "/predict/file", files, nodes=names).json()["predictions"]
    assert [row["id"] for row in rows] == ["p7", "p3"]
