"""Dropout: torch's own in plain use, a function of seed and step in a fleet."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from edgnn.nn.ops import keep_mask, keys


class Noise:
    """Where the dropout of one step comes from.

    Parameters
    ----------
    seeds : Tensor
        One per member.
    *purpose : int, or Tensor of one
        What tells this step from all others.
    rate : Tensor, optional
        The members' own dropout rates, instead of the layers'.

    Shapes
    ------
    seeds (M,), rate (M,)
    """

    def __init__(self, seeds: Tensor, *purpose: int | Tensor, rate: Tensor | None = None) -> None:
        self.seeds, self.purpose, self.rate = seeds, purpose, rate
        self._calls = 0

    def count(self) -> None:
        """Go on to the next call.

        Also where nothing is dropped, so that a member's masks do not depend on others' rates.
        """
        self._calls += 1

    def keep(self, x: Tensor, rate: Tensor | float, nodes: Tensor | None = None) -> Tensor:
        """Return this call's mask for states of the shape of ``x``, scaled so that means stay.

        ``nodes`` are the numbers of the rows, where these are chosen nodes.
        """
        rows = x.shape[-2] if nodes is None else nodes[: x.shape[-2]]
        mask = keep_mask(keys(self.seeds, *self.purpose, self._calls), rows, x.shape[-1], rate)
        if isinstance(rate, Tensor):
            rate = rate.to(x.dtype).reshape(-1, 1, 1)
        return mask.to(x.dtype).div_(1 - rate)


def dropout(
    x: Tensor,
    rate: float,
    training: bool,
    noise: Noise | None,
    nodes: Tensor | None = None,
    *,
    own_rate: bool = True,
) -> Tensor:
    """Drop entries of ``x`` while training.

    With ``own_rate``, at the members' own rates where the noise has them.

    ``nodes`` are the numbers of the rows (or more) among all nodes: what is dropped of a node does
    not depend on who is beside it.
    """
    if not training:
        return x
    if noise is None:
        return functional.dropout(x, rate) if rate else x
    noise.count()
    rates: Tensor | float = rate
    if own_rate and noise.rate is not None:
        rates = noise.rate
    elif not rate:
        return x
    return x * noise.keep(x, rates, nodes)
