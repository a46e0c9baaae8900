from __future__ import annotations

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import nn
from torch.autograd import gradcheck

from edgnn.errors import GraphError
from edgnn.graphs import UNKNOWN, Graphs, Structure, known_labels
from edgnn.nn import GINEConv, Inputs, Noise, SummedStates
from nn_reference import edges_of, node_inputs, normal, randomized, states
from strategies import INTEGERS, STRINGS, graphs

ODD = graphs(labels=st.sampled_from([None, STRINGS, INTEGERS]), names=False, min_graphs=1)
SMALL = Graphs.from_edges(
    [(0, 0), (0, 1), (0, 1), (1, 0), (2, 1), (4, 2)], edge_labels="xxyxyz", num_nodes=6
)
OPTIONS = st.fixed_dictionaries(
    {
        "direction": st.sampled_from(["both", "in"]),
        "activation": st.sampled_from(["relu", "identity", "cosine"]),
        "bias": st.booleans(),
        "batch_norm": st.booleans(),
    }
)


def conv_of(collection, in_dim=3, out_dim=2, **options):
    features = 0 if collection.edge_features is None else collection.edge_features.shape[1]
    labels = known_labels(collection.edge_vocabulary)
    return randomized(GINEConv(in_dim, out_dim, labels, edge_features=features, **options)).eval()


def structure_of(collection, conv):
    return Structure.of(
        collection, direction=conv.direction, relations="sources", dtype=torch.float64
    )


def by_hand(conv, collection, x):
    """Return MLP((1 + ε) f(v) + Σ ReLU(f(u) + e)) for every v, one edge at a time."""
    labels, width, features = conv.num_edge_labels, conv.edge_features, collection.edge_features
    rows = []
    for v in range(len(x)):
        total = (1 + conv.eps) * x[v]
        for e, (source, target, label) in enumerate(edges_of(collection)):
            for side, (here, there) in enumerate([(target, source), (source, target)]):
                if here != v or (side == 1 and conv.direction == "in"):
                    continue
                message = x[there]
                if label < labels:
                    message = message + conv.E[side * labels + label]
                if features is not None:
                    message = (
                        message
                        + features[e].double() @ conv.W_features[side * width : (side + 1) * width]
                    )
                total = total + torch.relu(message)
        rows.append(total)
    return conv.activation(_mapped(conv, torch.stack(rows)))


def _mapped(conv, total):
    inner = total @ conv.first.weight + (0 if conv.first.bias is None else conv.first.bias)
    inner = inner if conv.inner_norm is None else conv.inner_norm(inner)
    return torch.relu(inner) @ conv.second.weight + (
        0 if conv.second.bias is None else conv.second.bias
    )


@given(ODD, OPTIONS)
def test_entry_by_entry_against_a_loop_over_edges(collection, options):
    conv, x = conv_of(collection, **options), states(collection, 3)
    result = conv(x, structure_of(collection, conv))
    assert result.shape == (collection.num_nodes, 2)
    if collection.num_nodes:
        expected = by_hand(conv, collection, x)
        torch.testing.assert_close(result, expected if conv.norm is None else conv.norm(expected))


@given(ODD, OPTIONS)
def test_edges_with_an_unknown_label_send_the_state_alone(collection, options):
    assume(len(collection.edge_vocabulary))
    conv, x = conv_of(collection, **options), states(collection, 3)
    vocabulary = type(collection.edge_vocabulary)([*list(collection.edge_vocabulary)[:-1], UNKNOWN])
    unseen = collection._with(edge_vocabulary=vocabulary)
    fewer = conv_of(unseen, **options)
    sides, labels = 2 if conv.direction == "both" else 1, conv.num_edge_labels
    with torch.no_grad():
        conv.E.view(sides, labels, 3)[:, -1] = 0
        kept = conv.E.view(sides, labels, 3)[:, :-1].flatten(0, 1)
        fewer.load_state_dict(conv.state_dict() | {"E": kept})
    torch.testing.assert_close(
        fewer(x, structure_of(unseen, fewer)), conv(x, structure_of(collection, conv))
    )


