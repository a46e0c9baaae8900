"""Splits of one's own and candidates, on the command line."""

from __future__ import annotations

import json

import pytest

import edgnn
from edgnn.evaluation import Evaluation

QUICK = ("--max-epochs", 2, "--hidden", 8)
WORDS = ["train"] * 12 + ["val"] * 4 + ["test"] * 4


def told(ended):
    assert (ended.code, ended.err) == (0, "")
    return json.loads(ended.out)


@pytest.fixture
def parted(smiles, tmp_path):
    """The molecules with a column of parts and one of folds."""
    head, *rows = smiles.read_text().splitlines()
    extended = [f"{row},{WORDS[n]},{n % 4}" for n, row in enumerate(rows)]
    path = tmp_path / "parted.csv"
    path.write_text("\n".join([f"{head},part,fold", *extended]) + "\n")
    return path


@pytest.fixture
def splits_file(tmp_path):
    path = tmp_path / "splits.json"
    path.write_text(json.dumps([{"train": "0-11", "val": "12-15", "test": [16, 17, 18, 19]}]))
    return path


def stored(run):
    return json.loads((run / "splits.json").read_text())


PARTS = [{"train": "0-11", "val": "12-15", "test": "16-19"}]


@pytest.mark.parametrize("model", ["edgnn", "majority"])
def test_training_takes_the_split_of_a_column(command, parted, tmp_path, model):
    words = QUICK if model == "edgnn" else ()
    base = ("train", parted, "-t", "kind", "--out", tmp_path / "run", "--model", model)
    summary = told(command(*base, "--split-column", "part", *words, "--json", "--quiet"))
    assert (summary["part"], summary["items"]) == ("test", 4)
    assert stored(tmp_path / "run") == PARTS
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["source"]["split_column"] == "part"
    assert (
        "part"
        in command("report", tmp_path / "run", "--out", tmp_path / "run.html").out
        + (tmp_path / "run.html").read_text()
    )
    predictions = (tmp_path / "run" / "predictions.csv").read_text().splitlines()
    assert len(predictions) == 5


def test_a_split_column_is_not_listed_as_unused(command, parted, tmp_path):
    base = ("train", parted, "-t", "kind", "--out", tmp_path / "run", "--model", "majority")
    ended = command(*base, "--split-column", "part")
    unused = next(line for line in ended.out.splitlines() if "columns not used" in line)
    assert "fold" in unused
    assert "part" not in unused


@pytest.mark.parametrize("ending", ["json", "csv"])
def test_training_and_evaluating_take_a_file_of_splits(
    command, smiles, splits_file, tmp_path, ending
):
    if ending == "csv":
        names = edgnn.read(smiles, target="kind").graph_names
        rows = [f"{name},{word}" for name, word in zip(names, WORDS, strict=True)]
        splits_file = tmp_path / "splits.csv"
        splits_file.write_text("\n".join(["id,split", *rows]) + "\n")
    base = (smiles, "-t", "kind", "--model", "majority", "--splits-file", splits_file, "--json")
    told(command("train", *base, "--out", tmp_path / "run"))
    assert stored(tmp_path / "run") == PARTS
    out = tmp_path / "a.json"
    summary = told(command("evaluate", *base, "--quiet", "--out", out))
    assert (summary["protocol"], summary["splits"]) == ("given", 1)
    assert summary["split"] == f"the file {splits_file}"
    (split,) = Evaluation.load(out).splits
    assert (split.valid.tolist(), split.test.tolist()) == ([12, 13, 14, 15], [16, 17, 18, 19])
    again = told(command("evaluate", *base, "--quiet", "--runs", 3))
    assert again["splits"] == 3


