import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import edgnn
from edgnn.errors import GraphError
from edgnn.evaluation import (
    Evaluation,
    EvaluationError,
    Outcome,
    Split,
    evaluate,
    holdout,
    kfold,
    published,
    score,
)
from edgnn.wl import WLVectorizer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + 0.3 * RNG.normal(size=60) > 0).astype(int)
SPLITS = kfold(Y, 5, 3)


class Fleet(BaseEstimator):
    """Answers as if trained on all splits at once: always the class ``always``, or the item's own number as a value."""

    def __init__(self, always=None, max_epochs=3):
        self.always = always
        self.max_epochs = max_epochs

    def predict_splits(self, X, y, splits, *, sample_weight=None, on_epoch=None):
        self.asked = SimpleNamespace(y=y, splits=splits, sample_weight=sample_weight)
        for number in range(1, self.max_epochs + 1):
            if on_epoch is not None and on_epoch(SimpleNamespace(number=number)):
                break
        return [self._answer(X, split) for split in splits]

    def _answer(self, X, split):
        if self.always is None:
            return {"prediction": np.asarray(X)[split.test, 0]}
        size = len(split.test)
        return {
            "prediction": np.full(size, self.always),
            "probability": np.ones((size, 1)),
            "classes": np.array([self.always]),
        }


class FixedClassifier(ClassifierMixin, BaseEstimator):
    """Predicts what is written in its input, and remembers what it was fitted with."""

    seen = ()

    def fit(self, X, y, validation=None, sample_weight=None):
        self.classes_ = np.unique(y)
        FixedClassifier.seen = (*FixedClassifier.seen, (X, y, validation, sample_weight))
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0]


@pytest.fixture(autouse=True)
def _forget():
    FixedClassifier.seen = ()


def by_hand(model, X, y, splits):
    return [
        model.fit(X[split.known], y[split.known]).score(X[split.test], y[split.test])
        for split in splits
    ]


def test_scores_are_those_of_fitting_split_by_split():
    result = evaluate(GaussianNB(), X, Y, SPLITS)
    scores = by_hand(GaussianNB(), X, Y, SPLITS)
    means = np.reshape(scores, (3, 5)).mean(axis=1)
    assert result.scores["accuracy"].tolist() == pytest.approx(scores)
    assert result["accuracy"].repeat_means.tolist() == pytest.approx(means.tolist())
    assert result.mean == pytest.approx(means.mean())
    assert result.spread == pytest.approx(means.std(ddof=1))
    summary = result["accuracy"]
    assert (summary.minimum, summary.maximum) == pytest.approx((means.min(), means.max()))


def test_the_interval_of_repeated_folds_is_corrected():
    result = evaluate(GaussianNB(), X, Y, SPLITS)
    scores = result.scores["accuracy"]
    half = 2.1447866879169273 * math.sqrt(
        (1 / 15 + 12 / 48) * scores.var(ddof=1)
    )  # t of 14 degrees of freedom
    assert result["accuracy"].interval_kind == "corrected-t"
    assert result.interval == pytest.approx((scores.mean() - half, min(1, scores.mean() + half)))


def test_the_spread_of_a_single_repeat_is_that_of_its_folds():
    result = evaluate(GaussianNB(), X, Y, SPLITS[:5])
    scores = result.scores["accuracy"]
    assert result.spread == pytest.approx(scores.std(ddof=1))
    summary = result["accuracy"]
    assert (summary.minimum, summary.maximum) == (scores.min(), scores.max())


def test_the_interval_stays_within_the_bounds_of_the_metric():
    guess = np.c_[Y]
    guess[SPLITS[0].test] = 1 - guess[SPLITS[0].test]
    result = evaluate(FixedClassifier(), guess, Y, SPLITS[:5])
    half = 2.7764451051977987 * math.sqrt(
        (1 / 5 + 12 / 48) * 0.2
    )  # t of 4 degrees of freedom; the scores are 0, 1, 1, 1, 1
    assert result.interval == pytest.approx((max(0, 0.8 - half), 1))


