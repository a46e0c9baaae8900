import json
import re
import subprocess
import sys

import numpy as np
import pytest

import edgnn
from edgnn.evaluation import Evaluation

QUICK = ("--max-epochs", 2, "--hidden", 8)


def told(ended):
    assert (ended.code, ended.err) == (0, "")
    return json.loads(ended.out)


def test_the_table_stands_beside_the_majority(command):
    ended = command(
        "evaluate",
        "MUTAG",
        "--settings",
        "closest",
        "--protocol",
        "cv3x2",
        *QUICK,
        "--metric",
        "accuracy",
        "--metric",
        "f1",
    )
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert lines[0] == "MUTAG  188 graphs, 2 classes"
    assert lines[2] == "3-fold cross-validation, 2 runs: 6 models, settings 'closest'"
    head, accuracy, f1 = (line.split() for line in lines[4:7])
    assert head == ["mean", "±", "spread", "95", "%", "interval", "least", "–", "most", "majority"]
    assert accuracy[:2] == ["accuracy", "(%)"]
    assert accuracy[-1] == "66.5"
    assert f1[:2] == ["f1", "(mutagenic)"]
    assert all(re.fullmatch(r"\d\.\d\d\d", word) for word in f1[2:] if word not in ("±", "to", "–"))
    assert "true \\ predicted  not mutagenic  mutagenic" in ended.out
    assert "6 models trained and evaluated in" in lines[-1]
    assert ended.err.splitlines()[-1].startswith("epoch 2 of 2: training loss")


@pytest.mark.parametrize(
    ("words", "figure"),
    [
        (["cv10x10"], True),
        (["cv10", "--runs", 10], True),
        (["cv10x10", "--runs", 9], False),
        (["cv5x20"], False),
        (["holdout", "--runs", 100], False),
    ],
)
def test_the_papers_figure_stands_beside_its_own_protocol_only(command, tmp_path, words, figure):
    base = (
        "evaluate",
        "MUTAG",
        "--max-epochs",
        1,
        "--hidden",
        4,
        "--layers",
        1,
        "--quiet",
        "--protocol",
        *words,
    )
    lines = command(*base, "--report", tmp_path / "a.html").out.splitlines()
    assert (lines[1].endswith(" paper"), lines[2].endswith("86.9 ± 1.0")) == (figure, figure)
    assert ("86.9 ± 1.0" in (tmp_path / "a.html").read_text()) == figure
    summary = told(command(*base, "--json"))
    assert summary["paper"] == (
        {"row": "edGNN (avg)", "mean": 86.9, "spread": 1.0} if figure else None
    )


@pytest.mark.parametrize(
    ("model", "figure"),
    [("csm", "85.4 ± 1.2"), ("wlsp", "85.4 ± 1.2"), ("wl-subtree", None), ("majority", None)],
)
def test_a_rival_stands_beside_its_own_figure(command, model, figure):
    words = {"csm": ("--set", "k=2", "--set", "C=1"), "wlsp": ("--set", "depths=1", "--set", "C=1")}
    lines = command(
        "evaluate", "MUTAG", "--model", model, *words.get(model, ()), "--quiet"
    ).out.splitlines()
    assert (lines[1].endswith(" paper"), lines[2].endswith(figure or " 66.5")) == (
        figure is not None,
        True,
    )


def test_files_hold_everything(command, molecules, tmp_path):
    words = (
        "--protocol",
        "cv4x1",
        *QUICK,
        "--quiet",
        "--json",
        "--out",
        tmp_path / "a.json",
        "--report",
        tmp_path / "a.html",
    )
    summary = told(command("evaluate", molecules, *words))
    document = json.loads((tmp_path / "a.json").read_text())
    evaluation = Evaluation.from_dict(document["evaluation"])
    assert (len(evaluation.splits), len(evaluation.truth)) == (4, 40)
    assert summary["metrics"]["accuracy"]["mean"] == evaluation.mean
    assert summary["command"].startswith("edgnn evaluate ")
    assert document["environment"]["packages"]["torch"]
    assert np.array(summary["confusion"]).sum() == 40
    assert "<html" in (tmp_path / "a.html").read_text()


def test_it_is_the_fleet_of_the_library(command, molecules):
    summary = told(
        command(
            "evaluate", molecules, "--protocol", "cv4x2", *QUICK, "--seed", 3, "--quiet", "--json"
        )
    )
    data = edgnn.load_dataset(molecules)
    estimator = edgnn.GraphClassifier(max_epochs=2, hidden=8)
    splits = edgnn.evaluation.kfold(data.targets, 4, 2, seed=3)
    assert (
        summary["metrics"]["accuracy"]["mean"]
        == edgnn.evaluation.evaluate(estimator, data.graphs, data.targets, splits).mean
    )


