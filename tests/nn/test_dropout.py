from __future__ import annotations

import pytest
import torch

from edgnn.nn import Noise, dropout

SEEDS = torch.tensor([3, 4, 5])


def kept(x, **options):
    return (dropout(x, training=True, **options) != 0).double()


def test_kept_entries_are_scaled_so_that_means_stay():
    x = torch.ones(3, 500, 40, dtype=torch.float64)
    result = dropout(x, 0.2, True, Noise(SEEDS, 1))
    assert set(result.unique().tolist()) == {0.0, 1.25}
    torch.testing.assert_close(
        result.mean(dim=(1, 2)), torch.ones(3, dtype=torch.float64), atol=0.02, rtol=0
    )


def test_every_member_has_its_own_rate_where_the_noise_has_rates():
    rates = torch.tensor([0.0, 0.5, 0.9], dtype=torch.float64)
    x = torch.ones(3, 500, 40, dtype=torch.float64)
    noise = Noise(SEEDS, 1, rate=rates)
    torch.testing.assert_close(
        kept(x, rate=0.2, noise=noise).mean(dim=(1, 2)), 1 - rates, atol=0.02, rtol=0
    )
    shared = kept(x, rate=0.2, noise=noise, own_rate=False).mean(dim=(1, 2))
    torch.testing.assert_close(
        shared, torch.full((3,), 0.8, dtype=torch.float64), atol=0.02, rtol=0
    )


def test_a_member_drops_the_same_entries_alone_in_a_fleet_and_before_padding():
    x = torch.ones(3, 60, 8)
    fleet = kept(x, rate=0.5, noise=Noise(SEEDS, 1, 7))
    for member in range(3):
        alone = kept(x[:1, :20], rate=0.5, noise=Noise(SEEDS[member : member + 1], 1, 7))
        assert torch.equal(fleet[member, :20], alone[0])


def test_every_call_of_a_step_and_every_step_drops_anew():
    x, noise = torch.ones(1, 60, 8), Noise(SEEDS[:1], 1, 7)
    first, second = kept(x, rate=0.5, noise=noise), kept(x, rate=0.5, noise=noise)
    other = kept(x, rate=0.5, noise=Noise(SEEDS[:1], 1, 8))
    again = kept(x, rate=0.5, noise=Noise(SEEDS[:1], 1, 7))
    assert torch.equal(first, again)
    for mask in (second, other):
        assert 0.35 < float((first == mask).double().mean()) < 0.65


def test_calls_that_drop_nothing_count_too():
    x = torch.ones(1, 60, 8)
    quiet, loud = Noise(SEEDS[:1], 1), Noise(SEEDS[:1], 1, rate=torch.tensor([0.5]))
    dropout(x, 0.0, True, quiet)
    dropout(x, 0.0, True, loud)
    assert torch.equal(
        kept(x, rate=0.3, noise=quiet, own_rate=False),
        kept(x, rate=0.3, noise=loud, own_rate=False),
    )


def test_nothing_is_dropped_outside_training():
    x = torch.ones(3, 60, 8)
    assert dropout(x, 0.9, False, Noise(SEEDS, 1, rate=torch.full((3,), 0.9))) is x
    assert dropout(x, 0.9, False, None) is x


def test_without_noise_torch_draws():
    x = torch.ones(50, 8)
    torch.manual_seed(1)
    first = dropout(x, 0.5, True, None)
    torch.manual_seed(1)
    assert torch.equal(first, torch.nn.functional.dropout(x, 0.5))
    assert dropout(x, 0.0, True, None) is x


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_masks_do_not_depend_on_the_precision(dtype):
    x = torch.ones(3, 60, 8, dtype=dtype)
    result = dropout(x, 0.5, True, Noise(SEEDS, 1))
    assert result.dtype == dtype
    assert torch.equal(result.double(), dropout(x.double(), 0.5, True, Noise(SEEDS, 1)))
