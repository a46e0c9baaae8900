"""What ranks are checked for beyond their losses. As a program, started by torchrun: run all checks, and write what they found."""

from __future__ import annotations

import ctypes
import json
import os
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import distributed as dist

from benchmarks._shard_cost import shard_costs
from edgnn.errors import TrainingError
from edgnn.io import open_structure, read, write, write_structure
from edgnn.nn import Inputs, LargeInputs
from edgnn.training import Group, Member, Settings, Targets, launched, outputs, shared_state, train
from rank_cases import EDGES, NODES, digest, graph_case, losses, node_case, random_graphs


def ends(group):
    """Rank 0 ends the training after epoch 3; the others would end it after the first."""
    trained = train(
        *node_case(), group=group, on_epoch=lambda epoch: epoch.number == 3 or not group.first
    )
    return [int(said) for said in group.texts(str(len(trained.history)))]


def failing_hook(group):
    """Rank 0's hook fails: every rank ends, rank 0 with the error itself."""

    def fail(epoch):
        if group.first:
            raise ZeroDivisionError("on purpose")

    try:
        train(*graph_case(), group=group, on_epoch=fail)
    except (ZeroDivisionError, TrainingError) as error:
        return group.texts(f"{type(error).__name__}: {error}")


def interrupted(group):
    """Ctrl-C reaches rank 0 alone, after the second epoch."""
    seen = []

    def interrupt(epoch):
        seen.append(epoch.number)
        if group.first and epoch.number == 2:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        train(*graph_case(), group=group, on_epoch=interrupt)
        return None
    return group.texts(str(seen))


def resumed(group):
    """Go on from a state that rank 0 alone has."""
    case, kept = node_case(members=2, dropout=0.4, batch_norm=True, epochs=6), {}

    def keep(epoch):
        if group.first and epoch.number == 3:
            kept.update(epoch.state())

    whole = train(*case, group=group, on_epoch=keep)
    again = train(*case, group=group, resume=shared_state(kept or None, group))
    return losses(whole) == losses(again) and digest(whole) == digest(again)


def no_state(group):
    """There is nothing to go on from."""
    return shared_state(None, group) is None


def too_many(group):
    """There are fewer nodes than ranks."""
    graphs = random_graphs([1], 2)
    try:
        train(
            "node",
            {"node_labels": 3, "edge_labels": 4},
            Inputs.of(graphs),
            Targets.classes(torch.tensor([0]), 2),
            [Member([0])],
            group=group,
        )
    except TrainingError as error:
        return str(error)


def costs(group):
    """What a part costs, by formula and as measured."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(
            -3, 1 << 16
        )  # freed memory goes back at once, so that peaks are those of what is held
    nodes = 160_000  # so many that what systems count in blocks, or late, is little beside it
    graphs, found = random_graphs([nodes], 400_000), []
    inputs, y = Inputs.of(graphs), torch.arange(nodes) % 3
    members = [
        Member(np.arange(nodes // 2), np.arange(nodes // 2, nodes), seed=number)
        for number in range(2)
    ]
    for config in (
        {"layers": 3},
        {"layers": 2, "batch_norm": True},
        {"layers": 2, "dropout": 0.5, "hidden": 32},
    ):
        shape = {"node_labels": 3, "edge_labels": 4} | config
        got = shard_costs(shape, inputs, Targets.classes(y, 3), members, Settings(), group)
        found.append([got.predicted, got.measured])
    return found


def mapped(group):
    """Train on graphs and a structure that are mapped from files, and on the same in memory."""
    folder, (kind, config, inputs, targets, members, settings) = (
        Path(os.environ["FOLDER"]),
        node_case(dropout=0.2, layers=3),
    )
    if group.first:
        graphs = random_graphs((NODES,), EDGES)
        write(graphs, folder / "some.graphs")
        write_structure(graphs, folder / "some.structure")
    group.texts("written")
    large = LargeInputs.of(read(folder / "some.graphs"), open_structure(folder / "some.structure"))
    found = [
        train(kind, config, some, targets, members, settings, group=group)
        for some in (inputs, large)
    ]
    differences = [
        (outputs(found[0], some, group=group) - outputs(found[0], inputs)).abs().max()
        for some in (inputs, large)
    ]
    return [
        losses(found[0]) == losses(found[1]),
        digest(found[0]) == digest(found[1]),
        float(max(differences)),
    ]


def bfloat16(group):
    """Mixed precision trains, to the same weights on all ranks."""
    kind, config, inputs, targets, members, settings = node_case(dropout=0.2, layers=3)
    trained = train(
        kind, config, inputs, targets, members, replace(settings, precision="bfloat16"), group=group
    )
    return [len(set(group.texts(digest(trained)))) == 1, bool(np.isfinite(losses(trained)).all())]


def lost(group):
    """The last rank ends in the middle; has to be the last check."""

    def leave(epoch):
        if epoch.number == 2 and group.rank == group.size - 1:
            os._exit(0)

    try:
        train(*node_case(), group=group, on_epoch=leave)
    except TrainingError as error:
        return str(error)


CHECKS = [
    ends,
    failing_hook,
    interrupted,
    resumed,
    no_state,
    too_many,
    costs,
    mapped,
    bfloat16,
    lost,
]


def main(out):
    torch.set_num_threads(1)
    with launched() as group:
        found = {check.__name__: check(group) for check in CHECKS}
        if group.first:
            Path(out).write_text(json.dumps(found))
            os._exit(0)  # with a rank lost there is no orderly end


def by_hand(out):
    """Train among ranks that the caller has joined himself."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    group = Group.current()
    trained = train(*graph_case(), group=group)
    if group.first:
        Path(out).write_text(json.dumps(losses(trained)))
    dist.destroy_process_group()


if __name__ == "__main__":
    {"main": main, "by_hand": by_hand}[sys.argv[1]](sys.argv[2])
