import errno
import json
import os
from dataclasses import replace

import pytest

from edgnn.errors import StudyError
from edgnn.report import ReportError, read_report, study_page, write_study_report
from edgnn.studies import Cell, CellResult, Entry, Published, Row, Study, Table, TableSummary
from study_pages import COMMAND, RIGHT, made_evaluation, made_history, make_study

HOSTILE = '</script><script>alert("1")</script><img src=x onerror=alert(2)>&amp;\'"'


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return make_study(tmp_path_factory.mktemp("studies") / "study")


@pytest.fixture
def page(study, tmp_path, page_of):
    path = write_study_report(study.path, tmp_path / "page.html")
    return page_of(path), read_report(path)


def test_ours_stand_beside_the_papers_figures(study, page):
    text, summary = page[0].text, study.summaries()[0]
    for row, paper in (("edgnn", "86.9 ± 1.0"), ("rgcn", "81.5 ± 2.1"), ("edgnn-max", "88.8")):
        evaluation = summary.entries[row, "MUTAG"].evaluation
        spread = "" if row == "edgnn-max" else f"± {100 * evaluation.spread:.1f} "
        assert f"{100 * evaluation.mean:.1f} {spread}paper {paper}" in text
    assert (
        "edGNN and its rivals on 3 data sets 4 models and edGNN (max) · MUTAG, PTC_FM, PTC_MR · 2 runs · 36.0 s of computing · 2026-11-16"
        in text
    )
    assert f"{COMMAND} 2026-11-16 08:00:00+00:00, version 1, device cpu, jobs 2" in text
    for said in (
        "Holm",
        "Nadeau and Bengio",
        "a processor",
        "torch 9.9",
        "parameters.hidden MUTAG: 16; PTC_FM: 8; PTC_MR: 8",
    ):
        assert said in text


def test_the_majority_has_a_row_even_without_cells(tmp_path, page_of):
    study = make_study(tmp_path / "study", {"edgnn": 0.9}, ("MUTAG",))
    text = page_of(write_study_report(study.path)).text
    assert "majority 60.0" in text
    assert "edGNN (avg) on MUTAG" in text
    assert "Paired comparisons" not in text


def test_every_figure_has_a_line(page, study):
    text = page[0].text
    entry = study.summaries()[0].entries["edgnn", "PTC_FM"]
    low, high = entry.evaluation.interval
    mean, spread = (
        f"{100 * value:.1f}" for value in (entry.evaluation.mean, entry.evaluation.spread)
    )
    gap = f"{100 * entry.evaluation.mean - 59.8:+.1f}".replace("-", "−")
    best = f"{100 * entry.evaluation['accuracy'].maximum:.1f}"
    line = f"edGNN (avg) PTC_FM 59.8 ± 1.5 {mean} ± {spread} {gap} {best} 60.0 {100 * low:.1f} to {100 * high:.1f} 90.0 97.0"
    assert f"{line} 3.0 s 400 MB 2" in text
    assert "1 of 2" in text


def test_the_verdict_counts_what_is_met(page, study):
    entries = study.summaries()[0].entries
    gaps = [
        entries[row, name].difference
        for row in ("rgcn", "edgnn")
        for name in ("MUTAG", "PTC_FM", "PTC_MR")
    ]
    met = sum(gap >= -1.5 for gap in gaps)
    assert 0 < met < 6
    assert f"the paper’s means that are met {met} of 6" in page[0].text
    assert f"Not met: R-GCN on MUTAG (−{-gaps[0]:.1f})" in page[0].text
    assert "Best means: WL subtree on MUTAG" in page[0].text


@pytest.mark.parametrize(
    ("above", "said"),
    [(-3.0, "1 of 1 mean"), (1.5, "1 of 1 mean"), (1.6, "Not met: GIN on MUTAG (−1.6)")],
)
def test_a_mean_is_met_down_to_a_point_and_a_half_below(above, said, tmp_path, page_of):
    evaluation, row = made_evaluation(0.8), Row("gin", "GIN", "a model", model="gin")
    paper = Published("GIN", 100 * evaluation.mean + above, None, "")
    known = Table("t", "title", "says", ("MUTAG",), (row,))
    entries = {("gin", "MUTAG"): Entry(row, "MUTAG", evaluation, paper, 1)}
    study_page(tmp_path / "page.html", [TableSummary(known, "paper", ("MUTAG",), (row,), entries)])
    assert said in page_of(tmp_path / "page.html").text


