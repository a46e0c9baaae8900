from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from edgnn.errors import GraphError, TrainingError
from edgnn.graphs import Graphs, known_labels
from edgnn.io import open_structure, write_structure
from edgnn.models import NodeClassifier
from edgnn.nn import GraphModel, Inputs, LargeInputs, NodeModel, input_options
from edgnn.registry import LAYERS
from edgnn.training import _layerwise as module
from edgnn.training import node_outputs, outputs
from strategies import STRINGS, graphs
from training_reference import graph_task, node_task

ODD = graphs(
    labels=st.just(STRINGS), names=False, min_graphs=1, min_nodes=1, max_nodes=8, max_edges=12
)
FORMS = [
    {},
    {"embedding": 4},
    {"head": "conv", "batch_norm": True, "activation": "tanh"},
    {"layers": 3, "input_dropout": 0.2, "dropout": 0.5, "scaled": True, "edge_embedding": 2},
    {"layers": 1, "head": "conv"},
]


def model_of(collection, conv, members=None, **options):
    widths = {
        f"{what}_features": 0 if features is None else features.shape[1]
        for what, features in (
            ("node", collection.node_features),
            ("edge", collection.edge_features),
        )
    }
    if conv != "edgnn":
        options.pop("edge_embedding", None)
    labels = known_labels(collection.node_vocabulary), known_labels(collection.edge_vocabulary)
    torch.manual_seed(0)
    return NodeModel(*labels, 3, hidden=5, conv=conv, members=members, **widths, **options).double()


def both_inputs(model, collection):
    options = input_options(model.config)
    whole = Inputs.of(collection, dtype=torch.float64, **options)
    return whole, LargeInputs.of(collection, whole.structure, dtype=torch.float64)


