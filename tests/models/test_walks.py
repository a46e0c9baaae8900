from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgnn.errors import GraphError
from edgnn.graphs import Graphs
from edgnn.models import random_walks
from edgnn.models.rivals._walks import Ways, all_walks, relabeled
from strategies import graphs

#: 0 -a-> 1 -b-> 2, 0 -c-> 2; node 2 is a dead end.
CHAIN = Graphs.from_edges([(0, 1), (1, 2), (0, 2)], edge_labels=["a", "b", "c"])


def every_walk(collection, start, depth, inverse=False):
    """All walks from a node, one after another, in plain Python."""
    labels = len(collection.edge_vocabulary)
    ends = zip(
        collection.edge_source.tolist(),
        collection.edge_label.tolist(),
        collection.edge_target.tolist(),
        strict=True,
    )
    ways = [(s, label, t) for s, label, t in ends]
    if inverse:
        ways += [(t, label + labels, s) for s, label, t in ways]

    def walk(path, left):
        steps = [(label, t) for s, label, t in ways if s == path[-1]]
        if left == 0 or not steps:
            yield tuple(path)
            return
        for step in steps:
            yield from walk([*path, *step], left - 1)

    return set(walk([start], depth))


def trimmed(walks):
    return [
        tuple(token for token in walk if token >= 0)
        for walk in walks.reshape(-1, walks.shape[-1]).tolist()
    ]


def test_all_walks_of_a_chain_are_the_two_that_can_be_written_down():
    walks, owner = all_walks(CHAIN, [0, 2], depth=3)
    assert walks.tolist() == [
        [0, 0, 1, 1, 2, -1, -1],
        [0, 2, 2, -1, -1, -1, -1],
        [2, -1, -1, -1, -1, -1, -1],
    ]
    assert owner.tolist() == [0, 0, 1]


def test_inverse_walks_number_their_predicates_behind_the_others():
    walks, _ = all_walks(CHAIN, [2], depth=1, inverse=True)
    assert sorted(walks.tolist()) == [[2, 4, 1], [2, 5, 0]]


@given(graphs(min_graphs=1, min_nodes=1), st.integers(0, 3), st.booleans(), st.integers(0, 5))
def test_random_walks_are_walks_and_distinct_ones_are_all_where_they_fit(
    collection, depth, inverse, seed
):
    starts = np.arange(collection.num_nodes)
    drawn = random_walks(collection, starts, depth=depth, number=5, inverse=inverse, seed=seed)
    once = random_walks(
        collection, starts, depth=depth, number=2000, inverse=inverse, distinct=True, seed=seed
    )
    assert drawn.shape == (len(starts), 5, 2 * depth + 1)
    for start in starts.tolist():
        every = every_walk(collection, start, depth, inverse)
        assert set(trimmed(drawn[start])) <= every
        found = [walk for walk in trimmed(once[start]) if walk]
        assert len(found) == len(set(found))
        assert set(found) <= every
        if once[start, -1, 0] < 0 and len(every) < 200:
            assert set(found) == every


def test_walks_that_do_not_fit_are_drawn_without_repetition():
    star = Graphs.from_edges([(0, leaf) for leaf in range(1, 31)])
    walks = random_walks(star, [0], depth=1, number=20, distinct=True, seed=1)
    found = [walk for walk in trimmed(walks) if walk]
    assert 5 < len(found) < 20
    assert len(set(found)) == len(found)


def test_each_edge_is_as_likely_as_any_other():
    star = Graphs.from_edges(
        [(0, leaf) for leaf in range(1, 6)] + [(leaf, 0) for leaf in range(1, 6)]
    )
    ends = random_walks(star, [0], depth=3, number=50_000, seed=0)[0]
    for column in (2, 6):
        counts = np.array(list(Counter(ends[:, column].tolist()).values()))
        assert len(counts) == 5
        assert (
            (counts - 10_000) ** 2 / 10_000
        ).sum() < 20  # chi-square with four degrees of freedom: p = 0.0005
    pairs = np.array(
        list(Counter(zip(ends[:, 2].tolist(), ends[:, 6].tolist(), strict=True)).values())
    )
    assert len(pairs) == 25
    assert ((pairs - 2_000) ** 2 / 2_000).sum() < 52  # 24 degrees of freedom: p = 0.0008


