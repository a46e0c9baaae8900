import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import edgnn
from edgnn.evaluation import EvaluationError, Split, evaluate, holdout, kfold, published

CLASSES = np.array(["active"] * 125 + ["inactive"] * 63)


def parts(split):
    return [part for part in (split.train, split.valid, split.test) if part is not None]


def share(split, part, y=CLASSES):
    return (y[getattr(split, part)] == "active").mean()


@given(
    y=st.lists(st.sampled_from("abc"), min_size=8, max_size=40),
    folds=st.integers(2, 8),
    validation=st.sampled_from([None, 0.1, 0.3]),
    seed=st.integers(0, 2**40),
    stratify=st.booleans(),
)
def test_no_item_is_in_two_parts_and_each_is_tested_once_per_repeat(
    y, folds, validation, seed, stratify
):
    splits = kfold(y, folds, 2, seed=seed, stratify=stratify, validation=validation)
    for split in splits:
        together = np.concatenate(parts(split))
        assert sorted(together.tolist()) == list(range(len(y)))
        assert 0 <= split.seed < 2**32
    for repeat in (0, 1):
        tested = np.concatenate([split.test for split in splits if split.repeat == repeat])
        assert sorted(tested.tolist()) == list(range(len(y)))
    assert len({split.seed for split in splits}) == 2 * folds


@given(
    st.lists(st.sampled_from("aaaaaabbc"), min_size=10, max_size=60),
    st.integers(2, 10),
    st.integers(0, 99),
)
def test_folds_and_their_classes_differ_by_at_most_one_item(y, folds, seed):
    splits = kfold(y, folds, 1, seed=seed, validation=None)
    sizes = [len(split.test) for split in splits]
    assert max(sizes) - min(sizes) <= 1
    for name in set(y):
        counts = [sum(y[item] == name for item in split.test.tolist()) for split in splits]
        assert max(counts) - min(counts) <= 1


def test_every_part_has_the_proportion_of_the_classes():
    for split in kfold(CLASSES, repeats=2):
        assert len(split.test) in (18, 19)
        assert len(split.valid) == 19
        assert abs(share(split, "train") - 125 / 188) < 0.01
        assert abs(share(split, "valid") - 125 / 188) < 0.06
        assert abs(share(split, "test") - 125 / 188) < 0.06


def test_without_stratification_the_proportions_vary():
    shares = [share(split, "test") for split in kfold(CLASSES, repeats=2, stratify=False)]
    assert np.std(shares) > 0.05


def test_the_validation_part_is_a_share_of_the_whole_set_and_differs_between_folds():
    splits = kfold(np.zeros(100, int), 5, 1, validation=0.2)
    assert [len(split.valid) for split in splits] == [20] * 5
    assert len({tuple(split.valid.tolist()) for split in splits}) == 5


@pytest.mark.slow
def test_splits_do_not_change_from_run_to_run(run_python):
    code = """
from edgnn.evaluation import kfold
for split in kfold(["active"] * 8 + ["not"] * 4, 3, 2, seed=1):
    print(split.test.tolist(), split.valid.tolist(), split.seed)
"""
    printed = run_python(code, PYTHONHASHSEED="1")
    assert printed == run_python(code, PYTHONHASHSEED="2")
    assert printed.splitlines()[0] == "[0, 4, 6, 11] [8] 65536"


def test_repeat_r_of_a_seed_is_repeat_0_of_the_seed_r_higher():
    later = [split for split in kfold(CLASSES, 5, 3, seed=4) if split.repeat == 2]
    first = kfold(CLASSES, 5, 1, seed=6)
    for one, two in zip(later, first, strict=True):
        assert one.seed == two.seed
        assert all(np.array_equal(a, b) for a, b in zip(parts(one), parts(two), strict=True))
    other = kfold(CLASSES, 5, 1, seed=5)
    assert not all(
        np.array_equal(one.test, two.test) for one, two in zip(first, other, strict=True)
    )


