"""Node order: nodes renumbered so that neighbors lie close to one another in memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn.errors import GraphError
from edgnn.graphs._csr import from_keys, pack
from edgnn.graphs._graphs import Graphs

_Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Reordered:
    """Graphs in another node order, and how to get from one order to the other.

    ``rows[new_number]`` puts rows of the new order (a model's states or predictions) into the old
    one; ``rows[old_number]`` goes the other way (targets, masks); old node numbers become new ones
    by ``new_number[numbers]``.

    Parameters
    ----------
    graphs : Graphs
        The renumbered graphs.
    old_number : Tensor
        The number that each of their nodes had before.

    Shapes
    ------
    old_number (N,), new_number (N,)
    """

    graphs: Graphs
    old_number: Tensor

    @cached_property
    def new_number(self) -> Tensor:
        """The number that each node has now, by the one it had before."""
        new = torch.empty_like(self.old_number)
        new[self.old_number] = torch.arange(len(new), device=new.device)
        return new


def reordered(graphs: Graphs) -> Reordered:
    """Return the graphs with neighbors close together; see :meth:`Graphs.reordered`."""
    result = Reordered(graphs, breadth_first(graphs).to(graphs.device))
    old, new = result.old_number, result.new_number
    moved = graphs._with(
        node_label=graphs.node_label[old],
        node_features=None if graphs.node_features is None else graphs.node_features[old],
        node_attributes=None if graphs.node_attributes is None else graphs.node_attributes[old],
        node_names=None if graphs.node_names is None else graphs.node_names[old.cpu().numpy()],
        edge_source=new[graphs.edge_source],
        edge_target=new[graphs.edge_target],
    )
    return Reordered(moved, old)


def breadth_first(graphs: Graphs) -> Tensor:
    """Return the nodes component by component, each by distance from its first, in linear time.

    Measured beside it: Cuthill-McKee and its reverse come to the same, depth first and by degree to
    less, and groups found by label propagation to more where there are communities, but after a
    search that takes twenty times as long.

    Shapes
    ------
    → (N,)
    """
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    nodes = graphs.num_nodes
    source, target = graphs.edge_source.cpu(), graphs.edge_target.cpu()
    if nodes + 2 * len(source) >= 2**31:
        raise GraphError(
            f"{nodes:,} nodes and {len(source):,} edges are too many to reorder; at most 2^31 - 1 "
            "with edges doubled"
        )
    neighbors = from_keys(pack(source, target, both=True), nodes, nodes, distinct=True)
    indptr, indices = neighbors.indptr.numpy(), neighbors.indices.numpy()
    component = connected_components(_matrix(indptr, indices), directed=False)[1]
    firsts = np.unique(component, return_index=True)[1]
    rooted = _matrix(
        np.append(indptr, indptr[-1:] + len(firsts)),
        np.append(indices, firsts.astype(indices.dtype)),
    )
    visited = breadth_first_order(rooted, nodes, return_predecessors=False)[
        1:
    ]  # from a root that is joined to all components
    order = np.argsort(firsts[component[visited]], kind="stable")
    return torch.from_numpy(visited[order].astype(np.int64))


def _matrix(indptr: _Array, indices: _Array) -> Any:
    from scipy.sparse import csr_array

    nodes = len(indptr) - 1
    return csr_array((np.ones(len(indices)), indices, indptr), shape=(nodes, nodes))
