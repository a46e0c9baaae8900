import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import edgnn
from edgnn.errors import EstimatorError, GraphError
from edgnn.evaluation import kfold
from edgnn.graphs import Graphs
from edgnn.models import RDFWLClassifier, random_walks
from edgnn.models.rivals._walks import Ways, all_walks, relabeled
from edgnn.models.rivals._wl_rdf import Subgraphs, content
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


#: a -p-> b -q-> c, x -p-> b, x -r-> c
SMALL = Graphs.from_edges(
    [(0, 2), (2, 3), (1, 2), (1, 3)],
    edge_labels=["p", "q", "p", "r"],
    node_names=["a", "x", "b", "c"],
)


def kernels(rows, columns=None, **options):
    model = RDFWLClassifier(**options)
    first = model._represent(rows)
    return model._kernels(first, first if columns is None else model._represent(columns, first))


def town(seed=0, people=24):
    """People who live in one of two towns, whose names give their class away, and like things at random."""
    rng = np.random.default_rng(seed)
    classes = np.arange(people) % 2
    names = (
        [f"person{i}" for i in range(people)] + ["north", "south"] + [f"thing{i}" for i in range(6)]
    )
    edges = [(i, people + classes[i]) for i in range(people)]
    edges += [
        (i, people + 2 + int(thing)) for i in range(people) for thing in rng.integers(6, size=2)
    ]
    labels = ["lives"] * people + ["likes"] * (2 * people)
    return Graphs.from_edges(edges, edge_labels=labels, node_names=names).nodes[
        np.arange(people)
    ], classes


def test_kernel_values_are_those_counted_by_hand():
    found = kernels(SMALL.nodes[[0, 1]], depths=(1, 2), rounds=(0, 1, 2))
    # depth 1, round 0: a has root, b, p; x has root, b, c, p, r; they share three
    # round 1: a has (root, p), b, (p, b); x has (root, p r), b, c, (p, b), (r, c); they share b and (p, b); likewise round 2
    # depth 2, round 0: a has root, b, c, p, q; x has the same and r
    # round 1: b is (b, q) in both; they share (b, q), c, (p, b), (q, c), and differ in the root
    by_hand = {
        "depth 1, rounds 0": 3 / math.sqrt(3 * 5),
        "depth 1, rounds 1": 5 / math.sqrt(6 * 10),
        "depth 1, rounds 2": 7 / math.sqrt(9 * 15),
        "depth 2, rounds 0": 5 / math.sqrt(5 * 6),
        "depth 2, rounds 1": 9 / math.sqrt(10 * 12),
    }
    assert {name: found[name][0, 1] for name in by_hand} == pytest.approx(by_hand)
    assert all(np.allclose(np.diag(K), 1) for K in found.values())


def test_counts_are_multiplied_not_marked():
    twins = Graphs.from_edges(
        [(0, 2), (0, 3), (1, 2)], edge_labels=["p", "p", "p"], node_names=["a", "x", "b", "c"]
    )
    found = kernels(twins.nodes[[0, 1]], depths=(1,), rounds=(0,))
    assert found["depth 1, rounds 0"][0, 1] == pytest.approx(
        (1 + 1 + 2 * 1) / math.sqrt((1 + 1 + 1 + 4) * 3)
    )


def test_an_instance_is_not_known_by_its_own_name_even_where_a_path_leads_back():
    loops = Graphs.from_edges([(0, 2), (2, 0), (1, 3), (3, 1)], node_names=["a", "x", "b", "c"])
    same = Graphs.from_edges([(0, 1), (1, 0)], node_names=["other", "b"])
    found = kernels(loops.nodes[[0, 1]], same.nodes[[0]], depths=(2,), rounds=(4,))[
        "depth 2, rounds 4"
    ]
    assert found[0, 0] == pytest.approx(1)
    assert found[1, 0] < 0.7


def test_what_lies_beyond_the_depth_does_not_count():
    longer = Graphs.from_edges(
        [(0, 1), (1, 2)], edge_labels=["p", "q"], node_names=["y", "b", "elsewhere"]
    )
    found = kernels(SMALL.nodes[[0]], longer.nodes[[0]], depths=(1, 2), rounds=(0, 2))
    assert found["depth 1, rounds 2"][0, 0] == pytest.approx(1)
    assert found["depth 2, rounds 2"][0, 0] < 0.9


def test_inverse_edges_bring_what_points_at_an_instance():
    pointing = Graphs.from_edges(
        [(2, 0), (3, 1)], edge_labels=["p", "q"], node_names=["a", "x", "b", "b2"]
    )
    assert kernels(pointing.nodes[[0, 1]], depths=(1,), rounds=(0,))["depth 1, rounds 0"][
        0, 1
    ] == pytest.approx(1)
    both = kernels(pointing.nodes[[0, 1]], depths=(1,), rounds=(0,), inverse=True)[
        "depth 1, rounds 0"
    ][0, 1]
    assert both == pytest.approx(1 / 3)
    leaving = Graphs.from_edges([(0, 1)], edge_labels=["p"], node_names=["a", "b"]).nodes[[0]]
    against = kernels(leaving, pointing.nodes[[0]], depths=(1,), rounds=(0,), inverse=True)[
        "depth 1, rounds 0"
    ]
    assert against[0, 0] == pytest.approx(2 / 3)  # the root and b, but p only against its direction


