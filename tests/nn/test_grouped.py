from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from edgnn.graphs import Graphs, Structure
from edgnn.nn import Inputs
from edgnn.nn.ops import _grouped, relational_product
from edgnn.training import Blocks
from nn_reference import normal
from strategies import INTEGERS, STRINGS, graphs

COLLECTIONS = graphs(labels=st.sampled_from([None, STRINGS, INTEGERS]), features=False, names=False)
DIRECTIONS = st.sampled_from(["both", "in"])


def random_relations(nodes=30, edges=200, kinds=3, direction="both"):
    generator = torch.Generator().manual_seed(0)
    index, labels = (
        torch.randint(0, n, s, generator=generator)
        for n, s in ((nodes, (2, edges)), (kinds, (edges,)))
    )
    options = {"num_nodes": nodes + 2, "num_edge_labels": kinds, "direction": direction}
    return Structure.from_edge_index(index, labels, relations="targets", **options).relations


def by_hand(x, weight, relations, mean=False):
    """Multiply with every matrix written out; members' blocks one after another."""
    blocks = relations.gather.blocks
    gather, spread = (matrix.to_dense(x.dtype) for matrix in (relations.gather, relations.spread))
    if mean:
        gather = gather / gather.sum(1, keepdim=True).clamp(min=1)
    if blocks > 1:
        gather, spread = (_diagonal(matrix, blocks) for matrix in (gather, spread))
    received = gather @ x
    sent = [
        received[..., start:stop, :] @ weight[..., r, :, :]
        for r, (start, stop) in enumerate(pairwise(relations.offset))
    ]
    return spread @ torch.cat(sent, dim=-2)


def _diagonal(matrix, blocks):
    return torch.stack(
        [part.chunk(blocks, dim=1)[m] for m, part in enumerate(matrix.chunk(blocks, dim=0))]
    )


def assert_like_by_hand(relations, x, weight, mean=False):
    results = []
    for function in (relational_product, by_hand):
        states, weights = x.clone().requires_grad_(), weight.clone().requires_grad_()
        result = function(states, weights, relations, mean=mean)
        result.backward(normal(*result.shape, seed=5))
        results.append((result, states.grad, weights.grad))
    for ours, expected in zip(*results, strict=True):
        torch.testing.assert_close(ours, expected)


@given(COLLECTIONS, DIRECTIONS, st.booleans(), st.sampled_from([None, 2]))
def test_products_and_gradients_are_those_of_matrices_written_out(
    collection, direction, mean, members
):
    relations = Structure.of(collection, direction=direction, relations="targets").relations
    front = () if members is None else (members,)
    x, weight = (
        normal(*front, collection.num_nodes, 3),
        normal(*front, relations.num_relations, 3, 2, seed=1),
    )
    if relations.num_relations:
        assert_like_by_hand(relations, x, weight, mean)


@pytest.mark.parametrize("direction", ["both", "in"])
@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("members", [(), (2,)])
def test_pieces_add_up_to_the_whole(monkeypatch, direction, mean, members):
    relations = random_relations(direction=direction)
    monkeypatch.setitem(_grouped._PIECE_BYTES, "cpu", 512)
    monkeypatch.setattr(_grouped, "_PIECE_ROWS", 1)
    x, weight = normal(*members, 32, 4), normal(*members, relations.num_relations, 4, 3, seed=1)
    assert len(_grouped._pieces(relations, x, 4)) > 3
    assert_like_by_hand(relations, x, weight, mean)


@pytest.mark.parametrize("direction", ["both", "in"])
@pytest.mark.parametrize("mean", [False, True])
def test_members_blocks_are_products_of_their_own(direction, mean):
    collection = Graphs.from_edges(
        [(0, 1), (1, 2), (3, 4), (4, 4), (5, 6), (6, 5)], edge_labels="abaaba", sizes=[3, 2, 2]
    )
    whole = Inputs.of(collection, direction=direction, relations="targets")
    relations = Blocks(whole).take(torch.tensor([[0, 2], [1, -1], [2, 1]])).structure.relations
    assert relations.gather.blocks == 3
    assert relations.mirrored == (direction == "both")
    assert_like_by_hand(
        relations, normal(3, 5, 3), normal(3, relations.num_relations, 3, 4, seed=1), mean
    )


@pytest.mark.parametrize("mean", [False, True])
def test_states_that_members_share_get_the_gradients_of_all(mean):
    relations = random_relations()
    assert_like_by_hand(
        relations, normal(32, 4), normal(3, relations.num_relations, 4, 5, seed=1), mean
    )


