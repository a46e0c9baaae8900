from __future__ import annotations

import copy
import pickle
import sys
import time
from dataclasses import FrozenInstanceError

import joblib
import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgnn.errors import GraphError, UnknownLabelError
from edgnn.graphs import UNKNOWN, Graphs, Vocabulary
from strategies import LABELS, contents, graphs

PAIR = [(0, 1)]
NAN, INF = float("nan"), float("inf")


def int64(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int64)


def objects(*values: object) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def as_networkx(collection: Graphs) -> nx.MultiDiGraph:
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(collection.num_nodes))
    ends = zip(collection.edge_source.tolist(), collection.edge_target.tolist(), strict=True)
    graph.add_edges_from(
        (source, target, {"edge": edge}) for edge, (source, target) in enumerate(ends)
    )
    return graph


# Construction


@pytest.mark.parametrize(
    ("edges", "options", "message"),
    [
        (
            torch.zeros(2, 5, dtype=torch.int64),
            {},
            r"shape \(E, 2\), got \(2, 5\); transpose it: edge_index\.T",
        ),
        ([(0, 1, 2)], {}, r"shape \(E, 2\), got \(1, 3\)$"),
        ([0, 1], {}, r"shape \(E, 2\), got \(2,\)$"),
        ([(0, 1), (2,)], {}, "edges cannot be read as an array of numbers"),
        (
            [("a", "b")],
            {},
            r"edges cannot be read .*; nodes are numbered from 0, for named ones use from_networkx or a table$",
        ),
        (PAIR, {"sizes": ["a", "b"]}, r"sizes cannot be read as an array of numbers \([^;]*\)$"),
        ([(0, 2**70)], {}, "edges cannot be read as an array of numbers"),
        (None, {}, "edges cannot be read as an array of numbers"),
        ([(0.0, 1.0)], {}, "edges must be whole node numbers, got torch.float64"),
        (np.array([[0, 2**64 - 1]], np.uint64), {}, r"edge ends must be below 2\^63"),
        ([(0, 1), (0, 3)], {"num_nodes": 3}, "edge 1 points to node 3, but there are 3 nodes"),
        ([(0, 1), (-1, 0)], {}, "edge 1 starts at node -1, but there are 2 nodes"),
        ([(0, 5)], {"node_labels": "ab"}, "edge 0 points to node 5, but there are 2 nodes"),
        (PAIR, {"num_nodes": 0}, "edge 0 starts at node 0, but there are 0 nodes"),
        (PAIR, {"num_nodes": -1}, "graph 0 has the size -1; a size is 0 or more"),
        (PAIR, {"num_nodes": 3, "sizes": [1, 1]}, "num_nodes is 3, but the sizes add up to 2"),
        (
            PAIR,
            {"num_nodes": 2**50},
            "num_nodes is 1,125,899,906,842,624; a graph in memory has at most",
        ),
        (PAIR, {"num_nodes": 10**30}, "a graph in memory has at most 2,147,483,648 nodes"),
        (
            [(0, 2**40)],
            {},
            "an edge names node 1099511627776, so there would be 1,099,511,627,777 nodes: number nodes from 0",
        ),
        (
            PAIR,
            {"sizes": [1, 1]},
            "edge 0 joins node 0 of graph 0 to node 1 of graph 1; an edge stays within one graph",
        ),
        (PAIR, {"sizes": [4, -2]}, "graph 1 has the size -2"),
        (
            PAIR,
            {"sizes": [1.5, 0.5]},
            "sizes must be one whole number per graph, got torch.float64",
        ),
        (
            PAIR,
            {"sizes": [[2]]},
            r"sizes must be one whole number per graph, got torch.int64 of shape \(1, 1\)",
        ),
        (PAIR, {"sizes": ["2"]}, "sizes cannot be read as an array of numbers"),
        (PAIR, {"num_nodes": 2, "node_labels": "abc"}, "3 node labels were given for 2 nodes"),
        (
            PAIR,
            {"node_labels": "ab", "node_features": [[1.0]]},
            "1 node features were given for 2 nodes",
        ),
        (PAIR, {"node_labels": "ab", "node_names": ["a"]}, "1 node names were given for 2 nodes"),
        (PAIR, {"sizes": [2], "graph_names": ["a", "b"]}, "2 graph names were given for 1 graphs"),
        (PAIR, {"edge_labels": "ab"}, "2 edge labels were given for 1 edges"),
        (PAIR, {"edge_features": [[1.0], [2.0]]}, "2 rows of edge features were given for 1 edges"),
        (
            PAIR,
            {"node_features": [[1, 2], [3, NAN]]},
            "feature 1 of node 1 is nan; features must be finite",
        ),
        (PAIR, {"edge_features": [[-INF]]}, "feature 0 of edge 0 is -inf; features must be finite"),
        (
            PAIR,
            {"node_features": np.zeros((2, 1, 1))},
            r"one row per node, got an array of shape \(2, 1, 1\)",
        ),
        (
            PAIR,
            {"node_features": np.zeros((2, 1), complex)},
            "node features must be real numbers, got torch.complex128",
        ),
        (
            PAIR,
            {"edge_features": [["high"]]},
            "edge features cannot be read as an array of numbers",
        ),
        (PAIR, {"node_labels": [1, [2]]}, "the label of node 1 is a list, which cannot be hashed"),
        (PAIR, {"edge_labels": [NAN]}, "the label of edge 0 is NaN"),
        (PAIR, {"node_labels": {"a", "b"}}, "node labels are a set, not one value per node"),
        (PAIR, {"node_labels": {0: "a", 1: "b"}}, "node labels are a dict, not one value per node"),
        (PAIR, {"node_names": {"a", "b"}}, "node names are a set, not one value per node"),
        ([], {"sizes": [1, 2], "node_names": "abb"}, "the node name 'b' stands twice in graph 1"),
        (PAIR, {"node_names": ["a", ["b"]]}, "a node name in graph 0 cannot be hashed"),
        (
            PAIR,
            {"like": Graphs.from_edges([]), "unknown": "ignore"},
            "unknown='ignore': choose 'error' or 'map'",
        ),
    ],
)
def test_from_edges_names_what_is_wrong(edges, options, message):
    with pytest.raises(GraphError, match=message):
        Graphs.from_edges(edges, **options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"node_label": [0, 0]}, "node_label must be a 1-d int64 tensor, got a list"),
        (
            {"edge_label": int64(0, 0).int()},
            r"edge_label must be a 1-d int64 tensor, got \(2,\) of torch.int32",
        ),
        ({"edge_source": int64(0, 0)[None]}, "edge_source must be a 1-d int64 tensor"),
        ({"graph_offset": int64()}, "graph_offset must rise from 0 to the number of nodes, 2"),
        ({"graph_offset": int64(0, 3)}, "graph_offset must rise from 0 to the number of nodes, 2"),
        ({"graph_offset": int64(1, 2)}, "graph_offset must rise"),
        ({"graph_offset": int64(0, 2, 1, 2)}, "graph_offset must rise"),
        ({"edge_target": int64(0)}, "1 edge edge_target were given for 2 edges"),
        ({"edge_label": int64(0)}, "1 edge labels were given for 2 edges"),
        ({"edge_target": int64(0, 2)}, "edge 1 points to node 2, but there are 2 nodes"),
        ({"graph_offset": int64(0, 1, 2)}, "edge 0 joins node 0 of graph 0 to node 1 of graph 1"),
        (
            {
                "graph_offset": int64(0, 1, 2),
                "edge_source": int64(1, 0),
                "edge_target": int64(1, 0),
            },
            "edge 1 belongs to an earlier graph than the edge before it: group edges by graph",
        ),
        ({"node_label": int64(0, 1)}, "node 1 has the label number 1, but the vocabulary has 1"),
        ({"edge_label": int64(-1, 0)}, "edge 0 has the label number -1, but the vocabulary has 1"),
        ({"node_vocabulary": ["a"]}, "node_vocabulary must be a Vocabulary, got a list"),
        (
            {"node_features": np.zeros((2, 1))},
            "node_features must be a float matrix, a tensor, got a ndarray",
        ),
        (
            {"node_features": torch.zeros(2, 1, dtype=torch.float16)},
            "node features must be a float matrix, got torch.float16",
        ),
        ({"edge_features": torch.zeros(3, 1)}, "3 rows of edge features were given for 2 edges"),
        ({"edge_features": torch.tensor([[0.0], [NAN]])}, "feature 0 of edge 1 is nan"),
        ({"node_names": ["a", "b"]}, "node_names must be a 1-d numpy array of objects"),
        ({"node_names": objects("a")}, "1 node names were given for 2 nodes"),
        ({"node_names": objects("a", "a")}, "the node name 'a' stands twice in graph 0"),
        ({"graph_names": objects()}, "0 graph names were given for 1 graphs"),
    ],
)
def test_constructor_names_what_is_wrong(changes, message):
    good = {
        "node_label": int64(0, 0),
        "edge_source": int64(0, 1),
        "edge_target": int64(1, 1),
        "edge_label": int64(0, 0),
        "graph_offset": int64(0, 2),
        "node_vocabulary": Vocabulary([None]),
        "edge_vocabulary": Vocabulary([None]),
    }
    Graphs(**good)
    with pytest.raises(GraphError, match=message):
        Graphs(**good | changes)


