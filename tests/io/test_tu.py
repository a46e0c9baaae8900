from __future__ import annotations

import collections
import gzip
import pickle
import sys
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from edgnn import _files
from edgnn.errors import FormatError, GraphError
from edgnn.graphs import Graphs
from edgnn.io import read_tu, write_tu
from strategies import INTEGERS, STRINGS, TUPLES, contents, graphs

#: graphs, +1, -1, nodes, lines of A, node labels, edge labels, smallest and largest graph: from the README of the data.
STATISTICS = {
    "MUTAG": (188, 125, 63, 3371, 7442, 7, 4, 10, 28),
    "PTC_FM": (349, 143, 206, 4925, 10110, 18, 4, 2, 64),
    "PTC_FR": (351, 121, 230, 5110, 10532, 19, 4, 2, 64),
    "PTC_MM": (336, 129, 207, 4695, 9624, 20, 4, 2, 64),
    "PTC_MR": (344, 152, 192, 4915, 10108, 18, 4, 2, 64),
}

#: Two graphs, a triangle and an edge; nodes 1-3 and 4-5.
SMALL = {
    "A": "1, 2\n2, 3\n4, 5\n3, 1\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "1\n-1\n",
    "node_labels": "7\n8\n7\n9\n7\n",
    "edge_labels": "0\n1\n2\n0\n",
}


def folder(place: Path, name: str = "S", **changes: str | bytes | None) -> Path:
    """Write the small set with some files changed, or left out where they are None."""
    place = place / name
    place.mkdir()
    for part, text in (SMALL | changes).items():
        if text is not None:
            (place / f"{name}_{part}.txt").write_bytes(
                text if isinstance(text, bytes) else text.encode()
            )
    return place


