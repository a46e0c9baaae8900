from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dense_limits import dense_labels
from edgnn import load_dataset
from edgnn.errors import GraphError, ModelError
from edgnn.graphs import Graphs, Structure, known_labels
from edgnn.nn import GraphModel, Inputs, NodeModel, Noise
from edgnn.registry import LAYERS
from nn_reference import eq3, eq4, node_inputs, normal, randomized, relational
from strategies import INTEGERS, STRINGS, graphs

LABELED = st.sampled_from([None, STRINGS, INTEGERS])
ODD = graphs(labels=LABELED, names=False, min_graphs=1)
SMALL = Graphs.from_edges(
    [(0, 0), (0, 1), (0, 1), (1, 0), (2, 1), (5, 6)],
    sizes=[5, 0, 3],
    node_labels="abcabcab",
    edge_labels="xxyxyz",
    node_features=normal(8, 2),
    edge_features=normal(6, 1),
)
ALL = st.fixed_dictionaries(
    {
        "conv": st.sampled_from(tuple(LAYERS)),
        "direction": st.sampled_from(["both", "in"]),
        "embedding": st.sampled_from([None, 3]),
        "batch_norm": st.booleans(),
        "bias": st.booleans(),
    }
)
READOUTS = st.fixed_dictionaries(
    {"readout": st.sampled_from(["sum", "mean", "max"]), "include_input": st.booleans()}
)


def model_of(kind, collection, seed=0, **options):
    sizes = {
        "node_labels": known_labels(collection.node_vocabulary),
        "edge_labels": known_labels(collection.edge_vocabulary),
        "node_features": 0
        if collection.node_features is None
        else collection.node_features.shape[1],
        "edge_features": 0
        if collection.edge_features is None
        else collection.edge_features.shape[1],
    }
    return randomized(kind(**{"outputs": 2, "hidden": 4, **sizes, **options}), seed).eval()


def gine(conv, graphs, x):
    """Return what the layer itself gives before batch norm; ``test_gine_conv.py`` compares that to a loop over edges."""
    structure = Structure.of(
        graphs, direction=conv.direction, relations="sources", dtype=torch.float64
    )
    return conv.activation(conv._sum(x, structure, None, None))


REFERENCES = {"edgnn": eq4, "gnn": eq3, "joint": relational, "rgcn": relational, "gine": gine}


def shuffled(collection, random):
    """Return the graphs with nodes renumbered within each graph and edges in another order, and the new number of each node."""
    place, edges = [], []
    for number in range(len(collection)):
        start, stop = collection.graph_offset[number : number + 2].tolist()
        place += random.sample(range(start, stop), stop - start)
        first, last = collection.edge_offset[number : number + 2].tolist()
        edges += random.sample(range(first, last), last - first)
    place = torch.tensor(place, dtype=torch.int64)
    order = torch.argsort(place)
    nodes = {"node_label": collection.node_label[order]}
    if collection.node_features is not None:
        nodes["node_features"] = collection.node_features[order]
    if collection.edge_features is not None:
        nodes["edge_features"] = collection.edge_features[edges]
    ends = {
        name: place[getattr(collection, name)][edges] for name in ("edge_source", "edge_target")
    }
    fields = {
        name: getattr(collection, name)
        for name in ("graph_offset", "node_vocabulary", "edge_vocabulary")
    }
    return Graphs(**fields, **nodes, **ends, edge_label=collection.edge_label[edges]), place


@given(ODD, ALL, READOUTS)
def test_a_graph_model_is_layers_readouts_and_a_linear_map(collection, options, ways):
    model = model_of(GraphModel, collection, **options, **ways)
    layer = REFERENCES[options["conv"]]
    x = node_inputs(collection)
    if model.embedding is not None:
        x = x @ model.embedding
    all_states = [x] if ways["include_input"] else []
    for conv in model.convs:
        x = layer(conv, collection, x) if len(x) else torch.zeros(0, 4, dtype=torch.float64)
        x = x if conv.norm is None else conv.norm(x)
        all_states.append(x)
    offset = collection.graph_offset.tolist()
    joined = torch.cat(all_states, dim=1)
    reduce = {"sum": lambda x: x.sum(0), "mean": lambda x: x.mean(0), "max": lambda x: x.amax(0)}[
        ways["readout"]
    ]
    zero = torch.zeros(joined.shape[1], dtype=torch.float64)
    pooled = [reduce(joined[a:b]) if a < b else zero for a, b in pairwise(offset)]
    expected = torch.stack(pooled)
    torch.testing.assert_close(model.embed(collection), expected)
    torch.testing.assert_close(model(collection), expected @ model.head.weight + model.head.bias)