@pytest.mark.parametrize(
    ("edges", "options", "sizes"),
    [
        ([], {}, [0]),
        ([], {"num_nodes": 3}, [3]),
        ([(4, 1)], {}, [5]),
        (PAIR, {"num_nodes": np.int64(4)}, [4]),
        (PAIR, {"node_labels": "abc"}, [3]),
        (PAIR, {"node_features": np.zeros((4, 2))}, [4]),
        (PAIR, {"node_names": "abcd"}, [4]),
        (PAIR, {"sizes": [2, 0, 3]}, [2, 0, 3]),
        (PAIR, {"sizes": np.array([3, 2], np.uint8)[::-1]}, [2, 3]),
        ([], {"sizes": []}, []),
    ],
)
def test_node_counts_come_from_whatever_is_given(edges, options, sizes):
    assert Graphs.from_edges(edges, **options).sizes.tolist() == sizes


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "<i4", ">i4", "u4", "i8", ">i8", "u8"])
def test_edges_may_be_integers_of_any_width(dtype):
    edges = np.array([(0, 1), (2, 0)], dtype)
    for given_edges in (edges, edges.T.copy().T, edges[::-1][::-1]):
        made = Graphs.from_edges(given_edges)
        assert (made.edge_source.tolist(), made.edge_target.tolist()) == ([0, 2], [1, 0])


