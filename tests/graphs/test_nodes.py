from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.utils import _safe_indexing, indexable

from edgnn.errors import GraphError
from edgnn.graphs import Graphs, Nodes
from strategies import graphs

COLLECTION = Graphs.from_edges(
    [(0, 1), (1, 2), (3, 4)], sizes=[3, 2], node_labels=list("abcab"), node_names=list("vwxyz")
)


@given(graphs(), st.data())
def test_indexing_agrees_with_a_list_of_node_numbers(collection, data):
    size = collection.num_nodes
    chosen = data.draw(st.lists(st.integers(-size, size - 1), max_size=8) if size else st.just([]))
    nodes, plain = Nodes(collection, chosen), [node % size for node in chosen]
    assert nodes.index.tolist() == plain
    assert nodes.labels == [collection.node_labels[node] for node in plain]
    assert nodes.names == (
        None if collection.node_names is None else [collection.node_names[node] for node in plain]
    )
    key = data.draw(st.slices(len(plain)))
    mask = data.draw(st.lists(st.booleans(), min_size=len(plain), max_size=len(plain)))
    assert nodes[key].index.tolist() == plain[key]
    for as_mask in (mask, np.array(mask, bool), torch.tensor(mask, dtype=torch.bool)):
        if as_mask is not mask or mask:
            assert nodes[as_mask].index.tolist() == [
                node for node, keep in zip(plain, mask, strict=True) if keep
            ]
    assert [node.index.tolist() for node in nodes] == [[node] for node in plain]
    assert nodes[key].graphs is collection
    if plain:
        assert Nodes.concat(nodes).index.tolist() == plain
        assert nodes[-1].index.tolist() == [plain[-1]]


@pytest.mark.parametrize("index", [5, [0, 5], -6, [True, False], [0.5]])
def test_nodes_that_are_not_there_are_index_errors(index):
    with pytest.raises(IndexError):
        Nodes(COLLECTION, index)
    with pytest.raises(IndexError):
        COLLECTION.nodes[index]


def test_nodes_do_not_change():
    nodes = COLLECTION.nodes
    with pytest.raises(AttributeError, match="cannot assign to 'index'"):
        nodes.index = torch.tensor([0])
    with pytest.raises(AttributeError, match="cannot assign to 'other'"):
        nodes.other = 1
    with pytest.raises(AttributeError, match="cannot delete 'graphs'"):
        del nodes.graphs
    assert nodes.index.tolist() == [0, 1, 2, 3, 4]


def test_changing_the_index_afterwards_changes_nothing():
    index = torch.tensor([3, 1])
    nodes = Nodes(COLLECTION, index)
    index.fill_(0)
    assert nodes.index.tolist() == [3, 1]


def test_repr_says_how_many_of_what():
    assert (
        repr(COLLECTION.nodes[:2])
        == "Nodes(2 of Graphs(2 graphs, 5 nodes, 3 edges, 3 node labels, no edge labels))"
    )


def test_scikit_learn_splits_nodes_and_graphs():
    targets = [0, 1, 0, 1, 1]
    train, test, y_train, y_test = train_test_split(
        COLLECTION.nodes, targets, test_size=2, random_state=0
    )
    joined = Nodes.concat([*train, *test])
    assert sorted(joined.index.tolist()) == [0, 1, 2, 3, 4]
    assert [targets[node] for node in joined.index.tolist()] == [*y_train, *y_test]
    graphs_train, graphs_test = train_test_split(COLLECTION, test_size=1, random_state=0)
    assert Graphs.concat([*graphs_train, *graphs_test]).num_nodes == 5