@given(ODD, ALL)
def test_a_node_model_is_layers_and_a_linear_map_or_one_layer_more(collection, options):
    layer = REFERENCES[options["conv"]]
    for head in ("linear", "conv"):
        model = model_of(NodeModel, collection, head=head, **options)
        assert len(model.convs) == 2
        x = node_inputs(collection)
        x = x if model.embedding is None else x @ model.embedding
        for number, conv in enumerate(model.convs):
            if head == "conv" and number == 1:
                torch.testing.assert_close(model.embed(collection), x)
                assert conv.norm is None
            x = (
                layer(conv, collection, x)
                if len(x)
                else torch.zeros(0, conv.out_dim, dtype=torch.float64)
            )
            x = x if conv.norm is None else conv.norm(x)
        if head == "linear":
            torch.testing.assert_close(model.embed(collection), x)
            x = x @ model.head.weight + model.head.bias
        torch.testing.assert_close(model(collection), x)


@given(ODD, ALL, READOUTS, st.randoms(use_true_random=False))
def test_graph_models_do_not_see_the_order_of_nodes_and_edges(collection, options, ways, random):
    model = model_of(GraphModel, collection, **options, **ways)
    other, _ = shuffled(collection, random)
    torch.testing.assert_close(model(other), model(collection))


@given(ODD, ALL, st.sampled_from(["linear", "conv"]), st.randoms(use_true_random=False))
def test_node_models_follow_the_order_of_nodes(collection, options, head, random):
    model = model_of(NodeModel, collection, head=head, **options)
    other, place = shuffled(collection, random)
    torch.testing.assert_close(model(other)[place], model(collection))


@given(ODD, ALL, READOUTS)
def test_graphs_do_not_see_each_other(collection, options, ways):
    model = model_of(GraphModel, collection, **options, **ways)
    torch.testing.assert_close(torch.cat([model(graph) for graph in collection]), model(collection))


@given(ODD, ALL, READOUTS, st.booleans())
def test_inputs_counted_before_give_the_same_outputs_dense_or_sparse(
    collection, options, ways, sparse
):
    model = model_of(GraphModel, collection, **options, **ways)
    needs = {"direction": options["direction"], "relations": True, "dtype": torch.float64}
    with pytest.MonkeyPatch.context() as patch:
        dense_labels(patch, -1 if sparse else 64)
        read = Inputs.of(collection, **needs)
    if sparse and ways == {"readout": "max", "include_input": True} and model.embedding is None:
        with pytest.raises(ValueError, match="of so many one-hot labels is not offered"):
            model(read)
        return
    torch.testing.assert_close(model(read), model(collection))
    torch.testing.assert_close(model.embed(read), model.embed(collection))


@given(ODD, ALL, st.sampled_from([GraphModel, NodeModel]), st.booleans())
def test_every_member_is_a_model_of_its_own(collection, options, kind, sparse):
    fleet = model_of(kind, collection, members=3, **options)
    with pytest.MonkeyPatch.context() as patch:
        dense_labels(patch, -1 if sparse else 64)
        together, embedded = fleet(collection), fleet.embed(collection)
        items = len(collection) if kind is GraphModel else collection.num_nodes
        assert together.shape == (3, items, 2)
        for member in range(3):
            single = fleet.with_members(None).double().eval()
            single.load_state_dict(
                {name: value[member] for name, value in fleet.state_dict().items()}
            )
            torch.testing.assert_close(together[member], single(collection))
            torch.testing.assert_close(embedded[member], single.embed(collection))


def test_a_conv_head_behind_the_input_embeds_for_every_member():
    model = model_of(NodeModel, SMALL, head="conv", layers=1, members=3)
    assert model(SMALL).shape == (3, 8, 2)
    assert model.embed(SMALL).shape == (3, 8, 5)
    torch.testing.assert_close(model.embed(SMALL)[1], node_inputs(SMALL))


@pytest.mark.parametrize("kind", [GraphModel, NodeModel])
def test_the_configuration_rebuilds_the_model_and_is_plain(kind):
    options = {
        "layers": 3,
        "conv": "rgcn",
        "bases": 2,
        "dropout": 0.1,
        "activation": "tanh",
        "scaled": True,
        "embedding": 5,
    }
    model = model_of(kind, SMALL, **options)
    again = kind(**model.config).double().eval()
    assert all(
        isinstance(value, int | float | str | bool | type(None)) for value in model.config.values()
    )
    again.load_state_dict(model.state_dict())
    torch.testing.assert_close(again(SMALL), model(SMALL))
    assert kind(**again.config).config == model.config
    assert {name: model.config[name] for name in options} == options
    assert "members" not in model.config


