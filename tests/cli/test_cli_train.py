import csv
import json
import re
import sys

import numpy as np
import pytest

import edgnn
from edgnn.models import load_model
from edgnn.training import RunFolder

QUICK = ("--max-epochs", 3, "--hidden", 8, "--quiet")
FILES = {
    "config.json",
    "history.jsonl",
    "model.safetensors",
    "metrics.json",
    "predictions.csv",
    "splits.json",
    "environment.json",
}


def config_of(run):
    return json.loads((run / "config.json").read_text())


def parameters_of(run):
    return config_of(run)["parameters"]


def rows_of(run):
    with (run / "predictions.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_run_folder_holds_all_that_is_needed_to_predict_and_repeat(command, molecules, tmp_path):
    ended = command("train", molecules, "--out", tmp_path / "run", *QUICK, "--seed", 5)
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    run = tmp_path / "run"
    assert {path.name for path in run.iterdir() if not path.name.startswith(".")} == FILES
    data = edgnn.load_dataset(molecules)
    rows = rows_of(run)
    graphs = data.graphs[[int(row["id"]) for row in rows]]
    probability = load_model(run).predict_proba(graphs)
    assert list(rows[0]) == ["id", "part", "target", "prediction", "p(-1)", "p(1)"]
    assert np.allclose(
        probability, [[float(row["p(-1)"]), float(row["p(1)"])] for row in rows], atol=1e-7
    )
    assert [row["target"] for row in rows] == [
        data.class_names[data.targets[int(row["id"])]] for row in rows
    ]
    assert {row["part"] for row in rows} == {"validation"}
    metrics = json.loads((run / "metrics.json").read_text())
    assert (metrics["part"], metrics["items"], metrics["trained_on"]) == (
        "validation",
        len(rows),
        40 - len(rows),
    )
    right = np.mean([row["target"] == row["prediction"] for row in rows])
    assert metrics["metrics"]["accuracy"] == right
    assert [row["epoch"] for row in RunFolder.open(run).history()] == [1, 2, 3]
    config = config_of(run)
    assert config["command"].startswith("edgnn train ")
    assert config["source"]["name"] == str(molecules.resolve())
    assert (config["parameters"]["random_state"], config["parameters"]["hidden"]) == (5, 8)


def test_the_same_command_gives_the_same_bits_and_another_seed_does_not(
    command, molecules, tmp_path
):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        command("train", molecules, "--out", tmp_path / name, *QUICK, "--seed", seed)
    models = [(tmp_path / name / "model.safetensors").read_bytes() for name in "abc"]
    assert models[0] == models[1] != models[2]


def test_defaults_give_way_to_settings_these_to_a_file_and_that_to_flags(
    command, molecules, tmp_path
):
    file = tmp_path / "options.toml"
    file.write_text(
        'learning-rate = 0.25\nweight_decay = 0.5\nsettings = "paper"\nseed = 7\nvalidation = 0.2\n'
    )
    command("train", molecules, "--out", tmp_path / "a", *QUICK, "--settings", "paper")
    assert (
        parameters_of(tmp_path / "a")["learning_rate"],
        parameters_of(tmp_path / "a")["batch_norm"],
    ) == (1e-4, False)
    command(
        "train",
        molecules,
        "--out",
        tmp_path / "b",
        *QUICK,
        "--config",
        file,
        "--weight-decay",
        "0.125",
        "--batch-norm",
    )
    found = parameters_of(tmp_path / "b")
    assert (found["learning_rate"], found["weight_decay"], found["batch_norm"]) == (
        0.25,
        0.125,
        True,
    )
    assert (found["random_state"], found["validation"], found["batch_size"]) == (7, 0.2, 8)
    command(
        "train",
        molecules,
        "--out",
        tmp_path / "c",
        *QUICK,
        "--set",
        "clip_norm=2",
        "--set",
        "bias=true",
        "--patience",
        "none",
    )
    found = parameters_of(tmp_path / "c")
    assert (found["clip_norm"], found["bias"], found["patience"], found["batch_norm"]) == (
        2,
        True,
        None,
        True,
    )


def test_flags_of_every_kind_reach_the_estimator(command, molecules, tmp_path):
    words = [
        "--layers",
        1,
        "--conv",
        "joint",
        "--activation",
        "tanh",
        "--dropout",
        "0.25",
        "--no-batch-norm",
        "--bias",
        "--embedding",
        3,
        "--readout",
        "mean",
        "--direction",
        "in",
        "--degree-labels",
        "both",
        "--batch-size",
        "none",
        "--patience",
        2,
        "--class-weight",
        "-1=2,1=0.5",
        "--calibrate",
        "--members",
        2,
        "--precision",
        "float64",
        "--unknown",
        "error",
    ]
    assert command("train", molecules, "--out", tmp_path / "run", *QUICK, *words).code == 0
    found = load_model(tmp_path / "run").get_params()
    expected = {
        "layers": 1,
        "conv": "joint",
        "activation": "tanh",
        "dropout": 0.25,
        "batch_norm": False,
        "bias": True,
        "embedding": 3,
        "readout": "mean",
        "direction": "in",
        "degree_labels": "both",
        "batch_size": None,
        "patience": 2,
        "class_weight": {0: 2.0, 1: 0.5},
        "calibrate": True,
        "members": 2,
        "precision": "float64",
        "unknown": "error",
    }
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--set", "learnig_rate=1"],
            "has no parameter 'learnig_rate'; did you mean 'learning_rate'?",
        ),
        (["--set", "clip_norm"], "--set takes NAME=VALUE"),
        (["--layers", "two"], "layers='two': choose a whole number, 1 or more"),
        (["--settings", "papr"], "there are no settings named 'papr'"),
        (["--validation", "2"], "validation='2': choose a fraction"),
        (["--test", "half"], "test='half': choose 'published', a fraction"),
        (["--test", "published"], "has no published split"),
        (["--validation", "first-fifth"], "is for a published split"),
        (["--class-weight", "red=2"], "names the class 'red'; the classes are '-1', '1'"),
        (["--task", "node"], "belong to graphs"),
        (["--device", "tpu"], "device='tpu': choose 'cpu'"),
        (["--resume", "--overwrite"], "choose one"),
        (["--calibrate", "--validation", "none"], "calibrate=True needs a validation set"),
    ],
)
def test_wrong_words_are_one_line_and_leave_no_folder(command, molecules, tmp_path, words, message):
    ended = command("train", molecules, "--out", tmp_path / "run", *QUICK, *words)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert message in ended.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_epoch = 3", "the key 'max_epoch', which is unknown; did you mean 'max_epochs'?"),
        ("= 3", "is no TOML file"),
        (f"hidden = {'[' * 100_000}", "is no TOML file: it is nested too deeply"),
        ("protocol = 'cv10x10'", "the key 'protocol', which is unknown"),
    ],
)
def test_a_wrong_configuration_file_is_explained(command, molecules, tmp_path, text, message):
    (tmp_path / "options.toml").write_text(text)
    ended = command(
        "train", molecules, "--out", tmp_path / "run", "--config", tmp_path / "options.toml"
    )
    assert ended.code == 2
    assert message in ended.err


