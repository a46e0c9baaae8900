from __future__ import annotations

import gzip
import re
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from edgnn.errors import FormatError, GraphError, UnknownLabelError
from edgnn.graphs import UNKNOWN, Graphs
from edgnn.io import read_tables, write_tables
from strategies import contents, graphs

NAN = float("nan")


def put(folder, **tables):
    """Write texts as ``edges.csv`` and so on; return the folder."""
    for stem, text in tables.items():
        (folder / f"{stem}.csv").write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def put_parquet(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


def pairs(collection):
    names = collection.node_names
    ends = zip(collection.edge_source.tolist(), collection.edge_target.tolist(), strict=True)
    return [(names[source], names[target]) for source, target in ends]


def wrong(place, **options):
    """Read what must not be readable; return the error as text without the folder."""
    with pytest.raises(FormatError) as caught:
        read_tables(place, **options)
    folder = place if place.is_dir() else place.parent
    return str(caught.value).replace(f"{folder}/", "")


# The edge table alone


def test_nodes_are_numbered_by_first_appearance_source_before_target(tmp_path):
    read = read_tables(
        put(tmp_path, edges="source,target,label\nb,a,x\nc,b,y\na,a,x\n") / "edges.csv"
    )
    assert read.graphs.node_names.tolist() == ["b", "a", "c"]
    assert read.graphs.edge_source.tolist() == [0, 2, 1]
    assert read.graphs.edge_target.tolist() == [1, 0, 1]
    assert read.graphs.edge_labels == ["x", "y", "x"]
    assert list(read.graphs.edge_vocabulary) == ["x", "y"]
    assert read.graphs.node_vocabulary.constant
    assert read.graphs.graph_names is None
    assert read.targets is None
    assert len(read.graphs) == 1


@pytest.mark.parametrize(
    ("cells", "names"),
    [
        (["1", "0", "-5"], [1, 0, -5]),
        (["1", "007"], ["1", "007"]),
        (["1", "-0"], ["1", "-0"]),
        (["1", "+2"], ["1", "+2"]),
        (["1", " 2"], ["1", " 2"]),
        (["1", "2.0"], ["1", "2.0"]),
        (["9223372036854775807", "-9223372036854775808"], [2**63 - 1, -(2**63)]),
        (["9223372036854775808", "1"], ["9223372036854775808", "1"]),
        (["1", "٣"], ["1", "٣"]),
        (["NA", "null"], ["NA", "null"]),
    ],
)
def test_text_ids_become_whole_numbers_only_where_all_are_plainly_written(tmp_path, cells, names):
    lines = "".join(f"{cell},{cell}\n" for cell in cells)
    assert (
        read_tables(put(tmp_path, edges=f"source,target\n{lines}")).graphs.node_names.tolist()
        == names
    )


def test_one_id_that_is_text_keeps_all_of_a_long_table_text(tmp_path, monkeypatch):
    monkeypatch.setattr("edgnn.io._table_files._BLOCKS", (64, 4096))
    lines = [f"{number},{number + 1}\n" for number in range(200)]
    read = read_tables(put(tmp_path, edges="".join(["source,target\n", *lines, "x,1\n"])))
    assert read.graphs.node_names.tolist() == [*map(str, range(201)), "x"]
    assert pairs(read.graphs) == [(str(number), str(number + 1)) for number in range(200)] + [
        ("x", "1")
    ]


@pytest.mark.parametrize("name", ["e.csv", "e.tsv", "e.txt", "E.CSV", "e.csv.gz", "e.tsv.gz"])
@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|", " "])
def test_the_delimiter_is_found_in_the_first_line_or_given(tmp_path, name, delimiter):
    text = f"source{delimiter}target\n1{delimiter}2\n".encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    assert pairs(read_tables(path, delimiter=delimiter).graphs) == [(1, 2)]
    if ".tsv" not in name or delimiter == "\t":
        assert pairs(read_tables(path).graphs) == [(1, 2)]


def test_quotation_marks_line_ends_and_blank_lines(tmp_path):
    text = '\ufeff"source",target\r\n"a,1","b\nc"\r\n\r\n"say ""hi""",d\n\n'
    assert pairs(read_tables(put(tmp_path, edges=text)).graphs) == [
        ("a,1", "b\nc"),
        ('say "hi"', "d"),
    ]


def test_a_table_without_rows_is_a_graph_without_nodes(tmp_path):
    for text in ("source,target,label\n", "source,target"):
        read = read_tables(put(tmp_path, edges=text))
        assert (len(read.graphs), read.graphs.num_nodes, read.graphs.num_edges) == (1, 0, 0)
    assert len(read_tables(put(tmp_path, edges="source,target,graph\n")).graphs) == 0


def test_column_names_are_options(tmp_path):
    put(tmp_path, edges="from,to,kind,w\na,b,x,0.5\n", nodes="name,color,mass\na,red,1\nb,blue,2\n")
    options = {
        "source": "from",
        "target": "to",
        "edge_label": "kind",
        "edge_features": ["w"],
        "node": "name",
    }
    read = read_tables(tmp_path, **options, node_label="color", node_features="mass").graphs
    assert (read.edge_labels, read.node_labels) == (["x"], ["red", "blue"])
    assert (read.edge_features.tolist(), read.node_features.tolist()) == ([[0.5]], [[1.0], [2.0]])


def test_a_named_column_that_is_not_there_is_an_error_that_lists_the_columns(tmp_path):
    put(tmp_path, edges="source,target\na,b\n", nodes="node\na\nb\n", graphs="graph\n")
    for option in ("source", "target", "edge_label", "edge_graph", "edge_features"):
        said = wrong(tmp_path, **{option: "kind"})
        assert (
            said.partition("; the column of targets is target_column=")[0]
            == f"edges.csv, line 1: there is no column 'kind'; the columns are 'source', 'target': choose one with {option}="
        )
    for option in ("node", "node_label", "node_graph", "node_features", "node_target"):
        assert (
            f"nodes.csv, line 1: there is no column 'kind'; the columns are 'node': choose one with {option}="
            in wrong(tmp_path, **{option: "kind"})
        )
    for option in ("graph", "graph_target"):
        assert "graphs.csv, line 1: there is no column 'kind'" in wrong(
            tmp_path, **{option: "kind"}
        )


def test_labels_and_graphs_can_be_ignored(tmp_path):
    put(tmp_path, edges="source,target,label,graph\na,b,x,1\na,b,y,2\n")
    assert read_tables(tmp_path, edge_label=None).graphs.edge_vocabulary.constant
    read = read_tables(tmp_path, edge_graph=None).graphs
    assert (len(read), read.num_nodes, read.num_edges) == (1, 2, 2)


# Labels


def test_labels_are_there_for_all_rows_or_for_none(tmp_path):
    assert read_tables(
        put(tmp_path, edges="source,target,label\na,b,\nc,d,\n")
    ).graphs.edge_vocabulary.constant
    said = wrong(put(tmp_path, edges="source,target,label\na,b,x\nc,d,\n"))
    assert said.startswith(
        "edges.csv, line 3: the column 'label' is empty here, but not everywhere; label all rows, or none"
    )
    assert wrong(put(tmp_path, edges="source,target,label\na,b,\nc,d,x\n")).startswith(
        "edges.csv, line 2: the column 'label'"
    )


def test_a_missing_label_is_found_in_a_later_batch_too(tmp_path, monkeypatch):
    monkeypatch.setattr("edgnn.io._table_files._BLOCKS", (64, 4096))
    given_late = "source,target,label\n" + "a,b,\n" * 99 + "a,b,x\n"
    missing_late = "source,target,label\n" + "a,b,x\n" * 99 + "a,b,\n"
    assert wrong(put(tmp_path, edges=given_late)).startswith(
        "edges.csv, line 2: the column 'label' is empty"
    )
    assert wrong(put(tmp_path, edges=missing_late)).startswith(
        "edges.csv, line 101: the column 'label' is empty"
    )


def test_the_empty_text_in_quotation_marks_is_a_label(tmp_path):
    assert read_tables(
        put(tmp_path, edges='source,target,label\na,b,""\nc,d,x\n')
    ).graphs.edge_labels == ["", "x"]


def test_labels_of_parquet_keep_their_types(tmp_path):
    ends = {"source": ["a", "b", "c"], "target": ["b", "c", "a"]}
    for labels in ([True, False, True], [1.5, -2.0, 1.5], ["1", "2", "1"], [1, 2, 1]):
        read = read_tables(put_parquet(tmp_path / "e.parquet", **ends, label=labels)).graphs
        assert read.edge_labels == labels
        assert list(map(type, read.edge_labels)) == list(map(type, labels))
    categories = pa.array(["x", "y", "x"]).dictionary_encode()
    assert read_tables(
        put_parquet(tmp_path / "e.parquet", **ends, label=categories)
    ).graphs.edge_labels == ["x", "y", "x"]
    zeros = read_tables(put_parquet(tmp_path / "e.parquet", **ends, label=[0.0, -0.0, 1.0])).graphs
    assert len(zeros.edge_vocabulary) == 2
    assert wrong(put_parquet(tmp_path / "e.parquet", **ends, label=[1.0, NAN, 1.0])).startswith(
        "e.parquet, line 2: the column 'label' holds nan"
    )
    assert "holds list<" in wrong(
        put_parquet(tmp_path / "e.parquet", **ends, label=[[1], [2], [3]])
    )


def test_labels_are_numbered_as_other_graphs_have_them(tmp_path):
    other = Graphs.from_edges([(0, 1)], edge_labels=["y"])
    put(tmp_path, edges="source,target,label\na,b,x\nb,a,y\n")
    with pytest.raises(UnknownLabelError, match="edge 0 has the label 'x'"):
        read_tables(tmp_path, like=other)
    assert read_tables(tmp_path, like=other, unknown="map").graphs.edge_labels == [UNKNOWN, "y"]


# Node tables


def test_the_node_table_orders_nodes_and_holds_labels_features_and_isolated_nodes(tmp_path):
    put(
        tmp_path,
        edges="source,target\nb,a\n",
        nodes="node,label,feature_0,feature_1,other\nz,C,1,2,q\na,N,3,4e-1,q\nb,C,5,6,q\n",
    )
    read = read_tables(tmp_path).graphs
    assert read.node_names.tolist() == ["z", "a", "b"]
    assert read.node_labels == ["C", "N", "C"]
    assert read.node_features.tolist() == [[1, 2], [3, 0.4], [5, 6]]
    assert pairs(read) == [("b", "a")]
    assert read_tables(tmp_path, node_features=()).graphs.node_features is None


def test_ids_are_whole_numbers_only_where_both_tables_have_them(tmp_path):
    assert read_tables(
        put(tmp_path, edges="source,target\n1,2\n", nodes="node\n2\n1\n")
    ).graphs.node_names.tolist() == [2, 1]
    put(tmp_path, edges="source,target\n1,2\n", nodes="node\n2\n1\nx\n")
    assert read_tables(tmp_path).graphs.node_names.tolist() == ["2", "1", "x"]


def test_text_and_parquet_tables_understand_each_other(tmp_path):
    put(tmp_path, edges="source,target\n1,2\n")
    numbers = put_parquet(tmp_path / "numbers.parquet", node=pa.array([2, 1], pa.uint8()))
    texts = put_parquet(tmp_path / "texts.parquet", node=["2", "1"])
    assert pairs(read_tables(tmp_path, nodes=numbers).graphs) == [(1, 2)]
    assert pairs(read_tables(tmp_path, nodes=texts).graphs) == [("1", "2")]


def test_an_edge_to_a_node_that_the_table_lacks_names_node_and_line(tmp_path):
    put(tmp_path, edges="source,target\n\na,b\n\na,c\n", nodes="node\na\nb\n")
    assert (
        wrong(tmp_path) == "edges.csv, line 5: the target 'c' is not among the nodes of nodes.csv"
    )


def test_a_node_listed_twice_names_its_line(tmp_path):
    put(tmp_path, edges="source,target\na,b\n", nodes="node\na\nb\na\n")
    assert wrong(tmp_path) == "nodes.csv, line 4: the id 'a' stands twice; ids are unique"


def test_node_targets_leave_out_nodes_without_one(tmp_path):
    put(
        tmp_path,
        edges="source,target\na,b\n",
        nodes="node,y,z,t,graph\nb,1,,u,2\na,,0.5,,1\nc,3,nan,w,2\n",
    )
    put(tmp_path, edges="source,target,graph\na,a,1\n")
    for column, names, targets in (
        ("y", ["b", "c"], [1, 3]),
        ("z", ["a"], [0.5]),
        ("t", ["b", "c"], ["u", "w"]),
    ):
        read = read_tables(tmp_path, node_target=column)
        assert read.level == "node"
        assert (read.nodes.names, read.targets.tolist()) == (names, targets)
    with pytest.raises(GraphError, match="there is no node table"):
        read_tables(tmp_path / "edges.csv", node_target="y")


# Graph columns and tables


def test_node_ids_count_within_their_graph(tmp_path):
    put(tmp_path, edges="source,target,graph,label\na,b,g,1\na,b,h,2\nb,a,g,3\nc,a,h,4\n")
    read = read_tables(tmp_path).graphs
    assert read.graph_names.tolist() == ["g", "h"]
    assert read.node_names.tolist() == ["a", "b", "a", "b", "c"]
    assert read.graph_offset.tolist() == [0, 2, 5]
    assert pairs(read) == [("a", "b"), ("b", "a"), ("a", "b"), ("c", "a")]
    assert read.edge_labels == [1, 3, 2, 4]


def test_the_graph_table_orders_graphs_and_lists_empty_ones(tmp_path):
    put(
        tmp_path,
        edges="source,target,graph,label,feature_0\na,b,g,1,1\na,b,h,2,2\nb,a,g,3,3\n",
        nodes="node,graph,label\na,g,A\na,h,B\nb,g,C\nb,h,D\n",
        graphs="graph,target\nempty,1\nh,0\ng,1\n",
    )
    read = read_tables(tmp_path)
    assert replace(read.graphs) is not None
    assert read.targets.tolist() == [1, 0, 1]
    assert contents(read.graphs) == [
        {
            "edges": [],
            "node labels": [],
            "edge labels": [],
            "node features": None,
            "edge features": [],
            "node names": [],
            "graph name": "empty",
        },
        {
            "edges": [(0, 1)],
            "node labels": ["B", "D"],
            "edge labels": [2],
            "node features": None,
            "edge features": [[2.0]],
            "node names": ["a", "b"],
            "graph name": "h",
        },
        {
            "edges": [(0, 1), (1, 0)],
            "node labels": ["A", "C"],
            "edge labels": [1, 3],
            "node features": None,
            "edge features": [[1.0], [3.0]],
            "node names": ["a", "b"],
            "graph name": "g",
        },
    ]


@pytest.mark.parametrize(
    ("cells", "targets"),
    [
        (["1", "2"], [1, 2]),
        (["1", ""], [1.0, NAN]),
        (["1.5", "nan"], [1.5, NAN]),
        (["yes", "no"], ["yes", "no"]),
        (["", ""], [NAN, NAN]),
    ],
)
def test_graph_targets_come_as_they_are(tmp_path, cells, targets):
    rows = "".join(f"{graph},{cell}\n" for graph, cell in enumerate(cells))
    read = read_tables(put(tmp_path, edges="source,target,graph\n", graphs=f"graph,target\n{rows}"))
    assert [type(value) for value in read.targets.tolist()] == [type(value) for value in targets]
    np.testing.assert_equal(read.targets.tolist(), targets)


def test_several_targets_make_rows(tmp_path):
    put(tmp_path, edges="source,target,graph\n", graphs="graph,y,z,t\n0,1,0.5,a\n1,2,,b\n")
    np.testing.assert_equal(
        read_tables(tmp_path, graph_target=["y", "z"]).targets, [[1, 0.5], [2, NAN]]
    )
    assert "the column 't' holds text; several targets" in wrong(tmp_path, graph_target=["y", "t"])
    assert read_tables(tmp_path).targets is None
    put(tmp_path, graphs="graph,target\n0,a\n1,\n")
    assert wrong(tmp_path).startswith("graphs.csv, line 3: the column 'target' is empty")


def test_graphs_only_in_the_node_table_need_ids_of_their_own(tmp_path):
    put(tmp_path, edges="source,target\nc,d\na,b\n", nodes="node,graph\na,1\nb,1\nc,0\nd,0\n")
    read = read_tables(tmp_path).graphs
    assert read.graph_names.tolist() == [1, 0]
    assert pairs(read) == [("a", "b"), ("c", "d")]
    put(tmp_path, edges="source,target\na,b\na,c\n")
    assert wrong(tmp_path) == (
        "edges.csv, line 3: the edge joins node 'a' of graph 1 to node 'c' of graph 0; an edge stays within one graph"
    )
    put(tmp_path, nodes="node,graph\na,1\na,2\n")
    assert wrong(tmp_path).startswith("nodes.csv, line 3: the id 'a' stands twice")


def test_graph_columns_that_do_not_fit_together_are_errors(tmp_path):
    put(tmp_path, edges="source,target,graph\na,b,1\n", nodes="node\na\nb\n")
    assert "nodes.csv: the edge table has graphs in its column 'graph'" in wrong(tmp_path)
    put(tmp_path, edges="source,target\na,b\n", graphs="graph\n1\n")
    assert "graphs.csv lists graphs, but no column says" in wrong(tmp_path)
    put(
        tmp_path,
        edges="source,target,graph\na,b,1\na,b,2\n",
        nodes="node,graph\na,1\nb,1\na,2\nb,2\n",
        graphs="graph\n1\n",
    )
    assert wrong(tmp_path) == "nodes.csv, line 4: the graph 2 is not in graphs.csv"
    put(tmp_path, graphs="graph\n1\n2\n1\n")
    assert wrong(tmp_path) == "graphs.csv, line 4: the id 1 stands twice; ids are unique"
    put(tmp_path, graphs="graph\n1\n2\n", nodes="node,graph\na,1\nb,1\nb,2\n")
    assert (
        wrong(tmp_path)
        == "edges.csv, line 3: the source 'a' is not among the nodes of nodes.csv in this graph"
    )


def test_a_folder_needs_exactly_one_edge_table(tmp_path):
    assert wrong(tmp_path).endswith(
        "there is no table edges.csv or edges.parquet here, so this is no folder of tables"
    )
    put(tmp_path, edges="source,target\n")
    put_parquet(tmp_path / "edges.parquet", source=[1], target=[2])
    assert "edges.csv and edges.parquet are both here" in wrong(tmp_path)
    with pytest.raises(FormatError, match="the name of a table ends in one of"):
        read_tables(tmp_path / "edges.dat")


# Files that break the rules


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "edges.csv: the file is empty; its first line must name the columns"),
        (b"\n\n", "edges.csv, line 1: the first line is blank; it must name the columns"),
        (
            b"a,b\n1,2\n",
            "edges.csv, line 1: there is no column 'source'; the columns are 'a', 'b': choose one with source=",
        ),
        (
            b"source,target,source\n",
            "edges.csv, line 1: the column 'source' stands twice; give each column its own name",
        ),
        (
            b"source,target\n1,2\n1,2,3\n",
            "edges.csv, line 3: the row has 3 values, but the header names 2 columns",
        ),
        (
            b'source,target\n"1\n",2\n\n1\n',
            "edges.csv, line 5: the row has 1 values, but the header names 2 columns",
        ),
        (
            b"source,target\n1,\n",
            "edges.csv, line 2: the column 'target' is empty; the target of an edge is needed in every row",
        ),
        (
            b"source,target,graph\n1,2,\n",
            "edges.csv, line 2: the column 'graph' is empty; a graph id is needed in every row",
        ),
        (
            b"source,target\n1,2\n1,\xe4\n",
            "edges.csv, line 3: the text is not UTF-8; convert it first",
        ),
        (b"\xff\xfes\x00o\x00", "edges.csv, line 1: the text is not UTF-8; convert it first"),
        (
            b'source,target\n1,2\n3,"4\n5,6\n',
            "edges.csv, line 3: a quotation mark that is opened here is not closed",
        ),
        (
            b'source,target\n1,2\n"3,4\n5,6\n',
            "edges.csv, line 3: the row has 1 values, but the header names 2 columns; is a quotation mark left open?",
        ),
        (
            b'"source,target\n1,2\n',
            "edges.csv, line 1: the column names cannot be read (unexpected end of data)",
        ),
        (
            b"source,target\r1,2\r",
            "edges.csv, line 1: lines end with a bare carriage return; they must end with a newline",
        ),
        (
            b"source,target,feature_0\n1,2,0\n1,2,x\n",
            "edges.csv, line 3: the column 'feature_0' holds 'x'; a feature is a number",
        ),
        (
            b"source,target,feature_0\n1,2,\n",
            "edges.csv, line 2: the column 'feature_0' is empty; a feature is a finite number; "
            "fill in or drop missing values first",
        ),
        (
            b"source,target,feature_0\n1,2,inf\n",
            "edges.csv, line 2: the column 'feature_0' holds 'inf'; a feature is a finite number; "
            "fill in or drop missing values first",
        ),
    ],
)
def test_broken_text_names_file_line_and_rule(tmp_path, content, said):
    assert wrong(put(tmp_path, edges=content)) == said


