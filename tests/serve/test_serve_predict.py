import csv
import io
import json
import shutil

import numpy as np
import pytest

import edgnn
from edgnn.models import load_model
from edgnn.serve import Limits, create_app
from edgnn.training import RunFolder
from serve_runs import client_of, error

NITRO = "c1ccccc1[N+](=O)[O-]"


def test_probabilities_are_those_of_the_estimator(molecules, mutag_run):
    found = molecules.post("/predict", json={"smiles": ["CCO", NITRO]}).json()
    estimator = load_model(mutag_run)
    expected = estimator.predictions(edgnn.from_smiles(["CCO", NITRO]))
    rows = found["predictions"]
    assert found["classes"] == ["not mutagenic", "mutagenic"]
    assert [row["id"] for row in rows] == ["CCO", NITRO]
    np.testing.assert_array_equal([row["probabilities"] for row in rows], expected.probability)
    np.testing.assert_array_equal(
        [row["uncertainty"]["std"] for row in rows], expected.uncertainty["std"]
    )
    assert [row["prediction"] for row in rows] == [
        found["classes"][place] for place in expected.prediction
    ]


def test_familiarity_is_that_of_the_estimator(molecules, mutag_run):
    smiles = ["CCO", "Cc1ccccc1[N+](=O)[O-]"]
    found = [
        row["familiarity"]
        for row in molecules.post("/predict", json={"smiles": smiles}).json()["predictions"]
    ]
    expected = load_model(mutag_run).familiarity(edgnn.from_smiles(smiles))
    np.testing.assert_array_equal([row["seen_share"] for row in found], expected.share.T)
    assert [
        -1 if row["first_new_round"] is None else row["first_new_round"] for row in found
    ] == expected.first_new.tolist()
    assert found[0]["first_new_round"] is not None


def test_labels_never_learned_are_counted_not_warned_of(molecules):
    rows = molecules.post("/predict", json={"smiles": ["CCS", "CCO"]}).json()["predictions"]
    assert [row["unseen_labels"] for row in rows] == [1, 0]
    assert rows[0]["familiarity"]["first_new_round"] == 0


def test_a_bad_smiles_is_named_or_left_out(molecules):
    assert error(molecules.post("/predict", json={"smiles": ["CCO", "C(("]})).startswith(
        "SMILES 1 ('C((')"
    )
    found = molecules.post("/predict", json={"smiles": ["CCO", "C((", "CCN"], "bad": "skip"}).json()
    assert [row["id"] for row in found["predictions"]] == ["CCO", "CCN"]
    assert [(row["index"], row["input"]) for row in found["skipped"]] == [(1, "C((")]
    for smiles, said in (
        (["C(("], "the molecule 'C((' cannot be read: RDKit cannot read it as SMILES"),
        (
            ["C((", "C)"],
            "none of the 2 molecules can be read; the first, 'C((': RDKit cannot read it as SMILES",
        ),
    ):
        assert error(molecules.post("/predict", json={"smiles": smiles, "bad": "skip"})).startswith(
            said
        )


def test_whether_an_item_is_answered_does_not_depend_on_what_is_sent_with_it(molecules, nodes):
    together = molecules.post("/predict", json={"smiles": ["CCO", "[Xe]"]}).json()["predictions"][1]
    alone = molecules.post("/predict", json={"smiles": ["[Xe]"]}).json()["predictions"][0]
    assert (
        alone["familiarity"]
        == together["familiarity"]
        == {"first_new_round": 0, "seen_share": [0, 0, 0]}
    )
    assert alone["unseen_labels"] == 1
    graph = {"node_labels": ["robot", "robot"], "edges": [[0, 1, "builds"]]}
    assert [
        row["unseen_labels"]
        for row in nodes.post("/predict", json={"graphs": [graph]}).json()["predictions"]
    ] == [1, 1]


