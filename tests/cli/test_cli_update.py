"""``edgnn train --update``: more items for a trained model."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import edgnn
from edgnn.models import load_model
from edgnn.training import RunFolder

TEXTS = [
    *("C", "CC", "CCC", "CCO", "CCN", "CC=O", "CCCC", "CO", "CN", "CCCO", "CCCN", "CCOC"),
    *("C=C", "C#N", "CC#N", "OCCO", "NCCN", "CCCl", "CBr", "CC(C)C", "CC(=O)O", "c1ccccc1"),
]
FAST = ("--model", "auto", "--set", "learners=ridge")


def write(path, texts, **columns):
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["smiles", *columns])
        writer.writerows(zip(texts, *columns.values(), strict=True))
    return path


@pytest.fixture
def run(command, tmp_path):
    data = write(tmp_path / "old.csv", TEXTS, size=[len(text) + 0.5 for text in TEXTS])
    ended = command(
        *("train", data, "--target", "size", "--out", tmp_path / "run", *FAST),
        *("--validation", "none"),
    )
    assert ended.code == 0, ended.err
    return tmp_path / "run"


@pytest.fixture
def more(tmp_path):
    return write(tmp_path / "new.csv", ["CCCCO", "CCCCCN"], size=[5, 6])


def refitted(numbers):
    graphs = edgnn.from_smiles([*TEXTS, "CCCCO", "CCCCCN"])
    model = edgnn.AutoRegressor("ridge", random_state=0)
    return model.fit(graphs, [len(text) + 0.5 for text in TEXTS] + numbers)


def test_update_in_place_is_refit(command, run, more):
    before = (run / "metrics.json").read_bytes()
    ended = command("train", "--update", run, more)
    assert ended.code == 0, ended.err
    assert "2 more items, 24 items in all" in ended.out
    assert_array_equal(load_model(run).predict(["CCCCCC"]), refitted([5, 6]).predict(["CCCCCC"]))
    assert (run / "metrics.json").read_bytes() == before
    assert not (run / "update.safetensors").exists()
    (entry,) = RunFolder.open(run).config["updates"]
    assert entry["items"] == 2
    assert command("train", "--update", run, more, "--json").code == 0
    assert len(load_model(run).held_out_) == 26
    assert len(RunFolder.open(run).config["updates"]) == 2


def test_update_into_another_folder_leaves_the_first(command, run, more, tmp_path):
    files = {path.name: path.read_bytes() for path in run.iterdir()}
    other = tmp_path / "other"
    ended = command("train", "--update", run, more, "--out", other, "--json")
    assert json.loads(ended.out) == {"run": str(other), "source": str(more), "items": 2}
    assert {path.name: path.read_bytes() for path in run.iterdir()} == files
    assert len(load_model(other).held_out_) == 24
    assert command("predict", other, more).code == 0
    assert "nothing to resume" in command("train", "--resume", "--out", other).out
    assert "already holds a run" in command("train", "--update", run, more, "--out", other).err


def test_an_interrupted_update_leaves_one_of_both_models(command, run, more, monkeypatch):
    """Whatever write is the last, the folder holds the old or the new model, and can go on."""
    molecules, old, new = ["CCCCCC"], load_model(run).predict(["CCCCCC"]), None
    new = refitted([5, 6]).predict(molecules)
    files = {path.name: path.read_bytes() for path in run.iterdir()}
    write_file = RunFolder._write
    seen = set()
    for last in range(6):
        for path in run.iterdir():
            path.unlink()
        for name, content in files.items():
            (run / name).write_bytes(content)
        done = []

        def failing(self, name, content, last=last, done=done):
            if len(done) == last:
                raise KeyboardInterrupt
            done.append(name)
            write_file(self, name, content)

        monkeypatch.setattr(RunFolder, "_write", failing)
        code = command("train", "--update", run, more).code
        monkeypatch.setattr(RunFolder, "_write", write_file)
        predicted = load_model(run).predict(molecules)
        is_new = bool(np.array_equal(predicted, new))
        assert is_new or np.array_equal(predicted, old)
        seen.add((code == 0, is_new))
        items = len(load_model(run).held_out_)
        assert command("train", "--update", run, more).code == 0
        assert len(load_model(run).held_out_) == items + 2
    assert seen == {(False, False), (False, True), (True, True)}


def test_classes_by_name_and_a_new_one(command, tmp_path):
    kinds = ["short" if len(text) < 4 else "long" for text in TEXTS]
    data = write(tmp_path / "old.csv", TEXTS, kind=kinds)
    run = tmp_path / "run"
    ended = command("train", data, "--target", "kind", "--out", run, *FAST, "--validation", "none")
    assert ended.code == 0, ended.err
    more = write(tmp_path / "new.csv", ["CCCCCCCCCCCC", "CO"], kind=["huge", "short"])
    assert command("train", "--update", run, more).code == 0
    assert RunFolder.open(run).config["class_names"] == ["long", "short", "huge"]
    header = command("predict", run, more).out.splitlines()[0]
    assert "huge" in header


def test_mistakes(command, run, more, tmp_path):
    for words, text in [
        (["--update", run], "name the new data"),
        (["--update", tmp_path / "none", more], "there is no folder"),
        (["--update", run, more, "--resume"], "leave --resume"),
        (["--update", run, more, "--seed", 3], "leave --seed out"),
        (["--update", run, more, "--hidden", 3], "leave --hidden out"),
        (["--update", run, tmp_path / "gone.csv"], "gone.csv"),
    ]:
        ended = command("train", *words)
        assert ended.code == 2, words
        assert text in ended.err
    strange = write(tmp_path / "strange.csv", ["C"], other=[3])
    assert "size" in command("train", "--update", run, strange).err


def test_other_models_say_that_they_cannot(command, tmp_path, more):
    data = write(tmp_path / "old.csv", TEXTS, kind=["a", "b"] * 11)
    run = tmp_path / "run"
    assert (
        command("train", data, "--target", "kind", "--model", "wl-subtree", "--out", run).code == 0
    )
    data = write(tmp_path / "new.csv", ["CCCCO"], kind=["a"])
    assert "--model auto can" in command("train", "--update", run, data).err
