"""Layers with weights per edge label and direction: R-GCN, and the joint edGNN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from edgnn.errors import GraphError, ModelError
from edgnn.graphs import Cells, ListedBy, Structure
from edgnn.nn._conv import Conv, LabelRows, States, SummedStates, own_rows
from edgnn.nn._edges import Edges, OneHot, add_rows, either_times, times, with_zero_row
from edgnn.nn._noise import Noise
from edgnn.nn._parameters import Generators, glorot_, parameter, plus_product, plus_products
from edgnn.nn.ops import relational_product, with_halo


class RelationalConv(Conv):
    r"""Sum neighbors' states with weights of their relation.

    .. math::
        f'(v) = \sigma\Big(f(v) W_1 + \sum_r \frac{1}{c_{v,r}} \sum_{u \in N_r(v)} f(u) W_r + b\Big)

    A relation is an edge label and, with ``direction="both"``, a direction. With
    ``aggregate="mean"``, :math:`c_{v,r}` is the number of edges of relation r at v, and the layer
    is R-GCN (Schlichtkrull et al. 2018); with ``"sum"`` it is one, and the layer tells apart
    whatever the ``joint`` refinement does. Edges are counted one by one, also parallel ones.

    States are added up per (relation, node) first and multiplied then, one product per relation.
    Where nodes are known by their labels alone, as at the first layer, the sum over neighbors is
    one product with constant counts instead.

    Parameters
    ----------
    in_dim, out_dim : int
        Width of the states before and after.
    num_edge_labels : int
        Number of edge labels.
    aggregate : {"sum", "mean"}
        How the neighbors of one relation are put together.
    bases : int, optional
        Make every :math:`W_r` a learned combination of so many matrices.
    cells : sequence of int, optional
        Have weights only for these pairs of relation r and neighbor's label l, as r · in_dim + l,
        rising, a row of ``W`` each. They are drawn from the distribution that all would be drawn
        from. A pair that occurs in no graph has no influence, so on one-hot labels the layer is the
        same, and smaller where labels are many. Not with ``bases``.
    **options
        As of :class:`~edgnn.nn.GNNConv`, and ``edge_features``, whose sums over edges get weights
        of their own.

    Shapes
    ------
    x : (N, in_dim) → (N, out_dim);  with members, (M, N, in_dim) → (M, N, out_dim)
    """

    relations: ClassVar[ListedBy] = "targets"
    own_options = ("bases", "cells")

    def __init__(
        self,
        in_dim: int,
        out_dim: int,
        num_edge_labels: int,
        *,
        aggregate: Literal["sum", "mean"] = "sum",
        bases: int | None = None,
        cells: Sequence[int] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(in_dim, out_dim, num_edge_labels, **options)
        if aggregate not in ("sum", "mean"):
            raise ModelError(f"aggregate={aggregate!r}: choose 'sum' or 'mean'")
        if cells is not None and bases is not None:
            raise ModelError(
                "cells are rows of weights per relation, and with bases there are none: "
                "leave out one of them"
            )
        self.aggregate, members = aggregate, self.members
        self.averages = aggregate == "mean"
        self.num_relations = num_edge_labels * self.num_sides
        self.W1 = parameter(in_dim, out_dim, members=members)
        # numbers, not weights: they are there also where a model is only outlined, on the meta
        # device
        self._cells = torch.as_tensor(
            () if cells is None else cells, dtype=torch.int64, device="cpu"
        )
        self.cells = None if cells is None else self._cells
        shape: tuple[int, ...] = (self.num_relations, in_dim, out_dim)
        if cells is not None:
            shape = (len(cells), out_dim)
        elif bases is not None:
            shape = (bases, in_dim, out_dim)
        self.W = parameter(*shape, members=members)
        self.coefficients = (
            None if bases is None else parameter(self.num_relations, bases, members=members)
        )
        self.W_features = None
        if self.edge_features:
            rows = self.num_sides * self.edge_features
            self.W_features = parameter(rows, out_dim, members=members)
        self.reset_parameters()

    def reset_parameters(self, generators: Generators = None) -> None:
        """Draw new weights."""
        super().reset_parameters(generators)
        if self.bias is not None:
            nn.init.zeros_(self.bias)
        glorot_(self.W1, generators)
        glorot_(self.W, generators, rows=self.in_dim)
        for weight in (self.coefficients, self.W_features):
            if weight is not None:
                glorot_(weight, generators)

    def relation_weights(self) -> Tensor:
        r"""Return :math:`W_r` for every relation; pairs that are no cells have zeros.

        Shapes
        ------
        → (…, R, in_dim, out_dim)
        """
        if self.cells is not None:
            full = self.W.new_zeros(
                *self.W.shape[:-2], self.num_relations * self.in_dim, self.out_dim
            )
            full = full.index_copy(-2, self._cells_beside(full), self.W)
            return full.view(*full.shape[:-2], self.num_relations, self.in_dim, self.out_dim)
        if self.coefficients is None:
            return self.W
        flat = self.coefficients @ self.W.flatten(-2)
        return flat.view(*flat.shape[:-1], self.in_dim, self.out_dim)

    def _cells_beside(self, weights: Tensor) -> Tensor:
        """Return the cells on the device of the weights, copied there once."""
        assert self.cells is not None
        if self._cells.device != weights.device:
            self._cells = self.cells.to(weights.device)
        return self._cells

    def takes_constants(self, cells: Cells | None) -> bool:
        """Return whether neighbors' labels are counted per relation: they are then all it needs."""
        return cells is not None

    def label_rows(self, node: Tensor | None, edge: Tensor) -> LabelRows:
        """Return the weights of labels."""
        relation = edge if self.direction == "in" else torch.cat([edge, edge], dim=-1)
        rows: LabelRows = []
        if node is not None:
            labels = node.shape[-1]
            rows.append((self.W1[..., :labels, :], node))
            if self.cells is None:
                rows.append((self.W.movedim(-2, -3)[..., :labels, :, :], node))
            else:
                rows.append((self.W, node[..., self.cells % labels]))
                relation = relation[..., self.cells // labels]
        rows.append((self.W if self.coefficients is None else self.coefficients, relation))
        return rows

    def plain_sum(self, x: Tensor | OneHot, edges: Edges) -> Tensor:
        """Return the sum inside the activation, edge by edge."""
        if isinstance(x, OneHot):
            sent = self._sent_by_label(x, edges)
        else:
            sent = self._sent(x, self._plain_weights(), edges)
        if self.averages:
            sent = sent * self._fractions(edges).unsqueeze(1)
        total = either_times(x, self.W1) + add_rows(sent, edges.target, edges.nodes)
        if self.W_features is not None:
            width = self.edge_features
            for side, sums in enumerate(edges.feature_sums):
                of_side = self.W_features[:, side * width : (side + 1) * width]
                total = total + times(sums, of_side)
        return total

    def prepare_export(self) -> None:
        """Make the cells a buffer; in training they are none, for all members share them."""
        if self.cells is not None:
            cells = self._cells_beside(self.W)
            del self._cells
            self.register_buffer("_cells", cells)

    def _plain_weights(self) -> Tensor:
        """Return all weights, with zeros for edges of unknown label: (M, in, R + 1, out)."""
        weight = self.relation_weights().transpose(1, 2)
        return torch.cat([weight, torch.zeros_like(weight[:, :, :1])], dim=2)

    def _sent(self, x: Tensor, weight: Tensor, edges: Edges) -> Tensor:
        """Return what goes over each edge: of every state times every relation, those sent."""
        mapped = times(x, weight.flatten(2, 3)).view(weight.shape[0], -1, weight.shape[3])
        return mapped.index_select(1, edges.source * (self.num_relations + 1) + edges.relation)

    def _sent_by_label(self, x: OneHot, edges: Edges) -> Tensor:
        """Return what goes over each edge: the weights for its relation and its source's label."""
        label = x.label.index_select(0, edges.source)
        both_known = (edges.relation < self.num_relations) & (label < x.labels)
        if self.cells is not None:
            cells = self._cells_beside(self.W)
            key = edges.relation * x.labels + label
            row = torch.searchsorted(cells, key)
            listed = torch.cat([cells, cells.new_full((1,), -1)]).index_select(0, row) == key
            row = torch.where(both_known & listed, row, cells.shape[0])
            return with_zero_row(self.W).index_select(1, row)
        weights = self._plain_weights()
        rows = with_zero_row(weights[:, : x.labels].flatten(1, 2))
        key = label * (self.num_relations + 1) + edges.relation
        sent = rows.index_select(1, torch.where(both_known, key, rows.shape[1] - 1))
        if x.features is None:
            return sent
        return sent + self._sent(x.features, weights[:, x.labels :], edges)

    def _fractions(self, edges: Edges) -> Tensor:
        """Return one over the number of edges that an edge's target has of its relation."""
        key = edges.target * (self.num_relations + 1) + edges.relation
        ones = torch.ones_like(key, dtype=self.W.dtype)
        counts = ones.new_zeros(edges.nodes * (self.num_relations + 1)).index_add(0, key, ones)
        return 1 / counts.index_select(0, key)

    def _check(self, structure: Structure) -> None:
        super()._check(structure)
        relations = structure.relations
        assert relations is not None
        if relations.num_relations != self.num_relations:
            raise GraphError(
                f"the layer was made for {self.num_relations} relations, "
                f"the structure has {relations.num_relations}"
            )
        self._check_features(structure)

    def _sum(
        self, x: States, structure: Structure, noise: Noise | None, mask: Tensor | None
    ) -> Tensor:
        dropping = self.training and self.input_dropout > 0
        if isinstance(x, SummedStates) and x.cells is not None and not dropping:
            met = x.cells.means if self.averages else x.cells.sums
            total = plus_products(None, [(x.H, self.W1), (met, self._cell_weights(x.cells))])
        else:
            states = self._entering(x, structure, noise, self.W1.dtype)
            total = self._sum_of_states(states, structure)
        if self.W_features is None:
            return total
        width = self.edge_features
        for side, sums in enumerate((structure.F_in, structure.F_out)):
            if sums is not None:
                of_side = self.W_features[..., side * width : (side + 1) * width, :]
                total = plus_product(total, sums, of_side)
        return total

    def _cell_weights(self, cells: Cells) -> Tensor:
        """Return the rows of the weights that belong to cells."""
        if self.cells is None:
            rows = self.relation_weights().flatten(-3, -2)
            return rows if len(cells.keys) == rows.shape[-2] else rows.index_select(-2, cells.index)
        if not torch.equal(self.cells, cells.keys):
            raise GraphError(
                f"the layer has weights for {len(self.cells):,} pairs of relation and label, "
                "the inputs count other ones: build them with Inputs.of(graphs, cells=…)"
            )
        return self.W

    def _sum_of_states(self, x: Tensor, structure: Structure) -> Tensor:
        relations = structure.relations
        assert relations is not None
        x = with_halo(x, structure.halo)
        received = relational_product(x, self.relation_weights(), relations, mean=self.averages)
        return plus_product(received, own_rows(x, structure), self.W1)
