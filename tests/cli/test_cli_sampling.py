from __future__ import annotations

import json

QUICK = (
    "--max-epochs",
    "2",
    "--hidden",
    "4",
    "--test",
    "none",
    "--target",
    "group",
    "--batch-size",
    "4",
)


def parameters_of(run):
    return json.loads((run / "config.json").read_text())["parameters"]


def test_nodes_are_trained_on_samples(command, people, tmp_path):
    assert command("train", people, "--out", tmp_path / "one", *QUICK, "--fanout", "2").code == 0
    assert (
        parameters_of(tmp_path / "one")["batch_size"],
        parameters_of(tmp_path / "one")["fanout"],
    ) == (4, 2)
    assert (
        command(
            "train", people, "--out", tmp_path / "two", *QUICK, "--fanout", "2,1", "--layers", "3"
        ).code
        == 0
    )
    assert parameters_of(tmp_path / "two")["fanout"] == [2, 1]
    assert (
        command("predict", tmp_path / "two", people, "--out", tmp_path / "predictions.csv").code
        == 0
    )


def test_a_file_may_hold_the_fanout_and_a_run_go_on_with_it(command, people, tmp_path):
    (tmp_path / "config.toml").write_text("fanout = [2, 1]\nlayers = 3\n")
    words = (
        "train",
        people,
        "--out",
        tmp_path / "run",
        *QUICK,
        "--config",
        tmp_path / "config.toml",
    )
    assert command(*words).code == 0
    assert "nothing to resume" in command(*words, "--resume").out


def test_a_fanout_that_does_not_fit_is_told(command, people, tmp_path):
    ended = command("train", people, "--out", tmp_path / "run", *QUICK, "--fanout", "2,2")
    assert ended.code != 0
    assert "fanout=(2, 2) has 2 numbers, but 1 of the model's 2 layers read neighbors" in ended.err
    ended = command("train", people, "--out", tmp_path / "other", *QUICK, "--fanout", "0")
    assert (
        "fanout=0: choose a whole number, 1 or more, or None (all neighbors); or several such"
        in ended.err
    )


def test_a_fanout_that_does_not_fit_leaves_no_run_in_the_way(command, people, tmp_path):
    words = ("train", people, "--out", tmp_path / "run", *QUICK)
    for wrong in (("--fanout", "2,2"), ("--fanout", "2", "--batch-size", "none")):
        assert command(*words, *wrong).code != 0
        assert not (tmp_path / "run").exists()
    assert command(*words, "--fanout", "2").code == 0


def test_a_fanout_is_for_nodes(command, molecules, tmp_path):
    ended = command(
        "train", molecules, "--out", tmp_path / "run", "--max-epochs", "1", "--fanout", "2"
    )
    assert ended.code != 0
    assert (
        "fanout says how many neighbors of a node are read, and these are graphs: leave it out"
        in ended.err
    )
