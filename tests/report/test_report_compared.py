import json
from dataclasses import replace

import numpy as np
import pytest

from edgnn.errors import FormatError
from edgnn.evaluation import Evaluation, Outcome, kfold
from edgnn.report import ReportError, compare_files, read_report, write_report
from study_pages import ENVIRONMENT, made_evaluation


@pytest.fixture
def store(tmp_path):
    def write(name, evaluation, **more):
        about = {
            "command": f"edgnn evaluate mine.csv --out {name}",
            "data": "data/mine.csv",
            "model": "gin",
            "seconds": 3.0,
        }
        document = (
            about | {"environment": ENVIRONMENT} | more | {"evaluation": evaluation.to_dict()}
        )
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(document))
        return path

    return write


def runs(right, seed=0, **more):
    return Evaluation.joined([made_evaluation(right, run, seed=seed, **more) for run in range(2)])


def values(error, **more):
    truth = np.arange(40.0)
    splits = tuple(kfold(truth, 5, 2, seed=0))
    noise = np.random.default_rng(0).normal(size=40)
    outcomes = tuple(Outcome(truth[split.test] + error * noise[split.test]) for split in splits)
    return Evaluation("values", ("rmse", "mae"), splits, truth, outcomes, **more)


def test_differences_to_the_first_are_those_of_the_evaluations(store):
    one, two, three = runs(0.9), runs(0.5, 1), runs(0.88, 2)
    found = compare_files(
        [
            store("a.json", one),
            store("b.json", two, model="edgnn"),
            store("c.json", three, model="wl"),
        ]
    )
    told = found.to_dict()
    assert (told["data"], told["metric"], told["compared_with"]) == ("mine.csv", "accuracy", "gin")
    assert [row["model"] for row in told["models"]] == ["gin", "edgnn", "wl"]
    assert [row["mean"] for row in told["models"]] == [one.mean, two.mean, three.mean]
    worse, equal = told["differences"]
    expected = two.paired(one)
    assert worse["difference"] == pytest.approx(expected.difference)
    assert worse["interval"] == pytest.approx(expected.interval)
    assert worse["corrected_p_value"] == pytest.approx(2 * worse["p_value"])
    assert (worse["verdict"], equal["verdict"]) == ("real: worse", "could be luck")


def test_the_page_says_what_is_real_and_how_to_repeat_it(store, page_of):
    path = write_report([store("a.json", runs(0.9)), store("b.json", runs(0.5, 1), model="edgnn")])
    assert path.name == "comparison.html"
    text, data = page_of(path).text, read_report(path)
    assert "gin and edgnn on mine.csv" in text
    assert "60 items, 2 repeats of 10 folds · 2026-11-16" in text
    assert "p < 0.001 – real: worse." in text
    assert "edgnn evaluate mine.csv --out b.json" in text
    assert "Each model is trained on 54 items" in text
    assert data["kind"] == "comparison"
    assert [entry["row"] for entry in data["entries"]] == ["gin", "edgnn"]
    assert data["comparisons"]["gin"][0]["row"] == "edgnn"
    chosen = [one["data-name"] for one in page_of(path).attributes("div") if "data-chosen" in one]
    assert chosen == ["gin"]


def test_the_page_can_lie_elsewhere_and_one_file_is_no_comparison(store, tmp_path):
    files = [store("a.json", runs(0.9)), store("b.json", runs(0.8, 1))]
    assert write_report(files, tmp_path / "page.html") == tmp_path / "page.html"
    assert write_report(files[:1]) == tmp_path / "a.html"
    with pytest.raises(ReportError, match="two files at least, not 0"):
        write_report([])


def test_lower_errors_are_better_and_have_no_points(store, page_of):
    files = [store("a.json", values(1.0)), store("b.json", values(3.0), model="mean")]
    pair = compare_files(files).to_first[0]
    assert (pair.verdict, pair.comparison.difference > 0) == ("real: worse", True)
    text = page_of(write_report(files)).text
    assert "In short: RMSE" in text
    assert "Lower is better." in text
    assert "to the left, the other model is better" in text
    assert "Dashed line: predicting the mean" in text
    assert "MAE" in text
    assert "points" not in text


