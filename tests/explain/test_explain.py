"""explain: leave-one-out against predictions one by one, integrated gradients, links, labels, bad input."""

from __future__ import annotations

import json
import warnings
from copy import copy
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import edgnn
from edgnn.errors import EstimatorError
from edgnn.explain import Subject, copies_allowed, counter_example, explain
from edgnn.graphs import Graphs, Nodes
from edgnn.models import RGCNNodeClassifier, UnknownLabelWarning
from strategies import graphs

CONVS = ("edgnn", "gnn", "joint", "rgcn", "gine")


def path(labels="CNO", bonds="sd", both=True):
    ends = [(place, place + 1) for place in range(len(labels) - 1)]
    pairs = [pair for end in ends for pair in ([end, end[::-1]] if both else [end])]
    repeated = [bond for bond in bonds for _ in range(2 if both else 1)]
    return Graphs.from_edges(
        pairs, num_nodes=len(labels), node_labels=list(labels), edge_labels=repeated
    )


def training_set():
    return Graphs.concat(
        [
            path("CNO"),
            path("CCC", "ss"),
            path("NOC", "ds"),
            path("OON", "dd"),
            path("CCN", "sd"),
            path("NNN", "ss"),
        ]
    )


@cache
def fitted(kind=edgnn.GraphClassifier, y=(0, 1, 0, 1, 1, 0), **options):
    options = {
        "max_epochs": 3,
        "hidden": 8,
        "random_state": 0,
        "learning_rate": 0.05,
        "validation": None,
    } | options
    return kind(**options).fit(training_set(), np.array(y))


@cache
def fitted_nodes(kind=edgnn.NodeClassifier, **options):
    options = {
        "max_epochs": 3,
        "hidden": 8,
        "random_state": 0,
        "learning_rate": 0.05,
        "validation": None,
    } | options
    nodes = training_set().nodes
    return kind(**options).fit(nodes, np.arange(len(nodes)) % 2)


def log_odds(estimator, item, column):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownLabelWarning)
        outputs = torch.from_numpy(estimator._outputs(item))
    logs = torch.log_softmax(outputs / estimator.temperature_, dim=-1)
    others = [place for place in range(logs.shape[-1]) if place != column]
    return float(
        torch.logsumexp(logs[..., column], 0)
        - torch.logsumexp(torch.logsumexp(logs[..., others], -1), 0)
    )


def without_edges(graph, edges):
    keep = torch.ones(graph.num_edges, dtype=torch.bool)
    keep[list(edges)] = False
    return graph._with(
        edge_source=graph.edge_source[keep],
        edge_target=graph.edge_target[keep],
        edge_label=graph.edge_label[keep],
    )


def with_strange_label(graph, what, element):
    values = list(getattr(graph, f"{what}_labels"))
    values[element] = "never seen"
    return getattr(graph, f"with_{what}_labels")(values)


def small_graphs():
    drawn = graphs(
        min_graphs=1,
        max_graphs=1,
        min_nodes=1,
        labels=st.just(st.sampled_from("CNO")),
        features=False,
        names=False,
    )
    return drawn.map(
        lambda graph: graph.with_edge_labels(
            [("s", "d")[edge % 2] for edge in range(graph.num_edges)]
        )
    )


def limit_memory(monkeypatch, size):
    for module in ("_network", "_gradients"):
        monkeypatch.setattr(f"edgnn.explain.{module}.MEMORY", size)


def check_against_one_by_one(estimator, graph, found, item_of):
    column = found.target_index
    value = log_odds(estimator, item_of(graph, None), column)
    assert found.value == pytest.approx(value, abs=1e-4)
    for link, edges in enumerate(found.link_edges):
        left = log_odds(estimator, item_of(without_edges(graph, edges.tolist()), None), column)
        assert found.link_removal[link] == pytest.approx(value - left, abs=1e-3)
        strange = graph
        for edge in edges.tolist():
            strange = with_strange_label(strange, "edge", edge)
        left = log_odds(estimator, item_of(strange, None), column)
        if estimator._model.convs[0].reads_labels:
            assert found.link_label_removal[link] == pytest.approx(value - left, abs=1e-3)
        else:
            assert left == pytest.approx(value, abs=1e-6)
            assert np.isnan(found.link_label_removal[link])
    for node in range(graph.num_nodes):
        if estimator._coder.degree_labels is None:
            left = log_odds(
                estimator, item_of(with_strange_label(graph, "node", node), None), column
            )
            assert found.node_label_removal[node] == pytest.approx(value - left, abs=1e-3)
        kept = [other for other in range(graph.num_nodes) if other != node]
        item = item_of(graph.induced(kept), node)
        if item is None:
            assert np.isnan(found.node_removal[node])
        else:
            assert found.node_removal[node] == pytest.approx(
                value - log_odds(estimator, item, column), abs=1e-3
            )