def test_the_defaults_are_those_of_the_paper():
    model = GraphModel(7, 4, 2)
    assert [(conv.in_dim, conv.out_dim) for conv in model.convs] == [(7, 64), (64, 64)]
    assert model.head.in_dim == 7 + 64 + 64
    assert {
        name: model.config[name]
        for name in ("conv", "activation", "readout", "include_input", "direction")
    } == {
        "conv": "edgnn",
        "activation": "relu",
        "readout": "sum",
        "include_input": True,
        "direction": "both",
    }
    assert GraphModel(7, 4, 2, include_input=False).head.in_dim == 128


def test_members_weights_depend_on_their_own_seeds_only():
    fleet, alone = model_of(GraphModel, SMALL, members=3), model_of(GraphModel, SMALL, members=1)
    fleet.seed([5, 6, 5])
    alone.seed([6])
    for name, weight in fleet.state_dict().items():
        assert torch.equal(weight[0], weight[2])
        assert torch.equal(weight[1], alone.state_dict()[name][0])
        assert name.endswith("bias") or not torch.equal(weight[0], weight[1])


def test_scaled_outputs_come_in_the_users_units():
    model = model_of(GraphModel, SMALL, scaled=True, members=2)
    plain = model(SMALL)
    model.output_mean.copy_(torch.tensor([[1.0, 2], [3, 4]]))
    model.output_std.copy_(torch.tensor([[10.0, 20], [30, 40]]))
    torch.testing.assert_close(
        model(SMALL), plain * model.output_std[:, None] + model.output_mean[:, None]
    )


@pytest.mark.parametrize("kind", [GraphModel, NodeModel])
@pytest.mark.parametrize("conv", tuple(LAYERS))
@pytest.mark.parametrize(
    "options", [{}, {"embedding": 3}, {"edge_embedding": 3}, {"bases": 2}, {"direction": "in"}]
)
def test_forgotten_labels_count_as_no_labels(kind, conv, options):
    model = model_of(kind, SMALL, conv=conv, members=2, **options)
    node, edge = torch.tensor([[False, True, False]] * 2), torch.tensor([[True, False, False]] * 2)
    before = model(SMALL)
    model.forget(node, edge)
    unseen = SMALL.with_node_labels(
        ["new" if label == "b" else label for label in SMALL.node_labels], like=SMALL, unknown="map"
    )
    unseen = unseen.with_edge_labels(
        ["new" if label == "x" else label for label in SMALL.edge_labels], like=SMALL, unknown="map"
    )
    torch.testing.assert_close(model(SMALL), model(unseen))
    assert not torch.allclose(before, model(SMALL))


@pytest.mark.parametrize("conv", ["joint", "rgcn"])
@pytest.mark.parametrize("direction", ["both", "in"])
def test_a_model_with_weights_for_all_cells_that_occur_is_the_model_with_all_weights(
    conv, direction
):
    bare = SMALL._with(node_features=None)
    read = Inputs.of(bare, direction=direction, relations="targets", dtype=torch.float64)
    keys = read.cells.keys.tolist()
    few = model_of(NodeModel, bare, conv=conv, direction=direction, cells=keys, members=2)
    full = model_of(NodeModel, bare, conv=conv, direction=direction, members=2)
    full.load_state_dict(few.state_dict() | {"convs.0.W": few.convs[0].relation_weights().detach()})
    torch.testing.assert_close(few(bare), full(bare))
    torch.testing.assert_close(few(read), full(read))
    assert few.config["cells"] == keys
    assert few.with_members(1).convs[0].W.shape == (1, len(keys), 4)
    node, edge = (
        torch.tensor([[False, True, False], [True, False, False]]),
        torch.tensor([[True, False, False], [False] * 3]),
    )
    few.forget(node, edge)
    full.forget(node, edge)
    torch.testing.assert_close(few(bare), full(bare))
    assert torch.equal(few.convs[0].relation_weights(), full.convs[0].W)


def test_cells_of_other_models_are_refused():
    for options in ({"conv": "edgnn"}, {"conv": "rgcn", "embedding": 3}, {"conv": "gine"}):
        with pytest.raises(
            ModelError, match="cells are weights of the first layer of 'joint' and 'rgcn'"
        ):
            GraphModel(3, 2, 2, cells=[0], **options)


def test_nodes_of_gine_are_embedded_as_wide_as_its_layers():
    model = GraphModel(3, 2, 2, conv="gine", hidden=5)
    assert model.embedding.shape == (3, 5)
    assert model.config["embedding"] is None
    assert GraphModel(3, 2, 2, conv="gine", hidden=5, embedding=4).convs[0].first.in_dim == 4


def test_forgetting_is_each_members_own():
    model = model_of(GraphModel, SMALL, members=2)
    before = model(SMALL)
    model.forget(
        torch.tensor([[True, True, True], [False] * 3]), torch.zeros(2, 3, dtype=torch.bool)
    )
    after = model(SMALL)
    assert torch.equal(after[1], before[1])
    assert not torch.allclose(after[0], before[0])