def test_the_data_has_scores_but_no_single_predictions(page, study):
    data = page[1]
    found = data["tables"][0]
    entry = next(
        one for one in found["entries"] if (one["row"], one["dataset"]) == ("edgnn", "MUTAG")
    )
    evaluation = study.summaries()[0].entries["edgnn", "MUTAG"].evaluation
    assert entry["mean"] == pytest.approx(evaluation.mean, abs=1e-6)
    assert [score for _, _, score in entry["scores"]] == pytest.approx(
        evaluation.scores["accuracy"].tolist(), abs=1e-6
    )
    assert entry["curves"]["epoch"] == [1, 2, 3, 4, 5, 6]
    assert len(found["comparisons"]["edgnn"]) == 9
    assert "prediction" not in json.dumps(data)
    assert data["calls"][0]["command"] == COMMAND


def test_curves_can_be_told_apart_without_color(page):
    groups = [
        attributes["data-series"]
        for attributes in page[0].attributes("g")
        if "data-series" in attributes
    ]
    assert groups == ["0", "1"] * 3
    assert [item["data-place"] for item in page[0].attributes("li") if "data-place" in item] == [
        "0",
        "1",
    ]


def test_predictions_are_folded_away_per_data_set(page):
    names = {svg.get("aria-label") for svg in page[0].attributes("svg")}
    assert {
        f"Calibration of edGNN (avg) on {name}" for name in ("MUTAG", "PTC_FM", "PTC_MR")
    } <= names
    assert {
        "Accuracy of every fold on MUTAG",
        "Learning curves on MUTAG",
        "Time per run of each model",
    } <= names
    assert "open" not in {
        name for attributes in page[0].attributes("details") for name in attributes
    }


def test_hostile_names_are_text(tmp_path, page_of):
    row, other = Row("a", HOSTILE, HOSTILE, model="x"), Row("b", "b", "b", model="y")
    one, two = (
        made_evaluation(share, class_names=(HOSTILE, "b"), chosen={HOSTILE: HOSTILE})
        for share in (0.9, 0.2)
    )
    entries = {
        ("a", HOSTILE): Entry(
            row,
            HOSTILE,
            one,
            runs=1,
            history=made_history(),
            settings={HOSTILE: HOSTILE},
            devices=(HOSTILE,),
        ),
        ("b", HOSTILE): Entry(other, HOSTILE, two, runs=1, environment={HOSTILE: HOSTILE}),
    }
    summary = TableSummary(
        Table("t", HOSTILE, HOSTILE, (HOSTILE,), (row, other)),
        "paper",
        (HOSTILE,),
        (row, other),
        entries,
    )
    study_page(
        tmp_path / "page.html", [summary], [{"command": HOSTILE, "date": HOSTILE}], [HOSTILE]
    )
    page = page_of(tmp_path / "page.html")
    assert page.text.count(HOSTILE) > 20
    assert read_report(tmp_path / "page.html")["calls"][0]["command"] == HOSTILE


def test_damaged_cells_are_named_and_left_out(tmp_path, page_of):
    study = make_study(tmp_path / "study", {"edgnn": 0.9, "gin": 0.8}, ("MUTAG",))
    broken = study.path / Cell("graphs", "MUTAG", "gin", 1).path
    broken.write_bytes(broken.read_bytes()[:-5])
    path = write_study_report(study.path)
    assert path == study.path / "report.html"
    text = page_of(path).text
    assert "Not shown" in text
    assert "run-01.json" in text
    assert "1 or 2 runs" in text


def test_a_study_without_cells_says_what_to_do(tmp_path):
    study = Study.create(tmp_path / "study")
    with pytest.raises(ReportError, match=r"holds no computed cell yet; `edgnn reproduce --out"):
        write_study_report(study.path)
    with pytest.raises(StudyError, match=r"has no study\.json"):
        write_study_report(tmp_path)
    assert not (study.path / "report.html").exists()


def test_a_full_disk_keeps_the_old_page(study, tmp_path, monkeypatch):
    path = write_study_report(study.path, tmp_path / "page.html")
    before = path.read_bytes()

    def full(handle):
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        write_study_report(study.path, path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]


