"""A table of other metrics than accuracy: ours beside published figures, on synthetic molecules."""

import csv
import hashlib
import io
import json
import tomllib
from importlib.resources import files

import numpy as np
import pytest
from typer.testing import CliRunner

import small_tables
from edgnn.cli import app
from edgnn.io.datasets import DATASETS, Entry, Part
from edgnn.registry import MODELS
from edgnn.report import write_study_report
from edgnn.studies import (
    Request,
    Study,
    compact_rows,
    find_table,
    full_rows,
    reproduce,
    select,
)

ROWS = {
    "majority": {"title": "majority", "model": "majority", "says": "the mean, or the first class"},
    "net": {
        "title": "a network",
        "model": "edgnn",
        "says": "few epochs",
        "estimator": {"max_epochs": 2, "hidden": 4, "layers": 1},
    },
    "kernel": {"title": "a kernel", "model": "wl-subtree", "says": "classes only"},
}
TABLE = {
    "title": "Small",
    "says": "two sets of a family, and one of classes",
    "datasets": ["Family/A", "Family/B", "alone"],
    "protocol": "split",
    "paper": False,
    "published": "figures.toml",
    "metrics": {"values": ["rmse", "mae"], "classes": ["roc_auc", "accuracy"]},
    "rows": list(ROWS),
}
PUBLISHED = {
    "old": {
        "title": "old model",
        "source": "somewhere",
        "figures": {
            "Family/A": {"rmse": 0.5, "cliffs": 0.75},
            "Family/B": {"rmse": 1.0, "cliffs": 1.25},
            "elsewhere": {"rmse": 9.0},
        },
    },
    "half": {"title": "half", "source": "here", "figures": {"Family/A": {"rmse": 0.1}}},
    "sure": {
        "title": "sure",
        "source": "there",
        "figures": {"alone": {"roc_auc": 0.8, "spread": 0.01}},
    },
}


def _register(folder, name, **fields):
    """Twenty-four chains, their lengths as targets; every third one belongs to the subset."""
    rows = ["smiles,y,flag,split"]
    for number in range(24):
        part = "test" if number % 5 == 0 else "train"
        target = number % 2 if fields["task"] == "classes" else number / 10
        rows.append(f"{'C' * (number + 1)}O,{target},{int(number % 3 == 0)},{part}")
    file = f"{name.rpartition('/')[2]}.csv"
    text = "\n".join(rows).encode()
    (folder / file).write_bytes(text)
    sha256 = {file: hashlib.sha256(text).hexdigest()}
    part = Part((f"https://example.invalid/{file}",), file)
    entry = Entry(
        name, "molecules", folder.name, (part,), sha256=sha256, target="y", split="split", **fields
    )
    return DATASETS.register(entry)


@pytest.fixture
def asked(monkeypatch, tmp_path):
    real = small_tables.stored()
    stored = {"tables": real["tables"] | {"molecules": TABLE}, "rows": real["rows"] | ROWS}
    monkeypatch.setattr("edgnn.studies._tables._stored", lambda: stored)
    monkeypatch.setattr(
        "edgnn.studies._measured_tables.read_toml", lambda name: {"rows": PUBLISHED}
    )
    monkeypatch.delenv("EDGNN_DATA", raising=False)
    folder = tmp_path / "chains"
    folder.mkdir()
    registered = [
        _register(folder, "Family/A", task="values", subsets={"cliffs": "flag"}),
        _register(folder, "Family/B", task="values", subsets={"cliffs": "flag"}),
        _register(folder, "alone", task="classes"),
    ]
    yield lambda **options: Request(select(["molecules"]), data_dir=str(tmp_path), **options)
    for entry in registered:
        DATASETS.unregister(entry.name)


def _errors(numbers, mean):
    return float(np.sqrt(np.mean([(number / 10 - mean) ** 2 for number in numbers])))