def test_lines_are_counted_across_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("edgnn.io._table_files._BLOCKS", (64, 4096))
    good = "source,target,feature_0\n" + '1,2,3\n\n"4\n5",6,7\n' * 50
    assert wrong(put(tmp_path, edges=good + "1,2,x\n")).startswith(
        "edges.csv, line 202: the column 'feature_0' holds 'x'"
    )
    assert wrong(put(tmp_path, edges=good + "1,2\n")).startswith(
        "edges.csv, line 202: the row has 2 values"
    )
    assert wrong(put(tmp_path, edges=good + '1,"2,3\n')).startswith(
        "edges.csv, line 202: the row has 2 values"
    )


def test_rows_longer_than_a_block_are_read_up_to_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("edgnn.io._table_files._BLOCKS", (64, 1024))
    long = "x" * 500
    read = read_tables(put(tmp_path, edges=f"source,target\na,b\n{long},b\n" + "a,b\n" * 30))
    assert pairs(read.graphs) == [("a", "b"), (long, "b"), *[("a", "b")] * 30]
    said = wrong(put(tmp_path, edges="source,target\na,b\n" + "y" * 5000 + ",b\n"))
    assert (
        said
        == "edges.csv, line 2: a row is longer than 1,024 bytes; is a quotation mark not closed?"
    )


