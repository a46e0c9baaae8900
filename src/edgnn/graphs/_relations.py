"""Relations: neighbors per edge label and direction, for layers whose weights depend on both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from edgnn.graphs import _csr as csr
from edgnn.graphs._csr import CSR
from edgnn.graphs._graphs import Graphs


@dataclass(frozen=True, eq=False, repr=False)
class Relations:
    r"""Edges grouped into pairs (relation, node): what the node receives over the relation is one row.

    Relation r is the r-th edge label for entering edges and, with ``direction="both"``, relation \|Z\| + r for leaving ones.
    Pairs stand relation by relation, so one relation's rows are a slice.

    Parameters
    ----------
    gather : CSR
        Row p lists the neighbors of pair p, one entry per edge.
    spread : CSR
        Row v lists the pairs of node v.
    offset : tuple of int
        Relation r owns the pairs ``offset[r]`` to ``offset[r + 1]`` (of every member, where the rows are members' blocks).

    Shapes
    ------
    gather (P, N), spread (N, P), offset (R+1,)
    """

    gather: CSR
    spread: CSR
    offset: tuple[int, ...]

    @classmethod
    def of(cls, graphs: Graphs, num_labels: int, direction: Literal["both", "in"]) -> Relations:
        """Group the edges of ``graphs`` whose label is among the first ``num_labels``."""
        nodes, device = graphs.num_nodes, graphs.device
        relation, node, neighbor = graphs.edge_label, graphs.edge_target, graphs.edge_source
        known = relation < num_labels
        relation, node, neighbor = relation[known], node[known], neighbor[known]
        groups = num_labels
        if direction == "both":
            groups *= 2
            relation = torch.cat([relation, relation + num_labels])
            node, neighbor = torch.cat([node, neighbor]), torch.cat([neighbor, node])
        pairs, pair = torch.unique(relation * max(nodes, 1) + node, return_inverse=True)
        starts = torch.arange(groups + 1, device=device) * max(nodes, 1)
        return cls(
            gather=csr.from_keys(csr.pack(pair, neighbor), len(pairs), nodes, distinct=False),
            spread=csr.from_keys(
                csr.pack(pairs % max(nodes, 1), torch.arange(len(pairs), device=device)), nodes, len(pairs), distinct=False
            ),
            offset=tuple(torch.searchsorted(pairs, starts).tolist()),
        )

    @property
    def num_relations(self) -> int:
        """Number of relations: edge labels times directions."""
        return len(self.offset) - 1

    @property
    def relation_of_pair(self) -> Tensor:
        """Relation number of each pair."""
        counts = torch.tensor(self.offset).diff()
        return torch.repeat_interleave(torch.arange(self.num_relations), counts).to(self.gather.indptr.device)

    @property
    def nbytes(self) -> int:
        """Memory that the arrays hold."""
        return self.gather.nbytes + self.spread.nbytes

    def to(self, device: torch.device | str | None = None) -> Relations:
        """Return the relations on ``device``."""
        return Relations(self.gather.to(device), self.spread.to(device), self.offset)
