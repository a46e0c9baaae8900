import csv
import json

import pytest

from edgnn.studies import Cell, CellResult, Study, find_table, summarize
from edgnn.studies._other_tables import DEVELOPED, rankings, write_choice
from study_pages import made_evaluation

# Share of right answers by row and data set; "forest" lacks one set, "edgnn" is trained, the others are not
RIGHT = {
    "ridge": {"MUTAG": 0.9, "PTC_FM": 0.7, "AIFB": 0.8},
    "wl-subtree": {"MUTAG": 0.95, "PTC_FM": 0.6, "AIFB": 0.95},
    "edgnn": {"MUTAG": 0.8, "PTC_FM": 0.6, "AIFB": 0.7},
    "rgcn": {"MUTAG": 0.5, "PTC_FM": 0.5, "AIFB": 0.75},
    "forest": {"MUTAG": 1.0},
}


@pytest.fixture
def study(tmp_path):
    study = Study.create(tmp_path / "study")
    for row, shares in RIGHT.items():
        for dataset, share in shares.items():
            protocol = find_table(DEVELOPED).protocol["node" if dataset == "AIFB" else "graph"]
            for run in range(2):
                evaluation = made_evaluation(share, run, items=400)
                cell = Cell(DEVELOPED, dataset, row, run)
                study.write(CellResult(cell, evaluation, 1.0, settings={"protocol": protocol}))
    return study


def test_the_best_mean_over_all_data_sets_of_a_level_is_chosen(study):
    summary = summarize(study, find_table(DEVELOPED))
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


def test_the_choice_is_stored_in_three_formats_that_agree(study):
    (document,) = write_choice(study, summarize(study, find_table(DEVELOPED)))
    place = study.path / "tables"
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
    study = Study.create(tmp_path / "study")
    assert write_choice(study, summarize(study, find_table(DEVELOPED))) == []
    assert not (study.path / "tables").exists()