def test_damaged_gzip_and_bombs_are_refused(tmp_path):
    packed = gzip.compress(b"source,target\n" + b"1,2\n" * 1000)
    path = tmp_path / "e.csv.gz"
    path.write_bytes(packed[:-20])
    assert "the compressed data is damaged or cut off" in wrong(path)
    path.write_bytes(packed)
    assert "unpacks to more than 1,000 bytes" in wrong(path, max_bytes=1000)
    assert read_tables(path, max_bytes=10_000).graphs.num_edges == 1000


def test_wrong_delimiters_are_refused(tmp_path):
    for delimiter in ("::", '"', "ß"):
        with pytest.raises(GraphError, match="delimiter="):
            read_tables(put(tmp_path, edges="source,target\n"), delimiter=delimiter)


def test_broken_parquet_names_file_and_rule(tmp_path):
    path = put_parquet(tmp_path / "e.parquet", source=[1, 2], target=[2, None])
    assert (
        wrong(path)
        == "e.parquet, line 2: the column 'target' is empty; the target of an edge is needed in every row"
    )
    whole = path.read_bytes()
    for content in (b"", b"PAR1", whole[:-9], whole[:-1], b"PAR1" + b"\xff" * 200 + b"PAR1"):
        path.write_bytes(content)
        assert wrong(path).startswith(
            "e.parquet: the Parquet data is damaged, cut off or of an unknown kind"
        )
    assert "holds double, but the source of an edge is text or a whole number" in wrong(
        put_parquet(path, source=[1.0], target=[1])
    )
    assert "holds uint64 beyond 64 signed bits" in wrong(
        put_parquet(path, source=pa.array([2**64 - 1], pa.uint64()), target=[1])
    )
    assert "the column 'feature_0' holds date32[day], but a feature is a number" in wrong(
        put_parquet(path, source=[1], target=[1], feature_0=pa.array([0], pa.date32()))
    )
    assert wrong(put_parquet(path, source=[1, 1], target=[1, 1], feature_0=["1", "x"])).startswith(
        "e.parquet, line 2: the column 'feature_0' holds 'x'"
    )
    pq.write_table(
        pa.Table.from_arrays([pa.array([1])] * 3, names=["source", "target", "target"]), path
    )
    assert "the column 'target' stands twice" in wrong(path)


