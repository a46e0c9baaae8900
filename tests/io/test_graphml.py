from __future__ import annotations

import gzip
from collections import Counter
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import networkx as nx
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from edgnn.errors import FormatError, GraphError, UnknownLabelError
from edgnn.graphs import UNKNOWN, Graphs
from edgnn.io import from_networkx, read_graphml, write_graphml
from strategies import contents, graphs

KEYS = (
    '<key id="d0" for="node" attr.name="label" attr.type="string"/>\n'
    '<key id="d1" for="edge" attr.name="label" attr.type="int"/>\n'
)
ONE = '<graph edgedefault="directed"><node id="a"/></graph>'


@pytest.fixture
def put(tmp_path):
    def write(text):
        path = tmp_path / "g.graphml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def graphml(graph, keys=KEYS):
    return f"<graphml>\n{keys}{graph}\n</graphml>"


def wrong(path, **options):
    """Read what must not be readable; return the error as text without the folder."""
    with pytest.raises(FormatError) as caught:
        read_graphml(path, **options)
    return str(caught.value).replace(f"{path.parent}/", "")


def pairs(collection):
    names = collection.node_names
    ends = zip(collection.edge_source.tolist(), collection.edge_target.tolist(), strict=True)
    return [(names[source], names[target]) for source, target in ends]


# What is read


@pytest.mark.parametrize(
    "namespace", ["", ' xmlns="http://graphml.graphdrawing.org/xmlns"', ' xmlns="urn:other"']
)
def test_nodes_edges_and_labels_with_or_without_namespace(put, namespace):
    graph = (
        '<graph id="mine" edgedefault="directed"><desc>x <b/> y</desc><edge source="b" target="a"><data key="d1"> 7 </data></edge>'
        '<node id="a"><data key="d0">C&amp;<![CDATA[<]]></data></node><node id="b"><data key="d0"/></node></graph>'
    )
    path = put(f"<?xml version='1.0'?><!-- -->\n<graphml{namespace}>{KEYS}{graph}</graphml>")
    if "other" in namespace:
        assert wrong(path) == "g.graphml, line 2: the element <graphml> does not belong here"
        return
    read = read_graphml(path)
    assert read.graphs.node_names.tolist() == ["a", "b"]
    assert read.graphs.graph_names.tolist() == ["mine"]
    assert read.graphs.node_labels == ["C&<", ""]
    assert read.graphs.edge_labels == [7]
    assert pairs(read.graphs) == [("b", "a")]
    assert (read.targets, read.nodes) == (None, None)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("label", [str, int, float, lambda number: number % 2 == 0])
def test_what_networkx_writes_reads_as_networkx_reads_it(tmp_path, kind, label):
    graph = kind(nx.gnp_random_graph(8, 0.4, seed=1, directed=kind(()).is_directed()))
    graph.add_edge(0, 0)
    graph.add_edge(1, 0)
    nx.set_node_attributes(graph, {node: label(node % 3) for node in graph}, "label")
    for position, (_, _, data) in enumerate(graph.edges(data=True)):
        data["label"] = label(position % 4)
    nx.write_graphml(graph, tmp_path / "g.graphml")
    ours = read_graphml(tmp_path / "g.graphml").graphs
    theirs = from_networkx(nx.read_graphml(tmp_path / "g.graphml"))
    assert ours.node_names.tolist() == theirs.node_names.tolist() == [str(node) for node in graph]
    assert ours.node_labels == theirs.node_labels
    assert [type(value) for value in ours.edge_vocabulary] == [type(ours.edge_vocabulary[0])] * len(
        ours.edge_vocabulary
    )
    assert Counter(zip(pairs(ours), ours.edge_labels, strict=True)) == Counter(
        zip(pairs(theirs), theirs.edge_labels, strict=True)
    )


def test_values_of_several_types_under_one_name(tmp_path):
    graph = nx.DiGraph([("a", "b")])
    nx.set_node_attributes(graph, {"a": 1, "b": "x"}, "label")
    nx.write_graphml(graph, tmp_path / "g.graphml")
    assert read_graphml(tmp_path / "g.graphml").graphs.node_labels == [1, "x"]


