import csv
import io
import json
import shutil

import numpy as np
import pytest

import edgnn
from edgnn.models import load_model

QUICK = ("--max-epochs", 3, "--hidden", 8, "--quiet")


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def run(command, molecules, tmp_path):
    assert command("train", molecules, "--out", tmp_path / "run", *QUICK).code == 0
    return tmp_path / "run"


@pytest.fixture
def ensemble(command, smiles, tmp_path):
    words = ("--target", "kind", "--members", 3, *QUICK)
    assert command("train", smiles, "--out", tmp_path / "run", *words).code == 0
    return tmp_path / "run"


@pytest.fixture
def node_run(command, people, tmp_path):
    assert (
        command("train", people, "--out", tmp_path / "run", "--target", "group", *QUICK).code == 0
    )
    return tmp_path / "run"


def test_predictions_are_those_of_the_estimator(command, run, molecules):
    ended = command("predict", run, molecules)
    assert (ended.code, ended.err) == (0, "")
    rows, graphs = rows_of(ended.out), edgnn.read(molecules)
    assert list(rows[0]) == ["id", "prediction", "p(-1)", "p(1)", "first_new_round", "error"]
    assert [row["id"] for row in rows] == [str(number) for number in range(40)]
    estimator = load_model(run)
    assert np.allclose(
        [[float(row["p(-1)"]), float(row["p(1)"])] for row in rows],
        estimator.predict_proba(graphs),
        atol=1e-7,
    )
    assert [row["prediction"] for row in rows] == np.array(["-1", "1"])[
        estimator.predict(graphs)
    ].tolist()


def test_files_hold_what_is_printed(command, run, molecules, tmp_path):
    printed = command("predict", run, molecules).out
    ended = command("predict", run, molecules, "--out", tmp_path / "a.csv")
    assert ended.out == f"40 predictions are in {tmp_path / 'a.csv'}\n"
    assert (tmp_path / "a.csv").read_text() == printed
    parquet = pytest.importorskip("pyarrow.parquet")
    assert command("predict", run, molecules, "--out", tmp_path / "a.parquet").code == 0
    table = parquet.read_table(tmp_path / "a.parquet")
    assert table.column_names == list(rows_of(printed)[0])
    assert table["p(1)"].to_pylist() == [float(row["p(1)"]) for row in rows_of(printed)]
    told = json.loads(command("predict", run, molecules, "--json").out)
    assert [row["prediction"] for row in told["predictions"]] == [
        row["prediction"] for row in rows_of(printed)
    ]


def test_an_ensemble_says_how_sure_it_is(command, ensemble, smiles, run_python):
    rows = rows_of(command("predict", ensemble, smiles).out)
    carried = ["smiles", "kind", "value", "length", "odd", "even"]
    ends = ["first_new_round", "error"]
    assert list(rows[0]) == [
        "id",
        *carried,
        "prediction",
        "p(alcohol)",
        "p(amine)",
        "total_entropy",
        "mutual_information",
        "std(alcohol)",
        "std(amine)",
        *ends,
    ]
    assert rows[0]["id"] == "CO"
    assert float(rows[0]["mutual_information"]) > 0
    assert (
        list(rows_of(command("predict", ensemble, smiles, "--no-uncertainty").out)[0])[-3]
        == "p(amine)"
    )
    assert list(
        rows_of(command("predict", ensemble, smiles, "--no-uncertainty", "--no-probabilities").out)[
            0
        ]
    ) == ["id", *carried, "prediction", *ends]


def test_labels_never_seen_are_counted_in_one_warning(command, ensemble, tmp_path):
    (tmp_path / "new.csv").write_text("smiles\nC[Xe]C\nCBr\nCO\n")
    ended = command("predict", ensemble, tmp_path / "new.csv")
    assert (ended.code, len(rows_of(ended.out)), ended.err.count("\n")) == (0, 3, 1)
    assert ended.err.startswith(
        "edgnn: warning: the training set did not contain the labels of 2 nodes, in 2 of 3 graphs ('Xe', 'Br')"
    )
    ended = command("predict", ensemble, tmp_path / "new.csv", "--unknown", "error")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "node 1 has the label 'Xe'" in ended.err


