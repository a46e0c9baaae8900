import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from edgnn.evaluation import METRICS, EvaluationError, find_metric, score

NAN = float("nan")


def test_metrics_of_two_classes_by_hand():
    truth, guess = ["no", "no", "no", "yes", "yes"], ["no", "no", "yes", "yes", "no"]
    assert score("accuracy", truth, guess) == pytest.approx(3 / 5)
    assert score("balanced_accuracy", truth, guess) == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert score("f1", truth, guess) == pytest.approx(2 * 1 / (2 * 1 + 1 + 1))


def test_areas_of_two_classes_by_hand():
    chance = np.array([0.1, 0.4, 0.35, 0.8])
    probability = np.stack([1 - chance, chance], axis=1)
    # pairs (positive, negative) in the right order: 3 of 4; precision 1 at recall 1/2, then 2/3
    assert score("roc_auc", [0, 0, 1, 1], probability=probability) == pytest.approx(3 / 4)
    assert score("pr_auc", [0, 0, 1, 1], probability=probability) == pytest.approx(
        1 / 2 * 1 + 1 / 2 * 2 / 3
    )


def test_the_second_class_is_the_positive_one():
    truth, guess = [0, 0, 0, 1], [0, 0, 1, 1]
    assert score("f1", truth, guess) == pytest.approx(2 / 3)
    assert score("f1", truth, guess, classes=[1, 0]) == pytest.approx(4 / 5)


def test_real_values_by_hand():
    truth, guess = [1.0, 2.0, 6.0], [1.0, 4.0, 5.0]
    assert score("rmse", truth, guess) == pytest.approx(math.sqrt(5 / 3))
    assert score("mae", truth, guess) == pytest.approx(1)
    assert score("r2", truth, guess) == pytest.approx(1 - 5 / 14)
    assert score("mae", [1, 2, 6], [1, 4, 5]) == pytest.approx(1)


def test_several_real_targets_are_averaged_over_their_columns():
    truth = np.array([[1.0, 10.0], [2.0, NAN], [3.0, 30.0]])
    guess = np.array([[2.0, 10.0], [3.0, 99.0], [4.0, 34.0]])
    assert score("mae", truth, guess) == pytest.approx((1 + 2) / 2)
    assert score("rmse", truth, guess) == pytest.approx((1 + math.sqrt(8)) / 2)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30))
def test_three_classes_agree_with_scikit_learn(pairs):
    truth, guess = (np.array(column) for column in zip(*pairs, strict=True))
    assert score("accuracy", truth, guess, classes=[0, 1, 2]) == pytest.approx(
        sk.accuracy_score(truth, guess)
    )
    assert score("f1", truth, guess, classes=[0, 1, 2]) == pytest.approx(
        sk.f1_score(truth, guess, average="macro", labels=sorted({*truth, *guess}))
    )
    recall = sk.recall_score(
        truth, guess, average="macro", labels=np.unique(truth), zero_division=0
    )
    assert score("balanced-accuracy", truth, guess, classes=[0, 1, 2]) == pytest.approx(recall)


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1, width=16)), min_size=1, max_size=40))
def test_roc_auc_agrees_with_scikit_learn_on_tied_scores(pairs):
    truth, chance = (np.array(column) for column in zip(*pairs, strict=True))
    found = score(
        "roc_auc",
        truth.astype(int),
        probability=np.stack([1 - chance, chance], axis=1),
        classes=[0, 1],
    )
    if truth.all() or not truth.any():
        assert math.isnan(found)
    else:
        assert found == pytest.approx(sk.roc_auc_score(truth, chance), abs=1e-12)


@given(st.integers(0, 2**32), st.integers(2, 6), st.integers(2, 6))
def test_labels_in_columns_agree_with_scikit_learn(seed, items, columns):
    rng = np.random.default_rng(seed)
    truth, guess = rng.integers(0, 2, (2, items, columns))
    pairs = list(zip(truth.T, guess.T, strict=True))
    recalls = [
        sk.recall_score(one, two, average="macro", labels=np.unique(one), zero_division=0)
        for one, two in pairs
    ]
    assert score("balanced_accuracy", truth, guess, task="labels") == pytest.approx(
        np.mean(recalls), abs=1e-12
    )
    areas = [sk.roc_auc_score(one, two) for one, two in pairs if len(set(one)) == 2]
    found = score("roc_auc", truth, probability=guess, task="labels")
    assert found == pytest.approx(np.mean(areas), abs=1e-12) if areas else math.isnan(found)


