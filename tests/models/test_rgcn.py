from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone

from edgnn import Graphs, load_dataset
from edgnn.errors import EstimatorError, UnknownLabelError
from edgnn.evaluation import Split, kfold
from edgnn.models import RGCNGraphClassifier, RGCNNodeClassifier, load_model
from mutag import load_alike

EDGES = [
    (0, 1),
    (1, 2),
    (2, 3),
    (3, 0),
    (4, 1),
    (4, 3),
    (5, 4),
    (6, 5),
    (7, 6),
    (7, 0),
    (0, 7),
    (0, 7),
]
LABELS = "xyxyxxyzzxyx"
NAMES = [f"node {number}" for number in range(8)]
CLASSES = np.array(list("abbaabab"))


def graph(edges=EDGES, labels=LABELS, **options):
    return Graphs.from_edges(
        edges, num_nodes=8, edge_labels=list(labels), **{"node_names": NAMES, **options}
    )


def fitted(collection=None, targets=CLASSES, **options):
    nodes = (graph() if collection is None else collection).nodes
    return RGCNNodeClassifier(**{"random_state": 0, "max_epochs": 5, **options}).fit(
        nodes, targets
    ), nodes


@pytest.fixture(scope="module")
def mutag():
    data = load_dataset("MUTAG")
    return data.graphs[:40], np.asarray(data.targets)[:40]


def test_defaults_for_graphs_are_those_of_the_comparison():
    expected = {
        "conv": "rgcn",
        "layers": 3,
        "hidden": 64,
        "embedding": 64,
        "bases": "relations",
        "direction": "in",
        "batch_norm": False,
        "learning_rate": 1e-4,
        "weight_decay": 5e-4,
        "batch_size": 8,
        "max_epochs": 40,
        "readout": "sum",
        "dropout": 0.0,
    }
    assert expected.items() <= RGCNGraphClassifier().get_params().items()


def test_defaults_for_nodes_are_those_of_its_paper():
    expected = {
        "node_labels": "identity",
        "conv": "rgcn",
        "layers": 2,
        "hidden": 16,
        "head": "conv",
        "direction": "both",
        "bases": None,
        "learning_rate": 0.01,
        "max_epochs": 50,
        "validation": None,
        "dropout": 0.0,
        "weight_decay": 0.0,
        "bias": False,
        "embedding": None,
    }
    assert expected.items() <= RGCNNodeClassifier().get_params().items()


def test_as_many_bases_as_relations(mutag):
    graphs, y = mutag
    labels = len(graphs.edge_vocabulary)
    small = {"max_epochs": 1, "hidden": 4, "embedding": 4, "random_state": 0}
    assert RGCNGraphClassifier(**small).fit(graphs, y)._model.config["bases"] == labels
    assert (
        RGCNGraphClassifier(direction="both", **small).fit(graphs, y)._model.config["bases"]
        == 2 * labels
    )
    assert RGCNGraphClassifier(bases=3, **small).fit(graphs, y)._model.config["bases"] == 3
    with pytest.raises(
        EstimatorError,
        match=r"bases='edges': choose 'relations' \(as many as there are relations\), a whole",
    ):
        RGCNGraphClassifier(bases="edges").fit(graphs, y)


def test_bases_of_graphs_without_edges_are_one():
    lonely = Graphs.from_edges([], sizes=[2, 1, 3], node_labels="ababab")
    classifier = RGCNGraphClassifier(max_epochs=1, validation=None, random_state=0).fit(
        lonely, [0, 1, 0]
    )
    assert classifier._model.config["bases"] == 1


@pytest.mark.filterwarnings("ignore::edgnn.models.UnknownLabelWarning")
def test_graph_splits_give_what_fitting_each_gives():
    graphs, y = load_alike(40)
    classifier = RGCNGraphClassifier(
        max_epochs=3, hidden=8, embedding=8, learning_rate=0.01, precision="float64"
    )
    splits = kfold(y, 3, seed=0, validation=0.1)
    for split, result in zip(splits, classifier.predict_splits(graphs, y, splits), strict=True):
        alone = clone(classifier).set_params(random_state=split.seed)
        alone.fit(
            graphs[split.train], y[split.train], validation=(graphs[split.valid], y[split.valid])
        )
        np.testing.assert_allclose(
            alone.predict_proba(graphs[split.test]), result["probability"], rtol=1e-6
        )


