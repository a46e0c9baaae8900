"""Counts of colors and pairs, and how alike items are by them, against plain Python."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

import strategies
from edgnn import AutoRegressor, Graphs
from edgnn.errors import EstimatorError
from edgnn.models.counts import (
    CYCLES,
    Columns,
    Counts,
    Labeling,
    Represented,
    View,
    default_views,
    log_cosine,
    pair_counts,
    tanimoto,
)
from edgnn.wl import refine, signatures

LABELS = Labeling("labels")
SCHEMES = ["node", "separate", "joint"]
plain_graphs = strategies.graphs(features=False, names=False)


def rows_of(counts):
    """Return the counts of each item, without their names: equal colors have equal columns."""
    table = counts.table.toarray()
    return [{column: row[column] for column in np.flatnonzero(row)} for row in table]


def named_rows(counts):
    return [
        {int(counts.names[column]): float(row[column]) for column in np.flatnonzero(row)}
        for row in counts.table.toarray()
    ]


def color_view(scheme="joint", rounds=3, labeling=LABELS):
    return View("colors", labeling, scheme, rounds)


# Counts


@pytest.mark.parametrize("scheme", SCHEMES)
@given(graphs=plain_graphs)
def test_colors_are_counted_as_refinement_gives_them(scheme, graphs):
    counted = color_view(scheme).count(graphs)
    owner = graphs.graph_of_node.tolist()
    for round, counts in enumerate(counted):
        colors = refine(graphs, round, scheme, multiplicity="once").colors.tolist()
        expected = [Counter() for _ in range(len(graphs))]
        for graph, color in zip(owner, colors, strict=True):
            expected[graph][color] += 1
        assert len(counts) == len(graphs)
        assert len(counts.names) == len(set(colors))
        assert [sorted(row.values()) for row in rows_of(counts)] == [
            sorted(map(float, row.values())) for row in expected
        ]
        assert_array_equal(counts.totals, graphs.sizes)
        # a color has one column, whichever graph it is in
        shared = [len(set(a) & set(b)) for a, b in combinations(expected, 2)]
        assert shared == [len(set(a) & set(b)) for a, b in combinations(rows_of(counts), 2)]


def distances_of(graphs):
    """Return the pairs of nodes of each graph with their distance, by breadth-first search."""
    neighbors = [set() for _ in range(graphs.num_nodes)]
    for source, target in zip(
        graphs.edge_source.tolist(), graphs.edge_target.tolist(), strict=True
    ):
        neighbors[source].add(target)
        neighbors[target].add(source)
    for first in range(graphs.num_nodes):
        distance, front = {first: 0}, [first]
        while front:
            seen = sorted({node for here in front for node in neighbors[here]} - distance.keys())
            distance |= dict.fromkeys(seen, max(distance.values()) + 1)
            front = seen
        yield from ((first, other, away) for other, away in distance.items() if other > first)


@given(graphs=plain_graphs, farthest=st.integers(0, 4))
def test_pairs_are_counted_by_breadth_first_distances(graphs, farthest):
    label, owner = graphs.node_label.tolist(), graphs.graph_of_node.tolist()
    expected = [Counter() for _ in range(len(graphs))]
    for first, other, away in distances_of(graphs):
        if away <= farthest:
            expected[owner[first]][frozenset((label[first], label[other])), away] += 1
    hashes = signatures(graphs, 0)[0].numpy()
    counts = pair_counts(graphs, hashes, farthest)
    assert len(counts.names) == len({kind for row in expected for kind in row})
    assert [sorted(row.values()) for row in rows_of(counts)] == [
        sorted(map(float, row.values())) for row in expected
    ]


@given(
    graphs=strategies.graphs(features=False, min_graphs=2),
    kind=st.sampled_from(["colors", "pairs"]),
)
def test_names_of_parts_do_not_depend_on_the_other_graphs(graphs, kind):
    for labeling in (LABELS, CYCLES):
        view = View(kind, labeling, "joint", 2)
        together = [named_rows(counts) for counts in view.count(graphs)]
        for number in range(len(graphs)):
            alone = [named_rows(counts) for counts in view.count(graphs[number : number + 1])]
            assert [rows[number] for rows in together] == [rows[0] for rows in alone]


def test_names_of_parts_are_what_they_were_in_the_process_that_wrote_this_file():
    graph = Graphs.from_edges([(0, 1), (1, 2), (2, 0)], node_labels=["C", "N", "O"])
    colors, pairs = (View(kind, CYCLES, rounds=1).count(graph) for kind in ("colors", "pairs"))
    assert [counts.names.tolist() for counts in (*colors, *pairs)] == [
        [-7322747129952916415, -4804839968584646083, 8491383235856928401],
        [2173437732666520553, 4089493798451080195, 5095480711806007368],
        [-5440265511337058221, -1668038978918129697, 1517505794876363147],
    ]


def test_attributes_of_any_number_and_size_are_told_apart():
    ring = [(node, (node + 1) % 8) for node in range(8)]
    many = {f"a{number}": np.arange(8) % 2 for number in range(12)}
    graphs = Graphs.from_edges(ring).with_attributes(
        node={"n": np.array([0, -5, 2**40, 3, 0, 0, 0, 0])},
        edge=many | {"large": np.array([100, 200, -3, 100, 100, 100, 100, 100])},
    )
    (view, *_) = default_views(graphs, 1)
    first, second = view.count(graphs)
    assert len(first.names) == 4
    assert len(second.names) == len(
        refine(
            graphs.labeled(node=("label", "n"), edge=("label", *graphs.edge_attribute_names)),
            1,
            "joint",
        ).colors.unique()
    )
    with pytest.raises(EstimatorError, match=r"looks at the node attribute 'n'.*read them"):
        view.count(Graphs.from_edges(ring))


def test_edges_with_labels_that_are_new_leave_the_others_as_they_are():
    graphs = Graphs.from_edges([(0, 1), (2, 3)], sizes=[2, 2], edge_labels=["x", "y"])
    known = Graphs.from_edges([(0, 1), (1, 0)], edge_labels=["x", "x"])
    model = AutoRegressor("ridge").fit([known, graphs[:1]], [1.0, 2.0])
    assert model.predict(graphs)[0] == model.predict(graphs[:1])[0]
    assert model.novelty(graphs)[0] == model.novelty(graphs[:1])[0]
    assert model.novelty(graphs)[1] > model.novelty(graphs)[0]


# In the columns of others, and compared


counts_of_items = st.lists(st.dictionaries(st.integers(0, 9), st.integers(1, 40)), max_size=5)


def made(rows):
    """Return counts from a dictionary of counts per item."""
    hashes = np.array(
        [name for row in rows for name in row for _ in range(row[name])], dtype=np.int64
    )
    owner = np.repeat(np.arange(len(rows)), [sum(row.values()) for row in rows])
    return Counts.of(hashes, owner, len(rows))


@given(rows=counts_of_items, known=counts_of_items)
def test_counts_in_other_columns_lose_only_what_has_none(rows, known):
    counts, columns = made(rows), made(known)
    assert named_rows(counts) == rows
    moved = counts.in_columns(columns.names)
    names = set(columns.names.tolist())
    assert named_rows(moved) == [
        {name: count for name, count in row.items() if name in names} for row in rows
    ]
    assert_array_equal(moved.totals, [sum(row.values()) for row in rows])
    squares = [sum(np.log1p(count) ** 2 for count in row.values()) for row in rows]
    assert_allclose(moved.log_square, squares, rtol=1e-5)
    assert_array_equal(
        counts.frequencies, [sum(name in row for row in rows) for name in counts.names]
    )
    chosen = np.arange(len(rows))[::-1]
    assert named_rows(counts[chosen]) == rows[::-1]


def naive_tanimoto(a, b):
    names = a.keys() | b.keys()
    larger = sum(max(a.get(name, 0), b.get(name, 0)) for name in names)
    return sum(min(a.get(name, 0), b.get(name, 0)) for name in names) / larger if larger else 1.0


def naive_cosine(a, b):
    length = np.sqrt(
        sum(np.log1p(x) ** 2 for x in a.values()) * sum(np.log1p(x) ** 2 for x in b.values())
    )
    product = sum(np.log1p(a[name]) * np.log1p(b[name]) for name in a.keys() & b.keys())
    return product / length if length else float(not a and not b)


def joined(*rounds):
    return {(round, name): count for round, row in enumerate(rounds) for name, count in row.items()}


two_rounds = st.integers(0, 4).flatmap(
    lambda size: st.tuples(
        *[
            st.lists(
                st.dictionaries(st.integers(0, 9), st.integers(1, 40)), min_size=size, max_size=size
            )
        ]
        * 2
    )
)


@pytest.mark.parametrize(
    ("compare", "naive"), [(tanimoto, naive_tanimoto), (log_cosine, naive_cosine)]
)
@given(rows=two_rounds, known=two_rounds)
def test_similarities_are_those_of_the_formula(compare, naive, rows, known):
    columns = [made(part) for part in known]
    moved = [made(part).in_columns(own.names) for part, own in zip(rows, columns, strict=True)]
    for depth, alike in enumerate(compare(moved, columns), start=1):
        assert alike.shape == (len(rows[0]), len(known[0]))
        for i, mine in enumerate(zip(*rows[:depth], strict=True)):
            for j, theirs in enumerate(zip(*known[:depth], strict=True)):
                expected = naive(joined(*mine), joined(*theirs))
                assert alike[i, j] == pytest.approx(expected, abs=1e-5)


def test_frequent_and_rare_columns_add_up():
    random = np.random.default_rng(0)
    table = random.poisson(np.geomspace(3, 0.003, 300), (120, 300))
    rows = [{n: int(c) for n, c in enumerate(row) if c} for row in table]
    counts = made(rows)
    (alike,) = tanimoto([counts], [counts])
    minimum = np.minimum(table[:, None], table[None]).sum(axis=2)
    maximum = np.maximum(table[:, None], table[None]).sum(axis=2)
    assert_allclose(alike, minimum / maximum, atol=1e-6)


# Columns of a table


@settings(max_examples=20)
@given(graphs=strategies.graphs(features=False, min_graphs=2, max_graphs=6), most=st.integers(0, 5))
def test_a_table_holds_the_counts_of_its_columns_and_the_numbers(graphs, most):
    view = color_view(rounds=2)
    numbers = np.arange(len(graphs) * 2.0).reshape(-1, 2)
    items = Represented((view,), (view.count(graphs),), numbers)
    columns = Columns.of(items, most, 1)
    table = columns.table(items)
    assert isinstance(table, csr_array)
    assert table.shape == (len(graphs), sum(len(names) for names in columns.names[0]) + 2)
    assert not len(columns.names[0][2])  # deeper than asked for
    assert_array_equal(table.toarray()[:, -2:], numbers)
    wanted = [
        [
            row.get(name, 0.0)
            for counts, names in zip(items.counts[0], columns.names[0], strict=True)
            for row in [named_rows(counts)[item]]
            for name in names.tolist()
        ]
        for item in range(len(graphs))
    ]
    assert_array_equal(table.toarray()[:, :-2], np.reshape(wanted, (len(graphs), -1)))
