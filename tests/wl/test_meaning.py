import pytest

from edgnn import Graphs, wl
from edgnn.errors import GraphError

PATH = Graphs.from_edges(
    [(0, 1), (1, 2), (2, 3)], node_labels=["a", "b", "b", "a"], edge_labels=["x", "y", "x"]
)


@pytest.mark.parametrize(
    ("scheme", "text"),
    [
        ("node", "b[near: a[near: b], b[near: a, b]]"),
        ("separate", "b[near: a[near: b; out: x], b[near: a, b; in: y; out: x]; in: x; out: y]"),
        ("joint", "b[in: x from a[out: x to b]; out: y to b[in: y from b; out: x to a]]"),
    ],
)
def test_a_color_unfolds_into_labels(scheme, text):
    coloring = wl.refine(PATH, 2, scheme)
    meaning = coloring.meaning(int(coloring.colors[1]))
    assert meaning.text == text
    assert meaning.complete


def test_a_long_unfolding_is_cut_at_whole_levels():
    coloring = wl.refine(PATH, 2, "node")
    meaning = coloring.meaning(int(coloring.colors[1]), size=20)
    assert meaning.text == "b[near: a…, b…]"
    assert not meaning.complete
    assert meaning.tree["neighbors"][0] == {"count": 1, "node": {"label": "a", "cut": True}}


def test_an_unfolding_of_just_the_size_is_whole_and_one_step_is_always_shown():
    coloring = wl.refine(PATH, 2, "node")
    color, text = int(coloring.colors[1]), "b[near: a[near: b], b[near: a, b]]"
    assert coloring.meaning(color, size=len(text)).text == text
    assert coloring.meaning(color, size=len(text) - 1).text == "b[near: a…, b…]"
    assert coloring.meaning(color, size=1).text == "b[near: a…, b…]"


def test_edges_are_listed_by_direction_then_label_then_neighbor():
    edges, kinds = [(1, 0), (2, 0), (3, 0), (0, 4), (0, 5), (0, 5)], ["y", "x", "y", "w", "v", "v"]
    coloring = wl.refine(
        Graphs.from_edges(edges, node_labels="abcadb", edge_labels=kinds), 1, "joint"
    )
    meaning = coloring.meaning(int(coloring.colors[0]))
    assert meaning.text == "a[in: x from c, y from a, y from b; out: 2× v to b, w to d]"
    assert [
        (entry["direction"], entry["edge"], entry["count"]) for entry in meaning.tree["neighbors"]
    ] == [("in", "x", 1), ("in", "y", 1), ("in", "y", 1), ("out", "v", 2), ("out", "w", 1)]


def test_round_zero_is_the_label_itself():
    assert str(wl.refine(PATH).meaning(0, 0)) == "a"


def test_an_isolated_unlabeled_node_is_alone():
    coloring = wl.refine(Graphs.from_edges([(0, 1)], num_nodes=3), 1)
    assert coloring.meaning(int(coloring.colors[2])).text == "·[alone]"


def test_a_color_that_nobody_has_is_an_error():
    with pytest.raises(GraphError, match="no node has the color 99 after round 1"):
        wl.refine(PATH, 1).meaning(99)


def test_all_nodes_of_a_color_read_the_same_and_others_differ():
    coloring = wl.refine(PATH, 3, "joint")
    texts = {
        color: coloring.meaning(color, 3, size=10_000).text
        for color in set(coloring.at(3).tolist())
    }
    assert len(set(texts.values())) == len(texts)


def test_kinds_of_neighbors_that_are_cut_alike_are_counted_together():
    """Three leaves of three colors: beside one, two and three other nodes."""
    edges = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 5), (2, 6), (3, 7), (3, 8), (3, 9)]
    coloring = wl.refine(Graphs.from_edges(edges, node_labels=["a"] * 10), 2, "node")
    color = int(coloring.colors[0])
    whole = coloring.meaning(color).text
    assert whole == "a[near: a[near: 2× a], a[near: 3× a], a[near: 4× a]]"
    assert coloring.meaning(color, size=20).text == "a[near: 3× a…]"
