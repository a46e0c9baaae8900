from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from edgnn import Graphs, load_dataset
from edgnn.evaluation import Split, kfold
from edgnn.models import GINGraphClassifier, GINNodeClassifier, load_model
from mutag import load_alike

SMALL = {"hidden": 8, "max_epochs": 3, "batch_size": 8, "precision": "float64"}


@pytest.fixture(scope="module")
def mutag():
    return load_alike(40)


def ring(size=20):
    """Return a directed ring with two edge labels, and whether the edges into and out of a node differ."""
    labels = np.random.default_rng(0).choice(["x", "y"], size)
    graph = Graphs.from_edges(
        [(v, (v + 1) % size) for v in range(size)], edge_labels=labels.tolist()
    )
    return graph.nodes, (labels != np.roll(labels, 1)).astype(int)


def test_defaults_are_one_setting_for_all_sets():
    common = {"conv": "gine", "hidden": 64, "bias": True, "batch_norm": True}
    of_graphs = {
        "layers": 3,
        "direction": "in",
        "learning_rate": 1e-3,
        "batch_size": 32,
        "max_epochs": 100,
        "readout": "sum",
    }
    assert (common | of_graphs).items() <= GINGraphClassifier().get_params().items()
    of_nodes = {
        "layers": 2,
        "direction": "both",
        "learning_rate": 0.01,
        "weight_decay": 5e-4,
        "dropout": 0.5,
    }
    assert (common | of_nodes).items() <= GINNodeClassifier().get_params().items()


@pytest.mark.filterwarnings("ignore::edgnn.models.UnknownLabelWarning")
def test_graph_splits_give_what_fitting_each_gives(mutag):
    graphs, y = mutag
    classifier, splits = GINGraphClassifier(**SMALL), kfold(y, 3, seed=0, validation=0.1)
    for split, result in zip(splits, classifier.predict_splits(graphs, y, splits), strict=True):
        alone = clone(classifier).set_params(random_state=split.seed)
        alone.fit(
            graphs[split.train], y[split.train], validation=(graphs[split.valid], y[split.valid])
        )
        # a bias before batch norm has no gradient but rounding, which Adam makes steps of
        np.testing.assert_allclose(
            alone.predict_proba(graphs[split.test]), result["probability"], rtol=1e-5
        )


def test_node_splits_give_what_fitting_each_gives():
    nodes, y = ring()
    classifier = GINNodeClassifier(hidden=8, max_epochs=4, precision="float64", validation=None)
    splits = [
        Split(train=np.arange(12), test=np.arange(12, 20), seed=1),
        Split(train=np.arange(5, 20), test=np.arange(5), seed=2),
    ]
    for split, result in zip(splits, classifier.predict_splits(nodes, y, splits), strict=True):
        alone = (
            clone(classifier)
            .set_params(random_state=split.seed)
            .fit(nodes[split.train], y[split.train])
        )
        np.testing.assert_allclose(
            alone.predict_proba(nodes[split.test]), result["probability"], rtol=1e-6
        )


def test_labels_of_entering_and_leaving_edges_are_learned():
    nodes, y = ring(60)
    classifier = GINNodeClassifier(
        hidden=16, max_epochs=150, dropout=0.0, validation=None, random_state=0
    )
    classifier.fit(nodes[:40], y[:40])
    assert classifier.score(nodes[40:], y[40:]) >= 0.9


def test_a_stored_model_predicts_the_same(tmp_path, mutag):
    graphs, y = mutag
    classifier = GINGraphClassifier(**SMALL, random_state=0).fit(graphs, y)
    classifier.save(tmp_path / "run")
    assert np.array_equal(
        load_model(tmp_path / "run").predict_proba(graphs), classifier.predict_proba(graphs)
    )
    assert type(load_model(tmp_path / "run")) is GINGraphClassifier


def test_a_prediction_does_not_depend_on_what_else_is_predicted(mutag):
    graphs, y = mutag
    classifier = GINGraphClassifier(**SMALL, random_state=0).fit(graphs, y)
    alone = np.concatenate([classifier.predict_proba(graphs[number]) for number in range(5)])
    np.testing.assert_allclose(alone, classifier.predict_proba(graphs[:5]), rtol=1e-9)


@pytest.mark.gpu
def test_cuda_agrees_with_the_cpu(mutag):
    graphs, y = mutag
    ours, theirs = (
        GINGraphClassifier(**SMALL, random_state=0, members=2, device=device)
        for device in ("cuda", "cpu")
    )
    np.testing.assert_allclose(
        ours.fit(graphs, y).predict_proba(graphs),
        theirs.fit(graphs, y).predict_proba(graphs),
        rtol=1e-6,
    )


@pytest.mark.slow
def test_molecules_of_mutag_are_learned():
    data = load_dataset("MUTAG")
    y = np.asarray(data.targets)
    classifier = GINGraphClassifier(random_state=0, max_epochs=40).fit(data.graphs, y)
    assert classifier.score(data.graphs, y) > 0.85
