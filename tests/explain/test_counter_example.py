"""counter_example: verified, and the smallest by brute force on tiny graphs."""

from __future__ import annotations

import json
from functools import cache
from itertools import combinations

import numpy as np
import pytest
import torch

import edgnn
from edgnn.errors import EstimatorError
from edgnn.explain import counter_example
from edgnn.graphs import Graphs


def chain(labels, bonds):
    ends = [(place, place + 1) for place in range(len(labels) - 1)]
    return Graphs.from_edges(
        [pair for end in ends for pair in (end, end[::-1])],
        num_nodes=len(labels),
        node_labels=list(labels),
        edge_labels=[bond for bond in bonds for _ in range(2)],
    )


@cache
def chains():
    random = np.random.default_rng(1)
    drawn = [
        chain(
            "".join(random.choice(list("CNO"), size)), "".join(random.choice(list("sd"), size - 1))
        )
        for size in random.integers(2, 5, 40)
    ]
    targets = [sum(label == "N" for label in graph.node_labels) for graph in drawn]
    return Graphs.concat(drawn), np.array(targets).clip(max=2)


@cache
def model(**options):
    data, targets = chains()
    options = {
        "max_epochs": 40,
        "hidden": 8,
        "learning_rate": 0.02,
        "random_state": 0,
        "validation": None,
    } | options
    return edgnn.GraphClassifier(**options).fit(data, targets)


@cache
def many():
    """Return a model that asks for three or more N, and a graph that has one."""
    random = np.random.default_rng(2)
    data = Graphs.concat([chain("".join(random.choice(list("CNN"), 4)), "sds") for _ in range(60)])
    targets = [int(data[number].node_labels.count("N") >= 3) for number in range(60)]
    options = {
        "max_epochs": 60,
        "hidden": 8,
        "learning_rate": 0.02,
        "random_state": 0,
        "validation": None,
    }
    estimator = edgnn.GraphClassifier(layers=1, activation="identity", **options).fit(data, targets)
    return estimator, chain("CNCC", "sds")


def single_changes(labels, bonds, known=("CNO", "sd")):
    """List all changes of one atom or bond of a chain: (what, place, new label); None: no bond."""
    atoms = [
        ("atom", place, new) for place, old in enumerate(labels) for new in known[0] if new != old
    ]
    others = [
        ("bond", place, new) for place, old in enumerate(bonds) for new in known[1] if new != old
    ]
    return atoms + others + [("bond", place, None) for place in range(len(bonds))]


def changed(labels, bonds, changes):
    """Return a chain with the changes made."""
    given = {"atom": list(labels), "bond": list(bonds)}
    for what, place, new in changes:
        given[what][place] = new
    kept = [(place, bond) for place, bond in enumerate(given["bond"]) if bond is not None]
    return Graphs.from_edges(
        [pair for place, _ in kept for pair in ((place, place + 1), (place + 1, place))],
        num_nodes=len(labels),
        node_labels=given["atom"],
        edge_labels=[bond for _, bond in kept for _ in range(2)],
    )


def smallest_by_brute_force(estimator, graph, largest, wanted=None, known=("CNO", "sd")):
    labels, bonds = graph.node_labels, graph.edge_labels[::2]
    before = estimator.predict(graph)[0]
    if before == wanted:
        return None
    for size in range(1, largest + 1):
        for chosen in combinations(single_changes(labels, bonds, known), size):
            if len({change[:2] for change in chosen}) < size:
                continue
            now = estimator.predict(changed(labels, bonds, chosen))[0]
            if now != before if wanted is None else now == wanted:
                return size
    return None


def test_found_changes_are_verified_and_the_fewest():
    data, _ = chains()
    sizes = set()
    for number in range(12):
        graph = data[number]
        found = counter_example(model(), graph, largest=2)
        expected = smallest_by_brute_force(model(), graph, 2)
        assert (found and len(found.changes)) == expected
        if found is None:
            continue
        sizes.add(expected)
        assert found.smallest
        assert found.before == model().predict(graph)[0] != found.prediction
        assert found.prediction == model().predict(found.item)[0] == model().predict(found.graph)[0]
        assert found.probability == pytest.approx(model().predict_proba(found.item)[0])
    assert 1 in sizes