def test_a_search_shows_its_candidates_and_no_curves(tmp_path, page_of):
    study = make_study(tmp_path / "study", {"gin": 0.8}, ("MUTAG",), runs=1)
    plain = made_evaluation(0.9)
    small, large = "layers=1, hidden=16", "layers=2, hidden=64"
    outcomes = []
    for place, outcome in enumerate(plain.outcomes):
        tried = {
            name: {
                "valid_loss": [loss],
                "training_accuracy": 0.75,
                "prediction": outcome.prediction.tolist(),
            }
            for name, loss in ((small, 0.5), (large, 0.25))
        }
        outcomes.append(
            replace(outcome, chosen={"candidate": large if place else small, "candidates": tried})
        )
    evaluation = replace(plain, outcomes=tuple(outcomes))
    study.write(
        CellResult(
            Cell("graphs", "MUTAG", "edgnn", 0, "nested"), evaluation, 1.0, history=made_history()
        )
    )
    path = write_study_report(study.path)
    text = page_of(path).text
    assert "Graph classification, settings chosen inside the training set" in text
    assert f"{small} 1 0.5 75.0 {100 * plain.mean:.1f} {large} 9 0.25 75.0" in text
    assert "Learning curves" not in text
    assert "the paper’s means that are met 1 of 1" in text
    tables = read_report(path)["tables"]
    assert [found["protocol"] for found in tables] == ["paper", "nested"]
    assert tables[1]["entries"][0]["search"][1]["chosen"] == 9


def test_tables_of_data_sets_are_shown(tmp_path, page_of):
    study = make_study(tmp_path / "study", {"edgnn": 0.9}, ("MUTAG",), runs=1)
    entries = [
        {
            "dataset": "MUTAG",
            "statistic": "graphs",
            "title": "graphs",
            "ours": 188,
            "paper": 188,
            "differs": False,
        },
        {
            "dataset": "MUTAG",
            "statistic": "nodes",
            "title": "mean nodes",
            "ours": 17.93,
            "paper": 18.5,
            "differs": True,
        },
    ]
    document = {
        "format": 1,
        "table": "graph-datasets",
        "title": "Graph data sets",
        "says": "appendix",
        "datasets": ["MUTAG"],
        "entries": entries,
        "notes": {"MUTAG": "the paper counts otherwise"},
    }
    (study.path / "tables").mkdir(exist_ok=True)
    place = study.path / "tables" / "graph-datasets.json"
    place.write_text(json.dumps(document))
    text = page_of(write_study_report(study.path)).text
    assert "MUTAG 188 paper 188 17.9 paper 18.5*" in text
    assert "* MUTAG: the paper counts otherwise." in text
    place.write_text('{"entries": 3}')
    assert "graph-datasets.json cannot be read" in page_of(write_study_report(study.path)).text


def test_a_study_of_data_sets_alone_has_a_page(tmp_path, page_of):
    from edgnn.studies import Request, reproduce, select

    study = Study.create(tmp_path / "study")
    study.add_call(
        {"command": "edgnn reproduce graph-datasets", "date": "2026-11-16T08:00:00+00:00"}
    )
    reproduce(Request(select(["graph-datasets"], datasets=["MUTAG"])), study)
    page = page_of(write_study_report(study.path))
    assert "MUTAG 188 paper 188" in page.text
    assert "edgnn reproduce graph-datasets" in page.text
    links = {attributes["href"] for attributes in page.attributes("a")}
    assert links == {
        f"#{attributes['id']}" for _, attributes in page.elements if "id" in attributes
    } - {"#edgnn-data", "#status"}


def test_cells_of_the_nested_protocol_alone_have_a_page(tmp_path, page_of):
    study = Study.create(tmp_path / "study")
    told = {"valid_loss": [0.5], "training_accuracy": 0.9}
    for run in range(2):
        evaluation = made_evaluation(0.8, run)
        outcomes = [
            replace(
                one,
                chosen={
                    "candidate": "hidden=8",
                    "candidates": {"hidden=8": told | {"prediction": one.prediction.tolist()}},
                },
            )
            for one in evaluation.outcomes
        ]
        cell = Cell("graphs", "MUTAG", "edgnn", run, "nested")
        study.write(CellResult(cell, replace(evaluation, outcomes=tuple(outcomes)), 1.0))
    text = page_of(write_study_report(study.path)).text
    assert "Graph classification, settings chosen inside the training set" in text
    assert "hidden=8" in text


@pytest.mark.slow
def test_a_full_study_stays_small(tmp_path):
    names = ("majority", "csm", "wlsp", "rgcn", "edgnn", "edgnn-text", "gin", "wl-subtree")
    sets = ("MUTAG", "PTC_FM", "PTC_FR", "PTC_MM", "PTC_MR")
    study = make_study(tmp_path / "study", dict.fromkeys(names, 0.8), sets, runs=10, items=340)
    assert write_study_report(study.path).stat().st_size < 1_500_000


def test_rows_without_a_figure_of_the_paper_have_no_verdict(tmp_path, page_of):
    study = make_study(
        tmp_path / "study", {"gin": 0.8, "wl-subtree": RIGHT["wl-subtree"]}, ("MUTAG",), runs=1
    )
    text = page_of(write_study_report(study.path)).text
    assert "that are met" not in text
    assert "models evaluated 20" in text
