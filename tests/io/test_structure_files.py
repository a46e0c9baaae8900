import errno
import json
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
from edgnn.io import open_structure, write_structure

FIELDS = ("neighbors", "neighbors_t", "C_in", "C_out", "F_in", "F_out", "graph_offset")


@pytest.fixture(scope="module", autouse=True)
def no_waiting_for_the_disk():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda file: None)
        yield


def assert_same_bits(one, other):
    assert (one.num_edge_labels, one.direction, one.multiplicity) == (
        other.num_edge_labels,
        other.direction,
        other.multiplicity,
    )
    for field in FIELDS:
        a, b = getattr(one, field), getattr(other, field)
        assert type(a) is type(b), field
        parts = (
            [(a, b)]
            if not isinstance(a, edgnn.graphs.CSR)
            else [(a.indptr, b.indptr), (a.indices, b.indices), (a.values, b.values)]
        )
        assert getattr(a, "shape", None) == getattr(b, "shape", None), field
        for x, y in parts:
            assert (x is None) == (y is None), field
            assert x is None or (x.dtype == y.dtype and torch.equal(x, y)), field


def build(graphs, folder, keys, **options):
    """Build with room for so many numbers only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("edgnn.io._structure_files.LEAST_MEMORY", 0)
        patch.setattr("edgnn.io._row_files._PIECE", keys)
        write_structure(graphs, folder, memory=keys * 64, **options)
    return open_structure(folder, verify=True)


options = st.fixed_dictionaries(
    {
        "direction": st.sampled_from(["both", "in"]),
        "multiplicity": st.sampled_from(["once", "per-edge"]),
        "dtype": st.sampled_from([torch.float32, torch.float64]),
    }
)


@given(graphs=strategies.graphs(max_edges=20), keys=st.integers(1, 40), chosen=options)
def test_structure_built_on_disk_is_the_one_built_in_memory_bit_by_bit(graphs, keys, chosen):
    with tempfile.TemporaryDirectory() as folder:
        found = build(graphs, Path(folder) / "s", keys, **chosen)
        assert_same_bits(found, edgnn.Structure.of(graphs, **chosen))
        assert sorted(
            file.suffix for file in (Path(folder) / "s").iterdir() if file.suffix != ".npy"
        ) == [".json"]


@given(
    graphs=strategies.graphs(
        min_graphs=1, min_nodes=2, max_edges=20, labels=st.just(strategies.STRINGS)
    ),
    keys=st.integers(1, 20),
)
def test_edges_of_the_reserved_label_are_not_counted(graphs, keys):
    some = edgnn.Graphs.from_edges([(0, 1), (1, 0)], edge_labels=["C", "N"])
    mapped = graphs.with_edge_labels(graphs.edge_labels, like=some, unknown="map")
    with tempfile.TemporaryDirectory() as folder:
        assert_same_bits(build(mapped, Path(folder) / "s", keys), edgnn.Structure.of(mapped))


@pytest.mark.parametrize("name", ["MUTAG"])
def test_structure_of_a_real_set(name, tmp_path):
    graphs = edgnn.load_dataset(name).graphs
    assert_same_bits(build(graphs, tmp_path / "s", 500), edgnn.Structure.of(graphs))


def random_graph(nodes, edges, labels=3, seed=0, **more):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, nodes, (edges, 2))
    ends[: edges // 10, 0] = 7  # a hub
    return edgnn.Graphs.from_edges(
        ends, num_nodes=nodes, edge_labels=rng.integers(0, labels, edges), **more
    )


def test_sums_of_features_have_the_same_bits_in_any_number_of_passes(tmp_path):
    features = np.random.default_rng(1).standard_normal((5000, 3)).astype(np.float32)
    graphs = random_graph(300, 5000, edge_features=features)
    expected = edgnn.Structure.of(graphs)
    for keys in (200, 10**6):
        assert_same_bits(build(graphs, tmp_path / str(keys), keys), expected)


def test_index_arrays_are_wide_only_where_the_entries_need_it(tmp_path, monkeypatch):
    graphs = edgnn.Graphs.from_edges([(0, 1), (1, 0), (0, 1), (2, 0)])
    monkeypatch.setattr("edgnn.io._row_files.INT32_ENTRIES", 6)
    few = build(graphs, tmp_path / "few", 3)  # 8 pairs, of which 4 are different
    assert (few.neighbors.indptr.dtype, few.neighbors.indices.dtype) == (torch.int32, torch.int32)
    assert_same_bits(few, edgnn.Structure.of(graphs))
    many = build(graphs, tmp_path / "many", 3, multiplicity="per-edge").neighbors
    assert (many.indptr.dtype, many.indices.dtype) == (torch.int64, torch.int64)
    expected = edgnn.Structure.of(graphs, multiplicity="per-edge").neighbors
    assert (many.indptr.tolist(), many.indices.tolist()) == (
        expected.indptr.tolist(),
        expected.indices.tolist(),
    )


def test_memory_stays_within_what_was_given(tmp_path):
    edgnn.write(random_graph(50_000, 600_000, labels=40), tmp_path / "g.graphs")
    graphs = edgnn.read(tmp_path / "g.graphs")
    memory = 2**22
    tracemalloc.start()
    write_structure(graphs, tmp_path / "s", memory=memory)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < memory + 2**19
    assert_same_bits(open_structure(tmp_path / "s"), edgnn.Structure.of(graphs))


def test_counts_that_float32_cannot_hold_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("edgnn.io._row_files._EXACT_FLOAT32", 3)
    graphs = edgnn.Graphs.from_edges([(0, 1)] * 3)
    with pytest.raises(GraphError, match=r"3 or more edges of one label.*dtype=torch.float64"):
        build(graphs, tmp_path / "s", 2)
    assert list(tmp_path.iterdir()) == []
    assert build(graphs, tmp_path / "s", 2, dtype=torch.float64).C_in.tolist() == [[0], [3]]


@pytest.mark.parametrize(
    ("option", "rule"),
    [
        ({"direction": "out"}, "direction='out': choose 'both' or 'in'"),
        ({"multiplicity": "twice"}, "choose 'once' or 'per-edge'"),
        ({"dtype": torch.float16}, "choose torch.float32 or torch.float64"),
        ({"memory": 1000}, "whole number of bytes to sort in, at least 1,048,576"),
        *[
            ({"memory": memory}, "whole number of bytes")
            for memory in ("1", None, 2.5e6, float("nan"), True)
        ],
    ],
)
def test_options_that_cannot_be_are_refused(option, rule, tmp_path):
    with pytest.raises(GraphError, match=rule):
        write_structure(edgnn.Graphs.from_edges([(0, 1)]), tmp_path / "s", **option)


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_matrices_are_mapped_not_read(tmp_path):
    found = build(random_graph(200, 900), tmp_path / "s", 100)
    maps = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
    ranges = {words[-1]: [int(end, 16) for end in words[0].split("-")] for words in maps}
    for name, array in (
        ("neighbors_indptr", found.neighbors.indptr),
        ("neighbors_indices", found.neighbors.indices[50:70]),
        ("C_in", found.C_in[3:5]),
    ):
        start, stop = ranges[str(tmp_path / "s" / f"{name}.npy")]
        assert start <= array.data_ptr() < stop


def test_a_part_of_a_mapped_structure_is_that_of_the_structure_in_memory(tmp_path):
    graphs = random_graph(200, 900)
    mapped, whole = build(graphs, tmp_path / "s", 100), edgnn.Structure.of(graphs)
    rows = torch.arange(40, 60)
    first, last = whole.neighbors.indptr[40], whole.neighbors.indptr[60]
    columns = torch.unique(torch.cat([rows, whole.neighbors.indices[first:last].long()]))
    columns = torch.cat([rows, columns[(columns < 40) | (columns >= 60)]])
    one, other = mapped.rows(rows, columns), whole.rows(rows, columns)
    assert torch.equal(one.neighbors.indices, other.neighbors.indices)
    assert torch.equal(one.C_in, other.C_in)


def test_a_damaged_structure_names_the_file(tmp_path):
    build(random_graph(50, 100), tmp_path / "s", 30)
    indices = tmp_path / "s" / "neighbors_indices.npy"
    whole = indices.read_bytes()
    indices.write_bytes(whole[:-4])
    with pytest.raises(FormatError, match=r"neighbors_indices.npy: the file has .* bytes"):
        open_structure(tmp_path / "s")
    indices.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    open_structure(tmp_path / "s")
    with pytest.raises(FormatError, match=r"neighbors_indices.npy: the content has changed"):
        open_structure(tmp_path / "s", verify=True)
    indices.unlink()
    with pytest.raises(FormatError, match=r"neighbors_indices.npy: the file is missing"):
        open_structure(tmp_path / "s")
    with pytest.raises(
        FormatError,
        match=r"structure.json: the folder has no such header.*: copy the whole folder again",
    ):
        open_structure(tmp_path)


def change_header(folder, change):
    header = json.loads((folder / "structure.json").read_text())
    change(header["content"])
    canonical = json.dumps(header["content"], sort_keys=True, separators=(",", ":"))
    (folder / "structure.json").write_text(
        json.dumps(header | {"crc32": zlib.crc32(canonical.encode())})
    )


def put(folder, name, place, value):
    """Change one number of an array, with a checksum that says all is well."""
    array = np.load(folder / f"{name}.npy")
    array[place] = value
    np.save(folder / f"{name}.npy", array)
    change_header(
        folder, lambda content: content["arrays"][name].update(crc32=zlib.crc32(array.tobytes()))
    )


@pytest.mark.parametrize(
    ("name", "place", "value", "rule"),
    [
        ("neighbors_indices", 5, 50, "neighbors_indices must lie between 0 and 49"),
        ("neighbors_indices", 5, -1, "neighbors_indices must lie between 0 and 49"),
        ("neighbors_indptr", 7, 10**6, "neighbors_indptr must rise from 0"),
        ("C_out_indices", 5, 200, "C_out_indices must lie between 0 and 76"),
        ("graph_offset", 0, 3, "graph_offset must rise from 0 to 50"),
    ],
)
def test_verifying_finds_what_makes_no_structure_whatever_the_checksums_say(
    tmp_path, name, place, value, rule
):
    build(random_graph(50, 100, labels=200), tmp_path / "s", 30)
    put(tmp_path / "s", name, place, value)
    open_structure(tmp_path / "s")
    with pytest.raises(FormatError, match=rule):
        open_structure(tmp_path / "s", verify=True)


def test_rows_that_do_not_begin_at_the_first_entry_are_told_unasked(tmp_path):
    build(random_graph(50, 100), tmp_path / "s", 30)
    put(tmp_path / "s", "neighbors_indptr", 0, 1)
    with pytest.raises(FormatError, match="arrays of 'neighbors' do not fit"):
        open_structure(tmp_path / "s")


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("edge_source", -5, "edge 3 starts at node -5, but its graph has the nodes from 0 to 49"),
        ("edge_target", 50, "edge 3 points to node 50, but its graph has the nodes from 0 to 49"),
        ("edge_label", -1, "edge 3 has the label number -1, but the vocabulary has 3"),
        ("edge_label", 3, "edge 3 has the label number 3, but the vocabulary has 3"),
    ],
)
@pytest.mark.parametrize("direction", ["both", "in"])
def test_no_structure_is_built_of_what_makes_no_graph(tmp_path, name, value, rule, direction):
    edgnn.write(random_graph(50, 100), tmp_path / "g.graphs")
    graphs = edgnn.read(tmp_path / "g.graphs")
    getattr(graphs, name)[3] = value
    with pytest.raises(GraphError, match=rule):
        write_structure(graphs, tmp_path / "s", direction=direction)
    assert not (tmp_path / "s").exists()
    if name == "edge_label":
        with pytest.raises(GraphError, match=rule):
            edgnn.Structure.of(graphs, direction=direction)


def test_structures_and_graphs_taken_for_each_other_name_what_opens_them(tmp_path):
    graphs = random_graph(50, 100)
    edgnn.write(graphs, tmp_path / "x.graphs")
    write_structure(graphs, tmp_path / "x.structure")
    with pytest.raises(
        FormatError, match=r"x.structure: the folder holds a structure, .* edgnn.io.open_structure"
    ):
        edgnn.read(tmp_path / "x.structure")
    with pytest.raises(
        FormatError,
        match=r"structure.json: the folder has no such header.* open it with edgnn.read",
    ):
        open_structure(tmp_path / "x.graphs")
    with pytest.raises(
        FormatError, match=r"graphs.json: the folder has no such header.* edgnn.io.open_structure"
    ):
        edgnn.read(tmp_path / "x.structure", format="arrays")
    with pytest.raises(
        FormatError, match="this is a file, but the format 'edgnn structure' is a folder"
    ):
        open_structure(tmp_path / "x.graphs" / "graphs.json")


def test_a_full_disk_names_the_structure_and_leaves_nothing(tmp_path, monkeypatch):
    def full(self, counts, dtype=None):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("edgnn.io._row_files.RowsFile.append", full)
    with pytest.raises(OSError, match=r"No space left on device: .*big\.structure'"):
        write_structure(random_graph(50, 100), tmp_path / "big.structure")
    assert list(tmp_path.iterdir()) == []


def test_a_header_whose_arrays_do_not_fit_is_told(tmp_path):
    build(random_graph(50, 100), tmp_path / "s", 30)
    change_header(tmp_path / "s", lambda content: content.update(nodes=49))
    with pytest.raises(FormatError, match="arrays of 'neighbors' do not fit"):
        open_structure(tmp_path / "s")
    for wrong in (float("inf"), 50.5):
        change_header(tmp_path / "s", lambda content, wrong=wrong: content.update(nodes=wrong))
        with pytest.raises(FormatError, match="nodes and num_edge_labels must be whole numbers"):
            open_structure(tmp_path / "s")
