"""Theorem 2.1 as a function: equal colors give equal embeddings, whatever the weights."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from edgnn.errors import GraphError
from edgnn.graphs import Graphs, Multiplicity
from edgnn.theory._exact import (
    Activation,
    Dense,
    Surroundings,
    activate,
    check_activation,
    check_exact,
)
from edgnn.theory._partitions import number_rows, splits
from edgnn.wl import Scheme, refine

_LARGEST_WEIGHT = 3


@dataclass(frozen=True)
class UpperBoundRound:
    """One round of :class:`UpperBoundReport`.

    Parameters
    ----------
    round : int
        Number of layers applied.
    colors : int
        Number of colors after as many rounds.
    embeddings : int
        Number of different embeddings, at most, over all draws; more than colors only if there are
        violations.
    violations : int
        Number of colors whose nodes have different embeddings, over all draws.
    example : tuple of int, optional
        Draw, and two nodes of one color that this draw's network tells apart.
    """

    round: int
    colors: int
    embeddings: int
    violations: int
    example: tuple[int, int, int] | None


@dataclass(frozen=True)
class UpperBoundReport:
    """The result of :func:`check_upper_bound`.

    Parameters
    ----------
    network, against : str
        The scheme of the network's layers and of the colors.
    activation : str
        The activation used.
    draws : int
        Number of random networks.
    largest : float
        The largest sum of absolute values that occurred; below 2^53, so nothing was rounded.
    rounds : tuple of UpperBoundRound
        Round by round, from 0.
    """

    network: Scheme
    against: Scheme
    activation: Activation
    draws: int
    largest: float
    rounds: tuple[UpperBoundRound, ...]

    @property
    def holds(self) -> bool:
        """Whether equal colors always had exactly equal embeddings."""
        return not any(entry.violations for entry in self.rounds)

    def __str__(self) -> str:
        hold = "hold" if self.holds else "do NOT hold"
        lines = [
            f"equal {self.against!r} colors {hold} equal embeddings in {self.draws} random "
            f"{self.network!r} networks ({self.activation}; all sums exact, below "
            f"{self.largest + 1:.3g})"
        ]
        for entry in self.rounds:
            line = (
                f"  round {entry.round}: {entry.colors:,} colors, {entry.embeddings:,} embeddings"
            )
            if entry.example is not None:
                draw, first, second = entry.example
                line += f", {entry.violations:,} violations"
                line += f" (nodes {first} and {second} in draw {draw})"
            lines.append(line)
        return "\n".join(lines)


def check_upper_bound(
    graphs: Graphs,
    rounds: int = 3,
    scheme: Scheme = "separate",
    *,
    hidden: int = 8,
    draws: int = 5,
    seed: int = 0,
    activation: Activation = "cube",
    against: Scheme | None = None,
    multiplicity: Multiplicity = "once",
) -> UpperBoundReport:
    r"""Check Theorem 2.1: nodes of one color have one embedding, for random weights.

    The network is Eq. 4, :math:`H' = \sigma(H W_1 + A H W_2 + C_{in} W_3 + C_{out} W_4)`, from
    one-hot node labels on. Weights are random integers from −3 to 3, so with an activation that
    keeps integers every sum is an integer; as none reaches 2^53, which is checked, float64 holds
    all of them exactly, and embeddings are compared bit by bit.

    Parameters
    ----------
    graphs : Graphs
        Any number of graphs, compared across all of them.
    rounds : int
        Number of layers.
    scheme : {"node", "separate", "joint"}
        The layer: Eq. 3 without label counts, Eq. 4, or one W2 for each edge label and direction.
    hidden : int
        Width of the embeddings.
    draws : int
        Number of random networks.
    seed : int
        Seed of the weights.
    activation : {"cube", "relu", "sign", "clip"}
        ``"cube"`` (x³ modulo the prime 65,519, which never merges two remainders) keeps the most
        apart, so it tests hardest, and never grows; ``"relu"`` grows with every layer and may need
        fewer rounds to stay exact.
    against : {"node", "separate", "joint"}, optional
        Compare with the colors of another scheme, to see whether the network can tell apart more
        than that.
    multiplicity : {"once", "per-edge"}
        Whether a neighbor counts once or once per edge; ``joint`` always counts edges.

    Returns
    -------
    UpperBoundReport
    """
    for name, value, least in (("rounds", rounds, 0), ("hidden", hidden, 1), ("draws", draws, 1)):
        if value < least:
            raise GraphError(f"{name}={value}: choose {least} or more")
    check_activation(activation)
    graphs = graphs.to("cpu")
    colors = refine(graphs, rounds, against or scheme, multiplicity=multiplicity)
    around = Surroundings.of(graphs, scheme, multiplicity)
    generator = torch.Generator().manual_seed(seed)
    entries = [
        UpperBoundRound(round, colors.num_colors(round), 0, 0, None) for round in range(rounds + 1)
    ]
    largest = 0.0
    for draw in range(draws):
        state = graphs.node_label
        for round in range(rounds + 1):
            if round > 0:
                width = len(graphs.node_vocabulary) if round == 1 else hidden
                sums, bound = around.layer(state, _random_layer(width, hidden, around, generator))
                check_exact(bound, f"layer {round}", 'take activation="cube", or fewer rounds')
                largest = max(largest, bound)
                state = activate(sums, activation)
            entries[round] = _with_draw(entries[round], draw, state, colors.at(round))
    return UpperBoundReport(scheme, colors.scheme, activation, draws, largest, tuple(entries))


def _random_layer(
    width: int, hidden: int, around: Surroundings, generator: torch.Generator
) -> Dense:
    def draw(*shape: int) -> Tensor:
        numbers = torch.randint(-_LARGEST_WEIGHT, _LARGEST_WEIGHT + 1, shape, generator=generator)
        return numbers.to(torch.float64)

    labels = around.num_edge_labels
    W2 = draw(2 * labels, width, hidden) if around.scheme == "joint" else draw(width, hidden)
    W1 = draw(width, hidden)
    if around.scheme != "separate":
        return Dense(W1, W2, None, None)
    return Dense(W1, W2, draw(labels, hidden), draw(labels, hidden))


def _with_draw(entry: UpperBoundRound, draw: int, state: Tensor, colors: Tensor) -> UpperBoundRound:
    """Return what is known about a round, with the embeddings of one more draw."""
    rows = state if state.dim() == 1 else number_rows(state)
    split = splits(colors, rows)
    example = entry.example
    if example is None and split.examples:
        example = (draw, *split.examples[0])
    return replace(
        entry,
        embeddings=max(entry.embeddings, len(torch.unique(rows))),
        violations=entry.violations + split.count,
        example=example,
    )
