from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import edgnn
from edgnn.errors import EstimatorError
from edgnn.models.kernels import _network
from edgnn.wl import refine
from strategies import graphs

SCHEMES = st.sampled_from(["node", "separate", "joint"])


def seen_from(collection, scheme):
    """Return for every node the (code, neighbor) entries a layer sums over, and its counts of labels."""
    entries = [[] for _ in range(collection.num_nodes)]
    labels = [Counter() for _ in entries]
    ends = zip(
        collection.edge_source.tolist(),
        collection.edge_target.tolist(),
        collection.edge_label.tolist(),
        strict=True,
    )
    for source, target, label in ends:
        entries[target].append((("in", label), source))
        entries[source].append((("out", label), target))
        labels[target]["in", label] += 1
        labels[source]["out", label] += 1
    if scheme == "joint":
        return entries, None
    return [
        [(0, node) for node in {node for _, node in row}] for row in entries
    ], labels if scheme == "separate" else None


def plain_products(collection, scheme, layers, scale):
    """Follow the recursion over all pairs of nodes, one by one."""
    entries, labels = seen_from(collection, scheme)
    nodes, label = range(collection.num_nodes), collection.node_label.tolist()
    owner, size = collection.graph_of_node.tolist(), len(collection)
    alike = [[float(label[u] == label[v]) for v in nodes] for u in nodes]
    total = np.zeros((size, size))

    def product(u, v):
        around = sum(alike[a][b] for i, a in entries[u] for j, b in entries[v] if i == j)
        counts = (
            0
            if labels is None
            else sum(times * labels[v][code] for code, times in labels[u].items())
        )
        return alike[u][v] + around + counts

    for layer in range(layers + 1):
        if layer:
            inner = [[product(u, v) for v in nodes] for u in nodes]
            alike = [
                [
                    math.exp(-scale * max(inner[u][u] + inner[v][v] - 2 * inner[u][v], 0))
                    for v in nodes
                ]
                for u in nodes
            ]
        for u in nodes:
            for v in nodes:
                total[owner[u], owner[v]] += alike[u][v]
    return total


@given(
    graphs(features=False, names=False),
    SCHEMES,
    st.integers(0, 3),
    st.sampled_from([0.05, 0.3, 1.0]),
)
def test_products_are_those_of_the_recursion_over_all_pairs_of_nodes(
    collection, scheme, layers, scale
):
    found = _network.readout_products(refine(collection, layers, scheme), layers, scale)
    assert found.shape == (len(collection), len(collection))
    assert_allclose(found, plain_products(collection, scheme, layers, scale), rtol=1e-9, atol=1e-9)


@given(graphs(features=False, names=False, min_graphs=1), SCHEMES)
def test_graphs_alone_get_the_products_they_have_among_others(collection, scheme):
    together = _network.readout_products(refine(collection, 2, scheme), 2, 0.3)
    assert_allclose(
        _network.readout_products(refine(collection[-1:], 2, scheme), 2, 0.3),
        together[-1:, -1:],
        rtol=1e-9,
    )


def test_more_rounds_than_layers_change_nothing():
    data = edgnn.load_dataset("MUTAG").graphs[:20]
    assert_allclose(
        _network.readout_products(refine(data, 5, "joint"), 2, 1.0),
        _network.readout_products(refine(data, 2, "joint"), 2, 1.0),
    )


def test_products_are_the_mean_over_wide_networks_of_random_weights():
    molecules = edgnn.Graphs.concat(
        [
            edgnn.Graphs.from_edges(
                [(0, 1), (1, 2), (2, 0)], node_labels=["C", "C", "N"], edge_labels=[1, 2, 1]
            ),
            edgnn.Graphs.from_edges(
                [(0, 1), (2, 1), (1, 3)], node_labels=["C", "N", "C", "C"], edge_labels=[1, 1, 2]
            ),
        ]
    )
    scale, width, rng = 0.2, 3072, np.random.default_rng(0)
    entries, counts = seen_from(molecules, "separate")
    codes = sorted({code for row in counts for code in row})
    labels = np.array([[row[code] for code in codes] for row in counts], dtype=np.float32)
    adjacency = np.zeros((7, 7), dtype=np.float32)
    for node, row in enumerate(entries):
        adjacency[node, [neighbor for _, neighbor in row]] = 1
    part = np.repeat(np.eye(2, dtype=np.float32), [3, 4], axis=1)

    def layer(state):
        z = np.concatenate([state, adjacency @ state, labels], axis=1)
        weight = rng.standard_normal((z.shape[1], width), dtype=np.float32)
        phase = rng.uniform(0, 2 * np.pi, width).astype(np.float32)
        return np.sqrt(2 / width) * np.cos(np.sqrt(2 * scale) * z @ weight + phase).astype(
            np.float32
        )

    def readout_product():
        states = [np.eye(2, dtype=np.float32)[molecules.node_label.numpy()]]
        for _ in range(2):
            states.append(layer(states[-1]))
        return sum((part @ state) @ (part @ state).T for state in states)

    sample = np.array([readout_product() for _ in range(6)])
    error = sample.std(axis=0, ddof=1) / np.sqrt(len(sample))
    exact = _network.readout_products(refine(molecules, 2, "separate"), 2, scale)
    assert (error < 0.01 * exact).all()
    assert (np.abs(sample.mean(axis=0) - exact) < 5 * error + 2e-3 * exact).all()
    other = _network.readout_products(refine(molecules, 2, "node"), 2, scale)
    assert (np.abs(sample.mean(axis=0) - other) > 5 * error + 2e-3 * other).any()


def test_more_colors_than_can_be_compared_are_refused_with_a_way_out(monkeypatch):
    coloring = refine(edgnn.load_dataset("MUTAG").graphs[:20], 2, "joint")
    monkeypatch.setattr(_network, "MOST_COLORS", coloring.num_colors(2) - 1)
    _network.readout_products(coloring, 1, 1.0)
    with pytest.raises(
        EstimatorError,
        match=rf"the nodes have {coloring.num_colors(2)} colors after 2 rounds.*parts=\('wl',\)",
    ):
        _network.readout_products(coloring, 2, 1.0)
