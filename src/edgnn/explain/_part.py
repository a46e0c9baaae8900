"""The part of a graph that one node's prediction depends on."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from edgnn.graphs import Graphs, taken


@dataclass(frozen=True, eq=False)
class Part:
    """Some nodes and edges of a graph around one node.

    Parameters
    ----------
    nodes, edges : Tensor
        Their numbers in the graph, rising.
    node : int
        The place of the node in the middle among ``nodes``.
    distance : Tensor
        How many edges lie between it and each of the nodes.
    """

    nodes: Tensor
    edges: Tensor
    node: int
    distance: Tensor


def part_around(
    graphs: Graphs, node: int, layers: int, direction: str, *, every_edge: bool
) -> Part:
    """Return what so many layers read to compute the state of a node.

    The state of a node at distance d is needed of the first T − d layers, so of nodes at distance T
    only labels are read, and edges between two of them are not.

    Parameters
    ----------
    graphs : Graphs
        That have the node.
    node : int
        Its number over all graphs.
    layers : int
        T, how many layers.
    direction : {"both", "in"}
        Whether layers read against edges as well.
    every_edge : bool
        Keep all edges between the nodes.
    """
    source, target = graphs.edge_source, graphs.edge_target
    distance = torch.full((graphs.num_nodes,), layers + 1, device=graphs.device)
    distance[node] = 0
    for hop in range(1, layers + 1):
        reached = source[distance[target] < hop]
        if direction == "both":
            reached = torch.cat([reached, target[distance[source] < hop]])
        distance[reached] = distance[reached].clamp(max=hop)
    inner, within = distance < layers, distance <= layers
    used = inner[target] | inner[source] if direction == "both" else inner[target]
    edges = within[source] & within[target] & (used | every_edge)
    nodes = within.nonzero()[:, 0]
    return Part(nodes, edges.nonzero()[:, 0], int((nodes < node).sum()), distance[nodes])


def cut(graphs: Graphs, part: Part) -> Graphs:
    """Return the part as a graph of its own; ``graphs`` may be on another device than the part was found on."""
    nodes, edges = part.nodes.to(graphs.device), part.edges.to(graphs.device)
    number = torch.full((graphs.num_nodes,), -1, device=graphs.device)
    number[nodes] = torch.arange(len(nodes), device=graphs.device)
    owner = int(torch.searchsorted(graphs.graph_offset, nodes[:1], right=True)) - 1
    return taken(graphs, nodes, edges, number)._with(
        graph_offset=torch.tensor([0, len(nodes)], device=graphs.device),
        graph_names=None if graphs.graph_names is None else graphs.graph_names[owner : owner + 1],
    )