def zipped(place: Path, to: Path, prefix: str = "", method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(to, "w", method) as archive:
        for file in sorted(place.iterdir()):
            archive.write(file, f"{prefix}{file.name}")
    return to


def read_slowly(place: Path, name: str) -> list[dict[str, object]]:
    """Read a set one line at a time into one dictionary per graph."""

    def lines(part: str) -> list[list[int]]:
        text = (place / f"{name}_{part}.txt").read_text()
        return [
            [int(field) for field in line.split(",")] for line in text.splitlines() if line.strip()
        ]

    found = [
        {"label": label, "nodes": [], "node labels": [], "edges": [], "edge labels": []}
        for [label] in lines("graph_labels")
    ]
    owner = [graph - 1 for [graph] in lines("graph_indicator")]
    for node, [label] in enumerate(lines("node_labels")):
        found[owner[node]]["nodes"].append(node + 1)
        found[owner[node]]["node labels"].append(label)
    for (source, target), [label] in zip(lines("A"), lines("edge_labels"), strict=True):
        graph = found[owner[source - 1]]
        graph["edges"].append((graph["nodes"].index(source), graph["nodes"].index(target)))
        graph["edge labels"].append(label)
    return found


# Real data


@pytest.mark.parametrize("name", STATISTICS)
def test_real_sets_have_the_published_statistics(data_dir, name):
    labeled = read_tu(data_dir / "TUDataset" / name)
    found, targets = labeled.graphs, labeled.targets.tolist()
    assert (
        len(found),
        targets.count(1),
        targets.count(-1),
        found.num_nodes,
        found.num_edges,
        len(found.node_vocabulary),
        len(found.edge_vocabulary),
        int(found.sizes.min()),
        int(found.sizes.max()),
    ) == STATISTICS[name]
    assert set(found.node_vocabulary) == set(range(len(found.node_vocabulary)))
    assert set(found.edge_vocabulary) == set(range(len(found.edge_vocabulary)))
    bonds = collections.Counter(
        zip(found.edge_source.tolist(), found.edge_target.tolist(), found.edge_labels, strict=True)
    )
    assert set(bonds.values()) == {1}
    assert all(
        bonds[target, source, label] == 1 and source != target for source, target, label in bonds
    )
    assert max(found.with_degree_labels("both").node_labels) == 4


@pytest.mark.parametrize("name", STATISTICS)
def test_real_sets_are_what_reading_line_by_line_gives(data_dir, name):
    place = data_dir / "TUDataset" / name
    labeled, expected = read_tu(place), read_slowly(place, name)
    assert labeled.targets.tolist() == [graph["label"] for graph in expected]
    for plain, graph in zip(contents(labeled.graphs), expected, strict=True):
        assert {key: plain[key] for key in ("node labels", "edges", "edge labels")} == {
            key: graph[key] for key in ("node labels", "edges", "edge labels")
        }


@pytest.mark.parametrize("name", STATISTICS)
def test_zips_of_real_sets_give_equal_graphs(data_dir, tmp_path, name):
    place = data_dir / "TUDataset" / name
    expected = read_tu(place)
    for number, (prefix, method) in enumerate(
        [("", zipfile.ZIP_STORED), (f"{name}/", zipfile.ZIP_DEFLATED)]
    ):
        found = read_tu(zipped(place, tmp_path / f"{number}.zip", prefix, method))
        assert found.graphs.equals(expected.graphs)
        assert np.array_equal(found.targets, expected.targets)


# What the format means


def test_the_small_set_reads_as_drawn(tmp_path):
    labeled = read_tu(folder(tmp_path))
    assert labeled.targets.tolist() == [1, -1]
    assert labeled.targets.dtype == np.int64
    assert labeled.level == "graph"
    triangle, edge = contents(labeled.graphs)
    assert triangle["edges"] == [(0, 1), (1, 2), (2, 0)]
    assert triangle["edge labels"] == [0, 1, 0]
    assert triangle["node labels"] == [7, 8, 7]
    assert (edge["edges"], edge["edge labels"], edge["node labels"]) == ([(0, 1)], [2], [9, 7])
    assert list(labeled.graphs.node_vocabulary) == [7, 8, 9]


@pytest.mark.parametrize("ending", ["\r\n", "\n", " \n", "\t\r\n"])
@pytest.mark.parametrize("last", ["", "\n", "\n\n\r\n  \n", " "])
def test_line_ends_and_trailing_blank_lines_do_not_matter(tmp_path, ending, last):
    changed = {part: text.rstrip("\n").replace("\n", ending) + last for part, text in SMALL.items()}
    other = tmp_path / "other"
    other.mkdir()
    assert read_tu(folder(tmp_path, **changed)).graphs.equals(read_tu(folder(other)).graphs)


def test_commas_with_and_without_blanks_and_signs_are_the_same(tmp_path):
    changed = folder(tmp_path, A="1,2\n 2 ,\t3\n+4, 5\n03,01\n")
    (tmp_path / "other").mkdir()
    assert read_tu(changed).graphs.equals(read_tu(folder(tmp_path / "other")).graphs)


def test_missing_label_files_mean_no_labels(tmp_path):
    labeled = read_tu(folder(tmp_path, node_labels=None, edge_labels=None, graph_labels=None))
    assert (
        repr(labeled.graphs) == "Graphs(2 graphs, 5 nodes, 4 edges, no node labels, no edge labels)"
    )
    assert labeled.targets is None


def test_nodes_out_of_graph_order_are_regrouped_and_everything_follows(tmp_path):
    order = [4, 1, 5, 2, 3]
    number = {old: new for new, old in enumerate(order, 1)}
    columns = {part: SMALL[part].split() for part in ("graph_indicator", "node_labels")}
    moved = {
        part: "".join(f"{values[old - 1]}\n" for old in order) for part, values in columns.items()
    }
    edges = [tuple(map(int, line.split(","))) for line in SMALL["A"].splitlines()]
    attributes = {
        "node_attributes": "".join(f"{old}.5\n" for old in order),
        "edge_attributes": "0.5\n1.5\n2.5\n3.5\n",
    }
    found = read_tu(
        folder(
            tmp_path,
            A="".join(f"{number[s]}, {number[t]}\n" for s, t in edges),
            **moved,
            **attributes,
        )
    ).graphs
    triangle, edge = contents(found)
    assert (triangle["node labels"], edge["node labels"]) == ([7, 8, 7], [9, 7])
    assert (triangle["node features"], edge["node features"]) == (
        [[1.5], [2.5], [3.5]],
        [[4.5], [5.5]],
    )
    assert (triangle["edges"], edge["edges"]) == ([(0, 1), (1, 2), (2, 0)], [(0, 1)])
    assert (triangle["edge labels"], edge["edge labels"]) == ([0, 1, 0], [2])
    assert (triangle["edge features"], edge["edge features"]) == ([[0.5], [1.5], [3.5]], [[2.5]])


def test_gaps_in_graph_numbers_are_empty_graphs(tmp_path):
    found = read_tu(
        folder(tmp_path, graph_indicator="2\n2\n2\n4\n4\n", graph_labels="1\n2\n3\n4\n5\n")
    )
    assert found.graphs.sizes.tolist() == [0, 3, 0, 2, 0]
    assert found.targets.tolist() == [1, 2, 3, 4, 5]
    (tmp_path / "other").mkdir()
    unlabeled = read_tu(
        folder(tmp_path / "other", graph_indicator="2\n2\n2\n4\n4\n", graph_labels=None)
    )
    assert unlabeled.graphs.sizes.tolist() == [0, 3, 0, 2]


def test_several_columns_of_labels_are_tuples_and_attributes_are_features(tmp_path):
    found = read_tu(
        folder(
            tmp_path,
            node_labels="1, 2\n2, 1\n1, 2\n-1, 9223372036854775807\n1, 2\n",
            edge_labels="0, 0, 1\n1, 0, 0\n0, 0, 1\n0, 1, 0\n",
            node_attributes="1.5, -2\n0, 1e3\n.5, 0\n1, 2\n3, 4\n",
            edge_attributes="1\n2\n3\n4\n",
        )
    ).graphs
    assert found.node_labels == [(1, 2), (2, 1), (1, 2), (-1, 2**63 - 1), (1, 2)]
    assert list(found.node_vocabulary) == [(1, 2), (2, 1), (-1, 2**63 - 1)]
    assert all(type(number) is int for label in found.node_vocabulary for number in label)
    assert found.edge_labels == [(0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    assert found.node_features.tolist() == [
        [1.5, -2.0],
        [0.0, 1000.0],
        [0.5, 0.0],
        [1.0, 2.0],
        [3.0, 4.0],
    ]
    assert found.edge_features.tolist() == [[1.0], [2.0], [4.0], [3.0]]
    assert found.node_features.dtype == torch.float32


def test_targets_are_labels_or_attributes_as_asked(tmp_path):
    place = folder(tmp_path, graph_attributes="0.5, nan\ninf, 2\n")
    np.testing.assert_array_equal(
        read_tu(place, target="attributes").targets, [[0.5, np.nan], [np.inf, 2.0]]
    )
    assert (
        read_tu(place).targets.tolist()
        == read_tu(place, target="labels").targets.tolist()
        == [1, -1]
    )
    (place / "S_graph_labels.txt").unlink()
    assert read_tu(place).targets.dtype == np.float64
    with pytest.raises(
        FormatError,
        match=r"S_graph_labels.txt: the file is missing, but target='labels' asks for it",
    ):
        read_tu(place, target="labels")
    with pytest.raises(GraphError, match="target='classes': choose 'labels' or 'attributes'"):
        read_tu(place, target="classes")


def test_one_set_is_chosen_by_name_where_several_lie(tmp_path):
    place = folder(tmp_path)
    for part, text in SMALL.items():
        (place / f"OTHER_S_{part}.txt").write_text(text)
    (place / "._S_A.txt").write_bytes(b"\0\5\x16\7")
    with pytest.raises(
        FormatError, match=r"several TU data sets are here \(OTHER_S, S\); choose one with name="
    ):
        read_tu(place)
    assert read_tu(place, name="S").graphs.equals(read_tu(place, name="OTHER_S").graphs)
    with pytest.raises(FormatError, match=r"there is no T_A\.txt here"):
        read_tu(place, name="T")


def test_hidden_files_of_other_systems_are_no_data_sets(tmp_path):
    place = folder(tmp_path)
    archive = zipped(place, tmp_path / "mac.zip", "S/")
    with zipfile.ZipFile(archive, "a") as more:
        more.writestr("__MACOSX/S/._S_A.txt", b"\0\5\x16\7")
    assert read_tu(archive).graphs.equals(read_tu(place).graphs)


# What breaks the rules


@pytest.mark.parametrize(
    ("changes", "part", "line", "rule"),
    [
        ({"graph_indicator": None}, "graph_indicator", None, "the file is missing"),
        ({"graph_indicator": ""}, "graph_indicator", None, "the file is empty"),
        ({"graph_indicator": "\n\n"}, "graph_indicator", None, "the file is empty"),
        (
            {"graph_labels": ""},
            "graph_indicator",
            1,
            "graph 1 is out of range: targets are given for 0 graphs",
        ),
        ({"node_labels": ""}, "node_labels", None, "it has 0 lines, but graph_indicator has 5"),
        (
            {"node_labels": "1\n" * 4},
            "node_labels",
            None,
            "it has 4 lines, but graph_indicator has 5",
        ),
        (
            {"node_attributes": "1\n" * 6},
            "node_attributes",
            None,
            "it has 6 lines, but graph_indicator has 5",
        ),
        ({"edge_labels": "1\n" * 5}, "edge_labels", None, "it has 5 lines, but A has 4"),
        ({"edge_attributes": "1\n" * 3}, "edge_attributes", None, "it has 3 lines, but A has 4"),
        ({"A": ""}, "edge_labels", None, "it has 4 lines, but A has 0"),
        (
            {"graph_labels": "1\n"},
            "graph_indicator",
            4,
            "graph 2 is out of range: targets are given for 1 graphs",
        ),
        (
            {"graph_indicator": "1\n1\n1\n2\n9\n", "graph_labels": None},
            "graph_indicator",
            5,
            "graph 9 is out of range",
        ),
        (
            {"graph_indicator": "1\n1\n0\n2\n2\n"},
            "graph_indicator",
            3,
            "graph 0 is out of range: graphs count from 1",
        ),
        ({"graph_indicator": "1\n-1\n1\n2\n2\n"}, "graph_indicator", 2, "graph -1 is out of range"),
        (
            {"graph_indicator": "1\n1\n1\n2\n9223372036854775807\n"},
            "graph_indicator",
            5,
            "graph 9223372036854775807 is out of",
        ),
        ({"graph_indicator": "1, 1\n"}, "graph_indicator", 1, "the line has 2 values, expected 1"),
        ({"A": "1, 2\n2, 3\n3, 4\n3, 1\n"}, "A", 3, "joins node 3 of graph 1 to node 4 of graph 2"),
        ({"A": "1, 2\n0, 3\n4, 5\n3, 1\n"}, "A", 2, "node 0 is out of range: nodes are 1 to 5"),
        ({"A": "1, 2\n2, 3\n4, 6\n3, 1\n"}, "A", 3, "node 6 is out of range: nodes are 1 to 5"),
        ({"A": "1, 2\n2, 3\n4, 5\n-3, 1\n"}, "A", 4, "node -3 is out of range"),
        (
            {"A": "1, 2\n2, 9223372036854775807\n4, 5\n3, 1\n"},
            "A",
            2,
            "node 9223372036854775807 is out of range",
        ),
        (
            {"A": "1, 2\n2, 9223372036854775808\n4, 5\n3, 1\n"},
            "A",
            2,
            "a number does not fit into 64 bits",
        ),
        ({"A": f"1, 2\n2, {'9' * 9999}\n4, 5\n3, 1\n"}, "A", 2, "is not a whole number"),
        ({"A": "1, 2\n2, x\n4, 5\n3, 1\n"}, "A", 2, "'x' is not a whole number"),
        ({"A": "1, 2\n2, 3.0\n4, 5\n3, 1\n"}, "A", 2, "'3.0' is not a whole number"),
        ({"A": "1, 2\n2, 3\n4, 5\n3, -"}, "A", 4, "'-' is not a whole number"),
        ({"A": "1, 2\n2, \n4, 5\n3, 1\n"}, "A", 2, "'' is not a whole number"),
        ({"A": "1, 2\n2 3\n4, 5\n3, 1\n"}, "A", 2, "the line has 1 values, expected 2"),
        ({"A": "1, 2\n2, 3, 4\n4, 5\n3, 1\n"}, "A", 2, "the line has 3 values, expected 2"),
        ({"A": "1, 2\n\n2, 3\n4, 5\n3, 1\n"}, "A", 2, "the line is blank"),
        ({"A": "\n1, 2\n2, 3\n4, 5\n3, 1\n"}, "A", 1, "the line is blank"),
        ({"node_labels": "7\n8\n7\n \n9\n7\n"}, "node_labels", 4, "the line is blank"),
        ({"node_labels": "C\nN\nO\nO\nO\n"}, "node_labels", 1, "'C' is not a whole number"),
        (
            {"node_labels": "7\n8, 8\n7\n9\n7\n"},
            "node_labels",
            2,
            "the line has 2 values, expected 1",
        ),
        ({"graph_labels": "1\n1.5\n"}, "graph_labels", 2, "'1.5' is not a whole number"),
        (
            {"node_attributes": "1\n2\nnan\n4\n5\n"},
            "node_attributes",
            3,
            "an attribute is not a finite",
        ),
        (
            {"edge_attributes": "1\n2\n3\n-inf\n"},
            "edge_attributes",
            4,
            "an attribute is not a finite",
        ),
        (
            {"node_attributes": "1\n1e39\n3\n4\n5\n"},
            "node_attributes",
            2,
            "an attribute is not a finite 32-bit number",
        ),
        ({"node_attributes": "1\ntwo\n3\n4\n5\n"}, "node_attributes", 2, "'two' is not a number"),
        ({"A": SMALL["A"].encode("utf-16")}, "A", 1, r"'\xff\xfe1\x00' is not a whole number"),
        (
            {"node_labels": SMALL["node_labels"].encode("utf-16-le")},
            "node_labels",
            1,
            r"'7\x00' is not a whole number",
        ),
        (
            {"node_labels": "7\n8\n7\n9\n½\n".encode("latin-1")},
            "node_labels",
            5,
            r"'\xbd' is not a whole number",
        ),
        (
            {"graph_labels": b"\xef\xbb\xbf1\n-1\n"},
            "graph_labels",
            1,
            r"'\xef\xbb\xbf1' is not a whole number",
        ),
        ({"A": b"1, 2\n2, 3\n4, 5\n3, \0\n"}, "A", 4, r"'\x00' is not a whole number"),
        ({"A": b"\0" * 1000}, "A", 1, "the line has 1 values, expected 2"),
    ],
)
def test_a_broken_rule_names_its_file_and_line(tmp_path, changes, part, line, rule):
    place = folder(tmp_path, **changes)
    archive = zipped(place, tmp_path / "S.zip")
    for source in (place, archive):
        with pytest.raises(FormatError) as caught:
            read_tu(source)
        assert caught.value.path == f"{source}/S_{part}.txt"
        assert caught.value.line == line
        assert rule in caught.value.rule
        assert len(str(caught.value)) < 300


def test_a_place_without_a_set_says_so(tmp_path):
    with pytest.raises(
        FormatError, match=r"there is no NAME_A.txt here, so this is no TU data set"
    ):
        read_tu(folder(tmp_path, A=None))
    with pytest.raises(FormatError, match=r"there is no NAME_A\.txt here"):
        read_tu(zipped(tmp_path / "S", tmp_path / "S.zip"))
    with pytest.raises(FormatError, match="not a readable zip archive"):
        read_tu(tmp_path / "S" / "S_node_labels.txt")
    with pytest.raises(FileNotFoundError):
        read_tu(tmp_path / "nowhere")


def test_errors_survive_pickling(tmp_path):
    with pytest.raises(FormatError) as caught:
        read_tu(folder(tmp_path, A="1, 2\n2, x\n"))
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.line) == (str(caught.value), 2)


# Hostile archives


def test_a_cut_zip_is_refused(tmp_path):
    archive = zipped(folder(tmp_path), tmp_path / "S.zip")
    whole = archive.read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 1):
        archive.write_bytes(whole[:length])
        with pytest.raises(FormatError, match="not a readable zip archive"):
            read_tu(archive)


def test_a_zip_whose_data_is_damaged_is_refused(tmp_path):
    archive = zipped(folder(tmp_path), tmp_path / "S.zip", method=zipfile.ZIP_STORED)
    archive.write_bytes(archive.read_bytes().replace(b"2, 3\n", b"2, 1\n"))
    with pytest.raises(
        FormatError, match=r"S.zip/S_A.txt: the compressed data is damaged or cut off \(Bad CRC-32"
    ):
        read_tu(archive)


def test_a_zip_that_would_leave_its_folder_is_refused(tmp_path):
    archive = zipped(folder(tmp_path), tmp_path / "S.zip", "../")
    with pytest.raises(FormatError, match=r"'\.\./S_A.txt', which would land outside its folder"):
        read_tu(archive)


def test_an_encrypted_zip_is_refused(tmp_path):
    archive = zipped(folder(tmp_path), tmp_path / "S.zip")
    data = bytearray(archive.read_bytes())
    for signature, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        start = -1
        while (start := data.find(signature, start + 1)) >= 0:
            data[start + flags] |= 1
    archive.write_bytes(data)
    with pytest.raises(FormatError, match=r"S_graph_indicator.txt: it is encrypted"):
        read_tu(archive)


@pytest.mark.parametrize("packed", ["zip", "gzip"])
def test_a_decompression_bomb_stops_at_the_limit(tmp_path, monkeypatch, packed):
    monkeypatch.setattr(_files, "BOMB_FLOOR", 200_000)
    place = folder(tmp_path, node_labels="1\n" * 500_000)
    if packed == "gzip":
        file = place / "S_node_labels.txt"
        file.write_bytes(gzip.compress(file.read_bytes()))
    source = zipped(place, tmp_path / "S.zip") if packed == "zip" else place
    with pytest.raises(
        FormatError, match=r"S_node_labels.txt: it unpacks to more than 200,000 bytes.*max_bytes="
    ):
        read_tu(source)
    with pytest.raises(FormatError, match="it has 500000 lines"):
        read_tu(source, max_bytes=1_000_000)


def test_gzip_files_in_a_folder_are_read(tmp_path):
    place = folder(tmp_path)
    expected = read_tu(place)
    (place / "S_A.txt").write_bytes(gzip.compress(SMALL["A"].encode()))
    assert read_tu(place).graphs.equals(expected.graphs)


# Fuzzing


def test_the_number_of_graphs_is_bounded_by_what_the_files_hold(tmp_path):
    with pytest.raises(
        FormatError, match="graph 999999999999 is out of range: there are only 5 nodes"
    ):
        read_tu(folder(tmp_path, graph_indicator="1\n1\n1\n2\n999999999999\n", graph_labels=None))


@settings(max_examples=250)
@given(st.data())
def test_changed_bytes_give_graphs_or_an_error_that_names_a_file(data):
    parts = SMALL | {
        "node_attributes": "1, 2\n3, .5\n1e2, 0\n-1, 2\n0, 0\n",
        "graph_attributes": "nan\n1\n",
    }
    part = data.draw(st.sampled_from(sorted(parts)))
    raw = bytearray(parts[part].encode())
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(raw)))
        stop = data.draw(st.integers(start, min(len(raw), start + 3)))
        raw[start:stop] = data.draw(
            st.sampled_from([b"", b"\n", b",", b"0", b"-", b"9" * 12, b"\r", b" ", b"\0", b"."])
            | st.binary(max_size=3)
        )
    with tempfile.TemporaryDirectory() as place:
        source = folder(Path(place), **parts | {part: bytes(raw)})
        with suppress(FormatError):
            labeled = read_tu(source)
            fields = {name: getattr(labeled.graphs, name) for name in Graphs.__dataclass_fields__}
            assert Graphs(**fields).num_nodes == labeled.graphs.num_nodes
            assert len(labeled.targets) == len(labeled.graphs)


