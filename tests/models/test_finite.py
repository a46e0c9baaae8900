"""NaN and infinity: refused in what is read, learned, loaded and predicted."""

import json
import warnings

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import edgnn
from edgnn import Graphs
from edgnn.errors import EstimatorError, ModelError, RunError, TrainingError
from edgnn.models import (
    BlendGraphClassifier,
    GraphClassifier,
    GraphRegressor,
    MajorityClassifier,
    MeanRegressor,
    NodeClassifier,
    RidgeGraphClassifier,
    SubgraphMatchingClassifier,
    load_model,
)
from edgnn.training import RunFolder

QUICK = {"max_epochs": 2, "hidden": 8, "random_state": 0}


def pairs(*values):
    """Return as many graphs of two nodes, each of which has one feature."""
    edges = [(2 * number, 2 * number + 1) for number in range(len(values))]
    features = np.repeat(np.array(values, dtype=float), 2)[:, None]
    return Graphs.from_edges(edges, sizes=[2] * len(values), node_features=features)


@pytest.fixture(scope="module")
def classifier():
    return GraphClassifier(**QUICK).fit(pairs(1.0, 2.0, 3.0, 4.0), ["a", "b", "a", "b"])


def test_predictions_that_overflow_are_an_error_that_names_the_items(classifier):
    items = pairs(1.0, 3e38, 2.0, 3e38)
    for method in (classifier.predict, classifier.predict_proba, classifier.embed):
        with pytest.raises(EstimatorError, match=r"predictions of items 1, 3 are NaN or infinite"):
            method(items)
    with pytest.raises(EstimatorError, match=r"prediction of item 0 is NaN or infinite"):
        classifier.predictions(pairs(3e38))


def test_an_explanation_of_a_prediction_that_overflows_is_an_error(classifier):
    with pytest.raises(EstimatorError, match="NaN or infinite"):
        edgnn.explain.explain(classifier, pairs(3e38))


def test_features_beyond_single_precision_are_refused_when_they_are_converted(classifier):
    with pytest.raises(ModelError, match=r"feature 0 of node 2 is 1e\+39, but numbers of float32"):
        classifier.predict(pairs(1.0, 1e39))
    with pytest.raises(ModelError, match='compute with precision="float64"'):
        GraphClassifier(**QUICK).fit(pairs(1e39, 1.0), [0, 1])
    edges = Graphs.from_edges([(0, 1)], edge_features=[[1e300]])
    with pytest.raises(ModelError, match="feature 0 of edge 0 is 1e\\+300"):
        edgnn.nn.Inputs.of(edges)
    assert edgnn.nn.Inputs.of(edges, dtype=torch.float64).num_nodes == 2


@pytest.mark.filterwarnings("ignore:the loss of member 0")
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_training_that_overflows_is_an_error(precision):
    huge = {"float32": 1e38, "float64": 1e308}[precision]
    model = GraphClassifier(**QUICK, precision=precision)
    with pytest.raises(TrainingError, match="scale the features"):
        model.fit(pairs(huge, -huge, huge, 1.0), ["a", "b", "a", "b"])
    with pytest.raises(edgnn.models.NotFitted):
        model.predict(pairs(1.0))


def test_targets_that_overflow_are_an_error():
    graphs = pairs(1.0, 2.0, 3.0, 4.0)
    with pytest.raises(TrainingError, match=r"target 0 lie between -1e\+300 and 1e\+300"):
        GraphRegressor(**QUICK).fit(graphs, [1e300, -1e300, 1e299, 1.0])
    with pytest.raises(EstimatorError, match="the sum of the targets overflows"):
        MeanRegressor().fit(graphs, [1e308] * 4)