def test_values_come_with_names_of_several_targets(command, smiles, tmp_path):
    words = ("--target", "value", "--target", "length", "--members", 2, *QUICK)
    assert command("train", smiles, "--out", tmp_path / "run", *words).code == 0
    (tmp_path / "new.smi").write_text("CCO\nCCCN\n")
    rows = rows_of(command("predict", tmp_path / "run", tmp_path / "new.smi").out)
    assert list(rows[0]) == [
        "id",
        "smiles",
        "prediction(value)",
        "prediction(length)",
        "std(value)",
        "std(length)",
        "first_new_round",
        "error",
    ]
    assert (
        command("train", smiles, "--out", tmp_path / "one", "--target", "value", *QUICK).code == 0
    )
    (row, *_) = rows_of(command("predict", tmp_path / "one", smiles).out)
    assert list(row)[-3:] == ["prediction", "first_new_round", "error"]
    assert (
        "train with --members 5"
        in command("predict", tmp_path / "one", smiles, "--uncertainty").err
    )


def test_several_labels_have_a_column_each(command, smiles, tmp_path):
    assert (
        command(
            "train",
            smiles,
            "--out",
            tmp_path / "run",
            "--target",
            "odd",
            "--target",
            "even",
            *QUICK,
        ).code
        == 0
    )
    rows = rows_of(command("predict", tmp_path / "run", smiles).out)
    predicted = ["prediction(odd)", "prediction(even)", "p(odd)", "p(even)"]
    assert list(rows[0])[-6:-2] == predicted
    assert all((float(row["p(odd)"]) > 0.5) == (row["prediction(odd)"] == "1") for row in rows)


def test_nodes_are_all_or_those_that_a_file_names(command, node_run, people, tmp_path):
    everything = rows_of(command("predict", node_run, people).out)
    assert [row["id"] for row in everything] == [f"p{number}" for number in range(30)]
    assert (
        command("predict", node_run, people, "--nodes", "all").out
        == command("predict", node_run, people).out
    )
    (tmp_path / "list.txt").write_text("p7\np3\n")
    (tmp_path / "table.csv").write_text("why,who\nfun,p7\nwork,p3\n")
    for name in ("list.txt", "table.csv"):
        chosen = rows_of(command("predict", node_run, people, "--nodes", tmp_path / name).out)
        for row, same in zip(chosen, [everything[7], everything[3]], strict=True):
            assert [row["id"], row["prediction"]] == [same["id"], same["prediction"]]
            assert float(row["p(x)"]) == pytest.approx(float(same["p(x)"]), rel=1e-5)
    labeled = rows_of(command("predict", node_run, people, "-o", "node_target=group").out)
    assert len(labeled) == 20
    (tmp_path / "list.txt").write_text("p7\np99\n")
    ended = command("predict", node_run, people, "--nodes", tmp_path / "list.txt")
    assert (
        "line 2: 'p99' is no node of the data; unknown are 1 of the 2 names in column 1"
        in ended.err
    )
    (tmp_path / "list.txt").write_text("p99\n")
    ended = command("predict", node_run, people, "--nodes", tmp_path / "list.txt")
    assert (
        "line 1: 'p99' is no node of the data; unknown are 1 of the 1 name in column 1; did you mean 'p9'?"
        in ended.err
    )
    (tmp_path / "list.txt").write_text("node\n")
    assert (
        "no node of the data is named in it"
        in command("predict", node_run, people, "--nodes", tmp_path / "list.txt").err
    )


