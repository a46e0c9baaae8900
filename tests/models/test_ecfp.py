"""The rival on circular fingerprints: what its table holds, and its life cycle."""

from __future__ import annotations

import numpy as np
import pytest

import edgnn
from edgnn.errors import EstimatorError
from edgnn.models import ECFPClassifier, ECFPRegressor, load_model, make_model

pytest.importorskip("rdkit")

from varied_molecules import VARIED

#: Organic molecules whose number of nitrogen atoms and whose size decide the targets.
SMILES = [text for text in VARIED if text.isascii() and 6 <= len(text) <= 40][:160]
GRAPHS = edgnn.from_smiles(SMILES)
NITROGEN = np.array([graph.node_labels.count("N") for graph in GRAPHS])
SIZE = GRAPHS.sizes.numpy()
TRAIN, TEST = np.arange(0, 160, 2), np.arange(1, 160, 2)


@pytest.mark.parametrize("learner", ["forest", "boosting"])
def test_what_fingerprints_see_is_learned(learner):
    classifier = ECFPClassifier(learner, bits=256, random_state=0)
    classifier.fit(GRAPHS[TRAIN], NITROGEN[TRAIN] > 0)
    assert classifier.score(GRAPHS[TEST], NITROGEN[TEST] > 0) > 0.85
    regressor = ECFPRegressor(learner, bits=256, random_state=0).fit(GRAPHS[TRAIN], SIZE[TRAIN])
    assert regressor.score(GRAPHS[TEST], SIZE[TEST]) > 0.8


def test_several_labels_with_missing_ones_are_learned():
    labels = np.stack([NITROGEN > 0, np.median(SIZE) < SIZE], axis=1).astype(float)
    known = labels[TRAIN].copy()
    known[::5, 1] = np.nan
    model = ECFPClassifier(random_state=0).fit(GRAPHS[TRAIN], known)
    assert model.predict_proba(GRAPHS[TEST]).shape == (80, 2)
    assert (model.predict(GRAPHS[TEST]) == labels[TEST]).mean() > 0.85


def test_charges_are_seen():
    acids = [f"{'C' * size}C(=O){end}" for size in range(1, 21) for end in ("O", "[O-]")]
    charged = [text.endswith("[O-]") for text in acids]
    model = ECFPClassifier(random_state=0).fit(
        acids[::2] + acids[1::4], charged[::2] + charged[1::4]
    )
    assert model.score(acids[3::4], charged[3::4]) == 1


def test_descriptors_and_features_of_graphs_count():
    # all fingerprints fall into one column, so what tells molecules apart are the others
    hidden = np.random.default_rng(0).normal(size=160)
    graphs = GRAPHS.with_graph_features(hidden[:, None], ("hidden",))
    model = ECFPRegressor(bits=1, radius=0, random_state=0).fit(graphs[TRAIN], SIZE[TRAIN])
    assert model.score(graphs[TEST], SIZE[TEST]) > 0.8
    model = ECFPRegressor("boosting", random_state=0).fit(graphs[TRAIN], hidden[TRAIN])
    assert model.score(graphs[TEST], hidden[TEST]) > 0.6
    with pytest.raises(EstimatorError, match="give the same features"):
        model.predict(GRAPHS[TEST])


def test_intervals_hold_the_values_that_were_held_out():
    model = ECFPRegressor(random_state=0).fit(GRAPHS[TRAIN], SIZE[TRAIN])
    low, high = model.predict_interval(GRAPHS[TEST], coverage=0.9).T
    inside = (low <= SIZE[TEST]) & (SIZE[TEST] <= high)
    assert inside.mean() > 0.8
    narrow = np.diff(model.predict_interval(GRAPHS[TEST], coverage=0.5))
    assert (narrow[:, 0] < high - low).all()


def test_weights_of_classes_and_items_are_used():
    y = np.arange(80) % 4 == 0  # nothing to learn but the frequency
    plain = ECFPClassifier(random_state=0).fit(GRAPHS[TRAIN], y)
    balanced = ECFPClassifier(class_weight="balanced", random_state=0).fit(GRAPHS[TRAIN], y)
    weighted = ECFPClassifier(random_state=0).fit(GRAPHS[TRAIN], y, np.where(y, 3.0, 1.0))
    means = [
        model.predict_proba(GRAPHS[TEST])[:, 1].mean() for model in (plain, balanced, weighted)
    ]
    assert means[1] > means[0] + 0.1
    assert means[2] == pytest.approx(means[1], abs=0.02)


@pytest.mark.parametrize("task", ["classes", "labels", "values"])
def test_a_model_comes_back_exactly(tmp_path, task):
    numbers = np.stack([NITROGEN, SIZE], axis=1).astype(float)
    targets = {"classes": NITROGEN > 0, "labels": (numbers > 6).astype(float), "values": numbers}
    model = make_model("ecfp", task=task, bits=128, random_state=3)
    model.fit(GRAPHS[TRAIN], targets[task][TRAIN]).save(tmp_path / "run")
    loaded = load_model(tmp_path / "run")
    assert repr(loaded) == repr(model)
    assert np.array_equal(loaded.predict(GRAPHS[TEST]), model.predict(GRAPHS[TEST]))
    assert np.array_equal(loaded.held_out_, model.held_out_)
    if task == "values":
        interval = model.predict_interval(GRAPHS[TEST])
        assert np.array_equal(loaded.predict_interval(GRAPHS[TEST]), interval)
    if task == "classes":
        assert np.array_equal(loaded.predict_set(GRAPHS[TEST]), model.predict_set(GRAPHS[TEST]))
    again = make_model("ecfp", task=task, bits=128, random_state=3)
    again.fit(GRAPHS[TRAIN], targets[task][TRAIN])
    assert np.array_equal(again.predict(GRAPHS[TEST]), model.predict(GRAPHS[TEST]))


def test_a_new_element_needs_no_label_of_its_own():
    model = ECFPRegressor(random_state=0).fit(["C" * size for size in range(1, 9)], range(8))
    assert np.isfinite(model.predict(["CCBr", "[Se]CC", "CC[Si](C)(C)C"])).all()


def test_graphs_that_are_no_molecules_are_one_clear_error():
    plain = edgnn.Graphs.from_edges([(0, 1), (1, 2)])
    bare = edgnn.from_smiles(SMILES[:4], attributes=False)
    for graphs in (edgnn.Graphs.concat([plain] * 4), bare):
        with pytest.raises(
            EstimatorError, match=r"ecfp is for molecules \(the graphs hold no molecules"
        ) as raised:
            ECFPClassifier().fit(graphs, [0, 1, 0, 1])
        assert "\n" not in str(raised.value)
    model = ECFPRegressor().fit(GRAPHS[:8], SIZE[:8])
    with pytest.raises(EstimatorError, match="ecfp is for molecules"):
        model.predict(bare)


def test_parameters_are_checked():
    for parameters, message in (
        ({"learner": "svm"}, "learner"),
        ({"radius": -1}, "radius"),
        ({"bits": 0}, "bits"),
    ):
        with pytest.raises(EstimatorError, match=message):
            ECFPRegressor(**parameters).fit(GRAPHS[:8], SIZE[:8])