# Writing


WRITTEN = st.sampled_from([None, STRINGS, INTEGERS, TUPLES])


@given(
    graphs(min_graphs=1, labels=WRITTEN),
    st.sampled_from(["none", "int", "float", "rows"]),
    st.booleans(),
)
def test_what_is_written_reads_back_up_to_label_names(collection, kind, as_zip):
    rng = np.random.default_rng(0)
    size = len(collection)
    targets = {
        "none": None,
        "int": rng.integers(-3, 4, size),
        "float": np.append(rng.random(size - 1), np.nan),
        "rows": rng.random((size, 2), dtype=np.float32),
    }[kind]
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "set"
        if collection.num_nodes == 0 or (
            targets is None and (collection.sizes[-1] == 0 or size > collection.num_nodes)
        ):
            with pytest.raises(GraphError, match="no node"):
                write_tu(collection, path, targets=targets)
            assert not path.exists()
            return
        write_tu(collection, path, targets=targets)
        found = read_tu(zipped(path, Path(place) / "set.zip") if as_zip else path)
    if targets is None:
        assert found.targets is None
    else:
        np.testing.assert_array_equal(found.targets.astype(targets.dtype), targets)
    for ours, theirs in zip(contents(found.graphs), contents(collection), strict=True):
        for key in ("edges", "node features", "edge features"):
            assert ours[key] == theirs[key]
    for what in ("node", "edge"):
        old, new = getattr(collection, f"{what}_labels"), getattr(found.graphs, f"{what}_labels")
        assert len(set(zip(old, new, strict=True))) == len(set(old)) == len(set(new))
        if old and all(type(label) is int for label in old):
            assert new == old


