import warnings

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score

from edgnn import Graphs
from edgnn.errors import UnknownLabelError
from edgnn.models import EstimatorError, GraphClassifier, GraphRegressor, UnknownLabelWarning

QUICK = {"hidden": 8, "max_epochs": 3, "random_state": 0}


@pytest.fixture(scope="module")
def rings():
    """Rings and paths of 3 to 7 nodes: the class says which, the value how many nodes."""
    sizes = [3 + number % 5 for number in range(60)]
    edges, labels, start = [], [], 0
    for number, size in enumerate(sizes):
        edges += [(start + node, start + (node + 1) % size) for node in range(size - number % 2)]
        labels += ["C", "N", "C", "O", "N", "C", "C"][:size]
        start += size
    graphs = Graphs.from_edges(edges, sizes=sizes, node_labels=labels)
    return graphs, np.array(["ring", "path"])[np.arange(60) % 2], np.array(sizes, float)


def test_classes_are_learned_and_come_back_as_given(rings):
    graphs, y, _ = rings
    classifier = GraphClassifier(hidden=16, max_epochs=30, learning_rate=1e-2, random_state=0).fit(
        graphs[:40], y[:40]
    )
    assert classifier.classes_.tolist() == ["path", "ring"]
    assert classifier.score(graphs[40:], y[40:]) > 0.9
    probability = classifier.predict_proba(graphs[40:])
    assert probability.shape == (20, 2)
    assert probability.sum(1) == pytest.approx(np.ones(20))
    assert (
        classifier.predict(graphs[40:]).tolist()
        == classifier.classes_[probability.argmax(1)].tolist()
    )
    assert len(classifier.history_) == 30
    assert len(classifier.best_epoch_) == 1
    assert 1 <= classifier.best_epoch_[0] <= 30
    assert classifier.temperature_ == 1


def test_values_are_learned_in_their_own_units(rings):
    graphs, _, sizes = rings
    regressor = GraphRegressor(
        hidden=16, max_epochs=40, learning_rate=1e-2, batch_norm=False, random_state=0
    )
    regressor.fit(graphs[:40], 1000 + 50 * sizes[:40])
    assert regressor.predict(graphs[40:]).shape == (20,)
    assert regressor.score(graphs[40:], 1000 + 50 * sizes[40:]) > 0.9


def test_several_values_may_be_missing(rings):
    graphs, _, sizes = rings
    y = np.stack([sizes, -sizes], 1)
    y[::3, 0], y[1::3, 1] = np.nan, np.nan
    regressor = GraphRegressor(
        hidden=16, max_epochs=40, learning_rate=1e-2, batch_norm=False, members=2, random_state=0
    )
    regressor.fit(graphs[:40], y[:40])
    assert regressor.predict(graphs[40:]).shape == (20, 2)
    assert regressor.predict_uncertainty(graphs[40:]).shape == (20, 2)
    assert regressor.score(graphs[40:], y[40:]) > 0.9
    assert regressor.score(graphs[40:], y[40:], sample_weight=np.ones(20)) == pytest.approx(
        regressor.score(graphs[40:], y[40:])
    )


def test_targets_without_known_values_are_not_scored(rings):
    graphs, _, sizes = rings
    regressor = GraphRegressor(**QUICK).fit(graphs, np.stack([sizes, sizes], axis=1))
    both = np.stack([sizes, np.full(60, np.nan)], axis=1)
    alone = r2_score(sizes, regressor.predict(graphs)[:, 0])
    assert regressor.score(graphs, both) == pytest.approx(alone)
    both[0, 1] = 5.0
    assert regressor.score(graphs, both) == pytest.approx(alone)
    with pytest.raises(EstimatorError, match="none of the 60 graphs has a known target"):
        regressor.score(graphs, np.full((60, 2), np.nan))


def test_several_labels_are_predicted_as_a_matrix(rings):
    graphs, y, sizes = rings
    labels = np.stack([y == "ring", sizes > 4, sizes > 6], 1).astype(float)
    labels[::4, 2] = np.nan
    classifier = GraphClassifier(hidden=16, max_epochs=40, learning_rate=1e-2, random_state=0).fit(
        graphs[:40], labels[:40]
    )
    predicted = classifier.predict(graphs[40:])
    assert predicted.shape == (20, 3)
    assert set(predicted.ravel().tolist()) <= {0, 1}
    assert classifier.predict_proba(graphs[40:]).shape == (20, 3)
    assert classifier.score(graphs[40:], labels[40:]) > 0.8
    assert classifier.predict_uncertainty(graphs[:2]).total_entropy.shape == (2, 3)


def test_one_class_is_always_predicted(rings):
    classifier = GraphClassifier(**QUICK).fit(rings[0][:10], ["only"] * 10)
    assert classifier.predict(rings[0][:3]).tolist() == ["only"] * 3
    assert classifier.predict_proba(rings[0][:3]).tolist() == [[1.0]] * 3