def test_without_a_p_value_nothing_is_called_real(store, page_of):
    one = values(1.0)
    single = [
        replace(found, splits=found.splits[:1], outcomes=found.outcomes[:1])
        for found in (one, values(3.0))
    ]
    files = [store("a.json", single[0]), store("b.json", single[1])]
    assert compare_files(files).to_first[0].verdict == "not tested"
    text = page_of(write_report(files)).text
    assert "No p value" in text
    assert "without a p value: gin (b)" in text


def test_equal_predictions_have_no_difference(store):
    assert (
        compare_files([store("a.json", runs(0.9)), store("b.json", runs(0.9))]).to_first[0].verdict
        == "no difference"
    )


def test_models_of_one_name_are_told_apart_by_their_files(store):
    files = [
        store(name, runs(0.9, seed))
        for seed, name in enumerate(("a.json", "b.json", "other/b.json"))
    ]
    names = [entry.row.title for entry in compare_files(files).entries]
    assert names == ["gin (a)", f"gin ({files[1]})", f"gin ({files[2]})"]
    bare = [store("c.json", runs(0.9), model=None), files[0]]
    assert [entry.row.title for entry in compare_files(bare).entries] == ["c", "gin"]


def test_the_first_metric_that_all_have_decides(store):
    both = [
        replace(runs(0.9), metrics=("roc_auc", "balanced_accuracy")),
        replace(runs(0.8, 1), metrics=("accuracy", "balanced_accuracy")),
    ]
    files = [store("a.json", both[0]), store("b.json", both[1])]
    assert compare_files(files).metric.name == "balanced_accuracy"
    files[1] = store("b.json", runs(0.8, 1))
    with pytest.raises(
        ReportError,
        match=r"b\.json cannot .*a\.json: it was evaluated by accuracy, not by roc_auc, balanced_accuracy",
    ):
        compare_files(files)


def test_splits_that_are_numbered_otherwise_are_the_same(store):
    one, two = runs(0.9), runs(0.8, 1)
    turned = replace(
        two, splits=tuple(replace(split, repeat=split.repeat + 5) for split in two.splits)
    )
    found = compare_files([store("a.json", one), store("b.json", turned)])
    assert found.to_first[0].comparison == two.paired(one)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (lambda: runs(0.8, folds=5), "10 splits, not 20"),
        (lambda: runs(0.8, items=65), "65 items, not 60"),
        (lambda: values(1.0), "real values, not a class for each item"),
        (
            lambda: runs(0.8, class_names=("no", "maybe")),
            "the classes 'no', 'maybe', not 'no', 'yes'",
        ),
    ],
)
def test_the_file_that_differs_is_named_with_what_it_has(store, tmp_path, other, said):
    files = [store("a.json", runs(0.9)), store("b.json", runs(0.8, 1)), store("c.json", other())]
    message = f"{files[2]} cannot be compared with {files[0]}: it has {said}; evaluate all on the same data with the same --protocol"
    with pytest.raises(ReportError) as caught:
        write_report(files)
    assert str(caught.value).startswith(message)
    assert not (tmp_path / "comparison.html").exists()


def test_only_files_of_evaluations_are_compared(store, tmp_path):
    file = store("a.json", runs(0.9))
    (tmp_path / "sub").mkdir()
    (tmp_path / "page.html").write_text("<p>")
    (tmp_path / "bad.json").write_text(
        json.dumps({"seconds": "long", "evaluation": runs(0.9).to_dict()})
    )
    for other, said in (
        (
            tmp_path,
            "is a folder; several files are compared where each is the JSON file of an evaluation",
        ),
        (tmp_path / "none.json", "there is no .*; several files"),
        (tmp_path / "page.html", "is a page already; several files"),
        (tmp_path / "sub" / ".." / "a.json", "is named twice"),
    ):
        with pytest.raises(ReportError, match=said):
            compare_files([file, other])
    with pytest.raises(FormatError, match=r"bad\.json: what it holds is damaged"):
        compare_files([file, tmp_path / "bad.json"])
