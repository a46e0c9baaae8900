import json

import numpy as np
import pytest

from edgnn.errors import FormatError
from edgnn.io import read_labeled, read_smiles_table
from edgnn.io._separated import first_decimal_comma


@pytest.mark.parametrize(
    ("values", "first"),
    [
        (["1", "-0,405", "2.5", ",5"], 1),
        (["1.234,5", "+2,5e-3"], 0),
        (["", None, "0,5"], 2),
        (["0,5", "word"], None),
        (["1", "2.5"], None),
        (["0,0", "1,0"] * 5, None),
        (["0,5", 3], None),
        (["1,2,3", "4,5,6"], None),
        ([], None),
    ],
)
def test_only_columns_of_numbers_have_decimal_commas(values, first):
    assert first_decimal_comma(values) == first


def test_few_values_that_come_again_may_be_names():
    assert first_decimal_comma([f"{number},5" for number in range(20)] * 2) is None
    assert first_decimal_comma([f"{number},5" for number in range(21)] * 2) == 0
    assert first_decimal_comma(["0,0", "1,0"] * 5, names=False) == 0


def test_a_table_of_molecules_names_the_line_and_the_comma(tmp_path):
    rule = "the target 'logD' is '-0,405', a number with a decimal comma; write the numbers of the column with points, as -0.405"
    for gap in ("1,5", ""):
        (tmp_path / "a.csv").write_text(f"smiles;logD\nC;3\nCC;-0,405\nCCC;{gap}\n")
        with pytest.raises(FormatError) as error:
            read_smiles_table(tmp_path / "a.csv", target="logD")
        assert str(error.value).endswith(f"a.csv, line 3: {rule}")


def test_a_gap_among_few_decimal_commas_is_not_asked_to_be_filled(tmp_path):
    (tmp_path / "a.csv").write_text("smiles;y\nC;0,5\nCC;0,5\nCCC;\nCCCC;1,5\nCCCCC;1,5\n")
    with pytest.raises(
        FormatError, match="line 2: the target 'y' is '0,5', a number with a decimal comma"
    ):
        read_smiles_table(tmp_path / "a.csv", target="y")


def test_classes_with_commas_stay_classes(tmp_path):
    (tmp_path / "a.csv").write_text("smiles;y\n" + "C;0,0\nCC;1,0\n" * 3)
    assert sorted(set(read_smiles_table(tmp_path / "a.csv", target="y").targets)) == ["0,0", "1,0"]


def test_tables_of_nodes_and_graphs_name_the_line(tmp_path):
    (tmp_path / "edges.csv").write_text("graph;source;target\ng;a;b\nh;a;c\n")
    (tmp_path / "nodes.csv").write_text("graph;node;age\ng;a;3\ng;b;4,5\nh;a;\nh;c;5,5\n")
    (tmp_path / "graphs.csv").write_text("graph;size\ng;2,5\nh;3\n")
    with pytest.raises(
        FormatError,
        match=r"nodes.csv, line 3: the target 'age' is '4,5', a number with a decimal comma",
    ):
        read_labeled(tmp_path, node_target="age")
    with pytest.raises(
        FormatError,
        match=r"graphs.csv, line 2: the target 'size' is '2,5', a number with a decimal comma",
    ):
        read_labeled(tmp_path, graph_target="size")


def test_graphml_and_json_name_the_node(tmp_path):
    values = {"a": "1,5", "b": "2,5", "c": "3,5"}
    nodes = [{"id": name, "age": value} for name, value in values.items()]
    (tmp_path / "a.json").write_text(
        json.dumps({"directed": True, "graph": {}, "nodes": nodes, "edges": []})
    )
    data = "".join(
        f'<node id="{name}"><data key="age">{value}</data></node>' for name, value in values.items()
    )
    key = '<key id="age" for="node" attr.name="age" attr.type="string"/>'
    (tmp_path / "a.graphml").write_text(
        f'<graphml>{key}<graph edgedefault="directed">{data}</graph></graphml>'
    )
    for name in ("a.json", "a.graphml"):
        with pytest.raises(
            FormatError,
            match="the target 'age' of node 'a' is '1,5', a number with a decimal comma",
        ):
            read_labeled(tmp_path / name, node_target="age")


def test_numbers_with_points_are_read_as_before(tmp_path):
    (tmp_path / "a.csv").write_text("smiles;y\nC;0.5\nCC;\n")
    assert np.isnan(read_smiles_table(tmp_path / "a.csv", target="y").targets).tolist() == [
        False,
        True,
    ]
