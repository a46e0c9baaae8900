"""A budget of seconds ends explanations early, and they say what was left out."""

import numpy as np
import pytest

import edgnn
from edgnn import Graphs
from edgnn.errors import EstimatorError
from edgnn.explain import Explained, counter_example, explain


@pytest.fixture(scope="module")
def model():
    data = edgnn.load_dataset("MUTAG")
    return edgnn.GraphClassifier(max_epochs=1, hidden=8, random_state=0).fit(
        data.graphs, data.targets
    )


@pytest.fixture(scope="module")
def ring():
    count = 120
    labels = np.random.default_rng(0).choice(list("CNO"), count).tolist()
    edges = [(node, (node + 1) % count) for node in range(count)]
    return Graphs.from_edges(
        edges, num_nodes=count, node_labels=labels, edge_labels=["single"] * count
    )


def test_what_is_not_tried_in_time_is_nan_and_named(model, ring):
    some = explain(model, ring, seconds=1e-9)
    whole = explain(model, ring)
    assert whole.complete
    assert not some.complete
    tried = ~np.isnan(some.node_removal)
    assert 0 < tried.sum() < 60
    assert some.node_removal[tried] == pytest.approx(whole.node_removal[tried], abs=1e-5)
    nodes, links = some.left_out
    assert nodes == (~tried).sum()
    assert links > 0
    text = Explained(some).left_out
    assert f"{nodes} of 120 nodes" in text
    assert f"{links} of 120 links" in text
    assert Explained(whole).left_out == ""
    assert some.reasons()


def test_the_elements_with_the_largest_gradients_come_first(model, ring):
    some = explain(model, ring, seconds=1e-9)
    tried = np.abs(some.node_gradient[~np.isnan(some.node_removal)])
    assert np.abs(some.node_gradient).max() in tried


def test_enough_time_leaves_nothing_out(model, ring):
    whole, timed = explain(model, ring), explain(model, ring, seconds=3600)
    assert timed.complete
    assert timed.node_removal == pytest.approx(whole.node_removal, abs=1e-5)
    assert timed.link_removal == pytest.approx(whole.link_removal, abs=1e-5)


def test_a_search_ends_with_its_time(model, ring):
    looks = []
    counter_example(model, ring, seconds=1e-9, check=lambda: looks.append(1))
    assert len(looks) < 5


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), float("inf"), "long", True])
def test_a_budget_is_a_number_above_zero(model, ring, seconds):
    for call in (explain, counter_example):
        with pytest.raises(EstimatorError, match=r"seconds=.*: choose a number above 0, or None"):
            call(model, ring, seconds=seconds)
