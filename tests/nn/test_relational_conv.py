from __future__ import annotations

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from dense_limits import dense_labels
from edgnn.errors import GraphError
from edgnn.graphs import Graphs, Structure, known_labels
from edgnn.nn import Inputs, Noise, RelationalConv, SummedStates
from nn_reference import node_inputs, normal, randomized, relational, states
from strategies import INTEGERS, STRINGS, graphs

ODD = graphs(labels=st.sampled_from([None, STRINGS, INTEGERS]), names=False, min_graphs=1)
SMALL = Graphs.from_edges(
    [(0, 0), (0, 1), (0, 1), (1, 0), (2, 1), (4, 2)], edge_labels="xxyxyz", num_nodes=6
)
OPTIONS = st.fixed_dictionaries(
    {
        "direction": st.sampled_from(["both", "in"]),
        "aggregate": st.sampled_from(["sum", "mean"]),
        "bases": st.sampled_from([None, 1, 3]),
        "activation": st.sampled_from(["relu", "identity", "cosine"]),
        "bias": st.booleans(),
    }
)


def conv_of(collection, in_dim=3, out_dim=2, **options):
    features = 0 if collection.edge_features is None else collection.edge_features.shape[1]
    labels = known_labels(collection.edge_vocabulary)
    return randomized(RelationalConv(in_dim, out_dim, labels, edge_features=features, **options))


def structure_of(collection, conv):
    return Structure.of(collection, direction=conv.direction, relations=True, dtype=torch.float64)


@given(ODD, OPTIONS)
def test_entry_by_entry_against_a_loop_over_edges(collection, options):
    conv, x = conv_of(collection, **options), states(collection, 3)
    result = conv(x, structure_of(collection, conv))
    assert result.shape == (collection.num_nodes, 2)
    if collection.num_nodes:
        torch.testing.assert_close(result, relational(conv, collection, x))


@given(ODD, OPTIONS, st.booleans())
def test_counted_inputs_are_read_as_their_states(collection, options, sparse):
    x = node_inputs(collection)
    conv = conv_of(collection, x.shape[1], **options)
    with pytest.MonkeyPatch.context() as patch:
        dense_labels(patch, -1 if sparse else 64)
        read = Inputs.of(collection, direction=conv.direction, relations=True, dtype=torch.float64)
    known = SummedStates(read.H0, read.AH0, cells=read.cells)
    assert (read.cells is None) == (collection.node_features is not None)
    torch.testing.assert_close(conv(known, read.structure), conv(x, read.structure))


@given(ODD, OPTIONS, st.booleans())
def test_weights_for_some_cells_are_those_weights_with_zeros_for_all_others(
    collection, options, sparse
):
    collection, options = collection._with(node_features=None), options | {"bases": None}
    x = node_inputs(collection)
    relations = known_labels(collection.edge_vocabulary) * (
        2 if options["direction"] == "both" else 1
    )
    keys = list(range(0, relations * x.shape[1], 2))
    few = conv_of(collection, x.shape[1], cells=keys, **options)
    full = conv_of(collection, x.shape[1], **options)
    full.load_state_dict(few.state_dict() | {"W": few.relation_weights().detach()})
    assert few.W.shape == (len(keys), 2)
    assert torch.equal(full.W.flatten(0, 1)[keys], few.W)
    assert not full.W.flatten(0, 1)[1::2].any()
    with pytest.MonkeyPatch.context() as patch:
        dense_labels(patch, -1 if sparse else 64)
        read = Inputs.of(
            collection,
            direction=few.direction,
            relations="targets",
            cells=keys,
            dtype=torch.float64,
        )
    torch.testing.assert_close(
        few(SummedStates(read.H0, read.AH0, cells=read.cells), read.structure),
        full(x, read.structure),
    )
    torch.testing.assert_close(few(x, read.structure), full(x, read.structure))


def test_weights_of_cells_are_drawn_as_widely_as_all_of_them():
    full, few = RelationalConv(400, 16, 5), RelationalConv(400, 16, 5, cells=range(300))
    assert few.W.shape == (300, 16)
    assert float(few.W.detach().std()) == pytest.approx(float(full.W.detach().std()), rel=0.05)
    assert float(few.W.detach().abs().max()) <= (6 / 416) ** 0.5


