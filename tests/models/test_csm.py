from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import edgnn
from benchmarks._grakel import matching_grams
from edgnn import Graphs
from edgnn.errors import EstimatorError, GraphError
from edgnn.evaluation import kfold
from edgnn.models import SubgraphMatchingClassifier, subgraph_counts
from strategies import contents, graphs


def undirected(edges, node_labels, edge_labels=None):
    labels = ["-"] * len(edges) if edge_labels is None else edge_labels
    both = [*edges, *[(b, a) for a, b in edges]]
    return Graphs.from_edges(both, node_labels=list(node_labels), edge_labels=[*labels, *labels])


def matches(one, other, k=3, connected=True):
    both = subgraph_counts(Graphs.concat([one, other]), k, connected=connected)
    return [both.products(both, size)[0, 1] for size in range(1, k + 1)]


def kernels(collection, **parameters):
    classifier = SubgraphMatchingClassifier(**{"normalize": False} | parameters)
    represented = classifier._represent(collection)
    return classifier._kernels(represented, represented)


# Counted by hand


def test_labeled_triangles():
    triangle = [(0, 1), (1, 2), (2, 0)]
    one = undirected(triangle, "AAB", ["x", "y", "y"])
    # nodes: 2·2 pairs of A, 1 of B; edges: x onto x in 2 ways, two A-y-B onto two; the triangle: A and A may swap
    assert matches(one, one) == [5, 2 + 4, 2]
    # all edges y: no x to match, the two A-y-B of one onto the two of the other; the triangles differ
    assert matches(one, undirected(triangle, "AAB", "yyy")) == [5, 4, 0]
    # three equal nodes and edges: the edge in 3·3·2 ways, the triangle in 3!
    same = undirected(triangle, "AAA", "xxx")
    assert matches(same, same) == [9, 18, 6]


def test_path_against_star():
    path, star = (
        undirected([(0, 1), (1, 2), (2, 3)], "CCCC"),
        undirected([(0, 1), (0, 2), (0, 3)], "CCCC"),
    )
    # edges 3·3·2; paths of two edges: 2 in the path, 3 in the star, each onto another in 2 ways; nothing of four nodes
    assert matches(path, star, 4) == [16, 18, 12, 0]
    # path of four nodes onto itself: forward and backward
    assert matches(path, path, 4) == [16, 18, 8, 2]
    # with gaps, pairs without an edge match as well: 3·3·2; three nodes with one edge or none are of one graph only
    assert matches(path, star, 4, connected=False) == [16, 18 + 18, 12, 0]


def test_two_nodes_without_edges_match_only_where_gaps_count():
    apart = Graphs.from_edges([], node_labels=["A", "A"])
    assert matches(apart, apart, 2) == [4, 0]
    assert matches(apart, apart, 2, connected=False) == [4, 2]


def test_directions_count():
    there = Graphs.from_edges([(0, 1)], node_labels=["A", "B"])
    back = Graphs.from_edges([(1, 0)], node_labels=["A", "B"])
    ways = Graphs.from_edges([(0, 1), (1, 0)], node_labels=["A", "B"])
    assert [matches(there, other, 2)[1] for other in (there, back, ways)] == [1, 0, 0]
    equal, turned = (
        Graphs.from_edges(edges, node_labels=["A", "A"]) for edges in ([(0, 1)], [(1, 0)])
    )
    assert matches(equal, turned, 2) == [4, 1]


def test_parallel_edges_and_loops_count():
    single = Graphs.from_edges([(0, 1)], edge_labels=["x"])
    double = Graphs.from_edges([(0, 1), (0, 1)], edge_labels=["x", "x"])
    mixed = Graphs.from_edges([(0, 1), (0, 1)], edge_labels=["y", "x"])
    turned = Graphs.from_edges([(0, 1), (0, 1)], edge_labels=["x", "y"])
    assert [matches(double, other, 2)[1] for other in (single, double, mixed)] == [0, 1, 0]
    assert matches(mixed, turned, 2) == [4, 1]
    assert matches(Graphs.from_edges([(0, 0)]), Graphs.from_edges([], num_nodes=1), 1) == [0]


# Counted one by one


def product_cliques(one, other, k, connected):
    """Cliques of each size in the product graph: pairs of alike nodes, joined where what lies between them is alike."""

    def between(graph, a, b):
        edges = zip(graph["edges"], map(repr, graph["edge labels"]), strict=True)
        return sorted((ends == (a, b), label) for ends, label in edges if ends in ((a, b), (b, a)))

    pairs = [
        (a, b)
        for a, b in product(range(len(one["node labels"])), range(len(other["node labels"])))
        if one["node labels"][a] == other["node labels"][b]
        and between(one, a, a) == between(other, b, b)
    ]
    joint = {}
    for p, q in combinations(pairs, 2):
        here, there = between(one, p[0], q[0]), between(other, p[1], q[1])
        if p[0] != q[0] and p[1] != q[1] and here == there:
            joint[p, q] = bool(here)

    def hangs_together(clique):
        reached, rest = {clique[0]}, set(clique[1:])
        while near := {q for q in rest if any(joint[min(p, q), max(p, q)] for p in reached)}:
            reached, rest = reached | near, rest - near
        return not rest

    cliques = [
        [c for c in combinations(pairs, s) if all(e in joint for e in combinations(c, 2))]
        for s in range(1, k + 1)
    ]
    return [sum(not connected or hangs_together(c) for c in found) for found in cliques]


