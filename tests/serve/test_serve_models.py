"""Any model is served that has the public side of one, whatever else it can do."""

import pytest

import edgnn
from edgnn.models import Predictions, load_model
from edgnn.serve import Served
from serve_runs import client_of, error

NOTHING = {"class_names": [], "target_names": [], "source": {}}


class Plain:
    """A model that predicts classes, and knows neither probabilities nor what it has seen."""

    num_members = 1
    has_familiarity = False

    def __init__(self, network):
        self.level, self.task, self.encoding = network.level, network.task, network.encoding
        self.coder, self.seen = network.coder, network.seen

    def predictions(self, X):
        return Predictions(self.encoding.classes[X.sizes.numpy() % 2])

    def familiarity(self, X):
        return None

    def refine(self, graphs, rounds=None):
        return edgnn.wl.refine(graphs, 1 if rounds is None else rounds)


@pytest.fixture(scope="module")
def plain(mutag_run):
    model = Plain(load_model(mutag_run))
    return client_of(Served(mutag_run, NOTHING, model))


def test_a_model_without_probabilities_predicts(plain):
    answer = plain.post("/predict", json={"smiles": ["CC", "CCO"]}).json()
    assert [row["prediction"] for row in answer["predictions"]] == [0, 1]
    for row in answer["predictions"]:
        assert (row["probabilities"], row["familiarity"], row["uncertainty"]) == (None, None, {})


def test_what_a_model_is_not_is_left_out_of_its_description(plain):
    model = plain.get("/model").json()
    assert (model["estimator"], model["members"], model["familiarity"]) == ("Plain", 1, False)
    assert (model["layers"], model["conv"], model["judged"]) == (None, None, None)


def test_colors_are_those_of_the_models_own_refinement(plain):
    rounds = plain.post("/colors", json={"smiles": "CCO"}).json()["rounds"]
    assert [entry["seen"] for entry in rounds] == [None, None]


def test_what_a_model_cannot_do_is_one_sentence(plain):
    assert "cannot be explained" in error(plain.post("/explain", json={"smiles": "CCO"}))
