"""Every model of the registry has one life cycle: fit, predict, save, load, runs, familiarity."""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest
import torch
from sklearn.base import clone

import edgnn
from edgnn.errors import EstimatorError, RunError
from edgnn.evaluation import kfold
from edgnn.models import (
    BlendGraphClassifier,
    ClassifierModel,
    GraphClassifier,
    Model,
    RDF2VecClassifier,
    RidgeGraphClassifier,
    SubgraphMatchingClassifier,
    WLClassifier,
    estimator_of,
    load_model,
    make_model,
    prediction_table,
    start_run,
    train_run,
)
from edgnn.registry import MODELS, ModelEntry
from edgnn.training import RunFolder

pytestmark = [
    pytest.mark.filterwarnings("ignore::edgnn.models.UnknownLabelWarning"),
    pytest.mark.filterwarnings("ignore::edgnn.models.UnseenNodeWarning"),
]

QUICK = {"max_epochs": 2, "hidden": 8}
PARAMETERS = {
    "rdf2vec": {"walks": 5, "dimensions": 8, "epochs": 2, "starts": "all"},
    "blend": {"trees": 10},
    "auto": {"learners": ("ridge", "forest"), "rounds": 2},
}
OF_MOLECULES = ("ecfp",)
EVERY = [
    (name, level, task)
    for name, entry in MODELS.items()
    for level in entry.levels
    for task in entry.tasks(level)
]


@pytest.fixture(scope="module")
def data():
    mutag = edgnn.load_dataset("MUTAG")
    rng = np.random.default_rng(0)
    source, target = rng.integers(40, size=(2, 160))
    one = edgnn.Graphs.from_edges(
        np.stack([source, target], 1),
        edge_labels=rng.integers(3, size=160).tolist(),
        node_labels=[("a", "b", ("c", 1))[node % 3] for node in range(40)],
        node_names=[f"node {node}" for node in range(40)],
    )
    values = rng.normal(size=(36, 2))
    values[3, 1] = np.nan
    return {
        "graph": mutag.graphs[:36],
        "molecules": edgnn.from_smiles(["C" * (size % 9) + "NO"[size % 2] for size in range(36)]),
        "node": one.nodes[np.arange(36)],
        ("graph", "classes"): np.array(["no", "yes"])[mutag.targets[:36]],
        ("node", "classes"): np.array(["x", "y", "z"])[np.arange(36) % 3],
        "labels": np.where(np.isnan(values), np.nan, values > 0),
        "values": values,
    }


def of(name, level, task):
    parameters = PARAMETERS.get(name, QUICK if MODELS[name].trains_by_epochs else {})
    model = make_model(name, level=level, task=task, **parameters)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    return model


def items_and_targets(data, name, level, task):
    items = data["molecules" if name in OF_MOLECULES else level]
    return items, data.get((level, task), data.get(task))


@pytest.fixture(scope="module")
def fitted(data):
    """Every model fitted to the first 24 items, once."""

    @functools.cache
    def to_24_items(name, level, task):
        X, y = items_and_targets(data, name, level, task)
        return of(name, level, task).fit(X[:24], y[:24])

    return to_24_items


@pytest.mark.parametrize(("name", "level", "task"), EVERY)
def test_a_model_comes_back_exactly(data, fitted, tmp_path, name, level, task):
    X, y = items_and_targets(data, name, level, task)
    model = fitted(name, level, task)
    model.save(tmp_path / "run")
    assert {path.suffix for path in (tmp_path / "run").iterdir()} <= {
        ".json",
        ".jsonl",
        ".safetensors",
        ".lock",
    }
    loaded = load_model(tmp_path / "run")
    assert type(loaded) is type(model)
    assert loaded.get_params().keys() == model.get_params().keys()
    assert repr(loaded) == repr(model)
    assert (loaded.level, loaded.task) == (model.level, model.task) == (level, task)
    assert np.array_equal(loaded.predict(X[20:]), model.predict(X[20:]))
    entry = MODELS[name]
    assert hasattr(model, "predict_proba") == (entry.probabilities and task != "values")
    assert hasattr(model, "embed") == entry.embeds
    assert model.trains_by_epochs == entry.trains_by_epochs
    if hasattr(model, "predict_proba"):
        assert np.array_equal(loaded.predict_proba(X[20:]), model.predict_proba(X[20:]))
    if entry.embeds:
        assert np.array_equal(loaded.embed(X[20:]), model.embed(X[20:]))
    known, again = model.familiarity(X[20:]), loaded.familiarity(X[20:])
    assert (known is None) == (again is None) == (name == "majority")
    if known is not None:
        assert np.array_equal(known.share, again.share)
        assert (known.share[:, :4] == 1).all()
    table = prediction_table(loaded, X[20:])
    assert len(table["id"]) == 16
    assert loaded.score(X[:24], y[:24]) == model.score(X[:24], y[:24])


