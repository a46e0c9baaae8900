from __future__ import annotations

import pickle
import sys
from dataclasses import fields, is_dataclass, replace
from itertools import pairwise

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from dense_limits import dense_entries
from edgnn.errors import GraphError
from edgnn.graphs import CSR, Graphs, Halo, Structure
from strategies import INTEGERS, STRINGS, graphs

OPTIONS = [
    {"direction": d, "multiplicity": m} for d in ("both", "in") for m in ("once", "per-edge")
]
INDEX = torch.tensor([[0, 1], [1, 0]])
LABELED = st.sampled_from([None, STRINGS, INTEGERS])


def dense(counts):
    return counts.to_dense() if isinstance(counts, CSR) else counts


def rows(matrix: CSR) -> list[list[int]]:
    bounds = matrix.indptr.tolist()
    return [matrix.indices[start:stop].tolist() for start, stop in pairwise(bounds)]


def counted_by_hand(collection, direction, multiplicity):
    """Return what the paper defines, one vertex and one edge at a time."""
    edges = list(zip(collection.edge_source.tolist(), collection.edge_target.tolist(), strict=True))
    nodes, labels = range(collection.num_nodes), range(len(collection.edge_vocabulary))
    features = [] if collection.edge_features is None else collection.edge_features.tolist()
    width = 0 if collection.edge_features is None else collection.edge_features.shape[1]
    listed = []
    for v in nodes:
        neighbors = [source for source, target in edges if target == v]
        if direction == "both":
            neighbors += [target for source, target in edges if source == v]
        listed.append(sorted(set(neighbors) if multiplicity == "once" else neighbors))
    number = collection.edge_label.tolist()
    side = {"in": [t for _, t in edges], "out": [s for s, _ in edges]}
    return listed, {
        f"{kind}_{way}": [
            [
                sum(
                    (number[e] == column) if kind == "C" else features[e][column]
                    for e in range(len(edges))
                    if side[way][e] == v
                )
                for column in (labels if kind == "C" else range(width))
            ]
            for v in nodes
        ]
        for kind in "CF"
        for way in ("in", "out")
    }


def assert_same(one: Structure, other: Structure) -> None:
    for name in ("neighbors", "neighbors_t"):
        assert rows(getattr(one, name)) == rows(getattr(other, name))
    for name in ("C_in", "C_out", "F_in", "F_out"):
        ours, theirs = getattr(one, name), getattr(other, name)
        assert type(ours) is type(theirs)
        assert ours is None or torch.equal(dense(ours).cpu(), dense(theirs).cpu())
    assert one.graph_offset.tolist() == other.graph_offset.tolist()
    assert one.num_edge_labels == other.num_edge_labels


@given(graphs(labels=LABELED, names=False))
def test_every_entry_is_what_counting_by_hand_gives(collection):
    for options in OPTIONS:
        structure = Structure.of(collection, **options)
        neighbors, sums = counted_by_hand(collection, **options)
        transposed = [
            [v for v, row in enumerate(neighbors) for u in row if u == w]
            for w in range(len(neighbors))
        ]
        assert rows(structure.neighbors) == neighbors
        assert rows(structure.neighbors_t) == transposed
        assert (structure.neighbors_t is structure.neighbors) == (options["direction"] == "both")
        assert structure.degree.tolist() == [len(row) for row in neighbors]
        assert dense(structure.C_in).tolist() == sums["C_in"]
        if options["direction"] == "both":
            assert dense(structure.C_out).tolist() == sums["C_out"]
        else:
            assert structure.C_out is structure.F_out is None
        if collection.edge_features is None:
            assert structure.F_in is structure.F_out is None
        else:
            assert structure.F_in.tolist() == sums["F_in"]
            assert structure.F_out is None or structure.F_out.tolist() == sums["F_out"]
        assert structure.num_nodes == collection.num_nodes
        assert structure.num_graphs == len(collection)
        assert structure.neighbors.indices.dtype == structure.neighbors.indptr.dtype == torch.int32


