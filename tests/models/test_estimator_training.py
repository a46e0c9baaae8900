import numpy as np
import pytest
import torch

import edgnn
from edgnn.models import EstimatorError, GraphClassifier, GraphRegressor

QUICK = {"hidden": 8, "max_epochs": 3, "random_state": 0}


@pytest.fixture(scope="module")
def mutag():
    data = edgnn.load_dataset("MUTAG")
    return data.graphs[:40], data.targets[:40]


def test_a_warm_start_goes_on_from_the_fitted_weights(mutag):
    graphs, y = mutag
    classifier = GraphClassifier(hidden=16, max_epochs=10, warm_start=True, random_state=0).fit(
        graphs, y
    )
    before = classifier.history_[classifier.best_epoch_[0] - 1]["valid_loss"][0]
    first = classifier.history_[0]["valid_loss"][0]
    classifier.set_params(max_epochs=1, learning_rate=1e-6).fit(graphs, y)
    assert classifier.history_[0]["valid_loss"][0] == pytest.approx(before, rel=0.05)
    assert classifier.history_[0]["valid_loss"][0] < first


def test_a_warm_start_remembers_the_labels_of_the_first_fit(mutag):
    graphs, y = mutag
    carbon = [
        number for number, graph in enumerate(graphs) if set(graph.node_labels) <= {"C", "N", "O"}
    ]
    classifier = (
        GraphClassifier(**QUICK, warm_start=True).fit(graphs, y).fit(graphs[carbon], y[carbon])
    )
    assert classifier.predict(graphs).shape == y.shape


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden": 4}, "but hidden changed"),
        ({"members": 2}, "but members changed"),
        ({"conv": "gnn"}, "but conv changed"),
    ],
)
def test_a_warm_start_with_another_shape_is_refused(mutag, change, message):
    graphs, y = mutag
    classifier = GraphClassifier(**QUICK, warm_start=True).fit(graphs, y)
    with pytest.raises(EstimatorError, match=message):
        classifier.set_params(**change).fit(graphs, y)


def test_a_warm_start_with_other_labels_or_classes_is_refused(mutag):
    graphs, y = mutag
    classifier = GraphClassifier(**QUICK, warm_start=True).fit(graphs, y)
    with pytest.raises(EstimatorError, match="labels or features of the graphs changed"):
        classifier.fit(graphs.with_node_labels(["Xx"] * graphs.num_nodes), y)
    with pytest.raises(EstimatorError, match="the targets changed"):
        classifier.fit(graphs, y + 1)
    assert classifier.set_params(warm_start=False).fit(graphs, y + 1).classes_.tolist() == [1, 2]


def test_an_interrupted_fit_keeps_the_best_weights_and_interrupts(mutag):
    graphs, y = mutag
    whole = GraphClassifier(**(QUICK | {"max_epochs": 2}), members=2).fit(graphs, y)
    stopped = GraphClassifier(**(QUICK | {"max_epochs": 50}), members=2)

    def interrupt(epoch):
        if epoch.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped.fit(graphs, y, on_epoch=interrupt)
    assert np.array_equal(stopped.predict_proba(graphs), whole.predict_proba(graphs))
    assert len(stopped.history_) == 2
    unfitted = GraphClassifier(**QUICK)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            torch.Tensor, "backward", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        with pytest.raises(KeyboardInterrupt):
            unfitted.fit(graphs, y)
    assert not unfitted.__sklearn_is_fitted__()


def test_a_stored_state_goes_on_to_the_same_bits(mutag):
    graphs, y = mutag
    states = {}
    whole = GraphClassifier(hidden=8, max_epochs=4, random_state=0).fit(
        graphs, y, on_epoch=lambda epoch: states.update({epoch.number: epoch.state()}) or False
    )
    resumed = GraphClassifier(hidden=8, max_epochs=4, random_state=0).fit(
        graphs, y, resume=states[2]
    )
    assert np.array_equal(resumed.predict_proba(graphs), whole.predict_proba(graphs))
    assert len(resumed.history_) == 4


def test_patience_stops_early(mutag):
    graphs, y = mutag
    classifier = GraphClassifier(
        hidden=8, max_epochs=60, patience=2, learning_rate=3e-2, random_state=0
    ).fit(graphs, y)
    assert len(classifier.history_) < 60
    assert classifier.best_epoch_[0] == len(classifier.history_) - 2


def test_progress_is_written_where_asked(mutag, capsys):
    graphs, y = mutag
    GraphClassifier(**QUICK, verbose=2).fit(graphs, y)
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["epoch 2 of 3", "epoch 3 of 3"]
    assert "validation loss" in lines[0]
    GraphRegressor(**QUICK, validation=None, verbose=3).fit(graphs, y)
    assert "validation" not in capsys.readouterr().err


def test_a_fitted_model_does_not_follow_later_changes_of_parameters(mutag):
    graphs, y = mutag
    classifier = GraphClassifier(**QUICK).fit(graphs, y)
    before = classifier.predict_proba(graphs)
    classifier.set_params(
        direction="in",
        conv="rgcn",
        multiplicity="per-edge",
        members=7,
        precision="float64",
        hidden=3,
    )
    assert np.array_equal(classifier.predict_proba(graphs), before)
    assert classifier.embed(graphs).shape[0] == len(graphs)


@pytest.mark.gpu
def test_a_model_trained_on_cuda_predicts_and_pickles_as_on_the_cpu(mutag):
    import pickle

    graphs, y = mutag
    fitted = GraphClassifier(**QUICK, device="cuda").fit(graphs, y)
    copy = pickle.loads(pickle.dumps(fitted)).set_params(device="cpu")
    assert copy.predict_proba(graphs) == pytest.approx(fitted.predict_proba(graphs), abs=1e-4)
