"""The part of a large graph that is worth drawing: what contributes most, and what connects it."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from edgnn.graphs import Graphs

_Array = np.ndarray[Any, Any]


def strengths(graph: Graphs, nodes: _Array, edges: _Array) -> _Array:
    """Return how much each node matters: its own contribution or that of an edge at it, whichever is stronger."""
    found: _Array = np.abs(np.nan_to_num(nodes))
    known = np.abs(np.nan_to_num(edges))
    for ends in (graph.edge_source, graph.edge_target):
        np.maximum.at(found, ends.cpu().numpy(), known)
    return found


def strongest_part(graph: Graphs, strength: _Array, root: int | None, most: int) -> list[int]:
    """Return at most ``most`` nodes in the order of their numbers: the strongest, each with a shortest way to ``root``.

    Without a root, that is the strongest node; nodes that no way leads to come last.
    """
    order = np.argsort(-strength, kind="stable").tolist()
    start = order[0] if root is None else root
    parent = _parents(graph, strength, start)
    chosen = {start}
    for node in [one for one in order if one in parent] + [
        one for one in order if one not in parent
    ]:
        way = []
        while node not in chosen:
            way.append(node)
            if node not in parent:
                break
            node = parent[node]
        if len(chosen) + len(way) <= most:
            chosen.update(way)
        if len(chosen) == most:
            break
    return sorted(chosen)


def _parents(graph: Graphs, strength: _Array, root: int) -> dict[int, int]:
    """Return the next node on the way to the root, of every node that has one; among equal ways, over the strongest nodes."""
    near: list[list[int]] = [[] for _ in range(graph.num_nodes)]
    for source, target in zip(graph.edge_source.tolist(), graph.edge_target.tolist(), strict=True):
        near[source].append(target)
        near[target].append(source)
    parent, waiting = {root: root}, deque([root])
    while waiting:
        layer = sorted(waiting, key=lambda node: (-strength[node], node))
        waiting.clear()
        for node in layer:
            for other in near[node]:
                if other not in parent:
                    parent[other] = node
                    waiting.append(other)
    return parent
