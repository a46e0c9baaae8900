from __future__ import annotations

import sys
from collections import Counter

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given

from edgnn.errors import GraphError, MissingDependencyError, UnknownLabelError
from edgnn.graphs import UNKNOWN, Graphs
from edgnn.io import from_networkx, to_networkx
from strategies import contents, graphs


def edges_by_name(plain):
    """Return the edges of one graph as a multiset, by the names of their ends."""
    names = plain["node names"] or range(len(plain["node labels"]))
    rows = plain["edge features"] or [[]] * len(plain["edges"])
    ends = [(names[source], names[target]) for source, target in plain["edges"]]
    return Counter(
        (*end, label, tuple(row))
        for end, label, row in zip(ends, plain["edge labels"], rows, strict=True)
    )


@given(graphs())
def test_there_and_back_again_is_the_same_up_to_the_order_of_edges(collection):
    converted = to_networkx(collection)
    assert all(isinstance(graph, nx.MultiDiGraph) for graph in converted)
    back = from_networkx(
        iter(converted),
        node_features=None if collection.node_features is None else "features",
        edge_features=None if collection.edge_features is None else "features",
    )
    assert len(back) == len(collection)
    for ours, theirs in zip(contents(back), contents(collection), strict=True):
        assert ours["node names"] == (
            theirs["node names"] or list(range(len(theirs["node labels"])))
        )
        assert ours["node labels"] == theirs["node labels"]
        assert ours["node features"] == theirs["node features"]
        assert ours["graph name"] == theirs["graph name"]
        assert edges_by_name(ours) == edges_by_name(theirs)


@given(graphs(min_graphs=1))
def test_converted_graphs_hold_what_ours_hold(collection):
    for plain, graph in zip(contents(collection), to_networkx(collection), strict=True):
        names = plain["node names"] or list(range(len(plain["node labels"])))
        assert list(graph.nodes) == names
        assert Counter(graph.edges()) == Counter(
            (names[source], names[target]) for source, target in plain["edges"]
        )
        if not collection.node_vocabulary.constant:
            assert [graph.nodes[name]["label"] for name in names] == plain["node labels"]
        if collection.edge_vocabulary.constant:
            assert all("label" not in data for *_, data in graph.edges(data=True))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (nx.DiGraph, [("a", "b", "x"), ("b", "b", "y"), ("b", "c", "z")]),
        (nx.MultiDiGraph, [("a", "b", "x"), ("b", "b", "y"), ("b", "c", "x"), ("b", "c", "z")]),
        (
            nx.Graph,
            [("a", "b", "x"), ("b", "a", "x"), ("b", "b", "y"), ("b", "c", "z"), ("c", "b", "z")],
        ),
        (
            nx.MultiGraph,
            [
                ("a", "b", "x"),
                ("b", "a", "x"),
                ("b", "b", "y"),
                ("b", "c", "x"),
                ("b", "c", "z"),
                ("c", "b", "x"),
                ("c", "b", "z"),
            ],
        ),
    ],
)
def test_edges_of_every_kind_of_graph(kind, expected):
    graph = kind()
    graph.add_nodes_from("abc", label="node")
    for source, target, label in [
        ("a", "b", "x"),
        ("b", "b", "y"),
        ("b", "c", "x"),
        ("b", "c", "z"),
    ]:
        graph.add_edge(source, target, label=label)
    made = from_networkx(graph)
    assert (
        sorted(
            (source, target, label)
            for source, target, label, _ in edges_by_name(contents(made)[0]).elements()
        )
        == expected
    )
    assert made.node_labels == ["node"] * 3
    assert made.node_names.tolist() == ["a", "b", "c"]


def test_nodes_that_are_tuples_or_mixed_keep_their_names():
    made = from_networkx([nx.grid_2d_graph(2, 2), nx.DiGraph([(0, "x"), ("x", (1, 2))])])
    assert made.node_names.tolist() == [(0, 0), (0, 1), (1, 0), (1, 1), 0, "x", (1, 2)]
    assert made.sizes.tolist() == [4, 3]
    assert made.num_edges == 8 + 2


def test_labels_and_features_come_from_the_named_attributes():
    graph = nx.DiGraph(name="one")
    graph.add_node("a", atom="C", x=1.0, y=2, position=[0.5, 1.5])
    graph.add_node("b", atom="N", x=3.0, y=4, position=np.array([2.5, 3.5]))
    graph.add_edge("a", "b", bond=2, length=1.25)
    made = from_networkx(
        graph,
        node_label="atom",
        edge_label="bond",
        node_features=("x", "y"),
        edge_features="length",
    )
    assert (made.node_labels, made.edge_labels) == (["C", "N"], [2])
    assert made.node_features.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert made.edge_features.tolist() == [[1.25]]
    assert made.graph_names.tolist() == ["one"]
    assert from_networkx(graph, node_features="position").node_features.tolist() == [
        [0.5, 1.5],
        [2.5, 3.5],
    ]
    bare = from_networkx([graph, nx.DiGraph()])
    assert bare.node_vocabulary.constant
    assert bare.graph_names is None


