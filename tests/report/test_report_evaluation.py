import errno
import json
import math
import os
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.neighbors import KNeighborsClassifier

import edgnn
from edgnn.errors import FormatError
from edgnn.evaluation import Evaluation, Outcome, Split, evaluate, kfold
from edgnn.report import ReportError, read_report, write_evaluation_report

HOSTILE = '</script><script>alert("1")</script><img src=x onerror=alert(2)>&amp;\'"'
RNG = np.random.default_rng(0)
Y = np.array([0, 0, 1] * 10)
X = RNG.normal(size=(30, 2))
SPREAD = evaluate(KNeighborsClassifier(1), X, Y, kfold(Y, 5, 2))


class Random(ClassifierMixin, BaseEstimator):
    """Predicts all splits at once, with probabilities of as many digits as a real model has."""

    def predict_splits(self, X, y, splits):
        rng, found = np.random.default_rng(1), []
        for split in splits:
            chances = rng.dirichlet(np.ones(2), size=len(split.test))
            found.append(
                {
                    "prediction": chances.argmax(axis=1),
                    "probability": chances,
                    "classes": np.arange(2),
                }
            )
        return found


@pytest.fixture
def write(tmp_path, page_of):
    def write(evaluation, **changes):
        given = {"title": "a title", "settings": {}, "environment": {}, "seconds": 75.0} | changes
        write_evaluation_report(tmp_path / "page.html", evaluation, **given)
        return page_of(tmp_path / "page.html"), read_report(tmp_path / "page.html")

    return write


def losses(*rows):
    return [
        {"epoch": epoch, "train_loss": train, "valid_loss": valid} for epoch, train, valid in rows
    ]


@pytest.fixture(scope="module")
def mutag():
    data, history = edgnn.load_dataset("MUTAG"), []
    evaluation = evaluate(
        edgnn.GraphClassifier(max_epochs=3, batch_norm=True, learning_rate=1e-3, hidden=16),
        data.graphs,
        data.targets,
        kfold(data.targets, 4, 2),
        metrics=["accuracy", "roc_auc"],
        class_names=data.class_names,
        on_progress=lambda progress: history.append(
            {
                "epoch": progress.done,
                "train_loss": progress.epoch.train_loss,
                "valid_loss": progress.epoch.valid_loss,
            }
        ),
    )
    return SimpleNamespace(evaluation=evaluation, history=history)


def test_a_real_evaluation_is_shown_with_its_own_numbers(mutag, write):
    evaluation = mutag.evaluation
    settings, machine = (
        {"command": "edgnn evaluate MUTAG", "rate": 1e-3, "flag": True},
        {"packages": {"torch": "9.9"}},
    )
    page, data = write(
        evaluation, paper=(86.9, 1.0), settings=settings, environment=machine, history=mutag.history
    )
    low, high = evaluation.interval
    assert f"{100 * evaluation.mean:.1f} ± {100 * evaluation.spread:.1f} %" in page.text
    assert "86.9 ± 1.0 %" in page.text
    assert f"{100 * evaluation.majority:.1f} %" in page.text
    assert f"from {100 * low:.1f} to {100 * high:.1f}" in page.text
    assert f"{evaluation['roc_auc'].mean:.4g}" in page.text
    assert (
        ", ".join(f"{100 * mean:.1f}" for mean in evaluation["accuracy"].repeat_means) in page.text
    )
    for split, score in zip(evaluation.splits, evaluation.scores["accuracy"], strict=True):
        assert f"repeat {split.repeat + 1}, fold {split.fold + 1}: {100 * score:.1f}" in page.text
    for row, name in zip(evaluation.confusion, evaluation.class_names, strict=True):
        cells = " ".join(f"{count:,} {100 * count / row.sum():.1f} %" for count in row)
        assert f"{name} {cells} {row.sum():,}" in page.text
    assert "188 items, 2 repeats of 4 folds · 1 min 15 s" in page.text
    assert (
        "Each model is trained on 122 items. Its best epoch is chosen on 19 others. It is evaluated on 47 items"
        in page.text
    )
    assert "mean over 8 models" in page.text
    for said in (
        "edgnn evaluate MUTAG",
        "rate 0.001 flag yes",
        "torch 9.9",
        "hidden=16",
        "Nadeau and Bengio",
    ):
        assert said in page.text
    assert data["paper"] == pytest.approx([0.869, 0.010])
    assert data["settings"] == settings


@pytest.mark.parametrize(
    ("paper", "said"),
    [
        (0.999, "lies below the paper’s"),
        (0.001, "lies above the paper’s"),
        (None, "lies above the score of the majority"),
    ],
)
def test_the_interval_is_compared_in_words(paper, said, write):
    evaluation = (
        evaluate(KNeighborsClassifier(1), Y[:, None], Y, kfold(Y, 5, 2))
        if paper is None
        else SPREAD
    )
    page, _ = write(evaluation, paper=paper and (paper, 0.01))
    assert f"; it {said}" in page.text


