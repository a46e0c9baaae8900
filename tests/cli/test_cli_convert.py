import json

import numpy as np
import pytest

import edgnn


def test_convert_writes_arrays_that_train_and_show_take(command, molecules, tmp_path):
    ended = command("convert", molecules, tmp_path / "m.graphs")
    assert (ended.code, ended.err) == (0, "")
    assert "Graphs(40 graphs" in ended.out
    data, original = edgnn.load_dataset(tmp_path / "m.graphs"), edgnn.load_dataset(molecules)
    assert data.graphs.equals(original.graphs)
    assert (data.class_names, data.targets.tolist()) == (
        original.class_names,
        original.targets.tolist(),
    )
    shown = json.loads(
        command("datasets", "show", tmp_path / "m.graphs", "-o", "verify=true", "--json").out
    )
    assert shown["statistics"]["graphs"] == 40
    options = ("--max-epochs", "2", "--hidden", "4", "--json", "--out", tmp_path / "run")
    assert command("train", tmp_path / "m.graphs", *options).code == 0
    assert command("predict", tmp_path / "run", tmp_path / "m.graphs").code == 0


def test_convert_keeps_the_targets_of_nodes(command, people, tmp_path):
    ended = command(
        "convert", people, tmp_path / "p.graphs", "--task", "node", "--target", "group", "--json"
    )
    assert json.loads(ended.out) == {"written": str(tmp_path / "p.graphs"), "format": "arrays"}
    data = edgnn.load_dataset(tmp_path / "p.graphs")
    assert (data.level, len(data.nodes), data.class_names) == ("node", 20, ("x", "y"))
    assert data.nodes.names[0] == "p1"


def test_convert_names_classes_where_the_format_takes_names(command, tmp_path):
    assert command("convert", "MUTAG", tmp_path / "m", "--format", "tables").code == 0
    original = edgnn.load_dataset("MUTAG")
    back = edgnn.load_dataset(tmp_path / "m", graph_target="target")
    assert (
        np.array(back.class_names)[back.targets].tolist()
        == np.array(original.class_names)[original.targets].tolist()
    )
    assert command("convert", "MUTAG", tmp_path / "t", "--format", "tu").code == 0
    assert edgnn.read_labeled(tmp_path / "t").targets.tolist() == original.targets.tolist()


def test_convert_says_that_targets_are_left_out(command, people, tmp_path):
    ended = command("convert", people, tmp_path / "p.json", "--task", "node", "-t", "group")
    assert ended.code == 0
    assert "the format 'node-link' holds no targets of nodes, so they are left out" in ended.err


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (("MUTAG", "out"), "cannot tell the format of 'out'"),
        (("nowhere.csv", "out.graphs"), "neither a data set's name nor an existing file"),
    ],
)
def test_convert_refuses_before_it_reads(command, words, rule, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = command("convert", *words)
    assert (ended.code, list(tmp_path.iterdir())) == (2, [])
    assert rule in ended.err


def test_target_columns_of_arrays_are_refused(command, molecules, tmp_path):
    command("convert", molecules, tmp_path / "m.graphs")
    ended = command("train", tmp_path / "m.graphs", "--target", "active", "--out", tmp_path / "run")
    assert ended.code == 2
    assert (
        "m.graphs has the format 'arrays', which has no target columns; leave target out"
        in ended.err
    )
