from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

import edgnn
from edgnn import Graphs
from edgnn.errors import EstimatorError
from edgnn.evaluation import Split, evaluate, holdout, kfold
from edgnn.models import WLClassifier
from mutag import load_mutag
from strategies import graphs as random_graphs
from wl_reference import reference

MUTAG = load_mutag()
Y = np.asarray(MUTAG.targets)
FEW = np.arange(0, 188, 3)
VARIANTS = [
    {},
    {"ring_sizes": True},
    {"kernel": "select", "depth": (0, 2)},
    {"kernel": "rbf", "scheme": ("node", "separate"), "depth": 2},
    {"solver": "svm", "depth": 2, "scheme": "joint"},
]


def ring(*lengths: int) -> Graphs:
    """Return one graph of disjoint directed cycles."""
    edges, start = [], 0
    for length in lengths:
        edges += [(start + node, start + (node + 1) % length) for node in range(length)]
        start += length
    return Graphs.from_edges(edges)


def graph(labels: str, edges: list[tuple[int, int]], edge_labels: str | None = None) -> Graphs:
    return Graphs.from_edges(
        edges,
        num_nodes=len(labels),
        node_labels=list(labels),
        edge_labels=edge_labels or "-" * len(edges),
    )


def village() -> tuple[edgnn.Nodes, np.ndarray]:
    """Return people who belong to one of three houses of different sizes, and the house of each."""
    home = np.array([0] * 8 + [1] * 10 + [2] * 12)
    people = len(home)
    edges = [(person, people + house) for person, house in enumerate(home)] + [
        (0, 1),
        (1, 9),
        (9, 20),
    ]
    graphs = Graphs.from_edges(
        edges, num_nodes=people + 3, edge_labels=["lives in"] * people + ["knows"] * 3
    )
    return graphs.nodes[:people], home


def kernel_by_hand(
    graphs: Graphs, schemes: tuple[str, ...], depths: tuple[int, ...], width: float
) -> np.ndarray:
    owner, total = graphs.graph_of_node.tolist(), np.zeros((len(graphs), len(graphs)))
    for scheme in schemes:
        rounds = reference(graphs, max(depths), scheme)
        for depth in depths:
            counts = [{} for _ in range(len(graphs))]
            for number, colors in enumerate(rounds[: depth + 1]):
                for item, color in zip(owner, colors, strict=True):
                    counts[item][number, color] = counts[item].get((number, color), 0) + 1
            for i, x in enumerate(counts):
                for j, y in enumerate(counts):
                    total[i, j] += similarity(x, y) / 2 / len(schemes) / len(depths)
    return np.exp(-width * (1 - total))


def similarity(x: dict, y: dict) -> float:
    """Return the Tanimoto similarity plus the cosine of logarithms; two for nothing and nothing."""
    if not x or not y:
        return 2.0 * (not x and not y)
    keys = sorted({*x, *y}, key=repr)
    a, b = (np.array([side.get(key, 0) for key in keys], float) for side in (x, y))
    logs = np.log1p(a), np.log1p(b)
    return np.minimum(a, b).sum() / np.maximum(a, b).sum() + logs[0] @ logs[1] / np.sqrt(
        logs[0] @ logs[0] * (logs[1] @ logs[1])
    )


@settings(max_examples=25)
@given(
    random_graphs(min_graphs=1, max_graphs=4, features=False),
    st.sampled_from([(1.0, (1, 3)), (2.0, (0,)), (2.0, (2, 1))]),
)
def test_the_averaged_kernel_is_its_formula(graphs, setting):
    width, depths = setting
    rival = WLClassifier(width=width, depth=depths)
    colored = rival._represent(graphs)
    expected = kernel_by_hand(graphs, ("node", "separate", "joint"), depths, width)
    assert_allclose(rival._kernels(colored, colored)["average"], expected, atol=1e-12)


@settings(max_examples=25)
@given(
    random_graphs(min_graphs=2, max_graphs=4, features=False),
    st.sampled_from(["average", "select"]),
    st.booleans(),
)
def test_new_graphs_compare_as_if_they_had_been_there_all_along(graphs, kernel, ring_sizes):
    rival = WLClassifier(kernel, ring_sizes=ring_sizes)
    together, known = rival._represent(graphs), rival._represent(graphs[:1])
    new = rival._represent(graphs[1:], known)
    expected = rival._kernels(together, together)
    for setting, K in rival._kernels(new, known).items():
        assert_allclose(K, expected[setting][1:, :1], atol=1e-12)