def test_walks_of_two_starts_are_independent():
    star = Graphs.from_edges(
        [(0, leaf) for leaf in range(2, 6)] + [(1, leaf) for leaf in range(2, 6)]
    )
    first, second = random_walks(star, [0, 1], depth=1, number=20_000, seed=0)[:, :, 2]
    counts = np.bincount((first - 2) * 4 + second - 2, minlength=16)
    assert ((counts - 1250) ** 2 / 1250).sum() < 40  # 15 degrees of freedom: p = 0.0005


def test_walks_of_a_node_do_not_depend_on_the_other_starts():
    rng = np.random.default_rng(0)
    collection = Graphs.from_edges(
        rng.integers(50, size=(200, 2)),
        num_nodes=60,
        edge_labels=rng.integers(4, size=200).tolist(),
    )
    options = {"depth": 3, "number": 700, "seed": 5}
    together = random_walks(collection, np.arange(60), **options)
    order = rng.permutation(60)
    assert np.array_equal(random_walks(collection, order, **options), together[order])
    assert np.array_equal(random_walks(collection, [7], **options)[0], together[7])
    distinct = random_walks(collection, np.arange(60), distinct=True, **options)
    assert np.array_equal(random_walks(collection, [7], distinct=True, **options)[0], distinct[7])


def test_seeds_give_different_walks():
    loop = Graphs.from_edges([(0, 0), (0, 0)], edge_labels=["a", "b"])
    walks = [random_walks(loop, [0], depth=8, number=4, seed=seed).tobytes() for seed in range(20)]
    assert len(set(walks)) == 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"depth": -1}, "depth=-1: choose a whole number"),
        ({"number": 0}, "number=0"),
        ({"number": 2.5}, "number=2.5"),
        ({"starts": [3]}, "starts name node 3, but there are 3"),
        ({"starts": [[0]]}, "list of node numbers"),
        ({"starts": [0.5]}, "list of node numbers"),
        ({"number": 2**40}, "too many to hold at once"),
    ],
)
def test_bad_requests_say_what_is_wrong(change, message):
    options = {"starts": [0], "depth": 2, "number": 3} | change
    with pytest.raises(GraphError, match=message):
        random_walks(CHAIN, options.pop("starts"), **options)


def test_all_walks_refuses_what_would_never_end():
    dense = Graphs.from_edges([(i, j) for i in range(50) for j in range(50)])
    with pytest.raises(GraphError, match="too many to hold"):
        all_walks(dense, [0], depth=400)


def test_no_starts_give_no_walks():
    assert random_walks(CHAIN, [], depth=2, number=3).shape == (0, 3, 5)
    assert random_walks(CHAIN, [], depth=2, number=3, distinct=True).shape == (0, 3, 5)
    assert all_walks(CHAIN, [], depth=2)[0].shape == (0, 5)


def test_relabeling_of_different_nodes_settles_from_the_dead_ends_on():
    labels = relabeled(Ways.of(CHAIN), np.arange(3), 3)
    assert labels.tolist() == [[0, 1, 2], [3, 4, 2], [5, 4, 2], [5, 4, 2]]


def test_relabeling_of_equal_nodes_tells_them_apart_by_what_leaves_them():
    pair = Graphs.from_edges([(0, 1), (2, 3), (4, 5)], edge_labels=["a", "a", "b"])
    labels = relabeled(Ways.of(pair), np.zeros(6, dtype=np.int64), 1)
    assert labels.tolist() == [[0] * 6, [1, 0, 1, 0, 2, 0]]


def test_parallel_edges_of_one_label_are_one_walk():
    graphs = Graphs.from_edges([(0, 1)] * 200 + [(0, 2)], edge_labels=["a"] * 201)
    walks = random_walks(graphs, [0], depth=1, number=3, distinct=True)
    assert walks[0].tolist() == [[0, 0, 1], [0, 0, 2], [-1, -1, -1]]
    assert all_walks(graphs, [0], depth=1)[0].tolist() == [[0, 0, 1], [0, 0, 2]]
    with pytest.raises(GraphError, match="seed=None: choose a whole number"):
        random_walks(graphs, [0], depth=1, number=3, seed=None)
