import json

import numpy as np
import pytest

import edgnn
from edgnn import Graphs
from edgnn.errors import RunError
from edgnn.models import (
    EstimatorError,
    GraphClassifier,
    GraphRegressor,
    NodeClassifier,
    NodeRegressor,
    load_model,
    prediction_columns,
    rebuilt,
)

QUICK = {"hidden": 8, "max_epochs": 3, "random_state": 0}


@pytest.fixture(scope="module")
def mutag():
    data = edgnn.load_dataset("MUTAG")
    return data.graphs[:40], data.targets[:40]


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ({}, [0, 1]),
        ({"members": 2, "calibrate": True, "class_weight": "balanced"}, ["no", "yes"]),
        (
            {
                "class_weight": {False: 2.0},
                "precision": "float64",
                "random_state": np.random.RandomState(2),
            },
            [False, True],
        ),
        (
            {"hidden": np.int64(4), "embedding": 3, "edge_embedding": 2, "conv": "edgnn"},
            [-5, 2**60],
        ),
        ({"conv": "joint", "bases": 2, "degree_labels": "both"}, [0.0, 1.0]),
    ],
)
def test_a_saved_classifier_comes_back_exactly(mutag, tmp_path, parameters, names):
    graphs, y = mutag
    fitted = GraphClassifier(**(QUICK | parameters)).fit(graphs, np.array(names)[y])
    fitted.save(tmp_path / "run")
    assert {path.name for path in (tmp_path / "run").iterdir()} >= {
        "config.json",
        "model.safetensors",
        "environment.json",
    }
    for loaded in (GraphClassifier.load(tmp_path / "run"), load_model(tmp_path / "run")):
        assert type(loaded) is GraphClassifier
        assert np.array_equal(loaded.predict_proba(graphs), fitted.predict_proba(graphs))
        assert loaded.predict(graphs).dtype == fitted.predict(graphs).dtype
        assert loaded.classes_.tolist() == fitted.classes_.tolist()
        assert (loaded.temperature_, loaded.best_epoch_) == (
            fitted.temperature_,
            fitted.best_epoch_,
        )
        assert (
            loaded.history_ == fitted.history_ or np.isnan(fitted.history_[0]["valid_loss"]).any()
        )
        differing = {
            name
            for name, value in fitted.get_params().items()
            if loaded.get_params()[name] != value
        }
        assert differing <= {"random_state"}


@pytest.mark.parametrize(
    "parameters",
    [{}, {"members": 2, "batch_norm": True}, {"precision": "bfloat16", "conv": "joint"}],
)
def test_a_loaded_model_is_trained_on_like_the_one_that_was_saved(mutag, tmp_path, parameters):
    graphs, y = mutag
    fitted = GraphClassifier(**QUICK, **parameters, warm_start=True).fit(graphs, y)
    fitted.save(tmp_path / "run")
    loaded = load_model(tmp_path / "run")
    for ours, theirs in zip(fitted._model.parameters(), loaded._model.parameters(), strict=True):
        assert (ours.dtype, ours.requires_grad, ours.device) == (
            theirs.dtype,
            theirs.requires_grad,
            theirs.device,
        )
    assert np.array_equal(
        loaded.fit(graphs, y).predict_proba(graphs), fitted.fit(graphs, y).predict_proba(graphs)
    )


def test_a_rebuilt_model_has_weights_of_its_own(mutag):
    model = GraphClassifier(**QUICK, precision="float64").fit(*mutag)._model
    weights = model.state_dict()
    for value in rebuilt("graph", model.config, model.members, weights).state_dict().values():
        value.zero_()
    assert all(value.any() for name, value in weights.items() if name.endswith("W1"))


def test_several_labels_and_objects_as_classes_come_back(mutag, tmp_path):
    graphs, y = mutag
    labels = np.stack([y, 1 - y, y], 1)
    GraphClassifier(**QUICK).fit(graphs, labels).save(tmp_path / "labels")
    assert GraphClassifier.load(tmp_path / "labels").predict(graphs).shape == (40, 3)
    texts = np.array(["a", "b"], dtype=object)[y]
    GraphClassifier(**QUICK).fit(graphs, texts).save(tmp_path / "texts")
    assert GraphClassifier.load(tmp_path / "texts").classes_.dtype == object


