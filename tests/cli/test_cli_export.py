import json
import shutil
import subprocess

import pytest
import torch

import edgnn
from warm_python import warm_python

QUICK = ("--max-epochs", 2, "--hidden", 8, "--quiet")


@pytest.fixture
def run(command, molecules, tmp_path):
    assert command("train", molecules, "--out", tmp_path / "run", *QUICK).code == 0
    return tmp_path / "run"


@pytest.mark.slow
def test_exported_run_predicts_as_the_run_does(command, run, molecules, tmp_path):
    ended = command("export", run, "--out", tmp_path / "model")
    assert (ended.code, ended.err) == (0, "")
    files, checked, hint, way = ended.out.splitlines()
    assert way.endswith(f"edgnn convert NEW graphs.json --for {run}")
    assert files.startswith(f"{tmp_path / 'model'}: model.pt2 (")
    assert checked.startswith(
        "checked on 32 random graphs of 8 sizes: predictions differ by at most "
    )
    assert hint.endswith("predict.py --check")
    graphs = edgnn.read(molecules)
    program = torch.export.load(tmp_path / "model" / "model.pt2").module()
    about = json.loads((tmp_path / "model" / "labels.json").read_text())
    assert about["names"] == ["-1", "1"]
    numbers = {label: number for number, label in enumerate(about["node_labels"])}
    of_edges = {label: number for number, label in enumerate(about["edge_labels"])}
    found = program(
        node_label=torch.tensor([numbers[label] for label in graphs.node_labels]),
        edge_source=graphs.edge_source,
        edge_target=graphs.edge_target,
        edge_label=torch.tensor([of_edges[label] for label in graphs.edge_labels]),
        graph_offset=graphs.graph_offset,
    )
    predicted = json.loads(command("predict", run, molecules, "--json").out)["predictions"]
    assert found.tolist() == [
        pytest.approx([row["p(-1)"], row["p(1)"]], abs=1e-5) for row in predicted
    ]

    again = command("export", run, "--out", tmp_path / "model")
    assert again.code == 2
    assert "holds an exported model already" in again.err
    told = json.loads(
        command("export", run, "--out", tmp_path / "model", "--overwrite", "--json").out
    )
    assert (told["folder"], told["device"]) == (str(tmp_path / "model"), "cpu")
    assert told["checked"]["difference"] <= told["checked"]["tolerance"] * 10
    assert sorted(told["files"]) == ["check.json", "labels.json", "model.pt2", "predict.py"]


def damaged(run, place, class_names):
    shutil.copytree(run, place)
    config = json.loads((place / "config.json").read_text())
    (place / "config.json").write_text(json.dumps(config | {"class_names": class_names}))
    return place


def test_what_cannot_be_exported_is_told_in_one_line(command, run, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    for words, rule in (
        (("nowhere", "--out", tmp_path / "model"), "nowhere"),
        ((run, "--out", tmp_path / "full"), "exists and is no exported model"),
        ((run, "--out", tmp_path / "model", "--device", "toaster"), "device='toaster': choose"),
        (
            (damaged(run, tmp_path / "a", 7), "--out", tmp_path / "model"),
            "class_names in the config.json of the run is not a list",
        ),
        (
            (damaged(run, tmp_path / "b", ["a"]), "--out", tmp_path / "model"),
            "1 class_names do not name the classes [0, 1]",
        ),
    ):
        ended = command("export", *words)
        assert (ended.code, len(ended.err.splitlines())) == (2, 1)
        assert rule in ended.err
    assert not (tmp_path / "model").exists()


def answers_of(folder, file):
    done = subprocess.run(
        [warm_python(), folder / "predict.py", file], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("level", ["graph", "node"])
def test_new_data_for_the_script_gives_what_predict_gives(command, smiles, people, tmp_path, level):
    run, new, model, file = (tmp_path / name for name in ("run", "new", "model", "graphs.json"))
    if level == "graph":
        words = (smiles, "-t", "kind", "-o", "atom_label=symbol,degree")
        new = tmp_path / "new.csv"
        new.write_text("name,smiles\nfirst,CCCO\nsecond,CCN\nthird,NCCN\n")
    else:
        words, new = (people, "-t", "group"), people
    assert command("train", *words, "--out", run, *QUICK).code == 0
    assert command("export", run, "--out", model).code == 0
    ended = command("convert", new, file, "--for", run)
    count = "3 graphs" if level == "graph" else "30 nodes"
    assert (ended.code, ended.out) == (
        0,
        f"{file}: {count} for predict.py of the model from {run}\n",
    )
    rows = json.loads(command("predict", run, new, "--json").out)["predictions"]
    found, warned = answers_of(model, file)
    assert warned == ""
    assert [row["id"] for row in found] == [row["id"] for row in rows]
    assert [row["prediction"] for row in found] == [row["prediction"] for row in rows]
    for answer, row in zip(found, rows, strict=True):
        assert answer["probability"] == {
            name: pytest.approx(row[f"p({name})"], abs=1e-5) for name in answer["probability"]
        }


def test_new_data_for_the_script_is_whole_or_not_there(command, run, molecules, smiles, tmp_path):
    file = tmp_path / "graphs.json"
    for words, rule in (
        (
            (smiles, file, "--for", run, "-t", "kind"),
            "leave --format, --task, --target, --target-file out",
        ),
        ((smiles, file, "--for", "nowhere"), "there is no folder nowhere"),
        ((smiles, file, "--for", run), "the model has learned none of the labels of these"),
        ((molecules, tmp_path / "no" / "graphs.json", "--for", run), "there is no folder"),
        (
            (molecules, file),
            "node-link JSON holds a single graph, not 40: write a folder of arrays",
        ),
    ):
        ended = command("convert", *words)
        assert (ended.code, ended.err.count("\n")) == (2, 1)
        assert rule in ended.err
    assert not file.exists()
    told = json.loads(command("convert", molecules, file, "--for", run, "--json").out)
    assert told == {"written": str(file), "format": "predict.py", "run": str(run)}
    graphs, written = edgnn.read(molecules), json.loads(file.read_text())
    assert [graph["node_labels"] for graph in written] == [graph.node_labels for graph in graphs]
    (tmp_path / "model").mkdir()
    for name in ("model.pt2", "labels.json"):
        (tmp_path / "model" / name).write_text("")
    assert (
        "name the run that it is from"
        in command("convert", molecules, file, "--for", tmp_path / "model").err
    )
