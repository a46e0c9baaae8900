import shutil
import tracemalloc
from importlib.util import find_spec
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import edgnn
from edgnn.errors import ChecksumError, DatasetError, FetchError
from edgnn.io.datasets import (
    class_counts,
    encode_targets,
    find,
    load_items,
    locate,
    statistics,
    stored_both_ways,
    summary,
)

PUBLISHED = {  # ../shared/data/README.md, computed there from the files
    "MUTAG": (188, (63, 125), 3371, 7442, 17.93, 19.79, 7, 4),
    "PTC_FM": (349, (206, 143), 4925, 10110, 14.11, 14.48, 18, 4),
    "PTC_FR": (351, (230, 121), 5110, 10532, 14.56, 15.00, 19, 4),
    "PTC_MM": (336, (207, 129), 4695, 9624, 13.97, 14.32, 20, 4),
    "PTC_MR": (344, (192, 152), 4915, 10108, 14.29, 14.69, 18, 4),
}


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """No data folder, an empty cache, and no network."""
    monkeypatch.delenv("EDGNN_DATA", raising=False)
    monkeypatch.setenv("EDGNN_CACHE", str(tmp_path / "cache"))

    def refuse(*_args, **_kwargs):
        raise OSError("the network is unreachable")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)


@pytest.mark.parametrize("name", PUBLISHED)
def test_graph_sets_have_the_published_statistics(name, data_dir):
    graphs, classes, nodes, edges, avg_nodes, avg_edges, node_labels, edge_labels = PUBLISHED[name]
    data = edgnn.load_dataset(name, data_dir=data_dir)
    assert (len(data.graphs), data.graphs.num_nodes, data.graphs.num_edges) == (
        graphs,
        nodes,
        edges,
    )
    assert tuple(class_counts(data).values()) == classes
    table = {row.key: row.value for row in statistics(data)}
    assert round(table["avg_nodes"], 2) == avg_nodes
    assert round(table["avg_edges"], 2) == avg_edges
    assert (table["node_labels"], table["edge_labels"]) == (node_labels, edge_labels)
    assert stored_both_ways(data.graphs)


@pytest.mark.parametrize(
    ("name", "nodes", "edges", "relations", "train", "test", "classes"),
    [
        ("AIFB", 8285, 29043, 45, 140, 36, (73, 28, 60, 15)),
        ("MUTAG-RDF", 23644, 74227, 23, 272, 68, (211, 129)),
    ],
)
def test_node_sets_have_the_published_statistics(
    name, nodes, edges, relations, train, test, classes, data_dir
):
    data = edgnn.load_dataset(name, data_dir=data_dir)
    assert (data.graphs.num_nodes, data.graphs.num_edges, len(data.graphs.edge_vocabulary)) == (
        nodes,
        edges,
        relations,
    )
    assert {part: len(ids) for part, ids in data.split.items()} == {"train": train, "test": test}
    assert tuple(class_counts(data).values()) == classes
    assert len(set(data.nodes.names)) == train + test
    assert not set(data.split["train"]) & set(data.split["test"])
    assert not stored_both_ways(data.graphs)


def test_mutag_needs_neither_data_folder_nor_network(offline):
    data = edgnn.load_dataset("mutag")
    assert data.source.startswith("installed package")
    assert len(data) == 188
    assert data.class_names == ("not mutagenic", "mutagenic")
    assert list(data.graphs.node_vocabulary) == ["C", "N", "O", "F", "I", "Cl", "Br"]
    assert list(data.graphs.edge_vocabulary) == ["aromatic", "single", "double", "triple"]


def test_every_mutag_label_keeps_its_meaning(offline):
    """Degrees tell carbon from halogens, and nitro groups are N with one double and one single bond to O."""
    data = edgnn.load_dataset("MUTAG")
    for graph in edgnn.to_networkx(data.graphs):
        for node, label in graph.nodes(data="label"):
            assert graph.out_degree(node) == 1 or label in ("C", "N", "O")
    with_nitro = sum(
        any(_is_nitro(graph, node) for node in graph) for graph in edgnn.to_networkx(data.graphs)
    )
    assert with_nitro > 150


def _is_nitro(graph: nx.MultiDiGraph, node: int) -> bool:
    if graph.nodes[node]["label"] != "N":
        return False
    bonds = sorted(
        bond
        for _, other, bond in graph.out_edges(node, data="label")
        if graph.nodes[other]["label"] == "O"
    )
    return bonds == ["double", "single"]


def test_the_paper_differs_on_mutag_labels_only(offline):
    told = summary(edgnn.load_dataset("MUTAG"))
    assert told["differs_from_paper"] == ["node_labels", "edge_labels"]
    assert told["paper"]["node_labels"] == 6
    assert "7 and 4" in told["note"]


