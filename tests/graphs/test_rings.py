from __future__ import annotations

from collections import Counter

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import edgnn
from edgnn.errors import GraphError, UnknownLabelError
from edgnn.graphs import UNKNOWN, Graphs
from strategies import graphs as random_graphs


def cycle(*nodes: int) -> list[tuple[int, int]]:
    return list(zip(nodes, (*nodes[1:], nodes[0]), strict=True))


def rings(
    edges: list[tuple[int, int]], limit: int = 8, **options: int
) -> tuple[list[int], list[int]]:
    return sizes_of(Graphs.from_edges(edges, **options), limit)


def sizes_of(graphs: Graphs, limit: int = 8) -> tuple[list[int], list[int]]:
    ringed = graphs.with_ring_sizes(limit)
    nodes, edges = ringed.node_labels, ringed.edge_labels
    return [size for _, size in nodes], [size for _, size in edges]


def by_networkx(graphs: Graphs, limit: int) -> tuple[list[int], list[int]]:
    ends = list(zip(graphs.edge_source.tolist(), graphs.edge_target.tolist(), strict=True))
    simple = nx.Graph((a, b) for a, b in ends if a != b)
    found = []
    for a, b in ends:
        rest = simple.copy()
        if a != b:
            rest.remove_edge(a, b)
        length = (
            nx.shortest_path_length(rest, a, b) + 1 if a != b and nx.has_path(rest, a, b) else 0
        )
        found.append(min(length, limit))
    at = [
        [ring for ring, pair in zip(found, ends, strict=True) if node in pair and ring]
        for node in range(graphs.num_nodes)
    ]
    return [min(sizes, default=0) for sizes in at], found


def test_every_bond_of_a_hexagon_is_in_a_ring_of_six():
    assert rings(cycle(*range(6))) == ([6] * 6, [6] * 6)


def test_the_bond_that_two_hexagons_share_is_in_a_ring_of_six():
    naphthalene = [*cycle(0, 1, 2, 3, 4, 5), (4, 6), (6, 7), (7, 8), (8, 9), (9, 5)]
    assert rings(naphthalene) == ([6] * 10, [6] * 11)


def test_a_ring_of_five_fused_to_one_of_six_gives_the_shared_bond_five():
    indene = [*cycle(0, 1, 2, 3, 4, 5), (4, 6), (6, 7), (7, 8), (8, 5)]
    nodes, edges = rings(indene)
    assert nodes == [6, 6, 6, 6, 5, 5, 5, 5, 5]
    assert edges == [6, 6, 6, 6, 5, 6, 5, 5, 5, 5]


def test_the_tail_of_a_triangle_is_in_no_ring():
    assert rings([*cycle(0, 1, 2), (2, 3), (3, 4)]) == ([3, 3, 3, 0, 0], [3, 3, 3, 0, 0])


def test_a_diagonal_cuts_a_square_into_triangles():
    assert rings(cycle(0, 1, 2, 3)) == ([4] * 4, [4] * 4)
    assert rings([*cycle(0, 1, 2, 3), (0, 2)]) == ([3] * 4, [3] * 5)


def test_a_bridge_between_two_rings_is_in_none_though_its_ends_are():
    assert rings([*cycle(0, 1, 2), (2, 3), *cycle(3, 4, 5, 6)]) == (
        [3, 3, 3, 4, 4, 4, 4],
        [3, 3, 3, 0, 4, 4, 4, 4],
    )


def test_a_tree_has_no_rings():
    assert rings([(0, 1), (0, 2), (2, 3), (2, 4), (4, 5)]) == ([0] * 6, [0] * 5)


@pytest.mark.parametrize("length", range(3, 12))
def test_longer_cycles_than_the_limit_are_all_alike(length):
    for limit in range(3, 12):
        size = min(length, limit)
        assert rings(cycle(*range(length)), limit) == ([size] * length, [size] * length)


def test_bonds_stored_both_ways_are_no_cycle_and_both_get_the_ring():
    there = [*cycle(0, 1, 2, 3), (3, 4)]
    both = there + [(b, a) for a, b in there]
    assert rings(both) == ([4, 4, 4, 4, 0], [4, 4, 4, 4, 0] * 2)


def test_parallel_edges_and_loops_are_no_rings():
    assert rings([(0, 1), (0, 1), (1, 0), (1, 1)]) == ([0, 0], [0] * 4)
    assert rings([*cycle(0, 1, 2), (0, 0), (0, 1)]) == ([3] * 3, [3, 3, 3, 0, 3])


def test_directions_do_not_matter():
    assert rings([(0, 1), (2, 1), (2, 3), (0, 3)]) == ([4] * 4, [4] * 4)


@pytest.mark.parametrize("nodes", [0, 3])
def test_graphs_without_edges_have_no_rings(nodes):
    assert rings([], num_nodes=nodes) == ([0] * nodes, [])
    assert len(Graphs.from_edges([], num_nodes=nodes).with_ring_sizes().node_label) == nodes


@given(random_graphs(max_nodes=9, max_edges=16, features=False, names=False), st.integers(3, 9))
def test_sizes_are_those_of_a_search_edge_by_edge(graphs, limit):
    assert sizes_of(graphs, limit) == by_networkx(graphs, limit)