def test_neighbors_of_a_small_multigraph_as_the_paper_has_them():
    collection = Graphs.from_edges([(0, 0), (0, 1), (0, 1), (1, 0), (2, 1)], edge_labels="xxyxy")
    assert rows(Structure.of(collection).neighbors) == [[0, 1], [0, 2], [1]]
    assert rows(Structure.of(collection, multiplicity="per-edge").neighbors) == [
        [0, 0, 1, 1, 1],
        [0, 0, 0, 2],
        [1],
    ]
    assert rows(Structure.of(collection, direction="in").neighbors) == [[0, 1], [0, 2], []]
    assert rows(Structure.of(collection, direction="in").neighbors_t) == [[0, 1], [0], [1]]
    assert dense(Structure.of(collection).C_in).tolist() == [[2, 0], [1, 2], [0, 0]]
    assert dense(Structure.of(collection).C_out).tolist() == [[2, 1], [1, 0], [0, 1]]


@given(graphs(labels=LABELED, names=False), st.sampled_from(OPTIONS))
def test_a_disjoint_union_has_the_blocks_of_its_graphs(collection, options):
    whole = Structure.of(collection, **options)
    parts = [Structure.of(graph, **options) for graph in collection]
    if parts:
        blocks = torch.block_diag(*[part.neighbors.to_dense() for part in parts])
        assert torch.equal(whole.neighbors.to_dense(), blocks.reshape(whole.neighbors.shape))
        for name in ("C_in", "C_out", "F_in", "F_out"):
            if getattr(whole, name) is not None:
                assert torch.equal(
                    dense(getattr(whole, name)),
                    torch.cat([dense(getattr(part, name)) for part in parts]),
                )


@pytest.mark.parametrize(
    ("nodes", "labels", "kind"),
    [(8, 2, torch.Tensor), (16, 1, torch.Tensor), (17, 1, CSR), (6, 3, CSR)],
)
def test_counts_are_dense_up_to_eight_entries_per_edge(nodes, labels, kind):
    structure = Structure.from_edge_index(INDEX, num_nodes=nodes, num_edge_labels=labels)
    assert isinstance(structure.C_in, kind)
    assert isinstance(structure.C_out, kind)


@given(graphs(labels=LABELED, names=False, features=False))
def test_dense_and_sparse_counts_are_equal(collection):
    assume(collection.num_edges)
    with pytest.MonkeyPatch.context() as patch:
        dense_entries(patch, 10**6)
        filled = Structure.of(collection)
        dense_entries(patch, -1)
        sparse = Structure.of(collection)
    assert isinstance(sparse.C_in, CSR)
    assert isinstance(filled.C_in, torch.Tensor)
    for name in ("C_in", "C_out"):
        assert torch.equal(dense(getattr(filled, name)), getattr(sparse, name).to_dense())
        assert getattr(sparse, name).values.dtype == torch.float32


@given(
    graphs(labels=LABELED, names=False), st.sampled_from(OPTIONS), st.randoms(use_true_random=False)
)
def test_edge_index_gives_the_same_structure_in_any_edge_order(collection, options, random):
    order = list(range(collection.num_edges))
    random.shuffle(order)
    index = torch.stack([collection.edge_source, collection.edge_target])[:, order]
    features = collection.edge_features
    arrays = {
        "edge_type": collection.edge_label[order],
        "edge_features": None if features is None else features[order],
        "num_nodes": collection.num_nodes,
        "num_edge_labels": len(collection.edge_vocabulary),
    }
    made = Structure.from_edge_index(index, **arrays, **options)
    batched = Structure.from_edge_index(
        index.int(), **arrays, batch=collection.graph_of_node, **options
    )
    expected = Structure.of(collection, **options)
    for structure in (made, batched):
        assert rows(structure.neighbors) == rows(expected.neighbors)
        for name in ("C_in", "C_out", "F_in", "F_out"):
            theirs = getattr(expected, name)
            assert theirs is None or torch.equal(dense(getattr(structure, name)), dense(theirs))
    assert made.num_graphs == 1
    occupied = int(collection.graph_of_node.max()) + 1 if collection.num_nodes else 0
    assert batched.graph_offset.tolist() == collection.graph_offset[: occupied + 1].tolist()


