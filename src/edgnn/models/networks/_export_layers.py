"""The layers of an exported program: the formulas of :mod:`edgnn.nn`, in torch's own operations, with the trained weights."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from edgnn.errors import ModelError
from edgnn.models.networks._export_wiring import OneHot, Wiring, add_rows, times, with_zero_row
from edgnn.nn import BatchNorm, Conv, EdGNNConv, GINEConv, GNNConv, Linear, RelationalConv

State = Tensor | OneHot


def kept(weight: Tensor, members: int | None) -> Tensor:
    """Return a copy of weights that has the members' axis in front."""
    copy = weight.detach().clone(memory_format=torch.contiguous_format)
    return copy.unsqueeze(0) if members is None else copy


class Map(nn.Module):
    """A linear map per member: (M, n, in) → (M, n, out)."""

    weight: Tensor
    bias: Tensor | None

    def __init__(self, linear: Linear, members: int | None) -> None:
        super().__init__()
        self.register_buffer("weight", kept(linear.weight, members))
        self.register_buffer(
            "bias", None if linear.bias is None else kept(linear.bias, members).unsqueeze(1)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Map ``x``."""
        mapped = times(x, self.weight)
        return mapped if self.bias is None else mapped + self.bias


class Norm(nn.Module):
    """Batch norm with its running statistics: a scale and a shift."""

    scale: Tensor
    shift: Tensor

    def __init__(self, norm: BatchNorm, members: int | None) -> None:
        super().__init__()
        scale = norm.weight * torch.rsqrt(norm.running_var + norm.eps)
        self.register_buffer("scale", kept(scale, members).unsqueeze(1))
        self.register_buffer(
            "shift", kept(norm.bias - norm.running_mean * scale, members).unsqueeze(1)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Normalize ``x``."""
        return torch.addcmul(self.shift, x, self.scale)


class Layer(nn.Module, ABC):
    """What all layers share: bias, activation and batch norm."""

    bias: Tensor | None

    def __init__(self, conv: Conv) -> None:
        super().__init__()
        self.activation, members = conv.activation, conv.members
        self.register_buffer(
            "bias", None if conv.bias is None else kept(conv.bias, members).unsqueeze(1)
        )
        self.norm = None if conv.norm is None else Norm(conv.norm, members)

    def forward(self, x: State, wiring: Wiring) -> Tensor:
        """Return the next states: (M, N, in) → (M, N, out)."""
        total = self.sum(x, wiring)
        state = self.activation(total if self.bias is None else total + self.bias)
        return state if self.norm is None else self.norm(state)

    @abstractmethod
    def sum(self, x: State, wiring: Wiring) -> Tensor:
        """Return the sum inside the activation, but for the bias."""


class PaperLayer(Layer):
    """Eq. 3 and Eq. 4: neighbors' states, and counts of edge labels."""

    W1: Tensor
    W2: Tensor

    def __init__(self, conv: GNNConv) -> None:
        super().__init__(conv)
        self.register_buffer("W1", kept(conv.W1, conv.members))
        self.register_buffer("W2", kept(conv.W2, conv.members))
        self.sides, self.features = 0, conv.edge_features
        if isinstance(conv, EdGNNConv):
            for weight in (conv.W3, conv.W4):
                if weight is not None:
                    self._keep_side(conv, weight)

    def _keep_side(self, conv: EdGNNConv, weight: Tensor) -> None:
        split = weight.shape[-2] - conv.edge_features
        of_labels = weight[..., :split, :]
        if conv.edge_embedding is not None:
            of_labels = conv.edge_embedding @ of_labels
        self.register_buffer(f"labels_{self.sides}", kept(of_labels, conv.members))
        if self.features:
            self.register_buffer(
                f"features_{self.sides}", kept(weight[..., split:, :], conv.members)
            )
        self.sides += 1

    def sum(self, x: State, wiring: Wiring) -> Tensor:
        """Return the sum inside the activation."""
        pairs = wiring.neighbors
        if isinstance(x, OneHot):
            sent = x.times(self.W2).index_select(1, pairs.column) * pairs.weight.unsqueeze(1)
            total = x.times(self.W1) + add_rows(sent, pairs.row, wiring.nodes)
        else:
            sent = x.index_select(1, pairs.column) * pairs.weight.unsqueeze(1)
            total = times(x, self.W1) + times(add_rows(sent, pairs.row, wiring.nodes), self.W2)
        for side in range(self.sides):
            total = total + _of_edges(wiring, side, self.get_buffer(f"labels_{side}"))
            if self.features:
                total = total + times(wiring.sums[side], self.get_buffer(f"features_{side}"))
        return total


class RelationalLayer(Layer):
    """A weight per edge label and direction, with sums or with means."""

    W1: Tensor
    W: Tensor
    cells: Tensor | None
    W_features: Tensor | None

    def __init__(self, conv: RelationalConv) -> None:
        super().__init__(conv)
        members, features = conv.members, conv.W_features
        self.mean, self.relations, self.width = (
            conv.aggregate == "mean",
            conv.num_relations,
            conv.edge_features,
        )
        self.register_buffer("W1", kept(conv.W1, members))
        if conv.cells is None:
            # (M, in, R + 1, out): behind the relations, zeros for edges whose label is not known
            weight = kept(conv.relation_weights(), members).transpose(1, 2)
            self.register_buffer(
                "W", torch.cat([weight, torch.zeros_like(weight[:, :, :1])], dim=2)
            )
        else:
            self.register_buffer("W", with_zero_row(kept(conv.W, members)))
        self.register_buffer("cells", None if conv.cells is None else conv.cells.clone())
        self.register_buffer("W_features", None if features is None else kept(features, members))

    def sum(self, x: State, wiring: Wiring) -> Tensor:
        """Return the sum inside the activation."""
        if isinstance(x, OneHot):
            total, sent = x.times(self.W1), self._sent_by_label(x, wiring)
        else:
            total, sent = times(x, self.W1), self._sent(x, self.W, wiring)
        if self.mean:
            sent = sent * self._shares(wiring).unsqueeze(1)
        total = total + add_rows(sent, wiring.target, wiring.nodes)
        for side, sums in enumerate(wiring.sums if self.W_features is not None else ()):
            assert self.W_features is not None
            total = total + times(
                sums, self.W_features[:, side * self.width : (side + 1) * self.width]
            )
        return total

    def _sent(self, x: Tensor, weight: Tensor, wiring: Wiring) -> Tensor:
        """Return what goes over each edge: every state times every relation's weight, and of those the ones that are sent."""
        mapped = times(x, weight.flatten(2, 3)).view(weight.shape[0], -1, weight.shape[3])
        return mapped.index_select(1, wiring.source * (self.relations + 1) + wiring.relation)

    def _sent_by_label(self, x: OneHot, wiring: Wiring) -> Tensor:
        """Return what goes over each edge: a row of the weights for its relation and its source's label."""
        label = x.label.index_select(0, wiring.source)
        both_known = (wiring.relation < self.relations) & (label < x.labels)
        if self.cells is not None:
            key = wiring.relation * x.labels + label
            place = torch.searchsorted(self.cells, key)
            found = (
                torch.cat([self.cells, self.cells.new_full((1,), -1)]).index_select(0, place) == key
            )
            return self.W.index_select(
                1, torch.where(both_known & found, place, self.cells.shape[0])
            )
        rows = with_zero_row(self.W[:, : x.labels].flatten(1, 2))
        key = label * (self.relations + 1) + wiring.relation
        sent = rows.index_select(1, torch.where(both_known, key, rows.shape[1] - 1))
        return (
            sent
            if x.features is None
            else sent + self._sent(x.features, self.W[:, x.labels :], wiring)
        )

    def _shares(self, wiring: Wiring) -> Tensor:
        """Return one over the number of edges that an edge's target has of its relation."""
        key = wiring.target * (self.relations + 1) + wiring.relation
        ones = torch.ones_like(key, dtype=self.W.dtype)
        counts = ones.new_zeros(wiring.nodes * (self.relations + 1)).index_add(0, key, ones)
        return 1 / counts.index_select(0, key)


class GINELayer(Layer):
    """GINE: a message per edge, and a small network behind their sum."""

    E: Tensor
    eps: Tensor
    W_features: Tensor | None

    def __init__(self, conv: GINEConv) -> None:
        super().__init__(conv)
        members, features = conv.members, conv.W_features
        self.register_buffer("eps", kept(conv.eps, members).unsqueeze(-1))
        self.register_buffer("E", with_zero_row(kept(conv.E, members)))
        self.register_buffer("W_features", None if features is None else kept(features, members))
        self.first, self.second = Map(conv.first, members), Map(conv.second, members)
        self.inner_norm = None if conv.inner_norm is None else Norm(conv.inner_norm, members)

    def sum(self, x: State, wiring: Wiring) -> Tensor:
        """Return the sum inside the activation."""
        assert isinstance(x, Tensor)
        sent = x.index_select(1, wiring.source) + self.E.index_select(1, wiring.relation)
        if self.W_features is not None and wiring.features is not None:
            sent = sent + times(wiring.features, self.W_features)
        state = self.first(
            x * (1 + self.eps) + add_rows(torch.relu(sent), wiring.target, wiring.nodes)
        )
        mapped: Tensor = self.second(
            torch.relu(state if self.inner_norm is None else self.inner_norm(state))
        )
        return mapped


def layer_of(conv: Conv) -> Layer:
    """Return the layer that computes what ``conv`` does when it is not trained."""
    if isinstance(conv, RelationalConv):
        return RelationalLayer(conv)
    if isinstance(conv, GINEConv):
        return GINELayer(conv)
    if isinstance(conv, GNNConv):
        return PaperLayer(conv)
    raise ModelError(
        f"a layer of the type {type(conv).__name__} has no exported form: train with conv='edgnn', 'gnn', 'joint', 'rgcn' or 'gine'"
    )


def _of_edges(wiring: Wiring, side: int, weight: Tensor) -> Tensor:
    counts = wiring.counts[side]
    if isinstance(counts, Tensor):
        return times(counts, weight)
    label, place = counts
    return add_rows(label.times(weight), place, wiring.nodes)
