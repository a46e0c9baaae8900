"""One layer, ours and as others write it: what a step of each computes on the same random multigraph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks._wl import random_digraph
from edgnn.graphs import Graphs, Structure
from edgnn.nn import EdGNNConv, RelationalConv

NAMES = {
    "edgnn": "EdGNNConv",
    "relational": "RelationalConv (sum)",
    "rgcn": "PyG RGCNConv",
    "fast-rgcn": "PyG FastRGCNConv",
    "gather": "gather, concatenate, map, scatter",
    "gather-sum-first": "gather, concatenate, scatter, map",
}


@dataclass(frozen=True)
class Size:
    """A random multigraph and the width of the states on it."""

    nodes: int
    edges: int
    labels: int
    width: int = 64

    def __str__(self) -> str:
        labels = f"{self.labels} relation{'s' * (self.labels != 1)}"
        return f"{short(self.nodes)} nodes, {short(self.edges)} edges, {labels}, width {self.width}"


def short(number: float) -> str:
    """Return a size as one says it: 20k, 1M."""
    for unit, word in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if number >= unit:
            return f"{number / unit:g}{word}"
    return f"{number:g}"


class Step:
    """Forward, and backward to weights and states, of a layer on the random multigraph of a size.

    The peers get the inverse of every relation as a relation of its own, and what does not change
    (edge lists, one-hot labels) ready-made, as ours does. None has an activation, so that all
    compute sums of the same kind.
    """

    def __init__(
        self, kind: str, size: Size, device: str, dtype: torch.dtype = torch.float32
    ) -> None:
        graphs = random_digraph(size.nodes, size.edges, device, size.labels)
        module, self.arguments = _build(kind, graphs, size.width, dtype)
        self.module = module.to(device=device, dtype=dtype)
        generator = torch.Generator(device).manual_seed(1)
        x = torch.randn(size.nodes, size.width, generator=generator, device=device)
        self.x = x.to(dtype).requires_grad_()

    def __call__(self) -> None:
        self.clear()
        self.module(self.x, *self.arguments).sum().backward()

    def clear(self) -> None:
        """Forget the gradients."""
        self.module.zero_grad(set_to_none=True)
        self.x.grad = None


def step(
    kind: str, size: Size, device: str, dtype: torch.dtype = torch.float32
) -> Callable[[], Step]:
    """Return what builds a step."""
    return partial(Step, kind, size, device, dtype)


class GatherConcatScatter(nn.Module):
    r"""Eq. 4 as message-passing codes of 2019 write it: one row per edge, the label one-hot beside the state.

    .. math:: h'_v = h_v W_{self} + b + \sum_{(u, v)} [h_u \,\|\, e_{uv}] W_{message}

    over all edges and, under labels of their own, all reversed edges. Equal to
    :class:`~edgnn.nn.EdGNNConv` with ``multiplicity="per-edge"``, where :math:`W_{message}` stacks
    W2, W3 and W4.

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
        received = (
            self.message(self._sums(messages))
            if self.sum_first
            else self._sums(self.message(messages))
        )
        result: Tensor = received + self.own(x)
        return result

    def _sums(self, messages: Tensor) -> Tensor:
        return messages.new_zeros(self.nodes, messages.shape[1]).index_add(0, self.target, messages)


def both_ways(graphs: Graphs) -> tuple[Tensor, Tensor]:
    """Return the edges and behind them the reversed ones, as PyG's ``edge_index``, and labels that tell the two apart."""
    edges = torch.stack([graphs.edge_source, graphs.edge_target])
    label = graphs.edge_label
    return torch.cat([edges, edges.flip(0)], 1), torch.cat(
        [label, label + len(graphs.edge_vocabulary)]
    )


def _build(
    kind: str, graphs: Graphs, width: int, dtype: torch.dtype
) -> tuple[nn.Module, tuple[Any, ...]]:
    """Return a layer and what it takes beside the states."""
    labels = len(graphs.edge_vocabulary)
    if kind == "edgnn":
        structure = Structure.of(graphs)
        if dtype != torch.float32:
            structure = structure.to(dtype=dtype)
        return EdGNNConv(width, width, labels, activation="identity", bias=True), (structure,)
    if kind == "relational":
        return RelationalConv(width, width, labels, activation="identity", bias=True), (
            Structure.of(graphs, relations=True),
        )
    if kind in ("gather", "gather-sum-first"):
        return GatherConcatScatter(graphs, width, width, sum_first=kind == "gather-sum-first"), ()
    from torch_geometric.nn import FastRGCNConv, RGCNConv

    convolution = FastRGCNConv if kind == "fast-rgcn" else RGCNConv
    return convolution(width, width, 2 * labels, aggr="add"), both_ways(graphs)