@pytest.mark.parametrize("model", [GraphRegressor(**QUICK), MeanRegressor()])
def test_a_target_that_no_item_has_is_refused(model):
    y = np.stack([np.arange(4.0), np.full(4, np.nan)], axis=1)
    with pytest.raises(EstimatorError, match=r"target column 1 \(of 2.* is NaN for all 4"):
        model.fit(pairs(1.0, 2.0, 3.0, 4.0), y)


def stored_models():
    labeled = Graphs.from_edges(
        [(0, 1), (2, 3), (4, 5), (6, 7)], sizes=[2] * 4, node_labels=list("abacabac")
    )
    y = ["x", "y", "x", "y"]
    network = GraphClassifier(**QUICK, batch_norm=True)
    yield network.fit(labeled, y), labeled
    yield GraphRegressor(**QUICK).fit(labeled, [1.0, 2.0, 3.0, 4.0]), labeled
    yield NodeClassifier(**QUICK).fit(labeled.nodes, list("xyxyxyxy")), labeled.nodes
    yield RidgeGraphClassifier().fit(labeled, y), labeled
    yield SubgraphMatchingClassifier(k=2, C=(1.0,)).fit(labeled, y), labeled
    yield BlendGraphClassifier(trees=3, random_state=0).fit(labeled, y), labeled
    yield MajorityClassifier().fit(labeled, y), labeled


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_no_number_of_a_stored_model_may_be_nan_or_infinite(tmp_path, value):
    for number, (model, _) in enumerate(stored_models()):
        folder = tmp_path / str(number)
        model.save(folder)
        tensors = load_file(folder / "model.safetensors")
        floating = [name for name, tensor in tensors.items() if tensor.is_floating_point()]
        assert floating
        for name in floating:
            changed = {key: tensor.clone() for key, tensor in tensors.items()}
            changed[name].view(-1)[-1:] = value
            RunFolder.open(folder).save_tensors("model.safetensors", changed)
            if changed[name].numel():
                with pytest.raises(RunError, match=f"damaged: the tensor '{name}' holds NaN"):
                    load_model(folder)


def test_a_temperature_that_is_infinite_is_refused(tmp_path, classifier):
    classifier.save(tmp_path / "run")
    run = RunFolder.open(tmp_path / "run")
    run.update_config(fitted=run.config["fitted"] | {"temperature": float("inf")})
    with pytest.raises(RunError, match=r"config\.json says of 'temperature' is NaN"):
        load_model(tmp_path / "run")


def test_weights_that_are_finite_but_too_large_predict_nothing(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy warns of the overflow too
        for number, (model, items) in enumerate(stored_models()):
            if isinstance(model, MajorityClassifier | BlendGraphClassifier):
                continue
            folder = tmp_path / str(number)
            model.save(folder)
            tensors = load_file(folder / "model.safetensors")
            for name, tensor in tensors.items():
                if tensor.is_floating_point() and not name.startswith("items."):
                    tensor.fill_(torch.finfo(tensor.dtype).max)
            RunFolder.open(folder).save_tensors("model.safetensors", tensors)
            with pytest.raises(EstimatorError, match="NaN or infinite"):
                load_model(folder).predict(items)


def test_whatever_a_model_writes_is_strict_json(tmp_path):
    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    graphs = Graphs.from_edges(
        [(0, 1), (2, 3)], sizes=[2, 2], node_labels=[float("inf"), "NaN", float("-inf"), "Infinity"]
    )
    model = RidgeGraphClassifier(ring_sizes=False).fit(graphs, [0, 1])
    model.save(tmp_path / "run")
    json.loads((tmp_path / "run" / "config.json").read_text(), parse_constant=refuse)
    texts = load_file(tmp_path / "run" / "model.safetensors")["items.texts"]
    json.loads(texts.numpy().tobytes(), parse_constant=refuse)
    again = load_model(tmp_path / "run")
    assert list(again.coder.node_vocabulary) == [float("inf"), "NaN", float("-inf"), "Infinity"]
    assert again.predict(graphs).tolist() == model.predict(graphs).tolist()
