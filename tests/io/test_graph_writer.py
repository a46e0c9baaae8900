import errno
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import edgnn
import strategies
from edgnn.errors import GraphError, UnknownLabelError
from edgnn.io import GraphWriter


@pytest.fixture(scope="module", autouse=True)
def no_waiting_for_the_disk():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda file: None)
        yield


def written(folder, fill, **options):
    with GraphWriter(folder, **options) as writer:
        fill(writer)
    return edgnn.read(folder, verify=True)


def in_pieces(writer, graph, size):
    """Write one graph in pieces of its nodes, then of its edges."""
    for start in range(0, graph.num_nodes, size):
        piece = slice(start, start + size)
        writer.add_nodes(
            labels=graph.node_labels[piece],
            features=None if graph.node_features is None else graph.node_features[piece],
            names=None if graph.node_names is None else graph.node_names[piece],
        )
    for start in range(0, graph.num_edges, size):
        piece = slice(start, start + size)
        writer.add_edges(
            graph.edge_source[piece],
            graph.edge_target[piece].numpy(),
            labels=graph.edge_labels[piece],
            features=None if graph.edge_features is None else graph.edge_features[piece],
        )


@given(graphs=strategies.graphs(min_graphs=1, min_nodes=1, max_edges=6), size=st.integers(1, 4))
def test_pieces_make_the_graphs_that_they_are_pieces_of(tmp_path_factory, graphs, size):
    def fill(writer):
        for graph in graphs:
            writer.begin_graph(None if graph.graph_names is None else graph.graph_names[0])
            in_pieces(writer, graph, size)

    back = written(tmp_path_factory.mktemp("w") / "g.graphs", fill)
    assert strategies.contents(back) == strategies.contents(
        graphs if graphs.num_edges else graphs._with(edge_features=None)
    )
    assert back.node_vocabulary == graphs.node_vocabulary
    if graphs.num_edges:
        assert back.equals(graphs)


@given(parts=st.lists(strategies.graphs(features=False, names=False), max_size=4))
def test_collections_are_joined_as_concat_joins_them(tmp_path_factory, parts):
    def fill(writer):
        for part in parts:
            writer.add(part)

    back = written(tmp_path_factory.mktemp("w") / "g.graphs", fill)
    joined = edgnn.Graphs.concat(parts)
    assert strategies.contents(back) == strategies.contents(joined)
    assert torch.equal(back.graph_offset, joined.graph_offset)
    assert torch.equal(back.edge_offset, joined.edge_offset)


def test_one_graph_needs_no_beginning_and_ends_count_within_the_graph(tmp_path):
    def fill(writer):
        assert writer.add_nodes(2) == range(2)
        writer.add_edges([0], [1])
        assert writer.add_nodes(1) == range(2, 3)
        writer.add_edges([2], [0])
        writer.begin_graph()
        assert writer.add_nodes(2) == range(2)
        writer.add_edges([1], [0])

    back = written(tmp_path / "g.graphs", fill)
    assert back.equals(edgnn.Graphs.from_edges([(0, 1), (2, 0), (4, 3)], sizes=[3, 2]))


def test_counts_may_be_numbers_of_any_kind(tmp_path):
    def fill(writer):
        assert writer.add_nodes(np.int64(3)) == range(3)
        assert writer.add_nodes(torch.tensor(2)) == range(3, 5)

    assert written(tmp_path / "g.graphs", fill).num_nodes == 5


def test_nodes_behind_whole_graphs_begin_a_graph_of_their_own(tmp_path):
    named = edgnn.Graphs.from_edges([(0, 1)], node_names=["a", "b"])

    def fill(writer):
        writer.add(named)
        assert writer.add_nodes(names=["a", "c"]) == range(2)
        writer.add_edges([0], [1])
        writer.add(named)

    back = written(tmp_path / "g.graphs", fill)
    assert back.sizes.tolist() == [2, 2, 2]
    assert back.edge_source.tolist() == [0, 2, 4]


def test_empty_graphs_stay(tmp_path):
    def fill(writer):
        for _ in range(3):
            writer.begin_graph()

    assert written(tmp_path / "g.graphs", fill).sizes.tolist() == [0, 0, 0]
    assert len(written(tmp_path / "none.graphs", lambda writer: None)) == 0


