import errno
import json
import os
import pickle
import shutil
import sys
import tempfile
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import edgnn
import strategies
from edgnn.errors import FormatError, GraphError
from edgnn.io import _array_files, _arrays, _graph_writer, _growing, _piece_checks

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.just(edgnn.UNKNOWN),
    lambda inner: st.tuples(inner, inner),
    max_leaves=4,
)


@pytest.fixture(scope="module", autouse=True)
def no_waiting_for_the_disk():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda file: None)
        yield


def reread(graphs, **options):
    """Write graphs and read them again, in pieces of a few elements; the mapping outlives the folder."""
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        for module in (_arrays, _graph_writer, _growing, _piece_checks):
            patch.setattr(module, "_PIECE", 3)
        patch.setattr(_array_files, "_PIECE", 16)
        edgnn.write(graphs, Path(place) / "g.graphs", **options)
        return edgnn.read_labeled(Path(place) / "g.graphs", verify=True)


@given(strategies.graphs(max_graphs=4, attributes=True))
def test_graphs_come_back_as_they_were(graphs):
    back = reread(graphs).graphs
    assert back.equals(graphs)
    assert torch.equal(back.edge_offset, graphs.edge_offset)
    assert strategies.contents(back[1:3]) == strategies.contents(graphs[1:3])
    for name in ("node_features", "edge_features", "graph_features"):
        one, other = getattr(back, name), getattr(graphs, name)
        assert (one is None) == (other is None)
        assert one is None or one.dtype == other.dtype


def test_pieces_keep_the_attributes_that_all_have(tmp_path):
    pair = edgnn.Graphs.from_edges([(0, 1)]).with_graph_features([[1.5]], "dose")
    one = pair.with_attributes(node={"charge": [0, 1]}, edge={"stereo": [2]})
    other = pair.with_attributes(node={"isotope": [0, 0]}, edge={"stereo": [0]})
    with edgnn.io.GraphWriter(tmp_path / "two.graphs") as writer:
        for piece in (one, pair[:0], other):
            writer.add(piece)
    back = edgnn.read(tmp_path / "two.graphs")
    assert back.equals(edgnn.Graphs.concat([one, other]))
    assert back.edge_attributes.tolist() == [[2], [0]]
    assert not (tmp_path / "two.graphs" / "node_attributes.npy").exists()
    with edgnn.io.GraphWriter(tmp_path / "three.graphs") as writer:
        writer.add(one)
        writer.add_nodes(2)
        writer.add_edges([0], [1])
    back = edgnn.read(tmp_path / "three.graphs")
    assert back.node_attributes is back.edge_attributes is back.graph_features is None
    assert len(back) == 2


def test_columns_without_names_are_damage(tmp_path):
    pair = edgnn.Graphs.from_edges([(0, 1)]).with_attributes(node={"charge": [0, 1]})
    edgnn.write(pair, tmp_path / "g.graphs")
    header = tmp_path / "g.graphs" / "graphs.json"
    stored = json.loads(header.read_text())
    for columns in ({}, {"node_attributes": []}, {"node_attributes": [3]}, 5):
        content = stored["content"] | {"columns": columns}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        header.write_text(
            json.dumps(stored | {"content": content, "crc32": zlib.crc32(text.encode())})
        )
        with pytest.raises(FormatError, match=r"graphs\.json"):
            edgnn.read(tmp_path / "g.graphs")


@given(st.lists(VALUES, min_size=1, max_size=6, unique=True))
def test_label_values_and_names_of_all_types_come_back_with_their_types(values):
    graphs = edgnn.Graphs.from_edges(
        [], node_labels=values, node_names=values, graph_names=[values[0]]
    )
    back = reread(graphs).graphs
    for one, other in (
        (back.node_labels, graphs.node_labels),
        (back.node_names, graphs.node_names),
    ):
        assert [(type(value), repr(value)) for value in one] == [
            (type(value), repr(value)) for value in other
        ]
    assert repr(back.graph_names[0]) == repr(values[0])


def test_the_reserved_label_comes_back_as_the_one_there_is():
    known = edgnn.Graphs.from_edges([(0, 1)], node_labels=["a", "b"], edge_labels=["x"])
    graphs = edgnn.Graphs.from_edges(
        [(0, 1)], node_labels=["a", "c"], edge_labels=["y"], like=known, unknown="map"
    )
    back = reread(graphs).graphs
    assert back.node_labels[1] is edgnn.UNKNOWN
    assert edgnn.Structure.of(back).num_edge_labels == 1


