import gzip

import numpy as np
import pytest

import edgnn
from edgnn.errors import FormatError, GraphError
from edgnn.io import recognize

NT = b"<http://a> <http://p> <http://b> .\n"
SDF_MARK = b"\n  made\n\n  0  0  0  0  0  0  0  0  0  0999 V2000\nM  END\n$$$$\n"


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.nt", NT, "rdf"),
        ("a.nt.gz", gzip.compress(NT, mtime=0), "rdf"),
        ("a.owl", b"", "rdf"),
        ("a.graphml", b"", "graphml"),
        ("a.json", b"{}", "node-link"),
        ("a.sdf", b"", "sdf"),
        ("a.parquet", b"PAR1", "tables"),
        ("a.csv", b"source,target\n", "tables"),
        ("a.csv", b"id,SMILES,y\n", "smiles"),
        ("a.tsv", b"smiles\ty\n", "smiles"),
        ("a.csv", b"Compound_ID|SMILES\n", "smiles"),
        ("a.txt", b"smiles name\n", "smiles"),
        ("a.csv", b"smiles,data source,activity\n", "smiles"),
        ("a.csv", b"canonical smiles,y\n", "smiles"),
        ("a.csv", b"mol,y\n", "tables"),
        ("noname", NT, "rdf"),
        ("noname", gzip.compress(b"@prefix a: <http://a> .", mtime=0), "rdf"),
        ("noname", b"PREFIX a: <http://a>\na:a a:b a:c .", "rdf"),
        ("a.xml", b'<?xml version="1.0"?>\n<rdf:RDF xmlns:rdf="x">', "rdf"),
        ("a.xml", b'<?xml version="1.0"?>\n<graphml>', "graphml"),
        (
            "a.xml",
            b'<?xml version="1.0"?><!-- c --><RDF xmlns="http://www.w3.org/1999/02/22-rdf-syntax-ns#">',
            "rdf",
        ),
        ("noname", b"# a comment first\n" + NT, "rdf"),
        ("noname", b' {"nodes": []}', "node-link"),
        ("noname", b"PK\x03\x04", "tu"),
        ("noname", SDF_MARK, "sdf"),
    ],
)
def test_formats_are_recognized_by_name_then_content(name, content, kind, tmp_path):
    (tmp_path / name).write_bytes(content)
    assert recognize(tmp_path / name) == kind


def test_an_rdf_syntax_can_be_named(tmp_path):
    (tmp_path / "odd.bin").write_bytes(b"@prefix a: <http://a/> . a:x a:p a:y, a:z .")
    assert edgnn.read(tmp_path / "odd.bin", format="ttl").num_edges == 2


def test_folders_are_recognized(tmp_path):
    graphs = edgnn.Graphs.from_edges([(0, 1)], node_labels=[3, 4])
    edgnn.write(graphs, tmp_path / "t", format="tu")
    edgnn.write(graphs, tmp_path / "p", format="tables")
    assert edgnn.read(tmp_path / "t").node_labels == [3, 4]
    assert edgnn.read(tmp_path / "p").node_labels == [3, 4]


def test_what_is_not_recognized_names_the_choices(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"\x00\x01\x02")
    with pytest.raises(FormatError, match="pass format= one of 'tu'"):
        edgnn.read(tmp_path / "a.bin")
    with pytest.raises(GraphError, match="format='wrong'"):
        edgnn.read(tmp_path / "a.bin", format="wrong")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match="neither a TU set"):
        edgnn.read(tmp_path / "empty")
    with pytest.raises(GraphError, match="cannot tell the format"):
        edgnn.write(edgnn.Graphs.from_edges([(0, 1)]), tmp_path / "folder")
    with pytest.raises(
        GraphError, match="cannot tell the format"
    ):  # tables are a folder, which this is no name of
        edgnn.write(edgnn.Graphs.from_edges([(0, 1)]), tmp_path / "edges.parquet")


@pytest.mark.parametrize("name", ["x.json", "x.graphml", "x.nt"])
def test_a_name_that_ends_in_gz_is_compressed(name, tmp_path):
    graphs = edgnn.Graphs.from_edges([(0, 1), (1, 2)], edge_labels=["a:a", "b:b"])
    edgnn.write(graphs, tmp_path / name)
    edgnn.write(graphs, tmp_path / f"{name}.gz")
    assert gzip.decompress((tmp_path / f"{name}.gz").read_bytes()) == (tmp_path / name).read_bytes()


def test_a_missing_file_is_a_plain_file_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        edgnn.read(tmp_path / "nothing.csv")


@pytest.mark.parametrize(
    "kind", ["tu", "rdf", "nt", "tables", "graphml", "node-link", "sdf", "smiles"]
)
def test_an_unknown_option_names_those_of_the_format(kind, tmp_path):
    with pytest.raises(
        GraphError, match=rf"the format '{kind}' has no option 'targt'; it has .*max_bytes"
    ) as caught:
        edgnn.load_dataset(tmp_path, format=kind, targt="active")
    assert (", hydrogens, " in str(caught.value)) == (kind in ("sdf", "smiles"))


def test_an_unknown_option_of_a_writer_is_told(tmp_path):
    with pytest.raises(
        GraphError, match="the format 'tu' has no option 'target'; it has name, targets"
    ):
        edgnn.write(edgnn.Graphs.from_edges([(0, 1)]), tmp_path / "a", format="tu", target=[1])


def test_a_named_column_of_smiles_makes_a_table_one_of_molecules(tmp_path):
    pytest.importorskip("rdkit")
    path = tmp_path / "a.csv"
    path.write_text("source,canonical_smiles,active\nlab,CCO,1\nlab,CN,0\n")
    assert recognize(path) == "tables"
    assert recognize(path, ["smiles"]) == "smiles"
    data = edgnn.load_dataset(path, smiles="canonical_smiles", target="active")
    assert (data.graphs.sizes.tolist(), data.targets.tolist()) == ([3, 2], [1, 0])
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(GraphError, match="the format 'node-link' has no option 'smiles'"):
        edgnn.read(tmp_path / "a.json", smiles="x")


@pytest.mark.parametrize("options", [{}, {"target": "active"}])
def test_a_table_of_neither_edges_nor_molecules_names_both_ways_out(tmp_path, options):
    path = tmp_path / "a.csv"
    path.write_text("mol,active\nno,1\n")
    with pytest.raises(
        FormatError,
        match=r"columns are 'mol', 'active': .*source= .*smiles= \(-o smiles=NAME",
    ):
        edgnn.read(path, **options)
    with pytest.raises(FormatError, match=r"there is no column 'from'; .* choose one with source="):
        edgnn.read(path, source="from", **options)


@pytest.mark.parametrize("mark", [",", ";", "\t", "|", " "])
def test_tables_of_molecules_have_any_usual_delimiter(mark, tmp_path):
    pytest.importorskip("rdkit")
    (tmp_path / "a.csv").write_text("id smiles toxic\nA CCO yes\nB CN no\n".replace(" ", mark))
    data = edgnn.load_dataset(tmp_path / "a.csv", target="toxic")
    assert (data.graphs.sizes.tolist(), list(data.graphs.graph_names)) == ([3, 2], ["A", "B"])


def test_targets_travel_with_read_labeled(tmp_path):
    graphs = edgnn.Graphs.from_edges([(0, 1), (2, 3)], sizes=[2, 2])
    edgnn.write(graphs, tmp_path / "t", format="tu", targets=np.array([1, -1]))
    assert edgnn.read_labeled(tmp_path / "t").targets.tolist() == [1, -1]
