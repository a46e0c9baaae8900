"""Every model of the registry by commands: train, predict, explain, report, export, resume."""

from __future__ import annotations

import csv
import io
import json

import pytest

from edgnn.registry import MODELS
from edgnn.training import RunFolder

pytestmark = [
    pytest.mark.filterwarnings("ignore::edgnn.models.UnseenNodeWarning"),
]
#: Options that make a training short.
QUICK = {"rdf2vec": ("walks=5", "dimensions=8", "epochs=2", "starts=all"), "blend": ("trees=10",)}
OF_MOLECULES = ("ecfp",)
ON_GRAPHS = [
    name for name, entry in MODELS.items() if "graph" in entry.levels and name not in OF_MOLECULES
]
ON_NODES = [name for name, entry in MODELS.items() if "node" in entry.levels]


def quick(name):
    if MODELS[name].trains_by_epochs:
        return ["--max-epochs", 2, "--hidden", 8]
    return [word for setting in QUICK.get(name, ()) for word in ("--set", setting)]


def check_life(command, run, name, source, *target):
    """Take a model through its life; every step works, or says in a line why it cannot."""
    entry = MODELS[name]
    ended = command("train", source, *target, "--model", name, "--out", run, *quick(name))
    assert ended.code == 0, ended.err
    assert "this model" in ended.out
    assert ("fitted in" in ended.out) != entry.trains_by_epochs
    assert ("epoch" in ended.err) == entry.trains_by_epochs
    metrics = json.loads((run / "metrics.json").read_text())
    if not entry.trains_by_epochs:
        assert metrics["part"] == "test"
    assert 0 <= metrics["metrics"]["accuracy"] <= 1
    assert ("roc_auc" in metrics["metrics"]) == entry.probabilities
    assert json.loads((run / "config.json").read_text())["model"] == name

    ended = command("predict", run, source)
    assert ended.code == 0, ended.err
    rows = list(csv.DictReader(io.StringIO(ended.out)))
    assert rows
    assert any(column.startswith("p(") for column in rows[0]) == entry.probabilities
    known = {row["id"]: row for row in rows}
    for row in csv.DictReader((run / "predictions.csv").read_text().splitlines()):
        assert known[row["id"]]["prediction"] == row["prediction"]

    ended = command("explain", run, source, "--no-counter-example", "--json")
    if name == "rdf2vec":
        assert (ended.code, ended.err.count("\n")) == (2, 1)
        assert "RDF2VecClassifier cannot be explained" in ended.err
    else:
        assert ended.code == 0, ended.err
        assert json.loads(ended.out)["items"]
        assert "<html" in (run / "explanation.html").read_text()

    ended = command("report", run)
    assert ended.code == 0, ended.err
    assert "accuracy" in (run / "report.html").read_text().lower()


@pytest.mark.parametrize("name", ON_GRAPHS)
def test_models_of_graphs_have_one_life(command, molecules, tmp_path, name):
    check_life(command, tmp_path / "run", name, molecules)


@pytest.mark.parametrize("name", ON_NODES)
def test_models_of_nodes_have_one_life(command, people, tmp_path, name):
    check_life(command, tmp_path / "run", name, people, "--target", "group")


@pytest.mark.parametrize("name", ["ridge", "majority", *OF_MOLECULES])
def test_smiles_of_a_table_train_any_model(command, smiles, tmp_path, name):
    check_life(command, tmp_path / "run", name, smiles, "--target", "kind")


def test_values_and_labels_train_models_that_learn_them(command, smiles, tmp_path):
    ended = command(
        *("train", smiles, "--target", "value", "--model", "majority", "--out", tmp_path / "a")
    )
    assert ended.code == 0, ended.err
    assert "predicting the mean" in ended.out
    ended = command(
        *("train", smiles, "--target", "value", "--model", "csm", "--out", tmp_path / "b")
    )
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "csm learns classes, but the targets are values; for these there are auto" in ended.err
    assert not (tmp_path / "b").exists()


@pytest.fixture
def ridge(command, molecules, tmp_path):
    run = tmp_path / "ridge"
    assert command("train", molecules, "--model", "ridge", "--out", run, "--test", 0.25).code == 0
    return run


def test_a_closed_form_learns_from_all_that_is_not_tested(ridge):
    metrics = json.loads((ridge / "metrics.json").read_text())
    assert (metrics["part"], metrics["items"], metrics["trained_on"]) == ("test", 10, 30)
    assert metrics["seconds"] > 0
    assert "epochs" not in metrics


def test_without_a_validation_set_all_is_learned_from(command, molecules, tmp_path):
    words = ("--model", "wl-subtree", "--validation", "none", "--out", tmp_path / "run")
    ended = command("train", molecules, *words)
    assert ended.code == 0
    assert "On the 40 items of the training set itself" in ended.out