@pytest.fixture(scope="module")
def graph_models():
    models = {conv: fitted(conv=conv) for conv in CONVS}
    models["ensemble"] = fitted(members=3, batch_norm=True, bias=True)
    models["degrees"] = fitted(degree_labels="both")
    models["in, per edge"] = fitted(
        direction="in", multiplicity="per-edge", readout="mean", embedding=4
    )
    return models


@pytest.fixture(scope="module")
def node_models():
    models = {conv: fitted_nodes(conv=conv) for conv in CONVS}
    models["ensemble"] = fitted_nodes(members=2, batch_norm=True, head="conv")
    models["degrees"] = fitted_nodes(degree_labels="in", layers=1)
    models["in"] = fitted_nodes(direction="in", layers=3)
    models["out-degrees"] = fitted_nodes(degree_labels="out", multiplicity="per-edge")
    models["degrees, in"] = fitted_nodes(degree_labels="both", direction="in", layers=1)
    return models


@settings(max_examples=5)
@pytest.mark.parametrize("model", [*CONVS, "ensemble", "degrees", "in, per edge"])
@given(graph=small_graphs())
def test_removals_equal_predictions_of_graphs_one_by_one(graph_models, model, graph):
    estimator = graph_models[model]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownLabelWarning)
        found = explain(estimator, graph, steps=4)
    assert found.complete
    check_against_one_by_one(estimator, graph, found, lambda changed, _: changed)


@settings(max_examples=5)
@pytest.mark.parametrize(
    "model", [*CONVS, "ensemble", "degrees", "in", "out-degrees", "degrees, in"]
)
@given(graph=small_graphs(), pick=st.integers(0, 4))
def test_removals_equal_predictions_of_nodes_one_by_one(node_models, model, graph, pick):
    estimator, node = node_models[model], pick % graph.num_nodes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownLabelWarning)
        found = explain(estimator, graph.nodes[node], steps=4)
    nodes, edges = found.original_nodes.tolist(), found.original_edges.tolist()
    assert nodes[found.node] == node
    column, value = found.target_index, log_odds(estimator, graph.nodes[node], found.target_index)
    assert found.value == pytest.approx(value, abs=1e-4)
    for link, places in enumerate(found.link_edges):
        gone = [edges[place] for place in places]
        left = log_odds(estimator, without_edges(graph, gone).nodes[node], column)
        assert found.link_removal[link] == pytest.approx(value - left, abs=1e-3)
    for place, other in enumerate(nodes):
        if other == node:
            assert np.isnan(found.node_removal[place])
            continue
        kept = [number for number in range(graph.num_nodes) if number != other]
        left = log_odds(estimator, graph.induced(kept).nodes[node - (other < node)], column)
        assert found.node_removal[place] == pytest.approx(value - left, abs=1e-3)


@pytest.mark.parametrize("model", CONVS)
def test_part_of_a_node_predicts_as_the_whole_graph(node_models, model):
    estimator = node_models[model]
    ring = Graphs.from_edges(
        [(place, (place + 1) % 12) for place in range(12)],
        node_labels=list("CNOCNOCNOCNO"),
        edge_labels=list("sd" * 6),
    )
    found = explain(estimator, ring.nodes[5], steps=2)
    assert found.original_nodes.tolist() == [3, 4, 5, 6, 7]
    assert found.original_edges.tolist() == [3, 4, 5, 6]
    part = estimator.predict_proba(found.graph.nodes[found.node])
    assert part == pytest.approx(estimator.predict_proba(ring.nodes[5]), abs=1e-6)


def test_twins_get_the_value_of_each_alone():
    star = Graphs.from_edges(
        [(0, 1), (0, 2), (0, 3), (4, 0)], node_labels=list("CNNON"), edge_labels=list("ssss")
    )
    estimator = fitted()
    found = explain(estimator, star)
    check_against_one_by_one(estimator, star, found, lambda changed, _: changed)
    assert found.node_removal[1] == found.node_removal[2]


