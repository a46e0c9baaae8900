from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from edgnn.errors import EstimatorError
from edgnn.models import RidgeSolver

STRENGTHS = RidgeSolver.strengths


def kernel_of(rng: np.random.Generator, size: int, rank: int, *, twins: bool = False) -> np.ndarray:
    x = rng.normal(size=(size, rank))
    if twins:
        x[size // 2 :] = x[: size - size // 2]
    return x @ x.T


def targets_of(y: np.ndarray, classes: int) -> np.ndarray:
    return np.where(y == 1, 1.0, -1.0)[:, None] if classes == 2 else np.eye(classes)[y]


def solved(K: np.ndarray, targets: np.ndarray, strength: float) -> tuple[np.ndarray, np.ndarray]:
    """Solve the normal equations of ridge with a free intercept, as they stand in textbooks."""
    size = len(K)
    system = np.block(
        [[K + strength * np.eye(size), np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]]
    )
    found = np.linalg.solve(system, np.vstack([targets, np.zeros((1, targets.shape[1]))]))
    return found[:-1], found[-1]


def left_out_by_refitting(K: np.ndarray, targets: np.ndarray, strength: float) -> np.ndarray:
    predictions = []
    for item in range(len(K)):
        rest = np.delete(np.arange(len(K)), item)
        weight, intercept = solved(K[np.ix_(rest, rest)], targets[rest], strength)
        predictions.append(K[item, rest] @ weight + intercept)
    return np.array(predictions)


def scale_of(K: np.ndarray) -> float:
    return float(np.mean(np.diag(K - K.mean(axis=0))))


def rounding(K: np.ndarray, strength: float) -> float:
    """Return what rounding may cost: centering loses the digits that items have in common, weak penalties magnify the loss."""
    return 1e-8 + 10 * np.finfo(np.float64).eps * float(np.abs(K).max()) / (
        scale_of(K) * min(strength, strength**2)
    )


@given(
    st.integers(0, 10**6), st.integers(3, 14), st.integers(1, 20), st.integers(2, 4), st.booleans()
)
@example(seed=539276, size=3, rank=1, classes=2, twins=True)
def test_left_out_predictions_are_those_of_refitting_without_each_item(
    seed, size, rank, classes, twins
):
    rng = np.random.default_rng(seed)
    K, y = kernel_of(rng, size, rank, twins=twins), rng.integers(0, classes, size)
    for strength in (STRENGTHS[0], 1.0, STRENGTHS[-1]):
        tolerance = rounding(K, strength)
        assume(tolerance < 1e-3)
        fitted = RidgeSolver([strength]).fit({"only": K}, y, classes)
        expected = left_out_by_refitting(K, targets_of(y, classes), strength * scale_of(K))
        assert_allclose(
            fitted.loo_decision.reshape(expected.shape), expected, rtol=1e-8, atol=tolerance
        )
        error = ((targets_of(y, classes) - expected) ** 2).mean()
        assert np.sqrt(fitted.loo_error) == pytest.approx(np.sqrt(error), rel=1e-8, abs=tolerance)


@pytest.mark.parametrize("classes", [2, 3])
def test_scores_solve_ridge_with_a_free_intercept(classes):
    rng = np.random.default_rng(0)
    K, y = kernel_of(rng, 30, 5) + 100, rng.integers(0, classes, 30)
    fitted = RidgeSolver([0.5]).fit({"only": K[:20, :20]}, y[:20], classes)
    weight, intercept = solved(
        K[:20, :20], targets_of(y[:20], classes), 0.5 * scale_of(K[:20, :20])
    )
    expected = K[20:, :20] @ weight + intercept
    assert fitted.scores(K[20:, :20]).shape == ((10,) if classes == 2 else (10, 3))
    assert_allclose(
        fitted.scores(K[20:, :20]).reshape(expected.shape), expected, rtol=1e-7, atol=1e-9
    )
    assert_allclose(
        fitted.predict(K[20:, :20]),
        expected.argmax(axis=1) if classes == 3 else (expected[:, 0] > 0),
    )


def test_the_unit_of_a_kernel_and_a_constant_added_to_it_change_nothing():
    rng = np.random.default_rng(1)
    K, y = kernel_of(rng, 20, 4), rng.integers(0, 2, 20)
    plain, other = (RidgeSolver().fit({"only": kernel}, y, 2) for kernel in (K, 1000 * K + 50))
    assert plain.chosen == {**other.chosen, "loo_error": pytest.approx(other.loo_error)}
    assert_allclose(plain.loo_decision, other.loo_decision, atol=1e-9)


def test_strength_is_chosen_by_squared_error_not_by_accuracy():
    rng = np.random.default_rng(2)
    differ = 0
    for _ in range(20):
        K, y = kernel_of(rng, 25, 30), rng.integers(0, 2, 25)
        each = [RidgeSolver([strength]).fit({"only": K}, y, 2) for strength in STRENGTHS]
        errors = [fitted.loo_error for fitted in each]
        right = [((fitted.loo_decision > 0) == y).mean() for fitted in each]
        chosen = RidgeSolver().fit({"only": K}, y, 2)
        assert chosen.chosen["strength"] == STRENGTHS[int(np.argmin(errors))]
        differ += right[int(np.argmin(errors))] < max(right)
    assert differ


def test_the_kernel_with_the_smaller_error_is_chosen_and_the_first_of_equals():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(30, 1))
    y = (x[:, 0] > 0).astype(int)
    useless, useful = kernel_of(rng, 30, 3), x @ x.T
    fitted = RidgeSolver().fit({"noise": useless, "signal": useful, "twin": useful * 2}, y, 2)
    assert fitted.setting == "signal"
    assert fitted.chosen["kernel"] == "signal"
    assert fitted.loo_error < RidgeSolver().fit({"noise": useless}, y, 2).loo_error