@given(graphs(min_graphs=2, max_graphs=2, max_nodes=4, max_edges=6, features=False), st.booleans())
def test_counts_are_those_of_cliques_in_the_product_of_directed_multigraphs(pair, connected):
    first, second = contents(pair)
    assert matches(pair[0], pair[1], 3, connected) == product_cliques(first, second, 3, connected)
    assert (
        matches(pair[0], pair[0], 4, connected)[3] == product_cliques(first, first, 4, connected)[3]
    )


@given(graphs(min_graphs=2, max_nodes=7, max_edges=14, features=False), st.booleans())
def test_new_graphs_compare_with_old_ones_as_if_counted_together(collection, connected):
    old, new = collection[:1], collection[1:]
    together = subgraph_counts(collection, 5, connected=connected)
    known = subgraph_counts(old, 5, connected=connected)
    later = subgraph_counts(new, 5, connected=connected, like=old)
    for size in range(1, 6):
        np.testing.assert_array_equal(
            later.products(known, size), together.products(together, size)[1:, :1]
        )
        np.testing.assert_array_equal(later.squares(size), together.squares(size)[1:])


@given(graphs(max_nodes=6, max_edges=12, features=False, names=False), st.booleans())
def test_small_pieces_give_the_same_counts(collection, connected):
    whole = subgraph_counts(collection, 4, connected=connected)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("edgnn.models.rivals._subgraphs._AT_ONCE", 2)
        pieces = subgraph_counts(collection, 4, connected=connected)
    assert (whole.counts != pieces.counts).nnz == 0
    for name in ("code", "group", "weight"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(pieces, name))


def test_every_set_of_nodes_is_counted_once():
    complete = undirected(list(combinations(range(8), 2)), "C" * 8)
    counts = subgraph_counts(complete, 6)
    assert counts.counts.toarray().ravel()[np.argsort(counts.group)].tolist() == [
        8,
        28,
        56,
        70,
        56,
        28,
    ]
    assert sorted(counts.weight.tolist()) == [1, 2, 6, 24, 120, 720]


# Against GraKeL


def grakel_gram(collection, **parameters):
    grakel = pytest.importorskip("grakel")
    inputs = []
    for graph in contents(collection):
        adjacency = np.zeros((len(graph["node labels"]),) * 2)
        for ends in graph["edges"]:
            adjacency[ends] = 1
        edge_labels = dict(zip(graph["edges"], graph["edge labels"], strict=True))
        inputs.append((adjacency, dict(enumerate(graph["node labels"])), edge_labels))
    return grakel.SubgraphMatching(**parameters).fit_transform(inputs)


@st.composite
def simple_graphs(draw):
    parts = []
    for _ in range(3):
        size = draw(st.integers(2, 6))
        pairs = draw(
            st.lists(st.sampled_from(list(combinations(range(size), 2))), min_size=1, unique=True)
        )
        nodes, edges = (
            draw(st.lists(st.sampled_from("ab"), min_size=n, max_size=n))
            for n in (size, len(pairs))
        )
        parts.append(undirected(pairs, nodes, edges))
    return Graphs.concat(parts)


@given(
    simple_graphs(), st.sampled_from(["uniform", "increasing", "decreasing", "strong_decreasing"])
)
def test_values_are_those_of_grakel_on_undirected_graphs(collection, weights):
    expected = grakel_gram(collection, k=4, lw=weights)
    np.testing.assert_allclose(kernels(collection, k=4, weights=weights)[4], expected, rtol=1e-12)


@pytest.mark.parametrize("k", [3, 4])
def test_values_are_those_of_grakel_on_molecules(k):
    molecules = edgnn.load_dataset("MUTAG").graphs[:12]
    np.testing.assert_array_equal(kernels(molecules, k=k)[k], grakel_gram(molecules, k=k))
    normalized = kernels(molecules, k=k, normalize=True)[k]
    np.testing.assert_allclose(normalized, grakel_gram(molecules, k=k, normalize=True), rtol=1e-12)


@given(graphs(max_nodes=4, features=False))
def test_values_are_those_of_grakel_on_any_graphs(collection):
    pytest.importorskip("grakel")
    theirs = matching_grams(collection, 3)
    for k, ours in kernels(collection, k=(1, 2, 3)).items():
        np.testing.assert_array_equal(ours, theirs[k])


# As a classifier


def molecules(count=60):
    data = edgnn.load_dataset("MUTAG")
    return data.graphs[:count], data.targets[:count]


