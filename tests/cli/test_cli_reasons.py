"""Reasons of models of counts on the command line and on pages."""

from __future__ import annotations

import json

import pytest


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reasons") / "run"


@pytest.fixture
def run(command, smiles, run_folder):
    if not run_folder.exists():
        ended = command(
            "train", smiles, "--target", "kind", "--out", run_folder, "--model", "auto", "--quiet",
            *("--set", "learners=ridge"),
        )  # fmt: skip
        assert ended.code == 0, ended.err
    return run_folder


def test_explain_shows_similar_training_items(command, run, smiles, tmp_path):
    page = tmp_path / "why.html"
    ended = command("explain", run, smiles, "--item", "3", "--out", page)
    assert ended.code == 0, ended.err
    assert "most similar training items" in ended.out
    text = page.read_text()
    section = text.split("Most similar training items")[1].split("</section>")[0]
    assert section.count("<svg") >= 4
    ended = command("explain", run, smiles, "--item", "3", "--out", page, "--json")
    (item,) = json.loads(ended.out)["items"]
    assert len(item["similar"]) == 4
    assert {near["target"] for near in item["similar"]} <= {"alcohol", "amine"}
    assert item["similar"][0]["similarity"] == pytest.approx(1, abs=0.5)


def test_the_page_of_a_run_has_rules_with_drawings(command, run, tmp_path):
    page = tmp_path / "report.html"
    ended = command("report", run, "--out", page)
    assert ended.code == 0, ended.err
    text = page.read_text()
    section = text.split("Rules of the training items")[1].split("</section>")[0]
    assert "<svg" in section
    assert "alcohol" in section
    assert "describes the data" in section


def test_other_models_have_no_such_sections(command, smiles, tmp_path):
    run = tmp_path / "other"
    assert (
        command("train", smiles, "--target", "kind", "--model", "wl-subtree", "--out", run).code
        == 0
    )
    assert command("report", run).code == 0
    assert "Rules of the training items" not in (run / "report.html").read_text()
    ended = command("explain", run, smiles)
    assert ended.code == 0
    assert "similar training items" not in ended.out
