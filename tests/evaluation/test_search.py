"""Candidates for parameters, chosen inside the items that a model may learn from."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import edgnn
from edgnn.errors import EstimatorError, EvaluationError
from edgnn.evaluation import (
    Evaluation,
    Search,
    Split,
    evaluate,
    holdout,
    kfold,
    selection_rows,
    train,
)
from edgnn.models import ClassifierModel, SubgraphMatchingClassifier

NETWORK = {"max_epochs": 2, "hidden": (4, 8), "layers": 1}


@pytest.fixture(scope="module")
def data():
    mutag = edgnn.load_dataset("MUTAG")
    return edgnn.Dataset(
        "small", mutag.graphs[:40], mutag.targets[:40], class_names=mutag.class_names
    )


@pytest.fixture
def line():
    """Numbers whose class changes every six, so that few neighbors tell it and many do not."""
    X = np.arange(60, dtype=float)[:, None]
    return X, (np.arange(60) // 6) % 2


def test_each_split_gets_the_candidate_that_is_best_inside_it(line):
    X, y = line
    splits = kfold(y, 4, 1, validation=None)
    search = Search(KNeighborsClassifier(), {"n_neighbors": (25, 1), "weights": ("uniform",)})
    found = evaluate(search, X, y, splits)
    alone = evaluate(KNeighborsClassifier(n_neighbors=1), X, y, splits)
    assert [outcome.chosen["n_neighbors"] for outcome in found.outcomes] == [1] * 4
    assert found.mean == alone.mean
    few, many = (row["score"] for row in found.outcomes[0].chosen["candidates"])
    assert many > few
    assert found.settings["estimator"] == "KNeighborsClassifier"
    assert found.settings["parameters"]["n_neighbors"] == [25, 1]
    rows = selection_rows(Evaluation.from_dict(json.loads(json.dumps(found.to_dict()))))
    assert [row["chosen"] for row in rows] == [0, 4]
    assert selection_rows(alone) == []


def test_no_choice_looks_at_test_items(line):
    X, y = line
    split = Split(np.arange(40), np.arange(40, 60))
    search = Search(KNeighborsClassifier(), {"n_neighbors": (1, 5)})
    other = y.copy()
    other[40:] = 1 - other[40:]
    chosen = [evaluate(search, X, truth, [split]).outcomes[0].chosen for truth in (y, other)]
    assert chosen[0] == chosen[1]


def test_of_equal_candidates_the_first_wins(line):
    search = Search(DummyClassifier(), {"strategy": ("prior", "most_frequent")})
    found = evaluate(search, *line, holdout(line[1], 0.2, None, 2))
    assert [outcome.chosen["strategy"] for outcome in found.outcomes] == ["prior", "prior"]


def test_values_are_chosen_by_the_smallest_error():
    X = np.arange(40, dtype=float)[:, None]
    search = Search(KNeighborsRegressor(), {"n_neighbors": (10, 2)})
    found = evaluate(search, X, X[:, 0] ** 2, kfold(X[:, 0], 2, 1))
    assert [outcome.chosen["n_neighbors"] for outcome in found.outcomes] == [2, 2]


def test_the_metric_decides(line):
    search = Search(KNeighborsClassifier(), {"n_neighbors": (1, 9)}, "roc_auc")
    selection = search.select(*line, np.arange(60), None)
    assert selection.metric == "roc_auc"
    assert selection.facts()["chosen"] == selection.parameters
    assert selection.score == max(row["score"] for row in selection.candidates)


@pytest.mark.parametrize("model", ["edgnn", "ridge", "csm"])
def test_candidates_of_any_model_are_chosen_in_training(data, tmp_path, model):
    parameters = {
        "edgnn": NETWORK,
        "ridge": {"descriptors": "none", "rounds": [1, 2]},
        "csm": {"k": (1, 2), "normalize": (True, False)},
    }[model]
    trained = train(data, model, out=tmp_path / "run", test=0.25, **parameters)
    search = trained.run.config["search"]
    assert len(search["candidates"]) == 2
    best = max(search["candidates"], key=lambda row: row["score"])
    assert search["chosen"] == best["parameters"]
    kept = trained.model.get_params(deep=False)
    assert {name: kept[name] for name in best["parameters"]} == best["parameters"]


def test_a_resumed_training_keeps_the_choice(data, tmp_path):
    def interrupt(epoch):
        raise KeyboardInterrupt

    whole = train(data, out=tmp_path / "whole", **NETWORK)
    with pytest.raises(KeyboardInterrupt):
        train(data, out=tmp_path / "run", on_epoch=interrupt, **NETWORK)
    resumed = train(data, out=tmp_path / "run", resume=True)
    assert resumed.run.config["search"] == whole.run.config["search"]
    assert resumed.metrics == whole.metrics


class BySize(ClassifierModel):
    """A model of somebody else: the larger graphs are of the second class."""

    levels = ("graph",)

    def __init__(self, at=0.5, names=("a", "b")):
        self.at, self.names = at, names

    def fit(self, X, y):
        data = self.read_training(X, y)
        self.limit_ = float(np.quantile(data.items.sizes, self.at))
        self.remember(data)
        return self

    def predict(self, X):
        large = self.read_items(X).sizes.numpy() > self.limit_
        return self.classes_[large.astype(int)]

    def get_state(self):
        return {"limit": self.limit_}, {}

    def set_state(self, facts, tensors):
        self.limit_ = facts["limit"]


def test_a_model_of_somebody_else_has_candidates_too(data):
    assert BySize.takes_several("names")
    assert not BySize.takes_several("at")
    found = evaluate(
        Search(BySize(), {"at": (0.1, 0.4)}),
        data.graphs,
        data.targets,
        [Split(np.arange(30), np.arange(30, 40))],
    )
    assert found.outcomes[0].chosen["at"] in (0.1, 0.4)


def test_what_a_tuple_means_is_the_parameters_own_rule():
    several = {
        edgnn.GraphClassifier: {"hidden": False, "layers": False, "conv": False},
        edgnn.NodeClassifier: {"fanout": True, "dropout": False},
        edgnn.RidgeGraphClassifier: {"parts": True},
        SubgraphMatchingClassifier: {"C": True, "k": True, "weights": True, "folds": False},
    }
    for kind, parameters in several.items():
        assert {name: kind.takes_several(name) for name in parameters} == parameters


def test_wrong_candidates_are_named_before_any_training(data, tmp_path):
    with pytest.raises(EstimatorError, match="hidden=0: choose a whole number"):
        train(data, out=tmp_path / "run", hidden=(8, 0))
    with pytest.raises(EstimatorError, match="has no parameter 'hiden'"):
        train(data, out=tmp_path / "run", hiden=(8, 4))
    with pytest.raises(EvaluationError, match="holds no candidates"):
        Search(edgnn.GraphClassifier(), {"hidden": ()})
    with pytest.raises(EvaluationError, match="1 items to learn from cannot be divided"):
        Search(BySize(), {"at": (0.1, 0.2)}).select(data.graphs, data.targets, np.arange(1), None)
    assert not (tmp_path / "run").exists()


def test_labels_that_were_never_seen_are_warned_of_once():
    smiles = ["CC", "CO", "CCC", "CCO"] * 3 + ["[Si]C", "[Se]C", "[Ge]C", "[Te]C"]
    graphs = edgnn.from_smiles(smiles)
    y = np.arange(16) % 2
    search = Search(BySizeOfSeen(), {"at": (0.2, 0.5)})
    with pytest.warns(edgnn.models.UnknownLabelWarning, match="said once for all") as caught:
        evaluate(search, graphs, y, kfold(y, 4, 1))
    assert len(caught) == 1
    assert str(caught[0].message).count("said once") == 1


class BySizeOfSeen(BySize):
    """One that warns of new labels."""

    def predict(self, X):
        items = self.read_items(X)
        warnings.warn(
            f"labels of {len(items)} graphs", edgnn.models.UnknownLabelWarning, stacklevel=2
        )
        return super().predict(X)