def test_the_majority_is_that_of_the_training_part():
    y = np.array([0] * 20 + [1] * 10)
    splits = [Split([0, 1, 2, 20], [3, 21, 22, 23]), Split([20, 21, 0], [1, 22], [23], fold=1)]
    result = evaluate(
        DummyClassifier(), np.zeros((30, 1)), y, splits, metrics=("accuracy", "roc_auc")
    )
    assert result["accuracy"].majority_scores.tolist() == [0.25, 0.5]
    assert result.majority == pytest.approx(0.375)
    assert result["roc_auc"].majority == 0.5


def test_the_majority_of_real_values_is_their_mean():
    y = np.array([1.0, 3.0, 5.0, 7.0])
    result = evaluate(
        DummyRegressor(strategy="constant", constant=4.0),
        np.zeros((4, 1)),
        y,
        [Split([0, 1], [2, 3])],
    )
    assert result.metrics == ("rmse", "mae", "r2")
    assert result.majority == pytest.approx(math.sqrt((3**2 + 5**2) / 2))
    assert result.mean == pytest.approx(math.sqrt((1**2 + 3**2) / 2))


def test_a_confusion_matrix_counts_all_splits():
    y, guess = np.array(["a", "b", "c", "a", "b", "c"]), np.c_[["a", "b", "b", "b", "b", "c"]]
    splits = [Split([0, 1, 2], [3, 4, 5]), Split([3, 4, 5], [0, 1, 2], fold=1)]
    result = evaluate(FixedClassifier(), guess, y, splits, class_names=["first", "second", "third"])
    assert result.confusion.tolist() == [[1, 1, 0], [0, 2, 0], [0, 1, 1]]
    assert (result.classes, result.class_names) == (("a", "b", "c"), ("first", "second", "third"))


def test_class_names_of_a_whole_data_set_fit_a_part_of_its_classes():
    y = np.array([0, 2, 0, 2])
    result = evaluate(
        DummyClassifier(), np.zeros((4, 1)), y, [Split([0, 1], [2, 3])], class_names=("x", "y", "z")
    )
    assert result.class_names == ("x", "z")


def test_several_seeds_on_one_test_part_are_judged_by_its_size():
    splits = published({"train": np.arange(40), "test": np.arange(40, 60)}, Y, repeats=5)
    result = evaluate(RandomForestClassifier(3), X, Y, splits, metrics=("accuracy", "f1"))
    assert len(set(result.scores["accuracy"].tolist())) > 1
    assert result["accuracy"].interval_kind == "test-set"
    assert result.interval[1] - result.interval[0] > 0.2
    assert result["f1"].interval_kind == "seeds"
    assert evaluate(GaussianNB(), X, Y, splits[:1]).interval[0] > 0.4


def test_the_seed_of_a_split_reaches_the_estimator_and_its_steps():
    model = make_pipeline(RandomForestClassifier(3))
    splits = [Split(range(40), range(40, 60), seed=seed) for seed in (1, 2, 1)]
    result = evaluate(model, X, Y, splits, metrics="roc_auc")
    chances = [outcome.probability[:, 1].tolist() for outcome in result.outcomes]
    assert chances[0] == chances[2] != chances[1]
    assert model[0].random_state is None


def test_validation_is_given_to_an_estimator_that_takes_it_and_trained_on_otherwise():
    splits = [Split(range(5, 40), range(40, 60), range(5))]
    evaluate(FixedClassifier(), np.c_[Y], Y, splits, sample_weight=np.arange(60))
    ((items, y, validation, weight),) = FixedClassifier.seen
    assert np.array_equal(items[:, 0], Y[5:40])
    assert np.array_equal(y, Y[5:40])
    assert np.array_equal(weight, np.arange(5, 40))
    assert np.array_equal(validation[0][:, 0], Y[:5])
    assert np.array_equal(validation[1], Y[:5])
    assert evaluate(GaussianNB(), X, Y, splits).mean == GaussianNB().fit(X[:40], Y[:40]).score(
        X[40:], Y[40:]
    )


def test_an_estimator_never_sees_the_targets_of_its_test_part():
    splits = kfold(Y, 5, 1)
    evaluate(FixedClassifier(), np.c_[np.arange(60) % 2, np.arange(60)], Y, splits)
    for split, (items, y, validation, _) in zip(splits, FixedClassifier.seen, strict=True):
        seen = {*items[:, 1].tolist(), *validation[0][:, 1].tolist()}
        assert seen.isdisjoint(split.test.tolist())
        assert len(y) == len(items)