def test_label_names_are_listed_for_the_reader(tmp_path):
    write_tu(
        Graphs.from_edges([(0, 1)], node_labels=["C", "N"], edge_labels=["\ud800"]), tmp_path / "S"
    )
    text = (tmp_path / "S" / "README.txt").read_text("utf-8")
    assert "Node labels:\n\n  0  C\n  1  N\n" in text
    assert "Edge labels:\n\n  0  \\ud800\n" in text


@pytest.mark.parametrize(
    ("labels", "written"),
    [([2**70, 5], [0, 1]), ([True, False], [0, 1]), ([-(2**63), 2**63 - 1], None)],
)
def test_labels_that_are_no_64_bit_integers_are_written_by_number(tmp_path, labels, written):
    write_tu(Graphs.from_edges([(0, 1)], node_labels=labels), tmp_path / "S")
    assert read_tu(tmp_path / "S").graphs.node_labels == (written or labels)


def test_names_of_the_set_and_files_follow_the_folder_or_the_option(tmp_path):
    collection = Graphs.from_edges([(0, 1)], node_features=np.zeros((2, 0)))
    write_tu(collection, tmp_path / "one")
    write_tu(collection, tmp_path / "two", name="SET")
    assert sorted(file.name for file in (tmp_path / "one").iterdir()) == [
        "README.txt",
        "one_A.txt",
        "one_graph_indicator.txt",
    ]
    assert sorted(file.name for file in (tmp_path / "two").iterdir()) == [
        "README.txt",
        "SET_A.txt",
        "SET_graph_indicator.txt",
    ]


