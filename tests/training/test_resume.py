from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from edgnn.errors import TrainingError
from edgnn.training import Member, Settings, Targets, train
from training_reference import graph_task, node_task

SETTINGS = Settings(max_epochs=9, learning_rate=0.03, patience=2, weight_decay=1e-3, clip_norm=1.0)
MEMBERS = [
    Member(range(24), range(24, 40), seed=1),
    Member(range(7), range(24, 40), seed=2, learning_rate=0.3, dropout=0.5),
    Member(range(20), seed=3),
    Member(range(12), range(20, 30), seed=4, learning_rate=0.5),
    Member(range(30), range(30, 35), seed=5, learning_rate=1e-5),
]


def task_of(kind):
    if kind == "node":
        return ("node", *node_task()[:3])
    config, inputs, targets, graphs = graph_task()
    if kind == "regression":
        targets = Targets.values(graphs.sizes.numpy() * 3.0)
    return (
        "graph",
        config | {"batch_norm": True, "dropout": 0.3, "input_dropout": 0.1},
        inputs,
        targets,
    )


def assert_same_run(resumed, whole):
    for name, value in whole.model.state_dict().items():
        assert torch.equal(resumed.model.state_dict()[name], value)
    assert resumed.best_epoch == whole.best_epoch
    assert str(resumed.best_loss) == str(whole.best_loss)
    assert len(resumed.history) == len(whole.history)
    for ours, theirs in zip(resumed.history, whole.history, strict=True):
        assert ours["epoch"] == theirs["epoch"]
        for name in ("train_loss", "valid_loss"):
            assert np.array_equal(ours[name], theirs[name], equal_nan=True)


@pytest.mark.parametrize("kind", ["classes", "regression", "node"])
def test_resuming_after_any_epoch_ends_at_the_same_bits(kind):
    states = []
    whole = train(
        *task_of(kind),
        MEMBERS,
        SETTINGS,
        on_epoch=lambda epoch: states.append(save(epoch.state())) and None,
    )
    sizes = [len(load(state)["alive"]) for state in states]
    assert sizes[-1] < sizes[0]  # members stopped and the fleet was made smaller on the way
    assert len(states) == len(whole.history) > 4
    for state in states:
        torch.manual_seed(0)
        assert_same_run(train(*task_of(kind), MEMBERS, SETTINGS, resume=load(state)), whole)


def test_states_are_copies_that_later_epochs_leave_alone():
    states = []
    train(
        *task_of("classes"),
        MEMBERS,
        SETTINGS,
        on_epoch=lambda epoch: states.append((epoch.state(), save(epoch.state()))) and None,
    )
    assert all(save(state) == stored for state, stored in states)


def test_a_resumed_training_calls_back_for_its_own_epochs_only():
    states, numbers = [], []
    task, member, settings = task_of("classes"), MEMBERS[:1], replace(SETTINGS, patience=None)
    train(*task, member, settings, on_epoch=lambda epoch: states.append(epoch.state()))
    resumed = train(
        *task,
        member,
        settings,
        resume=states[5],
        on_epoch=lambda epoch: numbers.append(epoch.number),
    )
    assert numbers == [7, 8, 9]
    assert len(resumed.history) == 9
    longer = replace(settings, max_epochs=11)
    assert_same_run(train(*task, member, longer, resume=states[-1]), train(*task, member, longer))


def test_resuming_a_finished_training_gives_its_result():
    states = []
    whole = train(
        *task_of("classes"),
        MEMBERS[:2],
        SETTINGS,
        on_epoch=lambda epoch: states.append(epoch.state()),
    )
    assert_same_run(train(*task_of("classes"), MEMBERS[:2], SETTINGS, resume=states[-1]), whole)


def some_state():
    states = []
    train(
        *task_of("classes"), MEMBERS, SETTINGS, on_epoch=lambda epoch: states.append(epoch.state())
    )
    return states[-1]


def test_checkpoints_of_other_trainings_are_refused():
    state = some_state()
    kind, config, inputs, targets = task_of("classes")
    for other, members in (
        (config | {"hidden": 7}, MEMBERS),
        (config, MEMBERS[:4]),
        (config | {"batch_norm": False}, MEMBERS),
    ):
        with pytest.raises(
            TrainingError,
            match=r"the checkpoint has \(5, \d+\) weights, this training \(\d, \d+\): it belongs to",
        ):
            train(kind, other, inputs, targets, members, SETTINGS, resume=state)


@pytest.mark.parametrize(
    "name",
    [
        "best",
        "alive",
        "losses",
        "stopped",
        "best_loss",
        "best_epoch",
        "fleet.values",
        "fleet.first",
    ],
)
def test_incomplete_checkpoints_are_refused(name):
    state = some_state()
    del state[name]
    with pytest.raises(
        TrainingError,
        match=rf"the checkpoint lacks '({name}|{name[6:]})': it was not written by a training",
    ):
        train(*task_of("classes"), MEMBERS, SETTINGS, resume=state)


@pytest.mark.parametrize(
    "name",
    [
        "losses",
        "alive",
        "stopped",
        "best_loss",
        "best_epoch",
        "fleet.values",
        "fleet.second",
        "fleet.steps",
    ],
)
def test_damaged_checkpoints_are_refused(name):
    state = some_state()
    state[name] = torch.full((7, 3), 9.0)
    with pytest.raises(TrainingError, match="the checkpoint is damaged: "):
        train(*task_of("classes"), MEMBERS, SETTINGS, resume=state)


def test_a_checkpoint_needs_something_in_it():
    with pytest.raises(TrainingError, match="the checkpoint lacks 'best'"):
        train(*task_of("classes"), MEMBERS, SETTINGS, resume={})