def test_the_stored_data_is_the_evaluation(mutag, write):
    _, data = write(mutag.evaluation)
    again = Evaluation.from_dict(data["evaluation"])
    assert data["complete"]
    assert again.mean == mutag.evaluation.mean
    for one, two in zip(mutag.evaluation.outcomes, again.outcomes, strict=True):
        assert np.array_equal(one.probability, two.probability)


def test_the_same_evaluation_gives_the_same_bytes(mutag, tmp_path, write):
    write(mutag.evaluation, history=mutag.history)
    first = (tmp_path / "page.html").read_bytes()
    write(mutag.evaluation, history=mutag.history)
    assert (tmp_path / "page.html").read_bytes() == first


def test_ten_times_ten_folds_of_mutag_stay_small_and_complete(tmp_path, write):
    y = np.array([0] * 63 + [1] * 125)
    evaluation = evaluate(
        Random(), np.zeros((188, 1)), y, kfold(y, 10, 10), metrics=["accuracy", "roc_auc"]
    )
    history = losses(*((epoch, RNG.random(100), RNG.random(100)) for epoch in range(1, 41)))
    _, data = write(evaluation, history=history)
    assert data["complete"]
    assert (tmp_path / "page.html").stat().st_size < 500_000


def test_a_large_evaluation_leaves_single_items_out(tmp_path, write):
    y = np.arange(3000) % 2
    evaluation = evaluate(DummyClassifier(), np.zeros((3000, 1)), y, kfold(y, 10, 6))
    page, data = write(evaluation)
    assert not data["complete"]
    assert data["evaluation"]["metrics"]["accuracy"]["mean"] == evaluation.mean
    assert "too many to be stored" in page.text
    assert (tmp_path / "page.html").stat().st_size < 500_000


@pytest.mark.parametrize("place", ["title", "class", "setting", "command", "environment"])
def test_hostile_names_are_text(place, write):
    names = [HOSTILE, "b"] if place == "class" else None
    evaluation = evaluate(DummyClassifier(), X, Y, kfold(Y, 3, 2), class_names=names)
    changes = {
        "title": {"title": HOSTILE},
        "setting": {"settings": {HOSTILE: HOSTILE, "group": {HOSTILE: [HOSTILE]}}},
        "command": {"settings": {"command": HOSTILE}},
        "environment": {"environment": {"machine": HOSTILE}},
    }
    page, data = write(evaluation, **changes.get(place, {}))
    assert (HOSTILE[:60] if place == "class" else HOSTILE) in page.text
    assert HOSTILE in json.dumps(data).replace('\\"', '"')


def test_strange_characters_leave_a_readable_page(write):
    page, data = write(
        evaluate(DummyClassifier(), X, Y, kfold(Y, 3, 1)), title="a\0b\ud800\u2028\x1b[0m"
    )
    assert "\0" not in page.text
    assert data["title"] == "a\0b\ud800\u2028\x1b[0m"


def test_one_repeat_shows_the_spread_of_its_folds(write):
    evaluation = evaluate(DummyClassifier(strategy="uniform", random_state=0), X, Y, kfold(Y, 5, 1))
    page, _ = write(evaluation)
    assert f"{100 * evaluation.mean:.1f} ± {100 * evaluation.spread:.1f} %" in page.text
    assert "limits of the 5 scores of the splits" in page.text
    assert "Means of the repeats" not in page.text


def test_a_single_split_has_no_interval(write):
    page, _ = write(
        evaluate(DummyRegressor(), X, Y.astype(float), [Split(np.arange(20), np.arange(20, 30))])
    )
    assert "A confidence interval needs at least two scores" in page.text


def test_seeds_on_one_test_part_are_explained(write):
    splits = [
        Split(np.arange(20), np.arange(20, 30), None, repeat, 0, repeat) for repeat in range(3)
    ]
    page, _ = write(evaluate(DummyClassifier(), X, Y, splits))
    assert "all splits have the same test set of 10 items" in page.text
    page, _ = write(evaluate(DummyRegressor(), X, Y.astype(float), splits))
    assert "t interval over the seeds" in page.text


def test_regression_shows_its_predictions(write):
    y = X[:, 0] * 1e3
    y[3] = math.nan
    evaluation = evaluate(DummyRegressor(), X, y, kfold(y, 5, 2), metrics=["rmse", "r2"])
    page, data = write(evaluation, paper=(412.5, None))
    assert f"{evaluation.mean:.4g} ± " in page.text
    assert "412.5 predicting the mean" in page.text
    assert "Lower is better" in page.text
    assert "Confusion" not in page.text
    assert data["paper"] == [412.5, None]
    points = [
        attributes
        for attributes in page.attributes("svg")
        if "58 points" in attributes["aria-label"]
    ]
    assert len(points) == 2


def test_labels_in_several_columns_have_a_page(write):
    y = np.stack([Y, 1 - Y], axis=1)
    evaluation = evaluate(DummyClassifier(), X, y, kfold(y, 3, 2))
    page, _ = write(evaluation)
    assert "most frequent labels" in page.text
    assert "probability of the label" in page.text


