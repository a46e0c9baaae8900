import json

import pytest

from edgnn.evaluation import Evaluation
from edgnn.report import read_report
from study_pages import made_evaluation, make_study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return make_study(
        tmp_path_factory.mktemp("studies") / "study", {"edgnn": 0.9, "gin": 0.8}, ("MUTAG",)
    )


def test_the_page_of_a_study_lies_in_it(command, study):
    ended = command("report", study.path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == f"{study.path / 'report.html'}\n"
    assert read_report(study.path / "report.html")["kind"] == "study"


def test_a_run_and_an_evaluation_have_pages_too(command, tmp_path):
    quick = ("--max-epochs", 1, "--hidden", 4)
    assert command("train", "MUTAG", "--out", tmp_path / "run", *quick).code == 0
    assert command("report", tmp_path / "run").out == f"{tmp_path / 'run' / 'report.html'}\n"
    assert (
        command(
            "evaluate",
            "MUTAG",
            "--protocol",
            "cv2x1",
            *quick,
            "--quiet",
            "--out",
            tmp_path / "a.json",
        ).code
        == 0
    )
    ended = command("report", tmp_path / "a.json", "--json")
    assert json.loads(ended.out) == {"report": str(tmp_path / "a.html")}
    data = read_report(tmp_path / "a.html")
    assert data["title"] == "edgnn on MUTAG"
    assert data["settings"]["command"].startswith("edgnn evaluate MUTAG --protocol cv2x1")


def test_the_page_can_lie_elsewhere(command, study, tmp_path):
    assert (
        command("report", study.path, "--out", tmp_path / "page.html").out
        == f"{tmp_path / 'page.html'}\n"
    )
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


@pytest.fixture(scope="module")
def evaluations(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluations")
    for name, right in (("good", 0.9), ("bad", 0.5), ("alike", 0.9)):
        runs = [made_evaluation(right, run, seed=len(name)) for run in range(2)]
        document = {
            "model": name,
            "data": "mine.csv",
            "evaluation": Evaluation.joined(runs).to_dict(),
        }
        (folder / f"{name}.json").write_text(json.dumps(document))
    (folder / "other.json").write_text(json.dumps(made_evaluation(0.9).to_dict()))
    return folder


def test_several_evaluations_are_compared_with_the_first(command, evaluations):
    files = [evaluations / f"{name}.json" for name in ("good", "bad", "alike")]
    ended = command("report", *files)
    assert (ended.code, ended.err) == (0, "")
    lines = [line.rstrip() for line in ended.out.splitlines()]
    assert lines[0] == "mine.csv  60 items, 2 repeats of 10 folds"
    assert lines[1].split() == ["accuracy", "(%)", "mean", "±", "spread", "95", "%", "interval"]
    assert [line.split()[0] for line in lines[2:6]] == ["good", "bad", "alike", "majority"]
    assert lines[7].startswith("minus good  points")
    assert lines[8].split()[0] == "bad"
    assert lines[8].endswith("  real: worse")
    assert lines[9].split()[0] == "alike"
    assert lines[9].endswith("could be luck")
    assert lines[10].startswith(
        "Compared split by split. Real: p below 0.05 after Holm’s correction for 2 comparisons"
    )
    assert lines[-1] == str(evaluations / "comparison.html")
    assert max(map(len, lines[:10])) < 80
    assert read_report(evaluations / "comparison.html")["kind"] == "comparison"


def test_a_comparison_as_json(command, evaluations, tmp_path):
    files = [evaluations / f"{name}.json" for name in ("good", "bad")]
    told = json.loads(command("report", *files, "--out", tmp_path / "page.html", "--json").out)
    assert (told["report"], told["compared_with"]) == (str(tmp_path / "page.html"), "good")
    assert told["differences"][0]["verdict"] == "real: worse"
    assert [row["file"] for row in told["models"]] == list(map(str, files))


def test_the_file_that_differs_is_one_clear_line(command, evaluations):
    ended = command("report", evaluations / "good.json", evaluations / "other.json")
    assert (ended.code, ended.out) == (2, "")
    assert "other.json cannot be compared with" in ended.err
    assert "it has 10 splits, not 20; evaluate all on the same data" in ended.err
    assert ended.err.count("\n") == 1


def test_two_models_of_ones_own_data_are_evaluated_and_compared(command, tmp_path):
    rows = "".join(
        f"{'C' * (n % 7 + 1)}{'N' if n % 2 else 'O'},{'yes' if n % 2 else 'no'}\n"
        for n in range(40)
    )
    (tmp_path / "my.csv").write_text(f"smiles,active\n{rows}")
    words = (
        "evaluate",
        tmp_path / "my.csv",
        "--target",
        "active",
        "--protocol",
        "cv4x1",
        "--quiet",
    )
    assert command(*words, "--model", "ridge", "--out", tmp_path / "a.json").code == 0
    assert command(*words, "--model", "majority", "--out", tmp_path / "b.json").code == 0
    ended = command("report", tmp_path / "a.json", tmp_path / "b.json")
    assert ended.code == 0
    assert "real: worse" in ended.out
    assert (
        Evaluation.load(tmp_path / "a.json").paired(Evaluation.load(tmp_path / "b.json")).difference
        > 0.3
    )
