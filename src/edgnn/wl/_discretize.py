"""Continuous features as labels, for refinement, which only knows equal and different."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from edgnn.errors import GraphError
from edgnn.graphs import Graphs


class Discretizer:
    """Replace continuous features by quantile bins that become part of the labels.

    A node with label ``"C"`` and features in bins 0 and 3 gets the label ``("C", 0, 3)``; edges
    likewise. Bin edges are learned from the graphs given to :meth:`fit` and reused for others.

    Parameters
    ----------
    bins : int
        Number of quantile bins per feature.
    """

    def __init__(self, bins: int = 5) -> None:
        self.bins = bins

    def fit(self, graphs: Graphs) -> Discretizer:
        """Learn the bin edges."""
        if self.bins < 2:
            raise GraphError(f"bins={self.bins}: choose 2 or more")
        self.node_edges_ = self._edges(graphs.node_features)
        self.edge_edges_ = self._edges(graphs.edge_features)
        return self

    def transform(self, graphs: Graphs) -> Graphs:
        """Return the graphs without features, with bins in their labels."""
        nodes = _binned(graphs.node_features, self.node_edges_, "node")
        edges = _binned(graphs.edge_features, self.edge_edges_, "edge")
        if nodes is not None:
            graphs = graphs.with_node_labels(
                [(label, *row) for label, row in zip(graphs.node_labels, nodes, strict=True)]
            )
        if edges is not None:
            graphs = graphs.with_edge_labels(
                [(label, *row) for label, row in zip(graphs.edge_labels, edges, strict=True)]
            )
        return graphs._with(node_features=None, edge_features=None)

    def fit_transform(self, graphs: Graphs) -> Graphs:
        """Learn the bin edges from ``graphs`` and apply them."""
        return self.fit(graphs).transform(graphs)

    def _edges(self, features: Tensor | None) -> np.ndarray[Any, Any] | None:
        if features is None:
            return None
        quantiles = np.linspace(0, 1, self.bins + 1)[1:-1]
        columns = features.cpu().numpy().astype(np.float64)
        if len(columns) == 0:
            return np.zeros((columns.shape[1], self.bins - 1))
        edges: np.ndarray[Any, Any] = np.quantile(columns, quantiles, axis=0).T
        return edges


def _binned(
    features: Tensor | None, edges: np.ndarray[Any, Any] | None, what: str
) -> list[list[int]] | None:
    if features is None and edges is None:
        return None
    if features is None or edges is None:
        had = "had" if features is None else "had no"
        raise GraphError(f"the graphs that were fitted {had} {what} features, unlike these")
    if features.shape[1] != len(edges):
        raise GraphError(
            f"{features.shape[1]} {what} features were given, but {len(edges)} were fitted"
        )
    columns = features.cpu().numpy().astype(np.float64).T
    bins = [
        np.searchsorted(borders, column, side="right")
        for borders, column in zip(edges, columns, strict=True)
    ]
    rows: list[list[int]] = np.stack(bins, axis=1).tolist()
    return rows
