from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgnn._hashing import mix
from edgnn.errors import GraphError
from edgnn.graphs import CSR, Graphs, Structure
from edgnn.nn import GINEConv, RelationalConv
from edgnn.nn.ops import Sampler, neighbor_sum
from edgnn.nn.ops import _sampling as module
from strategies import STRINGS, graphs

ODD = graphs(
    labels=st.just(STRINGS),
    names=False,
    features=False,
    min_graphs=1,
    min_nodes=1,
    max_nodes=8,
    max_edges=14,
)


def star(leaves):
    return Structure.of(
        Graphs.from_edges([(0, leaf) for leaf in range(1, leaves + 1)], num_nodes=leaves + 1)
    )


def random_structure(nodes=60, edges=900, **options):
    random = np.random.default_rng(0)
    ends, labels = random.integers(0, nodes, (edges, 2)), random.integers(0, 3, edges)
    return Structure.of(Graphs.from_edges(ends, num_nodes=nodes, edge_labels=labels), **options)


@given(
    st.lists(st.integers(1, 200), min_size=1, max_size=30),
    st.integers(1, 60),
    st.integers(0, 2**60),
)
def test_draws_are_different_numbers_below_the_size(sizes, count, key):
    sizes = np.array(sizes) + count - 1
    drawn = module.distinct(mix(np.arange(len(sizes)) + key), sizes, count)
    assert drawn.shape == (count, len(sizes))
    assert (drawn >= 0).all()
    assert (drawn < sizes).all()
    assert all(len(set(column)) == count for column in drawn.T.tolist())


@pytest.mark.parametrize(("size", "count"), [(5, 1), (5, 3), (6, 5), (4, 4)])
def test_every_set_is_equally_likely(size, count):
    many = 40_000
    drawn = np.sort(module.distinct(mix(np.arange(many)), np.full(many, size), count), axis=0)
    found = {tuple(column) for column in drawn.T.tolist()}
    sets = list(combinations(range(size), count))
    assert found == set(sets)
    _, times = np.unique(drawn, axis=1, return_counts=True)
    expected = many / len(sets)
    assert (np.abs(times - expected) < 5 * np.sqrt(expected)).all()


def test_long_draws_are_those_of_short_ones(monkeypatch):
    keys, sizes = mix(np.arange(200)), np.random.default_rng(0).integers(40, 90, 200)
    compared = module.distinct(keys, sizes, 40)
    monkeypatch.setattr(module, "_COMPARED", 100)
    assert np.array_equal(module.distinct(keys, sizes, 40), compared)


def test_arrays_and_tensors_draw_the_same():
    keys, sizes = mix(np.arange(100)), np.random.default_rng(0).integers(7, 50, 100)
    tensors = module.distinct(torch.from_numpy(keys), torch.from_numpy(sizes), 7)
    assert np.array_equal(module.distinct(keys, sizes, 7), tensors.numpy())


@given(ODD, st.sampled_from([1, 2, 3, None]), st.integers(0, 99), st.data())
def test_a_hop_lists_neighbors_each_once_with_the_rows_first(collection, fanout, key, data):
    structure = Structure.of(collection)
    count = collection.num_nodes
    rows = torch.tensor(
        data.draw(st.lists(st.integers(0, count - 1), unique=True, max_size=count)),
        dtype=torch.int64,
    )
    hop = Sampler(structure).hop(rows, fanout, key)
    assert hop.nodes[: len(rows)].tolist() == rows.tolist()
    assert len(set(hop.nodes.tolist())) == len(hop.nodes) == hop.neighbors.shape[1]
    every, drawn = structure.neighbors, hop.neighbors
    for place, node in enumerate(rows.tolist()):
        neighbors = every.indices[every.indptr[node] : every.indptr[node + 1]].tolist()
        found = hop.nodes[
            drawn.indices[drawn.indptr[place] : drawn.indptr[place + 1]].long()
        ].tolist()
        assert len(set(found)) == len(found) == min(len(neighbors), fanout or len(neighbors))
        assert set(found) <= set(neighbors)
        if drawn.values is not None and found:
            factor = drawn.values[drawn.indptr[place] : drawn.indptr[place + 1]]
            assert torch.allclose(factor, torch.tensor(len(neighbors) / len(found)))
    assert torch.equal(as_dense(hop.C_in), as_dense(structure.C_in)[rows])
    assert torch.equal(as_dense(hop.C_out), as_dense(structure.C_out)[rows])