def test_label_numbers_of_a_given_vocabulary(tmp_path):
    def fill(writer):
        writer.add_nodes(numbers=np.array([2, 0], np.int32))
        writer.add_edges(torch.tensor([0]), torch.tensor([1]), numbers=[1])

    back = written(
        tmp_path / "g.graphs", fill, node_vocabulary=["a", "b", "c"], edge_vocabulary=range(2)
    )
    assert (back.node_labels, back.edge_labels) == (["c", "a"], [1])
    assert (len(back.node_vocabulary), len(back.edge_vocabulary)) == (3, 2)


def test_new_values_stand_behind_the_given_ones(tmp_path):
    back = written(
        tmp_path / "g.graphs",
        lambda writer: [writer.add_nodes(labels=piece) for piece in ("bx", "xa")],
        node_vocabulary=["a", "b"],
    )
    assert list(back.node_vocabulary) == ["a", "b", "x"]
    assert back.node_label.tolist() == [1, 2, 2, 0]


def test_labels_are_numbered_as_other_graphs_do(tmp_path):
    known = edgnn.Graphs.from_edges([(0, 1)], node_labels=["a", "b"], edge_labels=["x"])

    def fill(writer):
        writer.add_nodes(labels=["b", "b"])
        writer.add_nodes(labels=["b", "z"])
        writer.add_edges([0], [1], labels=["x"])

    with pytest.raises(
        UnknownLabelError,
        match=r"node 3 has the label 'z', which is not among the 2 known ones.*unknown=\"map\"",
    ):
        written(tmp_path / "g.graphs", fill, like=known)
    back = written(tmp_path / "g.graphs", fill, like=known, unknown="map")
    assert back.node_label.tolist() == [1, 1, 1, 2]
    assert back.node_labels[3] is edgnn.UNKNOWN
    assert list(back.edge_vocabulary) == ["x", edgnn.UNKNOWN]
    other = edgnn.Graphs.from_edges([(0, 1)], node_labels=["a", "q"], edge_labels=["x"])
    with pytest.raises(UnknownLabelError, match="node 1 has the label 'q'"):
        written(tmp_path / "h.graphs", lambda writer: writer.add(other), like=known)
    unused = other._with(node_label=torch.zeros(2, dtype=torch.int64))
    assert written(
        tmp_path / "i.graphs", lambda writer: writer.add(unused), like=known
    ).node_labels == ["a", "a"]


def refuse(fill, rule, folder, error=GraphError, **options):
    with pytest.raises(error, match=rule):
        written(folder, fill, **options)
    assert list(folder.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("pieces", "rule"),
    [
        ([{"count": None}], r"how many nodes\? Give a count"),
        ([{"count": -1}], "-1 nodes cannot be added"),
        *[
            ([{"count": count}], "nodes cannot be added; a count is a whole number")
            for count in ("3", 2.5, True)
        ],
        ([{"labels": 5}], "node labels must be a list or another sequence, got a int"),
        (
            [{"labels": (label for label in "ab")}],
            "node labels must be a list or another sequence, got a generator",
        ),
        ([{"numbers": 3}], "node label numbers must be a list"),
        ([{"features": 3.0}], "node features must be a list"),
        ([{"names": 3}], "node names must be a list"),
        ([{"count": 2, "labels": "abc"}], "3 node labels were given for 2 nodes"),
        ([{"labels": "ab", "names": ["x"]}], "1 node names were given for 2 nodes"),
        ([{"labels": "ab", "numbers": [0, 0]}], "either as values .* or as numbers"),
        ([{"numbers": [0.5]}], "node label numbers must be a vector of whole numbers"),
        (
            [{"labels": "abc"}, {"numbers": [0, 3]}],
            "node 4 has the label number 3, but the vocabulary has 3",
        ),
        (
            [{"labels": "abc"}, {"labels": ["a", float("nan")]}],
            "piece that begins with node 3: the label of node 1 is NaN",
        ),
        ([{"features": [[1.0]]}, {"features": [[2.0], [np.inf]]}], "feature 0 of node 2 is inf"),
        (
            [{"features": [[1.0]]}, {"features": [[2.0, 1.0]]}],
            "node 1 has 2 features of type float64, those before have 1",
        ),
        ([{"features": [[1.0]]}, {"count": 1}], "node 1 has no features, unlike those before"),
        ([{"count": 1}, {"features": [[1.0]]}], "node 1 has features, unlike those before"),
        ([{"names": ["a"]}, {"count": 1}], "node 1 has no name, unlike those before"),
        ([{"count": 1}, {"names": ["a"]}], "node 1 has a name, unlike those before"),
        (
            [{"names": ["a"]}, {"names": ["b", "a"]}],
            "node 2 has the name 'a', as another one of its graph",
        ),
        ([{"names": [["a"]]}], "the name of node 0 cannot be hashed"),
    ],
)
def test_nodes_that_cannot_be_are_refused_by_their_number(pieces, rule, tmp_path):
    refuse(
        lambda writer: [writer.add_nodes(**piece) for piece in pieces], rule, tmp_path / "g.graphs"
    )


