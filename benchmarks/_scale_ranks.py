"""Exact training over two processes: seconds and bytes exchanged per epoch, beside one process, and what a formula says."""

from __future__ import annotations

import json
import sys
from statistics import median
from typing import Any

import torch

from benchmarks._extra_memory import most_held, return_memory_at_once
from benchmarks._formulations import Size
from benchmarks._harness import Memory, Row, measure_alone, printed_by
from benchmarks._scale_epochs import LAYERS, classes, model_config
from benchmarks._shard_cost import shard_costs
from benchmarks._wl import random_digraph
from edgnn.nn import Inputs
from edgnn.training import Group, Member, Settings, Targets, new_fleet, train

RANKS = 2
_ALONE = """
import json, sys
from benchmarks._formulations import Size
from benchmarks._scale_ranks import costs
from edgnn.training import launched
with launched() as group:
    found = costs(Size(*map(int, sys.argv[2:6])), int(sys.argv[1]), group)
    if group is None or group.first:
        print(json.dumps(found))
"""


def ranks_row(size: Size, epochs: int) -> Row:
    """Train in one process, with all threads, and in two, with their share of them.

    Memory is what a step holds beside the graph, of the two ranks the one that holds more. Bytes
    are those that all ranks send.
    """
    numbers = [str(number) for number in (epochs, size.nodes, size.edges, size.labels, size.width)]
    alone = measure_alone(_ALONE, *numbers)
    launch = [
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        str(RANKS),
        "--no-python",
        sys.executable,
    ]
    together = printed_by([sys.executable, *launch, "-c", _ALONE, *numbers])
    difference = max(
        abs(one - two) for one, two in zip(alone["losses"], together["losses"], strict=True)
    )
    used = Memory(together["states"], alone["states"]) if together["states"] is not None else None
    return Row(
        f"training epoch of the whole graph, {size}",
        together["seconds"],
        "one process",
        alone["seconds"],
        ours=f"{RANKS} processes (gloo), exact",
        memory=used,
        extra={
            "bytes_exchanged": together["exchanged"],
            "bytes_predicted": together["predicted"],
            "largest_loss_difference": float(f"{difference:.2g}"),
        },
    )


def costs(size: Size, epochs: int, group: Group | None) -> dict[str, Any]:
    """Return losses, seconds per epoch and bytes; the same on every rank."""
    return_memory_at_once()
    inputs = Inputs.of(random_digraph(size.nodes, size.edges, labels=size.labels))
    config, targets, settings = (
        model_config(size, LAYERS),
        classes(size.nodes),
        Settings(max_epochs=epochs, batch_size=None),
    )
    members = [Member(torch.arange(size.nodes))]
    trained = train("node", config, inputs, targets, members, settings, group=group)
    found: dict[str, Any] = {
        "seconds": median(epoch["seconds"] for epoch in trained.history[1:]),
        "losses": [epoch["train_loss"][0] for epoch in trained.history],
    }
    if group is None:
        return found | {"states": _held_by_step(config, inputs, targets, members[0], settings)}
    own = shard_costs(config, inputs, targets, members, settings, group)
    ranks = [
        json.loads(text)
        for text in group.texts(json.dumps({"predicted": own.predicted, "measured": own.measured}))
    ]
    states = [rank["measured"]["states"] for rank in ranks]
    return found | {
        "states": None if None in states else max(states),
        "exchanged": sum(
            rank["measured"]["states_sent"] + rank["measured"]["summed"] for rank in ranks
        ),
        "predicted": sum(
            rank["predicted"]["states_sent"] + rank["predicted"]["summed"] for rank in ranks
        ),
    }


def _held_by_step(
    config: dict[str, Any], inputs: Inputs, targets: Targets, member: Member, settings: Settings
) -> int:
    """Return the most that the second epoch of one process holds."""
    fleet = new_fleet("node", config, inputs, targets, [member], settings)
    fleet.epoch(1)
    held, _ = most_held(lambda: fleet.epoch(2))
    return held
