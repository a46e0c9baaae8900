"""Devices without kernels of their own: plain operations, shown on ``meta``, which has shapes only."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from edgnn.graphs import Graphs, Structure
from edgnn.nn import (
    EdGNNConv,
    GINEConv,
    GNNConv,
    GraphModel,
    Inputs,
    ModuleConv,
    NodeModel,
    RelationalConv,
)

GRAPHS = Graphs.from_edges(
    [(0, 0), (0, 1), (0, 1), (1, 0), (2, 1)], edge_labels="xxyxy", num_nodes=4
)


class Messages(nn.Module):
    def __init__(self, in_dim, out_dim, num_relations):
        super().__init__()
        self.map = nn.Linear(in_dim, out_dim)

    def forward(self, x, edges):
        sent = self.map(x)[edges.source]
        return sent.new_zeros(len(x), sent.shape[1]).index_add(0, edges.target, sent)


LAYERS = [
    (GNNConv, {}),
    (EdGNNConv, {}),
    (RelationalConv, {}),
    (RelationalConv, {"aggregate": "mean"}),
    (GINEConv, {}),
    (ModuleConv, {"module": Messages}),
]


@pytest.mark.parametrize(("kind", "options"), LAYERS)
@pytest.mark.parametrize("members", [None, 2])
@pytest.mark.parametrize("batch_norm", [False, True])
def test_shapes_of_layers_are_inferred_on_meta(kind, options, members, batch_norm):
    conv = kind(3, 5, 2, members=members, batch_norm=batch_norm, bias=True, **options)
    structure = Structure.of(GRAPHS, relations=True)
    x = torch.zeros(*([] if members is None else [members]), 4, 3, requires_grad=True)
    result = conv.to("meta")(x.detach().to("meta").requires_grad_(), structure.to("meta"))
    assert result.shape == (*x.shape[:-1], 5)
    assert result.device.type == "meta"


@pytest.mark.parametrize("conv", ["gnn", "edgnn", "joint", "rgcn", "gine"])
@pytest.mark.parametrize("kind", [GraphModel, NodeModel])
def test_shapes_of_models_are_inferred_on_meta(kind, conv):
    model = kind(1, 2, 3, conv=conv, hidden=4)
    relations = {"gnn": False, "edgnn": False}.get(conv, True)
    inputs = Inputs.of(GRAPHS, relations=relations)
    expected = model(inputs)
    result = model.to("meta")(inputs.to("meta"))
    assert (result.shape, result.device.type) == (expected.shape, "meta")
