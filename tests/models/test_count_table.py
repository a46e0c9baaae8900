"""CountTable: counts of colors with names, for other learners."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import edgnn
from edgnn.errors import EstimatorError
from edgnn.models import CountTable, NotFitted
from strategies import graphs as random_graphs

AMIDES = ["CC(=O)N", "CC(=O)N", "c1ccccc1", "c1ccccc1", "C[N+](C)(C)C", "CCC"]


def columns(texts, **options):
    table = CountTable(sparse_output=False, **options)
    rows = table.fit_transform(texts)
    return dict(zip(table.get_feature_names_out(), rows.T, strict=True))


def named(columns, text):
    """Return the column of counts with a text, whatever its hash."""
    found = [values for name, values in columns.items() if name.split(" #")[0] == text]
    assert len(found) == 1, [name for name in columns if text in name]
    return found[0].tolist()


def test_names_say_what_is_counted():
    table = columns(AMIDES)
    assert named(table, "atom types, round 1: C(-CH3)(-NH2)(=O)") == [1, 1, 0, 0, 0, 0]
    assert named(table, "atom types, round 2: O(=C(-CH3)(-NH2))") == [1, 1, 0, 0, 0, 0]
    assert named(table, "elements and rings, round 0: C[ring 6]") == [0, 0, 6, 6, 0, 0]
    ring = "aromatic CH[ring](:aromatic CH[ring])(:aromatic CH[ring])"
    assert named(table, f"atom types, round 1: {ring}") == [0, 0, 6, 6, 0, 0]
    twice = columns(["OCO", "OCO", "CC[N+](C)(C)C", "C[N+](C)(C)C"])
    assert named(twice, "atom types, round 1: CH2(-OH)(-OH)") == [1, 1, 0, 0]
    assert named(twice, "atom types, round 0: N+") == [0, 0, 1, 1]


def test_directions_of_edges_are_arrows():
    one = edgnn.Graphs.from_edges(
        [(0, 1), (2, 1)], node_labels=["a", "b", "c"], edge_labels=["x", "y"]
    )
    other = edgnn.Graphs.from_edges([(1, 0)], node_labels=["a", "b"], edge_labels=["x"])
    table = columns([one, one, other, other])
    assert named(table, "labels and cycles (joint), round 1: b(← x a)(← y c)") == [1, 1, 0, 0]
    assert named(table, "labels and cycles (joint), round 1: a(→ x b)") == [1, 1, 0, 0]
    assert named(table, "labels and cycles (node), round 1: b(~a)(~c)") == [1, 1, 0, 0]


@given(graphs=random_graphs(min_graphs=2, max_graphs=5))
@settings(max_examples=30, deadline=None)
def test_any_graphs_have_distinct_names_and_equal_tables(graphs):
    table = CountTable(rounds=2)
    rows = table.fit_transform(graphs)
    names = table.get_feature_names_out()
    assert rows.shape == (len(graphs), len(names))
    assert len(set(names)) == len(names)
    again = table.transform(graphs)
    assert_array_equal(rows.toarray(), again.toarray())
    for place in range(len(graphs)):  # a graph alone has the row that it has among others
        alone = table.transform(graphs[place : place + 1])
        assert_array_equal(alone.toarray()[0], rows.toarray()[place])


def test_new_graphs_are_counted_in_the_old_columns():
    table = CountTable(rounds=1).fit(AMIDES)
    rows = table.transform(["CC(=O)N", "C[Si](C)C"])
    assert isinstance(rows, csr_array)
    assert rows.shape == (2, len(table.get_feature_names_out()))
    assert_array_equal(rows.toarray()[0], table.transform(AMIDES).toarray()[0])


def test_options():
    few = CountTable(most_columns=5).fit_transform(AMIDES)
    assert 0 < few.shape[1] <= 5
    pairs = columns(AMIDES, pairs=True, rounds=1)
    assert named(pairs, "pharmacophore, pair: atom and atom[donor], 2 edges apart") == [
        *(1, 1, 0, 0, 0, 0),
    ]
    described = columns(AMIDES, numbers="rdkit", rounds=0)
    assert described["NumAromaticRings"].tolist() == [0, 0, 1, 1, 0, 0]
    assert "NumAromaticRings" not in columns(AMIDES)
    features = edgnn.from_smiles(AMIDES).with_graph_features(np.arange(6.0)[:, None], ["dose"])
    assert columns(features)["dose"].tolist() == [0, 1, 2, 3, 4, 5]
    assert not any(re.match("dose", name) for name in columns(features, numbers="none"))


def test_it_is_a_transformer_of_scikit_learn():
    sizes = [len(text) for text in AMIDES]
    model = make_pipeline(CountTable(sparse_output=False), Ridge()).fit(AMIDES, sizes)
    assert model.predict(AMIDES).shape == (6,)
    assert clone(CountTable(3, pairs=True)).get_params()["pairs"]
    pandas = pytest.importorskip("pandas")
    frame = CountTable(sparse_output=False).set_output(transform="pandas").fit_transform(AMIDES)
    assert isinstance(frame, pandas.DataFrame)


def test_mistakes():
    with pytest.raises(NotFitted):
        CountTable().transform(AMIDES)
    with pytest.raises(EstimatorError, match="rounds=-1"):
        CountTable(-1).fit(AMIDES)
    with pytest.raises(EstimatorError, match="for molecules"):
        CountTable(numbers="rdkit").fit(edgnn.load_dataset("MUTAG").graphs)
    features = edgnn.from_smiles(AMIDES).with_graph_features(np.arange(6.0)[:, None], ["dose"])
    with pytest.raises(EstimatorError, match="0 numbers beside them"):
        CountTable().fit(features).transform(AMIDES)
