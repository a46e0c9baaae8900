import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

import edgnn
from edgnn import Graphs
from edgnn.models import EstimatorError, NodeClassifier, NodeRegressor, UnknownLabelWarning
from edgnn.models.networks._pipeline import Pipeline

QUICK = {"hidden": 8, "max_epochs": 5, "random_state": 0}


def fans(count=30, labels=False, seed=0):
    """Nodes that 1 to 4 others point to, over edges "a" or "b"; the class of a node is the label, its value the number."""
    rng = np.random.default_rng(seed)
    edges, edge_labels, centers, fan = [], [], [], []
    nodes = 0
    for number in range(count):
        size = int(rng.integers(1, 5))
        edges += [(nodes + other, nodes) for other in range(1, size + 1)]
        edge_labels += ["ab"[number % 2]] * size
        centers.append(nodes)
        fan.append(float(size))
        nodes += size + 1
    node_labels = (
        ["center" if node in centers else "other" for node in range(nodes)] if labels else None
    )
    graph = Graphs.from_edges(
        edges, num_nodes=nodes, edge_labels=edge_labels, node_labels=node_labels
    )
    return graph.nodes[centers], np.array(["a", "b"])[np.arange(count) % 2], np.array(fan)


def test_nodes_are_classified_by_other_nodes_of_their_graph():
    nodes, y, _ = fans()
    classifier = NodeClassifier(hidden=16, max_epochs=60, random_state=0).fit(nodes[:20], y[:20])
    assert classifier.classes_.tolist() == ["a", "b"]
    assert classifier.score(nodes[20:], y[20:]) == 1
    assert classifier.predict_proba(nodes[20:]).shape == (10, 2)
    assert classifier.embed(nodes[:4]).shape == (4, 16)
    assert classifier.predict(nodes[[25, 3]]).tolist() == [y[25], y[3]]


def test_nodes_of_new_graphs_are_predicted():
    nodes, y, fan = fans()
    new, new_y, new_fan = fans(8, seed=1)
    classifier = NodeClassifier(hidden=16, max_epochs=60, random_state=0).fit(nodes, y)
    assert classifier.score(new, new_y) == 1
    regressor = NodeRegressor(
        hidden=16, max_epochs=100, dropout=0.0, learning_rate=1e-2, random_state=0
    ).fit(nodes, fan)
    assert regressor.score(new, new_fan) > 0.9


@pytest.mark.parametrize(
    "parameters",
    [
        {"head": "conv"},
        {"head": "conv", "layers": 1},
        {"conv": "rgcn", "bases": 2},
        {"embedding": 4},
    ],
)
def test_every_kind_of_model_can_be_fitted_and_embeds(parameters):
    nodes, y, _ = fans()
    classifier = NodeClassifier(**QUICK, **parameters, members=2).fit(nodes, y)
    assert classifier.predict(nodes).shape == (30,)
    assert len(classifier.embed(nodes[:3])) == 3


def test_degrees_are_the_labels_of_nodes_without_labels():
    nodes, y, fan = fans()
    classifier = NodeClassifier(**QUICK).fit(nodes, y)
    assert classifier._coder.degree_labels == "in"
    assert set(classifier._coder.node_vocabulary) == {0, *fan.astype(int).tolist()}
    assert NodeClassifier(**QUICK, degree_labels=None).fit(nodes, y)._coder.node_vocabulary.constant
    labeled, y, _ = fans(labels=True)
    assert list(NodeClassifier(**QUICK).fit(labeled, y)._coder.node_vocabulary) == [
        "center",
        "other",
    ]
    assert 1 in NodeClassifier(**QUICK, degree_labels="out").fit(labeled, y)._coder.node_vocabulary


def test_a_degree_never_seen_is_counted():
    nodes, y, _ = fans()
    classifier = NodeClassifier(**QUICK).fit(nodes, y)
    star = Graphs.from_edges([(other, 0) for other in range(1, 10)], edge_labels=["a"] * 9)
    with pytest.warns(UnknownLabelWarning, match="the degrees of 1 node; they count for nothing"):
        classifier.predict(star.nodes[:1])


def test_a_validation_part_may_be_nodes_of_the_same_or_of_another_graph():
    nodes, y, _ = fans()
    same = NodeClassifier(**QUICK).fit(nodes[:20], y[:20], validation=(nodes[20:], y[20:]))
    other, other_y, _ = fans(8, seed=1)
    new = NodeClassifier(**QUICK).fit(nodes[:20], y[:20], validation=(other, other_y))
    for classifier in (same, new):
        assert np.isfinite(classifier.history_[-1]["valid_loss"]).all()
    assert new.predict(nodes[:2]).shape == (2,)


def test_missing_values_and_several_targets_at_nodes():
    nodes, _, fan = fans()
    y = np.stack([fan, -fan], 1)
    y[::3, 0] = np.nan
    regressor = NodeRegressor(
        hidden=16, max_epochs=100, dropout=0.0, learning_rate=1e-2, random_state=0, members=2
    ).fit(nodes[:20], y[:20])
    assert regressor.predict(nodes).shape == (30, 2)
    assert regressor.score(nodes[20:], y[20:]) > 0.9
    with pytest.raises(EstimatorError, match="nothing to learn"):
        regressor.fit(nodes, np.full(30, np.nan))


def test_scikit_learn_splits_nodes():
    nodes, y, _ = fans()
    classifier = NodeClassifier(hidden=16, max_epochs=60, random_state=0)
    assert cross_val_score(classifier, nodes, y, cv=3).mean() > 0.9


@pytest.mark.slow
def test_a_grid_over_nodes_is_searched_by_two_processes():
    nodes, y, _ = fans()
    search = GridSearchCV(NodeClassifier(**QUICK), {"hidden": [4, 8]}, cv=2, n_jobs=2).fit(nodes, y)
    assert search.predict(list(nodes[:3])).shape == (3,)


@pytest.mark.slow
def test_aifb_is_learned(data_dir):
    data = edgnn.load_dataset("AIFB", data_dir=data_dir)
    train, test = data.split["train"], data.split["test"]
    classifier = NodeClassifier(head="conv", max_epochs=60, random_state=0).fit(
        data.nodes[train], data.targets[train]
    )
    assert classifier.score(data.nodes[test], data.targets[test]) > 0.6


def test_a_node_listed_twice_is_never_trained_and_validated_on():
    nodes = Graphs.from_edges([(0, 1)], num_nodes=40).nodes
    index = np.r_[np.arange(40), np.arange(20), np.arange(10)]
    pipeline = Pipeline.of(NodeClassifier(validation=0.3), nodes[index], index % 2)
    part = pipeline.part(None, None, 5)
    assert sorted(part.known.tolist()) == list(range(70))
    assert len(set(index[part.valid])) == 12
    assert not set(index[part.train]) & set(index[part.valid])
