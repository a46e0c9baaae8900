import json
from dataclasses import replace

import numpy as np
import pytest

from edgnn.errors import EvaluationError, FormatError
from edgnn.evaluation import Evaluation, Outcome, Split, kfold
from study_pages import made_evaluation


def write(path, evaluation, **about):
    values = evaluation.to_dict()
    path.write_text(json.dumps({**about, "evaluation": values} if about else values))
    return path


def of_values(truth):
    splits = tuple(kfold(truth, 4, 1, seed=0))
    return Evaluation(
        "values",
        ("rmse",),
        splits,
        truth,
        tuple(Outcome(truth[split.test] + 0.1) for split in splits),
    )


@pytest.mark.parametrize("about", [{}, {"model": "edgnn", "data": "mine.csv", "seconds": 1.0}])
def test_two_stored_evaluations_are_compared_as_those_in_memory(tmp_path, about):
    one, two = made_evaluation(0.9), made_evaluation(0.7, seed=1)
    files = [
        write(tmp_path / name, evaluation, **about)
        for name, evaluation in (("a.json", one), ("b.json", two))
    ]
    loaded = [Evaluation.load(file) for file in files]
    assert loaded[0].paired(loaded[1]) == one.paired(two)
    assert loaded[0].paired(two) == one.paired(two)
    assert loaded[0].to_dict() == one.to_dict()


def test_missing_targets_of_stored_values_stay_missing_and_equal(tmp_path):
    truth = np.r_[np.arange(15.0), np.nan]
    loaded = Evaluation.load(write(tmp_path / "a.json", of_values(truth)))
    assert np.isnan(loaded.truth[15])
    assert loaded.paired(of_values(truth)).difference == pytest.approx(0)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("hello", "it is no JSON file; expected what `edgnn evaluate --out`"),
        ("[1]", "it is a JSON file without an evaluation; expected"),
        ('{"evaluation": 3}', "it is a JSON file without an evaluation; expected"),
        ('{"evaluation": {}}', r"what it holds is damaged \(.*format None"),
    ],
)
def test_another_file_is_named_with_what_it_is(tmp_path, content, said):
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(FormatError, match=rf"a\.json: {said}"):
        Evaluation.load(tmp_path / "a.json")


def test_no_file_and_a_folder_are_told(tmp_path):
    for place in (tmp_path / "none.json", tmp_path):
        with pytest.raises(
            EvaluationError,
            match=rf"there is no file {place}; expected what `edgnn evaluate --out`",
        ):
            Evaluation.load(place)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"truth": [0, 1]}, "names an item that there is not"),
        ({"task": "ranks"}, "its task is unknown"),
        ({"metrics": ["nothing"]}, "nothing"),
        ({"class_names": ["no"]}, "its classes and their names differ in number"),
        ({"splits": []}, "it has no splits"),
        ({"settings": 3}, "its settings are no mapping"),
        ({"subsets": {"few": [10**6]}}, "a subset names an item that there is not"),
        ({"subsets": {"few": [[1]]}}, "a subset names an item that there is not"),
    ],
)
def test_a_damaged_evaluation_is_found_before_anything_is_computed(tmp_path, change, said):
    file = tmp_path / "a.json"
    file.write_text(json.dumps(made_evaluation(0.8).to_dict() | change))
    with pytest.raises(FormatError, match=rf"a\.json: what it holds is damaged \(.*{said}"):
        Evaluation.load(file)


def other_target(evaluation):
    truth = evaluation.truth.copy()
    truth[7] = 1 - truth[7]
    return replace(evaluation, truth=truth)


def other_split(evaluation):
    first, second, *rest = evaluation.splits
    known = np.r_[first.known[1:], second.test[:0]]
    return replace(evaluation, splits=(Split(known, first.test), second, *rest))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda _: made_evaluation(0.9, items=70), "70 items, not 60"),
        (lambda _: made_evaluation(0.9, folds=5), "5 splits, not 10"),
        (lambda _: made_evaluation(0.9, run=1), "other items to judge on in repeat 0, fold 0"),
        (lambda _: of_values(np.arange(60.0)), "real values, not a class for each item"),
        (other_target, "another target for item 7, counted from 0"),
        (other_split, "other items to learn from in repeat 0, fold 0"),
    ],
)
def test_what_keeps_two_evaluations_from_being_compared_is_named(change, said):
    one = made_evaluation(0.9)
    with pytest.raises(EvaluationError, match=rf"different targets or splits \({said}\)"):
        one.paired(change(made_evaluation(0.8)))
