from __future__ import annotations

import os
import threading
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from edgnn.errors import EdgnnError, TrainingError
from edgnn.graphs import Graphs, Nodes
from edgnn.io import open_structure, read_arrays, write_arrays, write_structure
from edgnn.models import NodeClassifier, NodeRegressor
from edgnn.nn import Inputs, LargeInputs, NodeModel, Noise, input_options
from edgnn.registry import LAYERS
from edgnn.training import Member, Settings, Targets, outputs, train
from edgnn.training import _sampled as module
from training_reference import node_task, weights_of

FEW = Settings(max_epochs=3, batch_size=8, learning_rate=0.01, precision="float64", fanout=2)
MEMBERS = [
    Member(range(22), range(30, 40), seed=3, dropout=0.2),
    Member(range(5, 30), range(5), seed=4, learning_rate=0.003),
    Member(range(10, 13), None, seed=3, weight_decay=0.1, dropout=0.6),
]


def task_of(conv="edgnn", **options):
    config, _, targets, graphs = node_task()
    config = config | {"conv": conv, "dropout": 0.3} | options
    return config, Inputs.of(graphs, **input_options({"direction": "both", **config})), targets


def same_run(ours, theirs, tolerance=0.0):
    for name, value in theirs.model.state_dict().items():
        torch.testing.assert_close(
            ours.model.state_dict()[name], value, rtol=tolerance, atol=tolerance
        )
    for one, other in zip(ours.history, theirs.history, strict=True):
        for name in ("train_loss", "valid_loss"):
            np.testing.assert_allclose(one[name], other[name], rtol=max(tolerance, 1e-15))


@pytest.mark.parametrize("conv", tuple(LAYERS))
@pytest.mark.parametrize(
    "options",
    [{}, {"layers": 3, "input_dropout": 0.2}, {"embedding": 3, "head": "conv"}, {"layers": 1}],
)
def test_a_batch_of_all_items_with_all_neighbors_is_a_step_over_the_whole_graph(conv, options):
    config, inputs, targets = task_of(conv, **options)
    whole = train(
        "node", config, inputs, targets, MEMBERS[:2], replace(FEW, batch_size=None, fanout=None)
    )
    for fanout in (None, 1000):
        batches = train(
            "node", config, inputs, targets, MEMBERS[:2], replace(FEW, batch_size=40, fanout=fanout)
        )
        same_run(batches, whole, 1e-9)


def test_the_first_layer_is_exact_whatever_the_fanout():
    config, inputs, targets = task_of(layers=1)
    exact, few = (
        train("node", config, inputs, targets, MEMBERS[:2], replace(FEW, fanout=fanout))
        for fanout in (None, ())
    )
    same_run(few, exact)


@pytest.mark.parametrize("conv", tuple(LAYERS))
def test_large_inputs_give_the_same_numbers(conv):
    config, _, targets, graphs = node_task()
    config |= {"conv": conv, "embedding": 3, "dropout": 0.3}
    options = input_options({"direction": "both", **config})
    counted = train("node", config, Inputs.of(graphs, **options), targets, MEMBERS, FEW)
    del options["cells"]
    same_run(
        train("node", config, LargeInputs.of(graphs, **options), targets, MEMBERS, FEW),
        counted,
        1e-12,
    )


@pytest.mark.parametrize("relations", [True, "targets", "sources"])
def test_lists_that_a_layer_does_not_read_change_nothing(relations):
    config, _, targets, graphs = node_task()
    expected = train("node", config, LargeInputs.of(graphs), targets, MEMBERS, FEW)
    inputs = LargeInputs.of(graphs, relations=relations)
    same_run(train("node", config, inputs, targets, MEMBERS, FEW), expected)
    torch.testing.assert_close(outputs(expected, inputs), outputs(expected, LargeInputs.of(graphs)))


@pytest.mark.parametrize("options", [{}, {"batch_norm": True}, {"head": "conv", "layers": 3}])
def test_a_member_equals_itself_alone(options):
    config, inputs, targets = task_of(**options)
    fleet = train("node", config, inputs, targets, MEMBERS, FEW)
    for place, member in enumerate(MEMBERS):
        alone = train("node", config, inputs, targets, [member], FEW)
        torch.testing.assert_close(
            weights_of(fleet, place), weights_of(alone), rtol=1e-9, atol=1e-9
        )
        assert fleet.best_epoch[place] == alone.best_epoch[0]


