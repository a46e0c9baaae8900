"""The programs that are exported: graphs as tensors in, probabilities or values out, in torch's own operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from edgnn.models.networks._export_layers import Map, State, kept, layer_of
from edgnn.models.networks._export_wiring import (
    COUNTED_LABELS,
    OneHot,
    Wiring,
    add_rows,
    degrees_of,
    known,
    times,
)
from edgnn.nn import GraphModel, Model, NodeModel

if TYPE_CHECKING:
    from edgnn.models.networks._base import Estimator


class Program(nn.Module):
    """What both programs share: from labels and edges to states, and from outputs to what the estimator predicts."""

    embedding: Tensor | None
    degree_label: Tensor | None
    output_mean: Tensor | None
    output_std: Tensor | None

    def __init__(self, estimator: Estimator) -> None:
        super().__init__()
        model, coder, encoding = estimator._model, estimator._coder, estimator._encoding
        members, some = model.members, next(model.parameters())
        self.dtype, self.labels = some.dtype, model.node_labels
        self.wires: dict[str, Any] = {
            "labels": len(coder.edge_vocabulary),
            "direction": model.config["direction"],
            "once": coder.multiplicity == "once",
            "dtype": some.dtype,
        }
        self.degree, self.cells = coder.degree_labels, model.config.get("cells") is not None
        table = (
            None
            if self.degree is None
            else _degree_table(list(coder.node_vocabulary)).to(some.device)
        )
        self.register_buffer("degree_label", table)
        self.register_buffer(
            "embedding", None if model.embedding is None else kept(model.embedding, members)
        )
        self.layers = nn.ModuleList(layer_of(conv) for conv in model.convs)
        for name in ("output_mean", "output_std"):
            scale = kept(getattr(model, name), members).unsqueeze(1) if model.scaled else None
            self.register_buffer(name, scale)
        self.task, self.flat = encoding.task, encoding.flat
        self.temperature = float(getattr(estimator, "temperature_", 1.0))

    def input(
        self, node_label: Tensor, source: Tensor, target: Tensor, node_features: Tensor | None
    ) -> State:
        """Return the states before the first layer."""
        if self.degree is not None:
            assert self.degree_label is not None
            degree = degrees_of(
                source, target, node_label.shape[0], self.degree, self.wires["once"]
            )
            node_label = self.degree_label.index_select(
                0, degree.clamp(max=self.degree_label.shape[0] - 1)
            )
        x = OneHot(known(node_label, self.labels), self.labels, node_features)
        if self.embedding is not None:
            return x.times(self.embedding)
        return x if self.cells or self.labels > COUNTED_LABELS else x.dense(self.dtype)

    def states(
        self,
        node_label: Tensor,
        edge_source: Tensor,
        edge_target: Tensor,
        edge_label: Tensor,
        node_features: Tensor | None,
        edge_features: Tensor | None,
    ) -> list[State]:
        """Return the states before every layer and after the last."""
        node_features = None if node_features is None else node_features.to(self.dtype)
        edge_features = None if edge_features is None else edge_features.to(self.dtype)
        wiring = Wiring(
            edge_source, edge_target, edge_label, edge_features, node_label.shape[0], **self.wires
        )
        states = [self.input(node_label, edge_source, edge_target, node_features)]
        for layer in self.layers:
            states.append(layer(states[-1], wiring))
        return states

    def answer(self, outputs: Tensor) -> Tensor:
        """Return probabilities or values, averaged over the members: (M, n, K) → (n, K)."""
        if self.output_mean is not None and self.output_std is not None:
            outputs = torch.addcmul(self.output_mean, outputs, self.output_std)
        outputs = outputs.double()
        if self.task == "classes":
            return torch.softmax(outputs / self.temperature, dim=-1).mean(dim=0)
        if self.task == "labels":
            return torch.sigmoid(outputs / self.temperature).mean(dim=0)
        values = outputs.mean(dim=0)
        return values[:, 0] if self.flat else values


class GraphProgram(Program):
    """A model of graphs; graph g has the nodes ``graph_offset[g]`` to ``graph_offset[g + 1]``."""

    def __init__(self, estimator: Estimator) -> None:
        super().__init__(estimator)
        model = estimator._model
        assert isinstance(model, GraphModel)
        self.head = Map(model.head, model.members)
        self.readout, self.include_input = model.readout, model.include_input

    def forward(
        self,
        node_label: Tensor,
        edge_source: Tensor,
        edge_target: Tensor,
        edge_label: Tensor,
        graph_offset: Tensor,
        node_features: Tensor | None = None,
        edge_features: Tensor | None = None,
    ) -> Tensor:
        """Return the probabilities or values of every graph."""
        states = self.states(
            node_label, edge_source, edge_target, edge_label, node_features, edge_features
        )
        number = torch.arange(node_label.shape[0], device=graph_offset.device)
        owner = torch.searchsorted(graph_offset, number, right=True) - 1
        start, total = 0, None
        for state in states if self.include_input else states[1:]:
            part, width = self.part(state, start, owner, graph_offset)
            total, start = part if total is None else total + part, start + width
        assert total is not None
        return self.answer(total if self.head.bias is None else total + self.head.bias)

    def part(
        self, state: State, start: int, owner: Tensor, graph_offset: Tensor
    ) -> tuple[Tensor, int]:
        """Return what the states of one layer add to the outputs, and how many rows of the head they take."""
        if isinstance(state, OneHot):
            width = state.labels + (0 if state.features is None else state.features.shape[1])
            return self.pooled(
                state.times(self.head.weight[:, start : start + width]), owner, graph_offset
            ), width
        width = state.shape[2]
        return times(
            self.pooled(state, owner, graph_offset), self.head.weight[:, start : start + width]
        ), width

    def pooled(self, x: Tensor, owner: Tensor, graph_offset: Tensor) -> Tensor:
        """Return the readout: (M, N, d) → (M, G, d); zeros for a graph without nodes."""
        count = graph_offset.shape[0] - 1
        if self.readout == "max":
            place = owner.view(1, -1, 1).expand(x.shape)
            return x.new_zeros(x.shape[0], count, x.shape[2]).scatter_reduce(
                1, place, x, "amax", include_self=False
            )
        total = add_rows(x, owner, count)
        if self.readout == "sum":
            return total
        return total / (graph_offset[1:] - graph_offset[:-1]).clamp(min=1).to(
            total.dtype
        ).unsqueeze(1)


class NodeProgram(Program):
    """A model of nodes; ``nodes`` are those that are asked for."""

    def __init__(self, estimator: Estimator) -> None:
        super().__init__(estimator)
        model = estimator._model
        assert isinstance(model, NodeModel)
        self.head = Map(model.head, model.members) if hasattr(model, "head") else None

    def forward(
        self,
        node_label: Tensor,
        edge_source: Tensor,
        edge_target: Tensor,
        edge_label: Tensor,
        nodes: Tensor,
        node_features: Tensor | None = None,
        edge_features: Tensor | None = None,
    ) -> Tensor:
        """Return the probabilities or values of the nodes."""
        state = self.states(
            node_label, edge_source, edge_target, edge_label, node_features, edge_features
        )[-1]
        assert isinstance(state, Tensor)
        chosen = state.index_select(1, nodes)
        return self.answer(chosen if self.head is None else self.head(chosen))


def program_of(estimator: Estimator) -> Program:
    """Return what a fitted estimator predicts, as a module of torch's own operations."""
    model: Model = estimator._model
    return (GraphProgram if isinstance(model, GraphModel) else NodeProgram)(estimator).eval()


def _degree_table(degrees: list[Any]) -> Tensor:
    """Return the label number of every degree up to one more than the largest; those without a label have one behind all."""
    table = torch.full((max(degrees, default=0) + 2,), len(degrees), dtype=torch.int64)
    for number, degree in enumerate(degrees):
        table[degree] = number
    return table
