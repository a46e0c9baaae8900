from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import edgnn
from benchmarks._grakel import path_grams
from edgnn import Graphs
from edgnn.errors import EstimatorError
from edgnn.evaluation import kfold
from edgnn.models import WLShortestPathClassifier
from edgnn.models.rivals._wlsp import hop_distances
from strategies import contents, graphs


def undirected(edges, node_labels):
    return Graphs.from_edges([*edges, *[(b, a) for a, b in edges]], node_labels=list(node_labels))


def kernels(collection, **parameters):
    classifier = WLShortestPathClassifier(**{"normalize": False} | parameters)
    represented = classifier._represent(collection)
    return classifier._kernels(represented, represented)


def test_kernel_of_paths_and_triangles_by_hand():
    path, triangle = (
        undirected([(0, 1), (1, 2)], "ABA"),
        undirected([(0, 1), (1, 2), (2, 0)], "ABA"),
    )
    found = kernels(Graphs.concat([path, triangle]), depths=(0, 1))
    # ordered pairs of the path: A1B ×2, B1A ×2, A2A ×2; of the triangle: A1B ×2, B1A ×2, A1A ×2
    assert found[0].tolist() == [[12, 8], [8, 12]]
    # after a round an end of the path is A:{B} and a corner A:{A,B}; B:{A,A} is the same in both, but its partners are not
    assert found[1].tolist() == [[24, 8], [8, 24]]