@pytest.mark.parametrize("direction", ["both", "in"])
@pytest.mark.parametrize("edges", [0, 15, 90])
@pytest.mark.parametrize("batch_norm", [False, True])
def test_it_is_the_gine_of_pyg_forward_and_backward(direction, edges, batch_norm):
    peer = pytest.importorskip("torch_geometric.nn").GINEConv
    index = torch.randint(0, 20, (2, edges), generator=torch.Generator().manual_seed(edges))
    kinds = torch.randint(0, 4, (edges,), generator=torch.Generator().manual_seed(1))
    ours = randomized(
        GINEConv(5, 3, 4, direction=direction, batch_norm=batch_norm, activation="identity")
    ).train()
    ours.norm = None
    first, second = nn.Linear(5, 3), nn.Linear(3, 3)
    norm = [nn.BatchNorm1d(3)] if batch_norm else []
    table = ours.E.detach().clone().requires_grad_()
    theirs = peer(nn.Sequential(first, *norm, nn.ReLU(), second), train_eps=True).double()
    theirs.eps.data = ours.eps.detach().clone()
    for linear, own in ((first, ours.first), (second, ours.second)):
        linear.weight.data, linear.bias.data = (
            own.weight.detach().T.clone(),
            own.bias.detach().clone(),
        )
    if batch_norm:
        norm[0].weight.data, norm[0].bias.data = (
            ours.inner_norm.weight.data.clone(),
            ours.inner_norm.bias.data.clone(),
        )
    x, y = (normal(20, 5).requires_grad_() for _ in range(2))
    all_index, all_kinds = index, kinds
    if direction == "both":
        all_index, all_kinds = (
            torch.cat([index, index.flip(0)], dim=1),
            torch.cat([kinds, kinds + 4]),
        )
    result, expected = ours(x, index, kinds), theirs(y, all_index, table[all_kinds])
    torch.testing.assert_close(result, expected)
    for outputs in (result, expected):
        (outputs * normal(20, 3, seed=3)).sum().backward()
    torch.testing.assert_close(x.grad, y.grad)
    torch.testing.assert_close(ours.eps.grad, theirs.eps.grad)
    torch.testing.assert_close(ours.first.weight.grad, first.weight.grad.T)
    torch.testing.assert_close(
        torch.zeros_like(ours.E) if ours.E.grad is None else ours.E.grad, table.grad
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
@pytest.mark.parametrize("features", [False, True])
def test_gradients_are_those_of_finite_differences(direction, features):
    collection = SMALL._with(edge_features=normal(6, 2)) if features else SMALL
    conv = conv_of(collection, direction=direction, activation="tanh")
    structure, names = structure_of(collection, conv), [name for name, _ in conv.named_parameters()]

    def call(x, *weights):
        return torch.func.functional_call(
            conv, dict(zip(names, weights, strict=True)), (x, structure)
        )

    weights = (weight.detach().clone().requires_grad_() for weight in conv.parameters())
    assert gradcheck(call, (normal(6, 3).requires_grad_(), *weights))


@given(ODD)
def test_counted_inputs_are_read_as_their_states(collection):
    x = node_inputs(collection)
    conv = conv_of(collection, x.shape[1])
    read = Inputs.of(collection, relations="sources", dtype=torch.float64)
    torch.testing.assert_close(
        conv(SummedStates(read.H0, read.AH0), read.structure), conv(x, read.structure)
    )


def test_a_message_is_made_once_for_all_edges_of_a_source_and_a_label():
    star = Graphs.from_edges([(0, v) for v in range(1, 8)], edge_labels="xxxyyyy")
    sources = Structure.of(star, direction="in", relations="sources").sources
    assert sources.gather.shape == (2, 8)
    assert sources.spread.nnz == 7


def test_new_layers_start_with_the_plain_sum():
    conv = GINEConv(3, 2, 4, members=2)
    assert conv.eps.tolist() == [[0.0], [0.0]]
    assert conv.E.shape == (2, 8, 3)
    assert float(conv.E.detach().abs().max()) <= (6 / 11) ** 0.5
    assert GINEConv(3, 2, 4, bias=False).first.bias is None


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
        conv(x, structure, noise=Noise(torch.tensor(seeds), 1)) for seeds in ([1, 2], [2, 1])
    )
    torch.testing.assert_close(one, other.flip(0))
    assert not torch.allclose(one[0], one[1])


@pytest.mark.parametrize(
    ("conv", "structure", "message"),
    [
        (
            GINEConv(2, 3, 3),
            Structure.of(SMALL, relations="targets"),
            r'not list edges by source: build .*relations="sources"',
        ),
        (
            GINEConv(2, 3, 2),
            Structure.of(SMALL, relations=True),
            "made for 2 edge labels, the structure has 3",
        ),
        (
            GINEConv(2, 3, 3, direction="in"),
            Structure.of(SMALL, relations=True),
            "direction='in', the structure 'both'",
        ),
        (
            GINEConv(2, 3, 3, edge_features=1),
            Structure.of(SMALL, relations=True),
            "made for 1 edge features, the structure has 0",
        ),
    ],
)
def test_structures_that_do_not_fit_are_refused(conv, structure, message):
    with pytest.raises(GraphError, match=message):
        conv(torch.zeros(6, 2), structure)


@pytest.mark.gpu
@pytest.mark.parametrize("direction", ["both", "in"])
@pytest.mark.parametrize("features", [False, True])
@pytest.mark.parametrize("members", [None, 2])
def test_cuda_agrees_with_the_cpu_and_repeats_itself(direction, features, members):
    generator = torch.Generator().manual_seed(0)
    ends = torch.randint(0, 50, (300, 2), generator=generator)
    kinds = torch.randint(0, 5, (300,), generator=generator)
    collection = Graphs.from_edges(
        ends,
        num_nodes=50,
        edge_labels=kinds,
        edge_features=torch.rand(300, 2, generator=generator) if features else None,
    )
    conv = conv_of(collection, direction=direction, members=members, batch_norm=True).train()
    structure, x = (
        structure_of(collection, conv),
        normal(*([] if members is None else [members]), 50, 3),
    )
    expected = conv(x, structure)
    expected.pow(2).sum().backward()
    gradients = [parameter.grad.clone() for parameter in conv.parameters()]
    conv.cuda()
    runs = []
    for _ in range(2):
        conv.zero_grad()
        result = conv(x.cuda(), structure.to("cuda"))
        result.pow(2).sum().backward()
        torch.testing.assert_close(result.cpu(), expected)
        runs.append([result.detach(), *(parameter.grad.clone() for parameter in conv.parameters())])
    for parameter, gradient in zip(conv.parameters(), gradients, strict=True):
        torch.testing.assert_close(parameter.grad.cpu(), gradient)
    assert all(torch.equal(one, other) for one, other in zip(*runs, strict=True))
