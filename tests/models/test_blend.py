from __future__ import annotations

import pickle
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score

import edgnn
from edgnn.errors import EstimatorError
from edgnn.evaluation import evaluate, kfold
from edgnn.models import BlendGraphClassifier, RidgeGraphClassifier
from edgnn.models.kernels._count_kernels import (
    AVERAGED,
    KINDS,
    NodeColors,
    by_depth,
    gaussian,
    least,
    mean_similarity,
    some,
)
from edgnn.wl import WLVectorizer, refine
from mutag import load_mutag
from strategies import graphs

DATA = load_mutag()
GRAPHS, CLASSES = DATA.graphs[:60], np.array(["no", "yes"])[DATA.targets[:60]]
NEW = DATA.graphs[60:80]
SIZES = np.array(["small", "middle", "large"])[np.digitize(GRAPHS.sizes.numpy(), [15, 19])]


def split_of(train, test):
    return SimpleNamespace(
        train=np.asarray(train), test=np.asarray(test, dtype=np.int64), valid=None, seed=0
    )


def small(**parameters):
    return BlendGraphClassifier(**{"trees": 10, "random_state": 0} | parameters)


@pytest.fixture(scope="module")
def fitted():
    return small().fit(GRAPHS, CLASSES)


# The columns


@given(graphs(features=False, names=False, max_graphs=5), st.data())
def test_columns_are_colors_of_two_known_graphs_in_the_order_of_their_first_nodes(collection, data):
    known = np.array(
        data.draw(st.lists(st.integers(0, max(0, len(collection) - 1)), unique=True)),
        dtype=np.int64,
    )
    known = np.sort(known[known < len(collection)])
    coloring = refine(collection, 2, "joint")
    colors = NodeColors.of([coloring])
    columns, owner = colors.columns(known), collection.graph_of_node.tolist()
    for round, found in enumerate(columns):
        of_nodes = coloring.at(round).tolist()
        having = {}
        for node, color in enumerate(of_nodes):
            if owner[node] in known.tolist():
                having.setdefault(color, set()).add(owner[node])
        assert found.tolist() == [color for color, those in having.items() if len(those) >= 2]
    table = colors.counts(columns).toarray()
    wanted = [(round, color) for round, found in enumerate(columns) for color in found.tolist()]
    assert table.shape == (len(collection), len(wanted))
    for column, (round, color) in enumerate(wanted):
        expected = np.bincount(
            np.array(owner, dtype=int)[coloring.at(round).numpy() == color],
            minlength=len(collection),
        )
        assert_array_equal(table[:, column], expected)


@given(graphs(features=False, names=False, min_graphs=2, max_graphs=5), st.integers(1, 4))
def test_columns_do_not_depend_on_other_graphs(collection, count):
    whole, part = (
        NodeColors.of([refine(those, 2, "joint")]) for those in (collection, collection[:count])
    )
    known = np.arange(len(collection[:count]))
    assert_array_equal(
        whole.counts(whole.columns(known)).toarray()[: len(known)],
        part.counts(part.columns(known)).toarray(),
    )


# The classifier


@pytest.mark.parametrize("targets", [CLASSES, SIZES])
def test_probabilities_are_those_of_ridge_and_of_a_forest_on_color_counts_mixed(targets):
    model = small(share=0.25, rounds=2, schemes="joint").fit(GRAPHS, targets)
    vectorizer = WLVectorizer(2, "joint")
    known, new = (
        those._with(graph_names=None, node_names=None).with_ring_sizes() for those in (GRAPHS, NEW)
    )
    table = vectorizer.fit_transform(known).toarray()
    shared = (table > 0).sum(axis=0) >= 2
    assert model.chosen_["colors"] == shared.sum() < table.shape[1]
    seen = sorted(map(tuple, table[:, shared].T.tolist()))
    assert sorted(map(tuple, _known_table(model).T.tolist())) == seen
    ridge = RidgeGraphClassifier().fit(GRAPHS, targets)
    assert_allclose(
        model.predict_proba(NEW),
        0.75 * ridge.predict_proba(NEW) + 0.25 * model.forest_.predict_proba(_table(model, new)),
        atol=1e-9,
    )
    forest = RandomForestClassifier(10, random_state=0).fit(_known_table(model), targets)
    new_table = _table(model, new)
    assert np.array_equal(model.forest_.predict_proba(new_table), forest.predict_proba(new_table))
    assert_allclose(model.predict_proba(NEW).sum(axis=1), 1)
    assert (
        model.classes_[model.predict_proba(NEW).argmax(axis=1)].tolist()
        == model.predict(NEW).tolist()
    )