def test_areas_of_three_classes_are_those_of_each_against_the_rest():
    rng = np.random.default_rng(0)
    truth, probability = rng.integers(0, 3, 50), rng.dirichlet([1, 1, 1], 50)
    expected = sk.roc_auc_score(truth, probability, multi_class="ovr", average="macro")
    assert score("roc_auc", truth, probability=probability) == pytest.approx(expected)
    each = [
        sk.average_precision_score(truth == number, probability[:, number]) for number in range(3)
    ]
    assert score("PR-AUC", truth, probability=probability) == pytest.approx(np.mean(each))


def test_a_class_that_is_not_in_the_part_is_left_out_of_the_mean():
    truth, probability = (
        np.array([0, 1, 0, 1]),
        np.array([[0.9, 0.1, 0], [0.2, 0.8, 0], [0.6, 0.4, 0], [0.7, 0.2, 0.1]]),
    )
    expected = np.mean(
        [sk.roc_auc_score(truth == number, probability[:, number]) for number in (0, 1)]
    )
    assert score("roc_auc", truth, probability=probability, classes=[0, 1, 2]) == pytest.approx(
        expected
    )


def test_labels_in_columns_are_averaged_where_the_metric_is_defined():
    truth = np.array([[1, 0, 1], [0, 0, NAN], [1, 0, 0], [NAN, 0, 1]])
    chance = np.array([[0.9, 0.1, 0.3], [0.5, 0.2, 0.3], [0.4, 0.3, 0.2], [0.0, 0.4, 0.1]])
    # column 0: 0.9 > 0.5 > 0.4, one pair of two right; column 1 has one class; column 2: 0.3 > 0.2 > 0.1, one of two
    assert score("roc_auc", truth, probability=chance) == pytest.approx(1 / 2)
    guess = (chance > 0.35).astype(int)
    assert score("accuracy", truth, guess) == pytest.approx((2 / 3 + 3 / 4 + 1 / 3) / 3)
    assert score("f1", truth, guess) == pytest.approx((4 / 5 + 0 + 0) / 3)


def test_missing_targets_are_ignored():
    assert score("accuracy", ["a", None, "b"], ["a", "b", "b"]) == 1
    assert score("mae", [1.0, NAN, 3.0], [2.0, 9.0, 3.0]) == 0.5
    chance = np.array([[0.9, 0.1], [0.2, 0.8], [0.0, 1.0]])
    assert (
        score("roc_auc", [0.0, 1.0, NAN], probability=chance, classes=[0, 1], task="classes") == 1
    )


@pytest.mark.parametrize(
    "metric", [name for name, metric in METRICS.items() if "classes" in metric.tasks]
)
def test_a_part_of_one_class_gives_a_number_or_nan_without_warning(metric):
    probability = np.array([[0.9, 0.1], [0.4, 0.6]])
    value = score(metric, [0, 0], [0, 0], probability=probability, classes=[0, 1])
    assert value == 1 if "accuracy" in metric else math.isnan(value)


@pytest.mark.parametrize("metric", METRICS)
def test_a_part_without_known_targets_gives_nan(metric):
    task = METRICS[metric].tasks[0]
    assert math.isnan(
        score(metric, [NAN, NAN], [0.0, 1.0], probability=np.eye(2), classes=[0, 1], task=task)
    )


def test_r2_of_constant_targets_and_scores_of_broken_predictions_are_nan():
    assert math.isnan(score("r2", [2.0, 2.0], [1.0, 2.0]))
    assert math.isnan(score("r2", [2.0], [1.0]))
    assert math.isnan(score("rmse", [1.0, 2.0], [1.0, NAN]))
    assert math.isnan(score("roc_auc", [0, 1], probability=[[NAN, NAN], [0, 1]]))


def test_names_are_found_however_they_are_written():
    assert find_metric("ROC-AUC") is find_metric("roc auc") is METRICS["roc_auc"]
    with pytest.raises(EvaluationError, match="no metric 'acuracy'; did you mean 'accuracy'"):
        find_metric("acuracy")
    with pytest.raises(EvaluationError, match="no metric 'xyz'; choose among accuracy, "):
        find_metric("xyz")


