from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from edgnn.errors import GraphError
from edgnn.graphs import Graphs, Structure
from edgnn.graphs._vocabulary import known_labels
from edgnn.nn import Inputs, Noise, RelationalConv, _inputs
from edgnn.nn._conv import Known
from nn_reference import node_inputs, normal, randomized, relational, states
from strategies import INTEGERS, STRINGS, graphs

ODD = graphs(labels=st.sampled_from([None, STRINGS, INTEGERS]), names=False, min_graphs=1)
SMALL = Graphs.from_edges([(0, 0), (0, 1), (0, 1), (1, 0), (2, 1), (4, 2)], edge_labels="xxyxyz", num_nodes=6)
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
        patch.setattr(_inputs, "DENSE_LABELS", -1 if sparse else 64)
        read = Inputs.of(collection, direction=conv.direction, relations=True, dtype=torch.float64)
    torch.testing.assert_close(conv(Known(read.H0, read.AH0), read.structure), conv(x, read.structure))


@given(ODD, OPTIONS)
def test_structure_and_edge_index_give_the_same_states(collection, options):
    collection = collection._with(edge_features=None)
    conv, x = conv_of(collection, **options), states(collection, 3)
    index = torch.stack([collection.edge_source, collection.edge_target])
    assert torch.equal(conv(x, index, collection.edge_label), conv(x, structure_of(collection, conv)))


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
    conv = conv_of(featured, direction=direction, aggregate=aggregate, bases=bases, activation="tanh")
    structure, names = structure_of(featured, conv), [name for name, _ in conv.named_parameters()]

    def call(x, *weights):
        return torch.func.functional_call(conv, dict(zip(names, weights, strict=True)), (x, structure))

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
        RelationalConv(5, 3, 4, direction=direction, aggregate=aggregate, bases=bases, activation="identity", bias=True)
    )
    theirs = peer(5, 3, ours.num_relations, num_bases=bases, aggr=peers).double()
    theirs.weight.data, theirs.root.data, theirs.bias.data = ours.W.data, ours.W1.data, ours.bias.data
    if bases is not None:
        theirs.comp.data = ours.coefficients.data
    x = normal(20, 5)
    all_index, all_kinds = index, kinds
    if direction == "both":
        all_index, all_kinds = torch.cat([index, index.flip(0)], dim=1), torch.cat([kinds, kinds + 4])
    torch.testing.assert_close(ours(x, index, kinds), theirs(x, all_index, all_kinds))


def test_few_bases_make_all_weights():
    conv = randomized(RelationalConv(3, 2, 5, bases=2))
    assert conv.W.shape == (2, 3, 2)
    weights = conv.relation_weights()
    assert weights.shape == (10, 3, 2)
    torch.testing.assert_close(weights[7], conv.coefficients[7, 0] * conv.W[0] + conv.coefficients[7, 1] * conv.W[1])


def test_graphs_without_edges_keep_their_own_states():
    lonely = Graphs.from_edges([], sizes=[2, 0, 1])
    conv = conv_of(lonely, activation="identity", bias=True)
    torch.testing.assert_close(conv(states(lonely, 3), structure_of(lonely, conv)), states(lonely, 3) @ conv.W1 + conv.bias)


def test_states_that_enter_are_dropped_while_training_only():
    conv, x = conv_of(SMALL, 20, 4, input_dropout=0.5, activation="identity"), normal(6, 20)
    structure = structure_of(SMALL, conv)
    dropped = conv.train()(x, structure)
    assert not torch.equal(dropped, conv.train()(x, structure))
    torch.testing.assert_close(conv.eval()(x, structure), relational(conv, SMALL, x))


def test_members_drop_by_their_own_seeds():
    conv, x = conv_of(SMALL, 20, 4, input_dropout=0.5, members=2).train(), normal(6, 20).expand(2, -1, -1)
    conv.load_state_dict({name: value[:1].expand_as(value).clone() for name, value in conv.state_dict().items()})
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
        (RelationalConv(2, 3, 3), Structure.of(SMALL), r"does not list neighbors per relation: build it with .*relations=True"),
        (RelationalConv(2, 3, 2), Structure.of(SMALL, relations=True), "made for 4 relations, the structure has 6"),
        (RelationalConv(2, 3, 3, direction="in"), Structure.of(SMALL, relations=True), "direction='in', the structure 'both'"),
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
