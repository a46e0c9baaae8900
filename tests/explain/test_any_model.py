"""Explanations of models of which only ``predict`` and ``predict_proba`` are known."""

from functools import cache

import numpy as np
import pytest
import torch

import edgnn
from edgnn.errors import EstimatorError
from edgnn.explain import Explained, counter_example, counter_text, explain, fidelity
from edgnn.models import MajorityClassifier, SubgraphMatchingClassifier, WLClassifier
from edgnn.report import draw_explanation, write_explanations

MODELS = {
    "ridge": edgnn.RidgeGraphClassifier,
    "wl": WLClassifier,
    "majority": MajorityClassifier,
}


@cache
def mutag():
    return edgnn.load_dataset("MUTAG")


@cache
def fitted(name):
    data = mutag()
    return MODELS[name]().fit(data.graphs[:60], data.targets[:60])


def log_odds(model, item, column):
    probability = model.predict_proba(item)[0, column].clip(1e-6, 1 - 1e-6)
    return np.log(probability) - np.log1p(-probability)


def without_edges(graph, edges):
    keep = torch.ones(graph.num_edges, dtype=torch.bool)
    keep[list(edges)] = False
    return graph._with(
        edge_source=graph.edge_source[keep],
        edge_target=graph.edge_target[keep],
        edge_label=graph.edge_label[keep],
    )


def without_node(graph, node):
    return graph.induced([other for other in range(graph.num_nodes) if other != node])


def with_strange_label(graph, kind, element):
    values = list(getattr(graph, f"{kind}_labels"))
    values[element] = "never seen"
    return getattr(graph, f"with_{kind}_labels")(values)


@pytest.mark.parametrize("name", MODELS)
def test_removals_are_those_of_graphs_predicted_one_by_one(name):
    model, graph = fitted(name), mutag().graphs[70]
    found = explain(model, graph)
    column = found.target_index
    value = log_odds(model, graph, column)
    assert found.value == pytest.approx(value, abs=1e-9)
    assert found.prediction == model.predict(graph)[0] == found.target
    assert np.allclose(found.probability, model.predict_proba(graph)[0])
    assert found.complete
    for node in range(graph.num_nodes):
        left = log_odds(model, without_node(graph, node), column)
        assert found.node_removal[node] == pytest.approx(value - left, abs=1e-9)
    for node in range(0, graph.num_nodes, 3):
        left = log_odds(model, with_strange_label(graph, "node", node), column)
        assert found.node_label_removal[node] == pytest.approx(value - left, abs=1e-9)
    for edges, removal, label_removal in list(
        zip(found.link_edges, found.link_removal, found.link_label_removal, strict=True)
    )[::3]:
        left = log_odds(model, without_edges(graph, edges.tolist()), column)
        assert removal == pytest.approx(value - left, abs=1e-9)
        strange = graph
        for edge in edges.tolist():
            strange = with_strange_label(strange, "edge", edge)
        assert label_removal == pytest.approx(value - log_odds(model, strange, column), abs=1e-9)


def test_fidelity_is_that_of_the_reduced_graphs():
    model, graph = fitted("ridge"), mutag().graphs[70]
    found = explain(model, graph)
    measured = fidelity(model, found, shares=(0.2,), random_sets=3)
    size = measured.sizes[0]
    first = np.argsort(-found.node_score, kind="stable")[:size].tolist()
    kept = [node for node in range(graph.num_nodes) if node not in first]
    column = found.target_index
    whole = model.predict_proba(graph)[0, column]
    rest = model.predict_proba(graph.induced(kept))[0, column]
    assert measured.comprehensiveness[0] == pytest.approx(whole - rest, abs=1e-9)


def test_counter_examples_change_the_prediction():
    model, graph = fitted("ridge"), mutag().graphs[0]
    found = counter_example(model, graph)
    assert found.before == model.predict(graph)[0]
    assert found.prediction == model.predict(found.item)[0] != found.before
    assert np.allclose(found.probability, model.predict_proba(found.item)[0])
    assert counter_example(fitted("majority"), graph, largest=1) is None


def test_models_have_gradients_only_if_they_are_networks():
    found = explain(fitted("ridge"), mutag().graphs[0])
    assert found.node_gradient is None
    with pytest.raises(EstimatorError, match="no integrated gradients"):
        draw_explanation(found, by="gradient")


def test_a_decision_turns_where_the_class_changes():
    data = mutag()
    model = SubgraphMatchingClassifier().fit(data.graphs[:40], data.targets[:40])
    found = explain(model, data.graphs[0])
    assert found.measure == "decision"
    flips = np.flatnonzero(found.node_removal > found.value).tolist()
    for node in range(data.graphs[0].num_nodes):
        left = model.predict(without_node(data.graphs[0], node))[0]
        assert (left != found.prediction) == (node in flips)


def test_nodes_are_explained_in_their_whole_graph():
    edges = [(number, 12 + number % 2) for number in range(12)] + [(12, 14), (14, 15), (15, 16)]
    labels = ["a", "b"] * 6 + ["lab", "shop", "c", "c", "c"]
    graph = edgnn.Graphs.from_edges(edges, node_labels=labels, num_nodes=17)
    model = edgnn.RidgeNodeClassifier(named=0).fit(graph.nodes[:12], ["x", "y"] * 6)
    found = explain(model, graph.nodes[0])
    part = found.original_nodes.tolist()
    assert 16 not in part
    assert not found.complete
    value = log_odds(model, graph.nodes[0], found.target_index)
    for edges, removal in zip(found.link_edges, found.link_removal, strict=True):
        gone = found.original_edges[edges].tolist()
        left = log_odds(model, without_edges(graph, gone).nodes[0], found.target_index)
        assert removal == pytest.approx(value - left, abs=1e-9)


class Sizes:
    """A model that is no estimator of scikit-learn, and predicts how many nodes there are."""

    def predict(self, graphs):
        """Count nodes."""
        return np.diff(graphs.graph_offset.numpy()).astype(float)


def test_anything_with_predict_can_be_explained():
    graph = mutag().graphs[0]
    found = explain(Sizes(), graph)
    assert found.value == graph.num_nodes
    assert found.probability is None
    assert np.array_equal(found.node_removal, np.ones(graph.num_nodes))
    assert not found.link_removal.any()
    assert explain(Sizes(), "CCO").value == 3
    with pytest.raises(EstimatorError, match="predicts values"):
        counter_example(Sizes(), graph)
    with pytest.raises(EstimatorError, match="not of a list"):
        explain(Sizes(), [graph])


def test_unfitted_closed_forms_are_refused():
    with pytest.raises(EstimatorError, match="not fitted"):
        explain(edgnn.RidgeGraphClassifier(), mutag().graphs[0])


def test_the_page_shows_closed_forms(tmp_path):
    data = mutag()
    model = fitted("ridge")
    found = explain(model, data.graphs[0])
    item = Explained(
        found,
        "first",
        fidelity(model, found, random_sets=2),
        counter_example(model, data.graphs[0]),
        True,
        tuple(data.class_names),
    )
    text = write_explanations(tmp_path / "why.html", [item]).read_text()
    assert counter_text(item) in text
    assert "Integrated gradients" not in text
