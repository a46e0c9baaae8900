from __future__ import annotations

import math
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import edgnn
from edgnn.errors import EstimatorError
from edgnn.evaluation import evaluate, kfold
from edgnn.models import RidgeGraphClassifier, WLClassifier
from edgnn.models.kernels import _network
from edgnn.wl import refine
from mutag import load_mutag
from strategies import graphs

DATA = load_mutag()
GRAPHS, CLASSES = DATA.graphs[:60], np.array(["no", "yes"])[DATA.targets[:60]]
NEW = DATA.graphs[60:90]
SIZES = np.array(["small", "middle", "large"])[np.digitize(GRAPHS.sizes.numpy(), [15, 19])]


@pytest.fixture(scope="module")
def fitted():
    return RidgeGraphClassifier().fit(GRAPHS, CLASSES)


def scale_of(K):
    return float(np.mean(np.diag(K - K.mean(axis=0))))


def test_colors_alone_are_the_weisfeiler_lehman_rival():
    ours, rival = (
        RidgeGraphClassifier("wl").fit(GRAPHS, CLASSES),
        WLClassifier(ring_sizes=True).fit(GRAPHS, CLASSES),
    )
    assert_allclose(ours.decision_function(NEW), rival.decision_function(NEW), atol=1e-9)
    assert ours.predict(NEW).tolist() == rival.predict(NEW).tolist()
    assert ours.chosen_["strength"] == rival.chosen_["strength"]


def test_both_parts_are_the_mean_of_their_similarities():
    kernels = {parts: RidgeGraphClassifier(parts) for parts in ("wl", "network", ("wl", "network"))}
    similar = {}
    for parts, model in kernels.items():
        seen = model._represent(GRAPHS)
        ((_, kernel),) = model._kernels(seen, seen).items()
        similar[parts] = 1 + np.log(kernel) / 2
        assert_allclose(np.diag(kernel), 1)
        assert_allclose(kernel, kernel.T, atol=1e-12)
        assert np.linalg.eigvalsh(kernel).min() > -1e-9
    assert_allclose(similar["wl", "network"], (similar["wl"] + similar["network"]) / 2, atol=1e-12)
    assert np.abs(similar["wl"] - similar["network"]).max() > 0.1


def test_a_graph_gets_what_it_gets_among_others(fitted):
    together = fitted.predict_proba(NEW)
    assert_allclose(
        np.concatenate([fitted.predict_proba(NEW[[number]]) for number in range(len(NEW))]),
        together,
        atol=1e-10,
    )
    backwards = np.arange(len(NEW))[::-1]
    assert_allclose(fitted.predict_proba(NEW[backwards]), together[::-1], atol=1e-10)
    assert_allclose(fitted.predict_proba([NEW[:3], NEW[3:]]), together, atol=1e-10)


def test_the_order_of_training_graphs_does_not_matter(fitted):
    order = np.random.default_rng(0).permutation(len(GRAPHS))
    other = RidgeGraphClassifier().fit(GRAPHS[order], CLASSES[order])
    assert_allclose(other.predict_proba(NEW), fitted.predict_proba(NEW), atol=1e-8)
    assert_allclose(other.loo_decision_, fitted.loo_decision_[order], atol=1e-8)


@pytest.mark.parametrize("targets", [CLASSES, SIZES])
def test_all_splits_at_once_give_what_single_fits_give(targets):
    splits, done = kfold(targets, 3, 1, seed=1, validation=0.2), []
    answers = RidgeGraphClassifier(n_jobs=2).predict_splits(
        GRAPHS, targets, splits, on_split=done.append
    )
    assert done == [1, 2, 3]
    for split, answer in zip(splits, answers, strict=True):
        alone = RidgeGraphClassifier().fit(GRAPHS[split.known], targets[split.known])
        assert answer["prediction"].tolist() == alone.predict(GRAPHS[split.test]).tolist()
        assert_allclose(answer["probability"], alone.predict_proba(GRAPHS[split.test]), atol=1e-8)
        assert answer["classes"].tolist() == alone.classes_.tolist()
        assert answer["training_accuracy"] == pytest.approx(
            alone.score(GRAPHS[split.known], targets[split.known])
        )
        assert answer["chosen"] == alone.chosen_ | {"loo_error": pytest.approx(alone.loo_error_)}


