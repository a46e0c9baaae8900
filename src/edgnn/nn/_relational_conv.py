"""Layers with weights per edge label and direction: R-GCN, and the edGNN of the joint refinement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from edgnn.errors import GraphError, ModelError
from edgnn.graphs import Cells, ListedBy, Structure
from edgnn.nn._conv import Conv, Known, own_rows
from edgnn.nn._noise import Noise, dropout
from edgnn.nn._parameters import Generators, glorot_, parameter, plus_product, plus_products
from edgnn.nn.ops import relational_product, with_halo


class RelationalConv(Conv):
    r"""Sum neighbors' states with weights of their relation.

    .. math:: f'(v) = \sigma\Big(f(v) W_1 + \sum_r \frac{1}{c_{v,r}} \sum_{u \in N_r(v)} f(u) W_r + b\Big)

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
                "cells are rows of weights per relation, and with bases there are none: leave out one of them"
            )
        self.aggregate, members = aggregate, self.members
        sides = 2 if self.direction == "both" else 1
        self.num_relations = num_edge_labels * sides
        self.W1 = parameter(in_dim, out_dim, members=members)
        # numbers, not weights: they are there also where a model is only outlined, on the meta
        # device
        self._cells = torch.as_tensor(
            () if cells is None else cells, dtype=torch.int64, device="cpu"
        )
        self.cells = None if cells is None else self._cells
        shape = (
            (self.num_relations if bases is None else bases, in_dim, out_dim)
            if cells is None
            else (len(cells), out_dim)
        )
        self.W = parameter(*shape, members=members)
        self.coefficients = (
            None if bases is None else parameter(self.num_relations, bases, members=members)
        )
        self.W_features = (
            parameter(sides * self.edge_features, out_dim, members=members)
            if self.edge_features
            else None
        )
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
        """Return :math:`W_r` for every relation, shape (…, R, in_dim, out_dim); pairs that are no cells have zeros."""
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

    def _check(self, structure: Structure) -> None:
        super()._check(structure)
        if structure.relations is None:
            raise GraphError(
                "the structure does not list neighbors per relation: build it with Structure.of(graphs, relations=True)"
            )
        if structure.relations.num_relations != self.num_relations:
            raise GraphError(
                f"the layer was made for {self.num_relations} relations, the structure has {structure.relations.num_relations}"
            )
        self._check_features(structure)

    def _sum(
        self, x: Tensor | Known, structure: Structure, noise: Noise | None, mask: Tensor | None
    ) -> Tensor:
        dropping = self.training and self.input_dropout > 0
        if isinstance(x, Known) and x.cells is not None and not dropping:
            met = x.cells.means if self.aggregate == "mean" else x.cells.sums
            total = plus_products(None, [(x.H, self.W1), (met, self._cell_weights(x.cells))])
        else:
            x = x.dense(self.W1.dtype) if isinstance(x, Known) else x
            total = self._of_states(
                dropout(x, self.input_dropout, dropping, noise, structure.nodes, own_rate=False)
                if dropping
                else x,
                structure,
            )
        if self.W_features is not None and structure.F_in is not None:
            total = plus_product(
                total, structure.F_in, self.W_features[..., : self.edge_features, :]
            )
            if structure.F_out is not None:
                total = plus_product(
                    total, structure.F_out, self.W_features[..., self.edge_features :, :]
                )
        return total

    def _cell_weights(self, cells: Cells) -> Tensor:
        """Return the rows of the weights that belong to cells."""
        if self.cells is None:
            rows = self.relation_weights().flatten(-3, -2)
            return rows if len(cells.keys) == rows.shape[-2] else rows.index_select(-2, cells.index)
        if not torch.equal(self.cells, cells.keys):
            raise GraphError(
                f"the layer has weights for {len(self.cells):,} pairs of relation and label, the inputs count other ones: "
                "build them with Inputs.of(graphs, cells=…)"
            )
        return self.W

    def _of_states(self, x: Tensor, structure: Structure) -> Tensor:
        relations = structure.relations
        assert relations is not None
        x = with_halo(x, structure.halo)
        received = relational_product(
            x, self.relation_weights(), relations, mean=self.aggregate == "mean"
        )
        return plus_product(received, own_rows(x, structure), self.W1)