@pytest.mark.parametrize(
    "targets",
    [
        [1, 0],
        [0.5, float("nan")],
        [True, False],
        ["yes", "no"],
        [[1.0, 2.0], [3.0, 4.0]],
        [("a", 1), None],
    ],
)
def test_targets_of_graphs_come_back(targets):
    graphs = edgnn.Graphs.from_edges([(0, 1), (2, 3)], sizes=[2, 2])
    given_ = np.empty(2, object) if isinstance(targets[0], tuple) else np.array(targets)
    given_[:] = targets
    back = reread(graphs, targets=given_)
    assert back.level == "graph"
    assert str(back.targets.tolist()) == str(given_.tolist())


def test_targets_of_nodes_come_back_with_their_nodes(tmp_path):
    graphs = edgnn.Graphs.from_edges([(0, 1), (1, 2)])
    edgnn.write(graphs, tmp_path / "g.graphs", targets=["a", "b"], nodes=graphs.nodes[[2, 0]])
    data = edgnn.load_dataset(tmp_path / "g.graphs")
    assert (data.level, data.nodes.index.tolist(), data.class_names) == ("node", [2, 0], ("a", "b"))


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"targets": [1]}, "one value, or one row, per graph: 2 of them"),
        ({"targets": [[["a"]], [["b"]]]}, "one value, or one row"),
        ({"targets": [["a", "b"], ["c", "d"]]}, "several columns must be numbers"),
        ({"targets": [1], "nodes": [4]}, "target 0 belongs to node 4, but there are 4"),
        ({"nodes": [0]}, "there are no targets="),
    ],
)
def test_targets_that_do_not_fit_are_refused(options, rule, tmp_path):
    with pytest.raises(GraphError, match=rule):
        edgnn.write(
            edgnn.Graphs.from_edges([(0, 1), (2, 3)], sizes=[2, 2]),
            tmp_path / "g.graphs",
            **options,
        )
    assert list(tmp_path.iterdir()) == []


def test_names_can_be_left_on_disk(tmp_path):
    edgnn.write(edgnn.Graphs.from_edges([(0, 1)], node_names=["a", "b"]), tmp_path / "g.graphs")
    assert edgnn.read(tmp_path / "g.graphs").node_names.tolist() == ["a", "b"]
    assert edgnn.read(tmp_path / "g.graphs", names=False).node_names is None


def test_a_label_that_json_cannot_hold_is_refused_and_nothing_is_left(tmp_path):
    graphs = edgnn.Graphs.from_edges([], node_labels=["a", frozenset("b")])
    with pytest.raises(
        GraphError,
        match=r"node label 1 cannot be written: the label frozenset.* a file of arrays cannot store",
    ):
        edgnn.write(graphs, tmp_path / "g.graphs")
    assert list(tmp_path.iterdir()) == []


def test_numpy_reads_the_arrays_too(tmp_path):
    graphs = edgnn.load_dataset("MUTAG").graphs
    edgnn.write(graphs, tmp_path / "g.graphs")
    for name in ("node_label", "edge_source", "graph_offset"):
        assert np.array_equal(
            np.load(tmp_path / "g.graphs" / f"{name}.npy", allow_pickle=False),
            getattr(graphs, name).numpy(),
        )
    entry = _array_files.Entry("<f4", (12, 3), 0)
    np.save(tmp_path / "own.npy", np.zeros((12, 3), np.float32))
    assert (tmp_path / "own.npy").read_bytes()[:128] == _array_files.npy_header(entry)


def test_same_graphs_give_the_same_bytes(tmp_path):
    graphs = edgnn.load_dataset("MUTAG").graphs
    for name in ("a", "b"):
        edgnn.write(graphs, tmp_path / f"{name}.graphs")
    for file in (tmp_path / "a.graphs").iterdir():
        assert file.read_bytes() == (tmp_path / "b.graphs" / file.name).read_bytes()


# Mapped


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "g.graphs"
    edgnn.write(
        edgnn.load_dataset("MUTAG").graphs, place, targets=edgnn.load_dataset("MUTAG").targets
    )
    return place


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_arrays_are_mapped_not_read(folder):
    graphs = edgnn.read(folder)
    places = [
        line.split()
        for line in Path("/proc/self/maps").read_text().splitlines()
        if str(folder) in line
    ]
    for name in (
        "node_label",
        "edge_source",
        "edge_target",
        "edge_label",
        "graph_offset",
        "edge_offset",
    ):
        address = getattr(graphs, name).data_ptr()
        found = [words for words in places if words[-1].endswith(f"/{name}.npy")]
        assert any(
            int(start, 16) <= address < int(stop, 16)
            for start, stop in (words[0].split("-") for words in found)
        ), name