def test_splits_are_what_single_fits_give_and_test_labels_do_not_matter():
    X, y = molecules()
    splits = kfold(y, 5, 1, seed=1, validation=0.1)
    classifier = SubgraphMatchingClassifier(C=(0.1, 10.0), folds=3)
    answers = classifier.predict_splits(X, y, splits)
    for split, answer in zip(splits, answers, strict=True):
        known = np.sort(split.known)
        alone = clone(classifier).set_params(random_state=split.seed).fit(X[known], y[known])
        np.testing.assert_array_equal(answer["prediction"], alone.predict(X[split.test]))
        assert answer["chosen"] == alone.chosen_
        shuffled = y.copy()
        shuffled[split.test] = np.random.default_rng(0).permutation(1 - y[split.test])
        again = classifier.predict_splits(X, shuffled, [split])[0]
        np.testing.assert_array_equal(again["prediction"], answer["prediction"])


def test_cross_validation_of_scikit_learn_works():
    X, y = molecules(188)
    scores = cross_val_score(
        SubgraphMatchingClassifier(k=(2, 3), C=100.0, folds=3, random_state=0), X, y, cv=3
    )
    assert scores.mean() > y.mean() + 0.1


def test_the_size_is_chosen_where_only_it_tells_the_classes_apart():
    path, star = (
        undirected([(0, 1), (1, 2), (2, 3)], "CCCC"),
        undirected([(0, 1), (0, 2), (0, 3)], "CCCC"),
    )
    X, y = Graphs.concat([path, star] * 6), ["path", "star"] * 6
    fitted = SubgraphMatchingClassifier(random_state=0).fit(X, y)
    assert fitted.chosen_["kernel"] == 3
    assert fitted.predict(Graphs.concat([star, path])).tolist() == ["star", "path"]


def test_empty_graphs_unseen_labels_and_single_nodes_are_predicted():
    X, y = molecules(20)
    fitted = SubgraphMatchingClassifier(random_state=0).fit(X, y)
    empty, single = Graphs.from_edges([], num_nodes=0), Graphs.from_edges([], node_labels=["C"])
    foreign = Graphs.from_edges([(0, 1)], node_labels=["Xx", "Yy"], edge_labels=["new"])
    strange = Graphs.concat([empty, foreign, single])
    compared = fitted._compared(strange)
    assert not compared[:2].any()
    assert (compared[2] > 0).all()
    assert len(fitted.predict(strange)) == 3


def test_similarity_of_new_graphs_depends_on_both_alone():
    X, y = molecules(40)
    fitted = SubgraphMatchingClassifier(4, random_state=0).fit(X[:30], y[:30])
    new = X[30:].with_node_labels(
        [f"new {label}" if n % 3 == 0 else label for n, label in enumerate(X[30:].node_labels)]
    )
    together = kernels(Graphs.concat([X[:30], new]), k=4, normalize=True)[4]
    np.testing.assert_allclose(fitted._compared(new), together[30:, :30], rtol=1e-12)


@pytest.mark.parametrize(
    "parameters",
    [
        {"k": 0},
        {"k": 8},
        {"k": ()},
        {"k": 2.5},
        {"weights": "none"},
        {"weights": (1.0, 2.0)},
        {"weights": (1.0, -1.0, 1.0)},
        {"C": ()},
        {"C": (0.0,)},
        {"folds": 1},
        {"features": "use"},
    ],
)
def test_wrong_parameters_are_named(parameters):
    X, y = molecules(8)
    with pytest.raises(EstimatorError, match=list(parameters)[-1]):
        SubgraphMatchingClassifier(**parameters).fit(X, y)


def test_features_are_refused_unless_they_are_to_be_ignored():
    X = Graphs.from_edges(
        [(0, 1), (2, 3)], sizes=[2, 2], node_features=[[1.0], [2.0], [3.0], [4.0]]
    )
    with pytest.raises(EstimatorError, match="Discretizer"):
        SubgraphMatchingClassifier().fit(X, [0, 1])
    assert SubgraphMatchingClassifier(features="ignore").fit(X, [0, 1]).predict(X).shape == (2,)


@pytest.mark.parametrize("k", [0, 8, True, 2.0])
def test_counting_refuses_sizes_that_are_none(k):
    with pytest.raises(GraphError, match="1 to 7 nodes"):
        subgraph_counts(molecules(2)[0], k)


def test_a_fitted_classifier_keeps_the_kernel_it_was_fitted_with():
    data = edgnn.load_dataset("MUTAG")
    fitted = SubgraphMatchingClassifier(k=2, C=1).fit(data.graphs[:40], data.targets[:40])
    before = fitted.predict(data.graphs[40:60])
    assert (fitted.set_params(k=1).predict(data.graphs[40:60]) == before).all()


def test_too_many_node_sets_are_refused_before_they_are_counted():
    graphs = Graphs.from_edges([(0, 1)], num_nodes=5000)
    with pytest.raises(GraphError, match="choose connected=True or a smaller k"):
        subgraph_counts(graphs, 5, connected=False)
    assert subgraph_counts(graphs, 5).counts.sum() == 5001