@pytest.mark.parametrize(("name", "level", "task"), EVERY)
def test_a_loaded_model_is_saved_again(fitted, tmp_path, name, level, task):
    fitted(name, level, task).save(tmp_path / "first")
    load_model(tmp_path / "first").save(tmp_path / "second")
    assert (tmp_path / "first/model.safetensors").read_bytes() == (
        tmp_path / "second/model.safetensors"
    ).read_bytes()
    first, second = (
        json.loads((tmp_path / run / "config.json").read_text()) for run in ("first", "second")
    )
    assert first == second


@pytest.mark.parametrize(("name", "level", "task"), EVERY)
def test_a_model_is_trained_into_a_run_folder(data, tmp_path, name, level, task):
    X, y = items_and_targets(data, name, level, task)
    split = kfold(data[level, "classes"], 3, 1, seed=0, validation=0.2)[0]
    model = of(name, level, task)
    run = start_run(tmp_path / "run", model, X, y, split)
    begun = estimator_of(run)
    assert repr(begun) == repr(model)
    with run.lock():
        answer = train_run(run, begun, X, y, split)
    assert answer.part == "test"
    assert answer.items.tolist() == split.test.tolist()
    loaded = load_model(tmp_path / "run")
    found = loaded.predict(X[split.test])
    expected = answer.values["prediction"]
    if task == "values":
        assert np.allclose(found, expected, atol=1e-5)
    else:
        assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    "name", [name for name, level, task in EVERY if level == "graph" and task == "classes"]
)
def test_a_damaged_model_is_one_clear_error(fitted, tmp_path, name):
    fitted(name, "graph", "classes").save(tmp_path / "run")
    path = tmp_path / "run/config.json"
    config = json.loads(path.read_text())
    for key in config["fitted"]:
        if key in ("identity", "level", "fitted_with", "chosen"):
            continue
        damaged = config | {"fitted": {k: v for k, v in config["fitted"].items() if k != key}}
        path.write_text(json.dumps(damaged))
        with pytest.raises(RunError, match=r"cannot be loaded as an? "):
            load_model(tmp_path / "run")
    path.write_text(json.dumps(config | {"estimator": "os:system"}))
    with pytest.raises(RunError, match=r"holds 'os:system'; known are .*GraphClassifier"):
        load_model(tmp_path / "run")


class Largest(ClassifierModel):
    """A model from outside: large graphs are of one class."""

    levels = ("graph",)

    def __init__(self, scale=1.0):
        self.scale = scale

    def fit(self, X, y):
        data = self.read_training(X, y)
        self.limit_ = torch.tensor(float(data.items.sizes.double().median()) * self.scale)
        self.remember(data)
        return self

    def predict(self, X):
        large = self.read_items(X).sizes > self.limit_
        return self.classes_[large.long().numpy()]

    def get_state(self):
        return {}, {"limit": self.limit_}

    def set_state(self, facts, tensors):
        self.limit_ = tensors["limit"]


@pytest.fixture
def largest():
    entry = ModelEntry("largest", "large graphs", {"graph": {"classes": f"{__name__}:Largest"}})
    MODELS.register(entry)
    yield
    del MODELS._entries["largest"]


def test_a_model_from_outside_has_the_whole_life_cycle(largest, data, tmp_path):
    X, y = items_and_targets(data, "ridge", "graph", "classes")
    model = make_model("largest", scale=0.9).fit(X[:24], y[:24])
    model.save(tmp_path / "run")
    loaded = load_model(tmp_path / "run")
    assert type(loaded) is Largest
    assert loaded.scale == 0.9
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert loaded.familiarity(X[:24]).share.min() == 1
    assert np.array_equal(clone(model).fit(X, y).predict(X[:3]), loaded.predict(X[:3]))
    with pytest.raises(EstimatorError, match="this estimator is for whole graphs"):
        model.predict(data["node"])