def test_undirected_edges_become_two_and_single_edges_decide_for_themselves(put):
    edges = (
        '<node id="a"/><node id="b"/><edge source="a" target="b"><data key="d1">1</data></edge>'
        '<edge source="a" target="a"><data key="d1">2</data></edge>'
        '<edge source="b" target="a" directed="{}"><data key="d1">3</data></edge>'
    )
    read = read_graphml(
        put(graphml(f'<graph edgedefault="undirected">{edges.format("true")}</graph>'))
    ).graphs
    assert pairs(read) == [("a", "b"), ("b", "a"), ("a", "a"), ("b", "a")]
    assert read.edge_labels == [1, 1, 2, 3]
    read = read_graphml(
        put(graphml(f'<graph edgedefault="directed">{edges.format("false")}</graph>'))
    ).graphs
    assert pairs(read) == [("a", "b"), ("a", "a"), ("b", "a"), ("a", "b")]
    assert read.edge_labels == [1, 2, 3, 3]


def test_defaults_fill_in_what_is_missing(put):
    keys = '<key id="k" for="all" attr.name="label" attr.type="int"><desc>d</desc><default>5</default></key>'
    nodes = '<node id="a"/><node id="b"><data key="k">6</data></node><edge source="a" target="b"/>'
    read = read_graphml(put(graphml(f'<graph edgedefault="directed">{nodes}</graph>', keys))).graphs
    assert (read.node_labels, read.edge_labels) == ([5, 6], [5])


def test_attributes_are_found_by_name_or_else_by_key(put):
    keys = (
        '<key id="label" for="node" attr.name="kind" attr.type="string"/>'
        '<key id="w" for="node" attr.name="weight" attr.type="double"/>'
        '<key id="y" for="node" attr.type="boolean"/>'
    )
    nodes = (
        '<node id="a"><data key="label">x</data><data key="w">1e-3</data><data key="y">TRUE</data></node>'
        '<node id="b"><data key="label">z</data><data key="w">2</data></node>'
    )
    path = put(graphml(f'<graph edgedefault="directed">{nodes}</graph>', keys))
    assert read_graphml(path).graphs.node_labels == ["x", "z"]
    read = read_graphml(path, node_label="kind", node_features="weight")
    assert read.graphs.node_labels == ["x", "z"]
    assert read.graphs.node_features.tolist() == [[0.001], [2]]
    flagged = read_graphml(path, node_target="y")
    assert (flagged.nodes.names, flagged.targets.tolist()) == (["a"], [True])
    assert read_graphml(path, node_label=None).graphs.node_vocabulary.constant
    labeled = read_graphml(path, node_target="weight", node_label="weight")
    assert (labeled.nodes.names, labeled.targets.tolist(), labeled.graphs.node_labels) == (
        ["a", "b"],
        [0.001, 2],
        [0.001, 2],
    )


def test_values_nested_in_foreign_elements_are_skipped_unless_wanted(put):
    keys = '<key id="g" for="node" yfiles.type="nodegraphics"/><key id="n" for="port"/>'
    data = '<data key="g"><y:Shape xmlns:y="urn:y"><y:Label>text<data/></y:Label></y:Shape></data>'
    path = put(
        graphml(
            f'<graph edgedefault="directed"><data key="n">x</data><node id="a">{data}</node></graph>',
            keys,
        )
    )
    assert read_graphml(path).graphs.node_names.tolist() == ["a"]
    assert (
        wrong(path, node_label="g")
        == "g.graphml, line 2: the attribute 'g' holds XML elements; it must hold a plain value"
    )