def test_text_in_parquet_must_be_utf8(tmp_path):
    bad = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.array([0, 1], pa.int32()).buffers()[1], pa.py_buffer(b"\xff")]
    )
    assert "Parquet data is damaged" in wrong(
        put_parquet(tmp_path / "e.parquet", source=bad, target=["a"])
    )


def test_parquet_that_unpacks_without_bound_is_refused(tmp_path):
    many = pa.array(np.zeros(2_000_000, np.int64))
    path = put_parquet(tmp_path / "e.parquet", source=many, target=many)
    assert path.stat().st_size < 20_000
    assert "unpacks to more than 1,000,000 bytes" in wrong(path, max_bytes=1_000_000)


def test_parquet_columns_may_be_large_or_half_empty_types(tmp_path):
    path = put_parquet(
        tmp_path / "e.parquet",
        source=pa.array(["a"], pa.large_string()),
        target=["b"],
        label=pa.nulls(1),
    )
    assert read_tables(path).graphs.edge_vocabulary.constant
    path = put_parquet(
        tmp_path / "e.parquet", source=pa.array([], pa.null()), target=pa.array([], pa.null())
    )
    assert read_tables(path).graphs.num_edges == 0
    read = read_tables(
        put_parquet(path, source=[0], target=[0], feature_0=pa.array([0.1], pa.float32()))
    )
    assert read.graphs.edge_features.dtype == torch.float32


