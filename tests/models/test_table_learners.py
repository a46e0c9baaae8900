from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import ElasticNet, LogisticRegression

from edgnn.errors import EstimatorError, RunError
from edgnn.models.counts import (
    Boosting,
    Forest,
    SparseLinear,
    Trees,
    held_out_folds,
    pack_fitted,
    select_columns,
    unpack_fitted,
)

RANDOM = np.random.default_rng(0)
COUNTS = RANDOM.poisson(0.6, (150, 30)).astype(np.float32)
NEW = RANDOM.poisson(0.6, (40, 30)).astype(np.float32)
SIGNAL = COUNTS[:, 0] + COUNTS[:, 1] - 2 * COUNTS[:, 2]
VALUES = SIGNAL + RANDOM.normal(0, 0.3, 150)
CLASSES = np.digitize(VALUES, [-1.0, 0.5])
LABELS = np.stack([VALUES > 0, COUNTS[:, 3] > 0], axis=1).astype(float)
TARGETS = {"classes": CLASSES, "labels": LABELS, "values": np.stack([VALUES, -5 * SIGNAL], axis=1)}
TASKS = list(TARGETS)
LEARNERS = [
    Forest(trees=30),
    Forest(trees=20, bootstrap=False, extra=False, folds=3),
    Boosting(iterations=15, folds=3),
    SparseLinear(strengths=15, folds=3),
]
NAMES = ["forest", "whole-forest", "boosting", "sparse"]
every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=NAMES)
every_task = pytest.mark.parametrize("task", TASKS)


def error_of(predicted, task, targets=None):
    """Return the mean error: wrong classes or labels, or the squared error over the variance."""
    targets = TARGETS[task] if targets is None else targets
    if task == "classes":
        return np.mean(predicted.argmax(axis=1) != targets)
    if task == "labels":
        return np.mean((predicted > 0.5) != targets)
    return np.mean((predicted - targets) ** 2 / targets.var(axis=0))


# All learners


@every_task
@every_learner
def test_predictions_and_held_out_predictions_are_of_one_shape_and_learn(learner, task):
    fitted = learner.fit(COUNTS, TARGETS[task], task)
    outputs = 3 if task == "classes" else 2
    assert fitted.predict(NEW).shape == (40, outputs)
    assert fitted.held_out.shape == (150, outputs)
    chance = {"classes": np.mean(np.bincount(CLASSES).argmax() != CLASSES), "labels": 0.5}
    assert error_of(fitted.held_out, task) < 0.75 * chance.get(task, 1.0)
    assert error_of(fitted.predict(COUNTS), task) <= error_of(fitted.held_out, task)
    if task != "values":
        assert (fitted.predict(NEW) >= 0).all()
        assert (fitted.predict(NEW) <= 1).all()
    if task == "classes":
        assert_allclose(fitted.predict(NEW).sum(axis=1), 1)
        assert_allclose(fitted.held_out.sum(axis=1), 1)


@every_task
@every_learner
def test_targets_that_are_noise_are_held_out_no_better_than_chance(learner, task):
    shuffled = np.random.default_rng(1).permutation(TARGETS[task])
    fitted = learner.fit(COUNTS, shuffled, task)
    chance = {"classes": np.mean(np.bincount(CLASSES).argmax() != CLASSES), "labels": 0.35}
    assert error_of(fitted.held_out, task, shuffled) > 0.85 * chance.get(task, 1.0)


@every_task
@every_learner
def test_sparse_and_plain_tables_give_the_same(learner, task):
    plain = learner.fit(COUNTS, TARGETS[task], task, seed=5)
    sparse = learner.fit(csr_array(COUNTS.astype(np.float64)), TARGETS[task], task, seed=5)
    assert_allclose(sparse.predict(csr_array(NEW)), plain.predict(NEW), atol=1e-12)
    assert_allclose(sparse.held_out, plain.held_out, atol=1e-12)


