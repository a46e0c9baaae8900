"""Theorem 2.2 made explicit: weights for which embeddings are equal exactly when colors are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import torch
from torch import Tensor

from edgnn.errors import EdgnnError
from edgnn.graphs import Graphs, Multiplicity, Vocabulary, recode
from edgnn.theory._exact import Dense, Surroundings, check_activation
from edgnn.theory._numbers import Numbers, choose
from edgnn.wl import Scheme, refine

if TYPE_CHECKING:
    from edgnn.theory._embeddings import Embeddings

Step = Literal["sign", "relu"]


@dataclass(frozen=True, eq=False)
class Layer:
    r"""One layer, as factors.

    :math:`W_1 = w_1 \alpha^T - \kappa \beta^T`, :math:`W_2 = w_2 \alpha^T` (for ``joint`` times the
    ``factor`` of each kind), :math:`W_3 = w_3 \alpha^T`, :math:`W_4 = w_4 \alpha^T`, with :math:`H
    \kappa = 1`. So every column of the sums is :math:`\alpha_j s - \beta_j`, a threshold on the one
    scalar :math:`s = H w_1 + A H w_2 + C_{in} w_3 + C_{out} w_4`. Matrices of rank 2 are kept as
    their factors, since widths reach the number of colors.

    Parameters
    ----------
    w1, w2, kappa : Tensor
        Of the width that goes in.
    factor : Tensor
        One number per kind of edge end; a single 1 unless ``joint``.
    w3, w4 : Tensor
        One number per edge label.
    alpha, beta : Tensor
        Of the width that comes out.
    scalars : Tensor
        The scalars of the colors the weights were made for, rising.
    """

    w1: Tensor
    w2: Tensor
    kappa: Tensor
    factor: Tensor
    w3: Tensor
    w4: Tensor
    alpha: Tensor
    beta: Tensor
    scalars: Tensor

    @property
    def width(self) -> int:
        """Width of the embeddings that come out."""
        return len(self.alpha)


@dataclass(frozen=True, eq=False, repr=False)
class WLWeights:
    """Weights of a network that is as powerful as color refinement on some graphs.

    Made by :func:`wl_weights` for these graphs. The initial embedding is the one-hot node label,
    one column per value of ``node_vocabulary``.
    """

    layers: tuple[Layer, ...]
    scheme: Scheme
    activation: Step
    multiplicity: Multiplicity
    node_vocabulary: Vocabulary
    edge_vocabulary: Vocabulary

    @property
    def rounds(self) -> int:
        """Number of layers."""
        return len(self.layers)

    @property
    def widths(self) -> tuple[int, ...]:
        """Width of the embeddings after 0, 1, 2, … layers."""
        return (len(self.node_vocabulary), *(layer.width for layer in self.layers))

    def dense(self, layer: int) -> Dense:
        """Return the plain matrices W1, W2, W3, W4 of a layer, counted from 1."""
        if not 1 <= layer <= self.rounds:
            if not self.rounds:
                raise IndexError(
                    "there are no layers, for the colors are stable from the start: give rounds=1 "
                    "or more to wl_weights"
                )
            raise IndexError(f"there is no layer {layer}, but layers 1 to {self.rounds}")
        factors = self.layers[layer - 1]
        W1 = torch.outer(factors.w1, factors.alpha) - torch.outer(factors.kappa, factors.beta)
        W2 = torch.outer(factors.w2, factors.alpha)
        if self.scheme == "joint":
            return Dense(W1, factors.factor[:, None, None] * W2, None, None)
        if self.scheme == "node":
            return Dense(W1, W2, None, None)
        W3 = torch.outer(factors.w3, factors.alpha)
        return Dense(W1, W2, W3, torch.outer(factors.w4, factors.alpha))

    def apply(self, graphs: Graphs) -> Embeddings:
        """Run the network on any graphs whose labels the weights know."""
        from edgnn.theory._embeddings import run

        return run(self, graphs)

    def encoded(self, graphs: Graphs) -> Graphs:
        """Return ``graphs`` on the CPU with labels numbered as the weights number them."""
        graphs = graphs.to("cpu")
        node_label, _ = recode(
            graphs.node_label, graphs.node_vocabulary, self.node_vocabulary, what="node"
        )
        edge_label, _ = recode(
            graphs.edge_label, graphs.edge_vocabulary, self.edge_vocabulary, what="edge"
        )
        return graphs._with(
            node_label=node_label,
            edge_label=edge_label,
            node_vocabulary=self.node_vocabulary,
            edge_vocabulary=self.edge_vocabulary,
        )

    def __repr__(self) -> str:
        widths = " → ".join(f"{width:,}" for width in self.widths)
        return (
            f"WLWeights({self.rounds} layers, widths {widths}, scheme={self.scheme!r}, "
            f"activation={self.activation!r})"
        )


def wl_weights(
    graphs: Graphs,
    rounds: int | None = None,
    scheme: Scheme = "separate",
    *,
    activation: Step = "sign",
    seed: int = 0,
    multiplicity: Multiplicity = "once",
) -> WLWeights:
    """Return integer weights under which embeddings are equal exactly when colors are.

    Each layer builds on rows that are linearly independent for different colors (at first one-hot
    labels), so a weight vector can send every color to an integer of our choice. Integers are drawn
    until different neighborhoods have different sums. Thresholds between these numbers are the
    columns of the next embedding, k for k colors with ``sign`` and 2k − 1 with ``relu``; its rows
    are linearly independent again, and the inverse is known in closed form. One column is constant,
    so there is no bias.

    Parameters
    ----------
    graphs : Graphs
        The graphs whose nodes are to be told apart.
    rounds : int, optional
        Number of layers; default: until the coloring is stable.
    scheme : {"node", "separate", "joint"}
        Eq. 3, Eq. 4, or one W2 for each edge label and direction. For ``joint`` multiples of a
        single matrix turn out to be enough.
    activation : {"sign", "relu"}
        The activation of the original proof, or the common one.
    seed : int
        Seed of the draws.
    multiplicity : {"once", "per-edge"}
        Whether a neighbor counts once or once per edge; ``joint`` always counts edges.

    Returns
    -------
    WLWeights
        They were run once, so that every number is known to be exact in float64; :func:`verify`
        checks far more.
    """
    check_activation(activation, get_args(Step))
    graphs = graphs.to("cpu")
    coloring = refine(graphs, rounds, scheme, multiplicity=multiplicity)
    around = Surroundings.of(graphs, scheme, multiplicity)
    generator = torch.Generator().manual_seed(seed)
    rank, ranks = graphs.node_label, len(graphs.node_vocabulary)
    step = 2 if activation == "sign" else 1  # weights for ±1 are half of differences
    layers: list[Layer] = []
    expected: list[Tensor] = []
    for round in range(1, coloring.rounds + 1):
        _, color = torch.unique(coloring.at(round), return_inverse=True)
        numbers = choose(around, rank, ranks, color, generator, step)
        scalars, rank = torch.unique(numbers.scalar, return_inverse=True)
        layers.append(_layer(numbers, scalars, activation, first=not layers))
        expected.append(numbers.scalar)
        ranks = len(scalars)
    weights = WLWeights(
        tuple(layers),
        scheme,
        activation,
        multiplicity,
        graphs.node_vocabulary,
        graphs.edge_vocabulary,
    )
    _check(weights, graphs, expected)
    return weights


def _layer(numbers: Numbers, scalars: Tensor, activation: Step, first: bool) -> Layer:
    """Return the layer that computes the scalars and thresholds them.

    Between two neighboring scalars stands a threshold. The rows of different colors, one 1 (or +1)
    more each, form a triangular matrix: they are linearly independent, as the next layer needs.
    """
    own = _weights_for(numbers.own, activation, first)
    neighbor = _weights_for(numbers.neighbor, activation, first)
    constant = torch.ones(len(own)) if first else torch.eye(1, len(own))[0]
    thresholds = [scalars[1:] - 1]
    if activation == "relu":  # the difference of two ReLUs is a step
        thresholds.append(scalars[1:])
    # The first column, 0·s + 1, is constant: it stands in for a bias.
    beta = torch.cat([scalars.new_tensor([-1]), *thresholds])
    alpha = torch.ones_like(beta)
    alpha[0] = 0
    values = (
        own,
        neighbor,
        constant,
        numbers.factor,
        numbers.entering,
        numbers.leaving,
        alpha,
        beta,
        scalars,
    )
    return Layer(*(value.to(torch.float64) for value in values))


def _weights_for(values: Tensor, activation: Step, first: bool) -> Tensor:
    """Return the w with H·w = ``values``, by rank, for the rows H of the layer before.

    With sign, rows are 1 and then ±1 per threshold: w = ((y₁ + y_k)/2, (y₂ − y₁)/2, …, (y_k −
    y_{k−1})/2). With ReLU the difference of two columns is the step from 0 to 1: w = (y₁, y₂ − y₁,
    …, y_k − y_{k−1}, then the last k − 1 negated).
    """
    if first:
        return values
    if not len(values):
        return values.new_zeros(1)
    steps = values.diff()
    if activation == "relu":
        return torch.cat([values[:1], steps, -steps])
    return torch.cat([values[:1] + values[-1:], steps]) // 2


def _check(weights: WLWeights, graphs: Graphs, expected: list[Tensor]) -> None:
    embeddings = weights.apply(graphs)
    for round, scalar in enumerate(expected, start=1):
        if not torch.equal(embeddings.scalar(round), scalar.to(torch.float64)):
            raise EdgnnError(
                f"layer {round} does not compute the numbers it was made for; "
                "please report these graphs"
            )
