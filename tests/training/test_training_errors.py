from __future__ import annotations

import numpy as np
import pytest
import torch

from edgnn.errors import TrainingError
from edgnn.graphs import Graphs
from edgnn.nn import Inputs
from edgnn.training import Member, Settings, Targets, train
from edgnn.training._fleet import Fleet
from training_reference import graph_task, node_task, weights_of

SHORT = Settings(max_epochs=3, learning_rate=0.01)


LOST = r"the loss of member {} \(seed 8, learning rate 1e\+20\) is NaN or infinite in epoch 1"


def test_a_loss_that_is_no_number_names_member_epoch_and_ways_out():
    config, inputs, targets, _ = graph_task()
    lost = Member(range(30), range(30, 40), seed=8, learning_rate=1e20)
    with pytest.raises(
        TrainingError,
        match=LOST.format(0) + ": lower learning_rate, set clip_norm, or scale the features",
    ):
        train("graph", config, inputs, targets, [lost], Settings(max_epochs=5))


def test_a_member_lost_from_the_start_does_not_take_the_others_with_it():
    config, inputs, targets, _ = graph_task()
    good, lost = (
        Member(range(30), range(30, 40), seed=5),
        Member(range(30), range(30, 40), seed=8, learning_rate=1e20),
    )
    with pytest.warns(RuntimeWarning, match=LOST.format(1) + "; it keeps its initial weights"):
        both = train("graph", config, inputs, targets, [good, lost], Settings(max_epochs=5))
    alone = train("graph", config, inputs, targets, [good], Settings(max_epochs=5))
    assert both.best_epoch == [*alone.best_epoch, 0]


def test_features_too_large_to_multiply_are_a_training_error():
    graphs = Graphs.from_edges(
        [(0, 1), (2, 3)], sizes=[2, 2], node_features=[[1.0], [2.0], [3e38], [3e38]]
    )
    config = {"node_labels": 1, "edge_labels": 1, "node_features": 1}
    targets = Targets.classes(np.array([0, 1]), 2)
    with pytest.raises(
        TrainingError,
        match=r"member 0 \(seed 0, .* is NaN or infinite in epoch 1: .* scale the features",
    ):
        train("graph", config, Inputs.of(graphs), targets, [Member([0, 1])], Settings(max_epochs=2))


@pytest.mark.parametrize("kind", ["graph", "node"])
def test_a_member_that_loses_its_way_keeps_its_best_weights_and_the_others_go_on(monkeypatch, kind):
    config, inputs, targets, _ = graph_task() if kind == "graph" else node_task()
    members = [Member(range(20), range(30, 40), seed=seed) for seed in (1, 2, 3)]
    settings = Settings(max_epochs=4, precision="float64")
    two = train(kind, config, inputs, targets, members, Settings(max_epochs=2, precision="float64"))
    whole = train(kind, config, inputs, targets, members, settings)
    epoch = Fleet.epoch

    def poisoned(self, number):
        if number == 3:
            self.packed.parameters[self.seeds == 2] = torch.nan
        return epoch(self, number)

    monkeypatch.setattr(Fleet, "epoch", poisoned)
    warning = r"the loss of member 1 \(seed 2, learning rate 0.001\) is NaN or infinite in epoch 3; it keeps the weights of epoch 2"
    with pytest.warns(RuntimeWarning, match=warning) as caught:
        trained = train(kind, config, inputs, targets, members, settings)
    assert caught[0].filename == __file__
    for place in (0, 2):
        torch.testing.assert_close(
            weights_of(trained, place), weights_of(whole, place), rtol=1e-10, atol=1e-10
        )
    torch.testing.assert_close(weights_of(trained, 1), weights_of(two, 1), rtol=1e-10, atol=1e-10)
    assert trained.best_epoch == [whole.best_epoch[0], two.best_epoch[1], whole.best_epoch[2]]
    assert np.isnan(trained.history[3]["train_loss"][1])


def test_out_of_memory_says_what_to_change(monkeypatch):
    config, inputs, targets, _ = graph_task()

    def full(self, number):
        raise torch.OutOfMemoryError("Tried to allocate 3 TiB.\nmore")

    monkeypatch.setattr(Fleet, "epoch", full)
    message = (
        r"out of memory on cpu with 2 members and batches of 8 graphs each: "
        r"lower batch_size, train fewer members at once, or use device='cpu' \(Tried to allocate 3 TiB.\)"
    )
    with pytest.raises(TrainingError, match=message):
        train("graph", config, inputs, targets, [Member(range(30))] * 2, SHORT)


MISSING = Targets.values(np.where(np.arange(48) < 40, np.nan, 1.0))


