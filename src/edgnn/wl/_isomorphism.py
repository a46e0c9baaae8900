"""Exact isomorphism of labeled digraphs: colors prune, individualization decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn.errors import GraphError
from edgnn.graphs import Graphs
from edgnn.wl._coloring import bare, refine
from edgnn.wl._compare import graph_classes
from edgnn.wl._neighborhood import Neighborhood
from edgnn.wl._refine import run


def isomorphic(g: Graphs, h: Graphs) -> bool:
    """Return whether two graphs are the same up to the numbering of their nodes.

    Always right, also where no refinement is. Labels and directions count, features and names do
    not. Graphs that refinement leaves with many equal colors, such as several regular parts joined
    to one hub, can take exponential time.

    Parameters
    ----------
    g, h : Graphs
        A single graph each.
    """
    return isomorphism(g, h) is not None


def isomorphism(g: Graphs, h: Graphs) -> Tensor | None:
    """Return, for every node of ``g``, the node of ``h`` it corresponds to.

    ``None`` if the graphs are not isomorphic.

    Shapes
    ------
    → (N,)
    """
    for name, graph in (("first", g), ("second", h)):
        if len(graph) != 1:
            raise GraphError(
                f"two single graphs are compared, but the {name} holds {len(graph)}: index it"
            )
    if (g.num_nodes, g.num_edges) != (h.num_nodes, h.num_edges):
        return None
    # Component by component: a search over all at once would try equal components in every order.
    components, nodes = _components([g, h])
    kinds = graph_classes(refine(components, scheme="joint")).tolist()
    of_g = int(components.graph_of_node[g.num_nodes]) if h.num_nodes else 0
    unmatched: dict[int, list[int]] = {}
    for number in range(of_g, len(components)):
        unmatched.setdefault(kinds[number], []).append(number)
    mapping = torch.full((g.num_nodes,), -1, dtype=torch.int64)
    for number in range(of_g):
        candidates = unmatched.get(kinds[number], [])
        partner = _partner(components, number, candidates)
        if partner is None:
            return None
        other, match = partner
        candidates.remove(other)
        mapping[nodes[number]] = nodes[other][match] - g.num_nodes
    return mapping


def _components(graphs: list[Graphs]) -> tuple[Graphs, list[Tensor]]:
    """Return the weakly connected components of all graphs as graphs, and the nodes of each."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    both = Graphs.concat([bare(graph).to("cpu") for graph in graphs])
    size = both.num_nodes
    ends = (both.edge_source.numpy(), both.edge_target.numpy())
    matrix = coo_array((np.ones(both.num_edges, np.int8), ends), shape=(size, size))
    count, component = connected_components(matrix, directed=False)
    # Numbered by first node, so that the components of the first graph come before the others.
    _, first = np.unique(component, return_index=True)
    component = np.argsort(np.argsort(first))[component]
    order = torch.from_numpy(np.argsort(component, kind="stable"))
    renumber = torch.empty(size, dtype=torch.int64)
    renumber[order] = torch.arange(size)
    sizes = torch.from_numpy(np.bincount(component, minlength=count))
    edge_order = torch.argsort(torch.from_numpy(component)[both.edge_source], stable=True)
    offset = torch.zeros(count + 1, dtype=torch.int64)
    torch.cumsum(sizes, 0, out=offset[1:])
    components = both._with(
        node_label=both.node_label[order],
        edge_source=renumber[both.edge_source[edge_order]],
        edge_target=renumber[both.edge_target[edge_order]],
        edge_label=both.edge_label[edge_order],
        graph_offset=offset,
    )
    return components, list(torch.split(order, sizes.tolist()))


def _partner(components: Graphs, number: int, candidates: list[int]) -> tuple[int, Tensor] | None:
    """Return the first isomorphic candidate and the mapping onto it."""
    for other in candidates:
        match = _search(components[number], components[other])
        if match is not None:
            return other, match
    return None


def _search(g: Graphs, h: Graphs) -> Tensor | None:
    """Individualize one node after another and refine, until all match or the colors refute it."""
    size = g.num_nodes
    both = Graphs.concat([g, h])
    around = Neighborhood.of(both, "joint")
    untried = [iter([both.node_label])]  # a stack of our own: the search may be thousands deep
    while untried:
        initial = next(untried[-1], None)
        if initial is None:
            untried.pop()
            continue
        history = run(initial, around, None, exact=False)
        colors = history.at(history.rounds)
        first, second = colors[:size], colors[size:]
        order, other_order = torch.argsort(first, stable=True), torch.argsort(second, stable=True)
        if not torch.equal(first[order], second[other_order]):
            continue
        # Within a class any order will do to begin with; often it is already a match.
        match = torch.empty(size, dtype=torch.int64)
        match[order] = other_order
        if _is_isomorphism(g, h, match):
            return match
        untried.append(_individualized(colors, first, second, size))
    return None


def _individualized(colors: Tensor, first: Tensor, second: Tensor, size: int) -> Iterator[Tensor]:
    """Yield colorings in which one node and, in turn, each possible partner have a new color.

    The node is one of the smallest class that has several, which leaves the fewest partners to try.
    """
    distinct, count = torch.unique(first, return_counts=True)
    several = count > 1
    if not bool(several.any()):
        return
    color = distinct[several][torch.argmin(count[several])]
    node = int((first == color).nonzero()[0])
    for partner in (second == color).nonzero()[:, 0].tolist():
        paired = colors.clone()
        paired[[node, size + partner]] = int(colors.max()) + 1
        yield paired


def _is_isomorphism(g: Graphs, h: Graphs, match: Tensor) -> bool:
    if not torch.equal(g.node_label, h.node_label[match]):
        return False
    images = _sorted_edges(match[g.edge_source], match[g.edge_target], g.edge_label)
    return np.array_equal(images, _sorted_edges(h.edge_source, h.edge_target, h.edge_label))


def _sorted_edges(source: Tensor, target: Tensor, label: Tensor) -> np.ndarray[Any, Any]:
    rows = torch.stack([label, target, source]).numpy()
    ordered: np.ndarray[Any, Any] = rows[:, np.lexsort(rows)]
    return ordered