def test_links_join_an_edge_with_one_reverse_of_the_same_label():
    graph = Graphs.from_edges(
        [(0, 1), (1, 0), (0, 1), (1, 0), (2, 2), (2, 2), (1, 2), (0, 1)],
        node_labels=["C", "C", "N"],
        edge_labels=["s", "s", "s", "d", "s", "s", "s", "s"],
    )
    found = explain(fitted(), graph)
    assert found.links.tolist() == [0, 0, 1, 2, 3, 4, 5, 6]


def test_labels_are_taken_out_everywhere_at_once():
    estimator, graph = fitted(), path("CCN", "ss")
    found = explain(estimator, graph)
    effects = {(effect.kind, effect.value): effect for effect in found.labels}
    assert {key: effect.count for key, effect in effects.items()} == {
        ("node", "C"): 2,
        ("node", "N"): 1,
        ("edge", "s"): 4,
    }
    bare = graph.with_node_labels(["?", "?", "N"])
    assert effects["node", "C"].contribution == pytest.approx(
        found.value - log_odds(estimator, bare, found.target_index), abs=1e-4
    )
    bare = graph.with_edge_labels(["?"] * 4)
    assert effects["edge", "s"].contribution == pytest.approx(
        found.value - log_odds(estimator, bare, found.target_index), abs=1e-4
    )


@pytest.mark.parametrize("conv", CONVS)
def test_gradients_add_up_to_the_value_above_the_baseline(conv):
    options = {"conv": conv, "activation": "cosine", "bias": True, "members": 2}
    found = explain(fitted(**options), path(), steps=48)
    total = found.node_gradient.sum() + (
        0 if found.edge_gradient is None else found.edge_gradient.sum()
    )
    assert total == pytest.approx(found.value - found.baseline, abs=1e-3)
    assert (found.edge_gradient is None) == (conv in ("joint", "rgcn", "gine"))


def test_gradients_get_more_exact_with_more_steps():
    estimator = fitted(activation="cosine", bias=True)
    errors = [explain(estimator, path(), steps=steps).completeness for steps in (1, 4, 16)]
    assert errors[0] > 10 * errors[1] > 100 * errors[2]
    assert errors[2] < 1e-9


def test_gradients_of_a_linear_model_are_exact_with_one_step():
    found = explain(fitted(activation="identity"), path(), steps=1)
    assert found.completeness < 1e-9


@pytest.mark.parametrize("of", ["graphs", "nodes"])
def test_features_are_part_of_the_gradients(of):
    random = np.random.default_rng(0)
    data = training_set()._with(
        node_features=torch.from_numpy(random.normal(size=(18, 2)).astype(np.float32)),
        edge_features=torch.from_numpy(random.normal(size=(24, 3)).astype(np.float32)),
    )
    options = {
        "max_epochs": 2,
        "hidden": 8,
        "random_state": 0,
        "validation": None,
        "activation": "tanh",
    }
    if of == "graphs":
        found = explain(edgnn.GraphClassifier(**options).fit(data, [0, 1] * 3), data[0])
    else:
        found = explain(
            edgnn.NodeClassifier(**options).fit(data.nodes, np.arange(18) % 2), data.nodes[1]
        )
    assert found.completeness < 1e-6
    assert np.abs(found.edge_gradient).min() > 0


def test_edge_gradients_share_the_entries_of_the_counts():
    graph = Graphs.from_edges([(0, 1), (2, 1)], node_labels=list("CNO"), edge_labels=["s", "s"])
    model = fitted(layers=1, direction="in", activation="cosine", bias=True)
    found = explain(model, graph, steps=32)
    assert found.edge_gradient[0] == pytest.approx(found.edge_gradient[1], abs=1e-12)


def test_target_chooses_what_is_explained():
    estimator = fitted(y=("a", "b", "c", "a", "b", "c"))
    found = [explain(estimator, path(), target=name, steps=2) for name in "abc"]
    for column, each in enumerate(found):
        assert (each.target, each.target_index, each.classes) == (
            "abc"[column],
            column,
            ("a", "b", "c"),
        )
        assert each.value == pytest.approx(log_odds(estimator, path(), column), abs=1e-5)
    best = explain(estimator, path(), steps=2)
    assert best.target == best.prediction == estimator.predict(path())[0]
    assert best.probability == pytest.approx(estimator.predict_proba(path())[0], abs=1e-6)


