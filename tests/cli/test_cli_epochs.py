import json

import pytest

from edgnn.models import load_model
from edgnn.training import RunFolder

QUICK = ("--hidden", 8, "--dropout", 0.25, "--members", 2, "--quiet")


@pytest.fixture(autouse=True)
def checkpoints_always(monkeypatch):
    monkeypatch.setattr("edgnn.models._runs._SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr("edgnn.models._runs._SHARE_OF_TIME", float("inf"))


@pytest.fixture
def interrupted(command, molecules, tmp_path, monkeypatch):
    """A run of 3,000 epochs that Ctrl-C has ended in the fourth."""
    real = RunFolder.append_history

    def pressed(self, row):
        if row["epoch"] == 4:
            raise KeyboardInterrupt
        real(self, row)

    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "append_history", pressed)
        assert (
            command(
                "train", molecules, "--out", tmp_path / "run", "--max-epochs", 3000, *QUICK
            ).code
            == 130
        )
    return tmp_path / "run"


@pytest.fixture
def trained(command, molecules, tmp_path):
    """Return a run of so many epochs without any interruption."""

    def train(epochs):
        run = tmp_path / f"whole{epochs}"
        assert command("train", molecules, "--out", run, "--max-epochs", epochs, *QUICK).code == 0
        return run

    return train


def files_of(run):
    config, metrics = (
        json.loads((run / f"{name}.json").read_text()) for name in ("config", "metrics")
    )
    history = [row | {"seconds": 0} for row in RunFolder.open(run).history()]
    return (
        (run / "model.safetensors").read_bytes(),
        (run / "predictions.csv").read_bytes(),
        history,
        config["parameters"],
        config["fitted"],
        metrics | {"seconds": 0},
    )


@pytest.mark.parametrize(("asked", "epochs"), [(6, 6), (3, 3), (1, 3)])
def test_another_number_of_epochs_gives_the_run_that_was_started_with_it(
    command, interrupted, trained, asked, epochs
):
    ended = command("train", "--resume", "--out", interrupted, "--max-epochs", asked)
    assert ended.code == 0
    assert f"{'resuming' if asked > 3 else 'ending'} {interrupted} after epoch 3" in ended.err
    assert f"of {epochs}, " in ended.out
    assert files_of(interrupted) == files_of(trained(epochs))
    assert not (interrupted / "checkpoint.safetensors").exists()
    assert load_model(interrupted).max_epochs == epochs


def test_the_new_number_holds_for_the_next_resumption(command, interrupted, trained, monkeypatch):
    def pressed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "append_history", pressed)
        assert command("train", "--resume", "--out", interrupted, "--max-epochs", 5).code == 130
    assert command("train", "--resume", "--out", interrupted).code == 0
    assert files_of(interrupted) == files_of(trained(5))


def test_only_the_number_of_epochs_may_change(command, interrupted):
    before = (interrupted / "config.json").read_bytes()
    for words, message in (
        (("--max-epochs", 5, "--hidden", 9), "has hidden=8, not 9"),
        (("--max-epochs", "many"), "max_epochs='many': choose a whole number, 1 or more"),
        (("--max-epochs", 0), "max_epochs=0: choose a whole number, 1 or more"),
    ):
        ended = command("train", "--resume", "--out", interrupted, *words)
        assert (ended.code, ended.err.count("\n")) == (2, 1)
        assert message in ended.err
    assert (interrupted / "config.json").read_bytes() == before


def test_a_run_without_a_model_tells_both_ways_to_one(command, interrupted, molecules):
    ended = command("predict", interrupted, molecules)
    way = f"edgnn train --resume --out {interrupted}"
    assert ended.code == 2
    assert (
        f"resume it ({way}), or end it now, with the best epoch so far ({way} --max-epochs 1)"
        in ended.err
    )
    assert (
        command("train", "--resume", "--out", interrupted, "--max-epochs", 1, "--quiet").code == 0
    )
    assert command("predict", interrupted, molecules).code == 0


def test_a_finished_run_cannot_go_on_without_its_checkpoint(command, trained):
    run = trained(3)
    before = files_of(run)
    ended = command("train", "--resume", "--out", run, "--max-epochs", 5)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "has done its 3 epochs, and its checkpoint is removed at the end" in ended.err
    assert "start another run with max_epochs=5" in ended.err
    for number in (2, 3):
        ended = command("train", "--resume", "--out", run, "--max-epochs", number)
        assert (ended.code, ended.out) == (0, f"{run} is finished: there is nothing to resume\n")
    assert files_of(run) == before


def test_a_finished_run_goes_on_where_its_checkpoint_is_left(command, trained, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "remove", lambda *_: None)
        run = trained(3)
    assert command("train", "--resume", "--out", run, "--max-epochs", 5).code == 0
    run.rename(run.with_name("longer"))
    assert files_of(run.with_name("longer")) == files_of(trained(5))


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"source": None}, "does not say what the run was trained on"),
        ({"source": 1, "parts": {}}, "does not say what the run was trained on"),
        ({"parts": {"test": None}}, "does not say which items the run was started with"),
    ],
)
def test_a_run_that_says_nonsense_about_its_data_is_not_resumed(command, interrupted, said, reason):
    RunFolder.open(interrupted).update_config(**said)
    ended = command("train", "--resume", "--out", interrupted)
    assert ended.code == 2
    assert reason in ended.err


@pytest.mark.parametrize("threads", [10**9, 0, "2", None, 1.0])
def test_a_run_with_a_strange_number_of_threads_is_not_resumed(command, interrupted, threads):
    RunFolder.open(interrupted).write_json("environment.json", {"threads": threads})
    ended = command("train", "--resume", "--out", interrupted)
    assert ended.code == 2
    assert "how many threads" in ended.err
