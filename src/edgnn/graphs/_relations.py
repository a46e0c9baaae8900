"""Relations: edges by edge label and direction, for layers whose weights depend on both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

import torch
from torch import Tensor

from edgnn.graphs import _csr as csr
from edgnn.graphs import _pairs
from edgnn.graphs._csr import CSR
from edgnn.graphs._graphs import Graphs


@dataclass(frozen=True, eq=False, repr=False)
class Relations:
    r"""Edges grouped into pairs (relation, node): what goes over the relation is one row.

    Relation r is the r-th edge label for entering edges and, with ``direction="both"``, relation
    \|Z\| + r for leaving ones. Pairs stand relation by relation, so one relation's rows are a
    slice. By target, the states that a node receives over a relation are added up in one row; by
    source, a row is what a node sends over a relation, whoever receives it, and edges with the
    reserved label ``UNKNOWN`` are one more relation of each direction, behind its labels.

    Parameters
    ----------
    gather : CSR
        Row p lists the nodes whose states pair p starts from: by target, one entry per edge; by
        source, the source.
    spread : CSR
        Row v lists the pairs that node v receives: by target, its own; by source, one entry per
        edge.
    offset : tuple of int
        Relation r owns the pairs ``offset[r]`` to ``offset[r + 1]`` (of every member, where the
        rows are members' blocks).
    features : Tensor, optional
        By source, where edges have continuous features: those of each pair. Every edge then is a
        pair of its own.
    gather_t, spread_t : CSR, optional
        The transposes, where they are at hand.
    mirrored : bool
        By target: whether every edge stands in both of its directions, so that relation r reversed
        is relation r ± R/2.

    Shapes
    ------
    gather (P, N), spread (N, P), offset (R+1,), features (P, D). In blocks: features (M, p, D).
    """

    gather: CSR
    spread: CSR
    offset: tuple[int, ...]
    features: Tensor | None = None
    gather_t: CSR | None = None
    spread_t: CSR | None = None
    mirrored: bool = False

    @classmethod
    def of(cls, graphs: Graphs, num_labels: int, direction: Literal["both", "in"]) -> Relations:
        """Group the edges of ``graphs`` whose label is among the first ``num_labels`` by target."""
        relation, node, neighbor = graphs.edge_label, graphs.edge_target, graphs.edge_source
        known = relation < num_labels
        relation, node, neighbor = _sides(
            relation[known], node[known], neighbor[known], num_labels, direction
        )
        nodes, groups = graphs.num_nodes, num_labels * (1 + (direction == "both"))
        pairs, pair = torch.unique(relation * max(nodes, 1) + node, return_inverse=True)
        return cls(
            gather=csr.from_keys(csr.pack(pair, neighbor), len(pairs), nodes, distinct=False),
            spread=csr.from_keys(
                csr.pack(pairs % max(nodes, 1), _numbers(pairs)), nodes, len(pairs), distinct=False
            ),
            offset=_offset(pairs // max(nodes, 1), groups),
            mirrored=direction == "both",
        )

    @classmethod
    def by_source(
        cls,
        graphs: Graphs,
        num_labels: int,
        direction: Literal["both", "in"],
        dtype: torch.dtype = torch.float32,
    ) -> Relations:
        """Group the edges by source; labels beyond the first ``num_labels`` are one relation."""
        relation, node, neighbor = _sides(
            graphs.edge_label.clamp(max=num_labels),
            graphs.edge_target,
            graphs.edge_source,
            num_labels + 1,
            direction,
        )
        nodes, groups, features = (
            graphs.num_nodes,
            (num_labels + 1) * (1 + (direction == "both")),
            graphs.edge_features,
        )
        if features is None:
            pairs, pair = torch.unique(relation * max(nodes, 1) + neighbor, return_inverse=True)
        else:
            pairs, order = torch.sort(relation * max(nodes, 1) + neighbor, stable=True)
            pair = torch.empty_like(order)
            pair[order] = _numbers(order)
            features = features[order % max(graphs.num_edges, 1)].to(dtype)
        return cls(
            gather=csr.from_keys(
                csr.pack(_numbers(pairs), pairs % max(nodes, 1)), len(pairs), nodes, distinct=False
            ),
            spread=csr.from_keys(csr.pack(node, pair), nodes, len(pairs), distinct=False),
            offset=_offset(pairs // max(nodes, 1), groups),
            features=features,
        )

    def rows(self, rows: Tensor, place: Tensor, columns: int) -> Relations:
        """Return the pairs that some nodes receive; ``place`` gives every sender's new number."""
        spread = self.spread.take(rows)
        pairs, pair = torch.unique(spread.indices, return_inverse=True)
        pairs = pairs.long()
        return Relations(
            gather=self.gather.take(pairs, place, columns),
            spread=replace(
                spread, indices=pair.to(spread.indices.dtype), shape=(len(rows), len(pairs))
            ),
            offset=tuple(
                torch.searchsorted(pairs, torch.tensor(self.offset, device=pairs.device)).tolist()
            ),
            features=None if self.features is None else self.features[pairs],
        )

    def without_pairs(self, nodes: int) -> Relations:
        """Return as many relations, without any pair, between so many nodes."""
        none = torch.zeros(nodes + 1, dtype=torch.int32, device=self.gather.indptr.device)
        features = None if self.features is None else self.features[:0]
        spread = CSR(none, none[:0], None, (nodes, 0))
        return Relations(
            CSR(none[:1], none[:0], None, (0, nodes)), spread, (0,) * len(self.offset), features
        )

    @property
    def num_relations(self) -> int:
        """Number of relations: edge labels times directions."""
        return len(self.offset) - 1

    @property
    def relation_of_pair(self) -> Tensor:
        """Relation number of each pair."""
        counts = torch.tensor(self.offset).diff()
        return torch.repeat_interleave(torch.arange(self.num_relations), counts).to(
            self.gather.indptr.device
        )

    @cached_property
    def owner(self) -> Tensor:
        """By target: the node that each pair belongs to; zero for a row that is padding."""
        return _pairs.owners(self)

    @cached_property
    def longest(self) -> int:
        """Number of entries of the largest pair."""
        return int(self.gather.indptr.diff().max()) if self.gather.shape[0] else 0

    @cached_property
    def turned(self) -> Relations:
        """By target: all edges reversed; if mirrored, the same but for the relations' numbers."""
        return self if self.mirrored else _pairs.turned(self)

    def averaged(self, dtype: torch.dtype) -> Relations:
        """By target: with values in ``dtype`` that make each pair an average."""
        kept: Relations = self._kept(("averaged", dtype), lambda: _pairs.averaged(self, dtype))
        return kept

    def in_pieces(self, pairs: int) -> tuple[tuple[int, Relations], ...]:
        """By target: in runs of nodes with about so many pairs, with the first node of each."""
        kept: tuple[tuple[int, Relations], ...] = self._kept(
            ("pieces", pairs), lambda: _pairs.in_pieces(self, pairs)
        )
        return kept

    def tiles(self, rows: int) -> tuple[Tensor, CSR]:
        """Tiles of at most so many pairs of one relation.

        (group, first, end) of each, and the sum over each group's.
        """
        kept: tuple[Tensor, CSR] = self._kept(("tiles", rows), lambda: _pairs.tiles(self, rows))
        return kept

    def _kept(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Return what was derived before, or derive it now."""
        derived: dict[tuple[Any, ...], Any] = self.__dict__.setdefault("_derived", {})
        if key not in derived:
            derived[key] = make()
        return derived[key]

    def __getstate__(self) -> dict[str, Any]:
        return {
            field.name: getattr(self, field.name) for field in fields(self)
        }  # without what was derived

    @property
    def nbytes(self) -> int:
        """Memory that the arrays hold."""
        parts = (self.gather, self.spread, self.features, self.gather_t, self.spread_t)
        return sum(part.nbytes for part in parts if part is not None)

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Relations:
        """Return the relations on ``device``, their features in ``dtype``.

        Transposes are derived there when needed.
        """
        features = None if self.features is None else self.features.to(device=device, dtype=dtype)
        return Relations(
            self.gather.to(device),
            self.spread.to(device),
            self.offset,
            features,
            mirrored=self.mirrored,
        )


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    r"""How often a node meets a neighbor with label l over relation r, for every cell (r, l).

    A layer with weights per relation has one weight row for each cell; where nodes are known by
    their labels alone, its sum over neighbors is the product of this constant with those rows.

    Parameters
    ----------
    sums, means : Tensor or CSR
        The counts, and the counts divided by the number of edges of the relation at the node.
    keys : Tensor
        r · L + l of each cell, rising; on the CPU wherever the counts are.
    index : Tensor
        The same, beside the counts.

    Shapes
    ------
    sums (N, C), means (N, C), keys (C,), index (C,). In blocks: sums (M, n, C), or (M·n, M·C) along
    the diagonal.
    """

    sums: Tensor | CSR
    means: Tensor | CSR
    keys: Tensor
    index: Tensor

    @classmethod
    def of(
        cls,
        relations: Relations,
        label: Tensor,
        num_labels: int,
        *,
        keys: Sequence[int] | Tensor | None = None,
        dense: int = 0,
        dtype: torch.dtype = torch.float32,
    ) -> Cells:
        """Count the cells of relations by target.

        Parameters
        ----------
        relations : Relations
            By target.
        label : Tensor
            Label number of each node; those beyond ``num_labels`` count for nothing.
        num_labels : int
            L.
        keys : sequence of int, optional
            The cells to count, rising; all others count for nothing. Default: those that occur.
        dense : int
            Up to so many cells, counts are dense.
        dtype : dtype
            Of the counts.
        """
        gather, spread, device = relations.gather, relations.spread, label.device
        lengths = gather.indptr.diff().to(torch.int64)
        pair = gather.row_of_entry
        node_of_pair = torch.empty(gather.shape[0], dtype=torch.int64, device=device)
        node_of_pair[spread.indices.long()] = spread.row_of_entry
        met = label[gather.indices.long()]
        key = relations.relation_of_pair[pair] * num_labels + met
        chosen = (
            torch.unique(key[met < num_labels])
            if keys is None
            else torch.as_tensor(keys, dtype=torch.int64).to(device)
        )
        column = torch.searchsorted(chosen, key)
        known = met < num_labels
        known &= torch.cat([chosen, chosen.new_full((1,), -1)])[column] == key
        pair, column = pair[known], column[known]
        places, entry, counts = torch.unique(
            csr.pack(node_of_pair[pair], column), return_inverse=True, return_counts=True
        )
        shared = torch.ones_like(counts)
        shared[entry] = lengths[pair]
        shape = spread.shape[0], len(chosen)
        where = csr.from_keys(places, *shape, distinct=False)
        sums, means = (
            replace(where, values=values.to(dtype))
            for values in (counts, counts / shared.to(torch.float64))
        )
        if len(chosen) <= dense:
            return cls(sums.to_dense(dtype), means.to_dense(dtype), chosen.cpu(), chosen)
        return cls(sums, means, chosen.cpu(), chosen)

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Cells:
        """Return the counts on ``device`` in ``dtype``."""
        sums, means = (part.to(device=device, dtype=dtype) for part in (self.sums, self.means))
        return Cells(sums, means, self.keys, self.index.to(device))


def _sides(
    relation: Tensor, node: Tensor, neighbor: Tensor, groups: int, direction: Literal["both", "in"]
) -> tuple[Tensor, Tensor, Tensor]:
    """Return who receives from whom; with ``"both"``, along edges and then against them."""
    if direction == "in":
        return relation, node, neighbor
    return (
        torch.cat([relation, relation + groups]),
        torch.cat([node, neighbor]),
        torch.cat([neighbor, node]),
    )


def _offset(relation: Tensor, groups: int) -> tuple[int, ...]:
    """Return where each group begins among sorted relation numbers, and where the last one ends."""
    return tuple(
        torch.searchsorted(relation, torch.arange(groups + 1, device=relation.device)).tolist()
    )


def _numbers(like: Tensor) -> Tensor:
    return torch.arange(len(like), device=like.device)
