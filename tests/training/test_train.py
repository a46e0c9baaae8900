from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from edgnn import load_dataset
from edgnn.errors import TrainingError
from edgnn.graphs import Graphs
from edgnn.nn import GraphModel, Inputs, NodeModel, Noise
from edgnn.registry import LAYERS
from edgnn.training import Member, Settings, Targets, _run, outputs, train
from edgnn.training._fleet import Fleet
from training_reference import graph_task, node_task, weights_of

SHORT = Settings(max_epochs=3, learning_rate=0.01)


def test_a_trained_fleet_says_what_happened():
    config, inputs, targets, _ = graph_task()
    seen = []
    members = [Member(range(30), range(30, 48), seed=1), Member(range(20), seed=2)]
    trained = train("graph", config, inputs, targets, members, SHORT, on_epoch=seen.append)
    assert len(trained.history) == len(seen) == 3
    assert (
        [epoch["epoch"] for epoch in trained.history]
        == [epoch.number for epoch in seen]
        == [1, 2, 3]
    )
    for row, epoch in zip(trained.history, seen, strict=True):
        assert row["train_loss"] == epoch.train_loss
        assert all(loss > 0 for loss in row["train_loss"])
        assert row["valid_loss"][0] == epoch.valid_loss[0] > 0
        assert np.isnan(row["valid_loss"][1])
        assert np.isnan(epoch.valid_loss[1])
        assert row["seconds"] == epoch.seconds > 0
        assert epoch.active == [True, True]
    losses = [row["valid_loss"][0] for row in trained.history]
    assert trained.best_epoch == seen[-1].best_epoch == [1 + int(np.argmin(losses)), 3]
    assert trained.best_loss[0] == min(losses)
    assert isinstance(trained.model, GraphModel)
    assert not trained.model.training
    assert trained.kind == "graph"


def test_the_loss_of_an_epoch_is_the_mean_over_its_items():
    config, inputs, targets, graphs = graph_task(20)
    still = Settings(max_epochs=1, batch_size=8, learning_rate=0.0, precision="float64")
    trained = train("graph", config, inputs, targets, [Member(range(19), [19], seed=1)], still)
    logits = outputs(trained, inputs)[0]
    single = torch.nn.functional.cross_entropy(logits, targets.y, reduction="none")
    assert trained.history[0]["train_loss"][0] == pytest.approx(float(single[:19].mean()))
    assert trained.history[0]["valid_loss"][0] == pytest.approx(float(single[19]))
    assert len(graphs) == 20


def test_the_loss_of_an_epoch_leaves_out_items_without_a_target():
    config, inputs, _, graphs = graph_task(40)
    y = graphs.sizes.double().numpy()
    y[10:] = np.nan
    still = Settings(max_epochs=1, batch_size=4, learning_rate=0.0)
    some = train("graph", config, inputs, Targets.values(y), [Member(range(40), seed=3)], still)
    known = train("graph", config, inputs, Targets.values(y), [Member(range(10), seed=3)], still)
    assert some.history[0]["train_loss"] == pytest.approx(known.history[0]["train_loss"])


@pytest.mark.parametrize("conv", tuple(LAYERS))
def test_graph_classes_are_learned(conv):
    config, inputs, targets, _ = graph_task(100, relations=True)
    settings = Settings(max_epochs=30, learning_rate=0.01, batch_size=16)
    config |= {"conv": conv, "hidden": 16, "batch_norm": True}
    trained = train(
        "graph",
        config,
        inputs,
        targets,
        [Member(range(100), seed=seed) for seed in range(3)],
        settings,
    )
    majority = targets.y.double().mean()
    assert (outputs(trained, inputs).argmax(2) == targets.y).double().mean() > majority + 0.1


def test_node_classes_are_learned_and_used_on_new_graphs():
    config, inputs, targets, graphs = node_task()
    settings = Settings(max_epochs=80, learning_rate=0.02)
    trained = train(
        "node", config | {"hidden": 16}, inputs, targets, [Member(range(40), seed=0)], settings
    )
    assert isinstance(trained.model, NodeModel)
    assert (outputs(trained, inputs)[0].argmax(1) == targets.y).double().mean() > 0.9
    part = graphs.induced(range(10))
    assert outputs(trained, Inputs.of(part)).shape == (1, 10, 3)


def test_several_labels_per_graph_are_learned_despite_missing_ones():
    config, inputs, targets, _ = graph_task(60)
    both = np.stack([targets.y.numpy(), 1 - targets.y.numpy()], axis=1).astype(float)
    both[::3, 0] = both[1::3, 1] = np.nan
    settings = Settings(max_epochs=30, learning_rate=0.01)
    trained = train("graph", config, inputs, Targets.labels(both), [Member(range(60))], settings)
    chosen = outputs(trained, inputs)[0] > 0
    known = ~np.isnan(both)
    assert (chosen.numpy() == both)[known].mean() > 0.8