def test_missing_labels_are_one_constant_label():
    made = Graphs.from_edges(PAIR)
    assert made.node_vocabulary.constant
    assert made.node_labels == [None, None]
    assert made.edge_labels == [None]


@given(graphs(), st.randoms(use_true_random=False))
def test_edges_in_any_order_are_grouped_by_graph_with_labels_and_features(collection, random):
    order = list(range(collection.num_edges))
    random.shuffle(order)
    edges = torch.stack([collection.edge_source, collection.edge_target], 1)[order]
    features = collection.edge_features
    made = Graphs.from_edges(
        edges,
        sizes=collection.sizes,
        edge_labels=[collection.edge_labels[edge] for edge in order],
        edge_features=None if features is None else features[order],
    )
    graph_of_edge = collection.graph_of_node[collection.edge_source].tolist()
    expected = sorted(order, key=lambda edge: graph_of_edge[edge])
    ends = zip(made.edge_source.tolist(), made.edge_target.tolist(), strict=True)
    assert list(ends) == [
        (int(collection.edge_source[e]), int(collection.edge_target[e])) for e in expected
    ]
    assert made.edge_labels == [collection.edge_labels[edge] for edge in expected]
    assert features is None or torch.equal(made.edge_features, features[expected])


def test_features_keep_their_float_type_and_other_numbers_become_float32():
    for dtype, expected in (
        ("f4", torch.float32),
        ("f8", torch.float64),
        ("i8", torch.float32),
        ("?", torch.float32),
    ):
        made = Graphs.from_edges(
            PAIR, node_features=np.ones(2, dtype), edge_features=np.ones((1, 3), dtype)
        )
        assert (made.node_features.dtype, tuple(made.node_features.shape)) == (expected, (2, 1))
        assert (made.edge_features.dtype, tuple(made.edge_features.shape)) == (expected, (1, 3))


# Immutability


def test_fields_cannot_be_assigned():
    made = Graphs.from_edges(PAIR)
    with pytest.raises(FrozenInstanceError):
        made.node_label = int64(0)
    with pytest.raises(FrozenInstanceError):
        del made.node_label


def test_changing_the_arrays_afterwards_changes_nothing():
    index, rows, names = torch.tensor([[0], [1]]), np.ones((2, 1), np.float32), ["a", "b"]
    labels, single, column = np.array([3, 4]), np.array([[0, 1]]), torch.ones(1)
    made = Graphs.from_edges(
        index.T, node_features=rows, edge_features=column, node_names=names, node_labels=labels
    )
    other = Graphs.from_edges(single)
    before = contents(made), contents(other)
    index.fill_(0)
    rows.fill(NAN)
    labels.fill(0)
    column.fill_(NAN)
    single.fill(0)
    names[0] = "z"
    assert (contents(made), contents(other)) == before


def test_read_only_arrays_are_taken_without_a_warning():
    edges, rows = np.array([[0, 1]]), np.zeros((2, 1), np.float32)
    edges.flags.writeable = rows.flags.writeable = False
    assert Graphs.from_edges(edges, node_features=rows)[edges[0][:1]].num_edges == 1


# A sequence of graphs


