import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from edgnn.cli import app, main
from warm_python import warm_python

run = CliRunner().invoke


def test_list_says_where_each_set_would_come_from(monkeypatch, tmp_path):
    monkeypatch.delenv("EDGNN_DATA", raising=False)
    monkeypatch.setenv("EDGNN_CACHE", str(tmp_path))
    rows = {row["name"]: row for row in json.loads(run(app, ["datasets", "--json"]).stdout)}
    assert rows["MUTAG"]["from"] == "installed package"
    assert rows["AIFB"]["from"] == "network"
    plain = run(app, ["datasets"])
    assert plain.exit_code == 0
    assert all(name in plain.stdout for name in rows)


def test_show_prints_ours_beside_the_paper():
    result = run(app, ["datasets", "show", "mutag"], env={"COLUMNS": "120"})
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["here", "188", "2", "17.93", "19.79", "7", "4"] in lines
    assert ["paper", "188", "2", "17.9", "19.8", "6*", "3*"] in lines
    assert "the public files have 7 and 4" in result.stdout


def test_show_json_has_the_columns_of_the_paper(data_dir):
    told = json.loads(
        run(app, ["datasets", "show", "AIFB", "--json", "--data-dir", str(data_dir)]).stdout
    )
    assert told["statistics"] == {
        "classes": 4,
        "nodes": 8285,
        "edges": 29043,
        "node_labels": 1,
        "edge_labels": 45,
        "labeled": 176,
        "train": 140,
        "test": 36,
    }
    assert told["paper"] == {"classes": 4, "nodes": 8285, "edges": 29043, "edge_labels": 45}
    assert told["sha256"]


def test_show_reads_a_file(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target,label\na,b,likes\nb,c,knows\n")
    told = json.loads(run(app, ["datasets", "show", str(tmp_path / "edges.csv"), "--json"]).stdout)
    assert told["statistics"]["edge_labels"] == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["datasets", "show", "no such/file.csv"],
            2,
            "neither a data set's name nor an existing file",
        ),
        (["datasets", "show", "MUTAG", "--data-dir", "nowhere"], 2, "'nowhere' does not exist"),
        (["frobnicate"], 2, "frobnicate"),
        (["datasets", "show", "MUTGA"], 2, "did you mean MUTAG?"),
        (["datasets", "--json", "show", "MUTAG"], 2, "put options behind the command"),
    ],
)
def test_mistakes_are_one_line_on_stderr_and_exit_2(arguments, code, message, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["edgnn", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    captured = capsys.readouterr()
    assert ended.value.code == code
    assert message in captured.err
    assert "Traceback" not in captured.err


def test_a_damaged_file_is_named_with_its_line(tmp_path, monkeypatch, capsys):
    (tmp_path / "x.nt").write_text("<a:a> <b:b> <c:c> .\nnonsense\n")
    monkeypatch.setattr("sys.argv", ["edgnn", "datasets", "show", str(tmp_path / "x.nt")])
    with pytest.raises(SystemExit):
        main()
    error = capsys.readouterr().err
    assert error.startswith(f"edgnn: {tmp_path / 'x.nt'}, line 2: ")
    assert error.count("\n") == 1


@pytest.mark.parametrize("arguments", [["datasets"], ["datasets", "--json"]])
def test_a_reader_that_has_gone_is_told_by_the_exit_code_alone(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        done = subprocess.run(
            [warm_python(), "-m", "edgnn", *arguments],
            stdout=gone,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert (done.returncode, done.stderr) == (141, "")


def test_ctrl_c_is_one_line(monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("edgnn.io.datasets.load_dataset", interrupted)
    monkeypatch.setattr("sys.argv", ["edgnn", "datasets", "show", "MUTAG"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, capsys.readouterr().err) == (130, "edgnn: interrupted\n")


def test_version():
    assert run(app, ["--version"]).stdout.startswith("edgnn 0.")


def test_the_program_leaves_with_the_code_of_its_commands(tmp_path):
    import subprocess

    done = subprocess.run(
        [sys.executable, "-m", "edgnn", "datasets", "show", "MUTGA"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "edgnn: there is no data set 'MUTGA'; did you mean MUTAG?\n"
    done = subprocess.run(
        [warm_python(), "-m", "edgnn", "--version"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout[:8]) == (0, "edgnn 0.")
