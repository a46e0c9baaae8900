import json

import pytest

from edgnn.report import read_report
from study_pages import make_study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return make_study(tmp_path_factory.mktemp("studies") / "study", {"edgnn": 0.9, "gin": 0.8}, ("MUTAG",))


def test_the_page_of_a_study_lies_in_it(command, study):
    ended = command("report", study.path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == f"{study.path / 'report.html'}\n"
    assert read_report(study.path / "report.html")["kind"] == "study"


def test_a_run_and_an_evaluation_have_pages_too(command, tmp_path):
    quick = ("--max-epochs", 1, "--hidden", 4)
    assert command("train", "MUTAG", "--out", tmp_path / "run", *quick).code == 0
    assert command("report", tmp_path / "run").out == f"{tmp_path / 'run' / 'report.html'}\n"
    assert command("evaluate", "MUTAG", "--protocol", "cv2x1", *quick, "--quiet", "--out", tmp_path / "a.json").code == 0
    ended = command("report", tmp_path / "a.json", "--json")
    assert json.loads(ended.out) == {"report": str(tmp_path / "a.html")}
    data = read_report(tmp_path / "a.html")
    assert data["title"] == "edgnn on MUTAG"
    assert data["settings"]["command"].startswith("edgnn evaluate MUTAG --protocol cv2x1")


def test_the_page_can_lie_elsewhere(command, study, tmp_path):
    assert command("report", study.path, "--out", tmp_path / "page.html").out == f"{tmp_path / 'page.html'}\n"
    ended = command("report", study.path, "--out", tmp_path)
    assert (ended.code, ended.err) == (2, f"edgnn: --out {tmp_path} is a folder; name a file\n")


def test_the_page_is_opened_on_request(command, study, monkeypatch):
    opened = []
    monkeypatch.setattr("typer.launch", opened.append)
    assert command("report", study.path, "--open").code == 0
    assert opened == [(study.path / "report.html").as_uri()]


def test_another_folder_is_one_clear_line(command, tmp_path):
    ended = command("report", tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(
        f"edgnn: {tmp_path} is a folder without study.json or config.json; expected the folder of a study"
    )
    assert ended.err.count("\n") == 1
