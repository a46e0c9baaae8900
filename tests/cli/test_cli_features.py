"""``edgnn features``: counts as a table."""

from __future__ import annotations

import csv
import json

import pytest


def test_a_csv_has_names_targets_and_counts(command, smiles, tmp_path):
    out = tmp_path / "counts.csv"
    ended = command("features", smiles, "--target", "kind", "--out", out, "--rounds", "1")
    assert ended.code == 0, ended.err
    assert "20 graphs" in ended.out
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert len(rows) == 20
    assert {row["target"] for row in rows} == {"alcohol", "amine"}
    (hydroxyl,) = (name for name in rows[0] if name.startswith("atom types, round 0: OH #"))
    assert [row[hydroxyl] for row in rows] == [str(int(row["target"] == "alcohol")) for row in rows]


def test_parquet_with_descriptors_pairs_and_a_limit(command, smiles, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "counts.parquet"
    words = ("--descriptors", "rdkit", "--pairs", "--columns", "40", "--json")
    ended = command("features", smiles, "--target", "odd,even", "--out", out, *words)
    assert ended.code == 0, ended.err
    table = parquet.read_table(out)
    assert json.loads(ended.out)["rows"] == table.num_rows == 20
    assert {"target odd", "target even", "CrippenClogP"} <= set(table.column_names)
    counts = [name for name in table.column_names if " #" in name]
    assert 0 < len(counts) <= 40
    assert str(table.schema.field(counts[0]).type) == "int64"


def test_graphs_without_targets_and_mistakes(command, tmp_path):
    out = tmp_path / "mutag.csv"
    assert command("features", "MUTAG", "--out", out, "--columns", "10").code == 0
    assert "csv or .parquet" in command("features", "MUTAG", "--out", tmp_path / "x.txt").err
    assert command("features", "MUTAG", "--out", tmp_path / "none" / "x.csv").code == 2
