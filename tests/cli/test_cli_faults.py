import errno
import json
import os
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
import torch

import edgnn
from edgnn.models import checkpoint_epoch, load_model
from edgnn.training import RunFolder
from warm_python import warm_python

fcntl = pytest.importorskip("fcntl", reason="Windows locks and kills in other ways")

MODEL = ("--hidden", 8, "--dropout", 0.25, "--members", 2, "--patience", 4)
#: ``EDGNN_KILLS=30 pytest -k kill_9`` tries more moments.
KILLS = int(os.environ.get("EDGNN_KILLS", "4"))
QUICK = (*MODEL, "--max-epochs", 4, "--quiet")


class Killed(BaseException):
    """The end of the process, as far as code in it can tell."""


def model_of(run):
    return (run / "model.safetensors").read_bytes()


@pytest.fixture
def checkpoints_always(monkeypatch):
    monkeypatch.setattr("edgnn.models._runs._SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr("edgnn.models._runs._SHARE_OF_TIME", float("inf"))


@pytest.fixture
def whole(command, molecules, tmp_path):
    """The same training without any interruption."""
    assert command("train", molecules, "--out", tmp_path / "whole", *QUICK).code == 0
    return tmp_path / "whole"


def after(monkeypatch, method, count, error):
    """Let ``RunFolder.method`` raise at its call number ``count``, and at no other."""
    calls, real = [], getattr(RunFolder, method)

    def failing(self, *arguments, **options):
        calls.append(1)
        if len(calls) == count:
            raise error
        return real(self, *arguments, **options)

    monkeypatch.setattr(RunFolder, method, failing)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["_write", "append_history"])
@pytest.mark.parametrize("often", [True, False])
def test_a_run_that_dies_at_any_write_ends_with_the_same_model(
    command, molecules, tmp_path, request, whole, method, often
):
    if often:
        request.getfixturevalue("checkpoints_always")
    words, count, died = ("train", molecules, "--out", tmp_path / "run", *QUICK), 0, True
    while died:
        count += 1
        with pytest.MonkeyPatch.context() as patched:
            after(patched, method, count, Killed())
            try:
                command(*words, "--overwrite")
                died = False
            except Killed:
                died = True
        assert command(*words, "--resume").code == 0
        assert model_of(tmp_path / "run") == model_of(whole)
        assert [row["epoch"] for row in RunFolder.open(tmp_path / "run").history()] == [1, 2, 3, 4]
    assert count > 4


@pytest.mark.slow
def test_kill_9_at_any_moment_then_resume_gives_the_same_model(command, molecules, tmp_path):
    epochs = ("--max-epochs", 60, *MODEL, "--patience", 60, "--quiet")
    assert command("train", molecules, "--out", tmp_path / "whole", *epochs).code == 0
    seconds = json.loads((tmp_path / "whole" / "metrics.json").read_text())["seconds"]
    random, ends = np.random.default_rng(), []
    for attempt in range(KILLS):
        run = tmp_path / f"run{attempt}"
        words = ["train", molecules, "--out", run, *epochs]
        process = subprocess.Popen(
            [warm_python(), "-m", "edgnn", *map(str, words)],
            env=os.environ | {"OMP_NUM_THREADS": str(torch.get_num_threads())},
        )
        limit = time.monotonic() + 60
        while attempt and not (run / "history.jsonl").exists() and time.monotonic() < limit:
            time.sleep(0.005)
        time.sleep(random.uniform(0, seconds if attempt else 2.0))
        process.send_signal(signal.SIGKILL)
        ends.append(process.wait())
        assert command(*words, "--resume").code == 0
        assert model_of(run) == model_of(tmp_path / "whole"), (
            f"killed at attempt {attempt}, exit {ends[-1]}"
        )
        assert not list(run.glob(".*.????????"))
    assert -signal.SIGKILL in ends