def test_a_fleet_trains_all_splits_at_once():
    model, told = Fleet(always=1), []
    result = evaluate(model, X, Y, SPLITS, sample_weight=np.ones(60), on_progress=told.append)
    assert len(model.asked.splits) == 15
    assert model.asked.sample_weight.tolist() == [1] * 60
    assert result.mean == pytest.approx(np.mean([Y[split.test].mean() for split in SPLITS]))
    assert [(step.done, step.total, step.unit) for step in told] == [
        (1, 3, "epoch"),
        (2, 3, "epoch"),
        (3, 3, "epoch"),
    ]
    assert result.settings == {
        "estimator": "Fleet",
        "parameters": {"always": 1, "max_epochs": 3},
        "fleet": True,
    }


def test_a_fleet_stops_when_progress_says_so():
    told = []
    evaluate(
        Fleet(always=1), X, Y, SPLITS, on_progress=lambda step: told.append(step) or step.done == 2
    )
    assert len(told) == 2


def test_a_fleet_of_a_kind_that_is_not_told_is_judged_by_the_targets():
    values = X[:, 0] + 1
    assert evaluate(Fleet(), X, values, holdout(values, 0.2), metrics="mae").mean == pytest.approx(
        1
    )


def test_a_class_that_was_not_trained_on_has_probability_zero():
    result = evaluate(Fleet(always=1), X, Y, SPLITS[:1], metrics=("roc_auc", "accuracy"))
    assert result.outcomes[0].probability[0].tolist() == [0, 1]
    y = np.array(["a", "b", "c"] * 4)
    result = evaluate(
        GaussianNB(), X[:12], y, [Split([0, 1, 3, 4], [2, 5, 6])], metrics=("accuracy", "pr_auc")
    )
    assert result.outcomes[0].probability[:, 2].tolist() == [0, 0, 0]


def test_progress_counts_splits():
    told = []
    evaluate(GaussianNB(), X, Y, SPLITS, on_progress=told.append)
    assert [(step.done, step.total, step.unit) for step in told] == [
        (number, 15, "split") for number in range(1, 16)
    ]


def test_graphs_and_nodes_and_lists_of_them_are_items():
    data = edgnn.load_dataset("MUTAG")
    model = make_pipeline(WLVectorizer(2), LogisticRegression(max_iter=1000))
    splits = kfold(data.targets, 3, 1)
    result = evaluate(
        model,
        data.graphs,
        data.targets,
        splits,
        class_names=data.class_names,
        metrics=("accuracy", "roc-auc"),
    )
    assert result.mean > 0.75 > result.majority > 0.6
    assert result.confusion.sum() == 188
    assert evaluate(model, list(data.graphs), data.targets, splits).mean == result.mean
    nodes = data.graphs.nodes[:200]
    carbon = np.array([label == "C" for label in nodes.labels])
    assert evaluate(model, nodes, carbon, kfold(carbon, 3, 1)).mean == 1


def test_sparse_rows_are_items():
    assert evaluate(LogisticRegression(), csr_array(X), Y, SPLITS).mean > 0.8


def test_labels_in_columns_are_evaluated():
    y = np.stack([Y, 1 - Y, X[:, 1] > 0], axis=1).astype(int)
    result = evaluate(
        KNeighborsClassifier(3), X, y, kfold(y, 5, 1), metrics=("roc_auc", "accuracy", "f1")
    )
    assert result.task == "labels"
    assert result.outcomes[0].probability.shape == (12, 3)
    assert result.confusion is None
    assert result["roc_auc"].mean > 0.8
    assert result["roc_auc"].majority == 0.5


def test_several_real_targets_with_gaps_are_evaluated():
    y = np.stack([X[:, 0], 2 * X[:, 1]], axis=1)
    splits = kfold(y, 5, 1)
    exact = evaluate(LinearRegression(), X, y, splits, metrics=("rmse", "r2"))
    assert exact.mean == pytest.approx(0, abs=1e-9)
    assert exact["r2"].mean == pytest.approx(1)
    y[splits[0].test, 1] = np.nan
    fitted = evaluate(LinearRegression(), X, y, splits[:1], metrics="rmse")
    assert fitted.mean == pytest.approx(0, abs=1e-9)
    assert fitted.majority == pytest.approx(
        score("rmse", y[splits[0].test, 0], np.full(12, y[splits[0].known, 0].mean()))
    )