def test_dropout_of_a_member_does_not_depend_on_the_others():
    model = model_of(GraphModel, SMALL, dropout=0.5, input_dropout=0.2, members=3).train()
    model.load_state_dict(
        {name: value[:1].expand_as(value).clone() for name, value in model.state_dict().items()}
    )
    first = model(SMALL, Noise(torch.tensor([1, 2, 3]), 4))
    second = model(SMALL, Noise(torch.tensor([2, 9, 1]), 4))
    torch.testing.assert_close(first[0], second[2])
    torch.testing.assert_close(first[1], second[0])
    assert not torch.allclose(first[0], first[1])
    assert not torch.allclose(first, model(SMALL, Noise(torch.tensor([1, 2, 3]), 5)))


@pytest.mark.parametrize("sparse", [False, True])
def test_input_dropout_drops_features_one_by_one(sparse, monkeypatch):
    dense_labels(monkeypatch, 0 if sparse else 64)
    collection = Graphs.from_edges([], sizes=[400], node_features=torch.ones(400, 2))
    model = NodeModel(
        1,
        1,
        2,
        node_features=2,
        hidden=2,
        layers=1,
        input_dropout=0.5,
        dropout=0.0,
        activation="identity",
    )
    with torch.no_grad():
        model.convs[0].W1.copy_(torch.tensor([[0.0, 0], [1, 0], [0, 1]]))
    model.head = torch.nn.Identity()
    kept = model.train()(Inputs.of(collection)) > 0
    shares = [
        (kept == torch.tensor(pair)).all(1).double().mean().item()
        for pair in ([0, 0], [0, 1], [1, 0], [1, 1])
    ]
    assert shares == pytest.approx([0.25] * 4, abs=0.1)


def test_a_members_own_rate_acts_where_the_models_rate_does():
    for kind, options in ((GraphModel, {}), (NodeModel, {}), (NodeModel, {"head": "conv"})):
        seeds = torch.tensor([1])
        rated = model_of(kind, SMALL, dropout=0.5, input_dropout=0.2, members=1, **options).train()
        plain = model_of(kind, SMALL, dropout=0.0, input_dropout=0.2, members=1, **options).train()
        rate = torch.tensor([0.5], dtype=torch.float64)
        torch.testing.assert_close(
            plain(SMALL, Noise(seeds, 3, rate=rate)), rated(SMALL, Noise(seeds, 3))
        )
        torch.testing.assert_close(
            rated(SMALL, Noise(seeds, 3, rate=0 * rate)), plain(SMALL, Noise(seeds, 3))
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"conv": "gcn"}, "conv='gcn': choose one of 'edgnn', 'gnn', 'joint', 'rgcn'"),
        ({"layers": 0}, "layers=0: choose a whole number, 1 or more"),
        ({"hidden": 0}, "hidden=0: choose a whole number, 1 or more"),
        ({"readout": "median"}, "readout='median': choose 'sum', 'mean' or 'max'"),
        ({"dropout": 1.0}, "dropout=1.0: choose a number from 0 to below 1"),
        ({"activation": "relo"}, "activation='relo'"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        GraphModel(1, 1, 2, **options)


def test_graphs_a_model_was_not_made_for_are_refused():
    with pytest.raises(ValueError, match="made for 2 node labels and features, the inputs have 5"):
        GraphModel(2, 3, 2, edge_features=1)(SMALL)
    with pytest.raises(GraphError, match="made for 2 edge labels, the structure has 3"):
        GraphModel(3, 2, 2, node_features=2, edge_features=1)(SMALL)
    with pytest.raises(GraphError, match="does not list neighbors per relation"):
        GraphModel(3, 3, 2, node_features=2, edge_features=1, conv="joint")(Inputs.of(SMALL))
    with pytest.raises(GraphError, match="the layer has direction='in', the structure 'both'"):
        GraphModel(3, 3, 2, node_features=2, edge_features=1, direction="in")(Inputs.of(SMALL))
    with pytest.raises(ValueError, match="head='mlp': choose 'linear' or 'conv'"):
        NodeModel(3, 3, 2, head="mlp")


def test_a_plain_torch_loop_trains_a_model():
    data = load_dataset("MUTAG")
    torch.manual_seed(0)
    model, target = GraphModel(7, 4, 2, batch_norm=True, dropout=0.1), torch.as_tensor(data.targets)
    read, optimizer = Inputs.of(data.graphs), torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(15):
        loss = torch.nn.functional.cross_entropy(model(read), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.5 < losses[0]
    assert all(
        parameter.grad is not None and parameter.grad.abs().sum() > 0
        for parameter in model.parameters()
    )
