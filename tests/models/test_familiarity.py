import numpy as np
import pytest

import edgnn
from edgnn import wl


@pytest.fixture(scope="module")
def mutag():
    return edgnn.load_dataset("MUTAG")


def fitted(data, **options):
    return edgnn.GraphClassifier(max_epochs=1, validation=None, random_state=0, **options).fit(
        data.graphs[:100], data.targets[:100]
    )


def test_training_graphs_are_known_in_every_round(mutag):
    found = fitted(mutag).familiarity(mutag.graphs[:100])
    assert found.share.shape == (3, 100)
    assert (found.share == 1).all()
    assert (found.first_new == -1).all()


@pytest.mark.parametrize(
    ("conv", "scheme"),
    [("edgnn", "separate"), ("gnn", "node"), ("joint", "joint"), ("gine", "joint")],
)
def test_known_colors_are_those_of_a_refinement_of_both_parts(mutag, conv, scheme):
    found = fitted(mutag, conv=conv).familiarity(mutag.graphs[100:])
    coloring, first = wl.refine(mutag.graphs, 2, scheme=scheme), mutag.graphs[:100].num_nodes
    for number, known in enumerate(found.known):
        colors = coloring.at(number)
        assert (known == np.isin(colors[first:], colors[:first])).all()


def test_shares_and_first_new_round_say_the_same_as_the_nodes(mutag):
    new = mutag.graphs[100:]
    found = fitted(mutag).familiarity(new)
    owner = new.graph_of_node.numpy()
    for item in range(len(new)):
        shares = [known[owner == item].mean() for known in found.known]
        assert found.share[:, item].tolist() == pytest.approx(shares)
        strange = [number for number, share in enumerate(shares) if share < 1]
        assert found.first_new[item] == (strange[0] if strange else -1)


def test_a_label_never_seen_is_new_from_the_start(mutag):
    graph = edgnn.Graphs.from_edges(
        [(0, 1)], node_labels=["C", "Xx"], edge_labels=[mutag.graphs.edge_vocabulary[0]]
    )
    found = fitted(mutag).familiarity(graph)
    assert found.known[0].tolist() == [True, False]
    assert found.first_new.tolist() == [0]


def test_nodes_are_compared_with_the_training_nodes_alone():
    graph = edgnn.Graphs.from_edges([(0, 1), (1, 2), (2, 3)], node_labels=["a", "b", "a", "a"])
    model = edgnn.NodeClassifier(max_epochs=1, validation=None, random_state=0).fit(
        graph.nodes[[0, 1]], [0, 1]
    )
    found = model.familiarity(graph.nodes)
    assert found.known[0].tolist() == [True, True, True, True]
    assert found.known[1].tolist() == [True, True, False, False]
    assert found.first_new.tolist() == [-1, -1, 1, 1]


@pytest.mark.parametrize("conv", ["edgnn", "gnn", "joint", "rgcn", "gine"])
def test_edges_that_a_model_does_not_read_make_nothing_new(conv):
    star = edgnn.Graphs.from_edges([(0, 1), (0, 2)], node_labels="abb", edge_labels="xx")
    longer = edgnn.Graphs.from_edges(
        [(0, 1), (0, 2), (0, 3)], node_labels="abbb", edge_labels="xxx"
    )
    options = {
        "conv": conv,
        "max_epochs": 1,
        "validation": None,
        "random_state": 0,
        "batch_norm": False,
    }
    models = {
        direction: edgnn.GraphClassifier(direction=direction, **options).fit(
            edgnn.Graphs.concat([star, star]), [0, 1]
        )
        for direction in ("in", "both")
    }
    assert models["in"].familiarity(longer).first_new.tolist() == [-1]
    assert models["both"].familiarity(longer).first_new.tolist() == [1]
    back = edgnn.Graphs.from_edges([(0, 1), (0, 2), (1, 0)], node_labels="abb", edge_labels="xxx")
    assert models["in"].familiarity(back).known[1].tolist() == [False, True, True]
    assert models["in"].familiarity(back).known[2].tolist() == [False, False, False]


def test_it_is_kept_in_the_run_folder(mutag, tmp_path):
    model = fitted(mutag)
    model.save(tmp_path / "run")
    again = edgnn.GraphClassifier.load(tmp_path / "run").familiarity(mutag.graphs)
    assert (again.share == model.familiarity(mutag.graphs).share).all()


def test_a_run_stored_without_colors_has_no_answer(mutag, tmp_path):
    model = fitted(mutag)
    model._colors = None
    model.save(tmp_path / "run")
    assert edgnn.GraphClassifier.load(tmp_path / "run").familiarity(mutag.graphs) is None


def test_a_warm_start_adds_to_what_was_seen(mutag):
    model = fitted(mutag, warm_start=True)
    before = model.familiarity(mutag.graphs).share
    after = model.fit(mutag.graphs[100:], mutag.targets[100:]).familiarity(mutag.graphs).share
    assert (before < 1).any()
    assert (after == 1).all()


def test_graphs_without_nodes_hold_nothing_new(mutag):
    empty = edgnn.Graphs.from_edges([], num_nodes=0)
    assert fitted(mutag).familiarity(empty).share.tolist() == [[1.0]] * 3