def test_missing_classes_are_neither_trained_on_nor_counted():
    y = np.where(np.arange(60) % 6 == 0, np.nan, Y.astype(float))
    result = evaluate(GaussianNB(), X, y, kfold(y, 5, 1))
    assert result.confusion.sum() == 50
    assert result.classes == (0.0, 1.0)


def test_a_fleet_is_never_shown_a_missing_class():
    y = np.array(["no", "yes"], dtype=object)[Y]
    y[:10] = None
    model = Fleet(always="yes")
    result = evaluate(model, X, y, kfold(y, 5, 1), metrics="accuracy")
    assert None not in model.asked.y.tolist()
    assert model.asked.y[10:].tolist() == y[10:].tolist()
    assert (result.truth[:10] == -1).all()


def test_a_missing_class_that_a_fleet_would_learn_from_stays_missing():
    graphs = edgnn.Graphs.from_edges([(0, 1)], sizes=[2] * 6)
    split = Split(np.arange(4), np.array([5]))
    with pytest.raises(edgnn.errors.EstimatorError, match="item 3 has the class nan"):
        evaluate(
            edgnn.GraphClassifier(max_epochs=1),
            graphs,
            np.array([0, 1, 0, math.nan, 1, 0]),
            [split],
        )


def test_splits_may_come_one_by_one():
    one, two = (evaluate(LogisticRegression(), X, Y, splits) for splits in (SPLITS, iter(SPLITS)))
    assert one.mean == two.mean


def test_undefined_scores_are_left_out_of_the_mean():
    y = np.array([0, 1] * 10)
    splits = [Split(range(10), [10, 12]), Split(range(10), [11, 13, 14], fold=1)]
    result = evaluate(
        GaussianNB(), np.c_[y + 0.1 * RNG.normal(size=20)], y, splits, metrics="roc_auc"
    )
    assert math.isnan(result.scores["roc_auc"][0])
    assert result.mean == 1
    assert math.isnan(result.spread)
    assert result.table()[0]["spread"] == "–"


def test_an_evaluation_survives_json():
    y = np.array(["no", "yes"])[Y]
    result = evaluate(GaussianNB(), X, y, SPLITS, metrics=("accuracy", "roc_auc"))
    text = json.dumps(result.to_dict(), allow_nan=False)
    back = Evaluation.from_dict(json.loads(text))
    assert back.to_dict() == result.to_dict()
    assert back.mean == result.mean
    assert back.confusion.tolist() == result.confusion.tolist()
    assert json.loads(text)["splits"][3]["scores"]["accuracy"] == result.scores["accuracy"][3]
    with pytest.raises(EvaluationError, match="format 99"):
        Evaluation.from_dict(json.loads(text) | {"format": 99})


def test_an_evaluation_of_values_with_gaps_survives_json():
    y = np.stack([X[:, 0], X[:, 1]], axis=1)
    splits = kfold(y, 5, 1, validation=None)
    y[splits[0].test] = np.nan
    result = evaluate(LinearRegression(), X, y, splits[:1], metrics=("rmse", "r2"))
    back = Evaluation.from_dict(json.loads(json.dumps(result.to_dict(), allow_nan=False)))
    assert math.isnan(back.mean)
    assert back.to_dict() == result.to_dict()


def test_parameters_of_any_kind_and_endless_predictions_survive_json():
    y = np.arange(6.0)
    model = DummyRegressor(strategy="constant", constant=np.float64(1.0))
    result = evaluate(model, np.zeros((6, 1)), y, [Split([0, 1, 2], [3, 4])])
    assert result.to_dict()["settings"]["parameters"]["constant"] == 1.0
    endless = evaluate(Fleet(), np.c_[[np.inf] * 6], y, [Split([0, 1, 2], [3, 4])])
    back = Evaluation.from_dict(json.loads(json.dumps(endless.to_dict(), allow_nan=False)))
    assert back.outcomes[0].prediction.tolist() == [np.inf, np.inf]
    kept = evaluate(DummyClassifier(random_state=np.random.RandomState(0)), X, Y, SPLITS).to_dict()[
        "settings"
    ]["parameters"]
    assert kept["random_state"] == "RandomState(MT19937)"