def test_evaluating_takes_all_folds_of_a_column(command, parted, tmp_path):
    base = ("evaluate", parted, "-t", "kind", "--model", "majority", "--split-column", "fold")
    told(command(*base, "--quiet", "--json", "--out", tmp_path / "a.json"))
    found = Evaluation.load(tmp_path / "a.json")
    assert [split.test.tolist() for split in found.splits] == [
        list(range(fold, 20, 4)) for fold in range(4)
    ]
    ended = command(*base)
    assert "split by the column 'fold': 4 models" in ended.out
    ended = command("train", *base[1:], "--out", tmp_path / "run")
    assert (ended.code, "one model is trained on one split" in ended.err) == (2, True)
    assert not (tmp_path / "run").exists()


def test_other_files_are_read_for_testing_and_validation(command, smiles, tmp_path):
    new, more = tmp_path / "new.csv", tmp_path / "more.csv"
    new.write_text("smiles,kind,value\nCC(C)N,amine,3.5\nCC(C)O,alcohol,3.5\n[Si]N,amine,1.0\n")
    more.write_text("smiles,value,kind\nCC(CC)N,4.5,amine\n")
    base = (smiles, "-t", "kind", "--test-file", new, "--validation-file", more, "--json")
    words = ("train", *base, *QUICK, "--quiet", "--out", tmp_path / "run")
    summary = told(command(*words))
    assert (summary["part"], summary["items"], summary["validated_on"]) == ("test", 3, 1)
    assert stored(tmp_path / "run") == [{"train": "0-19", "val": "20", "test": "21-23"}]
    ids = [
        row.split(",")[0]
        for row in (tmp_path / "run" / "predictions.csv").read_text().splitlines()[1:]
    ]
    assert ids == ["CC(C)N", "CC(C)O", "[Si]N"]
    assert told(command("evaluate", *base, "--model", "majority", "--quiet"))["splits"] == 1
    assert command("predict", tmp_path / "run", new).code == 0


def test_an_interrupted_training_on_two_files_is_resumed(command, smiles, tmp_path, press_ctrl_c):
    new = tmp_path / "new.csv"
    new.write_text("smiles,kind\nCC(C)N,amine\nCC(C)O,alcohol\n")
    run, whole = tmp_path / "run", tmp_path / "whole"
    base = ("train", smiles, "-t", "kind", "--test-file", new, "--max-epochs", 4, "--hidden", 4)
    assert command(*base, "--quiet", "--out", whole).code == 0
    press_ctrl_c(2)
    assert command(*base, "--quiet", "--out", run).code == 130
    press_ctrl_c(0)
    assert command("train", "--out", run, "--resume", "--quiet").code == 0
    assert (run / "predictions.csv").read_text() == (whole / "predictions.csv").read_text()


def test_molecules_are_tested_on_other_scaffolds(command, tmp_path):
    base = ("train", "MUTAG", "--model", "majority", "--quiet", "--json", "--out")
    summary = told(command(*base, tmp_path / "run", "--test", "scaffold:0.2"))
    assert 20 < summary["items"] < 50
    (split,) = edgnn.evaluation.read_splits(
        tmp_path / "run" / "splits.json", edgnn.load_dataset("MUTAG")
    )
    groups = edgnn.evaluation.scaffold_groups(edgnn.load_dataset("MUTAG").graphs)
    assert set(groups[split.test]).isdisjoint(groups[split.known])


@pytest.mark.parametrize(("protocol", "distinct"), [("scaffold", 3), ("scaffold-fixed", 1)])
def test_every_run_has_its_own_scaffold_split(command, tmp_path, protocol, distinct):
    out = tmp_path / "a.json"
    base = ("evaluate", "MUTAG", "--model", "majority", "--protocol", protocol, "--runs", 3)
    told(command(*base, "--quiet", "--json", "--out", out))
    tests = {tuple(split.test.tolist()) for split in Evaluation.load(out).splits}
    assert len(tests) == distinct


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--split-column", "part", "--test", "0.2"], "both say what to test on"),
        (["--split-column", "part", "--splits-file", "SPLITS"], "choose one"),
        (["--split-column", "prat"], "no column 'prat'"),
        (["--split-column", "kind"], "is no part of a split"),
        (["--splits-file", "nowhere.json"], "nowhere.json"),
        (["--test-file", "nowhere.csv"], "nowhere.csv"),
        (["--test-file", "OTHER"], "has the class 'ester', which"),
        (["--test", "scafold"], "choose 'published', a fraction"),
        (["--test", "scaffold:2"], "'scaffold:0.2'"),
    ],
)
def test_splits_that_do_not_fit_are_one_line(
    command, parted, splits_file, tmp_path, words, message
):
    other = tmp_path / "other.csv"
    other.write_text("smiles,kind\nCCO,ester\n")
    files = {"SPLITS": splits_file, "OTHER": other}
    base = ("train", parted, "-t", "kind", "--model", "majority", "--out", tmp_path / "run")
    ended = command(*base, "--quiet", *(files.get(word, word) for word in words))
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert message in ended.err
    assert not (tmp_path / "run").exists()


