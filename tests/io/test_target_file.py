import pytest

import edgnn
from edgnn.errors import DatasetError, FormatError, GraphError
from edgnn.io.datasets import named_nodes, targets_of_file

WHERE = "http://uni.example/data/"
NAMES = [f"{WHERE}p{number}" for number in range(6)] + ["_:b4", "_:b5"]


def people(names=NAMES):
    return edgnn.Graphs.from_edges([(0, 1)], num_nodes=len(names), node_names=names)


def named(tmp_path, text, graphs=None):
    (tmp_path / "list.txt").write_bytes(text.encode())
    return named_nodes(people() if graphs is None else graphs, tmp_path / "list.txt").index.tolist()


def said(tmp_path, text, graphs=None):
    with pytest.raises(FormatError) as error:
        named(tmp_path, text, graphs)
    return str(error.value).partition("list.txt, ")[2]


def targeted(tmp_path, text, target=(), names=NAMES):
    (tmp_path / "targets.csv").write_text(text)
    return targets_of_file(people(names), tmp_path / "targets.csv", target)


def refused(tmp_path, text, target=(), names=NAMES):
    with pytest.raises(FormatError) as error:
        targeted(tmp_path, text, target, names)
    return str(error.value).partition("targets.csv, ")[2]


# Lists of nodes


@pytest.mark.parametrize(
    "header", ["", "node\n", "NAME\n", " Iri \n", "entity_id\n", "\ufeffuri\n", "\ufeff"]
)
def test_a_list_of_nodes_may_say_what_it_holds(tmp_path, header):
    assert named(tmp_path, f"{header}{WHERE}p3\n\n<{WHERE}p1>\n") == [3, 1]


def test_a_first_name_that_is_unknown_is_no_header(tmp_path):
    told = said(tmp_path, f"{WHERE}p3x\n{WHERE}p2\n")
    assert told.startswith(
        f"line 1: '{WHERE}p3x' is no node of the data; unknown are 1 of the 2 names in column 1"
    )
    assert told.endswith(f"; did you mean '{WHERE}p3'?")
    assert said(tmp_path, "\nann\nbob\n", people(["anna", "bob"])).startswith(
        "line 2: 'ann' is no node of the data"
    )
    assert said(tmp_path, f"{WHERE}p3x\n").startswith("line 1: ")


def test_names_with_blanks_are_whole_lines(tmp_path):
    graphs = people(["Marie Curie", "Ada, Lady Lovelace", "Emmy Noether"])
    assert named(tmp_path, "name\nAda, Lady Lovelace\nMarie Curie\n", graphs) == [1, 0]
    assert said(tmp_path, "Marie Curie\nEmy Noether\n", graphs).startswith(
        "line 2: 'Emy Noether' is no node of the data"
    )


def test_the_first_row_of_a_table_of_nodes_may_name_columns_or_a_node(tmp_path):
    assert named(tmp_path, f"why,who\nfun,{WHERE}p3\n") == [3]
    assert named(tmp_path, f"fun,{WHERE}p2\nwork,{WHERE}p3\n") == [2, 3]
    assert said(tmp_path, f"fun,{WHERE}px\nwork,{WHERE}p3\n").startswith(
        f"line 1: '{WHERE}px' is no node of the data"
    )


# Names that are not there


@pytest.mark.parametrize(("name", "rule"), [("d:p4", ", not a prefix"), ("p4", "")])
def test_a_name_that_is_not_whole_asks_for_the_iri(tmp_path, name, rule):
    told = said(tmp_path, f"{name}\n{WHERE}p1\n")
    assert "unknown are 1 of the 2 names in column 1 (unknown_names='skip'" in told
    assert told.endswith(f"leaves them out); give the whole IRI{rule}; did you mean '{WHERE}p4'?")


def test_a_blank_node_is_meant_only_by_a_name_of_one(tmp_path):
    assert "_:" not in said(tmp_path, "d:b4\n")
    assert said(tmp_path, "_:b44\n").endswith("; did you mean '_:b4'?")


