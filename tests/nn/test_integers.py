from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgnn._arrays import add_at, count, hash_order, largest, segment_sum
from edgnn._hashing import mix

int64 = st.integers(-(2**63), 2**63 - 1)


def wrapped(number):
    return (number + 2**63) % 2**64 - 2**63


@given(st.lists(st.lists(int64, max_size=9), max_size=6))
def test_segment_sums_are_exact_modulo_2_to_the_64(rows):
    values = np.array([value for row in rows for value in row], dtype=np.int64)
    indptr = np.cumsum([0, *[len(row) for row in rows]])
    expected = [wrapped(sum(row)) for row in rows]
    assert segment_sum(values, indptr).tolist() == expected
    assert segment_sum(torch.from_numpy(values), torch.from_numpy(indptr)).tolist() == expected


@given(st.lists(st.one_of(int64, st.integers(0, 40)), max_size=40))
def test_hash_order_brings_equal_keys_together(keys):
    arranged = np.array(keys, dtype=np.int64)[hash_order(np.array(keys, dtype=np.int64))].tolist()
    assert sorted(arranged) == sorted(keys)
    changes = sum(a != b for a, b in pairwise(arranged))
    assert changes == max(len(set(keys)) - 1, 0)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 6)), max_size=20))
def test_the_largest_of_a_group_is_the_last_of_equal_ones(pairs):
    group, values = (
        (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
        if pairs
        else (np.zeros(0, int),) * 2
    )
    expected = [
        max((value, place) for place, (g, value) in enumerate(pairs) if g == mine)[1]
        for mine, _ in pairs
    ]
    assert largest(group, values, 5).tolist() == expected
    assert largest(torch.from_numpy(group), torch.from_numpy(values), 5).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 4), int64), max_size=20))
def test_both_kinds_of_arrays_count_and_add_alike(pairs):
    index, values = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    assert count(torch.from_numpy(index), 6).tolist() == count(index, 6).tolist()
    totals = np.arange(6), torch.arange(6)
    add_at(totals[0], index, values)
    add_at(totals[1], torch.from_numpy(index), torch.from_numpy(values))
    assert (
        totals[0].tolist()
        == totals[1].tolist()
        == [wrapped(k + sum(v for i, v in pairs if i == k)) for k in range(6)]
    )


def test_mixing_is_one_to_one_and_seeds_are_independent():
    numbers = torch.arange(-50_000, 50_000)
    assert len(torch.unique(mix(numbers))) == len(numbers)
    assert len(torch.unique(torch.cat([mix(numbers, seed) for seed in range(8)]))) == 8 * len(
        numbers
    )


def test_numpy_and_torch_mix_alike():
    numbers = torch.arange(-1000, 1000)
    assert torch.equal(torch.from_numpy(mix(numbers.numpy(), 5)), mix(numbers, 5))


def test_mixing_flips_half_of_the_bits():
    numbers = torch.arange(10_000)
    changed = mix(numbers) ^ mix(numbers ^ 1)
    bits = sum((changed >> bit) & 1 for bit in range(64)).double().mean()
    assert 31 < bits < 33


@pytest.mark.gpu
def test_cuda_gives_the_same_bits():
    values = mix(torch.arange(1000))
    indptr = torch.tensor([0, 0, 10, 10, 999, 1000, 1000])
    assert torch.equal(segment_sum(values.cuda(), indptr.cuda()).cpu(), segment_sum(values, indptr))
    assert torch.equal(mix(values.cuda(), 3).cpu(), mix(values, 3))