@pytest.mark.parametrize(
    "model",
    [
        "edgnn",
        "gnn",
        "joint",
        "ridge",
        "blend",
        "rgcn",
        "gin",
        "majority",
        "csm",
        "wlsp",
        "wl-subtree",
    ],
)
def test_every_model_is_judged_on_the_same_folds(command, molecules, model, tmp_path):
    words = {
        "blend": ("--set", "trees=20"),
        **dict.fromkeys(("edgnn", "gnn", "joint", "rgcn", "gin"), QUICK),
    }.get(model, ())
    base = (
        "evaluate",
        molecules,
        "--protocol",
        "cv2",
        "--quiet",
        "--json",
        "--out",
        tmp_path / "a.json",
    )
    summary = told(command(*base, "--model", model, *words))
    metric = summary["metrics"]["accuracy"]
    assert (summary["model"], summary["splits"]) == (model, 2)
    assert model != "majority" or metric["mean"] == metric["majority"]
    stored = Evaluation.from_dict(json.loads((tmp_path / "a.json").read_text())["evaluation"])
    folds = edgnn.evaluation.kfold(edgnn.load_dataset(molecules).targets, 2, 1, seed=0)
    assert [split.test.tolist() for split in stored.splits] == [
        split.test.tolist() for split in folds
    ]
    assert [split.known.tolist() for split in stored.splits] == [
        split.known.tolist() for split in folds
    ]
    assert model == "majority" or all(outcome.chosen for outcome in stored.outcomes)


@pytest.mark.parametrize(
    "model", ["ridge", "rgcn", "gin", "wl-rdf", "rdf2vec", "wl-subtree", "majority"]
)
def test_every_model_of_nodes_is_judged_on_the_published_split(command, data_dir, model):
    words = {
        "rgcn": ("--max-epochs", 2),
        "gin": QUICK,
        "rdf2vec": ("--set", "walks=3", "--set", "dimensions=8"),
    }
    base = (
        "evaluate",
        "AIFB",
        "--runs",
        1,
        "--data-dir",
        data_dir,
        "--quiet",
        "--json",
        "--model",
        model,
    )
    summary = told(command(*base, *words.get(model, ())))
    assert (summary["protocol"], summary["splits"], np.array(summary["confusion"]).sum()) == (
        "split",
        1,
        36,
    )
    rows = {"rgcn": "R-GCN", "wl-rdf": "WL", "rdf2vec": "RDF2Vec"}
    assert (summary["paper"] or {}).get("row") == rows.get(model)


@pytest.mark.parametrize(
    ("words", "splits"),
    [
        ([], 100),
        (["--protocol", "holdout", "--test", "0.25"], 10),
        (["--protocol", "holdout", "--runs", 3], 3),
        (["--protocol", "cv5x2"], 10),
        (["--protocol", "cv5x2", "--runs", 1], 5),
    ],
)
def test_protocols_are_chosen_by_name(command, smiles, words, splits):
    base = ("evaluate", smiles, "--target", "kind", "--model", "majority", "--quiet", "--json")
    assert told(command(*base, *words))["splits"] == splits


def test_molecules_are_split_by_their_scaffolds(command, smiles):
    words = ("--protocol", "scaffold", "--runs", 2, *QUICK, "--quiet", "--json")
    assert told(command("evaluate", "MUTAG", *words))["splits"] == 2
    ended = command("evaluate", smiles, "--target", "kind", *words)
    assert (ended.code, "cannot fill a training and a test part" in ended.err) == (2, True)


def test_real_values_are_judged_by_their_own_metrics(command, smiles):
    words = (
        "--target",
        "value",
        "--protocol",
        "holdout",
        "--runs",
        2,
        "--metric",
        "rmse",
        "--metric",
        "r2",
    )
    summary = told(command("evaluate", smiles, *words, *QUICK, "--quiet", "--json"))
    assert list(summary["metrics"]) == ["rmse", "r2"]
    assert summary["confusion"] is None
    assert summary["paper"] is None
    assert (
        told(command("evaluate", smiles, *words, "--model", "majority", "--quiet", "--json"))[
            "metrics"
        ]["rmse"]["mean"]
        > 0
    )
    assert (
        "r2"
        in told(command("evaluate", smiles, *words, *QUICK, "--model", "gin", "--quiet", "--json"))[
            "metrics"
        ]
    )
    ended = command("evaluate", smiles, *words, "--model", "csm")
    assert (ended.code, "csm learns classes, but the targets are values" in ended.err) == (2, True)