def test_what_to_train_on_must_be_said(command, tmp_path):
    ended = command("train", "--out", tmp_path / "run")
    assert (ended.code, "name the data to train on" in ended.err) == (2, True)
    ended = command("train", "--out", tmp_path / "run", "--resume")
    assert (ended.code, "there is no run in" in ended.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "kind", "target", "prediction"),
    [
        (["--target", "kind"], "GraphClassifier", "target", {"alcohol", "amine"}),
        (["--target", "value"], "GraphRegressor", "target", None),
        (["--target", "length", "--regression"], "GraphRegressor", "target", None),
        (
            ["--target", "length"],
            "GraphClassifier",
            "target",
            {str(length) for length in range(1, 11)},
        ),
        (["--target", "odd", "--target", "even"], "GraphClassifier", "target(odd)", {"0", "1"}),
        (["--target", "value", "--target", "length"], "GraphRegressor", "target(value)", None),
    ],
)
def test_targets_of_a_table_of_molecules(
    command, smiles, tmp_path, words, kind, target, prediction
):
    ended = command("train", smiles, "--out", tmp_path / "run", *QUICK, *words, "--test", "0.4")
    assert (ended.code, ended.err) == (0, "")
    assert config_of(tmp_path / "run")["estimator"] == kind
    rows = rows_of(tmp_path / "run")
    assert len(rows) == 8
    assert target in rows[0]
    if prediction is not None:
        assert {row[target.replace("target", "prediction")] for row in rows} <= prediction


def test_whole_numbers_with_gaps_are_classes(command, smiles, tmp_path):
    ended = command("train", smiles, "--out", tmp_path / "a", *QUICK, "--target", "even")
    assert ended.code == 0
    assert ended.err == "edgnn: warning: 2 of 20 graphs have no target and are left out\n"
    config = config_of(tmp_path / "a")
    assert (config["estimator"], config["class_names"]) == ("GraphClassifier", ["0", "1"])
    metrics = json.loads((tmp_path / "a" / "metrics.json").read_text())
    assert metrics["trained_on"] + metrics["validated_on"] == 18
    words = ("--target", "even", "--regression")
    assert command("train", smiles, "--out", tmp_path / "b", *QUICK, *words).err == ""
    assert config_of(tmp_path / "b")["estimator"] == "GraphRegressor"
    ended = command(
        "train", smiles, "--out", tmp_path / "c", *QUICK, "--target", "value", "--classification"
    )
    assert "classes must be whole numbers below 2**53, or names" in ended.err


