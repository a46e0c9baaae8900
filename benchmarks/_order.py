"""Does it pay to renumber nodes? Sums and layer steps on graphs as they are numbered, and with neighbors close together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor

from benchmarks._formulations import short
from benchmarks._harness import Row, Skipped, beside, folder_of
from benchmarks._timing import race, timed
from edgnn.graphs import Graphs, Structure
from edgnn.io.datasets import load_dataset
from edgnn.nn import EdGNNConv
from edgnn.nn.ops import neighbor_sum

Kind = Literal["uniform", "grid", "ring", "communities"]
#: Names of made-up graphs and what joins their nodes; the nodes are numbered at random.
KINDS: dict[Kind, str] = {
    "uniform": "any two nodes",
    "grid": "the four around each",
    "ring": "nodes up to 50 places apart on a ring",
    "communities": "nine of ten edges within communities of 200",
}
REAL = ("AIFB", "MUTAG-RDF")
_REACH, _COMMUNITY, _WITHIN, _PER_NODE, _WIDTH = 50, 200, 0.9, 10, 64


def order(
    data_dir: str | os.PathLike[str] | None = None, quick: bool = False, device: str = "cpu"
) -> Iterator[Row | Skipped]:
    """Measure sums over neighbors and steps of a layer before and after :meth:`Graphs.reordered`, yielding each row."""
    nodes, repeats = (400, 1) if quick else (200_000, 9)
    for kind, joined in KINDS.items():
        graphs = shuffled_graph(kind, nodes)
        yield from rows(
            graphs, f"{kind}: {joined}, {short(graphs.num_nodes)} nodes", device, repeats
        )
    for name in REAL:
        if folder_of(name, data_dir) is None:
            yield Skipped(name, f"{name} is not on this machine; load it once, or set EDGNN_DATA")
        else:
            yield from rows(load_dataset(name, data_dir=data_dir).graphs, name, device, repeats)


def rows(graphs: Graphs, what: str, device: str, repeats: int) -> Iterator[Row | Skipped]:
    """Time a sum over neighbors and a step of a layer, of the reordered graphs beside the graphs as they are."""
    seconds, close = timed(graphs.reordered)
    structures = [Structure.of(numbered).to(device) for numbered in (close.graphs, graphs)]
    x = torch.randn(graphs.num_nodes, _WIDTH, generator=torch.Generator().manual_seed(0)).to(device)
    for name, build in (("sum over neighbors", _sum), ("EdGNNConv, forward and backward", _step)):
        ours, peer = race(
            [partial(build, structure, x) for structure in structures], repeats, device
        )
        extra = {"reordering_s": seconds, "entries": structures[0].neighbors.nnz}
        yield from beside(
            f"{name}, {what}", ("reordered", ours), ("as numbered", peer), extra=extra
        )


def shuffled_graph(kind: Kind, nodes: int) -> Graphs:
    """Return a made-up graph whose nodes are numbered at random; ten edges per node, a grid has two."""
    generator = torch.Generator().manual_seed(0)
    if kind == "grid":
        side = int(nodes**0.5)
        nodes, number = side * side, torch.arange(side * side).view(side, side)
        pairs = ((number[:, :-1], number[:, 1:]), (number[:-1], number[1:]))
        ends = torch.cat([torch.stack([a.flatten(), b.flatten()], 1) for a, b in pairs])
    else:
        ends = torch.randint(nodes, (_PER_NODE * nodes, 2), generator=generator)
        if kind == "ring":
            ends[:, 1] = (ends[:, 0] + ends[:, 1] % (2 * _REACH + 1) - _REACH) % nodes
        elif kind == "communities":
            inside = torch.rand(len(ends), generator=generator) < _WITHIN
            own = ends[:, 0] // _COMMUNITY * _COMMUNITY + ends[:, 1] % _COMMUNITY
            ends[:, 1] = torch.where(inside, own.clamp(max=nodes - 1), ends[:, 1])
    return Graphs.from_edges(torch.randperm(nodes, generator=generator)[ends], num_nodes=nodes)


def _sum(structure: Structure, x: Tensor) -> Callable[[], Any]:
    return partial(neighbor_sum, x, structure)


def _step(structure: Structure, x: Tensor) -> Callable[[], Any]:
    layer = EdGNNConv(_WIDTH, _WIDTH, structure.num_edge_labels).to(x.device)
    x = x.clone().requires_grad_()

    def call() -> None:
        layer.zero_grad(set_to_none=True)
        x.grad = None
        layer(x, structure).sum().backward()

    return call
