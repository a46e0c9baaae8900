import gc

import numpy as np
import pytest

import edgnn
from edgnn.errors import DatasetError, GraphError
from edgnn.evaluation import Split, _ceiling, kfold, protocol_splits, training_ceiling
from edgnn.io.datasets import Dataset

# Path, path, triangle, triangle, star: 1-WL takes the two paths for one, and the two triangles
SHAPES = [[(0, 1), (1, 2)]] * 2 + [[(0, 1), (1, 2), (2, 0)]] * 2 + [[(0, 1), (0, 2)]]
GRAPHS = edgnn.Graphs.concat([edgnn.Graphs.from_edges(edges) for edges in SHAPES])


def test_graphs_that_look_alike_bound_what_can_be_learned():
    data = Dataset("shapes", GRAPHS, np.array([0, 1, 0, 0, 1]))
    assert training_ceiling(data, [Split([0, 1, 2, 3], [4])]) == pytest.approx(3 / 4)
    assert training_ceiling(data, [Split([0, 2, 3], [4])]) == 1
    assert training_ceiling(
        data, [Split([0, 1, 2, 3], [4]), Split([0, 2, 3], [4])]
    ) == pytest.approx(7 / 8)


def test_the_validation_part_counts_unless_it_only_chooses_the_epoch():
    data, split = Dataset("shapes", GRAPHS, np.array([0, 1, 0, 0, 1])), Split([0, 2], [4], [1])
    assert training_ceiling(data, [split]) == pytest.approx(2 / 3)
    assert training_ceiling(data, [split], part="train") == 1


def test_nodes_are_colored_in_their_whole_graph():
    cycle = edgnn.Graphs.from_edges([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (6, 3)])
    data = Dataset("nodes", cycle, np.array([0, 1, 1, 0]), nodes=cycle.nodes[[0, 1, 2, 4]])
    assert training_ceiling(data, [Split([0, 1, 3], [2])]) == pytest.approx(
        2 / 3
    )  # node 4 is told apart, by what hangs at 3
    assert training_ceiling(data, [Split([0, 3], [2])]) == 1


def test_the_ceiling_of_mutag_is_that_of_a_long_refinement():
    data = edgnn.load_dataset("MUTAG")
    splits = protocol_splits(data, "cv10")
    assert (
        training_ceiling(data, splits)
        == edgnn.wl.power(data.graphs, data.targets, rounds=20)[-1].ceiling
        == 1
    )


def test_what_a_network_learns_stays_below():
    graphs = edgnn.Graphs.concat([GRAPHS] * 6)
    y = np.random.default_rng(0).integers(0, 2, len(graphs))
    data, splits = Dataset("copies", graphs, y), kfold(y, 3, 1, validation=0.2)
    answers = edgnn.GraphClassifier(hidden=16, max_epochs=60, validation=0.2).predict_splits(
        graphs, y, splits
    )
    for split, answer in zip(splits, answers, strict=True):
        assert answer["training_accuracy"] <= training_ceiling(data, [split], part="train") < 1


def test_a_data_set_is_colored_once_and_then_forgotten(monkeypatch):
    calls, refine = [], _ceiling.refine
    monkeypatch.setattr(_ceiling, "refine", lambda graphs: calls.append(graphs) or refine(graphs))
    data = Dataset("shapes", GRAPHS, np.array([0, 1, 0, 0, 1]))
    before = len(_ceiling._colored)
    for _ in range(3):
        training_ceiling(data, [Split([0, 1, 2, 3], [4])])
    assert len(calls) == 1
    del data
    gc.collect()
    assert len(_ceiling._colored) <= before


def test_what_has_no_accuracy_or_is_not_all_seen_has_no_ceiling():
    split = Split([0, 1, 2, 3], [4])
    with pytest.raises(DatasetError, match="values has no classes, one per graph"):
        training_ceiling(Dataset("values", GRAPHS, np.arange(5.0)), [split])
    with pytest.raises(DatasetError, match="no splits were given"):
        training_ceiling(Dataset("shapes", GRAPHS, np.array([0, 1, 0, 0, 1])), [])
    one = edgnn.Graphs.from_edges([(0, 1)], node_features=[[0.5], [1.0]])
    featured = Dataset("featured", edgnn.Graphs.concat([one, one]), np.array([0, 1]))
    with pytest.raises(GraphError, match="continuous features"):
        training_ceiling(featured, [Split([0], [1])])
