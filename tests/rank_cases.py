"""What several ranks train in the tests. As a program, started by torchrun: train the cases named, and write what came out."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from edgnn import Graphs, Vocabulary
from edgnn.nn import Inputs, input_options
from edgnn.training import Member, Settings, Targets, launched, outputs, train
from warm_python import warm_python

ROOT = Path(__file__).resolve().parents[1]
NODES, EDGES, CLASSES = 60, 170, 3


def random_graphs(sizes, edges, seed=0, labels=3, edge_labels=4):
    """Graphs of some sizes with random labeled edges, of which some are parallel and some are loops; the last nodes have none."""
    generator = torch.Generator().manual_seed(seed)
    offset = torch.cat([torch.zeros(1, dtype=torch.int64), torch.tensor(sizes).cumsum(0)])
    ends = [
        torch.randint(max(1, size - 2), (2, edges), generator=generator) + start
        for size, start in zip(sizes, offset, strict=False)
    ]
    source, target = torch.cat(ends, dim=1)
    return Graphs(
        node_label=torch.randint(labels, (int(offset[-1]),), generator=generator),
        edge_source=source,
        edge_target=target,
        edge_label=torch.randint(edge_labels, (len(source),), generator=generator),
        graph_offset=offset,
        node_vocabulary=Vocabulary(range(labels)),
        edge_vocabulary=Vocabulary(range(edge_labels)),
    )


def node_case(
    *,
    members=1,
    sizes=(NODES,),
    epochs=20,
    precision="float32",
    batch_size=None,
    fanout=None,
    **config,
):
    graphs = random_graphs(sizes, EDGES)
    config = {
        "node_labels": 3,
        "edge_labels": 4,
        "hidden": 7,
        "direction": "both",
        "conv": "edgnn",
    } | config
    nodes = graphs.num_nodes
    y = torch.randint(CLASSES, (nodes,), generator=torch.Generator().manual_seed(1))
    fleet = [
        Member(np.arange(number, nodes // 2), np.arange(nodes // 2, nodes), seed=number)
        for number in range(members)
    ]
    if members > 1:
        fleet[0] = replace(fleet[0], train=range(8), valid=range(8, 14))  # all on one rank
    dtype = torch.float64 if precision == "float64" else torch.float32
    return (
        "node",
        config,
        Inputs.of(graphs, dtype=dtype, **input_options(config)),
        Targets.classes(y, CLASSES, class_weight="balanced"),
        fleet,
        Settings(
            max_epochs=epochs,
            learning_rate=0.01,
            precision=precision,
            batch_size=batch_size,
            fanout=fanout,
        ),
    )


def graph_case(
    *, members=1, epochs=20, targets="classes", precision="float32", settings=None, **config
):
    graphs = random_graphs([3 + number % 5 for number in range(24)], 6)
    config = {
        "node_labels": 3,
        "edge_labels": 4,
        "hidden": 8,
        "direction": "both",
        "conv": "edgnn",
    } | config
    generator = torch.Generator().manual_seed(2)
    if targets == "classes":
        y = Targets.classes(torch.randint(2, (24,), generator=generator), 2)
    else:
        numbers = torch.randn(24, 2, generator=generator)
        numbers[3, 1] = numbers[5] = torch.nan
        y = Targets.values(numbers, torch.rand(24, generator=generator))
    fleet = [
        Member(np.arange(number, 17), np.arange(17, 24 - number), seed=number)
        for number in range(members)
    ]
    settings = Settings(max_epochs=epochs, precision=precision, **(settings or {}))
    return "graph", config, Inputs.of(graphs, **input_options(config)), y, fleet, settings


_INNER = {"dropout": 0.3, "batch_norm": True, "members": 3}
_NODES = {
    f"{conv} {direction}{' with dropout, norm, members' * bool(inner)}": {
        "conv": conv,
        "direction": direction,
    }
    | inner
    for conv in ("gnn", "edgnn", "joint", "rgcn", "gine")
    for direction in ("both", "in")
    for inner in ({}, _INNER)
} | {
    "dropout of inputs": {"input_dropout": 0.3, "dropout": 0.2, "layers": 3, "members": 2},
    "embedded": {"embedding": 5, "edge_embedding": 2, "bias": True},
    "wider": {"hidden": 16, "head": "conv", "layers": 3},
    "joint with inputs dropped": {"conv": "joint", "input_dropout": 0.2, "embedding": 4},
    "several graphs": {"sizes": (20, 1, 25, 9), "conv": "rgcn", "members": 2},
    "in batches": {"batch_size": 7, "members": 2},
}
_GRAPHS = {
    "in batches": {},
    "norm, clipped, members": {
        "batch_norm": True,
        "members": 3,
        "settings": {"batch_size": 5, "clip_norm": 0.5},
    },
    "all at once": {
        "conv": "gine",
        "batch_norm": True,
        "readout": "mean",
        "settings": {"batch_size": None},
    },
    "one a step": {"conv": "joint", "settings": {"batch_size": 1}, "epochs": 4},
    "values, some missing": {"targets": "values", "members": 2, "settings": {"batch_size": 4}},
    "early stopping": {
        "members": 3,
        "settings": {"patience": 2, "learning_rate": 0.05},
        "epochs": 30,
    },
}
#: What is trained, by name: the function that makes it, and with which options.
CASES = {f"nodes: {name}": (node_case, options) for name, options in _NODES.items()} | {
    f"graphs: {name}": (graph_case, options) for name, options in _GRAPHS.items()
}


def case_of(name, precision):
    make, options = CASES[name]
    return make(precision=precision, **options)


def losses(trained):
    return [[row["train_loss"], row["valid_loss"]] for row in trained.history]


def digest(trained):
    """Return a name for the exact bits of all weights."""
    parts = [part.detach().numpy().tobytes() for part in trained.model.state_dict().values()]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def run(program, ranks, *words, restarts=0, **environment):
    """Start a program on so many ranks, and return how it ended; several at a time do not meet, each has a port of its own."""
    # the root of the repository as well, which has the benchmarks
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        torchrun(program, ranks, *words, restarts=restarts),
        env=environment_of_ranks() | {"PYTHONPATH": path} | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


def environment_of_ranks():
    """Return the variables of torchrun, whose ranks then start at once."""
    return os.environ | {"OMP_NUM_THREADS": "1", "PYTHON_EXEC": warm_python()}


def torchrun(program, ranks, *words, restarts=0):
    start = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        str(ranks),
    ]
    return [*start, "--max-restarts", str(restarts), *program, *map(str, words)]


def train_cases(chosen, out):
    """Train cases (names and precisions) by all ranks; rank 0 writes losses, outputs, and whether all have the same weights."""
    torch.set_num_threads(1)
    found = []
    with launched() as group:
        for name, precision in chosen:
            case = case_of(name, precision)
            trained = train(*case, group=group)
            digests = group.texts(digest(trained))
            found.append(
                {
                    "losses": losses(trained),
                    "best_epoch": trained.best_epoch,
                    "ranks_agree": len(set(digests)) == 1,
                    "outputs": outputs(trained, case[2], group=group).tolist(),
                }
            )
        if group.first:
            Path(out).write_text(json.dumps(found))


if __name__ == "__main__":
    train_cases(json.loads(sys.argv[1]), sys.argv[2])