@st.composite
def collections_with_keys(draw):
    collection = draw(graphs(attributes=True))
    size = len(collection)
    position = st.integers(-size, size - 1)
    chosen = st.lists(position, max_size=6) if size else st.just([])
    mask = st.lists(st.booleans(), min_size=size, max_size=size)
    key = draw(
        st.one_of(
            st.slices(size),
            chosen,
            chosen.map(tuple),
            chosen.map(lambda values: np.array(values, np.int16)),
            chosen.map(lambda values: np.array(values, np.int64)[::-1]),
            chosen.map(lambda values: np.array([value % size for value in values], np.uint32)),
            chosen.map(lambda values: torch.tensor(values, dtype=torch.int64)),
            chosen.map(lambda values: torch.tensor(values, dtype=torch.int32)),
            mask.map(lambda values: np.array(values, bool)),
            mask.map(lambda values: torch.tensor(values, dtype=torch.bool)),
            *([position, position.map(np.int8), position.map(torch.tensor)] if size else []),
        )
    )
    return collection, key


def plain_positions(key, size):
    if isinstance(key, slice):
        return range(size)[key]
    values = np.asarray(key)
    if values.dtype == bool:
        return np.flatnonzero(values).tolist()
    return [int(value) % size for value in values.reshape(-1)]


@given(collections_with_keys())
def test_indexing_agrees_with_a_list_of_graphs(case):
    collection, key = case
    chosen, plain = collection[key], contents(collection)
    assert contents(chosen) == [plain[position] for position in plain_positions(key, len(plain))]
    assert chosen.node_vocabulary is collection.node_vocabulary
    assert chosen.edge_vocabulary is collection.edge_vocabulary
    Graphs(**{name: getattr(chosen, name) for name in Graphs.__dataclass_fields__})


@given(graphs(attributes=True))
def test_iteration_and_its_concatenation_give_the_whole(collection):
    parts = list(collection)
    assert len(parts) == len(collection)
    assert [contents(part) for part in parts] == [[plain] for plain in contents(collection)]
    if parts:
        assert Graphs.concat(parts).equals(collection)


@given(graphs(), st.integers(-1, 5))
def test_offsets_and_graph_numbers_agree_with_the_sizes(collection, cut):
    part = collection[:cut]
    plain = contents(part)
    assert part.sizes.tolist() == [len(graph["node labels"]) for graph in plain]
    assert part.edge_offset.diff().tolist() == [len(graph["edges"]) for graph in plain]
    assert part.graph_of_node.tolist() == [
        number for number, graph in enumerate(plain) for _ in graph["node labels"]
    ]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (2, "graph 2 was asked for, but there are 2"),
        (-3, "graph -3 was asked for, but there are 2"),
        ([0, 2], "graph 2 was asked for"),
        (np.array([-3]), "graph -3 was asked for"),
        ([True], r"a mask over 2 graphs must have that length, got shape \(1,\)"),
        (np.zeros(0, bool), "a mask over 2 graphs must have that length"),
        ([0.0], "graphs are chosen by whole numbers, a slice or a mask, got torch.float64"),
        ([[0, 1]], "graphs are chosen by whole numbers"),
    ],
)
def test_wrong_indices_are_index_errors(key, message):
    with pytest.raises(IndexError, match=message):
        Graphs.from_edges([], sizes=[1, 1])[key]


def test_an_index_that_is_no_number_is_refused():
    with pytest.raises(GraphError, match="graph numbers cannot be read as an array of numbers"):
        Graphs.from_edges([], sizes=[1, 1])["0"]


def test_a_slice_of_a_huge_index_tensor_beyond_64_bits_is_refused():
    with pytest.raises(GraphError, match=r"graph numbers must be below 2\^63"):
        Graphs.from_edges([], sizes=[1, 1])[np.array([2**64 - 1], np.uint64)]


# Concatenation


@given(st.lists(graphs(features=False), max_size=4))
def test_concatenation_is_that_of_the_lists_with_vocabularies_merged(parts):
    whole = Graphs.concat(iter(parts))
    named = {
        name: all(getattr(part, name) is not None for part in parts)
        for name in ("node_names", "graph_names")
    }
    expected = [plain for part in parts for plain in contents(part)]
    for plain in expected:
        plain["node names"] = plain["node names"] if named["node_names"] else None
        plain["graph name"] = plain["graph name"] if named["graph_names"] else None
    assert contents(whole) == expected
    for what in ("node_vocabulary", "edge_vocabulary"):
        assert list(getattr(whole, what)) == list(
            dict.fromkeys(value for part in parts for value in getattr(part, what))
        )
    Graphs(**{name: getattr(whole, name) for name in Graphs.__dataclass_fields__})


