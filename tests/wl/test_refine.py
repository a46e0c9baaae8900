from __future__ import annotations

import itertools
import time
from dataclasses import fields

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import edgnn.wl._refine as refinement
from edgnn import Graphs, wl
from edgnn.errors import EdgnnError, GraphError
from edgnn.wl._neighborhood import Neighborhood
from edgnn.wl._prove import prove_round
from strategies import graphs as random_graphs
from wl_reference import reference, same_partition

SCHEMES = ("node", "separate", "joint")
DIRECTIONS = ("both", "in")


def every_small_digraph():
    """All digraphs of up to three nodes, two node labels, two edge labels, loops up to two nodes; as one collection."""
    sizes, edges, node_labels, edge_labels, start = [], [], [], [], 0
    for size in (1, 2, 3):
        pairs = [(a, b) for a in range(size) for b in range(size) if a != b or size < 3]
        for labels in itertools.product((0, 1), repeat=size):
            for choice in itertools.product((None, 0, 1), repeat=len(pairs)):
                for (a, b), label in zip(pairs, choice, strict=True):
                    if label is not None:
                        edges.append((start + a, start + b))
                        edge_labels.append(label)
                sizes.append(size)
                node_labels += labels
                start += size
    return Graphs.from_edges(
        torch.tensor(edges), sizes=sizes, node_labels=node_labels, edge_labels=edge_labels
    )


@pytest.mark.parametrize("scheme", SCHEMES)
def test_all_small_digraphs_agree_with_the_reference(scheme):
    graphs = every_small_digraph()
    assert len(graphs) > 6000
    coloring = wl.refine(graphs, 3, scheme, exact=True)
    for round, colors in enumerate(reference(graphs, 3, scheme)):
        assert same_partition(coloring.at(round).tolist(), colors)


@pytest.mark.parametrize("direction", DIRECTIONS)
@given(
    random_graphs(features=False),
    st.sampled_from(SCHEMES),
    st.sampled_from(["once", "per-edge"]),
    st.booleans(),
)
def test_random_graphs_agree_with_the_reference_in_every_round(
    direction, graphs, scheme, multiplicity, exact
):
    coloring = wl.refine(
        graphs, None, scheme, multiplicity=multiplicity, direction=direction, exact=exact
    )
    expected = reference(graphs, coloring.rounds + 1, scheme, multiplicity, direction)
    for round in range(coloring.rounds + 1):
        assert same_partition(coloring.at(round).tolist(), expected[round])
        assert coloring.num_colors(round) == len(set(expected[round]))
    assert same_partition(expected[-1], expected[-2])


@pytest.mark.parametrize("tiny", [0, 4, 10**9])
@pytest.mark.parametrize("share", [0.001, 10**9])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_way_to_do_a_round_gives_the_same_colors(tiny, share, scheme, direction, monkeypatch):
    """Whole-graph rounds, rounds around the changed nodes, and rounds in plain Python."""
    monkeypatch.setattr(refinement, "TINY", tiny)
    monkeypatch.setattr(refinement, "_FULL_RATIO", share)
    generator = torch.Generator().manual_seed(1)
    paths = [(node, node + 1) for node in range(59)]
    noise = torch.randint(60, (12, 2), generator=generator).tolist()
    edges = torch.tensor(paths + [(60 + a, 60 + b) for a, b in paths + noise])
    labels = torch.randint(2, (len(edges),), generator=generator)
    graphs = Graphs.from_edges(edges, sizes=[60, 60], edge_labels=labels)
    coloring = wl.refine(graphs, None, scheme, direction=direction)
    assert coloring.rounds > 1
    for round, colors in enumerate(reference(graphs, coloring.rounds, scheme, direction=direction)):
        assert same_partition(coloring.at(round).tolist(), colors)


@given(random_graphs(features=False), st.sampled_from(SCHEMES), st.randoms(use_true_random=False))
def test_renumbering_nodes_changes_nothing(graphs, scheme, random):
    order = list(range(graphs.num_nodes))
    random.shuffle(order)
    place = torch.tensor(order, dtype=torch.int64)
    labels = [None] * graphs.num_nodes
    for node, label in enumerate(graphs.node_labels):
        labels[order[node]] = label
    edges = torch.stack([place[graphs.edge_source], place[graphs.edge_target]], 1)
    moved = Graphs.from_edges(
        edges, num_nodes=graphs.num_nodes, node_labels=labels, edge_labels=graphs.edge_labels
    )
    before, after = wl.refine(graphs, scheme=scheme), wl.refine(moved, scheme=scheme)
    assert before.rounds == after.rounds
    for round in range(before.rounds + 1):
        assert same_partition(before.at(round).tolist(), after.at(round)[place].tolist())