def test_ctrl_c_says_how_to_go_on_and_that_works(
    command, molecules, tmp_path, monkeypatch, whole, checkpoints_always
):
    run = tmp_path / "run"
    with monkeypatch.context() as patched:
        after(patched, "append_history", 3, KeyboardInterrupt())
        ended = command("train", molecules, "--out", run, *QUICK)
    way = f"edgnn train --out {run} --resume"
    assert ended.code == 130
    assert (
        ended.err
        == f"edgnn: interrupted after epoch 2; go on with: {way}, or end it there with: {way} --max-epochs 2\n"
    )
    assert "has not ended" in command("predict", run, molecules).err
    ended = command("train", "--out", run, "--resume")
    assert ended.code == 0
    assert "after epoch 2" in ended.err
    assert model_of(run) == model_of(whole)


@pytest.mark.parametrize("between", [0.0, 1000.0])
def test_ctrl_c_keeps_the_last_whole_epoch(
    command, molecules, tmp_path, monkeypatch, press_ctrl_c, whole, between
):
    run = tmp_path / "run"
    with monkeypatch.context() as patched:
        patched.setattr("edgnn.models._runs._SECONDS_BETWEEN_CHECKPOINTS", between)
        press_ctrl_c(3)
        ended = command("train", molecules, "--out", run, *QUICK)
    monkeypatch.undo()
    stopping, interrupted = ended.err.splitlines()
    assert (ended.code, stopping) == (
        130,
        "edgnn: stopping after this epoch; press Ctrl-C again to stop at once",
    )
    assert interrupted.startswith(
        f"edgnn: interrupted after epoch 3; go on with: edgnn train --out {run} --resume, or "
    )
    assert checkpoint_epoch(RunFolder.open(run)) == len(RunFolder.open(run).history()) == 3
    assert f"resuming {run} after epoch 3" in command("train", "--out", run, "--resume").err
    assert model_of(run) == model_of(whole)


def test_a_second_ctrl_c_stops_at_once_and_says_where(
    command, molecules, tmp_path, monkeypatch, whole
):
    run, real, calls = tmp_path / "run", edgnn.training._fleet.Fleet.validate, []

    def pressed(self):
        calls.append(1)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
        return real(self)

    with monkeypatch.context() as patched:
        patched.setattr("edgnn.models._runs._SECONDS_BETWEEN_CHECKPOINTS", 1000.0)
        patched.setattr("edgnn.training._fleet.Fleet.validate", pressed)
        ended = command("train", molecules, "--out", run, *QUICK)
    assert (ended.code, len(RunFolder.open(run).history())) == (130, 2)
    assert "edgnn: interrupted after epoch 1; go on with" in ended.err
    assert "after epoch 1" in command("train", "--out", run, "--resume").err
    assert model_of(run) == model_of(whole)


#: The calls by which a run reaches the disk, but for the writing of bytes itself.
FILE_CALLS = (
    (os, ("open", "fsync", "replace", "rename", "chmod", "unlink", "mkdir")),
    (fcntl, ("flock",)),
)


def failing_call(patched, number, code=errno.EIO):
    """Let file call ``number`` fail, and none for 0; return the list of those that were made."""
    calls = []

    def wrapped(name, real):
        def call(*arguments, **options):
            if name != "open" or arguments[1] & (os.O_WRONLY | os.O_RDWR):
                calls.append(name)
                if len(calls) == number:
                    raise OSError(code, os.strerror(code))
            return real(*arguments, **options)

        return call

    for module, names in FILE_CALLS:
        for name in names:
            patched.setattr(module, name, wrapped(name, getattr(module, name)))
    return calls


@pytest.mark.slow
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
def test_an_error_of_any_file_call_is_one_line_and_the_run_resumes(
    command, molecules, tmp_path, whole, code
):
    run = tmp_path / "run"
    words = ("train", molecules, "--out", run, *QUICK)
    with pytest.MonkeyPatch.context() as patched:
        calls = failing_call(patched, 0)
        assert command(*words).code == 0
    assert {"open", "fsync", "flock", "mkdir"} < set(calls)
    for number in range(1, len(calls) + 1, 5):
        shutil.rmtree(run)
        with pytest.MonkeyPatch.context() as patched:
            failing_call(patched, number, code)
            ended = command(*words)
        # what is cleaned up in the end may fail without harm
        assert (ended.code, ended.err.count("\n")) in ((2, 1), (0, 0)), calls[number - 1]
        assert command(*words, "--resume").code == 0
        assert model_of(run) == model_of(whole), calls[number - 1]


