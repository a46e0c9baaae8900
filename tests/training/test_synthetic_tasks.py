"""Tasks whose answer is carried by one thing alone: direction, edge labels, or both together with the neighbors' labels.

Graphs come in pairs that differ in that one thing. A model that cannot see it gives both the same answer and is right exactly
half of the time, however long it learns.
"""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
import torch

from edgnn.graphs import Graphs
from edgnn.nn import Inputs
from edgnn.training import Member, Settings, Targets, outputs, train

PAIRS, TRAIN = 120, 160


def surroundings(random, first):
    """Return a few unremarkable nodes from ``first`` on, edges among them, and one edge that ties them to node 0."""
    nodes = int(random.integers(3, 7))
    edges = [
        (first + int(a), first + int(b), "pq"[kind])
        for a, b, kind in random.integers(0, [nodes, nodes, 2], (2 * nodes, 3))
    ]
    tie = (0, first) if random.integers(2) else (first, 0)
    return ["o"] * nodes, [*edges, (*tie, "p")]


def by_direction(random):
    """A hub whose edges all leave, or all enter."""
    labels, edges = surroundings(random, 5)
    spokes = [[(0, leaf, "p") for leaf in range(1, 5)], [(leaf, 0, "p") for leaf in range(1, 5)]]
    return [(["hub", *"oooo", *labels], [*star, *edges]) for star in spokes]


def by_edge_label(random):
    """A hub whose edges all have one label, or all have the other; every edge runs both ways."""
    labels, edges = surroundings(random, 5)
    edges = [*edges, *[(b, a, kind) for a, b, kind in edges]]
    stars = [
        [(a, b, kind) for leaf in range(1, 5) for a, b in ((0, leaf), (leaf, 0))] for kind in "pq"
    ]
    return [(["hub", *"oooo", *labels], [*star, *edges]) for star in stars]


def by_turn(random):
    """A triangle A → B → C → A, or A → C → B → A: the neighbors and the counts at every node are the same."""
    labels, edges = surroundings(random, 3)
    turns = [[(0, 1, "p"), (1, 2, "p"), (2, 0, "p")], [(0, 2, "p"), (2, 1, "p"), (1, 0, "p")]]
    return [([*"ABC", *labels], [*turn, *edges]) for turn in turns]


def by_labeled_cycle(random):
    """A cycle X–A, X–B, Y–A, Y–B with labels p, q, q, p, or with q, p, p, q: again the same neighbors and counts."""
    labels, edges = surroundings(random, 4)
    cycles = [[(0, 2, k[0]), (0, 3, k[1]), (1, 2, k[1]), (1, 3, k[0])] for k in ("pq", "qp")]
    return [([*"XYAB", *labels], [*cycle, *edges]) for cycle in cycles]


def task(make):
    """Return graphs, pair after pair, with the answers 0, 1, 0, 1, …"""
    random = np.random.default_rng(0)
    made = list(chain.from_iterable(make(random) for _ in range(PAIRS)))
    starts = np.cumsum([0, *[len(labels) for labels, _ in made]])
    edges = [
        (a + start, b + start, kind)
        for (_, own), start in zip(made, starts, strict=False)
        for a, b, kind in own
    ]
    graphs = Graphs.from_edges(
        [(a, b) for a, b, _ in edges],
        sizes=[len(labels) for labels, _ in made],
        node_labels=[label for labels, _ in made for label in labels],
        edge_labels=[kind for *_, kind in edges],
    )
    return graphs, np.arange(2 * PAIRS) % 2


def accuracy(graphs, y, conv):
    """Return the share of right answers on graphs that were not trained on."""
    config = {
        "node_labels": len(graphs.node_vocabulary),
        "edge_labels": len(graphs.edge_vocabulary),
        "hidden": 16,
        "conv": conv,
    }
    inputs = Inputs.of(graphs, relations=conv == "joint")
    settings = Settings(max_epochs=25, batch_size=16, learning_rate=0.01)
    trained = train(
        "graph", config, inputs, Targets.classes(y, 2), [Member(range(TRAIN))], settings
    )
    answers = outputs(trained, inputs)[0].argmax(1).numpy()
    return (answers == y)[TRAIN:].mean()


def symmetrized(graphs):
    """Return the graphs with every edge turned around as well."""
    both = {
        "edge_source": (graphs.edge_source, graphs.edge_target),
        "edge_target": (graphs.edge_target, graphs.edge_source),
    }
    order = torch.argsort(torch.cat([graphs.edge_source, graphs.edge_target]), stable=True)
    doubled = {name: torch.cat(parts)[order] for name, parts in both.items()}
    return graphs._with(**doubled, edge_label=torch.cat([graphs.edge_label] * 2)[order])


@pytest.mark.parametrize("make", [by_direction, by_edge_label])
@pytest.mark.parametrize("conv", ["edgnn", "joint"])
def test_direction_and_edge_labels_are_seen(make, conv):
    assert accuracy(*task(make), conv) >= 0.95


@pytest.mark.parametrize("make", [by_turn, by_labeled_cycle])
def test_their_combination_is_seen_by_joint(make):
    assert accuracy(*task(make), "joint") >= 0.95


@pytest.mark.parametrize("make", [by_turn, by_labeled_cycle])
def test_their_combination_is_beyond_eq_4(make):
    assert accuracy(*task(make), "edgnn") == pytest.approx(0.5, abs=0.15)


@pytest.mark.parametrize("conv", ["gnn", "edgnn"])
def test_an_undirected_model_does_not_see_direction(conv):
    graphs, y = task(by_direction)
    assert accuracy(symmetrized(graphs), y, conv) == pytest.approx(0.5, abs=0.15)


@pytest.mark.parametrize("conv", ["gnn", "edgnn"])
def test_a_label_blind_model_does_not_see_edge_labels(conv):
    graphs, y = task(by_edge_label)
    assert accuracy(graphs.with_edge_labels(None), y, conv) == pytest.approx(0.5, abs=0.15)


@pytest.mark.parametrize("make", [by_direction, by_edge_label, by_turn, by_labeled_cycle])
def test_eq_3_sees_neither(make):
    assert accuracy(*task(make), "gnn") == pytest.approx(0.5, abs=0.15)
