"""edgnn.train: what the command ``edgnn train`` does, as one call."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import edgnn
from edgnn.errors import DatasetError, EstimatorError, RunError
from edgnn.evaluation import TrainedRun, train
from edgnn.models import load_model

pytestmark = pytest.mark.filterwarnings("ignore::edgnn.models.UnknownLabelWarning")


@pytest.fixture(scope="module")
def data():
    mutag = edgnn.load_dataset("MUTAG")
    return edgnn.Dataset(
        "small", mutag.graphs[:40], mutag.targets[:40], class_names=mutag.class_names
    )


def rows(path):
    return list(csv.DictReader((path / "predictions.csv").read_text().splitlines()))


@pytest.mark.parametrize("model", ["ridge", "majority", "edgnn"])
def test_a_model_by_name_is_trained_evaluated_and_kept(data, tmp_path, model):
    parameters = {"max_epochs": 2, "hidden": 8} if model == "edgnn" else {}
    trained = edgnn.train(data, model, out=tmp_path / "run", test=0.25, **parameters)
    assert isinstance(trained, TrainedRun)
    assert trained.evaluated_on == "test"
    loaded = load_model(trained.path)
    assert np.array_equal(loaded.predict(data.graphs), trained.model.predict(data.graphs))
    tested = [int(row["id"]) for row in rows(trained.path)]
    assert len(tested) == 10
    right = loaded.predict(data.graphs)[tested] == data.targets[tested]
    assert trained.metrics["accuracy"] == pytest.approx(right.mean())
    assert str(tmp_path) in repr(trained)


def test_without_a_test_set_a_closed_form_is_tested_on_a_tenth(data, tmp_path):
    ridge = train(data, "ridge", out=tmp_path / "ridge")
    network = train(data, "edgnn", out=tmp_path / "network", max_epochs=1, hidden=4)
    assert (ridge.evaluated_on, network.evaluated_on) == ("test", "validation")
    assert len(rows(ridge.path)) == 4
    everything = train(data, "ridge", out=tmp_path / "all", validation=None)
    assert everything.evaluated_on == "training"
    assert len(rows(everything.path)) == 40


def test_a_model_of_your_own_choice_keeps_its_parameters(data, tmp_path):
    model = edgnn.RidgeGraphClassifier(depth=2)
    trained = train(data, model, out=tmp_path / "run", seed=3)
    assert trained.model.depth == 2
    assert trained.model.random_state == 3
    assert not hasattr(model, "classes_"), "the model that was given is not changed"


def test_an_interrupted_training_is_resumed_exactly(data, tmp_path):
    def interrupt(epoch):
        if epoch.number == 2:
            raise KeyboardInterrupt

    options = {"max_epochs": 4, "hidden": 8, "test": 0.25}
    whole = train(data, out=tmp_path / "whole", **options)
    with pytest.raises(KeyboardInterrupt):
        train(data, out=tmp_path / "run", on_epoch=interrupt, **options)
    resumed = train(data, out=tmp_path / "run", resume=True)
    assert rows(resumed.path) == rows(whole.path)
    assert resumed.metrics == whole.metrics
    again = train(data, out=tmp_path / "run", resume=True)
    assert again.metrics == whole.metrics


def test_resume_starts_what_is_not_there_yet(data, tmp_path):
    assert train(data, "majority", out=tmp_path / "run", resume=True).metrics["accuracy"] > 0


def test_other_data_is_not_resumed(data, tmp_path):
    train(data, "majority", out=tmp_path / "run")
    other = edgnn.Dataset("other", data.graphs[:30], data.targets[:30])
    with pytest.raises(RunError, match="the data is not what"):
        train(other, "majority", out=tmp_path / "run", resume=True)


def test_wrong_calls_leave_no_folder(data, tmp_path):
    with pytest.raises(EstimatorError, match="no model 'rige'; did you mean 'ridge'"):
        train(data, "rige", out=tmp_path / "run")
    with pytest.raises(EstimatorError, match="has no parameter 'hiden'; did you mean 'hidden'"):
        train(data, hiden=3, out=tmp_path / "run")
    with pytest.raises(DatasetError, match="has no targets"):
        train(edgnn.Dataset("none", data.graphs), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_nodes_and_values_are_trained_on_too(tmp_path):
    graph = edgnn.Graphs.from_edges(
        [(node, (node + 1) % 20) for node in range(20)],
        node_labels=["ab"[node % 2] for node in range(20)],
    )
    values = np.arange(20) % 2 + 0.5
    nodes = edgnn.Dataset("ring", graph, values, nodes=graph.nodes)
    trained = train(nodes, out=tmp_path / "run", test=0.2, max_epochs=2, hidden=4)
    assert "rmse" in trained.metrics


def test_graphs_get_the_best_of_several_learners_and_nodes_the_network(data, tmp_path):
    trained = train(data, out=tmp_path / "auto", learners="ridge")
    assert (type(trained.model).__name__, trained.model.learners) == ("AutoClassifier", "ridge")
    assert trained.run.config["fitted"]["tried"][0]["learner"] == "ridge"
    network = train(data, out=tmp_path / "network", hidden=4, max_epochs=1)
    assert type(network.model).__name__ == "GraphClassifier"
