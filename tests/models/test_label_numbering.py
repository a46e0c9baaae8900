"""A model depends on the labels that its training items have, not on how a vocabulary lists them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import edgnn
from edgnn import Vocabulary
from edgnn.models import (
    AutoClassifier,
    BlendGraphClassifier,
    GINGraphClassifier,
    GraphClassifier,
    NodeClassifier,
    RGCNGraphClassifier,
    RidgeGraphClassifier,
    RidgeNodeClassifier,
    SubgraphMatchingClassifier,
    WLClassifier,
    WLShortestPathClassifier,
)

SMILES = ["CCO", "CCN", "CC(=O)O", "c1ccccc1", "CCl", "CC#N", "OCCO", "NCCN", "CCCl", "C=CC", "CO"]
SMILES = SMILES + [f"C{text}" for text in SMILES]
QUICK = {"max_epochs": 3, "hidden": 8, "random_state": 0}
OF_GRAPHS = [
    GraphClassifier(**QUICK),
    GraphClassifier(**QUICK, embedding=4, members=2),
    GINGraphClassifier(**QUICK),
    RGCNGraphClassifier(**QUICK),
    AutoClassifier(("ridge", "sparse"), random_state=0),
    RidgeGraphClassifier(),
    WLClassifier(),
    BlendGraphClassifier(trees=5, random_state=0),
    SubgraphMatchingClassifier(k=2, C=(1.0,)),
    WLShortestPathClassifier(depths=1, C=(1.0,)),
]
OF_NODES = [NodeClassifier(**QUICK), RidgeNodeClassifier()]

pytestmark = pytest.mark.filterwarnings("ignore::edgnn.models.UnknownLabelWarning")


def renumbered(graphs, seed=0):
    """Return the same graphs with shuffled vocabularies that hold a label which nothing has."""
    changes = {}
    for kind in ("node", "edge"):
        values = ["unused", *getattr(graphs, f"{kind}_vocabulary")]
        order = np.random.default_rng(seed).permutation(len(values))
        vocabulary = Vocabulary([values[place] for place in order])
        labels = [vocabulary.index(value) for value in getattr(graphs, f"{kind}_labels")]
        changes |= {f"{kind}_label": torch.tensor(labels), f"{kind}_vocabulary": vocabulary}
    return replace(graphs, **changes)


def stored(model):
    _, tensors = model.get_state()
    return {name: value.tolist() for name, value in tensors.items()}


@pytest.fixture(scope="module")
def molecules():
    graphs = edgnn.io.from_smiles(SMILES)
    return graphs, np.array([int("O" in text) for text in SMILES])


def short_name(model):
    return type(model).__name__


@pytest.mark.parametrize("model", OF_GRAPHS, ids=short_name)
def test_unused_labels_and_their_order_change_no_bit_of_a_model_of_graphs(molecules, model):
    graphs, y = molecules
    one, other = clone(model).fit(graphs, y), clone(model).fit(renumbered(graphs), y)
    mixed = renumbered(graphs, seed=1)
    assert stored(one) == stored(other)
    assert list(one.coder.node_vocabulary) == list(other.coder.node_vocabulary)
    assert one.predict(graphs).tolist() == other.predict(mixed).tolist()
    if hasattr(one, "predict_proba"):
        assert np.array_equal(one.predict_proba(graphs), other.predict_proba(mixed))


@pytest.mark.parametrize("model", OF_NODES, ids=short_name)
def test_unused_labels_and_their_order_change_no_bit_of_a_model_of_nodes(molecules, model):
    graphs, _ = molecules
    y = np.array([label == "C" for label in graphs.node_labels]).astype(int)
    some = np.arange(0, graphs.num_nodes, 2)
    other_graphs = renumbered(graphs)
    one = clone(model).fit(graphs.nodes[some], y[some])
    other = clone(model).fit(other_graphs.nodes[some], y[some])
    assert stored(one) == stored(other)
    assert one.predict(graphs.nodes).tolist() == other.predict(other_graphs.nodes).tolist()


def test_splits_of_a_fleet_do_not_depend_on_the_vocabulary_either(molecules):
    class Split:
        train, valid, test, seed = np.arange(4, 22), None, np.arange(4), 0

    graphs, y = molecules
    for model in (GraphClassifier(**QUICK), RidgeGraphClassifier()):
        (one,) = model.predict_splits(graphs, y, [Split()])
        (other,) = model.predict_splits(renumbered(graphs), y, [Split()])
        assert np.array_equal(one["probability"], other["probability"])


@pytest.mark.parametrize(
    "model", [GraphClassifier(**QUICK), RidgeGraphClassifier()], ids=short_name
)
def test_cross_validation_of_graphs_and_of_smiles_agree(molecules, model):
    graphs, y = molecules
    scoring = "neg_log_loss"
    of_graphs = cross_val_score(model, graphs, y, cv=3, scoring=scoring)
    of_texts = cross_val_score(model, np.array(SMILES, dtype=object), y, cv=3, scoring=scoring)
    assert of_graphs.tolist() == of_texts.tolist()


def test_graphs_whose_labels_stand_in_order_are_taken_as_they_are():
    data = edgnn.load_dataset("MUTAG")
    model = GraphClassifier(max_epochs=1, random_state=0).fit(data.graphs, data.targets)
    assert model.coder.node_vocabulary == data.graphs.node_vocabulary
    assert model.coder.edge_vocabulary == data.graphs.edge_vocabulary


def test_a_warm_start_goes_on_with_other_numbers_of_the_same_labels(molecules):
    graphs, y = molecules
    model = GraphClassifier(**QUICK, warm_start=True).fit(graphs, y)
    before = model.coder
    assert model.fit(SMILES[::-1], y[::-1]).coder is before