@pytest.mark.parametrize("nodes", [3, 99])
def test_edges_with_the_reserved_label_join_neighbors_but_are_not_counted(nodes):
    known = Graphs.from_edges([(0, 1), (1, 2)], edge_labels="xy")
    like = known.with_node_labels(None)
    collection = Graphs.from_edges(
        [(0, 1), (2, 1), (0, 2), (0, 1)],
        edge_labels="xzyx",
        num_nodes=nodes,
        like=like,
        unknown="map",
    )
    structure = Structure.of(collection)
    assert isinstance(structure.C_in, CSR) == (nodes == 99)
    assert structure.num_edge_labels == 2
    assert rows(structure.neighbors)[:3] == [[1, 2], [0, 2], [0, 1]]
    assert dense(structure.C_in)[:3].tolist() == [[0, 0], [2, 0], [0, 1]]
    assert dense(structure.C_out)[:3].tolist() == [[2, 1], [0, 0], [0, 0]]


def test_edge_index_alone_settles_nodes_and_labels():
    index = torch.tensor([[0, 3], [1, 0]])
    assert Structure.from_edge_index(index).num_nodes == 4
    assert Structure.from_edge_index(index).num_edge_labels == 1
    assert Structure.from_edge_index(index, torch.tensor([0, 4])).num_edge_labels == 5
    assert Structure.from_edge_index(index, batch=torch.zeros(6, dtype=torch.int64)).num_nodes == 6
    empty = Structure.from_edge_index(torch.zeros(2, 0))
    assert (empty.num_nodes, empty.neighbors.nnz, empty.num_edge_labels) == (0, 0, 1)
    assert Structure.from_edge_index(torch.zeros(2, 0), torch.zeros(0)).num_edge_labels == 1


@pytest.mark.parametrize(
    ("index", "options", "message"),
    [
        ([[0], [1]], {}, r"edge_index must be a tensor of shape \(2, E\), got a list"),
        (INDEX[0], {}, r"edge_index must have the shape \(2, E\), got \(2,\)"),
        (
            torch.zeros(5, 2, dtype=torch.int64),
            {},
            r"edge_index must have the shape \(2, E\), got \(5, 2\)",
        ),
        (INDEX + 0.5, {}, "edge_index must hold whole numbers, got torch.float32"),
        (INDEX, {"edge_type": torch.zeros(2)}, "edge_type must hold whole numbers"),
        (INDEX, {"edge_type": torch.tensor([0])}, "1 edge labels were given for 2 edges"),
        (
            INDEX,
            {"edge_type": torch.tensor([0]), "batch": torch.tensor([0, 0])},
            "1 edge labels were given for 2 edges",
        ),
        (
            INDEX,
            {"edge_type": torch.tensor([0, 3]), "num_edge_labels": 3},
            "edge 1 has the label number 3",
        ),
        (INDEX, {"edge_type": torch.tensor([0, -1])}, "edge 1 has the label number -1"),
        (
            INDEX,
            {"edge_features": torch.zeros(3, 1)},
            "3 rows of edge features were given for 2 edges",
        ),
        (
            INDEX,
            {"edge_features": torch.zeros(3, 1), "batch": torch.tensor([0, 0])},
            "3 rows of edge features were given",
        ),
        (INDEX, {"edge_features": torch.zeros(2)}, "edge features must be a float matrix"),
        (INDEX, {"num_nodes": 1}, "edge 1 starts at node 1, but there are 1 nodes"),
        (INDEX - 1, {}, "edge 0 starts at node -1"),
        (
            INDEX + 1,
            {"batch": torch.tensor([0, 0])},
            "edge 1 starts at node 2, but there are 2 nodes",
        ),
        (
            INDEX,
            {"batch": torch.tensor([0, 0, 0]), "num_nodes": 2},
            "batch must give one graph number per node, 2 of them",
        ),
        (INDEX, {"batch": torch.tensor([[0, 0]])}, "batch must give one graph number per node"),
        (INDEX, {"batch": torch.tensor([-1, 0])}, "node 0 has the graph number -1"),
        (INDEX, {"batch": torch.tensor([1, 0])}, "batch must rise"),
        (INDEX, {"batch": torch.tensor([0.0, 0.0])}, "batch must hold whole numbers"),
        (
            INDEX,
            {"batch": torch.tensor([0, 1])},
            "edge 0 joins node 0 of graph 0 to node 1 of graph 1",
        ),
        (INDEX, {"direction": "out"}, "direction='out': choose 'both' or 'in'"),
        (INDEX, {"multiplicity": "twice"}, "multiplicity='twice': choose 'once' or 'per-edge'"),
        (INDEX, {"dtype": torch.float16}, "dtype=torch.float16 does not count exactly"),
        (INDEX, {"dtype": torch.int64}, "dtype=torch.int64 does not count exactly"),
    ],
)
def test_wrong_arrays_and_choices_are_named(index, options, message):
    with pytest.raises(GraphError, match=message):
        Structure.from_edge_index(index, **options)


