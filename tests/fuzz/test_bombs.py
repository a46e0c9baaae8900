"""Small files that ask for a lot: memory stays bounded, and the error says what they are."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

import edgnn
from edgnn.errors import EdgnnError, FormatError, RunError
from edgnn.models import load_model, make_model
from edgnn.report import read_report, write_report
from edgnn.training import RunFolder
from fuzz import samples
from fuzz.mutations import check_line

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
LAUGHING = f'<!DOCTYPE x [<!ENTITY l0 "ha">{LAUGHS}]>'

#: Reads one file with little memory to spare; prints how the error is called, and its text.
READ = """
import re, resource, sys
import edgnn, edgnn.io._read, edgnn.io._molecules
from edgnn.models import load_model
for module in ("pyarrow.csv", "pyarrow.parquet", "pyoxigraph"):
    __import__(module)
used = int(re.search(r"VmData:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (used + 600 * 2**20,) * 2)
for place in sys.argv[2:]:
    try:
        (edgnn.read if sys.argv[1] == "read" else load_model)(place)
        print("fine")
    except edgnn.errors.EdgnnError as error:
        print(f"{type(error).__name__}: {error}")
"""


def answers(how, *places) -> list[str]:
    command = [sys.executable, "-c", READ, how, *map(str, places)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(places)
    return lines


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
def test_files_that_ask_for_gigabytes_are_refused_in_little_memory(tmp_path):
    zeros = bytes(2**20)
    with gzip.open(tmp_path / "bomb.nt.gz", "wb", compresslevel=1) as stream:
        for _ in range(100):
            stream.write(zeros)
    with zipfile.ZipFile(
        tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1
    ) as archive:
        for name, data in samples.TU.items():
            archive.writestr(f"S/{name}", data if name != "S_A.txt" else b"1, 2\n" * 20_000_000)
    (tmp_path / "laughs.graphml").write_text(
        samples.GRAPHML.decode().replace("<graphml", f"{LAUGHING}<graphml").replace("N<", "&l11;<")
    )
    rdf = samples.XML.decode().replace('<!DOCTYPE rdf:RDF [<!ENTITY x "http://x/">]>', LAUGHING)
    (tmp_path / "laughs.rdf").write_text(
        rdf.replace("&x;b", "http://x/b").replace(">Zo<", ">&l11;<")
    )
    (tmp_path / "deep.json").write_bytes(b'{"nodes": ' + b"[" * 2_000_000)
    (tmp_path / "deep.ttl").write_bytes(b"<http://x/a> <http://x/b> " + b"(" * 2_000_000)
    (tmp_path / "digits.json").write_bytes(
        b'{"nodes": [{"id": ' + b"9" * 3_000_000 + b'}], "links": []}'
    )
    (tmp_path / "digits.csv").write_bytes(b"source,target\n1," + b"9" * 3_000_000 + b"\n")
    names = [
        "bomb.nt.gz",
        "bomb.zip",
        "laughs.graphml",
        "laughs.rdf",
        "deep.json",
        "deep.ttl",
        "digits.json",
        "digits.csv",
    ]
    told = dict(zip(names, answers("read", *(tmp_path / name for name in names)), strict=True))
    for name, line in told.items():
        if line == "fine":
            assert name == "digits.csv"  # a name of a node, as long as it is
            continue
        assert line.startswith("FormatError: "), (name, line)
        check_line(line)
    assert "as a decompression bomb would" in told["bomb.nt.gz"]
    assert "as a decompression bomb would" in told["bomb.zip"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A stored classifier, as files."""
    data = edgnn.load_dataset("MUTAG")
    model = edgnn.GraphClassifier(hidden=4, layers=1, max_epochs=1, random_state=0)
    place = tmp_path_factory.mktemp("run") / "run"
    model.fit(data.graphs[:20], data.targets[:20]).save(place)
    return samples.content_of(place)


def changed_config(run, change) -> dict[str, bytes]:
    config = json.loads(run["config.json"])
    change(config)
    return run | {"config.json": json.dumps(config).encode()}


def header(description) -> bytes:
    text = json.dumps(description).encode()
    return len(text).to_bytes(8, "little") + text


HUGE = {
    "length": (2**62).to_bytes(8, "little") + b"{}",
    "shape": header({"model.x": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}),
    "overflow": header(
        {"model.x": {"dtype": "F32", "shape": [2**62, 2**62], "data_offsets": [0, 8]}}
    )
    + bytes(8),
    "nothing": b"",
}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
def test_runs_that_ask_for_gigabytes_are_refused_in_little_memory(run, tmp_path):
    def wide(config):
        config["fitted"]["model"]["hidden"] = 50_000

    def crowded(config):
        config["fitted"]["members"] = 10**8

    def long_classes(config):
        config["fitted"]["class_type"] = "<U500000000"

    hostile = {name: run | {"model.safetensors": data} for name, data in HUGE.items()}
    hostile |= {
        change.__name__: changed_config(run, change) for change in (wide, crowded, long_classes)
    }
    places = [samples.put(tmp_path / name, files) for name, files in hostile.items()]
    for line in answers("load", *places):
        assert line.startswith("RunError: "), line
        check_line(line)


@pytest.mark.parametrize("name", ["config.json", "history.jsonl"])
def test_deep_nesting_in_a_run_is_told(run, tmp_path, name):
    deep = b'{"format": 1, "epoch": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    place = samples.put(tmp_path / "run", run | {name: deep})
    with pytest.raises(RunError, match=rf"{name}.* is damaged: it is nested too deeply"):
        RunFolder.open(place).history()


def test_deep_nesting_in_an_evaluation_is_told(tmp_path):
    (tmp_path / "x.json").write_bytes(b'{"evaluation": ' + b"[" * 100_000)
    with pytest.raises(EdgnnError, match="is no JSON file"):
        write_report(tmp_path / "x.json")


def test_deep_nesting_in_stored_items_is_told(tmp_path):
    graphs = edgnn.Graphs.from_edges([(0, 1), (2, 3)], sizes=[2, 2], node_labels=list("abac"))
    make_model("wl-subtree").fit(graphs, [0, 1]).save(tmp_path / "run")
    path = tmp_path / "run" / "model.safetensors"
    tensors = load(path.read_bytes())
    tensors["items.texts"] = torch.tensor(bytearray(b"[" * 100_000), dtype=torch.uint8)
    path.write_bytes(save(tensors))
    with pytest.raises(RunError, match="nested too deeply"):
        load_model(tmp_path / "run")


def test_deep_nesting_in_a_page_is_told(tmp_path):
    page = f'<script type="application/json" id="edgnn-data">{"[" * 100_000}</script>'
    (tmp_path / "x.html").write_text(page)
    with pytest.raises(EdgnnError, match="nested too deeply"):
        read_report(tmp_path / "x.html")


def test_a_class_that_would_need_a_table_of_billions_is_no_class(tmp_path):
    from study_pages import made_evaluation

    document = json.loads(
        json.dumps(made_evaluation(0.8, items=20, folds=3).to_dict(), default=np.ndarray.tolist)
    )
    document["truth"][0] = 2**31
    (tmp_path / "x.json").write_text(json.dumps(document))
    with pytest.raises(FormatError, match="a target is no class"):
        write_report(tmp_path / "x.json")


def test_a_mapped_array_of_a_size_that_is_not_there_is_told(tmp_path):
    files = samples.arrays_folder(tmp_path / "whole.graphs")
    document = json.loads(files["graphs.json"])
    document["content"]["nodes"] = document["content"]["arrays"]["node_label"]["shape"][0] = 2**40
    place = samples.put(
        tmp_path / "x.graphs",
        samples.signed(files | {"graphs.json": json.dumps(document).encode()}, "graphs.json"),
    )
    with pytest.raises(FormatError, match="but the folder's header asks for 8,796,093,022,336"):
        edgnn.read(place)


def test_a_parquet_file_with_many_rows_of_nothing_is_read_or_told(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    pq.write_table(
        pa.table({"source": pa.array(["a"] * 10**6), "target": pa.array(["b"] * 10**6)}), stream
    )
    assert len(stream.getvalue()) < 20_000
    Path(tmp_path / "edges.parquet").write_bytes(stream.getvalue())
    assert edgnn.read(tmp_path / "edges.parquet").num_edges == 10**6
    with pytest.raises(FormatError, match="max_bytes"):
        edgnn.read(tmp_path / "edges.parquet", max_bytes=1000)


def test_a_run_cut_off_anywhere_is_told(run, tmp_path):
    whole = run["model.safetensors"]
    for size in (0, 7, 8, 100, len(whole) // 2, len(whole) - 1):
        place = samples.put(tmp_path / str(size), run | {"model.safetensors": whole[:size]})
        with pytest.raises(RunError) as told:
            load_model(place)
        check_line(str(told.value))
