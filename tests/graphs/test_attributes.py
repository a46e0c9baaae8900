"""Attributes of nodes and edges, and features of graphs: what makes, changes and loses them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgnn.errors import GraphError, UnknownLabelError
from edgnn.graphs import UNKNOWN, Graphs, Vocabulary
from strategies import contents, graphs

PAIR = Graphs.from_edges([(0, 1)], node_labels="NO", edge_labels=["single"])
CHARGED = PAIR.with_attributes(
    node={"charge": [1, -1], "ring": [False, True]}, edge={"stereo": [2]}
).with_graph_features([[0.5, 2.0]], ("logP", "dose"))


def fields_of(collection: Graphs) -> dict[str, object]:
    return {name: getattr(collection, name) for name in Graphs.__dataclass_fields__}


def test_attributes_are_whole_numbers_under_names():
    assert CHARGED.node_attribute_names == ("charge", "ring")
    assert CHARGED.node_attributes.tolist() == [[1, 0], [-1, 1]]
    assert CHARGED.node_attributes.dtype == torch.int64
    assert CHARGED.edge_attributes.tolist() == [[2]]
    assert CHARGED.graph_features.tolist() == [[0.5, 2.0]]
    assert CHARGED.graph_feature_names == ("logP", "dose")
    Graphs(**fields_of(CHARGED))


def test_further_attributes_stand_behind_and_those_of_the_same_name_are_replaced():
    more = CHARGED.with_attributes(node={"isotope": np.array([13, 0], np.uint8), "charge": [0, 0]})
    assert more.node_attribute_names == ("charge", "ring", "isotope")
    assert more.node_attributes.tolist() == [[0, 0, 13], [0, 1, 0]]
    assert more.edge_attributes is CHARGED.edge_attributes
    assert CHARGED.node_attributes.tolist() == [[1, 0], [-1, 1]]


def test_graph_features_are_replaced_as_a_whole_and_keep_their_float_type():
    wide = CHARGED.with_graph_features(np.ones((1, 3)), ["a", "b", "c"])
    assert wide.graph_features.dtype == torch.float64
    assert wide.graph_feature_names == ("a", "b", "c")
    assert PAIR.with_graph_features([7], "mass").graph_features.dtype == torch.float32
    assert CHARGED.with_graph_features(None).equals(CHARGED.with_graph_features(None, ()))
    assert CHARGED.with_graph_features(None).graph_features is None


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ([1, 2], "node attributes are a list, but must be a mapping from names to values"),
        ({"charge": [1]}, "1 values of the node attribute 'charge' were given for 2 nodes"),
        ({"charge": [1.0, 2.0]}, "'charge' must be one whole number per node, got torch.float64"),
        ({"charge": [[1], [2]]}, r"got torch.int64 of shape \(2, 1\)"),
        ({"charge": ["a", "b"]}, "node attribute charge cannot be read as an array of numbers"),
        ({"charge": np.array([0, 2**63], np.uint64)}, r"must be below 2\^63"),
        ({3: [1, 2]}, "node attribute names must be a tuple of texts"),
        ({"label": [1, 2]}, "'label' is the label itself"),
    ],
)
def test_wrong_attributes_are_named(node, message):
    with pytest.raises(GraphError, match=message):
        PAIR.with_attributes(node=node)


@pytest.mark.parametrize(
    ("values", "names", "message"),
    [
        ([[1.0], [2.0]], ["a"], "2 rows of graph features were given for 1 graphs"),
        ([[1.0, 2.0]], ["a"], "1 graph feature names were given for 2 graph features"),
        ([[1.0, 2.0]], ["a", "a"], "the graph feature name 'a' stands twice"),
        ([[1.0, float("nan")]], ["a", "b"], "feature 1 of graph 0 is nan"),
        (None, ["a"], "1 graph feature names were given for 0 graph features"),
    ],
)
def test_wrong_graph_features_are_named(values, names, message):
    with pytest.raises(GraphError, match=message):
        PAIR.with_graph_features(values, names)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"node_attributes": [[1], [2]]}, "node_attributes must be an int64 matrix"),
        ({"node_attributes": torch.zeros(2, 2)}, "node attributes must be an int64 matrix"),
        ({"node_attributes": torch.zeros(3, 2).long()}, "3 rows of node attributes were given"),
        ({"edge_attributes": torch.zeros(1).long()}, r"got torch.int64 of shape \(1,\)"),
        ({"edge_attribute_names": ["stereo"]}, "edge attribute names must be a tuple of texts"),
        ({"node_attribute_names": ("charge",)}, "1 node attribute names were given for 2"),
        ({"node_attributes": None}, "2 node attribute names were given for 0"),
        ({"graph_features": torch.zeros(1, 2).half()}, "graph features must be a float matrix"),
    ],
)
def test_the_constructor_names_what_is_wrong(changes, message):
    with pytest.raises(GraphError, match=message):
        Graphs(**fields_of(CHARGED) | changes)


def test_repr_counts_them():
    assert repr(CHARGED).endswith(
        "1 edge label, 2 node attributes, 1 edge attribute, 2 graph features)"
    )


@pytest.mark.parametrize(
    "other",
    [
        CHARGED.with_attributes(node={"ring": [1, 1]}),
        CHARGED.with_attributes(edge={"stereo": [1]}),
        CHARGED.with_graph_features([[0.5, 2.5]], ("logP", "dose")),
        CHARGED.with_graph_features([[0.5, 2.0]], ("logP", "weight")),
        CHARGED.labeled(),
        PAIR,
    ],
)
def test_equals_sees_their_values_and_names(other):
    assert not CHARGED.equals(other)
    assert not other.equals(CHARGED)


def test_pickles_of_graphs_that_knew_no_attributes_load():
    state = PAIR.__getstate__()
    for name in ("node_attributes", "edge_attributes", "graph_features", "graph_feature_names"):
        del state[name]
    old = object.__new__(Graphs)
    old.__setstate__(state)
    assert old.equals(PAIR)
    assert pickle.loads(pickle.dumps(old)).equals(PAIR)


# Joining


def test_joined_graphs_keep_what_all_parts_have_under_the_same_names():
    both = Graphs.concat([CHARGED, CHARGED.with_attributes(node={"charge": [5, 6]})])
    assert both.node_attributes[:, 0].tolist() == [1, -1, 5, 6]
    assert both.graph_features.shape == (2, 2)
    mixed = Graphs.concat([CHARGED, CHARGED.with_attributes(node={"isotope": [0, 0]})])
    assert mixed.node_attributes is None
    assert mixed.node_attribute_names == ()
    assert mixed.edge_attribute_names == ("stereo",)
    assert Graphs.concat([CHARGED, PAIR]).graph_features is None


def test_no_graphs_decide_nothing_about_what_joined_ones_have():
    for parts in ([PAIR[:0], CHARGED], [CHARGED, PAIR[:0]], [CHARGED[:0], CHARGED]):
        joined = Graphs.concat(parts)
        assert joined.node_attribute_names == ("charge", "ring")
        assert joined.graph_features.tolist() == [[0.5, 2.0]]
    assert Graphs.concat([CHARGED[:0], CHARGED[:0]]).equals(CHARGED[:0])


# Labels made of attributes


def test_labels_are_made_of_labels_and_attributes():
    made = CHARGED.labeled(node=("label", "charge"), edge=("label", "stereo"))
    assert made.node_labels == [("N", 1), ("O", -1)]
    assert made.edge_labels == [("single", 2)]
    assert made.node_attributes is None
    assert made.edge_attribute_names == ()
    assert made.graph_features is CHARGED.graph_features


def test_one_column_alone_is_a_plain_label_and_none_is_no_label():
    made = CHARGED.labeled(node="charge", edge=())
    assert made.node_labels == [1, -1]
    assert made.edge_vocabulary.constant
    plain = CHARGED.labeled()
    assert plain.node_label is CHARGED.node_label
    assert plain.node_attributes is None


@given(graphs(min_graphs=1, attributes=True), st.data())
def test_labels_are_numbered_by_first_appearance_of_their_rows(collection, data):
    names = ["label", *collection.node_attribute_names]
    wanted = data.draw(st.lists(st.sampled_from(names), min_size=2, max_size=3, unique=False))
    columns = [
        collection.node_labels
        if name == "label"
        else collection.node_attributes[:, collection.node_attribute_names.index(name)].tolist()
        for name in wanted
    ]
    rows = list(zip(*columns, strict=True))
    made = collection.labeled(node=wanted)
    assert made.node_labels == rows
    assert list(made.node_vocabulary) == list(dict.fromkeys(rows))
    assert [plain["edges"] for plain in contents(made)] == [
        plain["edges"] for plain in contents(collection)
    ]


def test_unknown_labels_stay_unknown_whatever_stands_beside_them():
    graphs_ = Graphs.from_edges([], node_labels=["Xe", "N", "Kr"], like=PAIR, unknown="map")
    graphs_ = graphs_.with_attributes(node={"charge": [1, 1, 0]})
    made = graphs_.labeled(node=("label", "charge"))
    assert made.node_vocabulary == Vocabulary([("N", 1), UNKNOWN])
    assert made.node_label.tolist() == [1, 0, 1]


def test_made_labels_are_numbered_as_others_are():
    known = CHARGED.labeled(node=("label", "charge"))
    turned = CHARGED.with_attributes(node={"charge": [1, 0]})
    options = {"node": ("label", "charge"), "like": known}
    with pytest.raises(UnknownLabelError, match=r"node 1 has the label \('O', 0\)"):
        turned.labeled(**options)
    mapped = turned.labeled(**options, unknown="map")
    assert mapped.node_label.tolist() == [0, 2]
    assert mapped.node_vocabulary[-1] is UNKNOWN


def test_an_attribute_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(GraphError, match="no node attribute 'charges'; there are 'charge', 'ring'"):
        CHARGED.labeled(node=("label", "charges"))
    with pytest.raises(GraphError, match="there are none, and 'label' for the label"):
        PAIR.labeled(edge="stereo")
