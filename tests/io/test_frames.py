"""Data frames where files are taken: the same as the CSV file of them."""

import numpy as np
import pytest

import edgnn
from edgnn.errors import FormatError, GraphError


class Series:
    """A column as pandas and polars have it: a list on request."""

    ndim, dtype = 1, np.dtype(object)

    def __init__(self, values):
        self._values = values

    def __iter__(self):
        return iter(self._values)

    def __array__(self, dtype=None, copy=None):
        return np.array(self._values, dtype)

    def to_list(self):
        return list(self._values)


class Frame:
    """As little of a data frame as is needed: column names, and columns by name."""

    def __init__(self, columns):
        self._columns = columns
        self.columns = list(columns)

    def __getitem__(self, name):
        return Series(self._columns[name])


def in_pandas(columns):
    return pytest.importorskip("pandas").DataFrame(columns)


def in_polars(columns):
    return pytest.importorskip("polars").DataFrame(columns)


def in_pyarrow(columns):
    pa = pytest.importorskip("pyarrow")
    return pa.table({str(name): values for name, values in columns.items()})


pytestmark = pytest.mark.parametrize("frame", [Frame, in_pyarrow, in_pandas, in_polars])

MOLECULES = {
    "structure, smiles": ["CCO", "c1ccccc1N", "CC", "CCC"],
    "id": ["a", "b", "c", "d"],
    "y": [0.0, 1.0, None, 1.0],
    "z": [0.5, 1.5, 2.5, None],
    "kind": ["no", "yes", "yes", "no"],
}


@pytest.mark.filterwarnings("ignore:.*left out")
@pytest.mark.parametrize("target", ["y", "z", "kind", "y,z", "k*"])
def test_molecules_are_read_as_from_their_file(frame, tmp_path, target):
    pytest.importorskip("rdkit")
    cells = zip(*MOLECULES.values(), strict=True)
    rows = [["" if cell is None else str(cell) for cell in row] for row in cells]
    header = ",".join(f'"{name}"' for name in MOLECULES)
    (tmp_path / "a.csv").write_text("\n".join([header, *map(",".join, rows)]))
    options = {"smiles": "structure, smiles", "target": target}
    ours = edgnn.load_dataset(frame(MOLECULES), **options)
    theirs = edgnn.load_dataset(tmp_path / "a.csv", **options)
    assert ours.graphs.equals(theirs.graphs)
    assert (ours.task, ours.class_names) == (theirs.task, theirs.class_names)
    assert np.array_equal(ours.targets, theirs.targets, equal_nan=ours.targets.dtype.kind == "f")


def test_columns_are_lists(frame):
    pytest.importorskip("rdkit")
    table = frame({"smiles": MOLECULES["structure, smiles"] * 3, "y": MOLECULES["kind"] * 3})
    graphs = edgnn.from_smiles(table["smiles"])
    assert graphs.equals(edgnn.from_smiles(MOLECULES["structure, smiles"] * 3))
    assert graphs.equals(edgnn.read(table))
    model = edgnn.RidgeGraphClassifier().fit(table["smiles"], table["y"])
    assert list(model.predict(table["smiles"])) == list(model.predict(graphs))


def test_a_frame_of_one_column_is_that_column(frame):
    pytest.importorskip("rdkit")
    smiles, kinds = MOLECULES["structure, smiles"] * 3, MOLECULES["kind"] * 3
    table = frame({"smiles": smiles})
    graphs = edgnn.from_smiles(smiles)
    assert edgnn.from_smiles(table).equals(graphs)
    model = edgnn.RidgeGraphClassifier().fit(table, kinds)
    assert list(model.predict(table)) == list(model.predict(graphs))


def test_of_a_frame_of_several_columns_one_must_be_chosen(frame):
    pytest.importorskip("rdkit")
    table = frame(MOLECULES)
    for read in (edgnn.from_smiles, lambda table: edgnn.GraphClassifier().fit(table, [0, 1])):
        with pytest.raises(GraphError, match=r"of 5 columns .*choose it, as df\['smiles'\]"):
            read(table)


EDGES = {"from": [1, 2, 3], "to": [2, 3, 1], "kind": ["x", "y", "x"], "weight": [0.5, 1.0, 2.0]}
NODES = {"who": [3, 1, 2], "role": ["p", None, "q"], "flag": [True, None, False]}


def test_tables_of_edges_and_nodes_keep_their_types(frame):
    pytest.importorskip("pyarrow")
    read = {"source": "from", "target": "to", "edge_label": "kind", "edge_features": "weight"}
    graphs = edgnn.read(frame(EDGES), **read)
    assert (graphs.edge_labels, graphs.edge_features.tolist()) == (
        ["x", "y", "x"],
        [[0.5], [1], [2]],
    )
    assert graphs.node_names.tolist() == [1, 2, 3]
    data = edgnn.load_dataset(
        frame(EDGES), nodes=frame(NODES), node="who", target_column="role", **read
    )
    assert (data.nodes.names, data.class_names) == ([3, 2], ("p", "q"))


def test_targets_may_stand_in_another_frame(frame):
    pytest.importorskip("pyarrow")
    edges = frame({"source": ["a", "b"], "target": ["b", "c"]})
    roles = frame({"who": ["a", "c"], "role": ["x", "y"], "age": [3, 4]})
    data = edgnn.load_dataset(edges, target_file=roles, target_column="role")
    assert (data.nodes.names, data.class_names) == (["a", "c"], ("x", "y"))


def test_columns_of_one_name_are_told(frame):
    if frame is not in_pandas:
        pytest.skip("others have each name once")
    table = frame({"smiles": ["C", "CC"], "other": ["N", "O"], "y": ["a", "b"]})
    table.columns = ["smiles", "smiles", "y"]
    with pytest.raises(FormatError, match="2 columns are called 'smiles'; rename"):
        edgnn.load_dataset(table, target="y")


def test_errors_name_the_column_and_the_row(frame):
    pytest.importorskip("pyarrow")
    pytest.importorskip("rdkit")
    with pytest.raises(FormatError, match=r"neither columns 'source' and 'target' .* 'a', 'b'"):
        edgnn.read(frame({"a": ["p"], "b": ["q"]}))
    with pytest.raises(FormatError, match="line 3: SMILES 'nonsense': RDKit cannot read it"):
        edgnn.read(frame({"smiles": ["C", "nonsense"]}))
    with pytest.raises(FormatError, match=r"there is no column 'z'; .* 'smiles', 'y'"):
        edgnn.load_dataset(frame({"smiles": ["C"], "y": [1]}), target="z")
    with pytest.raises(FormatError, match="line 3: the column 'target' is empty"):
        edgnn.read(frame({"source": ["a", "b"], "target": ["b", None]}))
    with pytest.raises(GraphError, match="has no option 'sauce'"):
        edgnn.read(frame({"source": ["a"], "target": ["b"]}), sauce="x")
