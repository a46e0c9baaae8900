from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from dense_limits import dense_entries, dense_labels
from edgnn.errors import GraphError, ModelError
from edgnn.graphs import CSR, Graphs, Structure, known_labels
from edgnn.nn import (
    ACTIVATIONS,
    EdGNNConv,
    GNNConv,
    GraphModel,
    Inputs,
    Noise,
    RelationalConv,
    SummedStates,
)
from nn_reference import eq3, eq4, node_inputs, normal, randomized, states
from strategies import INTEGERS, STRINGS, graphs

LABELED = st.sampled_from([None, STRINGS, INTEGERS])
SMALL = Graphs.from_edges(
    [(0, 0), (0, 1), (0, 1), (1, 0), (2, 1), (4, 2)], edge_labels="xxyxyz", num_nodes=6
)
ODD = graphs(labels=LABELED, names=False, min_graphs=1)
OPTIONS = st.fixed_dictionaries(
    {
        "direction": st.sampled_from(["both", "in"]),
        "multiplicity": st.sampled_from(["once", "per-edge"]),
        "activation": st.sampled_from(sorted(ACTIVATIONS)),
        "bias": st.booleans(),
    }
)
WIDTHS = st.sampled_from(
    [(3, 2), (2, 5), (3, 3)]
)  # sums run over the narrower side, so both orders must be right


def structure_of(collection, conv):
    return Structure.of(
        collection, direction=conv.direction, multiplicity=conv.multiplicity, dtype=torch.float64
    )


def edgnn(collection, in_dim, out_dim, **options):
    features = 0 if collection.edge_features is None else collection.edge_features.shape[1]
    return randomized(
        EdGNNConv(
            in_dim,
            out_dim,
            known_labels(collection.edge_vocabulary),
            edge_features=features,
            **options,
        )
    )


@given(ODD, WIDTHS, OPTIONS)
def test_eq_3_entry_by_entry(collection, widths, options):
    conv, x = randomized(GNNConv(*widths, **options)), states(collection, widths[0])
    result = conv(x, structure_of(collection, conv))
    assert result.shape == (collection.num_nodes, widths[1])
    if collection.num_nodes:
        torch.testing.assert_close(result, eq3(conv, collection, x))


@given(ODD, WIDTHS, OPTIONS, st.sampled_from([None, 1, 3]))
def test_eq_4_entry_by_entry(collection, widths, options, edge_embedding):
    conv = edgnn(collection, *widths, edge_embedding=edge_embedding, **options)
    x = states(collection, widths[0])
    result = conv(x, structure_of(collection, conv))
    assert result.shape == (collection.num_nodes, widths[1])
    if collection.num_nodes:
        torch.testing.assert_close(result, eq4(conv, collection, x))


@given(ODD, OPTIONS, st.booleans())
def test_the_first_layer_reads_counted_inputs_as_it_would_read_their_states(
    collection, options, sparse
):
    x = node_inputs(collection)
    conv = edgnn(collection, x.shape[1], 4, **options)
    with pytest.MonkeyPatch.context() as patch:
        dense_labels(patch, -1 if sparse else 64)
        read = Inputs.of(
            collection,
            direction=conv.direction,
            multiplicity=conv.multiplicity,
            dtype=torch.float64,
        )
    assert isinstance(read.H0, CSR) == sparse
    result = conv(SummedStates(read.H0, read.AH0), read.structure)
    if collection.num_nodes:
        torch.testing.assert_close(result, eq4(conv, collection, x))


@given(ODD, OPTIONS, st.sampled_from([None, 2]))
def test_dense_and_sparse_counts_give_the_same_values_and_gradients(
    collection, options, edge_embedding
):
    results = []
    for entries in (10**6, -1):
        conv = edgnn(collection, 3, 2, edge_embedding=edge_embedding, **options)
        with pytest.MonkeyPatch.context() as patch:
            dense_entries(patch, entries)
            structure = structure_of(collection, conv)
        result = conv(states(collection, 3), structure)
        result.sum().backward()
        results.append([result.detach(), *(weight.grad for weight in conv.parameters())])
    for dense, sparse in zip(*results, strict=True):
        torch.testing.assert_close(dense, sparse)


