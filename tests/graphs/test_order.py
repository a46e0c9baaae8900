from __future__ import annotations

import time

import numpy as np
import pytest
import torch
from hypothesis import given

import edgnn
from edgnn.errors import GraphError
from edgnn.graphs import Graphs, Structure
from edgnn.nn import GraphModel, Inputs, NodeModel
from edgnn.nn.ops import neighbor_sum
from nn_reference import randomized
from strategies import contents
from strategies import graphs as random_graphs


def distance_of_neighbors(graphs):
    return float((graphs.edge_source - graphs.edge_target).abs().double().mean())


def shuffled_grid(side, seed=0):
    number = torch.arange(side * side).view(side, side)
    right, down = (number[:, :-1], number[:, 1:]), (number[:-1], number[1:])
    ends = torch.cat([torch.stack([a.flatten(), b.flatten()], 1) for a, b in (right, down)])
    return Graphs.from_edges(
        torch.randperm(side * side, generator=torch.Generator().manual_seed(seed))[ends]
    )


@given(random_graphs(attributes=True))
def test_the_old_numbers_rebuild_the_graphs(collection):
    close = collection.reordered()
    old, new, moved = close.old_number, close.new_number, close.graphs
    assert sorted(old.tolist()) == list(range(collection.num_nodes))
    assert torch.equal(old[new], torch.arange(collection.num_nodes))
    back = moved._with(
        node_label=moved.node_label[new],
        node_features=None if moved.node_features is None else moved.node_features[new],
        node_names=None if moved.node_names is None else moved.node_names[new.numpy()],
        node_attributes=None if moved.node_attributes is None else moved.node_attributes[new],
        edge_source=old[moved.edge_source],
        edge_target=old[moved.edge_target],
    )
    assert back.equals(collection)
    assert contents(back) == contents(collection)


@given(random_graphs())
def test_nodes_stay_in_their_graphs_and_the_result_passes_all_checks(collection):
    close = collection.reordered()
    assert torch.equal(collection.graph_of_node[close.old_number], collection.graph_of_node)
    fields = {name: getattr(close.graphs, name) for name in Graphs.__dataclass_fields__}
    assert Graphs(**fields).equals(close.graphs)


@given(random_graphs(max_graphs=2, max_nodes=8, max_edges=12, features=False, names=False))
def test_components_stand_together_by_rising_distance(collection):
    import networkx as nx

    close = collection.reordered().graphs
    graph = nx.Graph(zip(close.edge_source.tolist(), close.edge_target.tolist(), strict=True))
    graph.add_nodes_from(range(close.num_nodes))
    for component in nx.connected_components(graph):
        first = min(component)
        assert component == set(range(first, first + len(component)))
        far = nx.single_source_shortest_path_length(graph, first)
        distances = [far[node] for node in sorted(component)]
        assert distances == sorted(distances)


@given(random_graphs(names=False))
def test_sums_over_neighbors_are_the_same_after_mapping_back(collection):
    close = collection.reordered()
    x = torch.randint(
        -8, 8, (collection.num_nodes, 3), generator=torch.Generator().manual_seed(0)
    ).double()
    result = neighbor_sum(x[close.old_number], Structure.of(close.graphs))
    assert torch.equal(result[close.new_number], neighbor_sum(x, Structure.of(collection)))


@pytest.mark.parametrize("kind", [NodeModel, GraphModel])
def test_models_say_the_same_of_reordered_molecules(kind):
    molecules = edgnn.load_dataset("MUTAG").graphs[:40]
    close = molecules.reordered()
    labels = len(molecules.node_vocabulary), len(molecules.edge_vocabulary)
    model = randomized(kind(*labels, 3, hidden=8, layers=3)).double().eval()
    expected = model(Inputs.of(molecules, dtype=torch.float64))
    result = model(Inputs.of(close.graphs, dtype=torch.float64))
    result = result[close.new_number] if kind is NodeModel else result
    torch.testing.assert_close(result, expected, rtol=1e-12, atol=1e-12)


def test_neighbors_in_a_shuffled_grid_come_close():
    grid = shuffled_grid(40)
    close = grid.reordered().graphs
    assert distance_of_neighbors(grid) > 400
    assert distance_of_neighbors(close) < 2 * 40  # so many nodes at most are equally far from one


def test_the_order_depends_on_the_graphs_alone():
    grid = shuffled_grid(20)
    turned = grid.reverse()._with(
        edge_source=grid.edge_source.flip(0), edge_target=grid.edge_target.flip(0)
    )
    assert torch.equal(grid.reordered().old_number, turned.reordered().old_number)


def test_graphs_without_nodes_or_edges_keep_their_order():
    empty = Graphs.from_edges(np.zeros((0, 2), dtype=np.int64), sizes=[0, 3, 0, 2])
    assert empty.reordered().old_number.tolist() == [0, 1, 2, 3, 4]
    assert Graphs.from_edges([], num_nodes=0).reordered().old_number.tolist() == []


def test_long_paths_and_hubs_take_linear_time():
    nodes = 200_000
    mixed = torch.randperm(nodes, generator=torch.Generator().manual_seed(0))
    path = torch.stack([mixed[:-1], mixed[1:]], 1)
    hub = torch.stack([torch.zeros(nodes - 1, dtype=torch.int64), torch.arange(1, nodes)], 1)
    start = time.process_time()
    for edges in (path, torch.cat([path, hub])):
        Graphs.from_edges(edges).reordered()
    assert time.process_time() - start < 20


def test_more_entries_than_fit_the_search_are_refused():
    class Long:
        def __len__(self):
            return 2**30

        def cpu(self):
            return self

    class Huge:
        num_nodes, edge_source, edge_target = 10, Long(), Long()

    with pytest.raises(GraphError, match="1,073,741,824 edges are too many to reorder"):
        Graphs.reordered(Huge())
