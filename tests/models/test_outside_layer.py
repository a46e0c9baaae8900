"""Layers of other people: a plain torch module and a subclass of Conv, neither known to edgnn."""

import numpy as np
import pytest
import torch
from torch import nn

from edgnn.errors import ModelError, RunError
from edgnn.explain import explain
from edgnn.models import GraphClassifier, NodeClassifier, load_model
from edgnn.nn import EdGNNConv, GraphModel, Inputs, LayerKind, NodeModel, input_options
from edgnn.registry import LAYERS, LayerEntry
from edgnn.training import Member, Settings, outputs, train
from training_reference import graph_task, node_task, weights_of

MEMBERS = [
    Member(range(20), range(20, 30), seed=1),
    Member(range(10, 34), range(5), seed=2, learning_rate=0.1),
    Member(range(24), seed=3),
]
SETTINGS = Settings(max_epochs=4, learning_rate=0.02, patience=3)


class MaxOfMessages(nn.Module):
    """A plain module: the largest message instead of the sum."""

    scheme = "joint"

    def __init__(self, in_dim, out_dim, num_relations):
        super().__init__()
        self.own = nn.Linear(in_dim, out_dim)
        self.message = nn.Linear(in_dim, out_dim)
        self.relation = nn.Embedding(num_relations + 1, out_dim)

    def forward(self, x, edges):
        sent = self.message(x)[edges.source] + self.relation(edges.relation)
        target = edges.target.unsqueeze(1).expand_as(sent)
        received = sent.new_zeros(x.shape[0], sent.shape[1])
        return self.own(x) + received.scatter_reduce(0, target, sent, "amax", include_self=False)


class HalvedConv(EdGNNConv):
    """A subclass of ours: half of Eq. 4."""

    def plain_sum(self, x, edges):
        return super().plain_sum(x, edges) * 0.5

    def _biased(self, x, structure, noise, mask):
        return super()._biased(x, structure, noise, mask) * 0.5


class WithStatistics(nn.Module):
    """A plain module with running statistics, which members cannot have."""

    def __init__(self, in_dim, out_dim, num_relations):
        super().__init__()
        self.map = nn.Linear(in_dim, out_dim)
        self.norm = nn.BatchNorm1d(out_dim)

    def forward(self, x, edges):
        return self.norm(self.map(x))


OUTSIDE = {"test-max": MaxOfMessages, "test-halved": HalvedConv}


@pytest.fixture(autouse=True)
def registered():
    for name, layer in OUTSIDE.items():
        LAYERS.register(LayerEntry(name, "a layer of this test", layer))
    yield
    for name in OUTSIDE:
        if name in LAYERS:
            LAYERS.unregister(name)


def task_of(kind, conv):
    config, _, targets, graphs = graph_task() if kind == "graph" else node_task()
    config = config | {"conv": conv, "direction": "both"}
    return kind, config, Inputs.of(graphs, **input_options(config)), targets


@pytest.mark.parametrize("conv", OUTSIDE)
@pytest.mark.parametrize("kind", ["graph", "node"])
def test_members_come_out_the_same_alone_and_in_a_fleet(kind, conv):
    fleet = train(*task_of(kind, conv), MEMBERS, SETTINGS)
    for number, member in enumerate(MEMBERS):
        alone = train(*task_of(kind, conv), [member], SETTINGS)
        torch.testing.assert_close(
            weights_of(fleet, number), weights_of(alone), rtol=1e-5, atol=1e-6
        )
    assert fleet.history[-1]["train_loss"][0] < fleet.history[0]["train_loss"][0]


@pytest.mark.parametrize("conv", OUTSIDE)
@pytest.mark.parametrize("kind", ["graph", "node"])
def test_training_resumes_to_the_same_weights(kind, conv):
    states = []
    whole = train(
        *task_of(kind, conv),
        MEMBERS,
        SETTINGS,
        on_epoch=lambda epoch: states.append(epoch.state()),
    )
    resumed = train(*task_of(kind, conv), MEMBERS, SETTINGS, resume=states[1])
    for name, weight in whole.model.state_dict().items():
        assert torch.equal(resumed.model.state_dict()[name], weight)


