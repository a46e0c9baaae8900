import sys
from dataclasses import replace

import pytest
import torch

from benchmarks import Row, Skipped
from benchmarks._extra_memory import step_bytes
from benchmarks._formulations import GatherConcatScatter, Size, Step, both_ways
from benchmarks._layer import CPU, CUDA, QUICK, _sweep, layer, plot
from benchmarks._product import degree_digraph, gathered_bytes, product_rows
from benchmarks._wl import random_digraph
from edgnn import Structure
from edgnn.nn import EdGNNConv, RelationalConv

EVERY_GOAL = [
    "≥ 55×, memory ≤ 0.1×",
    "≥ 15×, memory ≤ 0.1×",
    "≥ 5×, memory ≤ 0.25×",
    "≥ 80 % of copying",
    "≥ 1.6×",
    "≤ 1.5×",
]


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
    ours = EdGNNConv(5, 7, 4, activation="identity", bias=True, multiplicity="per-edge").double()
    peer = GatherConcatScatter(multigraph, 5, 7, sum_first).double()
    with torch.no_grad():
        ours.bias.normal_()
        peer.own.weight.copy_(ours.W1.T)
        peer.own.bias.copy_(ours.bias)
        peer.message.weight.copy_(torch.cat([ours.W2, ours.W3, ours.W4]).T)
    x = torch.randn(30, 5, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(peer(x), ours(x, structure))
    of_ours, of_peer = (
        torch.autograd.grad(y.square().sum(), x)[0] for y in (ours(x, structure), peer(x))
    )
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
    messages = 2 * size.edges * (size.width + 2 * size.labels) * 4
    gathered, ours = (step_bytes(kind, size) for kind in ("gather", "edgnn"))
    assert messages < gathered < 4 * messages
    assert 0 <= ours < messages / 10


def test_a_step_forgets_its_gradients_before_the_next():
    step = Step("edgnn", Size(20, 60, 3, 4), "cpu")
    step()
    first = step.x.grad.clone()
    step()
    torch.testing.assert_close(step.x.grad, first)
    step.clear()
    assert step.x.grad is None
    assert all(weight.grad is None for weight in step.module.parameters())


def test_a_narrow_step_computes_what_the_wide_one_does():
    wide, narrow = (
        Step("edgnn", Size(50, 200, 3, 8), "cpu", dtype)
        for dtype in (torch.float32, torch.bfloat16)
    )
    narrow.module.load_state_dict(wide.module.state_dict())
    ours, peer = (step.module(step.x, *step.arguments) for step in (narrow, wide))
    assert ours.dtype == torch.bfloat16
    torch.testing.assert_close(ours.float(), peer, rtol=0.05, atol=0.1)


@pytest.mark.parametrize(
    ("degrees", "low", "high"),
    [("uniform", 20, 60), ("power law", 1_000, 8_000), ("one hub", 1_900, 2_200)],
)
def test_degrees_are_drawn_as_named(degrees, low, high):
    graphs = degree_digraph(2_000, 20_000, degrees)
    longest = Structure.of(graphs, multiplicity="per-edge").neighbors.indptr.diff().max()
    assert (graphs.num_nodes, graphs.num_edges) == (2_000, 20_000)
    assert low < longest < high


def test_the_bytes_of_a_product_are_a_row_per_entry_the_indices_and_the_result():
    matrix = Structure.of(degree_digraph(100, 1_000, "uniform"), multiplicity="per-edge").neighbors
    assert gathered_bytes(matrix, 64, 4) == 2_000 * 64 * 4 + 100 * 64 * 4 + 4 * (2_000 + 101)
    assert gathered_bytes(matrix, 64, 2) == (2_000 + 100) * 64 * 2 + 4 * (2_000 + 101)


def test_products_tell_their_share_of_copying():
    (row,) = product_rows(
        200, 2_000, (64,), "uniform", "cpu", 1, copy=1e9, goal="≥ 80 % of copying"
    )
    assert row.traffic.bytes_per_s == pytest.approx(row.traffic.bytes / row.ours_s)
    assert row.traffic.share == pytest.approx(row.traffic.bytes_per_s / 1e9)
    assert row.met is (row.traffic.share >= 0.8)


@pytest.fixture(scope="module")
def quick_rows():
    pytest.importorskip("torch_geometric")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "benchmarks._layer.step_bytes",
            lambda kind, size: {"edgnn": 1, "relational": 5}.get(kind, 20),
        )
        return list(layer(quick=True))