@given(ODD, OPTIONS)
def test_structure_and_edge_index_give_the_same_states(collection, options):
    collection = collection._with(edge_features=None)
    conv, x = edgnn(collection, 3, 2, **options), states(collection, 3)
    index = torch.stack([collection.edge_source, collection.edge_target])
    from_index = conv(x, index, collection.edge_label)
    assert torch.equal(from_index, conv(x, structure_of(collection, conv)))
    order = torch.randperm(collection.num_edges, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(conv(x, index[:, order], collection.edge_label[order]), from_index)
    plain = randomized(GNNConv(3, 2, **options))
    assert torch.equal(plain(x, index), plain(x, structure_of(collection, plain)))


@given(ODD, OPTIONS, st.sampled_from([None, 2]))
def test_every_member_is_a_layer_of_its_own(collection, options, edge_embedding):
    fleet = edgnn(collection, 3, 2, edge_embedding=edge_embedding, members=3, **options)
    structure, x = structure_of(collection, fleet), states(collection, 3)
    apart = torch.stack([x, 2 * x, -x])
    together, own = fleet(x.expand(3, -1, -1), structure), fleet(apart, structure)
    for member in range(3):
        single = edgnn(collection, 3, 2, edge_embedding=edge_embedding, **options)
        single.load_state_dict({name: value[member] for name, value in fleet.state_dict().items()})
        torch.testing.assert_close(together[member], single(x, structure))
        torch.testing.assert_close(own[member], single(apart[member], structure))


@pytest.mark.parametrize("direction", ["both", "in"])
@pytest.mark.parametrize("embedding", [None, 2])
@pytest.mark.parametrize("widths", [(2, 3), (3, 2)])
def test_gradients_by_states_and_all_weights_are_those_of_finite_differences(
    direction, embedding, widths
):
    featured = SMALL._with(edge_features=normal(6, 2))
    conv = edgnn(
        featured,
        *widths,
        direction=direction,
        edge_embedding=embedding,
        activation="tanh",
        batch_norm=True,
    )
    structure, x = structure_of(featured, conv), normal(6, widths[0]).requires_grad_()
    names = [name for name, _ in conv.named_parameters()]

    def call(x, *weights):
        return torch.func.functional_call(
            conv.eval(), dict(zip(names, weights, strict=True)), (x, structure)
        )

    assert gradcheck(
        call, (x, *(weight.detach().clone().requires_grad_() for weight in conv.parameters()))
    )


def test_reg_sees_incoming_edges_only():
    conv = randomized(EdGNNConv(2, 3, 3, direction="in"))
    assert conv.W4 is None
    x, structure = normal(6, 2), structure_of(SMALL, conv)
    outgoing = SMALL._with(edge_target=torch.where(SMALL.edge_source == 4, 3, SMALL.edge_target))
    changed = conv(x, structure_of(outgoing, conv))
    assert torch.equal(changed[4], conv(x, structure)[4])
    assert not torch.equal(changed[3], conv(x, structure)[3])


def test_edge_labels_and_directions_matter_in_eq_4_and_not_in_eq_3():
    turned, renamed = SMALL.reverse(), SMALL.with_edge_labels(list("zyxyxx"), like=SMALL)
    for conv, matters in (
        (randomized(EdGNNConv(2, 3, 3)), True),
        (randomized(GNNConv(2, 3)), False),
    ):
        x = normal(6, 2)
        same = conv(x, structure_of(SMALL, conv))
        for other in (turned, renamed):
            assert torch.equal(conv(x, structure_of(other, conv)), same) != matters


def test_edges_with_the_reserved_label_join_neighbors_but_are_not_counted():
    new = Graphs.from_edges(
        [(0, 1), (1, 2)], edge_labels=["x", "new"], like=SMALL.with_node_labels(None), unknown="map"
    )
    conv = edgnn(new, 2, 3)
    assert conv.num_edge_labels == 3
    torch.testing.assert_close(
        conv(states(new, 2), structure_of(new, conv)), eq4(conv, new, states(new, 2))
    )


def test_functions_serve_as_activations_and_wrong_names_are_refused():
    conv, x = randomized(GNNConv(2, 3, activation=torch.square)), normal(6, 2)
    torch.testing.assert_close(conv(x, structure_of(SMALL, conv)), eq3(conv, SMALL, x))
    with pytest.raises(
        ValueError, match=r"activation='relo': choose a function or one of 'relu', 'cosine'"
    ):
        GNNConv(2, 3, activation="relo")


@pytest.mark.parametrize("rate", [-0.1, 1.0, 1.5])
@pytest.mark.parametrize("name", ["dropout", "input_dropout"])
def test_rates_outside_zero_and_one_are_refused(name, rate):
    with pytest.raises(ValueError, match=rf"{name}={rate}: choose a number from 0 to below 1"):
        GNNConv(2, 3, **{name: rate})


@pytest.mark.parametrize(
    ("conv", "structure", "message"),
    [
        (
            GNNConv(2, 3, direction="in"),
            Structure.of(SMALL),
            "the layer has direction='in', the structure 'both'",
        ),
        (
            EdGNNConv(2, 3, 2),
            Structure.of(SMALL),
            "made for 2 edge labels, the structure has 3: read the graphs with like=",
        ),
        (
            EdGNNConv(2, 3, 3, edge_features=1),
            Structure.of(SMALL),
            "made for 1 edge features, the structure has 0",
        ),
        (
            EdGNNConv(2, 3, 3),
            Structure.of(SMALL._with(edge_features=torch.zeros(6, 2))),
            "made for 0 edge features, the structure has 2",
        ),
    ],
)
def test_structures_that_do_not_fit_are_refused(conv, structure, message):
    with pytest.raises(GraphError, match=message):
        conv(torch.zeros(6, 2), structure)


def test_nothing_is_dropped_outside_training():
    conv = randomized(EdGNNConv(4, 8, 3, dropout=0.5, input_dropout=0.5)).eval()
    structure, x, noise = (
        structure_of(SMALL, conv),
        normal(6, 4),
        Noise(torch.tensor([1]), 1, rate=torch.tensor([0.9])),
    )
    assert torch.equal(conv(x, structure), conv(x, structure, noise=noise))
    torch.testing.assert_close(conv(x, structure), eq4(conv, SMALL, x))
    assert not torch.equal(conv.train()(x, structure), conv.eval()(x, structure))


def test_dropout_drops_results_at_its_rate_and_keeps_their_mean():
    ring = Structure.from_edge_index(
        torch.stack([torch.arange(400), (torch.arange(400) + 1) % 400])
    )
    conv = (
        randomized(EdGNNConv(2, 64, 1, dropout=0.3, activation="identity", members=2))
        .float()
        .train()
    )
    x = torch.ones(2, 400, 2)
    dropped = conv(x, ring, noise=Noise(torch.tensor([0, 1]), 5))
    whole = conv.eval()(x, ring)
    kept = dropped != 0
    torch.testing.assert_close(
        kept.float().mean(dim=(1, 2)), torch.full((2,), 0.7), atol=0.015, rtol=0
    )
    torch.testing.assert_close(dropped[kept], (whole / 0.7)[kept])


def test_dropping_one_hot_inputs_drops_nodes_from_themselves_and_their_neighbors():
    collection = Graphs.from_edges([(0, 1), (1, 2)] * 1, sizes=[3], node_labels="abc")
    read = Inputs.of(collection, dtype=torch.float64)
    conv = randomized(
        GNNConv(3, 5, input_dropout=0.4, activation="identity", bias=False, members=400)
    ).train()
    dropped = conv(
        SummedStates(read.H0, read.AH0), read.structure, noise=Noise(torch.arange(400), 1)
    )
    eye = torch.eye(3, dtype=torch.float64)
    kept = torch.zeros(400, 3, dtype=torch.bool)
    for pattern in torch.cartesian_prod(*[torch.tensor([False, True])] * 3):
        x = eye * pattern[:, None] / 0.6
        expected = x @ conv.W1 + read.structure.neighbors.to_dense(torch.float64) @ (x @ conv.W2)
        kept[(dropped - expected).abs().amax(dim=(1, 2)) < 1e-9] = pattern
    torch.testing.assert_close(
        kept.double().mean(0), torch.full((3,), 0.6, dtype=torch.float64), atol=0.08, rtol=0
    )


def test_dropping_states_drops_single_entries():
    structure = Structure.from_edge_index(torch.zeros(2, 0, dtype=torch.int64), num_nodes=300)
    conv = GNNConv(20, 20, input_dropout=0.25, activation="identity", bias=False, members=1).train()
    conv.W1.data[0] = torch.eye(20)
    result = conv(torch.ones(1, 300, 20), structure, noise=Noise(torch.tensor([3]), 1))
    assert set(result.unique().tolist()) == {0.0, float(torch.tensor(1 / 0.75))}
    assert abs(float((result > 0).float().mean()) - 0.75) < 0.02


def test_a_layer_saves_nothing_of_the_size_of_edges_times_width():
    nodes, edges, width = 200, 20_000, 32
    index = torch.randint(0, nodes, (2, edges), generator=torch.Generator().manual_seed(0))
    kinds = torch.randint(0, 5, (edges,), generator=torch.Generator().manual_seed(1))
    structure = Structure.from_edge_index(index, kinds)
    conv, saved = EdGNNConv(width, width, 5), []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: saved.append(t.numel()) or t, lambda t: t
    ):
        conv(normal(nodes, width).float().requires_grad_(), structure).sum().backward()
    assert 0 < max(saved) <= nodes * width < edges


