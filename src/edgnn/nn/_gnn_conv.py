"""The paper's layers: Eq. 3 without edge labels, Eq. 4 with them."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from edgnn.graphs import CSR, Structure
from edgnn.nn._conv import Conv, LabelRows, Scheme, States, SummedStates, own_rows
from edgnn.nn._edges import Edges, OneHot, either_times, times
from edgnn.nn._noise import Noise, dropout
from edgnn.nn._parameters import (
    Generators,
    glorot_,
    linear_,
    parameter,
    plus_product,
    plus_products,
)
from edgnn.nn.ops import constant_product, fits_layer, layer_sum, neighbor_sum


class GNNConv(Conv):
    r"""The 1-GNN layer, the paper's Eq. 3.

    .. math:: f'(v) = \sigma\Big(f(v) W_1 + \sum_{u \in N(v)} f(u) W_2 + b\Big)

    Parameters
    ----------
    in_dim, out_dim : int
        Width of the states before and after.
    activation : str or callable
        :math:`\sigma`: ``"relu"``, ``"cosine"``, ``"tanh"``, …
    dropout, input_dropout : float
        Rate at which entries of the result, or of the states that enter, are dropped while
        training. With ``dropout=None`` the result is left whole whatever rates members have.
    batch_norm : bool
        Normalize after the activation, as the authors' code does.
    bias : bool
        Whether there is a b; the paper has none.
    direction : {"both", "in"}
        Of the structures the layer takes.
    multiplicity : {"once", "per-edge"}, optional
        Of the structures the layer takes; with ``None``, either.
    members : int, optional
        So many layers at once: every weight gets a leading axis.

    Shapes
    ------
    x : (N, in_dim) → (N, out_dim);  with members, (M, N, in_dim) → (M, N, out_dim)
    """

    scheme: ClassVar[Scheme] = "node"
    reads_labels = False
    reads_sums = True

    def __init__(self, in_dim: int, out_dim: int, num_edge_labels: int = 1, **options: Any) -> None:
        super().__init__(in_dim, out_dim, num_edge_labels, **options)
        self.W1 = parameter(in_dim, out_dim, members=self.members)
        self.W2 = parameter(in_dim, out_dim, members=self.members)
        if type(self) is GNNConv:
            self.reset_parameters()

    def reset_parameters(self, generators: Generators = None) -> None:
        """Draw new weights: all of a layer's as those of one linear map of all it adds up."""
        super().reset_parameters(generators)
        linear_(self._weights(), generators, self.bias)

    def _weights(self) -> list[Tensor]:
        """Return the matrices that the inputs are multiplied with."""
        return [self.W1, self.W2]

    def label_rows(self, node: Tensor | None, edge: Tensor) -> LabelRows:
        """Return the weights of node labels, where the states that enter start with these."""
        if node is None:
            return []
        labels = node.shape[-1]
        return [(self.W1[..., :labels, :], node), (self.W2[..., :labels, :], node)]

    def plain_sum(self, x: Tensor | OneHot, edges: Edges) -> Tensor:
        """Return the sum inside the activation: the formula as it stands."""
        own = either_times(x, self.W1)
        if isinstance(x, OneHot):
            return own + edges.neighbor_sum(x.times(self.W2))
        return own + times(edges.neighbor_sum(x), self.W2)

    def _biased(
        self, x: States, structure: Structure, noise: Noise | None, mask: Tensor | None
    ) -> Tensor:
        if isinstance(x, SummedStates) or self._drops_inputs or x.dim() != self.W1.dim():
            return super()._biased(x, structure, noise, mask)
        if not fits_layer(x, structure, (self.in_dim, self.out_dim)):
            return super()._biased(x, structure, noise, mask)
        sparse, constants, weights = [], [], []
        for counts, weight in self._edge_products(structure):
            if isinstance(counts, CSR):
                sparse.append((counts, weight))
            else:
                constants.append(counts)
                weights.append(weight)
        addend = plus_products(None, sparse) if sparse else None
        return layer_sum(x, structure, self.W1, self.W2, constants, weights, addend, self.bias)

    def _sum(
        self, x: States, structure: Structure, noise: Noise | None, mask: Tensor | None
    ) -> Tensor:
        edges = self._edge_products(structure)
        if isinstance(x, SummedStates) and not self._drops_inputs:
            return plus_products(None, [(x.H, self.W1), (x.AH, self.W2), *edges])
        if isinstance(x, SummedStates) and x.one_hot:
            return plus_products(self._sum_of_dropped(x, structure, noise), edges)
        x = self._entering(x, structure, noise, self.W1.dtype)
        own = own_rows(x, structure)
        # the sum over neighbors runs over the narrower states, unless more of them would have to be
        # multiplied first
        if self.out_dim * x.shape[-2] <= self.in_dim * own.shape[-2]:
            total = plus_product(neighbor_sum(x @ self.W2, structure), own, self.W1)
        else:
            total = plus_product(own @ self.W1, neighbor_sum(x, structure), self.W2)
        return plus_products(total, edges)

    def _sum_of_dropped(self, x: SummedStates, structure: Structure, noise: Noise | None) -> Tensor:
        """Return what nodes add after input dropout.

        A one-hot row has a single entry, so to drop entries is to drop rows, and one random number
        per row does for any number of labels.
        """
        own = constant_product(x.all, self.W1)
        ones = torch.ones_like(own[..., :1])
        keep = dropout(ones, self.input_dropout, True, noise, structure.nodes, own_rate=False)
        sent = constant_product(x.all, self.W2) * keep
        return own_rows(own * keep, structure) + neighbor_sum(sent, structure)

    @property
    def _drops_inputs(self) -> bool:
        return self.training and self.input_dropout > 0

    def _edge_products(self, structure: Structure) -> list[tuple[Tensor | CSR, Tensor]]:
        """Return what is added for edges: constants with their weights."""
        return []


