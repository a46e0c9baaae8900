"""Theorem 2.2: explicit weights under which embeddings are equal exactly when colors are."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgnn.errors import GraphError, UnknownLabelError
from edgnn.graphs import Graphs
from edgnn.theory import WLWeights, pairs, verify, wl_weights
from edgnn.wl import refine
from strategies import graphs as random_graphs

SCHEMES = ("node", "separate", "joint")
ACTIVATIONS = ("sign", "relu")
SMALL = st.sampled_from([None, st.integers(0, 2)])
labeled = random_graphs(max_nodes=6, max_edges=10, labels=SMALL, features=False, names=False)

PATH = Graphs.from_edges([(node, node + 1) for node in range(6)], edge_labels=[1, 1, 2, 1, 1, 2])


def slow_colors(graphs, rounds, scheme):
    """Refine with nested tuples as colors, straight from the definitions."""
    edges = list(
        zip(
            *(
                part.tolist()
                for part in (graphs.edge_source, graphs.edge_target, graphs.edge_label)
            ),
            strict=True,
        )
    )
    color = graphs.node_label.tolist()
    yield color
    for _ in range(rounds):
        new = []
        for v in range(graphs.num_nodes):
            if scheme == "joint":
                seen = [("in", z, color[a]) for a, b, z in edges if b == v] + [
                    ("out", z, color[b]) for a, b, z in edges if a == v
                ]
                new.append((color[v], tuple(sorted(seen))))
                continue
            neighbors = {a for a, b, _ in edges if b == v} | {b for a, b, _ in edges if a == v}
            counts = (
                Counter(z for _, b, z in edges if b == v),
                Counter(z for a, _, z in edges if a == v),
            )
            shown = (
                tuple(tuple(sorted(count.items())) for count in counts)
                if scheme == "separate"
                else ()
            )
            new.append((color[v], tuple(sorted(color[u] for u in neighbors)), shown))
        names = {value: number for number, value in enumerate(dict.fromkeys(new))}
        color = [names[value] for value in new]
        yield color


def same_partition(first, second):
    return len(set(zip(first, second, strict=True))) == len(set(first)) == len(set(second))


@given(labeled, st.sampled_from(SCHEMES), st.sampled_from(ACTIVATIONS), st.integers(0, 99))
def test_embeddings_are_equal_exactly_when_colors_are(graphs, scheme, activation, seed):
    weights = wl_weights(graphs, scheme=scheme, activation=activation, seed=seed)
    report = verify(weights, graphs, dense=True)
    assert report.holds, str(report)
    assert report.dense_agrees
    embeddings = weights.apply(graphs)
    for round, colors in enumerate(slow_colors(graphs, weights.rounds, scheme)):
        assert same_partition(embeddings.partition(round).tolist(), colors)


@given(labeled, st.sampled_from(ACTIVATIONS))
def test_rows_of_different_colors_are_linearly_independent(graphs, activation):
    weights = wl_weights(graphs, 2, activation=activation)
    embeddings = weights.apply(graphs)
    for round in range(3 if graphs.num_nodes else 0):
        rows = torch.unique(embeddings.at(round), dim=0)
        assert torch.linalg.matrix_rank(rows / rows.abs().max(dim=0).values.clamp(min=1)) == len(
            rows
        )


@given(labeled, st.sampled_from(["once", "per-edge"]))
def test_neighbors_counted_per_edge_work_as_well(graphs, multiplicity):
    weights = wl_weights(graphs, scheme="separate", multiplicity=multiplicity)
    assert verify(weights, graphs).holds


@given(labeled, labeled, st.sampled_from(SCHEMES), st.sampled_from(ACTIVATIONS))
def test_new_graphs_with_equal_colors_get_equal_embeddings(known, new, scheme, activation):
    weights = wl_weights(known, 2, scheme, activation=activation)
    try:
        embeddings = weights.apply(new)
    except UnknownLabelError:
        return
    report = verify(weights, new)
    assert not any(entry.split for entry in report.rounds)
    assert embeddings.rounds == 2


def test_widths_are_the_numbers_of_colors():
    coloring = refine(PATH)
    counts = [coloring.num_colors(round) for round in range(1, coloring.rounds + 1)]
    assert wl_weights(PATH).widths == (1, *counts)
    assert wl_weights(PATH, activation="relu").widths == (1, *(2 * count - 1 for count in counts))


def test_all_weights_are_integers():
    weights = wl_weights(PATH, 3)
    for layer in (1, 2, 3):
        dense = weights.dense(layer)
        for part in (dense.W1, dense.W2, dense.W3, dense.W4):
            assert torch.equal(part, part.round())
    assert set(weights.apply(PATH).at(3).unique().tolist()) == {-1.0, 1.0}


def test_one_matrix_times_a_number_per_kind_of_edge_is_enough_for_joint():
    both = Graphs.concat(pairs.labeled_squares())
    weights = wl_weights(both, scheme="joint")
    W2 = weights.dense(1).W2
    assert W2.shape == (4, 4, weights.widths[1])
    assert torch.linalg.matrix_rank(W2.flatten(1)) == 1
    assert verify(weights, both).holds


@pytest.mark.parametrize("scheme", SCHEMES)
def test_graphs_without_edges_and_without_nodes(scheme):
    lonely = Graphs.from_edges([], node_labels=["a", "b", "a"])
    nothing = lonely[:0]
    for graphs in (lonely, nothing, Graphs.concat([])):
        weights = wl_weights(graphs, 2, scheme)
        assert verify(weights, graphs, dense=True).holds
    assert wl_weights(lonely, 2, scheme).apply(lonely).partition(2).tolist() == [0, 1, 0]


def test_more_rounds_than_the_coloring_needs():
    weights = wl_weights(PATH, 9, activation="relu")
    assert weights.rounds == 9
    assert verify(weights, PATH).holds
    assert verify(weights, PATH, refine(PATH)).holds


def test_star_with_many_leaves_stays_exact():
    star = Graphs.from_edges(
        [(0, leaf) for leaf in range(1, 5001)], edge_labels=[leaf % 7 for leaf in range(5000)]
    )
    for activation in ACTIVATIONS:
        report = verify(wl_weights(star, activation=activation), star)
        assert report.holds
        assert report.largest < 2**53


def test_weights_are_the_same_for_the_same_seed():
    first, second = (wl_weights(PATH, 3, seed=5) for _ in range(2))
    other = wl_weights(PATH, 3, seed=6)
    assert all(
        torch.equal(a.w3, b.w3) and torch.equal(a.beta, b.beta)
        for a, b in zip(first.layers, second.layers, strict=True)
    )
    assert any(not torch.equal(a.w3, b.w3) for a, b in zip(first.layers, other.layers, strict=True))


def test_wrong_weight_is_caught_with_the_nodes_that_show_it():
    weights = wl_weights(PATH)
    broken = replace(
        weights,
        layers=(
            weights.layers[0],
            replace(weights.layers[1], w2=torch.zeros_like(weights.layers[1].w2)),
        ),
    )
    report = verify(broken, PATH)
    assert not report.holds
    assert report.rounds[1].examples == ()
    assert report.rounds[2].merged > 0
    first, second = report.rounds[2].examples[0]
    assert refine(PATH, 2).at(2)[first] != refine(PATH, 2).at(2)[second]
    assert "NOT exactly when" in str(report)


def test_embeddings_finer_than_the_colors_are_caught():
    report = verify(wl_weights(PATH, 2), PATH, refine(PATH, 2, "node"))
    assert not report.holds
    assert report.rounds[1].split > 0


def test_matrices_that_differ_from_the_factors_are_caught(monkeypatch):
    weights = wl_weights(PATH, 2)
    right = WLWeights.dense
    monkeypatch.setattr(
        WLWeights,
        "dense",
        lambda self, layer: replace(right(self, layer), W2=right(self, layer).W2 * 3),
    )
    report = verify(weights, PATH, dense=True)
    assert report.dense_agrees is False
    assert not report.holds


def test_numbers_beyond_float64_are_refused():
    weights = wl_weights(PATH, 2)
    huge = replace(
        weights,
        layers=(
            replace(weights.layers[0], w2=torch.full((1,), 2.0**52).double()),
            weights.layers[1],
        ),
    )
    with pytest.raises(GraphError, match=r"a sum in layer 1 reaches .* exact only below 2\^53"):
        huge.apply(PATH)


def test_labels_that_the_weights_do_not_know_are_named():
    weights = wl_weights(PATH, 1)
    with pytest.raises(UnknownLabelError, match="edge 0 has the label 9"):
        weights.apply(Graphs.from_edges([(0, 1)], edge_labels=[9]))


def test_labels_are_matched_by_value_not_by_number():
    weights = wl_weights(PATH)
    turned = Graphs.from_edges(
        [(6, 5), (5, 4), (4, 3), (3, 2), (2, 1), (1, 0)][::-1], edge_labels=[2, 1, 1, 2, 1, 1][::-1]
    )
    again = Graphs.from_edges(
        [(5, 6), (0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], edge_labels=[2, 1, 1, 2, 1, 1]
    )
    assert again.edge_vocabulary[0] == 2
    assert torch.equal(weights.apply(again).scalar(-1), weights.apply(PATH).scalar(-1))
    assert not torch.equal(weights.apply(turned).scalar(-1), weights.apply(PATH).scalar(-1))


def test_too_short_a_coloring_and_one_of_other_graphs_are_refused():
    weights = wl_weights(PATH, 3)
    with pytest.raises(GraphError, match="1 rounds, but the weights have 3 layers"):
        verify(weights, PATH, refine(PATH, 1))
    with pytest.raises(GraphError, match="of 2 nodes, but the graphs have 7"):
        verify(weights, PATH, refine(Graphs.from_edges([(0, 1)]), 3))


def test_other_activations_and_layers_out_of_range_are_refused():
    with pytest.raises(GraphError, match="activation='tanh': choose 'sign' or 'relu'"):
        wl_weights(PATH, activation="tanh")
    weights = wl_weights(PATH, 1)
    with pytest.raises(IndexError, match="layer 2"):
        weights.dense(2)
    with pytest.raises(IndexError, match="round 2"):
        weights.apply(PATH).at(2)


def test_weights_without_layers_say_how_to_get_some():
    stable = Graphs.from_edges([(0, 1), (1, 0)])
    weights = wl_weights(stable)
    assert weights.rounds == 0
    with pytest.raises(IndexError, match=r"no layers, for the colors are stable .* rounds=1"):
        weights.dense(1)
    assert wl_weights(stable, rounds=1).dense(1).W1.shape == (1, 1)
