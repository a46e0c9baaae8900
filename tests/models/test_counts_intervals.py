"""Intervals and sets: they hold the truth as often as asked; blends: no worse than the best."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from edgnn import AutoRegressor
from edgnn.errors import EstimatorError
from edgnn.models.counts import Conformal, Problem, blend_shares

SEED = 7


def problem_of(targets, task="values", outputs=1, weight=None):
    return Problem(task, targets, outputs, weight, 0)


def plausible(hits, coverage, calibration):
    """Return whether so many hits are possible, given that coverage itself varies with n scores."""
    trials = len(hits)
    spread = np.sqrt(coverage * (1 - coverage) * (1 / trials + 1 / (calibration + 2)))
    return coverage - 4 * spread <= np.mean(hits) <= coverage + 4 * spread + 1 / (calibration + 1)


# Values


def values_like(rng, items):
    """Return predictions, targets and novelty of items whose error grows with novelty."""
    novelty = rng.uniform(0, 1, items)
    truth = rng.normal(size=(items, 2)) * [1, 1000]
    noise = rng.standard_t(4, size=(items, 2)) * (0.2 + 2 * novelty)[:, None] * [1, 1000]
    return truth + noise, truth, novelty


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.95])
@pytest.mark.parametrize("items", [30, 400])
def test_intervals_hold_the_truth_of_new_items_as_often_as_asked(coverage, items):
    rng = np.random.default_rng(SEED)
    held_out, targets, novelty = values_like(rng, items)
    conformal = Conformal.of(held_out, novelty, problem_of(targets, outputs=2))
    predicted, truth, new = values_like(rng, 20_000)
    half = conformal.half_widths(new, coverage)
    assert half.shape == (20_000, 2)
    for column in range(2):
        hits = np.abs(predicted - truth)[:, column] <= half[:, column]
        assert plausible(hits, coverage, items)


def test_intervals_are_wider_where_items_are_more_novel_and_errors_grew_with_it():
    rng = np.random.default_rng(SEED)
    held_out, targets, novelty = values_like(rng, 400)
    conformal = Conformal.of(held_out, novelty, problem_of(targets, outputs=2))
    half = conformal.half_widths(np.array([0.0, 0.5, 1.0]), 0.9)
    assert (np.diff(half, axis=0) > 0).all()
    assert (np.diff([conformal.half_widths(novelty, c)[0, 0] for c in (0.3, 0.6, 0.99)]) > 0).all()


@settings(max_examples=30)
@given(items=st.integers(1, 60), coverage=st.floats(0.01, 0.99))
def test_the_width_is_the_score_of_a_rank_and_infinite_where_too_few_items_are(items, coverage):
    rng = np.random.default_rng(items)
    error = rng.uniform(0.1, 1, (items, 1))
    conformal = Conformal.of(np.zeros((items, 1)), np.zeros(items), problem_of(error))
    rank = int(np.ceil((items + 1) * coverage))
    half = conformal.half_widths(np.zeros(1), coverage)[0, 0]
    expected = np.inf if rank > items else np.sort(error[:, 0])[rank - 1]
    assert half == pytest.approx(expected)


def test_missing_values_are_no_scores():
    rng = np.random.default_rng(SEED)
    held_out, targets, novelty = values_like(rng, 60)
    missing = targets.copy()
    missing[::2, 0] = np.nan
    missing[::3, 1] = np.nan
    conformal = Conformal.of(held_out, novelty, problem_of(missing, outputs=2))
    assert np.isfinite(conformal.scores).all()
    for column in range(2):
        known = ~np.isnan(missing[:, column])
        alone = Conformal.of(
            held_out[known][:, [column]], novelty[known], problem_of(targets[known][:, [column]])
        )
        half = [c.half_widths(novelty, 0.8) for c in (conformal, alone)]
        assert_allclose(half[0][:, column], half[1][:, 0])


@pytest.mark.parametrize("scale", [0.0, 1e-200, 1e-9, 1e12])
def test_errors_of_any_size_give_finite_intervals_in_their_unit(scale):
    rng = np.random.default_rng(SEED)
    error = scale * rng.uniform(0.5, 1, (50, 1))
    conformal = Conformal.of(np.zeros((50, 1)), rng.uniform(0, 1, 50), problem_of(error))
    half = conformal.half_widths(np.array([0.0, 1.0]), 0.9)
    assert np.isfinite(half).all()
    assert (half <= 3 * scale).all()
    assert (half >= 0.3 * scale).all()


# Classes


def classes_like(rng, items):
    """Return probabilities and classes; the third is rare and hard."""
    codes = rng.choice(3, items, p=[0.6, 0.3, 0.1])
    logits = rng.normal(size=(items, 3)) + 2 * np.eye(3)[codes] * np.array([1, 1, 0.2])
    probability = np.exp(logits)
    return probability / probability.sum(axis=1, keepdims=True), codes


@pytest.mark.parametrize("coverage", [0.6, 0.9])
@pytest.mark.parametrize("items", [60, 600])
def test_sets_hold_the_class_of_new_items_as_often_as_asked(coverage, items):
    rng = np.random.default_rng(SEED)
    held_out, codes = classes_like(rng, items)
    conformal = Conformal.of(held_out, np.zeros(items), problem_of(codes, "classes", 3))
    probability, truth = classes_like(rng, 20_000)
    members = conformal.members(probability, coverage, per_class=False)
    assert members.dtype == bool
    hits = members[np.arange(20_000), truth]
    assert plausible(hits, coverage, items)
    per_class = conformal.members(probability, coverage, per_class=True)
    for code in range(3):
        of_class = truth == code
        assert plausible(per_class[of_class, code], coverage, int((codes == code).sum()))
    # without asking for it, the rare class is not held as often
    assert hits[truth == 2].mean() < coverage - 0.1


def test_a_class_of_too_few_items_is_in_every_set():
    held_out = np.array([[0.9, 0.1]] * 30 + [[0.2, 0.8]])
    codes = np.array([0] * 30 + [1])
    conformal = Conformal.of(held_out, np.zeros(31), problem_of(codes, "classes", 2))
    assert conformal.members(np.array([[1.0, 0.0]]), 0.9, per_class=True).tolist() == [[True, True]]
    assert conformal.members(np.array([[0.5, 0.5]]), 0.9, per_class=False).tolist() == [[False] * 2]


def test_a_larger_coverage_gives_a_larger_set():
    rng = np.random.default_rng(SEED)
    held_out, codes = classes_like(rng, 100)
    conformal = Conformal.of(held_out, np.zeros(100), problem_of(codes, "classes", 3))
    for per_class in (False, True):
        small, large = (conformal.members(held_out, c, per_class) for c in (0.5, 0.95))
        assert (small <= large).all()
        assert (small < large).any()


@pytest.mark.parametrize("coverage", [0, 1, 1.5, -0.1, np.nan, True, "0.9", None])
def test_a_coverage_that_is_none_is_refused(coverage):
    model = AutoRegressor("ridge").fit(["C", "CC", "CCC"], [1, 2, 3])
    with pytest.raises(EstimatorError, match="number between 0 and 1"):
        model.predict_interval(["C"], coverage=coverage)


# Blends


def noisy(rng, truth, count):
    return [truth + rng.normal(scale=rng.uniform(0.1, 2), size=truth.shape) for _ in range(count)]


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(1, 4),
    task=st.sampled_from(["values", "labels", "classes"]),
)
def test_a_blend_is_no_worse_on_held_out_items_than_the_best_learner(seed, count, task):
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.5, 2, 40) if seed % 2 else None
    truth = rng.normal(size=(40, 3))
    if task == "values":
        targets, held_out = truth.copy(), noisy(rng, truth, count)
        targets[rng.random(targets.shape) < 0.2] = np.nan
    else:
        powers = [np.exp(scores) for scores in noisy(rng, truth, count)]
        held_out = [power / (1 + power) for power in powers]
        targets = (truth > 0).astype(float)
        if task == "classes":
            held_out = [power / power.sum(axis=1, keepdims=True) for power in powers]
            targets = truth.argmax(axis=1)
    problem = problem_of(targets, task, 3, weight)
    shares = blend_shares(held_out, problem)
    assert shares.shape == (count,)
    assert (shares >= 0).all()
    assert shares.sum() == pytest.approx(1)

    def loss(outputs):
        losses = problem.losses(outputs)
        known = ~np.isnan(losses)
        return np.average(losses[known], weights=None if weight is None else weight[known])

    blended = loss(np.tensordot(shares, held_out, 1))
    assert blended <= min(map(loss, held_out)) + 1e-12


def test_equal_learners_and_useless_ones_are_not_blended():
    rng = np.random.default_rng(SEED)
    truth = rng.normal(size=(80, 1))
    good = truth + rng.normal(scale=0.1, size=(80, 1))
    assert sorted(blend_shares([good, good, good], problem_of(truth))) == [0, 0, 1]
    shares = blend_shares([good, rng.normal(size=(80, 1))], problem_of(truth))
    assert_array_equal(shares, [1, 0])


def test_two_learners_that_err_apart_are_averaged():
    rng = np.random.default_rng(SEED)
    truth = rng.normal(size=(400, 1))
    apart = [truth + rng.normal(size=(400, 1)) for _ in range(2)]
    assert_allclose(blend_shares(apart, problem_of(truth)), 0.5, atol=0.1)


def test_losses_leave_missing_targets_out():
    problem = problem_of(np.array([[1.0, np.nan], [np.nan, np.nan], [0.0, 1.0]]), "labels", 2)
    losses = problem.losses(np.array([[0.5, 0.1], [0.5, 0.5], [0.5, 0.5]]))
    assert_allclose(losses, [np.log(2), np.nan, np.log(2)])
