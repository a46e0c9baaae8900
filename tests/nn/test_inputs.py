from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dense_limits import dense_labels
from edgnn.graphs import CSR, Graphs
from edgnn.nn import Inputs
from nn_reference import neighbors_of, node_inputs
from strategies import INTEGERS, STRINGS, graphs

ODD = graphs(labels=st.sampled_from([None, STRINGS, INTEGERS]), names=False)
OPTIONS = [
    {"direction": d, "multiplicity": m} for d in ("both", "in") for m in ("once", "per-edge")
]


def dense(matrix):
    return matrix.to_dense(torch.float64) if isinstance(matrix, CSR) else matrix


@given(ODD, st.sampled_from(OPTIONS), st.booleans())
def test_everything_is_counted_as_by_hand_dense_or_sparse(collection, options, sparse):
    with pytest.MonkeyPatch.context() as patch:
        dense_labels(patch, -1 if sparse else 64)
        read = Inputs.of(collection, dtype=torch.float64, **options)
    H0 = node_inputs(collection)
    zero = torch.zeros(1, H0.shape[1], dtype=torch.float64)
    assert torch.equal(dense(read.H0), H0)
    sums = [sum((H0[u] for u in row), zero[0]) for row in neighbors_of(collection, **options)]
    assert torch.equal(dense(read.AH0), torch.stack([*sums, zero[0]])[:-1])
    offset = collection.graph_offset.tolist()
    totals = [H0[start:stop].sum(0) for start, stop in pairwise(offset)]
    assert torch.equal(dense(read.graph_H0), torch.stack([*totals, zero[0]])[:-1])
    assert read.sizes.tolist() == collection.sizes.tolist()
    assert torch.equal(read.pool.to_dense(), read.pool_t.to_dense().T)
    owner = (
        torch.nn.functional.one_hot(collection.graph_of_node, len(collection))
        if len(collection)
        else torch.zeros(0, 0)
    )
    assert torch.equal(read.pool_t.to_dense(), owner.float())
    assert (read.num_graphs, read.num_nodes) == (len(collection), collection.num_nodes)
    assert read.dtype == torch.float64
    assert read.mask is None
    assert all(isinstance(matrix, CSR) == sparse for matrix in (read.H0, read.AH0, read.graph_H0))


@pytest.mark.parametrize(("labels", "sparse"), [(64, False), (65, True)])
def test_one_hot_rows_are_sparse_above_64_labels(labels, sparse):
    read = Inputs.of(Graphs.from_edges([], num_nodes=labels, node_labels=list(range(labels))))
    assert isinstance(read.H0, CSR) == sparse
    assert torch.equal(dense(read.H0).float(), torch.eye(labels))
    assert read.dtype == torch.float32


@pytest.mark.parametrize("sparse", [False, True])
def test_the_reserved_label_is_a_zero_row_beside_the_features(monkeypatch, sparse):
    dense_labels(monkeypatch, -1 if sparse else 64)
    known = Graphs.from_edges([(0, 1)], node_labels="ab")
    new = Graphs.from_edges(
        [(0, 1)], node_labels="zb", node_features=[[2.0], [3.0]], like=known, unknown="map"
    )
    read = Inputs.of(new)
    assert dense(read.H0).tolist() == [[0, 0, 2], [0, 1, 3]]
    assert dense(read.AH0).tolist() == [[0, 1, 3], [0, 0, 2]]
    assert dense(read.graph_H0).tolist() == [[0, 1, 5]]


@pytest.mark.parametrize("sparse", [False, True])
def test_moving_changes_the_numbers_and_keeps_the_lists(monkeypatch, sparse):
    dense_labels(monkeypatch, -1 if sparse else 64)
    collection = Graphs.from_edges(
        [(0, 1), (2, 1)], sizes=[3, 0, 1], node_labels="abab", edge_labels="xy"
    )
    read = Inputs.of(collection, relations=True)
    moved = read.to("cpu", torch.float64)
    assert moved.dtype == torch.float64
    assert moved.structure.C_in.dtype == torch.float64
    for name in ("H0", "AH0", "graph_H0", "pool"):
        assert torch.equal(
            dense(getattr(moved, name)).double(), dense(getattr(read, name)).double()
        )
    assert moved.structure.relations.offset == read.structure.relations.offset
    assert torch.equal(moved.cells.keys, read.cells.keys)
    for name in ("sums", "means"):
        assert torch.equal(
            dense(getattr(moved.cells, name)).double(), dense(getattr(read.cells, name)).double()
        )
    assert read.to().dtype == torch.float32


def test_cells_are_counted_where_edges_are_listed_by_target_and_nodes_have_labels_alone():
    collection = Graphs.from_edges([(0, 1), (2, 1)], node_labels="aba", edge_labels="xy")
    assert Inputs.of(collection).cells is None
    assert Inputs.of(collection, relations="sources").cells is None
    assert (
        Inputs.of(collection._with(node_features=torch.ones(3, 1)), relations="targets").cells
        is None
    )
    read = Inputs.of(collection, direction="in", relations="targets")
    assert read.cells.keys.tolist() == [0, 2]
    assert read.cells.sums.tolist() == [[0, 0], [1, 1], [0, 0]]
    chosen = Inputs.of(collection, direction="in", relations="targets", cells=[2, 3])
    assert chosen.cells.sums.tolist() == [[0, 0], [1, 0], [0, 0]]


@pytest.mark.gpu
@pytest.mark.parametrize("sparse", [False, True])
def test_cuda_inputs_agree_with_the_cpu(monkeypatch, sparse):
    dense_labels(monkeypatch, -1 if sparse else 64)
    generator = torch.Generator().manual_seed(0)
    collection = Graphs.from_edges(
        torch.randint(0, 50, (300, 2), generator=generator),
        num_nodes=50,
        node_labels=torch.randint(0, 9, (50,), generator=generator),
        edge_labels=torch.randint(0, 5, (300,), generator=generator),
        node_features=torch.randint(-8, 9, (50, 2), generator=generator) / 4,
    )
    ours, theirs = Inputs.of(collection, device="cuda"), Inputs.of(collection)
    assert ours.device.type == "cuda"
    for name in ("H0", "AH0", "graph_H0", "pool", "pool_t"):
        assert torch.equal(
            dense(getattr(ours, name)).cpu().double(), dense(getattr(theirs, name)).double()
        )
        assert torch.equal(
            dense(getattr(theirs.to("cuda"), name)).cpu().double(),
            dense(getattr(theirs, name)).double(),
        )
