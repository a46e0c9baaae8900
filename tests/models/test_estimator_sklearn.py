import pickle
import warnings

import joblib
import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import validate_data

import edgnn
from edgnn import Graphs, Nodes
from edgnn.models import GraphClassifier, GraphRegressor, NodeClassifier, NodeRegressor

ALL = [GraphClassifier, GraphRegressor, NodeClassifier, NodeRegressor]
QUICK = {"hidden": 8, "max_epochs": 3, "random_state": 0}

#: Checks of scikit-learn that do not apply, and why.
EXPECTED_FAILED_CHECKS = {
    "check_sample_weight_equivalence_on_dense_data": (
        "a weighted item and a repeated one are shuffled into other batches, so training takes other steps"
    ),
}


class OnRows:
    """scikit-learn checks estimators with dense arrays: each row becomes a graph of one node, or a node, with features."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags

    def fit(self, X, y, validation=None, sample_weight=None):
        return super().fit(
            self._of_rows(validate_data(self, X, dtype=np.float64)), y, validation, sample_weight
        )

    def read_items(self, X):
        self._check_fitted()
        if not isinstance(X, Graphs | Nodes):
            X = self._of_rows(validate_data(self, X, reset=False, dtype=np.float64))
        return super().read_items(X)

    def _of_rows(self, X):
        if self._level == "graph":
            return Graphs.from_edges([], sizes=[1] * len(X), node_features=X)
        return Graphs.from_edges([], num_nodes=len(X), node_features=X).nodes


class RowGraphClassifier(OnRows, GraphClassifier):
    pass


class RowNodeRegressor(OnRows, NodeRegressor):
    pass


@pytest.fixture(scope="module")
def mutag():
    data = edgnn.load_dataset("MUTAG")
    common = {"C", "N", "O", "aromatic", "single", "double"}
    kept = [
        number
        for number, graph in enumerate(data.graphs)
        if {*graph.node_labels, *graph.edge_labels} <= common
    ][:60]
    return data.graphs[kept], data.targets[kept]


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [
        RowGraphClassifier(
            max_epochs=10,
            learning_rate=3e-2,
            batch_size=20,
            hidden=8,
            include_input=False,
            precision="float64",
        ),
        RowNodeRegressor(
            max_epochs=60, learning_rate=3e-2, hidden=8, dropout=0.0, precision="float64"
        ),
    ],
    ids=["graphs", "nodes"],
)
def test_the_checks_of_scikit_learn_pass_on_rows_made_into_graphs(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            estimator, expected_failed_checks=EXPECTED_FAILED_CHECKS, on_skip=None
        )
    status = {result["check_name"]: result["status"] for result in results}
    assert {name for name, state in status.items() if state == "xfail"} == set(
        EXPECTED_FAILED_CHECKS
    )
    assert sum(state == "passed" for state in status.values()) > 45


@pytest.mark.parametrize("kind", ALL)
def test_the_checks_of_scikit_learn_know_that_graphs_are_no_arrays(kind):
    with pytest.warns(match="Can't test estimator"):
        results = check_estimator(kind())
    assert all(result["status"] == "passed" for result in results)


@pytest.mark.parametrize("kind", ALL)
def test_tags_say_what_an_estimator_is(kind):
    tags = get_tags(kind())
    assert not tags.input_tags.two_d_array
    assert tags.target_tags.required
    assert tags.requires_fit
    assert is_classifier(kind()) == ("Classifier" in kind.__name__)
    assert is_regressor(kind()) == ("Regressor" in kind.__name__)


@pytest.mark.parametrize("kind", ALL)
def test_parameters_are_stored_untouched_and_cloned(kind):
    weird = {name: object() for name in kind().get_params()}
    estimator = kind(**weird)
    assert all(estimator.get_params()[name] is value for name, value in weird.items())
    assert vars(estimator) == weird
    ours = kind(hidden=5, learning_rate=0.5)
    copy = clone(ours)
    assert copy.get_params() == ours.get_params()
    assert "hidden=5" in repr(ours)
    with pytest.raises(ValueError, match="Invalid parameter 'width'"):
        ours.set_params(width=3)


def test_defaults_follow_the_level():
    assert (
        GraphClassifier().get_params() | {"class_weight": None, "calibrate": False}
        == GraphClassifier().get_params()
    )
    assert set(GraphClassifier().get_params()) - set(GraphRegressor().get_params()) == {
        "class_weight",
        "calibrate",
    }
    assert set(GraphClassifier().get_params()) - set(NodeClassifier().get_params()) == {
        "readout",
        "include_input",
    }
    assert (GraphRegressor().batch_norm, NodeRegressor().batch_norm) == (True, False)
    assert (GraphRegressor().degree_labels, NodeRegressor().degree_labels) == (None, "auto")


def test_cross_validation_and_pipelines_take_graphs(mutag):
    graphs, y = mutag
    pipeline = make_pipeline(FunctionTransformer(), GraphClassifier(**QUICK))
    scores = cross_val_score(pipeline, graphs, y, cv=3)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()
    probability = cross_val_predict(
        GraphClassifier(**QUICK), graphs, y, cv=3, method="predict_proba"
    )
    assert probability.shape == (60, 2)
    values = cross_val_predict(GraphRegressor(**QUICK), graphs, y.astype(float), cv=3)
    assert values.shape == (60,)


@pytest.mark.slow
def test_a_grid_is_searched_by_two_processes(mutag):
    graphs, y = mutag
    search = GridSearchCV(
        GraphClassifier(**QUICK),
        {"hidden": np.array([4, 8]), "conv": ["edgnn", "gnn"]},
        cv=2,
        n_jobs=2,
    )
    search.fit(graphs, y)
    assert search.best_params_["hidden"] in (4, 8)
    assert search.predict(list(graphs[:3])).shape == (3,)


def test_weights_are_routed_by_metadata(mutag):
    graphs, y = mutag
    with config_context(enable_metadata_routing=True):
        estimator = (
            GraphClassifier(**QUICK)
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=True)
        )
        scores = cross_val_score(
            estimator, graphs, y, cv=2, params={"sample_weight": np.ones(len(y))}
        )
    assert scores.shape == (2,)


@pytest.mark.parametrize("dump", ["pickle", "joblib", "deepcopy"])
def test_fitted_estimators_can_be_pickled(mutag, tmp_path, dump):
    graphs, y = mutag
    fitted = GraphClassifier(**QUICK, members=2, calibrate=True).fit(graphs, y)
    if dump == "pickle":
        data = pickle.dumps(fitted)
        assert len(data) < 100_000
        copy = pickle.loads(data)
    elif dump == "joblib":
        joblib.dump(fitted, tmp_path / "model")
        copy = joblib.load(tmp_path / "model")
    else:
        copy = clone(fitted, safe=False)
        assert not copy.__sklearn_is_fitted__()
        copy = pickle.loads(pickle.dumps(copy)).fit(graphs, y)
    assert np.array_equal(copy.predict_proba(graphs), fitted.predict_proba(graphs))
    assert copy.temperature_ == fitted.temperature_
    assert copy.set_params(warm_start=True).fit(graphs, y).history_


def test_models_with_an_output_layer_of_their_own_can_be_pickled():
    graph = Graphs.from_edges([(0, 1), (1, 2), (2, 3)])
    fitted = NodeClassifier(**QUICK, head="conv").fit(graph.nodes, [0, 1, 0, 1])
    assert np.array_equal(
        pickle.loads(pickle.dumps(fitted)).predict_proba(graph.nodes),
        fitted.predict_proba(graph.nodes),
    )
