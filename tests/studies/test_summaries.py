import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from edgnn.errors import FormatError
from edgnn.evaluation import Evaluation, Outcome, Split
from edgnn.studies import (
    Cell,
    CellResult,
    Request,
    Study,
    find_table,
    ours,
    reproduce,
    select,
    summarize,
)
from edgnn.studies._other_tables import DEVELOPED, rankings, write_choice, write_search
from edgnn.studies._write_tables import markdown, marked, numbers, write_table
from study_pages import made_evaluation

TRUTH = np.array([0, 1] * 10)


def result(cell, right, *, memory=2**20, chances=False, candidates=False):
    """One run of two folds in which so many of the ten test items are right."""
    splits, outcomes = [], []
    for fold in range(2):
        test = np.arange(10 * fold, 10 * fold + 10)
        said = np.where(np.arange(10) < right, TRUTH[test], 1 - TRUTH[test])
        chosen = {"best_epoch": [1]}
        if candidates:
            own = {"valid_loss": [0.5], "training_accuracy": 0.8, "prediction": said.tolist()}
            other = {
                "valid_loss": [0.7],
                "training_accuracy": 0.6,
                "prediction": (1 - said).tolist(),
            }
            chosen = {"candidate": "hidden=8", "candidates": {"hidden=4": other, "hidden=8": own}}
        probability = np.stack([1 - said, said], axis=1).astype(float) if chances else None
        splits.append(Split(np.setdiff1d(np.arange(20), test), test, None, cell.run, fold, fold))
        outcomes.append(Outcome(said, probability, chosen, 0.9))
    metrics = ("accuracy", "balanced_accuracy", *(["roc_auc"] if chances else []))
    evaluation = Evaluation(
        "classes", metrics, tuple(splits), TRUTH, tuple(outcomes), (0, 1), ("no", "yes")
    )
    settings = {"model": cell.row, "seed": cell.run, "device": "cpu"}
    history = [{"epoch": 1, "train_loss": [0.5, 0.5], "valid_loss": [0.6, 0.6]}]
    return CellResult(
        cell, evaluation, 2.0, memory, history, settings, {"processor": "abacus"}, 0.95, "f"
    )


@pytest.fixture
def study(tmp_path):
    study = Study.create(tmp_path / "study")
    for run, right in enumerate((7, 9, 8)):
        study.write(result(Cell("graphs", "MUTAG", "edgnn", run), right, memory=2**20 * (1 + run)))
    study.write(result(Cell("graphs", "PTC_FM", "wl-subtree", 0), 10, chances=True))
    return study


def test_an_entry_joins_all_runs(study):
    (summary,) = study.summaries()
    assert (summary.name, summary.datasets) == ("graphs", ("MUTAG", "PTC_FM"))
    assert [row.id for row in summary.rows] == ["edgnn", "edgnn-max", "wl-subtree"]
    entry = summary.entries["edgnn", "MUTAG"]
    assert (entry.runs, entry.seconds, entry.memory, entry.ceiling) == (
        3,
        6.0,
        3 * 2**20,
        pytest.approx(0.95),
    )
    assert entry.training_accuracy == pytest.approx(0.9)
    assert (entry.evaluation.mean, entry.evaluation.spread) == (
        pytest.approx(0.8),
        pytest.approx(0.1),
    )
    assert (str(entry.paper), entry.difference) == ("86.9 ± 1.0", pytest.approx(-6.9))
    assert (len(entry.history), entry.devices, entry.settings["seed"]) == (3, ("abacus",), 0)


def test_the_best_run_is_a_row_of_its_own(study):
    (summary,) = study.summaries()
    best = summary.entries["edgnn-max", "MUTAG"]
    assert (best.evaluation.mean, {split.repeat for split in best.evaluation.splits}) == (0.9, {1})
    assert (best.seconds, best.memory, str(best.paper)) == (0.0, None, "88.8")
    assert (ours(best), marked(best)) == ("90.0", "+1.2")
    told = numbers(best)
    assert (told["mean"], told["spread"], told["interval_low"], told["interval_high"]) == (
        90.0,
        None,
        None,
        None,
    )
    assert "| MUTAG | edGNN (max) | 88.8 | 90.0 | +1.2 | 90.0 | 50.0 |  | 90.0 |" in markdown(
        summary
    )


def test_differences_beyond_a_point_and_a_half_are_marked(study):
    (summary,) = study.summaries()
    entry = summary.entries["edgnn", "MUTAG"]
    assert (ours(entry), marked(entry)) == ("80.0 ± 10.0", "▼ −6.9")
    assert marked(replace(entry, paper=replace(entry.paper, mean=70.0))) == "▲ +10.0"
    assert marked(replace(entry, paper=replace(entry.paper, mean=81.5))) == "−1.5"
    assert marked(replace(entry, paper=replace(entry.paper, mean=81.54))) == "−1.5"
    assert marked(replace(entry, paper=replace(entry.paper, mean=81.56))) == "▼ −1.6"
    assert marked(replace(entry, paper=replace(entry.paper, mean=80.04))) == "+0.0"
    assert marked(replace(entry, paper=None)) == ""