# Writing


def as_written(collection: Graphs, form: str):
    """What reading back must give: the labels and names that the format forces."""

    def forced(values):
        kinds = {type(value) for value in values}
        if kinds == {str} or kinds == {int} or (kinds == {float} and form == "parquet"):
            return values
        return [str(value) for value in values]

    several = len(collection) != 1 or collection.graph_names is not None
    node_names = None if collection.node_names is None else forced(collection.node_names.tolist())
    node_labels = (
        None if collection.node_vocabulary.constant else forced(list(collection.node_vocabulary))
    )
    edge_labels = (
        None if collection.edge_vocabulary.constant else forced(list(collection.edge_vocabulary))
    )
    expected = contents(collection)
    for number, (graph, start) in enumerate(
        zip(expected, collection.graph_offset.tolist(), strict=False)
    ):
        size = len(graph["node labels"])
        graph["node names"] = (
            list(range(size)) if node_names is None else node_names[start : start + size]
        )
        if several and graph["graph name"] is None:
            graph["graph name"] = number
        for key, old, new in (
            ("node labels", collection.node_vocabulary, node_labels),
            ("edge labels", collection.edge_vocabulary, edge_labels),
        ):
            if new is not None:
                graph[key] = [new[old.index(label)] for label in graph[key]]
    return expected