def test_nodes_of_several_graphs_are_told_with_their_graph(command, node_run, tmp_path):
    (tmp_path / "two.csv").write_text(
        "graph,source,target,label\nG,a,b,knows\nG,b,a,likes\nH,a,b,hates\n"
    )
    ended = command("predict", node_run, tmp_path / "two.csv")
    rows = rows_of(ended.out)
    assert list(rows[0])[:3] == ["graph", "id", "prediction"]
    assert [(row["graph"], row["id"]) for row in rows] == [
        ("G", "a"),
        ("G", "b"),
        ("H", "a"),
        ("H", "b"),
    ]
    assert ended.err.count("\n") == 1


def test_data_without_any_known_label_is_refused(command, node_run, molecules):
    ended = command("predict", node_run, molecules)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "learned none of the labels" in ended.err
    assert "those of the training were 'a'" in ended.err


def test_options_of_the_reader_are_remembered(command, tmp_path):
    (tmp_path / "a.csv").write_text(
        "molecule,toxic\n" + "".join(f"C1{'C' * n}C1,{n % 2}\nC{'C' * n},0\n" for n in range(1, 9))
    )
    options = ("-o", "smiles=molecule", "-o", "atom_label=symbol,in_ring", "-o", "format=smiles")
    assert (
        command(
            "train", tmp_path / "a.csv", "--out", tmp_path / "run", "-t", "toxic", *options, *QUICK
        ).code
        == 0
    )
    (tmp_path / "b.csv").write_text("molecule\nC1CC1\n")
    ended = command("predict", tmp_path / "run", tmp_path / "b.csv")
    assert (ended.code, ended.err, len(rows_of(ended.out))) == (0, "", 1)
    (tmp_path / "c.csv").write_text("text\nC1CC1\n")
    for words in (["-o", "smiles=text"], []):
        other = command("predict", tmp_path / "run", tmp_path / "c.csv", *words)
        assert (other.code, other.err) == (0, "")
        assert rows_of(other.out)[0]["prediction"] == rows_of(ended.out)[0]["prediction"]


def test_the_columns_of_edges_are_remembered(command, tmp_path):
    (tmp_path / "nodes.csv").write_text(
        "node,group\n" + "".join(f"n{n},{'ab'[n % 2]}\n" for n in range(12))
    )
    for name, nodes in (("old", 12), ("new", 3)):
        lines = [f"n{n},n{(n + 1) % nodes},{'xy'[n % 2]}" for n in range(nodes)]
        (tmp_path / f"{name}.csv").write_text("from,to,label\n" + "\n".join(lines) + "\n")
    options = (
        "-o",
        "source=from",
        "-o",
        "target=to",
        "-o",
        f"nodes={tmp_path / 'nodes.csv'}",
        "-t",
        "group",
    )
    assert (
        command("train", tmp_path / "old.csv", "--out", tmp_path / "run", *options, *QUICK).code
        == 0
    )
    ended = command("predict", tmp_path / "run", tmp_path / "new.csv")
    assert (ended.code, ended.err, [row["id"] for row in rows_of(ended.out)]) == (
        0,
        "",
        ["n0", "n1", "n2"],
    )
    assert len(rows_of(command("predict", tmp_path / "run", tmp_path / "old.csv").out)) == 12
    (tmp_path / "old.csv").unlink()
    assert command("predict", tmp_path / "run", tmp_path / "new.csv").out == ended.out


