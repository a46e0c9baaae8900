import warnings

import numpy as np
import pytest
from sklearn.base import clone

import edgnn
from edgnn.errors import EstimatorError, MissingDependencyError
from edgnn.evaluation import kfold
from edgnn.graphs import Graphs
from edgnn.models import NotFitted, RDF2Vec, RDF2VecClassifier, UnseenNodeWarning
from edgnn.models.rivals._rdf_vectors import TYPE, starts_of, word_vectors

SMALL = {"walks": 20, "dimensions": 8, "epochs": 2, "negative": 3, "sample": 0.0}


def town(people=24):
    """People of two towns who know people of their own; people and towns have types, and nothing is said of the thing."""
    rng = np.random.default_rng(0)
    classes = np.arange(people) % 2
    names = [f"person{i}" for i in range(people)] + ["north", "south", "Person", "Town", "thing"]
    edges = [(i, people + classes[i], "lives") for i in range(people)]
    edges += [
        (i, 2 * int(rng.integers(people // 2)) + classes[i], "knows")
        for i in range(people)
        for _ in range(3)
    ]
    edges += [(i, people + 2, TYPE) for i in range(people)] + [
        (people, people + 3, TYPE),
        (people + 1, people + 3, TYPE),
    ]
    ends, labels = [edge[:2] for edge in edges], [edge[2] for edge in edges]
    return Graphs.from_edges(ends, edge_labels=labels, node_names=names), classes


GRAPH, CLASSES = town()
PEOPLE = GRAPH.nodes[np.arange(24)]


def test_vectors_have_the_asked_shape_and_names():
    model = RDF2Vec(random_state=0, **SMALL).fit(PEOPLE)
    vectors = model.transform(PEOPLE[[3, 1]])
    assert vectors.shape == (2, 8)
    assert np.isfinite(vectors).all()
    assert not np.array_equal(vectors[0], vectors[1])
    assert model.get_feature_names_out().tolist() == [f"rdf2vec{i}" for i in range(8)]
    assert np.array_equal(
        RDF2Vec(random_state=0, **SMALL).fit_transform(PEOPLE), model.transform(PEOPLE)
    )


@pytest.mark.parametrize(
    "change",
    [
        {"method": "cbow"},
        {"inverse": True},
        {"strategy": "wl"},
        {"walks": None, "depth": 2},
        {"distinct": False},
        {"sample": 0.01},
        {"starts": "all"},
        {"dimensions": 12},
        {"depth": 0},
    ],
)
def test_every_setting_gives_other_vectors_and_the_same_ones_again(change):
    options = SMALL | change
    first = RDF2Vec(random_state=0, **options).fit(PEOPLE).transform(PEOPLE)
    assert np.array_equal(
        RDF2Vec(random_state=0, **options).fit(list(PEOPLE)).transform(PEOPLE), first
    )
    plain = RDF2Vec(random_state=0, **SMALL).fit(PEOPLE).transform(PEOPLE)
    assert first.shape != plain.shape or not np.array_equal(first, plain)


def test_seeds_give_other_vectors():
    first, second = (
        RDF2Vec(random_state=seed, **SMALL).fit(PEOPLE).transform(PEOPLE) for seed in (0, 2**40)
    )
    assert not np.array_equal(first, second)


@pytest.mark.slow
def test_vectors_are_the_same_in_every_process(run_python):
    code = (
        "from edgnn import Graphs; from edgnn.models import RDF2Vec;"
        "graph = Graphs.from_edges([(i, (i * 7 + j) % 20) for i in range(20) for j in (1, 4)]);"
        "vectors = RDF2Vec(walks=20, dimensions=4, epochs=2, random_state=1).fit_transform(graph.nodes).tolist()"
    )
    here = {}
    exec(code, here)
    assert run_python(f"{code}; print(vectors)", PYTHONHASHSEED="1").strip() == str(here["vectors"])


def test_walks_are_read_as_nodes_and_predicates():
    chain = Graphs.from_edges([(0, 1), (1, 2)], edge_labels=["a", "b"])
    model = RDF2Vec(depth=3, walks=5)
    model.starts_ = np.array([0, 2])
    sentences, words = model._sentences(chain, 0)
    assert (sentences.tolist(), words) == (
        [[0, 3, 1, 4, 2, -1, -1], [2, -1, -1, -1, -1, -1, -1]],
        5,
    )


def test_relabeled_walks_keep_their_first_node_and_rename_the_others():
    chain = Graphs.from_edges([(0, 1), (1, 2)], edge_labels=["a", "b"])
    model = RDF2Vec(depth=2, walks=5, strategy="wl", wl_rounds=1)
    model.starts_ = np.array([0])
    sentences, words = model._sentences(chain, 0)
    assert (sentences.tolist(), words) == (
        [[0, 5, 1, 6, 2], [0, 5, 4, 6, 2]],
        7,
    )  # 0 would be 3 after the round, 1 is 4


def test_words_that_stand_together_get_close_vectors():
    rng = np.random.default_rng(0)
    side = np.arange(400) % 2
    sentences = np.stack([side, 2 + 2 * rng.integers(4, size=400) + side, np.full(400, -1)], 1)
    options = {"vector_size": 8, "window": 2, "sg": 1, "negative": 5, "sample": 0.0}
    rows, vectors = word_vectors(sentences, 12, seed=0, epochs=60, **options)
    assert (rows >= 0).tolist() == [True] * 10 + [False] * 2
    unit = vectors[rows[2:10]]
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    close = unit @ unit.T
    same = (np.arange(8)[:, None] - np.arange(8)) % 2 == 0
    assert close[same].mean() > close[~same].mean() + 0.3


def test_starts_are_the_given_nodes_those_of_their_types_or_all_that_can_be_left():
    assert starts_of(PEOPLE[[2, 1]], "given").tolist() == [1, 2]
    assert starts_of(PEOPLE[[2, 1]], "alike").tolist() == list(range(24))
    assert starts_of(PEOPLE[[2, 1]], "all").tolist() == list(range(26))
    assert starts_of(PEOPLE[[2, 1]], "all", inverse=True).tolist() == list(range(28))
    labeled = Graphs.from_edges([(0, 3), (1, 3), (2, 3)], node_labels=["x", "y", "x", "x"])
    assert starts_of(labeled.nodes[[0]], "alike").tolist() == [0, 2]
    assert starts_of(GRAPH.nodes[[26]], "alike").tolist() == [
        26
    ]  # the type itself has no type, nor an edge to leave by
    mixed = Graphs.from_edges(
        [(0, 3), (1, 3), (2, 3)], node_labels=["x", "y", "x", "x"], edge_labels=["p", TYPE, "p"]
    )
    assert starts_of(mixed.nodes[[0]], "alike").tolist() == [0, 2]
    assert starts_of(mixed.nodes[[1]], "alike").tolist() == [1]
    with pytest.raises(EstimatorError, match="starts='some': choose"):
        RDF2Vec(starts="some").fit(PEOPLE)


def test_a_node_no_walk_came_across_is_zero_and_said_to_be():
    model = RDF2Vec(random_state=0, **SMALL).fit(PEOPLE[[0]])
    with pytest.warns(
        UnseenNodeWarning, match="no walk came across 1 of the nodes, such as node 28"
    ):
        vectors = model.transform(GRAPH.nodes[[0, 28]])
    assert vectors[0].any()
    assert not vectors[1].any()


def test_nodes_of_another_graph_are_refused():
    model = RDF2Vec(random_state=0, **SMALL).fit(PEOPLE)
    with pytest.raises(EstimatorError, match="nodes of another graph"):
        model.transform(Graphs.from_edges([(0, 1)]).nodes)
    equal, _ = town()
    assert np.array_equal(model.transform(equal.nodes[[4]]), model.transform(PEOPLE[[4]]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dimensions": 0}, "dimensions=0"),
        ({"walks": 0}, "walks=0"),
        ({"walks": 1.5}, "walks=1.5"),
        ({"depth": -1}, "depth=-1"),
        ({"method": "glove"}, "method='glove': choose 'skip-gram' or 'cbow'"),
        ({"strategy": "bfs"}, "strategy='bfs'"),
        ({"sample": 2}, "sample=2"),
        ({"sample": "x"}, "sample='x'"),
        ({"starts": "x"}, "starts='x'"),
        ({"epochs": True}, "epochs=True"),
    ],
)
def test_bad_settings_are_refused(change, message):
    with pytest.raises(EstimatorError, match=message):
        RDF2Vec(**change).fit(PEOPLE)


def test_nothing_can_be_asked_before_fit():
    for ask in (
        RDF2Vec().transform,
        RDF2VecClassifier().predict,
        RDF2VecClassifier().decision_function,
    ):
        with pytest.raises(NotFitted, match="call fit first"):
            ask(PEOPLE)
    with pytest.raises(NotFitted):
        RDF2Vec().get_feature_names_out()
    with pytest.raises(EstimatorError, match="nothing to walk from"):
        RDF2Vec().fit(PEOPLE[[]])


def test_a_missing_gensim_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "gensim.models", None)
    with pytest.raises(
        MissingDependencyError, match=r"RDF2Vec needs the package 'gensim'.*edgnn\[rdf2vec\]"
    ):
        RDF2Vec(**SMALL).fit(PEOPLE)


def test_towns_are_learned_from_some_and_predicted_for_the_others():
    model = RDF2VecClassifier(
        walks=50, dimensions=16, epochs=30, negative=5, sample=0, random_state=0
    )
    names = np.array(["north", "south"])[CLASSES]
    model.fit(PEOPLE[np.arange(16)], names[:16])
    assert model.classes_.tolist() == ["north", "south"]
    assert model.chosen_["kernel"] in ("linear", "rbf")
    assert (model.predict(PEOPLE[np.arange(16, 24)]) == names[16:]).mean() >= 0.75
    assert model.decision_function(PEOPLE).shape == (24,)


@pytest.mark.parametrize("starts", ["alike", "all", "given"])
def test_splits_get_what_fit_and_predict_give(starts):
    splits = kfold(CLASSES, 3, 1, seed=4, validation=0.2)
    model = RDF2VecClassifier(starts=starts, random_state=9, folds=2, **SMALL)
    done = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenNodeWarning)
        answers = model.predict_splits(PEOPLE, CLASSES, splits, on_split=done.append)
        for split, answer in zip(splits, answers, strict=True):
            known = np.sort(split.known)
            fresh = (
                clone(model).set_params(random_state=split.seed).fit(PEOPLE[known], CLASSES[known])
            )
            assert answer["prediction"].tolist() == fresh.predict(PEOPLE[split.test]).tolist()
            assert answer["chosen"] == fresh.chosen_
            assert answer["training_accuracy"] == pytest.approx(
                fresh.score(PEOPLE[known], CLASSES[known])
            )
    assert done == [1, 2, 3]


def test_vectors_are_learned_once_for_splits_of_one_seed(monkeypatch):
    fits = []
    learn = RDF2Vec.fit
    monkeypatch.setattr(
        RDF2Vec, "fit", lambda self, X, y=None: fits.append(self.random_state) or learn(self, X, y)
    )
    splits = kfold(CLASSES, 3, 1, seed=4, validation=None)
    same = [
        type(split)(split.train, split.test, None, 0, fold, 7) for fold, split in enumerate(splits)
    ]
    RDF2VecClassifier(folds=2, **SMALL).predict_splits(PEOPLE, CLASSES, same)
    assert fits == [7]


@pytest.mark.slow
def test_aifb_is_learned_from_a_few_walks(data_dir):
    data = edgnn.load_dataset("AIFB", data_dir=data_dir)
    train = data.split["train"]
    model = RDF2VecClassifier(
        walks=20, dimensions=50, epochs=5, negative=5, inverse=True, random_state=0
    )
    model.fit(data.nodes[train], data.targets[train])
    assert model.chosen_["inner_accuracy"] > 0.6


@pytest.mark.parametrize(
    "change", [{"window": 2**40}, {"dimensions": 10**9}, {"inverse": "yes"}, {"distinct": None}]
)
def test_settings_that_would_never_end_are_refused(change):
    nodes = Graphs.from_edges([(0, 1), (1, 2)], edge_labels=["a", "b"]).nodes
    with pytest.raises(EstimatorError, match=next(iter(change))):
        RDF2Vec(**({"dimensions": 4, "walks": 2} | change)).fit(nodes)