def test_concatenation_carries_features():
    one = Graphs.from_edges(PAIR, node_features=[[1.0], [2.0]], edge_features=[[3.0, 4.0]])
    two = Graphs.concat([one, one.reverse()])
    assert two.node_features.tolist() == [[1.0], [2.0], [1.0], [2.0]]
    assert two.edge_features.tolist() == [[3.0, 4.0], [3.0, 4.0]]


@pytest.mark.parametrize("what", ["node", "edge"])
def test_concatenation_refuses_mixed_features(what):
    rows = {"node": 2, "edge": 1}[what]
    bare, narrow, wide = (
        Graphs.from_edges(PAIR, **{f"{what}_features": features})
        for features in (None, np.zeros((rows, 1)), np.zeros((rows, 2)))
    )
    with pytest.raises(GraphError, match=f"part 1 has no {what} features while others have"):
        Graphs.concat([narrow, bare])
    with pytest.raises(GraphError, match=rf"{what} features of different widths: \[1, 2\]"):
        Graphs.concat([wide, narrow])


def test_concatenation_of_nothing_is_no_graphs():
    nothing = Graphs.concat([])
    assert (len(nothing), nothing.num_nodes, nothing.num_edges) == (0, 0, 0)
    assert list(nothing) == []
    assert contents(Graphs.concat([nothing, Graphs.from_edges(PAIR)])) == contents(
        Graphs.from_edges(PAIR)
    )


def test_concatenation_of_thousands_of_vocabularies_takes_linear_time():
    pair = Graphs.from_edges(PAIR, node_labels="ab")
    parts = [pair.renamed(node_labels={"a": part, "b": -part - 1}) for part in range(10_000)]
    start = time.process_time()
    whole = Graphs.concat(parts)
    assert time.process_time() - start < 5
    assert whole.node_labels == [label for part in range(10_000) for label in (part, -part - 1)]


# Vocabularies of other graphs


REFERENCE = Graphs.from_edges(
    [(0, 1), (1, 2)], node_labels=["C", "N", "O"], edge_labels=["single", "double"]
)


def test_like_numbers_labels_as_the_reference_does():
    made = Graphs.from_edges(PAIR, node_labels=["O", "C"], edge_labels=["double"], like=REFERENCE)
    assert (made.node_label.tolist(), made.edge_label.tolist()) == ([2, 0], [1])
    assert made.node_vocabulary is REFERENCE.node_vocabulary


def test_an_unseen_label_is_an_error_that_names_the_element():
    with pytest.raises(
        UnknownLabelError,
        match="node 1 has the label 'Xe', which is not among the 3 known ones: 'C', 'N', 'O'",
    ):
        Graphs.from_edges(PAIR, node_labels=["O", "Xe"], edge_labels=["single"], like=REFERENCE)
    with pytest.raises(UnknownLabelError, match="edge 0 has the label None"):
        Graphs.from_edges(PAIR, node_labels=["O", "O"], like=REFERENCE)


def test_unseen_labels_map_to_one_reserved_label():
    made = Graphs.from_edges(
        PAIR, node_labels=["Xe", "Kr"], edge_labels=["single"], like=REFERENCE, unknown="map"
    )
    assert made.node_labels == [UNKNOWN, UNKNOWN]
    assert made.node_label.tolist() == [3, 3]
    assert list(made.node_vocabulary) == ["C", "N", "O", UNKNOWN]
    again = Graphs.from_edges([], node_labels=["Rn", "C"], like=made, unknown="map")
    assert again.node_vocabulary == made.node_vocabulary
    assert again.node_labels == [UNKNOWN, "C"]


@given(st.lists(st.sampled_from(["C", "N", "O", "Xe"])))
def test_mapping_unknown_labels_gives_one_vocabulary_whatever_the_data(labels):
    made = Graphs.from_edges([], node_labels=labels, like=REFERENCE, unknown="map")
    assert list(made.node_vocabulary) == ["C", "N", "O", UNKNOWN]
    assert made.node_labels == [UNKNOWN if label == "Xe" else label for label in labels]


def test_with_labels_replaces_them_and_checks_their_number():
    made = REFERENCE.with_node_labels([1, 2, 1]).with_edge_labels(None)
    assert made.node_labels == [1, 2, 1]
    assert made.edge_vocabulary.constant
    assert REFERENCE.with_node_labels(["O", "O", "C"], like=REFERENCE).node_label.tolist() == [
        2,
        2,
        0,
    ]
    with pytest.raises(GraphError, match="2 node labels were given for 3 nodes"):
        REFERENCE.with_node_labels([1, 2])
    with pytest.raises(GraphError, match="3 edge labels were given for 2 edges"):
        REFERENCE.with_edge_labels([1, 2, 3])