def test_counts_and_sums_come_in_double_precision_when_asked():
    third = torch.full((3, 1), 1 / 3, dtype=torch.float64)
    collection = Graphs.from_edges([(0, 1)] * 3, edge_features=third)
    double, single = Structure.of(collection, dtype=torch.float64), Structure.of(collection)
    assert {double.C_in.dtype, double.C_out.dtype, double.F_in.dtype, double.F_out.dtype} == {
        torch.float64
    }
    assert single.F_in.dtype == torch.float32
    assert double.F_in[1].item() == third.sum().item()
    listed = Structure.of(collection, dtype=torch.float64, relations="sources").sources
    assert torch.equal(listed.features, torch.cat([third, third]))
    sparse = Structure.of(Graphs.from_edges([(0, 1)], num_nodes=99), dtype=torch.float64)
    assert sparse.C_in.values.dtype == torch.float64


@pytest.mark.parametrize("nodes", [2, 99])
def test_counts_beyond_what_float32_holds_exactly_are_refused(monkeypatch, nodes):
    monkeypatch.setattr("edgnn.graphs._structure._EXACT_FLOAT32", 4)
    Structure.of(Graphs.from_edges([(0, 1)] * 3 + [(1, 0)] * 3, num_nodes=nodes))
    collection = Graphs.from_edges([(0, 1)] * 4, num_nodes=nodes)
    with pytest.raises(
        GraphError,
        match=r"a node has 4 or more edges of one label.*exactly: build the structure with dtype=torch\.float64$",
    ):
        Structure.of(collection)
    assert dense(Structure.of(collection, dtype=torch.float64).C_in)[1, 0] == 4


def test_too_many_nodes_are_refused(monkeypatch):
    collection = Graphs.from_edges([])
    monkeypatch.setattr(Graphs, "num_nodes", 2**31)
    with pytest.raises(GraphError, match="2147483648 nodes are too many for one structure"):
        Structure.of(collection)


