import errno
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import edgnn
from edgnn.errors import RunError
from edgnn.training import CHECKPOINT, RunFolder

FORMAT = 1
CONFIG = {"model": {"layers": 2, "hidden": 64}, "seeds": [0, 1], "note": "größer"}


@pytest.fixture
def run(tmp_path):
    return RunFolder.create(tmp_path / "run", CONFIG)


def fill(run):
    run.append_history({"epoch": 1, "train_loss": [0.5, math.nan]})
    run.append_history({"epoch": 2, "train_loss": [0.25, 0.5]})
    run.save_tensors(
        "model.safetensors",
        {"w": torch.arange(6.0).view(2, 3), "empty": torch.zeros(0)},
    )
    run.save_tensors(CHECKPOINT, {"step": torch.tensor(2)})
    run.write_json("metrics.json", {"accuracy": 0.75, "loss": math.inf})
    run.write_rows("predictions.csv", {"name": ["a", "b"], "class": [0, 1]})


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def epochs(run):
    return [row["epoch"] for row in run.history()]


# Creating


def test_new_run_has_configuration_and_environment(tmp_path):
    run = RunFolder.create(tmp_path / "run", CONFIG)
    assert run.config == CONFIG | {"format": FORMAT, "edgnn": edgnn.__version__}
    assert json.loads((tmp_path / "run" / "config.json").read_text(encoding="utf-8")) == run.config
    assert run.read_json("environment.json")["packages"]["torch"] == torch.__version__
    assert RunFolder.open(tmp_path / "run").config == run.config
    assert run.history() == []


def test_configuration_comes_back_the_same_from_create_and_open(tmp_path):
    run = RunFolder.create(tmp_path / "run", {"a": (1, 2), "b": math.inf, "c": torch.tensor(3)})
    assert run.config == RunFolder.open(run.path).config
    assert (run.config["a"], run.config["b"], run.config["c"]) == ([1, 2], math.inf, 3)


def test_empty_folder_is_taken(tmp_path):
    assert RunFolder.create(tmp_path, CONFIG).path == tmp_path


def test_configuration_of_another_run_can_be_used_again(run, tmp_path):
    assert RunFolder.create(tmp_path / "again", run.config).config == run.config


def test_run_that_is_there_is_refused_and_left_alone(run):
    fill(run)
    before = contents(run.path)
    with pytest.raises(
        RunError, match=r"already holds a run: choose another folder, .*overwrite=True"
    ):
        RunFolder.create(run.path, CONFIG)
    assert contents(run.path) == before
    (run.path / "model.safetensors").unlink()
    with pytest.raises(
        RunError, match=r"already holds a run: go on with it \(--resume\), choose another folder, "
    ):
        RunFolder.create(run.path, CONFIG)


def test_overwriting_removes_the_old_run_and_nothing_else(run):
    fill(run)
    (run.path / "mine.txt").write_text("1")
    new = RunFolder.create(run.path, {"new": True}, overwrite=True)
    assert sorted(contents(run.path)) == [
        ".edgnn.lock",
        "config.json",
        "environment.json",
        "mine.txt",
    ]
    assert new.config["new"] is True
    assert new.history() == []


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("content", ['{"hidden_size": 3}', "no json", None])
def test_folder_of_others_is_refused_and_left_alone(tmp_path, content, overwrite):
    (tmp_path / "model.safetensors").write_text("mine")
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    before = contents(tmp_path)
    with pytest.raises(
        RunError, match=r"is not empty and no run of edgnn \(it holds '.*choose another folder"
    ):
        RunFolder.create(tmp_path, CONFIG, overwrite=overwrite)
    assert contents(tmp_path) == before


def test_what_a_killed_creation_left_is_no_obstacle(tmp_path):
    (tmp_path / ".config.json.ab12_xyz").write_text("{")
    (tmp_path / ".edgnn.lock").write_text("")
    RunFolder.create(tmp_path, CONFIG)
    assert sorted(contents(tmp_path)) == [".edgnn.lock", "config.json", "environment.json"]


def test_missing_parents_are_made(tmp_path):
    run = RunFolder.create(tmp_path / "some" / "where" / "run", CONFIG)
    assert RunFolder.open(tmp_path / "some" / "where" / "run").config == run.config