def test_graphs_spelled_out_are_the_molecules_they_spell(molecules):
    graph = {
        "node_labels": ["C", "C", "O"],
        "edges": [[0, 1, "single"], [1, 0, "single"], [1, 2, "single"], [2, 1, "single"]],
    }
    spelled = molecules.post("/predict", json={"graphs": [graph | {"name": "ethanol"}]}).json()[
        "predictions"
    ]
    smiles = molecules.post("/predict", json={"smiles": ["CCO"]}).json()["predictions"]
    assert spelled[0] | {"id": "CCO"} == smiles[0]
    assert spelled[0]["id"] == "ethanol"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            {"graphs": [{"node_labels": ["C"], "edges": [[0, 1, "single"]]}]},
            "graph 0: edge 0 points to node 1",
        ),
        (
            {"graphs": [{"node_labels": ["C", "C"], "edges": [[0, 1, "single"], [1, 0]]}]},
            "graph 0: edge 1 has no label",
        ),
        (
            {"graphs": [{"node_labels": ["C", "C"], "edges": [[0, "x"]]}]},
            "graph 0: edge 0 is [0, 'x']",
        ),
        (
            {"graphs": [{"node_labels": ["C", "C"], "edges": [[0, True]]}]},
            "graph 0: edge 0 is [0, True]",
        ),
        (
            {"graphs": [{"node_labels": ["C"], "edges": [], "node_features": [[1.0]]}]},
            "the graphs have 1 node features",
        ),
        ({"smiles": ["CCO"], "graphs": []}, "body.graphs: List should have at least 1 item"),
        (
            {"smiles": ["C"], "examples": ["1"]},
            "body: give exactly one of smiles, graphs, nodes and examples, not smiles and",
        ),
        (
            {"smiles": ["C", "N" * 5001]},
            "SMILES 1 ('NNNNNNNNNNNNNNNNNNNN…') has 5,001 characters, but 5,000 are the most",
        ),
        ({"smiles": ["C", ""]}, "SMILES 1 is empty; write it, or leave it out"),
        ({"examples": ["7", ""]}, "entry 1 of examples is empty"),
        ({"smiles": [1]}, "SMILES 0: Input should be a valid string"),
        ({"something": 1}, "body: there is no field 'something'; there are smiles, graphs"),
        ({"nodes": ["a"]}, "this is a model of whole graphs, which takes no nodes"),
        ({"examples": ["x9"]}, "entry 0, 'x9', is not in MUTAG"),
    ],
)
def test_a_bad_request_gets_one_sentence(molecules, body, said):
    sentence = error(molecules.post("/predict", json=body))
    assert sentence.startswith(said)
    assert "\n" not in sentence


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[" * 100_000,
        b"\xff\xfe",
        b'{"smiles": ["\\ud800"]}',
        b'{"graphs": [{"edges": [[0,1e999]]}]}',
    ],
)
def test_what_is_no_proper_json_is_refused(molecules, body):
    answer = molecules.post("/predict", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)
    assert set(answer.json()) == {"error"}


@pytest.mark.parametrize(
    "body",
    [
        {"graphs": [{"edges": [[{}, {}]] * 1_000}]},
        {"smiles": [1] * 1_000},
        {f"k{n}": 1 for n in range(1_000)},
    ],
)
def test_of_all_that_is_wrong_with_a_long_request_only_the_first_is_kept(molecules, body):
    assert "more)" not in error(molecules.post("/predict", json=body))


def test_labels_and_numbers_that_cannot_be_used_are_told_in_words(molecules):
    graph = {"node_labels": ["C", {"a": 1}], "edges": []}
    said = error(molecules.post("/predict", json={"graphs": [graph]}))
    assert said.startswith("body.graphs[0].node_labels[1]: a label is a text, a number")
    graph = {"node_labels": ["C"], "edges": [], "node_features": [[1e300]]}
    said = error(molecules.post("/predict", json={"graphs": [graph]}))
    assert said.startswith("body.graphs[0].node_features[0][0]: write a number below 1e+38")


def test_molecules_are_counted_in_the_list_that_was_sent(mutag_run, molecules):
    smiles = ["CCO", "CCN", "C((", "CCCl", "CC(("]
    good = [smiles[place] for place in (0, 1, 3)]
    expected = molecules.post("/predict", json={"smiles": good}).json()["predictions"]
    found = molecules.post("/predict", json={"smiles": smiles, "bad": "skip"}).json()
    assert [row["index"] for row in found["skipped"]] == [2, 4]
    assert [row["id"] for row in found["predictions"]] == good
    for row, other in zip(found["predictions"], expected, strict=True):
        np.testing.assert_allclose(row["probabilities"], other["probabilities"], rtol=1e-6)
    assert error(molecules.post("/predict", json={"smiles": smiles[:3]})).startswith(
        "SMILES 2 ('C((')"
    )
    client = client_of(mutag_run, limits=Limits(nodes=5))
    assert "the graphs have 6 nodes" in error(client.post("/predict", json={"smiles": good}), 413)