def _known_table(model):
    return NodeColors.of(model._colored.colorings).counts(model._colored.columns).toarray()


def _table(model, prepared):
    extended = [coloring.extend(prepared) for coloring in model._colored.colorings]
    return NodeColors.of(extended).counts(model._colored.columns).toarray()


def test_the_ends_of_share_are_the_halves_alone(fitted):
    ridge = RidgeGraphClassifier().fit(GRAPHS, CLASSES)
    none, everything = small(share=0).fit(GRAPHS, CLASSES), small(share=1.0).fit(GRAPHS, CLASSES)
    assert_allclose(none.predict_proba(NEW), ridge.predict_proba(NEW), atol=1e-12)
    votes = everything.predict_proba(NEW)
    assert_allclose(votes * 10, np.round(votes * 10), atol=1e-9)
    assert_allclose(
        fitted.predict_proba(NEW), 0.7 * none.predict_proba(NEW) + 0.3 * votes, atol=1e-9
    )


def test_a_graph_gets_what_it_gets_among_others(fitted):
    together = fitted.predict_proba(NEW)
    alone = np.concatenate([fitted.predict_proba(NEW[[number]]) for number in range(len(NEW))])
    assert_allclose(alone, together, atol=1e-10)
    assert_allclose(
        fitted.predict_proba(NEW[np.arange(len(NEW))[::-1]]), together[::-1], atol=1e-10
    )


@pytest.mark.parametrize("targets", [CLASSES, SIZES])
def test_all_splits_at_once_give_what_single_fits_give(targets):
    splits, done = kfold(targets, 3, 1, seed=1, validation=0.2), []
    splits[0] = replace(splits[0], seed=2**40 + 3)
    answers = small(n_jobs=2).predict_splits(GRAPHS, targets, splits, on_split=done.append)
    assert done == [1, 2, 3]
    for split, answer in zip(splits, answers, strict=True):
        known = np.sort(split.known)
        alone = small(random_state=split.seed).fit(GRAPHS[known], targets[known])
        assert answer["prediction"].tolist() == alone.predict(GRAPHS[split.test]).tolist()
        assert_allclose(answer["probability"], alone.predict_proba(GRAPHS[split.test]), atol=1e-8)
        assert answer["classes"].tolist() == alone.classes_.tolist()
        assert answer["training_accuracy"] == pytest.approx(
            alone.score(GRAPHS[known], targets[known])
        )
        assert answer["chosen"] == alone.chosen_ | {
            "loo_error": pytest.approx(alone.chosen_["loo_error"])
        }


def test_classes_of_test_graphs_change_nothing():
    (split, *_) = kfold(CLASSES, 3, 1, seed=2)
    changed = CLASSES.copy()
    changed[split.test] = np.where(CLASSES[split.test] == "no", "yes", "no")
    first, second = (evaluate(small(), GRAPHS, y, [split]).outcomes[0] for y in (CLASSES, changed))
    assert (first.probability == second.probability).all()


def test_the_random_state_decides_the_forest(fitted):
    again = small().fit(GRAPHS, CLASSES).predict_proba(NEW)
    assert (again == fitted.predict_proba(NEW)).all()
    assert (small(random_state=1).fit(GRAPHS, CLASSES).predict_proba(NEW) != again).any()
    assert (
        small(random_state=np.random.RandomState(0)).fit(GRAPHS, CLASSES).predict_proba(NEW)
        != again
    ).any()


