"""Embeddings under explicit weights: the network run through its factors, rows materialized in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

import torch
from torch import Tensor

from edgnn.errors import GraphError
from edgnn.graphs import Graphs
from edgnn.theory._exact import Surroundings, activate, check_exact
from edgnn.theory._weights import Layer, WLWeights

_BLOCK_ENTRIES = 2**21
_WAY_OUT = 'take activation="sign", fewer rounds, or graphs with smaller degrees'


@dataclass(frozen=True, eq=False, repr=False)
class Embeddings:
    """Node embeddings after every layer.

    A row after layer t is a function of two numbers, the node's scalar and its constant (which is
    1), so these are what is kept;
    :meth:`at` makes the rows.

    Parameters
    ----------
    weights : WLWeights
        The network.
    graphs : Graphs
        The graphs it ran on, encoded as the weights ask.
    numbers : tuple of Tensor
        Scalar and constant of every node, one array per layer.
    largest : float
        The largest sum of absolute values that occurred; below 2^53, so nothing was rounded.

    Shapes
    ------
    numbers : (N, 2) each
    """

    weights: WLWeights
    graphs: Graphs
    numbers: tuple[Tensor, ...]
    largest: float

    @property
    def rounds(self) -> int:
        """Number of layers."""
        return len(self.numbers)

    def scalar(self, round: int) -> Tensor:
        """Return the number that each node's row after ``round`` layers is made of."""
        return (
            self.numbers[self._number(round) - 1][:, 0]
            if self._number(round)
            else self.graphs.node_label
        )

    def at(self, round: int, nodes: Tensor | None = None) -> Tensor:
        """Return the embeddings of ``nodes`` (default: all) after ``round`` layers, one dense row each.

        Shapes
        ------
        nodes (n,) → (n, width)
        """
        number = self._number(round)
        chosen = torch.arange(self.graphs.num_nodes) if nodes is None else nodes
        if number == 0:
            return torch.eye(len(self.weights.node_vocabulary), dtype=torch.float64)[
                self.graphs.node_label[chosen]
            ]
        layer = self.weights.layers[number - 1]
        return _rows(self.numbers[number - 1][chosen], layer, self.weights)

    def blocks(self, round: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield node numbers and their rows, a few megabytes at a time."""
        rows = _block_rows(self.weights.widths[self._number(round)])
        for nodes in torch.split(torch.arange(self.graphs.num_nodes), rows):
            yield nodes, self.at(round, nodes)

    def partition(self, round: int) -> Tensor:
        """Number equal rows alike, by looking at every entry of every row."""
        seen: dict[bytes, int] = {}
        numbers = []
        signs = self.weights.activation == "sign"
        for _, rows in self.blocks(round):
            narrow = rows.to(torch.int8) if signs else rows + 0.0  # which turns -0.0 into 0.0
            for row in narrow.numpy():
                digest = blake2b(row.tobytes(), digest_size=16).digest()
                numbers.append(seen.setdefault(digest, len(seen)))
        return torch.tensor(numbers, dtype=torch.int64)

    def _number(self, round: int) -> int:
        wanted = round + self.rounds + 1 if round < 0 else round
        if not 0 <= wanted <= self.rounds:
            raise IndexError(
                f"round {round} was asked for, but there are rounds 0 to {self.rounds}"
            )
        return wanted

    def __repr__(self) -> str:
        return (
            f"Embeddings({self.graphs.num_nodes:,} nodes, {self.rounds} layers, {self.weights!r})"
        )


def run(weights: WLWeights, graphs: Graphs) -> Embeddings:
    """Run the network layer by layer; see :meth:`WLWeights.apply`."""
    graphs = weights.encoded(graphs)
    around = Surroundings.of(graphs, weights.scheme, weights.multiplicity)
    made = Embeddings(weights, graphs, (), 0.0)
    for number, layer in enumerate(weights.layers, start=1):
        numbers, bound = _advance(made, around, layer)
        check_exact(bound, f"a sum in layer {number}", _WAY_OUT)
        made = Embeddings(weights, graphs, (*made.numbers, numbers), max(made.largest, bound))
    return made


def _advance(before: Embeddings, around: Surroundings, layer: Layer) -> tuple[Tensor, float]:
    """Return scalar and constant of every node after one more layer, and the largest sum of absolute values on the way."""
    factors = torch.stack([layer.w1, layer.w2, layer.kappa], 1)
    products = torch.empty(before.graphs.num_nodes, 3, dtype=torch.float64)
    sizes = torch.empty_like(products)
    if before.rounds == 0:
        products, sizes = factors[before.graphs.node_label], factors.abs()[before.graphs.node_label]
    else:
        for nodes, rows in before.blocks(-1):
            products[nodes] = rows @ factors
            sizes[nodes] = rows.abs_() @ factors.abs()
    scalar = _scalar(around, layer, products, layer.w3, layer.w4)
    size = _scalar(around, layer, sizes, layer.w3.abs(), layer.w4.abs())
    furthest = size + sizes[:, 2] * (layer.beta.abs().max() if layer.width else 0.0)
    return torch.stack([scalar, products[:, 2]], 1), float(furthest.max()) if len(furthest) else 0.0


def _scalar(around: Surroundings, layer: Layer, products: Tensor, w3: Tensor, w4: Tensor) -> Tensor:
    own, message = products[:, 0], products[:, 1]
    return around.add_up(own, lambda kind: layer.factor[kind] * message, w3, w4)


def _rows(numbers: Tensor, layer: Layer, weights: WLWeights) -> Tensor:
    r"""Return :math:`\sigma(s \alpha^T - c \beta^T)`."""
    sums = torch.outer(numbers[:, 0], layer.alpha).sub_(torch.outer(numbers[:, 1], layer.beta))
    return activate(sums, weights.activation)


def _block_rows(width: int) -> int:
    return max(1, _BLOCK_ENTRIES // max(width, 1))


def graph_sums(embeddings: Embeddings, round: int) -> Tensor:
    """Return the sum readout of every graph, exactly."""
    graphs = embeddings.graphs
    total = torch.zeros(
        len(graphs), embeddings.weights.widths[embeddings._number(round)], dtype=torch.float64
    )
    size = torch.zeros_like(total)
    for nodes, rows in embeddings.blocks(round):
        total.index_add_(0, graphs.graph_of_node[nodes], rows)
        size.index_add_(0, graphs.graph_of_node[nodes], rows.abs())
    if size.numel() and not float(size.max()) < 2**53:
        raise GraphError(
            f"the readout of round {round} reaches {float(size.max()):.3g}, beyond the exact 2^53: {_WAY_OUT}"
        )
    return total
