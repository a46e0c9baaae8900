import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import edgnn
from edgnn.errors import EstimatorError
from edgnn.models._seeds import held_out, member_seed, root_seed, with_every_label
from edgnn.models._targets import (
    class_weights,
    encoding_of,
    observed,
    read_classes,
    read_values,
    read_weight,
)


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (["b", "a", "b"], ["a", "b"]),
        ([3, -1, 3], [-1, 3]),
        ([True, False, True], [False, True]),
        ([1.0, 0.0, 1.0], [0.0, 1.0]),
        (np.array(["b", "a", "b"], dtype=object), ["a", "b"]),
        (np.array([2, 10, 2], dtype=object), [2, 10]),
        (("yes", "yes", "yes"), ["yes"]),
    ],
)
def test_classes_of_any_kind_come_back(y, classes):
    array, task = read_classes(y, 3, "graph")
    encoding = encoding_of(array, task)
    assert task == "classes"
    assert encoding.classes.tolist() == classes
    assert encoding.classes[encoding.encode(array)].tolist() == list(y)


def test_a_matrix_holds_labels_that_may_be_missing():
    array, task = read_classes([[0, 1, np.nan], [1, 0, 1]], 2, "graph")
    encoding = encoding_of(array, task)
    assert (task, encoding.outputs, encoding.classes.tolist()) == ("labels", 3, [0, 1, 2])
    assert np.isnan(encoding.encode(array)[0, 2])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        ([1, 2, 1, 2], "y has 4 targets for 3 graphs"),
        ([0.0, np.nan, 1.0], "item 1 has the class nan; drop items without a class"),
        ([0.5, 1.0, 0.0], r"item 0 has the value 0\.5, which is no class: a continuous target"),
        (np.array(["a", None, "b"], dtype=object), "item 1 has the class None"),
        (["a", float("nan"), "b"], "item 1 has the class nan"),
        (["a", 1, "b"], "cannot be sorted"),
        (np.array(["a", 1, "b"], dtype=object), "cannot be sorted"),
        (
            [[0, 1], [2, 0], [1, 1]],
            r"target 0 of item 1 has the value 2\.0; a matrix y holds 0, 1, or NaN",
        ),
        ([["a", "b"]] * 3, "its entries are no numbers"),
        ([[[0]], [[1]], [[0]]], r"y should be a 1d array.*\(3, 1, 1\)"),
        (np.zeros((3, 0)), "without columns"),
        ([1, [2], 3], "cannot be read as an array"),
        (
            np.array([1, 2, 3], dtype="datetime64[s]"),
            "classes are texts, whole numbers or truth values",
        ),
    ],
)
def test_bad_classes_are_named(y, message):
    with pytest.raises(EstimatorError, match=message):
        read_classes(y, 3, "graph")


def test_values_may_be_missing_but_not_infinite():
    array, task = read_values([1, np.nan, 3], 3, "node")
    encoding = encoding_of(array, task)
    assert (task, encoding.flat, encoding.outputs) == ("values", True, 1)
    assert encoding.encode(array).shape == (3, 1)
    assert observed(array).tolist() == [True, False, True]
    assert observed(np.array([[np.nan, 1.0], [np.nan, np.nan]])).tolist() == [True, False]
    with pytest.raises(
        EstimatorError, match=r"target 1 of item 0 has the value inf; Input y contains infinity"
    ):
        read_values([[0, np.inf], [1, 2]], 2, "node")
    with pytest.raises(EstimatorError, match="cannot be read as real numbers"):
        read_values(["high", "low"], 2, "node")


def test_weights_of_items_are_checked():
    assert read_weight(None, 3, "graph") is None
    assert read_weight(2, 3, "graph").tolist() == [2, 2, 2]
    for weight, message in (
        ([1, 2], r"shape \(2,\)"),
        ([1, -1, 1], "item 1 has the sample_weight -1"),
        ([1, 1, np.nan], "item 2 has the sample_weight nan"),
        ("a", "numbers"),
    ):
        with pytest.raises(EstimatorError, match=message):
            read_weight(weight, 3, "graph")


