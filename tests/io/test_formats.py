"""Formats are objects in one registry, which other packages add to."""

import json
import subprocess
import sys

import pytest

import edgnn
from edgnn.errors import FormatError, GraphError
from edgnn.io import FORMATS, Candidate, Format, Labeled, format_to_write, recognize


def read_chain(path, *, labels: str = "abc", target: str | None = None, start: int = 0) -> Labeled:
    """Read a made-up format: a line of node labels per graph, then its target."""
    graphs, targets = [], []
    for line in path.read_text().splitlines():
        letters, value = line.removeprefix("chain ").split("=")
        ends = [(node, node + 1) for node in range(len(letters) - 1)]
        graphs.append(edgnn.Graphs.from_edges(ends, node_labels=list(letters)))
        targets.append(float(value))
    import numpy as np

    return Labeled(edgnn.Graphs.concat(graphs), np.array(targets) if target else None)


def write_chain(graphs, path, *, end: str = "0") -> None:
    lines = (f"chain {''.join(map(str, graph.node_labels))}={end}\n" for graph in graphs)
    path.write_text("".join(lines))


CHAIN = Format(
    "chain",
    "chains of letters",
    read_chain,
    write_chain,
    suffixes=(".chain",),
    recognizes=lambda candidate: candidate.text.startswith(b"chain "),
    target_options={"graph": "target"},
)


@pytest.fixture
def chain(monkeypatch):
    len(FORMATS)  # load those of installed packages first
    monkeypatch.setattr(FORMATS, "_entries", {**FORMATS, "chain": CHAIN})


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.chain"
    path.write_text("chain abc=1.0\nchain ab=0.0\n" * 4)
    return path


def test_a_registered_format_is_read_written_and_loaded(chain, file, tmp_path):
    graphs = edgnn.read(file)
    assert graphs.sizes.tolist() == [3, 2] * 4
    (tmp_path / "noname").write_bytes(file.read_bytes())
    assert (recognize(file), recognize(tmp_path / "noname")) == ("chain", "chain")
    assert format_to_write("x.chain") == "chain"
    edgnn.write(graphs, tmp_path / "b.chain", end="7")
    assert (tmp_path / "b.chain").read_text().startswith("chain abc=7\n")
    data = edgnn.load_dataset(file, target_column="any")
    assert (data.task, data.class_names, data.level) == ("classes", ("0", "1"), "graph")


def test_options_of_a_registered_format_are_those_of_its_functions(chain, file, tmp_path):
    assert (CHAIN.read_options, CHAIN.write_options) == (("labels", "target", "start"), ("end",))
    with pytest.raises(GraphError, match=r"'chain' has no option 'labls'; .*did you mean 'labels'"):
        edgnn.read(file, labls="x")
    with pytest.raises(GraphError, match=r"start='x': .* takes a whole number"):
        edgnn.read(file, start="x")
    with pytest.raises(GraphError, match="'chain' has no option 'labels'; it has end"):
        edgnn.write(edgnn.read(file), tmp_path / "b.chain", labels="x")


def test_annotations_that_cannot_be_resolved_are_not_checked(monkeypatch, file):
    def read(path, *, labels: "Unknown" = "abc") -> Labeled:  # noqa: F821
        return read_chain(path)

    len(FORMATS)
    own = Format("chain", "chains", read, suffixes=(".chain",))
    monkeypatch.setattr(FORMATS, "_entries", {**FORMATS, "chain": own})
    assert edgnn.read(file, labels=3).sizes.tolist() == [3, 2] * 4
    with pytest.raises(GraphError, match="has no option 'label'"):
        edgnn.read(file, label=3)


def test_a_format_without_a_writer_is_not_written(monkeypatch, file):
    len(FORMATS)
    only_read = Format("chain", "chains", read_chain, suffixes=(".chain",))
    monkeypatch.setattr(FORMATS, "_entries", {**FORMATS, "chain": only_read})
    with pytest.raises(GraphError, match=r"cannot tell the format of 'x\.chain'"):
        format_to_write("x.chain")
    with pytest.raises(GraphError, match="format='chain': choose one of"):
        edgnn.write(edgnn.read(file), "x", format="chain")


def test_a_registered_format_may_take_over_a_suffix(monkeypatch, tmp_path):
    len(FORMATS)
    path = tmp_path / "a.json"
    path.write_text('{"chain": 1}')
    asked = []

    def recognizes(candidate: Candidate) -> bool:
        asked.append((candidate.suffix, candidate.start, sorted(candidate.entries)))
        return b"chain" in candidate.start

    own = Format("chain", "chains", read_chain, suffixes=(".json",), recognizes=recognizes)
    monkeypatch.setattr(FORMATS, "_entries", {**FORMATS, "chain": own})
    assert recognize(path) == "chain"
    assert asked == [(".json", b'{"chain": 1}', [])]
    path.write_text('{"nodes": []}')
    assert recognize(path) == "node-link"


def test_the_command_line_knows_registered_formats(file, tmp_path):
    """An entry point of another package is all that it takes."""
    package = tmp_path / "site"
    (package / "chain_format-1.dist-info").mkdir(parents=True)
    (package / "chain_format-1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: chain-format\nVersion: 1\n"
    )
    (package / "chain_format-1.dist-info" / "entry_points.txt").write_text(
        "[edgnn.formats]\nchain = test_formats:CHAIN\n"
    )
    code = (
        "import sys; sys.path[:0] = sys.argv[1:3]; from edgnn.cli import main; "
        "sys.argv = ['edgnn', *sys.argv[3:]]; main()"
    )
    here = __file__.rpartition("/")[0]
    out = tmp_path / "run"
    words = ["train", file, "--target", "y", "--out", out, "--max-epochs", 1, "--quiet"]
    command = [sys.executable, "-c", code, package, here, *words, "--test", "none"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    config = json.loads((out / "config.json").read_text())
    assert (config["source"]["format"], config["class_names"]) == ("chain", ["0", "1"])


def test_an_error_says_its_kind(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"\x00")
    with pytest.raises(FormatError) as error:
        edgnn.read(tmp_path / "a.bin")
    assert (error.value.kind, error.value.path) == ("format", str(tmp_path / "a.bin"))
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    with pytest.raises(FormatError) as error:
        edgnn.read(tmp_path / "a.csv")
    assert (error.value.kind, error.value.line) == ("columns", 1)


@pytest.mark.parametrize("text", ["a\tb,c\n1\t2\n", '"x,y"\ta\tb,c\n0\t1\t2\n', "a,b,c\n1,2,3\n"])
def test_molecules_and_edges_follow_one_rule_for_delimiters(tmp_path, text):
    pytest.importorskip("rdkit")
    cells = [
        cell.strip('"') for cell in text.partition("\n")[0].split("\t" if "\t" in text else ",")
    ]
    path = tmp_path / "a.csv"
    path.write_text(text.replace("a", "source", 1).replace("b", "target", 1))
    edges = edgnn.read(
        path, source="source", target=cells[-1].replace("b", "target") if "\t" in text else "target"
    )
    assert edges.num_edges == 1
    path.write_text(text.replace("a", "smiles", 1).replace("1", "CCO", 1))
    assert edgnn.read(path, smiles="smiles").sizes.tolist() == [3]
