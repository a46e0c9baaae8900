import numpy as np
import pytest

import edgnn
from edgnn.errors import DatasetError
from edgnn.evaluation import (
    default_protocol,
    evaluate_predictions,
    protocol_splits,
    protocol_title,
    scaffold_groups,
    training_split,
)
from edgnn.studies import is_of_paper, recipe


@pytest.fixture(scope="module")
def mutag():
    return edgnn.load_dataset("MUTAG")


@pytest.fixture(scope="module")
def parted(mutag):
    split = {"train": np.arange(100), "test": np.arange(100, 188)}
    return edgnn.Dataset("parted", mutag.graphs, mutag.targets, split=split)


def test_the_default_protocol_follows_the_data(mutag, parted):
    assert default_protocol(mutag) == "cv10x10"
    assert default_protocol(mutag, recipe("paper", "graph").protocol) == "cv10x10"
    assert default_protocol(mutag, "split") == "cv10x10"
    many = edgnn.Dataset("many", mutag.graphs[np.arange(2001) % 188], np.arange(2001) % 2)
    assert default_protocol(many) == "holdout"
    assert (default_protocol(parted), default_protocol(parted, "holdout")) == ("split", "holdout")


@pytest.mark.parametrize(
    ("protocol", "runs", "count", "title"),
    [
        ("cv5x3", None, 15, "5-fold cross-validation, 3 runs"),
        ("cv5", None, 5, "5-fold cross-validation, 1 run"),
        ("cv5x3", 2, 10, "5-fold cross-validation, 2 runs"),
        ("holdout", None, 10, "random test part, 10 runs"),
        ("split", 4, 4, "published split, 4 runs"),
        ("scaffold", 1, 1, "scaffold split, 1 run"),
        ("scaffold-fixed", 1, 1, "fixed scaffold split, 1 run"),
    ],
)
def test_a_protocol_has_as_many_splits_as_its_name_says(parted, protocol, runs, count, title):
    splits = protocol_splits(parted, protocol, runs=runs, validation=0.1)
    assert len(splits) == count
    assert protocol_title(protocol, splits) == title


def test_a_published_split_is_taken_as_it_is(parted):
    first, second = protocol_splits(parted, "split", validation="first-fifth", runs=2)
    assert (first.test.tolist(), first.valid.tolist()) == (list(range(100, 188)), list(range(20)))
    assert first.seed != second.seed


@pytest.mark.parametrize(
    ("protocol", "options", "message"),
    [
        ("loo", {}, "there is no protocol 'loo'"),
        ("split", {}, "MUTAG has no published split"),
        ("cv10x10", {"validation": "first-fifth"}, "is for a published split, not for cv10x10"),
    ],
)
def test_protocols_that_do_not_fit_are_explained(mutag, protocol, options, message):
    with pytest.raises(DatasetError, match=message):
        protocol_splits(mutag, protocol, **options)


def test_one_training_takes_the_first_split(mutag, parted):
    assert training_split(mutag, test=None, validation=0.1, seed=0) is None
    assert training_split(parted, test="published", validation=None, seed=0).test.tolist() == list(
        range(100, 188)
    )
    assert len(training_split(mutag, test=0.25, validation=0.1, seed=0).test) == 47
    for test in ("scaffold", "scaffold:0.3", "scaffold-fixed:0.3"):
        split = training_split(mutag, test=test, validation=0.1, seed=0)
        groups = scaffold_groups(mutag.graphs)
        assert set(groups[split.test]).isdisjoint(groups[split.known])
        assert abs(len(split.test) - (56 if ":" in test else 19)) < 12
    with pytest.raises(DatasetError, match="choose 'published', a fraction"):
        training_split(mutag, test="some", validation=0.1, seed=0)
    with pytest.raises(DatasetError, match="has no published split"):
        training_split(mutag, test="published", validation=0.1, seed=0)


def test_a_model_is_judged_beside_the_majority_of_what_it_learned():
    answer = {"prediction": np.array([1, 1, 0]), "probability": None, "classes": np.array([0, 1])}
    answer["probability"] = np.array([[0.4, 0.6], [0.1, 0.9], [0.8, 0.2]])
    found = evaluate_predictions(
        "classes", np.array([0, 0, 1]), np.array([1, 0, 0]), answer, ("no", "yes")
    )
    assert found["accuracy"].mean == pytest.approx(2 / 3)
    assert found.majority == pytest.approx(2 / 3)
    assert found.confusion.tolist() == [[1, 1], [0, 1]]
    assert found.class_names == ("no", "yes")
    values = evaluate_predictions(
        "values", np.array([1.0, 3.0]), np.array([2.0, 4.0]), {"prediction": np.array([2.0, 4.0])}
    )
    assert (values["rmse"].mean, values["mae"].majority) == (0.0, 1.0)


def test_the_papers_protocol_is_ten_times_ten_folds_or_the_published_split_of_nodes(mutag):
    def is_papers(data, name, **options):
        return is_of_paper(data, name, protocol_splits(data, name, **options))

    assert is_papers(mutag, "cv10x10", seed=3)
    assert is_papers(mutag, "cv10", runs=10)
    assert not any(is_papers(mutag, name) for name in ("cv10", "cv5x20", "cv100", "holdout"))
    split = {"train": np.arange(100), "test": np.arange(100, 188)}
    nodes = edgnn.Dataset(
        "nodes", mutag.graphs, mutag.targets, nodes=mutag.graphs.nodes[np.arange(188)], split=split
    )
    assert is_papers(nodes, "split", runs=2)
    assert not is_papers(nodes, "cv10x10")
