"""Many changed copies of one graph, packed: nodes and edges taken out, labels changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn.explain._subject import Subject
from edgnn.graphs import Graphs, degrees
from edgnn.graphs import checks as check

_Array = np.ndarray[Any, Any]

_COLUMNS = ("nodes_out", "edges_out", "node_labels", "edge_labels")


@dataclass(frozen=True, eq=False)
class Changes:
    """What differs in each of ``count`` copies; columns are (copy, element) or (copy, element, new label), by rising copy.

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
            count, *map(_sorted, (nodes_out, edges_out, node_labels, edge_labels), (2, 2, 3, 3))
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

    def piece(self, start: int, stop: int) -> Changes:
        """Return some of the copies."""
        columns = {}
        for name in _COLUMNS:
            listed = getattr(self, name)
            first, last = np.searchsorted(listed[0], [start, stop])
            columns[name] = _shifted(listed[:, first:last], -start)
        return Changes(stop - start, **columns)


def copies(subject: Subject, changes: Changes) -> tuple[Graphs, Tensor | None]:
    """Return the changed copies, encoded, and the number of the explained node in each."""
    base, count = subject.encoded, changes.count
    nodes, edges, device = base.num_nodes, base.num_edges, base.device
    keep, keep_edge = _kept(base, changes)
    number = torch.cumsum(keep.view(-1), 0) - 1
    place = number.view(count, nodes)
    kept_nodes, kept_edges = keep.view(-1).nonzero()[:, 0], keep_edge.view(-1).nonzero()[:, 0]
    copy, edge = kept_edges // max(edges, 1), kept_edges % max(edges, 1)
    of_node = kept_nodes % nodes
    graphs = base._with(
        graph_offset=check.offsets(keep.sum(dim=1)),
        edge_source=place.view(-1)[copy * nodes + base.edge_source[edge]],
        edge_target=place.view(-1)[copy * nodes + base.edge_target[edge]],
        edge_label=_labels(base.edge_label, changes.edge_labels, count)[kept_edges],
        node_label=base.node_label[of_node],
        node_features=None if base.node_features is None else base.node_features[of_node],
        edge_features=None if base.edge_features is None else base.edge_features[edge],
        node_names=None,
        graph_names=None,
    )
    if subject.estimator._coder.degree_labels is not None:
        graphs = graphs._with(node_label=_degree_labels(subject, graphs, of_node))
    if changes.node_labels.size:
        copy_, node, label = (torch.from_numpy(row).to(device) for row in changes.node_labels)
        there = keep[copy_, node]
        labels = graphs.node_label.clone()
        labels[place[copy_[there], node[there]]] = label[there]
        graphs = graphs._with(node_label=labels)
    return graphs, None if subject.node is None else place[:, subject.node]


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


def _labels(labels: Tensor, changed: _Array, count: int) -> Tensor:
    """Return the labels of all elements of all copies."""
    result = labels.repeat(count)
    if changed.size:
        copy, element, label = (torch.from_numpy(row).to(labels.device) for row in changed)
        result[copy * len(labels) + element] = label
    return result


def _degree_labels(subject: Subject, graphs: Graphs, of_node: Tensor) -> Tensor:
    """Return the labels that the nodes of copies get by their degrees, what comes from outside the part included."""
    coder = subject.estimator._coder
    assert coder.degree_labels is not None
    degree = degrees(graphs, coder.degree_labels, coder.multiplicity)
    if subject.beyond is not None:
        degree = degree + subject.beyond[of_node]
    known = torch.tensor(list(coder.node_vocabulary), dtype=torch.int64, device=graphs.device)
    largest = int(torch.cat([known, degree, degree.new_zeros(1)]).max())
    table = torch.full((largest + 1,), subject.unknown_node, device=graphs.device)
    table[known] = torch.arange(len(known), device=graphs.device)
    return table[degree]


def _sorted(listed: Any, rows: int) -> _Array:
    if listed is None:
        return np.zeros((rows, 0), np.int64)
    columns = np.stack([np.asarray(row, np.int64) for row in listed]).reshape(rows, -1)
    return columns[:, np.argsort(columns[0], kind="stable")]


def _shifted(listed: _Array, by: int) -> _Array:
    moved = listed.copy()
    moved[0] += by
    return moved