@pytest.mark.parametrize("failing", ["environment", "make", "lock"])
def test_a_failed_creation_leaves_no_folder_behind(tmp_path, monkeypatch, failing):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    def stopped(*_, **__):
        raise KeyboardInterrupt

    (tmp_path / "there").mkdir()
    place = tmp_path / "there" / "some" / "run"
    if failing == "environment":
        monkeypatch.setattr("edgnn.training._run_folder.environment", stopped)
    elif failing == "lock":
        monkeypatch.setattr("filelock.FileLock.acquire", full)
    else:
        make = Path.mkdir
        monkeypatch.setattr(
            Path, "mkdir", lambda path, *_, **__: full() if path == place else make(path)
        )
    with pytest.raises((RunError, KeyboardInterrupt)):
        RunFolder.create(place, CONFIG)
    assert [path.name for path in tmp_path.rglob("*")] == ["there"]


def test_folders_that_others_use_meanwhile_stay(tmp_path, monkeypatch):
    def stopped():
        (tmp_path / "some" / "other").mkdir()
        raise KeyboardInterrupt

    monkeypatch.setattr("edgnn.training._run_folder.environment", stopped)
    with pytest.raises(KeyboardInterrupt):
        RunFolder.create(tmp_path / "some" / "run", CONFIG)
    assert [path.name for path in (tmp_path / "some").iterdir()] == ["other"]


def test_file_in_the_way_is_named(tmp_path):
    (tmp_path / "run").write_text("mine")
    with pytest.raises(RunError, match="there is a file of that name"):
        RunFolder.create(tmp_path / "run", CONFIG)
    with pytest.raises(RunError, match="is a file, not the folder of a run"):
        RunFolder.open(tmp_path / "run")
    with pytest.raises(RunError, match="cannot create"):
        RunFolder.create(tmp_path / "run" / "inner", CONFIG)
    assert (tmp_path / "run").read_text() == "mine"


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000, None, 3])
@pytest.mark.parametrize("function", [lambda path: RunFolder.create(path, CONFIG), RunFolder.open])
def test_what_is_no_path_is_refused(function, path):
    with pytest.raises(RunError):
        function(path)


def test_configuration_that_cannot_be_stored_leaves_nothing_behind(tmp_path):
    with pytest.raises(RunError, match=r"\['a'\] is a set"):
        RunFolder.create(tmp_path / "run", {"a": {1}})
    assert not (tmp_path / "run").exists()


def as_root():
    return not hasattr(os, "geteuid") or os.geteuid() == 0


@pytest.mark.skipif(as_root(), reason="the superuser may write everywhere")
def test_folder_without_permission_is_one_clear_error(run, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(RunError, match=r"cannot create .*Permission denied.*choose another folder"):
        RunFolder.create(tmp_path / "closed" / "run", CONFIG)
    with pytest.raises(RunError, match="Permission denied"):
        RunFolder.create(tmp_path / "closed", CONFIG)
    before = contents(run.path)
    run.path.chmod(0o500)
    for attempt in (
        lambda: fill(run),
        lambda: run.write_json("metrics.json", 1),
        lambda: run.update_config(a=1),
    ):
        with pytest.raises(RunError, match=r"cannot write .*Permission denied"):
            attempt()
    run.path.chmod(0o000)
    for attempt in (lambda: RunFolder.open(run.path), run.history, lambda: run.has("metrics.json")):
        with pytest.raises(RunError, match=r"cannot read .*Permission denied"):
            attempt()
    run.path.chmod(0o300)
    run.write_json("metrics.json", 1)
    run.remove("metrics.json")
    run.path.chmod(0o700)
    assert contents(run.path) == before


def test_read_only_file_system_is_one_clear_error(run, monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    with pytest.raises(
        RunError,
        match=r"cannot write .*metrics\.json: Read-only file system; choose another folder",
    ):
        run.write_json("metrics.json", 1)


# Opening


def test_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(RunError, match=r"there is no folder .*gone"):
        RunFolder.open(tmp_path / "gone")


def test_folder_without_configuration_is_no_run(tmp_path):
    with pytest.raises(RunError, match=r"is not the folder of a run: it has no config\.json"):
        RunFolder.open(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"config\.json is damaged"),
        ('{"format": 1', r"config\.json is damaged"),
        ('{"format": NaN}', r"config\.json is damaged"),
        ("[1]", "no valid field 'format'"),
        ("{}", "no valid field 'format'"),
        ('{"format": "1"}', "no valid field 'format'"),
        ('{"format": true}', "no valid field 'format'"),
        ('{"format": 0}', "no valid field 'format'"),
    ],
)
def test_damaged_configuration_is_named(run, content, message):
    (run.path / "config.json").write_text(content)
    with pytest.raises(RunError, match=message):
        RunFolder.open(run.path)


