"""Models without probabilities: decision values, or only whether the class changes."""

import json

import numpy as np
import pytest

import edgnn
from edgnn import Graphs
from edgnn.explain import Explained, counter_example, counter_text, explain, fidelity, fidelity_text
from edgnn.models import SubgraphMatchingClassifier, WLShortestPathClassifier
from edgnn.report import write_explanations


class NamesOnly:
    """A foreign classifier that has nothing but ``predict``."""

    classes_ = np.array(["few", "many"])

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.classes_[(X.sizes.numpy() > 3).astype(int)]


@pytest.fixture(scope="module")
def graphs():
    return edgnn.io.from_smiles(["CCO", "CCN", "CCCO", "CCCN", "OCCO", "NCCN", "CO", "CN"])


@pytest.fixture(scope="module")
def svm(graphs):
    return SubgraphMatchingClassifier(k=2, C=(1.0,)).fit(graphs, ["acid", "base"] * 4)


def test_the_decision_value_is_explained_where_there_is_one(graphs, svm):
    explanation = explain(svm, graphs[0])
    decision = float(svm.decision_function(graphs[:1])[0])
    assert explanation.measure == "decision"
    assert explanation.probability is None
    assert explanation.value == pytest.approx(-decision)  # of the first class
    other = explain(svm, graphs[0], target="base")
    assert other.value == pytest.approx(decision)
    assert other.node_removal == pytest.approx(-explanation.node_removal)


def test_of_several_classes_each_has_its_own_decision(graphs):
    model = WLShortestPathClassifier(depths=1, C=(1.0,)).fit(graphs, list("abcabcab"))
    explanation = explain(model, graphs[0])
    assert explanation.measure == "decision"
    assert explanation.value == pytest.approx(model.decision_function(graphs[:1])[0].max())


def test_without_decisions_a_removal_says_whether_the_class_changes():
    graphs = Graphs.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)], sizes=[4])
    explanation = explain(NamesOnly(), graphs)
    assert explanation.measure == "class"
    assert explanation.value == 1.0
    assert explanation.node_removal.tolist() == [1.0] * 4
    assert explanation.link_removal.tolist() == [0.0] * 4
    shown = Explained(explanation)
    assert shown.said == "many"
    assert "1: without it, many is no longer predicted" in shown.unit


@pytest.mark.parametrize("of", ["svm", "names"])
def test_nothing_that_is_shown_speaks_of_probabilities(graphs, svm, of, tmp_path):
    model = svm if of == "svm" else NamesOnly()
    explanation = explain(model, graphs[0])
    found = counter_example(model, graphs[0])
    shown = Explained(explanation, "first", fidelity(model, explanation), found, searched=True)
    texts = (shown.said, shown.unit, shown.measure, fidelity_text(shown), counter_text(shown))
    for text in texts:
        assert "%" not in text
        assert "odds" not in text
        assert "27.6" not in text
    assert found is None or found.probability is None
    page = write_explanations(tmp_path / "why.html", [shown]).read_text()
    visible = page.partition("<main")[2].partition("<script")[0]
    assert "probability of" not in visible
    assert "log-odds" not in visible
    values = json.loads(json.dumps(explanation.to_dict(), allow_nan=False))
    assert values["measure"] == explanation.measure
    assert values["probability"] is None


def test_a_counter_example_of_decisions_changes_the_class(graphs, svm):
    found = counter_example(svm, graphs[0])
    assert found is not None
    assert svm.predict(found.item)[0] == found.prediction != found.before