def test_classes_of_test_graphs_change_nothing():
    splits = kfold(CLASSES, 3, 1, seed=2)
    outcome = evaluate(RidgeGraphClassifier(), GRAPHS, CLASSES, splits[:1]).outcomes[0]
    changed = CLASSES.copy()
    changed[splits[0].test] = np.where(CLASSES[splits[0].test] == "no", "yes", "no")
    again = evaluate(RidgeGraphClassifier(), GRAPHS, changed, splits[:1]).outcomes[0]
    assert (again.probability == outcome.probability).all()


@pytest.mark.parametrize("targets", [CLASSES, SIZES])
def test_left_out_decisions_are_those_of_solving_without_the_graph(targets):
    model = RidgeGraphClassifier().fit(GRAPHS, targets)
    seen = model._represent(GRAPHS)
    ((_, K),) = model._kernels(seen, seen).items()
    codes = np.searchsorted(model.classes_, targets)
    values = (
        np.where(codes == 1, 1.0, -1.0)[:, None] if len(model.classes_) == 2 else np.eye(3)[codes]
    )
    strength, expected = model.chosen_["strength"] * scale_of(K), []
    for item in range(len(K)):
        rest = np.delete(np.arange(len(K)), item)
        ones = np.ones((len(rest), 1))
        system = np.block(
            [
                [K[np.ix_(rest, rest)] + strength * np.eye(len(rest)), ones],
                [ones.T, np.zeros((1, 1))],
            ]
        )
        solution = np.linalg.solve(
            system, np.vstack([values[rest], np.zeros((1, values.shape[1]))])
        )
        expected.append(K[item, rest] @ solution[:-1] + solution[-1])
    expected = np.array(expected)
    assert_allclose(model.loo_decision_.reshape(expected.shape), expected, atol=1e-7)
    assert model.loo_error_ == pytest.approx(((values - expected) ** 2).mean())
    said = expected.argmax(axis=1) if len(model.classes_) == 3 else expected[:, 0] > 0
    assert model.loo_score_ == pytest.approx(np.mean(said == codes))
    assert 0.5 < model.loo_score_ < 1


def test_three_classes_have_a_decision_each_and_probabilities_sum_to_one():
    model = RidgeGraphClassifier().fit(GRAPHS, SIZES)
    assert model.classes_.tolist() == ["large", "middle", "small"]
    assert model.decision_function(NEW).shape == (30, 3)
    assert_allclose(model.predict_proba(NEW).sum(axis=1), 1)
    assert (
        model.classes_[model.predict_proba(NEW).argmax(axis=1)].tolist()
        == model.predict(NEW).tolist()
    )
    assert (
        model.score(
            NEW, np.array(["small", "middle", "large"])[np.digitize(NEW.sizes.numpy(), [15, 19])]
        )
        > 0.8
    )


def test_left_out_accuracy_foretells_that_of_new_graphs():
    model = RidgeGraphClassifier().fit(DATA.graphs[::2], DATA.targets[::2])
    score = model.score(DATA.graphs[1::2], DATA.targets[1::2])
    assert score > 0.8
    assert abs(model.loo_score_ - score) < 0.08


def test_graphs_without_nodes_or_edges_are_graphs():
    empty = edgnn.Graphs.from_edges([], sizes=[0, 0, 1])
    model = RidgeGraphClassifier().fit(
        edgnn.Graphs.concat([empty, empty]), ["none", "none", "one"] * 2
    )
    assert model.predict(empty).tolist() == ["none", "none", "one"]
    assert model.predict_proba(empty[:0]).shape == (0, 2)
    assert RidgeGraphClassifier().fit(empty[:2], [0, 0]).predict(empty[:2]).tolist() == [0, 0]