@pytest.mark.parametrize("name", ["PTC_FM", "PTC_FR", "PTC_MM", "PTC_MR", "AIFB", "MUTAG-RDF"])
def test_all_other_sets_agree_with_the_paper(name, data_dir):
    assert summary(edgnn.load_dataset(name, data_dir=data_dir))["differs_from_paper"] == []


def test_places_are_searched_in_order(offline, tmp_path, monkeypatch):
    entry = find("MUTAG")
    package = locate(entry).path
    roots = {}
    for root in ("option", "variable", "cache"):
        shutil.copytree(package, tmp_path / root / "TUDataset" / "MUTAG")
        roots[root] = tmp_path / root
    monkeypatch.setenv("EDGNN_DATA", str(roots["variable"]))
    monkeypatch.setenv("EDGNN_CACHE", str(roots["cache"]))
    assert locate(entry, roots["option"]).place == "data folder"
    assert locate(entry).place == "EDGNN_DATA"
    monkeypatch.delenv("EDGNN_DATA")
    assert locate(entry).place == "cache"
    monkeypatch.setenv("EDGNN_CACHE", str(tmp_path / "nothing"))
    assert locate(entry).place == "installed package"


def test_a_changed_file_in_a_data_folder_is_refused(offline, tmp_path):
    folder = tmp_path / "TUDataset" / "MUTAG"
    shutil.copytree(locate(find("MUTAG")).path, folder)
    labels = folder / "MUTAG_graph_labels.txt"
    labels.write_text(labels.read_text().replace("1", "-1", 1))
    with pytest.raises(ChecksumError, match=r"MUTAG_graph_labels\.txt"):
        edgnn.load_dataset("MUTAG", data_dir=tmp_path)


def test_offline_and_absent_names_what_to_do(offline):
    with pytest.raises(DatasetError, match=r"download=False.*EDGNN_DATA"):
        edgnn.load_dataset("AIFB", download=False)
    with pytest.raises(FetchError, match=r"raw\.githubusercontent\.com.*EDGNN_DATA"):
        edgnn.load_dataset("AIFB")


def test_a_failed_download_of_mutag_names_the_package_that_carries_it(offline, monkeypatch):
    monkeypatch.setattr("edgnn.io.datasets._registry._in_grakel", lambda entry: None)
    with pytest.raises(
        FetchError, match=r"EDGNN_DATA.*; MUTAG also comes with: pip install 'edgnn\[kernels\]'"
    ):
        edgnn.load_dataset("MUTAG")


@pytest.mark.parametrize("word", ["CCO", "c1ccccc1"])
def test_a_smiles_taken_for_a_name_is_told_where_molecules_belong(offline, word):
    with pytest.raises(FetchError) as caught:
        edgnn.load_dataset(word)
    message = str(caught.value)
    assert message.startswith(
        f"nothing called {word!r} was found: it is no file, no registered data set, and as one of the TU"
    )
    assert f"{word}.zip could not be downloaded" in message
    assert message.endswith(
        f"; if {word!r} is a SMILES, put it into a file, in a column smiles with a column of targets beside it"
    )


@pytest.mark.parametrize("word", ["ENZYMES", "CO", "NCI1"])
def test_a_name_that_is_no_molecule_is_told_nothing_of_files(offline, word):
    with pytest.raises(FetchError, match=f"^nothing called '{word}' was found") as caught:
        edgnn.load_dataset(word)
    assert "SMILES" not in str(caught.value)


def test_a_registered_set_that_cannot_be_fetched_is_not_called_unknown(offline):
    with pytest.raises(FetchError, match="could not be downloaded") as caught:
        edgnn.load_dataset("PTC_FM")
    assert "nothing called" not in str(caught.value)


def test_a_data_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(DatasetError, match="nowhere"):
        edgnn.load_dataset("MUTAG", data_dir=tmp_path / "nowhere")


def test_an_unregistered_tu_set_is_read_with_attributes_as_features(offline):
    package = Path(find_spec("grakel").origin).parent / "tests" / "data" / "Cuneiform"
    data = edgnn.load_dataset("Cuneiform")
    assert data.source == f"installed package: {package}"
    assert data.graphs.node_features.shape == (data.graphs.num_nodes, 3)
    assert len(data.class_names) == 30


def test_a_path_is_read_as_a_data_set(tmp_path):
    graphs = edgnn.Graphs.from_edges([(0, 1), (2, 3)], sizes=[2, 2], node_labels=list("abab"))
    edgnn.write(graphs, tmp_path / "mine", format="tu", targets=np.array([5, 3]))
    data = edgnn.load_dataset(tmp_path / "mine")
    assert data.task == "classes"
    assert data.targets.tolist() == [1, 0]
    assert data.class_names == ("3", "5")


def test_real_valued_targets_make_a_regression(tmp_path):
    graphs = edgnn.Graphs.from_edges([(0, 1), (2, 3)], sizes=[2, 2])
    edgnn.write(graphs, tmp_path / "mine", format="tu", targets=np.array([0.5, np.nan]))
    data = edgnn.load_dataset(tmp_path / "mine")
    assert data.task == "values"
    assert np.isnan(data.targets[1])
    assert data.class_names == ()