@pytest.mark.parametrize(
    ("encoding", "label"),
    [("shift_jis", "日本"), ("EUC-JP", "日本"), ("gbk", "中"), ("big5", "中"), ("euc-kr", "한")],
)
def test_encodings_of_east_asia_are_decoded(put, encoding, label):
    nodes = "".join(f'<node id="{label}{n}"/>\n' for n in range(3_000))
    graph = f'<graph edgedefault="directed">{nodes}</graph>'
    text = f'<?xml version="1.0" encoding="{encoding}"?>\n<graphml>{graph}</graphml>'
    names = read_graphml(put(text.encode(encoding))).graphs.node_names
    assert names.tolist() == [f"{label}{n}" for n in range(3_000)]
    cut_off = text.encode(encoding).replace(b"<node", b"\xff\xff<node", 1)
    with pytest.raises(FormatError, match=r"line 1: the encoding cannot be read|not well-formed"):
        read_graphml(put(cut_off))


@pytest.mark.parametrize(
    "encoding", ["utf-7", "utf-32", "utf-16", "iso2022_kr", "zlib", "hex", "rot13", "x" * 5_000]
)
def test_a_declared_encoding_that_is_not_read_is_one_error(put, encoding):
    with pytest.raises(FormatError, match=r"encoding|not well-formed"):
        read_graphml(put(f'<?xml version="1.0" encoding="{encoding}"?>\n<graphml/>'.encode()))


def test_encodings_that_xml_declares_are_understood(put):
    graph = '<graph edgedefault="directed"><node id="ä"/></graph>'
    for encoding in ("utf-8", "iso-8859-1", "utf-16", "cp1252"):
        text = f'<?xml version="1.0" encoding="{encoding}"?><graphml>{graph}</graphml>'
        assert read_graphml(put(text.encode(encoding))).graphs.node_names.tolist() == ["ä"]
    assert read_graphml(put(gzip.compress(graphml(ONE).encode()))).graphs.num_nodes == 1
    assert "unpacks to more than 10 bytes" in wrong(
        put(gzip.compress(graphml(ONE).encode())), max_bytes=10
    )


def test_labels_are_numbered_as_other_graphs_have_them(put):
    nodes = '<node id="a"><data key="d0">x</data></node><node id="b"><data key="d0">y</data></node>'
    path = put(graphml(f'<graph edgedefault="directed">{nodes}</graph>'))
    other = Graphs.from_edges([(0, 1)], node_labels=["y", "z"])
    with pytest.raises(UnknownLabelError, match="node 0 has the label 'x'"):
        read_graphml(path, like=other)
    assert read_graphml(path, like=other, unknown="map").graphs.node_labels == [UNKNOWN, "y"]


@given(
    graph=graphs(
        min_graphs=1, max_graphs=1, labels=st.sampled_from([None, st.text("ab", max_size=3)])
    ),
    size=st.integers(1, 40),
)
def test_pieces_of_any_size_give_the_same_graph(graph, size):
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        write_graphml(graph, Path(folder, "g.graphml"))
        whole = read_graphml(Path(folder, "g.graphml")).graphs
        patch.setattr("edgnn.io._graphml_parser._CHUNK", size)
        assert read_graphml(Path(folder, "g.graphml")).graphs.equals(whole)


# What is refused


