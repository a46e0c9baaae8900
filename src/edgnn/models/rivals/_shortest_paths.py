"""Shortest paths: distances of all pairs of nodes, and counts of (color, distance, color)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edgnn._hashing import mix
from edgnn.graphs import Graphs, from_keys, pack
from edgnn.models.kernels._checks import Array
from edgnn.models.rivals._part_counts import PartCounts, occurrences
from edgnn.wl import Coloring

_AT_ONCE = 2**22
_FIRST, _HOPS, _ROUND = 2000, 2100, 2200


def path_counts(coloring: Coloring) -> PartCounts:
    """Count, for every graph and round, the pairs of nodes by their colors and distance.

    Directions are ignored, as the refinement scheme ``node`` does; pairs without a path do not
    count.

    Returns
    -------
    PartCounts
        With ``group`` the round.
    """
    graphs = coloring.graphs
    colors = [coloring.at(round).cpu().numpy() for round in range(coloring.rounds + 1)]
    graph_of = graphs.graph_of_node.cpu().numpy()
    pieces = []
    for first, second, hops in hop_distances(graphs):
        for round, color in enumerate(colors):
            code = mix(mix(mix(color[first], _FIRST) + color[second], _HOPS) + hops, _ROUND + round)
            pieces.append(occurrences(graph_of[first], code, round))
    return PartCounts.collect(pieces, len(graphs))


def hop_distances(graphs: Graphs) -> Iterator[tuple[Array, Array, Array]]:
    """Yield (node, other node, distance) of all ordered pairs with a path.

    Every array holds all pairs of some nodes; their searches go on at once, one step of all of them
    at a time.
    """
    keys = pack(graphs.edge_source.cpu(), graphs.edge_target.cpu(), both=True)
    around = from_keys(keys, graphs.num_nodes, graphs.num_nodes, distinct=True)
    indptr, indices = around.indptr.numpy().astype(np.int64), around.indices.numpy()
    graph, offset = graphs.graph_of_node.cpu().numpy(), graphs.graph_offset.cpu().numpy()
    width = np.diff(offset)[graph]
    before = np.cumsum(width) - width
    for nodes in np.split(
        np.arange(graphs.num_nodes), np.flatnonzero(np.diff(before // _AT_ONCE)) + 1
    ):
        if len(nodes):
            yield _searched(
                nodes,
                before[nodes] - before[nodes[0]] - offset[graph[nodes]],
                int(width[nodes].sum()),
                indptr,
                indices,
            )


def _searched(
    nodes: Array, cell_of: Array, cells: int, indptr: Array, indices: Array
) -> tuple[Array, Array, Array]:
    """Search from every node; the cell of search i and node v is ``cell_of[i] + v``."""
    reached, stamp = np.zeros(cells, dtype=bool), np.zeros(cells, dtype=np.int64)
    search, at = np.arange(len(nodes)), nodes
    reached[cell_of + nodes] = True
    found: list[tuple[Array, Array, Array]] = []
    while len(at):
        degree = indptr[at + 1] - indptr[at]
        step = np.arange(degree.sum()) - np.repeat(np.cumsum(degree) - degree, degree)
        search, at = (
            np.repeat(search, degree),
            indices[np.repeat(indptr[at], degree) + step].astype(np.int64),
        )
        cell = cell_of[search] + at
        new = ~reached[cell]
        search, at, cell = search[new], at[new], cell[new]
        stamp[cell] = np.arange(len(cell))
        once = stamp[cell] == np.arange(len(cell))
        search, at = search[once], at[once]
        reached[cell] = True
        found.append((nodes[search], at, np.full(len(at), len(found) + 1)))
    first, second, hops = (np.concatenate(part) for part in zip(*found, strict=True))
    return first, second, hops
