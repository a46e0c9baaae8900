"""Halo: what a rank exchanges with the other ranks at every layer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor


@dataclass
class Traffic:
    """What one rank has sent to others and got from them so far.

    Attributes
    ----------
    exchanges : int
        How many times all ranks exchanged states or gradients.
    sent, received : int
        Bytes.
    """

    exchanges: int = 0
    sent: int = 0
    received: int = 0


@dataclass(frozen=True, eq=False)
class Halo:
    """The nodes whose states one rank needs of the others, and those that the others need of it.

    A rank's structure has rows for the nodes it owns, and columns for these and behind them for its
    halo: the neighbors that other ranks own, in the order of their owners.

    Parameters
    ----------
    rows : Tensor
        Own rows to send, those for rank 0 first; a row that several ranks need is there for each of
        them.
    sent, received : tuple of int
        How many rows go to each rank, and come from it.
    process_group : torch.distributed.ProcessGroup, optional
        The ranks; all that there are by default.

    Shapes
    ------
    rows (S,), sent (ranks,), received (ranks,)
    """

    rows: Tensor
    sent: tuple[int, ...]
    received: tuple[int, ...]
    process_group: Any = None
    traffic: Traffic = field(default_factory=Traffic)

    def __len__(self) -> int:
        return sum(self.received)

    def to(self, device: torch.device | str | None = None) -> Halo:
        """Return the halo with its rows on ``device``; what it counts goes on."""
        return replace(self, rows=self.rows.to(device))