def test_changes_of_a_mapped_array_do_not_reach_the_file(folder):
    graphs = edgnn.read(folder)
    graphs.node_label[0] = 6
    assert edgnn.read(folder).node_label[0] != 6


@pytest.mark.skipif(
    sys.platform != "linux", reason="files with holes, and the memory that there is"
)
def test_an_array_may_be_larger_than_the_memory_of_the_machine(tmp_path):
    size = 2 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8
    entry = _array_files.Entry("<i8", (size,), 0)
    try:
        with (tmp_path / "a.npy").open("wb") as stream:
            stream.write(_array_files.npy_header(entry))
            stream.truncate(128 + 8 * size)
    except OSError as error:
        pytest.skip(f"this file system holds no such file ({error})")
    array = torch.from_numpy(_array_files.map_array(tmp_path / "a.npy", entry))
    assert (len(array), int(array[-1])) == (size, 0)


MEASURE = """
import sys
from pathlib import Path
import numpy as np, torch, edgnn, edgnn.io

def told(name):
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name)) / 1024

place, before = Path(sys.argv[1]), told("VmRSS:")
rng = np.random.default_rng(0)
with edgnn.io.GraphWriter(place / "big.graphs") as writer:
    for _ in range(10):
        writer.begin_graph()
        writer.add_nodes(100_000)
        for _ in range(5):
            source, target = rng.integers(0, 100_000, (2, 250_000))
            writer.add_edges(source, target, labels=rng.integers(0, 9, 250_000))
wrote, now = told("VmHWM:") - before, told("VmRSS:")
graphs = edgnn.read(place / "big.graphs")
int(graphs.edge_source[6_000_000:6_001_000].sum()), graphs.edge_features
part = told("VmRSS:") - now
one = graphs[7]
print(wrote, part, told("VmRSS:") - now)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_writing_in_pieces_and_reading_a_part_take_little_memory(run_python, tmp_path):
    wrote, part, graph = map(float, run_python(MEASURE, tmp_path, OMP_NUM_THREADS="1").split())
    assert sum(file.stat().st_size for file in (tmp_path / "big.graphs").iterdir()) > 300e6
    assert wrote < 60
    assert (
        part < 40
    )  # of 100 MB of sources; some systems are tens of megabytes behind in their counting
    assert (
        graph < 100
    )  # a tenth of the ends, on disk and counted anew from the graph's first node: 40 of 200 MB, and 20


def test_mapped_graphs_can_be_pickled(folder):
    graphs = edgnn.read(folder)
    data = pickle.dumps(graphs)
    shutil.rmtree(folder)
    assert pickle.loads(data).equals(edgnn.load_dataset("MUTAG").graphs)


def test_mapped_graphs_are_refined_and_learned_from_as_others_are(folder):
    data, original = edgnn.load_dataset(folder), edgnn.load_dataset("MUTAG")
    assert torch.equal(
        edgnn.wl.refine(data.graphs, rounds=3).at(3),
        edgnn.wl.refine(original.graphs, rounds=3).at(3),
    )
    options = {"layers": 1, "hidden": 8, "max_epochs": 3, "random_state": 0}
    one = edgnn.GraphClassifier(**options).fit(data.graphs[:60], data.targets[:60])
    other = edgnn.GraphClassifier(**options).fit(original.graphs[:60], original.targets[:60])
    assert np.array_equal(one.predict_proba(data.graphs), other.predict_proba(original.graphs))


# Damage


def change_header(folder, change):
    header = json.loads((folder / "graphs.json").read_text())
    change(header)
    canonical = json.dumps(header["content"], sort_keys=True, separators=(",", ":"))
    (folder / "graphs.json").write_text(
        json.dumps(header | {"crc32": zlib.crc32(canonical.encode())})
    )


@pytest.mark.parametrize("name", ["edge_source.npy", "node_vocabulary.jsonl"])
def test_a_file_that_is_cut_off_is_told(folder, name):
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[:-1])
    with pytest.raises(FormatError, match=rf"{name}: .*copy the whole folder again"):
        edgnn.read(folder)


@pytest.mark.parametrize("name", ["edge_label.npy", "edge_vocabulary.jsonl", "targets.npy"])
def test_a_missing_file_of_a_folder_is_told(folder, name):
    (folder / name).unlink()
    with pytest.raises(FormatError, match=rf"{name}: the file is missing: copy"):
        edgnn.read(folder)


def test_a_changed_number_is_found_when_asked_for(folder):
    path = folder / "edge_source.npy"
    data = bytearray(path.read_bytes())
    data[-8] ^= 1
    path.write_bytes(data)
    edgnn.read(folder)
    with pytest.raises(
        FormatError, match=r"edge_source.npy: the content has changed since it was written"
    ):
        edgnn.read(folder, verify=True)


def test_another_array_of_the_same_size_is_told(folder):
    np.save(folder / "edge_source.npy", np.zeros(7442, np.float64))
    with pytest.raises(
        FormatError,
        match=r"edge_source.npy: the file does not begin as .* 7442 numbers of type <i8",
    ):
        edgnn.read(folder)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "no readable header"),
        ("[1]", "no readable header"),
        ('{"format": "edgnn graphs"}', "no readable header"),
        ("[" * 10**5, "no readable header"),
    ],
)
def test_a_header_that_is_none_is_told(folder, text, rule):
    (folder / "graphs.json").write_text(text)
    with pytest.raises(FormatError, match=rf"graphs.json: this is {rule}"):
        edgnn.read(folder)


def test_a_header_that_was_changed_is_told(folder):
    text = (folder / "graphs.json").read_text()
    (folder / "graphs.json").write_text(text.replace("7442", "7443"))
    with pytest.raises(
        FormatError, match=r"graphs.json: the header has changed since it was written"
    ):
        edgnn.read(folder)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda header: header.update(version=2), "update edgnn"),
        (
            lambda header: header.update(format="edgnn structure"),
            "holds 'edgnn structure', not 'edgnn graphs'",
        ),
        (
            lambda header: header["content"].update(nodes=1),
            "'node_label' has the type <i8 and the shape",
        ),
        (lambda header: header["content"].update(nodes=1), "and 1 rows: copy"),
        (lambda header: header["content"].update(nodes=float("inf")), "lacks what it must tell"),
        (lambda header: header["content"].update(nodes=3371.5), "lacks what it must tell"),
        (lambda header: header["content"].pop("nodes"), "lacks what it must tell"),
        (lambda header: header["content"].pop("values"), "lacks what it must tell"),
        (lambda header: header["content"].update(values=3), "lacks what it must tell"),
        (
            lambda header: header["content"]["values"].update(edge_vocabulary=[]),
            "lacks what it must tell",
        ),
        (
            lambda header: header["content"]["arrays"].pop("edge_label"),
            "lacks the array 'edge_label'",
        ),
        (
            lambda header: header["content"]["values"].pop("edge_vocabulary"),
            "lacks the values 'edge_vocabulary'",
        ),
        (
            lambda header: header["content"]["arrays"]["edge_label"].update(dtype="|O"),
            "'edge_label' in a way",
        ),
        (
            lambda header: header["content"]["arrays"]["edge_label"].update(shape=[-1]),
            "'edge_label' in a way",
        ),
        (lambda header: header["content"]["arrays"].update(edge_label=3), "'edge_label' in a way"),
    ],
)
def test_a_header_that_tells_of_something_else_is_refused(folder, change, rule):
    change_header(folder, change)
    with pytest.raises(FormatError, match=rule):
        edgnn.read(folder)


def put(folder, name, place, value):
    """Change one number of an array, with a checksum that says all is well."""
    array = np.load(folder / f"{name}.npy")
    array[place] = value
    np.save(folder / f"{name}.npy", array)
    crc32 = zlib.crc32(array.tobytes())
    change_header(folder, lambda header: header["content"]["arrays"][name].update(crc32=crc32))


@pytest.mark.parametrize(
    ("name", "place", "value", "rule"),
    [
        (
            "edge_source",
            17,
            -1,
            "edge 17 starts at node -1, but its graph has the nodes from 0 to 16",
        ),
        ("edge_target", 30, 20, "edge 30 points to node 20, but its graph"),
        ("node_label", 5, 7, "node 5 has the label number 7, but the vocabulary has 7"),
        ("edge_label", 9, 4, "edge 9 has the label number 4"),
        ("graph_offset", 3, 0, "graph_offset must rise"),
        ("edge_offset", 3, 0, "edge_offset must rise"),
    ],
)
def test_verifying_finds_what_makes_no_graphs_whatever_the_checksums_say(
    folder, name, place, value, rule
):
    put(folder, name, place, value)
    edgnn.read(folder)
    with pytest.raises(FormatError, match=rule):
        edgnn.read(folder, verify=True)


@pytest.mark.parametrize(
    ("name", "place", "value", "rule"),
    [
        (
            "edge_source",
            17,
            -1,
            "edge 17 starts at node -1, but its graph has the nodes from 0 to 16",
        ),
        ("edge_target", 30, 20, "edge 30 points to node 20, but its graph"),
        ("node_label", 5, -1, "node 5 has the label number -1"),
        ("edge_label", 9, 4, "edge 9 has the label number 4"),
        ("graph_offset", 3, 0, "graph_offset must rise"),
        ("edge_offset", 3, 0, "edge_offset must rise"),
    ],
)
def test_damage_that_was_not_looked_for_is_not_written_on(folder, name, place, value, rule):
    put(folder, name, place, value)
    with pytest.raises(GraphError, match=rule):
        edgnn.write(edgnn.read(folder), folder.parent / "copy.graphs")
    assert not (folder.parent / "copy.graphs").exists()


def test_features_that_are_no_numbers_are_not_written_on(tmp_path):
    edgnn.write(
        edgnn.Graphs.from_edges([(0, 1)], node_features=[[1.0], [2.0]]), tmp_path / "g.graphs"
    )
    put(tmp_path / "g.graphs", "node_features", (1, 0), np.nan)
    with pytest.raises(GraphError, match="feature 0 of node 1 is nan"):
        edgnn.write(edgnn.read(tmp_path / "g.graphs"), tmp_path / "copy.graphs")


def test_nodes_of_targets_are_looked_at_only_when_asked_for(tmp_path):
    edgnn.write(
        edgnn.Graphs.from_edges([(0, 1)]), tmp_path / "g.graphs", targets=[1, 2], nodes=[0, 1]
    )
    put(tmp_path / "g.graphs", "target_nodes", 1, 2)
    assert edgnn.read_labeled(tmp_path / "g.graphs").nodes.index.tolist() == [0, 2]
    with pytest.raises(
        FormatError, match=r"target_nodes.npy: it names nodes that are not among the 2"
    ):
        edgnn.read(tmp_path / "g.graphs", verify=True)


def test_offsets_are_verified_in_bounded_memory():
    offset = np.arange(2**20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_piece_checks, "_PIECE", 2**12)
        tracemalloc.start()
        _piece_checks.offsets(offset, 2**20 - 1, "graph_offset")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2**16
        offset[2**12] = 0
        with pytest.raises(GraphError, match="graph_offset must rise"):
            _piece_checks.offsets(offset, 2**20 - 1, "graph_offset")


def test_verifying_finds_features_that_are_no_numbers(tmp_path):
    edgnn.write(
        edgnn.Graphs.from_edges([(0, 1)], node_features=[[1.0], [2.0]]), tmp_path / "g.graphs"
    )
    put(tmp_path / "g.graphs", "node_features", (1, 0), np.nan)
    with pytest.raises(FormatError, match="feature 0 of node 1 is nan"):
        edgnn.read(tmp_path / "g.graphs", verify=True)


def test_a_file_in_the_place_of_the_folder_is_told(tmp_path):
    (tmp_path / "x.graphs").write_text("")
    with pytest.raises(
        FormatError, match="this is a file, but the format 'edgnn graphs' is a folder"
    ):
        edgnn.read(tmp_path / "x.graphs")
    with pytest.raises(FileNotFoundError):
        edgnn.read(tmp_path / "y.graphs", format="arrays")


def test_an_existing_folder_is_not_written_over(folder):
    with pytest.raises(FileExistsError, match="choose another place"):
        edgnn.write(edgnn.Graphs.from_edges([(0, 1)]), folder)
    assert len(edgnn.read(folder)) == 188


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    class Full(_array_files.ArrayFile):
        def append(self, array):
            super().append(array)
            if self.rows > 1000:
                raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("edgnn.io._graph_writer.ArrayFile", Full)
    with pytest.raises(OSError, match=r"No space left on device: .*g\.graphs'"):
        edgnn.write(edgnn.load_dataset("MUTAG").graphs, tmp_path / "g.graphs")
    assert list(tmp_path.iterdir()) == []