def test_scores_that_cannot_be_told_are_counted(write):
    y = np.array([0, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1])
    splits = [
        Split(np.arange(6), np.array(test), None, 0, fold)
        for fold, test in enumerate(([6, 9], [7, 10], [8, 11]))
    ]
    page, data = write(evaluate(DummyClassifier(), X[:12], y, splits, metrics="roc_auc"))
    assert "1 of 3 scores are not defined" in page.text
    assert [split["scores"]["roc_auc"] for split in data["evaluation"]["splits"]] == [
        None,
        0.5,
        0.5,
    ]
    page, _ = write(evaluate(DummyClassifier(), X[:12], y, splits[:1], metrics="roc_auc"))
    assert "No split allows a score" in page.text
    assert "nan" not in page.text.casefold()


def test_many_classes_and_many_splits_stay_readable(tmp_path, write):
    y = np.arange(60) % 30
    evaluation = evaluate(
        DummyClassifier(strategy="uniform", random_state=0), np.zeros((60, 1)), y, kfold(y, 2, 300)
    )
    page, _ = write(evaluation)
    assert "most often taken for" in page.text
    assert "500 of 600 are drawn" in page.text
    assert (tmp_path / "page.html").stat().st_size < 500_000


def test_calibration_compares_what_is_said_with_what_is_so(write):
    truth = np.array([0, 1, 0, 0, 1, 1])
    chances = np.array([[0.9, 0.1], [0.92, 0.08], [0.94, 0.06], [0.6, 0.4]])
    outcome = Outcome(chances.argmax(axis=1), chances)
    evaluation = Evaluation(
        "classes",
        ("accuracy",),
        (Split([4, 5], [0, 1, 2, 3]),),
        truth,
        (outcome,),
        (0, 1),
        ("a", "b"),
    )
    page, _ = write(evaluation)
    assert "60 to 70 1 60.0 100.0 40.0" in page.text
    assert "90 to 100 3 92.0 66.7 −25.3" in page.text
    assert f"{100 * (0.4 + 3 * (0.92 - 2 / 3)) / 4:.1f} points off" in page.text


def test_curves_are_means_over_the_models_that_are_still_trained(write):
    evaluation = evaluate(DummyClassifier(), X, Y, kfold(Y, 3, 1))
    history = losses(
        (1, [1.0, 3.0], [math.nan, math.nan]),
        (2, [1.0, math.nan], [math.nan, math.nan]),
        (1, [5.0], [math.nan]),
    )
    page, data = write(evaluation, history=history)
    assert data["curves"]["train_loss"]["mean"] == [3.0, 1.0]
    assert data["curves"]["models"] == 3
    assert "valid_loss" not in data["curves"]
    assert "training" in page.text
    page, data = write(evaluation, history=losses((1, [], [])))
    assert data["curves"] is None
    assert "Learning curves" not in page.text


def test_wrong_arguments_are_named(tmp_path, write):
    evaluation = evaluate(DummyClassifier(), X, Y, kfold(Y, 3, 1))
    with pytest.raises(ReportError, match=r"paper=86\.9: give its mean and its spread"):
        write(evaluation, paper=86.9)
    with pytest.raises(ReportError, match="row 0 of the history"):
        write(evaluation, history=[{"train_loss": [1]}])
    with pytest.raises(ReportError, match="train_loss of epoch 1"):
        write(evaluation, history=[{"epoch": 1, "train_loss": ["x"]}])
    with pytest.raises(ReportError, match="settings is a table"):
        write(evaluation, settings=None)
    with pytest.raises(ReportError, match="needs an Evaluation"):
        write({"mean": 1})
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_keeps_the_old_page(tmp_path, monkeypatch, write):
    evaluation = evaluate(DummyClassifier(), X, Y, kfold(Y, 3, 1))
    write(evaluation)
    before = (tmp_path / "page.html").read_bytes()

    def full(handle):
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        write(evaluation, title="another")
    assert (tmp_path / "page.html").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_another_page_is_no_report(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<p>hello</p>")
    with pytest.raises(FormatError, match="holds no data"):
        read_report(page)
    page.write_text('<script type="application/json" id="edgnn-data">{"a":</script>')
    with pytest.raises(FormatError, match="damaged"):
        read_report(page)


def test_choices_inside_the_training_parts_are_counted(write):
    strengths = [1.0] * 7 + [10.0] * 3
    outcomes = [
        Outcome(
            outcome.prediction,
            None,
            {"kernel": 3, "C": strength, "inner_accuracy": 0.5 + strength / 100},
        )
        for outcome, strength in zip(SPREAD.outcomes, strengths, strict=True)
    ]
    page, data = write(replace(SPREAD, metrics=("accuracy",), outcomes=tuple(outcomes)))
    assert "kernel 3 (10×) C 1 (7×), 10 (3×)" in page.text
    assert "inner_accuracy" not in page.text
    assert [split["chosen"]["C"] for split in data["evaluation"]["splits"]] == strengths
    assert "Chosen inside" not in write(SPREAD)[0].text
