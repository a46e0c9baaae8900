from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from edgnn import load_dataset
from edgnn.graphs import Graphs
from edgnn.nn import Inputs
from edgnn.training import Member, Settings, Targets, train
from edgnn.wl import refine

LAYERS = 3


def random_graphs(count=200, nodes=5, seed=0):
    """Return random multigraphs with few labels, among which many nodes look alike."""
    random = np.random.default_rng(seed)
    edges = np.concatenate(
        [
            random.integers(0, nodes, (random.integers(2, 6), 2)) + nodes * number
            for number in range(count)
        ]
    )
    return Graphs.from_edges(
        edges,
        sizes=[nodes] * count,
        node_labels=random.integers(0, 2, count * nodes),
        edge_labels=random.integers(0, 2, len(edges)),
    )


def largest_spread(values, colors):
    """Return how far apart the values of nodes of one color are, relative to the size of values."""
    _, number = np.unique(np.asarray(colors), return_inverse=True)
    number = torch.from_numpy(number)[:, None].expand_as(values)
    shape = int(number.max()) + 1, values.shape[1]
    high, low = (
        values.new_zeros(shape).scatter_reduce(0, number, values, how, include_self=False)
        for how in ("amax", "amin")
    )
    return float(((high - low) / values.abs().max().clamp(min=1)).max())


def trained(kind, graphs, targets, conv):
    config = {
        "node_labels": len(graphs.node_vocabulary),
        "edge_labels": len(graphs.edge_vocabulary),
        "layers": LAYERS,
        "hidden": 16,
        "conv": conv,
        "batch_norm": True,
    }
    inputs = Inputs.of(graphs, relations=True)
    settings = Settings(max_epochs=5, learning_rate=0.01)
    return train(
        kind, config, inputs, Targets.classes(targets, 2), [Member(range(len(targets)))], settings
    ).model, inputs


@pytest.mark.parametrize(
    ("conv", "scheme"),
    [("edgnn", "separate"), ("joint", "joint"), ("rgcn", "joint"), ("gnn", "node")],
)
@pytest.mark.parametrize("source", ["MUTAG", "random"])
def test_equal_colors_have_equal_states_in_trained_models(conv, scheme, source):
    graphs = load_dataset("MUTAG").graphs if source == "MUTAG" else random_graphs()
    targets = np.asarray(graphs.node_label) % 2
    model, inputs = trained("node", graphs, targets, conv)
    with torch.no_grad():
        logits, states = model(inputs)[0], model.embed(inputs)[0]
    colors = refine(graphs, LAYERS, scheme).colors
    assert states.dtype == torch.float32
    assert len(np.unique(colors)) < 0.75 * graphs.num_nodes  # many nodes look alike
    assert largest_spread(states, colors) < 1e-5
    assert largest_spread(logits, colors) < 1e-5
    assert largest_spread(states, graphs.node_label) > 1e-2


@pytest.mark.parametrize(("conv", "scheme"), [("edgnn", "separate"), ("joint", "joint")])
def test_graphs_of_equal_color_counts_have_equal_outputs_in_trained_models(conv, scheme):
    data = load_dataset("MUTAG")
    model, inputs = trained("graph", data.graphs, np.asarray(data.targets), conv)
    colors = torch.as_tensor(np.asarray(refine(data.graphs, LAYERS, scheme).colors))
    offset = data.graphs.graph_offset.tolist()
    seen = {}
    alike = [
        seen.setdefault(tuple(sorted(colors[a:b].tolist())), number)
        for number, (a, b) in enumerate(pairwise(offset))
    ]
    assert len(set(alike)) < len(data.graphs)
    with torch.no_grad():
        assert largest_spread(model(inputs)[0], alike) < 1e-5


@pytest.mark.parametrize(("conv", "told_apart"), [("edgnn", False), ("joint", True)])
def test_the_reversed_triangle_is_told_apart_by_joint_alone(conv, told_apart):
    triangles = Graphs.from_edges(
        [(0, 1), (1, 2), (2, 0), (3, 5), (5, 4), (4, 3)], sizes=[3, 3], node_labels="ABCABC"
    )
    model, inputs = trained("graph", triangles, np.array([0, 1]), conv)
    with torch.no_grad():
        first, second = model(inputs)[0]
    assert torch.allclose(first, second, atol=1e-5) != told_apart