def test_a_target_column_of_molecules_is_not_asked_for_again(command, tmp_path):
    rows = "".join(f"{'C' * (n + 1)},{n % 2}\n" for n in range(12))
    (tmp_path / "old.csv").write_text("molecule,toxic\n" + rows)
    options = ("-o", "smiles=molecule", "-o", "target=toxic")
    assert (
        command("train", tmp_path / "old.csv", "--out", tmp_path / "run", *options, *QUICK).code
        == 0
    )
    (tmp_path / "new.csv").write_text("molecule\nCC\n")
    ended = command("predict", tmp_path / "run", tmp_path / "new.csv")
    assert (ended.code, ended.err, len(rows_of(ended.out))) == (0, "", 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere", "MUTAG"], "there is no folder nowhere"),
        (["RUN", "no such/file.csv"], "there is no file or data set 'no such/file.csv'\n"),
        (["RUN", "molz.csv", "-o", "smiles=x"], "there is no file or data set 'molz.csv'\n"),
        (["RUN", "MUTGA"], "there is no file or data set 'MUTGA'; did you mean MUTAG?\n"),
        (["RUN", "MUTAG", "--out", "x.txt"], "name it .csv or .parquet"),
        (["RUN", "MUTAG", "--out", "nowhere/x.csv"], "there is no folder nowhere"),
        (["RUN", "MUTAG", "--nodes", "all"], "this one is of graphs"),
        (["RUN", "MUTAG", "--unknown", "ignore"], "unknown='ignore': choose"),
        (["RUN", "MUTAG", "--device", "tpu"], "device='tpu': choose"),
    ],
)
def test_mistakes_are_one_line(command, run, words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = command("predict", *[run if word == "RUN" else word for word in words])
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert message in ended.err


def test_a_saved_estimator_predicts_its_own_classes(command, molecules, tmp_path):
    data = edgnn.load_dataset(molecules)
    names = np.array(["bad", "good"])[data.targets]
    edgnn.GraphClassifier(hidden=4, max_epochs=1, random_state=0).fit(data.graphs, names).save(
        tmp_path / "saved"
    )
    rows = rows_of(command("predict", tmp_path / "saved", molecules).out)
    assert list(rows[0])[:4] == ["id", "prediction", "p(bad)", "p(good)"]


def test_a_file_that_cannot_be_finished_is_not_begun(
    command, run, molecules, tmp_path, monkeypatch
):
    (tmp_path / "a.csv").write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    ended = command("predict", run, molecules, "--out", tmp_path / "a.csv")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert (tmp_path / "a.csv").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["a.csv"]


@pytest.mark.parametrize("verb", ["predict", "explain"])
@pytest.mark.parametrize("word", ["CCO", "CCOc1ccccc1", "C/C=C/C", "[Na+].[Cl-]", "C" * 300])
def test_a_molecule_is_never_asked_for_in_the_network(command, run, verb, word, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "edgnn.io.datasets._cache.download", lambda urls, *_, **how: asked.append(urls)
    )
    ended = command(verb, run, word)
    assert (ended.code, ended.out, asked) == (2, "", [])
    shown = word if len(word) <= 80 else f"{word[:80]}…"
    assert (
        ended.err
        == f"edgnn: there is no file or data set {shown!r}; for molecules, write a file with a column smiles\n"
    )


def test_a_tu_set_on_this_machine_is_read_by_name(command, run, molecules, tmp_path):
    shutil.copytree(molecules, tmp_path / "data" / "TUDataset" / "SMALL")
    ended = command("predict", run, "SMALL", "--data-dir", tmp_path / "data")
    assert (ended.code, len(rows_of(ended.out))) == (0, 40)


def test_predicates_dropped_in_training_may_be_lacking_later(command, tmp_path):
    lines = [f"<n:{n}> <r:{n % 2}> <n:{(n + 1) % 12}> .\n" for n in range(12)]
    (tmp_path / "leak.nt").write_text(
        "".join([*lines, *(f"<n:{n}> <r:leak> <n:{n % 2}> .\n" for n in range(12))])
    )
    (tmp_path / "who.tsv").write_text(
        "person\tgroup\n" + "".join(f"<n:{n}>\t{'ab'[n % 2]}\n" for n in range(12))
    )
    words = ("--target-file", tmp_path / "who.tsv", "-o", "drop_predicates=r:leak", *QUICK)
    assert command("train", tmp_path / "leak.nt", "--out", tmp_path / "run", *words).code == 0
    (tmp_path / "new.nt").write_text("".join(lines))
    ended = command("predict", tmp_path / "run", tmp_path / "new.nt")
    assert (ended.code, ended.err, len(rows_of(ended.out))) == (0, "", 12)
    assert command("explain", tmp_path / "run", tmp_path / "new.nt").code == 0
    ended = command(
        "predict", tmp_path / "run", tmp_path / "new.nt", "-o", "drop_predicates=r:leak"
    )
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "drop_predicates names 'r:leak', but no triple has that predicate" in ended.err


def test_names_of_molecules_stand_beside_their_predictions(command, ensemble, tmp_path):
    (tmp_path / "new.csv").write_text("Name,smiles\nmethanol,CO\nethanol,CCO\n")
    assert [
        row["id"] for row in rows_of(command("predict", ensemble, tmp_path / "new.csv").out)
    ] == ["methanol", "ethanol"]
    told = json.loads(
        command("explain", ensemble, tmp_path / "new.csv", "--item", "ethanol", "--json").out
    )
    assert [item["name"] for item in told["items"]] == ["ethanol"]


def test_a_column_of_names_that_a_new_file_lacks_is_not_missed(command, tmp_path):
    (tmp_path / "old.csv").write_text(
        "smiles,code,y\n" + "".join(f"{'C' * (n + 1)},m{n},{n % 2}\n" for n in range(12))
    )
    words = ("-t", "y", "-o", "id=code", *QUICK)
    assert command("train", tmp_path / "old.csv", "--out", tmp_path / "run", *words).code == 0
    (tmp_path / "new.csv").write_text("smiles\nCC\n")
    assert [
        row["id"] for row in rows_of(command("predict", tmp_path / "run", tmp_path / "new.csv").out)
    ] == ["CC"]
    assert rows_of(command("predict", tmp_path / "run", tmp_path / "old.csv").out)[3]["id"] == "m3"
    assert (
        "there is no column 'code'"
        in command("predict", tmp_path / "run", tmp_path / "new.csv", "-o", "id=code").err
    )


def test_what_names_nodes_is_a_file(command, node_run, people):
    ended = command("predict", node_run, people, "--nodes", "http://example.org/p1")
    assert (
        "--nodes takes a file that names nodes, one per line, or all; there is no file 'http://"
        in ended.err
    )


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("new.csv", "smiles\n", "there is nothing to predict: a table needs rows"),
        ("new.xlsx", "PK\3\4", "new.xlsx: a spreadsheet is not read; save it as CSV"),
    ],
)
def test_a_file_without_graphs_is_named(command, run, name, text, message, tmp_path):
    (tmp_path / name).write_text(text)
    ended = command("predict", run, tmp_path / name)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert message in ended.err


