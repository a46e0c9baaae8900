from __future__ import annotations

import gzip
import json
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgnn.errors import FormatError, GraphError, UnknownLabelError
from edgnn.graphs import UNKNOWN, Graphs
from edgnn.io import from_networkx, read_node_link, write_node_link
from strategies import contents, graphs

TWO = '"nodes": [{"id": "a"}, {"id": "b"}]'


@pytest.fixture
def put(tmp_path):
    def write(text):
        path = tmp_path / "g.json"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def wrong(path, **options):
    """Read what must not be readable; return the error as text without the folder."""
    with pytest.raises(FormatError) as caught:
        read_node_link(path, **options)
    return str(caught.value).replace(f"{path.parent}/", "")


def pairs(collection):
    names = collection.node_names
    ends = zip(collection.edge_source.tolist(), collection.edge_target.tolist(), strict=True)
    return [(names[source], names[target]) for source, target in ends]


# What is read


def test_a_directed_graph_keeps_ids_labels_and_order(put):
    path = put(
        '{"directed": true, "multigraph": false, "graph": {"name": "mine"},'
        '"nodes": [{"id": 3, "label": "C"}, {"id": "x", "label": "N"}],'
        '"edges": [{"source": "x", "target": 3, "label": [1, ["a"]]}, {"source": 3, "target": 3, "label": null}]}'
    )
    read = read_node_link(path)
    assert read.graphs.node_names.tolist() == [3, "x"]
    assert read.graphs.graph_names.tolist() == ["mine"]
    assert read.graphs.node_labels == ["C", "N"]
    assert read.graphs.edge_labels == [(1, ("a",)), None]
    assert pairs(read.graphs) == [("x", 3), (3, 3)]
    assert (read.targets, read.nodes) == (None, None)


def test_edges_may_come_before_nodes_and_direction_after_both(put):
    edges = '[{"source": "b", "target": "a"}]'
    assert pairs(read_node_link(put(f'{{"edges": {edges}, {TWO}, "directed": true}}')).graphs) == [
        ("b", "a")
    ]
    read = read_node_link(put(f'{{"links": {edges}, {TWO}, "directed": false}}')).graphs
    assert pairs(read) == [("b", "a"), ("a", "b")]
    assert read.node_names.tolist() == ["a", "b"]


def test_without_a_direction_edges_have_none_as_in_networkx(put):
    ends = [("a", "b", 1), ("b", "b", 2), ("b", "a", 3)]
    edges = json.dumps(
        [{"source": source, "target": target, "label": label} for source, target, label in ends]
    )
    read = read_node_link(put(f'{{{TWO}, "edges": {edges}}}')).graphs
    assert pairs(read) == [("a", "b"), ("b", "a"), ("b", "b"), ("b", "a"), ("a", "b")]
    assert read.edge_labels == [1, 1, 2, 3, 3]


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("edges", ["edges", "links"])
def test_what_networkx_writes_reads_as_the_graph_itself(put, kind, edges):
    graph = nx.gnp_random_graph(8, 0.4, seed=1, directed=kind(()).is_directed())
    graph = kind(graph)
    graph.add_edge(0, 0)
    nx.set_node_attributes(graph, {node: f"l{node % 3}" for node in graph}, "label")
    for position, (_, _, data) in enumerate(graph.edges(data=True)):
        data.update(label=position % 2, features=[position / 2, -1.0])
    read = read_node_link(put(json.dumps(nx.node_link_data(graph, edges=edges), indent=1))).graphs
    assert read.equals(from_networkx(graph, edge_features="features"))


def test_nodes_without_ids_are_named_by_position(put):
    links = '"links": [{"source": 1, "target": 0}]'
    assert read_node_link(
        put(f'{{"nodes": [{{"name": "x"}}, {{}}], {links}}}')
    ).graphs.node_names.tolist() == [0, 1]
    for nodes, number in (('[{},\n{"id": 1}]', 0), ('[{"id": 1},\n{}]', 1)):
        assert (
            wrong(put(f'{{"nodes": {nodes}, {links}}}'))
            == f"g.json: node {number}, counted from 0, has no 'id'; give it to all nodes"
        )
    assert "has no 'key'; give it to all nodes" in wrong(
        put(f'{{"nodes": [{{}}], {links}}}'), node_id="key"
    )


