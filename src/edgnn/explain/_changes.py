"""Many changed copies of one graph, packed: nodes and edges taken out, labels changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn.graphs import Graphs

_Array = np.ndarray[Any, Any]

_COLUMNS = ("nodes_out", "edges_out", "node_labels", "edge_labels")


@dataclass(frozen=True, eq=False)
class Changes:
    """What differs in each of ``count`` copies.

    Columns are (copy, element) or (copy, element, new label), by rising copy.

    Parameters
    ----------
    count : int
        Number of copies.
    nodes_out, edges_out : array
        What is taken out; a node goes with its edges.
    node_labels, edge_labels : array
        What gets another label, by the model's numbers.

    Shapes
    ------
    nodes_out, edges_out (2, k), node_labels, edge_labels (3, k), each with its own k
    """

    count: int
    nodes_out: _Array
    edges_out: _Array
    node_labels: _Array
    edge_labels: _Array

    @classmethod
    def of(
        cls,
        count: int,
        *,
        nodes_out: Any = None,
        edges_out: Any = None,
        node_labels: Any = None,
        edge_labels: Any = None,
    ) -> Changes:
        """Make changes of (copy, element) or (copy, element, label) arrays in any order."""
        return cls(
            count,
            nodes_out=_sorted(nodes_out, 2),
            edges_out=_sorted(edges_out, 2),
            node_labels=_sorted(node_labels, 3),
            edge_labels=_sorted(edge_labels, 3),
        )

    @classmethod
    def joined(cls, parts: Sequence[Changes]) -> Changes:
        """Put copies behind each other."""
        starts = np.cumsum([0, *(part.count for part in parts)])
        columns = {}
        for name in _COLUMNS:
            shifted = [
                _shifted(getattr(part, name), start)
                for part, start in zip(parts, starts[:-1], strict=True)
            ]
            columns[name] = np.concatenate(shifted, axis=1)
        return cls(int(starts[-1]), **columns)

    def renumbered(self, nodes: _Array, edges: _Array) -> Changes:
        """Return the same changes of a graph in which elements have other numbers."""
        numbers = {"nodes": nodes, "edges": edges, "node": nodes, "edge": edges}
        columns = {}
        for name in _COLUMNS:
            listed = getattr(self, name).copy()
            listed[1] = numbers[name.partition("_")[0]][listed[1]]
            columns[name] = listed
        return Changes(self.count, **columns)

    def piece(self, start: int, stop: int) -> Changes:
        """Return some of the copies."""
        columns = {}
        for name in _COLUMNS:
            listed = getattr(self, name)
            first, last = np.searchsorted(listed[0], [start, stop])
            columns[name] = _shifted(listed[:, first:last], -start)
        return Changes(stop - start, **columns)


def copies(
    base: Graphs, changes: Changes, node_labels: Callable[[Graphs, Tensor], Tensor] | None = None
) -> tuple[Graphs, Tensor]:
    """Return changed copies of a graph, and the number of every node in each copy.

    Parameters
    ----------
    base : Graphs
        One graph, whose labels have the numbers that the changes use.
    changes : Changes
        What differs.
    node_labels : callable, optional
        Returns the labels that nodes get by what is left of the copies, given these and the number
        of each of their nodes in ``base``; changes of single labels come after that.

    Shapes
    ------
    → numbers (copies, N); those of nodes that are taken out mean nothing
    """
    count, nodes, edges = changes.count, base.num_nodes, base.num_edges
    keep, keep_edge = _kept(base, changes)
    number = (torch.cumsum(keep.view(-1), 0) - 1).view(count, nodes)
    of_node = keep.view(-1).nonzero()[:, 0] % nodes
    kept_edges = keep_edge.view(-1).nonzero()[:, 0]
    copy, edge = kept_edges // max(edges, 1), kept_edges % max(edges, 1)
    offset = torch.zeros(count + 1, dtype=torch.int64, device=base.device)
    offset[1:] = torch.cumsum(keep.sum(dim=1), 0)
    graphs = base._with(
        graph_offset=offset,
        edge_source=number[copy, base.edge_source[edge]],
        edge_target=number[copy, base.edge_target[edge]],
        edge_label=_edge_labels(base.edge_label, changes.edge_labels, count)[kept_edges],
        node_label=base.node_label[of_node],
        node_features=None if base.node_features is None else base.node_features[of_node],
        edge_features=None if base.edge_features is None else base.edge_features[edge],
        node_attributes=None if base.node_attributes is None else base.node_attributes[of_node],
        edge_attributes=None if base.edge_attributes is None else base.edge_attributes[edge],
        graph_features=(
            None if base.graph_features is None else base.graph_features.expand(count, -1)
        ),
        node_names=None if base.node_names is None else base.node_names[of_node.cpu().numpy()],
        graph_names=None,
    )
    if node_labels is not None:
        graphs = graphs._with(node_label=node_labels(graphs, of_node))
    if changes.node_labels.size:
        copy_, node, label = (torch.from_numpy(row).to(base.device) for row in changes.node_labels)
        there = keep[copy_, node]
        labels = graphs.node_label.clone()
        labels[number[copy_[there], node[there]]] = label[there]
        graphs = graphs._with(node_label=labels)
    return graphs, number


def _kept(base: Graphs, changes: Changes) -> tuple[Tensor, Tensor]:
    """Return which nodes and which edges each copy has."""
    keep = torch.ones(changes.count, base.num_nodes, dtype=torch.bool, device=base.device)
    keep_edge = torch.ones(changes.count, base.num_edges, dtype=torch.bool, device=base.device)
    for mask, listed in ((keep, changes.nodes_out), (keep_edge, changes.edges_out)):
        copy, element = (torch.from_numpy(row).to(base.device) for row in listed)
        mask[copy, element] = False
    if changes.nodes_out.size:
        keep_edge &= keep[:, base.edge_source] & keep[:, base.edge_target]
    return keep, keep_edge


def _edge_labels(labels: Tensor, changed: _Array, count: int) -> Tensor:
    """Return the labels of all edges of all copies."""
    result = labels.repeat(count)
    if changed.size:
        copy, element, label = (torch.from_numpy(row).to(labels.device) for row in changed)
        result[copy * len(labels) + element] = label
    return result


def _sorted(listed: Any, rows: int) -> _Array:
    if listed is None:
        return np.zeros((rows, 0), np.int64)
    columns = np.stack([np.asarray(row, np.int64) for row in listed]).reshape(rows, -1)
    return columns[:, np.argsort(columns[0], kind="stable")]


def _shifted(listed: _Array, by: int) -> _Array:
    moved = listed.copy()
    moved[0] += by
    return moved