@pytest.mark.parametrize("scheme", ["node", "separate", "joint"])
def test_new_nodes_compare_as_if_they_had_been_there_all_along(scheme):
    nodes, _ = village()
    rival = WLClassifier("select", scheme=scheme, depth=(0, 1, 2))
    everyone, known = rival._represent(nodes), rival._represent(nodes[:5])
    copy = Graphs.concat(
        [nodes.graphs, graph("CN", [(0, 1)])]
    )  # other graphs, so that colors must be looked up
    expected = rival._kernels(everyone, everyone)
    for source in (nodes, copy.nodes[:30]):
        for setting, K in rival._kernels(rival._represent(source[5:], known), known).items():
            assert_allclose(K, expected[setting][5:, :5], atol=1e-12)


def test_a_node_is_known_by_its_label_and_its_neighbors_colors():
    # C0 and C1 see an N each, C1 over another edge label; C2 sees nothing.
    nodes = graph("CCCNN", [(0, 3), (1, 4)], "-=").nodes[:3]
    found = {}
    for scheme in ("node", "joint"):
        rival = WLClassifier("linear", scheme=scheme, depth=1)
        colored = rival._represent(nodes)
        (found[scheme],) = rival._kernels(colored, colored).values()
    assert_array_equal(found["node"], [[2, 2, 1], [2, 2, 1], [1, 1, 1]])
    assert_array_equal(found["joint"], [[2, 1, 1], [1, 2, 1], [1, 1, 1]])


@pytest.mark.parametrize("parameters", VARIANTS)
def test_splits_get_what_a_fit_of_each_predicts(parameters):
    graphs, y = MUTAG.graphs[FEW], Y[FEW]
    splits = [*kfold(y, 3, 1, seed=5), *kfold(y, 3, 1, seed=7, validation=None)[:1]]
    rival = WLClassifier(**parameters)
    for split, answer in zip(splits, rival.predict_splits(graphs, y, splits), strict=True):
        known = np.sort(split.known)
        alone = clone(rival).set_params(random_state=split.seed).fit(graphs[known], y[known])
        assert answer["prediction"].tolist() == alone.predict(graphs[split.test]).tolist()
        assert answer["chosen"]["kernel"] == alone.chosen_["kernel"]
        if alone.solver == "ridge":
            assert_allclose(
                answer["probability"], alone.predict_proba(graphs[split.test]), atol=1e-6
            )


@pytest.mark.parametrize("parameters", [{}, {"kernel": "select"}, {"solver": "svm"}])
def test_splits_of_nodes_get_what_a_fit_of_each_predicts(parameters):
    nodes, home = village()
    splits = kfold(home, 4, 1)
    rival = WLClassifier(**parameters)
    for split, answer in zip(splits, rival.predict_splits(nodes, home, splits), strict=True):
        known = np.sort(split.known)
        alone = clone(rival).set_params(random_state=split.seed).fit(nodes[known], home[known])
        assert answer["prediction"].tolist() == alone.predict(nodes[split.test]).tolist()


def test_classes_of_test_items_change_nothing():
    graphs, y = MUTAG.graphs[FEW], Y[FEW]
    (split,) = holdout(y, 0.3, None, 1)
    swapped = y.copy()
    swapped[split.test] = 1 - swapped[split.test]
    first, second = (
        WLClassifier("select").predict_splits(graphs, targets, [split])[0]
        for targets in (y, swapped)
    )
    assert first["prediction"].tolist() == second["prediction"].tolist()
    assert first["probability"].tolist() == second["probability"].tolist()
    assert first["chosen"] == second["chosen"]


@pytest.mark.parametrize("parameters", VARIANTS)
def test_a_prediction_does_not_depend_on_what_else_is_asked(parameters):
    train, test = MUTAG.graphs[FEW], MUTAG.graphs[1:40:4]
    rival = WLClassifier(**parameters, random_state=0).fit(train, Y[FEW])
    alone = np.concatenate([rival.decision_function(graph) for graph in test])
    assert_allclose(rival.decision_function(test), alone, atol=1e-12)


def test_labels_never_seen_are_predicted_without_complaint():
    train = Graphs.concat([graph("CC", [(0, 1)]), graph("NN", [(0, 1)])] * 4)
    rival = WLClassifier(ring_sizes=True).fit(train, ["c", "n"] * 4)
    strange = Graphs.concat(
        [
            graph("XY", [(0, 1)], "#"),
            graph("CCX", [(0, 1), (1, 2)], "-#"),
            graph("NN", [(0, 1)], "#"),
        ]
    )
    assert rival.predict(strange).tolist()[1:] == ["c", "n"]
    assert rival.decision_function(strange)[0] == pytest.approx(0, abs=1e-9)