# Molecules: no row is lost

MIXED = (
    "compound_id,batch,smiles,prediction\n"
    "a,1,CCO,x\nb,2,CC(,y\nc,3,,z\nd,4,CCN\ne,5,CC>>CO,w\nf,6,CCCN,v\n"
)


@pytest.fixture(scope="session")
def molecule_run(tmp_path_factory, smiles):
    """A small network trained on the table of molecules."""
    data = edgnn.load_dataset(smiles, target="kind")
    model = edgnn.GraphClassifier(hidden=4, max_epochs=2, random_state=0)
    names = np.array(data.class_names)[data.targets]
    folder = tmp_path_factory.mktemp("molecules") / "run"
    model.fit(data.graphs, names).save(folder)
    return folder


def test_rows_that_cannot_be_read_stay_with_their_lines_and_all_columns(
    command, molecule_run, tmp_path
):
    (tmp_path / "new.csv").write_text(MIXED)
    ended = command("predict", molecule_run, tmp_path / "new.csv")
    assert ended.code == 3
    assert ended.err == "edgnn: 4 of 6 rows have no prediction; the column error says why\n"
    rows = rows_of(ended.out)
    assert list(rows[0])[:6] == [
        *("id", "compound_id", "batch", "smiles", "prediction (2)", "prediction")
    ]
    assert [row["id"] for row in rows] == list("abcdef")
    assert [row["batch"] for row in rows] == list("123456")
    assert [row["prediction (2)"] for row in rows] == ["x", "y", "z", "", "w", "v"]
    assert [bool(row["prediction"]) for row in rows] == [True, False, False, False, False, True]
    for row, start in zip(
        rows[1:5],
        (
            "line 3: RDKit cannot read it as SMILES",
            "line 4: the SMILES is empty",
            "line 5: the row has 3 cells, but the header has 4",
            "line 6: it is a reaction",
        ),
        strict=True,
    ):
        assert row["error"].startswith(start)
    assert {rows[0]["error"], rows[5]["error"]} == {""}


