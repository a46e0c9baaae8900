import json

import pytest

from benchmarks import Row, Skipped, append_history, document, read_history
from edgnn.errors import FormatError


def kept(folder, seconds, *, question="layer", device="cpu", quick=False, accelerator=None):
    rows = [
        Row("a step", seconds, "PyG", 3.0, ours="EdGNNConv"),
        Row("copying", 40.0, unit="GB/s"),
        Skipped("another", "PyG is not installed"),
    ]
    results = document(question, rows, device, quick)
    results["environment"] |= {
        "date": f"2026-11-{int(10 * seconds):02}T10:00:00+00:00",
        "accelerator": accelerator,
    }
    append_history(folder, results)


def test_every_run_is_one_line_and_figures_are_read_back_in_order(tmp_path):
    for seconds in (2.0, 1.5, 1.0):
        kept(tmp_path, seconds)
    lines = (tmp_path / "history.jsonl").read_text().splitlines()
    assert [len(json.loads(line)["rows"]) for line in lines] == [2, 2, 2]
    step, copying = read_history(tmp_path)
    assert step.what == "EdGNNConv, a step | PyG"
    assert [figure.ours for figure in step.figures] == [2.0, 1.5, 1.0]
    assert [figure.ratio for figure in step.figures] == [1.5, 2.0, 3.0]
    assert step.change == pytest.approx(1 / 1.5)
    assert (copying.unit, copying.change) == ("GB/s", 1.0)


def test_runs_of_other_devices_machines_and_questions_are_other_figures(tmp_path):
    kept(tmp_path, 2.0)
    kept(tmp_path, 0.1, device="cuda", accelerator="NVIDIA H200")
    kept(tmp_path, 0.2, device="cuda", accelerator="NVIDIA A100")
    kept(tmp_path, 2.0, question="fleet")
    trends = read_history(tmp_path)
    assert len(trends) == 8
    assert all(len(trend.figures) == 1 and trend.change is None for trend in trends)
    assert {trend.machine for trend in trends if trend.device == "cuda"} == {
        "NVIDIA H200",
        "NVIDIA A100",
    }
    assert {trend.question for trend in read_history(tmp_path, ["fleet"])} == {"fleet"}


def test_tiny_runs_are_kept_but_no_part_of_trends(tmp_path):
    kept(tmp_path, 2.0, quick=True)
    assert (tmp_path / "history.jsonl").read_text().count("\n") == 1
    assert read_history(tmp_path) == []


def test_a_half_written_last_line_is_replaced_by_the_next_run(tmp_path):
    kept(tmp_path, 2.0)
    with (tmp_path / "history.jsonl").open("a") as stream:
        stream.write('{"date": "2026-')
    assert [len(trend.figures) for trend in read_history(tmp_path)] == [1, 1]
    kept(tmp_path, 1.0)
    assert [len(trend.figures) for trend in read_history(tmp_path)] == [2, 2]


@pytest.mark.parametrize("line", ["no json", "[]", '{"rows": 3}', '{"rows": [{"what": "a"}]}'])
def test_a_line_of_something_else_is_named(tmp_path, line):
    kept(tmp_path, 2.0)
    with (tmp_path / "history.jsonl").open("a") as stream:
        stream.write(line + "\n")
    with pytest.raises(FormatError, match="2"):
        read_history(tmp_path)


def test_a_folder_without_history_says_how_to_get_one(tmp_path):
    with pytest.raises(FormatError, match="--out"):
        read_history(tmp_path)