@pytest.mark.parametrize("K", [np.ones((6, 6)), np.zeros((6, 6)), np.full((6, 6), 0.1)])
def test_items_that_all_look_the_same_get_the_mean_of_the_others_and_the_strongest_penalty(K):
    y = np.array([0, 0, 0, 0, 1, 1])
    fitted = RidgeSolver().fit({"flat": K}, y, 2)
    assert fitted.chosen["strength"] == max(STRENGTHS)
    assert_allclose(fitted.loo_decision, np.where(y == 1, -3 / 5, -1 / 5))
    assert_allclose(fitted.scores(K[:2]), -1 / 3)
    assert fitted.predict(K).tolist() == [0] * 6


def test_one_class_in_the_training_part_is_always_predicted():
    K = kernel_of(np.random.default_rng(4), 5, 3)
    fitted = RidgeSolver().fit({"only": K}, np.zeros(5, dtype=int), 1)
    assert fitted.predict(K).tolist() == [0] * 5
    assert_allclose(fitted.probabilities(K), np.ones((5, 1)))
    assert fitted.loo_error == pytest.approx(0)
    assert fitted.chosen["strength"] == max(STRENGTHS)


def test_a_class_that_never_occurs_is_never_predicted():
    K = kernel_of(np.random.default_rng(5), 6, 3)
    fitted = RidgeSolver().fit({"only": K}, np.array([0, 0, 2, 2, 0, 2]), 3)
    assert_allclose(fitted.scores(K)[:, 1], 0, atol=1e-12)
    assert 1 not in fitted.predict(K)


def test_a_single_item_leaves_nothing_to_learn_from_but_itself():
    fitted = RidgeSolver().fit({"only": np.array([[2.0]])}, np.array([0]), 1)
    assert fitted.predict(np.array([[2.0], [0.0]])).tolist() == [0, 0]
    assert fitted.loo_decision.tolist() == [[0.0]]
    assert np.isfinite(fitted.probabilities(np.array([[5.0]]))).all()


def test_of_two_items_each_is_left_to_the_other():
    fitted = RidgeSolver().fit({"only": np.eye(2)}, np.array([0, 1]), 2)
    assert_allclose(fitted.loo_decision, [1, -1])
    assert_allclose(fitted.scores(np.zeros((1, 2))), 0, atol=1e-12)
    scores = fitted.scores(np.eye(2))
    assert scores[0] < 0 < scores[1]


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_agree_with_predictions_and_are_as_sure_as_left_out_items_allow(classes):
    rng = np.random.default_rng(6)
    y = rng.integers(0, classes, 400)
    x = np.eye(classes)[y] + rng.normal(scale=1.0, size=(400, classes))
    K = np.exp(-((x[:, None] - x[None]) ** 2).sum(axis=2) / 4)
    fitted = RidgeSolver().fit({"only": K[:200, :200]}, y[:200], classes)
    probability = fitted.probabilities(K[200:, :200])
    assert_allclose(probability.sum(axis=1), 1)
    assert probability.argmax(axis=1).tolist() == fitted.predict(K[200:, :200]).tolist()
    accuracy = (probability.argmax(axis=1) == y[200:]).mean()
    assert 0.5 < accuracy < 0.95
    assert abs(probability.max(axis=1).mean() - accuracy) < 0.08


def test_labels_that_mean_nothing_give_probabilities_that_say_so():
    rng = np.random.default_rng(7)
    K, y = kernel_of(rng, 100, 100), rng.integers(0, 2, 100)
    assert (
        RidgeSolver().fit({"only": K[:80, :80]}, y[:80], 2).probabilities(K[80:, :80]).max() < 0.8
    )


def test_the_seed_changes_nothing():
    K, y = kernel_of(np.random.default_rng(8), 12, 3), np.arange(12) % 2
    first, second = (RidgeSolver().fit({"only": K}, y, 2, seed) for seed in (0, 1))
    assert first.weight.tolist() == second.weight.tolist()


@pytest.mark.parametrize("strengths", [[], [0.0], [-1.0, 1.0], [float("nan")], [float("inf")]])
def test_strengths_that_cannot_be_used_are_refused(strengths):
    with pytest.raises(EstimatorError, match="strengths"):
        RidgeSolver(strengths).fit({"only": np.eye(2)}, np.array([0, 1]), 2)


def test_a_kernel_with_a_gap_is_named():
    with pytest.raises(EstimatorError, match="'broken'"):
        RidgeSolver().fit(
            {"fine": np.eye(2), "broken": np.array([[1, np.nan], [np.nan, 1]])}, np.array([0, 1]), 2
        )


def test_no_kernel_at_all_is_refused():
    with pytest.raises(EstimatorError, match="no kernel"):
        RidgeSolver().fit({}, np.array([0, 1]), 2)
