"""Kernel ridge in closed form, against normal equations and n refits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from edgnn.models.counts import solve, solve_with_centers

one = pytest.mark.parametrize("strength", [2.0**-10, 0.5, 64.0])


def random_kernel(rng, size, rank=5):
    x = rng.normal(size=(size, rank))
    return x @ x.T


def textbook(K, targets, weight, penalty):
    """Minimize the weighted squared error, plus the penalty, with a free intercept."""
    size = len(K)
    system = np.block(
        [
            [K + penalty * np.diag(1 / weight), np.ones((size, 1))],
            [np.ones((1, size)), np.zeros((1, 1))],
        ]
    )
    found = np.linalg.solve(system, np.vstack([targets, np.zeros((1, targets.shape[1]))]))
    return found[:-1], found[-1]


def penalty_of(K, weight, strength):
    """Return the penalty that a strength stands for: times the mean spread of weighted items."""
    root = np.sqrt(weight)
    center = np.eye(len(K)) - np.outer(root, root) / (root @ root)
    return strength * np.trace(center @ (root[:, None] * K * root) @ center) / len(K)


def refitted(K, targets, weight, penalty):
    predictions = []
    for item in range(len(K)):
        rest = np.delete(np.arange(len(K)), item)
        alpha, offset = textbook(K[np.ix_(rest, rest)], targets[rest], weight[rest], penalty)
        predictions.append(K[item, rest] @ alpha + offset)
    return np.array(predictions)


@one
@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    size=st.integers(2, 9),
    weighted=st.booleans(),
    columns=st.integers(1, 3),
)
def test_left_out_predictions_are_those_of_n_refits(strength, seed, size, weighted, columns):
    rng = np.random.default_rng(seed)
    K, targets = random_kernel(rng, size), rng.normal(3, 5, size=(size, columns))
    weight = rng.uniform(0.1, 4, size) if weighted else None
    plain = np.ones(size) if weight is None else weight
    penalty = penalty_of(K, plain, strength)
    solution = solve(K, targets, weight, (strength,))
    alpha, offset = textbook(K, targets, plain, penalty)
    assert_allclose(K @ solution.weight + solution.intercept, K @ alpha + offset, atol=1e-6)
    expected = refitted(K, targets, plain, penalty)
    assert_allclose(solution.left_out, expected, atol=1e-6)
    squares = ((expected - targets) ** 2).mean(axis=1)
    assert solution.error == pytest.approx(np.average(squares, weights=plain), rel=1e-6)
    assert solution.strength == strength


@pytest.mark.parametrize("weight", [None, np.array([3.0])])
def test_a_single_item_is_predicted_by_itself_and_left_out_by_nothing(weight):
    solution = solve(np.eye(1), np.array([[5.0, -1.0]]), weight)
    assert_allclose(solution.intercept, [5.0, -1.0])
    assert_allclose(solution.left_out, 0)
    assert np.isfinite(solution.weight).all()


@pytest.mark.parametrize("size", [2, 3, 7])
def test_identical_items_and_constant_targets_are_means(size):
    rng = np.random.default_rng(size)
    y = rng.normal(size=(size, 1))
    same = solve(np.ones((size, size)), y)
    assert_allclose(np.ones((size, size)) @ same.weight + same.intercept, y.mean(), atol=1e-6)
    assert_allclose(same.left_out, (y.sum() - y) / (size - 1), atol=1e-6)
    constant = solve(random_kernel(rng, size), np.full((size, 1), 7.0))
    assert_allclose(constant.left_out, 7)
    assert_allclose(constant.weight, 0, atol=1e-9)
    assert_allclose(constant.intercept, 7)


def test_two_items_are_left_out_as_each_other():
    assert_allclose(solve(np.eye(2), np.array([[1.0], [9.0]])).left_out, [[9], [1]])


def test_the_strength_is_that_of_the_smallest_left_out_error():
    rng = np.random.default_rng(0)
    K = random_kernel(rng, 40, 30)
    y = K[:, :1] / 10 + rng.normal(size=(40, 1))
    strengths = (0.01, 0.1, 1.0, 10.0)
    errors = [solve(K, y, None, (strength,)).error for strength in strengths]
    chosen = solve(K, y, None, strengths)
    assert chosen.error == pytest.approx(min(errors))
    assert chosen.strength == strengths[int(np.argmin(errors))]
    alone = solve(K, y, None, (chosen.strength,))
    assert_allclose(chosen.weight, alone.weight)


@one
def test_an_item_of_weight_two_is_an_item_twice(strength):
    rng = np.random.default_rng(1)
    K, y = random_kernel(rng, 12), rng.normal(size=(12, 2))
    times = np.array([2] * 4 + [1] * 8)
    twice = np.repeat(np.arange(12), times)
    # the same penalty: a strength is relative to the mean spread of the items
    relative = penalty_of(K, times.astype(float), 1) / penalty_of(
        K[np.ix_(twice, twice)], np.ones(16), 1
    )
    weighted = solve(K, y, times.astype(float), (strength,))
    repeated = solve(K[np.ix_(twice, twice)], y[twice], None, (strength * relative,))
    new = rng.normal(size=(5, 12)) @ K
    assert_allclose(
        new @ weighted.weight + weighted.intercept,
        new[:, twice] @ repeated.weight + repeated.intercept,
        atol=1e-8,
    )


@one
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [2, 3, 20])
def test_all_items_as_centers_are_solved_exactly(strength, weighted, size):
    rng = np.random.default_rng(2)
    K, y = random_kernel(rng, size, 40), rng.normal(size=(size, 2))
    weight = rng.uniform(0.5, 2, size) if weighted else None
    exact, sparse = (
        solve(K, y, weight, (strength,)),
        solve_with_centers(K, K, y, weight, (strength,)),
    )
    assert_allclose(sparse.left_out, exact.left_out, atol=1e-5)
    assert_allclose(
        K @ sparse.weight + sparse.intercept, K @ exact.weight + exact.intercept, atol=1e-5
    )
    assert sparse.error == pytest.approx(exact.error, rel=1e-4)


def test_left_out_predictions_with_centers_are_those_of_refits_with_the_same_centers():
    rng = np.random.default_rng(3)
    K, y = random_kernel(rng, 15, 30), rng.normal(size=(15, 1))
    centers = np.arange(4)
    among = K[np.ix_(centers, centers)]
    low_rank = K[:, centers] @ np.linalg.solve(among, K[centers])
    solution = solve_with_centers(K[:, centers], among, y, None, (0.5,))
    penalty = penalty_of(low_rank, np.ones(15), 0.5)
    assert_allclose(solution.left_out, refitted(low_rank, y, np.ones(15), penalty), atol=1e-6)
