from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import edgnn
from edgnn.errors import EstimatorError
from edgnn.evaluation import Split, kfold
from edgnn.models import RidgeNodeClassifier
from edgnn.models.kernels._surroundings import colors_met, reached, visited
from edgnn.wl import refine
from strategies import graphs

SOME = graphs(features=False, names=False)
COLORS = ("red", "green", "blue")


def people(count, *, seed=0, names=True, prefix=""):
    """Draw people who live in one of three towns and know others; the town is the class."""
    rng = np.random.default_rng(seed)
    town = rng.integers(3, size=count)
    named = [f"{prefix}{number}" for number in range(count)] + [f"town {color}" for color in COLORS]
    edges = [(person, count + town[person]) for person in range(count)]
    edges += [(int(a), int(b)) for a, b in rng.integers(count, size=(count, 2))]
    labels = ["person"] * count + ["town"] * 3
    kinds = ["lives in"] * count + ["knows"] * count
    collection = edgnn.Graphs.from_edges(
        edges,
        num_nodes=count + 3,
        node_labels=labels,
        edge_labels=kinds,
        node_names=named if names else None,
    )
    return collection, np.array(COLORS)[town]


# What lies around


@given(SOME, st.integers(1, 4))
def test_what_is_reached_is_what_following_edges_finds(collection, depth):
    leads = [set() for _ in range(collection.num_nodes)]
    for source, target in zip(
        collection.edge_source.tolist(), collection.edge_target.tolist(), strict=True
    ):
        leads[source].add(target)
    nodes = np.arange(collection.num_nodes)[::-1]
    found = reached(collection, nodes, depth)
    assert len(found) == depth
    for row, node in enumerate(nodes):
        here = {int(node)}
        for matrix in found:
            here |= {after for before in here for after in leads[before]}
            assert set(np.flatnonzero(matrix.toarray()[row]).tolist()) == here
            assert set(matrix.data.tolist()) <= {1.0}


@given(SOME, st.integers(1, 4))
def test_visits_are_the_chances_of_all_walks(collection, length):
    steps = [[] for _ in range(collection.num_nodes)]
    for source, target in zip(
        collection.edge_source.tolist(), collection.edge_target.tolist(), strict=True
    ):
        steps[source].append(target)
        steps[target].append(source)
    found = visited(collection, np.arange(collection.num_nodes), length).toarray()
    for start in range(collection.num_nodes):
        expected, chance = np.zeros(collection.num_nodes), {start: 1.0}
        for step in range(length + 1):
            after = {}
            for node, share in chance.items():
                expected[node] += 10_000 * 0.15 * 0.85**step * share
                for neighbor in steps[node]:
                    after[neighbor] = after.get(neighbor, 0.0) + share / len(steps[node])
            chance = after
        assert_allclose(found[start], expected, atol=1e-9)


def test_many_nodes_are_visited_as_few_are():
    collection, _ = people(300)
    every, some = visited(collection, np.arange(300), 2), visited(collection, np.array([299, 7]), 2)
    assert_allclose(every.toarray()[[299, 7]], some.toarray())
    assert visited(collection, np.zeros(0, dtype=np.int64), 2).shape == (0, 303)


@given(SOME, st.sampled_from(["node", "joint"]))
def test_colors_met_are_those_of_the_nodes_met(collection, scheme):
    coloring, nodes = refine(collection, 2, scheme), np.arange(collection.num_nodes)
    weights = visited(collection, nodes, 2)
    for round, found in enumerate(colors_met(weights, coloring, range(3))):
        colors = coloring.at(round).numpy()
        expected = [
            weights.toarray()[:, colors == color].sum(axis=1) for color in np.unique(colors)
        ]
        assert_allclose(
            found.toarray(), np.reshape(expected, (len(expected), len(nodes))).T, atol=1e-9
        )


# The classifier


@pytest.mark.parametrize("names", [True, False])
def test_nodes_of_the_training_graph_are_told_by_what_they_lead_to(names):
    collection, towns = people(90, names=names)
    model = RidgeNodeClassifier().fit(collection.nodes[:60], towns[:60])
    assert model.score(collection.nodes[60:90], towns[60:]) > 0.9
    assert model.loo_score_ > 0.9
    assert_allclose(model.predict_proba(collection.nodes[60:90]).sum(axis=1), 1)
    assert model.chosen_["kernel"] in ("around", "walks", "both")


