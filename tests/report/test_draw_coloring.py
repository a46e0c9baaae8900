import xml.etree.ElementTree as ET

import numpy as np
import pytest

from edgnn import Graphs, wl
from edgnn._words import short_iri
from edgnn.errors import GraphError
from edgnn.report.draw import coloring_page, draw_coloring, layout

SVG = "{http://www.w3.org/2000/svg}"
GRAPHS = Graphs.from_edges(
    [(0, 1), (1, 0), (1, 2), (2, 2), (3, 4), (3, 4)],
    sizes=[3, 2],
    node_labels=["<a>", "b", "b", "b", "b"],
    edge_labels=["x", "x", "y&z", "y&z", "x", "x"],
)


def test_one_panel_per_round_with_every_node_and_edge():
    coloring = wl.refine(GRAPHS)
    root = ET.fromstring(draw_coloring(coloring))
    nodes = list(root.iter(f"{SVG}circle"))
    assert len(nodes) == 3 * (coloring.rounds + 1)
    edges = [element for element in root.iter(f"{SVG}path") if element.get("class") == "edge"]
    assert len(edges) == 3 * (coloring.rounds + 1)
    arrows = [element for element in edges if element.get("marker-end")]
    assert len(arrows) == 2 * (coloring.rounds + 1)
    titles = [
        element.text for element in root.iter(f"{SVG}text") if element.get("class") == "title"
    ]
    assert titles[0] == "round 0: 2 colors"


def test_nodes_of_one_color_share_a_fill():
    root = ET.fromstring(draw_coloring(wl.refine(GRAPHS, 0)))
    fills = [element.get("fill") for element in root.iter(f"{SVG}circle")]
    assert fills[1] == fills[2] != fills[0]


def test_the_page_is_self_contained_and_escapes_labels():
    page = coloring_page(wl.refine(GRAPHS))
    assert "&lt;a&gt;" in page
    assert "<a>" not in page
    assert "http" not in page.replace("http://www.w3.org", "")


def test_large_graphs_are_refused():
    with pytest.raises(GraphError, match="201 nodes"):
        draw_coloring(wl.refine(Graphs.from_edges([], num_nodes=201)))


def test_neighbors_lie_about_one_unit_apart_and_nodes_do_not_overlap():
    ring = Graphs.from_edges([(node, (node + 1) % 6) for node in range(6)])
    place = layout(ring)
    sides = np.linalg.norm(place - np.roll(place, 1, axis=0), axis=1)
    assert sides == pytest.approx(np.ones(6), abs=0.25)
    many = layout(Graphs.from_edges([(0, leaf) for leaf in range(1, 9)], num_nodes=12))
    apart = np.linalg.norm(many[:, None] - many[None], axis=2)[~np.eye(12, dtype=bool)]
    assert apart.min() > 0.4
    assert np.array_equal(
        many, layout(Graphs.from_edges([(0, leaf) for leaf in range(1, 9)], num_nodes=12))
    )


def test_graphs_without_nodes_can_be_drawn():
    ET.fromstring(draw_coloring(wl.refine(Graphs.from_edges([], num_nodes=0))))


def test_iris_are_shortened_to_what_tells_them_apart():
    assert short_iri("http://example.org/a#knows") == "knows"
    assert (
        short_iri("·[near: ·; in: http://x.y/worksFor, 2× http://x.y/b/]")
        == "·[near: ·; in: worksFor, 2× b]"
    )
    assert short_iri("<http://x.y/a/> and urn+x://b#c") == "a and c"
    for unchanged in ("http://", "a://#/", "http://x.y/a>b", "C[near: 2× C]", "Ünter://x", ""):
        assert short_iri(unchanged) == unchanged


@pytest.mark.parametrize(
    "text",
    [
        "x" * 300_000,
        "a://" + "x" * 300_000 + ">y",
        "a://" + "/" * 300_000 + ">y",
        "a:" * 150_000 + "//",
    ],
)
def test_iris_are_shortened_in_time_that_grows_with_the_text_alone(text):
    assert short_iri(text) == text


def test_nodes_without_labels_show_their_names():
    graph = Graphs.from_edges([(0, 1)], node_names=["http://x.y/alice", "bob"])
    texts = [
        element.text
        for element in ET.fromstring(draw_coloring(wl.refine(graph))).iter(f"{SVG}text")
    ]
    assert {"alice", "bob"} <= set(texts)


@pytest.mark.parametrize("leaves", [9, 22, 60])
def test_many_neighbors_stand_in_a_circle_around_their_node(leaves):
    place = layout(Graphs.from_edges([(0, leaf) for leaf in range(1, leaves + 1)]))
    away = np.linalg.norm(place[1:] - place[0], axis=1)
    assert away.max() < 1.25 * away.min()
    between = np.linalg.norm(place[1:, None] - place[None, 1:], axis=2)
    assert between[~np.eye(leaves, dtype=bool)].min() > 0.5
