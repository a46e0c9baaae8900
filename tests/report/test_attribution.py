import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given

from edgnn import Graphs
from edgnn.errors import GraphError
from edgnn.explain import node_texts
from edgnn.report.draw import AGAINST, FOR, draw_attribution, signed, strongest_part
from strategies import graphs

SVG = "{http://www.w3.org/2000/svg}"
GRAPH = Graphs.from_edges(
    [(0, 1), (1, 0), (1, 2), (2, 2), (3, 2), (3, 2)],
    node_labels=["person", "paper", "place", "person"],
    edge_labels=["knows", "knows", "writes", "self", "is", "was"],
)
IRI = "http://example.org/onto#"


def parts(text, tag, kind):
    return [
        element
        for element in ET.fromstring(text).iter(f"{SVG}{tag}")
        if element.get("class") == kind
    ]


def titles(text):
    return [element.text for element in ET.fromstring(text).iter(f"{SVG}title")]


def star(leaves):
    return Graphs.from_edges([(0, leaf) for leaf in range(1, leaves + 1)])


def test_every_node_line_and_arrow_is_there():
    text = draw_attribution(GRAPH, [0] * 4, [0] * 6)
    assert len(parts(text, "circle", "node")) == 4
    assert len(parts(text, "path", "edge")) == 5
    assert len(parts(text, "path", "tip")) == 4
    assert [label.text for label in parts(text, "text", "edge-label")] == [
        "knows",
        "writes",
        "self",
        "is",
        "was",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (8.2, "+8.20"),
        (-0.901, "−0.901"),
        (12.345, "+12.3"),
        (181.4, "+181"),
        (-12345.6, "−12,346"),
        (0.00073, "+0.000730"),
        (2e-7, "+2e−07"),
        (3.2e9, "+3.2e+09"),
        (0.0, "0"),
        (float("nan"), "not known"),
    ],
)
def test_contributions_have_three_digits_and_no_exponent_that_can_be_avoided(value, text):
    assert signed(value) == text


def test_a_title_is_broken_into_lines_that_fit():
    title = "What the label of each atom and bond of this graph is worth to the model"
    bare, titled = (
        ET.fromstring(draw_attribution(Graphs.from_edges([(0, 1)]), None, None, title=one))
        for one in (None, title)
    )
    lines = [line.text for line in titled.iter(f"{SVG}text") if line.get("class") == "title"]
    assert len(lines) == 3
    assert " ".join(lines) == title
    assert max(map(len, lines)) * 9 < float(titled.get("width"))
    assert float(titled.get("height")) - float(bare.get("height")) == 5 + 3 * 17
    assert titled.get("width") == bare.get("width")
    endless = [
        line.text
        for line in parts(
            draw_attribution(Graphs.from_edges([(0, 1)]), None, None, title="x" * 500),
            "text",
            "title",
        )
    ]
    assert len(endless) == 3
    assert endless[-1].endswith("…")


def test_the_sign_is_the_hue_and_the_size_the_width():
    lines = parts(draw_attribution(GRAPH, None, [2, 2, 1, -2, 0, 0]), "path", "edge")
    assert [line.get("stroke") for line in lines] == [
        FOR,
        FOR,
        AGAINST,
        "currentColor",
        "currentColor",
    ]
    widths = [float(line.get("stroke-width")) for line in lines]
    assert widths[0] == widths[2] > widths[1] > widths[3]
    assert [line.get("stroke-dasharray") is not None for line in lines] == [
        False,
        False,
        True,
        False,
        False,
    ]
    shades = parts(draw_attribution(GRAPH, [1, -1, 0, np.nan], None), "circle", "shade")
    assert [shade.get("fill") for shade in shades] == [FOR, AGAINST]


def test_shades_follow_the_scores():
    drawn = {
        draw_attribution(GRAPH, scores, None)
        for scores in ([1, 0, 0, 0], [0, 1, 0, 0], [-1, 0, 0, 0])
    }
    assert len(drawn) == 3


def test_the_explained_node_has_a_ring_and_marks_an_outline():
    text = draw_attribution(GRAPH, [0] * 4, [0] * 6, node=2, marked_nodes=[0], marked_edges=[2])
    (ring,) = parts(text, "circle", "explained")
    place = parts(text, "circle", "node")[2]
    assert (ring.get("cx"), ring.get("cy")) == (place.get("cx"), place.get("cy"))
    assert len(parts(text, "circle", "mark")) == len(parts(text, "path", "mark")) == 1


def test_legends_say_what_codes_and_cut_labels_stand_for():
    long = GRAPH.renamed(edge_labels={"is": f"{IRI}a-relation-with-a-long-name"})
    text = draw_attribution(long, [0] * 4, [0] * 6)
    rows = ["".join(row.itertext()) for row in parts(text, "text", "label-row")]
    assert rows[0] == "person ×2person"
    assert any(row.startswith("a-relation-with-a-long-name ×1") for row in rows)
    assert f"{IRI}a-relation-with-a-long-name, node 3 → node 2: 0" in titles(text)