def test_a_full_disk_leaves_the_folder_intact(
    command, molecules, tmp_path, monkeypatch, whole, checkpoints_always
):
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    calls, real = [], os.fsync

    def fsync(handle):
        calls.append(1)
        if len(calls) >= 8:
            raise full
        return real(handle)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fsync)
        ended = command("train", molecules, "--out", tmp_path / "run", *QUICK)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert (
        "No space left on device; the folder is intact: free some space and try again (train with --resume)"
        in ended.err
    )
    reached = len(RunFolder.open(tmp_path / "run").history())
    assert 0 < reached < 4
    assert command("train", "--out", tmp_path / "run", "--resume").code == 0
    assert model_of(tmp_path / "run") == model_of(whole)


def test_a_folder_that_cannot_be_written_is_named(command, molecules, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    assert (
        "there is a file of that name"
        in command("train", molecules, "--out", tmp_path / "file", *QUICK).err
    )
    assert (
        "file is a file; choose another folder"
        in command("train", molecules, "--out", tmp_path / "file" / "run", *QUICK).err
    )

    def denied(*_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("pathlib.Path.mkdir", denied)
    ended = command("train", molecules, "--out", tmp_path / "run", *QUICK)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert (
        f"cannot create {tmp_path / 'run'}: Permission denied; choose another folder" in ended.err
    )


def test_a_loss_that_is_no_number_is_one_line(command, molecules, tmp_path):
    words = ("--members", 1, "--learning-rate", "1e38", "--no-batch-norm")
    ended = command("train", molecules, "--out", tmp_path / "run", *QUICK, *words)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "is NaN or infinite in epoch 1: lower learning_rate" in ended.err
    assert RunFolder.open(tmp_path / "run").history() == []


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 80.00 GiB.\nMore about it"),
        MemoryError(),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory: you tried 80 GiB"
        ),
    ],
)
def test_too_little_memory_is_one_line_and_training_goes_on_later(
    command, molecules, tmp_path, monkeypatch, whole, error
):
    def failing(*_):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr("edgnn.training._fleet.Fleet.validate", failing)
        ended = command("train", molecules, "--out", tmp_path / "run", *QUICK)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "out of memory" in ended.err
    assert "lower batch_size" in ended.err
    assert command("train", "--out", tmp_path / "run", "--resume").code == 0
    assert model_of(tmp_path / "run") == model_of(whole)


def test_a_single_class_and_an_empty_one_are_told(command, tmp_path):
    data = edgnn.load_dataset("MUTAG")
    edgnn.write(
        data.graphs[:10], tmp_path / "ONE", format="tu", name="ONE", targets=np.ones(10, dtype=int)
    )
    ended = command("train", tmp_path / "ONE", "--out", tmp_path / "run", *QUICK)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert (
        "all 10 items to train on are of the class '1': there is nothing to tell apart" in ended.err
    )
    assert not (tmp_path / "run").exists()


def test_a_class_without_training_items_is_a_warning(command, tmp_path, monkeypatch):
    data = edgnn.load_dataset("MUTAG")
    targets = np.where(np.arange(30) < 25, data.targets[:30], 2)
    split = {"train": np.arange(25), "test": np.arange(25, 30)}
    rare = edgnn.Dataset("RARE", data.graphs[:30], targets, ("no", "yes", "perhaps"), split=split)
    monkeypatch.setattr("edgnn.io.datasets.load_dataset", lambda *_, **__: rare)
    ended = command("train", "RARE", "--out", tmp_path / "run", *QUICK)
    assert ended.code == 0
    assert (
        ended.err
        == "edgnn: warning: no item to train on is of the class 'perhaps', so the model never predicts that\n"
    )
    assert load_model(tmp_path / "run").classes_.tolist() == [0, 1]


