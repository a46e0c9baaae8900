import grakel
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import edgnn
from edgnn import Graphs, wl
from edgnn.errors import GraphError
from strategies import graphs as random_graphs
from wl_reference import reference

SCHEMES = ("node", "separate", "joint")


@given(random_graphs(min_graphs=1, features=False), st.sampled_from(SCHEMES), st.integers(0, 3))
def test_the_kernel_counts_pairs_of_nodes_with_equal_colors(graphs, scheme, depth):
    colors = reference(graphs, depth, scheme)
    owner = graphs.graph_of_node.tolist()
    expected = np.zeros((len(graphs), len(graphs)))
    for round in colors:
        for first, a in zip(owner, round, strict=True):
            for second, b in zip(owner, round, strict=True):
                expected[first, second] += a == b
    assert np.array_equal(wl.WLKernel(depth, scheme)(graphs), expected)


def test_the_kernel_is_grakels_when_edges_do_not_matter():
    data = edgnn.load_dataset("MUTAG").graphs[:40]
    theirs = [_for_grakel(graph) for graph in data]
    kernel = grakel.WeisfeilerLehman(n_iter=4, base_graph_kernel=grakel.VertexHistogram)
    assert np.array_equal(wl.WLKernel(4, "node")(data), kernel.fit_transform(theirs))


def _for_grakel(graph):
    edges = {}
    for source, target in zip(graph.edge_source.tolist(), graph.edge_target.tolist(), strict=True):
        edges.setdefault(source, {})[target] = 1
    return [edges, dict(enumerate(graph.node_labels))]


@given(
    random_graphs(min_graphs=2, max_graphs=4, features=False),
    st.sampled_from(SCHEMES),
    st.booleans(),
)
def test_blocks_of_the_kernel_matrix_fit_together(graphs, scheme, normalize):
    kernel = wl.WLKernel(2, scheme, normalize=normalize)
    whole = kernel(graphs)
    assert np.allclose(kernel(graphs[:1], graphs[1:]), whole[:1, 1:])
    assert np.allclose(clone(kernel).fit(graphs[1:]).transform(graphs[:1]), whole[:1, 1:])
    assert np.allclose(clone(kernel).fit_transform(graphs), whole)
    if normalize:
        filled = (graphs.sizes > 0).numpy()
        assert np.allclose(np.diag(whole)[filled], 1)


def test_unseen_colors_are_left_out():
    train = Graphs.from_edges([(0, 1)], node_labels=["a", "b"])
    test = Graphs.from_edges([(0, 1)], node_labels=["a", "new"])
    ignored = wl.WLVectorizer(1).fit(train)
    assert ignored.transform(test).toarray().tolist() == [[1, 0, 0, 0]]
    assert len(ignored.get_feature_names_out()) == 4


def test_features_of_nodes_mark_their_own_colors():
    graphs = Graphs.from_edges([(0, 1), (1, 2)], num_nodes=4)
    features = wl.WLVectorizer(1, "node").fit_transform(graphs.nodes[[0, 2, 3]])
    assert issparse(features)
    dense = features.toarray()
    assert dense.sum(axis=1).tolist() == [2, 2, 2]
    assert np.array_equal(dense[0], dense[1])
    assert not np.array_equal(dense[0], dense[2])


def test_edge_labels_can_be_left_out():
    graphs = Graphs.from_edges([(0, 1), (2, 3)], sizes=[2, 2], edge_labels=["x", "y"])
    assert wl.WLKernel(1)(graphs)[0, 1] == 4  # all pairs at round 0, none at round 1
    assert wl.WLKernel(1, edge_labels=False)(graphs)[0, 1] == 4 + 2


def test_continuous_features_are_refused_or_discretized():
    graphs = Graphs.from_edges(
        [(0, 1), (2, 3)], sizes=[2, 2], node_features=[[0.0], [1.0], [0.1], [0.9]]
    )
    with pytest.raises(GraphError, match="Discretizer"):
        wl.WLVectorizer().fit(graphs)
    vectorizer = wl.WLVectorizer(0, discretize=2)
    assert vectorizer.fit_transform(graphs).toarray().tolist() == [[1, 1], [1, 1]]
    new = Graphs.from_edges([(0, 1)], node_features=[[-5.0], [-6.0]])
    assert vectorizer.transform(new).toarray().tolist() == [[2, 0]]
    with pytest.raises(GraphError, match="had node features"):
        vectorizer.transform(Graphs.from_edges([(0, 1)]))


