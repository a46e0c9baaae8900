"""How fast is one layer? Against PyG's R-GCN and gather-concat-scatter, and against the number of edge labels."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from edgnn.bench._harness import Row, Skipped, in_turns, measure_alone, peak_bytes, wait
from edgnn.bench._wl import random_digraph
from edgnn.graphs import Graphs, Structure
from edgnn.nn import EdGNNConv, RelationalConv

_STEP_ALONE = """
import json, sys
from edgnn.bench._layer import Size, extra_bytes
print(json.dumps({"bytes": extra_bytes(sys.argv[1], Size(*map(int, sys.argv[2:6])), sys.argv[6])}))
"""

_NAMES = {
    "edgnn": "EdGNNConv",
    "relational": "RelationalConv (sum)",
    "rgcn": "PyG RGCNConv (add, inverse relations)",
    "fast-rgcn": "PyG FastRGCNConv (add, inverse relations)",
    "gather": "gather, concatenate, map, scatter",
    "gather-sum-first": "gather, concatenate, scatter, map",
}
_M_MMAP_THRESHOLD = -3
_NO_PYG = "torch_geometric is not installed"


@dataclass(frozen=True)
class Size:
    """A random multigraph and the width of the states on it."""

    nodes: int
    edges: int
    labels: int
    width: int = 64

    def __str__(self) -> str:
        labels = f"{self.labels} edge label{'s' * (self.labels != 1)}"
        return f"{self.nodes:,} nodes, {self.edges:,} edges, {labels}, width {self.width}"


MEDIUM = Size(20_000, 200_000, 45)
LARGE = Size(100_000, 1_000_000, 64)


def layer(data_dir: str | os.PathLike[str] | None = None, quick: bool = False, device: str = "cpu") -> Iterator[Row | Skipped]:
    """Measure forward and backward of one layer, yielding each row as it is done; ``quick`` shrinks everything for tests.

    Everything is made up, so ``data_dir`` is not looked at.
    """
    sizes = [Size(2_000, 20_000, 5, 16)] if quick else [MEDIUM] if device == "cpu" else [MEDIUM, LARGE]
    repeats = 1 if quick else 9
    for size in sizes:
        yield from _against_peers(size, device, repeats)
        yield from _memory(size, device)
    size = sizes[0]
    small = Size(size.nodes // 10, size.edges // 10, size.labels, size.width)
    yield _pair("relational", "fast-rgcn", small, device, repeats)
    for labels in (1, 3) if quick else (1, 8, 45, 200):
        yield _pair("edgnn", "rgcn", Size(size.nodes, size.edges, labels, size.width), device, repeats)


class GatherConcatScatter(nn.Module):
    r"""Eq. 4 as message-passing codes of 2019 write it: one row per edge, the label one-hot beside the state.

    .. math:: h'_v = h_v W_{self} + b + \sum_{(u, v)} [h_u \,\|\, e_{uv}] W_{message}

    over all edges and, under labels of their own, all reversed edges. Equal to
    :class:`~edgnn.nn.EdGNNConv` with ``multiplicity="per-edge"``, where :math:`W_{message}` stacks W2, W3 and W4.

    Parameters
    ----------
    graphs : Graphs
        Where the edges come from; their ends and one-hot labels are laid out here, once.
    in_dim, out_dim : int
        Widths of the states.
    sum_first : bool
        Whether messages are summed before they are mapped, not after: wider sums, fewer products.

    Shapes
    ------
    x : (N, in_dim) → (N, out_dim)
    """

    def __init__(self, graphs: Graphs, in_dim: int, out_dim: int, sum_first: bool = False) -> None:
        super().__init__()
        (self.source, self.target), label = both_ways(graphs)
        labels = 2 * len(graphs.edge_vocabulary)
        self.one_hot = nn.functional.one_hot(label, labels).to(torch.float32)
        self.nodes, self.sum_first = graphs.num_nodes, sum_first
        self.own = nn.Linear(in_dim, out_dim, device=graphs.device)
        self.message = nn.Linear(in_dim + labels, out_dim, bias=False, device=graphs.device)

    def forward(self, x: Tensor) -> Tensor:
        """Return the new states."""
        messages = torch.cat([x[self.source], self.one_hot.to(x.dtype)], 1)
        received = self.message(self._sums(messages)) if self.sum_first else self._sums(self.message(messages))
        result: Tensor = received + self.own(x)
        return result

    def _sums(self, messages: Tensor) -> Tensor:
        return messages.new_zeros(self.nodes, messages.shape[1]).index_add(0, self.target, messages)


def both_ways(graphs: Graphs) -> tuple[Tensor, Tensor]:
    """Return the edges and behind them the reversed ones, as PyG's ``edge_index``, and labels that tell the two apart."""
    edges = torch.stack([graphs.edge_source, graphs.edge_target])
    label = graphs.edge_label
    return torch.cat([edges, edges.flip(0)], 1), torch.cat([label, label + len(graphs.edge_vocabulary)])


