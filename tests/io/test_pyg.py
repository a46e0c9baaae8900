import pickle
import warnings
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgnn.errors import GraphError, UnknownLabelError
from edgnn.graphs import UNKNOWN, Graphs
from edgnn.io import from_pyg, read_tu, to_pyg
from strategies import INTEGERS, STRINGS
from strategies import graphs as any_graphs

with warnings.catch_warnings():
    # PyG 2.8 calls torch.jit.script while it is imported, which torch 2.13 deprecates; nothing of ours does.
    warnings.simplefilter("ignore", DeprecationWarning)
    from torch_geometric.data import Batch, Data, HeteroData
    from torch_geometric.io import read_tu_data
    from torch_geometric.loader import DataLoader

some_graphs = any_graphs(min_graphs=1, names=False)


def _molecules():
    return Graphs.from_edges(
        [(0, 1), (1, 0), (0, 0), (2, 3), (2, 3), (3, 2)],
        sizes=[2, 2, 0],
        node_labels=["C", "O", "O", "N"],
        edge_labels=[("a", 1), "b", "b", "b", ("a", 1), "b"],
        node_features=[[0.5, 1], [1, 2], [2, 3], [3, 4]],
        edge_features=torch.arange(6, dtype=torch.float64)[:, None],
    )


def _path(**fields):
    return Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3, **fields)


# There and back


@given(some_graphs)
def test_round_trip_gives_the_same_graphs(graphs):
    assert from_pyg(to_pyg(graphs)).equals(graphs)


@given(some_graphs, st.integers(1, 3))
def test_round_trip_survives_the_data_loader(graphs, size):
    batches = list(DataLoader(to_pyg(graphs), batch_size=size))
    assert from_pyg(batches).equals(graphs)
    assert from_pyg(Batch.from_data_list(to_pyg(graphs))).equals(graphs)


@given(some_graphs)
def test_round_trip_survives_a_move_and_a_pickle(graphs):
    moved = [
        item.to("cpu") for item in to_pyg(graphs)
    ]  # turns tuples among the label values into lists
    assert from_pyg(pickle.loads(pickle.dumps(moved))).equals(graphs)


def test_no_graphs_come_back_as_none():
    assert to_pyg(from_pyg([])) == []
    assert from_pyg([], like=_molecules()).node_vocabulary == _molecules().node_vocabulary


def test_data_has_what_pyg_expects():
    graphs = _molecules()
    first, second, last = to_pyg(graphs)
    assert second.edge_index.tolist() == [[0, 0, 1], [1, 1, 0]]
    assert second.edge_index.is_contiguous()
    assert (second.edge_index.dtype, second.node_type.dtype, second.edge_type.dtype) == (
        torch.int64,
    ) * 3
    assert (first.num_nodes, second.num_nodes, last.num_nodes) == (2, 2, 0)
    assert second.node_type.tolist() == [1, 2]
    assert second.edge_type.tolist() == [1, 0, 1]
    assert second.label_values == {"node": ["C", "O", "N"], "edge": [("a", 1), "b"]}
    assert second.x.tolist() == [[2, 3], [3, 4]]
    assert second.edge_attr.tolist() == [[3], [4], [5]]
    assert all(item.validate() for item in (first, second, last))


def test_graphs_without_labels_have_no_types():
    (item,) = to_pyg(Graphs.from_edges([(0, 1)]))
    assert set(item.keys()) == {"edge_index", "num_nodes"}
    assert from_pyg(item).node_vocabulary.constant


def test_one_hot_columns_follow_the_features():
    graphs = _molecules()
    second = to_pyg(graphs, one_hot=True)[1]
    assert second.x.tolist() == [[2, 3, 0, 1, 0], [3, 4, 0, 0, 1]]
    assert second.edge_attr.tolist() == [[3, 0, 1], [4, 1, 0], [5, 0, 1]]
    assert second.edge_attr.dtype == torch.float64


@given(
    any_graphs(
        min_graphs=1, labels=st.sampled_from([STRINGS, INTEGERS]), features=False, names=False
    )
)
def test_one_hot_matrices_hold_the_label_numbers(graphs):
    items = to_pyg(graphs, one_hot=True)
    found = from_pyg(items, x="one-hot", edge_attr="one-hot")
    assert found.node_labels == graphs.node_label.tolist()
    assert found.edge_label.equal(graphs.edge_label)
    assert len(found.node_vocabulary) == len(graphs.node_vocabulary)
    assert found.node_features is None