@pytest.mark.parametrize("kind", ["graph", "node"])
def test_values_are_learned_in_the_users_units(kind):
    config, inputs, _, graphs = graph_task(60) if kind == "graph" else node_task()
    count = graphs.sizes if kind == "graph" else inputs.structure.degree
    y = np.stack([1000 + 5.0 * count.numpy(), np.full(len(count), 7.0)], axis=1)
    y[0, 0] = np.nan
    settings = Settings(max_epochs=60 if kind == "graph" else 200, learning_rate=0.02)
    trained = train(kind, config, inputs, Targets.values(y), [Member(range(len(y)))], settings)
    result = outputs(trained, inputs)[0].numpy()
    assert np.abs(result - y)[1:, 0].mean() < 0.25 * np.nanstd(y[:, 0])
    assert np.abs(result[:, 1] - 7).max() < 0.5
    assert trained.model.output_mean[0, 1] == 7
    assert trained.model.output_std[0, 1] == 1


def test_positions_say_which_nodes_the_targets_belong_to():
    config, inputs, targets, _ = node_task()
    nodes = np.array([30, 4, 17, 9, 22])
    settings = Settings(max_epochs=3, precision="float64")
    some = Targets.classes(targets.y[nodes], 3)
    ours = train(
        "node", config, inputs, some, [Member([0, 1, 2], [3, 4], seed=1)], settings, positions=nodes
    )
    whole = train("node", config, inputs, targets, [Member(nodes[:3], nodes[3:], seed=1)], settings)
    torch.testing.assert_close(weights_of(ours), weights_of(whole), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(
        outputs(ours, inputs, positions=nodes), outputs(whole, inputs)[:, nodes]
    )


@pytest.mark.parametrize("precision", ["bfloat16", "float32", "float64"])
@pytest.mark.parametrize("kind", ["graph", "node"])
def test_every_precision_learns_the_same_to_its_own_exactness(kind, precision):
    config, inputs, targets, _ = graph_task() if kind == "graph" else node_task()
    options = {"batch_norm": True, "hidden": 16}
    losses = {}
    for name in (precision, "float64"):
        settings = Settings(max_epochs=8, learning_rate=0.01, precision=name)
        trained = train(
            kind,
            config | options,
            inputs,
            targets,
            [Member(range(30), range(30, 40))] * 2,
            settings,
        )
        losses[name] = trained.history[-1]["train_loss"][1]
        assert {weight.dtype for weight in trained.model.parameters()} == {settings.dtype}
    tolerance = {"bfloat16": 0.1, "float32": 1e-3, "float64": 0}[precision]
    assert losses[precision] == pytest.approx(losses["float64"], rel=tolerance)


def test_every_step_of_every_epoch_drops_anew(monkeypatch):
    config, inputs, targets, _ = graph_task()
    drawn = []
    keep = Noise.keep
    monkeypatch.setattr(
        Noise,
        "keep",
        lambda self, x, *rest: (
            drawn.append(keep(self, x, *rest)[:, :5].flatten()) or keep(self, x, *rest)
        ),
    )
    train(
        "graph", config | {"dropout": 0.5}, inputs, targets, [Member(range(24), range(30))], SHORT
    )
    assert len(drawn) == 3 * 3 * 2  # epochs, steps and layers; validation drops nothing
    assert len({tuple(mask.tolist()) for mask in drawn}) == len(drawn)


def test_labels_never_trained_on_count_as_unknown():
    data = load_dataset("MUTAG")
    graphs, y = data.graphs, np.asarray(data.targets)
    rare = graphs.node_label.bincount().argmin()
    holding = graphs.graph_of_node[graphs.node_label == rare].unique()
    rest = np.setdiff1d(np.arange(len(graphs)), holding.numpy())
    config = {"node_labels": 7, "edge_labels": 4, "hidden": 6}
    settings = Settings(max_epochs=2, weight_decay=0.1)
    trained = train(
        "graph",
        config,
        Inputs.of(graphs),
        Targets.classes(y, 2),
        [Member(rest), Member(range(188))],
        settings,
    )
    unseen = graphs[holding]
    renamed = [
        "new" if label == graphs.node_vocabulary[rare] else label for label in unseen.node_labels
    ]
    unknown = unseen.with_node_labels(renamed, like=graphs, unknown="map")
    ours, theirs = outputs(trained, Inputs.of(unseen)), outputs(trained, Inputs.of(unknown))
    torch.testing.assert_close(ours[0], theirs[0])
    assert not torch.allclose(ours[1], theirs[1])


def test_training_starts_from_an_initial_model():
    config, inputs, targets, _ = graph_task()
    members = [Member(range(30), range(30, 40), seed=1), Member(range(20), seed=2)]
    for precision in ("float32", "float64"):
        first = train(
            "graph", config, inputs, targets, members, Settings(max_epochs=2, precision=precision)
        )
        still = Settings(max_epochs=1, learning_rate=0.0, precision=precision)
        again = train("graph", config, inputs, targets, members, still, initial=first.model)
        for name, value in first.model.state_dict().items():
            assert torch.equal(again.model.state_dict()[name], value)
    with pytest.raises(
        TrainingError, match=r"the initial model has another shape: .*size mismatch"
    ):
        train("graph", config, inputs, targets, members[:1], SHORT, initial=first.model)


def test_training_leaves_the_initial_model_alone():
    config, inputs, targets, _ = graph_task()
    members = [Member(range(30), seed=1)]
    first = train("graph", config, inputs, targets, members, SHORT)
    before = {name: value.clone() for name, value in first.model.state_dict().items()}
    train("graph", config, inputs, targets, members, SHORT, initial=first.model)
    assert all(torch.equal(value, before[name]) for name, value in first.model.state_dict().items())


def test_on_epoch_ends_training_by_returning_true():
    config, inputs, targets, _ = graph_task()
    trained = train(
        "graph",
        config,
        inputs,
        targets,
        [Member(range(30))],
        SHORT,
        on_epoch=lambda epoch: epoch.number == 2,
    )
    assert len(trained.history) == 2
    twice = train(
        "graph",
        config,
        inputs,
        targets,
        [Member(range(30))],
        Settings(max_epochs=2, learning_rate=0.01),
    )
    assert torch.equal(weights_of(trained), weights_of(twice))


def test_ctrl_c_passes_through_and_what_was_stored_is_enough_to_go_on():
    config, inputs, targets, _ = graph_task()
    stored = {}

    def interrupt(epoch):
        stored.update(epoch.state())
        if epoch.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train("graph", config, inputs, targets, [Member(range(30))], SHORT, on_epoch=interrupt)
    resumed = train("graph", config, inputs, targets, [Member(range(30))], SHORT, resume=stored)
    whole = train("graph", config, inputs, targets, [Member(range(30))], SHORT)
    assert torch.equal(weights_of(resumed), weights_of(whole))


def test_masks_lists_tensors_and_ranges_all_name_items():
    config, inputs, targets, _ = graph_task()
    mask = np.zeros(48, dtype=bool)
    mask[[1, 5, 40]] = True
    forms = [mask, [1, 5, 40], torch.tensor([1, 5, 40]), np.array([1, 5, 40], dtype=np.int32)]
    trained = train(
        "graph", config, inputs, targets, [Member(form, form, seed=1) for form in forms], SHORT
    )
    torch.testing.assert_close(
        *(torch.stack([weights_of(trained, place) for place in pair]) for pair in ((0, 1), (2, 3)))
    )


def test_graphs_without_nodes_or_edges_can_be_trained_on():
    graphs = Graphs.from_edges(
        [(0, 1), (1, 2)], sizes=[3, 0, 1, 0, 2], node_labels="abaabb", edge_labels="xy"
    )
    config = {"node_labels": 2, "edge_labels": 2, "hidden": 4, "batch_norm": True, "dropout": 0.2}
    members = [Member([0, 1, 2], [3], seed=1), Member([1, 3], [1], seed=2), Member([4], seed=3)]
    targets = Targets.classes(np.array([0, 1, 0, 1, 1]), 2)
    for conv, size in itertools.product(LAYERS, (1, 2, None)):
        inputs = Inputs.of(graphs, relations=True)
        trained = train(
            "graph",
            config | {"conv": conv},
            inputs,
            targets,
            members,
            Settings(max_epochs=2, batch_size=size),
        )
        assert outputs(trained, inputs).isfinite().all()


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["graph", "node"])
@pytest.mark.parametrize("conv", ["edgnn", "joint"])
def test_training_on_cuda_repeats_its_bits_and_stays_close_to_the_cpu(kind, conv):
    config, inputs, targets, _ = graph_task(relations=True) if kind == "graph" else node_task()
    config |= {"batch_norm": True, "dropout": 0.2, "conv": conv}
    members = [Member(range(20 + place), range(30, 40), seed=place) for place in range(3)]
    first, second = (
        train(
            kind,
            config,
            inputs,
            targets,
            members,
            Settings(max_epochs=5, device="cuda", patience=3),
        )
        for _ in range(2)
    )
    for name, value in first.model.state_dict().items():
        assert value.device.type == "cuda"
        assert torch.equal(value, second.model.state_dict()[name])
    exact = [
        train(
            kind,
            config,
            inputs,
            targets,
            members,
            Settings(max_epochs=5, precision="float64", device=device),
        )
        for device in ("cuda", "cpu")
    ]
    for place in range(3):
        torch.testing.assert_close(
            weights_of(exact[0], place).cpu(), weights_of(exact[1], place), rtol=1e-8, atol=1e-8
        )


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["graph", "node"])
def test_mixed_precision_on_cuda_learns_what_float32_does(kind):
    config, inputs, targets, _ = graph_task() if kind == "graph" else node_task()
    losses = []
    for precision in ("bfloat16", "float32"):
        settings = Settings(max_epochs=8, learning_rate=0.01, precision=precision, device="cuda")
        trained = train(
            kind,
            config | {"batch_norm": True, "hidden": 16},
            inputs,
            targets,
            [Member(range(30))] * 2,
            settings,
        )
        assert {weight.dtype for weight in trained.model.parameters()} == {torch.float32}
        losses.append(trained.history[-1]["train_loss"][1])
    assert losses[0] == pytest.approx(losses[1], rel=0.1)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["graph", "node"])