def test_members_of_one_seed_draw_alike_and_others_do_not():
    config, inputs, targets = task_of()
    pair = [Member(range(22), seed=3), Member(range(22), seed=3), Member(range(22), seed=4)]
    fleet = train("node", config, inputs, targets, pair, FEW)
    assert torch.equal(weights_of(fleet, 0), weights_of(fleet, 1))
    assert not torch.equal(weights_of(fleet, 0), weights_of(fleet, 2))


def test_a_smaller_fanout_changes_steps_but_not_what_is_judged():
    config, inputs, targets = task_of()
    still = replace(FEW, max_epochs=1, learning_rate=0.0)
    losses = [
        train("node", config, inputs, targets, MEMBERS[:1], replace(still, fanout=k)).history[0]
        for k in (1, None)
    ]
    assert losses[0]["valid_loss"] == losses[1]["valid_loss"]
    assert losses[0]["train_loss"] != losses[1]["train_loss"]


def test_resuming_after_any_epoch_ends_at_the_same_bits():
    config, inputs, targets = task_of(batch_norm=True)
    settings, states = replace(FEW, max_epochs=4, patience=2), []
    whole = train(
        "node",
        config,
        inputs,
        targets,
        MEMBERS,
        settings,
        on_epoch=lambda e: states.append(save(e.state())) and None,
    )
    for state in states:
        resumed = train("node", config, inputs, targets, MEMBERS, settings, resume=load(state))
        same_run(resumed, whole)


@pytest.fixture
def in_a_thread(monkeypatch):
    monkeypatch.setattr(module, "_core_to_spare", lambda device: True)


def test_preparing_ahead_changes_nothing(monkeypatch):
    config, inputs, targets = task_of(batch_norm=True)
    runs, threads, prepare = [], [], module.SampledTask.prepare
    for ahead in (False, True):
        threads.append(set())
        monkeypatch.setattr(module, "_core_to_spare", lambda device, ahead=ahead: ahead)
        monkeypatch.setattr(
            module.SampledTask,
            "prepare",
            lambda *a, to=threads[-1]: to.add(threading.current_thread()) or prepare(*a),
        )
        runs.append(train("node", config, inputs, targets, MEMBERS, FEW))
    same_run(*runs)
    assert threads[0] == {threading.main_thread()}
    assert threading.main_thread() not in threads[1]


def test_a_thread_is_used_where_a_core_is_free(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(2), raising=False)
    cpu = torch.device("cpu")
    for threads, expected in ((2, False), (1, True)):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        assert module._core_to_spare(cpu) is expected
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8))
    assert module._core_to_spare(cpu)
    assert module._core_to_spare(torch.device("cuda"))


@pytest.mark.usefixtures("in_a_thread")
def test_steps_are_prepared_in_a_thread_that_ends_with_the_epoch(monkeypatch):
    threads, prepare = set(), module.SampledTask.prepare
    monkeypatch.setattr(
        module.SampledTask,
        "prepare",
        lambda *a: threads.add(threading.current_thread()) or prepare(*a),
    )
    config, inputs, targets = task_of()
    train("node", config, inputs, targets, MEMBERS, FEW)
    assert len(threads) == FEW.max_epochs
    assert threading.main_thread() not in threads
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.usefixtures("in_a_thread")
@pytest.mark.parametrize("members", [1, 7])
def test_as_much_is_prepared_ahead_for_many_members_as_for_one(monkeypatch, members):
    config, inputs, targets = task_of()
    ahead, prepared, batch, prepare = [], [], module.SampledTask._batch, module.SampledTask.prepare

    def taken(task, *arguments):
        found = batch(task, *arguments)
        ahead.append(len(task._ready))
        return found

    monkeypatch.setattr(module.SampledTask, "_batch", taken)
    monkeypatch.setattr(
        module.SampledTask,
        "prepare",
        lambda *a: prepared.append(threading.current_thread()) or prepare(*a),
    )
    train(
        "node",
        config,
        inputs,
        targets,
        [Member(range(24), seed=n) for n in range(members)],
        replace(FEW, max_epochs=1),
    )
    assert ahead == [2] * (3 * members - 2) + [1, 0]
    assert len(prepared) == 3 * members
    assert threading.main_thread() not in prepared