def test_changing_the_data_leaves_the_graphs_alone():
    graphs, untouched = _molecules(), _molecules()
    for item in to_pyg(graphs):
        for key in ("x", "edge_attr", "node_type", "edge_type", "edge_index"):
            item[key].zero_()
    assert graphs.equals(untouched)
    (item,) = to_pyg(graphs[:1])
    again = from_pyg(item)
    item.x.zero_()
    assert again.equals(graphs[:1])


def test_subgraph_of_as_many_nodes_as_labels_keeps_its_labels():
    graphs = Graphs.from_edges(
        [(0, 1), (1, 2)], node_labels=["C", "N", "O"], edge_labels=["a", "b"]
    )
    part = to_pyg(graphs)[0].subgraph(torch.tensor([1, 2]))
    assert from_pyg(part).node_labels == ["N", "O"]
    assert from_pyg(part).edge_labels == ["b"]


# Labels


def test_numbers_without_values_are_the_labels():
    graphs = from_pyg(
        [
            _path(node_type=torch.tensor([7, 5, 7]), edge_type=torch.tensor([1, 0])),
            _path(node_type=torch.tensor([5, 6, 5]), edge_type=torch.tensor([[0], [0]])),
        ]
    )
    assert graphs.node_labels == [7, 5, 7, 5, 6, 5]
    assert list(graphs.node_vocabulary) == [7, 5, 6]
    assert graphs.edge_labels == [1, 0, 0, 0]


def test_labels_can_come_from_other_attributes():
    item = _path(
        z=torch.tensor([6, 8, 6]),
        node_type=torch.tensor([0, 0, 0]),
        bond=torch.tensor([2, 1], dtype=torch.uint8),
    )
    graphs = from_pyg(item, node_label="z", edge_label="bond")
    assert graphs.node_labels == [6, 8, 6]
    assert graphs.edge_labels == [2, 1]
    with pytest.raises(GraphError, match="item 0 has no attribute 'q', which node_label asks for"):
        from_pyg(item, node_label="q")


def test_values_of_different_data_are_merged():
    one = _path(node_type=torch.tensor([0, 1, 0]), label_values={"node": ["C", "N"]})
    two = _path(node_type=torch.tensor([0, 1, 2]), label_values={"node": ["N", "O", ["p", 1]]})
    graphs = from_pyg([one, two])
    assert graphs.node_labels == ["C", "N", "C", "N", "O", ("p", 1)]
    assert list(graphs.node_vocabulary) == ["C", "N", "O", ("p", 1)]


def test_like_numbers_labels_as_the_other_graphs_do():
    reference = Graphs.from_edges([(0, 1)], node_labels=["N", "C"])
    item = _path(node_type=torch.tensor([0, 0, 1]), label_values={"node": ["C", "N"]})
    assert from_pyg(item, like=reference).node_label.tolist() == [1, 1, 0]
    item.label_values = {"node": ["C", "Xe"]}
    with pytest.raises(UnknownLabelError, match="node 2 has the label 'Xe'"):
        from_pyg(item, like=reference)
    assert from_pyg(item, like=reference, unknown="map").node_labels == ["C", "C", UNKNOWN]


@pytest.mark.parametrize(
    ("items", "rule"),
    [
        (
            [_path(node_type=torch.tensor([0, 1, 2])), _path()],
            "item 1 has no node labels, but others have",
        ),
        (
            [_path(edge_type=torch.tensor([0.0, 1.0]))],
            "item 0: edge_type holds torch.float32; labels must be whole numbers",
        ),
        ([_path(node_type=["C", "C", "N"])], "item 0: node_type holds list"),
        (
            [_path(node_type=torch.tensor([0, 1]))],
            r"item 0: node_type has the shape \(2,\); expected one number .* 3 nodes",
        ),
        ([_path(node_type=torch.tensor([[0, 1, 2]]))], r"has the shape \(1, 3\)"),
        (
            [_path(), _path(edge_type=torch.tensor([0, 2]), label_values={"edge": ["a", "b"]})],
            "item 1: edge 1 has the label number 2, but label_values lists 2",
        ),
        (
            [
                _path(edge_type=torch.tensor([0, 1]), label_values={"edge": ["a", "b"]}),
                _path(edge_type=torch.tensor([0, 1])),
            ],
            "item 1 has no label_values for its edges",
        ),
        (
            [_path(edge_type=torch.tensor([0, 1]), label_values={"edge": ["a", {}]})],
            "cannot be hashed",
        ),
    ],
)
def test_wrong_labels_are_named(items, rule):
    with pytest.raises(GraphError, match=rule):
        from_pyg(items)


