"""Node positions: distances on paper as close as possible to distances in the graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgnn.graphs import Graphs

_Array = np.ndarray[Any, Any]
_ITERATIONS = 200
#: What each of many neighbors gets of the circle around their node.
_ROOM = 0.75


def layout(graph: Graphs) -> _Array:
    """Place the nodes of one graph in the plane, neighbors about one unit apart.

    The same graph gets the same picture: stress majorization on shortest-path distances, started
    from their principal directions; components are laid side by side. The edges of a node with
    many neighbors are longer, and hold to their length, so that its neighbors stand around it in a
    circle.

    Shapes
    ------
    → (N, 2)
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components, shortest_path

    size = graph.num_nodes
    ends = (graph.edge_source.cpu().numpy(), graph.edge_target.cpu().numpy())
    joined = coo_array(
        (np.ones(2 * graph.num_edges), (np.concatenate(ends), np.concatenate(ends[::-1]))),
        shape=(size, size),
    )
    matrix = (joined.tocsr() > 0).astype(np.float64)
    degree = np.diff(matrix.indptr)
    crowd = np.maximum(np.repeat(degree, degree), degree[matrix.indices])
    matrix.data = np.maximum(1.0, crowd * _ROOM / (2 * np.pi))
    count, component = connected_components(matrix, directed=False)
    place, shift = np.zeros((size, 2)), 0.0
    for number in range(count):
        members = np.flatnonzero(component == number)
        near = matrix[members][:, members]
        part = _majorized(shortest_path(near, directed=False), near.toarray())
        part -= part.min(axis=0)
        place[members] = part + np.array([shift, 0.0])
        shift += part[:, 0].max() + 1.5
    return place


def _majorized(distance: _Array, length: _Array) -> _Array:
    """Place nodes at these distances as well as the plane allows.

    ``length`` is that of an edge, 0 where there is none.
    """
    size = len(distance)
    if size == 1:
        return np.zeros((1, 2))
    place = _principal(distance)
    weight = 1 / np.where(distance > 0, distance, np.inf) ** 2
    weight *= np.where(length > 1, 2 * np.pi / _ROOM * length, 1)
    inverse = np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight)
    for _ in range(_ITERATIONS):
        apart = np.linalg.norm(place[:, None] - place[None], axis=2)
        pull = -weight * distance / np.where(apart > 1e-9, apart, np.inf)
        np.fill_diagonal(pull, 0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        place = inverse @ (pull @ place)
    return _upright(place)


def _principal(distance: _Array) -> _Array:
    """Return the plane picture of classical scaling; a small spiral keeps equal nodes apart."""
    size = len(distance)
    centering = np.eye(size) - 1 / size
    values, vectors = np.linalg.eigh(-centering @ distance**2 @ centering / 2)
    angle = 2.4 * np.arange(size)
    spiral = np.stack([np.cos(angle), np.sin(angle)], 1) * (
        0.05 + 0.1 * np.arange(size)[:, None] / size
    )
    place: _Array = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0)) + spiral
    return place


def _upright(place: _Array) -> _Array:
    """Turn the picture so that it is widest from left to right."""
    centered = place - place.mean(axis=0)
    _, _, axes = np.linalg.svd(centered, full_matrices=False)
    turned: _Array = centered @ axes.T
    return turned
