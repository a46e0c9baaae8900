"""Layers with weights per edge label and direction: R-GCN, and the edGNN of the joint refinement."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import torch
from torch import Tensor, nn

from edgnn.errors import GraphError, ModelError
from edgnn.graphs import Structure
from edgnn.nn._conv import Conv, Known
from edgnn.nn._noise import Noise, dropout
from edgnn.nn._parameters import Generators, glorot_, parameter, plus_product
from edgnn.ops import sparse_product


class RelationalConv(Conv):
    r"""Sum neighbors' states with weights of their relation.

    .. math:: f'(v) = \sigma\Big(f(v) W_1 + \sum_r \frac{1}{c_{v,r}} \sum_{u \in N_r(v)} f(u) W_r + b\Big)

    A relation is an edge label and, with ``direction="both"``, a direction. With ``aggregate="mean"``, :math:`c_{v,r}` is the
    number of edges of relation r at v, and the layer is R-GCN (Schlichtkrull et al. 2018); with ``"sum"`` it is one, and the
    layer tells apart whatever the ``joint`` refinement does. Edges are counted one by one, also parallel ones.

    States are added up per (relation, node) first and multiplied then, one product per relation.

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
    **options
        As of :class:`~edgnn.nn.GNNConv`, and ``edge_features``, whose sums over edges get weights of their own.

    Shapes
    ------
    x : (N, in_dim) → (N, out_dim);  with members, (M, N, in_dim) → (M, N, out_dim)
    """

    def __init__(
        self,
        in_dim: int,
        out_dim: int,
        num_edge_labels: int,
        *,
        aggregate: Literal["sum", "mean"] = "sum",
        bases: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(in_dim, out_dim, num_edge_labels, **options)
        if aggregate not in ("sum", "mean"):
            raise ModelError(f"aggregate={aggregate!r}: choose 'sum' or 'mean'")
        self.aggregate, members = aggregate, self.members
        sides = 2 if self.direction == "both" else 1
        self.num_relations = num_edge_labels * sides
        self.W1 = parameter(in_dim, out_dim, members=members)
        self.W = parameter(self.num_relations if bases is None else bases, in_dim, out_dim, members=members)
        self.coefficients = None if bases is None else parameter(self.num_relations, bases, members=members)
        self.W_features = parameter(sides * self.edge_features, out_dim, members=members) if self.edge_features else None
        self.reset_parameters()

    def reset_parameters(self, generators: Generators = None) -> None:
        """Draw new weights."""
        super().reset_parameters(generators)
        if self.bias is not None:
            nn.init.zeros_(self.bias)
        for weight in (self.W1, self.W, self.coefficients, self.W_features):
            if weight is not None:
                glorot_(weight, generators)

    def relation_weights(self) -> Tensor:
        """Return :math:`W_r` for every relation, shape (…, R, in_dim, out_dim)."""
        if self.coefficients is None:
            return self.W
        flat = self.coefficients @ self.W.flatten(-2)
        return flat.view(*flat.shape[:-1], self.in_dim, self.out_dim)

    def _structure(self, x: Tensor, edge_index: Tensor, edge_type: Tensor | None) -> Structure:
        return Structure.from_edge_index(
            edge_index,
            edge_type,
            num_nodes=x.shape[-2],
            num_edge_labels=self.num_edge_labels,
            direction=self.direction,
            relations=True,
            dtype=torch.float64 if x.dtype == torch.float64 else torch.float32,
        )

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

    def _sum(self, x: Tensor | Known, structure: Structure, noise: Noise | None) -> Tensor:
        if isinstance(x, Known):
            x = x.dense(self.W1.dtype)
        relations, W = structure.relations, self.relation_weights()
        assert relations is not None
        if self.training and self.input_dropout:
            x = dropout(x, self.input_dropout, True, noise, own_rate=False)
        received = sparse_product(relations.gather, x)
        if self.aggregate == "mean":
            counts = relations.gather.indptr.diff().clamp(min=1).to(x.dtype)
            received = received / counts.view(*received.shape[:-1] if relations.gather.blocks > 1 else (-1,), 1)
        sizes = [stop - start for start, stop in pairwise(relations.offset)]
        by_relation = zip(torch.split(received, sizes, dim=-2), W.unbind(-3), strict=True)
        sent = [torch.matmul(states, weight) for states, weight in by_relation if states.shape[-2]]
        total = x @ self.W1
        if sent:
            total = total + sparse_product(relations.spread, torch.cat(sent, dim=-2))
        if self.W_features is not None and structure.F_in is not None:
            total = plus_product(total, structure.F_in, self.W_features[..., : self.edge_features, :])
            if structure.F_out is not None:
                total = plus_product(total, structure.F_out, self.W_features[..., self.edge_features :, :])
        return total