def test_models_are_compared_on_the_same_splits():
    good, poor = evaluate(GaussianNB(), X, Y, SPLITS), evaluate(DummyClassifier(), X, Y, SPLITS)
    found = good.paired(poor)
    differences = good.scores["accuracy"] - poor.scores["accuracy"]
    error = math.sqrt((1 / 15 + 12 / 48) * differences.var(ddof=1))
    assert found.difference == pytest.approx(differences.mean())
    assert found.interval[0] == pytest.approx(differences.mean() - 2.1447866879169273 * error)
    assert found.p_value < 0.01
    assert poor.paired(good).difference == pytest.approx(-found.difference)
    assert good.paired(good).p_value == 1
    assert good.paired(evaluate(GaussianNB(), X, Y, list(SPLITS))).splits == 15


def test_models_are_compared_by_the_items_of_a_test_part_that_all_splits_share():
    X = np.c_[np.arange(60) % 2]
    splits = published({"train": np.arange(24), "test": np.arange(24, 60)}, X[:, 0], repeats=5)
    splits[1] = replace(splits[1], test=splits[1].test[::-1])
    worse = X.copy()
    worse[30] = 1 - worse[30]
    one, two = (
        evaluate(FixedClassifier(), items, X[:, 0], splits, metrics=("accuracy", "f1"))
        for items in (X, worse)
    )
    found = one.paired(two)
    assert (found.kind, found.difference) == ("test-set", pytest.approx(1 / 36))
    assert found.p_value == pytest.approx(0.324, abs=1e-3)
    assert found.interval[0] < 0 < found.interval[1]
    other = one.paired(two, "f1")
    assert other.kind == "seeds"
    assert math.isnan(other.p_value)


def test_evaluations_of_other_splits_or_targets_are_not_compared():
    one = evaluate(GaussianNB(), X, Y, SPLITS)
    for other in (
        evaluate(GaussianNB(), X, Y, kfold(Y, 5, 3, seed=1)),
        evaluate(GaussianNB(), X, Y, SPLITS[:5]),
        evaluate(GaussianNB(), X, 1 - Y, SPLITS),
    ):
        with pytest.raises(EvaluationError, match="different targets or splits"):
            one.paired(other)
    with pytest.raises(EvaluationError, match="f1 was not evaluated, only accuracy"):
        one.paired(one, "f1")


def test_tables_show_percent_for_accuracies():
    y = np.array([0] * 8 + [1] * 4)
    result = evaluate(
        DummyClassifier(), np.zeros((12, 1)), y, kfold(y, 4, 2), metrics=("accuracy", "roc_auc")
    )
    assert result.table() == [
        {
            "metric": "accuracy (%)",
            "mean": "66.7",
            "spread": "0.0",
            "95 % interval": "66.7 to 66.7",
            "minimum": "66.7",
            "maximum": "66.7",
            "majority": "66.7",
        },
        {
            "metric": "roc auc",
            "mean": "0.5",
            "spread": "0",
            "95 % interval": "0.5 to 0.5",
            "minimum": "0.5",
            "maximum": "0.5",
            "majority": "0.5",
        },
    ]
    assert (
        repr(result)
        == "Evaluation(accuracy (%) 66.7 ± 0.0, roc auc 0.5 ± 0; 8 splits in 2 repeats)"
    )


def test_tables_say_which_of_two_classes_a_metric_is_of():
    y = np.array([0] * 8 + [1] * 4)
    metrics, names = ("f1", "pr_auc", "roc_auc", "accuracy"), ("off", "on")
    result = evaluate(
        DummyClassifier(), np.zeros((12, 1)), y, kfold(y, 4), metrics=metrics, class_names=names
    )
    assert [row["metric"] for row in result.table()] == [
        "f1 (on)",
        "pr auc (on)",
        "roc auc",
        "accuracy (%)",
    ]
    three = np.arange(12) % 3
    result = evaluate(DummyClassifier(), np.zeros((12, 1)), three, kfold(three, 4), metrics="f1")
    assert result.table()[0]["metric"] == "f1"