@pytest.mark.parametrize("entries", [10**6, -1])
def test_bfloat16_layers_have_values_and_gradients(monkeypatch, entries):
    dense_entries(monkeypatch, entries)
    exact = randomized(EdGNNConv(3, 4, 3, activation="tanh"))
    structure = structure_of(SMALL, exact)
    rough = EdGNNConv(3, 4, 3, activation="tanh").bfloat16()
    rough.load_state_dict(exact.state_dict())
    expected, result = (
        exact(normal(6, 3), structure),
        rough(normal(6, 3).bfloat16(), structure.to(dtype=torch.bfloat16)),
    )
    assert result.dtype == torch.bfloat16
    torch.testing.assert_close(result.double(), expected, rtol=0.05, atol=0.2)
    expected.sum().backward()
    result.sum().backward()
    torch.testing.assert_close(rough.W3.grad.double(), exact.W3.grad, rtol=0.05, atol=0.2)


def test_new_weights_are_those_of_one_linear_map_of_all_that_is_added_up():
    conv = EdGNNConv(30, 50, 20, edge_embedding=7, bias=True)
    bound = (30 + 30 + 7 + 7) ** -0.5
    for weight in (conv.W1, conv.W2, conv.W3, conv.W4, conv.bias):
        assert 0.9 * bound < float(weight.detach().abs().max()) <= bound
    limit = (6 / (20 + 7)) ** 0.5
    assert 0.9 * limit < float(conv.edge_embedding.detach().abs().max()) <= limit
    assert EdGNNConv(30, 50, 20).bias is None


