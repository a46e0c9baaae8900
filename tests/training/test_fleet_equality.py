from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from dense_limits import dense_entries, dense_labels
from edgnn.registry import LAYERS
from edgnn.training import Member, Settings, Targets, train
from training_reference import graph_task, node_task, plain_training, weights_of

OTHERS = [  # different sizes, rates and seeds; the first is the one that is followed
    Member(range(22), range(40, 48), seed=3, learning_rate=0.01, weight_decay=1e-3, dropout=0.2),
    Member(range(5, 40), range(5), seed=4, learning_rate=0.003, dropout=0.0),
    Member(range(10, 13), None, seed=5, weight_decay=0.1, dropout=0.6),
    Member(range(1, 40, 2), range(2, 40, 4), seed=3, learning_rate=0.01),
]
EXACT = Settings(max_epochs=20, batch_size=8, precision="float64")


def fleets_agree(kind, task, settings, tolerance, members=OTHERS, **config):
    own, inputs, targets, _ = task
    config = own | config
    alone = train(kind, config, inputs, targets, members[:1], settings)
    pair = train(kind, config, inputs, targets, [members[2], members[0]], settings)
    fleet = train(kind, config, inputs, targets, members, settings)
    for other, place in ((pair, 1), (fleet, 0)):
        torch.testing.assert_close(
            weights_of(other, place), weights_of(alone), rtol=tolerance, atol=tolerance
        )
        for ours, theirs in zip(other.history, alone.history, strict=True):
            assert ours["train_loss"][place] == pytest.approx(
                theirs["train_loss"][0], rel=tolerance, abs=tolerance
            )
            assert ours["valid_loss"][place] == pytest.approx(
                theirs["valid_loss"][0], rel=tolerance, abs=tolerance, nan_ok=True
            )
        assert other.best_epoch[place] == alone.best_epoch[0]
    torch.testing.assert_close(
        weights_of(pair, 0), weights_of(fleet, 2), rtol=tolerance, atol=tolerance
    )
    return alone


@pytest.mark.parametrize("conv", tuple(LAYERS))
def test_a_graph_member_equals_itself_alone_after_20_epochs_in_float64(conv):
    options = {"batch_norm": True, "dropout": 0.3, "input_dropout": 0.1, "conv": conv}
    alone = fleets_agree("graph", graph_task(relations=True), EXACT, 1e-8, **options)
    assert alone.history[-1]["train_loss"][0] < alone.history[0]["train_loss"][0]


@pytest.mark.parametrize(
    "options", [{}, {"head": "conv", "batch_norm": True}, {"embedding": 4, "edge_embedding": 3}]
)
def test_a_node_member_equals_itself_alone_after_20_epochs_in_float64(options):
    members = [
        replace(member, train=[i for i in member.train if i < 35], valid=[35, 36])
        for member in OTHERS
    ]
    fleets_agree(
        "node", node_task(), EXACT, 1e-8, members, dropout=0.3, input_dropout=0.1, **options
    )


@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
def test_clipping_weights_and_other_optimizers_are_each_members_own(optimizer):
    config, inputs, targets, graphs = graph_task()
    weighted = Targets.classes(
        targets.y, 2, weight=np.linspace(0.1, 3, 48), class_weight="balanced"
    )
    settings = replace(EXACT, max_epochs=6, optimizer=optimizer, clip_norm=0.5)
    fleets_agree("graph", (config, inputs, weighted, graphs), settings, 1e-8)


def test_regression_members_are_scaled_on_their_own_training_part():
    config, inputs, _, graphs = graph_task()
    sizes = np.stack([graphs.sizes.numpy(), 1000 - 7.0 * graphs.sizes.numpy()], axis=1)
    sizes[3, 0] = sizes[7] = np.nan
    fleets_agree(
        "graph",
        (config, inputs, Targets.values(sizes), graphs),
        replace(EXACT, max_epochs=6),
        1e-8,
        readout="mean",
    )


def test_sparse_labels_and_counts_keep_members_apart(monkeypatch):
    dense_labels(monkeypatch, -1)
    dense_entries(monkeypatch, -1)
    for conv in ("edgnn", "joint"):
        fleets_agree(
            "graph",
            graph_task(relations=True),
            replace(EXACT, max_epochs=4),
            1e-8,
            conv=conv,
            batch_norm=True,
        )


@pytest.mark.parametrize(
    ("kind", "task", "epochs"), [("graph", graph_task, 1), ("node", node_task, 3)]
)
def test_members_agree_to_1e_5_after_3_steps_in_float32(kind, task, epochs):
    members = [replace(member, train=range(24), valid=None) for member in OTHERS]
    fleets_agree(
        kind,
        task(),
        Settings(max_epochs=epochs, batch_size=8),
        1e-5,
        members,
        dropout=0.3,
        batch_norm=True,
    )


