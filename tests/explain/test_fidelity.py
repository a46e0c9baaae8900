"""fidelity: an explanation that is right by construction, random sets, sizes, bad input."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

import edgnn
from edgnn.errors import EstimatorError
from edgnn.explain import explain, fidelity
from edgnn.graphs import Graphs


@cache
def decided_by_one_label():
    """Return random trees of ten nodes, half of which have one node labeled X, and a model that finds it."""
    random = np.random.default_rng(0)
    trees, targets = [], []
    for number in range(60):
        labels = random.choice(list("CNO"), 10).tolist()
        if number % 2:
            labels[int(random.integers(10))] = "X"
        ends = [(int(random.integers(node)), node) for node in range(1, 10)]
        trees.append(
            Graphs.from_edges(
                ends, node_labels=labels, edge_labels=random.choice(list("sd"), 9).tolist()
            )
        )
        targets.append(number % 2)
    data = Graphs.concat(trees)
    options = {
        "max_epochs": 80,
        "hidden": 8,
        "learning_rate": 0.05,
        "random_state": 0,
        "validation": None,
    }
    model = edgnn.GraphClassifier(**options).fit(data, targets)
    assert model.score(data, targets) == 1
    return model, data


def test_the_label_that_decides_comes_first_and_is_all_there_is():
    model, data = decided_by_one_label()
    for number in range(1, 12, 2):
        found = explain(model, data[number])
        special = data[number].node_labels.index("X")
        for score in (found.node_score, found.node_gradient, found.node_label_removal):
            assert score.argmax() == special
        measured = fidelity(model, found, shares=(0.1,), take="label")
        assert measured.comprehensiveness[0] > 0.8
        assert abs(measured.sufficiency[0]) < 0.1
        assert measured.random_comprehensiveness[0] < 0.5
        assert found.reasons(1)[0].words == f"node {special} (X)"


def test_whole_share_takes_everything_out_and_leaves_everything_in():
    model, data = decided_by_one_label()
    found = explain(model, data[1])
    for kind in ("node", "link"):
        measured = fidelity(model, found, shares=(1.0,), random_sets=2, kind=kind)
        assert measured.sufficiency[0] == pytest.approx(0, abs=1e-6)
        assert measured.random_comprehensiveness[0] == pytest.approx(
            measured.comprehensiveness[0], abs=1e-6
        )
        assert measured.random_comprehensiveness_std[0] == pytest.approx(0, abs=1e-6)


def test_values_are_those_of_the_reduced_graphs():
    model, data = decided_by_one_label()
    graph = data[3]
    found = explain(model, graph)
    measured = fidelity(model, found, shares=(0.25,), random_sets=1)
    assert measured.sizes == (3,)
    first = np.argsort(-found.node_score, kind="stable")[:3].tolist()
    rest = [node for node in range(10) if node not in first]
    whole, kept, left = (
        model.predict_proba(part)[0, 1]
        for part in (graph, graph.induced(sorted(first)), graph.induced(rest))
    )
    assert measured.sufficiency[0] == pytest.approx(whole - kept, abs=1e-5)
    assert measured.comprehensiveness[0] == pytest.approx(whole - left, abs=1e-5)


def test_same_seed_draws_the_same_sets():
    model, data = decided_by_one_label()
    found = explain(model, data[0])
    one, two, other = (fidelity(model, found, seed=seed).to_dict() for seed in (0, 0, 1))
    assert one == two != other
    assert json.dumps(one, allow_nan=False)


def test_explained_node_always_stays():
    _, data = decided_by_one_label()
    nodes = edgnn.NodeClassifier(max_epochs=2, hidden=4, random_state=0).fit(
        data.nodes, np.arange(len(data.nodes)) % 2
    )
    found = explain(nodes, data.nodes[0])
    measured = fidelity(nodes, found, shares=(0.5, 1.0), random_sets=2)
    assert measured.sizes[1] == found.graph.num_nodes - 1
    assert np.isfinite(measured.comprehensiveness).all()


def test_graph_without_links_has_no_fidelity_of_links():
    model, _ = decided_by_one_label()
    lonely = Graphs.from_edges([], num_nodes=2, node_labels=["X", "C"], edge_labels=[])
    measured = fidelity(model, explain(model, lonely), kind="link")
    assert measured.sizes == (0, 0, 0, 0)
    assert np.isnan(measured.sufficiency).all()
    assert json.dumps(measured.to_dict(), allow_nan=False)


def test_regressors_are_measured_by_absolute_changes():
    _, data = decided_by_one_label()
    model = edgnn.GraphRegressor(max_epochs=2, hidden=4, random_state=0).fit(data, np.arange(60.0))
    measured = fidelity(model, explain(model, data[0]))
    assert (measured.comprehensiveness >= 0).all()
    assert (measured.random_sufficiency >= 0).all()


@pytest.mark.parametrize(
    "option",
    [
        {"shares": (0.0,)},
        {"shares": ()},
        {"shares": (2,)},
        {"random_sets": 0},
        {"kind": "edge"},
        {"take": "x"},
    ],
)
def test_bad_options_of_fidelity_are_named(option):
    model, data = decided_by_one_label()
    (name,) = option
    with pytest.raises(EstimatorError, match=name):
        fidelity(model, explain(model, data[0], steps=1), **option)