def test_a_named_set_takes_no_reader_options(offline):
    with pytest.raises(DatasetError, match="delimiter"):
        edgnn.load_dataset("MUTAG", delimiter=";")


def test_a_dataset_describes_itself(offline):
    assert repr(edgnn.load_dataset("MUTAG")) == (
        "Dataset('MUTAG', 2 classes, Graphs(188 graphs, 3,371 nodes, 7,442 edges, 7 node labels, 4 edge labels))"
    )


def test_a_long_class_name_does_not_widen_the_others():
    values = np.array(["b"] * 1000 + ["a" * 10_000], dtype=object)
    tracemalloc.start()
    try:
        numbers, names, _ = encode_targets(values)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert numbers.tolist() == [1] * 1000 + [0]
    assert names == ("a" * 10_000, "b")
    assert peak < 2**20


def test_graphs_without_a_class_are_left_out(tmp_path):
    (tmp_path / "edges.csv").write_text("graph,source,target\n1,a,b\n2,a,b\n3,a,b\n")
    (tmp_path / "graphs.csv").write_text("graph,target\n1,0\n2,1\n3,\n")
    with pytest.warns(UserWarning, match="1 of 3 graphs has no target and is left out"):
        data = edgnn.load_dataset(tmp_path)
    assert (data.targets.tolist(), list(data.graphs.graph_names)) == ([0, 1], [1, 2])


def test_what_is_predicted_for_needs_no_targets(tmp_path):
    (tmp_path / "edges.csv").write_text("graph,source,target\n1,a,b\n2,a,b\n3,a,b\n")
    for cells in (",,", "yes,,no", "0,,1"):
        rows = "".join(f"{n},{cell}\n" for n, cell in enumerate(cells.split(","), 1))
        (tmp_path / "graphs.csv").write_text(f"graph,target\n{rows}")
        data = load_items(tmp_path)
        assert (len(data.graphs), data.targets) == (3, None)
    (tmp_path / "graphs.csv").write_text("graph,target\n1,\n2,\n3,\n")
    data = edgnn.load_dataset(tmp_path)
    assert (len(data.graphs), data.targets) == (3, None)
    (tmp_path / "nodes.csv").write_text("graph,node,y\n1,a,p\n1,b,\n2,a,q\n2,b,p\n3,a,\n3,b,\n")
    assert load_items(tmp_path, node_target="y").nodes.index.tolist() == [0, 2, 3]


@pytest.fixture
def people(tmp_path):
    (tmp_path / "who.nt").write_text(
        "".join(f"<n:{n}> <r:{n % 2}> <n:{(n + 1) % 12}> .\n" for n in range(12))
    )
    (tmp_path / "who.tsv").write_text(
        "person\tgroup\n" + "".join(f"n:{n}\t{'ab'[n % 2]}\n" for n in range(10))
    )
    return tmp_path / "who.nt"


def test_targets_of_rdf_come_from_a_table_of_their_own(people):
    for more in ({}, {"target": "group"}, {"target": ["group"], "level": "node"}):
        data = edgnn.load_dataset(people, target_file=people.with_suffix(".tsv"), **more)
        assert (data.level, data.class_names, data.targets.tolist()) == (
            "node",
            ("a", "b"),
            [0, 1] * 5,
        )
        assert list(data.nodes.names) == [f"n:{n}" for n in range(10)]


def test_options_of_the_reader_stand_beside_a_table_of_targets(people):
    data = edgnn.load_dataset(
        people, target_file=people.with_suffix(".tsv"), drop_predicates=["r:1"]
    )
    assert (len(data.graphs.edge_vocabulary), len(data.targets)) == (1, 10)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"target_file": "who.tsv", "target": 3},
            "target=3: name the column of targets",
        ),
        ({"target_file": "who.tsv", "target": [3]}, r"target=\[3\]: name the column"),
        (
            {"target_file": "who.tsv", "level": "nodes"},
            "level='nodes': targets belong to a 'graph' or a 'node'",
        ),
        ({"target_column": "group"}, "'rdf', which has no target columns; .* target_file="),
    ],
)
def test_wrong_words_about_a_table_of_targets_are_told(people, options, said):
    if "target_file" in options:
        options = options | {"target_file": people.with_name(options["target_file"])}
    with pytest.raises(DatasetError, match=said):
        edgnn.load_dataset(people, **options)


@pytest.mark.parametrize("word", ["C" * 300, "C" * 5000, "a\0b"])
def test_a_word_that_is_no_path_is_told_as_one_that_is_no_name(offline, word):
    with pytest.raises(DatasetError, match="is neither a data set's name nor an existing file"):
        edgnn.load_dataset(word)
