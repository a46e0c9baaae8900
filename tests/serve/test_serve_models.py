"""Any model is served that has the public side of one, whatever else it can do."""

import shutil

import numpy as np
import pytest

import edgnn
from edgnn.models import (
    MajorityClassifier,
    Predictions,
    RidgeGraphClassifier,
    RidgeNodeClassifier,
    WLClassifier,
    load_model,
)
from edgnn.serve import Served
from edgnn.training import RunFolder
from serve_runs import client_of, error, upload

NOTHING = {"class_names": [], "target_names": [], "source": {}}


class Plain:
    """A model that predicts classes, and knows neither probabilities nor what it has seen."""

    num_members = 1
    has_familiarity = False

    def __init__(self, network):
        self.level, self.task, self.encoding = network.level, network.task, network.encoding
        self.coder, self.seen = network.coder, network.seen

    def predictions(self, X):
        return Predictions(self.encoding.classes[X.sizes.numpy() % 2])

    def familiarity(self, X):
        return None

    def refine(self, graphs, rounds=None):
        return edgnn.wl.refine(graphs, 1 if rounds is None else rounds)


@pytest.fixture(scope="module")
def plain(mutag_run):
    model = Plain(load_model(mutag_run))
    return client_of(Served(mutag_run, NOTHING, model))


def test_a_model_without_probabilities_predicts(plain):
    answer = plain.post("/predict", json={"smiles": ["CC", "CCO"]}).json()
    assert [row["prediction"] for row in answer["predictions"]] == [0, 1]
    for row in answer["predictions"]:
        assert (row["probabilities"], row["familiarity"], row["uncertainty"]) == (None, None, {})


def test_what_a_model_is_not_is_left_out_of_its_description(plain):
    model = plain.get("/model").json()
    assert (model["estimator"], model["members"], model["familiarity"]) == ("Plain", 1, False)
    assert (model["layers"], model["conv"], model["judged"]) == (None, None, None)


def test_colors_are_those_of_the_models_own_refinement(plain):
    rounds = plain.post("/colors", json={"smiles": "CCO"}).json()["rounds"]
    assert [entry["seen"] for entry in rounds] == [None, None]


def test_what_a_model_cannot_do_is_one_sentence(plain):
    assert "cannot be explained" in error(plain.post("/explain", json={"smiles": "CCO"}))


@pytest.fixture(scope="module")
def mutag():
    return edgnn.load_dataset("MUTAG")


@pytest.mark.parametrize("kind", [RidgeGraphClassifier, WLClassifier, MajorityClassifier])
def test_a_model_that_is_no_network_is_served_from_its_run_folder(kind, mutag, tmp_path):
    model = kind().fit(mutag.graphs[:60], mutag.targets[:60])
    model.save(tmp_path / "run")
    client = client_of(tmp_path / "run")
    smiles = ["CCO", "c1ccccc1[N+](=O)[O-]"]
    rows = client.post("/predict", json={"smiles": smiles}).json()["predictions"]
    expected = model.predict_proba(edgnn.from_smiles(smiles))
    np.testing.assert_allclose([row["probabilities"] for row in rows], expected)
    described = client.get("/model").json()
    assert described["estimator"] == kind.__name__
    assert all((row["familiarity"] is not None) == described["familiarity"] for row in rows)
    table = client.post("/predict?format=csv", json={"smiles": smiles}).text
    assert table.startswith("id,prediction,p(0),p(1)")
    assert client.post("/colors", json={"smiles": "CCO"}).status_code == 200


def test_a_closed_form_of_nodes_is_served_from_its_run_folder(people, tmp_path):
    data = edgnn.load_dataset(people, node_target="group")
    model = RidgeNodeClassifier().fit(data.nodes, data.targets)
    model.save(tmp_path / "run")
    client = client_of(tmp_path / "run", source=people, node_target="group")
    rows = client.post("/predict", json={"nodes": ["p12", "p13"]}).json()["predictions"]
    expected = model.predict_proba(edgnn.Nodes.named(data.graphs, ["p12", "p13"]))
    np.testing.assert_allclose([row["probabilities"] for row in rows], expected)


def test_a_run_that_reads_large_molecules_lets_none_into_the_server(mutag_run, tmp_path):
    """They would be read in child processes, of which requests could ask for any number."""
    run = tmp_path / "run"
    shutil.copytree(mutag_run, run)
    source = {"name": "none.smi", "format": "smiles", "options": {"max_atoms": 5_000}}
    folder = RunFolder.open(run)
    folder.update_config(source=folder.config["source"] | source)
    with pytest.warns(UserWarning, match="nothing can be picked by name"):
        client = client_of(run)
    large = "C" * 1_500
    for answer in (
        client.post("/predict", json={"smiles": [large]}),
        upload(client, "/predict/file", [("a.csv", f"smiles\n{large}\n")]),
    ):
        assert "it has 1,500 atoms, and max_atoms=1,000" in error(answer)


def test_values_come_with_intervals_and_classes_with_sets(tmp_path):
    texts = [f"{'C' * length}{end}" for length in range(1, 11) for end in "ON"]
    values = edgnn.AutoRegressor(learners="ridge", descriptors="none")
    values.fit(texts, [float(len(text)) for text in texts]).save(tmp_path / "values")
    kinds = edgnn.AutoClassifier(learners="ridge", descriptors="none")
    kinds.fit(texts, ["alcohol", "amine"] * 10).save(tmp_path / "kinds")
    with client_of(tmp_path / "values") as client:
        (row,) = client.post("/predict", json={"smiles": ["CCCO"]}).json()["predictions"]
    assert row["interval"] == pytest.approx(values.predict_interval(["CCCO"])[0].tolist())
    assert row["uncertainty"]["novelty"] == pytest.approx(values.novelty(["CCCO"])[0])
    assert row["set"] is None
    with client_of(tmp_path / "kinds") as client:
        (row,) = client.post("/predict", json={"smiles": ["CCCO"]}).json()["predictions"]
        table = client.post("/predict?format=csv", json={"smiles": ["CCCO"]})
    chosen = kinds.predict_set(["CCCO"])[0]
    assert row["set"] == [name for name, is_in in zip(kinds.classes_, chosen, strict=True) if is_in]
    assert row["interval"] is None
    assert "set" in table.text.splitlines()[0].split(",")