def test_run_from_the_future_asks_for_an_upgrade(run):
    (run.path / "config.json").write_text('{"format": 7, "edgnn": "9.1"}')
    with pytest.raises(
        RunError, match=r"written by edgnn 9\.1 \(format 7\); this edgnn .* up to format 1: upgrade"
    ):
        RunFolder.open(run.path)
    with pytest.raises(RunError, match="already holds a run"):
        RunFolder.create(run.path, CONFIG)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are POSIX's")
def test_pipe_or_device_in_place_of_a_file_is_refused_without_waiting(run):
    for name in ("config.json", "metrics.json", "model.safetensors", "history.jsonl"):
        (run.path / name).unlink(missing_ok=True)
        os.mkfifo(run.path / name)
    attempts = [
        lambda: RunFolder.open(run.path),
        lambda: run.read_json("metrics.json"),
        lambda: run.load_tensors("model.safetensors"),
        lambda: run.append_history({"epoch": 1}),
    ]
    for attempt in attempts:
        with pytest.raises(RunError, match="is no regular file"):
            attempt()


def test_link_out_of_the_folder_is_never_written_through(run, tmp_path):
    (tmp_path / "outside").write_text("mine")
    for name in ("history.jsonl", "metrics.json"):
        (run.path / name).symlink_to(tmp_path / "outside")
    with pytest.raises(RunError, match="is no regular file"):
        run.append_history({"epoch": 1})
    run.write_json("metrics.json", 1)
    assert (tmp_path / "outside").read_text() == "mine"
    assert run.read_json("metrics.json") == 1


# Configuration


def test_configuration_is_changed_only_by_update(run):
    run.config["model"]["layers"] = 3
    assert run.config["model"]["layers"] == 2
    run.update_config(finished=True, seeds=(1, 2))
    assert run.config == CONFIG | {
        "format": FORMAT,
        "edgnn": edgnn.__version__,
        "finished": True,
        "seeds": [1, 2],
    }
    assert RunFolder.open(run.path).config == run.config


def test_version_fields_cannot_be_set(run):
    for field in ("format", "edgnn"):
        with pytest.raises(RunError, match=f"the field '{field}'"):
            run.update_config(**{field: 1})
    with pytest.raises(RunError, match="update_config"):
        run.write_json("config.json", {})
    with pytest.raises(RunError, match="makes the folder a run"):
        run.remove("config.json")


# History


def test_history_keeps_numbers_that_are_none_in_strict_json(run):
    run.append_history(
        {"epoch": 1, "train_loss": [0.1, math.nan], "valid_loss": [math.inf, -math.inf]}
    )
    (row,) = run.history()
    assert row["train_loss"][0] == 0.1
    assert math.isnan(row["train_loss"][1])
    assert row["valid_loss"] == [math.inf, -math.inf]
    text = (run.path / "history.jsonl").read_text()
    assert json.loads(text, parse_constant=pytest.fail)["valid_loss"] == ["Infinity", "-Infinity"]


@pytest.mark.parametrize(
    "torn", [b"{", b'{"epoch": 3}', b"\0" * 10_000, b'{"epoch": 3, "pad": "' + b"x" * 10_000]
)
def test_torn_last_row_is_skipped_and_cut_off(run, torn):
    fill(run)
    path = run.path / "history.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    assert epochs(run) == [1, 2]
    run.append_history({"epoch": 3})
    assert path.read_bytes() == whole + b'{"epoch": 3}\n'
    path.write_bytes(whole + torn)
    run.truncate_history(2)
    assert path.read_bytes() == whole


def test_history_of_a_single_torn_row_is_empty(run):
    (run.path / "history.jsonl").write_bytes(b'{"epo')
    assert run.history() == []
    run.append_history({"epoch": 1})
    assert epochs(run) == [1]


def test_rows_after_an_epoch_are_dropped(run):
    run.truncate_history(3)
    assert not run.has("history.jsonl")
    for epoch in range(1, 6):
        run.append_history({"epoch": epoch, "train_loss": [epoch / 7]})
    rows = run.history()
    run.truncate_history(3)
    assert run.history() == rows[:3]
    run.append_history({"epoch": 4})
    assert epochs(run) == [1, 2, 3, 4]
    run.truncate_history(0)
    assert run.history() == []


