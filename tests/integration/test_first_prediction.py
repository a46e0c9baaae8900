"""How long a newcomer waits for the first prediction: the commands of the README, each in a process of its own."""

import csv
import os
import resource
import runpy
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EDGNN = Path(sys.executable).with_name("edgnn")
LONGEST = 60


@pytest.fixture
def samples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return runpy.run_path(str(ROOT / "examples" / "sample_files.py"))


def seconds_of(*commands):
    """Run commands one after another; return the seconds they take, or take where no other process wants the cores."""
    before, start = processor_time(), time.perf_counter()
    for words in commands:
        done = subprocess.run(
            [EDGNN, *words],
            env=os.environ | {"NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    return min(time.perf_counter() - start, 1.2 * (processor_time() - before))


def processor_time():
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def predictions():
    with Path("predictions.csv").open(encoding="utf-8") as file:
        return {row["id"]: row["prediction"] for row in csv.DictReader(file)}


def share_right(found, truth):
    assert found.keys() == truth.keys()
    return sum(found[name] == truth[name] for name in truth) / len(truth)


def share_of_the_most_frequent(truth):
    values = list(truth.values())
    return max(values.count(value) for value in values) / len(values)


@pytest.mark.slow
def test_two_hundred_smiles_with_classes_are_a_minute_from_predictions(samples):
    assert len(Path("molecules.csv").read_text(encoding="utf-8").splitlines()) == 201
    truth = dict(samples["molecules"](samples["RINGS"], ["CCCC", "CCCCC", "CC(C)(C)"]))
    Path("new.csv").write_text(
        "smiles\n" + "".join(f"{smiles}\n" for smiles in truth), encoding="utf-8"
    )
    seconds = seconds_of(
        ["train", "molecules.csv", "--target", "active", "--out", "run"],
        ["predict", "run", "new.csv", "--out", "predictions.csv"],
    )
    assert seconds < LONGEST
    assert share_right(predictions(), truth) > share_of_the_most_frequent(truth) + 0.1


@pytest.mark.slow
def test_turtle_with_a_table_of_entities_is_a_minute_from_predictions(samples):
    truth = {samples["iris"][person]: samples["roles"][person] for person in samples["new"]}
    seconds = seconds_of(
        ["train", "people.ttl", "--target-file", "roles.tsv", "--out", "run"],
        ["predict", "run", "people.ttl", "--nodes", "new_people.txt", "--out", "predictions.csv"],
    )
    assert seconds < LONGEST
    assert share_right(predictions(), truth) > share_of_the_most_frequent(truth) + 0.3