def test_examples_are_graphs_of_the_loaded_data(molecules, mutag_run):
    rows = molecules.post("/predict", json={"examples": ["7", "3"]}).json()["predictions"]
    expected = load_model(mutag_run).predict_proba(edgnn.load_dataset("MUTAG").graphs[[7, 3]])
    assert [row["id"] for row in rows] == ["7", "3"]
    np.testing.assert_allclose([row["probabilities"] for row in rows], expected, rtol=1e-5)


def test_csv_has_the_columns_of_the_command(molecules):
    answer = molecules.post("/predict?format=csv", json={"smiles": ["CCO", NITRO]})
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert "predictions.csv" in answer.headers["content-disposition"]
    assert list(rows[0])[:4] == ["id", "prediction", "p(not mutagenic)", "p(mutagenic)"]
    assert [row["id"] for row in rows] == ["CCO", NITRO]
    assert rows[0]["first_new_round"] in ("1", "2")
    assert [row["error"] for row in rows] == ["", ""]


def test_what_was_skipped_has_a_row_of_the_csv_where_it_stood(molecules):
    smiles = ["C((", "CCO", "C)", NITRO]
    answer = molecules.post("/predict?format=csv", json={"smiles": smiles, "bad": "skip"})
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["id"] for row in rows] == smiles
    assert (
        [bool(row["error"]) for row in rows]
        == [bool(not row["prediction"]) for row in rows]
        == [True, False, True, False]
    )
    assert rows[0]["error"].startswith("RDKit cannot read it as SMILES")


def test_a_batch_larger_than_a_piece_keeps_its_order(mutag_run, monkeypatch):
    def in_threes(items, members):
        return (items[start : start + 3] for start in range(0, len(items), 3))

    monkeypatch.setattr("edgnn.serve._answers.in_pieces", in_threes)
    smiles = ["C" * size for size in range(1, 20)]
    rows = client_of(mutag_run).post("/predict", json={"smiles": smiles}).json()["predictions"]
    expected = load_model(mutag_run).predict_proba(edgnn.from_smiles(smiles))
    assert [row["id"] for row in rows] == smiles
    np.testing.assert_allclose([row["probabilities"] for row in rows], expected, rtol=1e-6)


# Nodes


def test_nodes_are_predicted_by_name(nodes, node_run, people):
    rows = nodes.post("/predict", json={"nodes": ["p12", "p0"]}).json()["predictions"]
    data = edgnn.load_dataset(people)
    expected = load_model(node_run).predict_proba(edgnn.Nodes.named(data.graphs, ["p12", "p0"]))
    assert [row["id"] for row in rows] == ["p12", "p0"]
    assert [row["text"] for row in rows] == ["p12", "p0"]
    np.testing.assert_allclose([row["probabilities"] for row in rows], expected, rtol=1e-5)


def test_nodes_of_a_graph_of_ones_own(nodes):
    graph = {
        "node_labels": ["person"] * 3,
        "edges": [[0, 1, "knows"], [1, 2, "likes"]],
        "node_names": ["a", "b", "c"],
    }
    rows = nodes.post("/predict", json={"graphs": [graph], "nodes": ["c", "a"]}).json()[
        "predictions"
    ]
    assert [row["id"] for row in rows] == ["c", "a"]
    everything = nodes.post("/predict", json={"graphs": [graph]}).json()["predictions"]
    assert [row["id"] for row in everything] == ["a", "b", "c"]
    assert everything[2]["probabilities"] == pytest.approx(rows[0]["probabilities"])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"nodes": ["q"]}, "entry 0, 'q', is not in people"),
        ({"nodes": ["P12"]}, "entry 0, 'P12', is not in people; did you mean 'p12'?"),
        ({"smiles": ["CCO"]}, "this is a model of nodes, which takes no smiles"),
        ({"examples": ["1"]}, "this is a model of nodes, which takes no examples"),
        (
            {"graphs": [{"node_labels": ["person"], "edges": []}], "nodes": ["x"]},
            "entry 0 of nodes, 'x', is no node",
        ),
    ],
)
def test_a_node_that_is_not_there_is_named(nodes, body, said):
    assert error(nodes.post("/predict", json=body)).startswith(said)


