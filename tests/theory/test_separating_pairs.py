"""Separating pairs: the drawn ones, and the smallest there are."""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product

import pytest

from edgnn.errors import GraphError
from edgnn.theory import pairs, sketch, smallest_pairs
from edgnn.theory._search import Family
from edgnn.wl import compare, isomorphic


@pytest.mark.parametrize(
    ("pair", "seen_by"),
    [
        (pairs.directed_triangles, {"joint"}),
        (pairs.labeled_squares, {"joint"}),
        (pairs.swapped_loops, {"joint"}),
        (pairs.hexagon_and_triangles, set()),
        (pairs.directed_cycles, {"node", "separate"}),
    ],
)
def test_pair_is_seen_by_these_refinements_only(pair, seen_by):
    first, second = pair()
    assert {
        scheme
        for scheme in ("node", "separate", "joint")
        if compare(first, second, scheme=scheme).distinguished
    } == seen_by
    assert not isomorphic(first, second)


def test_joint_is_the_stronger_one_once_neighbors_are_counted_per_edge():
    first, second = pairs.directed_cycles()
    assert not compare(first, second, scheme="separate", multiplicity="per-edge").distinguished


def test_reversed_triangle_is_the_smallest_pair_with_three_node_labels():
    found = smallest_pairs("separate", "joint", node_labels=3, edge_labels=1)
    assert (found.nodes, found.edges, found.count, found.complete) == (3, 3, 2, True)
    ((first, second),) = found.pairs
    triangle, reverse = pairs.directed_triangles()
    named = {
        isomorphic(first.renamed(edge_labels={1: None}), graph) for graph in (triangle, reverse)
    }
    assert named == {True, False}
    assert isomorphic(first.reverse(), second)
    assert "A0→B1, B1→C2, C2→A0" in str(found)


@pytest.mark.parametrize(
    ("weak", "strong", "options", "size"),
    [
        ("separate", "joint", {"node_labels": 2, "edge_labels": 1, "max_nodes": 4}, (4, 4)),
        ("separate", "joint", {"node_labels": 1, "edge_labels": 1, "max_nodes": 4}, (4, 5)),
        ("separate", "joint", {"node_labels": 2, "edge_labels": 2, "self_loops": True}, (2, 4)),
        (
            "separate",
            "joint",
            {"node_labels": 3, "edge_labels": 1, "multiplicity": "per-edge"},
            (3, 3),
        ),
        ("node", "separate", {"node_labels": 1, "edge_labels": 2}, (2, 1)),
        ("joint", "separate", {"node_labels": 1, "edge_labels": 1, "max_nodes": 4}, (4, 4)),
        ("joint", "isomorphism", {"node_labels": 1, "edge_labels": 1, "max_nodes": 4}, (4, 4)),
        ("joint", "isomorphism", {"node_labels": 1, "edge_labels": 1, "self_loops": True}, (2, 2)),
        ("joint", "isomorphism", {"node_labels": 1, "edge_labels": 2, "parallel": True}, (3, 6)),
    ],
)
def test_smallest_pairs_have_these_sizes(weak, strong, options, size):
    found = smallest_pairs(weak, strong, **options)
    assert (found.nodes, found.edges) == size
    multiplicity = options.get("multiplicity", "once")
    for first, second in found.pairs:
        assert (first.num_nodes, first.num_edges) == (second.num_nodes, second.num_edges) == size
        assert not compare(first, second, scheme=weak, multiplicity=multiplicity).distinguished
        assert not isomorphic(first, second)
        if strong != "isomorphism":
            assert compare(first, second, scheme=strong, multiplicity=multiplicity).distinguished


def test_smallest_pair_that_joint_misses_is_the_drawn_one():
    found = smallest_pairs("joint", "isomorphism", node_labels=1, edge_labels=1, max_nodes=4)
    plain = [
        graph.renamed(node_labels={"A": None}, edge_labels={1: None}) for graph in found.pairs[0]
    ]
    drawn = pairs.directed_cycles()
    assert all(any(isomorphic(one, other) for other in drawn) for one in plain)


def test_nothing_is_found_where_separate_and_joint_agree():
    found = smallest_pairs("separate", "joint", max_nodes=2, node_labels=2, edge_labels=2)
    assert found.pairs == ()
    assert (found.nodes, found.edges, found.complete) == (None, None, True)
    assert str(found).startswith("no graphs that 'separate' merges")


def test_search_that_is_cut_short_says_so():
    found = smallest_pairs("separate", "joint", max_graphs=50)
    assert not found.complete
    assert "cut short" in str(found)


@pytest.mark.parametrize(
    "options", [{"max_nodes": 0}, {"node_labels": 0}, {"edge_labels": 0}, {"limit": 0}]
)
def test_sizes_below_one_are_refused(options):
    with pytest.raises(GraphError, match="=0: choose 1 or more"):
        smallest_pairs(**options)


def test_families_too_large_to_number_are_refused():
    with pytest.raises(GraphError, match="too many graphs"):
        smallest_pairs(
            "joint",
            "isomorphism",
            max_nodes=9,
            node_labels=1,
            edge_labels=1,
            limit=1,
            max_graphs=20,
        )


@pytest.mark.parametrize(
    ("nodes", "self_loops", "parallel"), [(2, True, True), (3, False, False), (3, True, False)]
)
def test_enumeration_has_every_graph_once_up_to_isomorphism(nodes, self_loops, parallel):
    labels = (0,) * (nodes - 1) + (1,)
    family = Family(nodes, 2, 1 if nodes == 3 else 2, self_loops, parallel)
    states = len(family.states)
    orders = [
        order
        for order in permutations(range(nodes))
        if all(labels[order[node]] == labels[node] for node in range(nodes))
    ]
    kinds = Counter()
    for filling in product(range(states), repeat=len(family.slots)):
        held = dict(zip(family.slots, filling, strict=True))
        images = [tuple(held[order[u], order[v]] for u, v in family.slots) for order in orders]
        if min(images) == filling:
            kinds[sum(len(family.states[state]) for state in filling)] += 1
    counts = [
        len(family.up_to_isomorphism(family.placements(edges), labels))
        for edges in range(family.most_edges + 1)
    ]
    assert counts == [kinds[edges] for edges in range(family.most_edges + 1)]
    assert [len(family.placements(edges)) for edges in range(4)] == [
        family.count(edges) for edges in range(4)
    ]


def test_sketch_names_edges_labels_and_lonely_nodes():
    first, _ = pairs.swapped_loops()
    assert sketch(first) == "A0–1→A0, B1–1→B1, A0–2→B1, B1–2→A0"
    assert sketch(pairs.directed_cycles()[0].induced([0, 2])) == "·0, ·1"
