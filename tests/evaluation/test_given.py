"""Splits that people bring along: columns, files of splits, a file for each part."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import edgnn
from edgnn.errors import DatasetError, EvaluationError, FormatError, RunError
from edgnn.evaluation import (
    Split,
    evaluate,
    join_sets,
    protocol_splits,
    published,
    read_splits,
    train,
)

pytestmark = pytest.mark.filterwarnings("ignore::edgnn.models.UnknownLabelWarning")
SMILES = ["C", "CC", "CCC", "CCCC", "CO", "CCO", "CCCO", "CN", "CCN", "CCCN"]


def parts(split):
    valid = None if split.valid is None else split.valid.tolist()
    return split.train.tolist(), valid, split.test.tolist()


@pytest.fixture
def data():
    return edgnn.Dataset("small", edgnn.from_smiles(SMILES), np.arange(10) % 2)


@pytest.fixture
def table(tmp_path):
    words = ["train"] * 6 + ["VAL", "Test", "test", "test"]
    rows = [f"{s},{i % 2},{w},{i % 5}" for i, (s, w) in enumerate(zip(SMILES, words, strict=True))]
    path = tmp_path / "molecules.csv"
    path.write_text("\n".join(["smiles,active,part,fold", *rows]) + "\n")
    return path


def test_a_column_of_words_is_the_split(table):
    data = edgnn.load_dataset(table, target_column="active", split_column="part")
    split = protocol_splits(data, "split", runs=1)[0]
    assert parts(split) == ([0, 1, 2, 3, 4, 5], [6], [7, 8, 9])


def test_a_column_of_numbers_is_folds(table):
    data = edgnn.load_dataset(table, target_column="active", split_column="fold")
    splits = protocol_splits(data, "split", runs=2, validation=None)
    assert [split.test.tolist() for split in splits[:5]] == [[n, n + 5] for n in range(5)]
    assert [(split.repeat, split.fold) for split in splits[4:6]] == [(0, 4), (1, 0)]
    assert len({split.seed for split in splits}) == 10


def test_a_split_column_stays_beside_its_items(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text(
        "smiles,active,part\nC,1.0,train\nnone,1.0,test\nCC,,test\nCCC,0.0,val\nCO,1.0,test\n"
        "CN,0.0,train\n"
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = edgnn.load_dataset(
            path, target_column="active", split_column="part", task="classes", bad="skip"
        )
    assert len(caught) == 2, "of the molecule and of the missing class, once"
    names = data.graphs.graph_names
    found = {part: names[items].tolist() for part, items in data.split.items()}
    assert found == {"train": ["C", "CN"], "val": ["CCC"], "test": ["CO"]}


def test_targets_of_another_table_have_their_split_column(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\nc,d\n")
    (tmp_path / "y.csv").write_text("node,y,part\nd,u,train\na,v,test\nc,v,train\n")
    data = edgnn.load_dataset(
        tmp_path / "edges.csv",
        target_file=tmp_path / "y.csv",
        target_column="y",
        split_column="part",
        level="node",
    )
    named = {part: [data.nodes.names[i] for i in items] for part, items in data.split.items()}
    assert named == {"train": ["d", "c"], "test": ["a"]}


def test_a_split_of_json_is_read_as_chemprop_writes_it(data, tmp_path):
    path = tmp_path / "splits.json"
    path.write_text(
        json.dumps([{"train": "0-4,6", "val": [5], "test": [7, 8, 9]}, {"train": [0], "test": "1"}])
    )
    first, second = read_splits(path, data, validation=None)
    assert parts(first) == ([0, 1, 2, 3, 4, 6], [5], [7, 8, 9])
    assert parts(second) == ([0], None, [1])
    assert [(split.repeat, split.fold) for split in (first, second)] == [(0, 0), (0, 1)]
    again = read_splits(path, data, validation=None, repeats=2)
    assert len({split.seed for split in again}) == len(again) == 4


@pytest.mark.parametrize("head", ["id,split\n", ""])
def test_a_table_of_names_and_parts_is_a_split(data, tmp_path, head):
    rows = [f"{name},{'test' if 'O' in name else 'train'}" for name in SMILES[::-1]]
    path = tmp_path / "splits.csv"
    path.write_text(head + "\n".join(rows) + "\n")
    (split,) = read_splits(path, data, validation=None)
    assert sorted(split.test.tolist()) == [4, 5, 6]
    assert sorted(split.train.tolist()) == [0, 1, 2, 3, 7, 8, 9]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "the split has no 'train' part, only nothing"),
        ("3", "expected"),
        ("[1]", "expected"),
        ("[", "holds no splits of small"),
        ("[" * 100_000, "it is nested too deeply"),
        ('[{"train": [0], "tset": [1]}]', "'tset' is no part of a split.*did you mean 'test'"),
        ('[{"train": [0, 1], "test": [1]}]', "item 1 occurs twice"),
        ('[{"train": [0], "test": [10]}]', "names item 10, but there are 10 targets"),
        ('[{"train": [0], "test": []}]', "the test part is empty"),
        ('[{"train": [], "test": [1]}]', "the train part is empty"),
        ('[{"train": [0], "test": ["x"]}]', "test.*names 'x'; give numbers"),
        ('[{"train": [0], "test": [-1]}]', "names -1; give numbers"),
        (
            '[{"train": "0-99999999999999", "test": [1]}]',
            "names item 99999999999999, but there are",
        ),
        ('[{"train": "0-9,0-9", "test": [1]}]', "names more items than"),
        (f'[{{"train": [{"9" * 400}], "test": [1]}}]', "names item 99.*…, but there are 10"),
        ('[{"train": "0-5,7-3", "test": [8]}]', "names '7-3'; give numbers"),
        ('[{"train": [0], "test": 1.5}]', "test.* is 1.5"),
    ],
)
def test_a_wrong_file_of_splits_is_one_clear_error(data, tmp_path, content, message):
    path = tmp_path / "splits.json"
    path.write_text(content)
    with pytest.raises(FormatError, match=message) as caught:
        read_splits(path, data)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,split\nC,train\nXX,test\n", "there is no graph 'XX'"),
        ("id,split\nC,train\nCC,tests\n", "'tests' is no part"),
        ("id,split,more\nC,train,1\n", "expected two columns"),
        ("id,split\nC,train\nC,test\n", "item 0 occurs twice"),
        ("", "the table is empty"),
    ],
)
def test_a_wrong_table_of_splits_is_one_clear_error(data, tmp_path, content, message):
    path = tmp_path / "splits.csv"
    path.write_text(content)
    with pytest.raises(FormatError, match=message):
        read_splits(path, data)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "tes"], "'tes' is no part of a split.*did you mean 'test'"),
        (["train", 1], "'1' is no part of a split"),
        ([1, 1], "all items are in one fold"),
        (["train", "train"], "the split has no 'test' part"),
        (["test", "val"], "the split has no 'train' part"),
    ],
)
def test_words_that_make_no_split_are_explained(words, message):
    with pytest.raises(EvaluationError, match=message):
        published(words)


def test_sets_of_several_files_are_joined_by_their_names():
    smiles = edgnn.from_smiles
    old = edgnn.Dataset("old", smiles(["C", "CC", "CO"]), np.array([0, 1, 2]), ("a", "b", "c"))
    new = edgnn.Dataset("new", smiles(["CN", "[Si]C"]), np.array([0, 1]), ("b", "c"))
    more = edgnn.Dataset("more", smiles(["CCC"]), np.array([0]), ("a",))
    joined = join_sets(old, test=new, validation=more)
    assert joined.targets.tolist() == [0, 1, 2, 0, 1, 2]
    assert joined.graphs.graph_names.tolist() == ["C", "CC", "CO", "CCC", "CN", "[Si]C"]
    split = protocol_splits(joined, "split", runs=1)[0]
    assert parts(split) == ([0, 1, 2], [3], [4, 5])


def test_sets_that_do_not_belong_together_are_explained():
    graphs = edgnn.from_smiles(["C", "CC"])
    old = edgnn.Dataset("old", graphs, np.array([0, 1]), ("a", "b"))
    strange = edgnn.Dataset("new", graphs, np.array([0, 1]), ("a", "d"))
    with pytest.raises(DatasetError, match="new has the class 'd', which old lacks"):
        join_sets(old, test=strange)
    values = edgnn.Dataset("new", graphs, np.array([0.5, 1]))
    with pytest.raises(DatasetError, match="new are values of graphs, those of old classes"):
        join_sets(old, test=values)
    with pytest.raises(DatasetError, match="new has no targets"):
        join_sets(old, test=edgnn.Dataset("new", graphs))


def test_labeled_nodes_of_one_graph_are_joined_without_repeating_it():
    graph = edgnn.Graphs.from_edges([(n, n + 1) for n in range(5)])
    one = edgnn.Dataset("one", graph, np.array([0, 1]), nodes=graph.nodes[[0, 3]])
    two = edgnn.Dataset("two", graph, np.array([1]), nodes=graph.nodes[[5]])
    joined = join_sets(one, test=two)
    assert (len(joined.graphs), joined.nodes.index.tolist()) == (1, [0, 3, 5])
    apart = edgnn.Dataset("apart", graph.reverse(), np.array([1]), nodes=graph.reverse().nodes[[5]])
    joined = join_sets(one, test=apart)
    assert (len(joined.graphs), joined.nodes.index.tolist()) == (2, [0, 3, 11])


def stored(run):
    return json.loads((run.path / "splits.json").read_text())


def test_training_takes_a_split_and_keeps_it(data, tmp_path):
    own = Split(np.array([9, 0, 1, 2, 3]), np.array([6, 7, 8]), np.array([4, 5]))
    trained = train(data, "majority", out=tmp_path / "run", split=own)
    assert stored(trained) == [{"train": "9,0-3", "val": "4-5", "test": "6-8"}]
    again = train(data, "majority", out=tmp_path / "more", split=tmp_path / "run" / "splits.json")
    assert stored(again) == stored(trained)
    assert again.run.config["parts"]["test"] == "given"
    (read,) = read_splits(tmp_path / "run" / "splits.json", data)
    assert parts(read) == ([9, 0, 1, 2, 3], [4, 5], [6, 7, 8])


def test_a_training_with_a_split_of_its_own_is_resumed_exactly(data, tmp_path):
    def interrupt(epoch):
        raise KeyboardInterrupt

    split = Split(np.array([9, 0, 1, 2, 3]), np.array([6, 7, 8]), np.array([4, 5]))
    options = {"max_epochs": 3, "hidden": 4, "split": split}
    whole = train(data, out=tmp_path / "whole", **options)
    with pytest.raises(KeyboardInterrupt):
        train(data, out=tmp_path / "run", on_epoch=interrupt, **options)
    resumed = train(data, out=tmp_path / "run", resume=True)
    assert resumed.metrics == whole.metrics
    assert np.array_equal(
        resumed.model.predict_proba(data.graphs), whole.model.predict_proba(data.graphs)
    )


def test_a_damaged_split_of_a_run_is_named(data, tmp_path):
    def interrupt(epoch):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(data, out=tmp_path / "run", on_epoch=interrupt, test=0.2, max_epochs=2, hidden=4)
    (tmp_path / "run" / "splits.json").write_text("[{}]")
    with pytest.raises(RunError, match=r"splits\.json is damaged"):
        train(data, out=tmp_path / "run", resume=True)


def test_what_a_network_held_out_by_itself_is_kept_too(data, tmp_path):
    trained = train(data, out=tmp_path / "run", max_epochs=1, hidden=4, validation=0.2)
    (split,) = stored(trained)
    assert set(split) == {"train", "val"}


@pytest.mark.parametrize(("model", "judged"), [("majority", "test"), ("edgnn", "validation")])
def test_training_takes_other_data_for_validation_and_test(data, tmp_path, model, judged):
    more = {"max_epochs": 1, "hidden": 4} if model == "edgnn" else {}
    other = edgnn.Dataset("other", edgnn.from_smiles(["CF", "CCF"]), np.array([0, 1]))
    last = edgnn.Dataset("last", edgnn.from_smiles(["CCl"]), np.array([1]))
    both = train(data, model, out=tmp_path / "a", test=last, validation=other, **more)
    assert (both.evaluated_on, stored(both)[0]["test"]) == ("test", "12")
    alone = train(data, model, out=tmp_path / "b", validation=other, **more)
    assert alone.evaluated_on == judged
    with pytest.raises(DatasetError, match="with a data set for validation, give one for testing"):
        train(data, model, out=tmp_path / "c", validation=other, test=0.2, **more)


def test_evaluating_needs_something_to_test_on(data):
    split = Split(np.arange(8), np.array([], dtype=int), np.array([8, 9]))
    with pytest.raises(EvaluationError, match="no item to test on"):
        evaluate(edgnn.models.MajorityClassifier(), data.graphs, data.targets, [split])


def test_folds_are_not_one_split_to_train_on(table, tmp_path):
    data = edgnn.load_dataset(table, target_column="active", split_column="fold")
    with pytest.raises(DatasetError, match="there are 5 folds, and one model is trained on one"):
        train(data, "majority", out=tmp_path / "run")


def test_a_named_set_has_no_columns():
    with pytest.raises(DatasetError, match="leave split_column out"):
        edgnn.load_dataset("MUTAG", split_column="part")
