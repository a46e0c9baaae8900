"""The kernels of the rivals as GraKeL computes them: a peer to time, and an oracle of the tests."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from edgnn.graphs import Graphs

Array = np.ndarray[Any, Any]


def matching_grams(graphs: Graphs, k: int) -> dict[int, Array]:
    """Return how many connected subgraphs of up to 1, 2, … ``k`` nodes match, for all pairs.

    GraKeL looks at one direction of each pair of nodes only, so it is given edges both ways with
    labels that say everything between the two nodes; loops are part of their node's label.
    """
    from grakel.kernels.subgraph_matching import sm_kernel

    inputs = _matching_inputs(graphs)
    counts = np.zeros((k, len(inputs), len(inputs)))
    for row, one in enumerate(inputs):
        for column, other in enumerate(inputs):
            counts[:, row, column] = sm_kernel(one, other, _equal, _equal, k)[:k]
    return {size + 1: total for size, total in enumerate(np.cumsum(counts, axis=0))}


def path_grams(graphs: Graphs, depth: int) -> dict[int, Array]:
    """Return the WL shortest-path kernels of depths 0 to ``depth``; directions are ignored."""
    import grakel

    inputs = [
        (
            {
                node: dict.fromkeys(neighbors, 1.0)
                for node, neighbors in enumerate(_neighbors(graph))
            },
            dict(enumerate(graph.node_label.tolist())),
        )
        for graph in graphs
    ]
    filled = [number for number, (edges, _) in enumerate(inputs) if edges]
    paths = (grakel.ShortestPath, {"with_labels": True})
    kernel = grakel.WeisfeilerLehman(n_iter=max(depth, 1), base_graph_kernel=paths)
    total = np.zeros((len(inputs), len(inputs)))
    if not filled:
        return dict.fromkeys(range(depth + 1), total)
    rounds = kernel.fit([inputs[number] for number in filled]).X
    grams = {}
    for round in range(depth + 1):
        rows: dict[int, dict[Any, float]] = defaultdict(dict, rounds[round].X)
        kinds = sorted({kind for row in rows.values() for kind in row})
        column = {kind: number for number, kind in enumerate(kinds)}
        table = np.zeros((len(inputs), len(kinds)))
        for place, number in enumerate(filled):
            for kind, times in rows[place].items():
                table[number, column[kind]] = times
        total = total + table @ table.T
        grams[round] = total
    return grams


def _equal(a: int, b: int) -> int:
    return int(a == b)


def _matching_inputs(graphs: Graphs) -> list[tuple[int, set[Any], dict[int, int], dict[Any, int]]]:
    """Return each graph as GraKeL takes it: node count, edges, node labels, edge labels."""
    numbers: dict[Any, int] = defaultdict(lambda: len(numbers))
    inputs = []
    for graph in graphs:
        between: dict[tuple[int, int], list[int]] = defaultdict(list)
        edges = zip(
            graph.edge_source.tolist(),
            graph.edge_target.tolist(),
            graph.edge_label.tolist(),
            strict=True,
        )
        for source, target, label in edges:
            between[source, target].append(label)
        ends = {pair for pair in between if pair[0] != pair[1]}
        ends |= {(target, source) for source, target in ends}
        nodes = {
            node: numbers["node", label, tuple(sorted(between.get((node, node), ())))]
            for node, label in enumerate(graph.node_label.tolist())
        }
        labels = {
            (a, b): numbers[
                "edge",
                tuple(sorted(between.get((a, b), ()))),
                tuple(sorted(between.get((b, a), ()))),
            ]
            for a, b in ends
        }
        inputs.append((graph.num_nodes, ends, nodes, labels))
    return inputs


def _neighbors(graph: Graphs) -> list[set[int]]:
    neighbors: list[set[int]] = [set() for _ in range(graph.num_nodes)]
    for a, b in zip(graph.edge_source.tolist(), graph.edge_target.tolist(), strict=True):
        neighbors[a].add(b)
        neighbors[b].add(a)
    return neighbors