@pytest.mark.parametrize("form", ["parquet", "csv"])
@given(collection=graphs())
def test_what_is_written_reads_back(form, collection):
    with TemporaryDirectory() as folder:
        place = Path(folder, "tables")
        write_tables(collection, place, format=form)
        read = read_tables(place).graphs
    assert replace(read).equals(read)
    assert contents(read) == as_written(collection, form)


@pytest.mark.parametrize("form", ["parquet", "csv"])
@given(
    names=st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
        min_size=1,
        max_size=6,
        unique=True,
    )
)
@example(names=["", "\r", "\n", '"', ",", "\x00", " ", "NULL", "-1"])
@example(names=["-1", "0", "12"])
def test_any_text_survives_as_name_and_label(form, names):
    count = len(names)
    collection = Graphs.from_edges(
        [(node, (node + 1) % count) for node in range(count)],
        node_labels=names,
        edge_labels=names,
        node_names=names,
    )
    with TemporaryDirectory() as folder:
        write_tables(collection, Path(folder, "t"), format=form)
        read = read_tables(Path(folder, "t")).graphs
    if form == "csv" and all(re.fullmatch("0|-?[1-9][0-9]*", name) for name in names):
        names = list(map(int, names))
    assert read.node_names.tolist() == names
    assert read.edge_labels == names
    assert read.node_labels == names


