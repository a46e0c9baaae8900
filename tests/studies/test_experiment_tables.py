import pytest

import edgnn
from edgnn.errors import StudyError
from edgnn.evaluation import protocol_splits
from edgnn.registry import MODELS
from edgnn.studies import TABLES, find_table, published_accuracy, recipe_names, select

LEVEL = {"graphs": "graph", "nodes": "node", "nodes-repeated": "node"}


def test_the_papers_tables_have_the_papers_rows():
    assert TABLES[:4] == ("graph-datasets", "node-datasets", "graphs", "nodes")
    for name, level in LEVEL.items():
        found = find_table(name)
        assert {row.paper for row in found.rows if row.paper} == {
            "graph": {"CSM", "WLSP", "R-GCN", "edGNN (avg)", "edGNN (max)"},
            "node": {
                "WL",
                "RDF2Vec",
                "R-GCN",
                "edGNN (avg)",
                "edGNN (max)",
                "edGNN (emb)",
                "edGNN (reg)",
            },
        }[level]
        assert all(row.level in (None, level) for row in found.rows)
    assert [row.id for row in find_table("nodes").rows] == [
        row.id for row in find_table("nodes-repeated").rows
    ]


def test_every_row_is_a_model_with_settings_or_the_best_of_one():
    for name in TABLES:
        found = find_table(name)
        ids = [row.id for row in found.rows]
        assert len(set(ids)) == len(ids)
        for row in found.rows:
            assert row.says
            assert (row.model in MODELS) != (row.best_of in ids)
            assert row.settings is None or row.settings in recipe_names()
            for dataset in found.datasets if row.paper and found.paper else ():
                assert published_accuracy(dataset, row.paper) is not None


def test_protocols_of_the_tables_exist():
    data = edgnn.load_dataset("MUTAG")
    assert len(protocol_splits(data, find_table("graphs").protocol["graph"])) == 10
    assert find_table("nodes").protocol["node"] == "split"
    assert not find_table("nodes-repeated").paper


def test_wrong_tables_and_rows_are_named():
    with pytest.raises(StudyError, match="there is no table 'graph'; did you mean 'graphs'"):
        find_table("graph")
    with pytest.raises(
        StudyError, match="there is no row 'egnn' in the table graphs; did you mean 'edgnn'"
    ):
        find_table("graphs").row("egnn")


def test_a_selection_keeps_the_order_of_the_table_and_brings_the_base_of_a_best_run():
    (found,) = select(["graphs"], ["wl-subtree", "edgnn-max"], ["ptc-fm", "mutag"])
    assert [row.id for row in found.rows] == ["edgnn", "edgnn-max", "wl-subtree"]
    assert found.datasets == ("MUTAG", "PTC_FM")
    assert [one.name for one in select([])] == [
        "graph-datasets",
        "node-datasets",
        "graphs",
        "nodes",
    ]


def test_what_a_table_lacks_is_passed_over_if_another_has_it():
    assert [
        (one.name, one.datasets) for one in select(["graphs", "nodes"], ["edgnn"], ["AIFB"])
    ] == [("nodes", ("AIFB",))]
    both = select(["graphs", "nodes"], ["csm", "rdf2vec"])
    assert [[row.id for row in one.rows] for one in both] == [["csm"], ["rdf2vec"]]
    assert [one.name for one in select(["node-datasets"], ["edgnn"])] == ["node-datasets"]


@pytest.mark.parametrize(
    ("names", "models", "datasets", "message"),
    [
        (["graphs"], [], ["AIFB"], "no data set 'AIFB' in the table graphs; there are MUTAG"),
        (["graphs"], [], ["mutagg"], "did you mean 'MUTAG'"),
        (
            ["graphs", "nodes"],
            ["edgn"],
            [],
            "no model 'edgn' in the tables graphs, nodes; did you mean 'edgnn'",
        ),
        (
            ["graphs", "nodes"],
            ["csm"],
            ["AIFB"],
            "there is nothing in the tables graphs, nodes that has these models and data sets",
        ),
    ],
)
def test_selections_that_cannot_be_are_explained(names, models, datasets, message):
    with pytest.raises(StudyError, match=message):
        select(names, models, datasets)