def test_renamed_changes_values_and_no_integers():
    made = REFERENCE.renamed(
        node_labels={"C": "carbon", "H": "hydrogen"}, edge_labels={"single": 1}
    )
    assert made.node_labels == ["carbon", "N", "O"]
    assert made.edge_labels == [1, "double"]
    assert torch.equal(made.node_label, REFERENCE.node_label)
    with pytest.raises(GraphError, match="label 'N' stands twice in a vocabulary, at 0 and 1"):
        REFERENCE.renamed(node_labels={"C": "N"})


# Pickling and moving


@given(graphs(attributes=True))
def test_pickles_copies_and_moves_are_equal(collection):
    for other in (
        pickle.loads(pickle.dumps(collection)),
        copy.deepcopy(collection),
        collection.to("cpu"),
    ):
        assert other.equals(collection)
        assert contents(other) == contents(collection)
        assert other.device == collection.device


def test_unknown_survives_pickling_as_the_same_object():
    made = Graphs.from_edges([], node_labels=["Xe"], like=REFERENCE, unknown="map")
    assert pickle.loads(pickle.dumps(made)).node_labels[0] is UNKNOWN
    assert copy.deepcopy(UNKNOWN) is UNKNOWN


def test_one_graph_of_a_huge_collection_pickles_small():
    many = Graphs.from_edges(
        [], sizes=[10] * 20_000, node_features=np.zeros((200_000, 8)), node_names=range(200_000)
    )
    whole, part = len(pickle.dumps(many)), len(pickle.dumps(many[7]))
    assert whole > 10_000_000
    assert part < 5_000


def test_joblib_memory_maps_give_equal_graphs(tmp_path):
    collection = Graphs.from_edges(
        PAIR, node_labels="ab", node_features=np.arange(4.0).reshape(2, 2)
    )
    joblib.dump(collection, tmp_path / "graphs")
    loaded = joblib.load(tmp_path / "graphs", mmap_mode="r")
    assert loaded.equals(collection)
    loaded.node_features.add_(0)


@pytest.mark.gpu
def test_cuda_graphs_agree_with_the_cpu():
    rng = np.random.default_rng(0)
    edges = np.concatenate([rng.integers(0, 5, (9, 2)) + 5 * graph for graph in range(4)])
    collection = Graphs.from_edges(
        edges,
        sizes=[5] * 4,
        node_labels=rng.integers(0, 3, 20),
        edge_labels=list("abc" * 12),
        node_features=rng.random((20, 2)),
        edge_features=rng.random((36, 1)),
        node_names=range(20),
    )
    moved = collection.to("cuda")
    assert moved.device.type == "cuda"
    assert repr(moved).endswith("cuda:0)")
    pairs = [
        (moved, collection),
        (moved[[2, 0]], collection[[2, 0]]),
        (moved[np.array([True, False, True, True])], collection[[0, 2, 3]]),
        (moved[1:3], collection[1:3]),
        (moved.reverse(), collection.reverse()),
        (moved.induced([1, 2, 7]), collection.induced([1, 2, 7])),
        (moved.induced(moved.nodes[3:9]), collection.induced(range(3, 9))),
        (moved.with_degree_labels("both"), collection.with_degree_labels("both")),
        (Graphs.concat([moved[:1], moved[1:]]), collection),
        (pickle.loads(pickle.dumps(moved)), collection),
        (
            Graphs.from_edges(torch.from_numpy(edges).cuda(), sizes=[5] * 4),
            Graphs.from_edges(edges, sizes=[5] * 4),
        ),
    ]
    for ours, expected in pairs:
        assert ours.device.type == "cuda"
        assert ours.to("cpu").equals(expected)
    with pytest.raises(GraphError, match=r"different devices cannot be joined.*\.to\(device\)"):
        Graphs.concat([moved, collection])
    with pytest.raises(GraphError, match="edge_label is on cpu, but node_label is on cuda:0"):
        Graphs(
            **{name: getattr(moved, name) for name in Graphs.__dataclass_fields__}
            | {"edge_label": collection.edge_label}
        )


# Looks


def test_repr_says_what_is_here():
    assert repr(REFERENCE) == "Graphs(1 graph, 3 nodes, 2 edges, 3 node labels, 2 edge labels)"
    assert (
        repr(Graphs.from_edges([]))
        == "Graphs(1 graph, 0 nodes, 0 edges, no node labels, no edge labels)"
    )
    many = Graphs.from_edges(
        [], sizes=[1] * 1000, node_labels=["a"] * 1000, node_features=np.zeros((1000, 2))
    )
    assert (
        repr(many)
        == "Graphs(1,000 graphs, 1,000 nodes, 0 edges, 1 node label, no edge labels, 2 node features)"
    )
    assert repr(Graphs.from_edges([(0, 1)], edge_features=[[0.5]])).endswith(
        "no edge labels, 1 edge feature)"
    )