def test_names_without_iris_are_not_asked_for_one(tmp_path):
    graphs = people(["n:node1", "n:node2"])
    assert said(tmp_path, "n:node22\nn:node1\n", graphs).endswith("; did you mean 'n:node2'?")
    assert "remove the row" in said(tmp_path, "entirely different\nn:node1\n", graphs)


# Tables of targets


def test_a_table_of_targets_without_a_header_keeps_its_first_row(tmp_path):
    classes = targeted(tmp_path, f"{WHERE}p0,staff\n{WHERE}p1,student\n{WHERE}p2,staff\n")
    assert classes.nodes.index.tolist() == [0, 1, 2]
    assert classes.targets.tolist() == ["staff", "student", "staff"]
    values = targeted(tmp_path, f"0.5,{WHERE}p0\n,{WHERE}p1\n2.25,{WHERE}p2\n")
    assert (values.targets[0], values.targets[2], values.nodes.index.tolist()) == (
        0.5,
        2.25,
        [0, 1, 2],
    )


def test_an_unknown_first_iri_is_a_row_too(tmp_path):
    told = refused(tmp_path, f"{WHERE}p0x,staff\n{WHERE}p1,student\n")
    assert told.startswith(f"line 1: '{WHERE}p0x' is no node of the data")


def test_columns_without_names_cannot_be_chosen(tmp_path):
    rows = f"{WHERE}p0,staff\n{WHERE}p1,staff\n"
    rule = f"the first line names the node '{WHERE}p0', not the columns; put a header above it, such as node,"
    assert refused(tmp_path, rows, ["role"]) == f"line 1: there is no column 'role': {rule}role"
    told = refused(tmp_path, f"{WHERE}p0,staff,3\n{WHERE}p1,staff,4\n")
    assert (
        told == f"line 1: {rule}target, or if it is one, say which of its columns holds the targets"
    )


def test_a_header_may_be_the_name_of_a_node(tmp_path):
    names, rows = ["person", "ann", "bob", "id"], "ann,a\nbob,b\n"
    assert "or if it is one, say which of its columns" in refused(
        tmp_path, f"person,group\n{rows}", names=names
    )
    for header, target in (("person,group", ["Group"]), ("id,group", ())):
        data = targeted(tmp_path, f"{header}\n{rows}", target, names)
        assert (data.nodes.index.tolist(), data.targets.tolist()) == ([1, 2], ["a", "b"])


def test_a_table_without_targets_says_so(tmp_path):
    (tmp_path / "targets.csv").write_text(f"node\n{WHERE}p0\n")
    with pytest.raises(
        FormatError,
        match="which column holds the targets\\? There is none beside the names; add one",
    ):
        targets_of_file(people(), tmp_path / "targets.csv")


def test_a_table_of_edges_keeps_its_own_column_called_target(tmp_path):
    (tmp_path / "edges.csv").write_text("from,to\na,b\nb,c\n")
    (tmp_path / "roles.csv").write_text("id,role,age\na,x,3\nb,y,4\n")
    read = {"source": "from", "target": "to", "target_file": tmp_path / "roles.csv"}
    data = edgnn.load_dataset(tmp_path / "edges.csv", target_column="role", **read)
    assert (data.graphs.num_edges, len(data.nodes), data.class_names) == (2, 2, ("x", "y"))
    assert edgnn.load_dataset(
        tmp_path / "edges.csv", target_column=["age"], **read
    ).targets.tolist() == [0, 1]
    with pytest.raises(GraphError, match="'role' is a column of the node table"):
        edgnn.load_dataset(tmp_path / "edges.csv", target_column="role", source="from", target="to")


def test_a_path_that_is_wrong_is_told_as_one_whatever_the_options():
    with pytest.raises(DatasetError, match=r"there is no file 'molz\.csv'"):
        edgnn.load_dataset("molz.csv", target="class_")
    with pytest.raises(
        DatasetError, match="'MUTAG' is a named data set, which takes no reader options"
    ):
        edgnn.load_dataset("MUTAG", target="class_")