def test_weights_of_classes_follow_the_order_of_classes():
    encoding = encoding_of(np.array(["b", "a", "c"]), "classes")
    assert class_weights(None, encoding) is None
    assert class_weights("balanced", encoding) == "balanced"
    assert class_weights({"c": 3, "a": 2}, encoding) == [2.0, 1.0, 3.0]
    for weight, message in (
        ({"z": 1}, "'z', which is not among"),
        ({"a": -1}, "a weight is"),
        (3, "choose 'balanced'"),
        ("even", "choose"),
    ):
        with pytest.raises(EstimatorError, match=message):
            class_weights(weight, encoding)
    with pytest.raises(EstimatorError, match="sample_weight"):
        class_weights("balanced", encoding_of(np.zeros((2, 2)), "labels"))


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=60), st.floats(0.01, 0.9), st.integers(0, 5)
)
def test_every_class_gives_its_share_and_keeps_one_item(classes, share, seed):
    y = np.array(classes)
    train, valid = held_out(np.ones(len(y), bool), y, share, seed)
    assert sorted([*train, *valid]) == list(range(len(y)))
    assert set(y[train]) == set(classes)
    free = len(y) - len(set(classes))
    assert len(valid) == min(max(round(share * len(y)), 1), free)
    for value in set(classes):
        count = int((y == value).sum())
        assert abs((y[valid] == value).sum() - (count - 1) / max(free, 1) * len(valid)) < 1
    again = held_out(np.ones(len(y), bool), y, share, seed)
    assert np.array_equal(again[1], valid)


def test_items_without_a_target_are_never_held_out():
    candidates = np.arange(20) % 2 == 0
    train, valid = held_out(candidates, None, 0.5, 0)
    assert len(valid) == 5
    assert candidates[valid].all()
    assert len(train) == 15
    assert held_out(np.ones(1, bool), None, 0.5, 0)[1].tolist() == []


def test_the_choice_follows_from_the_seed():
    everything = np.ones(100, bool)
    assert not np.array_equal(
        held_out(everything, None, 0.1, 0)[1], held_out(everything, None, 0.1, 1)[1]
    )


def test_seeds_are_functions_of_random_state_and_member():
    assert len({member_seed(seed, member) for seed in range(20) for member in range(20)}) == 400
    assert member_seed(3, 2) == member_seed(3, 2) >= 0
    assert root_seed(7) == 7
    assert root_seed(np.random.RandomState(1)) == root_seed(np.random.RandomState(1))
    np.random.seed(5)
    first = root_seed(None)
    np.random.seed(5)
    assert root_seed(None) == first


def test_the_last_item_with_a_label_is_trained_on():
    has = csr_array(np.array([[1, 0, 0], [1, 1, 0], [1, 1, 0], [1, 0, 1]]))
    train, valid = with_every_label(np.array([0]), np.array([1, 2, 3]), has)
    assert train.tolist() == [0, 1, 3]
    assert valid.tolist() == [2]
    unchanged = with_every_label(np.array([0, 1]), np.array([3]), has)
    assert [part.tolist() for part in unchanged] == [[0, 1], [3]]


@pytest.mark.parametrize("model", ["edgnn", "majority"])
@pytest.mark.parametrize("task", ["values", "labels"])
def test_a_target_of_which_nothing_is_known_is_named(model, task):
    graphs = edgnn.load_dataset("MUTAG").graphs[:12]
    y = np.stack([np.arange(12) % 2, np.full(12, np.nan), np.arange(12) % 2], axis=1)
    options = {"max_epochs": 1, "hidden": 4} if model == "edgnn" else {}
    made = edgnn.models.make_model(model, task=task, **options)
    with pytest.raises(EstimatorError, match=r"target column 1 \(of 3.*is NaN for all 12 items"):
        made.fit(graphs, y)
    y[3, 1] = 1.0
    assert made.fit(graphs, y).predict(graphs).shape == (12, 3)


def test_a_target_that_only_test_items_have_is_named():
    graphs = edgnn.load_dataset("MUTAG").graphs[:12]
    y = np.stack([np.arange(12.0), np.arange(12.0)], axis=1)
    y[:8, 1] = np.nan
    split = edgnn.evaluation.Split(np.arange(8), np.arange(8, 12), seed=0)
    model = edgnn.GraphRegressor(max_epochs=1, hidden=4, validation=None)
    with pytest.raises(EstimatorError, match=r"target column 1 .* is NaN for all 8 items"):
        model.predict_splits(graphs, y, [split])
