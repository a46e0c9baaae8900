"""AutoClassifier and AutoRegressor: whatever targets and graphs they are given."""

from __future__ import annotations

import json
import pickle
import re
import warnings

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import validate_data
from threadpoolctl import threadpool_limits

from edgnn import AutoClassifier, AutoRegressor, Graphs
from edgnn.errors import EstimatorError, RunError
from edgnn.io import from_smiles
from edgnn.models import load_model
from edgnn.training import RunFolder
from mutag import load_mutag
from varied_molecules import VARIED

MUTAG = load_mutag()
SMILES = VARIED[:40]
NEW = VARIED[40:60]
NUMBERS = np.arange(40.0)
BOTH = np.stack([NUMBERS, -100 * NUMBERS[::-1]], axis=1)
HOLES = BOTH.copy()
HOLES[3:9, 0] = HOLES[20, 1] = HOLES[30] = np.nan
LABELS = np.where(np.isnan(HOLES), np.nan, HOLES[15] < HOLES)
TARGETS = {
    "value": NUMBERS,
    "values": BOTH,
    "missing values": HOLES,
    "constant": np.full(40, 3.0),
    "tiny": 1e-200 * NUMBERS,
    "classes": NUMBERS > 15,
    "several classes": np.array(["a", "b", "longer"])[(NUMBERS % 3).astype(int)],
    "wide texts": (NUMBERS // 14).astype(str),
    "one class": ["a"] * 40,
    "each its class": np.arange(40),
    "labels": np.nan_to_num(LABELS),
    "missing labels": LABELS,
}
REAL = {"value", "values", "missing values", "constant", "tiny"}
METHODS = ("predict", "predict_proba", "predict_interval", "predict_set", "novelty")
every_target = pytest.mark.parametrize("target", TARGETS)


def kind_of(target):
    return AutoRegressor if target in REAL else AutoClassifier


def answers(model, items):
    """Return what every method of a model says of items."""
    found = {}
    for name in METHODS:
        if hasattr(model, name) and not (name == "predict_set" and model.task == "labels"):
            found[name] = getattr(model, name)(items)
    return found


def assert_same(first, second):
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert_array_equal(value, second[name], err_msg=name)


# Every kind of target


@every_target
def test_what_is_saved_answers_the_same_bits(target, tmp_path):
    learners = "ridge" if target == "each its class" else ("ridge", "sparse")
    model = kind_of(target)(learners, random_state=0).fit(SMILES, TARGETS[target])
    model.save(tmp_path / "run")
    loaded = load_model(tmp_path / "run")
    found = answers(model, NEW)
    assert_same(found, answers(loaded, NEW))
    assert loaded.tried_ == model.tried_
    assert_array_equal(loaded.held_out_, model.held_out_)
    outputs = np.shape(TARGETS[target])[1:]
    assert found["predict"].shape == (20, *outputs)
    assert np.isfinite(found["novelty"]).all()
    if target in REAL:
        low, high = np.moveaxis(found["predict_interval"], 1, 0)
        assert (low <= found["predict"]).all()
        assert (found["predict"] <= high).all()
    else:
        assert ((found["predict_proba"] >= 0) & (found["predict_proba"] <= 1)).all()


def test_all_learners_are_stored_and_a_seed_gives_the_same_bits(tmp_path):
    models = [AutoRegressor(random_state=seed).fit(SMILES[:24], NUMBERS[:24]) for seed in (1, 1)]
    first, second = (answers(model, NEW) for model in models)
    assert_same(first, second)
    models[0].save(tmp_path / "run")
    assert_same(first, answers(AutoRegressor.load(tmp_path / "run"), NEW))
    assert {row["learner"] for row in models[0].tried_} == {
        "ridge",
        "sparse",
        "forest",
        "boosting",
        "blend",
    }
    assert sum(row.get("share", 0) for row in models[0].tried_) == pytest.approx(1)
    scores = {row["learner"]: row["rmse"] for row in models[0].tried_}
    assert scores.pop("blend") <= min(scores.values()) + 1e-9
    assert_same(first, answers(pickle.loads(pickle.dumps(models[0])), NEW))


@pytest.mark.parametrize("learner", ["ridge", "sparse"])
def test_threads_change_no_prediction(learner):
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            before = torch.get_num_threads()
            torch.set_num_threads(threads)
            try:
                model = AutoClassifier(learner, random_state=0)
                results.append(
                    model.fit(MUTAG.graphs[:60], MUTAG.targets[:60]).predict_proba(MUTAG.graphs)
                )
            finally:
                torch.set_num_threads(before)
    # cosines are summed in single precision, in another order by two threads
    assert_allclose(*results, atol=1e-5, rtol=0)


@every_target
def test_two_items_are_enough(target):
    y = np.asarray(TARGETS[target])[[10, 35]]
    learners = ("ridge", "sparse", "forest", "boosting")
    model = kind_of(target)(learners).fit(["CCO", "c1ccccc1"], y)
    found = answers(model, ["CC", "N"])
    assert all(
        np.isfinite(value).all()
        for name, value in found.items()
        if name != "predict_interval" and value.dtype.kind == "f"
    )
    if "predict_interval" in found:
        assert np.isinf(found["predict_interval"]).all()


def test_one_item_is_its_own_answer():
    assert AutoRegressor().fit(["CCO"], [5.0]).predict(["CC", "CCO"]).tolist() == [5, 5]
    assert AutoClassifier().fit(["CCO"], ["x"]).predict(["CC"]).tolist() == ["x"]


def test_a_single_class_is_certain_and_its_set_is_full():
    model = AutoClassifier(("ridge", "forest")).fit(SMILES, ["a"] * 40)
    assert_array_equal(model.predict_proba(NEW), 1)
    assert model.predict_set(NEW).all()


# What is refused


def test_no_items_and_no_targets_are_refused():
    for kind in (AutoRegressor, AutoClassifier):
        with pytest.raises(EstimatorError, match="nothing to learn"):
            kind().fit(Graphs.from_edges([], sizes=[]), [])
    with pytest.raises(EstimatorError, match="known target"):
        AutoRegressor().fit(["C", "CC"], [np.nan, np.nan])
    with pytest.raises(EstimatorError, match="known target"):
        AutoClassifier().fit(["C", "CC"], [0, 1], sample_weight=[0, 0])
    with pytest.raises(EstimatorError, match="infinity"):
        AutoRegressor().fit(["C", "CC"], [1, np.inf])
    with pytest.raises(EstimatorError, match="column 1"):
        AutoRegressor().fit(["C", "CC"], [[1, np.nan], [2, np.nan]])
    with pytest.raises(EstimatorError, match="squares overflow"):
        AutoRegressor().fit(["C", "CC"], [1, 1e200])


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"learners": ()}, "learners"),
        ({"learners": "forrest"}, "learners"),
        ({"learners": ("ridge", "x")}, "learners"),
        ({"rounds": 0}, "rounds"),
        ({"descriptors": True}, "descriptors"),
        ({"seconds": -1}, "seconds"),
        ({"random_state": "x"}, "random_state|seed"),
        ({"class_weight": "heavy"}, "class_weight"),
        ({"class_weight": {"z": 1}}, "class_weight"),
    ],
)
def test_parameters_that_make_no_sense_are_refused_and_nothing_is_fitted(parameters, reason):
    model = AutoClassifier(**parameters)
    with pytest.raises(EstimatorError, match=reason):
        model.fit(["C", "N", "CC", "CN"], ["a", "b", "a", "b"])
    with pytest.raises(EstimatorError, match="not fitted"):
        model.predict(["C"])