def test_a_class_smaller_than_the_folds_is_in_as_many_folds_as_it_has_items():
    y = np.array([0] * 30 + [1] * 3 + [2])
    splits = kfold(y, 10, 1)
    assert sorted(np.sum(y[split.test] == 1) for split in splits) == [0] * 7 + [1] * 3
    for split in splits:
        assert 1 in y[split.train]
        assert (2 in y[split.train]) != (2 in y[split.test])


def test_validation_leaves_the_last_item_of_a_class_to_training():
    y = np.array([0] * 30 + [1, 2, 3])
    for split in holdout(y, test=0.2, validation=0.2, repeats=20):
        assert {1, 2, 3} <= set(y[split.train].tolist())
        assert len(split.valid) == 7


def test_more_classes_than_can_stay_are_still_split():
    y = np.arange(12)
    for split in kfold(y, 3, 1, validation=0.25):
        assert [len(part) for part in parts(split)] == [5, 3, 4]


def test_items_without_a_target_are_in_no_part():
    y = np.array([0.5, np.nan] * 20)
    names = ["a", None, "b", float("nan")] * 10
    for target in (y, names):
        known = set(range(0, 40, 2))
        for split in [*kfold(target, 4, 2), *holdout(target, 0.2, repeats=3)]:
            assert {item for part in parts(split) for item in part.tolist()} == known


def test_an_item_with_one_of_several_targets_is_kept():
    y = np.array([[1, np.nan], [np.nan, np.nan], [np.nan, 0], [0, 1]])
    split = kfold(y, 3, 1, validation=None)[0]
    assert sorted(np.concatenate(parts(split)).tolist()) == [0, 2, 3]


def test_classes_written_as_floats_are_balanced_and_fractions_are_not():
    y = np.array([0.0, 1.0, np.nan] * 30)
    assert {np.nansum(y[split.test]) for split in kfold(y, 10, 1)} == {3.0}
    sums = {np.sum(y[split.test] == 1) for split in kfold(np.where(y == 1, 1.5, y), 10, 1, seed=1)}
    assert len(sums) > 1


def test_groups_stay_together_and_folds_stay_even():
    rng = np.random.default_rng(0)
    groups, y = rng.integers(0, 40, 300), rng.integers(0, 2, 300)
    for split in [
        *kfold(y, 5, 2, groups=groups),
        *holdout(y, 0.2, repeats=3, groups=[f"group {g}" for g in groups]),
    ]:
        seen = [set(groups[part].tolist()) for part in parts(split)]
        assert not seen[0] & seen[1]
        assert not (seen[0] | seen[1]) & seen[2]
        assert 45 <= len(split.test) <= 75
        assert 15 <= len(split.valid) <= 30


@given(
    st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=10, max_size=50),
    st.integers(0, 9),
)
def test_every_fold_of_groups_has_items(items, seed):
    groups, y = zip(*items, strict=True)
    if (folds := len(set(groups))) >= 2:
        splits = kfold(y, folds, 1, seed=seed, groups=groups, validation=None)
        assert sorted(np.concatenate([split.test for split in splits]).tolist()) == list(
            range(len(y))
        )


def test_holdout_draws_anew_for_each_repeat():
    splits = holdout(CLASSES, 0.2, 0.1, 5, seed=1)
    assert [len(part) for part in parts(splits[0])] == [188 - 19 - 38, 19, 38]
    assert len({tuple(split.test.tolist()) for split in splits}) == 5
    assert len({split.seed for split in splits}) == 5
    assert all(abs(share(split, "test") - 125 / 188) < 0.02 for split in splits)


def test_a_published_split_keeps_its_test_part_and_validates_on_its_first_fifth():
    split = {"train": np.array([9, 3, 4, 5, 8, 7, 6, 2, 1, 0]), "test": np.array([12, 11])}
    splits = published(split, repeats=3, seed=2)
    assert [s.valid.tolist() for s in splits] == [[9, 3]] * 3
    assert [s.train.tolist() for s in splits] == [[4, 5, 8, 7, 6, 2, 1, 0]] * 3
    assert [s.test.tolist() for s in splits] == [[12, 11]] * 3
    assert [(s.repeat, s.fold) for s in splits] == [(0, 0), (1, 0), (2, 0)]
    assert len({s.seed for s in splits}) == 3