CHANGES = {
    "an edge": {"edges": [(0, 0)]},
    "a size": {"sizes": [2, 1]},
    "a node label": {"node_labels": "ba"},
    "an edge label": {"edge_labels": "y"},
    "a node feature": {"node_features": [[1.0], [3.0]]},
    "no node features": {"node_features": None},
    "an edge feature": {"edge_features": [[0.0]]},
    "a node name": {"node_names": [(0, 0), (0, 2)]},
    "a graph name": {"graph_names": ["h"]},
    "no graph name": {"graph_names": None},
}


@pytest.mark.parametrize("changed", CHANGES)
def test_equals_sees_every_difference(changed):
    base = {
        "edges": PAIR,
        "sizes": [2],
        "node_labels": "ab",
        "edge_labels": "x",
        "node_features": [[1.0], [2.0]],
        "edge_features": [[5.0]],
        "node_names": [(0, 0), (0, 1)],
        "graph_names": ["g"],
    }
    options = base | CHANGES[changed]
    if changed == "a size":
        options |= {
            "node_labels": "abb",
            "node_features": [[1.0], [2.0], [2.0]],
            "node_names": "abc",
            "graph_names": "gh",
        }
    one, same, other = (Graphs.from_edges(**kept) for kept in (base, base, options))
    assert one.equals(same)
    assert not one.equals(other)
    assert not other.equals(one)


# New graphs from these


@given(graphs(attributes=True))
def test_reversing_turns_edges_and_twice_is_the_identity(collection):
    turned = collection.reverse()
    expected = contents(collection)
    for plain in expected:
        plain["edges"] = [(target, source) for source, target in plain["edges"]]
    assert contents(turned) == expected
    assert turned.reverse().equals(collection)


@given(graphs(attributes=True), st.data())
def test_induced_subgraphs_are_those_of_networkx(collection, data):
    mask = data.draw(
        st.lists(st.booleans(), min_size=collection.num_nodes, max_size=collection.num_nodes)
    )
    kept = [node for node, keep in enumerate(mask) if keep]
    shuffled = data.draw(st.permutations(kept))
    part = collection.induced(torch.tensor(mask, dtype=torch.bool))
    for same in (shuffled, kept + kept, collection.nodes[kept], np.array(kept, np.int32)):
        assert collection.induced(same).equals(part)
    expected = as_networkx(collection).subgraph(kept)
    ends = zip(part.edge_source.tolist(), part.edge_target.tolist(), part.edge_labels, strict=True)
    assert sorted((kept[s], kept[t], repr(label)) for s, t, label in ends) == sorted(
        (s, t, repr(collection.edge_labels[edge])) for s, t, edge in expected.edges(data="edge")
    )
    assert part.node_labels == [collection.node_labels[node] for node in kept]
    assert part.sizes.tolist() == [
        sum(mask[start:stop]) for start, stop in zip(*_bounds(collection), strict=True)
    ]
    assert collection.node_names is None or part.node_names.tolist() == [
        collection.node_names[node] for node in kept
    ]
    assert collection.node_features is None or torch.equal(
        part.node_features, collection.node_features[kept]
    )
    assert collection.node_attributes is None or torch.equal(
        part.node_attributes, collection.node_attributes[kept]
    )
    assert part.edge_attribute_names == collection.edge_attribute_names
    assert (
        collection.graph_names is None
        or part.graph_names.tolist() == collection.graph_names.tolist()
    )
    Graphs(**{name: getattr(part, name) for name in Graphs.__dataclass_fields__})


def _bounds(collection):
    offset = collection.graph_offset.tolist()
    return offset[:-1], offset[1:]


@given(graphs(attributes=True))
def test_inducing_on_all_nodes_changes_nothing(collection):
    assert collection.induced(collection.nodes).equals(collection)


def test_induced_refuses_nodes_that_are_not_there():
    collection = Graphs.from_edges(PAIR)
    with pytest.raises(IndexError, match="node 2 was asked for, but there are 2"):
        collection.induced([0, 2])
    with pytest.raises(GraphError, match="the nodes belong to other graphs"):
        collection.induced(Graphs.from_edges([], num_nodes=3).nodes[:1])
    assert collection.induced(collection.with_node_labels("ab").nodes[1]).num_nodes == 1


