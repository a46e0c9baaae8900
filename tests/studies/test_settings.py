import pytest

import edgnn
from edgnn.errors import DatasetError
from edgnn.studies import recipe, recipe_names, search_grid


def test_every_stored_row_fits_its_estimator():
    for row in recipe_names():
        for level, estimator in (("graph", edgnn.GraphClassifier), ("node", edgnn.NodeClassifier)):
            for name in ("MUTAG", "MUTAG-RDF", "AIFB", ""):
                found = recipe(row, level, name)
                estimator(**found.estimator)
                assert found.protocol in ("cv10x10", "split")


def test_closest_adds_to_the_paper_only_what_a_set_needs():
    paper, closest = recipe("paper", "graph", "MUTAG"), recipe("closest", "graph", "MUTAG")
    assert closest.estimator == paper.estimator | {"batch_norm": True}
    assert recipe("closest", "graph", "PTC_MR").estimator == paper.estimator
    assert recipe("closest", "node", "MUTAG-RDF").validation == "first-fifth"
    assert recipe("closest", "node", "AIFB").validation == 0.2


def test_unknown_row_names_the_ones_there_are():
    with pytest.raises(DatasetError, match="did you mean 'paper'"):
        recipe("papr", "graph")
    with pytest.raises(DatasetError, match="paper, closest"):
        recipe("nothing like it", "graph")


@pytest.mark.parametrize("level", ["graph", "node"])
def test_the_search_holds_what_the_paper_found_best_and_is_no_row(level):
    grid = search_grid(level)
    assert len(grid) == 12
    assert grid[0] == {"layers": 1, "hidden": 16}
    assert {"layers": 2, "hidden": 64} in grid
    assert "search" not in recipe_names()
    with pytest.raises(DatasetError, match="no settings named 'search'"):
        recipe("search", level)