def test_codes_of_labels_differ():
    labels = ["person", "paper", "pa", None]
    graph = Graphs.from_edges([(0, 1), (1, 2), (2, 3)], node_labels=labels)
    root = ET.fromstring(draw_attribution(graph, [0] * 4, [0] * 3))
    shown = {text.text for text in root.iter(f"{SVG}text") if text.get("text-anchor") == "middle"}
    assert shown >= {"1", "n", "p", "pa"}


def test_nodes_are_called_by_their_literals():
    names = [
        f"{IRI}p1",
        f"{IRI}p2",
        '"Ada Lovelace"@en',
        '""',
        '"5"^^<http://www.w3.org/2001/XMLSchema#int>',
        "plain",
    ]
    graph = Graphs.from_edges(
        [(0, 2), (1, 3), (1, 4)],
        node_names=names,
        edge_labels=[f"{IRI}name", f"{IRI}name", f"{IRI}age"],
    )
    assert node_texts(graph) == [
        "Ada Lovelace",
        "p2",
        "“Ada Lovelace”",
        "empty text",
        "“5”",
        "plain",
    ]
    text = draw_attribution(graph, [1.5, *[0] * 5], [0] * 3, node=0)
    assert f"Ada Lovelace ({IRI}p1): +1.50" in titles(text)
    assert "Ada Lovelace" in [name.text for name in parts(text, "text", "name")]
    assert "someone" in draw_attribution(graph, None, None, names=["someone", *names[1:]])


def test_of_a_large_graph_the_strongest_part_is_drawn_and_said_so():
    chain = Graphs.from_edges([(node, node + 1) for node in range(499)])
    scores = np.zeros(500)
    scores[[3, 7]] = 1.0, -2.0
    text = draw_attribution(chain, scores, None, node=5, largest=8)
    drawn = [
        int(re.search(r"node (\d+)", title)[1])
        for title in titles(text)
        if re.match(r"node \d+:", title)
    ]
    assert set(range(3, 8)) <= set(drawn)
    assert len(drawn) == 8
    assert (
        "8 of 500 nodes: those that contribute most, and what joins them to the ringed node" in text
    )
    assert len(parts(text, "circle", "explained")) == 1
    assert "contribute most" not in draw_attribution(star(7), np.ones(8), None, largest=8)


def test_parts_without_a_way_come_last():
    graph = Graphs.from_edges([(0, 1), (2, 3)], num_nodes=5)
    strength = np.array([1.0, 0.5, 3.0, 0.0, 2.0])
    assert strongest_part(graph, strength, 0, 3) == [0, 1, 2]
    assert strongest_part(graph, strength, None, 3) == [2, 3, 4]
    assert strongest_part(graph, strength, None, 5) == [0, 1, 2, 3, 4]


@given(graphs(min_graphs=1, max_graphs=1))
def test_any_graph_is_drawn_as_well_formed_xml(graph):
    scores = np.linspace(-1, 1, graph.num_nodes), np.linspace(1, -1, graph.num_edges)
    text = draw_attribution(graph, *scores)
    assert len(parts(text, "circle", "node")) == graph.num_nodes
    assert text == draw_attribution(graph, *scores)


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "\"'><img src=x onerror=a()>",
        "{x} %s &amp;",
        "\x00\x1b\ud800",
        "ü日本" * 200,
    ],
)
def test_hostile_texts_are_only_texts(hostile):
    graph = Graphs.from_edges(
        [(0, 1)], node_labels=[hostile, "b"], edge_labels=[hostile], node_names=[hostile, "n"]
    )
    text = draw_attribution(graph, [1, 2], [3], node=0, title=hostile)
    assert not re.search(r"<script|<img|href|<style|\sid=|url\(", text)
    names = {element.tag for element in ET.fromstring(text).iter()}
    assert names <= {
        f"{SVG}{name}" for name in ("svg", "title", "desc", "rect", "g", "path", "circle", "text")
    }
    shown = [element.text for element in ET.fromstring(text).iter(f"{SVG}text")]
    assert max(map(len, shown)) < 80


def test_empty_graphs_and_single_nodes_are_pictures_too():
    assert ET.fromstring(draw_attribution(Graphs.from_edges([], num_nodes=0), [], [])) is not None
    assert (
        len(parts(draw_attribution(Graphs.from_edges([], num_nodes=1), [1], []), "circle", "node"))
        == 1
    )


def test_mistakes_are_named():
    with pytest.raises(GraphError, match="one graph, not 2"):
        draw_attribution(Graphs.concat([GRAPH, GRAPH]), None, None)
    with pytest.raises(GraphError, match="node 9 is to be ringed, but the graph has 4 nodes"):
        draw_attribution(GRAPH, None, None, node=9)
    with pytest.raises(GraphError, match="edge_score has the shape"):
        draw_attribution(GRAPH, None, [1])
    with pytest.raises(GraphError, match="2 names were given for 4 nodes"):
        draw_attribution(GRAPH, None, None, names=["a", "b"])
    with pytest.raises(GraphError, match="largest=0"):
        draw_attribution(GRAPH, None, None, largest=0)


def test_two_hundred_leaves_stay_apart():
    text = draw_attribution(star(199), np.arange(200.0), None)
    places = np.array(
        [(float(dot.get("cx")), float(dot.get("cy"))) for dot in parts(text, "circle", "node")]
    )
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)[~np.eye(200, dtype=bool)]
    assert apart.min() > 1