@given(
    values=st.lists(
        st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1, max_size=5
    )
)
def test_features_survive_to_the_last_bit(values):
    features = torch.tensor(values, dtype=torch.float32)[:, None]
    collection = Graphs.from_edges([], num_nodes=len(values), node_features=features)
    with TemporaryDirectory() as folder:
        for form, precision in (("parquet", torch.float32), ("csv", torch.float64)):
            write_tables(collection, Path(folder, form), format=form)
            read = read_tables(Path(folder, form)).graphs
            assert read.node_features.dtype == precision
            assert torch.equal(read.node_features.to(torch.float32), features)


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize(
    "targets",
    [
        [1, 2],
        [0.5, NAN],
        ["a", "b"],
        [[1.0, 2.0], [3.0, NAN]],
        np.array([1, 2], np.int8),
        torch.tensor([1.5, 2.5]),
    ],
)
def test_targets_are_written_and_read_without_options(tmp_path, form, targets):
    collection = Graphs.from_edges([(0, 1)], sizes=[2, 0])
    write_tables(collection, tmp_path / "t", format=form, targets=targets)
    np.testing.assert_equal(
        read_tables(tmp_path / "t").targets.tolist(), np.asarray(targets).tolist()
    )


def test_a_single_graph_with_a_target_keeps_it(tmp_path):
    write_tables(Graphs.from_edges([(0, 1)]), tmp_path / "t", targets=[3])
    read = read_tables(tmp_path / "t")
    assert (read.targets.tolist(), read.graphs.graph_names.tolist()) == ([3], [0])
    write_tables(Graphs.from_edges([(0, 1)]), tmp_path / "u")
    assert sorted(path.name for path in (tmp_path / "u").iterdir()) == [
        "edges.parquet",
        "nodes.parquet",
    ]


def test_what_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path):
    edge = [(0, 1)]
    cases = [
        (
            Graphs.from_edges(edge, node_labels=[1, "1"]),
            {},
            "the node labels 1 and '1' would both be written as '1'",
        ),
        (
            Graphs.from_edges(edge, node_names=[(1,), "(1,)"]),
            {},
            "the node names (1,) and '(1,)' would both be written",
        ),
        (
            Graphs.from_edges(edge, edge_labels=["\ud800"]),
            {},
            "the edge label '\\ud800' is no valid text",
        ),
        (
            Graphs.from_edges([], sizes=[0, 0], graph_names=["g", "g"]),
            {},
            "the graph name 'g' stands twice",
        ),
        (Graphs.from_edges(edge), {"format": "xlsx"}, "format='xlsx': choose 'parquet' or 'csv'"),
        (
            Graphs.from_edges(edge),
            {"targets": [1, 2]},
            "targets must be one value, or one row, per graph: 1 of them",
        ),
        (
            Graphs.from_edges(edge),
            {"targets": np.array([{}], object)},
            "targets must be numbers, truth values or text",
        ),
    ]
    for collection, options, said in cases:
        with pytest.raises(GraphError) as caught:
            write_tables(collection, tmp_path / "t", **options)
        assert said in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_written_tables_do_not_replace_what_is_there(tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "mine").write_text("x")
    with pytest.raises(FileExistsError):
        write_tables(Graphs.from_edges([(0, 1)]), tmp_path / "t")


