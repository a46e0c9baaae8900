"""The condition on edge embeddings: different label counts must have different sums."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
import torch

from edgnn.errors import GraphError
from edgnn.graphs import Graphs
from edgnn.theory import edge_embedding_consistent

#: Node 2 gets a and b, node 5 gets c twice: 1 + 3 = 2 + 2.
STARS = Graphs.from_edges([(0, 2), (1, 2), (3, 5), (4, 5)], edge_labels=["a", "b", "c", "c"])


def test_one_hot_embeddings_hold_on_every_graph():
    report = edge_embedding_consistent(torch.eye(3))
    assert report.always
    assert report.consistent
    assert report.distinct_counts is None


def test_equal_sums_of_different_labels_are_named():
    report = edge_embedding_consistent(torch.tensor([[1.0], [3.0], [2.0]]), STARS)
    assert not report.always
    assert not report.consistent
    assert [(entry.direction, entry.nodes, entry.counts) for entry in report.violations] == [
        ("in", (2, 5), ({"a": 1, "b": 1}, {"c": 2}))
    ]
    assert "node 2 {'a': 1, 'b': 1}, node 5 {'c': 2}" in str(report)


def test_dependent_rows_may_still_hold_on_given_graphs():
    report = edge_embedding_consistent(np.array([[1.0], [3.0], [5.0]]), STARS)
    assert not report.always
    assert report.consistent
    # entering: nothing, ab, cc; leaving: nothing, a, b, c
    assert report.distinct_counts == 7


def test_labels_with_one_embedding_are_named_and_caught():
    report = edge_embedding_consistent(torch.tensor([[1.0, 2.0], [0.0, 1.0], [1.0, 2.0]]), STARS)
    assert report.rank == 2
    assert report.equal_labels == ((0, 2),)
    assert [(entry.direction, entry.nodes) for entry in report.violations] == [("out", (0, 3))]


def test_embedding_of_zero_hides_its_edges():
    graph = Graphs.from_edges([(0, 1)], num_nodes=3)
    report = edge_embedding_consistent(torch.zeros(1, 4), graph)
    assert {entry.direction for entry in report.violations} == {"in", "out"}
    assert report.violations[0].counts == ({}, {None: 1})


def test_learned_embedding_modules_are_taken():
    torch.manual_seed(0)
    report = edge_embedding_consistent(torch.nn.Embedding(3, 8), STARS)
    assert report.always
    assert report.consistent
    assert json.loads(json.dumps(asdict(report)))["rank"] == 3


def test_nearly_equal_sums_count_as_equal_within_the_tolerance():
    nearly = torch.tensor([[1.0], [3.0 + 1e-9], [2.0]], dtype=torch.float64)
    assert not edge_embedding_consistent(nearly, STARS).consistent
    assert edge_embedding_consistent(nearly, STARS, tolerance=0).consistent


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (torch.eye(2), "2 rows"),
        (torch.ones(3), "shape"),
        (torch.full((3, 1), float("nan")), "not finite"),
    ],
)
def test_tables_that_do_not_fit_are_refused(table, message):
    with pytest.raises(GraphError, match=message):
        edge_embedding_consistent(table, STARS)