@pytest.mark.parametrize("kind", ["graph", "node"])
def test_repeating_a_fleet_gives_the_same_bits(kind):
    config, inputs, targets, _ = graph_task() if kind == "graph" else node_task()
    members = [
        replace(member, train=range(8 + i), valid=range(30, 35)) for i, member in enumerate(OTHERS)
    ]
    settings = Settings(max_epochs=4, patience=2)
    torch.manual_seed(1)
    first = train(kind, config | {"batch_norm": True}, inputs, targets, members, settings)
    torch.manual_seed(2)
    second = train(kind, config | {"batch_norm": True}, inputs, targets, members, settings)
    for name, value in first.model.state_dict().items():
        assert torch.equal(value, second.model.state_dict()[name])
    drop = [
        [{k: v for k, v in epoch.items() if k != "seconds"} for epoch in run.history]
        for run in (first, second)
    ]
    assert str(drop[0]) == str(drop[1])


def test_the_rate_of_another_member_does_not_change_the_noise_of_one():
    config, inputs, targets, _ = graph_task(24)
    config |= {"dropout": 0.0, "input_dropout": 0.3}
    quiet, loud = Member(range(16), seed=1), Member(range(16), seed=2, dropout=0.5)
    settings = replace(EXACT, max_epochs=2)
    alone = train("graph", config, inputs, targets, [quiet], settings)
    together = train("graph", config, inputs, targets, [quiet, loud], settings)
    torch.testing.assert_close(weights_of(together), weights_of(alone), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", ["graph", "node"])
def test_a_members_own_rates_are_those_of_settings_and_model(kind):
    config, inputs, targets, _ = graph_task(24) if kind == "graph" else node_task()
    head = {"head": "conv"} if kind == "node" else {}
    rates = {"learning_rate": 0.02, "weight_decay": 0.05}
    short = replace(EXACT, max_epochs=2)
    own = train(
        kind,
        config | head,
        inputs,
        targets,
        [Member(range(16), seed=1, dropout=0.4, **rates)],
        short,
    )
    shared = train(
        kind,
        config | head | {"dropout": 0.4},
        inputs,
        targets,
        [Member(range(16), seed=1)],
        replace(short, **rates),
    )
    torch.testing.assert_close(weights_of(own), weights_of(shared), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("conv", "changes"),
    [
        ("edgnn", {}),
        ("edgnn", {"optimizer": "adamw", "clip_norm": 0.3}),
        ("joint", {"batch_size": 5}),
    ],
)
def test_training_is_that_of_a_plain_torch_loop(conv, changes):
    config, inputs, targets, graphs = graph_task(relations=True)
    config |= {"batch_norm": True, "outputs": 2, "conv": conv}
    settings = replace(EXACT, max_epochs=12, **changes)
    members = [
        replace(member, valid=range(40, 48), weight_decay=0.01, learning_rate=0.01, dropout=None)
        for member in OTHERS
    ]
    fleet = train("graph", config, inputs, targets, members, settings)
    for place in (0, 2):
        expected, history = plain_training(config, graphs, targets.y, members[place], settings)
        torch.testing.assert_close(weights_of(fleet, place), expected, rtol=1e-8, atol=1e-8)
        ours = [(epoch["train_loss"][place], epoch["valid_loss"][place]) for epoch in fleet.history]
        assert np.asarray(ours) == pytest.approx(np.asarray(history), rel=1e-8)


@pytest.mark.parametrize("batch_norm", [False, True])
def test_members_of_a_node_task_come_out_the_same_in_groups_of_any_size(monkeypatch, batch_norm):
    config, inputs, targets, _ = node_task()
    config = config | {"dropout": 0.4, "batch_norm": batch_norm}
    members = [
        Member(range(15 + seed), range(30, 40), seed=seed, learning_rate=0.01 / (1 + seed))
        for seed in range(5)
    ]
    settings = Settings(
        max_epochs=6, precision="float64", weight_decay=1e-3, clip_norm=1.0, patience=3
    )
    together = train("node", config, inputs, targets, members, settings)
    monkeypatch.setattr(
        "edgnn.training._tasks._BYTES_AT_ONCE",
        2 * 8 * inputs.num_nodes * together.model.config["hidden"],
    )
    grouped = train("node", config, inputs, targets, members, settings)
    assert grouped.best_epoch == together.best_epoch
    for name, value in together.model.state_dict().items():
        torch.testing.assert_close(grouped.model.state_dict()[name], value, rtol=0, atol=1e-10)