@pytest.mark.parametrize("mean", [False, True])
def test_some_rows_read_the_states_of_more(mean):
    relations, nodes = random_relations(), torch.tensor([3, 4, 17])
    place = torch.cat([torch.arange(29, 32), torch.arange(29)])
    some = relations.rows(nodes, place, 32)
    assert some.gather.shape[1] == 32
    x, weight = normal(32, 4), normal(relations.num_relations, 4, 3, seed=1)
    assert_like_by_hand(some, x, weight, mean)
    torch.testing.assert_close(
        relational_product(x, weight, some), relational_product(x[place], weight, relations)[nodes]
    )


@pytest.mark.parametrize("direction", ["both", "in"])
def test_gradients_are_those_of_finite_differences(direction):
    relations = random_relations(5, 12, 2, direction)
    x, weight = (
        normal(7, 2).requires_grad_(),
        normal(relations.num_relations, 2, 3).requires_grad_(),
    )
    assert gradcheck(lambda x, weight: relational_product(x, weight, relations), (x, weight))


def test_weights_alone_and_states_alone_get_their_gradients():
    relations, x, weight = (
        random_relations(),
        normal(32, 4).requires_grad_(),
        normal(6, 4, 3).requires_grad_(),
    )
    for_x, for_weight = torch.autograd.grad(by_hand(x, weight, relations).pow(2).sum(), (x, weight))
    relational_product(x.detach(), weight, relations).pow(2).sum().backward()
    relational_product(x, weight.detach(), relations).pow(2).sum().backward()
    torch.testing.assert_close(weight.grad, for_weight)
    torch.testing.assert_close(x.grad, for_x)


def test_weighted_neighbors_count_as_much_as_they_weigh_and_averages_divide_by_all_weights():
    relations = random_relations()
    values = (
        torch.rand(
            relations.gather.nnz, generator=torch.Generator().manual_seed(2), dtype=torch.float64
        )
        + 0.5
    )
    weighted = replace(relations, gather=replace(relations.gather, values=values), mirrored=False)
    assert_like_by_hand(weighted, normal(32, 4), normal(6, 4, 3, seed=1))
    ones = torch.ones(32, 1, dtype=torch.float64)
    met = relational_product(ones, torch.eye(6, dtype=torch.float64)[:, None], weighted, mean=True)
    assert torch.allclose(met, met.round())


def test_half_precision_adds_up_in_float32():
    relations, x = random_relations(), normal(32, 4)
    weight = normal(6, 4, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        states, weights = x.float().requires_grad_(), weight.float().requires_grad_()
        result = relational_product(states, weights, relations)
    assert result.dtype == torch.bfloat16
    result.sum().backward()
    assert states.grad.dtype == weights.grad.dtype == torch.float32
    torch.testing.assert_close(result.double(), by_hand(x, weight, relations), rtol=0.1, atol=0.5)


def test_the_same_call_gives_the_same_bits():
    relations, x, weight = random_relations(), normal(32, 4).float(), normal(6, 4, 3).float()
    assert torch.equal(
        relational_product(x, weight, relations), relational_product(x, weight, relations)
    )


@pytest.mark.gpu
@pytest.mark.parametrize("direction", ["both", "in"])
@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("members", [(), (2,)])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 2e-5), (torch.float64, 1e-12), (torch.bfloat16, 2e-2)]
)
@pytest.mark.parametrize("hub", [False, True])
def test_cuda_gives_the_products_and_gradients_of_the_cpu(
    direction, mean, members, dtype, tolerance, hub
):
    relations = random_relations(3 if hub else 300, 2000, 4, direction)
    x, weight = (
        normal(*members, relations.gather.shape[1], 40),
        normal(*members, relations.num_relations, 40, 70, seed=1),
    )
    results = []
    for device, kind in (("cpu", torch.float64), ("cuda", dtype)):
        states, weights = (
            part.detach().to(device, kind, copy=True).requires_grad_() for part in (x, weight)
        )
        result = relational_product(states, weights, relations.to(device), mean=mean)
        result.backward(normal(*result.shape, seed=5).to(result))
        results.append(
            [part.double().cpu() for part in (result.detach(), states.grad, weights.grad)]
        )
    for expected, ours in zip(*results, strict=True):
        assert float((ours - expected).abs().max()) <= tolerance * float(expected.abs().max())