def test_a_published_split_can_draw_its_validation_part_or_do_without():
    y = np.array([0, 1] * 20)
    split = {"train": np.arange(30), "test": np.arange(30, 40)}
    drawn = published(split, y, validation=0.2, repeats=4)
    assert all(len(s.valid) == 8 and y[s.valid].sum() == 4 for s in drawn)
    assert len({tuple(s.valid.tolist()) for s in drawn}) > 1
    assert published(split, validation=None, repeats=1)[0].valid is None


def test_a_published_split_leaves_out_items_without_target():
    y = np.array([1.5, np.nan, 2.5, 3.5, np.nan])
    split = published({"train": [0, 1, 2], "test": [3, 4]}, y, validation=None, repeats=1)[0]
    assert (split.train.tolist(), split.test.tolist()) == ([0, 2], [3])


def test_the_published_split_of_a_data_set_is_used_as_it_is(data_dir):
    data = edgnn.load_dataset("AIFB", data_dir=data_dir)
    splits = published(data.split, data.targets, repeats=2)
    assert [len(part) for part in parts(splits[0])] == [140 - 28, 28, 36]
    assert set(splits[0].test.tolist()) == set(data.split["test"].tolist())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kfold([0, 1] * 3, 10), "10 folds need at least 10 items, but there are 6"),
        (
            lambda: kfold([0, 1] * 9, 3, groups=[0, 1] * 9),
            "3 folds need at least 3 groups, but there are 2",
        ),
        (lambda: kfold([0, 1], 1), "folds=1: give a whole number, 2 or more"),
        (lambda: kfold([0, 1], 2.5), "folds=2.5"),
        (lambda: kfold([0, 1] * 9, 2, 0), "repeats=0: give a whole number, 1 or more"),
        (lambda: kfold([0, 1] * 9, 2, seed=-1), "seed=-1"),
        (
            lambda: kfold([0, 1] * 9, 2, validation=0.5),
            "asks for 9 of 9 items, which leaves none to train on",
        ),
        (lambda: kfold([0, 1] * 9, 2, validation=1), "validation=1: give a fraction"),
        (lambda: kfold([0, 1] * 9, 2, validation=[0.1]), "validation=.0.1.: give a fraction"),
        (lambda: kfold([0, 1] * 9, 2, groups=[1]), "1 groups were given for 18 items"),
        (lambda: kfold([np.nan] * 20), "there are 0"),
        (lambda: kfold(np.zeros((3, 3, 3))), "one value or one row of values per item"),
        (lambda: holdout([0, 1] * 9, 0.6, 0.4), "leaves none to train on"),
        (lambda: holdout([0, 1] * 9, None), "leaves no item to test on"),
        (lambda: published({"train": [1]}), "the split has no 'test' part, only 'train'"),
        (lambda: published({"train": [0, 1], "test": [1]}), "item 1 occurs twice"),
        (
            lambda: published({"train": [0, 1], "test": [9]}, [0, 1]),
            "names item 9, but there are 2 targets",
        ),
        (
            lambda: published({"train": [0, 1], "test": [2]}, validation="tenth"),
            "validation='tenth'",
        ),
        (
            lambda: published({"train": [True, False], "test": [2]}),
            "must be item numbers, got bool",
        ),
        (lambda: Split([0, 1], []), "repeat 0, fold 0: the test part is empty"),
        (lambda: Split([-1, 1], [2]), "names item -1"),
        (lambda: Split([0, 1], [2], [1], 3, 4), "repeat 3, fold 4: item 1 occurs twice"),
    ],
)
def test_what_cannot_be_split_is_explained(make, message):
    with pytest.raises(EvaluationError, match=message):
        make()


def test_a_split_beyond_the_items_is_refused():
    from sklearn.dummy import DummyClassifier

    with pytest.raises(
        EvaluationError, match="repeat 0, fold 0 names item 7, but there are 4 items"
    ):
        evaluate(DummyClassifier(), np.zeros((4, 1)), [0, 1, 0, 1], [Split([0, 1], [7])])
