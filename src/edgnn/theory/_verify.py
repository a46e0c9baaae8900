"""Theorem 2.2 verified: embeddings against colors, round by round, and against plain matrices."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from edgnn.errors import GraphError
from edgnn.graphs import Graphs
from edgnn.theory._embeddings import Embeddings
from edgnn.theory._exact import Surroundings, activate, check_exact
from edgnn.theory._partitions import splits
from edgnn.theory._weights import WLWeights
from edgnn.wl import Coloring, refine

#: Plain matrices are multiplied as well while no layer has more entries than this.
_DENSE_ENTRIES = 2**20


@dataclass(frozen=True)
class WeightsRound:
    """One round of :class:`WeightsReport`.

    Parameters
    ----------
    round : int
        Number of layers applied.
    colors, embeddings : int
        How many different ones there are.
    split, merged : int
        Number of colors whose nodes have several embeddings, and of embeddings that several colors
        share.
    examples : tuple of pairs
        Pairs of nodes that show it.
    """

    round: int
    colors: int
    embeddings: int
    split: int
    merged: int
    examples: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class WeightsReport:
    """The result of :func:`verify`.

    Parameters
    ----------
    scheme, activation : str
        Those of the weights.
    rounds : tuple of WeightsRound
        Round by round, from 0.
    largest : float
        The largest sum of absolute values that occurred; below 2^53, so nothing was rounded.
    dense_agrees : bool, optional
        Whether plain matrices give the same embeddings, bit by bit; ``None`` where they would be
        too large to try.
    """

    scheme: str
    activation: str
    rounds: tuple[WeightsRound, ...]
    largest: float
    dense_agrees: bool | None

    @property
    def holds(self) -> bool:
        """Whether embeddings were equal exactly when colors were, after every round."""
        differences = sum(entry.split + entry.merged for entry in self.rounds)
        return differences == 0 and self.dense_agrees is not False

    def __str__(self) -> str:
        when = "exactly when" if self.holds else "NOT exactly when"
        lines = [
            f"embeddings are equal {when} {self.scheme!r} colors are "
            f"({self.activation}; all sums below {self.largest + 1:.3g})"
        ]
        for entry in self.rounds:
            line = (
                f"  round {entry.round}: {entry.colors:,} colors, {entry.embeddings:,} embeddings"
            )
            if entry.examples:
                shown = ", ".join(f"{first} and {second}" for first, second in entry.examples)
                line += f"; {entry.split:,} colors split, {entry.merged:,} embeddings shared"
                line += f" (nodes {shown})"
            lines.append(line)
        if self.dense_agrees is not None:
            lines.append(f"  plain matrices {'agree' if self.dense_agrees else 'DISAGREE'}")
        return "\n".join(lines)


def verify(
    weights: WLWeights,
    graphs: Graphs,
    coloring: Coloring | None = None,
    *,
    dense: bool | None = None,
) -> WeightsReport:
    """Check that nodes have equal embeddings exactly when they have equal colors, by round.

    The network is run through its factors, every row is looked at in full, and the colors come from
    an independent refinement that proves every step.

    Parameters
    ----------
    weights : WLWeights
        From :func:`wl_weights`, or altered.
    graphs : Graphs
        The graphs to look at.
    coloring : Coloring, optional
        Their colors, for as many rounds at least; default: refined here, with ``exact=True``.
    dense : bool, optional
        Also multiply plain matrices and compare every entry; default: where that is cheap.

    Returns
    -------
    WeightsReport
    """
    embeddings = weights.apply(graphs)
    if coloring is None:
        coloring = refine(
            graphs.to("cpu"),
            weights.rounds,
            weights.scheme,
            multiplicity=weights.multiplicity,
            features="ignore",
            exact=True,
        )
    if coloring.rounds < weights.rounds and not coloring.until_stable:
        raise GraphError(
            f"the coloring has {coloring.rounds} rounds, but the weights have {weights.rounds} "
            "layers: refine further"
        )
    if coloring.graphs.num_nodes != graphs.num_nodes:
        raise GraphError(
            f"the coloring is of {coloring.graphs.num_nodes} nodes, but the graphs have "
            f"{graphs.num_nodes}"
        )
    rounds = tuple(_compared(embeddings, coloring, round) for round in range(weights.rounds + 1))
    if dense is None:
        widest = max(weights.widths)
        dense = widest * max(widest, graphs.num_nodes) <= _DENSE_ENTRIES
    agrees = _dense_agrees(embeddings) if dense else None
    return WeightsReport(weights.scheme, weights.activation, rounds, embeddings.largest, agrees)


def _compared(embeddings: Embeddings, coloring: Coloring, round: int) -> WeightsRound:
    color = coloring.at(min(round, coloring.rounds)).cpu()
    group = embeddings.partition(round)
    split, merged = splits(color, group), splits(group, color)
    return WeightsRound(
        round=round,
        colors=len(torch.unique(color)),
        embeddings=len(torch.unique(group)),
        split=split.count,
        merged=merged.count,
        examples=split.examples + merged.examples,
    )


def _dense_agrees(embeddings: Embeddings) -> bool:
    """Run Eq. 4 with plain matrices and compare the embeddings of every layer, entry by entry."""
    weights, graphs = embeddings.weights, embeddings.graphs
    around = Surroundings.of(graphs, weights.scheme, weights.multiplicity)
    state = embeddings.at(0)
    for round in range(1, weights.rounds + 1):
        sums, bound = around.layer(state, weights.dense(round))
        check_exact(bound, f"a sum in layer {round}", 'take activation="sign", or fewer rounds')
        state = activate(sums, weights.activation)
        if not torch.equal(state, embeddings.at(round)):
            return False
    return True