def test_tables_are_written_in_three_formats_that_agree(study):
    (summary,) = study.summaries()
    document = write_table(study, summary)
    place = study.path / "tables"
    assert json.loads((place / "graphs.json").read_text()) == document
    rows = list(csv.DictReader((place / "graphs.csv").read_text().splitlines()))
    assert [(row["dataset"], row["row"], row["mean"], row["runs"]) for row in rows] == [
        ("MUTAG", "edgnn", "80.0", "3"),
        ("MUTAG", "edgnn-max", "90.0", "3"),
        ("PTC_FM", "wl-subtree", "100.0", "1"),
    ]
    assert list(rows[0])[-2:] == ["seconds", "memory"]
    assert (rows[0]["paper"], rows[0]["difference"], rows[0]["max_run"]) == ("86.9", "-6.9", "90.0")
    assert (rows[0]["roc_auc"], rows[2]["roc_auc"], rows[2]["paper"]) == ("", "1.0", "")
    text = (place / "graphs.md").read_text()
    assert "| edGNN (avg) | 80.0 ± 10.0 / 86.9 ± 1.0 |  |" in text
    assert "| MUTAG | edGNN (avg) | 86.9 ± 1.0 | 80.0 ± 10.0 | ▼ −6.9 | 90.0 |" in text
    assert "| 90.0 | 95.0 | 3 | 6.0 | 3 |" in text
    assert document["entries"][0]["run_means"] == [70.0, 90.0, 80.0]
    assert document["made"]["environment"] == {"processor": "abacus"}


def test_every_folds_predictions_are_written(study):
    (summary,) = study.summaries()
    write_table(study, summary)
    rows = list(
        csv.DictReader((study.path / "predictions/graphs/MUTAG.csv").read_text().splitlines())
    )
    assert len(rows) == 3 * 20
    assert {row["row"] for row in rows} == {"edgnn"}
    right = [row["truth"] == row["prediction"] for row in rows if row["run"] == "1"]
    assert sum(right) == 18
    assert rows[0] == {
        "row": "edgnn",
        "run": "0",
        "fold": "0",
        "item": "0",
        "truth": "no",
        "prediction": "no",
        "p(no)": "",
        "p(yes)": "",
    }
    other = list(
        csv.DictReader((study.path / "predictions/graphs/PTC_FM.csv").read_text().splitlines())
    )
    assert [float(row["p(yes)"]) for row in other] == TRUTH.tolist()


def test_a_summary_can_be_narrowed_to_what_was_asked_for(study):
    (summary,) = study.summaries()
    (asked,) = select(["graphs"], ["edgnn"], ["MUTAG"])
    found = summary.narrow(asked)
    assert (found.datasets, list(found.entries)) == (("MUTAG",), [("edgnn", "MUTAG")])


def test_nested_rows_stand_beside_those_that_choose_anyhow(study):
    for run in range(2):
        study.write(result(Cell("graphs", "MUTAG", "edgnn", run, "nested"), 6, candidates=True))
    paper, nested = study.summaries()
    assert (paper.name, nested.name) == ("graphs", "graphs.nested")
    assert nested.entries["edgnn", "MUTAG"].evaluation.mean == pytest.approx(0.6)
    assert nested.entries["wl-subtree", "PTC_FM"].evaluation.mean == 1
    assert write_search(study, replace(nested, entries={}, rows=())) == []
    (document,) = write_search(study, nested)
    assert [
        (entry["candidate"], entry["chosen"], entry["accuracy"], entry["valid_loss"])
        for entry in document["entries"]
    ] == [
        ("hidden=4", 0, 40.0, 0.7),
        ("hidden=8", 4, 60.0, 0.5),
    ]
    assert (
        "| MUTAG | edGNN (avg) | hidden=8 | 4 | 0.5000 |"
        in (study.path / "tables/search-graphs.md").read_text()
    )
    assert len((study.path / "tables/search-graphs.csv").read_text().splitlines()) == 3


def test_damaged_cells_are_named_or_left_out(study):
    path = study.path / Cell("graphs", "MUTAG", "edgnn", 1).path
    path.write_bytes(b"")
    with pytest.raises(FormatError, match=r"edgnn/run-01\.json"):
        study.summaries()
    told = []
    found = summarize(study, find_table("graphs"), tell=told.append)
    assert (found.entries["edgnn", "MUTAG"].runs, len(told)) == (2, 1)
    assert "it is left out of the tables" in told[0]