def test_a_real_set_survives(tmp_path, data_dir):
    from edgnn.io import read_tu

    mutag = read_tu(data_dir / "TUDataset" / "MUTAG")
    for form in ("parquet", "csv"):
        write_tables(mutag.graphs, tmp_path / form, format=form, targets=mutag.targets)
        read = read_tables(tmp_path / form)
        assert read.targets.tolist() == mutag.targets.tolist()
        assert torch.equal(read.graphs.edge_source, mutag.graphs.edge_source)
        assert torch.equal(read.graphs.edge_target, mutag.graphs.edge_target)
        assert read.graphs.node_labels == mutag.graphs.node_labels
        assert read.graphs.edge_labels == mutag.graphs.edge_labels


# Anything at all


@given(content=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(content):
    with TemporaryDirectory() as folder:
        for name in ("e.csv", "e.parquet", "e.csv.gz"):
            Path(folder, name).write_bytes(content)
            try_to_read(Path(folder, name))


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    made = bytearray(whole)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(made)))
        made[place : place + draw(st.integers(0, 6))] = draw(
            st.binary(max_size=4) | st.sampled_from([b'"', b",", b"\n", b"1"])
        )
    return bytes(made)


@cache
def example_tables(form: str) -> dict[str, bytes]:
    collection = Graphs.from_edges(
        [(0, 1), (1, 0), (2, 3)],
        sizes=[2, 2],
        node_labels=["a", "b", "a", "c"],
        edge_labels=[1, 2, 3],
        edge_features=[[0.5], [1.5], [2.5]],
        graph_names=["g", "h"],
    )
    with TemporaryDirectory() as folder:
        write_tables(collection, Path(folder, "t"), format=form, targets=[1, 0])
        return {path.name: path.read_bytes() for path in Path(folder, "t").iterdir()}


def try_to_read(place: Path) -> None:
    try:
        read = read_tables(place).graphs
    except GraphError:
        return
    replace(read)


@pytest.mark.parametrize("form", ["parquet", "csv"])
@given(data=st.data())
def test_damaged_tables_are_read_or_refused(form, data):
    tables = example_tables(form)
    name = data.draw(st.sampled_from(sorted(tables)))
    with TemporaryDirectory() as folder:
        for other, content in tables.items():
            Path(folder, other).write_bytes(
                data.draw(damaged(content)) if other == name else content
            )
        try_to_read(Path(folder))


# The whole process

MEASURE = """
import sys
from pathlib import Path
from edgnn.io import {read}
def peak():
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024
small, large = sys.argv[1:]
{read}(small)
before = peak()
read = {read}(large).graphs
grown = peak() - before
print(read.num_edges, grown / Path(large).stat().st_size)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_reading_takes_a_small_multiple_of_the_file_in_memory(tmp_path, run_python):
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 100_000, (1_250_000, 2)).tolist()
    with (tmp_path / "large.csv").open("w") as stream:
        stream.write("source,target,label\n")
        stream.writelines(f"{source},{target},r{source % 20}\n" for source, target in ends)
    (tmp_path / "small.csv").write_text("source,target,label\n1,2,x\n")
    code, places = (
        MEASURE.format(read="read_tables"),
        (tmp_path / "small.csv", tmp_path / "large.csv"),
    )
    edges, multiple = run_python(code, *places, OMP_NUM_THREADS="1").split()
    assert int(edges) == 1_250_000
    assert float(multiple) < 10


@pytest.mark.slow
def test_numbers_do_not_depend_on_the_hash_seed(tmp_path, run_python):
    code = (
        "import sys; from edgnn.io import read_tables; g = read_tables(sys.argv[1]).graphs; "
        "print(g.edge_source.tolist(), g.node_names.tolist(), list(g.edge_vocabulary), g.graph_names.tolist())"
    )
    rows = "".join(f"n{i * 7 % 31},n{i * 5 % 29},l{i % 13},g{i % 3}\n" for i in range(100))
    place = put(tmp_path, edges=f"source,target,label,graph\n{rows}")
    assert run_python(code, place, PYTHONHASHSEED="1") == run_python(
        code, place, PYTHONHASHSEED="2"
    )