@every_task
@every_learner
def test_what_is_stored_predicts_the_same_bits(learner, task):
    fitted = learner.fit(COUNTS, TARGETS[task], task)
    facts, tensors = pack_fitted(fitted, "half.")
    assert all(name.startswith("half.") for name in tensors)
    again = unpack_fitted(json.loads(json.dumps(facts)), tensors, "half.", 30)
    assert type(again) is type(fitted)
    assert_array_equal(again.predict(NEW), fitted.predict(NEW))
    assert_array_equal(again.held_out, fitted.held_out)


@every_task
@every_learner
def test_the_seed_decides(learner, task):
    first, second = (learner.fit(COUNTS, TARGETS[task], task, seed=3) for _ in range(2))
    assert_array_equal(first.predict(NEW), second.predict(NEW))
    assert_array_equal(first.held_out, second.held_out)
    other = learner.fit(COUNTS, TARGETS[task], task, seed=4)
    assert (other.held_out != first.held_out).any()


@every_task
@every_learner
def test_an_item_of_weight_zero_is_not_learned_from(learner, task):
    weight = np.ones(150)
    weight[100:] = 0
    changed = TARGETS[task].copy()
    changed[100:] = changed[100:][::-1]
    first, second = (
        learner.fit(COUNTS, targets, task, weight=weight) for targets in (TARGETS[task], changed)
    )
    assert_array_equal(first.predict(NEW), second.predict(NEW))
    assert_allclose(first.held_out[100:], first.predict(COUNTS[100:]), atol=1e-12)


@every_task
@every_learner
def test_heavy_items_are_fitted_better(learner, task):
    contrary = TARGETS[task][::-1]
    table, targets = np.concatenate([COUNTS] * 2), np.concatenate([TARGETS[task], contrary])
    heavy = np.repeat([20.0, 1.0], 150)
    fitted = learner.fit(table, targets, task, weight=heavy)
    predicted = fitted.predict(COUNTS)
    assert error_of(predicted, task) < 0.7 * error_of(predicted, task, contrary)


@pytest.mark.parametrize("task", ["labels", "values"])
@every_learner
def test_each_column_is_learned_from_the_items_where_it_is_known(learner, task):
    targets = TARGETS[task].copy()
    targets[::3, 1] = np.nan
    fitted = learner.fit(COUNTS, targets, task)
    assert np.isfinite(fitted.held_out).all()
    assert_allclose(fitted.predict(COUNTS[::3])[:, 1], fitted.held_out[::3, 1], atol=1e-12)
    known = np.arange(150) % 3 > 0
    chance = {"labels": 0.4, "values": 1.0}[task]
    assert error_of(fitted.held_out[known, 1:], task, targets[known, 1:]) < 0.75 * chance


@every_learner
def test_classes_that_no_item_has_get_no_probability(learner):
    fitted = learner.fit(COUNTS, np.where(CLASSES > 0, 3, 1), "classes", outputs=5)
    assert_array_equal(fitted.predict(NEW)[:, [0, 2, 4]], 0)
    assert_array_equal(fitted.held_out[:, [0, 2, 4]], 0)
    assert_allclose(fitted.predict(NEW).sum(axis=1), 1)
    only = learner.fit(COUNTS[:5], np.full(5, 1), "classes", outputs=3)
    only.check(30)
    assert_array_equal(only.predict(NEW[:2]), [[0, 1, 0]] * 2)
    assert_array_equal(only.held_out, [[0, 1, 0]] * 5)


@every_learner
def test_a_class_of_a_single_item_is_learned_too(learner):
    codes = (VALUES > 0).astype(int)
    codes[7] = 2
    fitted = learner.fit(COUNTS, codes, "classes")
    assert fitted.predict(NEW).shape == (40, 3)
    assert_allclose(fitted.held_out.sum(axis=1), 1)