@pytest.mark.usefixtures("in_a_thread")
@pytest.mark.parametrize("error", [TrainingError("lost"), KeyboardInterrupt()])
def test_an_error_in_the_thread_is_the_one_that_is_raised(monkeypatch, error):
    calls, prepare = [], module.SampledTask.prepare

    def fails(*arguments):
        calls.append(1)
        if len(calls) == 4:
            raise error
        return prepare(*arguments)

    monkeypatch.setattr(module.SampledTask, "prepare", fails)
    config, inputs, targets = task_of()
    with pytest.raises(type(error)):
        train("node", config, inputs, targets, MEMBERS[:1], FEW)
    assert not [
        thread for thread in threading.enumerate() if thread.name.startswith("edgnn-sampling")
    ]


@pytest.mark.usefixtures("in_a_thread")
def test_an_interruption_of_the_step_leaves_no_thread(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(NodeModel, "forward", interrupted)
    config, inputs, targets = task_of()
    with pytest.raises(KeyboardInterrupt):
        train("node", config, inputs, targets, MEMBERS[:1], FEW)
    assert not [
        thread for thread in threading.enumerate() if thread.name.startswith("edgnn-sampling")
    ]


def test_a_member_without_items_in_a_step_is_left_as_it_is():
    config, inputs, _ = task_of(batch_norm=True)
    model, task = (
        NodeModel(**config, outputs=3, members=1),
        module.SampledTask(inputs, torch.arange(40), 2),
    )
    before = {name: value.clone() for name, value in model.state_dict().items()}
    outputs = task.outputs(model.train(), torch.tensor([[-1, -1]]), Noise(torch.tensor([1]), 2, 3))
    assert outputs.shape == (1, 2, 3)
    outputs.sum().backward()
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])


def test_items_may_name_a_node_several_times_and_be_missing():
    config, inputs, _ = task_of()
    model = NodeModel(**config, outputs=3, members=1)
    task = module.SampledTask(inputs, torch.tensor([7, 7, 3]))
    outputs = task.outputs(model, torch.tensor([[2, 0, -1, 1]]), Noise(torch.tensor([1]), 2, 3))
    assert torch.equal(outputs[0, 1], outputs[0, 3])
    expected = model(inputs, Noise(torch.tensor([1]), 2, 3))[0, [3, 7]]
    torch.testing.assert_close(outputs[0, :2], expected)


@pytest.mark.parametrize("conv", tuple(LAYERS))
def test_what_an_item_gives_does_not_depend_on_the_rest_of_its_batch(conv):
    config, inputs, _ = task_of(conv, layers=3)
    model, task = (
        NodeModel(**config, outputs=3, members=1).double(),
        module.SampledTask(inputs.to(dtype=torch.float64), torch.arange(40), 2),
    )
    together = task.outputs(model, torch.arange(12)[None], Noise(torch.tensor([1]), 2, 3))
    for part in (slice(0, None, 2), slice(1, None, 2), slice(7, 8)):
        apart = task.outputs(model, torch.arange(12)[None, part], Noise(torch.tensor([1]), 2, 3))
        torch.testing.assert_close(apart, together[:, part])


def two_hop_task(nodes=400, seed=0):
    """Return nodes whose class is the majority label of their neighbors' incoming edges: one layer is not enough."""
    random = np.random.default_rng(seed)
    ends, kinds = random.integers(0, nodes, (6 * nodes, 2)), random.integers(0, 2, 6 * nodes)
    graphs = Graphs.from_edges(ends, num_nodes=nodes, edge_labels=kinds)
    entering = np.zeros((nodes, 2))
    np.add.at(entering, (ends[:, 1], kinds), 1)
    around = np.zeros((nodes, 2))
    for source, target in {(min(pair), max(pair)) for pair in ends.tolist()}:
        around[source] += entering[target]
        around[target] += entering[source] * (source != target)
    return graphs, (around[:, 1] > around[:, 0]).astype(int)