@pytest.mark.parametrize(
    ("ends", "rule"),
    [
        (([0, 3], [1, 0]), "edge 2 starts at node 3, but its graph has the nodes from 0 to 2"),
        (([0, 0], [1, -1]), "edge 2 points to node -1"),
        (([0], [1, 0]), "1 edge sources were given, but 2 targets"),
        (([[0], [0, 0]], [1]), "edge sources cannot be read as an array"),
        (([0.5], [1]), "edge sources must be a vector of whole numbers, got float64"),
        ((np.array([2**63], np.uint64), [1]), "edge sources must be below"),
    ],
)
def test_edges_that_cannot_be_are_refused_by_their_number(ends, rule, tmp_path):
    def fill(writer):
        writer.begin_graph()
        writer.add_nodes(10)
        writer.begin_graph()
        writer.add_nodes(3)
        writer.add_edges([0], [1])
        writer.add_edges(*ends)

    refuse(fill, rule, tmp_path / "g.graphs")


def test_edges_of_a_graph_without_nodes_are_refused(tmp_path):
    refuse(
        lambda writer: writer.add_edges([0], [0]),
        "edge 0 starts at node 0, but its graph has no nodes",
        tmp_path / "g.graphs",
    )


def test_a_new_label_behind_the_reserved_one_is_refused(tmp_path):
    def fill(writer):
        writer.add_nodes(labels=["b"])

    refuse(
        fill,
        "the node label 'b' is new, but the vocabulary ends with",
        tmp_path / "g",
        node_vocabulary=["a", edgnn.UNKNOWN],
    )


def test_names_of_graphs_are_for_all_or_none(tmp_path):
    def fill(writer):
        writer.begin_graph("a")
        writer.begin_graph()

    refuse(fill, "graph 1 has no name, unlike those before", tmp_path / "g.graphs")


def test_targets_are_added_once(tmp_path):
    def fill(writer):
        writer.add_nodes(1)
        writer.add_targets([1])
        writer.add_targets([1])

    refuse(fill, "targets were added before", tmp_path / "g.graphs")


def test_graphs_behind_their_targets_are_refused(tmp_path):
    def begin(writer):
        writer.add_nodes(1)
        writer.add_targets([1])
        writer.begin_graph()

    def add(writer):
        writer.add_nodes(1)
        writer.add_targets(["a"])
        writer.add(edgnn.Graphs.from_edges([(0, 1)]))

    for fill in (begin, add):
        refuse(fill, "begin and add all graphs first, then their targets", tmp_path / "g.graphs")


def test_targets_of_short_floats_are_kept_and_ragged_ones_refused(tmp_path):
    def fill(writer, targets):
        writer.add_nodes(1)
        writer.add_targets(targets)

    refuse(
        lambda writer: fill(writer, [[1], [2, 3]]),
        "targets cannot be read as an array",
        tmp_path / "g.graphs",
    )
    written(
        tmp_path / "g.graphs",
        lambda writer: fill(writer, torch.tensor([0.5], dtype=torch.bfloat16)),
    )
    assert edgnn.read_labeled(tmp_path / "g.graphs").targets.tolist() == [0.5]


def refused_features(writer):
    writer.add(edgnn.Graphs.from_edges([], num_nodes=2, node_features=[[1.0], [2.0]]))