@pytest.mark.parametrize(
    "options", [{}, {"batch_norm": True, "dropout": 0.3}, {"conv": "gnn", "input_dropout": 0.2}]
)
def test_recorded_epochs_are_those_of_the_host(kind, options, monkeypatch):
    config, inputs, targets, _ = graph_task() if kind == "graph" else node_task()
    members = [
        Member(range(17 + place), range(30, 40), seed=place, dropout=0.1 * place)
        for place in range(3)
    ]
    settings = Settings(
        max_epochs=12,
        device="cuda",
        patience=3,
        learning_rate=0.02,
        weight_decay=0.01,
        clip_norm=1.0,
    )
    recorded = train(kind, config | options, inputs, targets, members, settings)
    states = []
    train(
        kind,
        config | options,
        inputs,
        targets,
        members,
        settings,
        on_epoch=lambda epoch: states.append(epoch.state()),
    )
    resumed = train(kind, config | options, inputs, targets, members, settings, resume=states[1])
    monkeypatch.setattr(_run, "captured", lambda *_: None)
    plain = train(kind, config | options, inputs, targets, members, settings)
    assert recorded.best_epoch == plain.best_epoch == resumed.best_epoch
    assert len(recorded.history) == len(plain.history)
    for name, value in plain.model.state_dict().items():
        torch.testing.assert_close(recorded.model.state_dict()[name], value, rtol=1e-3, atol=1e-5)
        assert torch.equal(recorded.model.state_dict()[name], resumed.model.state_dict()[name])