def test_forests_grow_alike_on_sparse_counts(fitted, monkeypatch):
    expected = fitted.predict_proba(NEW)
    monkeypatch.setattr("edgnn.models.kernels._blend._DENSE", 0)
    assert_allclose(small().fit(GRAPHS, CLASSES).predict_proba(NEW), expected, atol=1e-12)


def test_a_ridge_of_ones_own_is_used_and_left_alone():
    own = RidgeGraphClassifier("wl", width=5.0)
    model = small(ridge=own, share=0).fit(GRAPHS, CLASSES)
    assert not hasattr(own, "classes_")
    assert_allclose(
        model.predict_proba(NEW), clone(own).fit(GRAPHS, CLASSES).predict_proba(NEW), atol=1e-12
    )
    assert model.ridge_.chosen_["kernel"] == "wl"


def test_ring_sizes_are_for_both_halves():
    model = small(ring_sizes=False).fit(GRAPHS, CLASSES)
    assert model.ridge_.ring_sizes is False
    assert model.chosen_["colors"] < small().fit(GRAPHS, CLASSES).chosen_["colors"]


def test_one_class_is_always_predicted():
    model = small().fit(GRAPHS[:5], ["only"] * 5)
    assert model.predict(NEW[:2]).tolist() == ["only"] * 2
    assert_allclose(model.predict_proba(NEW[:2]), 1)
    (answer,) = small().predict_splits(GRAPHS[:6], ["a"] * 5 + ["b"], [split_of(np.arange(5), [5])])
    assert (answer["prediction"].tolist(), answer["training_accuracy"]) == (["a"], 1.0)


def test_graphs_that_share_no_color_leave_the_forest_with_the_shares_of_the_classes():
    apart = edgnn.Graphs.from_edges([], sizes=[1, 1, 1, 0], node_labels=["a", "b", "c"])
    model = small(trees=200, share=1.0).fit(apart, ["x", "x", "x", "y"])
    assert model.chosen_["colors"] == 0
    assert_allclose(model.predict_proba(apart)[:, 0], 0.75, atol=0.1)
    assert small().fit(apart[:1], ["x"]).predict(apart).tolist() == ["x"] * 4


def test_no_graphs_and_labels_never_seen_are_no_trouble(fitted):
    assert fitted.predict_proba(NEW[:0]).shape == (0, 2)
    assert fitted.predict(NEW[:0]).shape == (0,)
    strange = edgnn.Graphs.from_edges([(0, 1)], node_labels=["?", "?"], edge_labels=["?"])
    assert_allclose(fitted.predict_proba(strange).sum(axis=1), 1)
    (answer,) = small().predict_splits(GRAPHS, CLASSES, [split_of(np.arange(60), [])])
    assert answer["probability"].shape == (0, 2)


def test_other_items_features_and_targets_are_refused():
    with pytest.raises(EstimatorError, match="X holds nodes"):
        small().fit(GRAPHS.nodes, [0] * GRAPHS.num_nodes)
    featured = edgnn.Graphs.from_edges([(0, 1)], node_features=np.ones((2, 1), dtype=np.float32))
    for learn in (
        lambda: small().fit(featured, [0]),
        lambda: small().predict_splits(featured, [0], [split_of([0], [])]),
    ):
        with pytest.raises(EstimatorError, match=r"continuous features.*edgnn\.wl\.Discretizer"):
            learn()
    with pytest.raises(EstimatorError, match="y has 59 targets for 60"):
        small().fit(GRAPHS, CLASSES[1:])
    with pytest.raises(EstimatorError, match="this BlendGraphClassifier is not fitted yet"):
        small().predict(NEW)


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ({"share": 1.5}, r"share=1\.5: choose a number from 0"),
        ({"share": "half"}, "share='half'"),
        ({"share": np.nan}, "share=nan"),
        ({"share": True}, "share=True"),
        ({"trees": 0}, "trees=0: choose a whole number, 1 or more"),
        ({"min_samples_leaf": 0.5}, r"min_samples_leaf=0\.5"),
        ({"rounds": -1}, "rounds=-1: choose a whole number from 0 to 1000"),
        ({"schemes": ("node", "edge")}, r"schemes=\('node', 'edge'\)"),
        ({"ring_sizes": 1}, "ring_sizes=1: choose True or False"),
        ({"ridge": "ridge"}, "ridge='ridge': choose a RidgeGraphClassifier"),
        ({"ridge": RidgeGraphClassifier(width=-1)}, "width=-1"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameter, message):
    with pytest.raises(EstimatorError, match=message):
        small(**parameter).fit(GRAPHS, CLASSES)
    with pytest.raises(EstimatorError, match=message):
        small(**parameter).predict_splits(GRAPHS, CLASSES, kfold(CLASSES, 2, 1, seed=0))