def inside(text, keys=KEYS):
    return graphml(f'<graph edgedefault="directed">\n{text}</graph>', keys)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: this is not well-formed XML: no element found"),
        ("<graphml>\n<graph", "line 2: this is not well-formed XML: unclosed token"),
        ("<graphml>\n</graph>", "line 2: this is not well-formed XML: mismatched tag"),
        (
            b"<graphml>\n\xff</graphml>",
            "line 2: this is not well-formed XML: not well-formed (invalid token)",
        ),
        (
            "<graphml></graphml>\n<x/>",
            "line 2: this is not well-formed XML: junk after document element",
        ),
        ("<graphml/>", "there is no graph in this GraphML document"),
        ("<html/>", "line 1: the element <html> does not belong here"),
        (
            "<graphml>\n<node id='a'/></graphml>",
            "line 2: the element <node> does not belong inside <graphml>",
        ),
        (
            graphml('<graph edgedefault="directed"/>\n<graph edgedefault="directed"/>'),
            "line 5: the file holds several or nested graphs; only GraphML with a single graph can be read",
        ),
        (
            inside('<node id="a"><graph edgedefault="directed"/></node>'),
            "line 5: the file holds several or nested graphs; only GraphML with a single graph can be read",
        ),
        (
            inside("<hyperedge/>"),
            "line 5: GraphML with hyperedges (edges of more than two nodes) cannot be read",
        ),
        (
            inside('<node id="a"><port name="p"/></node>'),
            "line 5: GraphML with ports cannot be read",
        ),
        (
            inside('<node id="a"/><edge source="a" target="a" sourceport="p"/>'),
            "line 5: GraphML with ports cannot be read",
        ),
        (
            inside("<locator/>"),
            "line 5: GraphML with parts of a graph that are kept elsewhere cannot be read",
        ),
        (graphml("<graph/>"), "line 4: the <graph> has no 'edgedefault', which it needs"),
        (
            graphml('<graph edgedefault="both"/>'),
            "line 4: edgedefault is 'both'; it must be 'directed' or 'undirected'",
        ),
        (inside("<node/>"), "line 5: the <node> has no 'id', which it needs"),
        (
            inside('<node id="a"/>\n<node id="a"/>'),
            "line 6: the node 'a' stands twice; node ids are unique",
        ),
        (
            inside('<node id="a"/><edge target="a"/>'),
            "line 5: the <edge> has no 'source', which it needs",
        ),
        (
            inside('<edge source="a" target="b"/>\n<node id="a"/>'),
            "line 5: the edge names the node 'b', which is not among the nodes; edges name nodes by their ids",
        ),
        (
            inside('<node id="a"/><edge source="a" target="a" directed="maybe"/>'),
            "line 5: an edge has directed='maybe'; it must be 'true' or 'false'",
        ),
        (inside('<node id="a"><data key="d9"/></node>'), "line 5: the key 'd9' is not declared"),
        (inside('<node id="a"><data/></node>'), "line 5: the <data> has no 'key', which it needs"),
        (
            inside('<node id="a"><data key="d1">1</data></node>'),
            "line 5: the key 'd1' is declared for 'edge', but stands in a 'node'",
        ),
        (
            inside('<node id="a"><data key="d0">x</data></node>\n<node id="b"/>'),
            "line 6: node 'b' has no attribute 'label', but others have; label all of them, "
            "or pass node_label=None to ignore labels",
        ),
        (
            inside('<node id="a"/><edge source="a" target="a">\n<data key="d1">1.5</data></edge>'),
            "line 6: the attribute 'label' is '1.5', which is no value of type int",
        ),
        (
            inside('<node id="a"/><edge source="a" target="a"><data key="d1">1_0</data></edge>'),
            "line 5: the attribute 'label' is '1_0', which is no value of type int",
        ),
        (
            inside(
                '<node id="a"><data key="d0">nan</data></node>',
                '<key id="d0" attr.name="label" attr.type="double"/>\n\n',
            ),
            "line 5: the label of node 'a' is nan; a label is text, a number or a list of them",
        ),
        (
            inside(
                '<node id="a"><data key="f">inf</data></node>',
                '<key id="f" attr.name="feature_0" attr.type="double"/>\n\n',
            ),
            "line 5: the features of node 'a' are [inf]; features must be finite",
        ),
        (
            inside(
                '<node id="a"><data key="f">x</data></node>',
                '<key id="f" attr.name="feature_0"/>\n\n',
            ),
            "line 5: the features of node 'a' are ['x']; features are numbers",
        ),
        (
            inside(
                "", '\n<key id="k" attr.name="label" attr.type="int">\n<default>x</default></key>'
            ),
            "line 3: the attribute 'label' is 'x', which is no value of type int",
        ),
        (
            inside("", '<key id="k"/>\n<key id="k"/>'),
            "line 3: the key 'k' is declared twice, here and on line 2",
        ),
        (inside("", "<key/>"), "line 2: the <key> has no 'id', which it needs"),
        (
            inside("", '<key id="k" attr.type="date"/>'),
            "line 2: the key 'k' has the type 'date'; types are int, integer, long, float, double, boolean, string",
        ),
        (
            graphml(ONE + '\n<key id="k"/>'),
            "line 5: a key is declared behind the graph; keys come first",
        ),
        (
            '<?xml version="1.0" encoding="klingon"?><graphml/>',
            "line 1: the encoding cannot be read (unknown encoding: klingon); convert the file to UTF-8",
        ),
    ],
)
def test_broken_files_name_line_and_rule(put, text, said):
    said = f"g.graphml, {said}" if said.startswith("line") else f"g.graphml: {said}"
    assert wrong(put(text)) == said