def test_several_labels_are_explained_one_at_a_time():
    estimator = fitted(y=((0, 1), (1, 1), (0, 0), (1, 0), (1, 1), (0, 1)), members=2)
    for label in (0, 1):
        found = explain(estimator, path(), target=label, steps=2)
        share = estimator.predict_proba(path())[0, label]
        assert found.value == pytest.approx(np.log(share / (1 - share)), abs=1e-5)
        assert found.prediction.tolist() == estimator.predict(path())[0].tolist()


def test_regressors_are_explained_in_the_users_units():
    estimator = fitted(edgnn.GraphRegressor, y=(10.0, 20, 30, 40, 50, 60), members=2)
    found = explain(estimator, path())
    assert found.value == pytest.approx(estimator.predict(path())[0], rel=1e-5)
    assert found.probability is None
    shorter = path().induced([0, 1])
    assert found.node_removal[2] == pytest.approx(
        found.value - estimator.predict(shorter)[0], abs=1e-3
    )
    several = fitted(edgnn.GraphRegressor, y=((1.0, 2),) * 3 + ((3.0, 5),) * 3)
    assert explain(several, path(), target=1, steps=2).value == pytest.approx(
        several.predict(path())[0, 1], rel=1e-5
    )


def test_calibrated_temperature_scales_the_log_odds():
    estimator = copy(fitted())
    plain = explain(estimator, path(), steps=2)
    estimator.temperature_ = 2.0
    assert explain(estimator, path(), steps=2).value == pytest.approx(plain.value / 2, abs=1e-6)


def test_featureless_models_know_nodes_by_name():
    graph = Graphs.from_edges(
        [(0, 1), (1, 2), (2, 0), (3, 0)], edge_labels=list("abab"), node_names=list("wxyz")
    )
    estimator = RGCNNodeClassifier(max_epochs=3, hidden=4, random_state=0).fit(
        graph.nodes, [0, 1, 0, 1]
    )
    found = explain(estimator, graph.nodes[1], steps=4)
    assert found.node_label_kind == "name"
    assert np.isfinite(found.node_label_removal).all()
    value = log_odds(estimator, graph.nodes[1], found.target_index)
    left = log_odds(estimator, without_edges(graph, [0]).nodes[1], found.target_index)
    link = found.links[found.original_edges.tolist().index(0)]
    assert found.link_removal[link] == pytest.approx(value - left, abs=1e-4)


def test_labels_taken_out_are_neither_warned_of_nor_refused():
    found = explain(fitted(unknown="error"), path())
    assert np.isfinite(found.node_label_removal).all()


def test_labels_never_seen_are_warned_of_as_by_predict():
    strange = path("CN?")
    with pytest.warns(UnknownLabelWarning, match="1 node"):
        found = explain(fitted(), strange, steps=2)
    assert found.node_label_removal[2] == pytest.approx(0, abs=1e-5)
    with pytest.raises(edgnn.errors.UnknownLabelError, match="'\\?'"):
        explain(fitted(unknown="error"), strange)


def test_most_limits_what_is_tried_and_says_so():
    estimator, graph = fitted(), path("CNOCNOCNOCNO", "sdsdsdsdsds")
    found = explain(estimator, graph, most=30)
    assert not found.complete
    assert 0 < np.isfinite(found.node_removal).sum() < graph.num_nodes
    assert 0 < np.isfinite(found.link_removal).sum() < len(found.link_removal)
    everything = explain(estimator, graph)
    tried = np.isfinite(found.node_removal)
    assert found.node_removal[tried] == pytest.approx(everything.node_removal[tried], abs=1e-5)
    assert (
        np.abs(everything.node_gradient[tried]).min()
        >= np.abs(everything.node_gradient[~tried]).max() - 1e-9
    )
    assert np.isfinite(found.node_score).all()
    assert np.isfinite(found.edge_score).all()


def test_little_memory_gives_the_same_numbers(monkeypatch):
    estimator = fitted(members=2)
    whole = explain(estimator, path())
    limit_memory(monkeypatch, 20_000)
    pieces = explain(estimator, path())
    assert pieces.node_removal == pytest.approx(whole.node_removal, abs=1e-5)
    assert pieces.node_gradient == pytest.approx(whole.node_gradient, abs=1e-9)


def test_same_call_gives_the_same_bits():
    estimator = fitted()
    first, second = (explain(estimator, path()).to_dict() for _ in range(2))
    assert first == second