def test_a_strict_prediction_ends_at_the_first_bad_row(command, molecule_run, tmp_path):
    (tmp_path / "new.csv").write_text(MIXED)
    out = tmp_path / "p.csv"
    ended = command("predict", molecule_run, tmp_path / "new.csv", "-o", "bad=error", "--out", out)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "new.csv, line 3: SMILES 'CC(': RDKit cannot read it" in ended.err
    assert not out.exists()


def test_a_file_of_nothing_readable_says_so(command, molecule_run, smiles, tmp_path):
    (tmp_path / "rxn.csv").write_text("smiles,y\nCC>>CO,1\nC>O>N,2\n")
    said = "none of the 2 molecules can be read; the first, 'CC>>CO': "
    ended = command("predict", molecule_run, tmp_path / "rxn.csv")
    assert (ended.code, ended.out) == (2, "")
    assert f"{said}line 2: it is a reaction, which edgnn does not read" in ended.err
    ended = command("train", tmp_path / "rxn.csv", "-t", "y", "-o", "bad=skip", "--out", "x")
    assert f"{said}it is a reaction, which edgnn does not read" in ended.err


def test_records_keep_their_properties(command, molecule_run, tmp_path):
    from rdkit import Chem

    block = Chem.MolToMolBlock(Chem.MolFromSmiles("CCO")).partition("\n")[2]
    (tmp_path / "a.sdf").write_text(
        f"first\n{block}\n> <dose>\n3\n\n$$$$\nsecond\nnonsense\n> <note>\nodd\n\n$$$$\n"
    )
    ended = command("predict", molecule_run, tmp_path / "a.sdf")
    rows = rows_of(ended.out)
    assert ended.code == 3
    assert list(rows[0])[:4] == ["id", "dose", "note", "prediction"]
    assert [[row["id"], row["dose"], row["note"]] for row in rows] == [
        ["first", "3", ""],
        ["second", "", "odd"],
    ]
    assert rows[1]["error"].startswith("line 16: RDKit cannot read its mol block")


@pytest.mark.parametrize(
    ("piped", "ids", "columns"),
    [
        ("CCO\nCCN ethylamine\n", ["CCO", "ethylamine"], ["id", "smiles", "prediction"]),
        ("nr;SMILES\n7;CCO\n8;CCN\n", ["CCO", "CCN"], ["id", "nr", "SMILES", "prediction"]),
        ("mol,id\nCCO,u\nCCN,v\n", ["u", "v"], ["id", "mol", "prediction"]),
    ],
)
def test_molecules_come_from_standard_input(
    command, molecule_run, piped, ids, columns, tmp_path, monkeypatch
):
    (tmp_path / "piped").write_text(piped)
    # told that the training data were molecules, as a run of edgnn train is
    from edgnn.training import RunFolder

    shutil.copytree(molecule_run, tmp_path / "run")
    source = {"name": "a.csv", "options": {}, "format": "smiles"}
    RunFolder.open(tmp_path / "run").update_config(source=source)
    with (tmp_path / "piped").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        ended = command("predict", tmp_path / "run", "-")
    assert (ended.code, ended.err) == (0, "")
    rows = rows_of(ended.out)
    assert list(rows[0])[: len(columns)] == columns
    assert [row["id"] for row in rows] == ids


