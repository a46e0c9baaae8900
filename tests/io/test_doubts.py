import numpy as np
import pytest

import edgnn
from edgnn.io.datasets import Dataset, doubts


def labeled(names):
    graphs = edgnn.Graphs.concat([edgnn.Graphs.from_edges([(0, 1)])] * len(names))
    classes = tuple(dict.fromkeys(names))
    return Dataset(
        name="made up",
        graphs=graphs,
        targets=np.array([classes.index(name) for name in names]),
        class_names=classes,
    )


def test_plain_classes_raise_no_doubt():
    assert doubts(labeled(["yes", "no"] * 5)) == []
    assert doubts(labeled(["0", "1", "2"] * 5)) == []
    assert doubts(edgnn.load_dataset("MUTAG")) == []


def test_many_numbers_are_asked_about():
    told = doubts(labeled([str(number) for number in range(50)]))
    assert len(told) == 1
    assert "50 classes" in told[0]
    assert "--regression" in told[0]


def test_the_word_that_made_numbers_classes_is_named():
    told = doubts(labeled([f"{number}.5" for number in range(50)] + [">10000"]))
    assert ">10000" in told[0]
    assert told[0].endswith("; --regression learns numbers as values")


def test_numbers_beside_words_are_to_be_written_with_points():
    told = doubts(labeled([f"{number},5" for number in range(50)] + [">10000"]))[0]
    assert (
        "taken for 51 classes, because of '>10000', but most of them are numbers; '0,5' is a number with a decimal comma"
        in told
    )
    assert "--regression" not in told


@pytest.mark.parametrize("word", ["NaN", "NA", "n/a", "null"])
def test_words_for_nothing_are_named(word):
    told = doubts(labeled(["yes", "no"] * 5 + [word] * 2))
    assert len(told) == 1
    assert repr(word) in told[0]


def test_a_class_with_one_item_is_named():
    assert "'rare'" in doubts(labeled(["yes", "no"] * 5 + ["rare"]))[0]
