"""Theorem 2.1: equal colors give equal embeddings, and a network that sees more is caught."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgnn.errors import GraphError
from edgnn.graphs import Graphs, Structure
from edgnn.theory import check_upper_bound, pairs
from edgnn.theory._exact import LIMIT, PRIME, Dense, Surroundings, activate
from strategies import graphs as random_graphs

SCHEMES = ("node", "separate", "joint")
SMALL = st.sampled_from([None, st.integers(0, 1)])
labeled = random_graphs(labels=SMALL, features=False, names=False)


@given(
    labeled,
    st.sampled_from(SCHEMES),
    st.sampled_from(["cube", "relu", "sign", "clip"]),
    st.integers(0, 99),
)
def test_equal_colors_have_equal_embeddings(graphs, scheme, activation, seed):
    report = check_upper_bound(
        graphs, 3, scheme, hidden=4, draws=2, seed=seed, activation=activation
    )
    assert report.holds
    assert [entry.round for entry in report.rounds] == [0, 1, 2, 3]
    assert all(entry.embeddings <= entry.colors for entry in report.rounds)
    assert report.largest < LIMIT


@given(labeled, st.sampled_from(["once", "per-edge"]))
def test_neighbors_counted_per_edge_hold_as_well(graphs, multiplicity):
    assert check_upper_bound(graphs, 2, "separate", multiplicity=multiplicity, draws=2).holds


def test_joint_network_tells_apart_what_separate_colors_do_not():
    both = Graphs.concat(pairs.directed_triangles())
    report = check_upper_bound(both, 2, "joint", against="separate")
    assert not report.holds
    assert report.rounds[0].violations == 0
    assert report.rounds[1].violations > 0
    draw, first, second = report.rounds[1].example
    assert 0 <= draw < 5
    assert both.node_labels[first] == both.node_labels[second]
    assert f"nodes {first} and {second} in draw {draw}" in str(report)


def test_label_counts_are_caught_against_node_colors():
    graph = Graphs.from_edges([(0, 1), (2, 3)], edge_labels=["single", "double"])
    assert not check_upper_bound(graph, 1, "separate", against="node").holds
    assert check_upper_bound(graph, 1, "separate").holds


def test_default_network_reaches_all_colors_of_a_path():
    path = Graphs.from_edges([(node, node + 1) for node in range(9)])
    report = check_upper_bound(path, 5)
    assert [entry.embeddings for entry in report.rounds] == [
        entry.colors for entry in report.rounds
    ]


def test_growing_sums_are_refused_before_they_round():
    clique = Graphs.from_edges([(u, v) for u in range(8) for v in range(8) if u != v])
    with pytest.raises(GraphError, match=r"float64 is exact only below 2\^53"):
        check_upper_bound(clique, 30, activation="relu")
    assert check_upper_bound(clique, 30, activation="cube").holds


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": -1}, "rounds=-1"),
        ({"hidden": 0}, "hidden=0"),
        ({"draws": 0}, "draws=0"),
        ({"activation": "tanh"}, "activation='tanh'"),
        ({"scheme": "both"}, "scheme='both'"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(GraphError, match=message):
        check_upper_bound(Graphs.from_edges([(0, 1)]), **options)


def test_report_is_plain_data():
    report = check_upper_bound(Graphs.from_edges([(0, 1)]), 1)
    assert json.loads(json.dumps(asdict(report)))["draws"] == 5


@given(labeled, st.sampled_from(["once", "per-edge"]), st.integers(0, 99))
def test_layer_is_equation_4_in_plain_matrices(graphs, multiplicity, seed):
    around = Surroundings.of(graphs, "separate", multiplicity)
    nodes, labels = graphs.num_nodes, len(graphs.edge_vocabulary)
    generator = torch.Generator().manual_seed(seed)
    H, W1, W2, W3, W4 = (
        torch.randint(-5, 6, shape, generator=generator).double()
        for shape in ((nodes, 3), (3, 2), (3, 2), (labels, 2), (labels, 2))
    )
    A, C_in, C_out = (
        torch.zeros(nodes, nodes).double(),
        torch.zeros(nodes, labels).double(),
        torch.zeros(nodes, labels).double(),
    )
    for source, target, label in zip(
        *(part.tolist() for part in (graphs.edge_source, graphs.edge_target, graphs.edge_label)),
        strict=True,
    ):
        A[source, target] += 1
        A[target, source] += 1
        C_in[target, label] += 1
        C_out[source, label] += 1
    A = A.clamp(max=1) if multiplicity == "once" else A
    sums, _ = around.layer(H, Dense(W1, W2, W3, W4))
    assert torch.equal(sums, H @ W1 + A @ H @ W2 + C_in @ W3 + C_out @ W4)


def test_sparse_label_counts_give_the_same_sums():
    few = Graphs.from_edges([(0, 1), (0, 1), (1, 2)], num_nodes=40, edge_labels=["a", "a", "b"])
    assert not isinstance(Structure.of(few).C_in, torch.Tensor)
    around = Surroundings.of(few, "separate")
    weight = torch.tensor([10.0, 1.0]).double()
    nothing = torch.zeros(40).double()
    sums = around.add_up(nothing, [nothing], weight, 100 * weight)
    assert sums[:3].tolist() == [2000.0, 120.0, 1.0]


def test_cube_takes_every_remainder_once():
    cubes = activate(torch.arange(-PRIME, PRIME).double(), "cube")
    assert torch.equal(cubes[:PRIME], cubes[PRIME:])
    assert torch.equal(cubes[PRIME:].sort().values, torch.arange(PRIME).double())