@given(random_graphs(features=False), st.integers(0, 6), st.sampled_from(SCHEMES))
def test_a_fixed_number_of_rounds_is_a_prefix_of_all_rounds(graphs, rounds, scheme):
    some, every = wl.refine(graphs, rounds, scheme), wl.refine(graphs, None, scheme)
    assert some.rounds == rounds
    for round in range(rounds + 1):
        assert torch.equal(some.at(round), every.at(min(round, every.rounds)))


def test_round_zero_is_the_label_number():
    graphs = Graphs.from_edges([(0, 1)], node_labels=["b", "a", "b"])
    assert wl.refine(graphs).at(0).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    "graphs",
    [
        Graphs.from_edges([], num_nodes=0),
        Graphs.from_edges([], num_nodes=3),
        Graphs.concat([]),
        Graphs.from_edges([(0, 0), (0, 0)], edge_labels=[1, 1]),
        Graphs.from_edges([(0, 1), (0, 1), (0, 1)], edge_labels=[1, 1, 2]),
    ],
    ids=["no nodes", "no edges", "no graphs", "loops", "parallel"],
)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_degenerate_graphs(graphs, scheme):
    coloring = wl.refine(graphs, scheme=scheme, exact=True)
    expected = reference(graphs, coloring.rounds, scheme)
    assert same_partition(coloring.colors.tolist(), expected[-1])


def test_a_node_does_not_see_the_edges_that_leave_it_where_only_entering_ones_count():
    path = Graphs.from_edges([(0, 1), (1, 2)], node_labels=["x", "a", "a"])
    coloring = wl.refine(path, 1, "joint", direction="in")
    assert coloring.meaning(int(coloring.colors[2])).text == "a[in: · from a]"
    assert wl.refine(path, 2, "node", direction="in").colors.unique().numel() == 3
    fork = Graphs.from_edges([(0, 1), (0, 2), (3, 4)])
    assert wl.refine(fork, scheme="joint", direction="in").num_colors() == 2
    assert [entry.distinct for entry in wl.power(fork.nodes, scheme="joint", direction="in")] == [
        1,
        2,
    ]
    assert wl.refine(fork, scheme="joint").num_colors() == 4
    assert "scheme='joint', direction='in')" in repr(
        wl.refine(fork, scheme="joint", direction="in")
    )
    verdict = wl.compare(path, path.reverse(), "node", direction="in")
    assert str(verdict).startswith("distinguished by 'node' along entering edges at round 1:")
    assert verdict.to_dict()["direction"] == "in"


def test_parallel_edges_count_for_joint_and_separate_but_not_for_node():
    graphs = Graphs.from_edges([(0, 1), (2, 3), (2, 3)], num_nodes=4)
    colors = {scheme: wl.refine(graphs, 1, scheme).colors.tolist() for scheme in SCHEMES}
    assert colors["node"][0] == colors["node"][2]
    assert colors["separate"][0] != colors["separate"][2]
    assert colors["joint"][0] != colors["joint"][2]
    per_edge = wl.refine(graphs, 1, "node", multiplicity="per-edge").colors.tolist()
    assert per_edge[0] != per_edge[2]


def test_a_huge_star_has_two_colors_at_once():
    size = 200_000
    edges = torch.stack([torch.zeros(size, dtype=torch.int64), torch.arange(1, size + 1)], 1)
    coloring = wl.refine(Graphs.from_edges(edges), exact=True)
    assert (coloring.rounds, coloring.num_colors()) == (1, 2)


def test_a_long_path_takes_time_in_proportion_to_its_length():
    seconds = {}
    for size in (5_000, 50_000):
        edges = torch.stack([torch.arange(size - 1), torch.arange(1, size)], 1)
        graphs = Graphs.from_edges(edges)
        start = time.process_time()
        coloring = wl.refine(graphs, scheme="node")
        seconds[size] = time.process_time() - start
        assert coloring.rounds == size // 2 - 1
        assert coloring.num_colors() == size // 2
        assert sum(len(nodes) for nodes, _ in coloring.history.each()) < 2 * size
    assert seconds[50_000] < 60 * seconds[5_000]


def test_a_disjoint_union_may_need_more_rounds_than_either_part_has_nodes():
    """Refined together, a path and the path that is one longer go on until the longer one's middle is known."""
    short, long = ([(node, node + 1) for node in range(size - 1)] for size in (8, 9))
    graphs = Graphs.from_edges(short + [(8 + a, 8 + b) for a, b in long], sizes=[8, 9])
    assert wl.refine(graphs, scheme="node").rounds >= 4


