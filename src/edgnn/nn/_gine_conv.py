"""GINE, the graph isomorphism network with edge labels: today's common choice."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from edgnn.graphs import ListedBy, Relations, Structure
from edgnn.nn._batch_norm import BatchNorm
from edgnn.nn._conv import Conv, LabelRows, States, own_rows
from edgnn.nn._edges import Edges, OneHot, add_rows, times, with_zero_row
from edgnn.nn._noise import Noise
from edgnn.nn._parameters import Generators, Linear, glorot_, parameter
from edgnn.nn.ops import sparse_product, with_halo


class GINEConv(Conv):
    r"""The GINE layer (Hu et al. 2020).

    .. math::
        f'(v) = \sigma\Big(\mathrm{MLP}\Big((1 + \epsilon) f(v)
        + \sum_{(u,v) \in E} \mathrm{ReLU}(f(u) + e_{uv})\Big)\Big)

    :math:`e_{uv}` is a learned embedding of the edge label, plus a linear map of the continuous
    edge features; with ``direction="both"``, edges are also run against, with embeddings of their
    own. The MLP is a linear map, batch norm if asked for, ReLU, and a linear map. An edge whose
    label is not known has the embedding zero. Parallel edges each count.

    A message depends on the source and the label alone, so it is computed once for every pair of
    them, not for every edge.

    Parameters
    ----------
    in_dim, out_dim : int
        Width of the states before and after; that of :math:`e` is ``in_dim``.
    num_edge_labels : int
        Number of edge labels.
    bias : bool
        Whether the linear maps have one.
    batch_norm : bool
        Normalize inside the MLP, and after the activation.
    **options
        As of :class:`~edgnn.nn.GNNConv`, and ``edge_features``.

    Shapes
    ------
    x : (N, in_dim) → (N, out_dim);  with members, (M, N, in_dim) → (M, N, out_dim)
    """

    relations: ClassVar[ListedBy] = "sources"
    embeds_nodes = True

    def __init__(
        self,
        in_dim: int,
        out_dim: int,
        num_edge_labels: int = 1,
        *,
        bias: bool = True,
        batch_norm: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(in_dim, out_dim, num_edge_labels, batch_norm=batch_norm, **options)
        members, sides = self.members, self.num_sides
        self.eps = parameter(1, members=members)
        self.E = parameter(sides * num_edge_labels, in_dim, members=members)
        self.W_features = None
        if self.edge_features:
            self.W_features = parameter(sides * self.edge_features, in_dim, members=members)
        self.first = Linear(in_dim, out_dim, bias=bias, members=members)
        self.inner_norm = BatchNorm(out_dim, members=members) if batch_norm else None
        self.second = Linear(out_dim, out_dim, bias=bias, members=members)
        self.reset_parameters()

    def reset_parameters(self, generators: Generators = None) -> None:
        r"""Draw new weights; :math:`\epsilon` starts at zero."""
        super().reset_parameters(generators)
        nn.init.zeros_(self.eps)
        for weight in (self.E, self.W_features):
            if weight is not None:
                glorot_(weight, generators)
        for part in (self.first, self.inner_norm, self.second):
            if part is not None:
                part.reset_parameters(generators)

    def label_rows(self, node: Tensor | None, edge: Tensor) -> LabelRows:
        """Return the embeddings of edge labels; node labels are embedded by the model."""
        return [(self.E, edge if self.direction == "in" else torch.cat([edge, edge], dim=-1))]

    def plain_sum(self, x: Tensor | OneHot, edges: Edges) -> Tensor:
        """Return the sum inside the activation: a message per edge, a small network behind it."""
        x = x.dense(self.E.dtype) if isinstance(x, OneHot) else x
        embedding = with_zero_row(self.E)  # the last for edges whose label is not known
        sent = x.index_select(1, edges.source) + embedding.index_select(1, edges.relation)
        if self.W_features is not None and edges.features is not None:
            sent = sent + times(edges.features, self.W_features)
        received = add_rows(torch.relu(sent), edges.target, edges.nodes)
        state = self.first.plain_forward(x * (1 + self.eps.unsqueeze(-1)) + received)
        if self.inner_norm is not None:
            state = self.inner_norm(state)
        return self.second.plain_forward(torch.relu(state))

    def _check(self, structure: Structure) -> None:
        super()._check(structure)
        self._check_labels(structure)
        self._check_features(structure)

    def _sum(
        self, x: States, structure: Structure, noise: Noise | None, mask: Tensor | None
    ) -> Tensor:
        x = with_halo(self._entering(x, structure, noise, self.E.dtype), structure.halo)
        sources = structure.sources
        assert sources is not None
        states = sparse_product(sources.gather, x, sources.gather_t)
        sent = torch.relu(self._messages(states, sources))
        own = own_rows(x, structure) * (1 + self.eps.unsqueeze(-1))
        state = self.first(own + sparse_product(sources.spread, sent, sources.spread_t))
        if self.inner_norm is not None:
            state = self.inner_norm(state, mask)
        mapped: Tensor = self.second(torch.relu(state))
        return mapped

    def _messages(self, states: Tensor, sources: Relations) -> Tensor:
        """Add the embeddings of edges to the states of their sources, before the ReLU.

        One relation at a time, because its pairs are a slice; the reserved label has no embedding.
        """
        labels, width, parts = self.num_edge_labels, self.edge_features, []
        limits = list(pairwise(sources.offset))
        of_relations = torch.split(states, [stop - start for start, stop in limits], dim=-2)
        for relation, (start, stop) in enumerate(limits):
            side, label = divmod(relation, labels + 1)
            part = of_relations[relation]
            if start == stop:
                continue
            if label < labels:
                part = part + self.E[..., side * labels + label, :].unsqueeze(-2)
            if self.W_features is not None and sources.features is not None:
                of_side = self.W_features[..., side * width : (side + 1) * width, :]
                part = part + sources.features[..., start:stop, :] @ of_side
            parts.append(part)
        return torch.cat(parts, dim=-2) if parts else states
