"""Integers for which the sums of different neighborhoods differ: the heart of Theorem 2.2."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from edgnn.errors import EdgnnError
from edgnn.theory._exact import Surroundings
from edgnn.theory._partitions import first_items

_ATTEMPTS = 20


@dataclass(frozen=True, eq=False)
class Numbers:
    r"""What one round adds up for a node.

    The scalar of v is ``own`` of its color, plus ``neighbor`` of every neighbor's color times
    ``factor`` of the kind of edge end, plus ``entering`` and ``leaving`` of the labels of its
    edges. ``own`` and ``neighbor`` rise with the color's rank, which keeps the weights that produce
    them small.

    Shapes
    ------
    own (k,), neighbor (k,), factor (kinds,), entering (\|Z\|,), leaving (\|Z\|,), scalar (N,), all
    int64
    """

    own: Tensor
    neighbor: Tensor
    factor: Tensor
    entering: Tensor
    leaving: Tensor
    scalar: Tensor


def choose(
    around: Surroundings,
    rank: Tensor,
    ranks: int,
    color: Tensor,
    generator: torch.Generator,
    step: int,
) -> Numbers:
    """Draw integers, multiples of ``step``, until different new colors have different scalars.

    Small ones are tried first, since all sums must stay below 2^53; each attempt draws from twice
    the range of the last.

    Parameters
    ----------
    around : Surroundings
        What the round looks at.
    rank : Tensor
        The old color of every node, as a number below ``ranks``.
    color : Tensor
        The new color of every node, numbered without a gap.
    """
    examples = first_items(color)
    for attempt in range(_ATTEMPTS):
        neighbor, factor, entering, leaving = _draw(around, ranks, attempt, generator)
        messages = [kind * neighbor[rank] for kind in factor]
        seen = around.add_up(torch.zeros_like(rank), messages, entering, leaving)
        pairs = torch.stack([rank[examples], seen[examples]], 1)
        if len(torch.unique(pairs, dim=0)) == len(examples):
            own = _own(pairs, ranks)
            return Numbers(
                step * own,
                step * neighbor,
                factor,
                step * entering,
                step * leaving,
                step * (own[rank] + seen),
            )
    raise EdgnnError(
        f"{_ATTEMPTS} draws of growing integers gave two different neighborhoods one sum, which "
        "chance does not do: the colors do not belong to these graphs, or please report the graphs"
    )


def _draw(
    around: Surroundings, ranks: int, attempt: int, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Draw neighbor numbers that rise from 1 in steps up to 2^attempt, and label numbers alike."""

    def below(limit: int, count: int) -> Tensor:
        return torch.randint(limit, (count,), generator=generator)

    rise = 2**attempt
    steps = 1 + below(rise, ranks)
    steps[:1] = 1
    neighbor = torch.cumsum(steps, 0)
    kinds = len(around.neighbors)
    factor = torch.ones(kinds, dtype=torch.int64)
    if around.scheme == "joint":
        factor += below(max(2 * rise, 4 * rise * rise // max(ranks, 1)), kinds)
    largest_label = max(ranks * rise, 4 * rise * rise)
    entering = below(largest_label, around.num_edge_labels)
    leaving = below(largest_label, around.num_edge_labels)
    return neighbor, factor, entering, leaving


def _own(pairs: Tensor, ranks: int) -> Tensor:
    """Return the least rising offsets, one per rank, that keep the sums of different ranks apart.

    Shapes
    ------
    pairs (k', 2): rank and sum of every new color → (ranks,)
    """
    members: list[list[int]] = [[] for _ in range(ranks)]
    for rank, value in pairs.tolist():
        members[rank].append(value)
    taken: set[int] = set()
    offsets, offset = [], 0
    for values in members:
        while any(value + offset in taken for value in values):
            offset += 1
        taken.update(value + offset for value in values)
        offsets.append(offset)
    return torch.tensor(offsets, dtype=torch.int64)
