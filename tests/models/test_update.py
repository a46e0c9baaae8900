"""update and forget: the model equals one that is fitted anew, number by number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import edgnn
from edgnn import AutoClassifier, AutoRegressor
from edgnn.errors import EstimatorError
from edgnn.models import load_model

TEXTS = [
    *("C", "CC", "CCC", "CCO", "CCN", "CC=O", "CCCC", "CO", "CN", "CCCO", "CCCN", "CCOC"),
    *("C=C", "C#N", "CC#N", "OCCO", "NCCN", "CCCl", "CBr", "CC(C)C", "CC(=O)O", "c1ccccc1"),
]
SIZES = np.array([len(text) for text in TEXTS], dtype=float)
NEW = ["CCCCO", "c1ccccc1Cl", "CC(N)=O"]


@pytest.fixture(scope="module")
def molecules():
    return edgnn.from_smiles(TEXTS)


def same(model, other):
    for part in ("held_out_", "classes_"):
        if hasattr(other, part):
            assert_array_equal(getattr(model, part), getattr(other, part))
    assert_array_equal(model.predict(NEW), other.predict(NEW))
    facts, tensors = model.get_state()
    others, other_tensors = other.get_state()
    times = ("tried",)
    assert {k: v for k, v in facts.items() if k not in times} == {
        k: v for k, v in others.items() if k not in times
    }
    assert tensors.keys() == other_tensors.keys()
    for name, values in tensors.items():
        assert_array_equal(values.numpy(), other_tensors[name].numpy(), err_msg=name)
    assert model.seen.nodes.tolist() == other.seen.nodes.tolist()
    assert list(model.coder.node_vocabulary) == list(other.coder.node_vocabulary)


def regressor(**options):
    options = {"learners": "ridge", "descriptors": "none", "random_state": 3} | options
    return AutoRegressor(**options)


@given(
    cut=st.integers(2, len(TEXTS) - 1),
    missing=st.sets(st.integers(1, len(TEXTS) - 1), max_size=4),
    weighted=st.sampled_from(["neither", "old", "new", "both"]),
    stored=st.booleans(),
)
@settings(max_examples=12, deadline=None)
def test_update_is_refit(molecules, tmp_path_factory, cut, missing, weighted, stored):
    y = SIZES.copy()
    y[list(missing - {cut})] = np.nan
    weight = np.ones(len(TEXTS))
    weights = [None, None]
    if weighted in ("old", "both"):
        weight[:cut] = np.linspace(1, 2, cut)
        weights[0] = weight[:cut]
    if weighted in ("new", "both"):
        weight[cut:] = np.linspace(0.5, 3, len(TEXTS) - cut)
        weights[1] = weight[cut:]
    model = regressor().fit(molecules[:cut], y[:cut], weights[0])
    if stored:
        folder = tmp_path_factory.mktemp("runs") / "run"
        model.save(folder)
        model = load_model(folder)
    model.update(molecules[cut:], y[cut:], weights[1])
    everything = None if weighted == "neither" else weight
    same(model, regressor().fit(molecules, y, everything))


@given(gone=st.sets(st.integers(0, len(TEXTS) - 1), min_size=1, max_size=len(TEXTS) - 3))
@settings(max_examples=8, deadline=None)
def test_forget_is_refit(molecules, gone):
    left = np.setdiff1d(np.arange(len(TEXTS)), list(gone))
    expected = regressor().fit(molecules[left], SIZES[left])
    same(regressor().fit(molecules, SIZES).forget(sorted(gone)), expected)
    names = [TEXTS[place] for place in gone]
    same(regressor().fit(molecules, SIZES).forget(names), expected)


def test_update_may_bring_new_classes_and_learners_with_seeds(tmp_path):
    options = {"learners": ("ridge", "sparse", "forest"), "descriptors": "none", "random_state": 1}
    classes = np.array(["short" if size < 4 else "long" for size in SIZES], dtype="U20")
    classes[-2:] = "ring or acid"
    model = AutoClassifier(class_weight="balanced", **options).fit(TEXTS[:-2], classes[:-2])
    model.save(tmp_path / "run")
    model = load_model(tmp_path / "run").update(TEXTS[-2:], classes[-2:])
    assert model.classes_.tolist() == ["long", "ring or acid", "short"]
    same(model, AutoClassifier(class_weight="balanced", **options).fit(TEXTS, classes))


def test_several_numbers_and_labels_update():
    y = np.stack([SIZES, -SIZES], 1)
    model = regressor().fit(TEXTS[:15], y[:15]).update(TEXTS[15:], y[15:])
    same(model, regressor().fit(TEXTS, y))
    labels = (y > 3).astype(float)
    labels[3, 1] = np.nan
    options = {"learners": "ridge", "descriptors": "none", "random_state": 0}
    model = AutoClassifier(**options).fit(TEXTS[:15], labels[:15]).update(TEXTS[15:], labels[15:])
    same(model, AutoClassifier(**options).fit(TEXTS, labels))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda model: model.update(["C"], ["many"]), "real numbers"),
        (lambda model: model.update(["C"], [[1, 2]]), "the new items have the shape"),
        (lambda model: model.update(["C", "N"], [1]), "1 targets for 2"),
        (
            lambda model: model.update(edgnn.from_smiles(["C"], attributes=False), [1]),
            "node attribute names",
        ),
        (lambda model: model.forget(99), "numbered from 0 to 21"),
        (lambda model: model.forget("water"), "named 'water'"),
        (lambda model: model.forget(range(22)), "no item would be left"),
        (lambda model: model.forget([True, False]), "mask has 2"),
    ],
)
def test_a_mistake_leaves_the_model_as_it_was(change, text):
    model = regressor().fit(TEXTS, SIZES)
    before = model.predict(NEW)
    with pytest.raises(EstimatorError, match=text):
        change(model)
    assert_array_equal(model.predict(NEW), before)
    assert len(model.held_out_) == len(TEXTS)


def test_a_model_without_its_items_cannot_be_updated(tmp_path, monkeypatch):
    monkeypatch.setattr("edgnn.models.counts._auto.MOST_KEPT", 5)
    regressor().fit(TEXTS, SIZES).save(tmp_path / "run")
    model = load_model(tmp_path / "run")
    with pytest.raises(EstimatorError, match="no longer has its training items"):
        model.update(["C"], [1])
    with pytest.raises(EstimatorError, match="not fitted"):
        regressor().update(["C"], [1])