@pytest.mark.parametrize("bases", [None, 3])
def test_node_splits_give_what_fitting_each_gives(bases):
    nodes = graph().nodes
    classifier = RGCNNodeClassifier(max_epochs=6, bases=bases, precision="float64")
    splits = [
        Split(train=np.arange(6), test=np.arange(6, 8), seed=1),
        Split(train=np.arange(2, 8), test=np.arange(2), seed=2),
    ]
    for split, result in zip(
        splits, classifier.predict_splits(nodes, CLASSES, splits), strict=True
    ):
        alone = (
            clone(classifier)
            .set_params(random_state=split.seed)
            .fit(nodes[split.train], CLASSES[split.train])
        )
        np.testing.assert_allclose(
            alone.predict_proba(nodes[split.test]), result["probability"], rtol=1e-6
        )


def test_parameters_are_cloned_and_set():
    classifier = clone(RGCNNodeClassifier(node_labels="given", bases=4).set_params(hidden=3))
    assert (classifier.node_labels, classifier.bases, classifier.hidden) == ("given", 4, 3)
    assert "node_labels" not in RGCNGraphClassifier().get_params()
    with pytest.raises(EstimatorError, match="node_labels='names': choose 'identity' or 'given'"):
        fitted(node_labels="names")


@pytest.mark.parametrize("options", [{}, {"bases": 2}, {"members": 3}])
def test_a_stored_node_model_predicts_the_same(tmp_path, options):
    classifier, nodes = fitted(**options)
    classifier.save(tmp_path / "run")
    expected = classifier.predict_proba(nodes)
    for again in (
        RGCNNodeClassifier.load(tmp_path / "run"),
        load_model(tmp_path / "run"),
        pickle.loads(pickle.dumps(classifier)),
    ):
        assert type(again) is RGCNNodeClassifier
        assert np.array_equal(again.predict_proba(nodes), expected)
    with pytest.raises(UnknownLabelError, match="'stranger'"):
        load_model(tmp_path / "run").predict(graph(node_names=[*NAMES[:-1], "stranger"]).nodes)


def test_a_stored_graph_model_predicts_the_same(tmp_path, mutag):
    graphs, y = mutag
    classifier = RGCNGraphClassifier(max_epochs=1, random_state=0).fit(graphs, y)
    classifier.save(tmp_path / "run")
    assert np.array_equal(
        load_model(tmp_path / "run").predict_proba(graphs), classifier.predict_proba(graphs)
    )


def test_featureless_nodes_are_told_apart_whatever_their_neighborhood():
    ring = Graphs.from_edges([(v, (v + 1) % 12) for v in range(12)])
    targets = np.array([0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 1, 0])
    classifier = RGCNNodeClassifier(random_state=0).fit(ring.nodes, targets)
    assert (classifier.predict(ring.nodes) == targets).all()


def test_labels_and_features_of_nodes_are_not_read():
    told = graph(node_labels="aabbccdd", node_features=np.random.default_rng(0).normal(size=(8, 3)))
    bare, nodes = fitted()
    other, dressed = fitted(told)
    assert np.array_equal(bare.predict_proba(nodes), other.predict_proba(dressed))
    assert np.array_equal(bare.predict_proba(nodes), bare.predict_proba(dressed))


def test_nodes_are_known_by_their_names():
    classifier, nodes = fitted(precision="float64")
    order = [5, 2, 7, 0, 1, 6, 3, 4]
    place = np.argsort(order)
    moved = [(int(place[a]), int(place[b])) for a, b in EDGES]
    shuffled = graph(moved, node_names=[NAMES[old] for old in order])
    np.testing.assert_allclose(
        classifier.predict_proba(shuffled.nodes), classifier.predict_proba(nodes)[order], rtol=1e-9
    )


def test_nodes_without_names_are_known_by_their_numbers():
    classifier, nodes = fitted(graph(node_names=None))
    assert classifier.predict(nodes[3:5]).shape == (2,)
    for nodes in (7, 9):
        edges = [pair for pair in EDGES if max(pair) < nodes]
        with pytest.raises(
            UnknownLabelError,
            match=rf"have {nodes} nodes without names, those given to fit 8: a featureless",
        ):
            classifier.predict(Graphs.from_edges(edges, num_nodes=nodes).nodes)


def test_nodes_that_share_a_name_are_refused():
    twins = Graphs.concat([graph(node_names=list("abcdefgh"))] * 2)
    with pytest.raises(
        EstimatorError,
        match="several nodes have the name 'a', but a featureless model knows nodes by",
    ):
        RGCNNodeClassifier(max_epochs=1).fit(twins.nodes, [*CLASSES, *CLASSES])