class Refusing(FixedClassifier):
    def fit(self, X, y):
        raise GraphError("no")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: evaluate(SVC(), X, Y, SPLITS, metrics="roc_auc"),
            "roc_auc needs probabilities, which SVC does not predict",
        ),
        (
            lambda: evaluate(GaussianNB(), X, Y, SPLITS, metrics="rmse"),
            "rmse is a metric for values, but the targets are classes",
        ),
        (lambda: evaluate(GaussianNB(), X, Y, SPLITS, metrics=()), "no metric was named"),
        (lambda: evaluate(GaussianNB(), X, Y, []), "no splits were given"),
        (lambda: evaluate(GaussianNB(), X[:5], Y, SPLITS), "60 targets were given for 5 items"),
        (lambda: evaluate(GaussianNB(), X, Y, SPLITS, sample_weight=[1, 2]), "one number per item"),
        (
            lambda: evaluate(KNeighborsClassifier(), X, Y, SPLITS, sample_weight=[1] * 60),
            "fit takes no sample_weight",
        ),
        (
            lambda: evaluate(GaussianNB(), X, Y, SPLITS, class_names=["a"]),
            "1 class names were given for 2 classes: 0, 1",
        ),
        (
            lambda: evaluate(object(), X, Y, SPLITS),
            "object has no get_params; give a scikit-learn estimator",
        ),
        (
            lambda: evaluate(LinearRegression(), X, np.array(["a"] * 60), SPLITS),
            "a regressor needs numbers as targets",
        ),
        (
            lambda: evaluate(GaussianNB(), X, np.full((60, 2), 3), SPLITS),
            "item 0 has 3 in column 0",
        ),
        (
            lambda: evaluate(SVC(), X, Y * 0, kfold(Y * 0, 5, 1)),
            "repeat 0, fold 0: SVC failed: The number of classes",
        ),
        (
            lambda: evaluate(Fleet(always=7), X, Y, SPLITS),
            "repeat 0, fold 0: prediction 0 has the class 7",
        ),
    ],
)
def test_what_cannot_be_evaluated_is_explained(call, message):
    with pytest.raises(EvaluationError, match=message):
        call()


def test_a_fleet_without_probabilities_is_refused_where_they_are_needed():
    with pytest.raises(
        EvaluationError, match="roc_auc needs probabilities, which Fleet does not predict"
    ):
        evaluate(Fleet(), np.c_[Y], Y, SPLITS, metrics="roc_auc")


def test_our_own_errors_pass_with_the_split_they_came_from():
    with pytest.raises(GraphError) as caught:
        evaluate(Refusing(), X, Y, SPLITS)
    assert caught.value.__notes__ == ["in repeat 0, fold 0"]


def test_the_pairs_of_scikit_learns_splitters_are_splits():
    from sklearn.model_selection import StratifiedKFold

    pairs = list(StratifiedKFold(3).split(X, Y))
    result = evaluate(DummyClassifier(), X, Y, pairs)
    assert [split.test.tolist() for split in result.splits] == [test.tolist() for _, test in pairs]
    for wrong, message in (
        (5, "splits=5 is no list of splits"),
        (["a"], "split 0 is a str; make some with kfold"),
    ):
        with pytest.raises(EvaluationError, match=message):
            evaluate(DummyClassifier(), X, Y, wrong)
    with pytest.raises(EvaluationError, match="compared with another one, not with a str"):
        result.paired("x")


class Telling(Fleet):
    def _answer(self, X, split):
        told = {
            "best_epoch": [2, 3],
            "valid_loss": [0.5, 0.25],
            "training_accuracy": 0.5 + 0.1 * split.fold,
        }
        return super()._answer(X, split) | told


