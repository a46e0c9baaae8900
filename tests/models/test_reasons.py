"""Reasons of models of counts: similar items, rules in words, contributions that add up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit

import edgnn
from edgnn import AutoClassifier, AutoRegressor
from edgnn.errors import EstimatorError
from edgnn.models import load_model
from strategies import graphs as random_graphs

TEXTS = [
    *("C", "CC", "CCC", "CCO", "CCN", "CC=O", "CCCC", "CO", "CN", "CCCO", "CCCN", "CCOC"),
    *("C=C", "C#N", "CC#N", "OCCO", "NCCN", "CCCl", "CBr", "CC(C)C", "CC(=O)O", "c1ccccc1"),
    *("c1ccccc1O", "c1ccccc1N", "CC(=O)N", "C[N+](C)(C)C", "OC(=O)CC(=O)O", "C1CCCCC1"),
]
OXYGENS = np.array([text.count("O") for text in TEXTS], dtype=float)


@pytest.fixture(scope="module")
def mutag():
    return edgnn.load_dataset("MUTAG")


@pytest.fixture(scope="module")
def classifier(mutag):
    return AutoClassifier(("ridge", "sparse"), random_state=0).fit(mutag.graphs, mutag.targets)


def test_shares_of_all_training_items_add_up_to_the_prediction():
    model = AutoRegressor("ridge", random_state=0).fit(TEXTS, OXYGENS)
    new = ["OCCCO", "CCCCC"]
    found = model.similar(new, count=len(TEXTS))
    totals = [sum(near.share[0] for near in row) for row in found]
    intercept = model._fitted["ridge"].solution.intercept
    assert_allclose(totals + intercept, model.predict(new), rtol=1e-5)
    assert [len(row) for row in found] == [len(TEXTS)] * 2
    for row in found:
        alike = [near.similarity for near in row]
        assert alike == sorted(alike, reverse=True)
    itself = model.similar([TEXTS[7]], count=1)[0][0]
    assert (itself.position, itself.name, itself.target) == (7, TEXTS[7], OXYGENS[7])
    assert itself.similarity == pytest.approx(1)
    assert model.similar_graphs([7]).graph_names.tolist() == [TEXTS[7]]


def test_a_loaded_model_gives_the_same_reasons(classifier, mutag, tmp_path):
    classifier.save(tmp_path / "run")
    loaded = load_model(tmp_path / "run")
    for mine, theirs in zip(
        classifier.similar(mutag.graphs[:2]), loaded.similar(mutag.graphs[:2]), strict=True
    ):
        assert [near.position for near in mine] == [near.position for near in theirs]
        assert_allclose([near.share for near in mine], [near.share for near in theirs])
    if "sparse" in classifier._shares:
        assert classifier.find_rules(5) == loaded.find_rules(5)


def test_rules_name_where_a_count_occurs(classifier, mutag):
    rules = classifier.find_rules(10)
    effects = [rule.effect for rule in rules]
    assert effects == sorted(effects, reverse=True)
    assert min(effects) > 0
    assert len({(rule.target, rule.items, rule.text) for rule in rules}) == len(rules)
    for rule in rules:
        assert rule.items == sum(rule.by_class)
        assert rule.target in (0, 1)
        graph = classifier.similar_graphs([rule.position])
        assert all(0 <= node < graph.num_nodes for node in rule.nodes)
        assert rule.text


def test_a_rule_says_what_the_target_was_made_of():
    data = [text.replace("O", "S") if "=O" not in text else text for text in TEXTS]
    values = [3.0 * text.count("S") for text in data]
    model = AutoRegressor("sparse", descriptors="none", random_state=0).fit(data, values)
    top = model.find_rules(6)
    assert any("S" in rule.text for rule in top)
    sulfur = next(rule for rule in top if "S" in rule.text and rule.kind == "color")
    assert sulfur.weight > 0
    assert sulfur.mean_with > sulfur.mean_without == 0
    graph = model.similar_graphs([sulfur.position])
    assert all(graph.node_labels[node] == "S" for node in sulfur.nodes) or sulfur.round > 0


@given(new=random_graphs(min_graphs=1, max_graphs=4, labels=st.none(), features=False))
@settings(max_examples=25, deadline=None)
def test_contributions_add_up_to_predictions(new, sparse_of_graphs):
    parts = sparse_of_graphs.contributions(new)
    assert parts.node.shape == (new.num_nodes, 1)
    assert_allclose(parts.scores[:, 0], sparse_of_graphs.predict(new), atol=1e-6)


@pytest.fixture(scope="module")
def sparse_of_graphs(mutag):
    graphs = mutag.graphs[:60].with_node_labels(None).with_edge_labels(None)
    sizes = graphs.sizes.numpy() + np.arange(60) % 3
    return AutoRegressor("sparse", random_state=0).fit(graphs, sizes)


@pytest.mark.parametrize("descriptors", ["none", "rdkit"])
def test_contributions_of_molecules_with_pairs_and_numbers(descriptors):
    targets = np.stack([OXYGENS, OXYGENS**2], 1)
    model = AutoRegressor("sparse", descriptors=descriptors, random_state=0).fit(TEXTS, targets)
    new = ["OCCCO", "CC(=O)CCN", "C"]
    parts = model.contributions(new)
    assert_allclose(parts.scores, model.predict(new), atol=1e-6)
    assert parts.rest.any() == (descriptors == "rdkit")
    labels = (targets > 1).astype(float)
    classifier = AutoClassifier("sparse", descriptors=descriptors, random_state=0)
    classifier.fit(TEXTS, labels)
    scores = classifier.contributions(new).scores
    assert_allclose(expit(scores), classifier.predict_proba(new), atol=1e-6)


def test_what_cannot_be_said_says_why(classifier):
    forest = AutoRegressor("forest", descriptors="none", random_state=0).fit(TEXTS, OXYGENS)
    with pytest.raises(EstimatorError, match="ridge is among the learners"):
        forest.similar(["C"])
    with pytest.raises(EstimatorError, match="sparse learner alone"):
        forest.contributions(["C"])
    assert len(forest.find_rules(3)) == 3  # a sparse model is fitted to describe the data
    with pytest.raises(EstimatorError, match="count=0"):
        classifier.find_rules(0)
