from __future__ import annotations

import pickle
from decimal import Decimal

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from edgnn.errors import GraphError, UnknownLabelError
from edgnn.graphs import UNKNOWN, Graphs, Vocabulary

NAN = float("nan")
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=3),
    st.tuples(st.integers(0, 2), st.text(max_size=1)),
)
NUMBERS = st.sampled_from(
    [
        np.bool_,
        np.int8,
        np.uint8,
        np.int16,
        np.uint16,
        np.int32,
        np.uint32,
        np.int64,
        np.uint64,
        np.float32,
        np.float64,
    ]
)


def factorize(labels):
    """Return the numbers of the labels of nodes, and the vocabulary of them."""
    count = len(labels) if hasattr(labels, "__len__") else 1
    made = Graphs.from_edges([], num_nodes=count, node_labels=labels)
    return made.node_label, made.node_vocabulary


def encode(labels, known, unknown="error"):
    """Return the same by a vocabulary that is known already."""
    like = Graphs.from_edges([], num_nodes=len(known), node_labels=known)
    made = Graphs.from_edges(
        [], num_nodes=len(labels), node_labels=labels, like=like, unknown=unknown
    )
    return made.node_label, made.node_vocabulary


def first_appearances(values):
    order = list(dict.fromkeys(values))
    return [order.index(value) for value in values], order


@given(st.lists(SCALARS, max_size=20))
@example([1, True, 1.0, 0, False, "1"])
@example([2**70, -(2**70), 2**63, 0])
def test_lists_are_numbered_in_order_of_first_appearance(values):
    ids, vocabulary = factorize(values)
    assert (ids.tolist(), list(vocabulary)) == first_appearances(values)
    assert vocabulary.decode(ids) == values
    assert ids.dtype == torch.int64


@given(
    NUMBERS.flatmap(
        lambda kind: npst.arrays(
            kind,
            st.integers(0, 20),
            elements={"allow_nan": False} if kind(0).dtype.kind == "f" else None,
        )
    )
)
@example(np.array([2**63 - 1, -(2**63), 0, -(2**63)]))
@example(np.array([2**64 - 1, 0, 2**63], np.uint64))
@example(np.array([2**64 - 1, 2**64 - 2], np.uint64))
@example(np.array([127, -128, 127], np.int8))
@example(np.array([5000, 3, 5000, 3], np.int16))
@example(np.array([-0.0, 0.0, np.inf, -np.inf]))
def test_arrays_and_tensors_are_numbered_as_their_lists(values):
    expected = first_appearances(values.tolist())
    for labels in (values, values[::-1][::-1], torch.from_numpy(values.copy())):
        ids, vocabulary = factorize(labels)
        assert (ids.tolist(), list(vocabulary)) == expected
        assert all(type(value) in (bool, int, float) for value in vocabulary)


@pytest.mark.parametrize(
    "labels",
    [np.array(["b", "a", "b"]), np.array(["b", "a", "b"], dtype=object), ("b", "a", "b"), "bab"],
)
def test_text_gives_plain_strings(labels):
    ids, vocabulary = factorize(labels)
    assert (ids.tolist(), list(vocabulary)) == ([0, 1, 0], ["b", "a"])
    assert all(type(value) is str for value in vocabulary)


def test_numpy_scalars_in_a_list_become_plain_values():
    _, vocabulary = factorize([np.int64(3), np.float64(0.5), np.str_("a"), np.bool_(False)])
    assert [type(value) for value in vocabulary] == [int, float, str, bool]


