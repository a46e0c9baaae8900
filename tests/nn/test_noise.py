from __future__ import annotations

import pytest
import torch

from edgnn.nn.ops import keep_mask, keys, random_order

SEEDS = torch.tensor([0, 1, 2, 2**62])


def correlation(first, second):
    pair = torch.stack([first.flatten(), second.flatten()]).double()
    return float(torch.corrcoef(pair)[0, 1])


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_entries_are_dropped_at_their_rate(rate):
    mask = keep_mask(keys(SEEDS, 2, 1, 0), 500, 64, rate)
    entries = mask[0].numel()
    spread = 4.5 * (rate * (1 - rate) / entries) ** 0.5
    assert mask.dtype == torch.bool
    assert all(abs(float(share) - (1 - rate)) < spread for share in mask.double().mean(dim=(1, 2)))
    per_column, per_row = mask.double().mean(1), mask.double().mean(2)
    assert float((per_column - (1 - rate)).abs().max()) < 5 * (rate * (1 - rate) / 500) ** 0.5
    assert float((per_row - (1 - rate)).abs().max()) < 5.5 * (rate * (1 - rate) / 64) ** 0.5


def test_a_rate_of_zero_drops_nothing():
    assert keep_mask(keys(SEEDS, 1), 100, 64, 0.0).all()


@pytest.mark.parametrize("width", [1, 5, 64])
def test_chosen_rows_have_the_masks_they_have_among_all(width):
    rows = torch.tensor([7, 0, 3, 99])
    everyone = keep_mask(keys(SEEDS, 1), 100, width, 0.5)
    assert torch.equal(keep_mask(keys(SEEDS, 1), rows, width, 0.5), everyone[:, rows])


@pytest.mark.parametrize("shape", [(0, 8), (3, 0), (1, 1), (3, 5)])
def test_masks_of_any_size_have_their_shape(shape):
    assert keep_mask(keys(SEEDS, 1), *shape, 0.5).shape == (4, *shape)


def test_every_member_has_its_own_rate():
    rates = torch.tensor([0.0, 0.2, 0.5, 0.8])
    kept = keep_mask(keys(SEEDS, 1), 1000, 64, rates).double().mean(dim=(1, 2))
    torch.testing.assert_close(kept, 1 - rates.double(), atol=0.01, rtol=0)
    single = keep_mask(keys(SEEDS[2:3], 1), 1000, 64, 0.5)
    assert torch.equal(keep_mask(keys(SEEDS, 1), 1000, 64, rates)[2], single[0])


def test_masks_do_not_depend_on_the_fleet_nor_on_the_rows_behind():
    fleet = keep_mask(keys(SEEDS, 2, 5, 1), 70, 16, 0.5)
    for member, seed in enumerate(SEEDS):
        alone = keep_mask(keys(seed[None], 2, 5, 1), 30, 16, 0.5)
        assert torch.equal(fleet[member, :30], alone[0])


@pytest.mark.parametrize(
    ("first", "second"),
    [((0, 2, 1, 1), (1, 2, 1, 1)), ((0, 2, 1, 1), (0, 2, 1, 2)), ((0, 2, 1, 1), (0, 2, 2, 1))],
)
def test_masks_of_other_seeds_steps_and_layers_are_independent(first, second):
    one, other = (
        keep_mask(keys(torch.tensor([seed]), *purpose), 2000, 64, 0.5)
        for seed, *purpose in (first, second)
    )
    assert abs(correlation(one, other)) < 0.015


def test_neighboring_entries_are_independent():
    mask = keep_mask(keys(torch.tensor([7]), 1), 2000, 64, 0.5)[0]
    assert abs(correlation(mask[1:], mask[:-1])) < 0.015
    assert abs(correlation(mask[:, 1:], mask[:, :-1])) < 0.015
    flat = mask.flatten()
    assert (
        max(abs(correlation(flat[lag:], flat[:-lag])) for lag in (1, 2, 3, 4, 8, 16, 32, 128, 1024))
        < 0.02
    )


def test_a_thousand_steps_give_a_thousand_masks():
    masks = {
        keep_mask(keys(torch.tensor([0]), 2, epoch, step), 4, 16, 0.5).numpy().tobytes()
        for epoch in range(40)
        for step in range(25)
    }
    assert len(masks) == 1000


def test_keys_tell_seeds_and_purposes_apart():
    made = torch.cat(
        [keys(torch.arange(50), purpose, number) for purpose in range(4) for number in range(50)]
    )
    assert len(torch.unique(made)) == 4 * 50 * 50
    assert not torch.equal(keys(SEEDS, 1, 2), keys(SEEDS, 2, 1))


def test_sorting_by_random_order_shuffles_each_member_on_its_own():
    order = torch.argsort(random_order(SEEDS, 100, 1, 3), dim=1)
    assert all(sorted(row.tolist()) == list(range(100)) for row in order)
    assert len({tuple(row.tolist()) for row in order}) == len(SEEDS)
    longer = random_order(SEEDS[1:2], 300, 1, 3)
    assert torch.equal(longer[0, :100], random_order(SEEDS, 100, 1, 3)[1])
    assert not torch.equal(random_order(SEEDS, 100, 1, 3), random_order(SEEDS, 100, 1, 4))


def test_every_place_comes_first_equally_often():
    first = torch.argmin(random_order(torch.arange(20_000), 10, 1, 1), dim=1)
    share = torch.bincount(first, minlength=10) / 20_000
    assert float((share - 0.1).abs().max()) < 0.012


@pytest.mark.gpu
def test_cuda_draws_the_same_bits():
    rates = torch.tensor([0.0, 0.2, 0.5, 0.8], dtype=torch.float64)
    ours = keep_mask(keys(SEEDS.cuda(), 2, 1), 100, 64, rates.cuda())
    assert torch.equal(ours.cpu(), keep_mask(keys(SEEDS, 2, 1), 100, 64, rates))
    assert torch.equal(random_order(SEEDS.cuda(), 99, 1, 2).cpu(), random_order(SEEDS, 99, 1, 2))