def test_a_model_that_is_not_registered_is_loaded_by_its_class_alone(data, tmp_path):
    X, y = items_and_targets(data, "ridge", "graph", "classes")
    Largest().fit(X, y).save(tmp_path / "run")
    with pytest.raises(RunError, match="test_life_cycle:Largest'; known are"):
        load_model(tmp_path / "run")
    assert np.array_equal(Largest.load(tmp_path / "run").predict(X), Largest().fit(X, y).predict(X))
    with pytest.raises(RunError, match="not a RDF2VecClassifier"):
        RDF2VecClassifier.load(tmp_path / "run")


def test_models_of_graphs_and_nodes_know_what_they_were_fitted_on(data, tmp_path):
    X, y = items_and_targets(data, "ridge", "node", "classes")
    make_model("wl-subtree", level="node").fit(X, y).save(tmp_path / "run")
    with pytest.raises(EstimatorError, match=r"X holds graphs, but this .* was fitted on nodes"):
        load_model(tmp_path / "run").predict(data["graph"])


@pytest.mark.parametrize(
    "model",
    [
        RidgeGraphClassifier(["wl"], schemes=["joint", "node"], depth=np.int64(2)),
        WLClassifier("select", solver="svm", depth=(0, 2), random_state=1),
        SubgraphMatchingClassifier(np.array([1, 2]), C=np.logspace(-1, 1, 3), random_state=0),
        BlendGraphClassifier(RidgeGraphClassifier("wl", depth=2), trees=5, random_state=0),
        GraphClassifier(
            max_epochs=1,
            hidden=4,
            class_weight={"no": 2.0},
            random_state=np.random.RandomState(3),
        ),
    ],
)
def test_parameters_of_all_kinds_come_back(data, tmp_path, model):
    X, y = items_and_targets(data, "ridge", "graph", "classes")
    model.fit(X, y).save(tmp_path / "run")
    loaded = load_model(tmp_path / "run")
    assert np.array_equal(loaded.predict(X), model.predict(X))
    again = clone(loaded).fit(X, y)
    assert np.array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("name", ["ridge", "csm", "wl-subtree", "blend", "majority"])
def test_a_model_of_one_class_comes_back(data, tmp_path, name):
    of(name, "graph", "classes").fit(data["graph"][:5], ["only"] * 5).save(tmp_path / "run")
    assert load_model(tmp_path / "run").predict(data["graph"][5:8]).tolist() == ["only"] * 3


def test_a_model_with_parameters_that_no_file_can_hold_is_refused(data, tmp_path):
    X, y = items_and_targets(data, "ridge", "graph", "classes")
    model = Largest(scale=2.0).fit(X, y)
    model.scale = object()
    with pytest.raises(RunError, match=r"the parameter scale=.* is a object, which a run folder"):
        model.save(tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("name", "tensor", "value"),
    [
        ("ridge-network", "solved.weight", torch.zeros(3, dtype=torch.float64)),
        ("ridge", "codes", torch.zeros(3, dtype=torch.int64)),
        ("csm", "solved.support", torch.full((1,), 1000)),
        ("csm", "items.edge_source", torch.full((1,), 10**9)),
        ("blend", "forest.left", torch.zeros(1, dtype=torch.int64)),
        ("ridge", "items.texts", torch.zeros(4, dtype=torch.uint8)),
    ],
)
def test_tensors_that_do_not_fit_are_one_clear_error(data, tmp_path, name, tensor, value):
    X, y = items_and_targets(data, name, "graph", "classes")
    of(name, "graph", "classes").fit(X, y).save(tmp_path / "run")
    run = RunFolder.open(tmp_path / "run")
    run.save_tensors("model.safetensors", run.load_tensors("model.safetensors") | {tensor: value})
    with pytest.raises(RunError, match=r"cannot be loaded as an? "):
        load_model(tmp_path / "run")


def test_parameters_and_names_are_suggested():
    with pytest.raises(EstimatorError, match="has no parameter 'dept'; did you mean 'depth'"):
        make_model("ridge-network", dept=3)
    with pytest.raises(EstimatorError, match="there is no model 'rige'; did you mean 'ridge'"):
        make_model("rige")
    with pytest.raises(EstimatorError, match=r"csm learns about whole graphs, .* edgnn, gnn"):
        make_model("csm", level="node")
    with pytest.raises(EstimatorError, match=r"csm learns classes, but the targets are values"):
        make_model("csm", task="values")
    assert issubclass(type(make_model("ridge")), Model)