@pytest.mark.parametrize("parts", ["wl", "network", ("wl", "network")])
def test_graphs_without_nodes_are_like_each_other_alone(parts):
    model = RidgeGraphClassifier(parts, width=3.0)
    seen = model._represent(edgnn.Graphs.from_edges([], sizes=[0, 1, 0]))
    ((_, kernel),) = model._kernels(seen, seen).items()
    apart = np.exp(-3.0)
    assert_allclose(kernel, [[1, apart, 1], [apart, 1, apart], [1, apart, 1]])


def test_one_class_is_always_predicted():
    model = RidgeGraphClassifier().fit(GRAPHS[:4], ["only"] * 4)
    assert model.predict(NEW[:2]).tolist() == ["only"] * 2
    assert_allclose(model.predict_proba(NEW[:2]), 1)
    assert model.loo_score_ == 1
    assert (
        RidgeGraphClassifier().fit(GRAPHS[:1], ["only"]).predict(NEW[:2]).tolist() == ["only"] * 2
    )


def test_labels_never_seen_are_like_nothing(fitted):
    strange = edgnn.Graphs.from_edges([(0, 1)], node_labels=["?", "?"], edge_labels=["?"])
    probability = fitted.predict_proba(strange)
    assert_allclose(probability, fitted.predict_proba(strange.renamed(node_labels={"?": "!"})))
    known = NEW[:2]
    assert_allclose(
        fitted.predict_proba(edgnn.Graphs.concat([known, strange]))[:2],
        fitted.predict_proba(known),
        atol=1e-10,
    )


def test_features_are_refused_with_a_way_out():
    featured = edgnn.Graphs.from_edges([(0, 1)], node_features=np.ones((2, 1), dtype=np.float32))
    with pytest.raises(EstimatorError, match=r"continuous features.*edgnn\.wl\.Discretizer"):
        RidgeGraphClassifier().fit(featured, [0])


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ({"parts": ()}, r"parts=\(\): choose 'wl' or 'network', or several of them, each once"),
        ({"parts": "colors"}, r"parts='colors'"),
        ({"parts": ("wl", "wl")}, r"parts=\('wl', 'wl'\)"),
        ({"schemes": "both"}, r"schemes='both': choose 'node', 'separate' or 'joint'"),
        ({"schemes": 3}, "schemes=3"),
        ({"depth": 0}, "depth=0: choose a whole number from 1 to 1000"),
        ({"layers": 1.5}, "layers=1.5"),
        ({"scale": 0}, "scale=0: choose a number above 0"),
        ({"scale": "1"}, "scale='1'"),
        ({"width": np.inf}, "width=inf"),
        ({"width": True}, "width=True"),
        ({"ring_sizes": "yes"}, "ring_sizes='yes': choose True or False"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameter, message):
    with pytest.raises(EstimatorError, match=message):
        RidgeGraphClassifier(**parameter).fit(GRAPHS, CLASSES)
    with pytest.raises(EstimatorError, match=message):
        RidgeGraphClassifier(**parameter).predict_splits(
            GRAPHS, CLASSES, kfold(CLASSES, 3, 1, seed=0)
        )


def test_nothing_is_there_before_fitting():
    for ask in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(EstimatorError, match="this RidgeGraphClassifier is not fitted yet"):
            getattr(RidgeGraphClassifier(), ask)(NEW)
    assert not hasattr(RidgeGraphClassifier(), "loo_score_")


def test_parameters_set_after_fitting_wait_for_the_next_fit():
    model = RidgeGraphClassifier("wl").fit(GRAPHS[:20], CLASSES[:20])
    before = model.predict_proba(NEW[:3])
    model.set_params(parts="network", width=5.0, ring_sizes=False)
    assert (model.predict_proba(NEW[:3]) == before).all()
    assert np.abs(model.fit(GRAPHS[:20], CLASSES[:20]).predict_proba(NEW[:3]) - before).max() > 1e-3


def test_a_pickled_classifier_predicts_the_same(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict_proba(NEW[:3]) == fitted.predict_proba(NEW[:3])).all()
    assert again.loo_score_ == fitted.loo_score_