def test_molecules_come_from_the_command_line(command, molecule_run, tmp_path):
    (tmp_path / "a.csv").write_text("smiles\nCCO\nCCN\n")
    expected = rows_of(command("predict", molecule_run, tmp_path / "a.csv").out)
    ended = command("predict", molecule_run, "--smiles", "CCO", "--smiles", "CCN")
    rows = rows_of(ended.out)
    assert (ended.code, [row["id"] for row in rows]) == (0, ["CCO", "CCN"])
    assert [row["p(amine)"] for row in rows] == [row["p(amine)"] for row in expected]
    ended = command("predict", molecule_run, "--smiles", "C((")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "the molecule 'C((' cannot be read" in ended.err
    assert "not both" in command("predict", molecule_run, "x.csv", "--smiles", "C").err
    assert "- for standard input" in command("predict", molecule_run).err


def test_json_is_strict_and_holds_every_row(command, molecule_run, tmp_path):
    (tmp_path / "new.csv").write_text(MIXED)
    ended = command("predict", molecule_run, tmp_path / "new.csv", "--json")

    def refuse(name):
        raise AssertionError(name)

    document = json.loads(ended.out, parse_constant=refuse)
    assert [row["id"] for row in document["predictions"]] == list("abcdef")
    assert document["predictions"][1]["prediction"] is None


def test_a_long_word_is_not_echoed_in_full(command, molecule_run):
    for words in (
        ["predict", molecule_run, "x" * 5_000],
        ["y" * 5_000],
        ["train", "--" + "z" * 999],
        ["predict", molecule_run, "--smiles", "CCO", "-o", "o" * 5_000 + "=1"],
    ):
        ended = command(*words)
        assert ended.code == 2
        assert len(ended.err) < 600


def test_a_coverage_adds_intervals_or_sets_and_the_run_says_how_often_they_hold(
    command, smiles, tmp_path
):
    words = ("--model", "ridge", "--test", "0.25", "--out")
    ended = command("train", smiles, "--target", "value", *words, tmp_path / "values")
    assert ended.code == 0, ended.err
    measured = json.loads((tmp_path / "values/metrics.json").read_text())["coverage"]
    assert f"90 % intervals hold {100 * measured['held']:.1f} % of the test set" in ended.out
    rows = rows_of(command("predict", tmp_path / "values", smiles, "--coverage", 0.9).out)
    ends = [[float(row[name]) for name in ("lower", "prediction", "upper")] for row in rows]
    assert all(lower < value < upper for lower, value, upper in ends)
    tested = [row["id"] for row in rows_of((tmp_path / "values/predictions.csv").read_text())]
    inside = [
        float(row["lower"]) <= float(row["value"]) <= float(row["upper"])
        for row in rows
        if row["id"] in tested
    ]
    assert measured["held"] == np.mean(inside)
    assert command("train", smiles, "--target", "kind", *words, tmp_path / "kinds").code == 0
    rows = rows_of(command("predict", tmp_path / "kinds", smiles, "--coverage", 0.9).out)
    assert {*"".join(f"{row['set']}|" for row in rows).split("|")} <= {
        "",
        *(row["prediction"] for row in rows),
        *(row["kind"] for row in rows),
    }
    assert all(0 <= float(row["novelty"]) <= 1 for row in rows)
    ended = command("report", tmp_path / "values")
    assert ended.code == 0
    page = (tmp_path / "values/report.html").read_text()
    assert "What was tried" in page
    assert "90 % intervals hold" in page


def test_a_network_has_no_intervals(command, run, molecules):
    ended = command("predict", run, molecules, "--coverage", 0.9)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "a GraphClassifier of classes gives no intervals and no sets" in ended.err
