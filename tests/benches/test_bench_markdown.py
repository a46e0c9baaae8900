import json
from pathlib import Path

import pytest

from benchmarks import Memory, Row, Skipped, Traffic, document, fill, markdown, save, stored
from benchmarks._harness import row_of
from edgnn.errors import EdgnnError, FormatError

ROWS = [
    Row(
        "a step",
        0.5,
        "PyG",
        1.5,
        "≥ 2×, memory ≤ 0.1×",
        {"entries": 5_000},
        ours="EdGNNConv",
        memory=Memory(2**20, 2**22),
    ),
    Row("a product | with a bar", 0.002, traffic=Traffic(100, 50.0, 100.0)),
    Row("drawn", 20.0, "plain", 10.0, unit="seeds/s"),
    Skipped("another", "PyG is not installed"),
    Skipped("a third", "RuntimeError: wrong", failed=True),
]
BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_rows_come_back_from_what_is_stored():
    entries = json.loads(json.dumps(document("layer", ROWS)))["results"]
    assert [row_of(entry) for entry in entries] == ROWS


def test_a_table_has_a_row_per_figure_and_the_columns_that_are_used():
    lines = markdown(document("layer", ROWS, "cuda:1")).splitlines()
    assert lines[0].startswith("`python -m benchmarks layer --device cuda:1`, ")
    assert (
        lines[2]
        == "|  | ours | peer | peer's | ratio | asked | of copying | memory | peer's memory | more |"
    )
    assert lines[3] == "|---" * 10 + "|"
    assert lines[4] == (
        "| **EdGNNConv**, a step | 500 ms | PyG | 1.5 s | 3× | ✗ ≥ 2×, memory ≤ 0.1× |  | 1 MiB | 4 MiB | entries 5,000 |"
    )
    assert lines[5] == r"| a product \| with a bar | 2 ms |  |  |  |  | 50 % |  |  |  |"
    assert lines[6] == "| drawn | 20 seeds/s | plain | 10 seeds/s | 2× |  |  |  |  |  |"
    assert lines[7:] == [
        "",
        "- another: not measured, PyG is not installed",
        "- a third: not measured, RuntimeError: wrong",
    ]
    assert markdown(document("io", [Row("reading", 1.0)])).splitlines()[2:] == [
        "|  | ours |",
        "|---|---|",
        "| reading | 1 s |",
    ]


def test_figures_of_tiny_sizes_say_so():
    assert "--quick`" in markdown(document("layer", ROWS, quick=True)).splitlines()[0]


def test_places_are_filled_as_often_as_asked_and_others_left_alone():
    page = "a\n<!-- figures: x -->\n<!-- end of figures -->\nb\n<!-- figures: y-cuda -->\nold\n<!-- end of figures -->\n"
    once, filled = fill(page, {"y-cuda": "| table |\n"})
    assert filled == ["y-cuda"]
    assert once == page.replace("old\n", "\n| table |\n\n")
    again, _ = fill(once, {"y-cuda": "| other |\n"})
    assert again == once.replace("table", "other")
    assert fill(page, {"z": "| table |\n"}) == (page, [])


def test_only_results_of_the_questions_are_read(tmp_path):
    save(tmp_path / "layer.json", document("layer", ROWS))
    save(tmp_path / "layer-cuda.json", document("layer", ROWS[:1], "cuda"))
    save(tmp_path / "wl.json", document("wl", ROWS))
    save(tmp_path / "accuracy.json", {"MUTAG": 0.9})
    assert list(stored(tmp_path)) == ["layer-cuda", "layer", "wl"]
    assert list(stored(tmp_path, ["wl"])) == ["wl"]
    with pytest.raises(EdgnnError, match="of these questions"):
        stored(tmp_path, ["io"])


def test_a_file_of_something_else_is_named(tmp_path):
    (tmp_path / "layer.json").write_text("{")
    with pytest.raises(FormatError, match=r"layer\.json"):
        stored(tmp_path)
    with pytest.raises(EdgnnError, match="measure again"):
        markdown({"question": "layer", "results": [{"what": "a step", "speed": 3}]})


def test_the_stored_runs_of_this_repository_can_be_shown():
    tables = [markdown(results) for results in stored(BENCHMARKS).values()]
    assert len(tables) >= 9
    assert all("| ours |" in table for table in tables)
