from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import edgnn
from edgnn import Graphs
from edgnn.errors import UnknownLabelError
from edgnn.models import (
    EstimatorError,
    GraphClassifier,
    GraphRegressor,
    NodeClassifier,
    NodeRegressor,
)

DOUBLE = {"hidden": 8, "max_epochs": 4, "precision": "float64"}
PLAIN = DOUBLE | {"batch_norm": False}  # which keeps rounding errors from growing over the steps

pytestmark = pytest.mark.filterwarnings("ignore::edgnn.models.UnknownLabelWarning")


@dataclass
class Split:
    train: Any
    test: Any
    valid: Any = None
    seed: int = 0


def splits_of(count, parts=3, *, valid=True, seed=0):
    # item 0 has all labels and comes first, so that every training set numbers them alike
    order = 1 + np.random.default_rng(seed).permutation(count - 1)
    made = []
    for number in range(parts):
        test, rest = order[number::parts], np.setdiff1d(order, order[number::parts])
        cut = len(rest) // 6 if valid else 0
        train = np.concatenate([[0], rest[cut:]])
        made.append(Split(train, test, rest[:cut] if valid else None, seed=number + 10))
    return made


def assert_equal_to_single_fits(estimator, X, y, splits, weight=None, close=1e-9):
    results = estimator.predict_splits(X, y, splits, sample_weight=weight)
    assert len(results) == len(splits)
    for split, result in zip(splits, results, strict=True):
        part = None if weight is None else weight[split.train]
        validation = None
        if split.valid is not None:
            validation = (
                X[split.valid],
                y[split.valid],
                None if weight is None else weight[split.valid],
            )
        alone = clone(estimator).set_params(random_state=split.seed)
        alone.fit(X[split.train], y[split.train], validation=validation, sample_weight=part)
        predicted = alone.predict(X[split.test])
        if result["probability"] is None:
            assert result["prediction"] == pytest.approx(predicted, abs=close)
        else:
            assert result["classes"].tolist() == alone.classes_.tolist()
            assert result["probability"] == pytest.approx(
                alone.predict_proba(X[split.test]), abs=close
            )
            assert np.array_equal(result["prediction"], predicted)
        assert result["best_epoch"] == alone.best_epoch_
        if split.valid is not None:
            losses = np.array([row["valid_loss"] for row in alone.history_])
            assert result["valid_loss"] == pytest.approx(losses.min(axis=0).tolist(), abs=close)
        if split.valid is not None and "training_accuracy" in result:
            assert result["training_accuracy"] == pytest.approx(
                alone.score(X[split.train], y[split.train])
            )


@pytest.fixture(scope="module")
def mutag():
    # graphs of frequent labels: every training set has all of them, in the same order
    data = edgnn.load_dataset("MUTAG")
    first = {"C", "N", "O"}, {"aromatic", "single", "double"}
    common = [
        number
        for number, graph in enumerate(data.graphs)
        if set(graph.node_labels) == first[0] and set(graph.edge_labels) == first[1]
    ]
    chosen = common[:60]
    return data.graphs[chosen], np.array(["no", "yes"])[data.targets[chosen]]


@pytest.mark.parametrize("valid", [True, False])
def test_graphs_of_a_fleet_are_classified_as_one_by_one(mutag, valid):
    assert_equal_to_single_fits(
        GraphClassifier(**PLAIN, members=2, class_weight="balanced"),
        *mutag,
        splits_of(60, valid=valid),
    )


def test_the_defaults_and_calibration_come_out_alike(mutag):
    estimator = GraphClassifier(hidden=8, max_epochs=2, calibrate=True, precision="float64")
    assert_equal_to_single_fits(estimator, *mutag, splits_of(60), close=1e-4)


def test_weights_are_those_of_each_split(mutag):
    weight = np.random.default_rng(1).random(60)
    assert_equal_to_single_fits(
        GraphClassifier(**PLAIN, dropout=0.3), *mutag, splits_of(60, 2), weight
    )


def test_several_labels_and_values_of_graphs(mutag):
    graphs, y = mutag
    labels = np.stack([y == "yes", graphs.sizes.numpy() > 15], 1).astype(float)
    labels[::5, 0] = np.nan
    assert_equal_to_single_fits(GraphClassifier(**PLAIN), graphs, labels, splits_of(60, 2))
    values = np.stack([graphs.sizes.numpy(), -graphs.sizes.numpy()], 1).astype(float)
    values[::7, 1] = np.nan
    assert_equal_to_single_fits(
        GraphRegressor(**PLAIN, patience=1), graphs, values, splits_of(60, 2, valid=False)
    )