@pytest.mark.parametrize(
    ("members", "targets", "message"),
    [
        ([], None, "a fleet needs at least one member"),
        (
            [Member([1]), Member([])],
            None,
            "member 1 has nothing to train on: its training part is empty",
        ),
        ([Member(np.zeros(48, dtype=bool))], None, "member 0 has nothing to train on"),
        ([Member([0, 48])], None, "member 0 has a train item 48 of 48 items"),
        ([Member([0]), Member([0], [-1, 3])], None, "member 1 has a valid item -1 of 48 items"),
        (
            [Member([0.5, 1.0])],
            None,
            "the train items of member 0 must be whole numbers, got float64",
        ),
        (
            [Member([0], learning_rate=-1.0)],
            None,
            "member 0 has learning_rate=-1.0: at least 0 and below inf is needed",
        ),
        ([Member([0], weight_decay=float("nan"))], None, "member 0 has weight_decay=nan"),
        (
            [Member([0]), Member([0], dropout=1.0)],
            None,
            "member 1 has dropout=1.0: at least 0 and below 1 is needed",
        ),
        (
            [Member([0])],
            Targets.classes(np.zeros(47, dtype=int), 2),
            "there are 47 targets for 48 items",
        ),
        (
            [Member(range(40, 48)), Member(range(40))],
            MISSING,
            "all training targets of member 1 are missing",
        ),
        (
            [Member(range(40, 48), range(40))],
            MISSING,
            "all validation targets of member 0 are missing",
        ),
    ],
)
def test_wrong_members_are_named_before_anything_is_trained(members, targets, message):
    config, inputs, classes, _ = graph_task()
    with pytest.raises(TrainingError, match=message):
        train("graph", config, inputs, targets or classes, members, SHORT)


def test_wrong_tasks_are_named():
    config, inputs, targets, _ = node_task()
    with pytest.raises(TrainingError, match="kind='edge': choose 'graph' or 'node'"):
        train("edge", config, inputs, targets, [Member([0])], SHORT)
    for positions in ([0, 40], [-1, 3]):
        with pytest.raises(
            TrainingError, match=r"positions reach from -?\d+ to \d+, the graphs have 40 nodes"
        ):
            train(
                "node",
                config,
                inputs,
                Targets.classes(np.array([0, 1]), 3),
                [Member([0])],
                SHORT,
                positions=positions,
            )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_epochs": 0}, "max_epochs=0: choose a whole number, 1 or more"),
        ({"max_epochs": None}, "max_epochs=None: choose a whole number, 1 or more"),
        ({"batch_size": "8"}, "batch_size='8': choose 'auto' .*, a whole number, 1 or more"),
        ({"batch_size": 2.5}, "batch_size=2.5: choose 'auto' .*, a whole number, 1 or more"),
        ({"batch_size": True}, "batch_size=True: choose 'auto' .*, a whole number, 1 or more"),
        ({"patience": "auto"}, "patience='auto': choose a whole number, 1 or more"),
        ({"fanout": "a"}, "fanout='a': choose a whole number, 1 or more, or None"),
        ({"fanout": [0]}, r"fanout=\[0\]: choose a whole number, .*; or several such"),
        ({"fanout": (2.5,)}, r"fanout=\(2.5,\): choose a whole number, 1 or more, or None"),
        ({"fanout": float("nan")}, "fanout=nan: choose a whole number, 1 or more, or None"),
        (
            {"learning_rate": "fast"},
            "learning_rate='fast': choose a number, 0 or more",
        ),
        ({"batch_size": 0}, "batch_size=0: choose 'auto' .*, a whole number, 1 or more"),
        ({"patience": 0}, "patience=0: choose a whole number, 1 or more"),
        ({"learning_rate": -1.0}, "learning_rate=-1.0: choose a number, 0 or more"),
        (
            {"weight_decay": float("inf")},
            "weight_decay=inf: choose a number, 0 or more",
        ),
        ({"clip_norm": float("nan")}, "clip_norm=nan: choose a number, 0 or more"),
        ({"optimizer": "sgd"}, "optimizer='sgd': choose 'adam' or 'adamw'"),
        (
            {"precision": "float16"},
            "precision='float16': choose 'float32', 'float64' or 'bfloat16'",
        ),
    ],
)
def test_wrong_settings_are_named(changes, message):
    with pytest.raises(TrainingError, match=message):
        Settings(**changes)


def test_validation_items_that_weigh_nothing_are_refused():
    config, inputs, targets, _ = graph_task()
    weights = np.ones(len(targets))
    weights[30:40] = 0
    weighted = Targets.classes(targets.y, targets.outputs, weights)
    members = [Member(range(20), range(20, 30)), Member(range(20), range(30, 40))]
    with pytest.raises(TrainingError, match="all validation items of member 1 have the weight 0"):
        train("graph", config, inputs, weighted, members, SHORT)


def test_validation_items_of_classes_without_weight_are_refused():
    config, inputs, targets, _ = graph_task()
    first, second = (torch.nonzero(targets.y == number).flatten() for number in (0, 1))
    balanced = Targets.classes(targets.y, targets.outputs, class_weight="balanced")
    with pytest.raises(TrainingError, match="all validation items of member 0 have the weight 0"):
        train("graph", config, inputs, balanced, [Member(first, second)], SHORT)
