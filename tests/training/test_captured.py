import pytest

pytest.importorskip("triton")

# What is recorded as a CUDA graph must not wait for the device. Here recordings are run on the CPU, with the kernels in Triton's
# interpreter, and every operation that would wait is told.
CHECK = """
import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from edgnn.graphs import Graphs
from edgnn.nn import GraphModel, Inputs, NodeModel
from edgnn.nn import input_options
from edgnn.nn.ops import _layer, _row_sum
from edgnn.training import Member, Settings, Targets, _captured, _run, train

WAITING = ("_local_scalar_dense", "nonzero", "masked_select", "unique", "bincount", "aten.equal")


class Watch(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        options, name = options or {}, str(function)
        waits = any(word in name for word in WAITING)
        waits |= "repeat_interleave.Tensor" in name and options.get("output_size") is None
        if name.startswith(("aten.index.", "aten.index_put", "aten._index_put")):
            waits |= any(part is not None and part.dtype == torch.bool for part in arguments[1])
        assert not waits, f"{name} waits for the device"
        return function(*arguments, **options)


class Again:
    def __init__(self, work):
        self.replay = work


def record(self, work):
    own = (self.epoch_number, self.step_number, self.total, self.found)
    judged = (self.judge.best, self.judge.best_loss, self.judge.best_epoch, self.judge.stopped)
    before = [part.clone() for part in (*own, *judged)]
    state = {name: part.clone() for name, part in self.fleet.state().items()}
    work()
    with Watch():
        work()
    for part, old in zip((*own, *judged), before, strict=True):
        part.copy_(old)
    self.fleet.load(state)
    return Again(work)


def recorded(fleet, judge):
    kind = _captured.CapturedNodes if not fleet.task.in_batches else _captured.CapturedGraphs
    return kind(fleet, judge)


_captured.Captured._record = record
generator = torch.Generator().manual_seed(0)


def data(labels, features):
    ends = torch.cat([torch.randint(0, 6, (10, 2), generator=generator) + 6 * graph for graph in range(6)])
    return Graphs.from_edges(
        ends, sizes=[6] * 6, node_labels=[str(node % labels) for node in range(36)], edge_labels=list("abc" * 20),
        node_features=torch.randn(36, features, generator=generator) if features else None,
    )


def check(kind, labels=3, features=0, members=2, least=10**9, values=False, batch_size=2, **config):
    graphs = data(labels, features)
    items = 6 if kind == "graph" else 36
    config = {"node_labels": labels, "edge_labels": 3, "node_features": features, "hidden": 4, **config}
    probe = (GraphModel if kind == "graph" else NodeModel)(**config, outputs=2)
    inputs = Inputs.of(graphs, **input_options(probe.config))
    numbers = np.arange(items)
    targets = Targets.values(numbers / 7.0) if values else Targets.classes(numbers % 2, 2)
    fleet = [Member(numbers[: -2 - seed], numbers[-2:] if seed else None, seed) for seed in range(members)]
    settings = Settings(max_epochs=2, batch_size=batch_size if kind == "graph" else None, patience=5, clip_norm=1.0)
    found = []
    for captured in (recorded, lambda *_: None):
        _layer._LEAST_ROWS, _layer._NARROWEST = least, 0
        _row_sum._on_device = _layer._on_device = lambda device, there=captured is recorded: there
        _run.captured = captured
        found.append(train(kind, config, inputs, targets, fleet, settings))
    for one, other in zip(*(trained.model.state_dict().values() for trained in found), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


check("graph", batch_norm=True, dropout=0.3)
check("graph", readout="max", batch_size=50)
check("graph", members=1, least=1, values=True)
check("graph", features=2, input_dropout=0.2, readout="mean", direction="in", bias=True)
check("node", dropout=0.3, members=1, least=1, layers=3)
check("node", labels=36, conv="rgcn", batch_norm=True)
check("node", labels=5, features=2, conv="edgnn", input_dropout=0.2, values=True)
import edgnn.nn._inputs as inputs_module
inputs_module.DENSE_LABELS = 2
check("node", labels=5, features=1, conv="joint", input_dropout=0.2)
check("node", labels=5, conv="edgnn", dropout=0.2)
print("equal")
"""


def test_recorded_steps_never_wait_for_the_device_and_give_what_the_host_gives(run_python):
    assert run_python(CHECK, TRITON_INTERPRET="1").strip() == "equal"