def test_descriptors_of_graphs_that_are_no_molecules_are_refused_and_nothing_is_fitted():
    model = AutoClassifier(descriptors="rdkit")
    with pytest.raises(EstimatorError, match="choose 'none'"):
        model.fit(MUTAG.graphs[:10].with_node_labels(None), MUTAG.targets[:10])
    with pytest.raises(EstimatorError, match="not fitted"):
        model.predict(MUTAG.graphs)


def test_what_a_model_cannot_say_is_refused():
    labels = AutoClassifier("ridge").fit(SMILES, TARGETS["labels"])
    with pytest.raises(EstimatorError, match="several labels"):
        labels.predict_set(NEW)
    forest = AutoClassifier("sparse").fit(SMILES, TARGETS["classes"])
    with pytest.raises(EstimatorError, match="name 'ridge'"):
        forest.novelty(NEW)
    for method in ("predict", "predict_proba", "predict_set", "novelty"):
        with pytest.raises(EstimatorError, match="not fitted"):
            getattr(AutoClassifier(), method)(NEW)


# Weights


def test_items_of_weight_zero_and_without_a_target_count_for_nothing():
    weight = np.repeat([1.0, 0.0], 20)
    missing = np.where(weight > 0, NUMBERS, np.nan)
    alone = AutoRegressor("ridge").fit(SMILES[:20], NUMBERS[:20])
    for model in (
        AutoRegressor("ridge").fit(SMILES, NUMBERS, weight),
        AutoRegressor("ridge").fit(SMILES, missing),
    ):
        assert_allclose(model.predict(NEW), alone.predict(NEW), atol=1e-9)


