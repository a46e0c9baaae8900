from __future__ import annotations

import pytest
import torch

from edgnn.training._optimizer import FleetAdam
from nn_reference import normal

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
