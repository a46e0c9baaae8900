import math

import numpy as np
import pytest

import edgnn
from edgnn.errors import RunError
from edgnn.report import read_report, write_run_report
from edgnn.training import RunFolder

HOSTILE = "</script><script>alert(1)</script>"
PARTS = ["training", "test", "test", "test", "test"]


@pytest.fixture(scope="module")
def fitted():
    data = edgnn.load_dataset("MUTAG")
    return edgnn.GraphClassifier(max_epochs=2, hidden=8, members=3, random_state=0).fit(
        data.graphs, data.targets
    )


@pytest.fixture
def run(tmp_path):
    return RunFolder.create(
        tmp_path / "run",
        {"estimator": "GraphClassifier", "parameters": {"hidden": 8, "activation": "relu"}},
    )


def test_a_saved_estimator_has_a_page(fitted, tmp_path, page_of):
    fitted.save(tmp_path / "mine")
    path = write_run_report(tmp_path / "mine")
    assert path == tmp_path / "mine" / "report.html"
    page = page_of(path)
    assert "Training run mine GraphClassifier · 2 epochs" in page.text
    assert "mean over 3 models" in page.text
    assert "The run has no metrics.json. The run has no predictions.csv." in page.text
    assert f"best epoch {', '.join(map(str, fitted.best_epoch_))}" in page.text
    means = [np.mean(row["train_loss"]) for row in fitted.history_]
    assert read_report(path)["curves"]["train_loss"]["mean"] == pytest.approx(means)


def test_metrics_and_test_predictions_are_shown(run, tmp_path, page_of):
    scores = {"metrics": {"accuracy": 0.75, "roc_auc": math.nan}, "majority": {"accuracy": 0.5}}
    run.write_json("metrics.json", {"part": "validation", "items": 4, "trained_on": 9} | scores)
    columns = {
        "part": PARTS,
        "target": ["b", "a", "a", "b", "b"],
        "prediction": ["a", "a", "b", "b", "b"],
    }
    run.write_rows("predictions.csv", columns)
    path = write_run_report(run.path, tmp_path / "page.html")
    page, data = page_of(path), read_report(path)
    assert "measure this model majority accuracy (%) 75.0 50.0 ROC-AUC – –" in page.text
    assert (
        "Evaluated on 4 items of the validation set; trained on 9. The epoch was chosen on the same"
        in page.text
    )
    assert "a 1 50.0 % 1 50.0 % 2 b 0 0.0 % 2 100.0 % 2" in page.text
    assert "4 items of the test set" in page.text
    assert data["confusion"]["counts"] == [[1, 1], [0, 2]]
    assert data["metrics"]["metrics"]["accuracy"] == 0.75
    assert "GraphClassifier(hidden=8, activation='relu')" in page.text


@pytest.mark.parametrize(
    "metrics", [{"accuracy": 0.75}, {"metrics": {"accuracy": "high"}}, {"metrics": {}}, [0.5, 1]]
)
def test_metrics_of_another_form_are_named(metrics, run, page_of):
    run.write_json("metrics.json", metrics)
    text = page_of(write_run_report(run.path)).text
    assert "metrics.json cannot be read: it holds no metrics by name" in text


def test_a_run_that_has_just_begun_says_what_is_missing(run, page_of):
    page = page_of(write_run_report(run.path))
    assert "0 epochs · 0.0 s · not finished" in page.text
    for name in ("history.jsonl", "metrics.json", "predictions.csv"):
        assert f"The run has no {name} yet." in page.text
    (run.path / "environment.json").unlink()
    assert "no environment.json" in page_of(write_run_report(run.path)).text


def test_damaged_files_are_named(run, page_of):
    run.append_history({"epoch": 1, "train_loss": [1.0]})
    (run.path / "metrics.json").write_text("{")
    (run.path / "environment.json").write_text("{}")
    (run.path / "predictions.csv").write_bytes(b"target,prediction\n\xff,1\n")
    (run.path / "history.jsonl").write_text("nothing\n")
    page = page_of(write_run_report(run.path))
    for name in ("metrics.json", "predictions.csv", "history.jsonl"):
        assert f"{name} cannot be read" in page.text


def test_losses_that_are_no_numbers_are_named(run, page_of):
    run.append_history({"epoch": 1, "train_loss": ["much"]})
    assert (
        "train_loss of epoch 1 in the history is not a list of numbers"
        in page_of(write_run_report(run.path)).text
    )