def extra_bytes(kind: str, size: Size, device: str = "cpu") -> int:
    """Return how much more memory one step of a layer takes than its graph, weights and states; for a process of its own."""
    _return_memory_at_once()
    _step(kind, Size(50, 500, size.labels, size.width), device)()  # what is loaded and set up on first use is no part of it
    step = _step(kind, size, device)
    if device != "cpu":
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        step()
        return torch.cuda.max_memory_allocated() - before
    before = _restart_peak()
    step()
    return peak_bytes() - before


def _against_peers(size: Size, device: str, repeats: int) -> Iterator[Row | Skipped]:
    goals = ("≥ 15×", "≥ 20×") if device == "cpu" else ("", "")
    yield _pair("edgnn", "rgcn", size, device, repeats, goals[0])
    yield _pair("edgnn", "gather", size, device, repeats, goals[1])
    yield _pair("edgnn", "gather-sum-first", size, device, repeats)
    yield _pair("relational", "rgcn", size, device, repeats)


def _pair(ours: str, peer: str, size: Size, device: str, repeats: int, goal: str = "") -> Row | Skipped:
    """Time one step of ours and of a peer on the same graph, in turns."""
    what = f"{_NAMES[ours]}, forward and backward, {size}, {device}"
    try:
        ours_s, peer_s = in_turns(_step(ours, size, device), _step(peer, size, device), repeats)
    except ImportError:
        return Skipped(what, _NO_PYG)
    return Row(what, ours_s, _NAMES[peer], peer_s, goal, {"ms": round(1e3 * ours_s, 2), "edge_labels": size.labels})


def _memory(size: Size, device: str) -> Iterator[Row | Skipped]:
    """Compare the extra memory of a step; these rows hold MiB where others hold seconds."""
    ours = _extra_mib("edgnn", size, device)
    for peer in ("rgcn", "gather"):
        what = f"{_NAMES['edgnn']}, extra memory of a step, {size}, {device}"
        if peer == "rgcn" and find_spec("torch_geometric") is None:
            yield Skipped(what, _NO_PYG)
            continue
        yield Row(what, ours, _NAMES[peer], _extra_mib(peer, size, device), "≤ 0.1×", unit="MiB")


def _extra_mib(kind: str, size: Size, device: str) -> float:
    numbers = map(str, (size.nodes, size.edges, size.labels, size.width))
    return float(measure_alone(_STEP_ALONE, kind, *numbers, device)["bytes"]) / 2**20


def _step(kind: str, size: Size, device: str) -> Callable[[], None]:
    """Return one step of a layer on the random multigraph of this size: forward, and backward to weights and states."""
    graphs = random_digraph(size.nodes, size.edges, device, size.labels)
    module, arguments = _build(kind, graphs, size.width)
    module.to(device)
    x = torch.randn(size.nodes, size.width, generator=torch.Generator(device).manual_seed(1), device=device, requires_grad=True)

    def step() -> None:
        module.zero_grad(set_to_none=True)
        x.grad = None
        module(x, *arguments).sum().backward()
        wait(device)

    return step


def _build(kind: str, graphs: Graphs, width: int) -> tuple[nn.Module, tuple[Any, ...]]:
    """Return a layer and what it takes beside the states; none has an activation, so that all compute sums of the same kind."""
    labels = len(graphs.edge_vocabulary)
    if kind == "edgnn":
        return EdGNNConv(width, width, labels, activation="identity", bias=True), (Structure.of(graphs),)
    if kind == "relational":
        return RelationalConv(width, width, labels, activation="identity", bias=True), (Structure.of(graphs, relations=True),)
    if kind in ("gather", "gather-sum-first"):
        return GatherConcatScatter(graphs, width, width, sum_first=kind == "gather-sum-first"), ()
    from torch_geometric.nn import FastRGCNConv, RGCNConv

    convolution = FastRGCNConv if kind == "fast-rgcn" else RGCNConv
    return convolution(width, width, 2 * labels, aggr="add"), both_ways(graphs)


def _return_memory_at_once() -> None:
    """Have freed blocks go back to the system, so that what the preparation freed is not taken for what the step needs."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, 1 << 16)


def _restart_peak() -> int:
    """Set the peak of this process back to what it holds now, where the system lets us, and return it."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return peak_bytes()
