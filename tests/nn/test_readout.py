from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from torch.autograd import gradcheck

from dense_limits import dense_labels
from edgnn.graphs import CSR, Graphs
from edgnn.nn import Inputs, readout
from edgnn.nn._models import input_readout
from nn_reference import node_inputs, normal, states
from strategies import graphs

ODD = graphs(names=False)
KINDS = {"sum": lambda x: x.sum(0), "mean": lambda x: x.mean(0), "max": lambda x: x.amax(0)}
SMALL = Graphs.from_edges(
    [(0, 1)], sizes=[3, 0, 2], node_labels="abacc", node_features=normal(5, 2)
)


def by_hand(x, collection, kind):
    offset = collection.graph_offset.tolist()
    zero = torch.zeros(x.shape[-1], dtype=x.dtype)
    rows = [KINDS[kind](x[a:b]) if a < b else zero for a, b in pairwise(offset)]
    return torch.stack([*rows, zero])[:-1]


@given(ODD)
def test_every_kind_is_that_of_a_loop_over_graphs(collection):
    read, x = Inputs.of(collection, dtype=torch.float64), states(collection, 3)
    for kind in KINDS:
        torch.testing.assert_close(readout(x, read, kind), by_hand(x, collection, kind))


@given(ODD)
def test_members_are_read_out_each_on_its_own(collection):
    read, x = (
        Inputs.of(collection, dtype=torch.float64),
        torch.stack([states(collection, 3, seed) for seed in range(2)]),
    )
    for kind in KINDS:
        result = readout(x, read, kind)
        assert result.shape == (2, len(collection), 3)
        torch.testing.assert_close(result, torch.stack([readout(part, read, kind) for part in x]))


@given(ODD)
def test_the_input_itself_is_read_out_as_its_states_are(collection):
    read = Inputs.of(collection, dtype=torch.float64)
    for kind in KINDS:
        torch.testing.assert_close(
            input_readout(read, kind), by_hand(node_inputs(collection), collection, kind)
        )


@pytest.mark.parametrize("kind", list(KINDS))
def test_gradients_are_those_of_finite_differences(kind):
    read = Inputs.of(SMALL, dtype=torch.float64)
    assert gradcheck(lambda x: readout(x, read, kind), normal(5, 2).requires_grad_())


def test_sparse_inputs_are_read_out_by_sum_and_mean(monkeypatch):
    dense_labels(monkeypatch, -1)
    read = Inputs.of(SMALL, dtype=torch.float64)
    for kind in ("sum", "mean"):
        result = input_readout(read, kind)
        assert isinstance(result, CSR)
        torch.testing.assert_close(
            result.to_dense(torch.float64), by_hand(node_inputs(SMALL), SMALL, kind)
        )
    with pytest.raises(
        ValueError,
        match=r"readout='max' of so many one-hot labels is not offered: give the model an embedding",
    ):
        input_readout(read, "max")