@pytest.mark.parametrize(
    "parameters", [{"batch_norm": True}, {"batch_norm": True, "readout": "mean", "conv": "joint"}]
)
def test_a_prediction_does_not_depend_on_what_is_predicted_with_it(rings, parameters):
    graphs, y, _ = rings
    classifier = GraphClassifier(**QUICK, **parameters, members=2).fit(graphs, y)
    together = classifier.predict_proba(graphs)
    assert np.concatenate([classifier.predict_proba(graph) for graph in graphs]) == pytest.approx(
        together, abs=1e-6
    )
    assert classifier.predict_proba(graphs[::-1])[::-1] == pytest.approx(together, abs=1e-6)
    assert classifier.embed(graphs[3]) == pytest.approx(classifier.embed(graphs)[3:4], abs=1e-5)


def test_the_same_seed_gives_the_same_model_and_another_seed_another(rings):
    graphs, y, _ = rings
    probability = {}
    for name, state in (
        ("first", 0),
        ("again", 0),
        ("other", 1),
        ("drawn", np.random.RandomState(3)),
        ("redrawn", np.random.RandomState(3)),
    ):
        probability[name] = (
            GraphClassifier(hidden=8, max_epochs=2, random_state=state)
            .fit(graphs, y)
            .predict_proba(graphs)
        )
    assert np.array_equal(probability["first"], probability["again"])
    assert np.array_equal(probability["drawn"], probability["redrawn"])
    assert not np.allclose(probability["first"], probability["other"])


def test_members_are_averaged_and_the_first_is_the_model_alone(rings):
    graphs, y, _ = rings
    alone = GraphClassifier(**QUICK, precision="float64").fit(graphs, y)
    three = GraphClassifier(**QUICK, precision="float64", members=3).fit(graphs, y)
    members = three._member_probabilities(graphs)
    assert members[0] == pytest.approx(alone.predict_proba(graphs), abs=1e-8)
    assert three.predict_proba(graphs) == pytest.approx(members.mean(0))
    uncertainty = three.predict_uncertainty(graphs)
    assert uncertainty.std.shape == (60, 2)
    assert (uncertainty.mutual_information > 0).any()
    assert three.embed(graphs).shape == (60, 3 * alone.embed(graphs).shape[1])
    assert len(three.best_epoch_) == 3


def test_a_single_regressor_has_no_spread(rings):
    regressor = GraphRegressor(**QUICK).fit(rings[0], rings[2])
    with pytest.raises(EstimatorError, match="members=5"):
        regressor.predict_uncertainty(rings[0])


def test_calibration_lowers_the_loss_of_the_validation_part(rings):
    graphs, y, _ = rings
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(60) < 0.3, rng.permutation(y), y)
    validation = graphs[40:], noisy[40:]
    parameters = {
        "hidden": 32,
        "max_epochs": 30,
        "learning_rate": 1e-2,
        "validation": None,
        "random_state": 0,
    }
    plain = GraphClassifier(**parameters).fit(graphs[:40], noisy[:40], validation=validation)
    tempered = GraphClassifier(**parameters, calibrate=True).fit(
        graphs[:40], noisy[:40], validation=validation
    )
    assert tempered.temperature_ != 1

    def loss(model):
        p = model.predict_proba(graphs[40:])
        return -np.log(p[np.arange(20), np.searchsorted(model.classes_, noisy[40:])]).mean()

    assert loss(tempered) < loss(plain)
    with pytest.raises(EstimatorError, match="calibrate=True needs a validation set"):
        GraphClassifier(**QUICK, calibrate=True, validation=None).fit(graphs, y)


def test_weights_of_items_and_classes_change_what_is_learned(rings):
    graphs, y, _ = rings
    base = GraphClassifier(**QUICK).fit(graphs, y).predict_proba(graphs)[:, 1].mean()
    toward_rings = np.where(y == "ring", 50.0, 1.0)
    assert (
        GraphClassifier(**QUICK)
        .fit(graphs, y, sample_weight=toward_rings)
        .predict_proba(graphs)[:, 1]
        .mean()
        > base
    )
    assert (
        GraphClassifier(**QUICK, class_weight={"ring": 50})
        .fit(graphs, y)
        .predict_proba(graphs)[:, 1]
        .mean()
        > base
    )
    few_rings = np.flatnonzero((y == "path") | (np.arange(60) < 10))
    uneven = GraphClassifier(**QUICK).fit(graphs[few_rings], y[few_rings])
    balanced = GraphClassifier(**QUICK, class_weight="balanced").fit(
        graphs[few_rings], y[few_rings]
    )
    assert balanced.predict_proba(graphs)[:, 1].mean() > uneven.predict_proba(graphs)[:, 1].mean()