def test_regressors_and_node_estimators_come_back(mutag, tmp_path):
    graphs, _ = mutag
    values = graphs.sizes.numpy().astype(float)
    fitted = GraphRegressor(**QUICK, members=2).fit(graphs, values)
    fitted.save(tmp_path / "graphs")
    loaded = GraphRegressor.load(tmp_path / "graphs")
    assert np.array_equal(loaded.predict(graphs), fitted.predict(graphs))
    assert loaded.predict(graphs).shape == (40,)
    graph = Graphs.from_edges([(0, 1), (1, 2), (2, 3)], edge_labels=[("p", 1), None, b"x"])
    for kind, y in ((NodeClassifier, [0, 1, 0, 1]), (NodeRegressor, [[1.0, 2.0]] * 4)):
        fitted = kind(**QUICK, head="conv").fit(graph.nodes, y)
        fitted.save(tmp_path / kind.__name__)
        assert np.array_equal(
            kind.load(tmp_path / kind.__name__).predict(graph.nodes), fitted.predict(graph.nodes)
        )


def test_labels_never_seen_are_known_after_loading(mutag, tmp_path):
    graphs, y = mutag
    GraphClassifier(**QUICK, unknown="error").fit(graphs, y).save(tmp_path / "run")
    strange = Graphs.from_edges([(0, 1)], node_labels=["C", "Uuo"], edge_labels=["single"])
    with pytest.raises(edgnn.errors.UnknownLabelError, match="'Uuo'"):
        GraphClassifier.load(tmp_path / "run").predict(strange)
    with pytest.warns(match="1 node"):
        GraphClassifier.load(tmp_path / "run", unknown="zero").predict(strange)


def test_a_folder_is_replaced_only_on_request(mutag, tmp_path):
    graphs, y = mutag
    first = GraphClassifier(**QUICK).fit(graphs, y)
    first.save(tmp_path / "run")
    second = GraphClassifier(**(QUICK | {"hidden": 4})).fit(graphs, y)
    with pytest.raises(RunError):
        second.save(tmp_path / "run")
    assert GraphClassifier.load(tmp_path / "run").hidden == 8
    second.save(tmp_path / "run", overwrite=True)
    assert GraphClassifier.load(tmp_path / "run").hidden == 4


def test_what_cannot_be_loaded_is_explained(mutag, tmp_path):
    graphs, y = mutag
    with pytest.raises(EstimatorError, match="not fitted yet"):
        GraphClassifier().save(tmp_path / "run")
    assert not (tmp_path / "run").exists()
    GraphClassifier(**QUICK).fit(graphs, y).save(tmp_path / "run")
    with pytest.raises(RunError, match="holds a GraphClassifier, not a NodeClassifier"):
        NodeClassifier.load(tmp_path / "run")
    with pytest.raises(RunError, match="no folder"):
        GraphClassifier.load(tmp_path / "nowhere")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    for change, message in (
        (
            {"parameters": config["parameters"] | {"width": 3}},
            "unexpected keyword argument 'width'",
        ),
        (
            {"fitted": config["fitted"] | {"model": config["fitted"]["model"] | {"hidden": 9}}},
            "size mismatch",
        ),
        ({"fitted": {}}, "KeyError"),
        ({"fitted": None}, "TypeError"),
        ({"estimator": "os.system"}, "holds a os.system|'os.system'"),
    ):
        (tmp_path / "run" / "config.json").write_text(json.dumps(config | change))
        with pytest.raises(RunError, match=message):
            GraphClassifier.load(tmp_path / "run")
        with pytest.raises(RunError):
            load_model(tmp_path / "run")
    (tmp_path / "run" / "config.json").write_text(
        json.dumps({name: value for name, value in config.items() if name != "fitted"})
    )
    with pytest.raises(RunError, match="has not ended"):
        GraphClassifier.load(tmp_path / "run")


def test_labels_that_no_file_can_hold_are_refused_before_a_folder_is_made(tmp_path):
    graphs = Graphs.from_edges([(0, 1), (2, 3)], sizes=[2, 2], node_labels=[frozenset([1])] * 4)
    fitted = GraphClassifier(**QUICK).fit(graphs, [0, 1])
    with pytest.raises(RunError, match="frozenset"):
        fitted.save(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_with_too_few_names_of_classes_is_told(mutag):
    model = GraphClassifier(**QUICK).fit(*mutag)
    found = model.predictions(mutag[0][:3])
    with pytest.raises(RunError, match="names of 1 classes"):
        prediction_columns(model, found, class_names=["only one"])