def test_graphs_without_nodes_are_alike_and_unlike_all_others():
    empty = graph("", [])
    train = Graphs.concat([empty, graph("CC", [(0, 1)])] * 4)
    rival = WLClassifier().fit(train, ["nothing", "something"] * 4)
    assert rival.predict(Graphs.concat([empty, graph("CC", [(0, 1)])])).tolist() == [
        "nothing",
        "something",
    ]
    K = rival._kernels(rival._trained_on, rival._trained_on)["average"]
    assert_allclose(K[0, :2], [1, np.exp(-2)])


def test_nothing_to_predict_gives_nothing():
    rival = WLClassifier().fit(MUTAG.graphs[FEW], Y[FEW])
    assert rival.predict(MUTAG.graphs[:0]).shape == (0,)
    assert rival.predict_proba(MUTAG.graphs[:0]).shape == (0, 2)


def test_rings_tell_a_hexagon_from_two_triangles_which_colors_alone_cannot():
    graphs = Graphs.concat([ring(6), ring(3, 3)] * 5)
    kinds = ["hexagon", "triangles"] * 5
    assert set(WLClassifier().fit(graphs, kinds).predict(graphs)) < set(kinds)
    assert WLClassifier(ring_sizes=True).fit(graphs, kinds).predict(graphs).tolist() == kinds


def test_the_default_chooses_nothing_but_the_strength():
    rival = WLClassifier().fit(MUTAG.graphs[FEW], Y[FEW])
    assert set(rival.chosen_) == {"kernel", "strength", "loo_error"}
    assert rival.chosen_["kernel"] == "average"
    assert rival.loo_error_ == rival.chosen_["loo_error"]
    assert rival.loo_error_ == pytest.approx(
        ((np.where(Y[FEW] == 1, 1, -1) - rival.loo_decision_) ** 2).mean()
    )


def test_select_chooses_among_twelve_and_says_which():
    rival = WLClassifier("select").fit(MUTAG.graphs[FEW], Y[FEW])
    candidates = rival._kernels(rival._trained_on, rival._trained_on)
    assert list(candidates)[:3] == [
        "linear, joint, depth 0",
        "rbf, joint, depth 0",
        "linear, joint, depth 1",
    ]
    assert len(candidates) == 12
    assert rival.chosen_["kernel"] in candidates
    best = min(
        WLClassifier(kind, depth=depth).fit(MUTAG.graphs[FEW], Y[FEW]).loo_error_
        for kind in ("linear", "rbf")
        for depth in range(6)
    )
    assert rival.loo_error_ == pytest.approx(best)


def test_left_out_decisions_are_those_of_fits_without_each_graph():
    graphs, y = MUTAG.graphs[FEW[:20]], Y[FEW[:20]]
    strength = WLClassifier().fit(graphs, y).chosen_["strength"]
    rival = WLClassifier()
    colored = rival._represent(graphs)
    K = rival._kernels(colored, colored)["average"]
    scale = np.mean(np.diag(K - K.mean(axis=0)))
    expected = []
    for item in range(20):
        rest = np.delete(np.arange(20), item)
        system = np.block(
            [
                [K[np.ix_(rest, rest)] + strength * scale * np.eye(19), np.ones((19, 1))],
                [np.ones(19), 0],
            ]
        )
        expected.append(
            np.append(K[item, rest], 1)
            @ np.linalg.solve(system, np.append(np.where(y[rest] == 1, 1, -1), 0))
        )
    assert_allclose(rival.fit(graphs, y).loo_decision_, expected, atol=1e-8)


def test_several_classes_with_names():
    nodes, home = village()
    names = np.array(["blue", "green", "red"])[home]
    rival = WLClassifier().fit(nodes[::2], names[::2])
    assert rival.classes_.tolist() == ["blue", "green", "red"]
    assert rival.loo_decision_.shape == (15, 3)
    assert rival.score(nodes[1::2], names[1::2]) == 1
    assert_allclose(rival.predict_proba(nodes).sum(axis=1), 1)
    assert (
        rival.classes_[rival.predict_proba(nodes).argmax(axis=1)].tolist()
        == rival.predict(nodes).tolist()
    )


def test_one_class_is_learned_as_such():
    rival = WLClassifier().fit(MUTAG.graphs[:4], ["only"] * 4)
    assert rival.predict(MUTAG.graphs[4:6]).tolist() == ["only", "only"]
    assert rival.predict_proba(MUTAG.graphs[4:6]).tolist() == [[1.0], [1.0]]