def test_exact_mode_finds_another_seed_when_hashes_collide(monkeypatch):
    """With every hash zero under the first seed, only the proof can tell that a round merged too much."""
    real = refinement.mix
    monkeypatch.setattr(
        refinement, "mix", lambda values, seed=0: real(values, seed) * (0 if seed < 16 else 1)
    )
    path = Graphs.from_edges([(0, 1), (1, 2), (2, 3)], node_labels=list("abab"))
    coloring = wl.refine(path, exact=True, scheme="joint")
    for round, colors in enumerate(reference(path, coloring.rounds, "joint")):
        assert same_partition(coloring.at(round).tolist(), colors)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_exact_mode_does_not_take_hidden_splits_for_stability(scheme, monkeypatch):
    monkeypatch.setattr(refinement, "mix", lambda values, seed=0: values * 0)
    path = Graphs.from_edges([(0, 1), (1, 2), (2, 3), (3, 4)])
    with pytest.raises(EdgnnError, match="collided under 5 seeds"):
        wl.refine(path, scheme=scheme, exact=True)


@pytest.mark.parametrize("blind", [0, 8])
def test_a_change_that_one_of_the_two_hashes_does_not_see_is_not_lost(blind, monkeypatch):
    real = refinement.mix
    monkeypatch.setattr(
        refinement,
        "mix",
        lambda values, seed=0: values * 0 + 3 if seed == blind else real(values, seed),
    )
    monkeypatch.setattr(refinement, "TINY", 0)
    monkeypatch.setattr(refinement, "_FULL_RATIO", 0.001)
    path = Graphs.from_edges([(node, node + 1) for node in range(20)])
    coloring = wl.refine(path, scheme="node")
    assert (coloring.rounds, coloring.num_colors()) == (10, 11)
    for round, colors in enumerate(reference(path, coloring.rounds, "node")):
        assert same_partition(coloring.at(round).tolist(), colors)


def test_features_are_refused_unless_ignored():
    graphs = Graphs.from_edges([(0, 1)], node_features=[[1.0], [2.0]])
    with pytest.raises(GraphError, match="Discretizer"):
        wl.refine(graphs)
    assert wl.refine(graphs, features="ignore").num_colors() == 2
    labeled = wl.Discretizer(2).fit_transform(graphs)
    assert labeled.node_features is None
    assert labeled.node_labels == [(None, 0), (None, 1)]


def test_wrong_arguments_name_the_choices():
    graphs = Graphs.from_edges([(0, 1)])
    with pytest.raises(GraphError, match="'joint'"):
        wl.refine(graphs, scheme="wrong")
    with pytest.raises(GraphError, match="rounds=-1"):
        wl.refine(graphs, -1)
    with pytest.raises(GraphError, match="per-edge"):
        wl.refine(graphs, multiplicity="twice")
    with pytest.raises(GraphError, match="choose 'both' or 'in'"):
        wl.refine(graphs, direction="out")
    with pytest.raises(IndexError, match="rounds 0 to 2"):
        wl.refine(graphs, 2).at(3)


@pytest.mark.parametrize("direction", DIRECTIONS)
@given(
    random_graphs(features=False),
    random_graphs(features=False),
    st.sampled_from(SCHEMES),
    st.booleans(),
)
def test_extended_colors_are_those_of_a_joint_refinement(direction, old, new, scheme, exact):
    coloring = wl.refine(old, 3, scheme, direction=direction, exact=exact)
    extended = coloring.extend(new)
    together = wl.refine(Graphs.concat([_plain(old), _plain(new)]), 3, scheme, direction=direction)
    for round in range(4):
        separate = torch.cat([coloring.at(round), extended.at(round)])
        assert same_partition(separate.tolist(), together.at(round).tolist())


def _plain(graphs):
    return Graphs.from_edges(
        torch.stack([graphs.edge_source, graphs.edge_target], 1),
        sizes=graphs.sizes,
        node_labels=graphs.node_labels,
        edge_labels=graphs.edge_labels,
    )


def test_an_extended_coloring_is_not_extended_again():
    coloring = wl.refine(Graphs.from_edges([(0, 1)]), 2)
    with pytest.raises(GraphError, match="extend the original"):
        coloring.extend([Graphs.from_edges([(0, 1)])]).extend(Graphs.from_edges([(0, 1)]))