def test_attribute_names_are_options(put):
    path = put(
        '{"directed": true, "nodes": [{"key": 1, "kind": "x", "w": 1, "v": 2, "y": 5},'
        '{"key": 2, "kind": "z", "w": 3, "v": 4, "y": null}],'
        '"edges": [{"from": 2, "to": 1, "rel": "r", "t": 0.5}]}'
    )
    options = {
        "node_id": "key",
        "source": "from",
        "target": "to",
        "node_label": "kind",
        "edge_label": "rel",
        "edge_features": "t",
    }
    read = read_node_link(path, **options, node_features=["w", "v"], node_target="y")
    assert (read.graphs.node_labels, read.graphs.edge_labels) == (["x", "z"], ["r"])
    assert (read.graphs.node_features.tolist(), read.graphs.edge_features.tolist()) == (
        [[1, 2], [3, 4]],
        [[0.5]],
    )
    assert (read.nodes.names, read.targets.tolist()) == ([1], [5])


@pytest.mark.parametrize(
    "targets", [[1, 2], [1, 0.5], ["a", "b"], [True, False], ["a", 1], [2**70, 1.5], [2**70, 1]]
)
def test_targets_keep_their_type(put, targets):
    nodes = [
        {"id": "none"},
        *({"id": number, "y": target} for number, target in enumerate(targets)),
        {"id": "null", "y": None},
    ]
    read = read_node_link(put(json.dumps({"nodes": nodes, "edges": []})), node_target="y")
    assert read.nodes.names == [0, 1]
    assert read.targets.tolist() == targets


def test_features_are_found_without_being_named(put):
    path = put(
        '{"nodes": [{"id": 1, "features": [1, 2.5]}, {"id": 2, "features": [0, true]}], "edges": []}'
    )
    assert read_node_link(path).graphs.node_features.tolist() == [[1, 2.5], [0, 1]]
    assert read_node_link(path, node_features=()).graphs.node_features is None


def test_labels_are_numbered_as_other_graphs_have_them(put):
    path = put('{"nodes": [{"id": 1, "label": "x"}, {"id": 2, "label": "y"}], "edges": []}')
    other = Graphs.from_edges([(0, 1)], node_labels=["y", "z"])
    with pytest.raises(UnknownLabelError, match="node 0 has the label 'x'"):
        read_node_link(path, like=other)
    assert read_node_link(path, like=other, unknown="map").graphs.node_labels == [UNKNOWN, "y"]


def test_gzip_and_byte_order_mark_are_understood(put):
    text = f'{{{TWO}, "edges": []}}'.encode()
    assert read_node_link(put(b"\xef\xbb\xbf" + text)).graphs.num_nodes == 2
    assert read_node_link(put(gzip.compress(text))).graphs.num_nodes == 2
    assert "unpacks to more than 10 bytes" in wrong(put(gzip.compress(text)), max_bytes=10)


