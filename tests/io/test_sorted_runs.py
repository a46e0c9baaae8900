from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgnn.io._sorted_runs import SortedRuns


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("runs") / "sorting"


def merged(place, pieces, run, *, distinct):
    with SortedRuns(place, run, distinct=distinct) as runs:
        for piece in pieces:
            runs.add(np.array(piece, np.int64))
        found = list(runs.merged())
    assert not place.exists()
    return found


numbers = st.lists(st.lists(st.integers(0, 12) | st.integers(0, 2**62), max_size=40), max_size=6)


@given(pieces=numbers, run=st.integers(1, 30))
def test_numbers_come_back_sorted_and_counted(place, pieces, run):
    found = merged(place, pieces, run, distinct=False)
    expected = Counter(number for piece in pieces for number in piece)
    assert [number for keys, _ in found for number in keys.tolist()] == sorted(expected)
    assert [count for _, counts in found for count in counts.tolist()] == [
        expected[number] for number in sorted(expected)
    ]


@given(pieces=numbers, run=st.integers(1, 30))
def test_distinct_numbers_come_back_once(place, pieces, run):
    found = merged(place, pieces, run, distinct=True)
    assert [number for keys, _ in found for number in keys.tolist()] == sorted(
        {number for piece in pieces for number in piece}
    )
    assert all(counts is None for _, counts in found)


def test_no_piece_is_larger_than_a_run_however_the_numbers_are_spread(place):
    rng = np.random.default_rng(0)
    run = 1000
    heavy = np.concatenate([np.repeat([50, 500], 10_000), np.arange(10_000)])
    for spread in (
        heavy,
        rng.integers(0, 2**40, 30_000),
        rng.zipf(1.3, 30_000) % 2**40,
        np.arange(30_000),
        np.repeat([3, 4, 9], 10_000),
    ):
        found = merged(place, np.array_split(spread, 7), run, distinct=False)
        assert all(len(keys) == 1 or int(counts.sum()) <= run for keys, counts in found)
        values, counts = np.unique(spread, return_counts=True)
        assert np.array_equal(np.concatenate([keys for keys, _ in found]), values)
        assert np.array_equal(np.concatenate([times for _, times in found]), counts)