def test_feature_sums_have_the_same_bits_every_time():
    generator = torch.Generator().manual_seed(0)
    index = torch.randint(0, 50, (2, 20_000), generator=generator)
    features = torch.randn(20_000, 3, generator=generator)
    threads = torch.get_num_threads()
    try:
        made = []
        for count in (1, 2, 2):
            torch.set_num_threads(count)
            made.append(Structure.from_edge_index(index, edge_features=features))
    finally:
        torch.set_num_threads(threads)
    for other in made[1:]:
        assert torch.equal(made[0].F_in, other.F_in)
        assert torch.equal(made[0].F_out, other.F_out)
    exact = torch.zeros(50, 3, dtype=torch.float64).index_add_(0, index[1], features.double())
    torch.testing.assert_close(made[0].F_in.double(), exact, atol=1e-3, rtol=1e-5)


@pytest.mark.parametrize("options", OPTIONS)
def test_moving_and_pickling_keep_everything(options):
    collection = Graphs.from_edges(
        [(0, 1), (1, 2), (1, 2)],
        num_nodes=4,
        edge_labels="xyx",
        edge_features=[[1.0], [2.0], [4.0]],
    )
    structure = Structure.of(collection, **options)
    for other in (
        structure.to("cpu"),
        pickle.loads(pickle.dumps(structure)),
        structure.to(dtype=torch.float64).to(dtype=torch.float32),
    ):
        assert_same(structure, other)
        assert (other.neighbors is other.neighbors_t) == (options["direction"] == "both")
        assert (other.direction, other.multiplicity) == (
            options["direction"],
            options["multiplicity"],
        )
    half = structure.to(dtype=torch.float16)
    assert half.F_in.dtype == half.C_in.dtype == torch.float16
    assert half.neighbors.indices.dtype == torch.int32


def devices(part) -> set[str]:
    """Return where all arrays of a structure, a matrix, or a list of pairs are."""
    if isinstance(part, torch.Tensor):
        return {part.device.type}
    return (
        set().union(*(devices(getattr(part, field.name)) for field in fields(part)))
        if is_dataclass(part)
        else set()
    )


@pytest.mark.parametrize("nodes", [3, 99])
@pytest.mark.parametrize("direction", ["both", "in"])
def test_moving_takes_every_array_along(nodes, direction):
    collection = Graphs.from_edges([(0, 1), (1, 2)], num_nodes=nodes, edge_features=[[1.0], [2.0]])
    whole = Structure.of(collection, direction=direction, relations=True)
    part = whole.rows(torch.tensor([1]), torch.tensor([1, 0, 2]))
    halo = Halo(torch.tensor([0]), (0, 1), (1, 1))
    for structure in (whole, part, replace(part, halo=halo)):
        moved = structure.to("meta", torch.float64)
        assert (devices(structure), devices(moved)) == ({"cpu"}, {"meta"})
        for name in (field.name for field in fields(structure)):
            assert (getattr(moved, name) is None) == (getattr(structure, name) is None)
        assert moved.sources.features.dtype == moved.F_in.dtype == torch.float64
        assert moved.relations.mirrored == structure.relations.mirrored


@given(
    graphs(labels=LABELED, names=False, min_nodes=1, min_graphs=1),
    st.sampled_from(OPTIONS),
    st.randoms(use_true_random=False),
)
def test_a_part_has_the_rows_of_its_nodes_with_columns_numbered_anew(collection, options, random):
    whole = Structure.of(collection, **options)
    columns = random.sample(range(whole.num_nodes), whole.num_nodes)
    chosen = torch.tensor(columns[: random.randint(0, whole.num_nodes)], dtype=torch.int64)
    part = whole.rows(chosen, torch.tensor(columns))
    assert part.neighbors.shape == (len(chosen), whole.num_nodes)
    assert [sorted(columns[place] for place in row) for row in rows(part.neighbors)] == [
        rows(whole.neighbors)[node] for node in chosen.tolist()
    ]
    for name in ("C_in", "C_out", "F_in", "F_out"):
        ours, theirs = getattr(part, name), getattr(whole, name)
        assert (ours is None) == (theirs is None)
        assert theirs is None or torch.equal(dense(ours), dense(theirs)[chosen])
    assert part.nodes.tolist() == columns
    assert part.neighbors_t is None
    bare = whole.rows(chosen)
    assert bare.neighbors.shape == (len(chosen), len(chosen))
    assert (bare.neighbors.nnz, bare.nodes.tolist()) == (0, chosen.tolist())