def test_one_loss_per_epoch_is_enough(run, page_of):
    run.append_history({"epoch": 1, "train_loss": 2.0, "valid_loss": None})
    run.append_history({"epoch": 2, "train_loss": 1.0, "valid_loss": math.nan})
    path = write_run_report(run.path)
    assert "Loss of the model." in page_of(path).text
    assert read_report(path)["curves"]["train_loss"]["mean"] == [2.0, 1.0]


def test_regression_shows_points(tmp_path, page_of):
    run = RunFolder.create(
        tmp_path / "run",
        {"estimator": "GraphRegressor", "task": "values", "target_names": ["logp"]},
    )
    run.write_json("metrics.json", {"metrics": {"rmse": 0.125}, "majority": {"rmse": 1.043}})
    run.write_rows(
        "predictions.csv", {"target": [1.5, 2.5, math.nan], "prediction": [1.0, 3.0, 2.0]}
    )
    page = page_of(write_run_report(run.path))
    assert "GraphRegressor · predicts logp" in page.text
    assert "RMSE 0.125 RMSE of predicting the mean 1.043" in page.text
    assert "prediction against true value, 2 points" in {
        svg.get("aria-label") for svg in page.attributes("svg")
    }
    assert "Confusion" not in page.text


@pytest.mark.parametrize(
    "table",
    [
        "id,prediction\n1,a\n",
        "target,prediction\n",
        "",
        "target,prediction\na\n",
        "target,prediction\na,b,c\n",
    ],
)
def test_any_table_of_predictions_leaves_a_page(table, run, page_of):
    (run.path / "predictions.csv").write_text(table)
    assert "Settings" in page_of(write_run_report(run.path)).text


def test_hostile_names_are_text(tmp_path, page_of):
    run = RunFolder.create(
        tmp_path / "run", {"estimator": HOSTILE, "command": HOSTILE, HOSTILE: [HOSTILE]}
    )
    run.write_json("metrics.json", {"part": HOSTILE, "metrics": {HOSTILE: 0.5}})
    run.write_rows("predictions.csv", {"target": [HOSTILE], "prediction": ["<b>"]})
    run.append_history({"epoch": 1, "train_loss": [1.0], HOSTILE: HOSTILE})
    page = page_of(write_run_report(run.path))
    assert page.text.count(HOSTILE) >= 6
    assert "<b>" in page.text


@pytest.mark.parametrize(
    ("config", "classes", "shown"),
    [
        ({"class_names": ["z", "b", "a"]}, ["z", "b"], ["z", "b", "a"]),
        ({}, ["1", "10", "9", "x"], ["1", "9", "10", "x"]),
    ],
)
def test_classes_stand_in_the_order_of_the_run_or_of_their_numbers(
    config, classes, shown, tmp_path
):
    run = RunFolder.create(tmp_path / "run", config)
    run.write_rows("predictions.csv", {"target": classes, "prediction": classes})
    assert read_report(write_run_report(run.path))["confusion"]["class_names"] == shown


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(RunError, match=r"has no config\.json"):
        write_run_report(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_model_without_epochs_has_a_page_without_curves(tmp_path, page_of):
    data = edgnn.load_dataset("MUTAG")
    model = edgnn.RidgeGraphClassifier(parts="wl").fit(data.graphs[:60], data.targets[:60])
    model.save(tmp_path / "ridge")
    run = RunFolder.open(tmp_path / "ridge")
    scores = {"metrics": {"accuracy": 0.75}, "majority": {"accuracy": 0.5}}
    run.write_json("metrics.json", {"part": "test", "items": 4, "trained_on": 60} | scores)
    columns = {"part": ["test"] * 4, "target": [0, 1, 1, 0], "prediction": [0, 1, 0, 0]}
    run.write_rows("predictions.csv", columns)
    path = write_run_report(run.path)
    text = page_of(path).text
    assert "Training run ridge RidgeGraphClassifier · finished" in text
    assert "accuracy (%) 75.0 50.0" in text
    assert "RidgeGraphClassifier(depth=5" in text
    for absent in ("epoch", "Learning curves", "Not shown"):
        assert absent not in text
    assert read_report(path)["curves"] is None
