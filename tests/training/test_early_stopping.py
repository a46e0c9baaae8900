from __future__ import annotations

import numpy as np
import pytest
import torch

from edgnn.training import Member, Settings, Targets, train
from edgnn.training import _run as module
from edgnn.training._fleet import Fleet
from training_reference import graph_task, node_task, weights_of

RISING = [1.0, 2, 3, 4, 5, 6, 7, 8]
FALLING = RISING[::-1]
LATE = [5.0, 4, 6, 6, 3, 6, 6, 6]
MEMBERS = [Member(range(20), range(30, 40), seed=seed) for seed in range(5)]


def scripted(monkeypatch, losses):
    """Let validation of the member with seed s give losses[s], epoch after epoch."""
    epoch = Fleet.epoch

    def remember(self, number):
        self.number = number
        return epoch(self, number)

    def script(self):
        return torch.tensor(
            [losses[seed][self.number - 1] for seed in self.seeds.tolist()], dtype=torch.float64
        )

    monkeypatch.setattr(Fleet, "epoch", remember)
    monkeypatch.setattr(Fleet, "validate", script)


def run(task, members, kind="graph", **settings):
    config, inputs, targets, _ = task
    seen = []
    options = Settings(precision="float64", batch_size=8, **settings)
    trained = train(
        kind,
        config | {"batch_norm": True, "dropout": 0.2},
        inputs,
        targets,
        members,
        options,
        on_epoch=seen.append,
    )
    return trained, seen


def test_patience_counts_epochs_without_a_lower_loss(monkeypatch):
    scripted(monkeypatch, {0: RISING, 1: LATE, 2: FALLING})
    trained, seen = run(graph_task(), MEMBERS[:3], max_epochs=8, patience=3)
    assert trained.best_epoch == [1, 5, 8]
    assert trained.best_loss == [1, 3, 1]
    active = np.array([epoch.active for epoch in seen])
    assert (
        active[:, 0].tolist() == [True, True, True] + [False] * 5
    )  # epoch 4 is the third without a lower loss
    assert active[:, 1].tolist() == [True] * 7 + [False]
    assert active[:, 2].all()
    for row in trained.history[4:]:
        assert np.isnan(row["train_loss"][0])
        assert np.isnan(row["valid_loss"][0])


def test_an_equal_loss_is_no_improvement(monkeypatch):
    scripted(monkeypatch, {0: [1.0] * 8})
    trained, _ = run(graph_task(), MEMBERS[:1], max_epochs=8, patience=2)
    assert (trained.best_epoch, trained.stopped_epoch) == ([1], 3)


def test_without_patience_nothing_stops_and_the_best_epoch_is_kept_all_the_same(monkeypatch):
    scripted(monkeypatch, {0: RISING, 1: LATE})
    trained, seen = run(graph_task(), MEMBERS[:2], max_epochs=8)
    assert (trained.best_epoch, trained.stopped_epoch) == ([1, 5], 8)
    assert all(all(epoch.active) for epoch in seen)


def test_training_ends_when_everyone_stopped(monkeypatch):
    scripted(monkeypatch, {0: RISING, 1: LATE})
    trained, _ = run(graph_task(), MEMBERS[:2], max_epochs=8, patience=2)
    assert (trained.best_epoch, trained.stopped_epoch) == ([1, 2], 4)


@pytest.mark.parametrize("kind", ["graph", "node"])
def test_the_weights_and_statistics_of_the_best_epoch_are_kept(monkeypatch, kind):
    task = graph_task() if kind == "graph" else node_task()
    scripted(monkeypatch, {0: RISING, 1: LATE, 2: FALLING})
    trained, _ = run(task, MEMBERS[:3], kind, max_epochs=8, patience=4)
    for place, best in enumerate(trained.best_epoch):
        last, _ = run(task, [Member(range(20), seed=place)], kind, max_epochs=best)
        torch.testing.assert_close(
            weights_of(trained, place), weights_of(last), rtol=1e-8, atol=1e-8
        )


@pytest.mark.parametrize("kind", ["graph", "node"])
def test_making_the_fleet_smaller_changes_nobody(monkeypatch, kind):
    task = graph_task() if kind == "graph" else node_task()
    scripted(monkeypatch, {0: RISING, 1: FALLING, 2: RISING, 3: LATE, 4: RISING})
    sizes = []
    shrink = module.Run._shrink
    monkeypatch.setattr(
        module.Run,
        "_shrink",
        lambda self, rows, state: (sizes.append(len(rows)), shrink(self, rows, state)),
    )
    shrunk, _ = run(task, MEMBERS, kind, max_epochs=8, patience=3)
    monkeypatch.setattr(module, "_COMPACT_BELOW", 0)
    whole, _ = run(task, MEMBERS, kind, max_epochs=8, patience=3)
    assert sizes == [2, 1]
    assert shrunk.best_epoch == whole.best_epoch == [1, 8, 1, 5, 1]
    for place in range(5):
        torch.testing.assert_close(
            weights_of(shrunk, place), weights_of(whole, place), rtol=1e-8, atol=1e-8
        )
    for ours, theirs in zip(shrunk.history, whole.history, strict=True):
        assert ours["train_loss"] == pytest.approx(theirs["train_loss"], rel=1e-8, nan_ok=True)


def test_members_without_validation_keep_the_last_epoch_and_never_stop(monkeypatch):
    task = graph_task()
    members = [Member(range(20), range(30, 40), seed=0), Member(range(20), seed=1)]
    scripted(monkeypatch, {0: RISING, 1: [float("nan")] * 8})
    trained, seen = run(task, members, max_epochs=6, patience=2)
    assert trained.best_epoch == [1, 6]
    assert np.isnan(trained.best_loss[1])
    assert all(epoch.active[1] for epoch in seen)
    last, _ = run(task, [members[1]], max_epochs=6)
    torch.testing.assert_close(weights_of(trained, 1), weights_of(last), rtol=1e-8, atol=1e-8)


def test_real_validation_losses_choose_the_epoch():
    config, inputs, targets, graphs = graph_task()
    noise = Targets.classes(np.random.default_rng(0).integers(0, 2, 48), 2)
    seen = []
    trained = train(
        "graph",
        config | {"hidden": 32},
        inputs,
        noise,
        [Member(range(24), range(24, 48), seed=seed) for seed in range(4)],
        Settings(max_epochs=60, learning_rate=0.03, patience=5),
        on_epoch=seen.append,
    )
    losses = np.array([row["valid_loss"] for row in trained.history])
    assert trained.best_epoch == (np.nanargmin(losses, axis=0) + 1).tolist()
    assert (
        trained.stopped_epoch == max(trained.best_epoch) + 5 < 60
    )  # labels are noise, so fitting them soon hurts
    assert len(graphs) == len(targets)
