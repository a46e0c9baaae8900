"""What lies around nodes, within a few edges or on random walks, as weights of colors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from edgnn.graphs import Graphs
from edgnn.models.kernels._checks import Array
from edgnn.wl import Coloring

_STAY = 0.85  # chance that a walk goes on
_TIMES = 1e4  # walks, so that log(1 + visits) tells often from seldom
_TOGETHER = 256  # nodes whose walks are held at once


def reached(graphs: Graphs, nodes: Array, depth: int) -> list[csr_array]:
    """Return which nodes are within 1, 2, … ``depth`` edges of each node; itself too.

    Shapes
    ------
    → (n, N) each, zeros and ones
    """
    step = _edges(graphs)
    found, here = [], _starts(graphs, nodes)
    for _ in range(depth):
        here = here + here @ step
        here.data[:] = 1.0
        found.append(here)
    return found


def visited(graphs: Graphs, nodes: Array, length: int) -> csr_array:
    """Return at which nodes 10,000 random walks from each node end, in the mean.

    A walk takes any edge at its node, in either direction, and goes on with probability 0.85; those
    of more than ``length`` steps, and those that should go on from a node without edges, are left
    out.

    Shapes
    ------
    → (n, N)
    """
    from scipy.sparse import vstack

    edges = _edges(graphs)
    both = edges + edges.T
    degree = np.maximum(np.asarray(both.sum(axis=1)).ravel(), 1)
    step = csr_array(diags_array(1 / degree) @ both)
    blocks = []
    for start in range(0, len(nodes), _TOGETHER):
        here = _starts(graphs, nodes[start : start + _TOGETHER])
        ends, chance = here.copy(), 1.0
        for _ in range(length):
            here, chance = here @ step, chance * _STAY
            ends = ends + here * chance
        blocks.append(ends * ((1 - _STAY) * _TIMES))
    return csr_array(vstack(blocks)) if blocks else csr_array((0, graphs.num_nodes))


def colors_met(weights: csr_array, coloring: Coloring, rounds: Sequence[int]) -> list[csr_array]:
    """Return, for each round, the weight of each color: that of all nodes which have it.

    Shapes
    ------
    (n, N) → (n, colors) each
    """
    found = []
    for round in rounds:
        _, color = np.unique(coloring.at(round).cpu().numpy(), return_inverse=True)
        size = len(color), int(color.max(initial=-1)) + 1
        found.append(
            csr_array(
                weights
                @ csr_array((np.ones(len(color)), (np.arange(len(color)), color)), shape=size)
            )
        )
    return found


def _edges(graphs: Graphs) -> csr_array:
    """Return how many edges lead from each node to each."""
    ends: tuple[Any, Any] = (graphs.edge_source.cpu().numpy(), graphs.edge_target.cpu().numpy())
    return csr_array((np.ones(len(ends[0])), ends), shape=(graphs.num_nodes, graphs.num_nodes))


def _starts(graphs: Graphs, nodes: Array) -> csr_array:
    return csr_array(
        (np.ones(len(nodes)), (np.arange(len(nodes)), nodes)), shape=(len(nodes), graphs.num_nodes)
    )