@pytest.mark.parametrize(
    "line", [b"{", b"[1]", b'{"train_loss": 1}', b'{"epoch": "1"}', b"\xff", b""]
)
def test_damaged_row_is_named_by_its_line(run, line):
    (run.path / "history.jsonl").write_bytes(b'{"epoch": 1}\n' + line + b"\n")
    with pytest.raises(RunError, match=r"history\.jsonl, line 2 is damaged"):
        run.history()


@pytest.mark.parametrize("row", [{}, {"epoch": None}, {"epoch": 1.0}, {"epoch": True}])
def test_row_without_epoch_is_refused(run, row):
    with pytest.raises(RunError, match="needs a whole number 'epoch'"):
        run.append_history(row)
    assert not run.has("history.jsonl")


def test_history_reaches_the_disk_before_a_checkpoint_does(run, monkeypatch):
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("only /proc tells which file a handle is")
    synced = []
    monkeypatch.setattr(
        os, "fsync", lambda handle: synced.append(Path(f"/proc/self/fd/{handle}").readlink().name)
    )
    run.append_history({"epoch": 1})
    assert synced == []
    run.save_tensors(CHECKPOINT, {"a": torch.ones(1)})
    run.save_tensors(CHECKPOINT, {"a": torch.ones(1)})
    names = [name.split(".safetensors")[0] for name in synced]
    assert names == ["history.jsonl", ".checkpoint", "run", ".checkpoint", "run"]


# Files


def test_everything_comes_back(run):
    fill(run)
    back = RunFolder.open(run.path)
    tensors = back.load_tensors("model.safetensors")
    assert torch.equal(tensors["w"], torch.arange(6.0).view(2, 3))
    assert tensors["empty"].shape == (0,)
    assert back.read_json("metrics.json") == {"accuracy": 0.75, "loss": math.inf}
    assert (run.path / "predictions.csv").read_bytes() == b"name,class\na,0\nb,1\n"
    assert epochs(back) == [1, 2]
    assert not any(name.startswith(".") for name in contents(run.path) if name != ".edgnn.lock")


def test_checkpoint_is_removed_when_training_is_done(run):
    fill(run)
    assert run.has(CHECKPOINT)
    run.remove(CHECKPOINT)
    run.remove(CHECKPOINT)
    assert not run.has(CHECKPOINT)


NAMES = [
    "../x{}",
    "/tmp/x{}",
    "a/b{}",
    "..{}",
    "{}",
    ".hidden{}",
    "a\\b{}",
    "c:x{}",
    "a\0{}",
    "a\n{}",
    "é{}",
    "x",
    "x{}/",
    "x{}\n",
    3,
    None,
]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_are_not_plain_are_refused(run, tmp_path, name):
    def named(suffix):
        return name.format(suffix) if isinstance(name, str) else name

    before = contents(run.path)
    attempts = [
        lambda: run.save_tensors(named(".safetensors"), {"a": torch.ones(1)}),
        lambda: run.load_tensors(named(".safetensors")),
        lambda: run.write_json(named(".json"), 1),
        lambda: run.read_json(named(".json")),
        lambda: run.write_rows(named(".csv"), {"a": [1]}),
    ]
    for attempt in attempts:
        with pytest.raises(RunError, match="is no name of a file in a run folder"):
            attempt()
    assert contents(run.path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_file_that_is_not_there_yet_is_named(run):
    for attempt in (
        lambda: run.load_tensors("model.safetensors"),
        lambda: run.read_json("metrics.json"),
    ):
        with pytest.raises(RunError, match=r"has no (model|metrics)"):
            attempt()


def test_pickled_objects_are_not_loaded(run):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(run.path / "executed"),)

    torch.save({"a": Evil()}, run.path / "model.safetensors")
    with pytest.raises(RunError, match=r"model\.safetensors is damaged"):
        run.load_tensors("model.safetensors")
    assert not (run.path / "executed").exists()


def test_run_folder_can_be_deleted_under_the_writer(run):
    shutil.rmtree(run.path)
    for attempt in (
        lambda: run.append_history({"epoch": 1}),
        lambda: run.write_json("metrics.json", 1),
        lambda: run.update_config(a=1),
    ):
        with pytest.raises(RunError, match="cannot write"):
            attempt()
    assert not run.path.exists()


# Full disks