# What is refused


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: this is not JSON: expecting value"),
        ("[]", "a node-link document is one JSON object: {…}"),
        ('{"nodes": []}', "there is no list 'edges'; a node-link document has 'nodes' and 'edges'"),
        ('{"edges": []}', "there is no list 'nodes'; a node-link document has 'nodes' and 'edges'"),
        ('{"nodes": {}, "edges": []}', "'nodes' is {}; it must be a list: […]"),
        (
            '{"nodes": [], "links": [],\n"edges": []}',
            "there are both 'edges' and 'links'; keep one",
        ),
        ('{"nodes": [1], "edges": []}', "a node is 1; it must be an object: {…}"),
        ('{"nodes": [],\n "edges": [[]]}', "an edge is []; it must be an object: {…}"),
        (
            f'{{{TWO}, "edges": [{{"source": "a"}}]}}',
            "an edge has no 'target': {'source': 'a'}",
        ),
        (
            f'{{{TWO}, "edges": [{{"target": "a"}}]}}',
            "an edge has no 'source': {'target': 'a'}",
        ),
        (
            '{"nodes": [{"id": 1},\n{"id": 1.0}], "edges": []}',
            "the node 1.0 stands twice; node ids are unique",
        ),
        (
            '{"nodes": [{"id": null}], "edges": []}',
            "a node id is null; it must be text or a number",
        ),
        (
            '{"nodes": [{"id": {"a": 1}}], "edges": []}',
            "a node id is {'a': 1}; it must be text, a number or a list of them",
        ),
        (
            f'{{"edges": [{{"source": "a", "target": "b"}},\n{{"source": "a", "target": "c"}}],\n{TWO}}}',
            "the edge names the node 'c', which is not among the nodes; edges name nodes by their ids",
        ),
        (
            '{"nodes": [{"id": 1, "label": 1},\n{"id": 2}], "edges": []}',
            "node 2 has no attribute 'label', but others have; label all of them, or pass node_label=None to ignore labels",
        ),
        (
            f'{{{TWO}, "edges": [{{"source": "a", "target": "b"}},\n{{"source": "a", "target": "b", "label": 1}}]}}',
            "edge ('a', 'b') has no attribute 'label', but others have; label all of them, "
            "or pass edge_label=None to ignore labels",
        ),
        (
            '{"nodes": [{"id": 1, "label": {}}], "edges": []}',
            "the label of node 1 is {}; a label is text, a number or a list of them",
        ),
        (
            '{"nodes": [{"id": 1, "label": [[{}]]}], "edges": []}',
            "the label of node 1 is [[{}]]; a label is text, a number or a list of them",
        ),
        ('{"directed": 1}', "'directed' is 1; it must be true or false"),
        (
            '{"nodes": [{"id": NaN}], "edges": []}',
            "a value cannot be read: NaN is not a number in JSON; "
            "use null, or leave the attribute out",
        ),
        (
            '{"x": -Infinity}',
            "a value cannot be read: -Infinity is not a number in JSON; "
            "use null, or leave the attribute out",
        ),
        (
            '{"nodes": [{"id": 1, "features": [1]},\n{"id": 2, "features": [1, 2]}], "edges": []}',
            "node 2 has 2 features, but others have 1",
        ),
        (
            '{"nodes": [{"id": 1, "features": ["1"]}], "edges": []}',
            "the features of node 1 are ['1']; features are numbers",
        ),
        (
            '{"nodes": [{"id": 1, "features": [1e999]}], "edges": []}',
            "the features of node 1 are [inf]; features must be finite",
        ),
        (
            f'{{"nodes": [{{"id": 1, "features": [1{"0" * 400}]}}], "edges": []}}',
            "the features of node 1 hold a number beyond what floating point can hold",
        ),
        (
            '{"nodes": [{"id": 1},\n{"id": 2, "features": [1]}], "edges": []}',
            "node 1 has no features, but others have; give all of them some, or pass node_features=() to ignore them",
        ),
        ('{"a": 1\n', "line 2: this is not JSON: expecting ',' delimiter"),
        ('{"a": 1}\nx', "line 2: this is not JSON: extra data"),
        ('{"a": 1}{', "line 1: this is not JSON: extra data"),
        ("{a: 1}", "line 1: this is not JSON: expecting property name enclosed in double quotes"),
        ('{"a" 1}', "line 1: this is not JSON: expecting ':' delimiter"),
        ('{"a": [1,\n\n}', "line 3: this is not JSON: expecting value"),
        ('{"a": "x\ny"}', "line 1: this is not JSON: invalid control character"),
        ('{"a": "x', "line 1: this is not JSON: unterminated string"),
        (b'{"a": "\xff"}', "line 1: the text is not UTF-8; convert it first"),
        (b'{"a":\n\n "\xc3', "line 3: the text is not UTF-8; convert it first"),
        ('{"a": 1}'.encode("utf-16"), "line 1: the text is not UTF-8; convert it first"),
    ],
)
def test_broken_files_name_line_and_rule(put, text, said):
    said = f"g.json, {said}" if said.startswith("line") else f"g.json: {said}"
    assert wrong(put(text)) == said


def test_explicit_features_and_targets_must_be_there(put):
    path = put('{"nodes": [{"id": 1}], "edges": []}')
    assert "node 1 has no attribute 'w', which node_features asks for" in wrong(
        path, node_features="w"
    )
    assert (
        wrong(path, node_target="y")
        == "g.json: no node has the attribute 'y', which node_target asks for"
    )