def test_weights_draw_predictions_and_balanced_classes_draw_to_the_rare_one():
    heavy = AutoRegressor("ridge").fit(["C", "CC", "CCC"] * 2, [0] * 3 + [1] * 3, [1] * 3 + [9] * 3)
    assert_allclose(heavy.predict(["C", "CC"]), 0.9, atol=0.01)
    rare = np.arange(40) % 5 == 0
    plain, balanced, named = (
        AutoClassifier("ridge", class_weight=weight).fit(SMILES, rare).predict_proba(NEW)[:, 1]
        for weight in (None, "balanced", {True: 4.0, False: 1.0})
    )
    assert balanced.mean() > plain.mean() + 0.1
    assert named.mean() > plain.mean() + 0.1


# Graphs of every kind


def shapes(count, **beside):
    """Return rings and paths in turn, of 3 to 8 nodes."""
    sizes = [3 + number % 6 for number in range(count)]
    edges, start = [], 0
    for number, size in enumerate(sizes):
        edges += [(start + i, start + (i + 1) % size) for i in range(size - number % 2)]
        start += size
    return Graphs.from_edges(edges, sizes=sizes, **beside), sizes


def test_graphs_without_labels_are_told_apart_by_their_shape():
    graphs, _ = shapes(60)
    ring = np.arange(60) % 2 == 0
    model = AutoClassifier(("ridge", "sparse")).fit(graphs[:40], ring[:40])
    assert model.score(graphs[40:], ring[40:]) == 1
    assert not model._descriptors


def test_features_of_nodes_edges_and_graphs_decide():
    rng = np.random.default_rng(0)
    plain, sizes = shapes(80)
    nodes, edges, own = (
        rng.normal(size=(sum(sizes), 2)),
        rng.normal(size=(plain.num_edges, 1)),
        rng.normal(size=80),
    )
    graphs, _ = shapes(80, node_features=nodes, edge_features=edges)
    graphs = graphs.with_graph_features(own[:, None], ["own"])
    owner = plain.graph_of_node.numpy()
    y = np.bincount(owner, nodes[:, 0]) + 3 * own
    model = AutoRegressor(("ridge", "sparse")).fit(graphs[:60], y[:60])
    assert r2_score(y[60:], model.predict(graphs[60:])) > 0.9
    with pytest.raises(EstimatorError, match="fitted with 2"):
        model.predict(plain)
    with pytest.raises(EstimatorError, match="give the same features"):
        AutoRegressor("ridge").fit(plain.with_graph_features(own[:, None], ["own"]), y).predict(
            plain
        )