@pytest.mark.gpu
def test_recorded_epochs_know_graphs_of_very_different_sizes(monkeypatch):
    sizes = [3] * 39 + [500]
    edges = [
        (start + node, start + node + 1)
        for start, size in zip(np.cumsum([0, *sizes[:-1]]), sizes, strict=True)
        for node in range(size - 1)
    ]
    graphs = Graphs.from_edges(
        edges, sizes=sizes, node_labels=["ab"[node % 2] for node in range(sum(sizes))]
    )
    targets = Targets.classes(np.arange(40) % 2, 2)
    call = (
        "graph",
        {"node_labels": 2, "edge_labels": 1, "hidden": 8},
        Inputs.of(graphs),
        targets,
        [Member(range(40))] * 2,
    )
    recorded = train(*call, Settings(max_epochs=3, device="cuda"))
    monkeypatch.setattr(_run, "captured", lambda *_: None)
    plain = train(*call, Settings(max_epochs=3, device="cuda"))
    for one, other in zip(recorded.history, plain.history, strict=True):
        assert one["train_loss"] == pytest.approx(other["train_loss"], rel=1e-5)


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
    assert (trained.best_epoch, len(trained.history)) == ([1], 3)


def test_without_patience_nothing_stops_and_the_best_epoch_is_kept_all_the_same(monkeypatch):
    scripted(monkeypatch, {0: RISING, 1: LATE})
    trained, seen = run(graph_task(), MEMBERS[:2], max_epochs=8)
    assert (trained.best_epoch, len(trained.history)) == ([1, 5], 8)
    assert all(all(epoch.active) for epoch in seen)


def test_training_ends_when_everyone_stopped(monkeypatch):
    scripted(monkeypatch, {0: RISING, 1: LATE})
    trained, _ = run(graph_task(), MEMBERS[:2], max_epochs=8, patience=2)
    assert (trained.best_epoch, len(trained.history)) == ([1, 2], 4)


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
    shrink = _run.Run._shrink
    monkeypatch.setattr(
        _run.Run,
        "_shrink",
        lambda self, rows, state: (sizes.append(len(rows)), shrink(self, rows, state)),
    )
    shrunk, _ = run(task, MEMBERS, kind, max_epochs=8, patience=3)
    monkeypatch.setattr(_run, "_COMPACT_BELOW", 0)
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
        len(trained.history) == max(trained.best_epoch) + 5 < 60
    )  # labels are noise, so fitting them soon hurts
    assert len(graphs) == len(targets)


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