def test_bench_layer_asks_for_every_goal_once_or_for_both_types(quick_rows):
    assert all(isinstance(row, Row) and row.ours_s > 0 for row in quick_rows)
    goals = [row.goal for row in quick_rows if row.goal]
    assert goals == [*EVERY_GOAL[:4], "≥ 1.6×", "≥ 1.6×", "≤ 1.5×"]
    assert set(QUICK.goals.values()) == set(EVERY_GOAL)


def test_bench_layer_measures_memory_beside_every_peer_of_the_main_size(quick_rows):
    measured = [(row.ours, row.peer, row.memory.ratio) for row in quick_rows if row.memory]
    assert measured == [
        ("EdGNNConv", "PyG RGCNConv", 0.05),
        ("EdGNNConv", "gather, concatenate, map, scatter", 0.05),
        ("EdGNNConv", "gather, concatenate, scatter, map", 0.05),
        ("RelationalConv (sum)", "PyG RGCNConv", 0.25),
    ]


def test_bench_layer_sweeps_every_size_and_draws_every_point(quick_rows):
    swept = [(axis.split()[0], size) for row in quick_rows for axis, size in row.points.items()]
    for axis in ("relations", "edges", "nodes", "width"):
        assert {size for name, size in swept if name == axis} >= set(
            getattr(QUICK, "widths" if axis == "width" else axis)
        )
    svg = plot(quick_rows)
    lines = [line for line in svg.splitlines() if line.startswith("<polyline")]
    drawn = sum(len(line.split('"')[1].split()) for line in lines)
    assert drawn == sum(len(row.points) * (1 + (row.peer_s is not None)) for row in quick_rows)
    assert svg.count('class="chart"') == 7


def test_beyond_the_relations_that_the_peer_is_asked_for_ours_is_timed_alone():
    size = Size(50, 200, 4, 8)
    plan = replace(QUICK, peer_relations=2)
    rows = list(
        _sweep("relations", [replace(size, labels=labels) for labels in (2, 4)], plan, "cpu")
    )
    assert [row.points for row in rows if isinstance(row, Row)] == [
        {"relations (50 nodes, 200 edges)": 2},
        {"relations (50 nodes, 200 edges)": 4},
    ]
    assert (rows[-1].peer, rows[-1].peer_s) == ("", None)


def test_the_runs_that_are_published_have_the_sizes_that_were_asked_for():
    assert str(CUDA.main) == "1M nodes, 10M edges, 64 relations, width 64"
    assert list(dict.fromkeys(CUDA.goals.values())) == EVERY_GOAL
    assert CUDA.relations == (1, 8, 64, 200, 512)
    assert CPU.goals["rgcn"] == "≥ 20×, memory ≤ 0.1×"


def test_bench_layer_without_pyg_still_times_ours_and_the_other_formulations(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    monkeypatch.setitem(sys.modules, "torch_geometric.nn", None)
    monkeypatch.setattr("benchmarks._layer.step_bytes", lambda kind, size: 1)
    rows = list(layer(quick=True))
    timed = [row for row in rows if isinstance(row, Row)]
    assert {row.peer for row in timed} >= {
        "gather, concatenate, map, scatter",
        "gather, concatenate, scatter, map",
    }
    assert not any("PyG" in row.peer for row in timed)
    assert {row.reason for row in rows if isinstance(row, Skipped)} == {
        "torch_geometric is not installed"
    }
    assert sum(row.peer == "" and row.ours == "EdGNNConv" for row in timed) == 9


def test_bench_layer_goes_on_when_a_peer_runs_out_of_memory(monkeypatch):
    pytest.importorskip("torch_geometric")
    monkeypatch.setattr("benchmarks._layer.step_bytes", lambda kind, size: 1)
    call = Step.__call__

    def short_of_memory(step):
        if type(step.module).__name__ == "RGCNConv":
            raise torch.OutOfMemoryError("CUDA out of memory")
        call(step)

    monkeypatch.setattr(Step, "__call__", short_of_memory)
    rows = list(layer(quick=True))
    skipped = [row for row in rows if isinstance(row, Skipped)]
    assert {row.reason for row in skipped} == {"out of memory on cpu"}
    assert all(row.what.startswith("PyG RGCNConv, ") for row in skipped)
    assert any(row.peer == "PyG FastRGCNConv" for row in rows if isinstance(row, Row))
    assert "<polyline" in plot(rows)