def test_nodes_without_names_are_told_apart_by_their_labels():
    plain = Graphs.from_edges([(0, 2), (1, 3)], node_labels=["i", "i", "C", "O"])
    found = kernels(plain.nodes[[0, 1]], depths=(1,), rounds=(0,))["depth 1, rounds 0"]
    assert found[0, 1] == pytest.approx(2 / 3)


@given(graphs(min_graphs=1, min_nodes=1), st.integers(0, 3), st.booleans())
def test_subgraphs_are_what_a_plain_search_finds(collection, depth, inverse):
    instances = np.arange(collection.num_nodes)
    found = Subgraphs.around(Ways.of(collection, inverse), instances, depth)
    ends = list(
        zip(
            collection.edge_source.tolist(),
            collection.edge_target.tolist(),
            collection.edge_label.tolist(),
            strict=True,
        )
    )
    if inverse:
        ends += [(t, s, label + len(collection.edge_vocabulary)) for s, t, label in ends]
    origin = np.repeat(np.arange(len(found.owner)), np.diff(found.indptr))
    for instance in instances.tolist():
        reached, edges, last = {instance}, [], {instance}
        for _ in range(depth):
            step = [edge for edge in ends if edge[0] in last]
            edges += step
            last = {t for _, t, _ in step} - reached
            reached |= last
        assert sorted(found.node[found.owner == instance].tolist()) == sorted(reached)
        mine = found.owner[origin] == instance
        triples = zip(
            found.node[origin[mine]], found.node[found.target[mine]], found.label[mine], strict=True
        )
        assert sorted((int(s), int(t), int(label)) for s, t, label in triples) == sorted(edges)
        assert (found.owner[found.target[mine]] == instance).all()


def test_a_smaller_depth_is_seen_as_if_it_had_been_the_largest():
    X, _ = town()
    several, one = (
        kernels(X, depths=(1, 2, 3), rounds=(0, 2)),
        kernels(X, depths=(1,), rounds=(0, 2)),
    )
    assert np.array_equal(several["depth 1, rounds 2"], one["depth 1, rounds 2"])


def test_items_are_represented_alike_in_any_company():
    X, _ = town(people=70)  # more than are held at once
    together = kernels(X, rounds=(0, 2))["depth 2, rounds 2"]
    apart = kernels(X[[3, 69]], X[[68, 5, 3]], rounds=(0, 2))["depth 2, rounds 2"]
    assert np.array_equal(apart, together[np.ix_([3, 69], [68, 5, 3])])


def test_no_items_are_compared_with_all():
    X, _ = town()
    assert kernels(X[[]], X)["depth 2, rounds 4"].shape == (0, 24)


def test_towns_are_learned_and_people_of_another_graph_predicted():
    X, y = town()
    model = RDFWLClassifier(random_state=0).fit(X, y)
    others, classes = town(seed=5, people=10)
    assert model.chosen_["inner_accuracy"] == 1
    assert model.predict(others).tolist() == classes.tolist()


def test_splits_get_what_fit_and_predict_give():
    X, y = town()
    splits = kfold(y, 3, 1, seed=4, validation=0.2)
    model = RDFWLClassifier(depths=(1, 2), random_state=9)
    for split, answer in zip(splits, model.predict_splits(X, y, splits), strict=True):
        known = np.sort(split.known)
        fresh = clone(model).set_params(random_state=split.seed).fit(X[known], y[known])
        assert answer["prediction"].tolist() == fresh.predict(X[split.test]).tolist()
        assert answer["chosen"] == fresh.chosen_


@pytest.mark.slow
def test_hashes_of_content_do_not_depend_on_the_process(run_python):
    code = "from edgnn.models.rivals._wl_rdf import content; print(content(['a', 1, ('x', 2), None]).tolist())"
    assert run_python(code, PYTHONHASHSEED="1").strip() == str(
        content(["a", 1, ("x", 2), None]).tolist()
    )


def test_equal_numbers_have_one_hash():
    assert content([1, 1.0, True, "1", 1.5]).tolist()[:3] == [content([1])[0]] * 3
    assert len(set(content([1, "1", 1.5, float("inf"), "\ud800"]).tolist())) == 5


@pytest.mark.parametrize(
    "change",
    [{"depths": ()}, {"depths": (1.5,)}, {"depths": "12"}, {"rounds": (-1,)}, {"rounds": True}],
)
def test_bad_settings_are_refused(change):
    X, y = town()
    with pytest.raises(EstimatorError, match="choose a whole number from 0 to 1000"):
        RDFWLClassifier(**change).fit(X, y)


def test_more_rounds_than_can_change_anything_are_taken_as_those_that_can():
    X, y = town()
    assert kernels(X, depths=1, rounds=50).keys() == {"depth 1, rounds 2"}
    with pytest.raises(EstimatorError, match="inverse='yes': choose True or False"):
        RDFWLClassifier(inverse="yes").fit(X, y)


def test_graphs_are_refused():
    with pytest.raises(EstimatorError, match="for nodes"):
        RDFWLClassifier().fit(SMALL, [0])


@pytest.mark.slow
def test_aifb_is_learned_within_the_training_part(data_dir):
    data = edgnn.load_dataset("AIFB", data_dir=data_dir)
    train, y = data.nodes[data.split["train"]], data.targets[data.split["train"]]
    model = RDFWLClassifier(random_state=0).fit(train, y)
    assert model.chosen_["inner_accuracy"] > 0.85
