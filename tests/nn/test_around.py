from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgnn.errors import EdgnnError
from edgnn.graphs import Graphs, known_labels
from edgnn.nn import Inputs, NodeModel, Noise, input_options
from edgnn.registry import LAYERS
from strategies import STRINGS, graphs

ODD = graphs(
    labels=st.just(STRINGS), names=False, min_graphs=1, min_nodes=1, max_nodes=8, max_edges=12
)


def model_of(collection, **options):
    features = 0 if collection.node_features is None else collection.node_features.shape[1]
    edge_features = 0 if collection.edge_features is None else collection.edge_features.shape[1]
    torch.manual_seed(0)
    return NodeModel(
        known_labels(collection.node_vocabulary),
        known_labels(collection.edge_vocabulary),
        3,
        hidden=4,
        node_features=features,
        edge_features=edge_features,
        **options,
    ).double()


def inputs_of(model, collection):
    return Inputs.of(collection, dtype=torch.float64, **input_options(model.config))


def gradient(outputs, model):
    return torch.autograd.grad(outputs.square().sum(), list(model.parameters()), allow_unused=True)


def close(left, right):
    if left is None or right is None:
        return all(part is None or not part.any() for part in (left, right))
    return torch.allclose(left, right, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("conv", tuple(LAYERS))
@given(
    collection=ODD,
    layers=st.integers(1, 3),
    direction=st.sampled_from(["both", "in"]),
    embedding=st.sampled_from([None, 3]),
    dropout=st.sampled_from([0.0, 0.4]),
    input_dropout=st.sampled_from([0.0, 0.4]),
    data=st.data(),
)
def test_some_nodes_come_out_as_among_all(
    conv, collection, layers, direction, embedding, dropout, input_dropout, data
):
    options = {
        "direction": direction,
        "embedding": embedding,
        "dropout": dropout,
        "input_dropout": input_dropout,
    }
    model = model_of(collection, conv=conv, layers=layers, **options)
    whole = inputs_of(model, collection)
    count = collection.num_nodes
    nodes = torch.tensor(
        data.draw(st.lists(st.integers(0, count - 1), unique=True, max_size=count)),
        dtype=torch.int64,
    )
    part = whole.around(nodes, layers, constant_first=model.constant_first(whole))
    for mode in (model.train(), model.eval()):
        expected = mode(whole, Noise(torch.tensor([7]), 1) if mode.training else None)[
            ..., nodes, :
        ]
        found = mode(part, Noise(torch.tensor([7]), 1) if mode.training else None)
        assert found.shape == expected.shape
        assert torch.allclose(found, expected, rtol=1e-9, atol=1e-9)
        assert all(map(close, gradient(found, model), gradient(expected, model)))


def test_the_first_layer_of_edgnn_reads_no_neighbors():
    path = Graphs.from_edges(
        [(node, node + 1) for node in range(9)], sizes=[10], node_labels="abcdefghij"
    )
    whole = Inputs.of(path)
    one, two = (whole.around(torch.tensor([4]), layers) for layers in (1, 2))
    assert one.hops is not None
    assert one.hops[0].neighbors.nnz == 0
    assert two.hops is not None
    assert [hop.neighbors.shape for hop in two.hops] == [(3, 3), (1, 3)]
    assert two.hops[1].nodes.tolist() == [4, 3, 5]
    assert two.H0.shape[0] == 3
    assert two.reach is None


@pytest.mark.parametrize(
    ("nodes", "layers", "text"),
    [
        (torch.tensor([3]), 2, "nodes reach from 3 to 3, the graphs have 3 nodes"),
        (torch.tensor([-1]), 2, "nodes reach from -1 to -1"),
        ([0], 2, "a tensor of int64 with one axis, not as list"),
        (torch.tensor([0]), 0, "layers=0: at least 1 is needed"),
    ],
)
def test_what_there_is_nothing_around_is_refused(nodes, layers, text):
    with pytest.raises(EdgnnError, match=text):
        Inputs.of(Graphs.from_edges([(0, 1), (1, 2)], sizes=[3])).around(nodes, layers)


def test_a_part_has_no_parts():
    part = Inputs.of(Graphs.from_edges([(0, 1), (1, 2)], sizes=[3])).around(torch.tensor([0]), 2)
    with pytest.raises(
        EdgnnError, match="inputs of some nodes already: call around on those of the whole graphs"
    ):
        part.around(torch.tensor([0]), 2)


def test_inputs_of_some_nodes_move_as_a_whole():
    path = Graphs.from_edges([(0, 1), (1, 2)], sizes=[3])
    part = (
        Inputs.of(path).around(torch.tensor([0]), 2, constant_first=False).to(dtype=torch.float64)
    )
    assert part.hops is not None
    assert part.structure is part.hops[-1]
    assert part.dtype == torch.float64
    assert part.reach.dtype == torch.float64