def full(*args, **kwargs):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class FullStream:
    """A file on a disk that has room for ten more bytes."""

    def __init__(self, stream):
        self._stream = stream

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._stream.close()

    def write(self, data):
        self._stream.write(data[:10])
        self._stream.flush()
        full()


def write_half(real):
    def write(handle, data):
        real(handle, bytes(data)[: len(data) // 2])
        full()

    return write


FULL = {
    "opening": lambda patch: patch.setattr(tempfile, "mkstemp", full),
    "writing": lambda patch: patch.setattr(
        os, "fdopen", lambda *args, real=os.fdopen: FullStream(real(*args))
    ),
    "syncing": lambda patch: patch.setattr(os, "fsync", full),
    "renaming": lambda patch: patch.setattr(os, "replace", full),
}
WRITERS = {
    "model.safetensors": lambda run: run.save_tensors("model.safetensors", {"a": torch.ones(1000)}),
    "metrics.json": lambda run: run.write_json("metrics.json", {"a": 1}),
    "predictions.csv": lambda run: run.write_rows("predictions.csv", {"a": [1]}),
    "config.json": lambda run: run.update_config(a=1),
    "history.jsonl": lambda run: run.truncate_history(1),
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("when", FULL)
def test_full_disk_is_one_clear_error_and_everything_stays(run, monkeypatch, name, when):
    fill(run)
    before, config = contents(run.path), run.config
    with monkeypatch.context() as patch:
        FULL[when](patch)
        with pytest.raises(
            RunError,
            match=rf"cannot write .*{name}: No space left on device; .*intact: free some space",
        ):
            WRITERS[name](run)
    assert contents(run.path) == before
    assert run.config == config
    WRITERS[name](run)
    assert contents(run.path)[name] != before[name]


def test_full_disk_while_serializing_is_one_clear_error(run, monkeypatch):
    fill(run)
    before = contents(run.path)
    monkeypatch.setattr("safetensors.torch.save", full)
    with pytest.raises(RunError, match=r"cannot write .*model\.safetensors: No space left"):
        run.save_tensors("model.safetensors", {"a": torch.ones(1)})
    assert contents(run.path) == before


def test_full_disk_while_appending_leaves_whole_rows(run, monkeypatch):
    fill(run)
    before = contents(run.path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write_half(os.write))
        with pytest.raises(
            RunError, match=r"cannot write .*history\.jsonl: No space left on device.*intact"
        ):
            run.append_history({"epoch": 3})
    assert contents(run.path) == before
    run.append_history({"epoch": 3})
    assert epochs(run) == [1, 2, 3]


def test_row_written_in_pieces_is_whole(run, monkeypatch):
    monkeypatch.setattr(
        os, "write", lambda handle, data, real=os.write: real(handle, bytes(data)[:3])
    )
    run.append_history({"epoch": 1, "train_loss": [0.5]})
    assert run.history() == [{"epoch": 1, "train_loss": [0.5]}]


@pytest.mark.parametrize("when", [*FULL, "second"])
def test_full_disk_while_creating_leaves_nothing_behind(tmp_path, monkeypatch, when):
    def second(patch):
        real = RunFolder.write_json

        def full_environment(run, name, value):
            FULL["writing"](patch)
            real(run, name, value)

        patch.setattr(RunFolder, "write_json", full_environment)

    for folder in (tmp_path / "new", tmp_path / "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with monkeypatch.context() as patch:
            (FULL | {"second": second})[when](patch)
            with pytest.raises(RunError, match=r"(config|environment)\.json: No space left"):
                RunFolder.create(folder, CONFIG)
        assert not (tmp_path / "new").exists()
        assert set(contents(tmp_path / "empty")) <= {".edgnn.lock"}
    assert (
        RunFolder.create(tmp_path / "new", CONFIG).config
        == RunFolder.create(tmp_path / "empty", CONFIG).config
    )


# Locks

HOLD = """
import sys
from edgnn.training import RunFolder
with RunFolder.open(sys.argv[1]).lock():
    print("locked", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def holder(run):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, run.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "locked\n"
        yield process
        process.kill()


def test_second_training_is_refused_until_the_first_is_killed(run, holder):
    with (
        pytest.raises(
            RunError, match=r"another training is writing to .*run; wait until it has ended"
        ),
        run.lock(),
    ):
        pass
    with pytest.raises(RunError, match="another training is writing to"):
        RunFolder.create(run.path, CONFIG, overwrite=True)
    assert run.config["note"] == RunFolder.open(run.path).config["note"]
    holder.kill()
    holder.wait()
    with run.lock():
        run.append_history({"epoch": 1})


def test_of_two_creations_at_once_one_wins(tmp_path, monkeypatch):
    real = RunFolder._locked

    def overtaken(run):
        monkeypatch.setattr(RunFolder, "_locked", real)
        RunFolder.create(run.path, {"first": True})
        return real(run)

    monkeypatch.setattr(RunFolder, "_locked", overtaken)
    with pytest.raises(RunError, match="already holds a run"):
        RunFolder.create(tmp_path / "run", {"first": False})
    assert RunFolder.open(tmp_path / "run").config["first"] is True


def test_lock_is_held_once_within_a_process_too(run):
    with run.lock():
        for other in (run, RunFolder.open(run.path)):
            with pytest.raises(RunError, match="another training"), other.lock():
                pass
    with suppress(KeyError), run.lock():
        raise KeyError
    with run.lock():
        pass


def test_lock_removes_what_killed_writers_left_and_nothing_else(run):
    fill(run)
    before = contents(run.path)
    mine = [
        ".hidden",
        ".notes.txt.abcdefgh",
        "model.safetensors.bak",
        ".model.safetensors.ABCDEFGH",
        "x.json.abcdefgh",
    ]
    for name in mine:
        (run.path / name).write_text("mine")
    for name in (
        ".model.safetensors.ab_d3fgh",
        ".history.jsonl.00000000",
        ".metrics.json.abcdefgh",
        ".predictions.csv.abcdefgh",
    ):
        (run.path / name).write_text("unfinished")
    with run.lock():
        assert contents(run.path) == before | dict.fromkeys(mine, b"mine")


def test_lock_notices_that_another_training_came_in_between(run):
    other = RunFolder.open(run.path)
    other.update_config(a=1)
    with pytest.raises(RunError, match="changed by another training since"), run.lock():
        pass
    with RunFolder.open(run.path).lock():
        pass


def test_configuration_with_nan_can_be_locked(tmp_path):
    with RunFolder.create(tmp_path / "run", {"a": math.nan}).lock():
        pass


# kill -9

KILLED = """
import os, random, signal, sys, time
import torch
from edgnn.training import RunFolder

path = sys.argv[1]
RunFolder.create(path, {"step": 0})

def train():
    run = RunFolder.open(path)
    with run.lock():
        left = [name for name in os.listdir(path) if name.startswith(".") and name != ".edgnn.lock"]
        assert not left, left
        step = check(run)
        run.truncate_history(step)
        while True:
            step += 1
            run.append_history({"epoch": step, "train_loss": [step / 7] * 50})
            run.save_tensors("checkpoint.safetensors", {"step": torch.tensor(step), "w": torch.full((5000,), step)})
            run.write_json("metrics.json", {"steps": [step] * 1000})
            run.write_rows("predictions.csv", {"a": [step] * 1000})
            run.update_config(step=step, pad=[step] * 1000)

def check(run):
    step = 0
    if run.has("checkpoint.safetensors"):
        tensors = run.load_tensors("checkpoint.safetensors")
        step = int(tensors["step"])
        assert bool((tensors["w"] == step).all())
    rows = run.history()
    assert [row["epoch"] for row in rows] == list(range(1, len(rows) + 1))
    assert len(rows) in (step, step + 1), (len(rows), step)
    assert all(row["train_loss"] == [row["epoch"] / 7] * 50 for row in rows)
    found = []
    if run.has("metrics.json"):
        found.append(run.read_json("metrics.json")["steps"])
    if run.has("predictions.csv"):
        found.append([int(value) for value in (run.path / "predictions.csv").read_text().split()[1:]])
    if run.config["step"]:
        found.append(run.config["pad"])
        assert run.config["pad"][0] == run.config["step"]
    for values in found:
        assert len(values) == 1000 and len(set(values)) == 1 and values[0] <= step
    return step

def die_at(point):
    seen = 0
    def deadly(real, half):
        def call(*args, **options):
            nonlocal seen
            seen += 1
            if seen == point:
                if half:
                    real(args[0], bytes(args[1])[:20])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **options)
        return call
    os.write = deadly(os.write, True)
    for name in ("fsync", "replace", "chmod", "fdopen"):
        setattr(os, name, deadly(getattr(os, name), False))

def killed(prepare, moment):
    child = os.fork()
    if child == 0:
        try:
            prepare()
            train()
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
        os._exit(1)
    if moment is not None:
        time.sleep(moment)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, status
    return check(RunFolder.open(path))

steps = [killed(lambda: die_at(point), None) for point in range(1, 31)]
assert steps == sorted(steps)
chance = random.Random(int(sys.argv[2]))
steps += [killed(lambda: None, chance.uniform(0, 0.1)) for _ in range(8)]
assert steps == sorted(steps)
print(steps[-1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no SIGKILL")
def test_kill_at_any_moment_leaves_every_file_old_or_new(run_python, tmp_path):
    moments = int.from_bytes(os.urandom(4), "little")
    assert int(run_python(KILLED, tmp_path / "run", moments, OMP_NUM_THREADS="1")) > 8


def test_kill_while_overwriting_leaves_a_run_without_results(run, run_python):
    fill(run)
    code = (
        "import os, signal, sys\n"
        "from edgnn.training import _run_folder\n"
        "_run_folder.atomic_file = lambda path: os.kill(os.getpid(), signal.SIGKILL)\n"
        "if os.fork() == 0: _run_folder.RunFolder.create(sys.argv[1], {'new': 1}, overwrite=True)\n"
        "assert os.wait()[1] == signal.SIGKILL\n"
    )
    run_python(code, run.path)
    again = RunFolder.open(run.path)
    assert again.config == run.config
    assert again.history() == []
    assert sorted(contents(run.path)) == [".edgnn.lock", "config.json"]


# Damage


@cache
def whole():
    with tempfile.TemporaryDirectory() as place:
        run = RunFolder.create(Path(place) / "run", CONFIG)
        fill(run)
        return contents(run.path)


@st.composite
def damaged(draw):
    name = draw(
        st.sampled_from(
            [
                "config.json",
                "history.jsonl",
                "model.safetensors",
                "checkpoint.safetensors",
                "metrics.json",
            ]
        )
    )
    data = bytearray(whole()[name])
    kind = draw(st.sampled_from(["cut", "flip", "insert", "replace"]))
    place = draw(st.integers(0, len(data) - 1))
    if kind == "cut":
        del data[place:]
    elif kind == "flip":
        data[place] ^= draw(st.integers(1, 255))
    elif kind == "insert":
        data[place:place] = draw(st.binary(min_size=1, max_size=9))
    else:
        data = bytearray(draw(st.binary(max_size=99)))
    return name, bytes(data)


def outcome(call):
    """The message of the RunError that a call ends with, if it does; any other error is a failure."""
    try:
        call()
    except RunError as error:
        return str(error)
    return None


@settings(max_examples=150)
@given(damaged())
def test_damage_is_an_error_that_names_the_file_or_harmless(damage):
    name, data = damage
    with tempfile.TemporaryDirectory() as place:
        for file, content in whole().items():
            (Path(place) / file).write_bytes(data if file == name else content)
        assert outcome(lambda: RunFolder.create(place, CONFIG)) is not None
        message = outcome(lambda: RunFolder.open(place))
        assert message is None or name == "config.json"
        if message is not None:
            return
        run = RunFolder.open(place)
        calls = {
            "model.safetensors": lambda: run.load_tensors("model.safetensors")["w"].sum().item(),
            "checkpoint.safetensors": lambda: run.load_tensors(CHECKPOINT),
            "metrics.json": lambda: run.read_json("metrics.json"),
            "history.jsonl": lambda: (run.history(), run.truncate_history(1)),
            "config.json": lambda: run.update_config(a=1),
        }
        for file, call in calls.items():
            message = outcome(call)
            assert message is None or (file == name and file in message)
        run.append_history({"epoch": 9})


@pytest.mark.parametrize("name", ["model.safetensors", "checkpoint.safetensors"])
def test_every_cut_tensor_file_is_refused(run, name):
    fill(run)
    data = (run.path / name).read_bytes()
    for length in range(0, len(data), 7):
        (run.path / name).write_bytes(data[:length])
        with pytest.raises(RunError, match=f"{name} is damaged"):
            run.load_tensors(name)


def test_every_flipped_bit_of_the_numbers_is_noticed(run):
    fill(run)
    path = run.path / "model.safetensors"
    data = path.read_bytes()
    for place in range(len(data) - 24, len(data)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        with pytest.raises(RunError, match=r"model\.safetensors is damaged"):
            run.load_tensors("model.safetensors")
