import json

import pytest
from typer.testing import CliRunner

from edgnn.bench import Row
from edgnn.cli import app


@pytest.mark.slow
def test_bench_io_runs_on_tiny_sizes_and_keeps_its_results(tmp_path, data_dir):
    arguments = ["bench", "io", "--quick", "--json", "--out", str(tmp_path), "--data-dir", str(data_dir)]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    printed = json.loads(result.stdout)["io"]
    kept = json.loads((tmp_path / "io.json").read_text())
    assert [row["what"] for row in kept["results"]] == [row["what"] for row in printed["results"]]
    assert len(printed["results"]) == 4
    assert all(row["ours_s"] > 0 for row in printed["results"])
    assert printed["environment"]["packages"]["torch"]


def test_ratios_read_in_the_sense_of_their_goal():
    faster = Row("reading", ours_s=0.1, peer="peer", peer_s=1.0, goal="≥ 8×")
    assert (faster.ratio, faster.met) == (10.0, True)
    bounded = Row("building", ours_s=3.0, peer="sort", peer_s=0.5, goal="≤ 5×")
    assert (bounded.ratio, bounded.met) == (6.0, False)
    assert Row("alone", ours_s=1.0).met is None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The hashes produced for directed graphs:UserWarning")  # networkx, on every call
def test_bench_wl_keeps_a_drawing_beside_its_rows(tmp_path, data_dir):
    arguments = ["bench", "wl", "--quick", "--json", "--out", str(tmp_path), "--data-dir", str(data_dir)]
    printed = json.loads(CliRunner().invoke(app, arguments, catch_exceptions=False).stdout)["wl"]
    assert len(printed["results"]) == 6
    assert (tmp_path / "wl.svg").read_text().count("<circle") == 3