@given(graphs())
def test_degree_labels_are_the_degrees_of_networkx(collection):
    graph = as_networkx(collection)
    nodes = range(collection.num_nodes)
    expected = {
        ("in", "once"): [len(set(graph.predecessors(v))) for v in nodes],
        ("out", "once"): [len(set(graph.successors(v))) for v in nodes],
        ("both", "once"): [len(set(nx.all_neighbors(graph, v))) for v in nodes],
        ("in", "per-edge"): [graph.in_degree(v) for v in nodes],
        ("out", "per-edge"): [graph.out_degree(v) for v in nodes],
        ("both", "per-edge"): [graph.degree(v) for v in nodes],
    }
    for (direction, multiplicity), degrees in expected.items():
        labeled = collection.with_degree_labels(direction, multiplicity=multiplicity)
        assert labeled.node_labels == degrees
        assert (
            labeled.with_node_labels(collection.node_labels).node_labels == collection.node_labels
        )
        assert all(type(label) is int for label in labeled.node_vocabulary)


def test_degree_labels_count_each_neighbor_once_by_default():
    loop_and_double = Graphs.from_edges([(0, 0), (0, 1), (0, 1), (1, 0)])
    assert loop_and_double.with_degree_labels("both").node_labels == [2, 1]
    assert loop_and_double.with_degree_labels("both", multiplicity="per-edge").node_labels == [5, 3]


def test_degree_labels_can_follow_other_graphs_and_name_wrong_choices():
    path = Graphs.from_edges([(0, 1), (1, 2)]).with_degree_labels("both")
    star = Graphs.from_edges([(0, 1), (0, 2), (0, 3)])
    with pytest.raises(UnknownLabelError, match="node 0 has the label 3"):
        star.with_degree_labels("both", like=path)
    assert star.with_degree_labels("both", like=path, unknown="map").node_labels == [
        UNKNOWN,
        1,
        1,
        1,
    ]
    with pytest.raises(GraphError, match="direction='up': choose 'in' or 'out' or 'both'"):
        star.with_degree_labels("up")
    with pytest.raises(GraphError, match="multiplicity='twice': choose 'once' or 'per-edge'"):
        star.with_degree_labels("in", multiplicity="twice")


@given(graphs(min_graphs=1, labels=LABELS, attributes=True))
def test_everything_that_makes_new_graphs_carries_the_rest_along(collection):
    whole = contents(collection)
    relabeled = contents(
        collection.with_node_labels(range(collection.num_nodes)).with_edge_labels(None)
    )
    for plain, other in zip(whole, relabeled, strict=True):
        assert {key: value for key, value in plain.items() if "labels" not in key} == {
            key: value for key, value in other.items() if "labels" not in key
        }


# Size


def test_a_hundred_thousand_molecules_are_handled_in_bulk():
    count, size = 100_000, 18
    nodes = np.arange(count * size).reshape(count, size)
    bonds = np.stack([nodes, np.roll(nodes, 1, axis=1)], -1).reshape(-1, 2)
    edges = np.concatenate([bonds, bonds[:, ::-1]])
    labels = {
        "node_labels": (nodes % 7).ravel(),
        "edge_labels": np.tile(np.arange(count * size) % 4, 2),
    }
    calls = 0

    def counted(frame, event, argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    start = time.process_time()
    sys.setprofile(counted)
    try:
        many = Graphs.from_edges(edges, sizes=np.full(count, size), **labels)
        shuffled = many[np.random.default_rng(0).permutation(count)]
        halves = Graphs.concat([many[: count // 2], many[count // 2 :]])
        backwards = many[::-1]
        part = many.induced(np.arange(count * size) % 2 == 0)
    finally:
        sys.setprofile(None)
    assert time.process_time() - start < 20
    assert calls < 2_000
    assert halves.equals(many)
    assert shuffled.num_edges == many.num_edges == 2 * count * size
    assert contents(backwards[0]) == contents(many[-1])
    assert part.num_nodes == count * size / 2


def test_a_node_number_far_beyond_any_memory_is_named():
    with pytest.raises(GraphError, match="names node 1000000000000"):
        Graphs.from_edges([(0, 10**12)])


def test_numpy_sees_one_object_per_graph_and_never_numbers():
    graphs = Graphs.from_edges([(0, 1), (2, 3)], sizes=[2, 2])
    array = np.asarray(graphs)
    assert array.shape == (2,)
    assert array[1].equals(graphs[1])
    assert np.asarray(graphs.nodes).shape == (4,)
    assert np.asarray(graphs, dtype=object).shape == (2,)
    for items, name in ((graphs, "Graphs"), (graphs.nodes, "Nodes")):
        with pytest.raises(GraphError, match=f"^{name} is no array of numbers"):
            np.asarray(items, dtype=float)


def test_what_is_no_graphs_is_named():
    graphs = Graphs.from_edges([(0, 1)])
    assert not graphs.equals(5)
    with pytest.raises(GraphError, match="part 1 is a int"):
        Graphs.concat([graphs, 1])