# Matrices


def test_matrices_become_features():
    graphs = from_pyg(
        _path(
            x=torch.tensor([[1], [2], [3]]), edge_attr=torch.tensor([0.5, 1.5], dtype=torch.float64)
        )
    )
    assert graphs.node_features.tolist() == [[1], [2], [3]]
    assert graphs.node_features.dtype == torch.float32
    assert graphs.edge_features.tolist() == [[0.5], [1.5]]
    assert graphs.edge_features.dtype == torch.float64
    ignored = from_pyg(
        _path(x=torch.ones(3, 2), edge_attr=torch.ones(2, 1)), x="ignore", edge_attr="ignore"
    )
    assert ignored.node_features is None
    assert ignored.edge_features is None


def test_features_carry_no_gradient():
    graphs = from_pyg(_path(x=torch.ones(3, 1, requires_grad=True)))
    assert not graphs.node_features.requires_grad


@pytest.mark.parametrize(
    ("item", "rule"),
    [
        (
            _path(x=torch.ones(2, 1)),
            r"x has the shape \(2, 1\); expected a row for each of 3 nodes",
        ),
        (_path(edge_attr=torch.ones(2, 1, 1)), r"edge_attr has the shape \(2, 1, 1\)"),
        (_path(x=np.ones((3, 1))), "x is a ndarray; make it a dense tensor"),
        (_path(x=torch.eye(3).to_sparse()), "x is a torch.sparse_coo tensor"),
        (_path(x=torch.ones(3, 1, dtype=torch.complex64)), "real numbers"),
        (_path(x=torch.tensor([[0.0], [np.nan], [1.0]])), "feature 0 of node 1 is nan"),
    ],
)
def test_wrong_features_are_named(item, rule):
    with pytest.raises(GraphError, match=rule):
        from_pyg(item)


def test_features_must_be_in_all_data_and_of_one_width():
    with pytest.raises(
        GraphError, match=r"item 1 has no x, but other data have; .* pass x='ignore'"
    ):
        from_pyg([_path(x=torch.ones(3, 1)), _path()])
    with pytest.raises(
        GraphError,
        match="item 1 has 2 columns in edge_attr, but item 0 has 1; pass edge_attr='ignore'",
    ):
        from_pyg([_path(edge_attr=torch.ones(2, 1)), _path(edge_attr=torch.ones(2, 2))])


@pytest.mark.parametrize("row", [[0.5, 0.5, 0], [0, 0, 0], [1, 1, 0], [2, 0, -1], [np.nan, 1, 0]])
def test_row_that_is_not_one_hot_is_named(row):
    rows = torch.tensor([[0, 1, 0], row, [1, 0, 0]])
    with pytest.raises(
        GraphError, match=r"item 1: node 1 has the row \[.*\] in x, which is not one-hot"
    ):
        from_pyg([_path(x=torch.eye(3)), _path(x=rows)], x="one-hot")
    assert from_pyg(_path(x=torch.eye(3)), x="one-hot").node_labels == [0, 1, 2]


def test_one_hot_labels_keep_the_numbers_of_their_columns():
    graphs = from_pyg(
        _path(edge_attr=torch.tensor([[0, 0, 1], [1, 0, 0]]), edge_type=torch.tensor([5, 5])),
        edge_attr="one-hot",
    )
    assert graphs.edge_label.tolist() == graphs.edge_labels == [2, 0]
    assert list(graphs.edge_vocabulary) == [0, 1, 2]