def test_long_numbers_and_deep_nesting_are_refused(put):
    assert "a value cannot be read: Exceeds the limit" in wrong(put(f'{{"a": 1{"0" * 5000}}}'))
    assert wrong(put('{"a":\n' + "[" * 200_000)) == "g.json: lists and objects are nested too deep"
    deep = "[" * 65 + "1" + "]" * 65
    assert "it must be text, a number or a list of them" in wrong(
        put(f'{{"nodes": [{{"id": {deep}}}], "edges": []}}')
    )
    assert "a label is text" in wrong(
        put(f'{{"nodes": [{{"id": 1, "label": {deep}}}], "edges": []}}')
    )
    assert (
        read_node_link(put(f'{{"nodes": [{{"id": {deep[1:-1]}}}], "edges": []}}')).graphs.num_nodes
        == 1
    )


# Round trips


def as_written(graph: Graphs):
    (expected,) = contents(graph)
    expected["node names"] = (
        list(range(graph.num_nodes)) if graph.node_names is None else expected["node names"]
    )
    for key in ("node features", "edge features"):
        expected[key] = expected[key] or None
    return expected


@given(graph=graphs(min_graphs=1, max_graphs=1))
def test_what_is_written_reads_back(graph):
    with TemporaryDirectory() as folder:
        path = Path(folder, "g.json")
        write_node_link(graph, path)
        read = read_node_link(path).graphs
        in_networkx = nx.node_link_graph(json.loads(path.read_text()), edges="edges")
    assert replace(read).equals(read)
    assert contents(read) == [as_written(graph)]
    assert isinstance(in_networkx, nx.MultiDiGraph)
    assert (len(in_networkx), in_networkx.number_of_edges()) == (graph.num_nodes, graph.num_edges)


PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
VALUES = st.recursive(PLAIN, lambda inner: st.tuples(inner) | st.tuples(inner, inner), max_leaves=4)


@given(
    labels=st.lists(VALUES, min_size=1, max_size=4),
    names=st.lists(VALUES.filter(lambda value: value is not None), max_size=4),
)
def test_any_plain_value_survives_as_label_and_name(labels, names):
    graph = Graphs.from_edges([], node_labels=labels)
    named = Graphs.from_edges(
        [], node_names=list(dict.fromkeys(names)), num_nodes=len(dict.fromkeys(names))
    )
    with TemporaryDirectory() as folder:
        write_node_link(graph, Path(folder, "l.json"))
        write_node_link(named, Path(folder, "n.json"))
        assert read_node_link(Path(folder, "l.json")).graphs.node_labels == graph.node_labels
        assert (
            read_node_link(Path(folder, "n.json")).graphs.node_names.tolist()
            == named.node_names.tolist()
        )


def test_single_precision_survives(tmp_path):
    graph = Graphs.from_edges(
        [(0, 1)],
        node_features=torch.tensor([[0.1], [1e-30]]),
        edge_features=torch.tensor([[1 / 3]]),
    )
    write_node_link(graph, tmp_path / "g.json")
    read = read_node_link(tmp_path / "g.json").graphs
    assert torch.equal(read.node_features.to(torch.float32), graph.node_features)
    assert torch.equal(read.edge_features.to(torch.float32), graph.edge_features)


def test_networkx_reads_names_labels_and_features(tmp_path):
    graph = Graphs.from_edges(
        [(0, 1), (0, 1), (1, 1)],
        node_labels=["C", ("N", 1)],
        edge_labels=[1, 2, 1],
        node_names=["a", (1, 2)],
        node_features=[[1.0], [2.0]],
    )
    write_node_link(graph, tmp_path / "g.json")
    read = nx.node_link_graph(json.loads((tmp_path / "g.json").read_text()), edges="edges")
    assert dict(read.nodes(data=True)) == {
        "a": {"label": "C", "features": [1.0]},
        (1, 2): {"label": ["N", 1], "features": [2.0]},
    }
    assert sorted(read.edges(data="label"), key=repr) == sorted(
        [("a", (1, 2), 1), ("a", (1, 2), 2), ((1, 2), (1, 2), 1)], key=repr
    )


def test_numpy_names_are_written_as_numbers(tmp_path):
    write_node_link(
        Graphs.from_edges([(0, 1)], node_names=[np.int64(5), np.float32(0.5)]), tmp_path / "g.json"
    )
    assert read_node_link(tmp_path / "g.json").graphs.node_names.tolist() == [5, 0.5]


