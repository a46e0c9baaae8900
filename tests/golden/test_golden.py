"""What edgnn of commit 57cf2e0 left behind is still opened, resumed, continued and reported."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from edgnn.cli import main
from edgnn.models import load_model
from golden.make import INTERRUPTED, STUDY, TRAINED, items_of
from warm_python import warm_python

HERE = Path(__file__).resolve().parent
RUNS = sorted(path.name for path in (HERE / "runs").iterdir())
CELLS = sorted(path.parent.name for path in (HERE / "studies/finished/cells").rglob("*.json"))
EXPORTED = HERE / "exported/kind-rgcn"


@pytest.fixture(autouse=True)
def at_home(monkeypatch):
    """Work where the sources that the run folders name, such as ``inputs/family.nt``, are."""
    monkeypatch.chdir(HERE)


@pytest.fixture
def edgnn_command(monkeypatch, capfd):
    """Run ``edgnn`` in this process; it must succeed. Returns what it prints."""

    def run(*words):
        monkeypatch.setattr("sys.argv", ["edgnn", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        printed = capfd.readouterr()
        assert code == 0, printed.err
        return printed.out

    return run


def a_copy(folder, place):
    """Copy a folder, with the times of its files; the golden one itself is never written to."""
    return Path(shutil.copytree(HERE / folder, place / "copy"))


def python(*words):
    """Run a Python program in a process of its own and return what it prints."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(
        [warm_python(), *words],
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def assert_close(found, expected):
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def assert_same_table(found, expected):
    """Compare two tables as CSV: numbers up to rounding, all else as it stands.

    What is found may have more columns: later versions say more of each item.
    """
    found, expected = list(csv.reader(found.splitlines())), list(csv.reader(expected.splitlines()))
    columns = [found[0].index(name) for name in expected[0]]
    assert len(found) == len(expected)
    for row, other in zip(found[1:], expected[1:], strict=True):
        for column, wanted in zip(columns, other, strict=True):
            field = row[column]
            try:
                number = float(wanted)
            except ValueError:
                assert field == wanted
            else:
                assert_close(float(field), number)


def files_below(folder):
    """Return the content and the time of every file."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder): (path.read_bytes(), path.stat().st_mtime_ns) for path in found
    }


def folds_of(study, model):
    """Return the items of every fold of a cell and what was predicted for them, as it is stored."""
    cell = json.loads((study / f"cells/graphs/MUTAG/{model}/run-00.json").read_text())
    splits = cell["evaluation"]["splits"]
    return cell["fingerprint"], [(split["test"], split["prediction"]) for split in splits]


def test_all_golden_folders_are_here():
    assert set(TRAINED) < set(RUNS)
    assert len(RUNS) == 17
    assert {path.name for path in (HERE / "interrupted").iterdir()} == set(INTERRUPTED)
    assert len(CELLS) == 9


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_opened_and_predicts_the_same(name):
    expected = json.loads((HERE / f"expected/{name}.json").read_text())
    estimator = load_model(HERE / "runs" / name)
    items = items_of(expected["source"], expected["level"])
    prediction = estimator.predict(items)
    if "probability" in expected:
        assert prediction.tolist() == expected["prediction"]
        assert [np.asarray(part).tolist() for part in estimator.classes_] == expected["classes"]
        assert_close(estimator.predict_proba(items), expected["probability"])
    else:
        assert_close(prediction, expected["prediction"])
    assert_close(estimator.familiarity(items).share, expected["familiarity"])


@pytest.mark.parametrize("name", sorted(TRAINED))
def test_edgnn_predict_writes_the_same_table(name, edgnn_command):
    printed = edgnn_command("predict", f"runs/{name}", TRAINED[name][0])
    assert_same_table(printed, (HERE / f"expected/{name}.csv").read_text())


def test_edgnn_predict_in_a_process_of_its_own_writes_the_same_table():
    printed = python("-m", "edgnn", "predict", "runs/mutag-ensemble", "MUTAG")
    assert_same_table(printed, (HERE / "expected/mutag-ensemble.csv").read_text())


@pytest.mark.parametrize("name", INTERRUPTED)
def test_an_interrupted_run_is_resumed_to_the_same_weights(name, edgnn_command, tmp_path):
    run = a_copy(f"interrupted/{name}", tmp_path)
    before = (run / "history.jsonl").read_text()
    edgnn_command("train", "--out", run, "--resume", "--quiet")
    assert (run / "history.jsonl").read_text().startswith(before)
    assert not (run / "checkpoint.safetensors").exists()
    found = load_file(run / "model.safetensors")
    expected = load_file(HERE / f"expected/{name}.safetensors")
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert (found[key].dtype, found[key].shape) == (value.dtype, value.shape)
        if value.dtype.kind == "f":
            np.testing.assert_allclose(found[key], value, rtol=1e-4, atol=1e-5, err_msg=key)
        else:
            assert np.array_equal(found[key], value), key


@pytest.mark.parametrize("name", ["mutag-ensemble", "rdf-nodes", "values", "labels"])
def test_a_page_is_made_of_a_run(name, edgnn_command, tmp_path):
    edgnn_command("report", a_copy(f"runs/{name}", tmp_path), "--out", tmp_path / "page.html")
    assert "<svg" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("name", ["finished", "half"])
def test_a_page_is_made_of_a_study(name, edgnn_command, tmp_path):
    edgnn_command("report", a_copy(f"studies/{name}", tmp_path), "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "MUTAG" in page
    assert "edGNN (avg)" in page


def test_nothing_of_a_finished_study_is_computed_again(edgnn_command, tmp_path):
    study = a_copy("studies/finished", tmp_path)
    before = files_below(study / "cells")
    assert "0 cells computed in 0.0 s, 9 were there" in edgnn_command(*STUDY, "--out", study)
    assert files_below(study / "cells") == before
    for name in ("tables/graphs.csv", "predictions/graphs/MUTAG.csv"):
        assert (study / name).read_bytes() == (HERE / "studies/finished" / name).read_bytes()


def test_a_half_done_study_is_continued_where_it_stopped(edgnn_command, tmp_path):
    study = a_copy("studies/half", tmp_path)
    before = files_below(study / "cells")
    models = "majority,edgnn,wl-subtree,ridge"
    printed = edgnn_command(*STUDY, "--models", models, "--out", study)
    assert "2 cells computed" in printed
    assert "2 were there" in printed
    after = files_below(study / "cells")
    assert len(after) == 4
    assert before.items() <= after.items()
    for model in ("wl-subtree", "ridge"):
        assert folds_of(study, model) == folds_of(HERE / "studies/finished", model)


@pytest.mark.skipif(torch.__version__ < "2.13", reason="torch reads no programs of newer ones")
def test_the_exported_program_predicts_the_same():
    printed = python(str(EXPORTED / "predict.py"), "inputs/graphs.json")
    found = [json.loads(line) for line in printed.splitlines()]
    lines = (HERE / "expected/exported.jsonl").read_text().splitlines()
    for row, known in zip(found, map(json.loads, lines), strict=True):
        probability, wanted = row.pop("probability"), known.pop("probability")
        assert row == known
        assert list(probability) == list(wanted)
        assert_close(list(probability.values()), list(wanted.values()))