def test_pipelines_and_searches_of_scikit_learn_work():
    data = edgnn.load_dataset("MUTAG")
    linear = make_pipeline(wl.WLVectorizer(3), SVC(kernel="linear"))
    assert cross_val_score(linear, data.graphs, data.targets, cv=3).mean() > 0.75
    precomputed = make_pipeline(wl.WLKernel(2, normalize=True), SVC(kernel="precomputed", C=10))
    assert cross_val_score(precomputed, data.graphs, data.targets, cv=3).mean() > 0.75
    search = GridSearchCV(
        linear,
        {"wlvectorizer__depth": [1, 2], "wlvectorizer__scheme": ["node", "joint"]},
        cv=3,
        n_jobs=2,
    )
    search.fit(data.graphs, data.targets)
    assert search.predict(list(data.graphs[:3])).shape == (3,)


def test_wrong_use_is_explained():
    with pytest.raises(NotFittedError, match="not fitted"):
        wl.WLVectorizer().transform(Graphs.from_edges([(0, 1)]))
    with pytest.raises(GraphError, match=r"pass data\.graphs or data\.nodes"):
        wl.WLVectorizer().fit(edgnn.load_dataset("MUTAG"))
    with pytest.raises(GraphError, match="item 0 is a str"):
        wl.WLVectorizer().fit(["CC"])


def test_lists_of_graphs_are_taken_as_one_collection():
    data = edgnn.load_dataset("MUTAG")
    graphs = list(data.graphs[:5])
    assert wl.refine(graphs, 2).num_colors() == wl.refine(data.graphs[:5], 2).num_colors()
    assert wl.power(graphs, data.targets[:5]) == wl.power(data.graphs[:5], data.targets[:5])
    with pytest.raises(GraphError, match=r"nodes\.graphs"):
        wl.refine(data.graphs[0].nodes)


def test_normalized_blocks_fit_together_with_binned_features():
    random = np.random.default_rng(0)
    edges = [(8 * path + node, 8 * path + node + 1) for path in range(6) for node in range(7)]
    graphs = Graphs.from_edges(edges, sizes=[8] * 6, node_features=random.normal(size=(48, 1)))
    kernel = wl.WLKernel(2, normalize=True, discretize=4)
    assert np.allclose(np.diag(kernel(graphs)), 1)
    assert np.allclose(kernel(graphs, graphs[:2]), kernel(graphs)[:, :2])
    assert np.allclose(clone(kernel).fit(graphs).transform(graphs[:2]), kernel(graphs)[:2])


def test_normalized_blocks_of_some_nodes_fit_together():
    """Nodes of the fitted graph and new ones with colors never seen: lengths are those of the chosen nodes alone."""
    old = Graphs.from_edges([(0, 1), (1, 2), (2, 3)], node_labels=list("aabc"))
    new = Graphs.from_edges([(0, 1), (1, 2), (3, 0)], node_labels=list("cbad"))
    kernel = wl.WLKernel(depth=2, normalize=True)
    whole = kernel(Graphs.concat([old, new]).nodes[[1, 3, 5, 7]])
    assert kernel.fit(old.nodes[[1, 3]]).transform(new.nodes[[1, 3]]) == pytest.approx(
        whole[2:, :2]
    )
    assert kernel(old.nodes[[1, 3]], new.nodes[[1, 3]]) == pytest.approx(whole[:2, 2:])


def test_a_value_on_the_border_of_two_bins_is_in_the_upper_one():
    graphs = Graphs.from_edges([], node_features=[[0.0], [1.0], [2.0]])
    bins = wl.Discretizer(bins=2).fit_transform(graphs)
    assert [label[1] for label in bins.node_labels] == [0, 1, 1]


ENTRIES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)))


@given(ENTRIES, st.none() | st.sets(st.integers(0, 6)))
def test_color_counts_are_those_of_a_loop(entries, known):
    colors = np.array([color for color, _ in entries], dtype=np.int64)
    owner = np.array([item for _, item in entries], dtype=np.int64)
    columns = sorted(set(colors.tolist()) if known is None else known)
    chosen = None if known is None else np.array(columns, dtype=np.int64)
    counts = wl.color_counts(colors, owner, 4, chosen).toarray()
    expected = [[entries.count((color, item)) for color in columns] for item in range(4)]
    assert counts.shape == (4, len(columns))
    assert counts.tolist() == expected