def test_parameters_set_after_fitting_wait_for_the_next_fit():
    model = small().fit(GRAPHS[:20], CLASSES[:20])
    before = model.predict_proba(NEW[:3])
    model.set_params(share=1.0, ring_sizes=False, rounds=0, schemes="node")
    assert (model.predict_proba(NEW[:3]) == before).all()
    assert (model.fit(GRAPHS[:20], CLASSES[:20]).predict_proba(NEW[:3]) != before).any()


def test_a_fit_that_fails_leaves_the_earlier_one_whole():
    model = small().fit(GRAPHS[:20], CLASSES[:20])
    before = model.predict_proba(NEW[:3])
    with pytest.raises(EstimatorError):
        model.set_params(trees=0).fit(GRAPHS, CLASSES)
    assert (model.predict_proba(NEW[:3]) == before).all()


def test_a_pickled_classifier_predicts_the_same(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict_proba(NEW[:3]) == fitted.predict_proba(NEW[:3])).all()


def test_scikit_learn_can_use_it():
    model = small(ridge=RidgeGraphClassifier("wl", depth=2))
    assert repr(clone(model)) == repr(model)
    assert cross_val_score(model, GRAPHS, CLASSES, cv=3).mean() > 0.6
    search = GridSearchCV(model, {"share": [0.1, 0.5], "ridge__width": [1.0, 2.0]}, cv=2).fit(
        GRAPHS, CLASSES
    )
    assert len(search.predict(NEW)) == len(NEW)


COUNTS = st.lists(st.lists(st.integers(0, 7), min_size=4, max_size=4), min_size=1, max_size=6)


def counts_of(*rounds):
    """Return the counts of rounds in which item i has color c exactly table[i][c] times."""
    return [csr_array(np.asarray(table, float)) for table in rounds]


def kernels(rows, columns) -> dict:
    *_, last = by_depth(rows, columns, KINDS)
    return last


@given(COUNTS, COUNTS)
def test_least_is_the_sum_of_the_smaller_counts(first, second):
    a, b = np.array(first, float), np.array(second, float)
    expected = np.minimum(a[:, None], b[None]).sum(axis=2)
    assert_array_equal(least(csr_array(a), csr_array(b)), expected)


@given(COUNTS, COUNTS)
def test_every_kernel_is_its_formula(first, second):
    a, b = np.array(first, float), np.array(second, float)
    found = kernels(counts_of(first), counts_of(second))
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            expected = dict.fromkeys(KINDS, 1.0 * (not x.any() and not y.any()))
            if x.any() and y.any():
                logs = np.log1p(x), np.log1p(y)
                expected = {
                    "cosine": x @ y / np.linalg.norm(x) / np.linalg.norm(y),
                    "tanimoto": np.minimum(x, y).sum() / np.maximum(x, y).sum(),
                    "log-cosine": logs[0]
                    @ logs[1]
                    / np.linalg.norm(logs[0])
                    / np.linalg.norm(logs[1]),
                }
            expected["linear"] = x @ y
            for kind, value in expected.items():
                assert found[kind][i, j] == pytest.approx(value, abs=1e-12), kind


def test_kernels_by_hand():
    # Two items: counts (2, 1, 0) and (1, 0, 1).
    both = counts_of([[2, 1, 0], [1, 0, 1]])
    found = kernels(both, both)
    assert_array_equal(found["linear"], [[5, 2], [2, 2]])
    assert_allclose(found["tanimoto"], [[1, 1 / 4], [1 / 4, 1]])
    assert found["cosine"][0, 1] == pytest.approx(2 / np.sqrt(10))
    one, two = np.log(2), np.log(3)
    assert found["log-cosine"][0, 1] == pytest.approx(
        two * one / np.sqrt(two**2 + one**2) / np.sqrt(2 * one**2)
    )


