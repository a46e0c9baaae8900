from __future__ import annotations

import numpy as np
import torch

from benchmarks._scale_sampled import PlainSampler
from edgnn.graphs import Graphs, Structure
from edgnn.nn.ops import Sampler


def test_the_plain_sampler_draws_as_often_as_ours_does():
    wheel = Structure.of(Graphs.from_edges([(0, spoke) for spoke in range(1, 8)], num_nodes=8))
    plain, ours, times = PlainSampler(wheel), Sampler(wheel), 3000
    counts = np.zeros((2, 8))
    for key in range(times):
        (hop,) = plain.hops([0], [3])
        assert hop.factors == [7 / 3]
        counts[0, [hop.columns[place] for place in hop.lists[0]]] += 1
        drawn = ours.hop(torch.tensor([0]), 3, key)
        counts[1, drawn.nodes[drawn.neighbors.indices.long()].numpy()] += 1
    expected = times * 3 / 7
    assert (np.abs(counts[:, 1:] - expected) < 5 * np.sqrt(expected)).all()


def test_a_second_hop_starts_from_all_columns_of_the_first():
    path = Structure.of(Graphs.from_edges([(node, node + 1) for node in range(6)], num_nodes=7))
    first, second = PlainSampler(path).hops([3], [10, 10])
    assert sorted(first.columns) == [2, 3, 4]
    assert first.columns[0] == 3
    assert sorted(second.columns) == [1, 2, 3, 4, 5]
    assert [sorted(second.columns[place] for place in row) for row in second.lists] == [
        [2, 4],
        [1, 3],
        [3, 5],
    ]