def test_whole_numbers_with_gaps_in_a_table_of_graphs_can_be_classes(command, tmp_path):
    (tmp_path / "edges.csv").write_text(
        "graph,source,target\n" + "".join(f"g{n},a,b\ng{n},b,{'ac'[n % 2]}\n" for n in range(12))
    )
    (tmp_path / "graphs.csv").write_text(
        "graph,active\n" + "".join(f"g{n},{n % 2 if n else ''}\n" for n in range(12))
    )
    words = (
        "train",
        tmp_path,
        "--out",
        tmp_path / "run",
        *QUICK,
        "--target",
        "active",
        "--classification",
    )
    assert command(*words).err == "edgnn: warning: 1 of 12 graphs has no target and is left out\n"
    assert config_of(tmp_path / "run")["estimator"] == "GraphClassifier"


@pytest.mark.parametrize("words", [("-t", "active"), ("-o", "smiles=x"), ()])
def test_a_file_that_is_not_there_is_told(command, tmp_path, words):
    ended = command("train", "molz.csv", "--out", tmp_path / "run", *words)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "'molz.csv' is neither a data set's name nor an existing file" in ended.err
    assert (
        "there is no file molz; if you mean"
        in command("train", "molz", "--out", tmp_path / "run", "-t", "active").err
    )


def test_a_wrong_option_of_a_reader_is_one_line(command, smiles, tmp_path):
    ended = command("train", smiles, "--out", tmp_path / "run", "-t", "kind", "-o", "smile=smiles")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "the format 'smiles' has no option 'smile'; it has smiles, id, target, " in ended.err


def test_a_column_of_smiles_can_have_any_name(command, smiles, tmp_path):
    (tmp_path / "a.csv").write_text(smiles.read_text().replace("smiles,", "canonical_smiles,", 1))
    words = ("train", tmp_path / "a.csv", "--out", tmp_path / "run", "-t", "kind", *QUICK)
    assert command(*words).code == 0
    assert command(*words, "--overwrite", "-o", "smiles=canonical_smiles").code == 0


def test_nodes_of_tables_have_targets_in_a_column(command, people, tmp_path):
    assert (
        command("train", people, "--out", tmp_path / "run", *QUICK, "--target", "group").code == 0
    )
    config = config_of(tmp_path / "run")
    assert (config["estimator"], config["level"], config["class_names"]) == (
        "NodeClassifier",
        "node",
        ["x", "y"],
    )
    assert {row["id"][0] for row in rows_of(tmp_path / "run")} == {"p"}


def test_targets_come_from_a_table_of_their_own(command, tmp_path):
    (tmp_path / "who.nt").write_text(
        "".join(f"<n:{n}> <r:{n % 2}> <n:{(n + 1) % 12}> .\n" for n in range(12))
    )
    (tmp_path / "who.tsv").write_text(
        "id\tperson\tgroup\n" + "".join(f"{n}\tn:{n}\t{'ab'[n % 2]}\n" for n in range(10))
    )
    words = ("train", tmp_path / "who.nt", "--out", tmp_path / "run", *QUICK)
    assert "no targets: name its column" in command(*words).err
    assert "which has no target columns" in command(*words, "--target", "group").err
    assert (
        "which column holds the targets?"
        in command(*words, "--target-file", tmp_path / "who.tsv").err
    )
    assert command(*words, "--target-file", tmp_path / "who.tsv", "--target", "group").code == 0
    assert config_of(tmp_path / "run")["class_names"] == ["a", "b"]
    words = (*words, "--overwrite")
    (tmp_path / "wrong.csv").write_text("person,group\nn:1,a\nn:99,b\n")
    ended = command(*words, "--target-file", tmp_path / "wrong.csv")
    assert (
        "line 3: 'n:99' is no node of the data; unknown are 1 of the 2 names in column 1"
        in ended.err
    )
    (tmp_path / "wrong.csv").write_text("person,group,none\nn:1,a,\nn:2,,\n")
    words = (*words, "--target-file", tmp_path / "wrong.csv", "--target")
    assert (
        "the text target 'group' has no value here; fill it in or drop the node"
        in command(*words, "group").err
    )
    assert "no node has a value for 'none'" in command(*words, "none").err
    assert command(*words, "kind").err.endswith(
        "there is no column 'kind'; the columns are 'person', 'group', 'none'\n"
    )