def test_scikit_learn_can_use_it():
    model = RidgeGraphClassifier("wl", depth=2, width=3.0)
    assert clone(model).get_params() == model.get_params()
    scores = cross_val_score(model, GRAPHS, CLASSES, cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.6
    search = GridSearchCV(model, {"width": [0.01, 2.0]}, cv=3, refit=True).fit(GRAPHS, CLASSES)
    assert search.best_params_["width"] in (0.01, 2.0)
    assert len(search.predict(NEW)) == len(NEW)


def test_graphs_compared_in_pieces_get_what_they_get_together(monkeypatch):

    data = edgnn.load_dataset("MUTAG")
    model = edgnn.RidgeGraphClassifier(depth=2, layers=1).fit(data.graphs[:30], data.targets[:30])
    together = model.decision_function(data.graphs[30:41])
    monkeypatch.setattr("edgnn.models.kernels._ridge_graphs._AT_ONCE", 4)
    np.testing.assert_allclose(model.decision_function(data.graphs[30:41]), together, atol=1e-10)
    assert model.predict(data.graphs[:0]).shape == (0,)


SCHEMES = st.sampled_from(["node", "separate", "joint"])


def seen_from(collection, scheme):
    """Return for every node the (code, neighbor) entries a layer sums over, and its counts of labels."""
    entries = [[] for _ in range(collection.num_nodes)]
    labels = [Counter() for _ in entries]
    ends = zip(
        collection.edge_source.tolist(),
        collection.edge_target.tolist(),
        collection.edge_label.tolist(),
        strict=True,
    )
    for source, target, label in ends:
        entries[target].append((("in", label), source))
        entries[source].append((("out", label), target))
        labels[target]["in", label] += 1
        labels[source]["out", label] += 1
    if scheme == "joint":
        return entries, None
    return [
        [(0, node) for node in {node for _, node in row}] for row in entries
    ], labels if scheme == "separate" else None


def plain_products(collection, scheme, layers, scale):
    """Follow the recursion over all pairs of nodes, one by one."""
    entries, labels = seen_from(collection, scheme)
    nodes, label = range(collection.num_nodes), collection.node_label.tolist()
    owner, size = collection.graph_of_node.tolist(), len(collection)
    alike = [[float(label[u] == label[v]) for v in nodes] for u in nodes]
    total = np.zeros((size, size))

    def product(u, v):
        around = sum(alike[a][b] for i, a in entries[u] for j, b in entries[v] if i == j)
        counts = (
            0
            if labels is None
            else sum(times * labels[v][code] for code, times in labels[u].items())
        )
        return alike[u][v] + around + counts

    for layer in range(layers + 1):
        if layer:
            inner = [[product(u, v) for v in nodes] for u in nodes]
            alike = [
                [
                    math.exp(-scale * max(inner[u][u] + inner[v][v] - 2 * inner[u][v], 0))
                    for v in nodes
                ]
                for u in nodes
            ]
        for u in nodes:
            for v in nodes:
                total[owner[u], owner[v]] += alike[u][v]
    return total


@given(
    graphs(features=False, names=False),
    SCHEMES,
    st.integers(0, 3),
    st.sampled_from([0.05, 0.3, 1.0]),
)
def test_products_are_those_of_the_recursion_over_all_pairs_of_nodes(
    collection, scheme, layers, scale
):
    found = _network.readout_products(refine(collection, layers, scheme), layers, scale)
    assert found.shape == (len(collection), len(collection))
    assert_allclose(found, plain_products(collection, scheme, layers, scale), rtol=1e-9, atol=1e-9)


@given(graphs(features=False, names=False, min_graphs=1), SCHEMES)
def test_graphs_alone_get_the_products_they_have_among_others(collection, scheme):
    together = _network.readout_products(refine(collection, 2, scheme), 2, 0.3)
    assert_allclose(
        _network.readout_products(refine(collection[-1:], 2, scheme), 2, 0.3),
        together[-1:, -1:],
        rtol=1e-9,
    )


def test_more_rounds_than_layers_change_nothing():
    data = edgnn.load_dataset("MUTAG").graphs[:20]
    assert_allclose(
        _network.readout_products(refine(data, 5, "joint"), 2, 1.0),
        _network.readout_products(refine(data, 2, "joint"), 2, 1.0),
    )


def test_products_are_the_mean_over_wide_networks_of_random_weights():
    molecules = edgnn.Graphs.concat(
        [
            edgnn.Graphs.from_edges(
                [(0, 1), (1, 2), (2, 0)], node_labels=["C", "C", "N"], edge_labels=[1, 2, 1]
            ),
            edgnn.Graphs.from_edges(
                [(0, 1), (2, 1), (1, 3)], node_labels=["C", "N", "C", "C"], edge_labels=[1, 1, 2]
            ),
        ]
    )
    scale, width, rng = 0.2, 3072, np.random.default_rng(0)
    entries, counts = seen_from(molecules, "separate")
    codes = sorted({code for row in counts for code in row})
    labels = np.array([[row[code] for code in codes] for row in counts], dtype=np.float32)
    adjacency = np.zeros((7, 7), dtype=np.float32)
    for node, row in enumerate(entries):
        adjacency[node, [neighbor for _, neighbor in row]] = 1
    part = np.repeat(np.eye(2, dtype=np.float32), [3, 4], axis=1)

    def layer(state):
        z = np.concatenate([state, adjacency @ state, labels], axis=1)
        weight = rng.standard_normal((z.shape[1], width), dtype=np.float32)
        phase = rng.uniform(0, 2 * np.pi, width).astype(np.float32)
        return np.sqrt(2 / width) * np.cos(np.sqrt(2 * scale) * z @ weight + phase).astype(
            np.float32
        )

    def readout_product():
        states = [np.eye(2, dtype=np.float32)[molecules.node_label.numpy()]]
        for _ in range(2):
            states.append(layer(states[-1]))
        return sum((part @ state) @ (part @ state).T for state in states)

    sample = np.array([readout_product() for _ in range(6)])
    error = sample.std(axis=0, ddof=1) / np.sqrt(len(sample))
    exact = _network.readout_products(refine(molecules, 2, "separate"), 2, scale)
    assert (error < 0.01 * exact).all()
    assert (np.abs(sample.mean(axis=0) - exact) < 5 * error + 2e-3 * exact).all()
    other = _network.readout_products(refine(molecules, 2, "node"), 2, scale)
    assert (np.abs(sample.mean(axis=0) - other) > 5 * error + 2e-3 * other).any()


def test_more_colors_than_can_be_compared_are_refused_with_a_way_out(monkeypatch):
    coloring = refine(edgnn.load_dataset("MUTAG").graphs[:20], 2, "joint")
    monkeypatch.setattr(_network, "MOST_COLORS", coloring.num_colors(2) - 1)
    _network.readout_products(coloring, 1, 1.0)
    with pytest.raises(
        EstimatorError,
        match=rf"the nodes have {coloring.num_colors(2)} colors after 2 rounds.*parts=\('wl',\)",
    ):
        _network.readout_products(coloring, 2, 1.0)


def test_with_too_many_colors_shared_colors_alone_are_compared(monkeypatch):
    monkeypatch.setattr(_network, "MOST_COLORS", 50)
    alone = RidgeGraphClassifier(("wl",)).fit(GRAPHS, CLASSES)
    with pytest.warns(UserWarning, match="shared colors alone are compared"):
        model = RidgeGraphClassifier().fit(GRAPHS, CLASSES)
    assert model.parts == ("wl", "network"), "parameters stay as they were given"
    assert_allclose(model.predict_proba(NEW), alone.predict_proba(NEW))
    with pytest.raises(EstimatorError, match="colors after"):
        RidgeGraphClassifier(("network",)).fit(GRAPHS, CLASSES)
    splits = kfold(CLASSES, 2, validation=None)
    with pytest.warns(UserWarning, match="shared colors alone are compared"):
        by_splits = RidgeGraphClassifier().predict_splits(GRAPHS, CLASSES, splits)
    expected = RidgeGraphClassifier(("wl",)).predict_splits(GRAPHS, CLASSES, splits)
    assert_allclose(by_splits[0]["probability"], expected[0]["probability"])
