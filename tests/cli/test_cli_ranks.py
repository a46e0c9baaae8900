import json
import os
import signal
import subprocess
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import rank_cases
from edgnn.cli import _ranks
from edgnn.errors import EdgnnError
from edgnn.training import RunFolder

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="the processes of ranks are found in /proc"
)

EPOCHS = 500  # so many that a training is still at work when it is to be disturbed


def rows(run):
    return [
        {name: value for name, value in row.items() if name != "seconds"}
        for row in RunFolder.open(run).history()
    ]


def losses(run):
    return np.array([[row["train_loss"], row["valid_loss"]] for row in rows(run)])


def results(run):
    metrics = json.loads((run / "metrics.json").read_text())
    metrics.pop("seconds")
    return (
        rows(run),
        metrics,
        (run / "predictions.csv").read_text(),
        (run / "model.safetensors").read_bytes(),
    )


def words(source, out):
    shape = "--hidden", 8, "--no-batch-norm", "--dropout", 0.2
    return (
        "train",
        source,
        "--target",
        "group",
        "--out",
        out,
        "--max-epochs",
        EPOCHS,
        *shape,
        "--seed",
        3,
    )


def started(source, out, restarts=1):
    command = rank_cases.torchrun(["-m", "edgnn"], 2, *words(source, out), restarts=restarts)
    pipes = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
        "start_new_session": True,
    }
    pipes["preexec_fn"] = partial(
        signal.signal, signal.SIGINT, signal.SIG_DFL
    )  # as at a terminal, however the tests run
    return subprocess.Popen(command, env=rank_cases.environment_of_ranks(), **pipes)


def wait_for_epochs(process, run, count):
    while process.poll() is None:
        history = run / "history.jsonl"
        if (
            (run / "checkpoint.safetensors").exists()
            and history.exists()
            and history.read_bytes().count(b"\n") >= count
        ):
            return
        time.sleep(0.02)
    pytest.fail(f"the training ended too early: {process.communicate()[1]}")


def process_of(rank, torchrun):
    for process in Path(f"/proc/{torchrun}/task/{torchrun}/children").read_text().split():
        if f"RANK={rank}".encode() in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
            return int(process)
    raise AssertionError(f"there is no rank {rank}")


@pytest.fixture(scope="module")
def undisturbed(people, tmp_path_factory):
    run = tmp_path_factory.mktemp("undisturbed") / "run"
    ended = rank_cases.run(["-m", "edgnn"], 2, *words(people, run))
    assert ended.returncode == 0, ended.stderr
    return run, ended


@pytest.mark.slow
def test_two_ranks_leave_one_run_like_that_of_one_process(undisturbed, people, tmp_path, command):
    run, ended = undisturbed
    assert ended.stdout.count("Kept in") == 1
    assert ended.stderr.count(f"epoch {EPOCHS} of {EPOCHS}:") == 1
    assert command(*words(people, tmp_path / "alone"), "--quiet").code == 0
    alone = tmp_path / "alone"
    assert {path.name for path in run.iterdir() if path.name[0] != "."} == {
        path.name for path in alone.iterdir() if path.name[0] != "."
    }
    assert np.allclose(losses(run)[:20], losses(alone)[:20], rtol=1e-5, atol=0)
    assert RunFolder.open(run).config["ranks"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("rank", [1, 0])
def test_a_killed_rank_is_replaced_and_the_result_is_the_same(rank, undisturbed, people, tmp_path):
    run = tmp_path / "run"
    process = started(people, run)
    wait_for_epochs(process, run, 10)
    os.kill(process_of(rank, process.pid), signal.SIGKILL)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 0, told
    assert told.count(f"resuming {run} after epoch ") == 1
    assert results(run) == results(undisturbed[0])


@pytest.mark.slow
def test_ctrl_c_is_told_once_and_all_ranks_resume(undisturbed, people, tmp_path):
    run = tmp_path / "run"
    process = started(people, run)
    wait_for_epochs(process, run, 10)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=120)
    assert process.returncode != 0
    assert told.count("edgnn: interrupted after epoch") == 1
    assert f"torchrun --nproc-per-node 2 -m edgnn train --out {run} --resume" in told
    ended = rank_cases.run(["-m", "edgnn"], 2, "train", "--out", run, "--resume", "--quiet")
    assert ended.returncode == 0, ended.stderr
    assert results(run) == results(undisturbed[0])


@pytest.mark.slow
def test_a_mistake_is_told_once_by_all_ranks_and_attempts(people, tmp_path):
    ended = rank_cases.run(
        ["-m", "edgnn"], 2, *words(people, tmp_path / "run"), "--layers", "two", restarts=1
    )
    assert ended.returncode != 0
    assert ended.stderr.count("edgnn: layers='two': choose a whole number") == 1
    assert not (tmp_path / "run").exists()


class Said:
    def __init__(self, *said):
        self.said = said

    def texts(self, own):
        return list(self.said)


def test_what_keeps_one_rank_from_training_is_raised_on_all():
    _ranks.agree(Said("", ""))
    with pytest.raises(EdgnnError, match="rank 1: there is no file"):
        _ranks.agree(Said("", "there is no file", "nor here"))


def test_only_the_run_of_this_launch_is_resumed_after_a_restart(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "job 7")
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert not _ranks.restarted(tmp_path / "none")
    RunFolder.create(tmp_path / "own", {"launch": _ranks.launch()})
    RunFolder.create(tmp_path / "other", {"launch": "job 6"})
    RunFolder.create(tmp_path / "alone", {})
    assert [_ranks.restarted(tmp_path / name) for name in ("own", "other", "alone")] == [
        True,
        False,
        False,
    ]
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "0")
    assert not _ranks.restarted(tmp_path / "own")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    assert str(os.getppid()) in _ranks.launch()