def test_items_without_weight_are_not_learned_from(rings):
    graphs, y, _ = rings
    wrong = np.where(np.arange(60) < 30, np.where(y == "ring", "path", "ring"), y)
    weight = (np.arange(60) >= 30).astype(float)
    classifier = GraphClassifier(hidden=16, max_epochs=30, learning_rate=1e-2, random_state=0)
    assert classifier.fit(graphs, wrong, sample_weight=weight).score(graphs, y) > 0.9
    assert classifier.score(graphs, wrong, sample_weight=weight) > 0.9
    with pytest.raises(EstimatorError, match="nothing to learn"):
        classifier.fit(graphs, y, sample_weight=np.zeros(60))


@pytest.mark.parametrize("kind", [GraphClassifier, GraphRegressor])
def test_items_without_weight_might_as_well_not_be_there(rings, kind):
    graphs, _, sizes = rings
    y = np.where(np.arange(60) < 20, sizes, 1000.0)
    options = QUICK | {"precision": "float64", "validation": None}
    if kind is GraphClassifier:
        y, options = (y > 4).astype(int), options | {"class_weight": "balanced"}
    weight = (np.arange(60) < 20).astype(float)
    all_of_them = kind(**options).fit(graphs, y, sample_weight=weight).embed(graphs)
    assert all_of_them == pytest.approx(
        kind(**options).fit(graphs[:20], y[:20]).embed(graphs), rel=1e-9, abs=1e-9
    )


def test_labels_never_seen_count_for_nothing_with_one_warning(rings):
    graphs, y, _ = rings
    classifier = GraphClassifier(**QUICK).fit(graphs, y)
    strange = Graphs.from_edges(
        [(0, 1), (1, 2)], node_labels=["C", "Xx", "N"], edge_labels=["new", "new"]
    )
    with pytest.warns(UnknownLabelWarning, match="labels of 1 node and 2 edges") as caught:
        one = classifier.predict_proba(strange)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    other = Graphs.from_edges(
        [(0, 1), (1, 2)], node_labels=["C", "Yy", "N"], edge_labels=["more", "other"]
    )
    with pytest.warns(UnknownLabelWarning):
        assert np.array_equal(classifier.predict_proba(other), one)
    strict = clone(classifier).set_params(unknown="error").fit(graphs, y)
    with pytest.raises(UnknownLabelError, match="node 1 has the label 'Xx'"):
        strict.predict(strange)


def test_labels_of_the_vocabulary_that_training_lacked_are_unknown_too(rings):
    graphs, y, _ = rings
    rare = graphs.with_node_labels(["rare", *graphs.node_labels[1:]])
    classifier = GraphClassifier(**QUICK, validation=None).fit(rare[1:], y[1:])
    assert "rare" not in classifier.coder.node_vocabulary
    with pytest.warns(UnknownLabelWarning, match="labels of 1 node"):
        classifier.predict(rare)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier.predict(rare[1:])


def test_features_are_learned_from_and_keep_their_width():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(80, 2))
    graphs = Graphs.from_edges([], sizes=[2] * 40, node_features=features)
    y = features.reshape(40, 2, 2)[:, :, 0].sum(1)
    regressor = GraphRegressor(
        hidden=16, max_epochs=60, learning_rate=1e-2, batch_norm=False, random_state=0
    ).fit(graphs, y)
    assert regressor.score(graphs, y) > 0.9
    with pytest.raises(
        EstimatorError, match="0 node features, but the estimator was fitted with 2"
    ):
        regressor.predict(Graphs.from_edges([], sizes=[2]))


def test_networkx_graphs_and_smiles_are_taken_as_they_are():
    ring, path = (
        nx.cycle_graph(5, create_using=nx.DiGraph),
        nx.path_graph(5, create_using=nx.DiGraph),
    )
    classifier = GraphClassifier(hidden=16, max_epochs=10, learning_rate=1e-2, random_state=0).fit(
        [ring, path] * 10, [1, 0] * 10
    )
    assert classifier.predict([path, ring]).tolist() == [0, 1]
    assert classifier.predict(np.array([ring, None], dtype=object)[:1]).tolist() == [1]
    pytest.importorskip("rdkit")
    classifier = GraphClassifier(**QUICK).fit(
        ["CCO", "CCN", "CCC", "CO"] * 3, [True, False, False, True] * 3
    )
    assert classifier.classes_.tolist() == [False, True]
    assert classifier.predict(["CCCO", "CCCN"]).dtype == bool


def test_no_graphs_give_no_predictions(rings):
    graphs, y, sizes = rings
    classifier = GraphClassifier(**QUICK).fit(graphs, y)
    assert classifier.predict(graphs[:0]).shape == (0,)
    assert classifier.predict_proba([]).shape == (0, 2)
    assert GraphRegressor(**QUICK).fit(graphs, sizes).predict(graphs[:0]).shape == (0,)
    with pytest.raises(EstimatorError, match="X holds no graphs"):
        classifier.fit(graphs[:0], [])