def test_wanted_class_takes_the_fewest_changes_too():
    data, _ = chains()
    for number in range(8):
        found = counter_example(model(), data[number], target=2, largest=1)
        expected = smallest_by_brute_force(model(), data[number], 1, wanted=2)
        assert (found and len(found.changes)) == expected
        if found is not None:
            assert found.smallest
            assert found.prediction == model().predict(found.item)[0] == 2


def test_two_changes_are_found_where_one_does_not_do():
    estimator, graph = many()
    found = counter_example(estimator, graph)
    assert (
        smallest_by_brute_force(estimator, graph, 2, known=("CN", "sd")) == 2 == len(found.changes)
    )
    assert found.smallest
    assert found.prediction == estimator.predict(found.item)[0] == 1
    assert found.words == "; ".join(change.words for change in found.changes)


def test_search_within_a_small_allowance_grows_from_the_best():
    estimator, graph = many()
    steps = len(single_changes("CNCC", "sds", ("CN", "sd")))
    assert counter_example(estimator, graph, largest=1) is None
    assert counter_example(estimator, graph, most=steps) is None
    found = counter_example(estimator, graph, most=steps + 12)
    assert found.tried <= steps + 12
    assert len(found.changes) == 2
    assert found.smallest
    deep = counter_example(estimator, chain("CCCC", "sds"), most=steps + 40)
    assert deep is not None
    assert len(deep.changes) == 3
    assert not deep.smallest
    assert estimator.predict(deep.item)[0] == 1


def test_what_cannot_flip_gives_none():
    lonely = Graphs.from_edges([(0, 1)], num_nodes=2)
    blind = edgnn.GraphClassifier(
        max_epochs=1, hidden=4, degree_labels=None, random_state=0, validation=None
    )
    blind.fit(Graphs.concat([lonely] * 6), [0] * 5 + [1])
    assert counter_example(blind, Graphs.from_edges([], num_nodes=2)) is None
    assert counter_example(model(), chain("CC", "s"), target=0) is None


def test_links_are_changed_as_one():
    data = Graphs.concat([chain("CC", bond) for bond in "sd" * 10])
    by_bond = edgnn.GraphClassifier(
        max_epochs=40, hidden=4, learning_rate=0.05, random_state=0, validation=None
    )
    by_bond.fit(data, np.arange(20) % 2)
    found = counter_example(by_bond, data[0])
    (change,) = found.changes
    assert change.elements == (0, 1)
    assert change.kind in ("link label", "link out")
    if change.kind == "link label":
        assert (change.before, change.after) == ("s", "d")
        assert found.graph.edge_labels == ["d", "d"]
    assert json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize("unknown", ["zero", "error"])
def test_nodes_are_verified_in_their_whole_graph(unknown):
    ring = Graphs.from_edges(
        [(place, (place + 1) % 16) for place in range(16)],
        node_labels=list("CNCCNNCCCNCNNNCC"),
        edge_labels=list("sd" * 8),
        node_names=[f"n{place}" for place in range(16)],
    )
    targets = [int(label == "N") for label in ring.node_labels]
    options = {
        "max_epochs": 60,
        "hidden": 8,
        "learning_rate": 0.05,
        "random_state": 0,
        "validation": None,
        "unknown": unknown,
    }
    for degree_labels in (None, "both"):
        estimator = edgnn.NodeClassifier(degree_labels=degree_labels, **options).fit(
            ring.nodes, targets
        )
        for node in (3, 4):
            found = counter_example(estimator, ring.nodes[node], largest=2)
            if degree_labels is None:
                assert found is not None
            if found is None:
                continue
            assert found.item.graphs.num_nodes == 16
            assert found.before == estimator.predict(ring.nodes[node])[0] != found.prediction
            assert torch.equal(found.item.index, ring.nodes[node].index)


