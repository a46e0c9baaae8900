"""Node positions: distances on paper as close as possible to distances in the graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgnn.graphs import Graphs

_Array = np.ndarray[Any, Any]
_ITERATIONS = 200


def layout(graph: Graphs) -> _Array:
    """Place the nodes of one graph in the plane, neighbors about one unit apart; the same graph gets the same picture.

    Stress majorization on shortest-path distances, started from their principal directions; components are laid side by side.

    Shapes
    ------
    → (N, 2)
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components, shortest_path

    size = graph.num_nodes
    ends = (graph.edge_source.cpu().numpy(), graph.edge_target.cpu().numpy())
    matrix = coo_array((np.ones(graph.num_edges), ends), shape=(size, size)).tocsr()
    count, component = connected_components(matrix, directed=False)
    place, shift = np.zeros((size, 2)), 0.0
    for number in range(count):
        members = np.flatnonzero(component == number)
        part = _majorized(shortest_path(matrix[members][:, members], directed=False, unweighted=True))
        part -= part.min(axis=0)
        place[members] = part + np.array([shift, 0.0])
        shift += part[:, 0].max() + 1.5
    return place


def _majorized(distance: _Array) -> _Array:
    size = len(distance)
    if size == 1:
        return np.zeros((1, 2))
    place = _principal(distance)
    weight = 1 / np.where(distance > 0, distance, np.inf) ** 2
    inverse = np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight)
    for _ in range(_ITERATIONS):
        apart = np.linalg.norm(place[:, None] - place[None], axis=2)
        pull = -weight * distance / np.where(apart > 1e-9, apart, np.inf)
        np.fill_diagonal(pull, 0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        place = inverse @ (pull @ place)
    return _upright(place)


def _principal(distance: _Array) -> _Array:
    """Return the plane picture of classical scaling; a small spiral keeps nodes at equal distances apart."""
    size = len(distance)
    centering = np.eye(size) - 1 / size
    values, vectors = np.linalg.eigh(-centering @ distance**2 @ centering / 2)
    angle = 2.4 * np.arange(size)
    spiral = np.stack([np.cos(angle), np.sin(angle)], 1) * (0.05 + 0.1 * np.arange(size)[:, None] / size)
    place: _Array = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0)) + spiral
    return place


def _upright(place: _Array) -> _Array:
    """Turn the picture so that it is widest from left to right."""
    centered = place - place.mean(axis=0)
    _, _, axes = np.linalg.svd(centered, full_matrices=False)
    turned: _Array = centered @ axes.T
    return turned
