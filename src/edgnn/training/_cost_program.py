"""What sharded training costs its ranks on a random graph; a program that torchrun starts, and the function that has it started."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from edgnn.errors import TrainingError

_M_MMAP_THRESHOLD = -3


def costs_of_ranks(
    ranks: int,
    nodes: int,
    edges: int,
    *,
    near: int | None = None,
    device: str = "cpu",
    **config: Any,
) -> list[dict[str, Any]]:
    """Train on a random graph by so many processes of this machine, and return every rank's cost, by formula and as measured.

    Parameters
    ----------
    ranks : int
        How many processes.
    nodes, edges : int
        Of the graph; its edges have four labels, its nodes three.
    near : int, optional
        How far apart in number the ends of an edge may be; any two nodes by default.
    device : str
        Where to train.
    **config
        Arguments of :class:`~edgnn.nn.NodeModel`.

    Returns
    -------
    list of dict
        For each rank ``size``, ``predicted``, ``measured`` (see :class:`ShardCosts`) and
        ``seconds``, the time of an epoch.
    """
    told = json.dumps(
        {"nodes": nodes, "edges": edges, "near": near, "device": device, "config": config}
    )
    start = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        str(ranks),
    ]
    threads = {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // ranks))}
    command = [*start, "-m", __name__, told]
    ended = subprocess.run(  # noqa: S603
        command, env=os.environ | threads, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        reason = [line for line in ended.stderr.splitlines() if "Error" in line] or [
            "torchrun failed"
        ]
        raise TrainingError(f"{ranks} ranks could not be measured: {reason[0]}")
    found: list[dict[str, Any]] = json.loads(ended.stdout.splitlines()[-1])
    return found


def main(told: str) -> None:
    """Measure as one of the ranks; rank 0 prints what all have found."""
    import numpy as np

    from edgnn.training import Member, Settings, Targets, launched, shard_costs

    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(
            _M_MMAP_THRESHOLD, 1 << 16
        )  # what is freed goes back at once, and is not taken for what is held
    options = json.loads(told)
    with launched() as group:
        if group is None:
            raise TrainingError("start this by torchrun, on two ranks or more")
        inputs, nodes = _inputs(options), options["nodes"]
        config = {"node_labels": 3, "edge_labels": 4} | options["config"]
        members = [Member(range(0, nodes, 2), range(1, nodes, 2))]
        targets = Targets.classes(np.arange(nodes) % 3, 3)
        costs = shard_costs(
            config, inputs, targets, members, Settings(device=options["device"]), group
        )
        every = group.texts(json.dumps(asdict(costs)))
        if group.first:
            sys.stdout.write(f"[{', '.join(every)}]\n")


def _inputs(options: dict[str, Any]) -> Any:
    import torch

    from edgnn.graphs import Graphs, Vocabulary
    from edgnn.nn import Inputs

    nodes, edges, near = options["nodes"], options["edges"], options["near"]
    generator = torch.Generator().manual_seed(0)
    source = torch.randint(nodes, (edges,), generator=generator)
    target = torch.randint(nodes, (edges,), generator=generator)
    if near is not None:
        target = (source + target % (2 * near + 1) - near).clamp(0, nodes - 1)
    graphs = Graphs(
        node_label=torch.randint(3, (nodes,), generator=generator),
        edge_source=source,
        edge_target=target,
        edge_label=torch.randint(4, (edges,), generator=generator),
        graph_offset=torch.tensor([0, nodes]),
        node_vocabulary=Vocabulary(range(3)),
        edge_vocabulary=Vocabulary(range(4)),
    )
    return Inputs.of(graphs)


if __name__ == "__main__":
    main(sys.argv[1])