def test_repr_and_size_in_memory():
    structure = Structure.of(Graphs.from_edges([(0, 1), (1, 2)], edge_labels="ab"))
    assert repr(structure) == (
        "Structure(1 graph, 3 nodes, 4 neighbors, 2 edge labels (dense counts), direction='both', multiplicity='once', "
        "0.0 MiB on cpu)"
    )
    assert structure.nbytes == 4 * (4 + 4) + 2 * (3 * 2 * 4) + 2 * 8
    assert "sparse counts" in repr(Structure.of(Graphs.from_edges([], sizes=[2, 3])))
    large = Structure.from_edge_index(INDEX, num_nodes=2**18)
    assert large.nbytes == pytest.approx(3 * 2**20, rel=1e-3)
    assert repr(large).endswith("3.0 MiB on cpu)")
    assert structure.device.type == "cpu"


@pytest.mark.gpu
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("labels", [3, 400])
def test_cuda_structures_agree_with_the_cpu(options, labels):
    generator = torch.Generator().manual_seed(1)
    graph = torch.arange(400) // 4
    index = (
        torch.randint(0, 4, (2, 2000), generator=generator)
        + torch.randint(0, 100, (2000,), generator=generator) * 4
    )
    kinds = torch.randint(0, labels, (2000,), generator=generator)
    features = torch.randint(-8, 9, (2000, 3), generator=generator) / 4
    arrays = {"edge_type": kinds, "edge_features": features, "batch": graph, "num_nodes": 400}
    moved = {
        name: value.cuda() if isinstance(value, torch.Tensor) else value
        for name, value in arrays.items()
    }
    ours = Structure.from_edge_index(index.cuda(), **moved, num_edge_labels=labels, **options)
    expected = Structure.from_edge_index(index, **arrays, num_edge_labels=labels, **options)
    assert ours.device.type == "cuda"
    assert isinstance(expected.C_in, CSR) == (labels == 400)
    assert_same(ours, expected)
    assert_same(ours.to("cpu"), expected)
    assert_same(expected.to("cuda"), expected)


@pytest.mark.gpu
def test_cuda_feature_sums_have_the_same_bits_every_time():
    generator = torch.Generator(device="cuda").manual_seed(0)
    index = torch.randint(0, 50, (2, 200_000), generator=generator, device="cuda")
    features = torch.randn(200_000, 3, generator=generator, device="cuda")
    first, *others = (Structure.from_edge_index(index, edge_features=features) for _ in range(4))
    assert all(
        torch.equal(first.F_in, other.F_in) and torch.equal(first.F_out, other.F_out)
        for other in others
    )


MEASURED = """
import re, torch
from pathlib import Path
from edgnn.graphs import Graphs, Structure, Vocabulary

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

nodes, edges, labels = 1_000_000, 10_000_000, 5
Structure.of(Graphs.from_edges([(0, 1)]))
ends = [torch.randint(0, nodes, (edges,)) for _ in range(2)]
graphs = Graphs._trusted(
    node_label=torch.zeros(nodes, dtype=torch.int64), edge_source=ends[0], edge_target=ends[1],
    edge_label=torch.randint(0, labels, (edges,)), graph_offset=torch.tensor([0, nodes]),
    node_vocabulary=Vocabulary([None]), edge_vocabulary=Vocabulary(range(labels)),
)
before = peak()
structure = Structure.of(graphs)
print((peak() - before) / edges, structure.nbytes / edges)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_memory_is_linear_for_ten_million_edges(run_python):
    peak, kept = map(float, run_python(MEASURED, OMP_NUM_THREADS="1").split())
    assert kept < 16
    assert peak < 80