def test_graphs_on_another_scale_of_size_fit_one_model(rings):
    graphs, y, _ = rings
    classifier = GraphClassifier(**QUICK).fit(graphs, y)
    empty = Graphs.from_edges([], sizes=[0, 1], node_labels=["C"])
    assert np.isfinite(classifier.predict_proba(empty)).all()


def test_validation_may_be_given(rings):
    graphs, y, _ = rings
    with_weights = GraphClassifier(**QUICK).fit(
        graphs[:40], y[:40], validation=(graphs[40:], y[40:], np.ones(20))
    )
    plain = GraphClassifier(**QUICK).fit(
        graphs[:40], y[:40], validation=(list(graphs[40:]), y[40:].tolist())
    )
    assert np.allclose(with_weights.predict_proba(graphs), plain.predict_proba(graphs), atol=1e-6)
    assert not np.isnan(plain.history_[0]["valid_loss"]).any()
    assert np.isnan(
        GraphClassifier(**QUICK, validation=None).fit(graphs, y).history_[0]["valid_loss"]
    ).all()
    extra = GraphClassifier(**QUICK).fit(
        graphs[:40], y[:40], validation=(graphs[40:42], ["new", "ring"])
    )
    assert extra.classes_.tolist() == ["new", "path", "ring"]
    for validation, message in (
        (0.2, "pass a tuple"),
        ((graphs[40:], y[:3]), "3 targets for 20 graphs"),
        ((graphs[40:], np.zeros((20, 2))), "targets of the validation set have the shape"),
        ((graphs[40:], np.arange(20)), "use one type"),
    ):
        with pytest.raises(EstimatorError, match=message):
            GraphClassifier(**QUICK).fit(graphs[:40], y[:40], validation=validation)


@pytest.mark.parametrize("calibrate", [False, True])
def test_a_validation_part_without_weight_is_refused(rings, calibrate):
    graphs, y, _ = rings
    with pytest.raises(
        EstimatorError, match="none of the 20 validation items has a target and a weight above zero"
    ):
        GraphClassifier(calibrate=calibrate, **QUICK).fit(
            graphs[:40], y[:40], validation=(graphs[40:], y[40:], np.zeros(20))
        )


def test_use_before_fit_is_explained(rings):
    for call in ("predict", "predict_proba", "predict_uncertainty", "embed"):
        with pytest.raises(
            NotFittedError, match="this GraphClassifier is not fitted yet: call fit first"
        ):
            getattr(GraphClassifier(), call)(rings[0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"layers": 0}, "layers=0: choose a whole number, 1 or more"),
        ({"hidden": 8.0}, r"hidden=8\.0: choose a whole number"),
        ({"hidden": True}, "hidden=True"),
        ({"conv": "gcn"}, "conv='gcn': choose one of 'edgnn', 'gnn', 'joint', 'rgcn', 'gine'"),
        ({"activation": "swish"}, "activation='swish': choose .*'relu'"),
        ({"readout": "median"}, "readout='median': choose 'sum', 'mean' or 'max'"),
        ({"dropout": 1}, "dropout=1: choose a number from 0 to below 1"),
        ({"learning_rate": 0}, "learning_rate=0: choose a number above 0"),
        ({"optimizer": "sgd"}, "optimizer='sgd': choose 'adam' or 'adamw'"),
        ({"batch_size": 0}, "batch_size=0: choose a whole number, 1 or more, or None"),
        ({"validation": 1.0}, r"validation=1\.0: choose a share between 0 and 1, or None"),
        ({"members": 0}, "members=0"),
        ({"unknown": "ignore"}, "unknown='ignore': choose 'zero', 'silent' or 'error'"),
        ({"direction": "out"}, "direction='out': choose 'both' or 'in'"),
        ({"precision": "half"}, "precision='half'"),
        ({"device": "tpu"}, "device='tpu': choose 'cpu'"),
        ({"device": "cuda"}, "torch sees no CUDA device"),
        ({"random_state": -1}, "random_state=-1"),
        ({"random_state": "0"}, "random_state='0'"),
        (
            {"degree_labels": "total"},
            "degree_labels='total': choose 'auto', 'in', 'out', 'both' or None",
        ),
        ({"class_weight": {"square": 2}}, "class_weight names the class 'square'"),
        ({"warm_start": 1}, "warm_start=1: choose True or False"),
    ],
)
def test_bad_parameters_are_named_by_fit(rings, parameters, message):
    if parameters == {"device": "cuda"} and torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(ValueError, match=message) as caught:
        GraphClassifier(**parameters).fit(rings[0], rings[1])
    assert isinstance(caught.value, EstimatorError)