def test_what_a_fleet_tells_of_its_training_is_kept():
    result = evaluate(Telling(always=1), X, Y, SPLITS[:5])
    assert result.training_accuracy == pytest.approx(0.7)
    assert result.outcomes[0].chosen == {"best_epoch": [2, 3], "valid_loss": [0.5, 0.25]}
    written = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    back = Evaluation.from_dict(written)
    assert [outcome.training_accuracy for outcome in back.outcomes] == pytest.approx(
        [0.5, 0.6, 0.7, 0.8, 0.9]
    )
    for row in written["splits"]:
        del row["training_accuracy"]
    assert Evaluation.from_dict(written).training_accuracy is None


def test_accuracy_on_the_training_part_is_unknown_unless_every_split_tells_it():
    known = evaluate(Telling(always=1), X, Y, SPLITS[:5])
    unknown = evaluate(GaussianNB(), X, Y, SPLITS[5:10], metrics="accuracy")
    assert unknown.training_accuracy is None
    assert Evaluation.joined([known, unknown]).training_accuracy is None


def test_runs_that_are_joined_are_what_one_evaluation_gives():
    whole = evaluate(GaussianNB(), X, Y, SPLITS, metrics=("accuracy", "roc_auc"))
    runs = [
        evaluate(
            GaussianNB(),
            X,
            Y,
            [split for split in SPLITS if split.repeat == repeat],
            metrics=whole.metrics,
        )
        for repeat in range(3)
    ]
    assert Evaluation.joined(runs).to_dict() == whole.to_dict()
    assert Evaluation.joined([whole]).to_dict() == whole.to_dict()


def test_only_evaluations_of_the_same_targets_are_joined():
    one = evaluate(GaussianNB(), X, Y, SPLITS[:5])
    other = Y.copy()
    other[:2] = 1 - other[:2]
    with pytest.raises(EvaluationError, match="evaluation 1 has other targets"):
        Evaluation.joined([one, evaluate(GaussianNB(), X, other, SPLITS[:5])])
    with pytest.raises(
        EvaluationError,
        match=r"evaluation 1 has the metrics \('roc_auc',\), the first one \('accuracy', 'roc_auc'\)",
    ):
        Evaluation.joined([one, evaluate(GaussianNB(), X, Y, SPLITS[:5], metrics="roc_auc")])
    with pytest.raises(EvaluationError, match="no evaluation was given"):
        Evaluation.joined([])


def test_each_of_several_targets_has_an_evaluation_of_its_own():
    random = np.random.default_rng(0)
    truth, chances = random.integers(0, 2, (12, 2)), random.random((12, 2))
    splits = (Split(np.arange(6, 12), np.arange(6)), Split(np.arange(6), np.arange(6, 12)))
    outcomes = tuple(
        Outcome((chances[split.test] > 0.5).astype(int), chances[split.test]) for split in splits
    )
    both = Evaluation("labels", ("roc_auc", "accuracy"), splits, truth.astype(float), outcomes)
    first, second = both.by_target
    for column, one in enumerate((first, second)):
        expected = [
            roc_auc_score(truth[split.test, column], chances[split.test, column])
            for split in splits
        ]
        assert one.scores["roc_auc"] == pytest.approx(expected)
    assert both["accuracy"].mean == pytest.approx(
        (first["accuracy"].mean + second["accuracy"].mean) / 2
    )
    assert first.by_target == ()


def test_metrics_may_be_scorers_and_functions():
    def half_right(y_true, y_pred):
        return float(np.mean(y_true == y_pred)) / 2

    X, y = np.arange(40.0)[:, None], np.array(["a", "b"] * 20)
    metrics = ["accuracy", "matthews_corrcoef", half_right]
    evaluation = evaluate(KNeighborsClassifier(), X, y, kfold(y, 4, 2), metrics=metrics)
    assert evaluation.metrics == ("accuracy", "matthews_corrcoef", "half_right")
    assert evaluation["half_right"].mean == pytest.approx(evaluation.mean / 2)
    assert evaluation["half_right"].majority == pytest.approx(evaluation.majority / 2)
    assert evaluation.paired(evaluation, "half_right").difference == 0
    assert evaluation.title("matthews_corrcoef") == "matthews corrcoef"
    named = evaluate(KNeighborsClassifier(), X, y, kfold(y, 4, 2), metrics=metrics[:2])
    again = Evaluation.from_dict(json.loads(json.dumps(named.to_dict())))
    assert again["matthews_corrcoef"].mean == named["matthews_corrcoef"].mean