def test_splits_that_lack_a_class_are_trained_without_it(mutag):
    graphs, y = mutag
    rare = np.where(np.arange(60) == 7, "rare", y)
    splits = [
        Split(np.arange(20, 60), np.arange(20), seed=1),
        Split(np.arange(40), np.arange(40, 60), seed=2),
    ]
    estimator = GraphClassifier(**PLAIN)
    assert [
        len(result["classes"]) for result in estimator.predict_splits(graphs, rare, splits)
    ] == [2, 3]
    assert_equal_to_single_fits(estimator, graphs, rare, splits)
    weighted = estimator.set_params(class_weight={"rare": 5.0}).predict_splits(graphs, rare, splits)
    assert [len(result["classes"]) for result in weighted] == [2, 3]
    with pytest.raises(EstimatorError, match="'typo', which is not among"):
        estimator.set_params(class_weight={"typo": 5.0}).predict_splits(graphs, rare, splits)


def test_nodes_of_a_fleet_are_predicted_as_one_by_one():
    rng = np.random.default_rng(0)
    graph = Graphs.from_edges(
        rng.integers(0, 80, (200, 2)), num_nodes=80, edge_labels=rng.integers(0, 3, 200)
    )
    nodes, y = graph.nodes[rng.permutation(80)[:50]], rng.integers(0, 3, 50)
    assert_equal_to_single_fits(NodeClassifier(**DOUBLE, members=2), nodes, y, splits_of(50))
    assert_equal_to_single_fits(
        NodeRegressor(**DOUBLE), nodes, y.astype(float), splits_of(50, valid=False)
    )


def test_the_estimator_itself_stays_unfitted_and_hooks_are_called(mutag):
    graphs, y = mutag
    estimator, epochs = GraphClassifier(**DOUBLE), []
    result = estimator.predict_splits(
        graphs, y, splits_of(60), on_epoch=lambda epoch: epochs.append(epoch.number)
    )
    assert epochs == [1, 2, 3, 4]
    assert not estimator.__sklearn_is_fitted__()
    assert len(result) == 3
    stopped = estimator.predict_splits(graphs, y, splits_of(60), on_epoch=lambda epoch: True)
    assert [entry["best_epoch"] for entry in stopped] == [[1], [1], [1]]
    assert estimator.predict_splits(graphs, y, []) == []


def test_lists_masks_and_wrong_positions(mutag):
    graphs, y = mutag
    mask = np.arange(60) < 40
    listed = GraphClassifier(**DOUBLE).predict_splits(
        list(graphs), y, [Split(list(range(40)), list(range(40, 60)))]
    )
    masked = GraphClassifier(**DOUBLE).predict_splits(graphs, y, [Split(mask, ~mask)])
    assert np.array_equal(listed[0]["probability"], masked[0]["probability"])
    for split, message in (
        (Split([0, 60], [1]), "train set of split 0 names item 60, but X has 60"),
        (Split([0, 1], [0.5]), "test set of split 0 must be a list of positions"),
        (
            Split(range(30), range(29, 60)),
            "item 29 of split 0 is both in its test set and in what it learns from",
        ),
    ):
        with pytest.raises(EstimatorError, match=message):
            GraphClassifier(**DOUBLE).predict_splits(graphs, y, [split])


def test_a_label_that_a_training_part_lacks_is_refused_on_request(mutag):
    graphs, y = mutag
    strange = graphs.with_node_labels(["Xx", *graphs.node_labels[1:]])
    split = Split(np.arange(1, 60), np.array([0]))
    with pytest.raises(UnknownLabelError, match="test set of split 0: node 0 has the label 'Xx'"):
        GraphClassifier(**DOUBLE, unknown="error").predict_splits(strange, y, [split])
    assert GraphClassifier(**DOUBLE).predict_splits(strange, y, [split])[0]["prediction"].shape == (
        1,
    )


def test_accuracy_on_the_training_part_is_that_of_the_items_learned_from(mutag):
    graphs, y = mutag
    split, weight = splits_of(60)[0], np.ones(60)
    weight[split.train[::2]] = 0
    (answer,) = GraphClassifier(**PLAIN).predict_splits(graphs, y, [split], sample_weight=weight)
    alone = GraphClassifier(**PLAIN, random_state=split.seed).fit(
        graphs[split.train],
        y[split.train],
        validation=(graphs[split.valid], y[split.valid]),
        sample_weight=weight[split.train],
    )
    learned = split.train[1::2]
    assert answer["training_accuracy"] == pytest.approx(alone.score(graphs[learned], y[learned]))
    assert answer["training_accuracy"] != pytest.approx(
        alone.score(graphs[split.train], y[split.train])
    )


def test_only_what_there_is_gets_reported(mutag):
    graphs, y = mutag
    split = splits_of(60, valid=False)[0]
    (answer,) = GraphClassifier(**PLAIN, validation=None).predict_splits(graphs, y, [split])
    assert "valid_loss" not in answer
    (answer,) = GraphRegressor(**PLAIN).predict_splits(graphs, np.arange(60.0), [split])
    assert "training_accuracy" not in answer
    assert len(answer["valid_loss"]) == 1
