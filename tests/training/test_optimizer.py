from __future__ import annotations

import pytest
import torch

from edgnn.graphs import Graphs
from edgnn.nn import GraphModel
from edgnn.training._optimizer import FleetAdam, Packed, clip_, take_gradient
from nn_reference import normal, randomized

RATES, DECAYS = (
    torch.tensor([1e-3, 0.1, 0.5], dtype=torch.float64),
    torch.tensor([0.0, 0.01, 0.3], dtype=torch.float64),
)
PEERS = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}


def gradient(parameters, step):
    return parameters.detach() * 2 + normal(*parameters.shape, seed=step)


@pytest.mark.parametrize("kind", list(PEERS))
@pytest.mark.parametrize("decays", [DECAYS, 0 * DECAYS])
def test_every_member_moves_as_with_torch(kind, decays):
    fleet = normal(3, 7)
    ours = FleetAdam(fleet, RATES, decays, kind)
    theirs = [torch.nn.Parameter(row.clone()) for row in fleet]
    options = [
        {"lr": float(rate), "weight_decay": float(decay)}
        for rate, decay in zip(RATES, decays, strict=True)
    ]
    peers = [PEERS[kind]([row], **own) for row, own in zip(theirs, options, strict=True)]
    for step in range(25):
        ours.step(gradient(fleet, step))
        for row, own in zip(theirs, gradient(torch.stack(theirs), step), strict=True):
            row.grad = own
        for peer in peers:
            peer.step()
        torch.testing.assert_close(fleet, torch.stack(theirs).detach(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", list(PEERS))
def test_members_that_sit_out_a_step_keep_every_bit_and_their_count(kind):
    fleet = normal(3, 7)
    optimizer = FleetAdam(fleet, RATES, DECAYS, kind)
    optimizer.step(normal(3, 7, seed=1))
    parts = (fleet, *optimizer.state().values())
    before = [part.clone() for part in parts]
    broken = normal(3, 7, seed=2)
    broken[1] = torch.nan
    optimizer.step(broken, torch.tensor([True, False, True]))
    for part, old in zip(parts, before, strict=True):
        assert torch.equal(part[1], old[1])
        assert not torch.equal(part[0], old[0])
    assert optimizer.steps.flatten().tolist() == [2, 1, 2]
    optimizer.step(normal(3, 7, seed=3))
    alone = FleetAdam(before[0][1:2].clone(), RATES[1:2], DECAYS[1:2], kind)
    alone.load({"first": before[1][1:2], "second": before[2][1:2], "steps": before[3][1:2]})
    alone.step(normal(3, 7, seed=3)[1:2])
    torch.testing.assert_close(alone.parameters[0], fleet[1], rtol=1e-14, atol=1e-14)


def test_a_stored_state_goes_on_at_the_same_bits():
    first, second = normal(3, 7), normal(3, 7)
    whole, broken = (FleetAdam(part, RATES, DECAYS) for part in (first, second))
    for step in range(6):
        whole.step(gradient(first, step))
    for step in range(3):
        broken.step(gradient(second, step))
    state = {name: part.clone() for name, part in broken.state().items()}
    resumed = FleetAdam(second, RATES, DECAYS)
    resumed.load(state)
    for step in range(3, 6):
        resumed.step(gradient(second, step))
    assert torch.equal(first, second)


def test_a_member_does_not_feel_the_decay_of_others():
    alone, fleet = normal(1, 7).float(), normal(2, 7).float()
    fleet[0] = alone[0]
    one = FleetAdam(alone, torch.tensor([0.1]), torch.tensor([0.0]))
    two = FleetAdam(fleet, torch.tensor([0.1, 0.1]), torch.tensor([0.0, 0.5]))
    for step in range(5):
        shared = normal(1, 7, seed=step).float()
        one.step(shared.clone())
        two.step(shared.repeat(2, 1))
    assert torch.equal(alone[0], fleet[0])


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