@given(st.integers(0, 10**6), st.integers(3, 9))
def test_roots_searched_one_by_one_find_the_same(seed, limit):
    rng = np.random.default_rng(seed)
    graphs = Graphs.from_edges(rng.integers(0, 20, (30, 2)), num_nodes=20)
    with pytest.MonkeyPatch.context() as patch:
        together = sizes_of(graphs, limit)
        patch.setattr("edgnn.graphs._rings._STEPS_AT_ONCE", 1)
        alone = sizes_of(graphs, limit)
    assert together == alone == by_networkx(graphs, limit)


def test_labels_become_pairs_in_order_of_first_appearance():
    graphs = Graphs.from_edges(
        [(3, 0), *cycle(0, 1, 2)],
        node_labels=["C", "N", "C", "C"],
        edge_labels=["-", "-", "=", "-"],
        node_names="abcd",
    )
    ringed = graphs.with_ring_sizes()
    assert ringed.node_labels == [("C", 3), ("N", 3), ("C", 3), ("C", 0)]
    assert list(ringed.node_vocabulary) == [("C", 3), ("N", 3), ("C", 0)]
    assert list(ringed.edge_vocabulary) == [("-", 0), ("-", 3), ("=", 3)]
    assert ringed.node_names.tolist() == list("abcd")
    assert graphs.node_labels == ["C", "N", "C", "C"]


def test_graphs_without_labels_get_the_ring_alone():
    assert Graphs.from_edges(cycle(0, 1, 2)).with_ring_sizes().node_labels == [(None, 3)] * 3


@given(random_graphs(max_nodes=6, max_edges=10))
def test_a_pair_keeps_the_label_and_adds_the_size(graphs):
    ringed = graphs.with_ring_sizes(5)
    nodes, edges = by_networkx(graphs, 5)
    assert ringed.node_labels == list(zip(graphs.node_labels, nodes, strict=True))
    assert ringed.edge_labels == list(zip(graphs.edge_labels, edges, strict=True))
    Graphs(**{name: getattr(ringed, name) for name in Graphs.__dataclass_fields__})


@given(random_graphs(min_graphs=2, max_graphs=4, max_nodes=6, max_edges=10, features=False))
def test_rings_of_a_graph_do_not_depend_on_the_others(graphs):
    ringed = graphs.with_ring_sizes()
    for position, graph in enumerate(graphs):
        alone = graph.with_ring_sizes()
        assert alone.node_labels == ringed[position].node_labels
        assert alone.edge_labels == ringed[position].edge_labels


def test_labels_are_numbered_as_others_on_demand():
    known = Graphs.from_edges(
        cycle(0, 1, 2), node_labels="CCC", edge_labels="---"
    ).with_ring_sizes()
    path = Graphs.from_edges([(0, 1)], node_labels="CC", edge_labels="-")
    with pytest.raises(UnknownLabelError, match=r"^node 0 has the label \('C', 0\)"):
        path.with_ring_sizes(like=known)
    joined = Graphs.from_edges(
        [*cycle(0, 1, 2), *cycle(3, 4, 5), (2, 3)], node_labels="CCCCCC", edge_labels="-------"
    )
    with pytest.raises(UnknownLabelError, match=r"^edge 6 has the label \('-', 0\)"):
        joined.with_ring_sizes(like=known)
    assert path.with_ring_sizes(like=known, unknown="map").node_labels == [UNKNOWN, UNKNOWN]


def test_the_reserved_unknown_label_stays_as_it_is_and_stays_last():
    known = Graphs.from_edges([(0, 1)], node_labels="CN", edge_labels="-")
    graphs = Graphs.from_edges(
        cycle(0, 1, 2), node_labels="XCY", edge_labels="-=-", like=known, unknown="map"
    )
    ringed = graphs.with_ring_sizes()
    assert ringed.node_labels == [UNKNOWN, ("C", 3), UNKNOWN]
    assert list(ringed.node_vocabulary) == [("C", 3), UNKNOWN]
    assert list(ringed.edge_vocabulary) == [("-", 3), UNKNOWN]


@pytest.mark.parametrize("limit", [2, 0, -1, 2.5, None])
def test_a_limit_that_allows_no_ring_is_refused(limit):
    with pytest.raises(GraphError, match="limit="):
        Graphs.from_edges(cycle(0, 1, 2)).with_ring_sizes(limit)


def test_mutag_has_rings_of_five_and_six_only():
    nodes, edges = sizes_of(edgnn.load_dataset("MUTAG").graphs)
    assert Counter(edges) == {0: 1984, 5: 680, 6: 4778}
    assert set(nodes) == {0, 5, 6}


def test_a_large_ring_and_a_large_star_take_no_more_than_their_size():
    size = 100_000
    ring = torch.stack([torch.arange(size), torch.arange(1, size + 1) % size], 1)
    assert set(sizes_of(Graphs.from_edges(ring))[1]) == {8}
    star = torch.stack([torch.zeros(size, dtype=torch.int64), torch.arange(size) + 1], 1)
    assert set(sizes_of(Graphs.from_edges(star))[1]) == {0}