@pytest.mark.parametrize("conv", OUTSIDE)
def test_outputs_layer_by_layer_and_in_batches_are_those_of_the_whole(conv):
    kind, config, inputs, targets = task_of("node", conv)
    settings = Settings(max_epochs=2, batch_size=8)
    trained = train(kind, config, inputs, targets, MEMBERS, settings)
    whole = trained.model(inputs)
    torch.testing.assert_close(outputs(trained, inputs, memory=2**20), whole)
    torch.testing.assert_close(outputs(trained, inputs, positions=[3, 1]), whole[:, [3, 1]])


@pytest.mark.parametrize("conv", OUTSIDE)
@pytest.mark.parametrize("direction", ["both", "in"])
def test_estimators_save_load_explain_and_export_it(tmp_path, conv, direction):
    _, _, targets, graphs = graph_task()
    classes = targets.y.numpy()
    classifier = GraphClassifier(
        conv=conv, direction=direction, hidden=6, max_epochs=3, members=2, random_state=0
    ).fit(graphs, classes)
    expected = classifier.predict_proba(graphs)
    classifier.save(tmp_path / "run")
    loaded = load_model(tmp_path / "run")
    assert np.array_equal(loaded.predict_proba(graphs), expected)
    explanation = explain(classifier, graphs[0])
    assert np.isfinite(explanation.node_removal).all()
    assert classifier.familiarity(graphs).share[0].min() == 1.0
    classifier.export(tmp_path / "program")  # refused unless it predicts the same


def test_node_estimators_export_it(tmp_path):
    _, _, targets, graphs = node_task()
    nodes = graphs.nodes
    classifier = NodeClassifier(conv=MaxOfMessages, hidden=6, max_epochs=3, random_state=0)
    classifier.fit(nodes, targets.y.numpy()).export(tmp_path / "program")


def test_run_folders_open_only_with_registered_layers(tmp_path):
    _, _, targets, graphs = graph_task()
    GraphClassifier(conv="test-max", hidden=4, max_epochs=1, random_state=0).fit(
        graphs, targets.y.numpy()
    ).save(tmp_path / "run")
    LAYERS.unregister("test-max")
    with pytest.raises(RunError, match=r"the layer 'test-max', which is not known.*LAYERS\.reg"):
        load_model(tmp_path / "run")


def test_classes_without_a_name_train_but_cannot_be_stored(tmp_path):
    LAYERS.unregister("test-max")
    _, _, targets, graphs = graph_task()
    classifier = GraphClassifier(conv=MaxOfMessages, hidden=4, max_epochs=1, random_state=0)
    classifier.fit(graphs, targets.y.numpy())
    with pytest.raises(ModelError, match=r"MaxOfMessages has no name yet.*LAYERS\.register"):
        classifier.save(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_names_and_classes_stand_for_the_same_layer():
    for name, layer in OUTSIDE.items():
        assert LayerKind.of(layer).name == LayerKind.of(name).name == name
    assert LayerKind.of(EdGNNConv).name == "edgnn"
    assert LayerKind.of("test-halved").scheme == "separate"
    sizes = {"node_labels": 3, "edge_labels": 2, "outputs": 2}
    assert NodeModel(**sizes, conv=MaxOfMessages).config["conv"] == "test-max"


@pytest.mark.parametrize("conv", [3, None, int, "no-such-layer", nn.Linear(2, 2)])
def test_what_is_no_layer_is_refused(conv):
    with pytest.raises(ModelError, match="conv="):
        GraphModel(3, 2, 2, conv=conv)


def test_modules_with_running_statistics_are_refused():
    with pytest.raises(ModelError, match=r"WithStatistics has buffers \(norm\.running_mean\)"):
        GraphModel(3, 2, 2, conv=WithStatistics)