def test_what_does_not_fit_is_named():
    graph = nx.DiGraph()
    graph.add_node("a", label=1, x=1.0)
    graph.add_node("b", x="high")
    graph.add_edge("a", "b", label=[1])
    with pytest.raises(GraphError, match="node 'b' has no attribute 'label', but others have"):
        from_networkx(graph)
    with pytest.raises(GraphError, match="the label of edge 0 is a list, which cannot be hashed"):
        from_networkx(graph, node_label=None)
    with pytest.raises(
        GraphError, match=r"edge \('a', 'b'\) has no attribute 'w', which edge_features asks for"
    ):
        from_networkx(graph, node_label=None, edge_label=None, edge_features="w")
    with pytest.raises(GraphError, match="node features cannot be read as an array of numbers"):
        from_networkx(graph, node_label=None, edge_label=None, node_features="x")
    with pytest.raises(GraphError, match="item 1 is a dict, not a networkx graph"):
        from_networkx([graph, {}], node_label=None)


def test_labels_follow_other_graphs_when_asked():
    reference = Graphs.from_edges([(0, 1)], node_labels=["C", "N"], edge_labels=["single"])
    graph = nx.DiGraph()
    graph.add_node(0, label="N")
    graph.add_node(1, label="Xe")
    with pytest.raises(UnknownLabelError, match="node 1 has the label 'Xe'"):
        from_networkx(graph, like=reference)
    assert from_networkx(graph, like=reference, unknown="map").node_labels == ["N", UNKNOWN]


def test_no_graphs_and_empty_graphs_are_fine():
    assert len(from_networkx([])) == 0
    assert to_networkx(Graphs.concat([])) == []
    empty = from_networkx(nx.MultiDiGraph())
    assert (len(empty), empty.num_nodes) == (1, 0)
    assert len(to_networkx(empty)[0]) == 0


def test_attribute_names_can_be_chosen_on_the_way_out():
    made = Graphs.from_edges(
        [(0, 1)], node_labels="ab", edge_labels="x", node_features=[1.0, 2.0], edge_features=[[3.0]]
    )
    options = {
        "node_label": "kind",
        "edge_label": "bond",
        "node_features": "x",
        "edge_features": "w",
    }
    graph = to_networkx(made, **options)[0]
    assert dict(graph.nodes(data=True)) == {
        0: {"kind": "a", "x": [1.0]},
        1: {"kind": "b", "x": [2.0]},
    }
    assert list(graph.edges(data=True)) == [(0, 1, {"bond": "x", "w": [3.0]})]
    assert torch.equal(
        from_networkx(graph, **options).node_features,
        torch.tensor([[1.0], [2.0]], dtype=torch.float64),
    )


def test_without_networkx_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(
        MissingDependencyError,
        match=r"from_networkx needs the package 'networkx'.*pip install 'edgnn\[networkx\]'",
    ):
        from_networkx([])


SEEDED = """
import networkx as nx
from edgnn.graphs import Graphs
from edgnn.io import from_networkx, to_networkx
words = [chr(97 + i % 26) * (1 + i % 3) for i in range(60)]
made = Graphs.from_edges([(i, (7 * i) % 60) for i in range(60)], node_labels=words, edge_labels=words[::-1], node_names=range(60))
graph = nx.MultiDiGraph()
graph.add_nodes_from((f"n{i}", {"label": word}) for i, word in enumerate(words))
graph.add_edges_from((f"n{i}", f"n{i * i % 60}", {"label": (word, i % 2)}) for i, word in enumerate(words))
for found in (made, from_networkx(graph), from_networkx(graph.to_undirected()), from_networkx(to_networkx(made))):
    print([getattr(found, name).tolist() for name in ("node_label", "edge_source", "edge_target", "edge_label")])
    print(list(found.node_vocabulary), list(found.edge_vocabulary), found.with_degree_labels("both").node_label.tolist())
"""


def test_integers_do_not_depend_on_the_hash_seed(run_python):
    first, second = (run_python(SEEDED, PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert first == second
    assert first.count("\n") == 8


def test_a_graph_may_be_called_zero():
    named = Graphs.from_edges([(0, 1)], sizes=[2, 1], graph_names=[0, 1])
    assert from_networkx(to_networkx(named)).graph_names.tolist() == [0, 1]
    assert from_networkx([nx.DiGraph(name="a"), nx.DiGraph()]).graph_names is None


def test_a_label_attribute_that_nothing_has_is_named():
    graph = nx.path_graph(3, create_using=nx.DiGraph)
    assert from_networkx(graph).node_vocabulary.constant
    with pytest.raises(
        GraphError, match="no node has the attribute 'clbu', which node_label asks for"
    ):
        from_networkx(graph, node_label="clbu")
