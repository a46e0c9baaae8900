"""Real processes at one folder: one trains, others are refused, readers see whole files, a killed one leaves no lock."""

from __future__ import annotations

import signal
import subprocess
import time

import pytest

import edgnn
from edgnn.errors import RunError
from edgnn.models import load_model
from edgnn.report import write_report
from edgnn.training import RunFolder
from warm_python import warm_python

LONG = ("--hidden", "8", "--layers", "2", "--max-epochs", "100000", "--patience", "100000", "-q")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("concurrent")
    data = edgnn.load_dataset("MUTAG")
    edgnn.write(
        data.graphs[:40], place / "SMALL", format="tu", name="SMALL", targets=data.targets[:40]
    )
    return place


def start(place, *words):
    command = [warm_python(), "-m", "edgnn", *map(str, words)]
    return subprocess.Popen(
        command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def result(place, *words):
    process = start(place, *words)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def wait_for(path, process):
    end = time.monotonic() + 90
    while not (path.exists() and path.stat().st_size) and time.monotonic() < end:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    assert path.exists()


@pytest.mark.slow
def test_two_trainings_refuse_each_other_and_a_killed_one_leaves_no_lock(place):
    training = start(place, "train", "SMALL", "--out", "run", *LONG)
    try:
        wait_for(place / "run" / "checkpoint.safetensors", training)
        code, out, err = result(place, "train", "--out", "run", "--resume")
        with pytest.raises(RunError, match="another training is writing to"):
            RunFolder.create(place / "run", {}, overwrite=True)
        with pytest.raises(RunError, match="holds a training that has not ended"):
            load_model(place / "run")
        assert training.poll() is None
    finally:
        training.kill()
        training.communicate()
    assert training.returncode == -signal.SIGKILL
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("edgnn: another training is writing to run")
    run = RunFolder.open(place / "run")
    assert [row["epoch"] for row in run.history()] == list(range(1, len(run.history()) + 1))
    with run.lock():  # the lock has ended with the process
        assert len(run.load_tensors("checkpoint.safetensors")["losses"]) >= 1
    assert "not finished" in write_report(place / "run").read_text()


def test_an_evaluation_that_is_killed_leaves_nothing_half_written(place):
    (place / "e.json").write_text("before")
    before = sorted(place.iterdir())
    process = start(
        place, "evaluate", "SMALL", "--protocol", "cv2x1", "--out", "e.json", *LONG[:-1]
    )
    assert process.stderr.readline().startswith("epoch"), process.stderr.read()
    process.kill()
    process.communicate()
    assert (place / "e.json").read_text() == "before"
    assert sorted(place.iterdir()) == before