class EdGNNConv(GNNConv):
    r"""The edGNN layer, the paper's Eq. 4.

    .. math::
        f'(v) = \sigma\Big(f(v) W_1 + \sum_{u \in N(v)} f(u) W_2
        + \sum_{(u,v) \in E} f_E(u,v) W_3 + \sum_{(v,u) \in E} f_E(v,u) W_4 + b\Big)

    that is :math:`H' = \sigma(H W_1 + A H W_2 + C_{in} W_3 + C_{out} W_4 + b)`: one sparse product
    whatever the number of edge labels. :math:`f_E` is the one-hot label, or a learned embedding of
    it, with the continuous edge features beside it.

    Parameters
    ----------
    in_dim, out_dim : int
        Width of the states before and after.
    num_edge_labels : int
        Number of edge labels.
    edge_features : int
        Number of continuous edge features.
    edge_embedding : int, optional
        Width of a learned :math:`f_E`; one-hot without it.
    direction : {"both", "in"}
        ``"in"`` is the paper's *reg*: incoming edges only, no :math:`W_4`.
    **options
        As of :class:`GNNConv`.

    Shapes
    ------
    x : (N, in_dim) → (N, out_dim);  with members, (M, N, in_dim) → (M, N, out_dim)
    """

    scheme: ClassVar[Scheme] = "separate"
    reads_labels = True
    own_options = ("edge_embedding",)

    def __init__(
        self,
        in_dim: int,
        out_dim: int,
        num_edge_labels: int,
        *,
        edge_embedding: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(in_dim, out_dim, num_edge_labels, **options)
        members, width = self.members, num_edge_labels
        self.edge_embedding = None
        if edge_embedding is not None:
            self.edge_embedding = parameter(num_edge_labels, edge_embedding, members=members)
            width = edge_embedding
        rows = width + self.edge_features
        self.W3 = parameter(rows, out_dim, members=members)
        self.W4 = parameter(rows, out_dim, members=members) if self.direction == "both" else None
        self.reset_parameters()

    def reset_parameters(self, generators: Generators = None) -> None:
        """Draw new weights."""
        super().reset_parameters(generators)
        if self.edge_embedding is not None:
            glorot_(self.edge_embedding, generators)

    def _weights(self) -> list[Tensor]:
        return [*super()._weights(), self.W3, *([] if self.W4 is None else [self.W4])]

    def label_rows(self, node: Tensor | None, edge: Tensor) -> LabelRows:
        """Return the weights of labels."""
        rows = super().label_rows(node, edge)
        if self.edge_embedding is not None:
            return [*rows, (self.edge_embedding, edge)]
        sides = [weight for weight in (self.W3, self.W4) if weight is not None]
        return rows + [(weight[..., : edge.shape[-1], :], edge) for weight in sides]

    def plain_sum(self, x: Tensor | OneHot, edges: Edges) -> Tensor:
        """Return the sum inside the activation: the formula as it stands."""
        total = super().plain_sum(x, edges)
        for side, (of_labels, of_features) in enumerate(self._sides()):
            total = total + edges.label_product(side, of_labels)
            if self.edge_features:
                total = total + times(edges.feature_sums[side], of_features)
        return total

    def _check(self, structure: Structure) -> None:
        super()._check(structure)
        self._check_labels(structure)
        self._check_features(structure)

    def _sides(self) -> list[tuple[Tensor, Tensor]]:
        """Return the weights of labels and those of features, of entering and of leaving edges."""
        sides = []
        for weight in (self.W3, self.W4):
            if weight is None:
                continue
            split = weight.shape[-2] - self.edge_features
            of_labels = weight[..., :split, :]
            if self.edge_embedding is not None:
                of_labels = self.edge_embedding @ of_labels
            sides.append((of_labels, weight[..., split:, :]))
        return sides

    def _edge_products(self, structure: Structure) -> list[tuple[Tensor | CSR, Tensor]]:
        products: list[tuple[Tensor | CSR, Tensor]] = []
        constants = ((structure.C_in, structure.F_in), (structure.C_out, structure.F_out))
        for (of_labels, of_features), (counts, features) in zip(
            self._sides(), constants, strict=False
        ):
            if counts is None:
                continue
            products.append((counts, of_labels))
            if features is not None:
                products.append((features, of_features))
        return products