@pytest.mark.parametrize("conv", tuple(LAYERS))
@settings(max_examples=30)
@given(
    collection=ODD,
    form=st.sampled_from(FORMS),
    members=st.sampled_from([None, 2]),
    direction=st.sampled_from(["both", "in"]),
    chunk=st.sampled_from([1, 300, 2**26]),
    data=st.data(),
)
def test_layer_by_layer_gives_what_all_at_once_does(
    conv, collection, form, members, direction, chunk, data
):
    model = model_of(collection, conv, members, direction=direction, **form)
    nodes = torch.tensor(
        data.draw(st.lists(st.integers(0, collection.num_nodes - 1))), dtype=torch.int64
    )
    whole, large = both_inputs(model, collection)
    with torch.no_grad(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_LARGEST_CHUNK", chunk)
        expected, states = model.eval()(whole), model.embed(whole)
        for inputs in (whole, large):
            torch.testing.assert_close(
                node_outputs(model, inputs, torch.arange(len(collection.node_label))), expected
            )
            torch.testing.assert_close(node_outputs(model, inputs, nodes), expected[..., nodes, :])
            torch.testing.assert_close(
                node_outputs(model, inputs, nodes, states=True), states[..., nodes, :]
            )


def test_members_are_taken_some_at_a_time_where_memory_is_short(monkeypatch):
    _, inputs, _, collection = node_task()
    model = model_of(collection, "edgnn", 5)
    inputs = inputs.to(dtype=torch.float64)
    whole, sizes, parts = node_outputs(model, inputs, torch.arange(40)), [], module._parts
    monkeypatch.setattr(module, "_LEAST_MEMORY", 1)
    monkeypatch.setattr(
        module, "_parts", lambda model, size: sizes.append(size) or parts(model, size)
    )
    states = 40 * 5 * 8  # of one layer
    torch.testing.assert_close(
        node_outputs(model, inputs, torch.arange(40), memory=2 * states * 8 // 7 + 8), whole
    )
    assert sizes == [2]


def test_states_go_to_files_where_memory_is_too_short_for_one_member(monkeypatch):
    _, inputs, _, collection = node_task()
    model = model_of(collection, "edgnn", layers=4)
    inputs = inputs.to(dtype=torch.float64)
    whole, made, from_file = node_outputs(model, inputs, torch.arange(40)), [], torch.from_file
    monkeypatch.setattr(module, "_LEAST_MEMORY", 1)
    monkeypatch.setattr(
        torch,
        "from_file",
        lambda path, **options: made.append(Path(path)) or from_file(path, **options),
    )
    torch.testing.assert_close(node_outputs(model, inputs, torch.arange(40), memory=1000), whole)
    assert len(made) == 3  # the last layer goes straight into the result
    assert not any(path.parent.exists() for path in made)


def short_of_memory(monkeypatch):
    """Return the outputs of a model whose states go to files, and what it is called with."""
    _, inputs, _, collection = node_task()
    model, inputs = model_of(collection, "edgnn", layers=5), inputs.to(dtype=torch.float64)
    whole = node_outputs(model, inputs, torch.arange(40))
    monkeypatch.setattr(module, "_LEAST_MEMORY", 1000)
    return whole, (model, inputs, torch.arange(40))


@pytest.mark.parametrize("reserved_by", ["the system", "writing"])
def test_files_have_their_room_before_they_are_mapped(monkeypatch, reserved_by):
    whole, call = short_of_memory(monkeypatch)
    if reserved_by == "writing":
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    sizes, together, from_file = [], [], torch.from_file

    def mapped(path, **options):
        sizes.append(Path(path).stat())
        together.append(len(list(Path(path).parent.iterdir())))
        return from_file(path, **options)

    monkeypatch.setattr(torch, "from_file", mapped)
    torch.testing.assert_close(node_outputs(*call, memory=1000), whole)
    assert [size.st_size for size in sizes] == [40 * 5 * 8] * 4
    assert all(size.st_blocks * 512 >= size.st_size for size in sizes)
    assert together == [1, 2, 2, 2]


def test_a_full_disk_is_told_and_nothing_is_left_on_it(monkeypatch, tmp_path):
    _, call = short_of_memory(monkeypatch)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    text = rf"take 3,200 bytes, but {tmp_path} has no such room \(No space left on device\): name a folder .* TMPDIR, or give more"
    with pytest.raises(TrainingError, match=text):
        node_outputs(*call, memory=1000)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("layers", [1, 2, 4])
def test_every_state_is_computed_once_and_only_if_needed(monkeypatch, layers):
    path = Graphs.from_edges([(node, node + 1) for node in range(19)], num_nodes=20)
    model, rows = model_of(path, "edgnn", layers=layers), []
    monkeypatch.setattr(module, "_LARGEST_CHUNK", 1)
    for conv in model.convs:
        conv.register_forward_hook(lambda conv, given, result: rows.append((conv, len(result))))
    inputs = Inputs.of(path, dtype=torch.float64)
    node_outputs(model, inputs, torch.tensor([10]))
    counts = [sum(count for conv, count in rows if conv is layer) for layer in model.convs]
    assert counts == [2 * (layers - number) - 1 for number in range(layers)]


def test_outputs_go_layer_by_layer_where_states_are_many(monkeypatch):
    _, inputs, _, collection = node_task()
    model = model_of(collection, "edgnn", 3).float()
    calls, once = [], node_outputs
    monkeypatch.setattr(
        "edgnn.training._outputs.node_outputs", lambda *a, **k: calls.append(k) or once(*a, **k)
    )
    whole = outputs(model, inputs)
    assert not calls
    torch.testing.assert_close(
        outputs(model, inputs, positions=[3, 1], memory=2**20), whole[:, [3, 1]]
    )
    assert calls == [{"memory": 2**20}]
    monkeypatch.setattr(module, "_LEAST_MEMORY", 1)
    states = 3 * 3 * 40 * 5 * 4
    with module.states_within(states):
        assert torch.equal(outputs(model, inputs), whole)
    assert len(calls) == 1
    with module.states_within(states - 1):
        torch.testing.assert_close(outputs(model, inputs), whole)
    assert len(calls) == 2


def test_large_inputs_are_for_nodes():
    _, _, _, collection = graph_task(4)
    with pytest.raises(TrainingError, match="LargeInputs are for models of nodes"):
        outputs(GraphModel(7, 4, 2), LargeInputs.of(collection))


def test_the_models_mode_comes_back_and_nothing_is_dropped():
    _, inputs, _, collection = node_task()
    model = model_of(collection, "edgnn", dropout=0.9).train()
    inputs = inputs.to(dtype=torch.float64)
    first, second = (node_outputs(model, inputs, torch.arange(40)) for _ in range(2))
    assert torch.equal(first, second)
    assert model.training
    assert not first.requires_grad


def test_too_little_memory_is_told():
    _, inputs, _, collection = node_task()
    with pytest.raises(TrainingError, match=r"memory=10: at least 1,048,576 bytes are needed"):
        outputs(model_of(collection, "edgnn"), inputs, memory=10)
    for memory in ("x", 2.5e6, float("nan")):
        with pytest.raises(TrainingError, match=rf"memory={memory!r}: .* a whole number of them"):
            outputs(model_of(collection, "edgnn"), inputs, memory=memory)


@pytest.mark.parametrize("conv", ["joint", "rgcn", "gine"])
def test_lists_that_a_file_does_not_hold_are_told(conv, tmp_path):
    collection = node_task()[3]
    write_structure(collection, tmp_path / "structure")
    inputs = LargeInputs.of(collection, open_structure(tmp_path / "structure"))
    with pytest.raises(
        GraphError, match=r"build it in memory with relations=.* \(files hold neighbors only\)"
    ):
        outputs(model_of(collection, conv), inputs)


def test_estimators_predict_large_graphs_layer_by_layer(monkeypatch):
    graphs_, y = node_task()[3], np.arange(40) % 2
    model = NodeClassifier(max_epochs=2, random_state=0).fit(graphs_.nodes, y)
    expected = model.predict_proba(graphs_.nodes)
    monkeypatch.setattr(module, "_MEMORY", 2**20)
    monkeypatch.setattr("edgnn.training._outputs.default_memory", lambda device: 0)
    np.testing.assert_allclose(model.predict_proba(graphs_.nodes), expected, atol=1e-6)


PEAK = """
import ctypes
import numpy as np, torch
from edgnn.graphs import Graphs
from edgnn.nn import LargeInputs, NodeModel
from edgnn.training import outputs

def status(name):
    with open("/proc/self/status") as stream:
        return next(int(line.split()[1]) * 1024 for line in stream if line.startswith(name))

random = np.random.default_rng(0)
nodes, edges = 600_000, 1_800_000
graphs = Graphs.from_edges(random.integers(0, nodes, (edges, 2)), num_nodes=nodes, edge_labels=random.integers(0, 4, edges))
inputs = LargeInputs.of(graphs)
for layers in (2, 4):
    model = NodeModel(1, 4, 2, hidden=64, layers=layers)
    outputs(model, inputs, positions=[0])
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as stream:
        stream.write("5")
    before = status("VmRSS")
    outputs(model, inputs, memory=2**28)
    print(status("VmHWM") - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(),
    reason="only Linux tells the largest memory of a part of a program",
)
def test_the_peak_is_what_the_formula_says(run_python):
    peaks = run_python(PEAK, OMP_NUM_THREADS="1").split()
    states, chunk, nodes, counted_late = 600_000 * 64 * 4, 2**25, 600_000, 2**25
    # besides: the result, and a few numbers per node (which rows, what each costs)
    besides = chunk + nodes * 2 * 4 + nodes * 8 * 6 + counted_late
    for tables, peak in zip((1, 2), map(int, peaks), strict=True):
        assert tables * states * 0.8 < peak < tables * states + besides


def test_states_of_large_graphs_keep_to_their_ceiling():
    cpu = torch.device("cpu")
    assert module.default_memory(cpu) == 2**30
    with module.states_within(2**22):
        assert module.default_memory(cpu) == 2**22
        with module.states_within(2**40):
            assert module.default_memory(cpu) == 2**22
        with module.states_within(1):
            assert module.default_memory(cpu) == 2**20
    assert module.default_memory(cpu) == 2**30
