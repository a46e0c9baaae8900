import json

import pytest
from rich.console import Console
from typer.testing import CliRunner

from benchmarks import Memory, Row, Skipped, Traffic
from benchmarks._command import app, main
from benchmarks._table import amount, line_of, rows_printer, size
from edgnn.errors import EdgnnError

ROWS = [
    Row(
        "1M nodes, width 64",
        0.0048,
        "PyG RGCNConv",
        0.267,
        "≥ 55×, memory ≤ 0.01×",
        {"entries": 20_000_000},
        ours="EdGNNConv",
        memory=Memory(2**30, 33 * 2**30),
        points={"edges (10 per node)": 10_000_000},
    ),
    Row("a product", 0.0016, goal="≥ 80 % of copying", traffic=Traffic(5_000, 3.2e12, 4e12)),
    Skipped("PyG RGCNConv, 512 relations", "out of memory on cuda"),
]


@pytest.mark.slow
def test_bench_io_runs_on_tiny_sizes_and_keeps_its_results(tmp_path, data_dir):
    arguments = [
        "io",
        "--quick",
        "--json",
        "--out",
        str(tmp_path),
        "--data-dir",
        str(data_dir),
    ]
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
@pytest.mark.filterwarnings(
    "ignore:The hashes produced for directed graphs:UserWarning"
)  # networkx, on every call
def test_bench_wl_keeps_a_drawing_beside_its_rows(tmp_path, data_dir):
    arguments = [
        "wl",
        "--quick",
        "--json",
        "--out",
        str(tmp_path),
        "--data-dir",
        str(data_dir),
    ]
    printed = json.loads(CliRunner().invoke(app, arguments, catch_exceptions=False).stdout)["wl"]
    assert len(printed["results"]) == 6
    assert (tmp_path / "wl.svg").read_text().count("<path") >= 3


@pytest.fixture
def measured(monkeypatch):
    def question(data_dir, quick, device):
        yield from ROWS

    monkeypatch.setattr("benchmarks.QUESTIONS", {"layer": question})


def bench(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)


@pytest.mark.usefixtures("measured")
def test_results_plot_and_history_are_kept(tmp_path):
    printed = json.loads(bench("layer", "--json", "--out", tmp_path).stdout)["layer"]
    kept = json.loads((tmp_path / "layer.json").read_text())
    assert kept["results"] == printed["results"]
    assert kept["settings"]["device"] == "cpu"
    assert (kept["settings"]["float32_matmul_precision"], kept["settings"]["allow_tf32"]) == (
        "highest",
        False,
    )
    step, product, skipped = kept["results"]
    assert step["memory"] == {"ours": 2**30, "peer": 33 * 2**30, "ratio": 1 / 33}
    assert (product["traffic"]["bytes"], product["traffic"]["share"], product["met"]) == (
        5_000,
        0.8,
        True,
    )
    assert skipped == {"what": "PyG RGCNConv, 512 relations", "reason": "out of memory on cuda"}
    assert (tmp_path / "layer.svg").read_text().count("<polyline") == 2
    bench("layer", "--out", tmp_path)
    assert (tmp_path / "history.jsonl").read_text().count("\n") == 2