def test_pairs_without_a_path_do_not_count():
    apart = Graphs.from_edges([(0, 1)], num_nodes=3)
    single, empty = Graphs.from_edges([], num_nodes=1), Graphs.from_edges([], num_nodes=0)
    collection = Graphs.concat([apart, single, empty])
    assert kernels(collection, depths=0)[0].tolist() == [[4, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert kernels(collection, depths=0, normalize=True)[0].tolist() == [
        [1, 0, 0],
        [0, 0, 0],
        [0, 0, 0],
    ]


def floyd_warshall(graph):
    size = len(graph["node labels"])
    hops = np.full((size, size), np.inf)
    for a, b in graph["edges"]:
        hops[a, b] = hops[b, a] = 1
    for middle in range(size):
        hops = np.minimum(hops, hops[:, [middle]] + hops[[middle]])
    return {
        (a, b): hops[a, b]
        for a in range(size)
        for b in range(size)
        if a != b and hops[a, b] < np.inf
    }


@given(graphs(max_nodes=8, max_edges=12, features=False), st.sampled_from([1, 5, 2**22]))
def test_distances_are_those_of_floyd_and_warshall(collection, at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("edgnn.models.rivals._wlsp._AT_ONCE", at_once)
        pieces = list(hop_distances(collection))
    found = [
        pair for piece in pieces for pair in zip(*(part.tolist() for part in piece), strict=True)
    ]
    expected = {
        (start + a, start + b): hops
        for start, graph in zip(
            collection.graph_offset.tolist(), contents(collection), strict=False
        )
        for (a, b), hops in floyd_warshall(graph).items()
    }
    assert {(a, b): hops for a, b, hops in found} == expected
    assert len(found) == len(expected)


def grakel_gram(collection, depth):
    grakel = pytest.importorskip("grakel")
    inputs = []
    for graph in contents(collection):
        adjacency = np.zeros((len(graph["node labels"]),) * 2, dtype=int)
        for ends in graph["edges"]:
            adjacency[ends] = 1
        inputs.append((adjacency, dict(enumerate(graph["node labels"]))))
    paths = (grakel.ShortestPath, {"with_labels": True})
    return grakel.WeisfeilerLehman(n_iter=depth, base_graph_kernel=paths).fit_transform(inputs)


@st.composite
def simple_graphs(draw):
    parts = []
    for _ in range(3):
        size = draw(st.integers(2, 8))
        pairs = draw(
            st.lists(
                st.sampled_from(list(combinations(range(size), 2))),
                min_size=1,
                max_size=10,
                unique=True,
            )
        )
        parts.append(
            undirected(pairs, draw(st.lists(st.sampled_from("ab"), min_size=size, max_size=size)))
        )
    return Graphs.concat(parts)


@given(simple_graphs(), st.integers(1, 3))
def test_values_are_those_of_grakel_on_undirected_graphs(collection, depth):
    np.testing.assert_array_equal(
        kernels(collection, depths=depth)[depth], grakel_gram(collection, depth)
    )


@pytest.mark.slow
def test_values_are_those_of_grakel_on_molecules():
    molecules = edgnn.load_dataset("MUTAG").graphs
    ours, theirs = kernels(molecules), path_grams(molecules, 5)
    assert list(ours) == list(theirs) == [0, 1, 2, 3, 4, 5]
    for depth in ours:
        np.testing.assert_array_equal(ours[depth], theirs[depth])
    np.testing.assert_array_equal(ours[2], grakel_gram(molecules, 2))


@given(graphs(max_nodes=5, features=False))
def test_values_are_those_of_grakel_on_any_graphs(collection):
    pytest.importorskip("grakel")
    theirs = path_grams(collection, 2)
    for depth, ours in kernels(collection, depths=(0, 1, 2)).items():
        np.testing.assert_array_equal(ours, theirs[depth])


def test_similarity_of_new_graphs_depends_on_both_alone():
    X = edgnn.load_dataset("MUTAG").graphs[:20]
    new = X[12:].with_node_labels(
        [f"new {label}" if n % 9 == 0 else label for n, label in enumerate(X[12:].node_labels)]
    )
    classifier = WLShortestPathClassifier()
    fitted = classifier._represent(X[:12])
    later = classifier._kernels(classifier._represent(new, fitted), fitted)
    together = kernels(Graphs.concat([X[:12], new]), normalize=True)
    for depth in range(6):
        np.testing.assert_allclose(later[depth], together[depth][12:, :12], rtol=1e-12)


# As a classifier


def molecules(count=60):
    data = edgnn.load_dataset("MUTAG")
    return data.graphs[:count], data.targets[:count]


def test_splits_are_what_single_fits_give_and_test_labels_do_not_matter():
    X, y = molecules()
    splits = kfold(y, 5, 1, seed=1, validation=0.1)
    classifier = WLShortestPathClassifier(depths=(0, 2), C=(0.1, 10.0), folds=3)
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
        WLShortestPathClassifier(depths=(0, 1), C=100.0, folds=3, random_state=0), X, y, cv=3
    )
    assert scores.mean() > y.mean() + 0.1


def test_the_depth_is_chosen_where_only_it_tells_the_classes_apart():
    # four pairs of neighbors and two pairs two steps apart in both, but only the square has all degrees equal
    square, paw = (
        undirected([(0, 1), (1, 2), (2, 3), (3, 0)], "CCCC"),
        undirected([(0, 1), (1, 2), (2, 0), (2, 3)], "CCCC"),
    )
    X, y = Graphs.concat([square, paw] * 6), ["square", "paw"] * 6
    fitted = WLShortestPathClassifier(random_state=0).fit(X, y)
    assert fitted.chosen_["kernel"] == 1
    assert fitted.predict(Graphs.concat([paw, square])).tolist() == ["paw", "square"]


def test_empty_graphs_unseen_labels_and_single_nodes_are_predicted():
    X, y = molecules(20)
    fitted = WLShortestPathClassifier(random_state=0).fit(X, y)
    empty, single = Graphs.from_edges([], num_nodes=0), Graphs.from_edges([], node_labels=["C"])
    foreign = Graphs.from_edges([(0, 1)], node_labels=["Xx", "Yy"])
    strange = Graphs.concat([empty, single, foreign])
    assert not fitted._compared(strange).any()
    assert len(fitted.predict(strange)) == 3


@pytest.mark.parametrize(
    "parameters",
    [
        {"depths": -1},
        {"depths": ()},
        {"depths": "2"},
        {"C": (-1.0,)},
        {"folds": 0},
    ],
)
def test_wrong_parameters_are_named(parameters):
    X, y = molecules(8)
    with pytest.raises(EstimatorError, match=next(iter(parameters))):
        WLShortestPathClassifier(**parameters).fit(X, y)


def test_features_are_refused_unless_they_are_to_be_ignored():
    X = Graphs.from_edges(
        [(0, 1), (2, 3)], sizes=[2, 2], node_features=[[1.0], [2.0], [3.0], [4.0]]
    )
    with pytest.raises(EstimatorError, match="Discretizer"):
        WLShortestPathClassifier().fit(X, [0, 1])
    assert WLShortestPathClassifier(features="ignore").fit(X, [0, 1]).predict(X).shape == (2,)
