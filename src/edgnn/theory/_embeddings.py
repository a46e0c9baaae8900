"""Embeddings and sum readouts under explicit weights: the network run through its factors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

import torch
from torch import Tensor

from edgnn.graphs import Graphs
from edgnn.theory._exact import Surroundings, activate, check_exact
from edgnn.theory._partitions import number_rows
from edgnn.theory._weights import Layer, WLWeights
from edgnn.wl import round_number

_BLOCK_ENTRIES = 2**21  # of rows that are made at a time
_ADVICE = 'take activation="sign", fewer rounds, or graphs with smaller degrees'


@dataclass(frozen=True, eq=False, repr=False)
class Embeddings:
    """Node embeddings after every layer.

    A row after layer t is a function of two numbers, the node's scalar and its constant (which is
    1), so only these are kept; :meth:`at` makes the rows.

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
        number = self.round_number(round)
        return self.numbers[number - 1][:, 0] if number else self.graphs.node_label

    def at(self, round: int, nodes: Tensor | None = None) -> Tensor:
        """Return the embeddings of ``nodes`` (default: all) after ``round`` layers, one row each.

        Shapes
        ------
        nodes (n,) → (n, width)
        """
        number = self.round_number(round)
        chosen = torch.arange(self.graphs.num_nodes) if nodes is None else nodes
        if number == 0:
            one_hot = torch.eye(len(self.weights.node_vocabulary), dtype=torch.float64)
            return one_hot[self.graphs.node_label[chosen]]
        return _rows(self.numbers[number - 1][chosen], self.weights, number)

    def blocks(self, round: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield node numbers and their rows, a few megabytes at a time."""
        rows = max(1, _BLOCK_ENTRIES // max(self.weights.widths[self.round_number(round)], 1))
        for nodes in torch.split(torch.arange(self.graphs.num_nodes), rows):
            yield nodes, self.at(round, nodes)

    def partition(self, round: int) -> Tensor:
        """Number equal rows alike, by looking at every entry of every row."""
        seen: dict[bytes, int] = {}
        numbers = []
        signs = self.weights.activation == "sign"
        for _, rows in self.blocks(round):
            plain = rows.to(torch.int8) if signs else rows + 0.0  # which turns -0.0 into 0.0
            for row in plain.numpy():
                digest = blake2b(row.tobytes(), digest_size=16).digest()
                numbers.append(seen.setdefault(digest, len(seen)))
        return torch.tensor(numbers, dtype=torch.int64)

    def round_number(self, round: int) -> int:
        """Return the number of a round, which may be counted from the end."""
        return round_number(round, self.rounds)

    def __repr__(self) -> str:
        return (
            f"Embeddings({self.graphs.num_nodes:,} nodes, {self.rounds} layers, {self.weights!r})"
        )


def run(weights: WLWeights, graphs: Graphs) -> Embeddings:
    """Run the network layer by layer; see :meth:`WLWeights.apply`."""
    graphs = weights.encoded(graphs)
    around = Surroundings.of(graphs, weights.scheme, weights.multiplicity)
    embeddings = Embeddings(weights, graphs, (), 0.0)
    for number, layer in enumerate(weights.layers, start=1):
        numbers, bound = _advance(embeddings, around, layer)
        check_exact(bound, f"a sum in layer {number}", _ADVICE)
        largest = max(embeddings.largest, bound)
        embeddings = Embeddings(weights, graphs, (*embeddings.numbers, numbers), largest)
    return embeddings


def _advance(before: Embeddings, around: Surroundings, layer: Layer) -> tuple[Tensor, float]:
    """Return scalar and constant of every node after one more layer, and the largest sum.

    The sum is one of absolute values, which bounds every number that occurs on the way.
    """
    factors = torch.stack([layer.w1, layer.w2, layer.kappa], 1)
    products = torch.empty(before.graphs.num_nodes, 3, dtype=torch.float64)
    sizes = torch.empty_like(products)
    if before.rounds == 0:
        label = before.graphs.node_label
        products, sizes = factors[label], factors.abs()[label]
    else:
        for nodes, rows in before.blocks(-1):
            products[nodes] = rows @ factors
            sizes[nodes] = rows.abs_() @ factors.abs()
    scalar = _scalar(around, layer, products, layer.w3, layer.w4)
    size = _scalar(around, layer, sizes, layer.w3.abs(), layer.w4.abs())
    furthest = size + sizes[:, 2] * (layer.beta.abs().max() if layer.width else 0.0)
    bound = float(furthest.max()) if len(furthest) else 0.0
    return torch.stack([scalar, products[:, 2]], 1), bound


def _scalar(around: Surroundings, layer: Layer, products: Tensor, w3: Tensor, w4: Tensor) -> Tensor:
    own, message = products[:, 0], products[:, 1]
    return around.add_up(own, (kind * message for kind in layer.factor), w3, w4)


def _rows(numbers: Tensor, weights: WLWeights, round: int) -> Tensor:
    r"""Return :math:`\sigma(s \alpha^T - c \beta^T)`."""
    layer = weights.layers[round - 1]
    sums = torch.outer(numbers[:, 0], layer.alpha).sub_(torch.outer(numbers[:, 1], layer.beta))
    return activate(sums, weights.activation)


@dataclass(frozen=True, eq=False)
class Readouts:
    r"""Sum readouts :math:`\sum_v f^{(t)}(v)` of graphs after every layer."""

    embeddings: Embeddings

    @property
    def rounds(self) -> int:
        """Number of layers."""
        return self.embeddings.rounds

    def at(self, round: int) -> Tensor:
        """Return the readout of every graph after ``round`` layers, exactly.

        Shapes
        ------
        → (G, width)
        """
        graphs = self.embeddings.graphs
        width = self.embeddings.weights.widths[self.embeddings.round_number(round)]
        total = torch.zeros(len(graphs), width, dtype=torch.float64)
        size = torch.zeros_like(total)
        for nodes, rows in self.embeddings.blocks(round):
            total.index_add_(0, graphs.graph_of_node[nodes], rows)
            size.index_add_(0, graphs.graph_of_node[nodes], rows.abs())
        if size.numel():
            check_exact(float(size.max()), f"the readout of round {round}", _ADVICE)
        return total

    def color_counts(self, round: int) -> Tensor:
        """Solve the readout for how many nodes of each graph have each color.

        This is the corollary at work: the rows of different colors are linearly independent, so the
        counts that a readout is a sum of can be read off it. Colors are in the order of the layer's
        scalars. Right for the graphs that the weights were made for.

        Shapes
        ------
        → (G, k), int64
        """
        number = self.embeddings.round_number(round)
        sums = self.at(number)
        if number == 0:
            return sums.to(torch.int64)
        weights = self.embeddings.weights
        colors = len(weights.layers[number - 1].scalars)
        # The first column counts nodes; the others say how many lie above each threshold.
        nodes, thresholds = sums[:, :1], max(colors - 1, 0)
        if weights.activation == "relu":
            above = sums[:, 1 : 1 + thresholds] - sums[:, 1 + thresholds :]
        else:
            above = (sums[:, 1:] + nodes) / 2
        bounds = torch.cat([nodes, above, torch.zeros_like(nodes)], 1)
        return (bounds[:, :-1] - bounds[:, 1:]).to(torch.int64)[:, :colors]

    def classes(self) -> Tensor:
        """Number graphs alike whose readouts agree after every layer, 0 included.

        Shapes
        ------
        → (G,)
        """
        numbers = torch.stack([number_rows(self.at(round)) for round in range(self.rounds + 1)], 1)
        return number_rows(numbers)


def readouts(weights: WLWeights, graphs: Graphs) -> Readouts:
    """Return the sum readouts of ``graphs`` under ``weights``.

    With weights from :func:`wl_weights` made for these graphs, the readouts of two graphs agree
    after every layer exactly when :func:`edgnn.wl.compare` does not distinguish them within as many
    rounds.
    """
    return Readouts(weights.apply(graphs))