def test_the_published_split_is_the_default_where_there_is_one(command, data_dir):
    words = (
        "--settings",
        "closest",
        "--max-epochs",
        1,
        "--runs",
        2,
        "--data-dir",
        data_dir,
        "--quiet",
        "--json",
    )
    summary = told(command("evaluate", "AIFB", *words))
    assert (summary["protocol"], summary["splits"]) == ("split", 2)
    assert summary["paper"] == {"row": "edGNN (avg)", "mean": 91.1, "spread": 2.4}
    assert np.array(summary["confusion"]).sum() == 72


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--protocol", "cv"], "there is no protocol 'cv'"),
        (["--protocol", "split"], "has no published split"),
        (["--protocol", "cv50x1"], "50 folds need at least 50 items"),
        (
            ["--model", "xyz"],
            "there is no model 'xyz'; choose one of auto, edgnn, gnn, joint, ridge, forest, boosting",
        ),
        (["--model", "wl-subtre"], "there is no model 'wl-subtre'; did you mean 'wl-subtree'?"),
        (["--model", "rdf2vec"], "rdf2vec learns about nodes, but the targets are those of graphs"),
        (["--model", "gin", "--set", "conv=gnn"], "conv is what --model chooses here"),
        (
            ["--model", "gnn", "--settings", "rgcn"],
            "the settings 'rgcn' are those of rgcn, not of gnn",
        ),
        (
            ["--model", "CSM", "--settings", "closest"],
            "the settings 'closest' are those of edgnn, not of csm",
        ),
        (["--set", "random_state=1"], "random_state follows from --seed"),
        (["--model", "csm"], "a SubgraphMatchingClassifier has no parameter 'max_epochs'"),
        (
            ["--model", "majority"],
            "a MajorityClassifier has no parameter 'max_epochs'; it has none",
        ),
        (["--metric", "acuracy"], "did you mean 'accuracy'"),
        (["--metric", "auc"], "did you mean 'roc_auc'"),
        (["--metric", "rmse"], "rmse is a metric for values"),
        (["--out", "nowhere/a.json"], "there is no folder nowhere"),
        (["--report", "."], "is a folder; name a file"),
        (["--hidden", "0"], "hidden=0: choose a whole number"),
    ],
)
def test_mistakes_are_one_line_before_any_training(
    command, molecules, words, message, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    ended = command("evaluate", molecules, "--max-epochs", 1, "--quiet", *words)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert message in ended.err


def test_a_configuration_file_may_hold_the_protocol(command, molecules, tmp_path):
    (tmp_path / "options.toml").write_text(
        'protocol = "cv2x2"\nmax-epochs = 1\nhidden = 4\nmodel = "gnn"\nmetric = ["f1"]\n'
    )
    summary = told(
        command("evaluate", molecules, "--config", tmp_path / "options.toml", "--quiet", "--json")
    )
    assert (summary["splits"], summary["model"], list(summary["metrics"])) == (4, "gnn", ["f1"])


def test_ctrl_c_ends_with_the_results_so_far(command, molecules, press_ctrl_c):
    press_ctrl_c(3)
    ended = command(
        "evaluate", molecules, "--protocol", "cv2", "--max-epochs", 50, "--hidden", 4, "--quiet"
    )
    assert ended.code == 130
    assert ended.err.splitlines()[1] == "edgnn: interrupted after epoch 3, results so far:"
    assert "accuracy (%)" in ended.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["csm", "--set", "k=9"], "k=9: choose a whole number from 1 to 7"),
        (["csm", "--set", "C=-1,1"], "C=(-1, 1): choose a number above 0; or several such"),
        (["csm", "--set", "weights=1,x,2"], "weights=(1, 'x', 2)"),
        (["csm", "--set", "n_jobs=0"], "n_jobs=0: choose a number of jobs"),
        (["wlsp", "--set", "depths=x"], "depths='x': choose a whole number from 0"),
        (["wl-subtree", "--set", "scheme=3"], "scheme=3: choose 'node'"),
        (
            ["wlsp", "--metric", "roc_auc"],
            "roc_auc needs probabilities, which WLShortestPathClassifier does not predict",
        ),
    ],
)
def test_parameters_that_a_rival_cannot_take_are_one_line(command, molecules, words, message):
    ended = command("evaluate", molecules, "--protocol", "cv2", "--quiet", "--model", *words)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert message in ended.err


def test_several_values_are_given_with_commas(command, molecules, tmp_path):
    words = (
        "--set",
        "k=1,2",
        "--set",
        "C=0.5,5",
        "--quiet",
        "--json",
        "--out",
        tmp_path / "a.json",
    )
    told(command("evaluate", molecules, "--protocol", "cv2", "--model", "csm", *words))
    document = json.loads((tmp_path / "a.json").read_text())
    assert document["evaluation"]["settings"]["parameters"]["k"] == [1, 2]
    assert {split["chosen"]["C"] for split in document["evaluation"]["splits"]} <= {0.5, 5.0}


def test_the_program_ends_when_a_rival_is_judged(molecules):
    words = [
        sys.executable,
        "-m",
        "edgnn",
        "evaluate",
        str(molecules),
        "--protocol",
        "cv2",
        "--model",
        "wlsp",
        "--quiet",
    ]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=100, check=True)
    assert "2 models trained and evaluated" in ended.stdout
    assert ended.stderr == ""