def test_a_constant_column_whose_mean_rounds_says_nothing():
    graphs, _ = shapes(30)
    thirds = graphs.with_graph_features(np.full((30, 1), 0.1), ["tenth"])
    y = np.arange(30) % 2
    model = AutoRegressor("ridge").fit(thirds, y)
    other = graphs.with_graph_features(np.full((30, 1), 0.1000001), ["tenth"])
    assert_allclose(model.predict(other), model.predict(thirds))


def test_features_at_the_end_of_floating_point_are_no_overflow():
    graphs, _ = shapes(10)
    huge = graphs.with_graph_features(
        np.full((10, 1), 1e308) * (-1) ** np.arange(10)[:, None], ["x"]
    )
    assert np.isfinite(AutoRegressor("ridge").fit(huge, np.arange(10)).predict(huge)).all()


def test_attributes_that_are_no_chemistry_decide():
    graphs, _ = shapes(60)
    owner = graphs.graph_of_node.numpy()
    kind = np.random.default_rng(0).integers(0, 2, 60)
    graphs = graphs.with_attributes(node={"kind": kind[owner] * 1000})
    model = AutoClassifier("ridge").fit(graphs[:40], kind[:40])
    assert model.score(graphs[40:], kind[40:]) == 1
    with pytest.raises(EstimatorError, match="attribute 'kind'"):
        model.predict(shapes(3)[0])


def test_new_labels_elements_and_empty_graphs_are_answered():
    model = AutoRegressor(("ridge", "sparse")).fit(
        ["C" * n for n in range(1, 20)], np.arange(1, 20)
    )
    odd = ["[U]", "[Og]", "*", "[Na+].[Cl-]", "FS(F)(F)(F)(F)F"]
    assert np.isfinite(model.predict(odd)).all()
    assert (model.novelty(odd) > model.novelty(["CCCC"])).all()
    empty = Graphs.from_edges([], sizes=[0, 2, 0])
    plain = AutoClassifier(("ridge", "sparse")).fit(empty[[0, 1, 0, 1]], [0, 1, 0, 1])
    assert plain.predict(empty).tolist() == [0, 1, 0]
    assert plain.predict(empty[:0]).shape == (0,)
    assert plain.predict_proba(empty[:0]).shape == (0, 2)
    assert model.predict([]).shape == (0,)
    assert model.predict_interval([]).shape == (0, 2)
    strange = Graphs.from_edges([(0, 1)], node_labels=["x", "y"], edge_labels=["new"])
    assert np.isfinite(plain.predict_proba(strange)).all()


@pytest.mark.parametrize("learners", ["ridge", ("ridge", "sparse", "forest")])
def test_items_unlike_the_training_data_have_wide_intervals_and_are_near_the_prior(learners):
    carbons = [f"C{'C' * n}O" for n in range(30)] + [f"C{'C' * n}N" for n in range(30)]
    y = np.repeat([0, 1], 30)
    strange = ["[Fe]", "F[Xe]F", "O=[Os](=O)(=O)=O", "[Au+]"]
    model = AutoClassifier(learners, descriptors="none", random_state=0).fit(carbons, y)
    sure, unsure = (abs(model.predict_proba(items)[:, 1] - 0.5) for items in (carbons, strange))
    assert unsure.max() < sure.min()
    assert unsure.max() < 0.35
    assert (model.novelty(strange) > model.novelty(carbons).max()).all()
    noise = np.random.default_rng(0).normal(scale=np.linspace(0, 5, 60))
    values = AutoRegressor(learners, descriptors="none", random_state=0).fit(carbons, y + noise)
    width = [np.diff(values.predict_interval(items), axis=1) for items in (carbons, strange)]
    assert width[1].min() >= width[0].max()


