from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.svm import SVC

import edgnn
from edgnn.errors import EstimatorError
from edgnn.evaluation import Split
from edgnn.models import KernelClassifier, SubgraphMatchingClassifier, SVMSolver


class SizeClassifier(KernelClassifier):
    levels = ("graph",)

    def __init__(self, random_state=None, n_jobs=None):
        self.random_state, self.n_jobs = random_state, n_jobs

    def _represent(self, items, reference=None):
        return items.sizes.numpy().astype(float)

    def _kernels(self, rows, columns):
        return {
            "constant": np.ones((len(rows), len(columns))),
            "size": np.exp(-((rows[:, None] - columns) ** 2)),
        }

    def _solver(self):
        return SVMSolver(folds=3)


def sized(*sizes):
    return edgnn.Graphs.concat(
        [edgnn.Graphs.from_edges([(0, size - 1)], num_nodes=size) for size in sizes]
    )


GRAPHS, CLASSES = sized(*[2, 6, 9] * 6), np.array(["s", "m", "l"] * 6)


def test_the_kernel_that_tells_the_classes_apart_is_chosen():
    fitted = SizeClassifier(random_state=0).fit(GRAPHS, CLASSES)
    assert fitted.chosen_ == {"kernel": "size", "C": 0.001, "inner_accuracy": 1.0}
    assert fitted.predict(sized(9, 2, 6)).tolist() == ["l", "s", "m"]
    assert fitted.decision_function(sized(9, 2)).shape == (2, 3)


def test_equal_choices_go_to_the_simplest():
    rng = np.random.default_rng(0)
    kernel = np.eye(20) + 1e-9
    fitted = SVMSolver(C=(0.5, 1.0), folds=2).fit(
        {"a": kernel, "b": kernel}, rng.permutation(np.arange(20) % 2), 2, 0
    )
    assert (fitted.setting, fitted.chosen["C"]) == ("a", 0.5)


@pytest.mark.parametrize(("classes", "count"), [(["s"] * 18, 1), (list(range(18)), 18)])
def test_too_few_items_for_inner_folds_are_learned_from_all_the_same(classes, count):
    fitted = SizeClassifier(random_state=0).fit(GRAPHS, classes)
    assert len(fitted.classes_) == count
    assert "inner_accuracy" not in fitted.chosen_
    assert len(fitted.predict(GRAPHS)) == 18


def test_the_only_item_of_a_class_does_not_end_the_choice_for_the_others():
    rare = CLASSES.copy()
    rare[0] = "rare"
    fitted = SizeClassifier(random_state=0).fit(GRAPHS, rare)
    assert (fitted.chosen_["kernel"], fitted.chosen_["inner_accuracy"]) == ("size", 1.0)
    assert (
        SizeClassifier(random_state=0).fit(GRAPHS, np.arange(18) == 0).chosen_["inner_accuracy"]
        == 1.0
    )


def test_no_items_get_no_predictions():
    fitted = SizeClassifier(random_state=0).fit(GRAPHS, CLASSES)
    assert fitted.predict(GRAPHS[:0]).shape == (0,)
    assert fitted.decision_function(GRAPHS[:0]).shape == (0, 3)
    two = SizeClassifier(random_state=0).fit(GRAPHS, CLASSES == "s")
    assert two.decision_function(GRAPHS[:0]).shape == two.decision_function(GRAPHS)[:0].shape


def test_a_fit_that_fails_leaves_the_earlier_one_whole():
    fitted = SizeClassifier(random_state=0).fit(GRAPHS, CLASSES)
    fitted._represent = lambda items, reference=None: 1 / 0
    with pytest.raises(ZeroDivisionError):
        fitted.fit(GRAPHS, np.array(["x", "y"] * 9))
    del fitted._represent
    assert fitted.predict(sized(9, 2)).tolist() == ["l", "s"]


@pytest.mark.parametrize("n_jobs", [0, 1.5, "x", True])
def test_numbers_of_jobs_that_make_no_sense_are_refused(n_jobs):
    with pytest.raises(EstimatorError, match=f"n_jobs={n_jobs!r}: choose a number of jobs"):
        SizeClassifier(n_jobs=n_jobs).predict_splits(GRAPHS, CLASSES, [Loose([0, 1], [2])])


