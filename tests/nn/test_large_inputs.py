from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dense_limits import dense_labels
from edgnn.errors import ModelError
from edgnn.graphs import CSR, Graphs, Structure
from edgnn.nn import Inputs, LargeInputs, NodeModel, input_bytes
from strategies import STRINGS, graphs

ODD = graphs(
    labels=st.sampled_from([None, STRINGS]),
    names=False,
    min_graphs=1,
    min_nodes=1,
    max_nodes=8,
    max_edges=12,
)


def dense(matrix):
    return matrix.to_dense(torch.float64) if isinstance(matrix, CSR) else matrix


@given(ODD, st.booleans(), st.sampled_from([0, 1, 4096]), st.data())
def test_rows_are_those_of_everything_counted(collection, sparse, hub, data):
    count = collection.num_nodes
    nodes = torch.tensor(data.draw(st.lists(st.integers(0, count - 1))), dtype=torch.int64)
    with pytest.MonkeyPatch.context() as patch:
        dense_labels(patch, -1 if sparse else 64)
        patch.setattr("edgnn.nn._large_inputs._HUB", hub)
        whole, large = (kind.of(collection, dtype=torch.float64) for kind in (Inputs, LargeInputs))
        assert isinstance(large.node_inputs(nodes), CSR if sparse else torch.Tensor)
        torch.testing.assert_close(dense(large.node_inputs(nodes)), dense(whole.H0)[nodes])
        torch.testing.assert_close(dense(large.neighbor_inputs(nodes)), dense(whole.AH0)[nodes])
        assert large.width == whole.H0.shape[1]


@given(ODD, st.integers(1, 3), st.data())
def test_labels_of_graphs_with_training_nodes_are_seen(collection, some, data):
    count = collection.num_nodes
    members = data.draw(
        st.lists(st.lists(st.integers(0, count - 1), min_size=1), min_size=1, max_size=3)
    )
    large = LargeInputs.of(collection)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("edgnn.nn._large_inputs._NODES_AT_ONCE", some)
        found = large.seen([torch.tensor(nodes).numpy() for nodes in members], large.labels)
    for member, nodes in enumerate(members):
        learned = {int(collection.graph_of_node[node]) for node in nodes}
        for seen, labels, graph_of in (
            (found[0], collection.node_label, collection.graph_of_node),
            (found[1], collection.edge_label, collection.graph_of_node[collection.edge_source]),
        ):
            expected = {
                int(label)
                for label, graph in zip(labels, graph_of, strict=True)
                if int(graph) in learned
            }
            assert set(seen[member].nonzero().flatten().tolist()) == expected


@pytest.mark.parametrize("sparse", [False, True])
def test_the_neighbors_of_a_hub_are_counted_once(monkeypatch, sparse):
    star = Graphs.from_edges([(0, leaf) for leaf in range(1, 9)], num_nodes=9)
    monkeypatch.setattr("edgnn.nn._large_inputs._HUB", 4)
    dense_labels(monkeypatch, -1 if sparse else 64)
    inputs, counted, sums = LargeInputs.of(star), [], LargeInputs._sums
    monkeypatch.setattr(
        LargeInputs, "_sums", lambda self, lists: counted.append(lists.nnz) or sums(self, lists)
    )
    for _ in range(3):
        assert dense(inputs.neighbor_inputs(torch.tensor([2, 0, 1]))).flatten().tolist() == [
            1,
            8,
            1,
        ]
    assert counted == [2, 8, 2, 2]


def test_a_structure_of_other_graphs_is_refused():
    small, large = (Graphs.from_edges([(0, 1)], num_nodes=nodes) for nodes in (2, 5))
    with pytest.raises(ModelError, match="the structure has 2 nodes, the graphs have 5"):
        LargeInputs.of(large, Structure.of(small))


@pytest.mark.parametrize(
    "options",
    [{"direction": "in"}, {"direction": "both"}, {"multiplicity": "once"}, {"relations": False}],
)
def test_options_beside_a_structure_are_refused(options):
    pair = Graphs.from_edges([(0, 1)], num_nodes=2)
    (name,) = options
    with pytest.raises(
        ModelError, match=f"the structure that is given decides about {name}: leave that out"
    ):
        LargeInputs.of(pair, Structure.of(pair), **options)


def test_a_model_is_not_called_with_them():
    pair = Graphs.from_edges([(0, 1)], num_nodes=2)
    with pytest.raises(ModelError, match=r"call edgnn.training.outputs\(model, inputs\)"):
        NodeModel(1, 1, 2)(LargeInputs.of(pair))


def test_bytes_are_counted_before_anything_is_made():
    path = Graphs.from_edges([(0, 1), (1, 2)], num_nodes=3, node_labels=["a", "b", "a"])
    whole = Inputs.of(path)
    assert input_bytes(path, torch.float32) == whole.H0.nbytes + whole.AH0.nbytes