def test_half_precision_targets_are_not_cut_to_integers(tmp_path):
    write_tu(
        Graphs.from_edges([], sizes=[1, 1]),
        tmp_path / "S",
        targets=np.array([0.5, -1.25], np.float16),
    )
    assert read_tu(tmp_path / "S").targets.tolist() == [0.5, -1.25]


@pytest.mark.parametrize(
    "targets",
    [[1], ["a", "b"], [True, False], np.zeros((2, 1, 1)), np.float64(1.0), [[1], [2], [3]]],
)
def test_targets_that_do_not_fit_are_refused_before_anything_is_written(tmp_path, targets):
    with pytest.raises(
        GraphError, match=r"TU targets are one number \(or row of numbers\) per graph: 2 of them"
    ):
        write_tu(Graphs.from_edges([], sizes=[1, 1]), tmp_path / "S", targets=targets)
    assert list(tmp_path.iterdir()) == []


def test_writing_over_something_is_refused(tmp_path):
    place = folder(tmp_path)
    with pytest.raises(FileExistsError):
        write_tu(Graphs.from_edges([(0, 1)]), place)
    assert read_tu(place).graphs.num_nodes == 5


# Memory


MEASURED = """
import re, sys
from pathlib import Path
from edgnn.io import read_tu

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

small, large = map(Path, sys.argv[1:])
read_tu(small)
before = peak()
graphs = read_tu(large).graphs
size = sum(file.stat().st_size for file in large.iterdir())
print(size, (peak() - before) / size, graphs.num_nodes, graphs.num_edges)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
@pytest.mark.parametrize("kind", ["edges", "tuples"])
def test_reading_takes_a_small_multiple_of_the_file(tmp_path, run_python, kind):
    small = folder(tmp_path)
    large = tmp_path / "L"
    large.mkdir()
    rng = np.random.default_rng(0)
    nodes, edges = (500_000, 1_500_000) if kind == "edges" else (2_500_000, 1_000_000)
    ends = rng.integers(1, nodes + 1, (edges, 2))
    (large / "L_A.txt").write_text(
        "".join(f"{source}, {target}\n" for source, target in ends.tolist())
    )
    (large / "L_graph_indicator.txt").write_bytes(b"1\n" * nodes)
    if kind == "edges":
        (large / "L_edge_labels.txt").write_bytes(b"1\n2\n3\n" * (edges // 3))
    else:
        (large / "L_node_labels.txt").write_bytes(b"1,2\n3,4\n" * (nodes // 2))
    size, growth, found_nodes, found_edges = map(
        float, run_python(MEASURED, small, large, OMP_NUM_THREADS="1").split()
    )
    assert size > 25_000_000
    assert (found_nodes, found_edges) == (nodes, edges)
    assert growth < 15