def test_equal_values_of_different_types_are_one_label():
    ids, vocabulary = factorize([1, True, 1.0, Decimal(1)])
    assert ids.tolist() == [0, 0, 0, 0]
    assert Vocabulary([1]) == Vocabulary([True])
    assert vocabulary.index(1.0) == 0


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1.0, NAN], "the label of edge 1 is NaN; give it a value, or None"),
        (np.array([1.0, 2.0, NAN, NAN]), "the label of edge 2 is NaN"),
        (torch.tensor([NAN]), "the label of edge 0 is NaN"),
        (["a", Decimal("nan")], "the label of edge 1 is NaN"),
        (
            ["a", [1]],
            "the label of edge 1 is a list, which cannot be hashed: use a string, a number or a tuple",
        ),
        ([(1, [2])], "the label of edge 0 is a tuple, which cannot be hashed"),
        (["a", {}], "the label of edge 1 is a dict"),
        ([np.zeros(2), 1], "the label of edge 0 is a ndarray"),
        (
            ["a", torch.tensor(1)],
            r"the label of edge 1 is a tensor, which compares by identity.*\.tolist\(\)",
        ),
        (
            torch.zeros(2, 2),
            r"edge labels must be one value per edge, got an array of shape \(2, 2\)",
        ),
        (np.array(1), r"edge labels must be one value per edge, got an array of shape \(\)"),
        ({"a", "b"}, "edge labels are a set, not one value per edge"),
        ({"a": 1}, "edge labels are a dict, not one value per edge"),
    ],
)
def test_labels_that_cannot_be_numbered_are_named(labels, message):
    with pytest.raises(GraphError, match=message):
        Graphs.from_edges([(0, 1)] * 2, edge_labels=labels)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", "b", "a"], "label 'a' stands twice in a vocabulary, at 0 and 2"),
        ([0, False], "label False stands twice in a vocabulary, at 0 and 1"),
        (["a", []], "label 1 of a vocabulary cannot be hashed"),
        (["a", NAN], "label 1 of a vocabulary is NaN"),
    ],
)
def test_a_vocabulary_holds_distinct_hashable_values(values, message):
    with pytest.raises(GraphError, match=message):
        Vocabulary(values)


def test_a_vocabulary_is_a_sequence():
    letters = Vocabulary("abc")
    assert (len(letters), list(letters), letters[1], letters[-1], letters[1:]) == (
        3,
        ["a", "b", "c"],
        "b",
        "c",
        ("b", "c"),
    )
    assert "a" in letters
    assert "d" not in letters
    assert (letters.index("c"), letters.index("b", 1, 2), letters.count("a")) == (2, 1, 1)
    assert list(reversed(letters)) == ["c", "b", "a"]
    with pytest.raises(
        UnknownLabelError, match="label 'd' is not among the 3 known ones: 'a', 'b', 'c'"
    ):
        letters.index("d")
    with pytest.raises(UnknownLabelError):
        letters.index("a", 1)
    with pytest.raises(IndexError):
        letters[3]


def test_equality_and_hash_follow_the_values_in_order():
    assert Vocabulary("ab") == Vocabulary(["a", "b"])
    assert hash(Vocabulary("ab")) == hash(Vocabulary(["a", "b"]))
    assert Vocabulary("ab") != Vocabulary("ba")
    assert Vocabulary("ab") != ("a", "b")


def test_pickling_keeps_values_and_the_one_unknown():
    vocabulary = pickle.loads(pickle.dumps(Vocabulary(["a", (1, "b"), None]).with_unknown()))
    assert list(vocabulary) == ["a", (1, "b"), None, UNKNOWN]
    assert vocabulary[-1] is UNKNOWN
    assert vocabulary.index((1, "b")) == 1


def test_only_the_single_none_is_the_constant_vocabulary():
    assert Vocabulary([None]).constant
    assert not Vocabulary().constant
    assert not Vocabulary([None, "a"]).constant
    assert not Vocabulary([0]).constant


def test_unknown_is_added_once_at_the_end():
    twice = Vocabulary("a").with_unknown().with_unknown()
    assert list(twice) == ["a", UNKNOWN]
    assert repr(twice) == "Vocabulary(['a', <unknown>])"


def test_repr_of_a_long_vocabulary_is_short():
    assert repr(Vocabulary(range(100))) == "Vocabulary([0, 1, 2, 3, 4, 5, … (100 in all)])"


@given(
    st.lists(st.sampled_from("abcd")),
    st.lists(st.sampled_from("abcdef"), unique=True),
    st.sampled_from(["error", "map"]),
)
def test_encoding_follows_the_reference(labels, known, unknown):
    unseen = [label for label in labels if label not in known]
    if unseen and unknown == "error":
        with pytest.raises(
            UnknownLabelError, match=f"node {labels.index(unseen[0])} has the label '{unseen[0]}'"
        ):
            encode(labels, known, unknown)
        return
    ids, vocabulary = encode(labels, known, unknown)
    assert vocabulary.decode(ids) == [label if label in known else UNKNOWN for label in labels]
    assert list(vocabulary) == known + [UNKNOWN] * (unknown == "map")


def test_unknown_labels_are_unknown_to_a_reference_without_them():
    with pytest.raises(UnknownLabelError, match="node 0 has the label <unknown>"):
        encode([UNKNOWN], "a")
    assert encode([UNKNOWN, "b"], "a", "map")[0].tolist() == [1, 1]


def test_a_wrong_choice_for_unknown_is_named():
    with pytest.raises(GraphError, match="unknown='drop': choose 'error' or 'map'"):
        encode(["a"], "a", "drop")