@pytest.mark.parametrize("fanout", [None, 5])
def test_a_task_is_learned_from_batches(fanout):
    graphs, y = two_hop_task()
    nodes = graphs.nodes
    options = {
        "hidden": 16,
        "dropout": 0.0,
        "max_epochs": 25,
        "degree_labels": None,
        "random_state": 0,
    }
    model = NodeClassifier(batch_size=50, fanout=fanout, learning_rate=0.01, **options).fit(
        nodes[:300], y[:300]
    )
    assert model.score(nodes[300:], y[300:]) > 0.75  # the larger class has 0.66


def test_estimators_pass_the_fanout_on_and_keep_it(tmp_path):
    graphs, y = two_hop_task(60)
    model = NodeClassifier(batch_size=16, fanout=(3,), max_epochs=2, random_state=1).fit(
        graphs.nodes, y
    )
    listed = NodeClassifier(batch_size=16, fanout=[3], max_epochs=2, random_state=1).fit(
        graphs.nodes, y
    )
    assert np.array_equal(listed.predict_proba(graphs.nodes), model.predict_proba(graphs.nodes))
    model.save(tmp_path / "run")
    again = NodeClassifier.load(tmp_path / "run")
    assert again.fanout == (3,)
    assert np.array_equal(again.predict_proba(graphs.nodes), model.predict_proba(graphs.nodes))


def test_a_large_graph_is_not_counted_as_a_whole(monkeypatch):

    graphs, y = two_hop_task(60)
    options = {"batch_size": 16, "fanout": 3, "max_epochs": 3, "random_state": 1}
    counted = NodeClassifier(**options).fit(graphs.nodes, y)
    monkeypatch.setattr("edgnn.models.networks._fleet._LARGE", 0)
    monkeypatch.setattr(
        "edgnn.models.networks._fleet.Inputs.of",
        lambda *_, **__: pytest.fail("all nodes were counted"),
    )
    large = NodeClassifier(**options).fit(graphs.nodes, y)
    np.testing.assert_allclose(
        large.predict_proba(graphs.nodes), counted.predict_proba(graphs.nodes), atol=1e-6
    )
    np.testing.assert_allclose(
        large.embed(graphs.nodes[:7]), counted.embed(graphs.nodes)[:7], atol=1e-6
    )


def test_regression_over_batches_counts_missing_values_for_nothing():
    graphs, _ = two_hop_task(80)
    y = np.stack([np.arange(80) % 7 * 1.0, np.full(80, np.nan)], axis=1)
    y[5:, 1] = 3.0
    model = NodeRegressor(batch_size=20, fanout=4, max_epochs=5, random_state=0).fit(
        graphs.nodes, y
    )
    assert np.isfinite(model.predict(graphs.nodes)).all()


def test_a_graph_mapped_from_files_is_trained_on_as_one_in_memory(tmp_path):
    config, _, targets, graphs = node_task()
    write_arrays(graphs, tmp_path / "graph")
    mapped = read_arrays(tmp_path / "graph").graphs
    write_structure(mapped, tmp_path / "structure")
    large = LargeInputs.of(mapped, open_structure(tmp_path / "structure"))
    found = train("node", config, large, targets, MEMBERS, FEW)
    same_run(found, train("node", config, LargeInputs.of(graphs), targets, MEMBERS, FEW))
    assert torch.equal(outputs(found, large), outputs(found, LargeInputs.of(graphs)))


@pytest.mark.parametrize(
    ("settings", "options", "text"),
    [
        (
            {"fanout": (2, 2)},
            {},
            r"fanout=\(2, 2\) has 2 numbers, but 1 of the model's 2 layers read neighbors",
        ),
        (
            {"fanout": (2, 2)},
            {},
            r"read neighbors \(the first layer's sums are exact, so it takes none\): give as many",
        ),
        (
            {"fanout": (2,)},
            {"embedding": 3},
            r"has 1 numbers, but 2 of the model's 2 layers read neighbors: give as many",
        ),
        (
            {"fanout": (2,)},
            {"layers": 1},
            r"but 0 of the model's 1 layers read neighbors .*: leave fanout out",
        ),
        ({"batch_size": None}, {}, "fanout=2 is for node tasks in batches: set batch_size"),
    ],
)
def test_a_fanout_that_does_not_fit_is_told(settings, options, text):
    config, inputs, targets = task_of(**options)
    with pytest.raises(TrainingError, match=text):
        train("node", config, inputs, targets, MEMBERS, replace(FEW, **settings))


