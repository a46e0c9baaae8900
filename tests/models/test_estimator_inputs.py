import networkx as nx
import numpy as np
import pytest
import torch

import edgnn
from edgnn import Graphs, Nodes
from edgnn.errors import EstimatorError, GraphError, UnknownLabelError
from edgnn.models import Coder, Seen, UnknownLabelWarning, graphs_of
from edgnn.models._items import append, read_items

PAIR = Graphs.from_edges(
    [(0, 1), (2, 3)], sizes=[2, 2], node_labels=["C", "N", "C", "O"], edge_labels=["x", "y"]
)


def test_graphs_and_nodes_pass_unchanged():
    assert read_items(PAIR, ("graph",)) is PAIR
    nodes = PAIR.nodes[[1, 3]]
    assert read_items(nodes, ("node",)) is nodes


@pytest.mark.parametrize("wrap", [list, np.asarray, iter])
def test_pieces_that_scikit_learn_hands_out_are_joined(wrap):
    assert read_items(wrap(PAIR), ("graph",)).equals(PAIR)
    assert read_items(wrap(PAIR.nodes), ("node",)).index.tolist() == [0, 1, 2, 3]


def test_networkx_graphs_are_read_alone_or_in_a_list():
    graph = nx.DiGraph()
    graph.add_node("a", label="C")
    graph.add_node("b", label="N")
    graph.add_edge("a", "b", label="x")
    for X in (graph, [graph], np.array([graph, None], dtype=object)[:1]):
        assert read_items(X, ("graph",)).node_labels == ["C", "N"]


def test_smiles_and_molecules_are_read():
    chem = pytest.importorskip("rdkit.Chem")
    for X in ("CO", ["CO"], np.array(["CO"]), [chem.MolFromSmiles("CO")]):
        assert read_items(X, ("graph",)).node_labels == ["C", "O"]


def test_pyg_data_are_read():
    pyg = pytest.importorskip("torch_geometric.data")
    data = pyg.Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)
    assert read_items([data, data], ("graph",)).num_edges == 2


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((3, 2)), r"ndarray of shape \(3, 2\); edgnn learns from graphs"),
        (np.zeros(3), "edgnn learns from graphs"),
        (torch.zeros(3), "Tensor of shape"),
        (7, "a int is neither Graphs nor Nodes"),
        ([1, 2], "item 0 is a int"),
        (["CO", PAIR], "item 1 of X is a Graphs, but item 0 is a str"),
        ([PAIR, "CO"], "item 1 is a str"),
        (PAIR.nodes, "is for whole graphs"),
    ],
)
def test_what_is_no_graph_is_refused(X, message):
    with pytest.raises((GraphError, EstimatorError), match=message):
        read_items(X, ("graph",))


def test_graphs_are_refused_where_nodes_are_needed():
    with pytest.raises(EstimatorError, match=r"pass graphs\.nodes"):
        read_items(PAIR, ("node",))


def test_nodes_of_the_same_graphs_share_one_copy_and_others_follow():
    same = append(PAIR.nodes[:1], Graphs._with(PAIR).nodes[2:])
    assert isinstance(same, Nodes)
    assert same.graphs is PAIR
    assert same.index.tolist() == [0, 2, 3]
    other = append(PAIR.nodes[:1], PAIR[1].nodes)
    assert len(graphs_of(other)) == 3
    assert other.index.tolist() == [0, 4, 5]
    assert other.labels == ["C", "C", "O"]


def test_new_graphs_get_the_numbers_of_the_fitted_labels():
    coder = Coder.of(PAIR, None, "once")
    new = Graphs.from_edges([(0, 1), (1, 2)], node_labels=["O", "S", "C"], edge_labels=["z", "y"])
    encoded = coder.encode(new)
    assert encoded.node_label.tolist() == [2, 3, 0]
    assert encoded.edge_label.tolist() == [2, 1]
    assert encoded.node_vocabulary[3] is edgnn.UNKNOWN
    assert coder.encode(PAIR) is PAIR


def test_values_that_no_element_has_do_not_count():
    graphs = Graphs.concat(
        [Graphs.from_edges([], num_nodes=1, node_labels=[label]) for label in ("S", "N")]
    )
    encoded = Coder.of(PAIR, None, "once").encode(graphs[1:])
    assert (encoded.node_label.tolist(), encoded.node_labels) == ([1], ["N"])


def test_a_reserved_label_among_the_fitted_ones_is_not_learned():
    mapped = Graphs.from_edges(
        [(0, 1)], node_labels=["S", "C"], like=PAIR, unknown="map", edge_labels=["x"]
    )
    coder = Coder.of(mapped, None, "once")
    assert list(coder.node_vocabulary) == ["C", "N", "O"]
    assert coder.encode(mapped).node_label.tolist() == [3, 0]


def test_degrees_stand_in_for_labels_only_where_nodes_have_nothing_else():
    bare = Graphs.from_edges([(0, 2), (1, 2)])
    coder = Coder.of(bare, "auto", "once")
    assert coder.degree_labels == "in"
    assert coder.encode(bare).node_labels == [0, 0, 2]
    assert Coder.of(PAIR, "auto", "once").degree_labels is None
    featured = Graphs.from_edges([(0, 1)], node_features=[[1.0], [2.0]])
    assert Coder.of(featured, "auto", "once").degree_labels is None
    assert Coder.of(bare, "both", "once").encode(bare).node_labels == [1, 1, 2]


def test_features_must_have_the_fitted_width():
    coder = Coder.of(
        Graphs.from_edges([(0, 1)], node_features=[[1.0, 2.0], [2.0, 3.0]]), None, "once"
    )
    with pytest.raises(
        EstimatorError, match="0 node features, but the estimator was fitted with 2"
    ):
        coder.encode(Graphs.from_edges([(0, 1)]))


def test_unseen_labels_are_counted_in_one_warning():
    coder = Coder.of(PAIR, None, "once")
    seen = Seen.of(coder, PAIR, np.array([0]))
    new = Graphs.from_edges([(0, 1), (1, 2)], node_labels=["O", "S", "C"], edge_labels=["x", "z"])
    with pytest.warns(UnknownLabelWarning) as caught:
        seen.check(coder, new, coder.encode(new), "zero")
    assert len(caught) == 1
    assert str(caught[0].message).startswith(
        "the training set did not contain the labels of 2 nodes and 1 edge ('O', 'S', 'z'); they count for nothing"
    )
    with pytest.raises(
        UnknownLabelError,
        match=r"node 0 has the label 'O', which is not among the 2 of the training set: 'C', 'N'",
    ):
        seen.check(coder, new, coder.encode(new), "error")
    edge = Graphs.from_edges([(0, 1)], node_labels=["C", "C"], edge_labels=["z"])
    with pytest.raises(UnknownLabelError, match="edge 0 has the label 'z'"):
        seen.check(coder, edge, coder.encode(edge), "error")


def test_labels_of_the_whole_graph_count_as_seen_for_its_nodes():
    coder = Coder.of(PAIR, None, "once")
    seen = Seen.of(coder, PAIR.nodes[[0, 3]], np.array([0]))
    assert seen.nodes.tolist() == [True, True, False]
    assert seen.edges.tolist() == [True, False]


def test_names_in_the_place_of_nodes_are_told_how_to_become_nodes():
    for kind in (edgnn.NodeClassifier, edgnn.RidgeNodeClassifier):
        with pytest.raises(EstimatorError, match=r"pass edgnn\.Nodes\.named"):
            kind().fit(["http://example.org/a", "http://example.org/b"], [0, 1])