def as_dense(matrix):
    return matrix.to_dense() if isinstance(matrix, CSR) else matrix


def test_what_is_drawn_for_a_node_does_not_depend_on_the_nodes_beside_it():
    sampler = Sampler(random_structure())
    together, alone = (
        sampler.hop(torch.arange(60), 4, 7),
        [sampler.hop(torch.tensor([node]), 4, 7) for node in range(60)],
    )
    for node, hop in enumerate(alone):
        start, stop = together.neighbors.indptr[node : node + 2].tolist()
        assert (
            together.nodes[together.neighbors.indices[start:stop].long()].tolist()
            == hop.nodes[hop.neighbors.indices.long()].tolist()
        )


def test_another_key_draws_others_and_the_same_key_the_same():
    sampler, rows = Sampler(random_structure()), torch.arange(60)
    first, again, other = (sampler.hop(rows, 4, key) for key in (1, 1, 2))
    assert torch.equal(
        first.nodes[first.neighbors.indices.long()], again.nodes[again.neighbors.indices.long()]
    )
    assert not torch.equal(
        first.nodes[first.neighbors.indices.long()], other.nodes[other.neighbors.indices.long()]
    )


def test_where_nothing_is_left_out_there_are_no_values():
    structure = random_structure()
    hop = Sampler(structure).hop(torch.arange(60), int(structure.degree.max()), 0)
    assert hop.neighbors.values is None
    x = torch.randn(60, 3)
    torch.testing.assert_close(neighbor_sum(x[hop.nodes], hop), neighbor_sum(x, structure))


def mean_over_keys(sampler, layer, x, rows, fanout, exact, times=800, **options):
    total = torch.zeros_like(exact)
    for key in range(times):
        hop = sampler.hop(rows, fanout, key, **options)
        total += layer(x[hop.nodes], hop)
    return total / times


@pytest.mark.parametrize("fanout", [1, 4])
def test_sums_are_right_in_the_mean(fanout):
    structure = random_structure()
    torch.manual_seed(0)
    x, rows = torch.randn(60, 4, dtype=torch.float64), torch.arange(0, 60, 7)
    exact = neighbor_sum(x, structure)[rows]
    found = mean_over_keys(Sampler(structure), neighbor_sum, x, rows, fanout, exact)
    degree = structure.degree[rows].double().unsqueeze(1)
    assert ((found - exact).abs() < 5 * degree / np.sqrt(800 * fanout)).all()
    assert (found - exact).abs().max() > 0


@pytest.mark.parametrize("kind", ["sum", "mean", "gine"])
@torch.no_grad()
def test_layers_with_relations_are_right_in_the_mean(kind):
    structure = random_structure(relations="sources" if kind == "gine" else "targets")
    torch.manual_seed(0)
    options = {"activation": "identity"}
    layer = (
        GINEConv(4, 4, 3, **options)
        if kind == "gine"
        else RelationalConv(4, 4, 3, aggregate=kind, **options)
    ).double()
    if (
        kind == "gine"
    ):  # its inner ReLU bends sums, so that only what enters it can be right in the mean
        layer.first.bias.fill_(1e4)
    x, rows = torch.randn(60, 4, dtype=torch.float64), torch.arange(0, 60, 7)
    whole = layer(x, structure)[rows]
    read = {"relations": layer.relations, "means": kind == "mean"}
    found = mean_over_keys(Sampler(structure), layer, x, rows, 3, whole, **read)
    hop = Sampler(structure).hop(rows, 3, 1, **read)
    one = layer(x[hop.nodes], hop)
    spread = (one - whole).abs().max()
    assert spread > 0
    assert (found - whole).abs().max() < 0.25 * spread


def test_the_gradient_of_sampled_relations_is_that_of_their_formula():
    structure = random_structure(relations="targets")
    hop = Sampler(structure).hop(torch.arange(5), 2, 3, relations="targets")
    layer = RelationalConv(3, 2, 3, activation="identity").double()
    x = torch.randn(len(hop.nodes), 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: layer(x, hop), x)


def test_a_hub_costs_what_is_drawn_from_it():
    class Counted:
        def __init__(self, tensor):
            self.tensor, self.read = tensor, 0

        def index_select(self, dim, index):
            self.read += len(index)
            return self.tensor.index_select(dim, index)

    neighbors = star(100_000).neighbors
    counted = Counted(neighbors.indices)
    rows = torch.tensor([0])
    hop = module.sampled(CSR(neighbors.indptr, counted, None, neighbors.shape), rows, 10, 5)
    assert (hop.nnz, counted.read) == (10, 10)
    assert hop.values.tolist() == [10_000.0] * 10


