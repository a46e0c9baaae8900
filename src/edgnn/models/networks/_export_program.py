"""The programs that are exported: graphs as tensors in, probabilities or values out.

All in torch's own operations: the layers are copies of the trained ones, in their plain form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from edgnn.nn import COUNTED_LABELS, Edges, GraphModel, Model, NodeModel, OneHot

if TYPE_CHECKING:
    from edgnn.models.networks._base import Estimator


State = Tensor | OneHot


class Program(nn.Module):
    """What both programs share: from labels and edges to states, from outputs to predictions."""

    degree_label: Tensor | None

    def __init__(self, estimator: Estimator) -> None:
        super().__init__()
        coder, encoding = estimator._coder, estimator._encoding
        self.model = _frozen(estimator._model)
        some = next(self.model.parameters())
        self.dtype, self.labels = some.dtype, self.model.node_labels
        self.edge_options: dict[str, Any] = {
            "labels": len(coder.edge_vocabulary),
            "direction": self.model.config["direction"],
            "once": coder.multiplicity == "once",
            "dtype": some.dtype,
        }
        self.degree = coder.degree_labels
        self.cells = self.model.config.get("cells") is not None
        table = None
        if self.degree is not None:
            table = _degree_table(list(coder.node_vocabulary)).to(some.device)
        self.register_buffer("degree_label", table)
        self.task, self.flat = encoding.task, encoding.flat
        self.temperature = float(getattr(estimator, "temperature_", 1.0))

    def input(self, node_label: Tensor, edges: Edges, node_features: Tensor | None) -> State:
        """Return the states before the first layer."""
        if self.degree is not None:
            assert self.degree_label is not None
            largest = self.degree_label.shape[0] - 1
            degree = edges.degrees(self.degree).clamp(max=largest)
            node_label = self.degree_label.index_select(0, degree)
        x = OneHot.of(node_label, self.labels, node_features)
        if self.model.embedding is not None:
            return x.times(self.model.embedding)
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
        nodes = node_label.shape[0]
        edges = Edges(
            edge_source, edge_target, edge_label, edge_features, nodes, **self.edge_options
        )
        states = [self.input(node_label, edges, node_features)]
        for layer in self.model.convs:
            states.append(layer.plain_forward(states[-1], edges))
        return states

    def answer(self, outputs: Tensor) -> Tensor:
        """Return probabilities or values, averaged over the members: (M, n, K) → (n, K)."""
        outputs = self.model.in_units(outputs).double()
        if self.task == "classes":
            return torch.softmax(outputs / self.temperature, dim=-1).mean(dim=0)
        if self.task == "labels":
            return torch.sigmoid(outputs / self.temperature).mean(dim=0)
        values = outputs.mean(dim=0)
        return values[:, 0] if self.flat else values


class GraphProgram(Program):
    """A model of graphs; graph g has the nodes ``graph_offset[g]`` to ``graph_offset[g + 1]``."""

    model: GraphModel

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
        head, start, total = self.model.head, 0, None
        for state in states if self.model.include_input else states[1:]:
            width = state.width if isinstance(state, OneHot) else state.shape[2]
            weight = head.weight[:, start : start + width]
            added = self.mapped(state, weight, owner, graph_offset)
            total = added if total is None else total + added
            start += width
        assert total is not None
        return self.answer(total if head.bias is None else total + head.bias.unsqueeze(1))

    def mapped(self, state: State, weight: Tensor, owner: Tensor, graph_offset: Tensor) -> Tensor:
        """Return what the states of one layer add to the outputs.

        One-hot rows are multiplied first: there may be many labels.
        """
        if isinstance(state, OneHot):
            return self.pooled(state.times(weight), owner, graph_offset)
        pooled = self.pooled(state, owner, graph_offset)
        return torch.bmm(pooled.expand(weight.shape[0], -1, -1), weight)

    def pooled(self, x: Tensor, owner: Tensor, graph_offset: Tensor) -> Tensor:
        """Return the readout: (M, N, d) → (M, G, d); zeros for a graph without nodes."""
        empty = x.new_zeros(x.shape[0], graph_offset.shape[0] - 1, x.shape[2])
        if self.model.readout == "max":
            owners = owner.view(1, -1, 1).expand(x.shape)
            return empty.scatter_reduce(1, owners, x, "amax", include_self=False)
        total = empty.index_add(1, owner, x)
        if self.model.readout == "sum":
            return total
        sizes = (graph_offset[1:] - graph_offset[:-1]).clamp(min=1)
        return total / sizes.to(total.dtype).unsqueeze(1)


class NodeProgram(Program):
    """A model of nodes; ``nodes`` are those that are asked for."""

    model: NodeModel

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
        if hasattr(self.model, "head"):
            chosen = self.model.head.plain_forward(chosen)
        return self.answer(chosen)


def program_of(estimator: Estimator) -> Program:
    """Return what a fitted estimator predicts, as a module of torch's own operations."""
    kind = GraphProgram if isinstance(estimator._model, GraphModel) else NodeProgram
    return kind(estimator).eval()


def _frozen(model: Model) -> Model:
    """Return a copy that is not trained any more and has a members' axis in any case."""
    weights = model.state_dict()
    if model.members is None:
        weights = {name: weight.unsqueeze(0) for name, weight in weights.items()}
    copy = model.with_members(model.members or 1).to(next(model.parameters()))
    copy.load_state_dict(weights)
    for conv in copy.convs:
        conv.prepare_export()
    return copy.requires_grad_(False)


def _degree_table(degrees: list[Any]) -> Tensor:
    """Return the label number of every degree up to one more than the largest.

    Degrees without a label have one more, behind all others.
    """
    table = torch.full((max(degrees, default=0) + 2,), len(degrees), dtype=torch.int64)
    for number, degree in enumerate(degrees):
        table[degree] = number
    return table
