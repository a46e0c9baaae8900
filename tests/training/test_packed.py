from __future__ import annotations

import torch

from edgnn.graphs import Graphs
from edgnn.nn import GraphModel
from edgnn.training._optimizer import Packed, clip_, take_gradient
from nn_reference import normal, randomized

SMALL = Graphs.from_edges([(0, 1), (1, 2)], sizes=[3], node_labels="aba", edge_labels="xy")


def model_of(members=3):
    return randomized(GraphModel(2, 2, 2, hidden=4, batch_norm=True, scaled=True, members=members))


def test_the_model_works_on_views_of_the_matrix():
    model, same = model_of().eval(), model_of().eval()
    packed = Packed(model)
    assert packed.parameters.shape == (
        3,
        sum(parameter[0].numel() for parameter in model.parameters()),
    )
    assert packed.buffers.shape == (3, sum(buffer[0].numel() for buffer in model.buffers()))
    assert torch.equal(model(SMALL), same(SMALL))
    packed.parameters[1] = 0
    packed.buffers[1] = 1
    changed = model(SMALL)
    torch.testing.assert_close(
        changed[1], torch.ones(1, 2, dtype=torch.float64)
    )  # outputs of zero times std 1, plus mean 1
    assert torch.equal(changed[[0, 2]], same(SMALL)[[0, 2]])


def test_training_changes_the_running_statistics_of_the_matrix():
    model = model_of().train()
    packed = Packed(model)
    before = packed.buffers.clone()
    model(SMALL)
    assert not torch.equal(packed.buffers, before)
    statistics = [buffer.reshape(3, -1) for name, buffer in model.named_buffers()]
    assert torch.equal(torch.cat(statistics, dim=1), packed.buffers)


def test_the_gradient_is_that_of_the_model_and_is_cleared():
    model, same = model_of(), model_of()
    Packed(model)
    model(SMALL).pow(2).sum().backward()
    same(SMALL).pow(2).sum().backward()
    expected = torch.cat([parameter.grad.reshape(3, -1) for parameter in same.parameters()], dim=1)
    assert torch.equal(take_gradient(model.parameters()), expected)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not take_gradient(model.parameters()).any()


def test_values_are_a_copy_that_can_be_loaded_again():
    model = model_of().eval()
    packed = Packed(model)
    outputs, stored = model(SMALL), packed.values()
    packed.parameters.add_(1)
    packed.buffers.add_(1)
    assert not torch.allclose(model(SMALL), outputs)
    packed.load(stored)
    assert torch.equal(model(SMALL), outputs)


def test_models_without_statistics_have_no_buffers():
    packed = Packed(GraphModel(2, 2, 2, hidden=4, members=3))
    assert packed.buffers.shape == (3, 0)
    assert torch.equal(packed.values(), packed.parameters)


def test_only_rows_above_the_largest_norm_are_scaled_down():
    gradient = normal(3, 5)
    gradient[0] *= 10 / gradient[0].norm()
    gradient[1] *= 0.5 / gradient[1].norm()
    gradient[2] = 0
    before = gradient.clone()
    clip_(gradient, 2.0)
    torch.testing.assert_close(gradient[0], before[0] / 5)
    assert torch.equal(gradient[1:], before[1:])
