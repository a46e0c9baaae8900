"""Parts of Graphs: some of the graphs, or some of the nodes with the edges between them."""

from __future__ import annotations

import torch
from torch import Tensor

from edgnn.graphs import _checks as check
from edgnn.graphs._graphs import Graphs


def select(graphs: Graphs, chosen: slice | Tensor) -> Graphs:
    """Return the chosen graphs, in that order; a slice has step 1."""
    return (
        _contiguous(graphs, chosen.start, chosen.stop)
        if isinstance(chosen, slice)
        else _gathered(graphs, chosen)
    )


def induced(graphs: Graphs, nodes: slice | Tensor) -> Graphs:
    """Return all graphs, reduced to some nodes and the edges between them."""
    keep = torch.zeros(graphs.num_nodes, dtype=torch.bool, device=graphs.device)
    keep[nodes] = True
    number = torch.cumsum(keep, 0) - 1
    edges = keep[graphs.edge_source] & keep[graphs.edge_target]
    counts = torch.bincount(graphs.graph_of_node[keep], minlength=len(graphs))
    return taken(graphs, keep, edges, number)._with(graph_offset=check.offsets(counts))


def taken(graphs: Graphs, nodes: Tensor, edges: Tensor, number: Tensor) -> Graphs:
    """Return some nodes and edges, by masks or rising numbers, as they stand in ``graphs``.

    ``number`` has the new number of every node that is an end of these edges.
    """
    return graphs._with(
        edge_source=number[graphs.edge_source[edges]],
        edge_target=number[graphs.edge_target[edges]],
        edge_label=graphs.edge_label[edges],
        edge_features=None if graphs.edge_features is None else graphs.edge_features[edges],
        node_label=graphs.node_label[nodes],
        node_features=None if graphs.node_features is None else graphs.node_features[nodes],
        node_names=None if graphs.node_names is None else graphs.node_names[nodes.cpu().numpy()],
    )


def _contiguous(graphs: Graphs, start: int, stop: int) -> Graphs:
    first, last = int(graphs.graph_offset[start]), int(graphs.graph_offset[stop])
    edges = slice(int(graphs.edge_offset[start]), int(graphs.edge_offset[stop]))
    return graphs._with(
        graph_offset=graphs.graph_offset[start : stop + 1] - first,
        edge_source=graphs.edge_source[edges] - first,
        edge_target=graphs.edge_target[edges] - first,
        edge_label=graphs.edge_label[edges],
        edge_features=None if graphs.edge_features is None else graphs.edge_features[edges],
        node_label=graphs.node_label[first:last],
        node_features=None if graphs.node_features is None else graphs.node_features[first:last],
        node_names=None if graphs.node_names is None else graphs.node_names[first:last],
        graph_names=None if graphs.graph_names is None else graphs.graph_names[start:stop],
    )


def _gathered(graphs: Graphs, chosen: Tensor) -> Graphs:
    offset, nodes = _ranges(graphs.graph_offset, chosen)
    edge_offset, edges = _ranges(graphs.edge_offset, chosen)
    shift = torch.repeat_interleave(offset[:-1] - graphs.graph_offset[chosen], edge_offset.diff())
    return graphs._with(
        graph_offset=offset,
        edge_source=graphs.edge_source[edges] + shift,
        edge_target=graphs.edge_target[edges] + shift,
        edge_label=graphs.edge_label[edges],
        edge_features=None if graphs.edge_features is None else graphs.edge_features[edges],
        node_label=graphs.node_label[nodes],
        node_features=None if graphs.node_features is None else graphs.node_features[nodes],
        node_names=None if graphs.node_names is None else graphs.node_names[nodes.cpu().numpy()],
        graph_names=None
        if graphs.graph_names is None
        else graphs.graph_names[chosen.cpu().numpy()],
    )


def _ranges(offset: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """Return the offsets of chosen ranges laid one after another, and what they cover."""
    sizes = offset[chosen + 1] - offset[chosen]
    new = check.offsets(sizes)
    shift = torch.repeat_interleave(offset[chosen] - new[:-1], sizes)
    return new, torch.arange(int(new[-1]), device=offset.device) + shift