def test_molecules_twice_as_large_are_extrapolated():
    rng = np.random.default_rng(0)

    def molecule(size):
        pieces = rng.choice(["C", "CC", "C(C)", "C(O)", "C(=O)", "CO", "CN", "c1ccc(cc1)"], size)
        return "C" + "".join(pieces) + "C"

    small, large = (
        [molecule(size) for size in rng.integers(*span, 60)] for span in ((2, 7), (14, 20))
    )

    def carbons(texts):
        return np.array([text.upper().count("C") for text in texts], dtype=float)

    model = AutoRegressor(random_state=0).fit(small, carbons(small))
    assert carbons(large).min() > 1.2 * carbons(small).mean()
    assert r2_score(carbons(large), model.predict(large)) >= 0.95


def test_intervals_and_sets_of_new_molecules_hold_as_often_as_asked():
    rng = np.random.default_rng(0)
    graphs, y = MUTAG.graphs, MUTAG.targets
    order = rng.permutation(len(graphs))
    train, test = order[:120], order[120:]
    sets = (
        AutoClassifier(("ridge", "sparse"))
        .fit(graphs[train], y[train])
        .predict_set(graphs[test], 0.8)
    )
    # 68 new and 120 old items: four standard errors
    assert 0.6 <= sets[np.arange(len(test)), y[test]].mean() <= 0.97
    values = graphs.sizes.numpy() + rng.normal(scale=2, size=len(graphs))
    model = AutoRegressor(("ridge", "sparse")).fit(graphs[train], values[train])
    low, high = model.predict_interval(graphs[test], 0.8).T
    assert 0.6 <= np.mean((low <= values[test]) & (values[test] <= high)) <= 0.97
    assert np.mean(high - low) < 3 * np.std(values)


# scikit-learn


#: Checks of scikit-learn that do not apply, and why.
EXPECTED_FAILED_CHECKS = {
    "check_sample_weight_equivalence_on_dense_data": (
        "of an item that is there twice, the other one stays when one is left out"
    ),
}