def test_a_published_split_is_trained_and_judged_on(command, tmp_path, data_dir):
    words = ("--settings", "closest", "--max-epochs", 2, "--quiet", "--data-dir", data_dir)
    assert command("train", "AIFB", "--out", tmp_path / "run", *words).code == 0
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert (metrics["part"], metrics["items"]) == ("test", 36)
    assert (metrics["trained_on"], metrics["validated_on"]) == (105, 35)
    assert {row["part"] for row in rows_of(tmp_path / "run")} == {"test"}
    assert command("train", "AIFB", "--out", tmp_path / "all", *words, "--test", "none").code == 0
    metrics = json.loads((tmp_path / "all" / "metrics.json").read_text())
    assert (metrics["part"], metrics["trained_on"], metrics["validated_on"]) == (
        "validation",
        141,
        35,
    )


def test_without_any_part_apart_the_training_part_is_judged(command, molecules, tmp_path):
    assert (
        command("train", molecules, "--out", tmp_path / "run", *QUICK, "--validation", "none").code
        == 0
    )
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert (metrics["part"], metrics["items"], metrics["best_epoch"]) == ("training", 40, [3])


def test_a_pipe_gets_a_few_plain_lines(command, molecules, tmp_path, monkeypatch):
    monkeypatch.setattr("edgnn.cli._progress._SECONDS_AT_LEAST", 0.0)
    ended = command(
        "train", molecules, "--out", tmp_path / "run", "--hidden", 4, "--max-epochs", 47
    )
    lines = ended.err.splitlines()
    assert 10 <= len(lines) <= 21
    assert lines[-1].startswith("epoch 47 of 47: training loss 0.")
    assert "\x1b" not in ended.err + ended.out
    assert "validation set, which chose the epoch" in ended.out
    assert "accuracy (%)" in ended.out


def test_scores_have_three_decimals_and_say_of_which_class(command, molecules, tmp_path):
    ended = command(
        "train",
        molecules,
        "--out",
        tmp_path / "run",
        "--hidden",
        4,
        "--max-epochs",
        2,
        "--test",
        "0.5",
    )
    assert "On the 20 items of the test set:" in ended.out
    assert re.search(r"^f1 \(1\) +\d\.\d{3} +\d\.\d{3}$", ended.out, re.MULTILINE)
    assert re.search(r"^roc auc +\d\.\d{3} +0\.500$", ended.out, re.MULTILINE)
    ended = command(
        "train",
        molecules,
        "--out",
        tmp_path / "one",
        "--hidden",
        4,
        "--max-epochs",
        2,
        "--validation",
        "0.02",
    )
    assert "On the 1 item of the validation set" in ended.out


