"""A package outside of edgnn adds a layer, a model, a format and a metric; edgnn uses all four."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fresh_interpreter import FreshInterpreter

PLUGIN = Path(__file__).resolve().parents[2] / "examples" / "plugin"
TESTS = Path(__file__).resolve().parents[1]
INTERRUPTED = """
import os, signal, sys
from edgnn.cli import main
from edgnn.training import RunFolder
append = RunFolder.append_history
def pressed(run, row):
    append(run, row)
    if row["epoch"] == 2:
        os.kill(os.getpid(), signal.SIGINT)
RunFolder.append_history = pressed
sys.argv = ["edgnn", *{words}]
try:
    main()
finally:
    RunFolder.append_history = append
"""
SERVE = """
import json
import edgnn
from serve_runs import client_of
graph = edgnn.load_dataset("MUTAG").graphs[0]
ends = zip(graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_labels)
given = {"edges": [list(edge) for edge in ends], "node_labels": graph.node_labels}
answer = client_of("whole").post("/predict", json={"graphs": [given]})
assert answer.status_code == 200, answer.text
print(json.dumps(answer.json()["predictions"][0]["prediction"]))
"""
QUICK = ("--max-epochs", "4", "--hidden", "8", "--quiet")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The example package, built and installed as pip does it."""
    source = tmp_path_factory.mktemp("source") / "plugin"
    shutil.copytree(PLUGIN, source)
    target = tmp_path_factory.mktemp("installed")
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--target", target)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install")
    subprocess.run([*map(str, (*pip, *options, source))], check=True)
    return target


@pytest.fixture(scope="module")
def interpreter(installed):
    """An interpreter that has the package."""
    started = FreshInterpreter(installed, TESTS)
    yield started
    started.close()


@pytest.fixture
def edgnn_with_plugin(interpreter, tmp_path):
    """Run the command line where the package is installed, inside an empty folder."""

    def run(*words: object) -> str:
        done = interpreter.command(tmp_path, *words)
        assert done.code == 0, done.err
        return done.out

    return run


def test_its_layer_trains_in_a_fleet_and_is_resumed_explained_served_and_exported(
    edgnn_with_plugin, interpreter, tmp_path
):
    edgnn = edgnn_with_plugin
    options = ("--conv", "max", "--members", "3", "--validation", "0.2", *QUICK)
    edgnn("train", "MUTAG", *options, "--out", "whole")
    words = ["train", "MUTAG", *options, "--out", "interrupted"]
    assert interpreter.run(tmp_path, INTERRUPTED.format(words=words)).code == 130
    edgnn("train", "--resume", "--out", "interrupted", "--quiet")
    whole, resumed = (tmp_path / name / "model.safetensors" for name in ("whole", "interrupted"))
    assert resumed.read_bytes() == whole.read_bytes()
    config = json.loads((tmp_path / "whole" / "config.json").read_text())
    assert config["parameters"]["conv"] == "max"
    table = edgnn("predict", "whole", "MUTAG")
    assert len(table.splitlines()) == 189
    explanation = edgnn("explain", "whole", "MUTAG", "--json")
    assert json.loads(explanation)
    served = interpreter.run(tmp_path, SERVE)
    assert served.code == 0, served.err
    assert json.loads(served.out) == next(csv.DictReader(table.splitlines()))["prediction"]
    edgnn("export", "whole", "--out", "program")
    assert (tmp_path / "program" / "model.pt2").is_file()


def test_its_model_has_the_whole_life_cycle(edgnn_with_plugin, tmp_path):
    edgnn = edgnn_with_plugin
    edgnn("train", "MUTAG", "--model", "nearest-size", "--out", "run", "--quiet")
    assert (tmp_path / "run" / "model.safetensors").is_file()
    assert len(edgnn("predict", "run", "MUTAG").splitlines()) == 189
    edgnn("report", "run")
    assert "NearestSize" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    scored = edgnn("evaluate", "MUTAG", "--model", "nearest-size", "--protocol", "cv3", "--json")
    assert 0.5 < json.loads(scored)["metrics"]["accuracy"]["mean"] <= 1


def test_its_format_is_read_like_ours(edgnn_with_plugin, tmp_path):
    lines = ["active: C-single>O O-single>C", "quiet: C-double>N", "quiet: N-single>C C-single>C"]
    (tmp_path / "some.arrows").write_text("\n".join(lines * 5))
    edgnn_with_plugin("convert", "some.arrows", "some.graphs")
    edgnn_with_plugin(
        "train", "some.arrows", "--validation", "none", "--test", "none", *QUICK, "--out", "run"
    )
    table = edgnn_with_plugin("predict", "run", "some.graphs")
    assert len(table.splitlines()) == 16


def test_its_metric_scores(edgnn_with_plugin):
    words = ("evaluate", "MUTAG", "--model", "ridge", "--protocol", "cv3", "--metric", "mcc")
    scored = json.loads(edgnn_with_plugin(*words, "--json"))
    assert -1 <= scored["metrics"]["mcc"]["mean"] <= 1


def test_without_the_package_its_run_says_what_is_missing(
    edgnn_with_plugin, tmp_path, run_python, monkeypatch
):
    edgnn_with_plugin("train", "MUTAG", "--conv", "max", *QUICK, "--out", "run")
    monkeypatch.chdir(tmp_path)
    code = (
        "import edgnn\n"
        "from edgnn.errors import EdgnnError\n"
        "from edgnn.models import load_model\n"
        "try: load_model('run')\n"
        "except EdgnnError as error: print(error)"
    )
    assert "the layer 'max', which is not known here" in run_python(code)