def test_two_trainings_do_not_share_a_folder(command, molecules, tmp_path, whole):
    before = model_of(whole)
    with RunFolder.open(whole).lock():
        for words in (
            ["--out", whole, "--resume"],
            [molecules, "--out", whole, "--overwrite", *QUICK],
        ):
            ended = command("train", *words)
            assert (ended.code, ended.err.count("\n")) == (2, 1)
            assert "another training is writing to" in ended.err
    assert model_of(whole) == before


def test_a_run_in_use_is_refused_before_a_word_about_resuming(command, whole):
    (whole / "metrics.json").unlink()
    with RunFolder.open(whole).lock():
        ended = command("train", "--out", whole, "--resume")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith("edgnn: another training is writing to")
    assert "resuming" in command("train", "--out", whole, "--resume").err


def test_folders_around_a_run_are_made_and_only_for_a_run(command, molecules, tmp_path):
    out = tmp_path / "runs" / "today" / "run"
    assert command("train", molecules, "--out", out, *QUICK, "--conv", "none").code == 2
    assert not (tmp_path / "runs").exists()
    assert command("train", molecules, "--out", out, *QUICK).code == 0
    assert RunFolder.open(out).has("metrics.json")


def test_a_finished_run_says_so(command, whole):
    before = model_of(whole)
    ended = command("train", "--out", whole, "--resume")
    assert (ended.code, ended.out) == (0, f"{whole} is finished: there is nothing to resume\n")
    assert json.loads(command("train", "--out", whole, "--resume", "--json").out)["epochs"] == 4
    assert model_of(whole) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--layers", 3], "has layers=2, not 3"),
        (["--settings", "paper"], "has hidden=8, not 64"),
        (["--seed", 1], "has seed=0, not 1"),
        (["--validation", "0.3"], "has validation=0.1, not 0.3"),
        (["--test", "0.3"], "has test=None, not 0.3"),
        (["--set", "head=conv"], "has no parameter 'head', not 'conv'"),
    ],
)
def test_a_run_is_resumed_as_it_was_begun(command, whole, words, message):
    ended = command("train", "--out", whole, "--resume", *words)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert f"{message}: leave that out to resume it" in ended.err


def test_a_run_is_not_resumed_with_other_data(
    command, molecules, tmp_path, monkeypatch, checkpoints_always
):
    data = edgnn.load_dataset(molecules)
    place = tmp_path / "SET"
    edgnn.write(data.graphs, place, format="tu", name="SET", targets=data.targets)
    with monkeypatch.context() as patched:
        after(patched, "append_history", 3, KeyboardInterrupt())
        command("train", place, "--out", tmp_path / "run", *QUICK)
    labels = place / "SET_graph_labels.txt"
    labels.write_text(labels.read_text().replace("1", "0", 1))
    ended = command("train", "--out", tmp_path / "run", "--resume")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "graphs or targets have changed since" in ended.err
    assert len(RunFolder.open(tmp_path / "run").history()) == 2


def test_moved_data_can_be_named_again(
    command, molecules, tmp_path, monkeypatch, whole, checkpoints_always
):
    place = tmp_path / "place"
    place.mkdir()
    for file in molecules.iterdir():
        (place / file.name).write_bytes(file.read_bytes())
    with monkeypatch.context() as patched:
        after(patched, "append_history", 3, KeyboardInterrupt())
        command("train", place, "--out", tmp_path / "run", *QUICK)
    place.rename(tmp_path / "elsewhere")
    assert command("train", "--out", tmp_path / "run", "--resume").code == 2
    assert command("train", tmp_path / "elsewhere", "--out", tmp_path / "run", "--resume").code == 0
    assert model_of(tmp_path / "run") == model_of(whole)


def test_a_folder_that_is_no_training_is_not_resumed(command, molecules, tmp_path):
    data = edgnn.load_dataset(molecules)
    edgnn.GraphClassifier(hidden=4, max_epochs=1, random_state=0).fit(
        data.graphs, data.targets
    ).save(tmp_path / "saved")
    ended = command("train", "--out", tmp_path / "saved", "--resume")
    assert (ended.code, "was not made by edgnn train" in ended.err) == (2, True)