@pytest.mark.parametrize(
    ("C", "folds"), [((), 5), ((0, 1), 5), ("x", 5), ((1, "x"), 5), (np.nan, 5), (1, 1), (1, 2.5)]
)
def test_candidates_that_make_no_sense_are_refused(C, folds):
    with pytest.raises(EstimatorError, match=r"^(C|folds)="):
        SubgraphMatchingClassifier(C=C, folds=folds).check_parameters()


def test_candidates_may_be_one_number_or_several():
    assert SVMSolver.of(np.array(5.0), 3) == SVMSolver((5.0,), 3)
    assert SVMSolver.of([10, 1], 3) == SVMSolver((1.0, 10.0), 3)


def test_threads_give_what_one_gives():
    splits = [
        Split(np.arange(9), np.arange(9, 12), None, 0, 0, 1),
        Split(np.arange(3, 15), np.arange(15, 18), np.arange(3), 0, 1, 2),
    ]
    done = []
    one = SizeClassifier().predict_splits(GRAPHS, CLASSES, splits, on_split=done.append)
    two = SizeClassifier(n_jobs=2).predict_splits(GRAPHS, CLASSES, splits)
    assert [answer["prediction"].tolist() for answer in one] == [["s", "m", "l"]] * 2
    assert [answer["prediction"].tolist() for answer in one] == [
        answer["prediction"].tolist() for answer in two
    ]
    assert done == [1, 2]


def test_accuracy_on_what_is_learned_from_covers_the_validation_part():
    noisy = CLASSES.copy()
    noisy[:2] = "m"
    split = Split(np.arange(2, 15), np.arange(15, 18), np.arange(2), 0, 0, 1)
    (answer,) = SizeClassifier().predict_splits(GRAPHS, noisy, [split])
    assert answer["training_accuracy"] == pytest.approx(
        14 / 15
    )  # the graph of size 2 that is called "m" is taken for an "s"


@dataclass
class Loose:
    train: object
    test: object
    valid: object = None
    seed: int = 0


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (
            Loose([0, 1], [1, 2]),
            "item 1 of split 0 is both in its test set and in what it learns from",
        ),
        (Loose([0, 1], [2], [2]), "item 2 of split 0 is both"),
        (Loose([0, 18], [2]), "split 0 names item 18, but X has 18"),
        (Loose([], [2]), "split 0 has no training items"),
    ],
)
def test_splits_that_leak_or_miss_are_refused(split, message):
    with pytest.raises(EstimatorError, match=message):
        SizeClassifier().predict_splits(GRAPHS, CLASSES, [split])


def test_other_items_and_targets_are_refused():
    with pytest.raises(EstimatorError, match="X holds nodes"):
        SizeClassifier().fit(GRAPHS.nodes, [0] * GRAPHS.num_nodes)
    with pytest.raises(
        EstimatorError,
        match=r"y has the shape \(18, 2\); this classifier learns one class per item",
    ):
        SizeClassifier().fit(GRAPHS, np.zeros((18, 2)))
    with pytest.raises(EstimatorError, match="there is nothing to learn"):
        SizeClassifier().fit(GRAPHS[:0], [])


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_a_support_vector_machine_decides_as_that_of_scikit_learn(classes):
    rng = np.random.default_rng(classes)
    vectors, y = rng.normal(size=(80, 4)), np.arange(80) % classes
    K, new = vectors @ vectors.T, rng.normal(size=(50, 4)) @ vectors.T
    ours = SVMSolver(C=(0.7,)).fit({"linear": K}, y, classes, seed=0)
    theirs = SVC(C=0.7, kernel="precomputed").fit(K, y)
    assert np.array_equal(ours.predict(new), theirs.predict(new))
    np.testing.assert_allclose(ours.scores(new), theirs.decision_function(new), atol=1e-9)
    assert ours.predict(new[:0]).shape == (0,)