def test_labels_of_several_flip_one_by_one():
    data, targets = chains()
    several = edgnn.GraphClassifier(
        max_epochs=40, hidden=8, learning_rate=0.02, random_state=0, validation=None
    )
    several.fit(data, np.stack([targets > 0, targets > 1], axis=1).astype(float))
    graph = chain("CCC", "ss")
    found = counter_example(several, graph, target=0)
    assert found.before.tolist()[0] != found.prediction.tolist()[0]
    anything = counter_example(several, graph)
    assert len(anything.changes) <= len(found.changes)


def test_changes_number_nodes_as_the_whole_graph_does():
    graph = Graphs.from_edges(
        [(0, 1), (2, 3)], node_labels=["a", "a", "b", "a"], edge_labels=["e", "e"]
    )
    classifier = edgnn.NodeClassifier(
        layers=1, max_epochs=60, learning_rate=0.1, dropout=0.0, validation=None, random_state=0
    )
    classifier.fit(graph.nodes, [0, 0, 1, 0])
    found = counter_example(classifier, graph.nodes[2])
    assert found.node == 0
    assert "node 2 (b)" in found.words


def test_regressors_have_no_counter_examples():
    data, targets = chains()
    values = edgnn.GraphRegressor(max_epochs=1, hidden=4).fit(data, targets.astype(float))
    with pytest.raises(EstimatorError, match="no class to leave"):
        counter_example(values, data[0])


@pytest.mark.parametrize("option", [{"target": 9}, {"largest": 0}, {"most": 0}])
def test_bad_options_of_counter_examples_are_named(option):
    (name,) = option
    with pytest.raises(EstimatorError, match=name):
        counter_example(model(), chains()[0][0], **option)


def test_only_labels_of_the_training_part_are_tried():
    graphs, targets = chains()
    data = Graphs.concat([graphs, chain("XX", "s")])
    options = {"max_epochs": 40, "hidden": 8, "learning_rate": 0.02, "random_state": 0}
    estimator = edgnn.GraphClassifier(validation=None, **options).fit(data[:-1], targets)
    found = [counter_example(estimator, data[number], largest=1) for number in range(20)]
    changes = [change for one in found if one is not None for change in one.changes]
    new = {change.after for change in changes if change.kind == "node label"}
    assert len(new) > 1
    assert new <= set("CNO")


@pytest.mark.filterwarnings("ignore::edgnn.models.UnknownLabelWarning")
def test_where_links_beyond_the_part_count_for_degrees_several_changes_are_not_called_the_smallest():
    random = np.random.default_rng(8)
    ends = random.integers(0, 12, (30, 2))
    graph = Graphs.from_edges(ends, num_nodes=12)
    targets = np.bincount(graph.edge_source.numpy(), minlength=12) > 2
    options = {
        "max_epochs": 60,
        "hidden": 8,
        "learning_rate": 0.05,
        "random_state": 0,
        "validation": None,
        "dropout": 0.0,
    }
    estimator = edgnn.NodeClassifier(layers=1, direction="in", degree_labels="both", **options).fit(
        graph.nodes, targets
    )
    smaller = 0
    for node in range(12):
        found = counter_example(estimator, graph.nodes[node])
        if found is not None and len(found.changes) > 1:
            assert not found.smallest
            fewer = [
                Graphs.from_edges(np.delete(ends, edge, axis=0), num_nodes=12).nodes[node]
                for edge in range(30)
            ]
            smaller += any(estimator.predict(item)[0] != found.before for item in fewer)
    assert smaller


def test_attributes_and_features_of_a_graph_do_not_disturb_its_explanation():
    graphs, targets = chains()
    beside = graphs.with_attributes(
        node={"charge": range(graphs.num_nodes)}, edge={"order": range(graphs.num_edges)}
    ).with_graph_features(np.arange(len(graphs)), "dose")
    model = edgnn.GraphClassifier(max_epochs=5, random_state=0).fit(graphs, targets)
    for number in (0, 3):
        one, other = (counter_example(model, part[number]) for part in (graphs, beside))
        assert (one is None) == (other is None)
        if one is not None:
            assert one.changes == other.changes
            changed = other.graph
            Graphs(**{name: getattr(changed, name) for name in Graphs.__dataclass_fields__})
        scores = [
            edgnn.explain.explain(model, part[number]).node_score for part in (graphs, beside)
        ]
        assert np.array_equal(*scores)