def test_what_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path):
    edge = [(0, 1)]
    for graph, said in (
        (Graphs.from_edges(edge, sizes=[2, 0]), "node-link JSON holds a single graph, not 2"),
        (
            Graphs.from_edges(edge, node_labels=[b"x", 1]),
            "the node label b'x' cannot be written as JSON",
        ),
        (
            Graphs.from_edges(edge, edge_labels=[float("inf")]),
            "the edge label inf cannot be written as JSON",
        ),
        (
            Graphs.from_edges(edge, node_names=["a", frozenset()]),
            "the name of node 1 cannot be written as JSON",
        ),
        (Graphs.from_edges(edge, node_names=["a", None]), "the name of node 1 is None"),
        (Graphs.from_edges(edge, graph_names=[b"x"]), "the name of the graph cannot be written"),
    ):
        with pytest.raises(GraphError) as caught:
            write_node_link(graph, tmp_path / "g.json")
        assert said in str(caught.value)
    assert list(tmp_path.iterdir()) == []


# Anything at all


def try_to_read(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "g.json")
        path.write_bytes(content)
        try:
            read = read_node_link(path).graphs
        except GraphError:
            return
    replace(read)


WHOLE = json.dumps(
    {
        "directed": True,
        "nodes": [
            {"id": 1, "label": "a\u00e9", "features": [1, 2.5]},
            {"id": "x", "label": None, "features": [1, 2]},
        ],
        "edges": [
            {"source": 1, "target": "x", "label": [1]},
            {"source": "x", "target": 1, "label": True},
        ],
    },
    indent=0,
).encode()


@given(
    content=st.binary(max_size=100)
    | st.text('{}[]",: \n01e-nulltrefas\\', max_size=60).map(str.encode)
)
def test_any_bytes_are_read_or_refused(content):
    try_to_read(content)


@given(data=st.data())
def test_damaged_documents_are_read_or_refused(data):
    made = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(made)))
        piece = data.draw(
            st.binary(max_size=3)
            | st.sampled_from([b'"', b",", b"{", b"]", b"null", b"1e9", b"\\u"])
        )
        made[place : place + data.draw(st.integers(0, 6))] = piece
    try_to_read(bytes(made))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.floats(allow_nan=False)
    | st.sampled_from(["a", "b", ""]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["id", "source", "target", "label", "features"]), inner)
    ),
    max_leaves=6,
)


@given(
    document=st.dictionaries(
        st.sampled_from(["nodes", "edges", "links", "directed", "graph"]),
        JSON | st.lists(JSON, max_size=4),
        min_size=1,
    )
)
def test_documents_of_any_shape_are_read_or_refused(document):
    try_to_read(json.dumps(document).replace("Infinity", "1e999").encode())


MEASURE = """
import sys
from pathlib import Path
from edgnn.io import read_node_link
def peak():
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024
small, large = sys.argv[1:]
read_node_link(small)
before = peak()
read = read_node_link(large).graphs
grown = peak() - before
print(read.num_edges, grown / Path(large).stat().st_size)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_reading_takes_a_small_multiple_of_the_file_in_memory(tmp_path, run_python):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 20, 50_000).tolist()
    nodes = ",\n".join(
        f'{{"id": {node}, "label": "label {label}"}}' for node, label in enumerate(labels)
    )
    ends = rng.integers(0, 50_000, (400_000, 2)).tolist()
    edges = ",\n".join(
        f'{{"source": {source}, "target": {target}, "label": {source % 7}}}'
        for source, target in ends
    )
    (tmp_path / "large.json").write_text(
        f'{{"directed": true, "edges": [{edges}], "nodes": [{nodes}]}}'
    )
    (tmp_path / "small.json").write_text(f'{{{TWO}, "edges": []}}')
    places = tmp_path / "small.json", tmp_path / "large.json"
    edges_read, multiple = run_python(MEASURE, *places, OMP_NUM_THREADS="1").split()
    assert int(edges_read) == 400_000
    assert float(multiple) < 16


def test_a_label_attribute_that_nothing_has_is_named(tmp_path):
    (tmp_path / "g.json").write_text(
        '{"directed": true, "nodes": [{"id": 1}, {"id": 2}], "edges": [{"source": 1, "target": 2}]}'
    )
    with pytest.raises(
        FormatError, match="no edge has the attribute 'lable', which edge_label asks for"
    ):
        read_node_link(tmp_path / "g.json", edge_label="lable")
