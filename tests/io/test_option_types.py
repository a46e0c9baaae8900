import numpy as np
import pytest

import edgnn
from edgnn.errors import GraphError


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("0,1,2,3\na,b,0.5,1\nb,a,1.5,2\n")
    return path


def test_columns_may_be_called_by_numbers(table):
    graphs = edgnn.read(table, source=0, target=1, edge_label=3, edge_features=[2])
    assert graphs.edge_labels == [1, 2]
    assert graphs.edge_features.tolist() == [[0.5], [1.5]]
    assert edgnn.read(
        table, source="0", target="1", edge_features=np.array(["2", "3"])
    ).edge_features.shape == (2, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": ["0"]}, r"source=\['0'\]: this option of the format 'tables' takes text$"),
        ({"source": True}, "source=True: .* takes text$"),
        ({"edge_label": 1.5}, "edge_label=1.5: .* takes text or None$"),
        (
            {"edge_features": [1.5]},
            r"edge_features=\[1.5\]: .* takes text, a list of texts or None$",
        ),
        ({"edge_features": iter(["2"])}, "edge_features=.* takes text, a list of texts or None$"),
        ({"nodes": True}, "nodes=True: .* takes text, a path or None$"),
        ({"max_bytes": "many"}, "max_bytes='many': .* takes a whole number or None$"),
        ({"max_bytes": True}, "max_bytes=True: .* takes a whole number or None$"),
        ({"source": "x" * 500}, "there is no column"),
        ({"delimiter": {}}, "delimiter={}: .* takes text or None$"),
    ],
)
def test_an_option_of_another_type_is_told_before_the_file_is_read(table, options, message):
    with pytest.raises(GraphError, match=message):
        edgnn.read(table, format="tables", **({"source": "0", "target": "1"} | options))


def test_numbers_of_numpy_are_whole_numbers_too(table):
    assert edgnn.read(table, source=0, target=1, max_bytes=np.int64(1_000)).num_edges == 2


def test_options_that_molecules_share_are_looked_at(tmp_path):
    (tmp_path / "a.smi").write_text("CCO\n")
    with pytest.raises(
        GraphError, match="hydrogens='yes': this option of the format 'smiles' takes True or False"
    ):
        edgnn.read(tmp_path / "a.smi", hydrogens="yes")


@pytest.mark.parametrize("label", [True, 1.5])
def test_a_label_of_atoms_is_words_or_a_function(tmp_path, label):
    (tmp_path / "a.csv").write_text("smiles\nCCO\n")
    with pytest.raises(
        GraphError, match=r"atom_label=.*takes text, a list of texts, a function or"
    ):
        edgnn.read(tmp_path / "a.csv", atom_label=label)


def test_one_predicate_or_several_may_be_dropped(tmp_path):
    path = tmp_path / "a.nt"
    path.write_text("<http://a> <http://p> <http://b> .\n<http://a> <http://q> <http://b> .\n")
    for dropped in ("http://p", ["http://p"], iter(["http://p"])):
        assert edgnn.read(path, drop_predicates=dropped).num_edges == 1
    with pytest.raises(
        GraphError,
        match=r"drop_predicates=1\.5: this option of the format 'rdf' takes a list of texts",
    ):
        edgnn.read(path, drop_predicates=1.5)


def test_options_of_a_writer_are_looked_at(tmp_path):
    with pytest.raises(
        GraphError, match=r"name=1\.5: this option of the format 'tu' takes text or None"
    ):
        edgnn.write(edgnn.Graphs.from_edges([(0, 1)]), tmp_path / "a", format="tu", name=1.5)
    assert list(tmp_path.iterdir()) == []