@pytest.mark.usefixtures("measured")
def test_history_shows_how_figures_moved_without_measuring(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    bench("layer", "--out", tmp_path)
    faster = [Row("1M nodes, width 64", 0.0024, "PyG RGCNConv", 0.267, ours="EdGNNConv")]
    monkeypatch.setattr(
        "benchmarks.QUESTIONS", {"layer": lambda data_dir, quick, device: iter(faster)}
    )
    bench("layer", "--out", tmp_path)
    monkeypatch.setattr("benchmarks.QUESTIONS", {"layer": None})
    shown = bench("--history", tmp_path).stdout
    for figure in ("4.8 ms", "2.4 ms", "-50 %", "111×"):
        assert figure in shown
    step, product = json.loads(bench("layer", "--history", tmp_path, "--json").stdout)
    assert [figure["ours"] for figure in step["figures"]] == [0.0048, 0.0024]
    assert (step["change"], product["change"]) == (0.5, None)


def test_an_error_in_a_row_loses_no_other_and_ends_with_1(tmp_path, monkeypatch):
    def layer(data_dir, quick, device):
        yield ROWS[0]
        raise RuntimeError("shapes do not match\nat all")

    monkeypatch.setattr(
        "benchmarks.QUESTIONS",
        {"layer": layer, "wl": lambda data_dir, quick, device: iter(ROWS[1:])},
    )
    result = CliRunner().invoke(app, ["--out", str(tmp_path)])
    assert result.exit_code == 1
    assert "the rest of layer: FAILED, RuntimeError: shapes do not match\n" in result.stdout
    assert "1 of these figures could not be measured" in result.stderr
    kept = json.loads((tmp_path / "layer.json").read_text())["results"]
    assert [row["what"] for row in kept] == ["1M nodes, width 64", "the rest of layer"]
    assert kept[1]["failed"] is True
    assert len(json.loads((tmp_path / "wl.json").read_text())["results"]) == 2
    assert not (tmp_path / "wl.svg").exists()


@pytest.mark.usefixtures("measured")
def test_stored_results_are_shown_as_markdown_and_put_in_their_places(tmp_path, monkeypatch):
    bench("layer", "--out", tmp_path)
    monkeypatch.setattr("benchmarks.QUESTIONS", {"layer": None})
    shown = bench("--show", tmp_path).stdout
    assert shown.startswith("### layer\n\n`python -m benchmarks layer`, ")
    assert "| **EdGNNConv**, 1M nodes, width 64 | 4.8 ms | PyG RGCNConv | 267 ms | 55.6× |" in shown
    page = tmp_path / "page.md"
    page.write_text(
        "Before\n<!-- figures: layer -->\nold\n<!-- end of figures -->\nAfter\n", encoding="utf-8"
    )
    assert bench("--show", tmp_path, "--into", page).stdout == f"{page}: layer\n"
    filled = page.read_text(encoding="utf-8")
    assert filled.startswith("Before\n<!-- figures: layer -->\n\n`python -m benchmarks layer`, ")
    assert filled.endswith("<!-- end of figures -->\nAfter\n")
    assert "old" not in filled


@pytest.mark.usefixtures("measured")
def test_what_cannot_be_shown_is_said(tmp_path):
    with pytest.raises(EdgnnError, match="no results in this folder"):
        bench("--show", tmp_path)
    bench("layer", "--out", tmp_path)
    with pytest.raises(EdgnnError, match="with --show which folder"):
        bench("--into", tmp_path / "page.md")
    (tmp_path / "page.md").write_text("No place", encoding="utf-8")
    with pytest.raises(EdgnnError, match="no place for any of layer"):
        bench("--show", tmp_path, "--into", tmp_path / "page.md")
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == "No place"


def test_a_device_that_is_not_here_is_refused_before_anything_is_measured(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(Exception, match="no CUDA device here"):
        bench("layer", "--device", "cuda")
    with pytest.raises(Exception, match="no benchmark 'speed'"):
        bench("speed")


def test_a_line_tells_everything_of_a_row():
    assert line_of(ROWS[0]) == (
        "EdGNNConv, 1M nodes, width 64: 4.8 ms; PyG RGCNConv 267 ms, ratio 55.6; memory 1 GiB against 33 GiB; "
        "goal ≥ 55×: met; goal memory ≤ 0.01×: MISSED; entries 20,000,000"
    )
    assert (
        line_of(ROWS[1])
        == "a product: 1.6 ms; 3,200 GB/s, 80 % of copying; goal ≥ 80 % of copying: met"
    )
    assert line_of(ROWS[2]) == "PyG RGCNConv, 512 relations: skipped, out of memory on cuda"
    assert "goal ≥ 2×: not judged" in line_of(Row("alone", 1.0, goal="≥ 2×"))


@pytest.mark.parametrize("width", [80, 120, 200])
def test_a_terminal_gets_columns_that_fit_and_lose_nothing(monkeypatch, width):
    console = Console(force_terminal=True, width=width, record=True, highlight=False)
    monkeypatch.setattr("benchmarks._table.Console", lambda **_: console)
    show = rows_printer("layer", "cuda")
    for row in ROWS:
        show(row)
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.split())
    figures = (
        "4.8 ms",
        "267 ms",
        "55.6×",
        "✓ ≥ 55×",
        "✗ memory ≤ 0.01×",
        "1 GiB",
        "33 GiB",
        "80 %",
        "cost against edges",
        "entries 20,000,000",
    )
    for part in (*figures, "EdGNNConv", "PyG RGCNConv", "skipped:"):
        assert part in words


def test_amounts_have_three_digits_and_a_unit():
    assert [amount(value) for value in (123.4, 1.0, 0.0123, 4.56e-5, 7e-9, 2345.0)] == [
        "123 s",
        "1 s",
        "12.3 ms",
        "45.6 µs",
        "7 ns",
        "2,345 s",
    ]
    assert amount(4100.4, "GB/s") == "4,100 GB/s"
    assert [size(count) for count in (512, 15 * 2**20, 33 * 2**30)] == ["512 B", "15 MiB", "33 GiB"]


def test_a_wrong_argument_is_one_line_and_exit_code_2(monkeypatch, capsys, tmp_path):
    for words, line in (
        (["rival"], "benchmarks: there is no benchmark 'rival'; choose from "),
        (["--history", str(tmp_path)], f"benchmarks: {tmp_path / 'history.jsonl'}: there is no"),
    ):
        monkeypatch.setattr("sys.argv", ["benchmarks", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        assert (ended.value.code, printed.out) == (2, "")
        assert printed.err.startswith(line)
        assert printed.err.count("\n") == 1