@given(COUNTS)
def test_matrices_are_symmetric_with_ones_where_normalized_and_have_no_negative_eigenvalue(table):
    found = kernels(counts_of(table), counts_of(table))
    for kind in KINDS:
        assert_allclose(found[kind], found[kind].T, atol=1e-14)
        assert np.linalg.eigvalsh(found[kind]).min() > -1e-9 * max(1, found[kind].max())
        if kind != "linear":
            assert_allclose(np.diag(found[kind]), 1)
    assert np.linalg.eigvalsh(gaussian(found["tanimoto"], 2.0)).min() > -1e-9


def test_depths_add_up_rounds():
    counts = counts_of([[2, 0], [1, 1]], [[1, 1, 0], [1, 0, 1]])
    shallow, deep = by_depth(counts, counts, ("linear", "tanimoto"))
    assert_array_equal(shallow["linear"], [[4, 2], [2, 2]])
    assert_allclose(shallow["tanimoto"][0, 1], 1 / 3)
    assert_array_equal(deep["linear"], [[6, 3], [3, 4]])
    assert_allclose(deep["tanimoto"][0, 1], 2 / 6)


def test_large_counts_do_not_need_memory_for_every_pair():
    counts = counts_of([[100_000]] * 3)
    (found,) = by_depth(counts, counts, ("tanimoto", "linear"))
    assert_array_equal(found["tanimoto"], np.ones((3, 3)))
    assert_array_equal(found["linear"], np.full((3, 3), 1e10))


def test_no_items_give_an_empty_matrix():
    known = counts_of([[1, 2]])
    assert {kernel.shape for kernel in kernels(some(known, slice(0)), known).values()} == {(0, 1)}


def test_weights_that_are_not_whole_may_stand_for_counts():
    weights = np.array([[0.5, 2.5, 0.0], [1.5, 0.0, 3.25]])
    every = counts_of(weights)
    (found,) = by_depth(every, every, ("cosine", "log-cosine", "linear"))
    logs = np.log1p(weights)
    lengths = [np.linalg.norm(rows, axis=1) for rows in (weights, logs)]
    assert_allclose(found["linear"], weights @ weights.T)
    assert_allclose(found["cosine"], weights @ weights.T / np.outer(lengths[0], lengths[0]))
    assert_allclose(found["log-cosine"], logs @ logs.T / np.outer(lengths[1], lengths[1]))


@given(COUNTS, st.integers(0, 6), st.integers(0, 6))
def test_some_items_are_compared_as_among_all(table, start, stop):
    every = counts_of(table)
    part = kernels(some(every, slice(start, stop)), some(every, slice(stop, None)))
    rest = kernels(every, every)
    for kind in KINDS:
        assert_allclose(part[kind], rest[kind][start:stop, stop:], atol=1e-14)


def test_the_mean_similarity_is_that_of_the_kinds_over_the_depths():
    rng = np.random.default_rng(0)
    every = counts_of(*(rng.integers(0, 4, (5, 3 + round)) for round in range(4)))
    rows, columns = some(every, slice(2)), some(every, slice(2, None))
    by_hand = [
        kernels[kind]
        for kernels in list(by_depth(rows, columns, AVERAGED))[1:3]
        for kind in AVERAGED
    ]
    assert len(by_hand) == 4
    assert_allclose(mean_similarity(rows, columns, (1, 2), AVERAGED), sum(by_hand) / 4)
    assert_allclose(
        mean_similarity(rows, columns, range(1), ("cosine",)),
        next(by_depth(rows, columns, ("cosine",)))["cosine"],
    )


def test_gaussian_is_one_for_equal_items_and_falls_with_width():
    assert gaussian(np.array([1.0, 0.0]), 2.0).tolist() == [1.0, np.exp(-2.0)]
