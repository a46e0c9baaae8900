import json

import pytest

from edgnn.errors import EdgnnError, FormatError
from edgnn.report import ReportError, read_report, write_report
from edgnn.training import RunFolder
from study_pages import made_evaluation, make_study


@pytest.fixture
def stored(tmp_path):
    evaluation = made_evaluation(0.8)
    about = {
        "command": "edgnn evaluate MUTAG",
        "data": "MUTAG",
        "model": "gin",
        "protocol": "cv10",
        "seconds": 3.0,
        "splits": 10,
    }
    document = about | {
        "paper": {"row": "a", "mean": 86.9, "spread": None},
        "environment": {"date": "2026-01-02"},
    }
    path = tmp_path / "found.json"
    path.write_text(json.dumps(document | {"evaluation": evaluation.to_dict()}))
    return path


def test_each_kind_has_its_page(tmp_path, stored, page_of):
    study = make_study(tmp_path / "study", {"edgnn": 0.9}, ("MUTAG",), runs=1)
    run = RunFolder.create(tmp_path / "run", {"estimator": "GraphClassifier"})
    assert write_report(study.path) == study.path / "report.html"
    assert write_report(run.path) == run.path / "report.html"
    assert write_report(stored) == tmp_path / "found.html"
    assert write_report(stored, tmp_path / "other.html") == tmp_path / "other.html"
    pages = [study.path / "report.html", run.path / "report.html", tmp_path / "found.html"]
    assert [read_report(page)["kind"] for page in pages] == ["study", "run", "evaluation"]
    for page in pages:
        page_of(page)


def test_an_evaluation_from_a_file_is_shown_as_it_was(stored, page_of):
    path = write_report(stored)
    text, data = page_of(path).text, read_report(path)
    assert "gin on MUTAG" in text
    assert "edgnn evaluate MUTAG" in text
    assert "3.0 s · 2026-01-02" in text
    assert data["paper"] == [pytest.approx(0.869), None]
    assert data["settings"]["protocol"] == "cv10"
    assert "evaluation" not in data["settings"]


def test_the_plain_values_of_an_evaluation_will_do(tmp_path, page_of):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(made_evaluation(0.8).to_dict()))
    assert "mine" in page_of(write_report(path)).text


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", "[1]", "JSON file without an evaluation"),
        ("a.json", "{}", "JSON file without an evaluation"),
        ("a.txt", "hello", "no JSON file"),
        ("a.json", "\xff", "no JSON file"),
        ("a.html", "<p>", "is a page already"),
    ],
)
def test_anything_else_is_told_what_was_expected(tmp_path, name, content, said):
    (tmp_path / name).write_text(content, encoding="latin-1")
    with pytest.raises(
        ReportError,
        match=rf"{said}; expected the folder of a study .*reproduce.*, the folder of a run .*JSON",
    ):
        write_report(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_strange_folder_and_no_file_at_all_are_told_apart(tmp_path):
    with pytest.raises(
        ReportError, match=r"a folder without study\.json or config\.json; expected"
    ):
        write_report(tmp_path)
    with pytest.raises(ReportError, match=r"there is no .*missing; expected"):
        write_report(tmp_path / "missing")


@pytest.mark.parametrize(
    "change",
    [{"truth": [0, 1]}, {"splits": [{}]}, {"format": 99}, {"task": None}, {"metrics": ["nothing"]}],
)
def test_a_damaged_evaluation_is_named(stored, tmp_path, change):
    document = json.loads(stored.read_text())
    document["evaluation"] |= change
    stored.write_text(json.dumps(document))
    with pytest.raises(EdgnnError) as caught:
        write_report(stored)
    assert (
        isinstance(caught.value, FormatError)
        or "evaluat" in str(caught.value)
        or "metric" in str(caught.value)
    )
    assert [path.name for path in tmp_path.iterdir()] == ["found.json"]
