import json

import numpy as np
import pytest

import edgnn
from edgnn.evaluation import Evaluation, EvaluationError, evaluate, kfold
from edgnn.studies import Nested, search_grid, search_table

SMALL = {"max_epochs": 6, "learning_rate": 0.01, "batch_size": 16}
GRID = [{"layers": layers, "hidden": hidden} for layers in (1, 2) for hidden in (4, 16)]


@pytest.fixture(scope="module")
def mutag():
    data = edgnn.load_dataset("MUTAG")
    return data.graphs[:80], np.array(["no", "yes"])[data.targets[:80]]


@pytest.fixture(scope="module")
def splits(mutag):
    return kfold(mutag[1], 4, 1, seed=3, validation=0.2)


def nested():
    return Nested.over(edgnn.GraphClassifier, SMALL, GRID)


@pytest.fixture(scope="module")
def searched(mutag, splits):
    return evaluate(nested(), *mutag, splits, metrics=("accuracy", "roc_auc"))


def test_every_split_is_answered_by_the_candidate_of_the_lowest_validation_loss(
    mutag, splits, searched
):
    graphs, y = mutag
    alone = {
        name: model.predict_splits(graphs, y, splits) for name, model in nested().candidates.items()
    }
    for place, outcome in enumerate(searched.outcomes):
        losses = {name: np.mean(answers[place]["valid_loss"]) for name, answers in alone.items()}
        best = min(losses, key=losses.get)
        assert outcome.chosen["candidate"] == best
        assert outcome.chosen["valid_loss"] == alone[best][place]["valid_loss"]
        assert outcome.chosen["best_epoch"] == alone[best][place]["best_epoch"]
        assert outcome.training_accuracy == alone[best][place]["training_accuracy"]
        assert np.array_equal(outcome.probability, alone[best][place]["probability"])
        assert [searched.classes[code] for code in outcome.prediction] == alone[best][place][
            "prediction"
        ].tolist()
        for name, told in outcome.chosen["candidates"].items():
            assert told["prediction"] == alone[name][place]["prediction"].tolist()
            assert told["valid_loss"] == alone[name][place]["valid_loss"]
    assert len({outcome.chosen["candidate"] for outcome in searched.outcomes}) > 1


def test_labels_of_the_test_part_change_no_choice(mutag, splits):
    graphs, y = mutag
    for split in splits:
        (outcome,) = evaluate(nested(), graphs, y, [split]).outcomes
        changed = y.copy()
        changed[split.test] = np.where(y[split.test] == "no", "yes", "no")
        (again,) = evaluate(nested(), graphs, changed, [split]).outcomes
        assert again.chosen == outcome.chosen
        assert again.prediction.tolist() == outcome.prediction.tolist()


def test_labels_of_the_validation_part_do_decide(mutag, splits):
    graphs, y = mutag
    (outcome,) = evaluate(nested(), graphs, y, splits[:1]).outcomes
    changed = y.copy()
    changed[splits[0].valid] = np.where(y[splits[0].valid] == "no", "yes", "no")
    (again,) = evaluate(nested(), graphs, changed, splits[:1]).outcomes
    assert again.chosen["candidate"] != outcome.chosen["candidate"]
    assert again.chosen["valid_loss"] != outcome.chosen["valid_loss"]


def test_the_search_can_be_told_from_what_is_stored(searched):
    table = search_table(
        Evaluation.from_dict(json.loads(json.dumps(searched.to_dict(), allow_nan=False)))
    )
    assert table == search_table(searched)
    assert [row["candidate"] for row in table] == [
        f"layers={own['layers']}, hidden={own['hidden']}" for own in GRID
    ]
    assert sum(row["chosen"] for row in table) == 4
    for row in table:
        told = [outcome.chosen["candidates"][row["candidate"]] for outcome in searched.outcomes]
        right = [
            np.mean(
                [searched.classes[code] for code in searched.truth[split.test]]
                == np.array(one["prediction"])
            )
            for split, one in zip(searched.splits, told, strict=True)
        ]
        assert row["accuracy"] == pytest.approx(np.mean(right))
        assert row["valid_loss"] == pytest.approx(np.mean([one["valid_loss"] for one in told]))


def test_settings_name_what_is_shared_and_what_is_searched(searched):
    told = searched.settings
    assert (told["estimator"], told["fleet"]) == ("Nested", True)
    assert told["parameters"]["max_epochs"] == 6
    assert told["parameters"]["candidates"]["layers=2, hidden=4"] == {"layers": 2, "hidden": 4}


def test_epochs_are_counted_through_all_candidates(mutag, splits):
    told = []
    evaluate(nested(), *mutag, splits[:1], on_progress=told.append)
    assert [step.done for step in told] == list(range(1, 25))
    assert {step.total for step in told} == {24}


def test_weights_reach_the_candidates(mutag, splits):
    weight = np.linspace(0.1, 2, 80)
    weighted = nested().predict_splits(*mutag, splits[:1], sample_weight=weight)[0]["chosen"][
        "candidates"
    ]
    for name, candidate in nested().candidates.items():
        (answer,) = candidate.predict_splits(*mutag, splits[:1], sample_weight=weight)
        assert weighted[name]["valid_loss"] == answer["valid_loss"]


def test_nodes_are_searched_over_the_stored_grid():
    rng = np.random.default_rng(0)
    graph = edgnn.Graphs.from_edges(
        rng.integers(40, size=(160, 2)), edge_labels=rng.integers(3, size=160).tolist()
    )
    y = np.arange(30) % 3
    model = Nested.over(edgnn.NodeClassifier, {"max_epochs": 2}, search_grid("node"))
    result = evaluate(model, graph.nodes[np.arange(30)], y, kfold(y, 3, 1, validation=0.2))
    assert len(search_table(result)) == 12


def test_without_a_validation_part_nothing_can_be_chosen(mutag):
    model = Nested.over(edgnn.GraphClassifier, SMALL | {"validation": None}, GRID[:1])
    with pytest.raises(EvaluationError, match="'layers=1, hidden=4' has no validation loss"):
        evaluate(model, *mutag, kfold(mutag[1], 4, 1, validation=None))
    with pytest.raises(EvaluationError, match="no candidates"):
        Nested({})


def test_a_candidate_without_a_loss_is_never_chosen(splits):
    class Told:
        def __init__(self, loss):
            self.loss = loss

        def predict_splits(self, X, y, splits):
            return [{"prediction": y[split.test], "valid_loss": [self.loss]} for split in splits]

    losses = {"diverged": float("nan"), "worse": 0.9, "better": 0.4, "lost": float("nan")}
    y = np.zeros(80, dtype=int)
    found = Nested({name: Told(loss) for name, loss in losses.items()}).predict_splits(y, y, splits)
    assert {answer["chosen"]["candidate"] for answer in found} == {"better"}


def test_only_a_search_has_a_table(mutag, splits):
    plain = evaluate(edgnn.GraphClassifier(**SMALL), *mutag, splits)
    with pytest.raises(EvaluationError, match="no search"):
        search_table(plain)