@pytest.mark.parametrize(
    "refused",
    [
        refused_features,
        lambda writer: writer.begin_graph(["no name"]),
        lambda writer: writer.add_nodes(labels=[[]]),
        lambda writer: writer.add_edges([0], [9]),
        lambda writer: writer.add_targets([1, 2, 3]),
    ],
)
def test_an_error_that_was_passed_over_ends_the_block(refused, tmp_path):
    def at_the_end(writer):
        writer.add_nodes(2)
        with suppress(GraphError):
            refused(writer)

    def at_the_next_piece(writer):
        at_the_end(writer)
        with pytest.raises(GraphError, match="a piece was refused"):
            writer.add_nodes(1)
        raise ZeroDivisionError

    refuse(at_the_end, "a piece was refused, and may be there in part", tmp_path / "g.graphs")
    refuse(at_the_next_piece, None, tmp_path / "g.graphs", ZeroDivisionError)


def test_an_error_of_the_system_in_the_block_keeps_its_own_words(tmp_path):
    def fill(writer):
        writer.add_nodes(1)
        raise ConnectionResetError(errno.ECONNRESET, "the source is gone")

    refuse(fill, "the source is gone$", tmp_path / "g.graphs", ConnectionResetError)


def test_the_second_of_two_writers_to_one_place_is_told(tmp_path):
    place = tmp_path / "g.graphs"

    def while_another_writes(second):
        written(place, lambda first: first.add_nodes(3))
        second.add_nodes(1)

    with pytest.raises(
        FileExistsError, match="exists and is not an empty folder; choose another place"
    ):
        written(place, while_another_writes)
    assert edgnn.read(place).num_nodes == 3
    assert list(tmp_path.iterdir()) == [place]


def test_a_piece_added_in_part_is_noticed(tmp_path):
    def fill(writer):
        named = edgnn.Graphs.from_edges([(0, 1)], node_names=["a", "b"])
        writer.add(named)
        with pytest.raises(GraphError, match="node 2 has no name"):
            writer.add(edgnn.Graphs.from_edges([(0, 1)]))

    refuse(fill, "a piece was refused, and may be there in part", tmp_path / "g.graphs")


def test_an_error_or_ctrl_c_in_the_block_leaves_nothing(tmp_path):
    for error in (ZeroDivisionError, KeyboardInterrupt):

        def fill(writer, error=error):
            writer.add_nodes(5)
            raise error

        refuse(fill, None, tmp_path / "g.graphs", error)


KILLED = """
import os, sys, edgnn.io
with edgnn.io.GraphWriter(sys.argv[1]) as writer:
    writer.add_nodes(1000)
    os.kill(os.getpid(), 9)
"""


def test_a_killed_writer_leaves_no_folder_that_could_be_taken_for_one(tmp_path):
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "g.graphs")], check=False)
    assert done.returncode == -9
    assert not (tmp_path / "g.graphs").exists()


def test_it_writes_within_its_block_only(tmp_path):
    writer = GraphWriter(tmp_path / "g.graphs")
    with pytest.raises(GraphError, match="within its with block"):
        writer.add_nodes(1)
    with writer:
        writer.add_nodes(1)
    with pytest.raises(GraphError, match="within its with block"):
        writer.add_edges([0], [0])


def test_options_that_exclude_each_other_are_refused(tmp_path):
    graphs = edgnn.Graphs.from_edges([(0, 1)])
    with pytest.raises(GraphError, match="like= gives the vocabularies"):
        GraphWriter(tmp_path / "g", like=graphs, node_vocabulary=["a"])
    with pytest.raises(GraphError, match="like= takes Graphs, got a str"):
        GraphWriter(tmp_path / "g", like="x")
    for values in (5, {"a", "b"}):
        with pytest.raises(GraphError, match="edge_vocabulary= must be a list or another sequence"):
            GraphWriter(tmp_path / "g", edge_vocabulary=values)
    refuse(lambda writer: writer.add("x"), "add takes Graphs, got a str", tmp_path / "g")
    with pytest.raises(GraphError, match="unknown='drop': choose"):
        GraphWriter(tmp_path / "g", like=graphs, unknown="drop")