def test_attributes_that_are_asked_for_must_be_declared(put):
    path = put(graphml(ONE))
    for option in ("node_label", "node_features", "node_target"):
        said = wrong(path, **{option: "kind"})
        assert (
            said
            == f"g.graphml: no key declares the node attribute 'kind', which {option} asks for; declared are 'label'"
        )
    assert "no key declares the edge attribute 'kind', which edge_label asks for" in wrong(
        path, edge_label="kind"
    )


def test_entities_that_would_explode_are_refused(put):
    laughs = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 30))
    path = put(
        f'<?xml version="1.0"?>\n<!DOCTYPE graphml [<!ENTITY a0 "ha">{laughs}]>\n<graphml>&a29;</graphml>'
    )
    assert wrong(path).startswith(
        "g.graphml, line 2: a document type declaration (<!DOCTYPE …>) is refused"
    )
    outside = put('<!DOCTYPE graphml SYSTEM "file:///etc/passwd"><graphml/>')
    assert "is refused" in wrong(outside)


def test_deep_nesting_does_no_harm(put):
    deep = "<x>" * 100_000 + "</x>" * 100_000
    assert (
        read_graphml(
            put(graphml(f'<graph edgedefault="directed"><desc>{deep}</desc></graph>'))
        ).graphs.num_nodes
        == 0
    )


# Round trips

ONE_TYPE = st.sampled_from(
    [
        None,
        st.sampled_from(["C", "", "a b", "\n", "\r", "\t<&>\"'", "]]>", "ß"]),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False),
        st.booleans(),
    ]
)


def as_written(graph: Graphs):
    (expected,) = contents(graph)
    names = range(graph.num_nodes) if graph.node_names is None else expected["node names"]
    expected["node names"] = [str(name) for name in names]
    return expected


@given(graph=graphs(min_graphs=1, max_graphs=1, labels=ONE_TYPE))
def test_what_is_written_reads_back(graph):
    with TemporaryDirectory() as folder:
        path = Path(folder, "g.graphml")
        write_graphml(graph, path)
        read = read_graphml(path).graphs
        in_networkx = nx.read_graphml(path, force_multigraph=True)
    assert replace(read).equals(read)
    assert contents(read) == [as_written(graph)]
    assert [type(label) for label in read.edge_labels] == [
        type(label) for label in graph.edge_labels
    ]
    assert list(in_networkx) == read.node_names.tolist()
    assert Counter(in_networkx.edges()) == Counter(pairs(read))


def forbidden(letter: str) -> bool:
    return (
        letter in "\ufffe\uffff"
        or "\ud800" <= letter <= "\udfff"
        or (letter < " " and letter not in "\t\n\r")
    )


@given(texts=st.lists(st.text(st.characters(), max_size=4), min_size=1, max_size=5, unique=True))
def test_any_text_survives_or_is_refused(texts):
    graph = Graphs.from_edges([], node_labels=texts, node_names=texts)
    with TemporaryDirectory() as folder:
        path = Path(folder, "g.graphml")
        if any(forbidden(letter) for letter in "".join(texts)):
            with pytest.raises(GraphError, match="which XML cannot hold"):
                write_graphml(graph, path)
            return
        write_graphml(graph, path)
        read = read_graphml(path).graphs
    assert read.node_names.tolist() == texts
    assert read.node_labels == texts