def test_inputs_with_other_cells_are_refused():
    labeled = SMALL.with_node_labels("abcabc")
    read = Inputs.of(labeled, relations="targets")
    conv = RelationalConv(3, 2, 3, cells=[key + 1 for key in read.cells.keys.tolist()])
    with pytest.raises(
        GraphError,
        match=r"has weights for \d+ pairs of relation and label, the inputs count other ones",
    ):
        conv(SummedStates(read.H0, read.AH0, cells=read.cells), read.structure)
    with pytest.raises(ValueError, match="with bases there are none"):
        RelationalConv(3, 2, 3, cells=[1], bases=2)


@pytest.mark.parametrize("cells", [False, True])
def test_one_hot_inputs_are_dropped_as_their_states_are(monkeypatch, cells):
    dense_labels(monkeypatch, -1)
    labeled = SMALL.with_node_labels(range(6))
    read = Inputs.of(labeled, relations="targets", dtype=torch.float64)
    keys = read.cells.keys.tolist() if cells else None
    conv = conv_of(
        labeled, 6, input_dropout=0.5, members=2, cells=keys, activation="identity"
    ).train()
    known = SummedStates(read.H0, read.AH0, cells=read.cells)
    dropped = conv(known, read.structure, noise=Noise(torch.tensor([1, 2]), 1))
    states = torch.eye(6, dtype=torch.float64).expand(2, 6, 6)
    torch.testing.assert_close(
        dropped, conv(states, read.structure, noise=Noise(torch.tensor([1, 2]), 1))
    )
    assert not torch.allclose(dropped, conv.eval()(known, read.structure))


@given(ODD, OPTIONS)
def test_structure_and_edge_index_give_the_same_states(collection, options):
    collection = collection._with(edge_features=None)
    conv, x = conv_of(collection, **options), states(collection, 3)
    index = torch.stack([collection.edge_source, collection.edge_target])
    assert torch.equal(
        conv(x, index, collection.edge_label), conv(x, structure_of(collection, conv))
    )


@given(ODD, OPTIONS)
def test_every_member_is_a_layer_of_its_own(collection, options):
    fleet, x = conv_of(collection, members=2, **options), states(collection, 3)
    structure, apart = structure_of(collection, fleet), torch.stack([x, -2 * x])
    result = fleet(apart, structure)
    for member in range(2):
        single = conv_of(collection, **options)
        single.load_state_dict({name: value[member] for name, value in fleet.state_dict().items()})
        torch.testing.assert_close(result[member], single(apart[member], structure))


@pytest.mark.parametrize("direction", ["both", "in"])
@pytest.mark.parametrize("aggregate", ["sum", "mean"])
@pytest.mark.parametrize("bases", [None, 2])
def test_gradients_are_those_of_finite_differences(direction, aggregate, bases):
    featured = SMALL._with(edge_features=normal(6, 2))
    conv = conv_of(
        featured, direction=direction, aggregate=aggregate, bases=bases, activation="tanh"
    )
    structure, names = structure_of(featured, conv), [name for name, _ in conv.named_parameters()]

    def call(x, *weights):
        return torch.func.functional_call(
            conv, dict(zip(names, weights, strict=True)), (x, structure)
        )

    weights = (weight.detach().clone().requires_grad_() for weight in conv.parameters())
    assert gradcheck(call, (normal(6, 3).requires_grad_(), *weights))


@pytest.mark.parametrize("direction", ["both", "in"])
@pytest.mark.parametrize(("aggregate", "peers"), [("sum", "add"), ("mean", "mean")])
@pytest.mark.parametrize("bases", [None, 2])
def test_it_is_the_r_gcn_of_pyg_with_inverse_relations(direction, aggregate, peers, bases):
    peer = pytest.importorskip("torch_geometric.nn").RGCNConv
    index = torch.randint(0, 20, (2, 90), generator=torch.Generator().manual_seed(0))
    kinds = torch.randint(0, 4, (90,), generator=torch.Generator().manual_seed(1))
    ours = randomized(
        RelationalConv(
            5,
            3,
            4,
            direction=direction,
            aggregate=aggregate,
            bases=bases,
            activation="identity",
            bias=True,
        )
    )
    theirs = peer(5, 3, ours.num_relations, num_bases=bases, aggr=peers).double()
    theirs.weight.data, theirs.root.data, theirs.bias.data = (
        ours.W.data,
        ours.W1.data,
        ours.bias.data,
    )
    if bases is not None:
        theirs.comp.data = ours.coefficients.data
    x = normal(20, 5)
    all_index, all_kinds = index, kinds
    if direction == "both":
        all_index, all_kinds = (
            torch.cat([index, index.flip(0)], dim=1),
            torch.cat([kinds, kinds + 4]),
        )
    result, expected = ours(x, index, kinds), theirs(x, all_index, all_kinds)
    torch.testing.assert_close(result, expected)
    for outputs in (result, expected):
        outputs.pow(2).sum().backward()
    torch.testing.assert_close(ours.W.grad, theirs.weight.grad)
    torch.testing.assert_close(ours.W1.grad, theirs.root.grad)
    if bases is not None:
        torch.testing.assert_close(ours.coefficients.grad, theirs.comp.grad)