def test_a_terminal_gets_a_bar_that_goes_away(command, molecules, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    ended = command("train", molecules, "--out", tmp_path / "run", "--hidden", 4, "--max-epochs", 5)
    assert ended.code == 0
    assert "epoch 5 of 5" in ended.err


def test_json_is_all_that_is_printed(command, molecules, tmp_path):
    ended = command("train", molecules, "--out", tmp_path / "run", *QUICK, "--json")
    told = json.loads(ended.out)
    assert (told["run"], told["part"], told["estimator"]) == (
        str(tmp_path / "run"),
        "validation",
        "GraphClassifier",
    )
    assert set(told["metrics"]) == {"accuracy", "balanced_accuracy", "roc_auc", "pr_auc", "f1"}


def test_a_run_is_not_thrown_away_unasked(command, molecules, tmp_path):
    words = ("train", molecules, "--out", tmp_path / "run", *QUICK)
    command(*words)
    before = (tmp_path / "run" / "model.safetensors").read_bytes()
    ended = command(*words, "--seed", 1)
    assert (ended.code, "already holds a run" in ended.err) == (2, True)
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == before
    assert command(*words, "--seed", 1, "--overwrite").code == 0
    assert (tmp_path / "run" / "model.safetensors").read_bytes() != before


def test_help_needs_neither_torch_nor_numpy(run_python):
    loaded = "import sys, edgnn.cli; print(sorted({'torch', 'numpy', 'scipy', 'sklearn', 'rich.progress'} & set(sys.modules)))"
    assert run_python(loaded) == "[]\n"


def test_regression_names_the_first_target_that_is_no_number(command, tmp_path):
    (tmp_path / "a.csv").write_text("smiles,y\nC,1.5\nCC,2\nCCC,n/a\nCCCC,-\n")
    ended = command(
        "train", tmp_path / "a.csv", "--out", tmp_path / "run", "-t", "y", "--regression"
    )
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "values must be numbers" in ended.err
    assert "has the target 'n/a' (graph 2, counted from 0)" in ended.err


def test_an_unknown_node_of_the_targets_names_the_way_out(command, tmp_path):
    (tmp_path / "who.nt").write_text(
        "".join(f"<n:node{n}> <r:0> <n:node{n + 1}> .\n" for n in range(12))
    )
    words = (
        "train",
        tmp_path / "who.nt",
        "--out",
        tmp_path / "run",
        "--target-file",
        tmp_path / "who.csv",
        *QUICK,
    )
    (tmp_path / "who.csv").write_text("who,group\n<n:node1>,a\n<n:noode2>,b\n")
    assert "line 3: '<n:noode2>' is no node of the data" in (ended := command(*words)).err
    assert "did you mean 'n:node2'?" in ended.err
    (tmp_path / "who.csv").write_text("who,group\n<n:node1>,a\nnothing alike,b\n")
    assert "; correct the name or remove the row" in command(*words).err


@pytest.mark.parametrize("model", ["ridge", "wl-subtree", "majority", "csm"])
def test_a_model_without_epochs_is_trained_and_predicts(command, molecules, tmp_path, model):
    run = tmp_path / "run"
    words = ("--model", model, "--test", "0.25", "--seed", 1)
    ended = command("train", molecules, "--out", run, *words)
    assert (ended.code, ended.err) == (0, "")
    assert "On the 10 items of the test set:" in ended.out
    kept = rows_of(run)
    predicted = command("predict", run, molecules)
    assert (predicted.code, predicted.err) == (0, "")
    again = {row["id"]: row for row in csv.DictReader(predicted.out.splitlines())}
    assert [again[row["id"]]["prediction"] for row in kept] == [row["prediction"] for row in kept]
    assert "is finished" in command("train", "--out", run, "--resume").out
    other = command("train", "--out", run, "--resume", "--model", "edgnn")
    assert (other.code, f"has model={model!r}, not 'edgnn'" in other.err) == (2, True)


def test_a_model_without_epochs_starts_again_where_it_was_interrupted(
    command, molecules, tmp_path, monkeypatch
):
    def interrupted(*_):
        raise KeyboardInterrupt

    words = ("--model", "ridge", "--test", "0.25")
    with monkeypatch.context() as patched:
        patched.setattr("edgnn.models.AutoClassifier.fit", interrupted)
        ended = command("train", molecules, "--out", tmp_path / "run", *words)
    resume = f"edgnn train --out {tmp_path / 'run'} --resume"
    assert (ended.code, ended.err) == (130, f"edgnn: interrupted; go on with: {resume}\n")
    assert command("train", "--out", tmp_path / "run", "--resume", "--quiet").code == 0
    assert command("train", molecules, "--out", tmp_path / "whole", *words, "-q").code == 0
    assert rows_of(tmp_path / "run") == rows_of(tmp_path / "whole")


@pytest.mark.parametrize(
    ("words", "estimator", "line"),
    [
        (("--set", "learners=ridge,forest"), "AutoClassifier", "the best of several learners"),
        (("--model", "ridge"), "AutoClassifier", "kernel ridge on color counts"),
        (("--max-epochs", 1, "--hidden", 4), "GraphClassifier", "as hidden, max_epochs are of"),
    ],
)
def test_what_is_trained_by_default_follows_from_the_options(
    command, molecules, tmp_path, words, estimator, line
):
    ended = command("train", molecules, "--out", tmp_path / "run", *words)
    assert ended.code == 0, ended.err
    assert line in ended.out
    assert config_of(tmp_path / "run")["estimator"] == estimator
    assert ("held-out log loss" in ended.out) == (estimator == "AutoClassifier")


def test_a_budget_bounds_how_long_learners_are_tried(command, molecules, tmp_path):
    words = ("train", molecules, "--out", tmp_path / "run", "--set", "learners=ridge,forest")
    ended = command(*words, "--budget", "0.0001s")
    assert ended.code == 0, ended.err
    assert "no time left" in ended.out
    assert parameters_of(tmp_path / "run")["seconds"] == 0.0001
    resumed = command("train", "--resume", "--out", tmp_path / "run", "--budget", "2min")
    assert "has seconds=0.0001, not 120.0" in resumed.err
    ended = command(*words, "--overwrite", "--budget", "soon")
    assert (ended.code, ended.err) == (
        2,
        "edgnn: --budget soon: give a time such as 30s, 2min or 1h\n",
    )
