"""What a column of targets means: the same for Python and for the command line."""

import numpy as np
import pytest

import edgnn
from edgnn.cli._source import Source
from edgnn.errors import DatasetError, FormatError
from edgnn.evaluation import task_of as task_of_evaluation
from edgnn.io.datasets import are_classes, choose_columns, has_few_kinds, task_of

pytest.importorskip("rdkit")

#: Cells of the column, and what they are: classes with these names, or values.
COLUMNS = {
    "whole numbers": (["0", "1"] * 3, ("0", "1")),
    "whole numbers with a point": (["0.0", "1.0"] * 3, ("0", "1")),
    "words": (["yes", "no"] * 3, ("no", "yes")),
    "numbers": (["0.5", "1.25", "2", "3", "4", "5"], None),
    "different whole numbers with a point": (["0.0", "1.0", "2.0", "3.0", "4.0", "5.0"], None),
    "different whole numbers": (["0", "1", "2", "3", "4", "5"], ("0", "1", "2", "3", "4", "5")),
    "0 and 1 with a gap": (["0", "1", "", "1"], ("0", "1")),
    "0.0 and 1.0 with gaps": (["0.0", "", "1.0", "nan"], ("0", "1")),
    "a few whole numbers with a gap": (["1", "2", "", "3", "1", "2", "3"], ("1", "2", "3")),
    "different whole numbers with a gap": (["0", "1", "", "2", "3"], None),
    "numbers with a gap": (["0.5", "1", "", "0"], None),
    "large numbers": (["1e300", "2e300"] * 3, None),
    "many kinds": ([f"{number}.0" for number in range(21)] * 2, None),
    "twenty kinds": ([f"{number}.0" for number in range(20)] * 2, tuple(map(str, range(20)))),
}


def table(tmp_path, cells):
    path = tmp_path / "a.csv"
    rows = (f"{'C' * (number + 1)},{cell}\n" for number, cell in enumerate(cells))
    path.write_text("smiles,y\n" + "".join(rows))
    return path


@pytest.mark.filterwarnings("ignore:.*left out")
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


def molecules(folder, header, cells, mark):
    text = "".join(f"{'C' * (n + 1)}{mark}{cell}\n" for n, cell in enumerate(cells))
    (folder / "data").write_text(f"smiles{mark}{header}\n{text}")
    return {}


def of_nodes(folder, header, cells, mark):
    text = "".join(f"n{n}{mark}{cell}\n" for n, cell in enumerate(cells))
    (folder / "nodes").write_text(f"node{mark}{header}\n{text}")
    edges = "".join(f"n{n}{mark}n{(n + 1) % len(cells)}\n" for n in range(len(cells)))
    (folder / "data").write_text(f"source{mark}target\n{edges}")
    return {"nodes": "nodes"}


def of_names(folder, header, cells, mark):
    of_nodes(folder, header, cells, mark)
    return {"target_file": "nodes"}


def of_graphs(folder, header, cells, mark):
    of_nodes(folder, header, cells, mark)
    edges = "".join(f"n{n}{mark}a{mark}b\n" for n in range(len(cells)))
    (folder / "data").write_text(f"graph{mark}source{mark}target\n{edges}")
    nodes = (folder / "nodes").read_text()
    (folder / "graphs").write_text(nodes.replace("node", "graph", 1))
    return {"graphs": "graphs"}


def as_parquet(path):
    """Write a table of text again as Parquet, with types."""
    arrow_csv = pytest.importorskip("pyarrow.csv")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow_csv.read_csv(path), path.with_suffix(".parquet"))


#: Name of the column, as a table separated by commas and one by tabs write it.
COMMA_NAME = {
    ".csv": '"activity, at 10 nM"',
    ".tsv": "activity, at 10 nM",
    ".txt": '"activity, at 10 nM"',
}
MARKS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
FILES = [
    *((make, suffix) for make in (molecules, of_nodes, of_names, of_graphs) for suffix in MARKS),
    (of_nodes, ".parquet"),
    (of_graphs, ".parquet"),
]


