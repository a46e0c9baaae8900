import numpy as np
import pytest
from sklearn.base import clone

import edgnn
from edgnn.errors import EstimatorError
from edgnn.evaluation import evaluate, kfold
from edgnn.models import MajorityClassifier, make_model
from edgnn.registry import MODELS
from mutag import load_alike

pytestmark = pytest.mark.filterwarnings("ignore::edgnn.models.UnknownLabelWarning")

QUICK = {"max_epochs": 3, "hidden": 8}
PARAMETERS = {"rgcn": QUICK, "gin": QUICK, "rdf2vec": {"walks": 5, "dimensions": 8, "epochs": 2}}
#: Tested elsewhere: networks of ours, closed forms, and what learns from tables of counts.
OTHERS = {"edgnn", "gnn", "joint", "ridge-network", "blend", "ecfp"}
OTHERS |= {"auto", "ridge", "forest", "boosting", "sparse"}
EVERY = [
    (name, level) for name, entry in MODELS.items() for level in entry.levels if name not in OTHERS
]


@pytest.fixture(scope="module")
def items():
    graphs, classes = load_alike(36)
    rng = np.random.default_rng(0)
    source, target = rng.integers(40, size=(2, 160))
    one = edgnn.Graphs.from_edges(
        np.stack([source, target], 1), edge_labels=rng.integers(3, size=160).tolist()
    )
    return {
        "graph": (graphs, np.array(["no", "yes"])[classes]),
        "node": (one.nodes[np.arange(36)], np.array(["a", "b", "c"])[np.arange(36) % 3]),
    }


def of(name, level):
    estimator = make_model(name, level=level, **PARAMETERS.get(name, {}))
    return (
        estimator.set_params(random_state=0)
        if "random_state" in estimator.get_params()
        else estimator
    )


@pytest.mark.parametrize(("name", "level"), EVERY)
def test_labels_of_the_test_part_change_nothing(items, name, level):
    X, y = items[level]
    for split in kfold(y, 3, 1, seed=0, validation=0.2)[:2]:
        outcome = evaluate(of(name, level), X, y, [split]).outcomes[0]
        changed = y.copy()
        changed[split.test] = np.roll(np.unique(y), 1)[np.searchsorted(np.unique(y), y[split.test])]
        assert (changed[split.test] != y[split.test]).all()
        again = evaluate(of(name, level), X, changed, [split]).outcomes[0]
        assert again.prediction.tolist() == outcome.prediction.tolist()
        assert again.chosen == outcome.chosen
        assert outcome.probability is None or (again.probability == outcome.probability).all()


@pytest.mark.parametrize(("name", "level"), EVERY)
def test_a_rival_is_a_scikit_learn_classifier(items, name, level):
    X, y = items[level]
    first = of(name, level)
    known, new = np.arange(24), np.arange(24, 36)
    fitted = clone(first).fit(X[known], y[known])
    assert not hasattr(first, "classes_")
    assert fitted.classes_.tolist() == np.unique(y).tolist()
    assert set(fitted.predict(X[new]).tolist()) <= set(y.tolist())
    assert 0 <= fitted.score(X[new], y[new]) <= 1
    assert (
        clone(first).fit(X[known], y[known]).predict(X[new]).tolist()
        == fitted.predict(X[new]).tolist()
    )
    with pytest.raises(EstimatorError, match="not fitted yet"):
        first.predict(X[new])
    with pytest.raises(EstimatorError, match="y has 23 targets for 24"):
        clone(first).fit(X[known], y[known][1:])


@pytest.mark.parametrize(("name", "level"), [pair for pair in EVERY if pair[0] != "majority"])
def test_all_splits_at_once_give_what_single_fits_give(items, name, level):
    X, y = items[level]
    splits = kfold(y, 3, 1, seed=4, validation=None)
    estimator = of(name, level)
    if name == "gin" and level == "node":
        estimator.set_params(degree_labels=None)
    if "validation" in estimator.get_params():
        estimator.set_params(validation=None)
    together = estimator.predict_splits(X, y, splits)
    for split, answer in zip(splits, together, strict=True):
        alone = (
            clone(estimator)
            .set_params(random_state=split.seed)
            .fit(X[np.sort(split.train)], y[np.sort(split.train)])
        )
        assert alone.predict(X[split.test]).tolist() == answer["prediction"].tolist()
        assert alone.score(X[split.train], y[split.train]) == pytest.approx(
            answer["training_accuracy"]
        )


def test_the_majority_knows_its_share(items):
    X, _ = items["graph"]
    fitted = MajorityClassifier().fit(X, np.arange(36) % 3 == 0)
    assert fitted.predict(X[:2]).tolist() == [False, False]
    assert np.allclose(fitted.predict_proba(X[:2]), [[2 / 3, 1 / 3]] * 2)
