from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dense_limits import dense_entries, dense_labels
from edgnn import load_dataset
from edgnn.graphs import CSR, Graphs, known_labels
from edgnn.nn import GraphModel, Inputs
from edgnn.registry import LAYERS
from edgnn.training import Blocks
from nn_reference import randomized
from strategies import INTEGERS, STRINGS, graphs

ODD = graphs(labels=st.sampled_from([None, STRINGS, INTEGERS]), names=False, min_graphs=1)
OPTIONS = st.fixed_dictionaries(
    {
        "direction": st.sampled_from(["both", "in"]),
        "multiplicity": st.sampled_from(["once", "per-edge"]),
    }
)


@st.composite
def tables(draw, graphs_strategy=ODD):
    """Draw graphs and, for one to three members, equally many of their numbers; −1 leaves a place empty."""
    collection = draw(graphs_strategy)
    batch = draw(st.integers(1, 3))
    row = st.lists(st.integers(-1, len(collection) - 1), min_size=batch, max_size=batch)
    return collection, torch.tensor(draw(st.lists(row, min_size=1, max_size=3)))


def chosen(collection, row):
    """Return the graphs of a row, with graphs without nodes at its empty places."""
    there = row[row >= 0]
    taken = collection[there]
    sizes = torch.zeros(len(row), dtype=torch.int64)
    sizes[row >= 0] = taken.sizes
    return taken._with(graph_offset=torch.cat([torch.zeros(1, dtype=torch.int64), sizes.cumsum(0)]))