def test_what_a_closed_form_cannot_do_is_one_line(command, ridge, molecules, tmp_path):
    for words, message in (
        (("export", ridge, "--out", tmp_path / "x"), "an AutoClassifier cannot be exported"),
        (("predict", ridge, molecules, "--uncertainty"), "is a single model, which has no spread"),
        (("predict", ridge, molecules, "--unknown", "zero"), "has no parameter 'unknown'"),
        (("predict", ridge, molecules, "--device", "cuda"), "runs on the CPU: leave"),
        (
            ("convert", molecules, tmp_path / "graphs.json", "--for", ridge),
            "an AutoClassifier cannot be exported",
        ),
    ):
        ended = command(*words)
        assert (ended.code, ended.err.count("\n")) == (2, 1), ended.err
        assert message in ended.err


def test_a_finished_closed_form_is_not_fitted_again(command, ridge):
    before = (ridge / "model.safetensors").stat().st_mtime_ns
    ended = command("train", "--resume", "--out", ridge)
    assert (ended.code, ended.out) == (0, f"{ridge} is finished: there is nothing to resume\n")
    assert (ridge / "model.safetensors").stat().st_mtime_ns == before


def kept_in(run):
    """Return what a run holds, but for how long it took."""
    config = json.loads((run / "config.json").read_text())
    for row in config["fitted"]["tried"]:
        row.pop("seconds", None)
    return config, (run / "predictions.csv").read_text()


def test_an_interrupted_closed_form_starts_again(command, ridge, molecules):
    before = kept_in(ridge)
    (ridge / "metrics.json").unlink()
    (ridge / "model.safetensors").unlink()
    ended = command("predict", ridge, molecules)
    assert ended.code == 2
    assert "resume it (edgnn train --resume --out" in ended.err
    assert "best epoch" not in ended.err
    ended = command("train", "--resume", "--out", ridge)
    assert ended.code == 0, ended.err
    assert f"starting {ridge} again: an AutoClassifier has no epochs" in ended.err
    assert before == kept_in(ridge)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--model", "gnn"), "has model='ridge', not 'gnn'"),
        (("--seed", 1), "has seed=0, not 1"),
        (("--max-epochs", 5), "an AutoClassifier has no epochs"),
        (("--hidden", 5), "has no parameter 'hidden', not 5"),
    ],
)
def test_a_resumed_closed_form_is_the_same_one(command, ridge, words, message):
    ended = command("train", "--resume", "--out", ridge, *words)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert message in ended.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--model", "rige"), "there is no model 'rige'; did you mean 'ridge'?"),
        (("--model", "ridge-network", "--set", "dept=2"), "did you mean 'depth'?"),
        (("--model", "ridge", "--hidden", 8), "an AutoClassifier has no parameter 'hidden'"),
        (("--model", "ridge", "--device", "cuda"), "the model 'ridge' runs on the CPU: leave"),
        (("--model", "joint", "--conv", "gnn"), "conv='gnn' is not the model 'joint'"),
        (("--model", "ridge", "--settings", "rgcn"), "are those of rgcn, not of ridge"),
        (("--model", "wl-rdf"), "wl-rdf learns about nodes, but the targets are those of graphs"),
    ],
)
def test_a_wrong_choice_is_one_line(command, molecules, tmp_path, words, message):
    ended = command("train", molecules, "--out", tmp_path / "run", *words)
    assert (ended.code, ended.err.count("\n")) == (2, 1), ended.err
    assert message in ended.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_a_model_without_a_device_runs_on_the_cpu_by_name(command, molecules, tmp_path, device):
    run = tmp_path / "run"
    words = ("--model", "wl-subtree", "--device", device)
    assert command("train", molecules, "--out", run, *words).code == 0
    assert command("predict", run, molecules, "--device", device).code == 0
    protocol = ("--protocol", "holdout", "--runs", 1)
    assert command("evaluate", molecules, *words, *protocol).code == 0


def test_settings_choose_their_model(command, molecules, tmp_path):
    for number, words in enumerate((("--settings", "rgcn"), ("--model", "rgcn"))):
        run = tmp_path / f"run{number}"
        ended = command("train", molecules, "--out", run, "--max-epochs", 1, "-q", *words)
        assert ended.code == 0, ended.err
        config = RunFolder.open(run).config
        assert (config["estimator"], config["model"]) == ("RGCNGraphClassifier", "rgcn")
        assert config["settings"] == "rgcn"


@pytest.mark.parametrize("name", ["train", "evaluate"])
def test_help_lists_the_models_of_the_registry(command, name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shown = " ".join(command(name, "--help").out.replace("│", " ").split())
    for model, entry in MODELS.items():
        assert f"{model}: {entry.summary}" in shown
