import random

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgnn import Graphs, from_networkx, wl
from edgnn.errors import GraphError
from strategies import graphs as random_graphs


def settled_by_networkx(g, h):
    return nx.is_isomorphic(
        simple(g),
        simple(h),
        node_match=lambda a, b: a["label"] == b["label"],
        edge_match=lambda a, b: a["labels"] == b["labels"],
    )


def simple(graph):
    """One edge per ordered pair, with the sorted labels of all parallel ones."""
    result = nx.DiGraph()
    result.add_nodes_from(
        (node, {"label": str(label)}) for node, label in enumerate(graph.node_labels)
    )
    labels = {}
    for source, target, label in zip(
        graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_labels, strict=True
    ):
        labels.setdefault((source, target), []).append(str(label))
    result.add_edges_from((*ends, {"labels": sorted(values)}) for ends, values in labels.items())
    return result


def shuffled(graph, random):
    order = list(range(graph.num_nodes))
    random.shuffle(order)
    place = torch.tensor(order, dtype=torch.int64)
    labels = [None] * graph.num_nodes
    for node, label in enumerate(graph.node_labels):
        labels[order[node]] = label
    edges = torch.stack([place[graph.edge_source], place[graph.edge_target]], 1)
    mix = torch.tensor(random.sample(range(graph.num_edges), graph.num_edges), dtype=torch.int64)
    edge_labels = [graph.edge_labels[edge] for edge in mix.tolist()]
    return Graphs.from_edges(
        edges[mix], num_nodes=graph.num_nodes, node_labels=labels, edge_labels=edge_labels
    )


one_graph = random_graphs(
    min_graphs=1,
    max_graphs=1,
    max_nodes=7,
    max_edges=10,
    features=False,
    labels=st.just(st.sampled_from(["a", "b"])),
)


@given(one_graph, st.randoms(use_true_random=False))
def test_a_renumbered_copy_is_isomorphic_and_the_mapping_proves_it(graph, random):
    copy = shuffled(graph, random)
    mapping = wl.isomorphism(graph, copy)
    assert mapping is not None
    assert sorted(mapping.tolist()) == list(range(graph.num_nodes))
    assert [copy.node_labels[node] for node in mapping.tolist()] == graph.node_labels
    images = zip(
        mapping[graph.edge_source].tolist(),
        mapping[graph.edge_target].tolist(),
        graph.edge_labels,
        strict=True,
    )
    edges = zip(copy.edge_source.tolist(), copy.edge_target.tolist(), copy.edge_labels, strict=True)
    assert sorted(images) == sorted(edges)


@given(one_graph, one_graph)
def test_random_pairs_agree_with_networkx(g, h):
    assert wl.isomorphic(g, h) == settled_by_networkx(g, h)


@given(one_graph, st.data(), st.randoms(use_true_random=False))
def test_near_misses_agree_with_networkx(graph, data, random):
    copy = shuffled(graph, random)
    if copy.num_edges == 0:
        return
    edge = data.draw(st.integers(0, copy.num_edges - 1))
    node = data.draw(st.integers(0, copy.num_nodes - 1))
    target = copy.edge_target.clone()
    target[edge] = node
    near = Graphs.from_edges(
        torch.stack([copy.edge_source, target], 1),
        num_nodes=copy.num_nodes,
        node_labels=copy.node_labels,
        edge_labels=copy.edge_labels,
    )
    assert wl.isomorphic(graph, near) == settled_by_networkx(graph, near)


def rook_and_shrikhande():
    """The 4×4 rook's graph and the Shrikhande graph have the same parameters."""
    rook, shrikhande = nx.Graph(), nx.Graph()
    for i in range(4):
        for j in range(4):
            rook.add_edges_from(
                [((i, j), ((i + k) % 4, j)) for k in (1, 2)]
                + [((i, j), (i, (j + k) % 4)) for k in (1, 2)]
            )
            shrikhande.add_edges_from(
                [((i, j), ((i + a) % 4, (j + b) % 4)) for a, b in ((1, 0), (0, 1), (1, 1))]
            )
    return rook, shrikhande


def test_strongly_regular_graphs_that_refinement_cannot_tell_apart():
    g, h = map(from_networkx, rook_and_shrikhande())
    assert not wl.compare(g, h, "joint").distinguished
    assert not wl.isomorphic(g, h)
    assert wl.isomorphic(g, g)


def test_the_search_goes_back_from_partners_that_fail_only_later():
    rook, shrikhande = rook_and_shrikhande()
    both = []
    for parts in ((rook, shrikhande), (shrikhande, rook)):
        graph = nx.disjoint_union(*parts)
        graph.add_edges_from(("hub", node) for node in range(32))
        both.append(from_networkx(graph))
    g, h = both
    assert wl.refine(g).num_colors() == 2
    mapping = wl.isomorphism(g, h)
    assert mapping is not None
    assert sorted(mapping[:16].tolist()) == list(range(16, 32))


@pytest.mark.parametrize("seed", range(5))
def test_the_one_mapping_of_a_regular_graph_without_symmetry_is_found(seed):
    frucht = nx.frucht_graph()
    place = random.Random(seed).sample(range(12), 12)
    moved = nx.empty_graph(12)
    moved.add_edges_from((place[a], place[b]) for a, b in frucht.edges)
    g, h = from_networkx(frucht), from_networkx(moved)
    assert wl.refine(g).num_colors() == 1
    mapping = wl.isomorphism(g, h)
    assert mapping is not None
    assert mapping.tolist() == place


def test_many_equal_components_and_many_twins_are_fast():
    triangles = Graphs.from_edges(
        [(3 * k + a, 3 * k + b) for k in range(150) for a, b in ((0, 1), (1, 2), (2, 0))]
    )
    assert wl.isomorphic(triangles, triangles.reverse())
    star = Graphs.from_edges([(0, leaf) for leaf in range(1, 5000)])
    assert wl.isomorphic(star, star)
    assert not wl.isomorphic(star, star.reverse())


def test_empty_graphs_are_isomorphic():
    nothing = Graphs.from_edges([], num_nodes=0)
    assert wl.isomorphic(nothing, nothing)
    assert not wl.isomorphic(nothing, Graphs.from_edges([], num_nodes=1))


def test_collections_are_refused():
    one = Graphs.from_edges([(0, 1)])
    with pytest.raises(GraphError, match="the first holds 2"):
        wl.isomorphic(Graphs.concat([one, one]), one)
    with pytest.raises(GraphError, match="the second holds 0"):
        wl.isomorphic(one, one[:0])