def test_nodes_of_another_graph_are_refused_by_name():
    classifier, _ = fitted()
    other = graph(node_names=[f"other {number}" for number in range(8)])
    with pytest.raises(
        UnknownLabelError,
        match=r"node 'other 0' is none of the 8 nodes .*set node_labels=\"given\"",
    ):
        classifier.predict(other.nodes)
    with pytest.raises(UnknownLabelError, match="node 'other 0'"):
        RGCNNodeClassifier(max_epochs=1).fit(
            graph().nodes, CLASSES, validation=(other.nodes, CLASSES)
        )


def test_given_labels_make_nodes_of_other_graphs_predictable():
    classifier, _ = fitted(graph(node_labels="aabbccdd"), node_labels="given")
    assert classifier._model.config["cells"] is None
    other = graph(node_names=None, node_labels="ddccbbaa")
    assert classifier.predict(other.nodes).shape == (8,)


def test_degrees_and_identities_exclude_each_other():
    with pytest.raises(
        EstimatorError, match=r"degree_labels='in' and node_labels=\"identity\" both replace"
    ):
        fitted(degree_labels="in")
    fitted(degree_labels=None, max_epochs=1)
    fitted(degree_labels="in", node_labels="given", max_epochs=1)


def test_weights_are_held_for_the_cells_that_occur():
    classifier, nodes = fitted()
    received = {
        (side, label, end[1 - side])
        for end, label in zip(EDGES, LABELS, strict=True)
        for side in (0, 1)
    }
    assert len(classifier._model.config["cells"]) == len(received)
    assert classifier._model.convs[0].W.shape == (1, len(received), 16)
    more = graph([*EDGES, (2, 7)], LABELS + "z")
    changed = classifier.predict_proba(more.nodes)
    assert np.isfinite(changed).all()
    assert not np.array_equal(
        changed, classifier.predict_proba(nodes)
    )  # a known edge of the second layer


def test_going_on_with_other_edges_is_refused():
    classifier, nodes = fitted(warm_start=True)
    classifier.fit(nodes, CLASSES)
    with pytest.raises(
        EstimatorError, match="the edges of the graphs changed since: set warm_start=False"
    ):
        classifier.fit(graph([*EDGES[:-1], (3, 5)]).nodes, CLASSES)


@pytest.mark.parametrize("bases", [None, 2])
def test_training_is_that_of_pyg_and_torch(bases):
    peer = pytest.importorskip("torch_geometric.nn").RGCNConv
    classifier, nodes = fitted(bases=bases, precision="float64", max_epochs=8)
    untrained, _ = fitted(bases=bases, precision="float64", max_epochs=1, learning_rate=1e-300)
    start = untrained._model
    layers = [
        peer(8, 16, 6, num_bases=bases, bias=False).double(),
        peer(16, 2, 6, num_bases=bases, bias=False).double(),
    ]
    for ours, theirs in zip(start.convs, layers, strict=True):
        theirs.root.data = ours.W1[0].detach().double()
        theirs.weight.data = (
            (ours.relation_weights() if bases is None else ours.W)[0].detach().double()
        )
        if bases is not None:
            theirs.comp.data = ours.coefficients[0].detach().double()
    index, kinds = nodes.graphs.edge_source, nodes.graphs.edge_label
    index = torch.stack([index, nodes.graphs.edge_target])
    index, kinds = torch.cat([index, index.flip(0)], dim=1), torch.cat([kinds, kinds + 3])
    y = torch.as_tensor((CLASSES == "b").astype(int))
    optimizer = torch.optim.Adam(
        [weight for layer in layers for weight in layer.parameters()], lr=0.01
    )
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        outputs = layers[1](torch.relu(layers[0](None, index, kinds)), index, kinds)
        loss = torch.nn.functional.cross_entropy(outputs, y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert [epoch["train_loss"][0] for epoch in classifier.history_] == pytest.approx(
        losses, rel=1e-9
    )


@pytest.mark.gpu
@pytest.mark.parametrize("bases", [None, 2])
def test_cuda_agrees_with_the_cpu(bases):
    ours, nodes = fitted(bases=bases, precision="float64", device="cuda", members=2)
    theirs, _ = fitted(bases=bases, precision="float64", members=2)
    np.testing.assert_allclose(ours.predict_proba(nodes), theirs.predict_proba(nodes), rtol=1e-6)


@pytest.mark.slow
def test_people_of_aifb_are_classified(data_dir):
    data = load_dataset("AIFB")
    train, test = (np.asarray(data.split[part]) for part in ("train", "test"))
    y = np.asarray(data.targets)
    classifier = RGCNNodeClassifier(random_state=0).fit(data.nodes[train], y[train])
    assert classifier.score(data.nodes[test], y[test]) > 0.85
