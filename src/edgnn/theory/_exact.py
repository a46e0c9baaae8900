"""Exact layers: what Eq. 3, Eq. 4 and their joint form add up for every node, in integers.

They are a second implementation on purpose: theorems are checked with code that shares nothing with
the layers of ``edgnn.nn`` but the graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from edgnn.errors import GraphError
from edgnn.graphs import CSR, Graphs, Multiplicity, Structure
from edgnn.wl import Scheme

#: Below this, float64 holds every integer, so sums and products are exact in any order.
LIMIT = 2**53
#: A prime p for which x³ mod p takes every remainder once, so that nothing is merged; x³ stays
#: below 2^48.
PRIME = 65_519
#: "clip" cuts values to this size.
CLIP = 1_000

Activation = Literal["sign", "relu", "clip", "cube"]

_FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "sign": torch.sign,
    "relu": torch.relu,
    "clip": lambda values: values.clamp(-CLIP, CLIP),
    "cube": lambda values: torch.remainder(torch.remainder(values, PRIME) ** 3, PRIME),
}


def activate(values: Tensor, activation: Activation) -> Tensor:
    """Apply an activation that turns integers into integers."""
    return _FUNCTIONS[activation](values)


def check_activation(activation: str, allowed: tuple[str, ...] = get_args(Activation)) -> None:
    """Refuse the name of an activation that is not ``allowed``."""
    if activation not in allowed:
        choices = ", ".join(map(repr, allowed[:-1]))
        raise GraphError(f"activation={activation!r}: choose {choices} or {allowed[-1]!r}")


def check_exact(bound: float, where: str, advice: str) -> float:
    """Return ``bound``, or raise an error because sums this large are no longer exact.

    ``bound`` is a sum of absolute values. Rounding never makes a growing sum of such fall below
    2^53 again, so a result below it proves that every sum on the way was exact.
    """
    if not bound < LIMIT:
        raise GraphError(
            f"{where} reaches {bound:.3g}, but float64 is exact only below 2^53 = {LIMIT:.3g}: "
            f"{advice}"
        )
    return bound


@dataclass(frozen=True, eq=False)
class Dense:
    r"""The plain weight matrices of one layer.

    ``W2`` is one matrix; for ``joint`` one per kind of edge end: 2z for an edge of label z that
    enters, 2z + 1 for one that leaves.

    Shapes
    ------
    W1 (d, d'), W2 (d, d') or (2\|Z\|, d, d'), W3 (\|Z\|, d') or None, W4 (\|Z\|, d') or None
    """

    W1: Tensor
    W2: Tensor
    W3: Tensor | None
    W4: Tensor | None

    def absolute(self) -> Dense:
        """Return the same without signs."""
        W3 = None if self.W3 is None else self.W3.abs()
        W4 = None if self.W4 is None else self.W4.abs()
        return Dense(self.W1.abs(), self.W2.abs(), W3, W4)


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What a scheme's layer sums over: neighbors by kind of edge end, and label counts.

    The layers of ``edgnn.nn`` add floating-point numbers, whose order decides about the last bits.
    Here sums are of whole numbers, all exact, so that two nodes are equal or not; that is why
    Eq. 4 is written once more.

    Shapes
    ------
    neighbors: (row, column) index pairs, one pair per kind; counts: (row, label, count) triples of
    C_in and C_out
    """

    num_nodes: int
    num_edge_labels: int
    scheme: Scheme
    neighbors: tuple[tuple[Tensor, Tensor], ...]
    counts: tuple[tuple[Tensor, Tensor, Tensor], ...]

    @classmethod
    def of(
        cls, graphs: Graphs, scheme: Scheme, multiplicity: Multiplicity = "once"
    ) -> Surroundings:
        """Collect them from ``graphs``."""
        if scheme not in get_args(Scheme):
            raise GraphError(
                f"scheme={scheme!r}: choose 'node' (Eq. 3), 'separate' (Eq. 4) or 'joint'"
            )
        labels = len(graphs.edge_vocabulary)
        if scheme == "joint":
            return cls(graphs.num_nodes, labels, scheme, _by_edge_end(graphs, labels), ())
        structure = Structure.of(graphs, multiplicity=multiplicity, dtype=torch.float64)
        assert structure.C_out is not None
        row, column, _ = _entries(structure.neighbors)
        counts: tuple[tuple[Tensor, Tensor, Tensor], ...] = ()
        if scheme == "separate":
            counts = (_entries(structure.C_in), _entries(structure.C_out))
        return cls(graphs.num_nodes, labels, scheme, ((row, column),), counts)

    def add_up(
        self, own: Tensor, messages: Iterable[Tensor], W3: Tensor | None, W4: Tensor | None
    ) -> Tensor:
        r"""Return :math:`own + \sum_z A_z\,message_z + C_{in} W_3 + C_{out} W_4`.

        Shapes
        ------
        own (N,) or (N, d'), messages the same, W3 and W4 (\|Z\|,) or (\|Z\|, d') → as own
        """
        total = own.clone()
        for (row, column), message in zip(self.neighbors, messages, strict=True):
            total.index_add_(0, row, message[column])
        for (row, label, count), weight in zip(self.counts, (W3, W4), strict=False):
            assert weight is not None
            times = count.to(weight.dtype).view(-1, *(1,) * (weight.dim() - 1))
            total.index_add_(0, row, weight[label] * times)
        return total

    def layer(self, state: Tensor, weights: Dense) -> tuple[Tensor, float]:
        """Return what goes into the activation, and the largest sum of absolute values on the way.

        ``state`` is H, or the label numbers that stand for its one-hot rows.
        """
        size = state if state.dim() == 1 else state.abs()
        bound = self._layer(size, weights.absolute())
        return self._layer(state, weights), float(bound.max()) if bound.numel() else 0.0

    def _layer(self, state: Tensor, weights: Dense) -> Tensor:
        W2 = weights.W2 if weights.W2.dim() == 3 else weights.W2[None]
        messages = (_times(state, W) for W in W2)  # one at a time: each is as large as the state
        return self.add_up(_times(state, weights.W1), messages, weights.W3, weights.W4)


def _times(state: Tensor, W: Tensor) -> Tensor:
    """Return H·W, for H given as rows or, one-hot, as label numbers."""
    return W[state] if state.dim() == 1 else state @ W


def _by_edge_end(graphs: Graphs, labels: int) -> tuple[tuple[Tensor, Tensor], ...]:
    order = torch.argsort(graphs.edge_label, stable=True)
    sizes = torch.bincount(graphs.edge_label, minlength=labels).tolist()
    sources = torch.split(graphs.edge_source[order], sizes)
    targets = torch.split(graphs.edge_target[order], sizes)
    kinds: list[tuple[Tensor, Tensor]] = []
    for source, target in zip(sources, targets, strict=True):
        kinds += [(target, source), (source, target)]
    return tuple(kinds)


def _entries(matrix: Tensor | CSR) -> tuple[Tensor, Tensor, Tensor]:
    if isinstance(matrix, Tensor):
        row, column = matrix.nonzero(as_tuple=True)
        return row, column, matrix[row, column]
    row = torch.repeat_interleave(torch.arange(matrix.shape[0]), matrix.indptr.diff())
    values = torch.ones(matrix.nnz, dtype=torch.float64) if matrix.values is None else matrix.values
    return row, matrix.indices.long(), values