def test_networkx_undirected_hashes_induce_the_same_partition_as_node_refinement():
    graph = nx.gnm_random_graph(60, 90, seed=3)
    nx.set_node_attributes(graph, {node: str(node % 2) for node in graph}, "label")
    from edgnn import from_networkx

    colors = wl.refine(from_networkx(graph), 3, "node").colors.tolist()
    hashes = nx.weisfeiler_lehman_subgraph_hashes(
        graph, node_attr="label", iterations=3, include_initial_labels=True
    )
    assert same_partition(colors, [hashes[node][-1] for node in graph])


@pytest.mark.gpu
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_cuda_gives_the_same_partition(scheme, direction):
    generator = torch.Generator().manual_seed(0)
    paths = torch.stack([torch.arange(999), torch.arange(1, 1000)], 1)
    edges = torch.cat([torch.randint(5000, (15_000, 2), generator=generator) + 1000, paths])
    labels = torch.randint(3, (len(edges),), generator=generator)
    graphs = Graphs.from_edges(edges, num_nodes=6000, edge_labels=labels)
    cpu = wl.refine(graphs, scheme=scheme, direction=direction)
    cuda = wl.refine(graphs.to("cuda"), scheme=scheme, direction=direction, exact=True)
    assert cpu.rounds == cuda.rounds
    for round in range(0, cpu.rounds + 1, max(cpu.rounds // 7, 1)):
        assert same_partition(cpu.at(round).tolist(), cuda.at(round).tolist())


def test_a_coloring_tells_how_it_came_about():
    path = Graphs.from_edges([(0, 1), (1, 2)])
    stable, asked = wl.refine(path, scheme="joint"), wl.refine(path, 1)
    assert (stable.until_stable, asked.until_stable) == (True, False)
    assert (
        repr(stable)
        == "Coloring(3 colors of 3 nodes after 1 rounds (until stable), scheme='joint')"
    )
    assert (
        repr(asked) == "Coloring(3 colors of 3 nodes after 1 rounds (as asked), scheme='separate')"
    )
    extended = wl.refine(path, 2, "node", multiplicity="per-edge", direction="in").extend(path)
    told = (
        extended.scheme,
        extended.multiplicity,
        extended.direction,
        extended.rounds,
        extended.until_stable,
    )
    assert told == ("node", "per-edge", "in", 2, False)


@pytest.mark.parametrize("tiny", [0, 10**9])
def test_no_round_is_done_that_was_not_asked_for(tiny, monkeypatch):
    monkeypatch.setattr(refinement, "TINY", tiny)
    path = Graphs.from_edges([(node, node + 1) for node in range(40)])
    coloring = wl.refine(path, 5)
    assert coloring.history.rounds == 5
    assert same_partition(coloring.colors.tolist(), reference(path, 5, "separate")[-1])


KINDS = pytest.mark.parametrize("kind", ["arrays", "tensors"])  # the CPU's and a device's
STAR = Graphs.from_edges([(0, 1), (0, 2), (3, 4), (3, 5)], edge_labels="xxxy", node_labels="aaaaaa")


def proved(graphs, scheme, before, after, kind, first=True, multiplicity="once"):
    around = Neighborhood.of(graphs, scheme, multiplicity)
    colors = [torch.tensor(before), torch.tensor(after)]
    if kind == "arrays":
        return prove_round(around, *(color.numpy() for color in colors), first)
    parts = {field.name: getattr(around, field.name) for field in fields(around)}
    tensors = {
        name: torch.from_numpy(part) if hasattr(part, "dtype") else part
        for name, part in parts.items()
    }
    return prove_round(Neighborhood(**tensors), *colors, first)


@KINDS
@pytest.mark.parametrize("scheme", ["node", "separate", "joint"])
def test_every_round_of_a_refinement_is_proved(scheme, kind):
    path, chords = [(node, node + 1) for node in range(59)], [(3, 17), (22, 40), (41, 58), (9, 9)]
    graphs = Graphs.from_edges(path + chords, edge_labels=["x"] * 40 + ["y"] * 23)
    coloring = wl.refine(graphs, scheme=scheme)
    assert coloring.rounds > 2
    for round in range(1, coloring.rounds + 1):
        before, after = coloring.at(round - 1).tolist(), coloring.at(round).tolist()
        assert proved(graphs, scheme, before, after, kind, first=round == 1)
        assert not proved(graphs, scheme, before, before, kind, first=round == 1)


@KINDS
def test_colors_that_were_different_before_may_not_be_merged(kind):
    pair = Graphs.from_edges([], num_nodes=2)
    assert proved(pair, "node", [0, 0], [5, 5], kind)
    assert proved(pair, "node", [0, 1], [5, 6], kind)
    assert not proved(pair, "node", [0, 1], [5, 5], kind)


@KINDS
def test_a_color_of_nodes_with_more_and_with_fewer_neighbors_is_refuted(kind):
    path = Graphs.from_edges([(0, 1), (1, 2)])
    assert proved(path, "node", [0, 0, 0], [1, 0, 1], kind)
    assert not proved(path, "node", [0, 0, 0], [0, 0, 1], kind)


@KINDS
def test_a_color_of_nodes_with_other_neighbors_is_refuted(kind):
    paths = Graphs.from_edges([(0, 1), (2, 3)])
    assert proved(paths, "node", [0, 1, 0, 1], [0, 1, 0, 1], kind)
    assert not proved(paths, "node", [0, 1, 0, 2], [0, 1, 0, 2], kind)


@KINDS
def test_the_order_in_which_neighbors_are_listed_does_not_matter(kind):
    stars = Graphs.from_edges([(6, 0), (6, 1), (6, 2), (7, 3), (7, 4), (7, 5)])
    assert proved(stars, "joint", [1, 2, 3, 3, 1, 2, 0, 0], [1, 2, 3, 3, 1, 2, 0, 0], kind)
    assert not proved(stars, "joint", [1, 2, 3, 3, 1, 1, 0, 0], [1, 2, 3, 3, 1, 1, 0, 0], kind)


@KINDS
@pytest.mark.parametrize(("labels", "same"), [("xyyx", True), ("xyxx", False), ("xxyy", False)])
def test_joint_compares_label_and_neighbor_of_each_edge(labels, same, kind):
    graphs = Graphs.from_edges([(0, 2), (0, 3), (1, 2), (1, 3)], edge_labels=labels)
    leaves = [1, 1] if same else [1, 2]
    assert proved(graphs, "joint", [0, 0, 1, 1], [0, 0, *leaves], kind) == same
    assert not proved(graphs, "joint", [0, 0, 1, 2], [0, 0, 1, 2], kind)


@KINDS
def test_joint_tells_an_edge_from_its_reverse(kind):
    pair = Graphs.from_edges([(0, 1)])
    assert proved(pair, "node", [0, 0], [0, 0], kind)
    assert not proved(pair, "joint", [0, 0], [0, 0], kind)


@KINDS
def test_label_counts_are_looked_at_in_the_first_round_only(kind):
    merged = [1, 0, 0, 1, 0, 0]
    assert not proved(STAR, "separate", [0] * 6, merged, kind, first=True)
    assert proved(STAR, "separate", [0] * 6, merged, kind, first=False)
    assert proved(STAR, "node", [0] * 6, merged, kind, first=True)
    assert proved(STAR, "separate", [0] * 6, [1, 0, 0, 3, 0, 2], kind, first=True)


@KINDS
def test_nothing_is_proved_of_no_nodes(kind):
    assert proved(Graphs.from_edges([], num_nodes=0), "separate", [], [], kind)


def test_exact_comparisons_and_classes_are_proved(monkeypatch):
    monkeypatch.setattr(refinement, "mix", lambda values, seed=0: values * 0)
    path, star = (
        Graphs.from_edges([(0, 1), (1, 2), (2, 3)]),
        Graphs.from_edges([(0, 1), (0, 2), (0, 3)]),
    )
    assert not wl.compare(path, star, "node").distinguished
    assert wl.classes([path, star], scheme="node").tolist() == [0, 0]
    for call in (
        lambda: wl.compare(path, star, "node", exact=True),
        lambda: wl.classes([path, star], scheme="node", exact=True),
    ):
        with pytest.raises(EdgnnError, match="collided"):
            call()


def test_an_exact_extension_refuses_colors_that_label_counts_refute(monkeypatch):
    known, new = (
        Graphs.from_edges([(0, 1), (1, 0)], edge_labels=labels) for labels in ("xx", "yy")
    )
    coloring = wl.refine(known, 1, exact=True)
    assert set(coloring.extend(new).at(1).tolist()).isdisjoint(coloring.at(1).tolist())
    monkeypatch.setattr(Neighborhood, "fixed_sum", lambda self, seed: 0)
    assert wl.refine(known, 1).extend(new).at(1).tolist() == coloring.at(1).tolist()
    with pytest.raises(EdgnnError, match="one hash in round 1"):
        wl.refine(known, 1, exact=True).extend(new)