def test_a_protocol_and_a_split_of_ones_own_exclude_each_other(command, parted):
    base = ("evaluate", parted, "-t", "kind", "--model", "majority", "--split-column", "fold")
    ended = command(*base, "--protocol", "cv5x1")
    assert (ended.code, "both say how to split" in ended.err) == (2, True)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("edgnn", ("--set", "layers=1,2", "--hidden", "4,8", "--max-epochs", 2)),
        ("ridge", ("--set", "descriptors=none", "--set", "rounds=1,2")),
        ("csm", ("--set", "k=2", "--set", "normalize=true,false")),
    ],
)
def test_candidates_of_every_model_are_chosen_and_shown(command, molecules, tmp_path, model, words):
    base = (molecules, "--model", model, *words, "--quiet", "--json")
    summary = told(command("evaluate", *base, "--protocol", "cv2"))
    count = 4 if model == "edgnn" else 2
    assert len(summary["search"]) == count
    assert sum(row["chosen"] for row in summary["search"]) == 2
    trained = told(command("train", *base, "--out", tmp_path / "run"))
    assert len(trained["search"]["candidates"]) == count


def test_a_table_shows_what_was_tried(command, molecules, tmp_path):
    words = ("--set", "hidden=4,8", "--max-epochs", 1)
    page = tmp_path / "a.html"
    ended = command("evaluate", molecules, *words, "--protocol", "cv2", "--report", page)
    assert "inner_score" not in page.read_text().split("<script")[0]
    assert "chosen inside each training set: hidden=4,8" in ended.out
    rows = [line.split() for line in ended.out.splitlines() if line.startswith("hidden=")]
    assert [row[0] for row in rows] == ["hidden=4", "hidden=8"]
    ended = command("train", molecules, *words, "--out", tmp_path / "run")
    assert "accuracy (%), inside the training set" in ended.out
    again = command("train", "--out", tmp_path / "run", "--resume")
    assert (again.code, "is finished" in again.out) == (0, True)


def test_the_candidates_of_a_run_may_be_named_again_to_resume_it(
    command, molecules, tmp_path, press_ctrl_c
):
    words = ("--set", "hidden=4,8", "--max-epochs", 4, "--quiet", "--out", tmp_path / "run")
    press_ctrl_c(2)
    assert command("train", molecules, *words).code == 130
    press_ctrl_c(0)
    wrong = command("train", molecules, "--resume", "--set", "hidden=4,16", *words[2:])
    assert (wrong.code, "has hidden=(4, 8), not (4, 16)" in wrong.err) == (2, True)
    assert command("train", molecules, "--resume", *words).code == 0


def test_several_targets_and_values_have_their_own_metrics(command, smiles):
    base = ("evaluate", smiles, "--model", "majority", "--protocol", "cv2", "--quiet", "--json")
    values = told(command(*base, "-t", "value"))
    labels = told(command(*base, "-t", "odd", "-t", "even"))
    classes = told(command(*base, "-t", "kind"))
    assert list(values["metrics"]) == ["rmse", "mae", "r2"]
    assert list(labels["metrics"]) == ["roc_auc", "accuracy"]
    assert list(classes["metrics"]) == ["accuracy", "roc_auc"]