@pytest.mark.parametrize("conv", ["joint", "rgcn"])
def test_that_large_inputs_take_a_number_more_per_relation_is_told(conv):
    config, _, targets, graphs = node_task()
    config |= {"conv": conv}
    counted, large = (kind.of(graphs, relations="targets") for kind in (Inputs, LargeInputs))
    train("node", config, counted, targets, MEMBERS, replace(FEW, max_epochs=1, fanout=(2,)))
    with pytest.raises(
        TrainingError, match=r"but 2 of .* \(of LargeInputs, .*, the first layer reads them too\)"
    ):
        train("node", config, large, targets, MEMBERS, replace(FEW, max_epochs=1, fanout=(2,)))
    for inputs in (counted, large):
        train("node", config, inputs, targets, MEMBERS, replace(FEW, max_epochs=1, fanout=2))


@pytest.mark.parametrize("conv", ["joint", "gine"])
def test_lists_that_a_layer_lacks_are_told(conv):
    config, _, targets, graphs = node_task()
    with pytest.raises(
        EdgnnError,
        match=r"does not list edges by label and direction.*choose conv='edgnn' or 'gnn'",
    ):
        train("node", config | {"conv": conv}, LargeInputs.of(graphs), targets, MEMBERS, FEW)


def test_large_inputs_need_batches():
    config, _, targets, graphs = node_task()
    with pytest.raises(TrainingError, match="LargeInputs are for node tasks in batches"):
        train("node", config, LargeInputs.of(graphs), targets, MEMBERS, Settings(max_epochs=1))


@pytest.mark.parametrize("fanout", [0, (3, 0), (2, -1)])
def test_a_fanout_below_one_is_refused(fanout):
    with pytest.raises(TrainingError, match="choose a whole number, 1 or more"):
        Settings(fanout=fanout)
    graphs, y = two_hop_task(20)
    with pytest.raises(EdgnnError, match="fanout="):
        NodeClassifier(batch_size=4, fanout=fanout).fit(graphs.nodes, y)


def test_by_default_graphs_come_in_eights_and_nodes_all_at_once():
    assert Settings().of("graph").batch_size == 8
    assert Settings().of("node").batch_size is None
    assert Settings(batch_size=5).of("node").batch_size == 5


def test_targets_of_chosen_nodes_are_learned_with_the_rest_in_reach():
    config, inputs, targets, graphs = node_task()
    chosen = Nodes(graphs, [30, 3, 17, 25, 9, 12])
    some = Targets.classes(targets.y[chosen.index], 3)
    settings = replace(FEW, fanout=None, batch_size=6)
    sampled = train(
        "node", config, inputs, some, [Member(range(6), seed=1)], settings, positions=chosen.index
    )
    whole = replace(settings, batch_size=None)
    same_run(
        sampled,
        train(
            "node", config, inputs, some, [Member(range(6), seed=1)], whole, positions=chosen.index
        ),
        1e-9,
    )


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("conv", tuple(LAYERS))
@pytest.mark.parametrize("large", [False, True])
def test_on_cuda_the_same_neighbors_are_drawn(conv, large):
    config, _, targets, graphs = node_task()
    config |= {"conv": conv, "dropout": 0.3}
    options = input_options({"direction": "both", **config})
    if large:
        del options["cells"]
    inputs = (LargeInputs if large else Inputs).of(graphs, **options)
    here, there = (
        train(
            "node",
            config,
            inputs,
            targets,
            MEMBERS,
            replace(FEW, precision="float32", device=device),
        )
        for device in ("cpu", "cuda")
    )
    for name, value in here.model.state_dict().items():
        torch.testing.assert_close(
            there.model.state_dict()[name].cpu(), value, rtol=1e-3, atol=1e-3
        )
    torch.testing.assert_close(
        outputs(there, inputs).cpu(), outputs(here, inputs), rtol=1e-2, atol=1e-2
    )