@pytest.mark.parametrize("nodes", [1, 3])
def test_graphs_without_edges_have_no_links(nodes):
    graph = Graphs.from_edges([], node_labels=list("CNO"[:nodes]), edge_labels=[], num_nodes=nodes)
    found = explain(fitted(), graph)
    assert found.link_removal.shape == found.edge_score.shape == (0,)
    assert np.isfinite(found.node_removal).all()


def test_everything_goes_into_json():
    for found in (explain(fitted(), path()), explain(fitted_nodes(), path().nodes[0])):
        told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert len(told["node_removal"]) == 3
        assert told["reasons"][0]["words"]


def test_reasons_speak_the_users_terms():
    named = path()._with(
        node_names=np.array(["http://x.org/a#first", "second", "third"], dtype=object)
    )
    reasons = explain(fitted(), named).reasons(20)
    words = {reason.words for reason in reasons}
    assert "first (C)" in words
    assert "first (C) – second (N): s" in words
    amounts = [abs(reason.contribution) for reason in reasons]
    assert amounts == sorted(amounts, reverse=True)
    assert len(explain(fitted(), named).reasons(2)) == 2


def test_reasons_number_nodes_as_the_whole_graph_does():
    classifier = fitted_nodes(degree_labels=None)
    found = explain(classifier, Graphs.concat([path(), path("NOC", "ds")]).nodes[4])
    assert found.original_nodes.tolist() == [3, 4, 5]
    words = {reason.words for reason in found.reasons(20)}
    assert words >= {"node 3 (N)", "node 4 (O)", "node 4 (O) – node 5 (C): s"}
    assert "node 0 (N)" not in words
    assert "node 4 (O)" in repr(found)


def test_members_share_what_may_be_tried():
    one, four = (
        copies_allowed(Subject.of(fitted(members=members), path()), 10**9) for members in (1, 4)
    )
    assert one // 4 == four


def test_several_items_are_refused_with_the_way_out():
    with pytest.raises(EstimatorError, match="one by one: for graph in graphs"):
        explain(fitted(), training_set())
    with pytest.raises(EstimatorError, match="one by one: for node in nodes"):
        explain(fitted_nodes(), training_set().nodes)
    with pytest.raises(EstimatorError, match="0 were given"):
        explain(fitted(), training_set()[:0])


def test_empty_graph_is_refused():
    with pytest.raises(EstimatorError, match="no nodes"):
        explain(fitted(), Graphs.from_edges([], num_nodes=0, node_labels=[], edge_labels=[]))


def test_unfitted_and_foreign_estimators_are_refused():
    with pytest.raises(EstimatorError, match="not fitted"):
        explain(edgnn.GraphClassifier(), path())
    with pytest.raises(EstimatorError, match="cannot be explained"):
        explain(object(), path())


@pytest.mark.parametrize(
    "option", [{"target": "z"}, {"most": 0}, {"steps": 0}, {"steps": 1.5}, {"steps": True}]
)
def test_bad_options_are_named(option):
    (name,) = option
    with pytest.raises(EstimatorError, match=name):
        explain(fitted(), path(), **option)


def test_nodes_of_several_graphs_find_their_own():
    data, estimator = training_set(), fitted_nodes()
    found = explain(estimator, Nodes(data, [7]))
    assert found.original_nodes.tolist() == [6, 7, 8]
    assert found.value == pytest.approx(
        log_odds(estimator, data.nodes[7], found.target_index), abs=1e-5
    )


def test_names_and_labels_are_of_any_kind():
    drawn = Graphs.from_edges(
        [(0, 1), (1, 0)],
        node_labels=[(1, "x"), 7],
        edge_labels=[None, None],
        node_names=[(0, 1), 5],
    )
    estimator = edgnn.GraphClassifier(max_epochs=1, validation=None).fit(
        Graphs.concat([drawn, drawn]), [0, 1]
    )
    found = explain(estimator, drawn, steps=2)
    assert json.dumps(found.to_dict(), allow_nan=False)
    assert found.reasons()


