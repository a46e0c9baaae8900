"""Second derivatives of every layer: those of finite differences, or an error."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import distributed as dist
from torch.autograd import gradcheck, gradgradcheck
from torch.autograd.functional import hessian, jacobian
from torch.func import functional_call

from edgnn.errors import ModelError
from edgnn.graphs import Graphs, Halo, Structure
from edgnn.nn import BatchNorm, EdGNNConv, GINEConv, GNNConv, RelationalConv
from nn_reference import normal, randomized

#: A self-loop, parallel, mutual and lone edges, and a node without any.
GRAPHS = Graphs.from_edges(
    [(0, 0), (0, 1), (0, 1), (1, 0), (2, 1)],
    edge_labels="xxyxy",
    num_nodes=4,
    edge_features=normal(5, 1),
)
LAYERS = {
    "gnn": (GNNConv, {}),
    "edgnn": (EdGNNConv, {}),
    "embedding": (EdGNNConv, {"edge_embedding": 1}),
    "sum": (RelationalConv, {}),
    "mean": (RelationalConv, {"aggregate": "mean"}),
    "bases": (RelationalConv, {"bases": 1}),
    "gine": (GINEConv, {}),
}
EVERY_LAYER = pytest.mark.parametrize("name", LAYERS)


def layer_and_structure(name, **options):
    kind, own = LAYERS[name]
    features = 0 if kind is GNNConv else 1
    options = {"activation": "tanh", "edge_features": features, **own, **options}
    conv = randomized(kind(2, 2, 2, **options))
    structure = Structure.of(
        GRAPHS,
        direction=conv.direction,
        multiplicity=conv.multiplicity,
        relations=True,
        dtype=torch.float64,
    )
    return conv, structure


def second_derivatives_are_right(module, x, *constants):
    """Compare first and second derivatives by ``x`` and all weights with finite differences."""
    names, weights = zip(*module.named_parameters(), strict=True)

    def value(x, *weights):
        return functional_call(module, dict(zip(names, weights, strict=True)), (x, *constants))

    inputs = [part.detach().clone().requires_grad_() for part in (x, *weights)]
    return gradcheck(value, inputs, fast_mode=True) and gradgradcheck(value, inputs, fast_mode=True)


@EVERY_LAYER
@pytest.mark.parametrize("direction", ["both", "in"])
@pytest.mark.parametrize("multiplicity", ["once", "per-edge"])
def test_of_layers(name, direction, multiplicity):
    conv, structure = layer_and_structure(name, direction=direction, multiplicity=multiplicity)
    assert second_derivatives_are_right(conv, normal(4, 2), structure)


@EVERY_LAYER
def test_of_layers_with_batch_norm_while_training(name):
    conv, structure = layer_and_structure(name, batch_norm=True, bias=True)
    assert second_derivatives_are_right(conv.train(), normal(4, 2), structure)


@pytest.mark.parametrize("shared", [True, False])
@EVERY_LAYER
def test_of_layers_with_members(name, shared):
    conv, structure = layer_and_structure(name, members=2)
    x = normal(4, 2) if shared else normal(2, 4, 2)
    assert second_derivatives_are_right(conv, x, structure)


@pytest.mark.parametrize("name", ["sum", "mean"])
@pytest.mark.parametrize("direction", ["both", "in"])
def test_of_transposed_states_and_third_derivatives(name, direction):
    conv, structure = layer_and_structure(name, direction=direction)
    x = normal(2, 4).requires_grad_()

    def penalty(x):
        (slope,) = torch.autograd.grad(conv(x.T, structure).square().sum(), x, create_graph=True)
        return slope.square().sum()

    assert gradgradcheck(penalty, x)


def test_of_batch_norm_with_padding():
    mask = torch.tensor([[1.0, 1, 0], [1, 1, 1]], dtype=torch.float64)
    layer = randomized(BatchNorm(2, members=2))
    assert second_derivatives_are_right(layer, normal(2, 3, 2), mask)


@pytest.mark.parametrize("name", ["sum", "mean"])
def test_hessian_of_a_linear_layer_is_that_of_its_matrix(name):
    conv, structure = layer_and_structure(name, activation="identity", direction="in")
    x = normal(4, 2)
    curvature = hessian(lambda x: conv(x, structure).square().sum(), x).reshape(8, 8)
    matrix = jacobian(lambda x: conv(x, structure), x).reshape(8, 8)
    torch.testing.assert_close(curvature, 2 * matrix.T @ matrix)


@pytest.fixture
def process_group():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_over_processes_a_second_derivative_is_an_error(process_group):
    x = normal(4, 2).requires_grad_()
    halo = Halo(torch.zeros(0, dtype=torch.int64), (0,), (0,))
    for conv, structure in (layer_and_structure(name) for name in LAYERS):
        y = conv(x, replace(structure, halo=halo)).square().sum()
        torch.autograd.grad(y, x, retain_graph=True)
        with pytest.raises(ModelError, match=r"exchange of states .* no second derivative"):
            torch.autograd.grad(y, x, create_graph=True)
    norm = BatchNorm(2).double()
    norm.over_ranks = lambda sums: sums
    y = norm(x).square().sum()
    torch.autograd.grad(y, x, retain_graph=True)
    with pytest.raises(ModelError, match=r"batch norm over .* no second derivative"):
        torch.autograd.grad(y, x, create_graph=True)