def test_a_layer_says_its_sizes():
    assert "EdGNNConv(2, 3, num_edge_labels=4, direction='in')" in repr(
        EdGNNConv(2, 3, 4, direction="in")
    )


def test_an_edge_index_may_be_given_by_name():
    conv, x, edge_index, edge_type = (
        EdGNNConv(3, 4, 2),
        torch.randn(3, 3),
        torch.tensor([[0, 1], [1, 2]]),
        torch.tensor([0, 1]),
    )
    assert torch.equal(
        conv(x=x, edge_index=edge_index, edge_type=edge_type), conv(x, edge_index, edge_type)
    )
    for wrong in ({}, {"structure": edge_index, "edge_index": edge_index}):
        with pytest.raises(ModelError, match="one of them"):
            conv(x, **wrong)


@pytest.mark.parametrize("conv", [EdGNNConv(3, 4, 2), RelationalConv(3, 4, 2)])
def test_forgotten_edge_types_are_told(conv):
    edges = torch.tensor([[0, 1], [1, 2]])
    with pytest.raises(
        ModelError,
        match=r"edge_type is missing: the layer has 2 edge labels; call conv\(x, edge_index, e",
    ):
        conv(torch.randn(3, 3), edges)


def test_edge_types_may_be_left_out_where_there_is_one_label_or_none_is_read():
    x, edges = torch.randn(3, 3), torch.tensor([[0, 1], [1, 2]])
    conv = EdGNNConv(3, 4, 1)
    assert torch.equal(conv(x, edges), conv(x, edges, torch.zeros(2, dtype=torch.int64)))
    assert GNNConv(3, 4, 5)(x, edges).shape == (3, 4)