@pytest.mark.filterwarnings("ignore:.*left out")
@pytest.mark.parametrize("cells", [["0.0", "1.0"] * 3, ["0", "", "1", "1", "1", "0"]])
@pytest.mark.parametrize(("make", "suffix"), FILES)
def test_every_table_says_the_same(tmp_path, monkeypatch, make, suffix, cells):
    monkeypatch.chdir(tmp_path)
    source = ".csv" if suffix == ".parquet" else suffix
    options = make(tmp_path, COMMA_NAME[source], cells, MARKS[source])
    for path in [tmp_path / name for name in ("data", "nodes", "graphs")]:
        if path.exists():
            path = path.rename(path.with_suffix(source))
            if suffix == ".parquet":
                as_parquet(path)
    options = {option: f"{name}{suffix}" for option, name in options.items()}
    name = "activity, at 10 nM"
    ours = edgnn.load_dataset(f"data{suffix}", target_column=name, **options)
    file = options.pop("target_file", None)
    theirs = Source(f"data{suffix}", target=(name,), target_file=file, options=options).load()
    assert ours.class_names == theirs.class_names == ("0", "1")
    assert (
        ours.targets.tolist() == theirs.targets.tolist() == [int(cell[0]) for cell in cells if cell]
    )


def test_truth_values_with_gaps_are_classes(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "edges.csv").write_text("graph,source,target\n0,a,b\n1,a,b\n2,b,a\n")
    columns = {"graph": [0, 1, 2], "on": [True, None, False], "off": [None, True, False]}
    parquet.write_table(pa.table(columns), tmp_path / "graphs.parquet")
    with pytest.warns(UserWarning, match="1 of 3 graphs has no target and is left out"):
        data = edgnn.load_dataset(tmp_path, target_column="on")
    assert (data.class_names, data.targets.tolist()) == (("False", "True"), [1, 0])
    both = edgnn.load_dataset(tmp_path, target_column=["on", "off"])
    assert both.task == "labels"
    assert np.array_equal(both.targets, [[1, np.nan], [np.nan, 1], [0, 0]], equal_nan=True)


@pytest.mark.parametrize("cells", [["", "", ""], ["nan", "NaN", ""]])
@pytest.mark.parametrize(
    ("make", "item"),
    [(molecules, "molecule"), (of_nodes, "node"), (of_names, "node"), (of_graphs, "graph")],
)
def test_a_column_without_values_is_named(tmp_path, monkeypatch, make, item, cells):
    monkeypatch.chdir(tmp_path)
    options = make(tmp_path, "y,z", [f"{cell},1" for cell in cells], ",")
    for path in tmp_path.iterdir():
        path.rename(path.with_suffix(".csv"))
    options = {option: f"{name}.csv" for option, name in options.items()}
    with pytest.raises(
        FormatError, match=f"no {item} has a value for 'y'; check the name, or choose"
    ):
        edgnn.load_dataset("data.csv", target_column="y", **options)


def test_items_without_a_class_are_left_out(tmp_path):
    path = table(tmp_path, ["0", "1", "", "1"])
    with pytest.warns(UserWarning, match="1 of 4 graphs has no target and is left out"):
        data = edgnn.load_dataset(path, target="y")
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


# Several columns of targets at once, and what is called target where there are two tables.


FREE = ["logP", "NR-AR", "NR-ER", "dose, nM", "a*b", "NR (all)"]


@pytest.mark.parametrize(
    ("words", "columns"),
    [
        (["logP"], ["logP"]),
        (["logP,NR-AR"], ["logP", "NR-AR"]),
        (["logP", "NR-AR, logP"], ["logP", "NR-AR"]),
        (["NR-*"], ["NR-AR", "NR-ER"]),
        (["*"], FREE),
        (["NR-ER", "*"], ["NR-ER", "logP", "NR-AR", "dose, nM", "a*b", "NR (all)"]),
        (["dose, nM"], ["dose, nM"]),
        (['"dose, nM",logP'], ["dose, nM", "logP"]),
        (["a*b"], ["a*b"]),
        (["*(all)"], ["NR (all)"]),
        (["unheard"], ["unheard"]),
        ([], []),
    ],
)
def test_words_name_columns(words, columns):
    assert choose_columns(words, FREE) == columns


