import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import binomtest

from edgnn.evaluation import (
    holm,
    single_test_comparison,
    single_test_interval,
    t_test,
    wilson_interval,
)

NAN = float("nan")
P_VALUES = st.lists(st.one_of(st.floats(0, 1), st.just(math.nan)), max_size=8)


def test_the_corrected_interval_by_hand():
    # mean 0.8, variance 0.01, standard error sqrt((1/3 + 1/2) * 0.01); t of 2 degrees of freedom is 4.302653
    low, high = t_test(np.array([0.7, 0.8, 0.9]), ratio=1 / 2)[0]
    half = 4.302652729911275 * math.sqrt((1 / 3 + 1 / 2) * 0.01)
    assert (low, high) == pytest.approx((0.8 - half, 0.8 + half))


def test_without_correction_it_is_the_t_interval():
    values = np.array([1.0, 4.0, 2.0, 8.0])
    expected = stats.t.interval(0.95, 3, values.mean(), stats.sem(values))
    assert t_test(values, 0)[0] == pytest.approx(expected)


def test_the_uncorrected_test_is_the_paired_t_test():
    one, two = np.array([0.8, 0.9, 0.7, 0.85]), np.array([0.7, 0.75, 0.72, 0.8])
    assert t_test(one - two, 0)[1] == pytest.approx(stats.ttest_rel(one, two).pvalue)
    assert t_test(one - two, 1 / 9)[1] > t_test(one - two, 0)[1]


def test_equal_models_have_p_value_one_and_constantly_different_ones_zero():
    assert t_test(np.zeros(10), 1 / 9)[1] == 1
    assert t_test(np.full(10, 0.5), 1 / 9)[1] == 0


@pytest.mark.parametrize(("right", "size"), [(33, 36), (0, 10), (10, 10), (1, 1)])
def test_wilsons_interval_is_scipys(right, size):
    expected = binomtest(right, size).proportion_ci(method="wilson")
    assert wilson_interval(right / size, size) == pytest.approx((expected.low, expected.high))


def test_one_test_set_adds_the_squares_of_test_and_seed_uncertainty():
    scores = np.array([0.8, 0.9, 1.0])
    wilson, seeds = wilson_interval(0.9, 20), t_test(scores, 0)[0]
    low, high = single_test_interval(scores, 20)
    half = seeds[1] - 0.9
    assert low == pytest.approx(0.9 - math.sqrt((0.9 - wilson[0]) ** 2 + half**2))
    assert high == pytest.approx(0.9 + math.sqrt((wilson[1] - 0.9) ** 2 + half**2))
    assert single_test_interval(scores[1:2], 20) == pytest.approx(wilson_interval(0.9, 20))


def test_too_few_values_say_nothing():
    one = np.array([0.5, NAN])
    assert math.isnan(t_test(one, 0.1)[1])
    assert all(map(math.isnan, t_test(one, 0.1)[0]))
    assert all(map(math.isnan, single_test_interval(one[1:], 5)))


def test_the_corrected_interval_covers_what_the_plain_one_misses():
    """Cross-validation of a mean predictor on fresh normal samples: the expected squared error is 1 + 1/n_train."""
    rng = np.random.default_rng(0)
    plain = corrected = 0
    for _ in range(200):
        y = rng.normal(size=50)
        scores = []
        for _ in range(5):
            for test in np.array_split(rng.permutation(50), 10):
                mean = np.delete(y, test).mean()
                scores.append(np.square(y[test] - mean).mean())
        expected = 1 + 1 / 45
        low, high = t_test(np.array(scores), 0)[0]
        plain += low <= expected <= high
        low, high = t_test(np.array(scores), 1 / 9)[0]
        corrected += low <= expected <= high
    assert corrected > 180 > plain


def test_a_difference_on_one_test_set_is_no_surer_than_its_items_allow():
    items = np.array([1.0] + [0.0] * 35)
    interval, p_value = single_test_comparison(np.full(10, 1 / 36), items)
    expected = stats.ttest_1samp(items, 0)
    assert p_value == pytest.approx(expected.pvalue)
    assert interval == pytest.approx(tuple(expected.confidence_interval()))
    widened, less_sure = single_test_comparison(np.array([3, -1, 0, 2, 1]) / 36, items)
    assert widened[0] < interval[0] < interval[1] < widened[1]
    assert less_sure > p_value
    assert single_test_comparison(np.zeros(3), np.zeros(5)) == ((0.0, 0.0), 1.0)
    assert math.isnan(single_test_comparison(np.ones(3), np.ones(1))[1])


def test_holm_is_that_of_the_textbook():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(P_VALUES)
def test_corrected_p_values_keep_their_order_and_never_fall(values):
    corrected = holm(values)
    known = sorted((p, c) for p, c in zip(values, corrected, strict=True) if not math.isnan(p))
    assert [math.isnan(c) for c in corrected] == [math.isnan(p) for p in values]
    assert all(p <= c <= 1 for p, c in known)
    assert [c for _, c in known] == sorted(c for _, c in known)