def test_contradictory_options_are_refused():
    with pytest.raises(GraphError, match="both node_label='z' and x='one-hot' name the labels"):
        from_pyg(_path(), node_label="z", x="one-hot")
    with pytest.raises(GraphError, match="item 0 has no x, which x='one-hot' asks for"):
        from_pyg(_path(), x="one-hot")
    with pytest.raises(
        GraphError, match="edge_attr='onehot': choose 'features', 'one-hot' or 'ignore'"
    ):
        from_pyg(_path(), edge_attr="onehot")


# Edges and nodes


def test_edges_stay_as_they_are():
    item = Data(
        edge_index=torch.tensor([[2, 0, 0, 1], [2, 1, 1, 0]], dtype=torch.int32), num_nodes=4
    )
    graphs = from_pyg([_path(), item])
    assert graphs.edge_source.tolist() == [0, 1, 5, 3, 3, 4]
    assert graphs.edge_target.tolist() == [1, 2, 5, 4, 4, 3]
    assert graphs.sizes.tolist() == [3, 4]


def test_data_without_edges_has_none():
    assert from_pyg(
        [Data(num_nodes=2), Data(num_nodes=1, edge_index=torch.tensor([[], []]))]
    ).sizes.tolist() == [2, 1]


def test_missing_node_count_is_pygs_guess():
    item = Data(edge_index=torch.tensor([[0], [4]]))
    with pytest.warns(UserWarning, match="Unable to accurately infer 'num_nodes'"):
        assert from_pyg(item).num_nodes == 5
    assert from_pyg(Data(x=torch.ones(3, 1))).num_nodes == 3
    with (
        pytest.warns(UserWarning, match="Unable to accurately infer"),
        pytest.raises(GraphError, match="item 0: the number of nodes is unknown; set num_nodes"),
    ):
        from_pyg(Data(y=torch.ones(1)))


@pytest.mark.parametrize(
    ("edges", "rule"),
    [
        (torch.tensor([[0, 1], [1, 3]]), "item 1: edge 1 points to node 3, but there are 3 nodes"),
        (torch.tensor([[0, -1], [1, 0]]), "item 1: edge 1 starts at node -1"),
        (
            torch.tensor([[0.0], [1.0]]),
            "item 1: edge_index must hold whole node numbers, got torch.float32",
        ),
        (
            torch.tensor([[0, 1], [1, 2], [2, 0]]),
            r"item 1: edge_index must be a tensor of shape \(2, E\), got shape \(3, 2\)",
        ),
        ([[0], [1]], "got type list"),
    ],
)
def test_wrong_edge_index_is_named(edges, rule):
    with pytest.raises(GraphError, match=rule):
        from_pyg([_path(), Data(edge_index=edges, num_nodes=3)])


def test_sparse_adjacency_is_refused():
    with pytest.raises(GraphError, match="convert them to edge_index"):
        from_pyg(Data(adj_t=torch.eye(3).to_sparse(), num_nodes=3))


@pytest.mark.parametrize(
    ("thing", "rule"), [(7, "got a int"), (["x"], "item 0 is a str, not PyG data")]
)
def test_other_things_are_refused(thing, rule):
    with pytest.raises(GraphError, match=rule):
        from_pyg(thing)


def test_batch_without_its_slices_is_refused():
    with pytest.raises(GraphError, match="the batch cannot be taken apart"):
        from_pyg(
            Batch(edge_index=torch.tensor([[0], [1]]), num_nodes=2, batch=torch.tensor([0, 0]))
        )


# Heterogeneous data


def _library():
    data = HeteroData()
    data["author"].x = torch.tensor([[1.0], [2.0]])
    data["paper"].x = torch.tensor([[3.0], [4.0], [5.0]])
    data["author", "writes", "paper"].edge_index = torch.tensor([[0, 1, 1], [0, 0, 2]])
    data["paper", "cites", "paper"].edge_index = torch.tensor([[2], [1]])
    return data


def test_types_become_labels():
    graphs = from_pyg(_library())
    assert graphs.node_labels == ["author"] * 2 + ["paper"] * 3
    assert graphs.edge_source.tolist() == [0, 1, 1, 4]
    assert graphs.edge_target.tolist() == [2, 2, 4, 3]
    assert graphs.edge_labels == [("author", "writes", "paper")] * 3 + [("paper", "cites", "paper")]
    assert graphs.node_features.tolist() == [[1], [2], [3], [4], [5]]
    assert graphs.node_names is None