def test_a_pattern_that_fits_nothing_is_an_error():
    with pytest.raises(DatasetError, match=r"no column fits target='SR-\*'.* uses are 'logP', "):
        choose_columns(["SR-*"], FREE)


@pytest.fixture
def table_of_assays(tmp_path):
    pytest.importorskip("rdkit")
    (tmp_path / "a.csv").write_text(
        'id,smiles,NR-AR,NR-ER,"dose, nM"\nx,C,0,1,0\ny,CC,1,,1\nz,CCC,0,0,1\nw,CO,1,1,0\n'
    )
    return tmp_path / "a.csv"


CHOICES = {
    "NR-AR,NR-ER": ("NR-AR", "NR-ER"),
    "NR-*": ("NR-AR", "NR-ER"),
    "*": ("NR-AR", "NR-ER", "dose, nM"),
    "dose, nM": ("dose, nM",),
}


@pytest.mark.parametrize("word", CHOICES)
def test_python_and_the_command_line_choose_alike(table_of_assays, word):
    names = CHOICES[word]
    for data in (
        edgnn.load_dataset(table_of_assays, target=word),
        edgnn.load_dataset(table_of_assays, target_column=[word]),
        Source(str(table_of_assays), target=(word,)).load(),
        Source(str(table_of_assays), options={"target": word}).load(),
    ):
        assert data.target_names == names
        assert data.targets.shape == ((4, len(names)) if len(names) > 1 else (4,))


def test_properties_of_molecules_are_columns(tmp_path):
    chem = pytest.importorskip("rdkit.Chem")
    with chem.SDWriter(str(tmp_path / "a.sdf")) as writer:
        for number in range(3):
            mol = chem.MolFromSmiles("C" * (number + 1))
            mol.SetProp("NR-A", str(number % 2))
            mol.SetProp("NR-B", "1")
            mol.SetProp("note", "hm")
            writer.write(mol)
    data = edgnn.load_dataset(tmp_path / "a.sdf", target="NR-*")
    assert (data.target_names, data.targets.tolist()) == (
        ("NR-A", "NR-B"),
        [[0, 1], [1, 1], [0, 1]],
    )


def test_tables_of_graphs_and_of_names_take_patterns(tmp_path):
    (tmp_path / "edges.csv").write_text("graph,source,target\n0,a,b\n1,a,b\n")
    (tmp_path / "graphs.csv").write_text("graph,y1,y2,z\n0,0,1,5\n1,1,0,6\n")
    assert edgnn.load_dataset(tmp_path, target_column="y*").targets.tolist() == [[0, 1], [1, 0]]
    assert edgnn.load_dataset(tmp_path, graph_target="*").target_names == ("y1", "y2", "z")
    (tmp_path / "nodes.csv").write_text("graph,node,p,q\n0,a,1,1\n0,b,1,1\n1,a,1,1\n1,b,1,1\n")
    with pytest.raises(DatasetError, match=r"nodes have one target here, but 2 columns .*: p, q"):
        edgnn.load_dataset(tmp_path, target_column="*", level="node")
    (tmp_path / "links.csv").write_text("source,target\na,b\nb,c\n")
    (tmp_path / "roles.csv").write_text("who,y1,y2,z\na,0,1,5\nb,1,0,6\n")
    read = {"target_file": tmp_path / "roles.csv"}
    data = edgnn.load_dataset(tmp_path / "links.csv", target_column="y*", **read)
    assert (data.target_names, data.targets.tolist()) == (("y1", "y2"), [[0, 1], [1, 0]])
    assert (
        edgnn.load_dataset(tmp_path / "links.csv", target_column="*", **read).targets.shape[1] == 3
    )
    with pytest.raises(
        FormatError, match="Name one or several of 'y1', 'y2', 'z' with target_column"
    ):
        edgnn.load_dataset(tmp_path / "links.csv", **read)