def peer_of(conv, in_dim, bases, peers):
    """Return PyG's layer with the weights of ours."""
    theirs = pytest.importorskip("torch_geometric.nn").RGCNConv(
        in_dim, conv.out_dim, conv.num_relations, num_bases=bases, aggr=peers, bias=False
    )
    theirs.double().weight.data, theirs.root.data = (
        conv.relation_weights().detach(),
        conv.W1.detach().clone(),
    )
    if bases is not None:
        theirs.weight.data, theirs.comp.data = (
            conv.W.detach().clone(),
            conv.coefficients.detach().clone(),
        )
    return theirs


@given(
    graphs(
        labels=st.sampled_from([None, STRINGS]),
        features=False,
        names=False,
        min_graphs=1,
        min_nodes=1,
    ),
    st.sampled_from(["both", "in"]),
    st.sampled_from([("sum", "add"), ("mean", "mean")]),
    st.sampled_from([None, 2]),
    st.sampled_from(["dense", "sparse", "cells"]),
)
@settings(max_examples=40)
def test_featureless_it_is_the_r_gcn_of_pyg_forward_and_backward(
    collection, direction, ways, bases, kind
):
    pytest.importorskip("torch_geometric.nn")
    nodes, kinds = collection.num_nodes, len(collection.edge_vocabulary)
    assume(kinds)
    collection = collection.with_node_labels(range(nodes))
    with pytest.MonkeyPatch.context() as patch:
        dense_labels(patch, 64 if kind == "dense" else -1)
        read = Inputs.of(collection, direction=direction, relations="targets", dtype=torch.float64)
    cells = read.cells.keys.tolist() if kind == "cells" and bases is None else None
    ours = conv_of(
        collection,
        nodes,
        direction=direction,
        aggregate=ways[0],
        bases=bases,
        cells=cells,
        activation="identity",
    )
    theirs = peer_of(ours, nodes, bases, ways[1])
    index, labels = (
        torch.stack([collection.edge_source, collection.edge_target]),
        collection.edge_label,
    )
    if direction == "both":
        index, labels = (
            torch.cat([index, index.flip(0)], dim=1),
            torch.cat([labels, labels + kinds]),
        )
    result, expected = (
        ours(SummedStates(read.H0, read.AH0, cells=read.cells), read.structure),
        theirs(None, index, labels),
    )
    torch.testing.assert_close(result, expected)
    for outputs in (result, expected):
        (outputs * normal(nodes, 2)).sum().backward()
    torch.testing.assert_close(ours.W1.grad, theirs.root.grad)
    gradient = torch.zeros_like(theirs.weight) if theirs.weight.grad is None else theirs.weight.grad
    if cells is not None:
        gradient = gradient.flatten(0, 1)[cells]
    torch.testing.assert_close(ours.W.grad, gradient)
    if bases is not None and collection.num_edges:
        torch.testing.assert_close(ours.coefficients.grad, theirs.comp.grad)


def test_few_bases_make_all_weights():
    conv = randomized(RelationalConv(3, 2, 5, bases=2))
    assert conv.W.shape == (2, 3, 2)
    weights = conv.relation_weights()
    assert weights.shape == (10, 3, 2)
    torch.testing.assert_close(
        weights[7], conv.coefficients[7, 0] * conv.W[0] + conv.coefficients[7, 1] * conv.W[1]
    )


def test_graphs_without_edges_keep_their_own_states():
    lonely = Graphs.from_edges([], sizes=[2, 0, 1])
    conv = conv_of(lonely, activation="identity", bias=True)
    torch.testing.assert_close(
        conv(states(lonely, 3), structure_of(lonely, conv)), states(lonely, 3) @ conv.W1 + conv.bias
    )


