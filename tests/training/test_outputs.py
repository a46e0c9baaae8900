from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgnn.graphs import Graphs, known_labels
from edgnn.nn import GraphModel, Inputs, NodeModel
from edgnn.registry import LAYERS
from edgnn.training import Member, Settings, Targets, outputs, train
from nn_reference import randomized
from strategies import INTEGERS, STRINGS, graphs
from training_reference import graph_task, node_task


def graph_model(members=3, **options):
    return randomized(
        GraphModel(7, 4, 2, hidden=5, batch_norm=True, dropout=0.5, members=members, **options)
    )


@pytest.mark.parametrize("conv", tuple(LAYERS))
@pytest.mark.parametrize("most", [1, 100, 1000])
def test_taking_graphs_some_at_a_time_changes_nothing(monkeypatch, conv, most):
    _, inputs, _, _ = graph_task(relations=True)
    model = graph_model(conv=conv)
    whole = outputs(model, inputs)
    assert whole.shape == (3, 48, 2)
    assert not whole.requires_grad
    monkeypatch.setattr("edgnn.training._tasks._NODES_AT_ONCE", most)
    torch.testing.assert_close(outputs(model, inputs), whole)


@given(
    graphs(labels=st.sampled_from([None, STRINGS, INTEGERS]), names=False, features=False),
    st.sampled_from(tuple(LAYERS)),
)
def test_all_members_see_the_same_items(collection, conv):
    labels = known_labels(collection.node_vocabulary), known_labels(collection.edge_vocabulary)
    for kind, items in ((GraphModel, len(collection)), (NodeModel, collection.num_nodes)):
        model = randomized(kind(*labels, 2, hidden=3, conv=conv, members=2)).eval()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("edgnn.training._tasks._NODES_AT_ONCE", 4)
            result = outputs(model, Inputs.of(collection, relations=True, dtype=torch.float64))
        assert result.shape == (2, items, 2)
        torch.testing.assert_close(result, model(collection))


def test_nothing_is_dropped_and_the_models_mode_comes_back():
    _, inputs, _, graphs = graph_task()
    model = graph_model()
    expected = model.eval()(graphs)
    torch.testing.assert_close(outputs(model.train(), inputs), expected)
    assert model.training
    assert torch.equal(outputs(model, inputs), outputs(model, inputs))
    outputs(model.eval(), inputs)
    assert not model.training


def test_the_mode_comes_back_after_an_error_too():
    model = graph_model(conv="joint").train()
    with pytest.raises(ValueError, match="does not list neighbors per relation"):
        outputs(model, graph_task()[1])
    assert model.training


def test_outputs_of_some_nodes_are_those_of_all():
    _, inputs, _, graphs = node_task()
    model = randomized(NodeModel(4, 5, 3, hidden=4, members=2))
    whole = outputs(model, inputs)
    torch.testing.assert_close(whole, model.eval()(graphs))
    torch.testing.assert_close(outputs(model, inputs, positions=[7, 0, 7]), whole[:, [7, 0, 7]])
    assert outputs(model, inputs, positions=[]).shape == (2, 0, 3)


@pytest.mark.parametrize("most", [1, 10**6])
def test_models_without_members_give_outputs_without_members(monkeypatch, most):
    monkeypatch.setattr("edgnn.training._tasks._NODES_AT_ONCE", most)
    _, inputs, _, graphs = graph_task()
    model = graph_model(members=None)
    torch.testing.assert_close(outputs(model, inputs), model.eval()(graphs))
    _, inputs, _, graphs = node_task()
    node = randomized(NodeModel(4, 5, 3, hidden=4))
    torch.testing.assert_close(outputs(node, inputs, positions=[3, 1]), node.eval()(graphs)[[3, 1]])


def test_no_graphs_give_no_outputs():
    none = Inputs.of(Graphs.from_edges([], sizes=[], like=graph_task()[3]))
    assert outputs(graph_model(), none).shape == (3, 0, 2)


def test_inputs_of_another_precision_are_turned_into_the_models():
    _, inputs, targets, _ = graph_task()
    config = {"node_labels": 7, "edge_labels": 4, "hidden": 5}
    settings = Settings(max_epochs=1, precision="float64")
    values = Targets.values(np.arange(48.0))
    trained = train("graph", config, inputs, values, [Member(range(48))], settings)
    assert outputs(trained, inputs).dtype == torch.float64
    single = train(
        "graph",
        config,
        inputs.to(dtype=torch.float64),
        targets,
        [Member(range(48))],
        Settings(max_epochs=1),
    )
    assert outputs(single, inputs.to(dtype=torch.float64)).dtype == torch.float32


@pytest.mark.gpu
@pytest.mark.parametrize("conv", tuple(LAYERS))
def test_cuda_outputs_agree_with_the_cpu(conv):
    _, inputs, _, _ = graph_task(relations=True)
    model = graph_model(conv=conv)
    expected = outputs(model, inputs)
    torch.testing.assert_close(outputs(model.cuda(), inputs).cpu(), expected)