def test_a_table_of_molecules_is_computed_beside_published_figures(asked, tmp_path):
    study = Study.create(tmp_path / "study")
    made = reproduce(asked(runs=1), study)
    assert made.plan.failures == []
    (document,) = made.documents
    figures = {(entry["row"], entry["dataset"]): entry for entry in document["entries"]}

    # a row has no cells where its model does not learn such targets
    assert {dataset for row, dataset in figures if row == "kernel"} == {"alone"}
    assert {row for row, dataset in figures if dataset == "Family/A"} == {
        *("old", "half"),
        *("majority", "net"),
    }

    known = [number for number in range(24) if number % 5]
    # without epochs to choose, the validation part is learned from as well
    ours = figures["majority", "Family/A"]
    evaluation = made.summaries[0][1].entries["majority", "Family/A"].evaluation
    (split,) = evaluation.splits
    mean = float(evaluation.truth[split.known].mean())
    tested = [number for number in range(24) if number % 5 == 0]
    assert sorted(split.known.tolist()) == known
    assert ours["metric"] == "rmse"
    assert ours["value"] == pytest.approx(_errors(tested, mean), abs=1e-5)
    cliffs = [number for number in tested if number % 3 == 0]
    assert ours["subset"] == "cliffs"
    assert ours["subset_value"] == pytest.approx(_errors(cliffs, mean), abs=1e-5)
    assert figures["majority", "alone"]["value"] == 0.5

    markdown = (study.path / "tables" / "molecules.md").read_text()
    head = "| model | Family (2 sets): rmse / cliffs | alone: roc auc |"
    assert head in markdown
    assert "| old model | 0.750 / 1.000 |  |" in markdown
    assert "| half |  |  |" in markdown
    assert "| sure |  | 0.8000 ± 0.0100 |" in markdown
    assert "- **old model**: published: somewhere" in markdown
    predictions = (study.path / "predictions" / "molecules" / "Family" / "A.csv").read_text()
    rows = [row for row in csv.DictReader(io.StringIO(predictions)) if row["row"] == "majority"]
    assert [float(row["truth"]) for row in rows] == [number / 10 for number in tested]
    assert [float(row["prediction"]) for row in rows] == pytest.approx([mean] * len(tested))


def test_a_figure_that_is_not_defined_is_a_dash():
    entry = {"row": "a", "dataset": "one", "metric": "roc_auc", "value": None, "spread": None}
    entry |= {"subset": "hard", "subset_value": 0.5}
    row = {"id": "a", "title": "A", "says": ""}
    document = {"datasets": ["one"], "rows": [row], "entries": [entry]}
    assert compact_rows(document) == [{"model": "A", "one: roc auc / hard": "– / 0.5000"}]
    assert full_rows(document) == [{"data set": "one", "A": "– / 0.5000"}]


def test_what_is_there_is_kept_and_the_page_of_a_study_shows_the_table(asked, tmp_path):
    study = Study.create(tmp_path / "study")
    request = asked(runs=1)
    assert len(reproduce(request, study).plan.took) == 7
    again = reproduce(request, study)
    assert (len(again.plan.took), len(again.plan.done)) == (0, 7)
    page = write_study_report(study.path).read_text()
    assert "0.750 / 1.000" in page
    assert "published: somewhere" in page
    stored = json.loads((study.path / "tables" / "molecules.json").read_text())
    assert stored["datasets"] == ["Family/A", "Family/B", "alone"]


def test_the_command_prints_means_and_then_each_set(asked, tmp_path):
    arguments = ["reproduce", "molecules", "--runs", "1", "--jobs", "1", "--models", "majority"]
    arguments += ["--out", str(tmp_path / "study"), "--data-dir", str(tmp_path)]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["old", "model", "0.750", "/", "1.000"] in lines
    (family_b,) = [line for line in lines if line[:1] == ["Family/B"]]
    assert family_b[1:4] == ["1.000", "/", "1.250"]
    assert len(family_b) == 7
    assert (tmp_path / "study" / "tables" / "molecules.csv").is_file()


def _published():
    text = files("edgnn.studies").joinpath(find_table("molecules").published).read_text("utf-8")
    return tomllib.loads(text)["rows"]


def test_the_table_of_molecules_has_sets_rows_and_sources():
    table = find_table("molecules")
    assert len(table.datasets) == 16
    assert all(name in DATASETS for name in table.datasets)
    assert all(row.model in MODELS for row in table.rows)
    published = _published()
    assert not set(published) & {row.id for row in table.rows}
    metrics = {"values": "rmse", "classes": "roc_auc"}
    for row in published.values():
        assert row["title"]
        assert row["source"]
        for dataset, figures in row["figures"].items():
            assert dataset in table.datasets
            assert next(iter(figures)) == metrics[DATASETS[dataset].task]


def test_published_means_are_those_that_their_sources_state():
    rows = _published()
    means = {
        name: tuple(
            round(float(np.mean([figures[key] for figures in row["figures"].values()])), 3)
            for key in ("rmse", "cliffs")
        )
        for name, row in rows.items()
        if len(row["figures"]) == 15
    }
    assert means["svm-ecfp"] == (0.665, 0.751)
    assert means["chemeleon"] == (0.67, 0.775)
    assert means["rf-morgan"] == pytest.approx((0.689, 0.783), abs=0.0011)
    assert means["minimol"] == (0.694, 0.798)
    assert means["chemprop"] == (0.825, 0.894)
    assert means["gcn"] == (0.905, 0.979)