@pytest.mark.parametrize("views", ["around", "walks"])
def test_labels_alone_do_not_tell_towns_that_are_not_known_by_name(views):
    collection, towns = people(90)
    score = {}
    for named in (0, 10, 90):
        model = RidgeNodeClassifier(views, named=named, rounds=0).fit(
            collection.nodes[:60], towns[:60]
        )
        score[named] = model.score(collection.nodes[60:90], towns[60:])
    assert score[10] > 0.9
    assert max(score[0], score[90]) < 0.7


def test_a_node_gets_what_it_gets_among_others():
    collection, towns = people(60)
    model = RidgeNodeClassifier().fit(collection.nodes[:40], towns[:40])
    together = model.predict_proba(collection.nodes[40:60])
    alone = np.concatenate(
        [model.predict_proba(collection.nodes[[node]]) for node in range(40, 60)]
    )
    assert_allclose(alone, together, atol=1e-10)
    assert_allclose(
        model.predict_proba(collection.nodes[np.arange(40, 60)[::-1]]), together[::-1], atol=1e-10
    )
    assert model.predict_proba(collection.nodes[:0]).shape == (0, 3)


def test_a_copy_of_the_graph_is_the_graph():
    (collection, towns), (copy, _) = people(60, names=False), people(60, names=False)
    model = RidgeNodeClassifier().fit(collection.nodes[:40], towns[:40])
    assert (
        model.predict_proba(copy.nodes[40:60]) == model.predict_proba(collection.nodes[40:60])
    ).all()


def test_hubs_are_known_again_by_name_in_another_graph():
    collection, towns = people(90)
    model = RidgeNodeClassifier().fit(collection.nodes[:90], towns)
    other, theirs = people(60, seed=1, prefix="other ")
    assert model.score(other.nodes[:60], theirs) > 0.9
    few, at = people(12, seed=2, prefix="few ")
    assert np.bincount(few.edge_target.numpy()).max() < 10
    assert model.score(few.nodes[:12], at) > 0.9
    swapped = dict(
        zip(
            [f"town {color}" for color in COLORS],
            [f"town {color}" for color in np.roll(COLORS, 1)],
            strict=True,
        )
    )
    renamed = few._with(
        node_names=np.array([swapped.get(name, name) for name in few.node_names], dtype=object)
    )
    turned = dict(zip(COLORS, np.roll(COLORS, 1), strict=True))
    assert model.predict(renamed.nodes[:12]).tolist() == [
        turned[said] for said in model.predict(few.nodes[:12])
    ]


def test_the_order_of_nodes_in_another_graph_does_not_matter():
    collection, towns = people(60)
    model = RidgeNodeClassifier().fit(collection.nodes[:60], towns)
    other, _ = people(30, seed=1)
    order = np.random.default_rng(0).permutation(33)
    place = np.argsort(order)
    moved = edgnn.Graphs.from_edges(
        np.stack([place[other.edge_source.numpy()], place[other.edge_target.numpy()]], axis=1),
        node_labels=[other.node_labels[node] for node in order],
        edge_labels=other.edge_labels,
        node_names=[other.node_names[node] for node in order],
    )
    expected = model.predict_proba(other.nodes[np.arange(30)])
    assert_allclose(model.predict_proba(moved.nodes[place[:30]]), expected, atol=1e-10)


def test_hubs_of_another_graph_without_names_cannot_be_known_again():
    (collection, towns), (other, _) = people(60), people(30, seed=1, names=False)
    model = RidgeNodeClassifier().fit(collection.nodes[:60], towns)
    with pytest.raises(EstimatorError, match="give both graphs node names, or choose named=0"):
        model.predict(other.nodes[:30])
    unnamed = RidgeNodeClassifier().fit(other.nodes[:30], towns[:30])
    with pytest.raises(EstimatorError, match="give both graphs node names, or choose named=0"):
        unnamed.predict(collection.nodes[:30])
    assert (
        len(
            RidgeNodeClassifier(named=0).fit(collection.nodes[:60], towns).predict(other.nodes[:30])
        )
        == 30
    )


def test_names_that_no_hub_has_play_no_part():
    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    labels = ["a", "b", "a", "b"]
    first = edgnn.Graphs.from_edges(ring, node_labels=labels, node_names=[1, 2, 3, 4])
    second = edgnn.Graphs.from_edges(ring, node_labels=labels[::-1])
    assert (
        RidgeNodeClassifier().fit(first.nodes[[0, 1]], ["x", "y"]).predict(second.nodes).tolist()
        == ["y", "x"] * 2
    )


