from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from edgnn.models.kernels._count_kernels import (
    AVERAGED,
    KINDS,
    by_depth,
    gaussian,
    least,
    mean_similarity,
    some,
)

COUNTS = st.lists(st.lists(st.integers(0, 7), min_size=4, max_size=4), min_size=1, max_size=6)


def counts_of(*rounds):
    """Return the counts of rounds in which item i has color c exactly table[i][c] times."""
    return [csr_array(np.asarray(table, float)) for table in rounds]


def kernels(rows, columns) -> dict:
    *_, last = by_depth(rows, columns, KINDS)
    return last


@given(COUNTS, COUNTS)
def test_least_is_the_sum_of_the_smaller_counts(first, second):
    a, b = np.array(first, float), np.array(second, float)
    expected = np.minimum(a[:, None], b[None]).sum(axis=2)
    assert_array_equal(least(csr_array(a), csr_array(b)), expected)


@given(COUNTS, COUNTS)
def test_every_kernel_is_its_formula(first, second):
    a, b = np.array(first, float), np.array(second, float)
    found = kernels(counts_of(first), counts_of(second))
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            expected = dict.fromkeys(KINDS, 1.0 * (not x.any() and not y.any()))
            if x.any() and y.any():
                logs = np.log1p(x), np.log1p(y)
                expected = {
                    "cosine": x @ y / np.linalg.norm(x) / np.linalg.norm(y),
                    "tanimoto": np.minimum(x, y).sum() / np.maximum(x, y).sum(),
                    "log-cosine": logs[0]
                    @ logs[1]
                    / np.linalg.norm(logs[0])
                    / np.linalg.norm(logs[1]),
                }
            expected["linear"] = x @ y
            for kind, value in expected.items():
                assert found[kind][i, j] == pytest.approx(value, abs=1e-12), kind


def test_kernels_by_hand():
    # Two items: counts (2, 1, 0) and (1, 0, 1).
    both = counts_of([[2, 1, 0], [1, 0, 1]])
    found = kernels(both, both)
    assert_array_equal(found["linear"], [[5, 2], [2, 2]])
    assert_allclose(found["tanimoto"], [[1, 1 / 4], [1 / 4, 1]])
    assert found["cosine"][0, 1] == pytest.approx(2 / np.sqrt(10))
    one, two = np.log(2), np.log(3)
    assert found["log-cosine"][0, 1] == pytest.approx(
        two * one / np.sqrt(two**2 + one**2) / np.sqrt(2 * one**2)
    )


@given(COUNTS)
def test_matrices_are_symmetric_with_ones_where_normalized_and_have_no_negative_eigenvalue(table):
    found = kernels(counts_of(table), counts_of(table))
    for kind in KINDS:
        assert_allclose(found[kind], found[kind].T, atol=1e-14)
        assert np.linalg.eigvalsh(found[kind]).min() > -1e-9 * max(1, found[kind].max())
        if kind != "linear":
            assert_allclose(np.diag(found[kind]), 1)
    assert np.linalg.eigvalsh(gaussian(found["tanimoto"], 2.0)).min() > -1e-9


def test_depths_add_up_rounds():
    counts = counts_of([[2, 0], [1, 1]], [[1, 1, 0], [1, 0, 1]])
    shallow, deep = by_depth(counts, counts, ("linear", "tanimoto"))
    assert_array_equal(shallow["linear"], [[4, 2], [2, 2]])
    assert_allclose(shallow["tanimoto"][0, 1], 1 / 3)
    assert_array_equal(deep["linear"], [[6, 3], [3, 4]])
    assert_allclose(deep["tanimoto"][0, 1], 2 / 6)


def test_large_counts_do_not_need_memory_for_every_pair():
    counts = counts_of([[100_000]] * 3)
    (found,) = by_depth(counts, counts, ("tanimoto", "linear"))
    assert_array_equal(found["tanimoto"], np.ones((3, 3)))
    assert_array_equal(found["linear"], np.full((3, 3), 1e10))


def test_no_items_give_an_empty_matrix():
    known = counts_of([[1, 2]])
    assert {kernel.shape for kernel in kernels(some(known, slice(0)), known).values()} == {(0, 1)}


def test_weights_that_are_not_whole_may_stand_for_counts():
    weights = np.array([[0.5, 2.5, 0.0], [1.5, 0.0, 3.25]])
    every = counts_of(weights)
    (found,) = by_depth(every, every, ("cosine", "log-cosine", "linear"))
    logs = np.log1p(weights)
    lengths = [np.linalg.norm(rows, axis=1) for rows in (weights, logs)]
    assert_allclose(found["linear"], weights @ weights.T)
    assert_allclose(found["cosine"], weights @ weights.T / np.outer(lengths[0], lengths[0]))
    assert_allclose(found["log-cosine"], logs @ logs.T / np.outer(lengths[1], lengths[1]))


@given(COUNTS, st.integers(0, 6), st.integers(0, 6))
def test_some_items_are_compared_as_among_all(table, start, stop):
    every = counts_of(table)
    part = kernels(some(every, slice(start, stop)), some(every, slice(stop, None)))
    rest = kernels(every, every)
    for kind in KINDS:
        assert_allclose(part[kind], rest[kind][start:stop, stop:], atol=1e-14)


def test_the_mean_similarity_is_that_of_the_kinds_over_the_depths():
    rng = np.random.default_rng(0)
    every = counts_of(*(rng.integers(0, 4, (5, 3 + round)) for round in range(4)))
    rows, columns = some(every, slice(2)), some(every, slice(2, None))
    by_hand = [
        kernels[kind]
        for kernels in list(by_depth(rows, columns, AVERAGED))[1:3]
        for kind in AVERAGED
    ]
    assert len(by_hand) == 4
    assert_allclose(mean_similarity(rows, columns, (1, 2), AVERAGED), sum(by_hand) / 4)
    assert_allclose(
        mean_similarity(rows, columns, range(1), ("cosine",)),
        next(by_depth(rows, columns, ("cosine",)))["cosine"],
    )


def test_gaussian_is_one_for_equal_items_and_falls_with_width():
    assert gaussian(np.array([1.0, 0.0]), 2.0).tolist() == [1.0, np.exp(-2.0)]