def test_states_that_enter_are_dropped_while_training_only():
    conv, x = conv_of(SMALL, 20, 4, input_dropout=0.5, activation="identity"), normal(6, 20)
    structure = structure_of(SMALL, conv)
    dropped = conv.train()(x, structure)
    assert not torch.equal(dropped, conv.train()(x, structure))
    torch.testing.assert_close(conv.eval()(x, structure), relational(conv, SMALL, x))


def test_members_drop_by_their_own_seeds():
    conv, x = (
        conv_of(SMALL, 20, 4, input_dropout=0.5, members=2).train(),
        normal(6, 20).expand(2, -1, -1),
    )
    conv.load_state_dict(
        {name: value[:1].expand_as(value).clone() for name, value in conv.state_dict().items()}
    )
    structure = structure_of(SMALL, conv)
    one, other = (
        conv(x, structure, noise=Noise(torch.tensor([1, 2]), 1)),
        conv(x, structure, noise=Noise(torch.tensor([2, 1]), 1)),
    )
    torch.testing.assert_close(one, other.flip(0))
    assert not torch.allclose(one[0], one[1])


@pytest.mark.parametrize(
    ("conv", "structure", "message"),
    [
        (
            RelationalConv(2, 3, 3),
            Structure.of(SMALL),
            r"does not list neighbors per relation: build it with .*relations=True",
        ),
        (
            RelationalConv(2, 3, 2),
            Structure.of(SMALL, relations=True),
            "made for 4 relations, the structure has 6",
        ),
        (
            RelationalConv(2, 3, 3, direction="in"),
            Structure.of(SMALL, relations=True),
            "direction='in', the structure 'both'",
        ),
        (
            RelationalConv(2, 3, 3, edge_features=1),
            Structure.of(SMALL, relations=True),
            "made for 1 edge features, the structure has 0",
        ),
        (
            RelationalConv(2, 3, 3),
            Structure.of(SMALL._with(edge_features=torch.zeros(6, 2)), relations=True),
            "made for 0 edge features, the structure has 2",
        ),
    ],
)
def test_structures_that_do_not_fit_are_refused(conv, structure, message):
    with pytest.raises(GraphError, match=message):
        conv(torch.zeros(6, 2), structure)


def test_other_ways_to_aggregate_are_refused():
    with pytest.raises(ValueError, match="aggregate='max': choose 'sum' or 'mean'"):
        RelationalConv(2, 3, 1, aggregate="max")


@pytest.mark.gpu
@pytest.mark.parametrize("aggregate", ["sum", "mean"])
@pytest.mark.parametrize("kind", ["full", "cells", "bases", "dense"])
@pytest.mark.parametrize("members", [None, 3])
def test_one_hot_inputs_on_cuda_agree_with_the_cpu(monkeypatch, aggregate, kind, members):
    dense_labels(monkeypatch, 10**6 if kind == "dense" else -1)
    generator = torch.Generator().manual_seed(0)
    collection = Graphs.from_edges(
        torch.randint(0, 60, (400, 2), generator=generator),
        num_nodes=60,
        node_labels=range(60),
        edge_labels=torch.randint(0, 5, (400,), generator=generator),
    )
    read = Inputs.of(collection, relations="targets", dtype=torch.float64)
    cells = read.cells.keys.tolist() if kind == "cells" else None
    bases = 3 if kind == "bases" else None
    conv = conv_of(
        collection,
        60,
        aggregate=aggregate,
        cells=cells,
        bases=bases,
        members=members,
        activation="tanh",
    )
    expected = conv(SummedStates(read.H0, read.AH0, cells=read.cells), read.structure)
    expected.pow(2).sum().backward()
    gradients = [parameter.grad.clone() for parameter in conv.parameters()]
    conv.zero_grad()
    there = Inputs.of(
        collection, relations="targets", dtype=torch.float64, cells=cells, device="cuda"
    )
    result = conv.cuda()(SummedStates(there.H0, there.AH0, cells=there.cells), there.structure)
    result.pow(2).sum().backward()
    torch.testing.assert_close(result.cpu(), expected)
    for parameter, gradient in zip(conv.parameters(), gradients, strict=True):
        torch.testing.assert_close(parameter.grad.cpu(), gradient)