def test_a_node_that_is_named_none_is_known_by_that_name():
    edges = [(0, 2), (1, 3)]
    collection = edgnn.Graphs.from_edges(
        edges, node_labels=["p", "p", "t", "t"], node_names=["a", "b", None, "c"]
    )
    model = RidgeNodeClassifier(named=1).fit(collection.nodes[[0, 1]], ["x", "y"])
    plain = edgnn.Graphs.from_edges([(0, 1)], node_labels=["p", "t"], node_names=["e", "f"])
    assert_allclose(model.decision_function(plain.nodes[[0]]), 0, atol=1e-9)
    same = edgnn.Graphs.from_edges([(0, 1)], node_labels=["p", "t"], node_names=["e", None])
    assert model.predict(same.nodes[[0]]).tolist() == ["x"]


def test_all_splits_at_once_give_what_single_fits_give():
    collection, towns = people(60)
    X, splits = collection.nodes[np.arange(60)], kfold(towns, 3, 1, seed=0, validation=0.2)
    for split, answer in zip(
        splits, RidgeNodeClassifier(n_jobs=2).predict_splits(X, towns, splits), strict=True
    ):
        alone = RidgeNodeClassifier().fit(X[split.known], towns[split.known])
        assert answer["prediction"].tolist() == alone.predict(X[split.test]).tolist()
        assert_allclose(answer["probability"], alone.predict_proba(X[split.test]), atol=1e-8)
        assert answer["training_accuracy"] == pytest.approx(
            alone.score(X[split.known], towns[split.known])
        )
        assert answer["chosen"] == alone.chosen_ | {"loo_error": pytest.approx(alone.loo_error_)}


def test_classes_of_test_nodes_change_nothing():
    collection, towns = people(60)
    X, split = (
        collection.nodes[np.arange(60)],
        Split(np.arange(40), np.arange(40, 60), None, 0, 0, 0),
    )
    changed = towns.copy()
    changed[40:] = np.roll(changed[40:], 1)
    first, second = (
        RidgeNodeClassifier().predict_splits(X, y, [split])[0] for y in (towns, changed)
    )
    assert_array_equal(first["probability"], second["probability"])


def test_one_class_and_lonely_nodes_are_no_trouble():
    lonely = edgnn.Graphs.from_edges([], num_nodes=4, node_labels=["a", "a", "b", "b"])
    assert RidgeNodeClassifier().fit(lonely.nodes[[0, 2]], ["x", "y"]).predict(
        lonely.nodes
    ).tolist() == ["x", "x", "y", "y"]
    only = RidgeNodeClassifier().fit(lonely.nodes[:2], ["x", "x"])
    assert_allclose(only.predict_proba(lonely.nodes), np.ones((4, 1)))


def test_features_and_graphs_are_refused():
    featured = edgnn.Graphs.from_edges([(0, 1)], node_features=np.ones((2, 1), dtype=np.float32))
    with pytest.raises(EstimatorError, match=r"continuous features.*edgnn\.wl\.Discretizer"):
        RidgeNodeClassifier().fit(featured.nodes, [0, 1])
    with pytest.raises(EstimatorError, match="X holds graphs"):
        RidgeNodeClassifier().fit(people(5)[0], [0])


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ({"views": "far"}, "views='far': choose 'around' or 'walks'"),
        ({"views": ()}, r"views=\(\)"),
        ({"schemes": ("node", "node")}, r"schemes=\('node', 'node'\)"),
        ({"rounds": -1}, "rounds=-1: choose a whole number from 0 to 100"),
        ({"depth": 0}, "depth=0: choose a whole number from 1 to 100"),
        ({"length": 1.0}, r"length=1\.0"),
        ({"named": -1}, "named=-1: choose a number of edges, or 0"),
        ({"named": None}, "named=None"),
        ({"width": -2}, "width=-2: choose a number above 0"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameter, message):
    collection, towns = people(9)
    with pytest.raises(EstimatorError, match=message):
        RidgeNodeClassifier(**parameter).fit(collection.nodes[:9], towns)


def test_a_pickled_classifier_predicts_the_same_and_scikit_learn_can_use_it():
    collection, towns = people(45)
    X = collection.nodes[np.arange(45)]
    model = RidgeNodeClassifier("walks", rounds=1, length=2).fit(X[:30], towns[:30])
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict_proba(X[30:]) == model.predict_proba(X[30:])).all()
    assert clone(model).get_params() == model.get_params()
    assert cross_val_score(clone(model), X, towns, cv=3).mean() > 0.8


@pytest.mark.slow
def test_persons_of_aifb_are_told_apart_by_their_training_part_alone(data_dir):
    data = edgnn.load_dataset("AIFB", data_dir=data_dir)
    known = data.split["train"]
    model = RidgeNodeClassifier().fit(data.nodes[known], data.targets[known])
    assert model.loo_score_ > 0.85
    assert model.score(data.nodes[known], data.targets[known]) > 0.95