class OnRows:
    """scikit-learn checks estimators with dense arrays: each row becomes a graph with features."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags

    def fit(self, X, y, sample_weight=None):
        return super().fit(
            self._of_rows(validate_data(self, X, dtype=np.float64)), y, sample_weight
        )

    def read_items(self, X):
        self._check_fitted()
        if not isinstance(X, Graphs):
            X = self._of_rows(validate_data(self, X, reset=False, dtype=np.float64))
        return super().read_items(X)

    def _of_rows(self, X):
        return Graphs.from_edges([], sizes=[1] * len(X), node_features=X)


class RowClassifier(OnRows, AutoClassifier):
    pass


class RowRegressor(OnRows, AutoRegressor):
    pass


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [RowClassifier("ridge"), RowRegressor("ridge")])
def test_the_checks_of_scikit_learn_pass_on_rows_made_into_graphs(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            estimator, expected_failed_checks=EXPECTED_FAILED_CHECKS, on_skip=None
        )
    assert sum(result["status"] == "passed" for result in results) > 45


@pytest.mark.parametrize("kind", [AutoClassifier, AutoRegressor])
def test_scikit_learn_knows_what_it_is(kind):
    with pytest.warns(match="Can't test estimator"):
        results = check_estimator(kind())
    assert all(result["status"] == "passed" for result in results)
    assert is_classifier(kind()) == (kind is AutoClassifier)
    assert is_regressor(kind()) == (kind is AutoRegressor)
    ours = kind("ridge", rounds=2)
    assert clone(ours).get_params() == ours.get_params()
    weird = {name: object() for name in kind().get_params()}
    assert vars(kind(**weird)) == weird


def test_it_is_cross_validated():
    scores = cross_val_score(AutoClassifier("ridge"), MUTAG.graphs, MUTAG.targets, cv=3)
    assert scores.mean() > 0.8


# Damaged runs


@pytest.fixture(scope="module", params=["values", "classes"])
def run(request, tmp_path_factory):
    target = {"values": "missing values", "classes": "several classes"}[request.param]
    model = kind_of(target)(("ridge", "forest"), rounds=1, random_state=0).fit(
        SMILES[:20], TARGETS[target][:20]
    )
    folder = tmp_path_factory.mktemp("auto") / "run"
    model.save(folder)
    return folder


def used(folder):
    model = load_model(folder)
    model.predict(NEW[:3])
    return model.predict_interval(NEW[:3]) if model.task == "values" else model.predict_set(NEW[:3])


def test_every_damaged_tensor_is_refused_or_makes_no_other_error(run, tmp_path):
    stored = RunFolder.open(run)
    tensors = stored.load_tensors("model.safetensors")
    damage = {
        "missing": lambda value: None,
        "empty": lambda value: value[:0],
        "flat": lambda value: value.flatten()[None],
        "short": lambda value: value[: max(0, len(value) - 1)],
        "nan": lambda value: value.double() * float("nan"),
        "other": lambda value: -value.to(torch.int64) - 1,
        "huge": lambda value: value.double() * 3e300,
        "bool": lambda value: value.bool(),
    }
    # of the many views and rounds, the first of each
    names = {re.sub(r"\d+", "0", name): name for name in reversed(tensors) if "items." not in name}
    silent = set()
    kinds = list(damage)
    every = [
        (name, kind)
        for number, name in enumerate(names.values())
        for kind in ("missing", kinds[1 + number % 7])
    ]
    for name, kind in every:
        changed = {other: value for other, value in tensors.items() if other != name}
        value = damage[kind](tensors[name].clone())
        if value is not None:
            changed[name] = value.contiguous()
        config = json.loads((run / "config.json").read_text())
        copy = RunFolder.create(tmp_path / "copy", config, overwrite=True)
        copy.save_tensors("model.safetensors", changed)
        try:
            used(copy.path)
        except (RunError, EstimatorError):
            continue
        if tensors[name].numel() and not name.startswith("colors."):
            silent.add((name, kind))
    assert not {name for name, kind in silent if kind in ("missing", "nan")} - {"codes"}


def test_every_damaged_fact_is_refused_or_makes_no_other_error(run, tmp_path):
    config = json.loads((run / "config.json").read_text())
    tensors = RunFolder.open(run).load_tensors("model.safetensors")
    silent = []
    for name in (
        "views",
        "parts",
        "descriptors",
        "shares",
        "tried",
        "chosen",
        "learned",
        "centers",
    ):
        for value in (None, [], "x", {"ridge": -1.0}):
            changed = config | {"fitted": config["fitted"] | {name: value}}
            copy = RunFolder.create(tmp_path / "copy", changed, overwrite=True)
            copy.save_tensors("model.safetensors", tensors)
            try:
                used(copy.path)
            except (RunError, EstimatorError):
                continue
            silent.append((name, value))
    assert {name for name, _ in silent} <= {"descriptors", "tried", "chosen"}


def test_a_stored_model_is_small(tmp_path):
    model = AutoClassifier(("ridge", "sparse")).fit(MUTAG.graphs, MUTAG.targets)
    model.save(tmp_path / "run")
    size = sum(path.stat().st_size for path in (tmp_path / "run").iterdir())
    assert size < 3_000_000
    assert (tmp_path / "run" / "config.json").stat().st_size < 20_000


def test_molecules_of_a_reader_are_those_of_their_smiles():
    graphs = from_smiles(SMILES)
    by_text, by_graph = (AutoRegressor("ridge").fit(items, NUMBERS) for items in (SMILES, graphs))
    assert_array_equal(by_text.predict(NEW), by_graph.predict(from_smiles(NEW)))