def test_target_of_a_table_of_edges_is_the_end_of_an_edge(tmp_path):
    (tmp_path / "edges.tsv").write_text("head\trelation\ttail\na\tr\tb\nb\ts\tc\n")
    (tmp_path / "roles.tsv").write_text("who\trole\na\tx\nc\ty\n")
    read = {"source": "head", "target": "tail", "edge_label": "relation"}
    file = tmp_path / "roles.tsv"
    for data in (
        edgnn.load_dataset(tmp_path / "edges.tsv", target_file=file, **read),
        edgnn.load_dataset(tmp_path / "edges.tsv", target_file=file, target_column="role", **read),
        Source(str(tmp_path / "edges.tsv"), target_file=str(file), options=read).read(),
    ):
        assert (data.class_names, data.nodes.names) == (("x", "y"), ["a", "c"])
    advice = r"the column of targets is target_column= \(--target in a command\)"
    with pytest.raises(FormatError, match=f"no column 'role'.*{advice}"):
        edgnn.load_dataset(tmp_path / "edges.tsv", target_file=file, source="head", target="role")


def test_targets_of_the_file_itself_do_not_matter_beside_a_table(tmp_path):
    (tmp_path / "edges.csv").write_text("graph,source,target\n0,a,b\n1,a,b\n2,b,a\n")
    (tmp_path / "graphs.csv").write_text("graph,target\n0,1\n1,\n2,0\n")
    (tmp_path / "others.csv").write_text("graph,y\n0,p\n1,q\n2,p\n")
    data = edgnn.load_dataset(tmp_path, target_file=tmp_path / "others.csv")
    assert (len(data.graphs), data.class_names) == (3, ("p", "q"))


def test_target_of_other_formats_is_the_column_of_the_table(tmp_path):
    (tmp_path / "a.nt").write_text("<n:a> <r:r> <n:b> .\n<n:b> <r:r> <n:c> .\n")
    (tmp_path / "who.csv").write_text("node,y,z\nn:a,0,1\nn:b,1,1\nn:c,1,0\n")
    data = edgnn.load_dataset(tmp_path / "a.nt", target_file=tmp_path / "who.csv", target="y,z")
    assert (data.task, data.target_names) == ("labels", ("y", "z"))


# Names that are not in the data


def test_rows_that_name_nothing_are_skipped_where_asked(tmp_path):
    (tmp_path / "a.nt").write_text("<n:a> <r:r> <n:b> .\n<n:b> <r:r> <n:c> .\n")
    (tmp_path / "who.csv").write_text("node,y\nn:a,p\nn:x,q\nn:b,q\nn:y,p\n")
    read = {"target_file": tmp_path / "who.csv"}
    with pytest.raises(FormatError, match=r"line 3: 'n:x' is no node .*unknown_names='skip'"):
        edgnn.load_dataset(tmp_path / "a.nt", **read)
    with pytest.warns(
        UserWarning, match="2 of the 4 names in column 1 .* skipped; .* 'n:x' in line 3"
    ):
        data = edgnn.load_dataset(tmp_path / "a.nt", unknown_names="skip", **read)
    assert (data.nodes.names, data.class_names) == (["n:a", "n:b"], ("p", "q"))
    (tmp_path / "who.csv").write_text("node,y\nn:x,q\nn:y,p\n")
    with pytest.raises(FormatError, match="unknown are 2 of the 2 names"):
        edgnn.load_dataset(tmp_path / "a.nt", unknown_names="skip", **read)
    with pytest.raises(DatasetError, match="unknown_names='map': choose 'error' or 'skip'"):
        edgnn.load_dataset(tmp_path / "a.nt", unknown_names="map", **read)


def test_nodes_by_name_may_skip_unknown_ones():
    graphs = edgnn.Graphs.from_edges([(0, 1)], node_names=["a", "b"])
    assert edgnn.Nodes.named(graphs, ["b", "x", "a"], unknown="skip").names == ["b", "a"]
    with pytest.raises(edgnn.errors.GraphError, match="unknown='map': choose 'error' or 'skip'"):
        edgnn.Nodes.named(graphs, ["b"], unknown="map")