@pytest.mark.parametrize("splitter", [KFold(2, shuffle=True, random_state=1), StratifiedKFold(2)])
def test_scikit_learn_folds_index_nodes_and_lists_of_them(splitter):
    nodes, targets = COLLECTION.nodes, np.array([0, 1, 0, 1, 1])
    for items in (nodes, list(nodes)):
        items_, targets_ = indexable(items, targets)
        for train, test in splitter.split(items_, targets_):
            for part in (train, test):
                assert Nodes.concat(_safe_indexing(items_, part)).index.tolist() == part.tolist()
                assert nodes[part].index.tolist() == part.tolist()
        assert Nodes.concat(_safe_indexing(items_, targets == 1)).index.tolist() == [1, 3, 4]
        assert Nodes.concat(_safe_indexing(items_, slice(1, 3))).index.tolist() == [1, 2]


def test_joining_refuses_nodes_of_other_graphs():
    twin = pickle.loads(pickle.dumps(COLLECTION))
    joined = Nodes.concat([COLLECTION.nodes[2], twin.nodes[0]])
    assert joined.index.tolist() == [2, 0]
    assert joined.graphs is COLLECTION
    other = COLLECTION.with_node_labels(None)
    with pytest.raises(GraphError, match="part 1 selects nodes of other graphs"):
        Nodes.concat([COLLECTION.nodes, other.nodes])
    with pytest.raises(GraphError, match="no nodes to join"):
        Nodes.concat([])


def test_named_finds_nodes_in_the_order_asked():
    single = COLLECTION[0]
    assert Nodes.named(single, ["x", "v", "x"]).index.tolist() == [2, 0, 2]
    assert Nodes.named(single, []).index.tolist() == []
    assert Nodes.named(single, iter(["w", "v"])).index.tolist() == [1, 0]
    with pytest.raises(
        GraphError, match="entry 1 names the node 'nobody', which the graph does not have"
    ):
        Nodes.named(single, ["v", "nobody"])
    for wrong in (COLLECTION, Graphs.from_edges([(0, 1)])):
        with pytest.raises(
            GraphError, match="found by name in a single graph whose nodes have names"
        ):
            Nodes.named(wrong, ["v"])


def test_a_pickled_list_of_items_keeps_one_graph():
    large = Graphs.from_edges([], num_nodes=10_000)
    items = list(large.nodes[:500])
    data = pickle.dumps(items)
    restored = pickle.loads(data)
    assert len({id(item.graphs) for item in restored}) == 1
    assert restored[0].graphs.equals(large)
    assert len(data) < 2 * len(pickle.dumps(large)) + 500 * 300
    assert Nodes.concat(restored).index.tolist() == list(range(500))


def test_buffers_that_cannot_be_written_to_are_copied():
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(COLLECTION.nodes[[4, 0]], protocol=5, buffer_callback=buffers.append)
    restored = pickle.loads(data, buffers=[bytes(buffer) for buffer in buffers])
    restored.index[0] = restored.graphs.node_label[0] = 1
    assert restored.index.tolist() == [1, 0]


def test_moving_keeps_the_selection():
    moved = COLLECTION.nodes[[4, 0]].to("cpu")
    assert moved.index.tolist() == [4, 0]
    assert moved.graphs.equals(COLLECTION)
    elsewhere = COLLECTION.nodes[[4, 0]].to("meta")
    assert elsewhere.index.device.type == elsewhere.graphs.device.type == "meta"


@pytest.mark.gpu
def test_cuda_nodes_agree_with_the_cpu():
    moved = COLLECTION.nodes[[4, 0, 2]].to("cuda")
    assert moved.index.device.type == moved.graphs.device.type == "cuda"
    assert moved.labels == list("bac")
    assert moved.names == list("zvx")
    mask = np.array([True, False, True])
    for key in (mask, torch.tensor(mask), torch.tensor(mask).cuda(), [0, 2], slice(0, 3, 2)):
        assert moved[key].index.tolist() == [4, 2]
    assert COLLECTION.nodes[torch.tensor([1]).cuda()].index.tolist() == [1]
    assert Nodes.named(COLLECTION[:1].to("cuda"), ["x"]).index.tolist() == [2]
    assert pickle.loads(pickle.dumps(moved)).index.tolist() == [4, 0, 2]
    assert Nodes.concat(list(moved)).index.tolist() == [4, 0, 2]