def test_only_errors_are_better_when_lower():
    assert {name for name, metric in METRICS.items() if not metric.higher_is_better} == {
        "rmse",
        "mae",
    }


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: score("rmse", ["a", "b"], ["a", "b"], task="classes"),
            "rmse is not a metric for classes; choose among acc",
        ),
        (
            lambda: score("accuracy", [0.5, 1.0], [0.5, 1.0]),
            "accuracy is not a metric for real values",
        ),
        (
            lambda: score("roc_auc", [0, 1], [0, 1]),
            "roc_auc needs probabilities, and none were given",
        ),
        (
            lambda: score("accuracy", [0, 1], [0, 1, 1]),
            r"have the shape \(3,\), but \(2,\) is needed",
        ),
        (
            lambda: score("roc_auc", [0, 1], probability=np.eye(3)),
            r"the shape \(3, 3\), but \(2, 2\) is needed",
        ),
        (lambda: score("accuracy", [0, 7], [0, 0], classes=[0, 1]), "item 1 has the class 7"),
        (
            lambda: score("accuracy", [[0, 1]], [[0, 0.5]]),
            "predicted labels must be 0 or 1, got 0.5",
        ),
        (lambda: score("accuracy", [["a", "b"]], [["a", "b"]]), "several columns must be numbers"),
    ],
)
def test_what_cannot_be_scored_is_explained(call, message):
    with pytest.raises(EvaluationError, match=message):
        call()


@pytest.mark.parametrize(
    ("name", "meant"), [("auc", "roc_auc"), ("AUROC", "roc_auc"), ("AP", "pr_auc"), ("mse", "rmse")]
)
def test_other_names_of_a_metric_suggest_ours(name, meant):
    with pytest.raises(EvaluationError, match=f"did you mean '{meant}'"):
        find_metric(name)


@pytest.mark.filterwarnings("ignore:A single label")
@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("ab")), min_size=2, max_size=20))
def test_any_scorer_of_scikit_learn_is_a_metric(pairs):
    truth, guess = (list(column) for column in zip(*pairs, strict=True))
    assert score("matthews_corrcoef", truth, guess) == pytest.approx(
        sk.matthews_corrcoef(truth, guess)
    )


def test_a_scorer_of_probabilities_is_given_them():
    truth = ["a", "c", "b", "a"]
    probability = np.array([[0.8, 0.1, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3], [0.4, 0.4, 0.2]])
    expected = -sk.log_loss(truth, probability)
    assert find_metric("neg_log_loss").needs == "probabilities"
    assert score("neg_log_loss", truth, probability=probability) == pytest.approx(expected)
    with pytest.raises(EvaluationError, match="neg_log_loss needs probabilities"):
        score("neg_log_loss", truth, truth)


def test_a_scorer_of_values_leaves_missing_ones_out_and_averages_columns():
    truth = np.array([[1.0, 10.0], [2.0, NAN], [3.0, 30.0]])
    guess = np.array([[2.0, 10.0], [3.0, 99.0], [4.0, 34.0]])
    assert score("neg_median_absolute_error", truth, guess) == pytest.approx(-(1 + 2) / 2)
    with pytest.raises(EvaluationError, match="neg_max_error is not a metric for classes"):
        score("neg_max_error", ["a", "b"], ["a", "b"], task="classes")


def test_a_scorer_that_is_not_defined_on_a_part_is_nan():
    both = [[0.5, 0.5], [0.2, 0.8]]
    assert math.isnan(score("roc_auc_ovr", [1, 1], probability=both, classes=[0, 1]))
    assert math.isnan(score("matthews_corrcoef", [NAN], ["a"], classes=["a"], task="classes"))


def test_functions_and_scorers_of_ones_own_are_metrics():
    def hits(y_true, y_pred):
        return sum(one == other for one, other in zip(y_true, y_pred, strict=True))

    truth, guess = ["yes", "no", "yes"], ["yes", "yes", "yes"]
    assert find_metric(hits).name == "hits"
    assert score(hits, truth, guess) == 2
    assert score(sk.make_scorer(sk.f1_score, pos_label="no"), truth, guess) == 0
    assert score(lambda t, p: float(abs(t - p).max()), [1.0, 2.0], [1.0, 4.0]) == 2
    labels = np.array([[1, 0], [0, 1]])
    assert score(sk.accuracy_score, labels, np.ones((2, 2)), task="labels") == 0.5


def test_another_package_adds_a_metric_by_an_entry_point(tmp_path, monkeypatch):
    (tmp_path / "their_metric.py").write_text(
        "from edgnn.evaluation import Metric\n"
        "def zero(y_true, y_pred): return 0.0\n"
        "METRIC = Metric('zero', zero, higher_is_better=False)\n"
    )
    folder = tmp_path / "their_metric-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: their-metric\nVersion: 1\n")
    (folder / "entry_points.txt").write_text("[edgnn.metrics]\nzero = their_metric:METRIC\n")
    code = "from edgnn.evaluation import score; print(score('zero', ['a', 'b'], ['a', 'b']))"
    path = os.pathsep.join([str(tmp_path), *sys.path])
    out = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert out.stdout == "0.0\n"