def test_single_precision_survives(tmp_path):
    graph = Graphs.from_edges([(0, 1)], node_features=torch.tensor([[0.1, 1.0], [1e-30, 2.0]]))
    write_graphml(graph, tmp_path / "g.graphml")
    read = read_graphml(tmp_path / "g.graphml").graphs
    assert torch.equal(read.node_features.to(torch.float32), graph.node_features)
    assert read_graphml(
        tmp_path / "g.graphml", node_features=["feature_1"]
    ).graphs.node_features.tolist() == [[1.0], [2.0]]


def test_networkx_reads_labels_and_features(tmp_path):
    graph = Graphs.from_edges(
        [(0, 1), (0, 1)], node_labels=["C", "N"], edge_labels=[1, 2], edge_features=[[0.5], [1.5]]
    )
    write_graphml(graph, tmp_path / "g.graphml")
    read = nx.read_graphml(tmp_path / "g.graphml")
    assert dict(read.nodes(data=True)) == {"0": {"label": "C"}, "1": {"label": "N"}}
    assert [data for _, _, data in read.edges(data=True)] == [
        {"label": 1, "feature_0": 0.5},
        {"label": 2, "feature_0": 1.5},
    ]


def test_what_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path):
    edge = [(0, 1)]
    for graph, said in (
        (Graphs.from_edges(edge, sizes=[2, 0]), "GraphML holds a single graph, not 2"),
        (
            Graphs.from_edges(edge, node_labels=["x", 1]),
            "the node labels are of type int, str; GraphML holds labels of one type",
        ),
        (Graphs.from_edges(edge, edge_labels=[(1,)]), "the edge labels are of type tuple"),
        (
            Graphs.from_edges(edge, edge_labels=[2**63]),
            "the edge label 9223372036854775808 does not fit into 64 bits",
        ),
        (
            Graphs.from_edges(edge, node_labels=["x", "\x00"]),
            "the node label '\\x00' holds the character '\\x00', which XML",
        ),
        (
            Graphs.from_edges(edge, node_names=["a", "\ud800"]),
            "the name of node 1 holds the character '\\ud800', which XML",
        ),
        (
            Graphs.from_edges(edge, graph_names=["\x01"]),
            "the graph name holds the character '\\x01'",
        ),
        (
            Graphs.from_edges(edge, node_names=["1", 1]),
            "the node names '1' and 1 would both be written as '1'; rename one",
        ),
    ):
        with pytest.raises(GraphError) as caught:
            write_graphml(graph, tmp_path / "g.graphml")
        assert said in str(caught.value)
    assert list(tmp_path.iterdir()) == []


# Anything at all


def try_to_read(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "g.graphml")
        path.write_bytes(content)
        try:
            read = read_graphml(path).graphs
        except GraphError:
            return
    replace(read)


WHOLE = inside(
    '<node id="a"><data key="d0">x</data></node><node id="b"><data key="d0">y</data></node>'
    '<edge source="a" target="b"><data key="d1">1</data></edge>'
    '<edge source="b" target="a" directed="false"><data key="d1">2</data></edge>'
).encode()
PIECES = [
    b"<",
    b">",
    b"/",
    b'"',
    b"&amp;",
    b"&x;",
    b"<node id='c'/>",
    b"<data key='d0'>",
    b"</data>",
    b"<graph>",
    b"<!--",
    b"<![CDATA[",
]


@given(
    content=st.binary(max_size=100)
    | st.lists(st.sampled_from([*PIECES, b"<graphml>", b"</graphml>"])).map(b"".join)
)
def test_any_bytes_are_read_or_refused(content):
    try_to_read(content)


@given(data=st.data())
def test_damaged_documents_are_read_or_refused(data):
    made = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(made)))
        made[place : place + data.draw(st.integers(0, 6))] = data.draw(
            st.binary(max_size=3) | st.sampled_from(PIECES)
        )
    assume(bytes(made) != WHOLE)
    try_to_read(bytes(made))
