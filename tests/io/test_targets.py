"""What a column of targets means: the same for Python and for the command line."""

import numpy as np
import pytest

import edgnn
from edgnn.cli._source import Source
from edgnn.errors import DatasetError
from edgnn.evaluation import task_of as task_of_evaluation
from edgnn.io.datasets import are_classes, has_few_kinds, task_of

pytest.importorskip("rdkit")

#: Cells of the column, and what they are: classes with these names, or values.
COLUMNS = {
    "whole numbers": (["0", "1"] * 3, ("0", "1")),
    "whole numbers with a point": (["0.0", "1.0"] * 3, ("0", "1")),
    "words": (["yes", "no"] * 3, ("no", "yes")),
    "numbers": (["0.5", "1.25", "2", "3", "4", "5"], None),
    "different whole numbers with a point": (["0.0", "1.0", "2.0", "3.0", "4.0", "5.0"], None),
    "different whole numbers": (["0", "1", "2", "3", "4", "5"], ("0", "1", "2", "3", "4", "5")),
    "whole numbers and gaps": (["0", "1", "", "1", "0", "1"], None),
    "large numbers": (["1e300", "2e300"] * 3, None),
    "many kinds": ([f"{number}.0" for number in range(21)] * 2, None),
    "twenty kinds": ([f"{number}.0" for number in range(20)] * 2, tuple(map(str, range(20)))),
}


def table(tmp_path, cells):
    path = tmp_path / "a.csv"
    rows = (f"{'C' * (number + 1)},{cell}\n" for number, cell in enumerate(cells))
    path.write_text("smiles,y\n" + "".join(rows))
    return path


@pytest.mark.filterwarnings("ignore:.*targets are missing")
@pytest.mark.filterwarnings("ignore:only one graph has the class")
@pytest.mark.parametrize("kind", COLUMNS)
def test_python_and_the_command_line_agree(tmp_path, kind):
    cells, names = COLUMNS[kind]
    path = table(tmp_path, cells)
    ours = edgnn.load_dataset(path, target="y")
    theirs = Source(str(path), target=("y",)).load()
    assert ours.task == theirs.task == ("values" if names is None else "classes")
    assert set(ours.class_names) == set(theirs.class_names) == set(names or ())
    assert np.array_equal(ours.targets, theirs.targets, equal_nan=True)
    assert ours.task == task_of_evaluation(ours.targets)


@pytest.mark.filterwarnings("ignore:.*left out")
@pytest.mark.parametrize(("task", "regression"), [("classes", False), ("values", True)])
@pytest.mark.parametrize("kind", COLUMNS)
def test_what_is_asked_for_is_the_same(tmp_path, kind, task, regression):
    path = table(tmp_path, COLUMNS[kind][0])
    results = []
    for load in (
        lambda: edgnn.load_dataset(path, target="y", task=task),
        lambda: Source(str(path), target=("y",), regression=regression).read(),
    ):
        try:
            data = load()
            results.append((data.task, data.class_names, data.targets.tolist()))
            assert data.task == task
        except DatasetError as error:
            results.append(str(error))
    assert str(results[0]) == str(results[1])


def test_items_without_a_class_are_left_out(tmp_path):
    path = table(tmp_path, ["0", "1", "", "1"])
    with pytest.warns(UserWarning, match="1 of 4 graphs has no target and is left out"):
        data = edgnn.load_dataset(path, target="y", task="classes")
    assert (data.targets.tolist(), data.graphs.sizes.tolist()) == ([0, 1, 1], [1, 2, 4])
    assert data.items is data.graphs


def test_what_cannot_be_is_an_error_that_names_the_target(tmp_path):
    with pytest.raises(DatasetError, match=r"classes must be whole numbers .* target 0\.5"):
        edgnn.load_dataset(table(tmp_path, ["0.5", "1"]), target="y", task="classes")
    with pytest.raises(DatasetError, match=r"'n/a' \(graph 1, counted from 0\)"):
        edgnn.load_dataset(table(tmp_path, ["1", "n/a"]), target="y", task="values")
    with pytest.raises(DatasetError, match="task='regression': choose 'classes' or 'values'"):
        edgnn.load_dataset(table(tmp_path, ["1", "2"]), target="y", task="regression")


def test_several_columns_are_labels_or_values(tmp_path):
    (tmp_path / "a.csv").write_text("smiles,y,z,w\nC,0,1,2.5\nCC,1,,3\n")
    data = edgnn.load_dataset(tmp_path / "a.csv", target=["y", "z"])
    assert (data.task, data.class_names) == ("labels", ())
    assert edgnn.load_dataset(tmp_path / "a.csv", target=["y", "w"]).task == "values"
    assert edgnn.load_dataset(tmp_path / "a.csv").task is None
    for targets in (data.targets, np.array([[0.5, 1.0]]), np.array([[0, 1]]), np.array([1, 2])):
        assert task_of(targets) == task_of_evaluation(targets)


def test_twenty_kinds_are_few():
    assert has_few_kinds(np.arange(20.0))
    assert not has_few_kinds(np.arange(21.0))
    assert not has_few_kinds(np.array([0.5]))
    assert are_classes(np.arange(20.0).repeat(2))
    assert not are_classes(np.arange(20.0))


def test_the_column_of_targets_is_named_alike_for_every_format(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\n")
    (tmp_path / "nodes.csv").write_text("node,role\na,x\nb,y\nc,x\n")
    data = edgnn.load_dataset(tmp_path, target_column="role")
    assert (data.level, data.class_names, len(data.items)) == ("node", ("x", "y"), 3)
    with pytest.raises(DatasetError, match="nodes have one target here, but 2 columns were named"):
        edgnn.load_dataset(tmp_path, target_column=["role", "node"])
    path = table(tmp_path, ["1", "2"])
    assert edgnn.load_dataset(path, target_column="y").task == "classes"
    with pytest.raises(DatasetError, match="in which graphs have targets; use level='graph'"):
        edgnn.load_dataset(path, target_column="y", level="node")
    with pytest.raises(DatasetError, match="leave target out"):
        edgnn.load_dataset("MUTAG", target_column="y")
