"""Several columns of targets at once, and what is called target where there are two tables."""

import pytest

import edgnn
from edgnn.cli._source import Source
from edgnn.errors import DatasetError, FormatError
from edgnn.io.datasets import choose_columns

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
def table(tmp_path):
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
def test_python_and_the_command_line_choose_alike(table, word):
    names = CHOICES[word]
    for data in (
        edgnn.load_dataset(table, target=word),
        edgnn.load_dataset(table, target_column=[word]),
        Source(str(table), target=(word,)).load(),
        Source(str(table), options={"target": word}).load(),
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