@every_task
@every_learner
def test_tables_that_say_nothing_leave_the_mean(learner, task):
    targets = TARGETS[task]
    for table in (np.ones((150, 4)), csr_array((150, 0))):
        fitted = learner.fit(table, targets, task)
        fitted.check(table.shape[1])
        mean = np.eye(3)[CLASSES].mean(axis=0) if task == "classes" else targets.mean(axis=0)
        predicted = fitted.predict(table[:1])[0]
        # the bootstrap samples of 30 trees, and half an item more of either label
        assert_allclose(predicted, mean, atol=0.08 * max(1, np.abs(targets).max()))


@every_task
@every_learner
def test_one_item_is_enough(learner, task):
    fitted = learner.fit(COUNTS[:1], TARGETS[task][:1], task)
    fitted.check(30)
    assert np.isfinite(fitted.held_out).all()
    predicted = fitted.predict(NEW)
    if task == "values":
        assert_allclose(predicted, np.repeat(TARGETS[task][:1], 40, axis=0))
    else:
        assert error_of(predicted, task, np.repeat(TARGETS[task][:1], 40, axis=0)) == 0


@every_learner
def test_no_items_are_predicted_as_none(learner):
    fitted = learner.fit(COUNTS, CLASSES, "classes")
    assert fitted.predict(NEW[:0]).shape == (0, 3)
    assert fitted.predict(csr_array(NEW[:0])).shape == (0, 3)


@every_learner
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"targets": CLASSES[1:]}, "149 targets for 150 rows"),
        ({"table": np.where(COUNTS == 2, np.nan, COUNTS)}, "NaN, infinity"),
        ({"table": COUNTS.astype(float) * 1e39}, "beyond those of float32"),
        ({"targets": CLASSES - 1}, "class numbers must be 0 to 1"),
        ({"outputs": 2}, "class numbers must be 0 to 1"),
        ({"weight": np.zeros(150)}, "all weights are zero"),
        ({"weight": -np.ones(150)}, "none of them negative"),
        ({"weight": np.ones(3)}, "150 finite numbers"),
        ({"task": "labels", "targets": LABELS + 1}, "labels must be 0, 1 or NaN"),
        ({"task": "values", "targets": LABELS * [1, np.nan]}, r"target column 1 .* is NaN for all"),
    ],
)
def test_what_makes_no_sense_is_refused(learner, change, message):
    given = {"table": COUNTS, "targets": CLASSES, "task": "classes"} | change
    with pytest.raises(EstimatorError, match=message):
        learner.fit(**given)


@pytest.mark.parametrize(
    ("learner", "option", "message"),
    [
        (Forest, {"trees": 0}, "trees=0: choose a whole number, 1 or more"),
        (Forest, {"max_features": "root"}, "max_features='root': choose 'sqrt'"),
        (Forest, {"bootstrap": 1}, "bootstrap=1: choose True, False or None"),
        (Forest, {"n_jobs": 0}, "n_jobs=0"),
        (Boosting, {"bins": 256}, "bins=256: choose a whole number from 2 to 255"),
        (Boosting, {"learning_rate": 0}, "learning_rate=0: choose a number above 0"),
        (SparseLinear, {"l1_ratio": 0}, "l1_ratio=0: choose a number above 0, at most 1"),
        (SparseLinear, {"scale": "mean"}, "scale='mean': choose 'max'"),
    ],
)
def test_options_that_make_no_sense_are_refused(learner, option, message):
    with pytest.raises(EstimatorError, match=message):
        learner(**option)


# Damage


def damaged_by(fitted, path, value):
    """Return a fitted model with another array at a path such as ``trees.left``."""
    name, _, inner = path.partition(".")
    if inner:
        value = replace(getattr(fitted, name), **{inner: value})
    return replace(fitted, **{name: value})