def test_scikit_learn_can_clone_split_and_score_it():
    rival = WLClassifier("select", scheme=("node", "joint"), depth=(1, 2), ring_sizes=True)
    assert clone(rival).get_params() == rival.get_params()
    assert is_classifier(rival)
    scores = cross_val_score(WLClassifier(), MUTAG.graphs, Y, cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.8
    nodes, home = village()
    assert cross_val_score(WLClassifier(), nodes, home, cv=3).mean() > 0.9


def test_lists_of_graphs_are_taken_as_graphs():
    rival = WLClassifier().fit(list(MUTAG.graphs[FEW]), Y[FEW].tolist())
    whole = WLClassifier().fit(MUTAG.graphs[FEW], Y[FEW])
    assert_allclose(
        rival.decision_function(list(MUTAG.graphs[:3])),
        whole.decision_function(MUTAG.graphs[:3]),
        atol=1e-12,
    )


def test_a_pickled_copy_predicts_the_same():
    nodes, home = village()
    for fitted, items in (
        (WLClassifier(ring_sizes=True).fit(MUTAG.graphs[FEW], Y[FEW]), MUTAG.graphs[:9]),
        (WLClassifier().fit(nodes[::2], home[::2]), nodes),
    ):
        copy = pickle.loads(pickle.dumps(fitted))
        assert_allclose(copy.decision_function(items), fitted.decision_function(items), atol=1e-12)


def test_support_vectors_have_no_probabilities_and_no_left_out_decisions():
    rival = WLClassifier(solver="svm", random_state=0).fit(MUTAG.graphs[FEW], Y[FEW])
    assert set(rival.chosen_) == {"kernel", "C", "inner_accuracy"}
    for name in ("predict_proba", "loo_error_", "loo_decision_"):
        assert not hasattr(rival, name)


@pytest.mark.parametrize("ask", ["predict", "predict_proba", "decision_function"])
def test_asking_before_fit_is_an_error_that_says_so(ask):
    with pytest.raises(NotFittedError, match="call fit first"):
        getattr(WLClassifier(), ask)(MUTAG.graphs[:2])


@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": "cubic"},
        {"solver": "tree"},
        {"scheme": "edge"},
        {"scheme": ()},
        {"scheme": ("joint", "joint")},
        {"depth": -1},
        {"depth": ()},
        {"depth": 10**9},
        {"depth": True},
        {"scheme": 3},
        {"scheme": [["node"]]},
        {"ring_sizes": "yes"},
        {"depth": 1.5},
        {"depth": "3"},
        {"width": 0},
        {"width": float("nan")},
        {"width": "wide"},
    ],
)
def test_a_parameter_that_makes_no_sense_is_named(parameters):
    (name,) = parameters
    with pytest.raises(EstimatorError, match=f"^{name}="):
        WLClassifier(**parameters).fit(MUTAG.graphs[:4], Y[:4])


def test_nodes_for_a_classifier_of_graphs_are_refused():
    nodes, home = village()
    with pytest.raises(EstimatorError, match="fitted on graphs"):
        WLClassifier().fit(MUTAG.graphs[FEW], Y[FEW]).predict(nodes)
    with pytest.raises(EstimatorError, match="fitted on nodes"):
        WLClassifier().fit(nodes, home).predict(nodes.graphs)


def test_continuous_features_are_refused_with_a_way_out():
    graphs = Graphs.concat([Graphs.from_edges([(0, 1)], node_features=[[0.5], [1.5]])] * 2)
    with pytest.raises(EstimatorError, match="Discretizer"):
        WLClassifier().fit(graphs, [0, 1])


def test_permuted_classes_leave_the_majority():
    y = np.random.default_rng(0).permutation(Y)
    found = evaluate(WLClassifier(ring_sizes=True), MUTAG.graphs, y, kfold(y, 5, 2))
    assert found.mean < 0.7


def test_mutag_reaches_the_level_of_the_study_with_rings_and_without():
    splits = kfold(Y, 10, 3, validation=None)
    plain, ringed = (
        evaluate(WLClassifier(ring_sizes=rings), MUTAG.graphs, Y, splits).mean
        for rings in (False, True)
    )
    assert 0.87 < plain < 0.91
    assert 0.88 < ringed < 0.92


@pytest.mark.parametrize(("name", "least"), [("AIFB", 0.8), ("MUTAG-RDF", 0.7)])
def test_knowledge_graphs_are_learned(name, least, data_dir):
    data = edgnn.load_dataset(name, data_dir=data_dir)
    y, train, test = np.asarray(data.targets), data.split["train"], data.split["test"]
    split = Split(np.asarray(train), np.asarray(test))
    (answer,) = WLClassifier().predict_splits(data.nodes, y, [split])
    assert (answer["prediction"] == y[split.test]).mean() > least


def test_left_out_decisions_are_those_of_a_ridge():
    fitted = WLClassifier(solver="svm", random_state=0).fit(MUTAG.graphs[:20], Y[:20])
    for name in ("loo_error_", "loo_decision_"):
        with pytest.raises(AttributeError, match='with solver="ridge" only'):
            getattr(fitted, name)