def test_isolated_nodes_and_no_nodes_are_fine():
    structure = Structure.of(Graphs.from_edges([(0, 1)], num_nodes=3))
    sampler = Sampler(structure)
    assert sampler.hop(torch.tensor([2]), 3, 0).neighbors.nnz == 0
    empty = sampler.hop(torch.zeros(0, dtype=torch.int64), 3, 0)
    assert empty.neighbors.shape == (0, 0)
    assert neighbor_sum(torch.zeros(0, 4), empty).shape == (0, 4)


def test_the_sampler_forgets_what_it_numbered():
    sampler = Sampler(random_structure())
    sampler.hop(torch.arange(0, 60, 3), 4, 1)
    again, fresh = (
        sampler.hop(torch.arange(5), 4, 2),
        Sampler(sampler.structure).hop(torch.arange(5), 4, 2),
    )
    assert torch.equal(again.nodes, fresh.nodes)
    assert torch.equal(again.neighbors.indices, fresh.neighbors.indices)


def test_an_error_leaves_nothing_numbered(monkeypatch):
    def lost(numbers):
        raise MemoryError

    sampler = Sampler(random_structure())
    with monkeypatch.context() as patch:
        patch.setattr(module, "_once", lost)
        with pytest.raises(MemoryError):
            sampler.hop(torch.arange(30, 50), 4, 1)
    again, fresh = (
        sampler.hop(torch.arange(5), 4, 2),
        Sampler(sampler.structure).hop(torch.arange(5), 4, 2),
    )
    assert torch.equal(again.nodes, fresh.nodes)
    assert torch.equal(again.neighbors.indices, fresh.neighbors.indices)


@pytest.mark.parametrize("fanout", [0, -1, 2.5, "3"])
def test_a_fanout_that_is_no_number_of_neighbors_is_refused(fanout):
    with pytest.raises(
        GraphError,
        match=f"fanout={fanout!r}: a whole number of neighbors, 1 or more, is needed, or None for all",
    ):
        Sampler(star(3)).hop(torch.tensor([0]), fanout, 0)


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (torch.tensor([0, 4]), "nodes reach from 0 to 4, the graphs have 4 nodes"),
        (torch.tensor([-1]), "nodes reach from -1 to -1"),
        (
            torch.tensor([0.0]),
            r"a tensor of int64 with one axis, not as torch.float32 of shape \(1,\)",
        ),
        ([0], "a tensor of int64 with one axis, not as list"),
    ],
)
def test_rows_that_are_no_nodes_are_refused(rows, text):
    with pytest.raises(GraphError, match=text):
        Sampler(star(3)).hop(rows, 2, 0)


def test_parallel_edges_are_drawn_edge_by_edge():
    graph = Graphs.from_edges([(0, 1), (0, 1), (0, 1)], num_nodes=2)
    hop = Sampler(Structure.of(graph, multiplicity="per-edge")).hop(torch.tensor([1]), 2, 0)
    assert neighbor_sum(torch.tensor([[1.0], [5.0]])[hop.nodes], hop).tolist() == [[3.0]]


@pytest.mark.parametrize("fanout", [1, 4, 40, None])
def test_what_runs_on_devices_gives_the_same_hops(monkeypatch, fanout):
    structure, rows = random_structure(), torch.arange(0, 60, 4)
    here = Sampler(structure).hop(rows, fanout, 5)
    monkeypatch.setattr(module, "to_array", lambda tensor: tensor)
    there = Sampler(structure).hop(rows, fanout, 5)
    assert torch.equal(there.nodes, here.nodes)
    assert torch.equal(there.neighbors.indices, here.neighbors.indices)
    assert torch.equal(there.neighbors.indptr, here.neighbors.indptr)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("fanout", [1, 4, 40, None])
def test_on_cuda_hops_are_the_same(fanout):
    structure, rows = random_structure(), torch.arange(0, 60, 4)
    here, there = (
        Sampler(structure).hop(rows, fanout, 5),
        Sampler(structure.to("cuda")).hop(rows.cuda(), fanout, 5),
    )
    assert torch.equal(there.nodes.cpu(), here.nodes)
    assert torch.equal(there.neighbors.indices.cpu(), here.neighbors.indices)
    assert torch.equal(there.neighbors.indptr.cpu(), here.neighbors.indptr)