TREES_DAMAGE = {
    "trees.feature": lambda array: array + 30,
    "trees.threshold": lambda array: array * np.nan,
    "trees.left": lambda array: array * 0,
    "trees.right": lambda array: array + 1,
    "trees.value": lambda array: array[1:],
    "trees.roots": lambda array: array + 10**7,
    "columns": lambda array: array + 30,
    "output": lambda array: array + 7,
    "held_out": lambda array: array * np.inf,
    "task": lambda task: task[:-1],
}
SPARSE_DAMAGE = {
    "column": lambda array: array - 31,
    "output": lambda array: array[:-1],
    "coefficient": lambda array: array * np.nan,
    "intercept": lambda array: array[:1],
    "strength": lambda array: array * np.inf,
    "held_out": lambda array: array[:, :1],
}


@pytest.mark.parametrize(
    ("learner", "path", "damage"),
    [
        *((LEARNERS[0], *entry) for entry in TREES_DAMAGE.items()),
        *((LEARNERS[2], *entry) for entry in TREES_DAMAGE.items()),
        (LEARNERS[0], "held_out", lambda array: array[0]),
        (LEARNERS[2], "baseline", lambda array: array[0]),
        (LEARNERS[3], "intercept", lambda array: array[0]),
        (LEARNERS[2], "baseline", lambda array: array[1:]),
        (LEARNERS[2], "baseline", lambda array: array * np.nan),
        *((LEARNERS[3], *entry) for entry in SPARSE_DAMAGE.items()),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_damaged_arrays_are_refused(learner, path, damage):
    fitted = learner.fit(COUNTS, TARGETS["values"], "values")
    fitted.check(30)
    array = fitted
    for name in path.split("."):
        array = getattr(array, name)
    with pytest.raises(ValueError, match="damaged"):
        damaged_by(fitted, path, damage(array)).check(30)


@every_learner
def test_a_narrower_table_than_was_learned_from_is_noticed(learner):
    fitted = learner.fit(COUNTS, CLASSES, "classes")
    with pytest.raises(ValueError, match="columns is damaged"):
        fitted.check(3)


def test_what_is_stored_is_checked_when_it_is_read():
    facts, tensors = pack_fitted(LEARNERS[2].fit(COUNTS, CLASSES, "classes"), "b.")
    with pytest.raises(ValueError, match="columns is damaged"):
        unpack_fitted(facts, tensors, "b.", 3)
    with pytest.raises(ValueError, match="'trees' is none of forest"):
        unpack_fitted(facts | {"kind": "trees"}, tensors, "b.", 30)
    with pytest.raises(RunError, match="is a list"):
        pack_fitted([], "b.")


# Trees have the bits of scikit-learn's


@pytest.mark.parametrize("kind", [ExtraTreesClassifier, RandomForestClassifier])
def test_a_forest_of_classes_has_the_bits_of_scikit_learn(kind):
    table, new = COUNTS * np.float32(0.1), NEW * np.float32(0.1)
    forest = kind(20, random_state=0).fit(table, CLASSES)
    assert_array_equal(Trees.of_forest(forest).predict_proba(new), forest.predict_proba(new))


@pytest.mark.parametrize("kind", [ExtraTreesRegressor, RandomForestRegressor])
def test_a_forest_of_values_has_the_bits_of_scikit_learn(kind):
    table = RANDOM.normal(size=(100, 8)).astype(np.float32)
    new = np.concatenate([table, RANDOM.normal(size=(100, 8)).astype(np.float32)])
    targets = TARGETS["values"][:100]
    forest = kind(20, random_state=0).fit(table, targets)
    assert_array_equal(Trees.of_forest(forest).predict_proba(new), forest.predict(new))


def test_thresholds_divide_neighboring_numbers_as_before_they_were_rounded():
    # their middle is as near to both of them, and would be rounded to the higher
    low = np.nextafter(np.float32(4), np.float32(5))
    high = np.nextafter(low, np.float32(5))
    table = np.array([[low], [high]], dtype=np.float32)
    forest = RandomForestRegressor(1, bootstrap=False).fit(table, [0.0, 1.0])
    assert_array_equal(Trees.of_forest(forest).predict_proba(table)[:, 0], [0.0, 1.0])
    assert_array_equal(forest.predict(table), [0.0, 1.0])


def boosting_of(learner, kind):
    return kind(
        max_iter=learner.iterations,
        learning_rate=learner.learning_rate,
        max_features=learner.max_features,
        max_leaf_nodes=learner.leaves,
        min_samples_leaf=learner.min_samples_leaf,
        l2_regularization=learner.penalty,
        max_bins=learner.bins,
        early_stopping=False,
        random_state=0,
    )


@pytest.mark.parametrize("task", ["values", "labels", "two", "three"])
def test_boosting_has_the_bits_of_scikit_learn(task):
    table = np.concatenate([COUNTS, RANDOM.normal(size=(150, 2)).astype(np.float32)], axis=1)
    new = np.concatenate([NEW, RANDOM.normal(size=(40, 2)).astype(np.float32)], axis=1)
    targets = {"values": VALUES, "labels": LABELS[:, 0], "two": CLASSES > 0, "three": CLASSES}[task]
    learner = Boosting(iterations=20)
    kind = HistGradientBoostingRegressor if task == "values" else HistGradientBoostingClassifier
    machine = boosting_of(learner, kind).fit(table, targets)
    own = learner.fit(
        table, targets * 1, task if task in TARGETS else "classes", weight=None, seed=0
    ).predict(new)
    if task == "values":
        assert_array_equal(own[:, 0], machine.predict(new))
    elif task == "labels":
        assert_array_equal(own[:, 0], machine.predict_proba(new)[:, 1])
    else:
        assert_array_equal(own, machine.predict_proba(new))


def test_boosting_tells_many_bins_apart_where_asked():
    fine = np.linspace(0, 1, 150).astype(np.float32)[:, None]
    wave = np.sin(40 * fine[:, 0])
    few, many = (
        Boosting(iterations=50, bins=bins, penalty=0, max_features=1.0).fit(fine, wave, "values")
        for bins in (4, 255)
    )
    assert error_of(many.predict(fine)[:, 0], "values", wave) < 0.1
    assert error_of(few.predict(fine)[:, 0], "values", wave) > 0.5


# Forest


def test_out_of_bag_predictions_are_those_of_scikit_learn(monkeypatch):
    machines = []
    fit = RandomForestClassifier.fit

    def remember(machine, *given, **named):
        machines.append(machine.set_params(oob_score=True))
        return fit(machine, *given, **named)

    monkeypatch.setattr(RandomForestClassifier, "fit", remember)
    fitted = Forest(trees=60, extra=False).fit(COUNTS, CLASSES, "classes")
    (machine,) = machines
    assert_allclose(fitted.held_out, machine.oob_decision_function_, atol=1e-12)


def test_an_item_that_every_tree_saw_is_held_out_with_the_mean_target():
    fitted = Forest(trees=1, bootstrap=True).fit(COUNTS, VALUES, "values")
    seen = fitted.held_out[:, 0] == VALUES.mean()
    assert 0.4 < seen.mean() < 0.9  # a bootstrap sample holds 63 % of the items
    assert_allclose(fitted.held_out[~seen], fitted.predict(COUNTS)[~seen])


def test_values_of_any_unit_count_alike():
    large, small = (
        Forest(trees=30, max_features=1.0).fit(COUNTS, targets, "values").held_out
        for targets in (
            np.stack([VALUES, factor * COUNTS[:, 4]], axis=1) for factor in (2.0**20, 2.0**-20)
        )
    )
    assert_allclose(large[:, 0], small[:, 0], atol=1e-9)
    assert_allclose(large[:, 1] / 2.0**20, small[:, 1] * 2.0**20, atol=1e-9)


def test_values_known_of_the_same_items_share_their_trees():
    three = np.stack([VALUES, SIGNAL, np.where(COUNTS[:, 5] > 0, np.nan, VALUES)], axis=1)
    fitted = Forest(trees=7).fit(COUNTS, three, "values")
    assert len(fitted.trees) == 14
    assert sorted({tuple(row) for row in fitted.output.tolist()}) == [(0, 1), (2, -1)]


# Sparse


def test_sparse_values_are_those_of_the_elastic_net_of_scikit_learn():
    learner = SparseLinear(l1_ratio=0.7)
    fitted = learner.fit(csr_array(COUNTS), VALUES, "values")
    scale = COUNTS.max(axis=0)
    table = COUNTS / scale
    largest = np.abs(table.T @ (VALUES - VALUES.mean())).max() / 150 / 0.7
    machine = ElasticNet(alpha=fitted.strength[0] * largest, l1_ratio=0.7, tol=1e-8)
    machine.fit(table.astype(float), VALUES)
    assert_allclose(fitted.predict(NEW)[:, 0], machine.predict(NEW / scale), atol=0.01)
    assert len(fitted.column) < 30
    assert {0, 1, 2} <= set(fitted.column.tolist())


def test_sparse_labels_are_those_of_logistic_regression():
    fitted = SparseLinear().fit(csr_array(COUNTS), LABELS[:, 0], "labels")
    scale = COUNTS.max(axis=0)
    table, mean = (COUNTS / scale).astype(float), LABELS[:, 0].mean()
    largest = np.abs(table.T @ (LABELS[:, 0] - mean)).max()
    machine = LogisticRegression(
        C=1 / (fitted.strength[0] * largest),
        l1_ratio=1.0,
        solver="saga",
        tol=1e-7,
        max_iter=10_000,
    ).fit(table, LABELS[:, 0])
    expected = expit(machine.decision_function(NEW / scale))
    assert_allclose(fitted.predict(NEW)[:, 0], expected, atol=0.05)


@pytest.mark.parametrize("scale", ["max", "sd"])
def test_the_unit_of_a_column_does_not_matter(scale):
    units = np.geomspace(1e-3, 1e3, 30)
    first = SparseLinear(scale=scale).fit(COUNTS, VALUES, "values")
    second = SparseLinear(scale=scale).fit(COUNTS * units, VALUES, "values")
    assert_allclose(second.predict(NEW * units), first.predict(NEW), atol=1e-6)


def test_targets_that_are_noise_leave_few_weights():
    noise = np.random.default_rng(3).normal(size=150)
    fitted = SparseLinear(l1_ratio=1.0).fit(COUNTS, noise, "values")
    assert len(fitted.column) < 15


# Columns and folds


@given(
    st.lists(st.lists(st.integers(-1, 2), min_size=5, max_size=5), min_size=1, max_size=8),
    st.integers(0, 5),
    st.integers(0, 3),
)
def test_columns_are_the_most_frequent_of_those_that_vary(rows, most, least):
    table = np.array(rows, dtype=np.float32)
    columns = select_columns(table, most, least)
    assert_array_equal(select_columns(csr_array(table), most, least), columns)
    present = (table != 0).sum(axis=0)
    fit = [c for c in range(5) if present[c] >= least and len(set(table[:, c])) > 1]
    assert set(columns) <= set(fit)
    assert len(columns) == min(most, len(fit))
    left = [present[c] for c in fit if c not in columns]
    assert max(left, default=0) <= min(present[columns], default=9)
    assert_array_equal(columns, np.sort(columns))


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(2, 6), st.integers(0, 2**70)
)
def test_folds_have_equal_sizes_and_equally_many_of_each_class(codes, folds, seed):
    codes = np.array(codes)
    fold = held_out_folds(codes, "classes", seed, folds)
    count = min(folds, len(codes))
    assert np.ptp(np.bincount(fold, minlength=count)) <= 1
    for code in np.unique(codes):
        assert np.ptp(np.bincount(fold[codes == code], minlength=count)) <= 1


def test_folds_of_values_have_low_and_high_ones_alike():
    values = np.random.default_rng(0).exponential(size=100)
    fold = held_out_folds(values, "values", seed=0)
    ranks = np.argsort(np.argsort(values)) // 5
    for number in range(5):
        assert sorted(ranks[fold == number]) == list(range(20))
    assert (held_out_folds(values, "values", seed=1) != fold).any()