def test_several_heterogeneous_data_share_their_labels():
    other = HeteroData()
    other["paper"].num_nodes = 1
    other["venue"].num_nodes = 1
    other["paper", "in", "venue"].edge_index = torch.tensor([[0], [0]])
    parts = [_library(), other]
    graphs = from_pyg(parts, x="ignore")
    assert list(graphs.node_vocabulary) == ["author", "paper", "venue"]
    assert graphs.node_labels[5:] == ["paper", "venue"]
    assert from_pyg(Batch.from_data_list([_library(), _library()])).sizes.tolist() == [5, 5]


def test_features_of_types_must_fit_together():
    narrow, bare = _library(), _library()
    narrow["paper"].x = torch.ones(3, 2)
    with pytest.raises(
        GraphError,
        match=r"node type 'paper' has 2 columns in x, but .*'author' has 1; pass x='ignore'",
    ):
        from_pyg(narrow)
    del bare["author"].x
    bare["author"].num_nodes = 2
    with pytest.raises(
        GraphError, match=r"node type 'author' has no x, but other types have; .*x='ignore'"
    ):
        from_pyg(bare)
    assert from_pyg(bare, x="ignore").node_features is None


def test_wrong_heterogeneous_data_is_named():
    outside, nowhere, unknown = _library(), _library(), _library()
    outside["paper", "cites", "paper"].edge_index = torch.tensor([[3], [0]])
    with pytest.raises(
        GraphError,
        match=r"edge type \('paper', 'cites', 'paper'\): edge 0 starts at node 3, .* 3 nodes",
    ):
        from_pyg(outside)
    nowhere["paper", "in", "venue"].edge_index = torch.tensor([[0], [0]])
    with pytest.raises(GraphError, match="joins 'venue' nodes, but there is no such node type"):
        from_pyg(nowhere)
    unknown["venue"].y = torch.ones(1)
    with (
        pytest.warns(UserWarning, match="Unable to accurately infer"),
        pytest.raises(GraphError, match="node type 'venue': the number of nodes is unknown"),
    ):
        from_pyg(unknown)
    for options in ({"node_label": "z"}, {"edge_attr": "one-hot"}):
        with pytest.raises(GraphError, match="whose labels are its types"):
            from_pyg(_library(), **options)


def test_typed_data_cannot_be_joined_with_unlabeled():
    with pytest.raises(GraphError, match="item 1 has no node labels"):
        from_pyg([_library(), _path()], x="ignore")


# A real set


def test_pygs_own_reading_of_mutag_has_the_same_statistics():
    spec = find_spec("grakel")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "tests" / "data" / "MUTAG"
    whole, slices, _ = read_tu_data(str(folder), "MUTAG")
    items = [
        Data(
            x=whole.x[slice(*slices["x"][g : g + 2].tolist())],
            edge_index=whole.edge_index[:, slice(*slices["edge_index"][g : g + 2].tolist())],
            edge_attr=whole.edge_attr[slice(*slices["edge_attr"][g : g + 2].tolist())],
        )
        for g in range(len(slices["x"]) - 1)
    ]
    theirs, ours = from_pyg(items, x="one-hot", edge_attr="one-hot"), read_tu(folder).graphs
    assert theirs.sizes.equal(ours.sizes)
    assert theirs.edge_offset.equal(ours.edge_offset)
    assert theirs.node_labels == ours.node_labels
    assert Counter(_labeled_edges(theirs)) == Counter(_labeled_edges(ours))
    assert theirs.node_features is None


def _labeled_edges(graphs):
    return zip(
        graphs.edge_source.tolist(), graphs.edge_target.tolist(), graphs.edge_labels, strict=True
    )


def test_data_on_two_devices_are_refused():
    with pytest.raises(GraphError, match="on different devices"):
        from_pyg(
            [
                _path(),
                Data(num_nodes=0, edge_index=torch.zeros(2, 0, dtype=torch.int64, device="meta")),
            ]
        )


@pytest.mark.gpu
def test_device_stays():
    graphs = _molecules().to("cuda")
    items = to_pyg(graphs)
    assert items[0].x.device.type == "cuda"
    assert from_pyg(items).device.type == "cuda"
    assert from_pyg(items).equals(graphs)
