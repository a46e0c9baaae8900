import sys

import pytest
import torch

from edgnn import Structure
from edgnn.bench import Row, Skipped
from edgnn.bench._layer import GatherConcatScatter, Size, _extra_mib, both_ways, layer
from edgnn.bench._wl import random_digraph
from edgnn.nn import EdGNNConv, RelationalConv


@pytest.fixture
def multigraph():
    graphs = random_digraph(30, 300, labels=4)
    edges = list(zip(graphs.edge_source.tolist(), graphs.edge_target.tolist(), strict=True))
    assert len(set(edges)) < len(edges)
    assert any(source == target for source, target in edges)
    return graphs


@pytest.mark.parametrize("sum_first", [False, True])
def test_gather_concat_scatter_computes_what_the_layer_does(multigraph, sum_first):
    structure = Structure.of(multigraph, multiplicity="per-edge", dtype=torch.float64)
    ours = EdGNNConv(5, 7, 4, activation="identity", bias=True).double()
    peer = GatherConcatScatter(multigraph, 5, 7, sum_first).double()
    with torch.no_grad():
        ours.bias.normal_()
        peer.own.weight.copy_(ours.W1.T)
        peer.own.bias.copy_(ours.bias)
        peer.message.weight.copy_(torch.cat([ours.W2, ours.W3, ours.W4]).T)
    x = torch.randn(30, 5, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(peer(x), ours(x, structure))
    of_ours, of_peer = (torch.autograd.grad(y.square().sum(), x)[0] for y in (ours(x, structure), peer(x)))
    torch.testing.assert_close(of_peer, of_ours)


def test_rgcn_computes_what_our_relational_layer_does(multigraph):
    rgcn = pytest.importorskip("torch_geometric.nn").RGCNConv(5, 7, 8, aggr="add")
    ours = RelationalConv(5, 7, 4, activation="identity", bias=True)
    with torch.no_grad():
        rgcn.weight.copy_(ours.W)
        rgcn.root.copy_(ours.W1)
        rgcn.bias.copy_(ours.bias.normal_())
    x = torch.randn(30, 5)
    result = ours(x, Structure.of(multigraph, relations=True))
    torch.testing.assert_close(rgcn(x, *both_ways(multigraph)), result, rtol=1e-4, atol=1e-4)


def test_reversed_edges_have_labels_of_their_own(multigraph):
    (source, target), label = both_ways(multigraph)
    edges = multigraph.num_edges
    assert torch.equal(source[edges:], target[:edges])
    assert torch.equal(target[edges:], source[:edges])
    assert torch.equal(label[edges:], label[:edges] + 4)


@pytest.mark.slow
def test_extra_memory_counts_what_a_step_allocates():
    size = Size(nodes=1_000, edges=100_000, labels=4, width=32)
    messages = 2 * size.edges * (size.width + 2 * size.labels) * 4 / 2**20
    gathered, ours = (_extra_mib(kind, size, "cpu") for kind in ("gather", "edgnn"))
    assert messages < gathered < 4 * messages
    assert 0 <= ours < messages / 10


def test_bench_layer_times_every_peer_and_number_of_labels(monkeypatch):
    pytest.importorskip("torch_geometric")
    monkeypatch.setattr("edgnn.bench._layer._extra_mib", lambda kind, size, device: {"edgnn": 1.0}.get(kind, 20.0))
    rows = list(layer(quick=True))
    assert all(isinstance(row, Row) and row.ours_s > 0 and row.peer_s > 0 for row in rows)
    assert [row.goal for row in rows] == ["≥ 15×", "≥ 20×", "", "", "≤ 0.1×", "≤ 0.1×", "", "", ""]
    assert [row.ratio for row in rows[4:6]] == [0.05, 0.05]
    assert [row.extra["edge_labels"] for row in rows[-2:]] == [1, 3]


def test_bench_layer_without_pyg_still_times_the_other_formulation(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    monkeypatch.setitem(sys.modules, "torch_geometric.nn", None)
    monkeypatch.setattr("edgnn.bench._layer._extra_mib", lambda kind, size, device: 1.0)
    rows = list(layer(quick=True))
    assert {row.peer for row in rows if isinstance(row, Row)} == {
        "gather, concatenate, map, scatter",
        "gather, concatenate, scatter, map",
    }
    assert {row.reason for row in rows if isinstance(row, Skipped)} == {"torch_geometric is not installed"}