def test_edges_between_outermost_nodes_count_for_their_degrees():
    wheel = Graphs.from_edges([(0, 1), (0, 2), (0, 3), (1, 2), (2, 1), (2, 3), (3, 4), (4, 2)])
    estimator = edgnn.NodeClassifier(
        layers=1, degree_labels="both", max_epochs=3, hidden=8, validation=None, random_state=0
    )
    estimator.fit(wheel.nodes, [0, 1, 0, 1, 0])
    found = explain(estimator, wheel.nodes[0], steps=2)
    assert found.original_edges.tolist() == [0, 1, 2, 3, 4, 5]
    assert found.node_label_kind == "degree"
    for gone in (1, 2, 3):
        kept = wheel.induced([node for node in range(5) if node != gone])
        left = log_odds(estimator, kept.nodes[0], found.target_index)
        assert found.node_removal[gone] == pytest.approx(found.value - left, abs=1e-5)
    for edges, removal in zip(found.link_edges, found.link_removal, strict=True):
        left = log_odds(
            estimator, without_edges(wheel, edges.tolist()).nodes[0], found.target_index
        )
        assert removal == pytest.approx(found.value - left, abs=1e-5)


def test_where_edges_beyond_count_for_degrees_not_everything_was_tried():
    wheel = Graphs.from_edges([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4)])
    estimator = edgnn.NodeClassifier(
        layers=1, degree_labels="both", max_epochs=3, hidden=8, validation=None, random_state=0
    )
    estimator.fit(wheel.nodes, [0, 1, 0, 1, 0])
    found = explain(estimator, wheel.nodes[0], steps=2)
    assert (found.links_beyond, found.complete) == (True, False)
    assert found.to_dict()["links_beyond"] is True
    star = Graphs.from_edges([(0, 1), (0, 2), (1, 2)])
    found = explain(estimator, star.nodes[0], steps=2)
    assert (found.links_beyond, found.complete) == (False, True)


@pytest.mark.parametrize("conv", CONVS)
def test_a_loop_is_no_twin_of_an_edge_between_twins(conv):
    both = Graphs.from_edges([(0, 0), (0, 1), (1, 0), (1, 1)], node_labels="CC", edge_labels="ssss")
    estimator = fitted(conv=conv)
    found = explain(estimator, both, steps=2)
    check_against_one_by_one(estimator, both, found, lambda graph, _: graph)
    if conv == "edgnn":
        assert found.link_removal[0] != pytest.approx(found.link_removal[1], abs=1e-4)


def test_links_of_layers_that_do_not_read_labels_are_compared_by_taking_them_out():
    found = explain(fitted(conv="gnn"), path())
    assert not found.links_by_label
    assert found.link_score.tolist() == found.link_removal.tolist()
    assert {effect.kind for effect in found.labels} == {"node"}


def test_what_is_rounding_beside_others_is_no_reason():
    found = explain(fitted(), path())
    found.node_label_removal[:] = [1.0, 1e-7, -0.5]
    nodes = [reason.elements for reason in found.reasons() if reason.kind == "node"]
    assert nodes == [(0,), (2,)]


def test_a_model_of_one_class_has_nothing_to_explain():
    alone = edgnn.GraphClassifier(max_epochs=1, hidden=4, validation=None, random_state=0).fit(
        [path(), path()], ["yes", "yes"]
    )
    for work in (explain, counter_example):
        with pytest.raises(
            EstimatorError, match="knows one class, 'yes': nothing speaks for or against it"
        ):
            work(alone, path())


def test_a_target_of_no_kind_that_targets_have_is_told():
    for work in (explain, counter_example):
        with pytest.raises(EstimatorError, match="choose one of"):
            work(fitted(), path(), target=np.array([1, 0]))


def test_work_ends_where_the_check_says_so(monkeypatch):
    class Over(Exception):
        pass

    def checks(number):
        left = iter(range(number))

        def check():
            if next(left, None) is None:
                raise Over

        return check

    limit_memory(monkeypatch, 1)
    explain(fitted(), path(), check=checks(10**6))
    limit_memory(monkeypatch, 50_000)
    for work in (explain, counter_example):
        for allowed in (0, 2):
            with pytest.raises(Over):
                work(fitted(), path(), check=checks(allowed))


@pytest.mark.gpu
@pytest.mark.parametrize("conv", CONVS)
def test_cuda_gives_the_numbers_of_the_cpu(conv):
    for kind, item in ((fitted, path()), (fitted_nodes, path().nodes[1])):
        estimator = copy(kind(conv=conv, members=2))
        here = explain(estimator, item)
        estimator.device = "cuda"
        there = explain(estimator, item)
        for name in ("node_removal", "link_removal", "link_label_removal", "node_gradient"):
            assert getattr(there, name) == pytest.approx(getattr(here, name), abs=1e-3, nan_ok=True)
        assert there.labels[0].contribution == pytest.approx(here.labels[0].contribution, abs=1e-3)
