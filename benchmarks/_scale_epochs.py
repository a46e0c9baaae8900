"""Training epochs over a whole graph: time, memory, and the share of copying that its sparse products alone make up."""

from __future__ import annotations

from statistics import median
from typing import Any

import torch
from torch import Tensor

from benchmarks._formulations import Size, short
from benchmarks._harness import Memory, Row, Traffic
from benchmarks._product import gathered_bytes
from benchmarks._timing import extra_bytes, timed
from benchmarks._wl import random_digraph
from edgnn.nn import Inputs
from edgnn.training import Member, Settings, Targets, train

CLASSES = 8
LAYERS = 2


def epoch_row(
    size: Size, labeled: float, epochs: int, device: str, copy: float, goal: str = ""
) -> Row:
    """Train a node model on a random graph, and time its epochs after the first, which sets up what the others use.

    Memory is the most that is held from the first edge on: graph, structure and training. The bytes
    that are compared with copying are those that the sparse products of an epoch must gather, one
    forward and one backward; everything else comes on top.
    """
    found: dict[str, Any] = {}

    def whole() -> None:
        found.update(_train(size, labeled, epochs, device))

    held = extra_bytes(whole, device)
    if held is None:
        whole()
    seconds = median(found["seconds"][1:])
    share = "all" if labeled == 1 else f"{100 * labeled:g} % of all"
    return Row(
        f"training epoch of the whole graph, {size}, {share} nodes labeled",
        seconds,
        goal=goal,
        memory=None if held is None else Memory(held),
        traffic=Traffic(found["bytes"], found["bytes"] / seconds, copy),
        extra={
            "first_epoch_s": round(found["seconds"][0], 3),
            "inputs_s": round(found["inputs_s"], 3),
            "inputs_bytes": found["inputs_bytes"],
        },
        points={f"edges (10 per node, width {size.width})": size.edges} if labeled == 1 else {},
        ours=f"{LAYERS}-layer edGNN",
    )


def _train(size: Size, labeled: float, epochs: int, device: str) -> dict[str, Any]:
    def count() -> Inputs:
        return Inputs.of(random_digraph(size.nodes, size.edges, device, size.labels))

    inputs_s, inputs = timed(count, device)
    nodes = labeled_nodes(size.nodes, labeled)
    settings = Settings(max_epochs=epochs, batch_size=None, device=device)
    trained = train(
        "node",
        model_config(size, LAYERS),
        inputs,
        classes(len(nodes)),
        [Member(torch.arange(len(nodes)))],
        settings,
        positions=nodes,
    )
    return {
        "seconds": [epoch["seconds"] for epoch in trained.history],
        "bytes": round(2 * labeled * gathered_bytes(inputs.structure.neighbors, size.width, 4)),
        "inputs_s": inputs_s,
        "inputs_bytes": inputs.structure.nbytes
        + sum(part.nbytes for part in (inputs.H0, inputs.AH0)),
    }


def labeled_nodes(nodes: int, share: float) -> Tensor:
    """Return a share of the nodes, evenly spread."""
    return torch.arange(0, nodes, max(1, round(1 / share)))


def model_config(size: Size, layers: int) -> dict[str, Any]:
    """Return the arguments of a node model for the random graph of a size."""
    return {
        "node_labels": 1,
        "edge_labels": size.labels,
        "outputs": CLASSES,
        "hidden": size.width,
        "layers": layers,
    }


def classes(items: int) -> Targets:
    """Return a random class for each item."""
    return Targets.classes(
        torch.randint(CLASSES, (items,), generator=torch.Generator().manual_seed(2)), CLASSES
    )


def graph_size(size: Size) -> str:
    """Return nodes and edges of a size in words."""
    return f"{short(size.nodes)} nodes, {short(size.edges)} edges"