def block(matrix, member, members):
    """Return one member's block of a matrix as a dense tensor, and check that nothing stands outside of the blocks."""
    if matrix is None:
        return None
    if not isinstance(matrix, CSR):
        return matrix if members == 1 else matrix[member]
    dense = matrix.to_dense(torch.float64)
    assert matrix.blocks == members
    rows, columns = (size // members for size in matrix.shape)
    parts = dense.view(members, rows, members, columns)
    assert all(not parts[a, :, b].any() for a in range(members) for b in range(members) if a != b)
    return parts[member, :, member]


def assert_padded(block, expected):
    """The block is the expected matrix, with zeros below and to the right."""
    dense = expected.to_dense(torch.float64) if isinstance(expected, CSR) else expected.double()
    rows, columns = dense.shape
    assert torch.equal(block[:rows, :columns].double(), dense)
    assert not block[rows:].any()
    assert not block[:, columns:].any()


@given(tables(), OPTIONS, st.booleans())
def test_a_members_block_is_what_its_graphs_alone_would_give(table, options, sparse):
    collection, index = table
    with pytest.MonkeyPatch.context() as patch:
        dense_labels(patch, -1 if sparse else 64)
        dense_entries(patch, -1 if sparse else 10**6)
        whole = Inputs.of(collection, dtype=torch.float64, relations="targets", **options)
        batch = Blocks(whole).take(index)
        members = len(index)
        cells = None if whole.cells is None else whole.cells.keys.tolist()
        for member, row in enumerate(index):
            own = Inputs.of(
                chosen(collection, row),
                dtype=torch.float64,
                relations="targets",
                cells=cells,
                **options,
            )
            if cells is not None:
                assert torch.equal(batch.cells.keys, whole.cells.keys)
                assert_padded(block(batch.cells.sums, member, members), own.cells.sums)
                assert_padded(block(batch.cells.means, member, members), own.cells.means)
            for name in ("H0", "AH0", "graph_H0", "pool", "pool_t"):
                assert_padded(block(getattr(batch, name), member, members), getattr(own, name))
            for name in ("neighbors", "neighbors_t", "C_in", "C_out", "F_in", "F_out"):
                ours, theirs = getattr(batch.structure, name), getattr(own.structure, name)
                assert (ours is None) == (theirs is None)
                if ours is not None:
                    assert_padded(block(ours, member, members), theirs)
            sizes = batch.sizes if members == 1 else batch.sizes[member]
            assert torch.equal(sizes, own.sizes)
            if members > 1:
                assert batch.mask[member].tolist() == [
                    place < own.num_nodes for place in range(batch.mask.shape[1])
                ]
        assert (batch.mask is None) == (members == 1)
        assert batch.num_graphs == index.numel()


@given(tables(), st.sampled_from(["both", "in"]), st.sampled_from(["relations", "sources"]))
def test_a_members_pairs_are_those_of_its_graphs_alone_and_empty_rows(table, direction, way):
    collection, index = table
    needs = {"direction": direction, "dtype": torch.float64, "relations": True}
    batch = getattr(Blocks(Inputs.of(collection, **needs)).take(index).structure, way)
    members, places = len(index), batch.gather.shape[1] // len(index)
    for name in ("gather", "spread"):
        transposed = getattr(batch, f"{name}_t")
        if transposed is not None:
            assert torch.equal(transposed.to_dense(), getattr(batch, name).to_dense().T)
    for member, row in enumerate(index):
        own = getattr(Inputs.of(chosen(collection, row), **needs).structure, way)
        gather, spread = (
            block(getattr(batch, name), member, members) for name in ("gather", "spread")
        )
        for start, stop, first, last in zip(
            batch.offset, batch.offset[1:], own.offset, own.offset[1:], strict=False
        ):
            ours = spread[:, start:stop] @ gather[start:stop]
            theirs = (
                (own.spread.to_dense(torch.float64)[:, first:last])
                @ (own.gather.to_dense(torch.float64)[first:last])
            )
            nodes = len(theirs)
            assert torch.equal(ours[:nodes, :nodes], theirs)
            assert ours.shape == (places, places)
            assert float(ours.sum()) == float(theirs.sum())
        if batch.features is not None:
            shown = spread @ (batch.features if members == 1 else batch.features[member])
            torch.testing.assert_close(
                shown[:nodes], own.spread.to_dense(torch.float64) @ own.features
            )


def member_of(fleet, member):
    single = fleet.with_members(None).double()
    single.load_state_dict({name: value[member] for name, value in fleet.state_dict().items()})
    return single


def gradient(parameter):
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad


@given(
    tables(),
    st.sampled_from(tuple(LAYERS)),
    st.sampled_from(["both", "in"]),
    st.booleans(),
    st.sampled_from(["sum", "mean", "max"]),
    st.sampled_from([None, 3]),
)
def test_a_fleet_on_blocks_gives_what_its_members_give_alone(
    table, conv, direction, sparse, readout, embedding
):
    collection, index = table
    needs = {"direction": direction, "dtype": torch.float64, "relations": True}
    sizes = {
        "node_features": 0
        if collection.node_features is None
        else collection.node_features.shape[1],
        "edge_features": 0
        if collection.edge_features is None
        else collection.edge_features.shape[1],
    }
    labels = known_labels(collection.node_vocabulary), known_labels(collection.edge_vocabulary)
    options = {
        "hidden": 3,
        "conv": conv,
        "direction": direction,
        "readout": readout,
        "embedding": embedding,
        "batch_norm": True,
    }
    include_input = not (sparse and readout == "max")
    fleet = randomized(
        GraphModel(*labels, 2, members=len(index), include_input=include_input, **sizes, **options)
    )
    with pytest.MonkeyPatch.context() as patch:
        dense_labels(patch, -1 if sparse else 64)
        dense_entries(patch, -1 if sparse else 10**6)
        batch = Blocks(Inputs.of(collection, **needs)).take(index)
        for training in (False, True):
            singles = [member_of(fleet, member).train(training) for member in range(len(index))]
            fleet.train(training).zero_grad()
            together = fleet(batch)
            together.pow(2).sum().backward()
            for member, (single, row) in enumerate(zip(singles, index, strict=True)):
                alone = single(Inputs.of(chosen(collection, row), **needs))
                alone.pow(2).sum().backward()
                torch.testing.assert_close(together[member], alone)
                for ours, theirs in zip(fleet.parameters(), single.parameters(), strict=True):
                    torch.testing.assert_close(
                        gradient(ours)[member], gradient(theirs), rtol=1e-6, atol=1e-6
                    )
                for ours, theirs in zip(fleet.buffers(), single.buffers(), strict=True):
                    torch.testing.assert_close(ours[member], theirs)


@pytest.mark.parametrize("conv", tuple(LAYERS))
def test_molecules_in_blocks_give_what_they_give_alone(conv):
    collection = load_dataset("MUTAG").graphs
    index = torch.tensor([[5, 100, 7, -1], [80, -1, -1, -1], [7, 7, 3, 120]])
    fleet = randomized(GraphModel(7, 4, 2, hidden=5, conv=conv, batch_norm=True, members=3))
    singles = [member_of(fleet, member) for member in range(3)]
    result = fleet(Blocks(Inputs.of(collection, dtype=torch.float64, relations=True)).take(index))
    for member, (single, row) in enumerate(zip(singles, index, strict=True)):
        torch.testing.assert_close(result[member][row >= 0], single(collection[row[row >= 0]]))
        torch.testing.assert_close(
            fleet.convs[1].norm.running_var[member], single.convs[1].norm.running_var
        )


PADDED = """
import torch
from edgnn import load_dataset
from edgnn.graphs import Graphs
from edgnn.nn import GraphModel, Inputs
from edgnn.nn.ops import _row_sum
from edgnn.training import Blocks

molecules = load_dataset("MUTAG").graphs[:6]
odd = Graphs.from_edges(
    [(0, 1), (1, 0), (1, 1), (3, 4), (4, 5)], sizes=[2, 0, 1, 3], node_labels="abcabc", edge_labels="xyxyx",
    node_features=torch.arange(6.0)[:, None], edge_features=torch.arange(10.0).view(5, 2),
)
for graphs, index, options in (
    (molecules, [[5, 1, -1], [0, -1, -1], [3, 3, 2]], {}),
    (molecules, [[4, 1]], {"conv": "gnn", "readout": "mean"}),
    (odd, [[0, 1, 2, 3], [-1, 3, -1, 1]], {"direction": "in", "readout": "max", "node_features": 1, "edge_features": 2}),
    (odd, [[3, 0], [-1, -1]], {"node_features": 1, "edge_features": 2}),
):
    torch.manual_seed(0)
    labels = len(graphs.node_vocabulary), len(graphs.edge_vocabulary)
    index = torch.tensor(index)
    fleet = GraphModel(*labels, 2, hidden=3, batch_norm=True, members=len(index), **options).double()
    blocks = Blocks(Inputs.of(graphs, direction=options.get("direction", "both"), dtype=torch.float64))
    assert blocks.static
    results = []
    for padding in (None, 0, 5):
        _row_sum._on_device = lambda device: padding is not None
        room = int(blocks.room_for(index).sum(1).max())
        batch = blocks.take(index) if padding is None else blocks.take_padded(index, room + padding)
        fleet.zero_grad()
        outputs = fleet(batch)[..., : index.shape[1], :]
        outputs.pow(2).sum().backward()
        results.append([outputs, *(part.grad for part in fleet.parameters())])
    for padded in results[1:]:
        for ours, plain in zip(padded, results[0], strict=True):
            torch.testing.assert_close(ours, plain, rtol=1e-9, atol=1e-9)
print("equal")
"""


def test_blocks_of_a_given_size_give_what_blocks_give_in_the_interpreter(run_python):
    pytest.importorskip("triton")
    assert run_python(PADDED, TRITON_INTERPRET="1").strip() == "equal"


def test_members_may_share_one_batch():
    collection = load_dataset("MUTAG").graphs
    fleet = randomized(GraphModel(7, 4, 2, hidden=5, members=3)).eval()
    blocks = Blocks(Inputs.of(collection, dtype=torch.float64))
    shared = fleet(blocks.take(torch.tensor([[5, 100, 7]])))
    apart = fleet(blocks.take(torch.tensor([[5, 100, 7]] * 3)))
    torch.testing.assert_close(shared, apart)
    torch.testing.assert_close(shared, fleet(collection)[:, [5, 100, 7]])


def test_empty_places_give_what_a_graph_without_nodes_gives():
    collection = Graphs.from_edges([(0, 1)], sizes=[2, 0], node_labels="ab")
    fleet = randomized(GraphModel(2, 1, 2, hidden=3, members=2)).eval()
    result = fleet(
        Blocks(Inputs.of(collection, dtype=torch.float64)).take(torch.tensor([[0, -1], [1, -1]]))
    )
    torch.testing.assert_close(result[0, 1], fleet.head.bias[0])
    torch.testing.assert_close(result[1], fleet.head.bias[1].expand(2, -1))


@pytest.mark.gpu
@pytest.mark.parametrize("conv", tuple(LAYERS))
@pytest.mark.parametrize("sparse", [False, True])
def test_cuda_blocks_agree_with_the_cpu(monkeypatch, conv, sparse):
    dense_labels(monkeypatch, -1 if sparse else 64)
    dense_entries(monkeypatch, -1 if sparse else 10**6)
    inputs = Inputs.of(load_dataset("MUTAG").graphs, dtype=torch.float64, relations=True)
    index = torch.tensor([[1, 2, 3, -1], [100, -1, -1, -1], [7, 7, 80, 3]])
    fleet = randomized(GraphModel(7, 4, 2, hidden=5, conv=conv, batch_norm=True, members=3))
    expected = fleet(Blocks(inputs).take(index))
    expected.pow(2).sum().backward()
    gradients = [parameter.grad.clone() for parameter in fleet.parameters()]
    fleet.zero_grad()
    result = fleet.cuda()(Blocks(inputs.to("cuda")).take(index.cuda()))
    result.pow(2).sum().backward()
    torch.testing.assert_close(result.cpu(), expected)
    for ours, theirs in zip(fleet.parameters(), gradients, strict=True):
        torch.testing.assert_close(ours.grad.cpu(), theirs)