def test_names_with_targets_come_first_and_texts_are_searched(nodes):
    assert nodes.get("/names?search=p1&limit=3").json()["names"] == ["p1", "p10", "p11"]
    assert nodes.get("/names").json()["names"][0] == "p10"
    assert nodes.get("/names?search=nobody").json()["names"] == []


@pytest.mark.parametrize(
    ("field", "stored"),
    [("class_names", ["one"]), ("class_names", 5), ("class_names", [1, 2]), ("target_names", "ab")],
)
def test_damaged_names_are_told_before_anyone_asks(mutag_run, tmp_path, field, stored):
    shutil.copytree(mutag_run, tmp_path / "run")
    RunFolder.open(tmp_path / "run").update_config(**{field: stored})
    with pytest.raises(edgnn.errors.RunError, match=field):
        create_app(tmp_path / "run")


@pytest.mark.parametrize(
    "source",
    [
        "MUTAG",
        {"name": 5, "options": {}},
        {"format": "smiles"},
        {"name": "MUTAG", "options": {}, "data_dir": 5},
    ],
)
def test_nonsense_about_the_data_is_no_data(mutag_run, tmp_path, source):
    shutil.copytree(mutag_run, tmp_path / "run")
    RunFolder.open(tmp_path / "run").update_config(source=source)
    (tmp_path / "run" / "metrics.json").write_text("[]")
    client = client_of(tmp_path / "run")
    assert client.get("/model").json()["source"] is None
    assert client.post("/predict", json={"smiles": ["CCO"]}).status_code == 200


# Values


def test_values_come_without_probabilities(values):
    found = values.post("/predict", json={"smiles": ["CCO"]}).json()
    assert found["task"] == "values"
    assert found["predictions"][0]["probabilities"] is None
    assert isinstance(found["predictions"][0]["prediction"], float)


# About


def test_the_model_says_what_it_is(molecules, mutag_run):
    found = molecules.get("/model").json()
    assert (
        found["level"],
        found["task"],
        found["members"],
        found["smiles"],
        found["source_items"],
    ) == (
        "graph",
        "classes",
        3,
        True,
        188,
    )
    assert found["classes"] == ["not mutagenic", "mutagenic"]
    assert found["limits"]["items"] == Limits().items
    assert str(mutag_run.parent) not in molecules.get("/model").text


def test_the_model_names_what_it_predicts(value_run, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(value_run, run)
    RunFolder.open(run).update_config(target_names=["logp"])
    assert client_of(run).get("/model").json()["targets"] == ["logp"]


def test_what_is_no_number_is_an_error_of_its_item(tmp_path):
    graphs = edgnn.Graphs.from_edges(
        [(0, 1), (2, 3)], sizes=[2, 2], node_features=[[1.0], [1.0], [2.0], [3.0]]
    )
    model = edgnn.GraphClassifier(max_epochs=2, random_state=0).fit(graphs, ["a", "b"])
    model.save(tmp_path / "run")
    client = client_of(tmp_path / "run")
    specs = [{"node_features": [[value]] * 60, "edges": []} for value in (1.0, 9e37, 2.0)]
    features = {"graphs": specs}
    answer = client.post("/predict", json=features)
    rows = strict_json(answer.text)["predictions"]
    assert [row["prediction"] is None for row in rows] == [False, True, False]
    said = "the model's output is not a finite number"
    assert [row.get("error", "").startswith(said) for row in rows] == [False, True, False]
    assert rows[1]["probabilities"] is None
    table = client.post("/predict?format=csv", json=features).text.splitlines()
    assert table[0].endswith(",error")
    assert said in table[2]
    assert table[1].endswith(",")
    assert "nan" not in " ".join(table).lower()
    explained = client.post("/explain", json={"graph": specs[1]})
    assert "NaN or infinite" in error(explained)


def strict_json(text):
    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_versions_and_health(molecules):
    assert molecules.get("/version").json()["edgnn"] == edgnn.__version__
    assert molecules.get("/health").json() == {"status": "ok", "waiting": 0}


def test_limits_are_above_zero():
    with pytest.raises(edgnn.errors.EdgnnError, match="seconds=0"):
        Limits(seconds=0)
