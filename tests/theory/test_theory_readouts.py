"""The corollary: with explicit weights, sum readouts agree exactly when the refinement does not tell two graphs apart."""

from __future__ import annotations

from itertools import combinations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgnn.graphs import Graphs
from edgnn.theory import pairs, readouts, wl_weights
from edgnn.wl import compare, refine
from strategies import graphs as random_graphs

SMALL = st.sampled_from([None, st.integers(0, 1)])
several = random_graphs(
    min_graphs=2, max_graphs=4, max_nodes=4, max_edges=6, labels=SMALL, features=False, names=False
)


@given(several, st.sampled_from(["node", "separate", "joint"]), st.sampled_from(["sign", "relu"]))
def test_readouts_agree_exactly_when_compare_does_not_distinguish(graphs, scheme, activation):
    found = readouts(wl_weights(graphs, scheme=scheme, activation=activation), graphs)
    sums = [found.at(round) for round in range(found.rounds + 1)]
    number = found.classes().tolist()
    for first, second in combinations(range(len(graphs)), 2):
        agree = all(torch.equal(rows[first], rows[second]) for rows in sums)
        assert agree == (not compare(graphs[first], graphs[second], scheme=scheme).distinguished)
        assert agree == (number[first] == number[second])


@given(several, st.sampled_from(["sign", "relu"]))
def test_color_counts_can_be_read_off_the_readout(graphs, activation):
    weights = wl_weights(graphs, 2, activation=activation)
    found, coloring = readouts(weights, graphs), refine(graphs, 2)
    for round in range(1, 3):
        counts = found.color_counts(round)
        wanted = [
            sorted(
                torch.unique(coloring.at(round)[graphs.graph_of_node == graph], return_counts=True)[
                    1
                ].tolist()
            )
            for graph in range(len(graphs))
        ]
        assert [sorted(count for count in row if count) for row in counts.tolist()] == wanted
        scalars = [
            weights.layers[round - 1].scalars.tolist().index(value)
            for value in found.embeddings.scalar(round).tolist()
        ]
        for node, position in enumerate(scalars):
            assert counts[graphs.graph_of_node[node], position] > 0


@pytest.mark.parametrize(
    ("pair", "scheme", "agree"),
    [
        (pairs.directed_triangles, "separate", True),
        (pairs.directed_triangles, "joint", False),
        (pairs.labeled_squares, "separate", True),
        (pairs.labeled_squares, "joint", False),
        (pairs.hexagon_and_triangles, "joint", True),
        (pairs.directed_cycles, "separate", False),
    ],
)
def test_readouts_of_the_separating_pairs(pair, scheme, agree):
    both = Graphs.concat(pair())
    first, second = readouts(wl_weights(both, scheme=scheme), both).classes().tolist()
    assert (first == second) == agree