def test_splitters_of_scikit_learn_are_taken_as_they_are():
    X, y = np.arange(30.0)[:, None], np.array([0, 1, 1] * 10)
    splitter = StratifiedKFold(5, shuffle=True, random_state=0)
    whole = evaluate(KNeighborsClassifier(), X, y, splitter)
    pairs = evaluate(KNeighborsClassifier(), X, y, list(splitter.split(X, y)))
    assert len(whole.splits) == 5
    assert whole.scores["accuracy"].tolist() == pairs.scores["accuracy"].tolist()


@pytest.mark.usefixtures("quick_workers")
def test_splits_in_several_processes_give_the_same_and_name_the_split_that_failed():
    X, y = np.arange(30.0)[:, None], np.array([0, 1, 1] * 10)
    splits, done = kfold(y, 3, 1), []
    alone = evaluate(RandomForestClassifier(5), X, y, splits)
    both = evaluate(
        RandomForestClassifier(5), X, y, splits, n_jobs=2, on_progress=lambda now: done.append(now)
    )
    for one, two in zip(alone.outcomes, both.outcomes, strict=True):
        assert np.array_equal(one.probability, two.probability)
    assert [(now.done, now.total, now.unit) for now in done] == [(n, 3, "split") for n in (1, 2, 3)]
    with pytest.raises(EvaluationError, match=r"repeat 0, fold [01]: KNeighborsClassifier failed"):
        evaluate(KNeighborsClassifier(0), X, y, splits, n_jobs=2)


@pytest.mark.parametrize(
    ("y", "estimator", "metrics"),
    [
        (np.arange(40) % 2, GaussianNB(), ("accuracy", "roc_auc")),
        (np.arange(40) % 3, GaussianNB(), ("accuracy",)),
        (np.arange(40) % 2, SVC(), ("accuracy",)),
        (np.arange(40) // 33, GaussianNB(), ("accuracy", "balanced_accuracy", "roc_auc")),
        (np.arange(40.0), DummyRegressor(), ("rmse", "mae", "r2")),
        (np.tile([[0, 1], [1, 0]], (20, 1)), KNeighborsClassifier(), ("roc_auc", "accuracy")),
    ],
)
def test_targets_have_the_metrics_they_deserve(y, estimator, metrics):
    items = np.arange(40.0)[:, None]
    found = evaluate(estimator, items, y, kfold(np.arange(40) % 2, 4, 1))
    assert found.metrics == metrics
    assert tuple(found.to_dict()["metrics"]) == metrics
    chosen = evaluate(estimator, items, y, kfold(np.arange(40) % 2, 4, 1), metrics=metrics[-1])
    assert chosen.metrics == metrics[-1:]


def test_subsets_are_scored_by_themselves_and_stored():
    y = np.arange(12.0)
    splits = kfold(y, 3, 1, validation=None, stratify=False)
    subsets = {"ends": [0, 11], "nothing": []}
    found = evaluate(DummyRegressor(), y[:, None], y, splits, subsets=subsets)
    assert list(found.by_subset) == ["ends"]
    ends = found.by_subset["ends"]
    squares = []
    for split in splits:
        of_split = [item for item in split.test.tolist() if item in (0, 11)]
        if of_split:
            errors = y[of_split] - y[split.train].mean()
            squares.append(np.sqrt((errors**2).mean()))
    assert ends["rmse"].scores.tolist() == pytest.approx(squares)
    again = Evaluation.from_dict(found.to_dict())
    assert again.by_subset["ends"]["rmse"].mean == ends["rmse"].mean
    with pytest.raises(
        EvaluationError, match="subset 'far' must be a list of positions from 0 to 11"
    ):
        evaluate(DummyRegressor(), y[:, None], y, splits, subsets={"far": [12]})


def test_probabilities_of_a_subset_are_those_of_its_items():
    y = np.array([0, 1] * 10)
    splits = published({"train": range(10), "test": range(10, 20)}, repeats=1, validation=None)
    found = evaluate(DummyClassifier(), y[:, None], y, splits, subsets={"two": [10, 13]})
    (outcome,) = found.by_subset["two"].outcomes
    assert outcome.probability.shape == (2, 2)