def test_runs_of_other_settings_are_never_mixed_into_an_entry(study):
    cell = Cell("graphs", "MUTAG", "edgnn", 3)
    other = result(cell, 10)
    kept = {
        "model": "edgnn",
        "parameters": {"hidden": 8, "random_state": 3},
        "seed": 3,
        "device": "cuda",
    }
    for run in range(3):
        one = study.read(replace(cell, run=run))
        study.write(
            replace(
                one,
                settings=kept
                | {"parameters": {"hidden": 8, "random_state": run}, "seed": run, "device": "cpu"},
            )
        )
    study.write(replace(other, settings=kept))
    assert study.summaries()[0].entries["edgnn", "MUTAG"].runs == 4
    study.write(replace(other, settings=kept | {"parameters": {"hidden": 9, "random_state": 3}}))
    with pytest.raises(FormatError, match=r"run-03\.json: its settings are not those of run 0"):
        study.summaries()
    told = []
    found = summarize(study, find_table("graphs"), tell=told.append)
    assert (found.entries["edgnn", "MUTAG"].runs, len(told)) == (3, 1)


def test_statistics_stand_beside_the_papers(study):
    asked = Request(select(["graph-datasets"], datasets=["MUTAG"]))
    (document,) = reproduce(asked, study).documents
    text = (study.path / "tables/graph-datasets.md").read_text()
    assert "| MUTAG | 188 (188) | 2 (2) | 17.9 (17.9) | 19.8 (19.8) | 7 (6*) | 4 (3*) |" in text
    assert "the public files have 7 and 4" in text
    assert json.loads((study.path / "tables/graph-datasets.json").read_text()) == document
    rows = {
        row["statistic"]: row
        for row in csv.DictReader(
            (study.path / "tables/graph-datasets.csv").read_text().splitlines()
        )
    }
    assert (
        rows["graphs"]["ours"],
        rows["node_labels"]["paper"],
        rows["node_labels"]["differs"],
    ) == ("188", "6", "true")


def test_one_run_has_no_spread_over_runs(study):
    (summary,) = study.summaries()
    assert ours(summary.entries["edgnn", "MUTAG"]) == "80.0 ± 10.0"
    assert ours(summary.entries["wl-subtree", "PTC_FM"]) == "100.0"


# Share of right answers by row and data set; "forest" lacks one set, "edgnn" is trained, the others are not
RIGHT = {
    "ridge": {"MUTAG": 0.9, "PTC_FM": 0.7, "AIFB": 0.8},
    "wl-subtree": {"MUTAG": 0.95, "PTC_FM": 0.6, "AIFB": 0.95},
    "edgnn": {"MUTAG": 0.8, "PTC_FM": 0.6, "AIFB": 0.7},
    "rgcn": {"MUTAG": 0.5, "PTC_FM": 0.5, "AIFB": 0.75},
    "forest": {"MUTAG": 1.0},
}


@pytest.fixture
def chosen_study(tmp_path):
    chosen_study = Study.create(tmp_path / "study")
    for row, shares in RIGHT.items():
        for dataset, share in shares.items():
            protocol = find_table(DEVELOPED).protocol["node" if dataset == "AIFB" else "graph"]
            for run in range(2):
                evaluation = made_evaluation(share, run, items=400)
                cell = Cell(DEVELOPED, dataset, row, run)
                chosen_study.write(
                    CellResult(cell, evaluation, 1.0, settings={"protocol": protocol})
                )
    return chosen_study


def test_the_best_mean_over_all_data_sets_of_a_level_is_chosen(chosen_study):
    summary = summarize(chosen_study, find_table(DEVELOPED))
    graphs, nodes = rankings(summary)
    assert (graphs["level"], graphs["datasets"]) == ("graph", ["MUTAG", "PTC_FM"])
    assert [one["row"] for one in graphs["rows"]] == ["ridge", "wl-subtree", "edgnn", "rgcn"]
    assert graphs["chosen"] == {"any": "ridge", "trained": "edgnn"}
    assert nodes["chosen"] == {"any": "wl-subtree", "trained": "rgcn"}
    best = graphs["rows"][0]
    means = [100 * summary.entries["ridge", name].evaluation.mean for name in ("MUTAG", "PTC_FM")]
    assert (best["mean"], list(best["accuracy"].values()), best["runs"]) == (
        pytest.approx(sum(means) / 2),
        means,
        2,
    )


def test_the_choice_is_stored_in_three_formats_that_agree(chosen_study):
    (document,) = write_choice(chosen_study, summarize(chosen_study, find_table(DEVELOPED)))
    place = chosen_study.path / "tables"
    assert json.loads((place / "choice.json").read_text()) == document
    text = (place / "choice.md").read_text()
    assert "## Graphs: `ridge`; of the trained networks `edgnn`" in text
    assert "## Nodes: `wl-subtree`; of the trained networks `rgcn`" in text
    assert "forest" not in text
    rows = list(csv.DictReader((place / "choice.csv").read_text().splitlines()))
    assert len(rows) == 4 * 2 + 4
    assert [float(row["accuracy"]) for row in rows[:2]] == list(
        document["rankings"][0]["rows"][0]["accuracy"].values()
    )


def test_without_cells_nothing_is_chosen(tmp_path):
    chosen_study = Study.create(tmp_path / "study")
    assert write_choice(chosen_study, summarize(chosen_study, find_table(DEVELOPED))) == []
    assert not (chosen_study.path / "tables").exists()