@pytest.mark.parametrize(
    ("x", "said"),
    [
        (torch.ones(3, 5), r"x is \(3, 5\) of float32"),
        (torch.ones(3, 2, dtype=torch.int64), r"x is \(3, 2\) of int64"),
        (torch.ones(2), r"x is \(2,\) of float32"),
    ],
)
def test_states_that_do_not_fit_are_told(x, said):
    with pytest.raises(
        ModelError, match=f"the layer takes states of 2 real numbers per node, {said}"
    ):
        EdGNNConv(2, 3, 1)(x, torch.tensor([[0], [1]]))


def test_a_structure_of_another_multiplicity_is_an_error():
    graphs = Graphs.from_edges([(0, 1), (0, 1), (1, 0)], edge_labels="xxy")
    structure, x = Structure.of(graphs), torch.ones(2, 3)
    for kind in (EdGNNConv, GNNConv):
        conv = kind(3, 2, 2, multiplicity="per-edge")
        with pytest.raises(GraphError, match=r"multiplicity='per-edge', the structure 'once'"):
            conv(x, structure)
        conv(x, Structure.of(graphs, multiplicity="per-edge"))
        kind(3, 2, 2, multiplicity=None)(x, structure)
    # edges are counted one by one here, whatever the lists of neighbors
    listed = Structure.of(graphs, relations=True)
    RelationalConv(3, 2, 2, multiplicity="per-edge")(x, listed)


def test_models_take_inputs_of_either_multiplicity():
    graphs = Graphs.from_edges([(0, 1), (0, 1), (1, 0)], edge_labels="xxy")
    model = GraphModel(1, 2, 2, hidden=4)
    once, per_edge = (
        model(Inputs.of(graphs, multiplicity=multiplicity)) for multiplicity in ("once", "per-edge")
    )
    assert not torch.allclose(once, per_edge)


def test_what_a_layer_cannot_take_is_one_clear_error():
    graphs = Graphs.from_edges([(0, 1), (1, 0)], edge_labels="xy")
    conv, x, structure = EdGNNConv(3, 2, 2), torch.ones(2, 3), Structure.of(graphs)
    index, kinds = torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 1])
    for wrong, name in (((x, x), "a tuple"), (None, "None"), (x.numpy(), "a ndarray")):
        with pytest.raises(TypeError, match=f"states of all nodes as one tensor, not {name}"):
            conv(wrong, index, kinds)
        with pytest.raises(TypeError, match=f"states of all nodes as one tensor, not {name}"):
            conv(wrong, structure)
    for listed, name in ((graphs, "a Graphs"), ([graphs], "a list")):
        with pytest.raises(GraphError, match=f"a Structure or an edge_index, not over {name}"):
            conv(x, listed)
    with pytest.raises(GraphError, match="leave out edge_type"):
        conv(x, structure, kinds)
    with pytest.raises(TypeError, match=r"not a list: put several .* with Graphs\.concat"):
        GraphModel(1, 2, 2)([graphs, graphs])
